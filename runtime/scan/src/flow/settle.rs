//! The states of one function's points, followed until nothing changes, and what they say in the end.

use std::collections::BTreeSet;

use super::calls::clobber;
use super::Analysis;
use crate::code::{Condition, STACK};
use crate::findings::{Findings, Frame, ZeroBranch};
use crate::graph::Graph;
use crate::nodes::Next;
use crate::primary::held::{self, Registers};
use crate::primary::{self, Block};
use crate::state::State;
use crate::step::Step;
use crate::told;
use crate::value::{Origin, Value};
use crate::{Image, Why};

/// The states of a function's blocks, by the numbers of their first instructions.
pub(super) struct States(Vec<Option<Box<State>>>);

impl States {
    fn new(graph: &Graph) -> States {
        let mut all = Vec::new();
        all.resize_with(graph.nodes.len(), || None);
        States(all)
    }

    /// In the order of the blocks' addresses, which come first.
    fn iter<'a>(&'a self, graph: &'a Graph) -> impl Iterator<Item = (u64, &'a State)> + 'a {
        let both = graph.nodes.keys().zip(&self.0);
        both.filter_map(|(leader, state)| Some((leader, state.as_deref()?)))
    }

    /// Address and state of the block that holds the instruction at `address`.
    pub(super) fn of_block(&self, graph: &Graph, address: u64) -> Option<(u64, &State)> {
        let number = graph.nodes.number(address)?;
        let all = self.0.get(..=number)?.iter().enumerate().rev();
        let (leader, state) = all
            .filter_map(|(n, state)| Some((n, state.as_deref()?)))
            .next()?;
        Some((graph.nodes.at(leader)?.instruction.at, state))
    }
}

