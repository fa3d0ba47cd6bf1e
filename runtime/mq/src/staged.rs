//! The queue of two stages: slots at the master, slots in the slave's local store, transfers between.
//!
//! Pure, like [`crate::ring`]: this module moves slots through their states, and tells a [`Mover`] what to copy. Loom
//! and the property tests run it with movers of their own.
//!
//! | master to slave | | slave to master | |
//! | --- | --- | --- | --- |
//! | master slot | slave slot | slave slot | master slot |
//! | Idle, Locked, Ready, Tran | Idle, Tran, Ready, Locked | Idle, Locked, Ready, Tran | Idle, Tran, Ready, Locked |
//!
//! After the last state a slot is Idle again.
//!
//! The two directions are one machine, with source and destination swapped. Both sides read the list of the master's
//! slots (MState in the paper). The slave's list, and every position, belong to one side alone. Only the slave starts
//! transfers, as on the chips: each of its calls first completes the transfers that are done, then starts all that
//! can be started, so that with two slots transfer and computation overlap.
//!
//! # Memory ordering
//! Each store of a state is a release, and each load of the other side's state an acquire: what a side has done to a
//! slot is over before the other side begins. Only the side that has a slot stores its state: Idle and Ready name the
//! side that may take the slot, Locked and Tran the side that has it.

use hetmp_core::sync::{AtomicU64, Ordering};

/// The state of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum State {
    /// Free.
    Idle = 0,
    /// The program holds it.
    Locked = 1,
    /// It contains a message.
    Ready = 2,
    /// A transfer uses it.
    Tran = 3,
}

/// A state, and the length of the message, in one word.
#[inline]
fn pack(state: State, bytes: u32) -> u64 {
    (u64::from(bytes) << 32) | state as u64
}

#[inline]
fn state_of(word: u64) -> State {
    match word & 3 {
        0 => State::Idle,
        1 => State::Locked,
        2 => State::Ready,
        _ => State::Tran,
    }
}

/// The direction in which messages go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Direction {
    /// The master sends.
    MasterToSlave = 0,
    /// The slave sends.
    SlaveToMaster = 1,
}

/// The states in which a side's program takes and gives back slots.
#[derive(Clone, Copy, Debug)]
struct Program {
    /// A slot can be taken in this state.
    take: State,
    /// A slot that is given back gets this state.
    give: State,
}

impl Program {
    fn of(sender: bool) -> Program {
        if sender {
            Program {
                take: State::Idle,
                give: State::Ready,
            }
        } else {
            Program {
                take: State::Ready,
                give: State::Idle,
            }
        }
    }
}

/// The list of the master's slots.
pub type MasterStates = [AtomicU64];

/// The master's side, with the positions IMIdle and IMLocked (sending), or IMReady and IMLocked (receiving).
#[derive(Debug)]
pub struct MasterSide {
    program: Program,
    next: u32,
    oldest: u32,
    held: u32,
}

fn after(position: u32, slots: usize) -> u32 {
    if position as usize + 1 == slots {
        0
    } else {
        position + 1
    }
}

impl MasterSide {
    /// The master's side of an empty queue.
    #[must_use]
    pub fn new(direction: Direction) -> MasterSide {
        MasterSide {
            program: Program::of(direction == Direction::MasterToSlave),
            next: 0,
            oldest: 0,
            held: 0,
        }
    }

    /// How many slots the program holds.
    #[must_use]
    pub fn held(&self) -> u32 {
        self.held
    }

    /// The slot that has to be given back next.
    #[must_use]
    pub fn oldest(&self) -> u32 {
        self.oldest
    }

    /// True if a slot can be taken.
    #[must_use]
    pub fn ready(&self, list: &MasterStates) -> bool {
        state_of(list[self.next as usize].load(Ordering::Acquire)) == self.program.take
    }

