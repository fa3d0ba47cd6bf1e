//! The states of a function's points, followed until nothing changes, through
//! the functions that it calls.

use std::collections::{BTreeMap, BTreeSet};

use iced_x86::{ConditionCode, Instruction, InstructionInfoFactory, OpKind};

use crate::carried::{self, Interface, Strided};
use crate::entry::Entry;
use crate::findings::{Findings, Frame};
use crate::graph::{Graph, Next};
use crate::library;
use crate::state::{
    Flags, Source, State, ARGUMENTS, CALLER_SAVED, GENERAL, RAX, RBP, RDX, RSP, VECTOR,
};
use crate::step::{general, Step};
use crate::value::{Origin, Place, Value};
use crate::{Callee, Calls, Form, Image, Scan, Use, Why};

/// Instructions that one scan decodes, all functions together.
const DECODED: usize = 40_000;
/// Instructions that one scan executes.
const EXECUTED: usize = 400_000;
/// How deep calls are followed.
const DEPTH: usize = 8;
/// So many words above the stack pointer may be arguments of a call.
const STACKED: i64 = 6;

/// What a function leaves in the registers, or `None` where it does not
/// return.
type Exit = Option<(Vec<Value>, Vec<Value>)>;

struct Analysis<'a> {
    image: &'a dyn Image,
    factory: InstructionInfoFactory,
    findings: Findings,
    calls: Calls,
    asked: (bool, bool),
    decoded: usize,
    executed: usize,
    /// Functions that were followed, by address and by what the registers held.
    known: BTreeMap<u64, Vec<Known>>,
    active: Vec<u64>,
    /// Those among the active functions that call themselves, and were taken to leave nothing of
    /// the numbers behind.
    recursive: BTreeSet<u64>,
    /// Whether the results of its loops depend on how they are divided, where
    /// that was asked for: an instruction that shows it.
    divided: Option<Result<(), u64>>,
    /// What the first of the functions is called with.
    form: Form,
    /// What the followed functions do with registers.
    interfaces: BTreeMap<u64, Interface>,
}

/// A function that was followed from one state of the registers.
struct Known {
    state: State,
    exit: Exit,
    findings: Findings,
}

pub(crate) fn scan(image: &dyn Image, entry: u64, form: Form) -> Scan {
    let mut analysis = Analysis::new(image, form);
    let limit = analysis.function(entry, State::outlined(form)).err();
    let ticket = analysis.findings.ticket;
    let limit = limit.or_else(|| ticket.map(|(address, _)| (Why::Counter, address)));
    let used = |asked: bool, escape: Option<(u64, Why)>| match escape {
        Some((address, why)) => Use::Escapes(why, address),
        None if asked => Use::Arithmetic,
        None => Use::Absent,
    };
    Scan {
        thread_number: used(analysis.asked.0, analysis.findings.id),
        team_size: used(analysis.asked.1, analysis.findings.team),
        calls: analysis.calls,
        chunks: u32::try_from(analysis.findings.splits.len()).unwrap_or(u32::MAX),
        limit: limit.map(|(why, _)| why),
        limit_address: limit.map_or(0, |(_, address)| address),
    }
}

/// See [`crate::divides_freely`].
pub(crate) fn divides_freely(image: &dyn Image, entry: u64, form: Form) -> Result<(), u64> {
    let mut analysis = Analysis {
        divided: Some(Ok(())),
        ..Analysis::new(image, form)
    };
    analysis
        .function(entry, State::outlined(form))
        .map_err(|(_, at)| at)?;
    analysis.divided.unwrap_or(Err(entry))
}

