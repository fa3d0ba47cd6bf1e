//! Decides which regions may cross nodes: before a region first runs, its machine code is read, and the functions
//! that it calls are looked up.

use super::callable::{is_harmless, is_of_one_node, may_work, works};
use super::{bodies, callees};
use core::cell::RefCell;
use hetmp_core::report;
use hetmp_scan::loaded::Loaded;
use hetmp_scan::{scan, Callee, Entry, Form, Image, Scan, Unwind, Why};
use hetmp_sched::ways::Reason;
use once_cell::race::OnceBool;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// The name under which an entry of the runtime is noted whose name cannot be found. No entry that works
/// across nodes has this name.
const NAMELESS: &str = "GOMP_?";

/// An object (executable or library) as the scan sees it, which also notes the names of all functions that
/// the scanned code calls.
pub(super) struct Noting<'a> {
    pub(super) object: &'a Loaded,
    pub(super) names: RefCell<Vec<String>>,
}

impl Noting<'_> {
    /// Notes the callee's name. The scan keeps no names of the runtime's entries, so `name` finds the name of
    /// such an entry.
    fn note(&self, callee: Callee, name: impl FnOnce() -> Option<String>) -> Callee {
        match &callee {
            Callee::Named(name) => self.names.borrow_mut().push(name.clone()),
            Callee::Runtime(_) => {
                let name = name().unwrap_or_else(|| NAMELESS.to_owned());
                self.names.borrow_mut().push(name);
            }
            Callee::Inside(_) | Callee::Unknown => {}
        }
        callee
    }
}

impl Image for Noting<'_> {
    fn code(&self, address: u64) -> Option<&[u8]> {
        self.object.code(address)
    }

    fn callee(&self, target: u64) -> Callee {
        self.note(self.object.callee(target), || {
            self.object.callee_name(target)
        })
    }

    fn slot(&self, slot: u64) -> Callee {
        self.note(self.object.slot(slot), || self.object.slot_name(slot))
    }

    fn unwind(&self, address: u64) -> Result<Option<Unwind>, Why> {
        self.object.unwind(address)
    }
}

/// What is known of a region's code.
#[derive(Clone, Copy)]
struct Known {
    /// Its code may run on all nodes.
    crosses: bool,
    /// The region may reach thread-local variables of the program.
    keeps: bool,
    /// Why the region stayed at the origin, as last reported to the user; `None` if it could cross.
    stays: Option<Stays>,
}

/// Why a region stays at the origin.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stays {
    For(Reason),
    /// It calls this. A program has few regions, and they are read once.
    Calls(Reason, &'static str),
    /// Its code ceases to be followed at this address.
    Code(Why, u64),
}

impl core::fmt::Display for Stays {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Stays::For(reason) => f.write_str(reason.sentence()),
            Stays::Calls(reason, what) => write!(f, "{}: {what}", reason.sentence()),
            Stays::Code(why, at) => write!(f, "{} at {at:#x}", why.sentence()),
        }
    }
}

/// What is known of all regions, by the address of their code.
static KNOWN: Mutex<(BTreeMap<usize, Known>, Kept)> = Mutex::new((
    BTreeMap::new(),
    Kept {
        at_origin: false,
        on_nodes: false,
        said: false,
    },
));

/// Why the last region with this code had to stay at the origin, or `Some(None)` if it could cross; `None` if there was
/// none.
pub(super) fn why(code: usize) -> Option<Option<String>> {
    // A thread that crashed may hold the lock.
    let stays = KNOWN.try_lock().ok()?.0.get(&code)?.stays;
    Some(stays.map(|stays| stays.to_string()))
}

/// Where regions ran that may have left values in thread-local variables.
///
/// OpenMP promises that threadprivate variables keep their values from one region to the next of the same
/// size (5.1, section 2.21.2). But thread 5 of a region that crosses is not the same system thread as thread
/// 5 of a region that stays at the origin. So once a region with such variables has stayed at the origin,
/// later regions with such variables stay there, too. If regions with such variables crossed before that, the
/// user is warned.
#[derive(Default)]
struct Kept {
    at_origin: bool,
    on_nodes: bool,
    said: bool,
}

/// Whether a region crosses nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Crossing {
    /// It runs at the origin.
    Stays,
    /// It may run at the origin or across nodes, this time and another time in the other place.
    MayCross,
    /// It crosses each time, because its thread-local variables would have other values at the origin.
    Crosses,
}

