//! Whole lives of regions, played with invented times.

use super::*;
use proptest::prelude::*;

fn run(elapsed_ns: f64, equal_ns: f64) -> Run {
    Run {
        elapsed_ns,
        equal_ns,
        ..Run::default()
    }
}

/// Numbers from 0 to 1.
fn chance(mut state: u64) -> impl FnMut() -> f64 {
    move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / f64::from(1u32 << 31)
    }
}

const RICH: Turn = Turn {
    may_be_alone: false,
    left_ns: f64::INFINITY,
};

/// A process with one region: its time, and what trials have lost of it.
#[derive(Default)]
struct Life {
    gain: Gain,
    ran_ns: f64,
    lost_ns: f64,
    virtuals: u32,
    others: u32,
}

impl Life {
    fn left_ns(&self) -> f64 {
        (self.ran_ns / 100.0).max(20e6) - self.lost_ns
    }

    /// Runs the region `executions` times whose i-th takes what `times(i)` says: as a virtual team,
    /// what that would say of equal shares, and as an ordinary team. Returns how often each.
    fn play(&mut self, executions: u32, times: impl Fn(u32) -> (f64, f64, f64)) -> (u32, u32) {
        let (before, mut rest) = ((self.virtuals, self.others), (0, Way::Virtual));
        for i in 0..executions {
            let (virtual_ns, equal_ns, ordinary_ns) = times(i);
            let seen = rest.0 == 0;
            let way = if seen {
                let left_ns = self.left_ns().max(0.0);
                self.gain.turn(Turn { left_ns, ..RICH })
            } else {
                rest.0 -= 1;
                rest.1
            };
            let run = match way {
                Way::Virtual => run(virtual_ns, equal_ns),
                _ => run(ordinary_ns, 0.0),
            };
            self.virtuals += u32::from(way == Way::Virtual);
            self.others += u32::from(way != Way::Virtual);
            self.ran_ns += run.elapsed_ns;
            if seen {
                self.lost_ns += self.gain.learn(way, &run);
                if way != Way::Virtual {
                    rest = (self.gain.take_rest(way), way);
                }
            }
        }
        (self.virtuals - before.0, self.others - before.1)
    }
}

fn play(executions: u32, times: impl Fn(u32) -> (f64, f64, f64)) -> (u32, u32) {
    Life::default().play(executions, times)
}

#[test]
fn an_evident_gain_is_kept() {
    let (v, o) = play(1000, |_| (1000.0, 1900.0, 2000.0));
    assert!(o <= 8, "{v} {o}");
    let (v, o) = play(10, |_| (1000.0, 1900.0, 2000.0));
    assert_eq!((v, o), (9, 1));
}

#[test]
fn cost_without_gain_is_stayed_out_of_early() {
    // Twenty times as long: what the trials lose is bounded by a hundredth of the whole.
    let (v, o) = play(100_000, |_| (20_000.0, 900.0, 1000.0));
    assert!(
        f64::from(v) * 19_000.0 < 0.012 * f64::from(o) * 1000.0 + 60_000.0,
        "{v} {o}"
    );
    let (v, _) = play(100, |_| (20_000.0, 900.0, 1000.0));
    assert!(v <= 4, "{v}");
    // A little longer, and never found out to be: an ordinary team.
    let (v, o) = play(10_000, |_| (1010.0, 1000.0, 1000.0));
    assert!(v < o / 20, "{v} {o}");
}

#[test]
fn trials_lose_no_more_than_the_ledger_allows() {
    for (virtual_ns, ordinary_ns) in [(1e7, 3e7), (3e7, 1e7), (1e8, 3e8), (3e8, 1e8)] {
        let mut life = Life::default();
        // The paces of its threads promise nothing, or too much.
        let (v, o) = life.play(2000, |_| (virtual_ns, virtual_ns * 1.3, ordinary_ns));
        let worse = if virtual_ns < ordinary_ns { o } else { v };
        let lost = f64::from(worse) * f64::abs(virtual_ns - ordinary_ns);
        // All but the first pairs, before which nothing else is known.
        let first = f64::abs(virtual_ns - ordinary_ns) * 3.0;
        assert!(
            lost - first <= (life.ran_ns / 100.0).max(20e6) * 1.3,
            "{v} {o} {lost}"
        );
    }
}