impl<'a> Analysis<'a> {
    fn new(image: &'a dyn Image, form: Form) -> Analysis<'a> {
        Analysis {
            image,
            factory: InstructionInfoFactory::new(),
            findings: Findings::default(),
            calls: Calls::default(),
            asked: (false, false),
            decoded: DECODED,
            executed: EXECUTED,
            known: BTreeMap::new(),
            active: Vec::new(),
            recursive: BTreeSet::new(),
            divided: None,
            form,
            interfaces: BTreeMap::new(),
        }
    }
}

impl Analysis<'_> {
    /// Follows the function at `entry`, whose registers hold what `state`
    /// says.
    fn function(&mut self, entry: u64, state: State) -> Result<Exit, (Why, u64)> {
        let found = self
            .known
            .get(&entry)
            .and_then(|all| all.iter().find(|known| known.state == state));
        if let Some(known) = found {
            self.findings.merge(&known.findings);
            return Ok(known.exit.clone());
        }
        let knows_nothing = state == State::entry();
        if self.active.contains(&entry) && knows_nothing {
            // What it calls itself with says nothing about the numbers, and whatever it finds out
            // is found where it is being followed. Taken to leave nothing of the numbers behind,
            // which is checked there.
            self.recursive.insert(entry);
            return Ok(Some((
                vec![Value::Plain; GENERAL],
                vec![Value::Plain; VECTOR],
            )));
        }
        if self.active.contains(&entry) || self.active.len() >= DEPTH {
            return Err((Why::TooLong, entry));
        }
        self.active.push(entry);
        let outer = std::mem::take(&mut self.findings);
        let exit = self.follow(entry, &state);
        let findings = std::mem::replace(&mut self.findings, outer);
        self.active.pop();
        let mut findings = findings;
        if matches!(exit, Ok(None)) {
            // Who ends the program may say what the counter was.
            findings.ticket = None;
        }
        self.findings.merge(&findings);
        let exit = exit?;
        if self.recursive.remove(&entry) && exit.as_ref().is_some_and(leaves_numbers) {
            return Err((Why::TooLong, entry));
        }
        self.known.entry(entry).or_default().push(Known {
            state,
            exit: exit.clone(),
            findings,
        });
        Ok(exit)
    }

    fn follow(&mut self, entry: u64, state: &State) -> Result<Exit, (Why, u64)> {
        let mut graph = Graph::read(self.image, entry, &mut self.decoded)?;
        self.calls.thread_local |= graph.thread_local;
        self.calls.polls |= crate::polls::any(&graph, &mut self.factory);
        let mut frame = Frame::default();
        let states = self.settle_frame(&graph, entry, state, &mut frame)?;
        let mut exit = self.judge(&graph, &states, &mut frame)?;
        if self.findings.id.is_some() && self.finds_strided(&mut graph, &states, &frame) {
            frame = Frame::default();
            let states = self.settle_frame(&graph, entry, state, &mut frame)?;
            exit = self.judge(&graph, &states, &mut frame)?;
            let headers = graph.strided.iter().map(|strided| strided.header);
            self.findings.splits.extend(headers);
            if let Some(divided @ Ok(())) = &mut self.divided {
                // What such a loop carries from one iteration to the next is not looked at.
                *divided = Err(entry);
            }
        }
        self.judge_division(&graph, &frame, entry);
        Ok(exit.map(|state| (state.general.to_vec(), state.vector.to_vec())))
    }

    /// The settled states of the function's blocks.
    fn settle_frame(
        &mut self,
        graph: &Graph,
        entry: u64,
        state: &State,
        frame: &mut Frame,
    ) -> Result<BTreeMap<u64, State>, (Why, u64)> {
        loop {
            let before = (frame.exposed, frame.taken);
            let states = self.settle(graph, entry, state, frame)?;
            // What others may see changes what loads give: start again.
            if (frame.exposed, frame.taken) == before {
                return Ok(states);
            }
        }
    }

