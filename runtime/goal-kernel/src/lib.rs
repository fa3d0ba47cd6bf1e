//! `hetmp-goal-kernel`: the helper of GOAL's engine `kernel`.
//!
//! * **What it is**: the program `bpf/engine.bpf.c`, compiled by `build.rs`, and the process that loads it for one
//!   rank, attaches it to a network interface, and hands the rank the descriptors of its maps.
//! * **What it owns**: the program and its attachment, as long as the rank holds its end of the socket.
//! * **Data in**: an interface's name; a socket. **Data out**: one line and three descriptors through that socket, and
//!   now and then a kick that lets the program ask for lost messages.
//!
//! The command `hetmp goal kernel-engine` is all there is to see of it. No program is ever linked with this crate: the
//! rank's side is `hetmp_goal_job`, and what lies where in the maps is said by `hetmp_goal::kernel`.

mod interface;

use aya::maps::{Array, Map, MapData};
use aya::programs::{ProgramError, SchedClassifier, TcAttachType};
use aya::Ebpf;
use hetmp_core::{helper, sys};
use hetmp_goal::kernel::{state, Kick};
use interface::Interface;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

static PROGRAM: &[u8] = aya::include_bytes_aligned!(concat!(env!("OUT_DIR"), "/engine.o"));

/// How soon the helper looks for runs that wait too long, while runs come to their ends.
const SOON: Duration = Duration::from_millis(4);
/// How late at most, while none does: each look in vain doubles the time to the next. A peer that is busy costs few
/// packets.
const LATE: Duration = Duration::from_millis(100);
/// How often, while there are no runs.
const IDLE: Duration = Duration::from_millis(50);

/// The loaded program, attached.
struct Loaded {
    /// Holds the attachment.
    ebpf: Ebpf,
    interface: Interface,
}

/// The end of a chain of errors says what the system said.
fn reason(error: &dyn std::error::Error) -> String {
    let mut last = error;
    while let Some(source) = last.source() {
        last = source;
    }
    last.to_string()
}

fn verified(error: &ProgramError) -> String {
    match error {
        ProgramError::LoadError { io_error, .. } => format!("program refused: {io_error}"),
        other => reason(other),
    }
}

fn load(name: &str) -> Result<Loaded, String> {
    if PROGRAM.is_empty() {
        return Err("this build is without it (expected a build with clang)".to_owned());
    }
    let interface = interface::find(name)?;
    let rights = |why: String| {
        format!(
            "eBPF: {why} (expected CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON, and Linux 6.6 or later)"
        )
    };
    let mut ebpf = Ebpf::load(PROGRAM).map_err(|e| rights(reason(&e)))?;
    for name in ["kick", "arrive"] {
        classifier(&mut ebpf, name)?
            .load()
            .map_err(|e| rights(verified(&e)))?;
    }
    let link = classifier(&mut ebpf, "arrive")?.attach(name, TcAttachType::Ingress);
    link.map_err(|e| rights(format!("interface {name}: {}", reason(&e))))?;
    Ok(Loaded { ebpf, interface })
}

fn classifier<'e>(ebpf: &'e mut Ebpf, name: &str) -> Result<&'e mut SchedClassifier, String> {
    let found = ebpf.program_mut(name).ok_or("no such program")?;
    found.try_into().map_err(|e: ProgramError| e.to_string())
}

fn array<'e>(ebpf: &'e Ebpf, name: &str) -> Result<&'e MapData, String> {
    match ebpf.map(name) {
        Some(Map::Array(map)) => Ok(map),
        _ => Err(format!("map {name}: an array is needed")),
    }
}

impl Loaded {
    /// The map of the state, the map of runs, and the program to kick.
    fn descriptors(&self) -> Result<[BorrowedFd<'_>; 3], String> {
        let kick = self.ebpf.program("kick").ok_or("no such program")?;
        let kick: &SchedClassifier = kick.try_into().map_err(|e: ProgramError| e.to_string())?;
        Ok([
            array(&self.ebpf, "state_map")?.fd().as_fd(),
            array(&self.ebpf, "run_map")?.fd().as_fd(),
            kick.fd().map_err(|e| e.to_string())?.as_fd(),
        ])
    }
}

/// Loads the program, attaches it to the interface, and takes it away again.
///
/// # Errors
/// One line: why the engine cannot be had.
pub fn check(interface: &str) -> Result<(), String> {
    load(interface)?.descriptors().map(|_| ())
}

/// Serves one rank: loads the program, answers through `socket`, and stays until the rank closes the socket.
///
/// Before it answers, it forks, and the process that the rank has started ends: so a program that waits for all its
/// children never sees this one.
///
/// # Errors
/// The socket's. A failure to load is no error here; the rank is told.
pub fn serve(socket: OwnedFd, interface: &str) -> io::Result<()> {
    let socket = UnixStream::from(socket);
    if !helper::apart()? {
        return Ok(());
    }
    let loaded = match load(interface) {
        Ok(loaded) => loaded,
        Err(why) => {
            let why: String = why.chars().take(400).collect();
            return helper::send(&socket, &format!("error {why}\n"), &[]);
        }
    };
    let Interface {
        number,
        address,
        part,
    } = loaded.interface;
    let address: String = address.iter().map(|b| format!("{b:02x}")).collect();
    let descriptors = loaded.descriptors().map_err(io::Error::other)?;
    helper::send(
        &socket,
        &format!("ready {number} {address} {part}\n"),
        &descriptors,
    )?;
    let state: Array<_, [u8; state::BYTES]> = Array::try_from(
        loaded
            .ebpf
            .map("state_map")
            .ok_or_else(|| io::Error::other("no map"))?,
    )
    .map_err(io::Error::other)?;
    let [_, _, kick] = descriptors;
    attend(&socket, kick, &|| {
        let bytes = state.get(&0, 0).map_err(io::Error::other)?;
        let word = |at: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[at..at + 8]);
            u64::from_le_bytes(word)
        };
        Ok((word(state::DONE), word(state::STARTED)))
    })
}

/// Asks for lost messages until the rank closes its socket. `runs` tells up to which run all are complete, and which
/// has begun last.
fn attend(
    socket: &UnixStream,
    kick: BorrowedFd<'_>,
    runs: &dyn Fn() -> io::Result<(u64, u64)>,
) -> io::Result<()> {
    let (mut last, mut pause, mut wait) = ((0, 0), SOON, IDLE);
    loop {
        if helper::closes(socket, wait)? {
            return Ok(());
        }
        let (done, started) = runs()?;
        // Runs that had begun by the last look and are not complete miss something, or their peers are late.
        for run in done + 1..=last.1.min(started) {
            ask(kick, run)?;
        }
        pause = if done == last.0 {
            (pause * 2).min(LATE)
        } else {
            SOON
        };
        last = (done, started);
        wait = if done < started { pause } else { IDLE };
    }
}

fn ask(kick: BorrowedFd<'_>, run: u64) -> io::Result<()> {
    let packet = Kick::Missing { run }.packet();
    let until = Instant::now() + LATE;
    // Any other answer than "busy": asked, or complete by now.
    while sys::run_program(kick, &packet)? == Kick::BUSY && Instant::now() < until {
        std::thread::yield_now();
    }
    Ok(())
}
