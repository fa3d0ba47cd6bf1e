//! The engine `kernel`: runs move on where their packets arrive, in a program at the traffic control hook of a network
//! interface, whatever the process does meanwhile.
//!
//! [`Offer`] starts the helper that loads the program ([`helper`]) and joins the ranks; the [`Device`] behind it writes
//! runs into the memory that the process shares with the program ([`area`]), and starts each by one system call
//! ([`program`]). Nobody needs the process for a lost packet either: the helper asks for that again.

mod area;
mod helper;
mod program;

use crate::offload::{Device, Image, Offload, Refused};
use area::Area;
use helper::Helper;
use hetmp_goal::kernel::member::{address, spell, Member};
use hetmp_goal::kernel::{self, run, Declined, Kick, COUNTERS, MESSAGE, RANKS, RUNS};
use hetmp_goal::schedule::Schedule;
use hetmp_goal::series::Turn;
use program::Program;
use std::io;

/// A rank that has a helper, and has not met the other ranks yet.
#[derive(Debug)]
pub(crate) struct Offer {
    helper: Helper,
    note: Note,
    local: bool,
}

/// What a rank tells the others.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Note {
    /// Rank 0's is the job's number.
    number: u64,
    address: [u8; 6],
    /// The network namespace, as this machine numbers it.
    namespace: String,
    /// The longest part of a message that the interface's packets take, bytes.
    part: u64,
}

impl Note {
    fn encode(&self) -> String {
        let address = spell(&self.address);
        let version = kernel::VERSION;
        format!(
            "kernel {version} {:016x} {address} {} {}",
            self.number, self.namespace, self.part
        )
    }

    fn parse(text: &[u8]) -> Option<Note> {
        let text = core::str::from_utf8(text).ok()?;
        let text = text.strip_prefix(&format!("kernel {} ", kernel::VERSION))?;
        let mut words = text.split(' ');
        let note = Note {
            number: u64::from_str_radix(words.next()?, 16).ok()?,
            address: address(words.next()?)?,
            namespace: words.next()?.to_owned(),
            part: words.next()?.parse().ok()?,
        };
        words.next().is_none().then_some(note)
    }
}

/// A number that another job, or this job after a restart, has with a probability of 2^-63 only. Asked of the system:
/// the standard library's source of random numbers would take static thread-local storage in every process that loads
/// this.
fn random() -> Result<u64, String> {
    let mut number = [0u8; 8];
    // SAFETY: the call writes at most the eight bytes of `number`.
    let got = unsafe { libc::getrandom(number.as_mut_ptr().cast(), number.len(), 0) };
    if got != number.len() as isize {
        return Err(format!("getrandom: {}", std::io::Error::last_os_error()));
    }
    Ok(u64::from_le_bytes(number) | 1)
}

fn namespace() -> String {
    use std::os::unix::fs::MetadataExt as _;
    match std::fs::metadata("/proc/self/ns/net") {
        Ok(m) => format!("{}:{}", m.dev(), m.ino()),
        Err(_) => "unknown".to_owned(),
    }
}

impl Offer {
    /// Loads the program for this rank.
    ///
    /// # Errors
    /// One line: why this rank cannot have the engine.
    pub(crate) fn new(interface: &str, ranks: u32) -> Result<Offer, String> {
        if ranks > RANKS {
            return Err(Declined::Ranks(ranks).to_string());
        }
        let helper = Helper::start(interface)?;
        let note = Note {
            number: random()?,
            address: helper.address,
            namespace: namespace(),
            part: helper.part,
        };
        Ok(Offer {
            // The address of the loopback device is zero.
            local: helper.address == [0; 6],
            helper,
            note,
        })
    }

    /// What the other ranks have to know.
    pub(crate) fn note(&self) -> Vec<u8> {
        self.note.encode().into_bytes()
    }

    /// The engine, if all ranks have one. `notes` are those of all ranks, this one's too.
    ///
    /// # Errors
    /// [`Refused`].
    pub(crate) fn accept(
        mut self,
        rank: u32,
        notes: &[Vec<u8>],
    ) -> Result<&'static Offload, Refused> {
        let mut all = Vec::new();
        for (r, note) in notes.iter().enumerate() {
            let Some(note) = Note::parse(note) else {
                return Err(Refused::All(format!("rank {r} does not have it")));
            };
            if self.local && note.namespace != self.note.namespace {
                return Err(Refused::All(format!(
                    "rank {r} is in another network namespace (expected HETMP_GOAL_INTERFACE with an interface that \
                     reaches all ranks)"
                )));
            }
            all.push(note);
        }
        let member = Member {
            job: all[0].number,
            rank,
            // Parts of one length at all ranks, which every rank's interface takes.
            part: all.iter().map(|n| n.part).min().unwrap_or(MESSAGE),
            addresses: all.iter().map(|n| n.address).collect(),
        };
        // The others go on with the engine.
        let mine = |why: String| Refused::Job(format!("GOAL engine kernel: {why}"));
        let [state, runs, _] = &self.helper.descriptors;
        let area = Area::new(state, runs).map_err(|e| mine(format!("shared memory: {e}")))?;
        // Packets are taken from here on.
        self.helper.join(&member).map_err(mine)?;
        let Helper {
            socket,
            descriptors: [_, _, program],
            ..
        } = self.helper;
        let program = Program::new(program, socket).map_err(|e| mine(format!("helper: {e}")))?;
        let device = Kernel { area, program };
        Ok(Offload::new(rank, all.len() as u32, Box::new(device)))
    }
}

