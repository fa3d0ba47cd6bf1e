//! Does a region fit a virtual team? Its code says so, before it ever runs.

use super::object;
use crate::unlike::kept;
use hetmp_core::aside;
use hetmp_scan::kept::Found;
use hetmp_scan::{Calls, Entry, Form, Scan, Told, Use};
use hetmp_sched::ways::{Reason, Way};

/// What the code of an outlined function shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fit {
    /// Any number of threads is right, because the number only goes into the bounds of loops. The error says
    /// why this is not known.
    pub(super) any_size: Result<(), Reason>,
    /// The code asks neither for the thread number nor for the number of threads.
    pub(super) asks_for_no_number: bool,
    /// Nothing in the code can wait for another thread of the team.
    pub(super) waits_for_nobody: bool,
    /// A virtual team is impossible, at whatever size.
    pub(super) never: Option<Way>,
    /// The results do not depend on the number of pieces into which loops are divided, even for a program
    /// that asked for a certain number of threads. `None`: not examined yet.
    pub(super) divides_freely: Option<bool>,
    /// Calls that ask for the number of threads in order to print it. `any_size` is true where these get that of an
    /// ordinary team.
    pub(super) told: Told,
}

impl Fit {
    const fn never(way: Way) -> Fit {
        Fit {
            any_size: Err(match way {
                Way::Ordinary(reason) => reason,
                _ => Reason::NoLoop,
            }),
            asks_for_no_number: false,
            waits_for_nobody: false,
            never: Some(way),
            divides_freely: None,
            told: Told::NONE,
        }
    }
}

/// What an earlier run has seen of the function at `address`, as [`read`] says it.
pub(super) fn known(address: usize, form: Form, asked: bool) -> Option<Fit> {
    let (found, has_tls) = kept::find(address, form, asked)?;
    Some(fit_of(&found, has_tls))
}

/// Reads the function at `address`, which a compiler outlined in this `form`, on the calling thread's stack, whatever
/// room is there. `asked`: also examines whether it may be divided into more pieces than the program asked for.
pub(super) fn read(address: usize, form: Form, asked: bool) -> Fit {
    let Some(object) = object::at(address as u64) else {
        return Fit::never(Way::Ordinary(Reason::Unscanned));
    };
    let found = kept::read(&object, address, form, asked);
    fit_of(&found, object.object().has_tls)
}

/// May the region of the function at `code` be divided among any number of ordinary threads, though the program
/// `asked` for a number? (Only virtual teams answer calls that print the number of threads otherwise than others.)
pub(crate) fn any_size(code: usize, form: Form, asked: bool) -> bool {
    let fit = aside::run(|| known(code, form, asked).unwrap_or_else(|| read(code, form, asked)));
    fit.any_size.is_ok() && !fit.told.any() && (!asked || fit.divides_freely == Some(true))
}

fn fit_of(found: &Found, has_tls: bool) -> Fit {
    let fit = judge(&found.scan, has_tls);
    let divides = found.divides.map(|divides| divides.is_ok());
    Fit {
        divides_freely: divides.map(|divides| fit.any_size.is_ok() && divides),
        ..fit
    }
}

fn judge(scan: &Scan, object_has_thread_locals: bool) -> Fit {
    let any_size = match scan.way(object_has_thread_locals) {
        Way::Virtual => Ok(()),
        // At an announced size a virtual team is right even so.
        Way::Ordinary(reason @ (Reason::Unscanned | Reason::ThreadNumber | Reason::NoLoop)) => {
            Err(reason)
        }
        way => return Fit::never(way),
    };
    let calls = &scan.calls;
    Fit {
        any_size,
        asks_for_no_number: scan.followed()
            && scan.thread_number == Use::Absent
            && scan.team_size == Use::Absent
            && !calls.any(&[Entry::Query, Entry::Setting]),
        waits_for_nobody: scan.followed() && waits_for_nobody(calls),
        never: None,
        divides_freely: None,
        told: scan.told,
    }
}

/// True if the code calls only entries that neither wait for the team nor hold a lock while others run.
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
            told: Told::NONE,
            limit: None,
            limit_address: 0,
        }
    }

    #[test]
    fn judgements() {
        let loops = [Entry::ThreadNumber, Entry::TeamSize];
        let plain = judge(&scan_of(&loops, 1, Use::Arithmetic, false), false);
        assert_eq!(plain.any_size, Ok(()));
        assert!(plain.waits_for_nobody && plain.never.is_none());
        let barrier = [Entry::ThreadNumber, Entry::TeamSize, Entry::Barrier];
        let fit = judge(&scan_of(&barrier, 2, Use::Arithmetic, false), false);
        assert!(fit.any_size.is_ok() && !fit.waits_for_nobody);
        let fit = judge(&scan_of(&loops, 1, Use::Arithmetic, true), false);
        assert_eq!(fit.any_size, Err(Reason::Unscanned));
        assert!(!fit.waits_for_nobody);
        let escapes = Use::Escapes(hetmp_scan::Why::Address, 1);
        let fit = judge(&scan_of(&loops, 1, escapes, false), false);
        assert_eq!(fit.any_size, Err(Reason::ThreadNumber));
        let fit = judge(
            &scan_of(&[Entry::LoopDispatch], 0, Use::Absent, false),
            false,
        );
        assert_eq!(fit.never, Some(Way::Dispatched));
        for (entry, reason) in [
            (Entry::Task, Reason::Tasks),
            (Entry::Ordered, Reason::Ordered),
            (Entry::Target, Reason::Unforeseen),
        ] {
            let fit = judge(&scan_of(&[entry], 1, Use::Arithmetic, false), false);
            assert_eq!(fit.never, Some(Way::Ordinary(reason)));
        }
    }
}
