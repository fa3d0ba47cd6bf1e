//! From a command line to what every host has to start.

use super::arguments::{printable, Program, Run, Variables, HOST_TIMEOUT, MOST};
use super::host::{self, Plan};
use super::hosts::{self, Host};
use hetmp_core::topo::nodes::dsm;
use std::ffi::OsString;
use std::net::{IpAddr, Ipv4Addr, ToSocketAddrs as _, UdpSocket};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// The ranks of one host, before anything is started.
pub(crate) struct Share {
    pub(crate) name: String,
    pub(crate) here: bool,
    pub(crate) plan: Plan,
}

/// A host that has a part of the job.
struct Place {
    name: String,
    address: IpAddr,
    /// It is this machine.
    here: bool,
    /// The ranks, and the numbers of their programs.
    ranks: Vec<(u32, u32)>,
}

/// The plan of every host.
///
/// # Errors
/// A status and one line.
pub(crate) fn shares(run: &Run) -> Result<Vec<Share>, (u8, String)> {
    let bad = |text: String| (2, text);
    let failed = |text: String| (1, text);
    let places = places(ranks(run).map_err(bad)?).map_err(bad)?;
    let size = places.iter().map(|place| place.ranks.len() as u32).sum();
    if run.dsm && !(2..=dsm::MOST as u32).contains(&size) {
        return Err(bad(format!(
            "option --dsm: '{size}' processes (expected 2 to {} nodes)",
            dsm::MOST
        )));
    }
    let nodes = match run.dsm {
        true => dsm_nodes(run, size).map_err(bad)?,
        false => run.nodes.clone(),
    };
    let here = std::env::current_dir()
        .map_err(|error| failed(format!("this folder: one that exists is needed ({error})")))?;
    let secret = super::random().map_err(failed)?;
    let program = |program: &Program, local: bool| host::Program {
        words: program.words.clone(),
        directory: here.join(program.folder.as_deref().unwrap_or(Path::new(""))),
        variables: variables(&run.variables, &program.variables, local),
    };
    let share = |place: Place| Share {
        plan: Plan {
            size,
            secret,
            address: place.address.to_string(),
            programs: (run.programs.iter())
                .map(|p| program(p, place.here))
                .collect(),
            nodes: nodes.clone(),
            bind: run.bind.clone().unwrap_or_default(),
            whole: size > 1 || run.prefix,
            dsm: run.dsm,
            host_timeout: run.host_timeout.unwrap_or(HOST_TIMEOUT),
            ranks: place.ranks,
        },
        name: place.name,
        here: place.here,
    };
    Ok(places.into_iter().map(share).collect())
}

/// The host and the program of every rank.
fn ranks(run: &Run) -> Result<Vec<(String, u32)>, String> {
    let mut pool = match &run.hosts {
        Some(path) => {
            let file = printable(path);
            let text = hetmp_core::file::text(path, hetmp_core::file::SMALL)
                .map_err(|error| format!("file {file}: {error} (expected a hosts' file)"))?;
            hosts::parse(&file, &text)?
        }
        None => vec![Host::new("localhost")?],
    };
    let mut ranks = Vec::new();
    let mut programs = (0..).zip(&run.programs).peekable();
    while programs.peek().is_some() {
        // Programs without hosts of their own share those of the program before.
        let mut counts = Vec::new();
        while let Some((number, program)) =
            programs.next_if(|(_, p)| counts.is_empty() || p.hosts.is_empty())
        {
            if !program.hosts.is_empty() {
                pool.clone_from(&program.hosts);
            }
            counts.push((number, program.processes));
        }
        // Several programs have numbers; a single one may have none.
        let all = counts
            .iter()
            .map(|(_, n)| n.map(u64::from))
            .sum::<Option<u64>>();
        let all = all.map(|n| u32::try_from(n).unwrap_or(u32::MAX));
        let placed = hosts::place(&pool, all, run.sharing)?;
        let of = |(number, n): &(u32, Option<u32>)| {
            std::iter::repeat_n(*number, n.map_or(placed.len(), |n| n as usize))
        };
        let names = placed.iter().map(|host| pool[*host].name.clone());
        ranks.extend(names.zip(counts.iter().flat_map(of)));
    }
    if ranks.len() > MOST as usize {
        return Err(format!(
            "option -n: '{}': more than hetrun starts (expected at most {MOST} in all)",
            ranks.len()
        ));
    }
    Ok(ranks)
}

