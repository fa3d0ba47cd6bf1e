use super::*;

const US: f64 = 1_000.0;

/// A region of a simulated program, in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Model {
    home: f64,
    /// A crossing if the region's pages are where the last one left them.
    steady: f64,
    /// How much longer a crossing takes if the region ran at home before.
    cold: f64,
    /// How much longer an execution at home takes behind a crossing.
    back: f64,
    /// How much longer a crossing takes for each other region that ran at home since.
    coupled: f64,
}

const LONG: Model = Model {
    home: 4_000.0 * US,
    steady: 2_300.0 * US,
    cold: 3_000.0 * US,
    back: 1_000.0 * US,
    coupled: 0.0,
};

struct World {
    regions: Vec<Model>,
    last: Vec<Way>,
    rule: Crossings,
    total: f64,
    lost: f64,
    across: u64,
    done: u64,
    /// Hopeless executions can be ended early.
    may_end: bool,
}

/// What a process that has run for so long may still lose, in nanoseconds.
pub(super) fn left(ran: f64, lost: f64) -> f64 {
    crate::limits::allowed_ns(ran as u64) as f64 - lost
}

/// Where a region runs that cannot be divided.
pub(super) fn whole(rule: &mut Crossings, region: usize, left_ns: f64) -> Way {
    let place = rule.next(region, left_ns);
    if rule.part().is_none() || is_home(place) {
        return place;
    }
    rule.is_whole(region);
    rule.next(region, left_ns)
}

fn trial(rule: &Crossings, region: usize) -> Option<Trial> {
    rule.trial(region, 0, Threshold::Calibrated(0.0))
}

impl World {
    fn new(regions: &[Model]) -> World {
        World {
            regions: regions.to_vec(),
            last: vec![Way::HOME; regions.len()],
            rule: Crossings::new(2),
            total: 0.0,
            lost: 0.0,
            across: 0,
            done: 0,
            may_end: false,
        }
    }

    /// One time step: each region once.
    fn step(&mut self) {
        self.done += 1;
        for i in 0..self.regions.len() {
            let m = self.regions[i];
            let place = whole(&mut self.rule, i, left(self.total, self.lost));
            let others = (0..self.regions.len()).filter(|&k| k != i);
            let at_home = others.filter(|&k| is_home(self.last[k])).count();
            let (ns, waited) = match (place, self.last[i]) {
                (Way::Ordinary(_), Way::Across) => (m.home + m.back, m.back),
                (Way::Ordinary(_), _) => (m.home, 0.0),
                (Way::Across, Way::Across) => (m.steady + m.coupled * at_home as f64, 0.0),
                (Way::Across, _) => (m.steady + m.cold + m.coupled * at_home as f64, 0.0),
                (place, _) => panic!("{place:?} was not allowed"),
            };
            self.across += u64::from(place == Way::Across);
            self.last[i] = place;
            // What has taken as long as it may is ended early, and home runs the rest.
            let trial = trial(&self.rule, i).filter(|_| place == Way::Across);
            let most = trial.map_or(f64::INFINITY, |t| t.home_ns + t.spare_ns);
            let ended = ns > most && self.may_end;
            let ns = if ended { most + m.home } else { ns };
            self.total += ns;
            self.lost += self.rule.ran(i, place, ns as u64, waited as u64);
            if ended {
                self.rule.gave_up(i);
                self.last[i] = Way::HOME;
            }
        }
    }

    fn steps(&mut self, count: usize) -> &mut World {
        for _ in 0..count {
            self.step();
        }
        self
    }

    fn home(&self) -> f64 {
        self.regions.iter().map(|m| m.home).sum()
    }
}

#[test]
fn a_region_that_gains_crosses_and_stays_there() {
    let mut w = World::new(&[LONG]);
    w.steps(8);
    assert!(w.across > 0);
    let before = w.across;
    w.steps(100);
    // Now and then it is looked at, at home.
    assert!(
        (before + 96..before + 100).contains(&w.across),
        "{}",
        w.across
    );
    assert_eq!(w.rule.why(0), Reason::Faster);
    let (home, across) = w.rule.times(0);
    assert_eq!((home, across), (4_000_000, 2_300_000));
}

