//! Does a region fit a virtual team? What its code says, before it ever runs.

use super::lever::{Guard, Lever};
use hetmp_scan::loaded::Loaded;
use hetmp_scan::{divides_freely, scan, Calls, Entry, Form, Scan, Use};

/// What is known about an outlined function from its code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fit {
    /// Any number of threads is right for it, because the number goes into the bounds of loops
    /// alone. Otherwise why that is not known.
    pub(super) any_size: Result<(), Guard>,
    /// It asks neither for the thread number nor for the number of threads.
    pub(super) asks_for_no_number: bool,
    /// Nothing in it can wait for another thread of the team.
    pub(super) waits_for_nobody: bool,
    /// A virtual team is out of the question, of whatever size.
    pub(super) never: Option<Lever>,
    /// Its results are the same into however many pieces its loops are divided, even for a program
    /// that asked for a certain number of threads. `None`: nobody wanted to know yet.
    pub(super) divides_freely: Option<bool>,
}

impl Fit {
    const fn never(guard: Guard) -> Fit {
        Fit {
            any_size: Err(guard),
            asks_for_no_number: false,
            waits_for_nobody: false,
            never: Some(Lever::Plain(guard)),
            divides_freely: None,
        }
    }

    /// Finds out about the function at `address`, whose fit and form this is, what it takes to divide it
    /// into more pieces than the program asked for.
    pub(super) fn look_at_division(&mut self, address: usize, form: Form) {
        if self.divides_freely.is_none() {
            // Nothing of the rest is in question without this.
            let free = self.any_size.is_ok()
                && Loaded::at(address as u64)
                    .is_some_and(|object| divides_freely(&object, address as u64, form).is_ok());
            self.divides_freely = Some(free);
        }
    }
}

/// Reads the function at `address`, which a compiler outlined in this `form`.
pub(super) fn of(address: usize, form: Form) -> Fit {
    hetmp_core::aside::run(|| read(address, form))
}

fn read(address: usize, form: Form) -> Fit {
    let Some(object) = Loaded::at(address as u64) else {
        return Fit::never(Guard::Unscanned);
    };
    let scan = scan(&object, address as u64, form);
    if shares_thread_local(&scan, object.object().has_tls) {
        return Fit::never(Guard::ThreadLocal);
    }
    judge(&scan)
}

/// Virtual threads of one real thread would share what the program keeps for each thread: where the
/// region reaches such a variable, or may do so in code that was not followed. What is not in an
/// object with variables of that kind is not expected to.
fn shares_thread_local(scan: &Scan, object_has_some: bool) -> bool {
    let followed = scan.limit.is_none() && !scan.calls.unknown;
    scan.calls.thread_local || (object_has_some && !followed)
}

fn judge(scan: &Scan) -> Fit {
    let followed = scan.limit.is_none() && !scan.calls.unknown;
    Fit {
        asks_for_no_number: followed
            && scan.thread_number == Use::Absent
            && scan.team_size == Use::Absent
            && !scan.calls.any(&[Entry::Query, Entry::Setting]),
        ..judge_calls(scan, followed)
    }
}

fn judge_calls(scan: &Scan, followed: bool) -> Fit {
    let calls = &scan.calls;
    if calls.polls {
        // Its threads wait for each other with no call: only real ones get on by themselves.
        return Fit::never(Guard::Waits);
    }
    if calls.contains(Entry::Task) || calls.contains(Entry::Scope) {
        return Fit::never(Guard::Tasks);
    }
    if calls.any(&[Entry::Ordered, Entry::Doacross]) {
        return Fit::never(Guard::Ordered);
    }
    if calls.any(&[Entry::Target, Entry::Other]) {
        return Fit::never(Guard::Unforeseen);
    }
    if followed && scan.chunks == 0 && calls.contains(Entry::LoopDispatch) {
        return Fit {
            never: Some(Lever::Dispatched),
            ..Fit::never(Guard::FewPieces)
        };
    }
    Fit {
        any_size: any_size(scan),
        asks_for_no_number: false,
        waits_for_nobody: followed && waits_for_nobody(calls),
        never: None,
        divides_freely: None,
    }
}

