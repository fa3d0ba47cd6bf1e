//! A network adapter that runs triggered operations in any order that counters and fences allow.

use hetmp_goal::element::apply;
use hetmp_goal::graph::Graph;
use hetmp_goal::schedule::Schedule;
use hetmp_goal::triggered::{place, place_own, Action, Declined, Program, Step, COUNTERS, ENDED};

/// Fewer than the engine has, so that runs use arenas and counters again.
const SLOTS: u64 = 2;

/// A step that may be executed, of the run in a slot.
#[derive(Clone, Copy, Debug)]
struct Ready {
    slot: usize,
    step: Step,
}

#[derive(Debug)]
struct Held {
    counter: (usize, u32),
    threshold: u64,
    steps: Vec<Ready>,
}

/// A rank with its adapter.
struct Rank {
    program: Program,
    arenas: Vec<Vec<u8>>,
    counters: Vec<Vec<u64>>,
    /// What the runs so far have moved the counters by in all.
    before: Vec<Vec<u64>>,
    /// In the order in which they became ready.
    ready: Vec<Ready>,
    held: Vec<Held>,
    begun: u64,
    collected: u64,
    outputs: Vec<Vec<u8>>,
}

fn slot(run: u64) -> usize {
    (run % SLOTS) as usize
}

impl Rank {
    fn begin(&mut self, given: &[u8]) {
        let (slot, program) = (slot(self.begun), self.program.clone());
        let arena = &mut self.arenas[slot];
        let (zero, n) = program.zero();
        arena[zero as usize..(zero + n) as usize].fill(0);
        let got = vec![0xee; program.segments()[1].bytes as usize];
        for (placed, from) in program.segments().iter().zip([given, &got]) {
            if placed.goes_in {
                let at = placed.offset as usize;
                let n = placed.bytes as usize;
                arena[at..at + n].copy_from_slice(&from[..n]);
            }
        }
        let mut steps = program.steps().iter().map(|s| Ready { slot, step: *s });
        while let Some(next) = steps.next() {
            let Action::Wait {
                counter,
                count,
                span,
            } = next.step.action
            else {
                self.ready.push(next);
                continue;
            };
            assert!(count > 0 && span > 0);
            let steps: Vec<Ready> = steps.by_ref().take(span as usize).collect();
            assert_eq!(steps.len(), span as usize);
            self.held.push(Held {
                counter: (slot, counter),
                threshold: self.before[slot][counter as usize] + count,
                steps,
            });
        }
        for (sum, moves) in self.before[slot].iter_mut().zip(program.moves()) {
            *sum += moves;
        }
        self.begun += 1;
        self.release();
    }

    fn release(&mut self) {
        let mut i = 0;
        while let Some(held) = self.held.get(i) {
            let (slot, counter) = held.counter;
            if self.counters[slot][counter as usize] >= held.threshold {
                self.ready.extend(self.held.remove(i).steps);
            } else {
                i += 1;
            }
        }
    }

    /// Whether the run that was begun first, and is not collected, has ended.
    fn has_ended(&self) -> bool {
        let slot = slot(self.collected);
        // With one run in each slot, a run that has begun has moved `before` already.
        self.collected < self.begun
            && self.counters[slot][ENDED as usize] == self.before[slot][ENDED as usize]
    }

    fn collect(&mut self) {
        let placed = self.program.segments()[1];
        let (at, n) = (placed.offset as usize, placed.bytes as usize);
        let output = if placed.comes_out {
            self.arenas[slot(self.collected)][at..at + n].to_vec()
        } else {
            vec![0xee; n]
        };
        self.outputs.push(output);
        self.collected += 1;
    }

    /// Whether no fence forbids the ready step at this place.
    fn may_go(&self, at: usize) -> bool {
        let peer = |r: &Ready| match r.step.action {
            Action::Put { peer, .. } | Action::Count { peer, .. } | Action::Fence { peer } => {
                Some(peer)
            }
            _ => None,
        };
        let is_fence = |r: &Ready| matches!(r.step.action, Action::Fence { .. });
        let mine = &self.ready[at];
        !self.ready[..at].iter().any(|earlier| {
            peer(earlier).is_some()
                && peer(earlier) == peer(mine)
                && (is_fence(mine) || is_fence(earlier))
        })
    }
}

