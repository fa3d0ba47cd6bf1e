//! Does a team of virtual threads fit an outlined function?
//!
//! A compiler turns `#pragma omp for` without a schedule clause into
//! arithmetic on the thread number and the number of threads, with no call to
//! the runtime. A runtime can therefore give such a loop to more (virtual)
//! threads than there are, but only where the function uses the two numbers
//! for nothing else: a program's own `best[omp_get_thread_num()]` would be
//! written past its end.
//!
//! This crate follows the machine code of the function from the two queries
//! on. It owns a table of the runtime's entries ([`entry`]), an abstract
//! interpretation of machine code (x86-64's and 64-bit Arm's), the views of the process's own mapped
//! objects ([`loaded`]) and of files ([`mod@file`]), and the bytes of copies whose
//! loops are divided otherwise (`uneven`). Its input is an [`Image`]; what
//! goes out is one [`Scan`]. It executes and changes nothing.
//!
//! **What is claimed.** [`Use::Arithmetic`] means: on every path that the
//! decoder sees, the number reaches no address, no store outside of the stack
//! frame, no call, no return value and no branch, except through a static loop.
//! That is, where the runtime divides the loop (clang), the bounds that
//! the runtime hands out, which only name iterations of the loop; else the
//! compiler's split of `n` iterations, `q = n / threads; r = n % threads;
//! if (id < r) { q += 1; r = 0 } lo = q * id + r`, whose results lie in
//! `0..=n` for every team size, and through `if (id == 0)` around a block that
//! the others skip. Everything that is not recognised is refused.
//!
//! **What is assumed.** The code was made by a compiler from a program that
//! keeps within its arrays: an index into an array of the frame does not reach
//! another variable of the frame, and a pointer into the frame reaches nothing
//! below the place that it was made from (nor, where that is lost, below the
//! lowest place whose address was taken). Code that only a debugger or a signal
//! handler enters is not seen. Nor are threads that number themselves by
//! counting up a shared variable in another way than by `lock xadd`, or by
//! asking somebody else than the runtime; and what a function that was not followed does ([`Calls::unknown`]). Two ways
//! chosen by `id < n % threads` may both do anything that does not name a
//! thread. A program that makes the compiler's split by hand is not told apart from the compiler, where
//! it asks whether its chunk ends at a place of its choice. Of gcc's static loops with a chunk size those whose chunks
//! are single iterations are known (a loop's index is then limited by comparisons alone), others are refused. The
//! pointers by which clang's functions are told their numbers are followed as the numbers are: only the runtime may be
//! handed what is there.

mod carried;
#[cfg_attr(
    not(target_arch = "x86_64"),
    allow(dead_code, reason = "what only x86-64's instructions do")
)]
mod code;
pub mod elf;
pub mod entry;
pub mod file;
mod findings;
mod flow;
mod graph;
pub mod kept;
mod kmpc;
pub mod library;
pub mod loaded;
mod mute;
mod nodes;
mod once;
mod operand;
mod polls;
mod primary;
mod slots;
mod state;
mod step;
mod strided;
mod taken;
mod told;
#[cfg(target_arch = "x86_64")]
pub mod uneven;
mod unwind;
mod value;
mod ways;

pub use entry::Entry;
pub use mute::is_mute;
pub use taken::{reach, Reach};
pub use told::Told;

/// The machine that code is for. On x86-64 files for either one are read, on 64-bit Arm those for itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Machine {
    /// x86-64.
    #[cfg_attr(target_arch = "x86_64", default)]
    X86_64,
    /// 64-bit Arm.
    #[cfg_attr(target_arch = "aarch64", default)]
    A64,
}

/// How a compiler outlines regions: what the runtime hands to the function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Form {
    /// The address of the region's data, and nothing else (gcc).
    #[default]
    Data,
    /// The addresses of the calling thread's number in the process and of that in the team, then the region's
    /// variables (clang, flang).
    Numbers,
}

/// What the scan of one outlined function found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scan {
    /// How the result of `omp_get_thread_num` is used.
    pub thread_number: Use,
    /// How the result of `omp_get_num_threads` is used.
    pub team_size: Use,
    /// What the function, and the followed functions that it calls, can call.
    pub calls: Calls,
    /// How many splits of iterations by the number of threads were recognised
    /// (the static loops without a chunk size).
    pub chunks: u32,
    /// Calls that ask for the number of threads in order to print it, once for the whole team. What is said about
    /// [`Scan::team_size`] is true where these are answered with the number of threads that an ordinary team would
    /// have.
    pub told: Told,
    /// Why the function could not be followed to its end, if so. The other
    /// fields then describe only what was seen.
    pub limit: Option<Why>,
    /// Address of the instruction that `limit` is about, else 0.
    pub limit_address: u64,
}

