//! Which way the code of a region allows.
//!
//! The runtime asks for it before a region's first run, and `hetmp which` for programs that do not run at all: both
//! must say the same.

use crate::{Entry, Scan, Use};
use hetmp_sched::ways::{Reason, Way};

impl Scan {
    /// The best way of a region of an object with thread-local variables, or without, as far as its code tells.
    ///
    /// [`Way::Virtual`]: as a team of any size, where the calls of [`Scan::told`] are answered as they would be in an
    /// ordinary team. [`Way::Dispatched`]: the runtime hands out the pieces of all its loops.
    pub fn way(&self, object_has_thread_locals: bool) -> Way {
        match self.reason(object_has_thread_locals) {
            Some(reason) => Way::Ordinary(reason),
            None if self.is_dispatched() => Way::Dispatched,
            None => Way::Virtual,
        }
    }

    fn is_dispatched(&self) -> bool {
        self.followed() && self.chunks == 0 && self.calls.contains(Entry::LoopDispatch)
    }

    fn reason(&self, object_has_thread_locals: bool) -> Option<Reason> {
        let calls = &self.calls;
        let followed = self.followed();
        // Virtual threads of one real thread would share what the program keeps for each thread. What is not in an
        // object with variables of that kind is not expected to reach one.
        if calls.thread_local || (object_has_thread_locals && !followed) {
            return Some(Reason::ThreadLocal);
        }
        // Its threads wait for each other with no call: only real ones get on by themselves.
        if calls.polls {
            return Some(Reason::Waits);
        }
        if calls.any(&[Entry::Task, Entry::Scope]) {
            return Some(Reason::Tasks);
        }
        if calls.any(&[Entry::Ordered, Entry::Doacross]) {
            return Some(Reason::Ordered);
        }
        if calls.any(&[Entry::Target, Entry::Other]) {
            return Some(Reason::Unforeseen);
        }
        if self.is_dispatched() {
            return None;
        }
        match self.fits() {
            // A callee that was not followed may ask for the thread number as well.
            Ok(()) if calls.unknown => Some(Reason::Unscanned),
            // Their answers depend on the size of the team too.
            Ok(()) if calls.any(&[Entry::Query, Entry::Setting]) => Some(Reason::ThreadNumber),
            // Threads may number themselves there.
            Ok(()) if calls.any(&[Entry::Critical, Entry::Lock]) => Some(Reason::ThreadNumber),
            Ok(()) => None,
            Err(_) if self.limit.is_some() => Some(Reason::Unscanned),
            Err(_) if self.asks_for_no_number() => Some(Reason::NoLoop),
            Err(_) => Some(Reason::ThreadNumber),
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
        let local = |scan: &Scan, object| scan.way(object) == Way::Ordinary(Reason::ThreadLocal);
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
    fn each_way() {
        let of = |entries: &[Entry], chunks, number, unknown| {
            scan_of(entries, chunks, number, unknown).way(false)
        };
        let split = Use::Arithmetic;
        assert_eq!(of(&LOOPS, 1, split, false), Way::Virtual);
        assert_eq!(of(&LOOPS, 1, split, true), Way::Ordinary(Reason::Unscanned));
        let escapes = Use::Escapes(Why::Address, 1);
        assert_eq!(
            of(&LOOPS, 1, escapes, false),
            Way::Ordinary(Reason::ThreadNumber)
        );
        assert_eq!(
            of(&[], 0, Use::Absent, false),
            Way::Ordinary(Reason::NoLoop)
        );
        let dispatch = [Entry::LoopDispatch];
        assert_eq!(of(&dispatch, 0, Use::Absent, false), Way::Dispatched);
        for (entry, reason) in [
            (Entry::Task, Reason::Tasks),
            (Entry::Scope, Reason::Tasks),
            (Entry::Ordered, Reason::Ordered),
            (Entry::Doacross, Reason::Ordered),
            (Entry::Target, Reason::Unforeseen),
            (Entry::Critical, Reason::ThreadNumber),
            (Entry::Query, Reason::ThreadNumber),
        ] {
            let way = Way::Ordinary(reason);
            assert_eq!(of(&[entry], 1, split, false), way, "{entry:?}");
        }
        let mut polls = scan_of(&LOOPS, 1, split, false);
        polls.calls.polls = true;
        assert_eq!(polls.way(false), Way::Ordinary(Reason::Waits));
    }
}