    /// Only the settled states are judged: what a path brings before the others have joined it may look worse than it
    /// is.
    fn judge(
        &mut self,
        graph: &Graph,
        states: &BTreeMap<u64, State>,
        frame: &mut Frame,
    ) -> Result<Option<State>, (Why, u64)> {
        self.findings = Findings::default();
        let mut exit = None;
        for (&leader, state) in states {
            self.block(
                graph,
                leader,
                state.clone(),
                frame,
                &mut |_, _| {},
                &mut exit,
            )?;
        }
        for &(place, origin, address) in &frame.hidden {
            if frame.is_exposed(place) {
                self.findings.escape(origin, Why::Frame, address);
            }
        }
        for at in std::mem::take(&mut self.findings.zero_branches) {
            let has_frame_pointer = states
                .range(..=at)
                .next_back()
                .is_some_and(|(_, state)| state.general[RBP].is_pointer());
            self.check_zero_branch(graph, at, has_frame_pointer);
        }
        Ok(exit)
    }

    /// Looks for loops of single iterations, which threads take in turn, and remembers them in the graph.
    fn finds_strided(
        &mut self,
        graph: &mut Graph,
        states: &BTreeMap<u64, State>,
        frame: &Frame,
    ) -> bool {
        // The bounds of chunks pass for plain numbers, and yet each thread has its own: where a loop of single
        // iterations began or ended there, its iterations would be no longer the same in a team of any size.
        let divides = !self.findings.splits.is_empty();
        if self.asked != (true, true) || divides {
            return false;
        }
        let mut known = self.interfaces.clone();
        self.written_by_callees(graph, &mut known, 0);
        let findings = self.findings.clone();
        let mut before = |header: u64, from: u64| {
            let (&leader, state) = states.range(..=from).next_back()?;
            let mut reached = None;
            let mut send = |to: u64, state: &State| {
                if to == header {
                    reached = Some(state.clone());
                }
            };
            let mut frame = frame.clone();
            self.block(
                graph,
                leader,
                state.clone(),
                &mut frame,
                &mut send,
                &mut None,
            )
            .ok()?;
            reached
        };
        let mut factory = InstructionInfoFactory::new();
        let mut found = carried::strided(graph, frame, &known, &mut factory, &mut before);
        self.findings = findings;
        found.retain(|strided: &Strided| {
            strided
                .callees
                .iter()
                .all(|&callee| self.waits_for_no_team(callee, &mut BTreeSet::new()))
        });
        graph.strided = found;
        !graph.strided.is_empty()
    }

    /// Finds out which registers the functions of the object that a function calls change: compilers know that, too.
    fn written_by_callees(
        &mut self,
        graph: &Graph,
        known: &mut BTreeMap<u64, Interface>,
        depth: usize,
    ) {
        let callees = graph.nodes.values().filter_map(|node| match &node.next {
            Next::Call { callee, .. } | Next::TailCall(callee) => match callee {
                Callee::Inside(target) => Some(*target),
                _ => None,
            },
            _ => None,
        });
        for target in callees {
            if depth >= DEPTH || known.contains_key(&target) {
                continue;
            }
            // A function that calls itself may change anything there.
            known.insert(target, Interface::any());
            let Ok(graph) = Graph::read(self.image, target, &mut self.decoded) else {
                continue;
            };
            self.written_by_callees(&graph, known, depth + 1);
            let written = Interface::written(&graph, known, &mut self.factory);
            known.insert(target, written);
        }
    }

    /// Whether neither the function at `entry` nor those of the object that it calls call what all threads of a team
    /// must call equally often.
    fn waits_for_no_team(&mut self, entry: u64, seen: &mut BTreeSet<u64>) -> bool {
        if !seen.insert(entry) {
            return true;
        }
        let Ok(graph) = Graph::read(self.image, entry, &mut self.decoded) else {
            return false;
        };
        graph.nodes.values().all(|node| match &node.next {
            Next::Call { callee, .. } | Next::TailCall(callee) => match callee {
                Callee::Runtime(entry) => carried::is_alone(*entry),
                Callee::Inside(target) => self.waits_for_no_team(*target, seen),
                Callee::Named(_) | Callee::Unknown => true,
            },
            _ => true,
        })
    }

