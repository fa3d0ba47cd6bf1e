//! What the code of a region says about a team of virtual threads, in one word.
//!
//! The runtime asks for it before a region's first run, and `hetmp which` for programs that do not run at all: both
//! must say the same.

use crate::{Entry, Scan, Use};

/// Whether a region may be divided into more pieces than there are threads, as far as its code tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Verdict {
    /// Static loops whose results do not depend on the number of threads: any number fits, where the calls of [`Scan::told`] are
    /// answered as they would be in an ordinary team.
    AnySize,
    /// Loops whose pieces the runtime hands out, and no static ones: schedules divide them as they are.
    Dispatched,
    /// No loop that could be divided, and no use of the thread number.
    NoLoop,
    /// The thread number, or something that depends on the size of the team, goes elsewhere than into a loop's bounds.
    ThreadNumber,
    /// Code that cannot be followed, in the region or in what it calls.
    Unscanned,
    /// It reaches thread-local variables, or may do so in code that cannot be followed.
    ThreadLocal,
    /// A loop that looks at memory until another thread has changed it.
    Waits,
    /// Tasks, which balance themselves, or reductions of scopes.
    Tasks,
    /// An order between its threads.
    Ordered,
    /// Entries of the runtime that no team of virtual threads has: devices, leagues, what is not known.
    Unforeseen,
}

impl Scan {
    /// The verdict on a region of an object with thread-local variables, or without.
    pub fn verdict(&self, object_has_thread_locals: bool) -> Verdict {
        let calls = &self.calls;
        let followed = self.followed();
        // Virtual threads of one real thread would share what the program keeps for each thread. What is not in an
        // object with variables of that kind is not expected to reach one.
        if calls.thread_local || (object_has_thread_locals && !followed) {
            return Verdict::ThreadLocal;
        }
        // Its threads wait for each other with no call: only real ones get on by themselves.
        if calls.polls {
            return Verdict::Waits;
        }
        if calls.any(&[Entry::Task, Entry::Scope]) {
            return Verdict::Tasks;
        }
        if calls.any(&[Entry::Ordered, Entry::Doacross]) {
            return Verdict::Ordered;
        }
        if calls.any(&[Entry::Target, Entry::Other]) {
            return Verdict::Unforeseen;
        }
        if followed && self.chunks == 0 && calls.contains(Entry::LoopDispatch) {
            return Verdict::Dispatched;
        }
        match self.fits() {
            // A callee that was not followed may ask for the thread number as well.
            Ok(()) if calls.unknown => Verdict::Unscanned,
            // Their answers depend on the size of the team too.
            Ok(()) if calls.any(&[Entry::Query, Entry::Setting]) => Verdict::ThreadNumber,
            // Threads may number themselves there.
            Ok(()) if calls.any(&[Entry::Critical, Entry::Lock]) => Verdict::ThreadNumber,
            Ok(()) => Verdict::AnySize,
            Err(_) if self.limit.is_some() => Verdict::Unscanned,
            Err(_) if self.asks_for_no_number() => Verdict::NoLoop,
            Err(_) => Verdict::ThreadNumber,
        }
    }

    /// Whether all code of the region was seen.
    pub fn followed(&self) -> bool {
        self.limit.is_none() && !self.calls.unknown
    }

    fn asks_for_no_number(&self) -> bool {
        self.thread_number == Use::Absent && self.team_size == Use::Absent
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Calls, Told, Why};

    fn scan_of(entries: &[Entry], chunks: u32, number: Use, unknown: bool) -> Scan {
        let mut calls = Calls::default();
        for &entry in entries {
            calls.insert(entry);
        }
        calls.unknown = unknown;
        Scan {
            thread_number: number,
            team_size: number,
            calls,
            chunks,
            told: Told::NONE,
            limit: None,
            limit_address: 0,
        }
    }

    const LOOPS: [Entry; 2] = [Entry::ThreadNumber, Entry::TeamSize];

    #[test]
    fn thread_local_variables() {
        let local = |scan: &Scan, object| scan.verdict(object) == Verdict::ThreadLocal;
        let mut plain = scan_of(&LOOPS, 1, Use::Arithmetic, false);
        assert!(!local(&plain, true));
        plain.calls.thread_local = true;
        assert!(local(&plain, true));
        // Another object's.
        assert!(local(&plain, false));
        let mut unknown = scan_of(&LOOPS, 1, Use::Arithmetic, true);
        assert!(local(&unknown, true));
        assert!(!local(&unknown, false));
        unknown.calls.unknown = false;
        unknown.limit = Some(Why::TooLong);
        assert!(local(&unknown, true));
    }

    #[test]
    fn each_verdict() {
        let of = |entries: &[Entry], chunks, number, unknown| {
            scan_of(entries, chunks, number, unknown).verdict(false)
        };
        let split = Use::Arithmetic;
        assert_eq!(of(&LOOPS, 1, split, false), Verdict::AnySize);
        assert_eq!(of(&LOOPS, 1, split, true), Verdict::Unscanned);
        let escapes = Use::Escapes(Why::Address, 1);
        assert_eq!(of(&LOOPS, 1, escapes, false), Verdict::ThreadNumber);
        assert_eq!(of(&[], 0, Use::Absent, false), Verdict::NoLoop);
        let dispatch = [Entry::LoopDispatch];
        assert_eq!(of(&dispatch, 0, Use::Absent, false), Verdict::Dispatched);
        for (entry, verdict) in [
            (Entry::Task, Verdict::Tasks),
            (Entry::Scope, Verdict::Tasks),
            (Entry::Ordered, Verdict::Ordered),
            (Entry::Doacross, Verdict::Ordered),
            (Entry::Target, Verdict::Unforeseen),
            (Entry::Critical, Verdict::ThreadNumber),
            (Entry::Query, Verdict::ThreadNumber),
        ] {
            assert_eq!(of(&[entry], 1, split, false), verdict, "{entry:?}");
        }
        let mut polls = scan_of(&LOOPS, 1, split, false);
        polls.calls.polls = true;
        assert_eq!(polls.verdict(false), Verdict::Waits);
    }
}
