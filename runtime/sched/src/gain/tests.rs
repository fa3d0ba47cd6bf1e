//! Whole lives of regions, played with invented times.

use super::*;
use proptest::prelude::*;

fn run(elapsed_ns: f64, equal_ns: f64) -> Run {
    Run {
        elapsed_ns,
        equal_ns,
        best_ns: elapsed_ns,
        disturbed: false,
    }
}

/// Runs a region `executions` times whose i-th takes what `times(i)` says: as a virtual team,
/// what that would say of equal shares, and as an ordinary team. Returns how often each.
fn play(gain: &mut Gain, executions: u32, times: impl Fn(u32) -> (f64, f64, f64)) -> (u32, u32) {
    let (mut v, mut o) = (0, 0);
    let mut rest = (0, Way::Virtual);
    for i in 0..executions {
        let (virtual_ns, equal_ns, ordinary_ns) = times(i);
        let seen = rest.0 == 0;
        let way = if seen {
            gain.turn(false)
        } else {
            rest.0 -= 1;
            rest.1
        };
        match way {
            Way::Virtual => v += 1,
            Way::Ordinary | Way::Alone => o += 1,
        }
        if !seen {
            continue;
        }
        match way {
            Way::Virtual => gain.learn_virtual(&run(virtual_ns, equal_ns)),
            Way::Ordinary | Way::Alone => {
                gain.learn_ordinary(&run(ordinary_ns, 0.0));
                rest = (gain.take_rest(way), way);
            }
        }
    }
    (v, o)
}

#[test]
fn an_evident_gain_is_kept() {
    let (v, o) = play(&mut Gain::new(), 1000, |_| (1000.0, 1900.0, 2000.0));
    assert!(o <= 8, "{v} {o}");
}

#[test]
fn cost_without_gain_is_stayed_out_of_early() {
    // Twenty times as long: what the trials lose is bounded by a hundredth of the whole.
    let (v, o) = play(&mut Gain::new(), 100_000, |_| (20_000.0, 900.0, 1000.0));
    assert!(
        f64::from(v) * 19_000.0 < 0.012 * f64::from(o) * 1000.0 + 60_000.0,
        "{v} {o}"
    );
    let (v, _) = play(&mut Gain::new(), 100, |_| (20_000.0, 900.0, 1000.0));
    assert!(v <= 2, "{v}");
    // A little longer, and never found out to be: an ordinary team.
    let (v, o) = play(&mut Gain::new(), 1000, |_| (1010.0, 1000.0, 1000.0));
    assert!(v < 60, "{v} {o}");
}

#[test]
fn where_all_threads_are_alike_one_look_is_enough() {
    let mut gain = Gain::new();
    assert_eq!(gain.turn(false), Way::Virtual);
    gain.learn_virtual(&Run {
        elapsed_ns: 11_000.0,
        equal_ns: 10_100.0,
        best_ns: 10_000.0,
        disturbed: false,
    });
    for _ in 0..20 {
        assert_eq!(gain.turn(false), Way::Ordinary);
        gain.learn_ordinary(&run(10_000.0, 0.0));
    }
}

#[test]
fn what_was_found_is_tried_again() {
    let mut gain = Gain::new();
    let (v, _) = play(&mut gain, 500, |_| (30_000.0, 20_000.0, 20_000.0));
    assert!(v < 40, "{v}");
    // Another process has left the fast node.
    let (v, o) = play(&mut gain, 20_000, |_| (10_000.0, 20_000.0, 20_000.0));
    assert!(v > o, "{v} {o}");
}

#[test]
fn disturbed_runs_are_not_taken_for_facts() {
    let mut gain = Gain::new();
    for _ in 0..4 {
        assert_eq!(gain.turn(false), Way::Virtual);
        gain.learn_virtual(&Run {
            elapsed_ns: 8e6,
            equal_ns: 10_000.0,
            best_ns: 10_000.0,
            disturbed: true,
        });
    }
    let (v, o) = play(&mut gain, 100, |_| (10_000.0, 19_000.0, 20_000.0));
    assert!(o <= 6, "{v} {o}");
}

/// Rodinia's backprop: two executions of each region, and in the first one thread runs all pieces.
#[test]
fn a_first_execution_that_tells_nothing_is_followed_by_a_second_one() {
    let mut gain = Gain::new();
    for _ in 0..2 {
        assert_eq!(gain.turn(false), Way::Virtual);
        gain.learn_virtual(&run(1000.0, 0.0));
    }
    // What equal shares would take is still unknown: time decides.
    assert_eq!(gain.turn(false), Way::Ordinary);
}