impl Analysis<'_> {
    /// The settled states of the function's blocks.
    pub(super) fn settle_frame(
        &mut self,
        graph: &Graph,
        entry: u64,
        state: &State,
        frame: &mut Frame,
    ) -> Result<States, (Why, u64)> {
        let judging = std::mem::replace(&mut self.judging, false);
        let states = loop {
            let before = (frame.exposed, frame.taken);
            let states = self.settle(graph, entry, state, frame);
            // What others may see changes what loads give: start again.
            if states.is_err() || (frame.exposed, frame.taken) == before {
                break states;
            }
        };
        self.judging = judging;
        states
    }

    /// Only the settled states are judged: what a path brings before the others have joined it may look worse than it
    /// is. `records` tells whether the frame is to remember what each instruction reaches.
    pub(super) fn judge(
        &mut self,
        graph: &Graph,
        states: &States,
        frame: &mut Frame,
        records: bool,
    ) -> Result<Option<State>, (Why, u64)> {
        self.findings = Findings::default();
        frame.record(records);
        let mut exit = None;
        let judging = std::mem::replace(&mut self.judging, true);
        let judged = states.iter(graph).try_for_each(|(leader, state)| {
            self.block(
                graph,
                leader,
                state.clone(),
                frame,
                &mut |_, _| {},
                &mut exit,
            )
        });
        self.judging = judging;
        judged?;
        frame.record(false);
        for &(place, origin, address) in &frame.hidden {
            if frame.is_exposed(place) {
                self.findings.escape(origin, Why::Frame, address);
            }
        }
        for &at in self.findings.told.clone().keys() {
            if !told::is_for_one_thread(graph, &self.findings.zero_branches, at) {
                self.findings.escape(Origin::TEAM, Why::EachThread, at);
            }
        }
        let mut results = 0;
        for (at, asked) in std::mem::take(&mut self.findings.zero_branches) {
            results |= self.check_zero_branch(graph, at, asked, frame);
        }
        if let Some(exit) = &mut exit {
            let general = exit.general.iter_mut().enumerate();
            let vector = exit.vector.iter_mut().enumerate();
            let vector = vector.map(|(n, value)| (n + held::VECTOR, value));
            for (_, value) in general.chain(vector).filter(|(n, _)| results >> n & 1 != 0) {
                *value = value.left();
            }
        }
        Ok(exit)
    }

    /// `if (id == 0)` is harmless around a block that the others skip: there is
    /// one such thread in a team of any size. Returns the registers of results that the first thread may leave
    /// otherwise.
    fn check_zero_branch(
        &mut self,
        graph: &Graph,
        at: u64,
        asked: ZeroBranch,
        frame: &Frame,
    ) -> Registers {
        let Some(node) = graph.nodes.get(&at) else {
            return 0;
        };
        let behind = node.instruction.behind;
        let Next::Branch(target) = node.next else {
            return 0;
        };
        let (extra, rest) = if asked.zero_jumps {
            (target, behind)
        } else {
            (behind, target)
        };
        let block = Block {
            graph,
            branch: at,
            extra,
            rest,
            has_frame_pointer: asked.frame.is_pointer(),
            inner: self.active.len() > 1,
        };
        let image = self.image;
        let mut reads = |target, left| reads(image, target, left, 0);
        // Others may come to a word of the frame by its address.
        let is_shown = |from_frame: bool, offset: i64| {
            let base = if from_frame { asked.frame } else { asked.stack };
            match base.add_constant(offset) {
                Value::Frame(place) => frame.is_exposed(place) || frame.is_indexed(place),
                _ => true,
            }
        };
        match block.only_adds(&mut reads, &is_shown) {
            Some(results) => results,
            None => {
                self.findings.escape(Origin::ID, Why::Branch, at);
                0
            }
        }
    }

    /// Repeats the function's blocks until no state changes. Once a block has found that others may see more of the
    /// frame, all of this starts again: until then each block that is still to come is run once, for what else is found
    /// of that kind.
    fn settle(
        &mut self,
        graph: &Graph,
        entry: u64,
        state: &State,
        frame: &mut Frame,
    ) -> Result<States, (Why, u64)> {
        let mut states = States::new(graph);
        let unknown = |at: u64| (Why::UnknownCode, at);
        let first = graph.nodes.number(entry).ok_or(unknown(entry))?;
        states.0[first] = Some(Box::new(state.clone()));
        let mut open = BTreeSet::from([first]);
        // Somebody leads to it, but there is no instruction.
        let mut missing = None;
        let before = (frame.exposed, frame.taken);
        while let Some(leader) = open.pop_first() {
            let (Some(node), Some(state)) = (graph.nodes.at(leader), &states.0[leader]) else {
                continue;
            };
            let (at, state) = (node.instruction.at, State::clone(state));
            let starts_again = (frame.exposed, frame.taken) != before;
            let mut send = |to: u64, state: &State| {
                let Some(number) = graph.nodes.number(to) else {
                    missing = Some(to);
                    return;
                };
                let mut entered;
                let state = match graph.strided.iter().find(|s| s.header == to) {
                    Some(strided) => {
                        entered = state.clone();
                        strided.enter(&mut entered);
                        &entered
                    }
                    None => state,
                };
                match &mut states.0[number] {
                    old @ None => {
                        *old = Some(Box::new(state.clone()));
                        open.insert(number);
                    }
                    Some(old) => {
                        if !starts_again && old.join(state) {
                            open.insert(number);
                        }
                    }
                }
            };
            self.block(graph, at, state, frame, &mut send, &mut None)?;
            if let Some(at) = missing {
                return Err(unknown(at));
            }
        }
        Ok(states)
    }

    /// Executes the instructions from `leader` to the next one, and sends what
    /// they leave to where they lead.
    pub(super) fn block(
        &mut self,
        graph: &Graph,
        leader: u64,
        mut state: State,
        frame: &mut Frame,
        send: &mut dyn FnMut(u64, &State),
        exit: &mut Option<State>,
    ) -> Result<(), (Why, u64)> {
        let mut at = leader;
        let mut number = graph.nodes.number(leader);
        // Only the settled states say what is read.
        let looks = self.looks_at_parts && self.judging;
        loop {
            let Some(node) = number.and_then(|n| graph.nodes.at(n)) else {
                return Err((Why::UnknownCode, at));
            };
            if self.executed == 0 {
                return Err((Why::TooLong, at));
            }
            self.executed -= 1;
            let i = &node.instruction;
            let behind = i.behind;
            let called_back = || graph.called_back.get(&at).copied();
            match &node.next {
                Next::Fall => {
                    if looks {
                        self.note_reads(graph, i, &state);
                    }
                    let mut step = Step {
                        state: &mut state,
                        findings: &mut self.findings,
                        frame,
                    };
                    step.execute(i).map_err(|why| (why, at))?;
                    if looks {
                        self.note_division(i, &state);
                    }
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
                    if looks {
                        self.note_branch(i, &state, taken);
                    }
                    let (mut jumped, mut passed) = (state.clone(), state);
                    (jumped.order, passed.order) = (taken, fallen);
                    match i.condition {
                        _ if !i.reads_flags => {}
                        Condition::Equal => jumped.found_equal(),
                        Condition::NotEqual => passed.found_equal(),
                        _ => {}
                    }
                    send(*target, &jumped);
                    send(behind, &passed);
                    return Ok(());
                }
                Next::Call { callee, pad, last } => {
                    if looks {
                        self.note_arguments(at, &state);
                    }
                    let returns = self.call(i, callee, called_back(), &mut state, frame)?;
                    if let Some(pad) = pad {
                        let mut caught = state.clone();
                        clobber(&mut caught);
                        // The unwinder takes back what was pushed for the call.
                        caught.general[STACK] = caught.general[STACK].add_constant(pad.pushed);
                        send(pad.address, &caught);
                    }
                    if !returns || *last {
                        return Ok(());
                    }
                }
                Next::TailCall(callee) => {
                    if self.call(i, callee, called_back(), &mut state, frame)? {
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
            // Mostly the next one; not so where something jumps between the bytes of one.
            number = number.map(|n| n + 1);
            let mut next = number.and_then(|n| graph.nodes.at(n));
            if next.is_none_or(|next| next.instruction.at != behind) {
                number = graph.nodes.number(behind);
                next = number.and_then(|n| graph.nodes.at(n));
            }
            if next.map_or_else(|| graph.leaders.contains(&behind), |next| next.leads) {
                send(behind, &state);
                return Ok(());
            }
            at = behind;
        }
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

/// How many instructions of a called function are looked at: what it is given is used or overwritten at its beginning.
const CALLEE: usize = 400;
/// How deep calls are followed.
const CALLEES: u32 = 3;

/// Whether the function at `target` may use what these registers hold when it is called.
pub(super) fn reads(image: &dyn Image, target: u64, registers: Registers, depth: u32) -> bool {
    if depth >= CALLEES {
        return true;
    }
    let Ok(graph) = Graph::read_beginning(image, target, CALLEE) else {
        return true;
    };
    let mut inner = |target, left| reads(image, target, left, depth + 1);
    primary::uses(&graph, registers, &mut inner)
}
