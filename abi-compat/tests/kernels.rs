//! Runs every form of every kernel of `c-tests/kernels/` under each schedule of
//! libhetmp.so, on two nodes of unlike speed, with more and fewer pieces than threads; under some of them in short
//! runs (`sample`).
//! The kernels verify their results, and must print the same as with one thread.
//!
//! `HETMP_STATIC=force` also divides regions without a schedule clause, even if nothing
//! can be gained. On a machine with one CPU there are no two nodes: the tests then say
//! so and pass.

use hetmp_abi_compat::case::{self, Case, Setting};
use hetmp_abi_compat::exec::Ending;
use hetmp_abi_compat::library;
use hetmp_abi_compat::sample;
use hetmp_sched::schedule::{Order, TABLE};
use std::path::PathBuf;

/// Each of our schedules, where that makes a difference also with iterations in any order.
fn schedules() -> Vec<String> {
    let ours = TABLE.iter().filter(|row| row.name.is_ours());
    ours.flat_map(|row| {
        let text = row.examples[0].to_owned();
        let free = (row.order == Order::Any).then(|| format!("nonmonotonic:{text}"));
        [text].into_iter().chain(free)
    })
    .collect()
}

/// Two CPUs that this process may use.
fn cpus() -> Option<(usize, usize)> {
    // SAFETY: all-zero is a valid cpu_set_t, and the call writes only into that set.
    let set = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::sched_getaffinity(0, std::mem::size_of_val(&set), &mut set);
        set
    };
    // SAFETY: the number is below the size of the set.
    let allowed = |&cpu: &usize| unsafe { libc::CPU_ISSET(cpu, &set) };
    let mut cpus = (0..libc::CPU_SETSIZE as usize).filter(allowed);
    cpus.next().zip(cpus.next())
}

fn cache() -> PathBuf {
    library::target_dir().join("kernels")
}

fn run(case: &Case, cache: &std::path::Path, env: &[(&str, &str)]) -> Result<String, String> {
    let binary = case.build(cache)?;
    let setting = Setting {
        env: env
            .iter()
            .map(|(n, v)| ((*n).to_owned(), (*v).to_owned()))
            .collect(),
    };
    let preload = (
        "LD_PRELOAD".to_owned(),
        library::fresh().display().to_string(),
    );
    let out = case.run(&binary, &setting, &[preload])?;
    let said = String::from_utf8_lossy(&out.stderr);
    if out.ending != Ending::Exit(0) || said.contains("hetmp: ") {
        return Err(format!(
            "{} with {setting}: {}: {said}",
            case.name, out.ending
        ));
    }
    Ok(String::from_utf8_lossy(&out.stdout).into_owned())
}

#[test]
fn results_do_not_depend_on_nodes_and_schedules() {
    let Some((fast, slow)) = cpus() else {
        eprintln!("skipped: one CPU is one node");
        return;
    };
    let nodes = format!("cores={fast},speed=1;cores={slow},speed=0.33");
    let cases = case::kernels().unwrap();
    assert!(cases.len() > 30, "forms of the kernels: {}", cases.len());
    let (schedules, mut wrong) = (schedules(), Vec::new());
    for case in &cases {
        let one = run(case, &cache(), &[("OMP_NUM_THREADS", "1")]).unwrap();
        assert!(one.contains("verified") || case.name.ends_with("nbody.c"));
        let all = schedules.iter().flat_map(|s| [(&**s, "2"), (&**s, "3")]);
        for (schedule, threads) in sample::settings(&case.name, all.collect()) {
            let env = [
                ("OMP_NUM_THREADS", threads),
                ("HETMP_NODES", &*nodes),
                ("HETMP_SCHEDULE", schedule),
                ("HETMP_STATIC", "force"),
            ];
            match run(case, &cache(), &env) {
                Ok(text) if text == one => {}
                Ok(text) => wrong.push(format!(
                    "{} {schedule} {threads} threads: {one:?} expected, {text:?} seen",
                    case.name
                )),
                Err(why) => wrong.push(why),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The mix of two kernels that prefer different nodes runs with the node file that gives their speeds.
#[test]
fn the_mix_runs_on_its_own_nodes() {
    let Some((0, 1)) = cpus() else {
        eprintln!("skipped: mix-nodes.toml names CPUs 0 and 1");
        return;
    };
    let file = library::root().join("c-tests/kernels/mix-nodes.toml");
    let nodes = format!("@{}", file.display());
    for case in case::kernels().unwrap() {
        if !case.name.starts_with("kernels/mix.") {
            continue;
        }
        let one = run(&case, &cache(), &[("OMP_NUM_THREADS", "1")]).unwrap();
        for schedule in &schedules() {
            let env = [
                ("OMP_NUM_THREADS", "2"),
                ("HETMP_NODES", &*nodes),
                ("HETMP_SCHEDULE", schedule),
            ];
            assert_eq!(run(&case, &cache(), &env).unwrap(), one, "{schedule}");
        }
    }
}