#[test]
fn a_region_that_loses_is_tried_ever_more_seldom() {
    let bad = Model {
        steady: 40_000.0 * US,
        ..LONG
    };
    let mut w = World::new(&[bad]);
    let mut tried = Vec::new();
    for step in 0..20_000 {
        let before = w.across;
        w.step();
        if w.across > before {
            tried.push(step);
        }
    }
    assert!((2..30).contains(&tried.len()), "{tried:?}");
    let home = w.home() * 20_000.0;
    assert!(w.total < 1.05 * home, "{}", w.total / home);
    assert_eq!(w.rule.why(0), Reason::Slower);
}

#[test]
fn short_regions_are_never_tried() {
    let short = Model {
        home: 150.0 * US,
        steady: 90.0 * US,
        ..LONG
    };
    let mut w = World::new(&[short]);
    w.steps(10_000);
    assert_eq!(w.across, 0);
    assert_eq!(w.rule.why(0), Reason::Short);
}

/// Two regions of a time step work on the same arrays. Each loses if it crosses alone.
#[test]
fn regions_that_gain_only_together_cross_together() {
    let coupled = Model {
        coupled: 3_000.0 * US,
        ..LONG
    };
    let mut w = World::new(&[coupled, coupled]);
    w.steps(1_000);
    assert!(w.across > 1_900, "{}", w.across);
}

#[test]
fn a_region_that_loses_stays_while_others_cross() {
    let bad = Model {
        steady: 8_000.0 * US,
        back: 0.0,
        ..LONG
    };
    let mut w = World::new(&[LONG, bad, LONG]);
    w.steps(500);
    assert_eq!(w.rule.why(0), Reason::Faster);
    assert_eq!(w.rule.why(1), Reason::Slower);
    let best = 500.0 * (2.0 * LONG.steady + bad.home);
    assert!(w.total < 1.05 * best, "{}", w.total / best);
}

/// A program whose first half is no use to cross does not keep its second half at home for longer than what the trial
/// of the first half has lost is more than may be lost.
#[test]
fn later_regions_have_a_trial_of_their_own() {
    let bad = Model {
        steady: 400_000.0 * US,
        ..LONG
    };
    let mut w = World::new(&[bad]);
    w.may_end = true;
    w.steps(200);
    assert_eq!(w.rule.why(0), Reason::Slower);
    w.regions.push(LONG);
    w.last.push(Way::HOME);
    w.steps(1_200);
    assert_eq!(
        (w.rule.why(0), w.rule.why(1)),
        (Reason::Slower, Reason::Faster)
    );
}

/// What the origin fetches between regions counts: a serial part that reads all the data makes crossing lose.
#[test]
fn pages_fetched_by_serial_code_count_against_crossing() {
    let mut w = World::new(&[LONG]);
    for _ in 0..2_000 {
        w.step();
        if w.last[0] == Way::Across {
            w.lost += w.rule.fetched(2_500_000);
            w.total += 2.5e6;
        }
    }
    assert_eq!(w.rule.why(0), Reason::Slower);
    assert!(w.total < 1.05 * 2_000.0 * w.home());
}

#[test]
fn a_kept_region_whose_work_shrinks_is_measured_at_home_again() {
    let mut w = World::new(&[LONG]);
    w.steps(50);
    assert_eq!(w.rule.why(0), Reason::Faster);
    w.regions[0].home = 20.0 * US;
    w.regions[0].steady = 200.0 * US;
    w.steps(100);
    assert_eq!(w.rule.why(0), Reason::Short);
}

#[test]
fn a_kept_region_that_becomes_slow_goes_home() {
    let mut w = World::new(&[LONG]);
    w.steps(50);
    w.regions[0].steady = 9_000.0 * US;
    w.steps(100);
    assert_eq!(w.rule.why(0), Reason::Slower);
}

/// While it was measured at home, other programs had the cores: it seems to gain by crossing, and goes home when it is
/// looked at there again.
#[test]
fn what_was_measured_wrong_at_home_is_measured_again() {
    let mut w = World::new(&[Model {
        home: 2_000.0 * US,
        steady: 330.0 * US,
        cold: 300.0 * US,
        back: 300.0 * US,
        coupled: 0.0,
    }]);
    w.steps(3);
    w.regions[0].home = 5.0 * US;
    w.steps(3_000);
    assert_eq!(w.rule.why(0), Reason::Short);
    assert!(
        (1..=FIRST_PERIOD.into()).contains(&w.across),
        "{}",
        w.across
    );
}