/// May a region with this code cross nodes? `form`: how its function is called. `unfit`: why this execution of the
/// region cannot, if there is a reason outside its code.
///
/// Under `HETMP_VERBOSE` the user is told what was found when the region is first met, and again each time
/// the answer changes.
pub(super) fn admit(code: usize, form: Form, unfit: Option<Reason>) -> Crossing {
    let mut guard = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let (all, kept) = &mut *guard;
    let say = |why: &dyn core::fmt::Display| {
        if crate::init::globals().ours.verbose {
            report::warn(format_args!("dsm: region {code:#x}: {why}"));
        }
    };
    let mut news = false;
    let mut known = *all.entry(code).or_insert_with(|| {
        news = true;
        let (judged, keeps) = hetmp_core::aside::run(|| judge(code, form));
        Known {
            crosses: judged.is_ok(),
            keeps,
            stays: judged.err(),
        }
    });
    let stays = if known.crosses {
        let reason = unfit.or((known.keeps && kept.at_origin).then_some(Reason::KeptValues));
        reason.map(Stays::For)
    } else {
        known.stays
    };
    let crosses = stays.is_none();
    if news || known.stays != stays {
        match stays {
            Some(why) => say(&format_args!("at the origin: {why}")),
            None if known.keeps => say(&"on all nodes"),
            None => say(&"may cross nodes"),
        }
    }
    known.stays = stays;
    all.insert(code, known);
    if known.keeps {
        kept.at_origin |= !crosses;
        kept.on_nodes |= crosses;
        if !crosses && kept.on_nodes && !kept.said {
            kept.said = true;
            report::warn(format_args!(
                "dsm: region {code:#x} stays at the origin, where thread-local variables have not the values that \
                 regions on all nodes gave them (HETMP_VERBOSE=1 says why)"
            ));
        }
    }
    match (crosses, known.keeps) {
        (false, _) => Crossing::Stays,
        (true, false) => Crossing::MayCross,
        (true, true) => Crossing::Crosses,
    }
}

fn trusted() -> bool {
    static TRUSTED: OnceBool = OnceBool::new();
    TRUSTED.get_or_init(|| hetmp_core::env::is_on("HETMP_DSM_TRUST"))
}

/// Reads the region's code. Returns why the region cannot cross, if its code shows a reason; and whether the
/// region may reach thread-local variables.
fn judge(code: usize, form: Form) -> (Result<(), Stays>, bool) {
    let Some(object) = Loaded::at(code as u64) else {
        return (Err(Stays::For(Reason::NotFound)), true);
    };
    let noting = Noting {
        object: &object,
        names: RefCell::new(Vec::new()),
    };
    let mut found = scan(&noting, code as u64, form);
    let is_read = found.limit.is_none_or(|why| why == Why::Counter);
    // To the scan of the region, most functions of other objects are unknown calls like those by pointers. Here they
    // have names.
    if is_read && (found.calls.contains(Entry::Task) || found.calls.unknown) {
        bodies::add(&noting, code as u64, &mut found);
    }
    let mut names = noting.names.into_inner();
    let mut keeps = object.object().has_tls && found.calls.thread_local;
    if found.limit.is_none_or(|why| why == Why::Counter) {
        keeps |= callees::add(&mut names, &mut found);
    }
    // Code with a counter that all threads share may cross, because such a counter works across nodes, too.
    let limit = found.limit.filter(|why| *why != Why::Counter);
    if limit.is_some() || found.calls.unknown {
        keeps |= callees::any_thread_locals();
    }
    (decide(&found, limit, names), keeps)
}

/// Decides by what the scan found in the region's code, and by the names of the functions that the code
/// calls.
fn decide(found: &Scan, limit: Option<Why>, names: Vec<String>) -> Result<(), Stays> {
    let base = |n: &String| n.split('@').next().unwrap_or_default().to_owned();
    let calls = |reason, what: String| Err(Stays::Calls(reason, what.leak()));
    let called = |is: &dyn Fn(&str) -> bool| names.iter().map(base).find(|n| is(n));
    // Refused even under `HETMP_DSM_TRUST`: functions that wait for other threads in ways that do not reach other
    // nodes.
    if let Some(name) = called(&|n| Entry::of_name(n).is_some() && !works(n)) {
        return calls(Reason::NotAcross, name);
    }
    if found.calls.contains(Entry::Cancel) && crate::init::globals().cancellation {
        return Err(Stays::For(Reason::Cancellation));
    }
    if let Some(entry) = found.calls.entries().find(|e| !may_work(*e)) {
        return calls(Reason::NotAcross, format!("{entry:?}"));
    }
    if let Some(name) = called(&is_of_one_node) {
        return calls(Reason::OfOneNode, name);
    }
    if trusted() {
        return Ok(());
    }
    if let Some(why) = limit {
        return Err(Stays::Code(why, found.limit_address));
    }
    if let Some(name) = called(&|n| Entry::of_name(n).is_none() && !is_harmless(n)) {
        return calls(Reason::UnknownCall, name);
    }
    if found.calls.unknown {
        let at = found.calls.unknown_address;
        return calls(Reason::UnknownCall, format!("at {at:#x}"));
    }
    Ok(())
}