fn any_size(scan: &Scan) -> Result<(), Guard> {
    match scan.fits() {
        // A callee that was not followed may ask for the thread number as well.
        Ok(()) if scan.calls.unknown => Err(Guard::Unscanned),
        // Their answers depend on the size of the team too.
        Ok(()) if scan.calls.any(&[Entry::Query, Entry::Setting]) => Err(Guard::ThreadNumber),
        // Threads may number themselves there.
        Ok(()) if scan.calls.any(&[Entry::Critical, Entry::Lock]) => Err(Guard::ThreadNumber),
        Ok(()) => Ok(()),
        Err(_) if scan.limit.is_some() => Err(Guard::Unscanned),
        Err(_) => Err(
            if scan.thread_number == Use::Absent && scan.team_size == Use::Absent {
                Guard::FewPieces
            } else {
                Guard::ThreadNumber
            },
        ),
    }
}

/// Only what neither waits for the team nor keeps a lock while others run.
fn waits_for_nobody(calls: &Calls) -> bool {
    calls.entries().all(|entry| {
        matches!(
            entry,
            Entry::ThreadNumber
                | Entry::TeamSize
                | Entry::Single
                | Entry::Critical
                | Entry::Atomic
                | Entry::AtomicEnd
                | Entry::Allocate
                | Entry::Time
                | Entry::StaticLoop
                | Entry::ProcessNumber
                | Entry::Mark
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
            limit: None,
            limit_address: 0,
        }
    }

    #[test]
    fn thread_local_variables() {
        let loops = [Entry::ThreadNumber, Entry::TeamSize];
        let mut plain = scan_of(&loops, 1, Use::Arithmetic, false);
        assert!(!shares_thread_local(&plain, true));
        plain.calls.thread_local = true;
        assert!(shares_thread_local(&plain, true));
        // Another object's.
        assert!(shares_thread_local(&plain, false));
        let mut unknown = scan_of(&loops, 1, Use::Arithmetic, true);
        assert!(shares_thread_local(&unknown, true));
        assert!(!shares_thread_local(&unknown, false));
        unknown.calls.unknown = false;
        unknown.limit = Some(hetmp_scan::Why::TooLong);
        assert!(shares_thread_local(&unknown, true));
    }

    #[test]
    fn judgements() {
        let loops = [Entry::ThreadNumber, Entry::TeamSize];
        let plain = judge(&scan_of(&loops, 1, Use::Arithmetic, false));
        assert_eq!(plain.any_size, Ok(()));
        assert!(plain.waits_for_nobody && plain.never.is_none());
        let barrier = [Entry::ThreadNumber, Entry::TeamSize, Entry::Barrier];
        let fit = judge(&scan_of(&barrier, 2, Use::Arithmetic, false));
        assert!(fit.any_size.is_ok() && !fit.waits_for_nobody);
        let fit = judge(&scan_of(&loops, 1, Use::Arithmetic, true));
        assert_eq!(fit.any_size, Err(Guard::Unscanned));
        assert!(!fit.waits_for_nobody);
        let escapes = Use::Escapes(hetmp_scan::Why::Address, 1);
        let fit = judge(&scan_of(&loops, 1, escapes, false));
        assert_eq!(fit.any_size, Err(Guard::ThreadNumber));
        let fit = judge(&scan_of(&[Entry::LoopDispatch], 0, Use::Absent, false));
        assert_eq!(fit.never, Some(Lever::Dispatched));
        for (entry, guard) in [
            (Entry::Task, Guard::Tasks),
            (Entry::Ordered, Guard::Ordered),
            (Entry::Target, Guard::Unforeseen),
        ] {
            let fit = judge(&scan_of(&[entry], 1, Use::Arithmetic, false));
            assert_eq!(fit.never, Some(Lever::Plain(guard)));
        }
    }
}