    /// Takes the next slot, if it is there. Returns it, and the message's length.
    pub fn take(&mut self, list: &MasterStates) -> Option<(u32, u32)> {
        let slot = self.next;
        let word = list[slot as usize].load(Ordering::Acquire);
        if state_of(word) != self.program.take {
            return None;
        }
        // From now on only this side stores the slot's state. The other side waits for another state.
        list[slot as usize].store(pack(State::Locked, (word >> 32) as u32), Ordering::Relaxed);
        self.next = after(slot, list.len());
        self.held += 1;
        Some((slot, (word >> 32) as u32))
    }

    /// Gives back the oldest held slot. The caller has checked that there is one.
    pub fn give(&mut self, bytes: u32, list: &MasterStates) {
        list[self.oldest as usize].store(pack(self.program.give, bytes), Ordering::Release);
        self.oldest = after(self.oldest, list.len());
        self.held -= 1;
    }
}

/// Copies between the stages.
pub trait Mover {
    /// Starts copying a message. Returns a ticket for [`Mover::done`].
    fn start(&mut self, master_slot: u32, slave_slot: u32, bytes: u32, direction: Direction)
        -> u64;
    /// True if the copy is done.
    fn done(&mut self, ticket: u64) -> bool;
    /// The slave reads or writes one word of the master's memory.
    fn direct_access(&mut self);
}

/// A transfer under way.
#[derive(Clone, Copy, Debug)]
struct Transfer {
    ticket: u64,
    bytes: u32,
}

/// The slave's side: its list of states, and the other six positions.
#[derive(Debug)]
pub struct SlaveSide {
    direction: Direction,
    program: Program,
    states: Box<[u64]>,
    next: u32,
    oldest: u32,
    held: u32,
    /// How many slots are not Idle.
    used: u32,
    /// The slots of the next transfer: at the master, and here.
    start: (u32, u32),
    /// The slots of the oldest transfer under way: at the master, and here.
    tran: (u32, u32),
    /// Transfers under way, oldest first.
    under_way: std::collections::VecDeque<Transfer>,
}

impl SlaveSide {
    /// The slave's side of an empty queue, with `slots` slots in the local store.
    #[must_use]
    pub fn new(direction: Direction, slots: u32) -> SlaveSide {
        SlaveSide {
            direction,
            program: Program::of(direction == Direction::SlaveToMaster),
            states: vec![pack(State::Idle, 0); slots as usize].into_boxed_slice(),
            next: 0,
            oldest: 0,
            held: 0,
            used: 0,
            start: (0, 0),
            tran: (0, 0),
            under_way: std::collections::VecDeque::with_capacity(slots as usize),
        }
    }

    /// How many slots the program holds.
    #[must_use]
    pub fn held(&self) -> u32 {
        self.held
    }

