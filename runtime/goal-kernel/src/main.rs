//! `hetmp-goal-kernel`: the helper of GOAL's engine `kernel`.
//!
//! * **What it is**: the program `bpf/engine.bpf.c`, compiled by `build.rs`, and the process that loads it for one
//!   rank, attaches it to a network interface, and hands the rank the descriptors of its maps.
//! * **What it owns**: the program and its attachment, as long as the rank holds its end of the socket; and what says
//!   who the rank is, which it writes once and freezes.
//! * **Data in**: an interface's name; a socket, and on it one line with the rank's [`Member`]. **Data out**: lines and
//!   three descriptors through that socket, and now and then a kick that lets the program ask for lost messages.
//!
//! It is a command of its own, so that nothing else needs its rights. Whom it serves is said by [`rules`]. No program
//! is ever linked with it: the rank's side is `hetmp_goal_job`, and what lies where in the maps is said by
//! `hetmp_goal::kernel`.

mod interface;
mod rules;
mod slots;

use aya::maps::{Array, Map, MapData};
use aya::programs::{ProgramError, SchedClassifier, TcAttachType};
use aya::Ebpf;
use hetmp_core::{helper, sys};
use hetmp_goal::kernel::member::{self, spell, Member};
use hetmp_goal::kernel::{state, Kick, RUNS};
use hetmp_goal::series::GROUPS;
use interface::Interface;
use rules::{Caller, Rules};
use slots::Slot;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

static PROGRAM: &[u8] = aya::include_bytes_aligned!(concat!(env!("OUT_DIR"), "/engine.o"));

/// How soon the helper looks for runs that wait too long, while runs come to their ends.
const SOON: Duration = Duration::from_millis(4);
/// How late at most, while none does: each look in vain doubles the time to the next. A peer that is busy costs few
/// packets.
const LATE: Duration = Duration::from_millis(100);
/// How often, while there are no runs.
const IDLE: Duration = Duration::from_millis(50);
/// The most bytes of the line that says who the rank is: 64 addresses, and numbers.
const LINE: u64 = 1024;

const USAGE: &str = "\
usage: hetmp-goal-kernel [--check] [--interface NAME]

Loads the program of GOAL's engine 'kernel' for the rank at the other end of
standard input. Ranks start this; --check only says whether the engine can be
had. Without NAME the loopback device is meant. Users other than root need
rules in /etc/hetmp/goal-kernel.conf.
";