/// srad_v2 on a busy machine: an ordinary team took six times as long as a virtual one, was disturbed each time, and was
/// repeated twelve times in a row.
#[test]
fn disturbed_ordinary_teams_are_repeated_ever_more_rarely() {
    let mut gain = Gain::new();
    let (mut v, mut o) = (0, 0);
    for _ in 0..60 {
        match gain.turn(false) {
            Way::Virtual => {
                v += 1;
                gain.learn_virtual(&run(3000.0, 6000.0));
            }
            Way::Ordinary | Way::Alone => {
                o += 1;
                gain.learn_ordinary(&Run {
                    disturbed: true,
                    ..run(18_000.0, 0.0)
                });
            }
        }
    }
    assert!((2..=6).contains(&o), "{v} {o}");
    // Where the estimate sees no gain, one virtual team comes between two ordinary ones.
    let mut gain = Gain::new();
    let unlike_threads = Run {
        best_ns: 2000.0,
        ..run(3000.0, 2800.0)
    };
    gain.learn_virtual(&unlike_threads);
    let mut ways = Vec::new();
    for _ in 0..4 {
        let way = gain.turn(false);
        ways.push(way);
        match way {
            Way::Virtual => gain.learn_virtual(&Run {
                disturbed: true,
                ..unlike_threads
            }),
            _ => gain.learn_ordinary(&Run {
                disturbed: true,
                ..run(3000.0, 0.0)
            }),
        }
    }
    let (v, o) = (Way::Virtual, Way::Ordinary);
    assert_eq!(ways, [o, v, o, v]);
}

/// Rodinia's bfs: 14 executions of other sizes each, most of them faster as virtual teams.
#[test]
fn a_likely_gain_gets_more_virtual_teams_in_the_first_trial() {
    let sizes = |i: u32| {
        let work = 1e5 * f64::from(i % 5 + 1);
        (work * 0.93, work, work)
    };
    let (v, o) = play(&mut Gain::new(), 9, sizes);
    assert_eq!((v, o), (7, 2));
    // The trial has an end, and where it was wrong the ordinary team wins.
    let (v, o) = play(&mut Gain::new(), 200, |_| (1.1e5, 1.2e5, 1e5));
    assert!(v < 30, "{v} {o}");
    // Later trials take both ways in turns.
    let mut gain = Gain::new();
    play(&mut gain, 30, |_| (1e5, 1.02e5, 1e5));
    assert!(gain.verdict.is_some());
    let (v, o) = play(&mut gain, 1000, |_| (1e5, 1.02e5, 1e5));
    assert!(v < o / 3, "{v} {o}");
}

/// Rodinia's srad_v1 on a busy machine: estimates between 1.3 and 2.0, each fall of which began a trial.
#[test]
fn a_gain_that_falls_and_stays_evident_is_not_tried_again() {
    let falls = |low: f64| {
        let mut gain = Gain::new();
        play(&mut gain, 12, |_| (1e5, 2e5, 2e5));
        assert!(!gain.is_in_trial());
        let (_, o) = play(&mut gain, 20, |_| (1e5, low, low));
        (o, gain.is_in_trial())
    };
    assert_eq!(falls(1.3e5), (0, false));
    let (o, again) = falls(1.0e5);
    assert!(o > 0 || again, "{o}");
}

/// Rodinia's nn: a microsecond, in which one thread is as fast as two.
#[test]
fn a_comparison_with_one_thread_is_a_small_part_of_all_executions() {
    let mut gain = Gain::new();
    let (mut compared, mut was_in_trial) = (0, false);
    // The two are alike, and each verdict is the other one.
    let mut alone_ns = 920.0;
    for _ in 0..4000 {
        let way = gain.turn(true);
        let is_in_trial = gain.is_in_trial();
        if is_in_trial && !was_in_trial {
            alone_ns = 1920.0 - alone_ns;
        }
        was_in_trial = is_in_trial;
        compared += u32::from(is_in_trial);
        match way {
            Way::Virtual => gain.learn_virtual(&run(1100.0, 1000.0)),
            Way::Ordinary => gain.learn_ordinary(&run(1000.0, 0.0)),
            Way::Alone => gain.learn_alone(&run(alone_ns, 0.0), 0),
        }
    }
    assert!(compared < 4000 / 5, "{compared}");
}