/// A busy machine, where times differ so much that trials need many pairs: between two of them, no more may be lost
/// than what is left and a single pair.
#[test]
fn what_is_lost_is_charged_while_a_trial_runs() {
    let mut trials_stopped = 0;
    for seed in 1..=50u64 {
        let mut chance = chance(seed);
        let mut gain = Gain::new();
        let (mut left_ns, mut executions) = (20e6, [(0u32, 0.0f64); 2]);
        while gain.state == State::New || gain.is_in_trial() {
            let way = gain.turn(Turn { left_ns, ..RICH });
            if !gain.is_in_trial() {
                break;
            }
            let usual_ns = if way == Way::Virtual { 13e6 } else { 10e6 };
            let ns = usual_ns * (1.0 + 3.0 * chance());
            left_ns -= gain.learn(way, &run(ns, 0.0));
            let all = &mut executions[usize::from(way != Way::Virtual)];
            *all = (all.0 + 1, all.1 + ns);
        }
        // A pair of these loses at most 42 ms.
        assert!(left_ns > -42e6, "seed {seed}: {left_ns} left");
        trials_stopped += u32::from(left_ns <= 0.0 && !gain.is_judged);
    }
    assert!(trials_stopped > 5, "{trials_stopped} of 50");
}

/// Who has spent all may finish a pair by the better way, but not by the worse one.
#[test]
fn the_second_execution_of_a_pair_is_not_free_of_charge() {
    let settled = |favours: Way| {
        let mut gain = Gain::new();
        let equal_ns = if favours == Way::Virtual { 3e6 } else { 0.3e6 };
        for _ in 0..2 {
            if gain.turn(RICH) == Way::Virtual {
                gain.learn(Way::Virtual, &run(1e6, equal_ns));
            }
        }
        gain
    };
    let poor = Turn {
        left_ns: 0.0,
        ..RICH
    };
    let mut gain = settled(Way::Virtual);
    assert_eq!(gain.turn(poor), Way::Virtual);
    assert!(!gain.is_in_trial());
    let mut gain = settled(ORDINARY);
    assert_eq!(gain.turn(poor), ORDINARY);
}

#[test]
fn what_was_found_is_tried_again() {
    let mut life = Life::default();
    let (v, _) = life.play(500, |_| (30_000.0, 20_000.0, 20_000.0));
    assert!(v < 40, "{v}");
    // Another process has left the fast node.
    let (v, o) = life.play(20_000, |_| (10_000.0, 20_000.0, 20_000.0));
    assert!(v > o, "{v} {o}");
}

/// A busy machine: threads lose their cores in most executions of either way.
#[test]
fn disturbed_runs_count_for_little_but_they_count() {
    let lives = (1..=200u64).map(|seed| {
        let (mut gain, mut chance) = (Gain::new(), chance(seed));
        let mut ordinary = 0;
        for _ in 0..300 {
            let way = gain.turn(RICH);
            let disturbed = chance() < 0.7;
            let slice = if disturbed { 3e6 * chance() } else { 0.0 };
            let run = match way {
                Way::Virtual => run(1.3e6 + slice / 2.0, 2.5e6 + slice),
                _ => run(2.5e6 + slice, 0.0),
            };
            ordinary += u32::from(way == ORDINARY);
            gain.learn(way, &Run { disturbed, ..run });
        }
        ordinary
    });
    let most = lives.max().unwrap_or(0);
    assert!(most <= 30, "{most} of 300");
    // Where all are disturbed, there is a verdict even so.
    let mut gain = Gain::new();
    let ways = (0..200).map(|_| {
        let way = gain.turn(RICH);
        let ns = if way == Way::Virtual { 4e6 } else { 1e6 };
        gain.learn(
            way,
            &Run {
                disturbed: true,
                suspended: true,
                ..run(ns, 0.0)
            },
        );
        way
    });
    let virtuals = ways.filter(|&way| way == Way::Virtual).count();
    assert!(virtuals < 20, "{virtuals} of 200");
}

/// Rodinia's backprop: two executions of each region, and in the first one thread runs all pieces.
#[test]
fn a_first_execution_that_tells_nothing_is_followed_by_a_second_one() {
    let mut gain = Gain::new();
    for _ in 0..2 {
        assert_eq!(gain.turn(RICH), Way::Virtual);
        gain.learn(Way::Virtual, &run(1000.0, 0.0));
    }
    // What equal shares would take is still unknown: time decides.
    assert_eq!(gain.turn(RICH), ORDINARY);
}

/// Rodinia's bfs: 14 executions of other sizes each, most of them faster as virtual teams.
#[test]
fn a_likely_gain_is_found_among_many_sizes() {
    let sizes = |i: u32| {
        let work = 1e5 * f64::from(i % 5 + 1);
        (work * 0.6, work, work)
    };
    let (v, o) = play(14, sizes);
    assert!(o <= 6, "{v} {o}");
    let (v, o) = play(1000, sizes);
    assert!(o <= 100, "{v} {o}");
    // The trial has an end, and where paces were wrong the ordinary team wins.
    let (v, o) = play(200, |_| (1.1e5, 1.2e5, 1e5));
    assert!(v < 60, "{v} {o}");
}