    /// Where it was asked for: do the results depend on the division?
    fn judge_division(&mut self, graph: &Graph, frame: &Frame, entry: u64) {
        let Some(divided) = self.divided else {
            return;
        };
        let inner = self.active.len() > 1;
        let here = |at: &&u64| graph.nodes.contains_key(at);
        let splits: BTreeSet<u64> = self.findings.splits.iter().filter(here).copied().collect();
        if divided.is_ok() && (!inner || !splits.is_empty()) {
            let ends = self.findings.ends.iter().filter(here).copied().collect();
            let found = carried::check(
                graph,
                frame,
                (&splits, &ends),
                &self.interfaces,
                inner,
                self.form,
                &mut self.factory,
            );
            self.divided = Some(found);
        }
        if inner {
            let interface = Interface::of(graph, frame, &self.interfaces, &mut self.factory);
            self.interfaces.insert(entry, interface);
        }
    }

    /// `if (id == 0)` is harmless around a block that the others skip: there is
    /// one such thread in a team of any size.
    fn check_zero_branch(&mut self, graph: &Graph, at: u64, has_frame_pointer: bool) {
        use ConditionCode as C;
        let Some(node) = graph.nodes.get(&at) else {
            return;
        };
        let behind = node.instruction.next_ip();
        let Next::Branch(target) = node.next else {
            return;
        };
        let zero_is_taken = matches!(node.instruction.condition_code(), C::e | C::le | C::be);
        let (zero, others) = if zero_is_taken {
            (target, behind)
        } else {
            (behind, target)
        };
        let inner = self.active.len() > 1;
        if !graph.only_adds(
            at,
            (zero, others),
            has_frame_pointer,
            inner,
            &mut self.factory,
        ) {
            self.findings
                .escape(crate::value::Origin::ID, Why::Branch, at);
        }
    }

    /// Repeats the function's blocks until no state changes.
    fn settle(
        &mut self,
        graph: &Graph,
        entry: u64,
        state: &State,
        frame: &mut Frame,
    ) -> Result<BTreeMap<u64, State>, (Why, u64)> {
        let mut states: BTreeMap<u64, State> = BTreeMap::new();
        states.insert(entry, state.clone());
        let mut open: BTreeSet<u64> = BTreeSet::from([entry]);
        while let Some(leader) = open.pop_first() {
            let Some(state) = states.get(&leader) else {
                continue;
            };
            let state = state.clone();
            let mut send = |to: u64, state: &State| {
                let mut entered;
                let state = match graph.strided.iter().find(|s| s.header == to) {
                    Some(strided) => {
                        entered = state.clone();
                        strided.enter(&mut entered);
                        &entered
                    }
                    None => state,
                };
                match states.get_mut(&to) {
                    None => {
                        states.insert(to, state.clone());
                        open.insert(to);
                    }
                    Some(old) => {
                        if old.join(state) {
                            open.insert(to);
                        }
                    }
                }
            };
            self.block(graph, leader, state, frame, &mut send, &mut None)?;
        }
        Ok(states)
    }