#[test]
fn a_region_of_many_sizes_goes_by_its_large_ones() {
    // Small ones first, as in a multigrid's way up; only the largest two sizes gain.
    let sizes = |i: u32| {
        let work = 1000.0 * f64::from(8u32.pow(i % 5));
        (work / 2.0 + 20_000.0, work * 0.97, work + 1000.0)
    };
    let (v, o) = play(&mut Gain::new(), 2000, sizes);
    assert!(v > 3 * o, "{v} {o}");
    // On equal nodes none does.
    let (v, o) = play(&mut Gain::new(), 2000, |i| {
        let (_, equal, ordinary) = sizes(i);
        (equal + 20_000.0, equal, ordinary)
    });
    assert!(v < o / 8, "{v} {o}");
}

#[test]
fn a_region_that_grows_is_tried_again_though_its_threads_never_met() {
    let mut gain = Gain::new();
    // So short that one thread runs all pieces before the other has come.
    play(&mut gain, 200, |_| (5000.0, 0.0, 1000.0));
    let (v, o) = play(&mut gain, 40, |_| (50_000.0, 100_000.0, 100_000.0));
    assert!(v > 30, "{v} {o}");
}

#[test]
fn harm_is_remembered_in_proportion() {
    let mut gain = Gain::new();
    assert_eq!(gain.turn(false), Way::Virtual);
    gain.learn_harm(1e9);
    let (v, _) = play(&mut gain, 50_000, |_| (2e6, 1e6, 1e6));
    assert_eq!(v, 0);
    let (v, _) = play(&mut gain, 100_000, |_| (2e6, 1e6, 1e6));
    assert!(v > 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn nobody_is_stuck_for_ever(
        runs in prop::collection::vec((1.0f64..1e7, 1.0f64..1e7, any::<bool>()), 0..300),
    ) {
        let mut gain = Gain::new();
        for (ns, equal, disturbed) in runs {
            match gain.turn(false) {
                Way::Virtual => gain.learn_virtual(&Run { elapsed_ns: ns, equal_ns: equal, best_ns: equal, disturbed }),
                Way::Ordinary | Way::Alone => gain.learn_ordinary(&Run { elapsed_ns: ns, equal_ns: 0.0, best_ns: 0.0, disturbed }),
            }
        }
        // Once all is quiet, a clear gain is found.
        play(&mut gain, 300_000, |_| (1e5, 2e5, 2e5));
        let (v, o) = play(&mut gain, 1000, |_| (1e5, 2e5, 2e5));
        prop_assert!(v > o);
    }
}

/// NPB SP, class S: as a virtual team four times as long, though its threads' paces promise a gain: what is lost lies at the barriers.
#[test]
fn what_is_far_slower_than_before_is_not_tried_long() {
    let mut gain = Gain::new();
    let fibers = Run {
        elapsed_ns: 900_000.0,
        equal_ns: 1_300_000.0,
        best_ns: 800_000.0,
        disturbed: false,
    };
    assert_eq!(gain.turn(false), Way::Virtual);
    gain.learn_virtual(&fibers);
    gain.remember_ordinaries(&[220_000.0, 230_000.0]);
    let mut tried = 1;
    while gain.turn(false) == Way::Virtual {
        gain.learn_virtual(&fibers);
        tried += 1;
        assert!(tried < 10);
    }
    assert_eq!(tried, 3);
    assert!(!gain.is_in_trial());
}

#[test]
fn an_expected_loss_is_tried_when_it_is_small_beside_the_time() {
    let mut gain = Gain::new();
    gain.expect_loss(2_000_000.0, 200_000.0, 900_000.0);
    let ordinary = |ns| Run {
        elapsed_ns: ns,
        ..Run::default()
    };
    let mut runs = 0;
    while gain.turn(false) == Way::Ordinary {
        gain.learn_ordinary(&ordinary(200_000.0));
        runs += 1;
        if runs % 100 == 50 {
            // One execution lost its core, and nobody noticed.
            assert_eq!(gain.turn(false), Way::Ordinary);
            gain.learn_ordinary(&ordinary(5_000_000.0));
            runs += 1;
        }
    }
    // A hundredth of the time.
    assert!((900..1100).contains(&runs), "{runs}");

    // The region grows.
    let mut gain = Gain::new();
    gain.expect_loss(2_000_000.0, 200_000.0, 900_000.0);
    let mut runs = 0;
    while gain.turn(false) == Way::Ordinary {
        gain.learn_ordinary(&ordinary(2_000_000.0));
        runs += 1;
    }
    assert!(runs <= 4, "{runs}");
}