    /// How many slots are in the store.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.states.len()
    }

    /// The slot that has to be given back next.
    #[must_use]
    pub fn oldest(&self) -> u32 {
        self.oldest
    }

    /// True if transfers are under way.
    #[must_use]
    pub fn transferring(&self) -> bool {
        !self.under_way.is_empty()
    }

    /// The ticket of the oldest transfer under way.
    #[must_use]
    pub(crate) fn oldest_ticket(&self) -> Option<u64> {
        self.under_way.front().map(|t| t.ticket)
    }

    /// How many slots are not Idle.
    #[must_use]
    pub fn used(&self) -> u32 {
        self.used
    }

    /// How many messages are in the store: received and not released, or sent and not yet at the master.
    #[must_use]
    pub fn messages(&self) -> u32 {
        match self.direction {
            Direction::MasterToSlave => self.used,
            Direction::SlaveToMaster => self.used - self.held,
        }
    }

    /// Completes and starts transfers. True if the master's list has changed.
    pub fn pump(&mut self, list: &MasterStates, mover: &mut impl Mover) -> bool {
        let mut changed = self.complete(list, mover);
        loop {
            let (m, s) = self.start;
            let (source_is_master, wanted_m, wanted_s) = match self.direction {
                Direction::MasterToSlave => (true, State::Ready, State::Idle),
                Direction::SlaveToMaster => (false, State::Idle, State::Ready),
            };
            // The slave's own list is looked at first, because a look at the master's memory is expensive.
            let own = self.states[s as usize];
            if state_of(own) != wanted_s {
                break;
            }
            mover.direct_access();
            let theirs = list[m as usize].load(Ordering::Acquire);
            if state_of(theirs) != wanted_m {
                break;
            }
            let bytes = (if source_is_master { theirs } else { own } >> 32) as u32;
            mover.direct_access();
            // From here on the slot belongs to this side. The master leaves it alone in the old state and in the new
            // one.
            list[m as usize].store(pack(State::Tran, bytes), Ordering::Relaxed);
            self.states[s as usize] = pack(State::Tran, bytes);
            let ticket = mover.start(m, s, bytes, self.direction);
            self.under_way.push_back(Transfer { ticket, bytes });
            if source_is_master {
                self.used += 1;
            }
            self.start = (after(m, list.len()), after(s, self.states.len()));
        }
        changed |= self.complete(list, mover);
        changed
    }

    fn complete(&mut self, list: &MasterStates, mover: &mut impl Mover) -> bool {
        let mut changed = false;
        while let Some(&transfer) = self.under_way.front() {
            if !mover.done(transfer.ticket) {
                break;
            }
            self.under_way.pop_front();
            let (m, s) = self.tran;
            let (theirs, own) = match self.direction {
                Direction::MasterToSlave => {
                    (pack(State::Idle, 0), pack(State::Ready, transfer.bytes))
                }
                Direction::SlaveToMaster => {
                    (pack(State::Ready, transfer.bytes), pack(State::Idle, 0))
                }
            };
            self.states[s as usize] = own;
            if self.direction == Direction::SlaveToMaster {
                self.used -= 1;
            }
            mover.direct_access();
            // Release: the copy is over, and the master may fill or read the slot.
            list[m as usize].store(theirs, Ordering::Release);
            self.tran = (after(m, list.len()), after(s, self.states.len()));
            changed = true;
        }
        changed
    }

    /// True if a slot can be taken.
    #[must_use]
    pub fn ready(&self) -> bool {
        state_of(self.states[self.next as usize]) == self.program.take
    }

    /// Takes the next slot, if it is there. Returns it, and the message's length.
    pub fn take(&mut self) -> Option<(u32, u32)> {
        let slot = self.next;
        let word = self.states[slot as usize];
        if state_of(word) != self.program.take {
            return None;
        }
        self.states[slot as usize] = pack(State::Locked, (word >> 32) as u32);
        self.next = after(slot, self.states.len());
        self.held += 1;
        if self.program.take == State::Idle {
            self.used += 1;
        }
        Some((slot, (word >> 32) as u32))
    }

    /// Gives back the oldest held slot. The caller has checked that there is one.
    pub fn give(&mut self, bytes: u32) {
        self.states[self.oldest as usize] = pack(self.program.give, bytes);
        self.oldest = after(self.oldest, self.states.len());
        self.held -= 1;
        if self.program.give == State::Idle {
            self.used -= 1;
        }
    }
}

/// How many messages are in the master's slots alone: filled, or received and not released. Messages in transfer are
/// counted in the store ([`SlaveSide::messages`]).
#[must_use]
pub fn at_master(list: &MasterStates, direction: Direction) -> u32 {
    list.iter()
        .filter(|word| match state_of(word.load(Ordering::Acquire)) {
            State::Ready => true,
            State::Locked => direction == Direction::SlaveToMaster,
            State::Idle | State::Tran => false,
        })
        .count() as u32
}

/// True if a slot of the master is in this state, or in transfer.
#[must_use]
pub(crate) fn master_has(list: &MasterStates, state: State) -> bool {
    list.iter().any(|word| {
        let now = state_of(word.load(Ordering::Acquire));
        now == state || now == State::Tran
    })
}

/// True if every slot of the master is free.
#[must_use]
pub fn master_at_rest(list: &MasterStates) -> bool {
    list.iter()
        .all(|word| state_of(word.load(Ordering::Acquire)) == State::Idle)
}