    /// Executes the instructions from `leader` to the next one, and sends what
    /// they leave to where they lead.
    fn block(
        &mut self,
        graph: &Graph,
        leader: u64,
        mut state: State,
        frame: &mut Frame,
        send: &mut dyn FnMut(u64, &State),
        exit: &mut Option<State>,
    ) -> Result<(), (Why, u64)> {
        let mut at = leader;
        loop {
            let Some(node) = graph.nodes.get(&at) else {
                return Err((Why::UnknownCode, at));
            };
            if self.executed == 0 {
                return Err((Why::TooLong, at));
            }
            self.executed -= 1;
            let i = &node.instruction;
            let behind = i.next_ip();
            match &node.next {
                Next::Fall => {
                    let mut step = Step {
                        state: &mut state,
                        findings: &mut self.findings,
                        frame,
                    };
                    step.execute(i, &mut self.factory)
                        .map_err(|why| (why, at))?;
                }
                Next::Jump(target) => {
                    send(*target, &state);
                    return Ok(());
                }
                Next::Branch(target) => {
                    let mut step = Step {
                        state: &mut state,
                        findings: &mut self.findings,
                        frame,
                    };
                    let (taken, fallen) = if graph.limits_strided(at) {
                        (step.state.order, step.state.order)
                    } else {
                        step.branch(i)
                    };
                    let mut other = state.clone();
                    other.order = taken;
                    state.order = fallen;
                    if let Flags::StackEquals(place) = state.flags {
                        match i.condition_code() {
                            ConditionCode::e => other.general[RSP] = Value::Frame(place),
                            ConditionCode::ne => state.general[RSP] = Value::Frame(place),
                            _ => {}
                        }
                    }
                    send(*target, &other);
                    send(behind, &state);
                    return Ok(());
                }
                Next::Call { callee, pad } => {
                    let returns = self.call(i, callee, &mut state, frame)?;
                    if let Some(pad) = pad {
                        let mut caught = state.clone();
                        clobber(&mut caught);
                        // The unwinder takes back what was pushed for the call.
                        caught.general[RSP] = caught.general[RSP].add_constant(pad.pushed);
                        send(pad.address, &caught);
                    }
                    if !returns {
                        return Ok(());
                    }
                }
                Next::TailCall(callee) => {
                    if self.call(i, callee, &mut state, frame)? {
                        leave(exit, &state);
                    }
                    return Ok(());
                }
                Next::Return => {
                    leave(exit, &state);
                    return Ok(());
                }
                Next::Stop => return Ok(()),
            }
            if graph.leaders.contains(&behind) {
                send(behind, &state);
                return Ok(());
            }
            at = behind;
        }
    }

    /// A call's effect; tells whether it returns.
    fn call(
        &mut self,
        i: &Instruction,
        callee: &Callee,
        state: &mut State,
        frame: &mut Frame,
    ) -> Result<bool, (Why, u64)> {
        let at = i.ip();
        for register in [i.memory_base(), i.memory_index()] {
            if let Some(n) = general(register) {
                self.findings
                    .escape(state.general[n].origin(), Why::Address, at);
            }
        }
        if i.op0_kind() == OpKind::Register {
            if let Some(n) = general(i.op0_register()) {
                self.findings
                    .escape(state.general[n].origin(), Why::Address, at);
            }
        }
        if !matches!(state.general[RSP], Value::Frame(_)) {
            return Err((Why::StackPointer, at));
        }
        // Called functions change registers, and what they were shown.
        state.forget_copies(|source| match source {
            Source::Register(n) => CALLER_SAVED.contains(&n),
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
                    Entry::ProcessNumber => state.general[RAX] = Value::Taint(Origin::ID),
                    Entry::ThreadNumber => {
                        self.asked.0 = true;
                        state.general[RAX] = Value::Id;
                    }
                    Entry::TeamSize => {
                        self.asked.1 = true;
                        state.general[RAX] = Value::Team;
                    }
                    _ => {}
                }
                Ok(true)
            }
            Callee::Named(name) => {
                self.calls.foreign = true;
                self.calls.thread_local |= library::tells_thread_local(name);
                if !library::stays_within_itself(name) && !library::never_returns(name) {
                    self.unknown(at);
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
                let mut inner = State::entry();
                for n in CALLER_SAVED {
                    frame.expose_argument(state.general[n]);
                    if !state.general[n].is_free() || state.general[n].split().is_some() {
                        inner.general[n] = state.general[n];
                    }
                }
                for n in 0..VECTOR {
                    frame.expose_argument(state.vector[n]);
                    if !state.vector[n].is_free() {
                        inner.vector[n] = state.vector[n];
                    }
                }
                // Within one file compilers keep values in registers that they
                // know the callee not to touch; not so through the linkage
                // table, where it might be another function.
                let direct = i.op0_kind() == OpKind::NearBranch64 && i.near_branch64() == *target;
                match self.function(*target, inner) {
                    Ok(None) => Ok(false),
                    Ok(Some((general, vector))) => {
                        clobber(state);
                        for n in CALLER_SAVED {
                            if direct || n == RAX || n == RDX {
                                state.general[n] = left(general[n]);
                            }
                        }
                        let kept = if direct { VECTOR } else { 2 };
                        for (mine, &theirs) in state.vector.iter_mut().zip(&vector).take(kept) {
                            *mine = left(theirs);
                        }
                        Ok(true)
                    }
                    Err(_) => {
                        self.unknown(at);
                        self.hand_over(at, 6, state, frame);
                        if !direct {
                            clobber(state);
                        }
                        for n in CALLER_SAVED {
                            state.general[n] = state.general[n].blurred();
                        }
                        for n in 0..VECTOR {
                            state.vector[n] = state.vector[n].blurred();
                        }
                        state.flags = Flags::Plain;
                        Ok(true)
                    }
                }
            }
        }
    }