/// The loaded program, attached.
struct Loaded {
    /// Holds the attachment.
    ebpf: Ebpf,
    interface: Interface,
    _slot: Option<Slot>,
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

/// The caller's place behind an interface. Root needs none.
fn admit(interface: &str) -> Result<Option<Slot>, String> {
    let caller = Caller::of_this_process()?;
    if caller.user == 0 {
        return Ok(None);
    }
    let rules = Rules::read(Path::new(rules::FILE))?;
    rules.allow(&caller, interface)?;
    Slot::take(caller.user, rules.ranks).map(Some)
}

fn load(name: &str) -> Result<Loaded, String> {
    let slot = admit(name)?;
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
    Ok(Loaded {
        ebpf,
        interface,
        _slot: slot,
    })
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

/// Has the program take packets as the member that this line names. Nobody can change that later: not the program, nor
/// a process with a descriptor of the map, of which the rank gets none.
fn join(loaded: &mut Loaded, line: &str) -> Result<(), String> {
    let Interface {
        number,
        address,
        part,
    } = loaded.interface;
    let member = Member::parse(line, address, part)?;
    let map = loaded.ebpf.map_mut("job_map").ok_or("no map")?;
    let mut map: Array<_, [u8; member::BYTES]> = map.try_into().map_err(|e| reason(&e))?;
    map.set(0, member.value(number), 0)
        .map_err(|e| reason(&e))?;
    freeze(array(&loaded.ebpf, "job_map")?.fd().as_fd()).map_err(|e| e.to_string())
}

/// No system call changes the map from here on.
fn freeze(map: BorrowedFd<'_>) -> io::Result<()> {
    const BPF_MAP_FREEZE: libc::c_long = 22;
    let map = map.as_raw_fd();
    // SAFETY: the kernel reads the descriptor, whose length it is told.
    let done = unsafe {
        libc::syscall(
            libc::SYS_bpf,
            BPF_MAP_FREEZE,
            &raw const map,
            size_of_val(&map),
        )
    };
    if done < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// A line for the rank, which takes up to 500 bytes.
fn refuse(socket: &UnixStream, why: &str) -> io::Result<()> {
    let why: String = why.chars().take(400).collect();
    helper::send(socket, &format!("error {why}\n"), &[])
}

/// Serves one rank: loads the program, answers through `socket`, lets it take packets when the rank says who it is, and
/// stays until the rank closes the socket.
///
/// Before it answers, it forks, and the process that the rank has started ends: so a program that waits for all its
/// children never sees this one.
///
/// # Errors
/// The socket's. A failure to load is no error here; the rank is told.
fn serve(socket: OwnedFd, interface: &str) -> io::Result<()> {
    let socket = UnixStream::from(socket);
    if !helper::apart()? {
        return Ok(());
    }
    let mut loaded = match load(interface) {
        Ok(loaded) => loaded,
        Err(why) => return refuse(&socket, &why),
    };
    let (address, part) = (spell(&loaded.interface.address), loaded.interface.part);
    let descriptors = loaded.descriptors().map_err(io::Error::other)?;
    helper::send(&socket, &format!("ready {address} {part}\n"), &descriptors)?;
    let mut line = String::new();
    if BufReader::new(&socket).take(LINE).read_line(&mut line)? == 0 {
        return Ok(());
    }
    if let Err(why) = join(&mut loaded, line.trim_end()) {
        return refuse(&socket, &why);
    }
    helper::send(&socket, "joined\n", &[])?;
    let state = loaded.ebpf.map("state_map");
    let state = state.ok_or_else(|| io::Error::other("no map"))?;
    let state: Array<_, [u8; state::BYTES]> = Array::try_from(state).map_err(io::Error::other)?;
    let [_, _, kick] = loaded.descriptors().map_err(io::Error::other)?;
    attend(&socket, kick, &|series| {
        let bytes = state.get(&series, 0).map_err(io::Error::other)?;
        let word = |at: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[at..at + 8]);
            u64::from_le_bytes(word)
        };
        Ok((word(state::DONE), word(state::STARTED)))
    })
}

/// Asks for lost messages until the rank closes its socket. `runs` tells of a series up to which run all are complete,
/// and which has begun last.
fn attend(
    socket: &UnixStream,
    kick: BorrowedFd<'_>,
    runs: &dyn Fn(u32) -> io::Result<(u64, u64)>,
) -> io::Result<()> {
    let mut last = [(0, 0); 1 + GROUPS as usize];
    let (mut pause, mut wait) = (SOON, IDLE);
    loop {
        if helper::closes(socket, wait)? {
            return Ok(());
        }
        let (mut moved, mut waiting) = (false, false);
        for (series, last) in (0..).zip(&mut last) {
            let (done, started) = runs(series)?;
            // Runs that had begun by the last look and are not complete miss something, or their peers are late. The
            // rank can write both numbers, but there are never more runs.
            let late = done.saturating_add(1)..=last.1.min(started);
            for run in late.take(RUNS as usize) {
                ask(kick, run)?;
            }
            moved |= done != last.0;
            waiting |= done < started;
            *last = (done, started);
        }
        pause = if moved { SOON } else { (pause * 2).min(LATE) };
        wait = if waiting { pause } else { IDLE };
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

/// What the words of the command ask for: only a check, and behind which interface.
fn arguments(words: impl Iterator<Item = String>) -> Result<(bool, String), String> {
    let (mut check, mut interface) = (false, "lo".to_owned());
    let mut words = words;
    while let Some(word) = words.next() {
        match word.as_str() {
            "--check" => check = true,
            "--interface" => {
                interface = words
                    .next()
                    .ok_or("option '--interface': missing (expected a name)")?
            }
            _ => {
                return Err(format!(
                    "option '{word}': unknown (expected --check, --interface NAME or --help)"
                ))
            }
        }
    }
    Ok((check, interface))
}

fn run() -> Result<(), String> {
    let (check, interface) = arguments(
        std::env::args_os()
            .skip(1)
            .map(|w| w.to_string_lossy().into_owned()),
    )?;
    if check {
        let loaded = load(&interface).map_err(|why| format!("GOAL engine kernel: {why}"))?;
        println!("GOAL engine kernel: interface {interface}: ready");
        drop(loaded);
        return Ok(());
    }
    let socket = io::stdin().as_fd().try_clone_to_owned();
    socket
        .and_then(|socket| serve(socket, &interface))
        .map_err(|e| format!("hetmp-goal-kernel: standard input: {e}: a rank starts this command"))
}

fn main() -> ExitCode {
    if std::env::args_os().any(|word| word == "--help" || word == "-h") {
        print!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("hetmp: {why}");
            ExitCode::from(2)
        }
    }
}