/// The program in the kernel.
#[derive(Debug)]
struct Kernel {
    area: Area,
    program: Program,
}

impl Device for Kernel {
    fn name(&self) -> &'static str {
        "kernel"
    }

    fn runs(&self) -> u64 {
        RUNS
    }

    fn place(&self, all: &[Schedule], rank: u32) -> Result<Image, String> {
        kernel::place(all, rank)
            .map(Image::Kernel)
            .map_err(|e| e.to_string())
    }

    fn longest_block(&self) -> u64 {
        kernel::NEIGHBOURS
    }

    fn edges(&self, _bytes: u64) -> u64 {
        u64::MAX
    }

    fn place_own(&self, own: &Schedule) -> Result<Image, String> {
        kernel::place_own(own)
            .map(Image::Kernel)
            .map_err(|e| e.to_string())
    }

    unsafe fn begin(&self, turn: Turn, image: &Image, segments: &[*mut u8]) -> io::Result<u64> {
        let Image::Kernel(image) = image else {
            return Err(io::Error::other("the image of another engine"));
        };
        // SAFETY: who calls upholds the contract of `Device::begin`: the segments are valid, nobody can ask for
        // messages of the run that the slot holds, and the lock of `Offload` keeps other threads away.
        unsafe { self.area.write(turn, image, segments) };
        self.program.kick(Kick::Start { run: turn.word() })?;
        Ok(1)
    }

    fn is_done(&self, turn: Turn, _mark: u64) -> bool {
        self.area.state_of(turn) == run::DONE && self.area.holds(turn)
    }

    unsafe fn collect(&self, turn: Turn, image: &Image, segments: &[*mut u8]) {
        if let Image::Kernel(image) = image {
            // SAFETY: who calls upholds the contract of `Device::collect`: the run is complete, the segments are valid,
            // and the lock of `Offload` keeps other threads away.
            unsafe { self.area.read(turn, image, segments) };
        }
    }

    fn done_at(&self, series: u32, peer: u32) -> u64 {
        self.area.done_at(series, peer)
    }

    fn probe(&self, series: u32, peers: u64) {
        let run = Turn { series, number: 0 }.word();
        // An error here is one of the system's; the next start meets it too, and reports it.
        let _ = self.program.kick(Kick::Probe { run, peers });
    }

    /// What the rank has sent before it left has arrived, or was asked for.
    fn needs(&self, turn: Turn, image: &Image, peer: u32) -> bool {
        let Image::Kernel(image) = image else {
            return false;
        };
        let holds = self.area.holds(turn);
        image
            .receives()
            .iter()
            .any(|(from, place)| *from == peer && !(holds && self.area.is_complete(turn, *place)))
    }

    /// The program counts what it cannot do, and asks again.
    fn failure(&self) -> Option<String> {
        None
    }

    fn is_asked(&self) -> bool {
        true
    }

    fn detach(&self) {
        self.program.detach();
    }

    fn counted(&self) -> String {
        let counts: Vec<String> = COUNTERS
            .iter()
            .enumerate()
            .map(|(i, name)| format!("{name} {}", self.area.counter(i)))
            .collect();
        counts.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_come_back_and_others_are_refused() {
        let note = Note {
            number: 0x0123_4567_89ab_cdef,
            address: [2, 0, 0, 0xff, 1, 9],
            namespace: "4:4026531840".to_owned(),
            part: 1448,
        };
        let text = note.encode();
        assert_eq!(Note::parse(text.as_bytes()), Some(note));
        for bad in [
            String::new(),
            text.replace("kernel 5 ", "kernel 4 "),
            text.replace("020000ff0109", "020000ff01"),
            format!("{text} more"),
        ] {
            assert_eq!(Note::parse(bad.as_bytes()), None, "{bad}");
        }
    }

    #[test]
    fn two_jobs_have_two_numbers() {
        assert_ne!(random(), random());
    }
}