/// The hosts that have a part of the job. All names of this machine are one host.
fn places(ranks: Vec<(String, u32)>) -> Result<Vec<Place>, String> {
    let mut names: Vec<(String, usize)> = Vec::new();
    let mut places: Vec<Place> = Vec::new();
    for (rank, (name, program)) in (0..).zip(ranks) {
        let known = names.iter().find(|(n, _)| *n == name);
        let at = match known {
            Some((_, at)) => *at,
            None => {
                let (address, here) = locate(&name)?;
                let same = places.iter().position(|place| here && place.here);
                let at = same.unwrap_or(places.len());
                match same {
                    // An address of this machine that others can reach, too.
                    Some(at) if places[at].address.is_loopback() => places[at].address = address,
                    Some(_) => {}
                    None => places.push(Place {
                        name: name.clone(),
                        address,
                        here,
                        ranks: Vec::new(),
                    }),
                }
                names.push((name, at));
                at
            }
        };
        places[at].ranks.push((rank, program));
    }
    if let [only] = &mut places[..] {
        if only.here {
            only.address = Ipv4Addr::LOCALHOST.into();
        }
        return Ok(places);
    }
    let other = places
        .iter()
        .find(|place| !place.here)
        .map(|place| place.address);
    for place in places
        .iter_mut()
        .filter(|place| place.address.is_loopback())
    {
        let way = other.filter(|_| place.here).and_then(towards);
        place.address = way.ok_or_else(|| {
            format!(
                "host {}: '{}': other hosts cannot reach it (expected an address by which they do)",
                place.name, place.address
            )
        })?;
    }
    Ok(places)
}

/// This machine's address on the way to another one. Nothing is sent.
fn towards(other: IpAddr) -> Option<IpAddr> {
    let any: IpAddr = match other {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => std::net::Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind((any, 0)).ok()?;
    // A port is needed to ask for the way; its number does not matter.
    socket.connect((other, 9)).ok()?;
    let own = socket.local_addr().ok()?.ip();
    (!own.is_loopback()).then_some(own)
}

/// A host's address, and whether the host is this machine.
fn locate(name: &str) -> Result<(IpAddr, bool), String> {
    // Whatever files and servers of names say, and if there is no network at all.
    if name == "localhost" {
        return Ok((Ipv4Addr::LOCALHOST.into(), true));
    }
    let bare = hosts::without_user(name);
    let none = |why: &str| format!("host: '{name}': {why} (expected a name that has an address)");
    let address = (bare, 0)
        .to_socket_addrs()
        .map_err(|error| none(&error.to_string()))?
        .map(|a| a.ip())
        .min_by_key(IpAddr::is_ipv6)
        .ok_or_else(|| none("no address"))?;
    // Finds out whether the address can be bound: only a machine's own addresses can. Nothing is sent, and nothing
    // listens.
    let here = bare == name && UdpSocket::bind((address, 0)).is_ok();
    Ok((address, here))
}

/// The nodes of one program, if they are described: by `--nodes`, or by the variable with which nodes of one machine
/// are.
///
/// # Errors
/// One line: another number of nodes than of processes, or what is said of them is not what nodes have.
fn dsm_nodes(run: &Run, size: u32) -> Result<Option<String>, String> {
    let variable = || {
        let own = run.programs.iter().flat_map(|p| &p.variables);
        let mut all = run.variables.iter().chain(own);
        let given = all.rfind(|(name, _)| name == "HETMP_NODES");
        match given {
            Some((_, Some(value))) => Some(value.clone()),
            _ => std::env::var_os("HETMP_NODES"),
        }
    };
    let (what, value) = match &run.nodes {
        Some(value) => ("option --nodes", value.clone()),
        None => match variable() {
            Some(value) => ("HETMP_NODES", value.to_string_lossy().into_owned()),
            None => return Ok(None),
        },
    };
    // The variable may describe nodes of one process, for programs that are not started by this command.
    let Some((count, _)) = dsm::split(&value) else {
        return Ok(None);
    };
    if count.parse() != Ok(size) {
        return Err(format!(
            "{what}: '{value}': not as many nodes as processes (expected dsm:{size})"
        ));
    }
    let members = dsm::members(&value, size as usize)
        .map_err(|wrong| format!("{what}: '{value}': {wrong}"))?;
    Ok((!members.is_empty()).then_some(value))
}

/// The variables for the processes of another host. Processes here inherit hetrun's.
fn variables(everywhere: &Variables, own: &Variables, here: bool) -> Vec<(OsString, OsString)> {
    let mut all: Vec<(OsString, OsString)> = Vec::new();
    if !here {
        for (name, value) in std::env::vars_os() {
            let bytes = name.as_bytes();
            let ours = [
                &b"OMP_"[..],
                b"GOMP_",
                b"HETMP_",
                b"SHMEM_",
                b"SMA_",
                b"ACC_",
            ]
            .iter()
            .any(|prefix| bytes.starts_with(prefix));
            if ours && bytes != b"HETMP_JOB" {
                all.push((name, value));
            }
        }
    }
    for (name, value) in everywhere.iter().chain(own) {
        if let Some(value) = value.clone().or_else(|| std::env::var_os(name)) {
            all.push((name.clone(), value));
        }
    }
    all
}