#[test]
fn a_gain_that_falls_and_stays_evident_is_not_tried_again() {
    let falls = |low: f64| {
        let mut life = Life::default();
        life.play(12, |_| (1e5, 2e5, 2e5));
        assert!(!life.gain.is_in_trial());
        // Before the period ends.
        let (_, o) = life.play(22, |_| (1e5, low, low));
        (o, life.gain.is_in_trial())
    };
    assert_eq!(falls(1.3e5), (0, false));
    let (o, again) = falls(1.0e5);
    assert!(o > 0 || again, "{o}");
}

/// Runs a region as [`Gain`] says whose i-th execution takes `alone(i)` or `team(i)`. Returns how often each.
fn play_short(n: u32, alone: impl Fn(u32) -> f64, team: impl Fn(u32) -> f64) -> (u32, u32) {
    let mut gain = Gain::new();
    let turn = Turn {
        may_be_alone: true,
        ..RICH
    };
    let (mut alones, mut teams) = (0, 0);
    for i in 0..n {
        let way = gain.turn(turn);
        let run = match way {
            Way::Virtual => Run {
                alone_ns: alone(i),
                ..run(team(i) + 500.0, team(i))
            },
            ORDINARY => run(team(i), 0.0),
            _ => run(alone(i), 0.0),
        };
        gain.learn(way, &run);
        alones += u32::from(way == Way::Alone);
        teams += u32::from(way != Way::Alone);
    }
    (alones, teams)
}

#[test]
fn little_work_is_for_one_thread() {
    let (a, t) = play_short(1000, |_| 60.0, |_| 280.0);
    assert!(t < 40, "{a} {t}");
    let (a, t) = play_short(1000, |_| 8000.0, |_| 3900.0);
    assert!(a < 10, "{a} {t}");
    // The two are alike.
    let (a, t) = play_short(4000, |_| 1000.0, |_| 1000.0);
    assert!(a < t / 5, "{a} {t}");
    // Longer, where others want the cores.
    let (a, t) = play_short(1000, |_| 20_000.0, |_| 30_000.0);
    assert!(t < 40, "{a} {t}");
    // One thread would clearly take longer, and is not tried.
    let (a, t) = play_short(1000, |_| 20_000.0, |_| 15_000.0);
    assert_eq!((a, t), (0, 1000));
}

#[test]
fn the_large_ones_of_many_sizes_decide() {
    // Eleven materials; all of the work is in the last ones.
    let work = |i: u32| f64::from((i % 11).pow(3));
    let share = |each: f64| {
        let (a, t) = play_short(4000, |i| work(i) * each, |i| work(i) * each / 2.0 + 250.0);
        f64::from(a) / f64::from(a + t)
    };
    assert!(share(0.3) > 0.8, "{}", share(0.3));
    assert!(share(4.0) < 0.2, "{}", share(4.0));
}

#[test]
fn a_short_region_that_grows_is_not_left_to_one_thread() {
    let grows = |i: u32| if i < 500 { 100.0 } else { 8000.0 };
    let (a, t) = play_short(1000, grows, |i| grows(i) / 2.0 + 250.0);
    assert!((400..540).contains(&a), "{a} {t}");
}

/// An execution of a region with little work.
fn short(way: Way) -> Run {
    Run {
        alone_ns: 60.0,
        ..run(if way == Way::Alone { 60.0 } else { 280.0 }, 0.0)
    }
}

#[test]
fn a_long_execution_by_one_thread_gives_the_others_back() {
    let mut gain = Gain::new();
    let turn = Turn {
        may_be_alone: true,
        ..RICH
    };
    let alone = loop {
        let way = gain.turn(turn);
        gain.learn(way, &short(way));
        let rest = gain.take_rest(Way::Alone);
        if rest > 0 {
            break rest;
        }
    };
    assert!(gain.longest_alone_ns() >= 1000.0);
    gain.give_back(alone - 1);
    gain.learn(Way::Alone, &run(50_000.0, 0.0));
    // The next ones are looked at.
    assert_eq!(gain.take_rest(Way::Alone), 0);
    assert_eq!(gain.turn(turn), Way::Alone);
    gain.learn(Way::Alone, &run(60.0, 0.0));
    assert!(gain.take_rest(Way::Alone) > alone / 2);
}