/// One of its first executions at home lost its core.
#[test]
fn a_disturbed_execution_makes_no_short_region_long() {
    let mut rule = Crossings::new(2);
    for us in [40.0, 12.0, 3_000.0, 12.0, 3_000.0] {
        assert!(is_home(rule.next(7, left(0.0, 0.0))));
        rule.ran(7, Way::HOME, (us * US) as u64, 0);
    }
    assert_eq!(rule.why(7), Reason::Short);
}

/// A region that gains is looked at ever more rarely.
#[test]
fn looks_at_home_cost_little() {
    let mut w = World::new(&[LONG]);
    w.steps(2_000);
    assert_eq!(w.rule.why(0), Reason::Faster);
    let best = 2_000.0 * LONG.steady;
    assert!(w.total < 1.03 * best, "{}", w.total / best);
    assert!(
        w.across < 2_000 - 10 && w.across > 2_000 - 30,
        "{}",
        w.across
    );
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number between `low` and `high`; each order of magnitude is equally likely.
    fn between(&mut self, low: f64, high: f64) -> f64 {
        let unit = (self.next() >> 11) as f64 / (1u64 << 53) as f64;
        low * (high / low).powf(unit)
    }
}

/// Random programs: whatever their regions cost, the program takes little more time than at home, and little more
/// than with all regions across.
#[test]
fn the_loss_against_the_best_choice_is_bounded() {
    let mut random = Random(0x5eed_cafe_1234_5677);
    for case in 0..400 {
        let count = 1 + (random.next() % 6) as usize;
        let share = random.between(0.5, 40.0);
        let regions: Vec<Model> = (0..count)
            .map(|_| {
                let home = random.between(10.0 * US, 20_000.0 * US);
                let steady = home * share * random.between(0.8, 1.25) + 60.0 * US;
                Model {
                    home,
                    steady,
                    cold: home * random.between(0.01, 30.0),
                    back: home * random.between(0.01, 2.0),
                    coupled: 0.0,
                }
            })
            .collect();
        let mut w = World::new(&regions);
        // The excess of one execution, which cannot be stopped half-way, of a trial.
        let excess = |m: &Model| m.steady + m.cold - m.home;
        let once = regions.iter().map(excess).fold(0.0, f64::max);
        let way_back: f64 = regions.iter().map(|m| m.back).sum();
        for steps in [20.0, 200.0, 4_000.0] {
            while (w.done as f64) < steps {
                w.step();
            }
            let home = w.home() * steps;
            let bound = 1.02 * home + 20_000.0 * US + 3.0 * once + 8.0 * way_back;
            assert!(
                w.total <= bound,
                "case {case}, {steps} steps: {} of {home}, {regions:?}",
                w.total
            );
        }
        let across: f64 = regions.iter().map(|m| m.steady).sum::<f64>() * 4_000.0;
        let all = regions
            .iter()
            .all(|m| m.steady < 0.8 * m.home && m.home > 300.0 * US);
        if all {
            // Moving the data is tried again when the program has run for many times as long.
            let bound = 1.08 * across + 80.0 * (once + w.home());
            assert!(
                w.total <= bound,
                "case {case}: {} across {across}, {regions:?}",
                w.total
            );
        }
    }
}

/// A program of large data that runs for a short time is not tried: what moving the data would cost is known to be too
/// much. One that runs for long is, and moves.
#[test]
fn large_data_is_moved_for_long_programs_only() {
    let mut w = World::new(&[LONG]);
    // Moving a half of the data takes 50 ms.
    w.rule.data(5_000, 20_000.0, 20_000.0);
    w.steps(1_200);
    assert_eq!(w.across, 0);
    w.steps(100);
    assert_eq!(w.rule.why(0), Reason::Faster);
    // A region cannot touch more pages than it has time for.
    let mut w = World::new(&[LONG]);
    w.rule.data(1 << 30, 0.01, 0.01);
    w.steps(40);
    assert_eq!(w.rule.why(0), Reason::Faster);
}

/// Each execution across ends early: the trial is over with the first one, and the region is tried again ever more
/// rarely.
#[test]
fn a_trial_that_was_given_up_has_failed() {
    let mut rule = Crossings::new(2);
    let (home, across) = (4_000_000, 5_000_000);
    let (mut trials, mut ran, mut lost) = (0, 0.0, 0.0);
    for _ in 0..1000 {
        let place = rule.next(7, left(ran, lost));
        if is_home(place) {
            lost += rule.ran(7, place, home, 0);
            assert_eq!(trial(&rule, 7), None);
            ran += home as f64;
            continue;
        }
        trials += 1;
        let t = trial(&rule, 7).expect("a trial");
        assert!(t.in_shares && t.home_ns == home as f64 && t.spare_ns > 0.0);
        lost += rule.ran(7, place, across, 0);
        ran += across as f64;
        rule.gave_up(7);
        assert_eq!((rule.why(7), trial(&rule, 7)), (Reason::Slower, None));
    }
    assert!((1..12).contains(&trials), "{trials}");
}

