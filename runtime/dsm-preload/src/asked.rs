//! What the user asked for, by variables of the environment. A value that cannot be had ends the process, with one
//! line.

use crate::kernel;
use crate::refuse::fail;
use core::ffi::CStr;
use hetmp_core::env;
use hetmp_core::topo::nodes::dsm::{self, Member};
use hetmp_core::topo::{CpuSet, Topology};
use pages::backend::{probe_uffd, Kind};
use pages::pool::{LeftOut, Shared, Wanted};
use pages::space::Space;

pub(crate) fn variable(name: &CStr) -> Option<&'static str> {
    // SAFETY: no other thread changes the environment before `main`, and a variable's value stays where it
    // is.
    unsafe { hetmp_core::env::live(name) }.map(|value| value.to_str().unwrap_or("?"))
}

/// The value of a variable as `read` reads it; `None` if it is unset or empty. A bad one ends the process, with one
/// line.
fn chosen<T>(name: &str, key: &CStr, read: impl Fn(&[u8]) -> Option<T>) -> Option<T> {
    let value = variable(key).filter(|v| !v.trim().is_empty())?.as_bytes();
    Some(read(value).unwrap_or_else(|| fail(format_args!("{}", env::refusal(name, value)))))
}

/// The nodes that the user asked for.
#[derive(Clone, Copy)]
pub(crate) enum Asked {
    /// This number of processes on this machine, made by fork.
    Forked(u8),
    /// The processes of the job that hetrun started.
    Launched,
}

/// The nodes that the user asked for; `None` if this process is not to have nodes. `variable`: a variable of the
/// environment.
pub(crate) fn asked<'a>(variable: &dyn Fn(&CStr) -> Option<&'a str>) -> Option<Asked> {
    let value = variable(c"HETMP_NODES")?;
    let (count, _) = dsm::split(value)?;
    // A shell or `timeout` passes the variables on to the program that it starts, but does not become a node
    // itself.
    if !hetmp_core::program::uses_openmp() {
        return None;
    }
    // Before anything is mapped or protected in pages of that size.
    if let Err(why) = pages::fits_kernel() {
        fail(format_args!("HETMP_NODES: '{value}': {why}"));
    }
    if count == "job" {
        return Some(Asked::Launched);
    }
    match count.parse() {
        Ok(n) if (2..=dsm::MOST).contains(&usize::from(n)) => Some(Asked::Forked(n)),
        _ => fail(format_args!(
            "HETMP_NODES: '{value}': not a number of nodes in range (expected dsm:2 to dsm:{})",
            dsm::MOST
        )),
    }
}

/// What the user said of the nodes. Of launched nodes, hetrun tells each process what is said of itself.
pub(crate) fn members(asked: Asked) -> Vec<Member> {
    let value = variable(c"HETMP_NODES").unwrap_or_default();
    let count = match asked {
        Asked::Forked(count) => count.into(),
        Asked::Launched => 1,
    };
    let refuse = |wrong: String| fail(format_args!("HETMP_NODES: '{value}': {wrong}"));
    dsm::members(value, count).unwrap_or_else(refuse)
}

/// The CPUs of each node, where the user told them.
pub(crate) fn cpus_told(members: &[Member]) -> Vec<CpuSet> {
    let told = members.iter().filter_map(|m| match m {
        Member::Nodes(text) => Some(text),
        Member::Speed(_) => None,
    });
    let refuse = |text: &str, wrong| fail(format_args!("HETMP_NODES: node '{text}': {wrong}"));
    told.map(|text| {
        dsm::cpus(text, &Topology::discover()).unwrap_or_else(|wrong| refuse(text, wrong))
    })
    .collect()
}

/// Do pages come along with others (`HETMP_DSM_AHEAD`)?
pub(crate) fn ahead() -> bool {
    chosen("HETMP_DSM_AHEAD", c"HETMP_DSM_AHEAD", env::switch).unwrap_or(true)
}