impl Scan {
    /// Whether any number of virtual threads may run this function, as far as
    /// its code tells: followed to its end, with at least one static loop, and
    /// neither number used for anything else.
    ///
    /// What the function *calls* is not judged here: see [`Scan::calls`].
    ///
    /// # Errors
    /// The first reason, and the address of the instruction that shows it (0
    /// where it is about no single instruction).
    pub fn fits(&self) -> Result<(), (Why, u64)> {
        if let Some(why) = self.limit {
            return Err((why, self.limit_address));
        }
        for used in [self.thread_number, self.team_size] {
            if let Use::Escapes(why, address) = used {
                return Err((why, address));
            }
        }
        if self.chunks == 0 || self.thread_number == Use::Absent {
            return Err((Why::NoStaticLoop, 0));
        }
        Ok(())
    }
}

/// How a number that the runtime answered is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// The function does not ask for it.
    Absent,
    /// It flows only into the compiler's split of iterations.
    Arithmetic,
    /// It flows elsewhere, as first seen at this address.
    Escapes(Why, u64),
}

hetmp_sched::table! {
    /// Why a function is refused.
    Why {
        /// One that is loaded from or stored to.
        Address "address" "the thread or team number decides an address",
        /// It, or something made from it, and outside of the stack frame.
        Store "store" "the thread or team number is stored",
        Frame "frame" "the thread or team number lies in memory that a callee can see",
        Argument "argument" "the thread or team number is passed to a function",
        /// One that is not part of the compiler's split.
        Branch "branch" "the thread or team number decides a branch",
        /// And is used for more than to tell who was the first or the last one.
        Counter "counter" "a number is taken from a shared counter",
        /// How many threads there are shows.
        EachThread "each-thread" "each thread prints or counts once",
        NoStaticLoop "no-static-loop" "no static loop",
        /// An instruction that the decoder does not know, or code outside of an executable segment.
        UnknownCode "unknown-code" "unknown code",
        /// Such as a table of a `switch`.
        IndirectJump "indirect-jump" "a jump to a computed address",
        TooLong "too-long" "the function is too long",
        StackPointer "stack-pointer" "the stack pointer is not followed",
        Unwind "unwind" "the exception tables are not readable",
        NotX86 "not-x86" "not x86-64",
        /// SVE and SME.
        Scalable "scalable" "vectors of a length that only the processor knows",
    }
}

/// What a function can call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    entries: u32,
    /// It calls something outside of the OpenMP runtime: a function of the
    /// program or of a library.
    pub foreign: bool,
    /// Among those are some whose code was not followed, and which are not
    /// known to stay within themselves (as `memcpy` and `exp` are): they may
    /// call anything, the OpenMP runtime included.
    pub unknown: bool,
    /// Address of the first call that made `unknown` true, else 0.
    pub unknown_address: u64,
    /// The code that was followed reaches thread-local variables: through the
    /// thread pointer (`%fs`, apart from the stack protector's canary), or by
    /// asking the loader for an address. The C library's own (`errno`) are not
    /// counted.
    pub thread_local: bool,
    /// The code that was followed has a loop that does nothing but look at
    /// memory until another thread has changed it.
    pub polls: bool,
}

impl Calls {
    /// Whether an entry of this kind is called.
    pub fn contains(self, entry: Entry) -> bool {
        self.entries & entry.bit() != 0
    }

    /// Whether any of the kinds is called.
    pub fn any(self, entries: &[Entry]) -> bool {
        entries.iter().any(|&entry| self.contains(entry))
    }

    /// The kinds that are called, in the order of [`Entry`].
    pub fn entries(self) -> impl Iterator<Item = Entry> {
        Entry::ALL
            .into_iter()
            .filter(move |&entry| self.contains(entry))
    }

    /// Remembers a call of this kind.
    pub fn insert(&mut self, entry: Entry) {
        self.entries |= entry.bit();
    }
}

