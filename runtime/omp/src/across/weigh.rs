//! Chooses where a region that may cross nodes runs: by the times that its executions took at the origin and
//! across nodes. The rule is [`Crossings`]; this file has its clocks.

use super::table::Table;
use hetmp_core::{report, sys};
use hetmp_sched::crossing::{Crossings, Place, Why};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Which of the regions that may cross do so: `HETMP_DSM_CROSS`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Those that are faster across, as measured.
    Auto,
    /// All.
    Always,
    /// None: no region comes here.
    Never,
}

pub(super) fn mode() -> Mode {
    static MODE: OnceLock<Mode> = OnceLock::new();
    *MODE.get_or_init(|| {
        let environment = hetmp_core::env::snapshot();
        match environment.get("HETMP_DSM_CROSS") {
            None | Some(b"auto") => Mode::Auto,
            Some(b"always") => Mode::Always,
            Some(b"never") => Mode::Never,
            Some(other) => {
                report::warn(format_args!(
                    "HETMP_DSM_CROSS {}: auto, always and never are accepted",
                    String::from_utf8_lossy(other)
                ));
                Mode::Auto
            }
        }
    })
}

struct Weighed {
    rule: Crossings,
    /// How long this node's threads had waited for pages of other nodes when the rule last learned of it.
    waited_ns: u64,
}

static WEIGHED: Mutex<Option<Weighed>> = Mutex::new(None);

fn with<R>(t: &Table, f: impl FnOnce(&mut Weighed) -> R) -> R {
    let mut all = WEIGHED.lock().unwrap_or_else(PoisonError::into_inner);
    f(all.get_or_insert_with(|| Weighed {
        rule: Crossings::new(t.nodes),
        waited_ns: 0,
    }))
}

/// Where the next execution of the region runs. What the origin has waited for pages since the last region that
/// was weighed, in serial code and in regions that cannot cross, counts against crossing.
pub(super) fn place(t: &Table, code: usize) -> Place {
    if mode() != Mode::Auto {
        return Place::Across;
    }
    let waited = super::said::own(t).waited_ns();
    with(t, |w| {
        let since = waited.saturating_sub(w.waited_ns);
        if since > 0 {
            w.rule.fetched(since);
        }
        w.waited_ns = waited;
        w.rule.next(code)
    })
}

/// A region's execution by `threads` threads on this node is over. It took `ns`.
pub(super) fn ran(t: &Table, code: usize, place: Place, ns: u64, threads: u32) {
    if mode() != Mode::Auto {
        return;
    }
    let waited = super::said::own(t).waited_ns();
    with(t, |w| {
        let since = waited.saturating_sub(w.waited_ns);
        w.waited_ns = waited;
        // Threads wait for pages at the same time, and only the sum of their waiting is known.
        let since = match place {
            Place::Home => since / u64::from(threads.max(1)),
            _ => 0,
        };
        w.rule.ran(code, place, ns, since);
    });
}

/// The nanoseconds of the monotonic clock.
pub(super) fn now() -> u64 {
    sys::monotonic_ns()
}

/// Why the region would now run where it would. `None` if nothing is weighed, or if another thread has the lock: it
/// may have crashed.
pub(super) fn why(code: usize) -> Option<Why> {
    let all = WEIGHED.try_lock().ok()?;
    Some(all.as_ref()?.rule.why(code))
}