/// A loop that is handed out runs for the first time, on two nodes of which the other one is twice as fast.
fn first(rule: &mut Crossings, region: usize, home: f64, ns: f64, ended: bool) -> f64 {
    use super::division::Part;
    assert!(rule.starts(region, left(0.0, 0.0)));
    let t = trial(rule, region).expect("a trial");
    assert_eq!((t.in_shares, t.home_ns, t.part), (true, 0.0, 1.0));
    let part = |work: f64, whole: f64, waited_ns| Part {
        cores: 1,
        threads: 1,
        work,
        ran_ns: work * whole,
        waited_ns,
        done_ns: ns,
    };
    // Home ran or waited from the beginning to the end.
    let own = (ns / home).min(0.95);
    let parts = [
        part(own, home, ns - own * home),
        part(1.0 - own, 0.5 * home, 0.0),
    ];
    rule.crossed(region, &parts, 2, ns);
    let lost = rule.ran(region, Way::Across, ns as u64, 0);
    if ended {
        rule.gave_up(region);
    }
    lost
}

/// A region that may run once gains at once, and goes on so if it runs again.
#[test]
fn a_loop_that_is_handed_out_is_tried_the_first_time() {
    let mut rule = Crossings::new(2);
    assert_eq!(first(&mut rule, 7, 40e6, 20e6, false), 0.0);
    assert_eq!(rule.speeds(7), Some(vec![1.0 / 40e6, 1.0 / 20e6]));
    assert!(!rule.starts(7, left(0.0, 0.0)));
    for _ in 0..4 {
        assert_eq!(rule.next(7, left(0.0, 0.0)), Way::Across);
        assert!(rule.ran(7, Way::Across, 15_000_000, 0) <= 0.0);
    }
    assert_eq!(rule.why(7), Reason::Faster);
    // Another one joins, but not one whose data would take longer to move than is left.
    assert_eq!(first(&mut rule, 8, 40e6, 20e6, false), 0.0);
    rule.data(1 << 20, 10_000.0, 10_000.0);
    for _ in 0..HOME_RUNS {
        assert!(is_home(rule.next(9, left(0.0, 0.0))));
        rule.ran(9, Way::HOME, 40_000_000, 0);
    }
    assert_eq!(rule.next(9, left(0.0, 0.0)), Way::Ordinary(Reason::Untried));
    assert_eq!(rule.next(7, left(0.0, 0.0)), Way::Across);
}

/// One that was ended early is known at home, and has its trial as any other.
#[test]
fn a_first_execution_that_was_ended_is_no_verdict() {
    let mut rule = Crossings::new(2);
    assert_eq!(first(&mut rule, 7, 40e6, 65e6, true), 25e6);
    assert_eq!(
        (rule.why(7), rule.times(7).0),
        (Reason::Untried, 40_000_000)
    );
    assert_eq!(trial(&rule, 7), None);
    assert!(!Crossings::new(2).starts(7, 0.0));
    // Moving all data would take longer than may be lost.
    let mut large = Crossings::new(2);
    large.data(10_000, 10_000.0, 10_000.0);
    assert!(!large.starts(7, left(0.0, 0.0)));
}

/// What was overdrawn must be saved before all is moved to the better node.
#[test]
fn a_debt_is_saved_before_a_node_is_tried() {
    let mut rule = Crossings::new(2);
    let mut lost = first(&mut rule, 7, 40e6, 65e6, true);
    rule.data(10_000, 10_000.0, 10_000.0);
    rule.tried(Way::Across).again_ns = f64::INFINITY;
    rule.regions.entry(7).or_default().tried = true;
    let (mut at_home, mut total) = (0, 65e6);
    while is_home(rule.next(7, left(total, lost))) {
        lost += rule.ran(7, Way::HOME, 40_000_000, 0);
        (at_home, total) = (at_home + 1, total + 40e6);
        assert!(at_home < 20, "never tried");
    }
    // 20 ms less in each, and 100 ms of moving, and a debt of 5.
    assert!((3..=7).contains(&at_home), "{at_home}");
}