/// The program calls `omp_set_num_threads` between two executions.
#[test]
fn one_thread_is_left_once_it_is_not_right_for_the_region() {
    let mut gain = Gain::new();
    let mut alones = 0;
    for i in 0..300 {
        let turn = Turn {
            may_be_alone: i % 100 < 50,
            ..RICH
        };
        let way = gain.turn(turn);
        assert!(turn.may_be_alone || way != Way::Alone, "{i}");
        gain.learn(way, &short(way));
        alones += u32::from(way == Way::Alone);
    }
    assert!(alones > 30, "{alones}");
}

/// Next to 20 busy processes: the first execution of a way loses its core, which nobody asks for in regions that are so
/// short.
#[test]
fn an_interrupted_execution_in_haste_decides_nothing() {
    let mut gain = Gain::new();
    let turn = Turn {
        may_be_alone: true,
        ..RICH
    };
    let mut alones = 0;
    for _ in 0..30 {
        let way = gain.turn(turn);
        let ns = match way {
            Way::Virtual => 20_000.0,
            Way::Alone if alones == 0 => 4e6,
            Way::Alone => 2000.0,
            _ => 5000.0,
        };
        alones += u32::from(way == Way::Alone);
        let alone_ns = 2000.0;
        gain.learn(
            way,
            &Run {
                alone_ns,
                ..run(ns, 0.0)
            },
        );
    }
    assert!(alones > 5, "{alones}");
}

/// The same with longer regions, of which the system is asked.
#[test]
fn a_disturbed_pair_decides_nothing() {
    let mut gain = Gain::new();
    let (mut virtuals, mut ordinary) = (0, 0);
    for _ in 0..300 {
        let way = gain.turn(RICH);
        let disturbed = way == Way::Virtual && virtuals == 1;
        virtuals += u32::from(way == Way::Virtual);
        ordinary += u32::from(way == ORDINARY);
        let ns = match way {
            Way::Virtual if disturbed => 40e6,
            Way::Virtual => 1e5,
            _ => 2e5,
        };
        gain.learn(
            way,
            &Run {
                disturbed,
                ..run(ns, 0.0)
            },
        );
    }
    assert!(ordinary < 20, "{ordinary}");
}

#[test]
fn a_region_of_many_sizes_goes_by_its_large_ones() {
    // Small ones first, as in a multigrid's way up; only the largest two sizes gain.
    let sizes = |i: u32| {
        let work = 1000.0 * f64::from(8u32.pow(i % 5));
        (work / 2.0 + 20_000.0, work * 0.97, work + 1000.0)
    };
    let (v, o) = play(2000, sizes);
    assert!(v > 3 * o, "{v} {o}");
    // On equal nodes none does.
    let (v, o) = play(2000, |i| {
        let (_, equal, ordinary) = sizes(i);
        (equal + 20_000.0, equal, ordinary)
    });
    assert!(v < o / 8, "{v} {o}");
}

#[test]
fn a_region_that_grows_is_tried_again_though_its_threads_never_met() {
    let mut life = Life::default();
    // So short that one thread runs all pieces before the other has come.
    life.play(200, |_| (5000.0, 0.0, 1000.0));
    let (v, o) = life.play(400, |_| (50_000.0, 100_000.0, 100_000.0));
    assert!(v > 300, "{v} {o}");
}

