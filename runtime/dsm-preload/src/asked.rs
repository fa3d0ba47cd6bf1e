//! What the user asked for, by variables of the environment. A value that cannot be had ends the process, with one
//! line.

use crate::kernel;
use crate::refuse::fail;
use core::ffi::CStr;
use hetmp_core::env;
use hetmp_core::topo::nodes::dsm::{self, Member};
use hetmp_core::topo::{CpuSet, Topology};
use pages::backend::{probe_uffd, Kind};
use pages::pool::{LeftOut, Wanted};

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
    /// Pages of a pool, with or without the checker.
    Pool(bool),
}

fn word() -> Option<Word> {
    chosen("HETMP_DSM", c"HETMP_DSM", |value| {
        let text = core::str::from_utf8(value).ok()?;
        match &text.trim().to_ascii_lowercase()[..] {
            "pool" => Some(Word::Pool(false)),
            "pool:check" => Some(Word::Pool(true)),
            other => Kind::of(other).map(Word::By),
        }
    })
}

/// The pool that the user wants (`HETMP_DSM`).
pub(crate) fn pool() -> Option<Wanted> {
    let Some(Word::Pool(checks)) = word() else {
        return None;
    };
    Some(Wanted {
        checks,
        says: is_verbose(),
        left_out: variable(c"HETMP_TEST_POOL").and_then(LeftOut::of),
    })
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
    match word() {
        Some(Word::By(Kind::Uffd)) => probe_uffd().map(|()| Kind::Uffd),
        Some(Word::By(Kind::Sigsegv)) => kernel::probe().map(|()| Kind::Sigsegv),
        Some(Word::Pool(_)) | None => {
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