    /// A static loop that the runtime divides: `(place, number, schedule, &last, &lower, &upper, &stride, step,
    /// chunk)`. What the runtime writes is the part of the thread that calls: bounds that compiled code uses for
    /// the loop, and limits by the loop's own.
    fn static_loop(&mut self, at: u64, state: &mut State, frame: &mut Frame) {
        self.asked = (true, true);
        let on_stack = match state.general[RSP] {
            Value::Frame(place) => state.load(place, 8),
            _ => Value::Plain,
        };
        let [.., last, lower, upper] = ARGUMENTS.map(|n| state.general[n]);
        let mut places = [Place::LOWEST; 4];
        for (place, pointer) in places.iter_mut().zip([last, lower, upper, on_stack]) {
            let Value::Frame(known) = pointer else {
                // Variables that others may see: nothing that clang does.
                self.unknown(at);
                self.hand_over(at, ARGUMENTS.len(), state, frame);
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
        for &n in ARGUMENTS.iter().take(arguments) {
            let value = state.general[n];
            if !matches!(value, Value::Stale(_)) && !value.is_handed() {
                self.findings.escape(value.origin(), Why::Argument, at);
            }
            frame.expose_argument(value);
        }
        if arguments < ARGUMENTS.len() {
            return;
        }
        for value in state.vector.iter().take(8) {
            if !matches!(value, Value::Stale(_)) {
                self.findings.escape(value.origin(), Why::Argument, at);
            }
            frame.expose_argument(*value);
        }
        // The seventh argument and later ones; gcc pushes these, which is checked there.
        if let Value::Frame(bottom) = state.general[RSP] {
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

/// Whether something that stems from the numbers, or belongs to a split, is in a register that a call
/// may change.
fn leaves_numbers((general, vector): &(Vec<Value>, Vec<Value>)) -> bool {
    let mut left = CALLER_SAVED
        .iter()
        .map(|&n| general[n])
        .chain(vector.iter().copied());
    left.any(|value| !value.is_free() || value.split().is_some())
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

fn leave(exit: &mut Option<State>, state: &State) {
    match exit {
        None => *exit = Some(state.clone()),
        Some(exit) => {
            exit.join(state);
        }
    }
}

/// After a call of another object's function.
fn clobber(state: &mut State) {
    for n in CALLER_SAVED {
        state.general[n] = Value::Dead;
    }
    state.general[RAX] = Value::Plain;
    state.vector = [Value::Dead; VECTOR];
    state.vector[0] = Value::Plain;
    state.flags = Flags::Plain;
}
