//! What calls do to a state: of the runtime, of functions that are followed, and of others.

use super::Analysis;
use crate::code::{Flow, Instruction, Register, STACK};
use crate::entry::Entry;
use crate::findings::Frame;
use crate::library;
use crate::primary::held;
use crate::state::{Flags, Source, State, VECTOR};
use crate::value::{Origin, Place, Value};
use crate::{Callee, Machine, Why};

/// This many words above the stack pointer may be arguments of a call.
const STACKED: i64 = 6;

impl Analysis<'_> {
    /// A call's effect; tells whether it returns.
    pub(super) fn call(
        &mut self,
        i: &Instruction,
        callee: &Callee,
        called_back: Option<u64>,
        state: &mut State,
        frame: &mut Frame,
    ) -> Result<bool, (Why, u64)> {
        let at = i.at;
        let roles = state.roles();
        let vectors = || (0..VECTOR).filter(|n| !roles.kept_vectors.contains(n));
        let parts = i.address.iter().flat_map(|address| address.registers());
        let pointers = parts.chain(i.operand(0).register());
        for n in pointers.filter_map(Register::general) {
            self.findings
                .escape(state.general[n].origin(), Why::Address, at);
        }
        if !matches!(state.general[STACK], Value::Frame(_)) {
            return Err((Why::StackPointer, at));
        }
        // Called functions change registers, and what they were shown.
        state.forget_copies(|source| match source {
            Source::Register(n) => roles.caller_saved.contains(&n),
            Source::Slot(_) => true,
            Source::Constant(_) => false,
        });
        match callee {
            Callee::Runtime(entry) => {
                self.calls.insert(*entry);
                if *entry == Entry::StaticLoop {
                    self.static_loop(at, state, frame);
                } else {
                    self.hand_over(at, entry.arguments(), state, frame);
                }
                clobber(state);
                match entry {
                    Entry::ProcessNumber => {
                        state.general[roles.result()] = Value::Taint(Origin::ID)
                    }
                    Entry::ThreadNumber => {
                        self.asked.0 = true;
                        state.general[roles.result()] = Value::Id;
                    }
                    Entry::TeamSize => {
                        self.asked.1 = true;
                        state.general[roles.result()] = if self.told_calls.contains(&at) {
                            self.findings.told.insert(at, i.behind);
                            Value::Shown
                        } else {
                            Value::Team
                        };
                    }
                    _ => {}
                }
                Ok(true)
            }
            Callee::Named(name) => {
                self.calls.foreign = true;
                self.calls.thread_local |= library::tells_thread_local(name);
                let known = library::stays_within_itself(name)
                    || library::never_returns(name)
                    || called_back.is_some_and(|target| self.is_called_back(target));
                if !known {
                    self.unknown(at);
                }
                let printed = library::prints_from(name).unwrap_or(roles.arguments.len());
                for &n in roles.arguments.iter().skip(printed) {
                    if state.general[n] == Value::Shown {
                        state.general[n] = Value::Plain;
                    }
                }
                self.hand_over(at, library::integers(name), state, frame);
                clobber(state);
                Ok(!library::never_returns(name))
            }
            Callee::Unknown => {
                self.calls.foreign = true;
                self.unknown(at);
                self.hand_over(at, 6, state, frame);
                clobber(state);
                Ok(true)
            }
            Callee::Inside(target) => {
                self.calls.foreign = true;
                let mut inner = State::entry(self.image.machine());
                self.drop_left(*target, state);
                for &n in roles.caller_saved {
                    frame.expose_argument(state.general[n]);
                    if !state.general[n].is_free() || state.general[n].split().is_some() {
                        inner.general[n] = state.general[n];
                    }
                }
                for n in vectors() {
                    frame.expose_argument(state.vector[n]);
                    if !state.vector[n].is_free() {
                        inner.vector[n] = state.vector[n];
                    }
                }
                // Within one file compilers keep values in registers that they
                // know the callee not to touch; not so through the linkage
                // table, where it might be another function.
                let direct = matches!(i.flow, Flow::Calls(to) | Flow::Jumps(to) if to == *target);
                match self.function(*target, inner) {
                    Ok(None) => Ok(false),
                    Ok(Some((general, vector))) => {
                        clobber(state);
                        for &n in roles.caller_saved {
                            if direct || roles.results.contains(&n) {
                                state.general[n] = left(general[n]);
                            }
                        }
                        for n in vectors().filter(|&n| direct || n < roles.vector_results) {
                            state.vector[n] = left(vector[n]);
                        }
                        Ok(true)
                    }
                    Err(_) => {
                        self.unknown(at);
                        self.hand_over(at, 6, state, frame);
                        if !direct {
                            clobber(state);
                        }
                        for &n in roles.caller_saved {
                            state.general[n] = state.general[n].blurred();
                        }
                        for n in vectors() {
                            state.vector[n] = state.vector[n].blurred();
                        }
                        state.flags = Flags::Plain;
                        Ok(true)
                    }
                }
            }
        }
    }

    /// What an earlier call may have left as its result is nothing where the function at `target` does not read it:
    /// then it is followed once only, from the same state as elsewhere.
    fn drop_left(&self, target: u64, state: &mut State) {
        let is_left = |(_, value): &(usize, &Value)| **value == Value::Left;
        // No function is told anything there but how many vector registers have arguments.
        let result = state.roles().result();
        let told = state.roles().arguments.contains(&result);
        if state.general[result] == Value::Left && !told {
            state.general[result] = Value::Dead;
        }
        let general = state.general.iter().enumerate().filter(is_left);
        let vector = state.vector.iter().enumerate().filter(is_left);
        let left = general.map(|(n, _)| n);
        let left = left.chain(vector.map(|(n, _)| n + held::VECTOR));
        let left = left.fold(0, |bits: held::Registers, n| bits | 1 << n);
        if left == 0 || super::settle::reads(self.image, target, left, 0) {
            return;
        }
        for value in state.general.iter_mut().chain(&mut state.vector) {
            if *value == Value::Left {
                *value = Value::Dead;
            }
        }
    }

    /// Follows a function that another object's calls back, with arguments of its own. Tells whether it was followed to
    /// its end, and returns nothing that stems from the numbers.
    fn is_called_back(&mut self, target: u64) -> bool {
        let machine = self.image.machine();
        match self.function(target, State::entry(machine)) {
            Ok(exit) => exit.is_none_or(|exit| !super::leaves_numbers(&exit, machine.roles())),
            Err(_) => false,
        }
    }

    /// A static loop that the runtime divides: `(place, number, schedule, &last, &lower, &upper, &stride, step,
    /// chunk)`. What the runtime writes is the part of the thread that calls: bounds that compiled code uses for
    /// the loop, and limits by the loop's own.
    fn static_loop(&mut self, at: u64, state: &mut State, frame: &mut Frame) {
        self.asked = (true, true);
        let on_stack = match state.general[STACK] {
            Value::Frame(place) => state.load(place, 8),
            _ => Value::Plain,
        };
        let arguments = state.roles().arguments;
        let pointers = arguments[3..].iter().map(|&n| state.general[n]);
        let pointers: Vec<Value> = pointers.chain([on_stack]).collect();
        let mut places = [Place::LOWEST; 4];
        for (place, pointer) in places.iter_mut().zip(pointers) {
            let Value::Frame(known) = pointer else {
                // Variables that others may see: nothing that clang does.
                self.unknown(at);
                self.hand_over(at, arguments.len(), state, frame);
                return;
            };
            *place = known;
        }
        for place in places {
            // Of variables of 64 bits the other half is plain already.
            state.store(place, 4, Value::Plain);
        }
        self.findings.splits.insert(at);
        frame.divided.insert(at, places);
    }

    fn unknown(&mut self, at: u64) {
        if !self.calls.unknown {
            self.calls.unknown = true;
            self.calls.unknown_address = at;
        }
    }

    /// Checks what a function that is not followed can see.
    fn hand_over(&mut self, at: u64, arguments: usize, state: &State, frame: &mut Frame) {
        for &n in state.roles().first_arguments(arguments) {
            let value = state.general[n];
            if !matches!(value, Value::Stale(_)) && !value.is_handed() {
                self.findings.escape(value.origin(), Why::Argument, at);
            }
            // Divisions of x86-64 leave the remainder next to it, in the register of an argument.
            if value.is_quotient() && self.image.machine() == Machine::A64 {
                self.findings.escape(Origin::TEAM, Why::Argument, at);
            }
            frame.expose_argument(value);
        }
        if arguments < 6 {
            return;
        }
        for value in state.vector.iter().take(8) {
            if !matches!(value, Value::Stale(_)) {
                self.findings.escape(value.origin(), Why::Argument, at);
            }
            frame.expose_argument(*value);
        }
        // The seventh argument and later ones; gcc pushes these, which is checked there.
        if let Value::Frame(bottom) = state.general[STACK] {
            for n in 0..STACKED {
                let Some(offset) = bottom.offset.checked_add(8 * n) else {
                    return;
                };
                let value = state.load(Place { offset, ..bottom }, 8);
                if !value.is_handed() {
                    self.findings.escape(value.origin(), Why::Argument, at);
                }
                frame.expose_argument(value);
            }
        }
    }
}

/// What a callee left in a register, in its caller's terms.
fn left(value: Value) -> Value {
    if value == Value::Dead {
        value
    } else if value.is_free() {
        Value::Plain
    } else {
        value
    }
}

/// After a call of another object's function.
pub(super) fn clobber(state: &mut State) {
    let roles = state.roles();
    for &n in roles.caller_saved {
        state.general[n] = Value::Dead;
    }
    state.general[roles.result()] = Value::Plain;
    for n in (0..VECTOR).filter(|n| !roles.kept_vectors.contains(n)) {
        state.vector[n] = Value::Dead;
    }
    state.vector[0] = Value::Plain;
    state.flags = Flags::Plain;
}
