//! What becomes of a trial, and of what is kept.

use super::{Crossings, Phase, Place, LOSES, WINS};

impl Crossings {
    /// What was seen so far counts, also if the trial ended because it cost too much.
    pub(super) fn judge_trial(&mut self) {
        let Phase::Trial {
            fetched_ns,
            place,
            from,
            ..
        } = self.phase
        else {
            return;
        };
        let (mut away, mut before) = (fetched_ns, 0.0);
        for r in self.regions.values() {
            if let Some(steady) = r.steady() {
                away += steady * f64::from(r.trial_runs);
                before += r.before_ns * f64::from(r.trial_runs);
            }
        }
        if from != Place::Home {
            // Serial code waited for pages there, too.
            before *= 1.0 + self.kept_fetched_ns / self.kept_ns.max(1.0);
        }
        let together = away < WINS * before;
        if from != Place::Home && !together {
            self.fail(place);
            self.keep(from);
            for r in self.regions.values_mut() {
                r.out = r.was_out;
            }
            return;
        }
        let (mut any, mut some_lost) = (false, false);
        let following: Vec<bool> = self.regions.values().map(|r| self.follows(r)).collect();
        for (r, follows) in self.regions.values_mut().zip(following) {
            let limit = if together { LOSES } else { WINS };
            if let Some(steady) = r.steady() {
                r.out = steady > limit * r.home_ns && !follows;
            }
            // A region that was not seen in the trial, or only cold, goes too: what is kept will show.
            any |= r.trial_runs > 1 && !r.out;
            some_lost |= r.trial_runs > 1 && r.out;
        }
        // Whole on one node, all regions go or none: one that stayed would take its pages back.
        if any && together {
            let loss = self.lost_ns - self.lost_before_ns;
            self.tried(place).loss_ns = loss;
            self.failures += u32::from(some_lost);
            self.keep(place);
        } else {
            self.fail(place);
        }
    }

    fn keep(&mut self, place: Place) {
        (self.kept_ns, self.kept_fetched_ns) = (0.0, 0.0);
        self.phase = Phase::Kept {
            place,
            away_ns: 0.0,
            home_ns: 0.0,
            runs: 0,
        };
    }

    pub(super) fn judge_kept(&mut self) {
        if let Phase::Kept {
            place,
            away_ns,
            home_ns,
            runs,
        } = &mut self.phase
        {
            if *away_ns > *home_ns {
                let place = *place;
                self.lost_ns += *away_ns - *home_ns;
                self.fail(place);
            } else {
                (*away_ns, *home_ns, *runs) = (0.0, 0.0, 0);
            }
        }
    }

    fn fail(&mut self, place: Place) {
        self.phase = Phase::Home;
        self.failures += 1;
        let (spent, loss) = (self.spent_ns, self.lost_ns - self.lost_before_ns);
        let tried = self.tried(place);
        tried.loss_ns = loss;
        tried.again_ns = 2.0 * spent;
        tried.failures += 1;
        for r in self.regions.values_mut() {
            r.out = false;
        }
    }
}