/// Where a call or a jump leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Callee {
    /// An entry of the OpenMP runtime.
    Runtime(Entry),
    /// A function with this name in another object.
    Named(String),
    /// Code of the same object, at this address.
    Inside(u64),
    /// Code that cannot be named or is in another object.
    Unknown,
}

/// The code of a program, as the scan reads it.
pub trait Image {
    /// The bytes from `address` to the end of its executable segment, or
    /// `None` where there is no code.
    fn code(&self, address: u64) -> Option<&[u8]>;

    /// Where a direct call or jump to `target` leads in the end, through a
    /// slot of the procedure linkage table where it is one.
    fn callee(&self, target: u64) -> Callee;

    /// Where a call or jump through the pointer stored at `slot` leads, for a
    /// slot that the loader fills (`call *slot(%rip)`).
    fn slot(&self, slot: u64) -> Callee;

    /// The exception tables' record of the function that holds `address`.
    ///
    /// # Errors
    /// [`Why::Unwind`] where there is a record but it is not understood.
    fn unwind(&self, address: u64) -> Result<Option<Unwind>, Why>;

    /// The machine that the code is for.
    fn machine(&self) -> Machine {
        Machine::default()
    }

    /// The scan has decoded an instruction in these bytes.
    fn decoded(&self, _start: u64, _end: u64) {}
}

/// What the exception tables say about one function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unwind {
    /// First address of the function (or of the part of it that was placed
    /// apart as unlikely).
    pub start: u64,
    /// Address after its last byte.
    pub end: u64,
    /// Where calls continue after an exception.
    pub pads: Vec<Pad>,
    /// From which address on how many bytes of arguments lie on the stack, in
    /// ascending order. The unwinder takes them back before it continues at a
    /// pad.
    pub arguments: Vec<(u64, i64)>,
}

/// Where an exception that is thrown by a call continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pad {
    /// First address of the covered code.
    pub start: u64,
    /// Address after the last byte of the covered code.
    pub end: u64,
    /// Address where execution continues.
    pub pad: u64,
}

/// Makes what the decoder and the encoder make at their first use, under locks of their own: tables of instructions. To
/// be called where no `fork` can come in between, since in a child nobody would end what was begun. Afterwards it only
/// decodes one instruction.
pub fn first_use() {
    #[cfg(target_arch = "x86_64")]
    {
        let nop = iced_x86::Decoder::new(64, &[0x90], iced_x86::DecoderOptions::NONE).decode();
        // It cannot fail, and nobody wants the bytes.
        let _ = iced_x86::Encoder::new(64).encode(&nop, 0);
    }
}

/// Follows the function at `entry`, which a compiler outlined in this `form`.
///
/// Takes bounded time and never panics, whatever the bytes are: mostly less
/// than a millisecond, about 0.4 s where a function calls others until
/// the limit of followed instructions is reached.
pub fn scan(image: &dyn Image, entry: u64, form: Form) -> Scan {
    flow::scan(image, entry, form)
}

/// Whether the static loops of the function at `entry`, which [`Scan::fits`],
/// give the same results however many chunks they are divided into, even to a
/// program that asked for a certain number of threads: nothing is carried from
/// one iteration to the next but sums, and nothing is done once a thread that
/// could be counted.
///
/// # Errors
/// The address of an instruction that shows why that is not known.
pub fn divides_freely(image: &dyn Image, entry: u64, form: Form) -> Result<(), u64> {
    scan_with_division(image, entry, form).1
}

/// [`scan`] and [`divides_freely`] at once, for less than both take. Where the function does not [fit](Scan::fits), or
/// calls what is not known ([`Calls::unknown`]), it does not divide freely either.
pub fn scan_with_division(image: &dyn Image, entry: u64, form: Form) -> (Scan, Result<(), u64>) {
    flow::scan_with_division(image, entry, form)
}

impl Unwind {
    /// Where an exception thrown by the call at `address` continues.
    pub(crate) fn pad(&self, address: u64) -> Option<u64> {
        self.pads
            .iter()
            .find(|pad| (pad.start..pad.end).contains(&address))
            .map(|pad| pad.pad)
    }

    /// How many bytes of arguments lie on the stack at the call at `address`.
    pub(crate) fn pushed(&self, address: u64) -> i64 {
        self.arguments
            .iter()
            .take_while(|(from, _)| *from <= address)
            .last()
            .map_or(0, |&(_, bytes)| bytes)
    }
}