#[test]
fn harm_is_remembered_in_proportion() {
    let mut life = Life::default();
    assert_eq!(life.gain.turn(RICH), Way::Virtual);
    life.gain.learn_harm();
    life.lost_ns += 1e9;
    let (v, _) = life.play(90_000, |_| (2e6, 1e6, 1e6));
    assert_eq!(v, 0);
    let (v, _) = life.play(200_000, |_| (2e6, 1e6, 1e6));
    assert!(v > 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn nobody_is_stuck_for_ever(
        runs in prop::collection::vec((1.0f64..1e7, 1.0f64..1e7, any::<bool>()), 0..300),
    ) {
        let mut life = Life::default();
        for (ns, equal, disturbed) in runs {
            let way = life.gain.turn(RICH);
            let equal_ns = if way == Way::Virtual { equal } else { 0.0 };
            life.gain.learn(way, &Run { disturbed, ..run(ns, equal_ns) });
        }
        // Once all is quiet, a clear gain is found.
        life.play(100_000, |_| (1e5, 2e5, 2e5));
        let (v, o) = life.play(1000, |_| (1e5, 2e5, 2e5));
        prop_assert!(v > o);
    }
}

/// NPB SP, class S: as a virtual team four times as long, though its threads' paces promise a gain: what is lost lies
/// at the barriers.
#[test]
fn what_barriers_cost_is_found_early() {
    let mut gain = Gain::new();
    let mut virtuals = 0;
    for _ in 0..30 {
        let way = gain.turn(RICH);
        virtuals += u32::from(way == Way::Virtual);
        let ns = if way == Way::Virtual {
            900_000.0
        } else {
            220_000.0
        };
        let equal_ns = if way == Way::Virtual {
            1_300_000.0
        } else {
            0.0
        };
        gain.learn(
            way,
            &Run {
                suspended: true,
                ..run(ns, equal_ns)
            },
        );
    }
    assert!(virtuals <= 3, "{virtuals}");
    // Who has nothing left to lose does not try again.
    let poor = Turn {
        left_ns: 0.0,
        ..RICH
    };
    assert!((0..1000).all(|_| gain.turn(poor) == ORDINARY));
}

/// The program's first region on a busy machine: one thread starts late and loses its core, so that the whole takes 30
/// times as long as its parts.
#[test]
fn a_first_execution_that_was_disturbed_decides_nothing() {
    let mut life = Life::default();
    assert_eq!(life.gain.turn(RICH), Way::Virtual);
    let late = Run {
        disturbed: true,
        ..run(276e6, 9e6)
    };
    life.lost_ns += life.gain.learn(Way::Virtual, &late);
    let (v, o) = life.play(300, |_| (5e6, 9e6, 9e6));
    assert!(o < 15, "{v} {o}");
}

/// What a region takes that is twice as fast as a virtual team, or the other way round.
fn twice(faster: Way) -> (f64, f64, f64) {
    match faster {
        Way::Virtual => (1e6, 1.9e6, 2e6),
        _ => (2e6, 1.9e6, 1e6),
    }
}

/// Runs in which another process has found `way`, and found this time for it. Returns how often each.
fn play_kept(
    way: Way,
    ns: f64,
    confirmed: bool,
    executions: u32,
    times: (f64, f64, f64),
) -> (u32, u32) {
    let gain = Gain::restored(Kept { way, ns, confirmed });
    let mut life = Life {
        gain,
        ..Life::default()
    };
    life.play(executions, |_| times)
}

#[test]
fn the_second_run_begins_where_the_first_one_ended() {
    for (way, ns) in [(Way::Virtual, 1e6), (ORDINARY, 1e6)] {
        let mut first = Life::default();
        first.play(100, |_| twice(way));
        let kept = first.gain.kept().expect("a verdict");
        assert_eq!((kept.way, kept.confirmed), (way, true));
        assert!((0.9..1.1).contains(&(kept.ns / ns)), "{kept:?}");
        let worse = |(v, o): (u32, u32)| if way == Way::Virtual { o } else { v };
        let warm = play_kept(kept.way, kept.ns, kept.confirmed, 30, twice(way));
        assert_eq!(worse(warm), 0);
        // A second run that was over before its first trial leaves as much to the third one.
        let again = Gain::restored(kept).kept().expect("a verdict");
        assert_eq!((again.way, again.confirmed), (way, true));
        // What a single trial has said is tried, but comes first.
        let mut short = Life::default();
        short.play(12, |_| twice(way));
        let kept = short.gain.kept().expect("a verdict");
        assert!(!kept.confirmed);
        assert!(worse(play_kept(kept.way, kept.ns, false, 1, twice(way))) == 0);
        let warm = worse(play_kept(kept.way, kept.ns, false, 30, twice(way)));
        let cold = worse(play(30, |_| twice(way)));
        assert!(warm <= cold, "{warm} {cold}");
    }
    assert_eq!(Gain::new().kept(), None);
}

/// The first run was disturbed from its beginning to its end, so that its verdict is wrong.
#[test]
fn a_wrong_verdict_of_another_run_is_corrected() {
    for (wrong, right) in [(ORDINARY, Way::Virtual), (Way::Virtual, ORDINARY)] {
        let worse = |(v, o): (u32, u32)| if right == Way::Virtual { o } else { v };
        // Its single trial costs no more than a run that knows nothing.
        for executions in [1, 2, 5, 20, 100] {
            let kept = worse(play_kept(wrong, 2e6, false, executions, twice(right)));
            let cold = worse(play(executions, |_| twice(right)));
            assert!(kept <= cold + 1, "{kept} {cold} of {executions}");
        }
        // Two trials: for a period and a trial, or until times are seen to be others.
        let kept = worse(play_kept(wrong, 2e6, true, 1000, twice(right)));
        assert!(kept <= FIRST_PERIOD * 2 + 6, "{kept}");
        let kept = worse(play_kept(wrong, 7e6, true, 1000, twice(right)));
        assert!(kept <= 20, "{kept}");
    }
}