/// Is the origin, too, to stay on CPUs of its own (`HETMP_DSM_CPUS`)? Then nodes of one machine behave as machines do.
pub(crate) fn apart() -> bool {
    let words = [("all", false), ("own", true)];
    chosen("HETMP_DSM_CPUS", c"HETMP_DSM_CPUS", |v| {
        env::word(v, &words)
    })
    .unwrap_or(false)
}

/// What the user asked for by `HETMP_DSM`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Word {
    By(Kind),
    /// Pages of a pool: of a file, if one is named, and with or without the checker.
    Pool(Option<&'static str>, bool),
}

fn word() -> Result<Option<Word>, String> {
    let Some(text) = variable(c"HETMP_DSM") else {
        return Ok(None);
    };
    let (rest, checks) = match text.trim().strip_suffix(",check") {
        Some(rest) => (rest, true),
        None => (text.trim(), false),
    };
    let (name, file) = match rest.split_once(':') {
        Some((name, file)) => (name, Some(file)),
        None => (rest, None),
    };
    let found = match (Kind::of(&name.to_ascii_lowercase()), file) {
        (Some(kind), None) if !checks => Some(Word::By(kind)),
        (None, _) if name.eq_ignore_ascii_case("pool") && file != Some("") => {
            Some(Word::Pool(file, checks))
        }
        _ => None,
    };
    let refused = || env::refusal("HETMP_DSM", text.as_bytes());
    found.ok_or_else(refused).map(Some)
}

/// The pool that the user wants (`HETMP_DSM`).
fn pool() -> Option<Wanted> {
    let Ok(Some(Word::Pool(file, checks))) = word() else {
        return None;
    };
    Some(Wanted {
        file,
        checks,
        says: is_verbose(),
        left_out: variable(c"HETMP_TEST_POOL").and_then(LeftOut::of),
    })
}

/// Nodes that hetrun started have no pool.
///
/// # Errors
/// One line: the user wants one.
pub(crate) fn no_pool() -> Result<(), String> {
    match pool() {
        Some(_) => Err(
            "HETMP_DSM: 'pool': with hetrun (expected nodes of one machine: hetmp run --nodes dsm:N)"
                .to_owned(),
        ),
        None => Ok(()),
    }
}

/// The pool that the user asked for, made before nodes are forked, so that all have it.
pub(crate) fn pool_of(space: &Space, count: u8) -> Option<&'static Shared> {
    let wanted = pool()?;
    match Shared::new(space.len(), count, &wanted) {
        Ok(shared) => Some(shared),
        Err(e) => fail(format_args!(
            "HETMP_DSM: 'pool': {}: {e} (expected a device, or a file of zeros or of an earlier pool, that no \
             other program uses)",
            wanted.file.unwrap_or("memory")
        )),
    }
}

/// Is the user to be told what is done (`HETMP_VERBOSE`)?
pub(crate) fn is_verbose() -> bool {
    variable(c"HETMP_VERBOSE").and_then(|v| env::switch(v.as_bytes())) == Some(true)
}

/// How this process can catch page faults; as the user asked for by `HETMP_DSM`, or else by userfaultfd if that is
/// allowed.
///
/// # Errors
/// One line.
pub(crate) fn backend() -> Result<Kind, String> {
    match word()? {
        // Of a pool no page is here at first, not even those on which signal handlers begin.
        Some(Word::By(Kind::Uffd) | Word::Pool(..)) => probe_uffd().map(|()| Kind::Uffd),
        Some(Word::By(Kind::Sigsegv)) => kernel::probe().map(|()| Kind::Sigsegv),
        None => {
            let Err(refused) = probe_uffd() else {
                return Ok(Kind::Uffd);
            };
            match kernel::probe() {
                Ok(()) => Ok(Kind::Sigsegv),
                Err(_) => Err(refused),
            }
        }
    }
}