fn go(ranks: &mut [Rank], here: &[usize], rank: usize, at: usize) {
    let Ready { slot, step } = ranks[rank].ready.remove(at);
    let range = |from: u64, n: u32| from as usize..from as usize + n as usize;
    let mut touched = rank;
    match step.action {
        Action::Wait { .. } => panic!("a wait among steps that are held back"),
        Action::Fence { .. } => {}
        Action::Put {
            peer,
            to,
            from,
            bytes,
        } => {
            let data = ranks[rank].arenas[slot][range(from, bytes)].to_vec();
            ranks[here[peer as usize]].arenas[slot][range(to, bytes)].copy_from_slice(&data);
        }
        Action::Count { peer, counter } => {
            touched = here[peer as usize];
            ranks[touched].counters[slot][counter as usize] += 1;
        }
        Action::Compute {
            op,
            element,
            target,
            operand,
            bytes,
        } => {
            let arena = &mut ranks[rank].arenas[slot];
            let other = arena[range(operand, bytes)].to_vec();
            apply(op, element, &mut arena[range(target, bytes)], &other).unwrap();
        }
    }
    if let Some(counter) = step.then {
        ranks[rank].counters[slot][counter as usize] += 1;
    }
    ranks[rank].release();
    ranks[touched].release();
}

/// Executes `runs` runs of the graphs. Returns the output of each rank in each run; `None` if the engine does not take
/// the graphs, for a reason that has to do with their size or arithmetic.
pub(crate) fn execute(
    graphs: &[Graph],
    gives: &dyn Fn(u32, u64) -> Vec<u8>,
    runs: u64,
    seed: u64,
) -> Option<Vec<Vec<Vec<u8>>>> {
    let all: Vec<Schedule> = graphs.iter().map(|g| g.compile().unwrap()).collect();
    let programs: Result<Vec<Program>, Declined> =
        all.iter().map(|s| place(&all, s.rank())).collect();
    match programs {
        Ok(programs) => Some(execute_programs(&all, programs, gives, runs, seed)),
        Err(Declined::Form(what)) => panic!("{what}"),
        Err(_) => None,
    }
}

/// The same of an exchange with neighbours, where each rank knows its own graph only.
pub(crate) fn execute_own(
    graphs: &[Graph],
    gives: &dyn Fn(u32, u64) -> Vec<u8>,
    runs: u64,
    seed: u64,
) -> Vec<Vec<Vec<u8>>> {
    let all: Vec<Schedule> = graphs.iter().map(|g| g.compile().unwrap()).collect();
    let programs = all.iter().map(|s| place_own(s).unwrap()).collect();
    execute_programs(&all, programs, gives, runs, seed)
}

fn execute_programs(
    all: &[Schedule],
    programs: Vec<Program>,
    gives: &dyn Fn(u32, u64) -> Vec<u8>,
    runs: u64,
    seed: u64,
) -> Vec<Vec<Vec<u8>>> {
    // The places of the job's ranks, of which the others take no part.
    let mut here = vec![usize::MAX; 64];
    for (i, schedule) in all.iter().enumerate() {
        here[schedule.rank() as usize] = i;
    }
    let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut draw = |n: usize| {
        random ^= random >> 12;
        random ^= random << 25;
        random ^= random >> 27;
        (random.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % n
    };
    let mut ranks: Vec<Rank> = programs
        .into_iter()
        .map(|program| Rank {
            arenas: vec![vec![0xaa; program.memory() as usize]; SLOTS as usize],
            counters: vec![vec![0; COUNTERS]; SLOTS as usize],
            before: vec![vec![0; COUNTERS]; SLOTS as usize],
            program,
            ready: Vec::new(),
            held: Vec::new(),
            begun: 0,
            collected: 0,
            outputs: Vec::new(),
        })
        .collect();
    loop {
        let mut choices = Vec::new();
        for (r, rank) in ranks.iter().enumerate() {
            let next = rank.begun;
            // As in the engine: the slot was collected here, and where messages go.
            let is_free = |other: &Rank| next < SLOTS || other.collected > next - SLOTS;
            let sent = (0..64).filter(|p| rank.program.sent() >> p & 1 == 1);
            let sent = sent.map(|p| here[p]);
            if next < runs && is_free(rank) && sent.into_iter().all(|p| is_free(&ranks[p])) {
                choices.push((r, usize::MAX));
            }
            if rank.has_ended() {
                choices.push((r, usize::MAX - 1));
            }
            choices.extend(
                (0..rank.ready.len())
                    .filter(|i| rank.may_go(*i))
                    .map(|i| (r, i)),
            );
        }
        if choices.is_empty() {
            break;
        }
        match choices[draw(choices.len())] {
            (r, usize::MAX) => {
                // By its place among those that take part.
                let given = gives(r as u32, ranks[r].begun);
                ranks[r].begin(&given);
            }
            (r, i) if i == usize::MAX - 1 => ranks[r].collect(),
            (r, i) => go(&mut ranks, &here, r, i),
        }
    }
    for rank in &ranks {
        assert_eq!(
            rank.collected, runs,
            "nothing is left to do, and a run has not ended"
        );
        assert!(rank.held.is_empty());
        assert_eq!(rank.counters, rank.before);
    }
    ranks.into_iter().map(|r| r.outputs).collect()
}
