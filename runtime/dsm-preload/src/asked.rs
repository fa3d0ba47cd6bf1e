//! What the user asked for, by variables of the environment. A value that cannot be had ends the process, with one line.

use crate::refuse::fail;
use crate::{kernel, place};
use core::ffi::CStr;
use hetmp_core::topo::nodes::dsm::{self, Member};
use hetmp_core::topo::{CpuSet, Topology};
use pages::backend::{probe_uffd, Kind};

pub(crate) fn variable(name: &CStr) -> Option<&'static str> {
    // SAFETY: no other thread changes the environment before `main`, and a variable's value stays where it
    // is.
    unsafe { hetmp_core::env::live(name) }.map(|value| value.to_str().unwrap_or("?"))
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
        Ok(n) if (2..=place::MOST).contains(&usize::from(n)) => Some(Asked::Forked(n)),
        _ if count.contains(['=', ';', ',']) => fail(format_args!(
            "HETMP_NODES {value}: dsm:2 to dsm:{} are accepted, alone: nodes with memory of their own are taken as alike",
            place::MOST
        )),
        _ => fail(format_args!(
            "HETMP_NODES {value}: dsm:2 to dsm:{} are accepted",
            place::MOST
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
    let refuse = |accepted: String| fail(format_args!("HETMP_NODES {value}: {accepted}"));
    dsm::members(value, count).unwrap_or_else(refuse)
}

/// The CPUs of each node, where the user told them.
pub(crate) fn cpus_told(members: &[Member]) -> Vec<CpuSet> {
    let told = members.iter().filter_map(|m| match m {
        Member::Nodes(text) => Some(text),
        Member::Speed(_) => None,
    });
    let refuse = |text: &str, accepted| fail(format_args!("HETMP_NODES, node {text}: {accepted}"));
    told.map(|text| {
        dsm::cpus(text, &Topology::discover()).unwrap_or_else(|accepted| refuse(text, accepted))
    })
    .collect()
}

/// Do pages come along with others (`HETMP_DSM_AHEAD`)?
pub(crate) fn ahead() -> bool {
    match variable(c"HETMP_DSM_AHEAD") {
        None | Some("off") => false,
        Some("on") => true,
        Some(other) => fail(format_args!(
            "HETMP_DSM_AHEAD {other}: on and off are accepted"
        )),
    }
}

/// Is the origin, too, to stay on CPUs of its own (`HETMP_DSM_CPUS`)? Then nodes of one machine behave as machines do.
pub(crate) fn apart() -> bool {
    match variable(c"HETMP_DSM_CPUS") {
        None | Some("all") => false,
        Some("own") => true,
        Some(other) => fail(format_args!(
            "HETMP_DSM_CPUS {other}: all and own are accepted"
        )),
    }
}

/// How this process can catch page faults; as the user asked for by `HETMP_DSM`, or else by userfaultfd if that is
/// allowed.
///
/// # Errors
/// One line.
pub(crate) fn backend() -> Result<Kind, String> {
    let Some(text) = variable(c"HETMP_DSM") else {
        let Err(refused) = probe_uffd() else {
            return Ok(Kind::Uffd);
        };
        return match kernel::probe() {
            Ok(()) => Ok(Kind::Sigsegv),
            Err(_) => Err(refused),
        };
    };
    match Kind::of(text) {
        Some(Kind::Uffd) => probe_uffd().map(|()| Kind::Uffd),
        Some(Kind::Sigsegv) => kernel::probe().map(|()| Kind::Sigsegv),
        None => Err(format!("HETMP_DSM {text}: uffd and sigsegv are accepted")),
    }
}
