//! What this library and the program in the kernel (`runtime/goal-kernel/bpf/engine.bpf.c`) both know: limits, the
//! layout of packets, of a series' state and of runs, and the calls of the program.

/// The most ranks.
pub const RANKS: u32 = 64;
/// How many runs of all ranks a rank keeps at once ([`series`](crate::series)).
pub const RUNS: u64 = 16;
/// The most operations of a schedule.
pub const OPS: usize = 256;
/// The most operations that wait for one operation.
pub const DEPENDENTS: usize = 8;
/// The longest message in one packet that nobody has asked for, bytes. A longer one goes in parts, which the receiver
/// asks for.
pub const MESSAGE: u64 = 1344;
/// The longest part, bytes. The kernel lets a program make packets of somewhat less than 16 KiB.
pub const PART: u64 = 13312;
/// The longest message, vector and copy, bytes.
pub const LONG: u64 = 65536;
/// The most floating point numbers of a vector. In integers a sum takes 27 ns, a product 37 ns, a maximum 19 ns (AMD
/// EPYC); for this many about the 8.3 us that it takes until a process is awake, which has a floating point unit.
pub const FLOATS: u64 = 256;
/// The longest block of an exchange with neighbours, bytes. A rank does not know how many neighbours the others have:
/// such blocks, given, got and copied, fit into the arena of a rank with as many neighbours as it has operations.
pub const NEIGHBOURS: u64 = ARENA / 2 / OPS as u64;
/// How many parts of a message are under way at most.
pub const WINDOW: u32 = 16;
/// Bytes of an arena.
pub const ARENA: u64 = 1 << 20;
/// Messages of a run that are kept until their receives begin.
pub const EARLY: usize = 64;
/// Bytes of a packet before its message.
pub const HEAD_BYTES: usize = 64;
/// The packets' type of Ethernet frame: IEEE 802's first number for local experiments.
pub const ETHERTYPE: u16 = 0x88b5;
/// The first word of each packet.
pub const MAGIC: u32 = u32::from_le_bytes(*b"GOLK");
/// The version of packets.
pub const VERSION: u8 = 5;

/// Offsets in an entry of the map `state_map`: the state of a series. Runs are there as
/// [words](crate::series::Turn::word).
pub mod state {
    use super::RANKS;
    /// The run that was begun last, 64 bits.
    pub const STARTED: usize = 0;
    /// Runs up to this one are complete, 64 bits.
    pub const DONE: usize = 8;
    /// By peer: up to which run it is done, 64 bits.
    pub const PEERS: usize = 16;
    /// The counters, 64 bits each, in the order of [`super::COUNTERS`].
    pub const COUNTERS: usize = PEERS + 8 * RANKS as usize;
    /// Bytes of an entry.
    pub const BYTES: usize = COUNTERS + 8 * (16 + super::RUNS as usize);
}

/// Offsets in an entry of the map `run_map`.
pub mod run {
    use super::{ARENA as BYTES_OF_ARENA, LONG, OPS as MOST, RANKS};
    /// The run, 64 bits.
    pub const NUMBER: usize = 0;
    /// Its state, 32 bits: `FREE` to `COLLECTED`.
    pub const STATE: usize = 8;
    /// The image.
    pub const IMAGE: usize = 16;
    /// The lists of receives of each peer; lists of sends follow.
    pub const RECVS: usize = IMAGE + 24 + MOST;
    /// The operations.
    pub const OPS: usize = RECVS + 4 * RANKS as usize;
    /// Bytes of an operation.
    pub const OP_BYTES: usize = 48;
    /// Of an operation: its state, one byte.
    pub const OP_STATE: usize = 5;
    /// An operation that is complete.
    pub const OP_COMPLETE: u8 = 2;
    /// The arena.
    pub const ARENA: usize = OPS + OP_BYTES * MOST;
    /// Bytes of an entry.
    pub const BYTES: usize = ARENA + (BYTES_OF_ARENA + LONG) as usize;

    /// Nobody uses the slot.
    pub const FREE: u32 = 0;
    /// The run is complete, and its results are in the arena.
    pub const DONE: u32 = 3;
    /// The process has taken the results.
    pub const COLLECTED: u32 = 4;
}

/// What the program counts.
pub const COUNTERS: [&str; 12] = [
    "sent",
    "received",
    "early",
    "duplicate",
    "dropped",
    "bad",
    "foreign",
    "asked",
    "resent",
    "busy",
    "unsent",
    "kicks",
];

/// A call of the program by a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kick {
    /// Begins a run, whose image is in its slot.
    Start {
        /// The run, as a word.
        run: u64,
    },
    /// Asks the peers for the messages that a run misses.
    Missing {
        /// The run, as a word.
        run: u64,
    },
    /// Asks peers how far they are.
    Probe {
        /// A word of the series.
        run: u64,
        /// A bit for each peer.
        peers: u64,
    },
}

impl Kick {
    /// The kick was executed.
    pub const DONE: u32 = 0;
    /// Another processor is at work for this rank at the moment.
    pub const BUSY: u32 = 1;

    /// The packet that says it to the program.
    #[must_use]
    pub fn packet(self) -> [u8; HEAD_BYTES] {
        let (kind, run, peers) = match self {
            Kick::Start { run } => (16, run, 0),
            Kick::Missing { run } => (17, run, 0),
            Kick::Probe { run, peers } => (18, run, peers),
        };
        let mut packet = [0; HEAD_BYTES];
        packet[12..14].copy_from_slice(&ETHERTYPE.to_be_bytes());
        packet[21] = kind;
        packet[32..40].copy_from_slice(&run.to_le_bytes());
        packet[48..56].copy_from_slice(&peers.to_le_bytes());
        packet
    }
}
