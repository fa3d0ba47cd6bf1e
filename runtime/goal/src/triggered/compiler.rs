//! One rank's steps, when it is known where all messages go.

use super::{
    arrival, complete, length, ready, targets, Action, Declined, Doors, Layout, Program, Step,
    NEIGHBOURS, STEPS,
};
use crate::element::{Arithmetic, Type};
use crate::graph::Work;
use crate::memory::Buffer;
use crate::schedule::Schedule;

/// The program under construction.
pub(super) struct Compiler<'s> {
    schedule: &'s Schedule,
    layout: &'s Layout,
    doors: &'s Doors,
    steps: Vec<Step>,
    moves: Vec<u64>,
    sent: u64,
    received: u64,
}

impl<'s> Compiler<'s> {
    pub(super) fn new(
        schedule: &'s Schedule,
        layout: &'s Layout,
        doors: &'s Doors,
    ) -> Compiler<'s> {
        Compiler {
            schedule,
            layout,
            doors,
            steps: Vec::new(),
            moves: match doors {
                Doors::Known(_) => vec![0; 1 + 2 * schedule.operations()],
                Doors::Boxes(ranks) => vec![0; 1 + 2 * NEIGHBOURS + *ranks as usize],
            },
            sent: 0,
            received: 0,
        }
    }

    pub(super) fn finish(mut self) -> Result<Program, Declined> {
        for place in 0..self.schedule.operations() {
            self.operation(place)?;
        }
        if self.steps.len() > STEPS {
            return Err(Declined::Steps(self.steps.len()));
        }
        // Only now it is known how often each counter moves.
        for step in &mut self.steps {
            if let Action::Wait { counter, count, .. } = &mut step.action {
                *count = self.moves[*counter as usize];
            }
        }
        Ok(Program {
            steps: self.steps,
            moves: self.moves,
            segments: self.layout.arena.segments.clone(),
            zero: self.layout.arena.zero,
            memory: self.layout.arena.used(),
            sent: self.sent,
            received: self.received,
        })
    }

    fn push(&mut self, action: Action, then: Option<u32>) {
        if let Some(counter) = then {
            self.moves[counter as usize] += 1;
        }
        if let Action::Count { peer, counter } = action {
            if peer == self.schedule.rank() {
                self.moves[counter as usize] += 1;
            }
        }
        self.steps.push(Step { action, then });
    }

    /// Holds back the `span` steps that come next.
    fn hold(&mut self, counter: u32, span: usize) {
        let span = span as u32;
        self.steps.push(Step {
            action: Action::Wait {
                counter,
                count: 0,
                span,
            },
            then: None,
        });
    }

    fn operation(&mut self, place: usize) -> Result<(), Declined> {
        let me = self.schedule.rank();
        let targets = targets(self.schedule, place)?;
        let waits = self.schedule.step(place).dependences > 0;
        let mut begins = waits.then_some(ready(place));
        if let Work::Recv { from, .. } = self.schedule.work(place) {
            self.received |= 1 << from;
            let counter = match self.doors {
                Doors::Known(_) => arrival(self.schedule, self.layout, place)?,
                Doors::Boxes(_) => self.doors.of((*from, me, 0), 0).counter,
            };
            self.moves[counter as usize] += 1;
            if matches!(self.doors, Doors::Known(_)) && counter != ready(place) {
                return Ok(());
            }
            begins = Some(counter);
        }
        let own = self.own_steps(place)?;
        if own.is_empty() {
            if let Some(counter) = begins {
                self.hold(counter, targets.len());
            }
            for counter in targets {
                self.push(Action::Count { peer: me, counter }, None);
            }
            return Ok(());
        }
        if let Some(counter) = begins {
            self.hold(counter, own.len());
        }
        let counter = match targets.as_slice() {
            [target] => *target,
            _ => complete(place),
        };
        for (action, is_last) in own {
            self.push(action, is_last.then_some(counter));
        }
        if targets.len() > 1 {
            self.hold(counter, targets.len());
            for counter in targets {
                self.push(Action::Count { peer: me, counter }, None);
            }
        }
        Ok(())
    }

    fn at(&self, piece: &Buffer) -> Result<u64, Declined> {
        let without = Declined::Form("a message without memory");
        self.layout.arena.offset(piece).ok_or(without)
    }

    /// Offset and length of each piece that has a length.
    fn pieces(&self, pieces: &[Buffer]) -> Result<Vec<(u64, u64)>, Declined> {
        let long = pieces.iter().filter(|p| p.bytes > 0);
        long.map(|p| Ok((self.at(p)?, p.bytes))).collect()
    }

    /// What the operation itself consists of. The flag says that the step's end counts as the operation's.
    fn own_steps(&mut self, place: usize) -> Result<Vec<(Action, bool)>, Declined> {
        let me = self.schedule.rank();
        let mut own = Vec::new();
        match self.schedule.work(place) {
            Work::Send { to, tag, from } => {
                self.sent |= 1 << to;
                let door = self.doors.of((me, *to, *tag), length(from));
                let mut at = door.at;
                for (from, bytes) in self.pieces(from)? {
                    let put = Action::Put {
                        peer: *to,
                        to: at,
                        from,
                        bytes: bytes as u32,
                    };
                    own.push((put, false));
                    at += bytes;
                }
                if !own.is_empty() {
                    own.push((Action::Fence { peer: *to }, false));
                }
                let count = Action::Count {
                    peer: *to,
                    counter: door.counter,
                };
                own.push((count, false));
                // A count cannot be counted itself. This fence is done after it.
                own.push((Action::Fence { peer: *to }, true));
            }
            Work::Recv { into, .. } => {
                if let Some(mut at) = self.layout.apart[place] {
                    for (to, bytes) in self.pieces(into)? {
                        own.push((self.copy(to, at, bytes), true));
                        at += bytes;
                    }
                }
            }
            Work::Copy { into, from } => {
                for (to, from, bytes) in together(&self.pieces(into)?, &self.pieces(from)?)? {
                    own.push((self.copy(to, from, bytes), true));
                }
            }
            Work::Local {
                op,
                element,
                target,
                operand,
            } => {
                if *op == Arithmetic::Div && !matches!(element, Type::Float | Type::Double) {
                    return Err(Declined::Division(*element));
                }
                for (target, operand, bytes) in
                    together(&self.pieces(target)?, &self.pieces(operand)?)?
                {
                    if bytes % element.bytes() != 0 {
                        return Err(Declined::Form("an element in two pieces"));
                    }
                    let compute = Action::Compute {
                        op: *op,
                        element: *element,
                        target,
                        operand,
                        bytes: bytes as u32,
                    };
                    own.push((compute, true));
                }
            }
            Work::Timestamp { .. } | Work::Calc { .. } => {
                return Err(Declined::Form("an operation that needs the time"));
            }
        }
        Ok(own)
    }

    fn copy(&self, to: u64, from: u64, bytes: u64) -> Action {
        Action::Put {
            peer: self.schedule.rank(),
            to,
            from,
            // An arena is shorter than 4 GiB.
            bytes: bytes as u32,
        }
    }
}

/// Two lists of pieces with the same length in all, cut where either of them is: offset in the first, offset in the
/// second, length.
fn together(first: &[(u64, u64)], second: &[(u64, u64)]) -> Result<Vec<(u64, u64, u64)>, Declined> {
    let (mut first, mut second) = (first.to_vec(), second.to_vec());
    first.reverse();
    second.reverse();
    let mut cut = Vec::new();
    while let (Some((to, left)), Some((from, right))) = (first.pop(), second.pop()) {
        let bytes = left.min(right);
        if to != from && to < from + bytes && from < to + bytes {
            return Err(Declined::Form("operands that overlap"));
        }
        cut.push((to, from, bytes));
        if left > bytes {
            first.push((to + bytes, left - bytes));
        }
        if right > bytes {
            second.push((from + bytes, right - bytes));
        }
    }
    Ok(cut)
}
