//! The states of one function's points, followed until nothing changes, and what they say in the end.

use std::collections::{BTreeMap, BTreeSet};

use iced_x86::ConditionCode;

use super::calls::clobber;
use super::Analysis;
use crate::findings::{Findings, Frame};
use crate::graph::{Graph, Next};
use crate::state::{Flags, State, RBP, RSP};
use crate::step::Step;
use crate::value::Value;
use crate::Why;

impl Analysis<'_> {
    /// The settled states of the function's blocks.
    pub(super) fn settle_frame(
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
    /// is. `records` tells whether the frame is to remember what each instruction reaches.
    pub(super) fn judge(
        &mut self,
        graph: &Graph,
        states: &BTreeMap<u64, State>,
        frame: &mut Frame,
        records: bool,
    ) -> Result<Option<State>, (Why, u64)> {
        self.findings = Findings::default();
        frame.record(records);
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
        frame.record(false);
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
        loop {
            let Some(node) = number.and_then(|n| graph.nodes.at(n)) else {
                return Err((Why::UnknownCode, at));
            };
            if self.executed == 0 {
                return Err((Why::TooLong, at));
            }
            self.executed -= 1;
            let i = &node.instruction;
            let behind = i.next_ip();
            let called_back = || graph.called_back.get(&at).copied();
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
                    let returns = self.call(i, callee, called_back(), &mut state, frame)?;
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
            if next.is_none_or(|next| next.instruction.ip() != behind) {
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
