//! The places of threads in nested teams, for many policies, place lists and team sizes.

use hetmp_omp::affinity::bind::{team_places, Placement};
use hetmp_omp::icv::ProcBind;

use super::{Dice, Program};

/// Runs a region of argv[1] threads and in it regions of argv[2] threads. Prints the place and the partition
/// of every thread.
const WHERE: &str = r#"
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
static void say(int outer, int inner) {
  int nums[omp_get_partition_num_places() + 1];
  nums[0] = -1;
  omp_get_partition_place_nums(nums);
  printf("%d %d %d %d %d\n", outer, inner, omp_get_place_num(), nums[0],
         omp_get_partition_num_places());
}
int main(int argc, char **argv) {
  int n = atoi(argv[1]), m = atoi(argv[2]);
  #pragma omp parallel num_threads(n)
  for (int t = 0; t < n; t++) {
    if (t == omp_get_thread_num()) {
      say(t, -1);
      #pragma omp parallel num_threads(m)
      for (int u = 0; u < m; u++) {
        if (u == omp_get_thread_num()) say(t, u);
        #pragma omp barrier
      }
    }
    #pragma omp barrier
  }
  return 0;
}
"#;

fn ours(binds: [ProcBind; 2], places: u32, n: u32, m: u32) -> String {
    let initial = Placement {
        place: 0,
        first: 0,
        count: places,
    };
    let mut text = String::new();
    let mut say = |outer: usize, inner: i32, p: Placement| {
        text += &format!("{outer} {inner} {} {} {}\n", p.place, p.first, p.count);
    };
    for (t, outer) in team_places(binds[0], initial, n).enumerate() {
        say(t, -1, outer);
        for (u, inner) in team_places(binds[1], outer, m).enumerate() {
            say(t, u as i32, inner);
        }
    }
    text
}

#[test]
fn nested_teams_go_to_the_same_places() {
    let Some(program) = Program::compile("where", WHERE) else {
        return;
    };
    let policies = [
        ("master", ProcBind::Primary),
        ("close", ProcBind::Close),
        ("spread", ProcBind::Spread),
    ];
    let allowed: Vec<usize> = hetmp_core::topo::affinity().iter().collect();
    let mut dice = Dice(5_147);
    let mut runs = 0;
    for case in 0..240 {
        let (a, b) = (dice.pick(&policies), dice.pick(&policies));
        let count = 1 + dice.below(13);
        let (n, m) = (1 + dice.below(9), 1 + dice.below(5));
        // Places may repeat, so two CPUs are enough for any number of places.
        let list: Vec<String> = (0..count)
            .map(|i| format!("{{{}}}", allowed[i % allowed.len()]))
            .collect();
        let env = [
            ("OMP_PLACES".to_owned(), list.join(",")),
            ("OMP_PROC_BIND".to_owned(), format!("{},{}", a.0, b.0)),
            // Threads need not spin while they wait for their turn.
            ("OMP_WAIT_POLICY".to_owned(), "passive".to_owned()),
        ];
        let out = program.run(&[&n.to_string(), &m.to_string()], &env);
        let want = String::from_utf8(out.stdout).expect("ASCII");
        let got = ours([a.1, b.1], count as u32, n as u32, m as u32);
        assert_eq!(got, want, "case {case}: {count} places, {n} x {m}, {env:?}");
        runs += 1;
    }
    println!("{runs} nested teams compared with libgomp");
}
