//! A small world around the protocol's state machine: nodes, a network that delivers in any order, a memory
//! with some numbers per page, and threads that execute instructions. Each instruction needs all of its pages
//! at the same time, as an access that crosses pages does. The world compares every readable copy with a
//! memory that has no copies.
//!
//! Where homes lend pages, each node's threads use numbers of their own, before a barrier and behind it those of the
//! next node: programs without races.

use hetmp_dsm::{Access, Action, Homes, Lending, Message, Node, NodeId};
use std::collections::{BTreeMap, BTreeSet};

/// The pages that one instruction needs, and how it accesses each of them.
pub(crate) type Instruction = Vec<(u64, Access)>;

/// A page's content. Where nothing is lent, only the first number is used.
pub(crate) type Content = [u8; 4];

/// What a wrong implementation would do with lent pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Flaw {
    Nothing,
    /// The twin is made after the first write.
    LateTwin,
    /// A page is given back whole.
    Whole,
    /// A node does not know how old its requests are.
    NoOrder,
    /// Loans are not given back behind a barrier, but only before it.
    OnlyBefore,
}

/// How pages are lent.
#[derive(Clone, Debug)]
pub(crate) struct Loans {
    /// All threads meet when they have executed this many instructions.
    pub(crate) barrier: usize,
    /// Nodes that give back what they have borrowed, once, at any time.
    pub(crate) late: Vec<NodeId>,
    pub(crate) flaw: Flaw,
}

/// The part of a world that does not change while the world runs.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    pub(crate) nodes: NodeId,
    pub(crate) homes: Homes,
    /// For each thread: its node, and its instructions.
    pub(crate) threads: Vec<(NodeId, Vec<Instruction>)>,
    /// Pages that a node asks for in bulk, once, at any time, although no thread waits for them. Each page is a message
    /// of its own here: what travels as one message arrives in one of the orders that are tried.
    pub(crate) bulk: Vec<(NodeId, Vec<(u64, Access)>)>,
    /// Pages that a node holds from any time on, once, although it was not granted them: the origin keeps what it has.
    pub(crate) keeps: Vec<(NodeId, u64)>,
    /// If true, a hold ends only after its page was used, or when nothing else can happen: holds last longer
    /// than transfers. Otherwise a hold may end at any time.
    pub(crate) timed: bool,
    /// Homes lend pages.
    pub(crate) loans: Option<Loans>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Envelope {
    pub(crate) from: NodeId,
    pub(crate) to: NodeId,
    pub(crate) message: Message,
    /// The page's content, if the message is a [`Message::Page`] or a [`Message::Lend`].
    pub(crate) content: Option<Content>,
    /// What a node wrote, if the message is a [`Message::Return`].
    pub(crate) wrote: [Option<u8>; 4],
}

/// How far a node's threads are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Stage {
    Before,
    /// They have come to the barrier, and what they borrowed is given back.
    Settling,
    Arrived,
    /// The barrier is over, and what they borrowed is given back.
    Passed,
    Behind,
    /// They have executed all instructions, and what they borrowed is given back.
    Ended,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Thread {
    /// Number of instructions executed.
    pub(crate) done: usize,
    /// The page on which the thread has faulted, until the thread is woken.
    pub(crate) waiting: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct World {
    pub(crate) nodes: Vec<Node>,
    /// Messages under way. They are sorted, so that worlds are equal if they differ only in the order of
    /// sending.
    pub(crate) network: Vec<Envelope>,
    /// For each node: how its threads may access each page, as the protocol's actions said, and the content
    /// of its copy.
    pub(crate) copies: Vec<BTreeMap<u64, (Access, Content)>>,
    /// The content of a memory without copies.
    pub(crate) memory: BTreeMap<u64, Content>,
    /// For each node: the twins of what it has borrowed, and how far its threads are.
    pub(crate) twins: Vec<BTreeMap<u64, Content>>,
    pub(crate) stages: Vec<Stage>,
    /// Which of the setting's late returns have happened.
    pub(crate) late: Vec<bool>,
    /// A node has had a page lent while the home wrote to it.
    pub(crate) was_lent: bool,
    pub(crate) threads: Vec<Thread>,
    /// Which of the setting's bulks were asked for; and the pages that were and did not come, by node.
    pub(crate) asked: Vec<bool>,
    /// Which of the setting's pages were kept.
    pub(crate) kept: Vec<bool>,
    pub(crate) along: BTreeSet<(NodeId, u64)>,
    /// Steps since the last executed instruction.
    pub(crate) since: u16,
    /// What came with the message that is being delivered.
    arriving: [Option<u8>; 4],
    /// The first error.
    pub(crate) wrong: Option<&'static str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Step {
    Deliver(usize),
    Fault(usize),
    Execute(usize),
    Release(NodeId, u64),
    Bulk(usize),
    Keep(usize),
    /// The node's threads go on to the next stage.
    Stage(NodeId),
    Late(usize),
}

impl World {
    pub(crate) fn new(setting: &Setting) -> World {
        let nodes = (0..setting.nodes)
            .map(|n| Node::new(n, setting.nodes, setting.homes.clone()))
            .collect();
        let mut world = World {
            nodes,
            network: Vec::new(),
            copies: vec![BTreeMap::new(); setting.nodes.into()],
            memory: BTreeMap::new(),
            twins: vec![BTreeMap::new(); setting.nodes.into()],
            stages: vec![Stage::Before; setting.nodes.into()],
            late: vec![false; setting.loans.as_ref().map_or(0, |l| l.late.len())],
            was_lent: false,
            threads: vec![
                Thread {
                    done: 0,
                    waiting: None
                };
                setting.threads.len()
            ],
            asked: vec![false; setting.bulk.len()],
            kept: vec![false; setting.keeps.len()],
            along: BTreeSet::new(),
            since: 0,
            arriving: [None; 4],
            wrong: None,
        };
        if setting.loans.is_some() {
            world.begin_lending();
        }
        world
    }

    /// From now on homes lend.
    pub(crate) fn begin_lending(&mut self) {
        for node in &mut self.nodes {
            node.set_lending(Lending::on(1));
        }
    }

    /// A node's copy: how it may be accessed, and its content.
    fn copy(&self, setting: &Setting, node: NodeId, page: u64) -> (Access, Content) {
        let at_first = match setting.homes.of(page) == node {
            true => Access::Write,
            false => Access::None,
        };
        let copy = self.copies[usize::from(node)].get(&page);
        copy.copied().unwrap_or((at_first, [0; 4]))
    }

    fn content(&self, page: u64) -> Content {
        self.memory.get(&page).copied().unwrap_or([0; 4])
    }

    /// Which of a page's numbers a node's threads use now.
    fn number(&self, setting: &Setting, node: NodeId) -> usize {
        match setting.loans {
            Some(_) => {
                let node = usize::from(node);
                let behind = self.stages[node] >= Stage::Behind;
                (node + usize::from(behind)) % usize::from(setting.nodes)
            }
            None => 0,
        }
    }

    fn next<'a>(&self, setting: &'a Setting, thread: usize) -> Option<(NodeId, &'a Instruction)> {
        let (node, all) = &setting.threads[thread];
        let done = self.threads[thread].done;
        if let Some(loans) = &setting.loans {
            // Threads wait at the barrier.
            if done >= loans.barrier && self.stages[usize::from(*node)] < Stage::Behind {
                return None;
            }
        }
        all.get(done).map(|i| (*node, i))
    }

    /// Is what the node has given back at its homes?
    fn is_settled(&self, node: usize) -> bool {
        self.nodes[node].loans() == self.nodes[node].borrowed().count()
    }

    /// Can the node's threads go on to the next stage?
    fn may_go_on(&self, setting: &Setting, node: NodeId) -> bool {
        let at = usize::from(node);
        let own = |t: &usize| setting.threads[*t].0 == node;
        let at_end = || {
            !(0..self.threads.len())
                .filter(own)
                .any(|t| self.next(setting, t).is_some())
        };
        match self.stages[at] {
            Stage::Before | Stage::Behind => at_end(),
            Stage::Settling | Stage::Passed => self.is_settled(at),
            Stage::Arrived => self.stages.iter().all(|s| *s >= Stage::Arrived),
            Stage::Ended => false,
        }
    }

    fn give_back(&mut self, node: NodeId, out: &mut Vec<Action>) {
        let machine = &mut self.nodes[usize::from(node)];
        let borrowed: Vec<u64> = machine.borrowed().collect();
        for page in borrowed {
            machine.give_back(page, out);
        }
    }

    /// The first page of a thread's instruction to which the thread has no access.
    fn lacks(&self, setting: &Setting, thread: usize) -> Option<Option<(u64, Access)>> {
        let (node, pages) = self.next(setting, thread)?;
        let lacking = |p: &&(u64, Access)| self.copy(setting, node, p.0).0 < p.1;
        Some(pages.iter().find(lacking).copied())
    }

    /// Have all threads executed all instructions?
    pub(crate) fn is_done(&self, setting: &Setting) -> bool {
        let all = (0..self.threads.len()).all(|t| self.next(setting, t).is_none());
        let ended = |n: usize| self.is_settled(n) && self.stages[n] == Stage::Ended;
        all && (setting.loans.is_none() || (0..self.nodes.len()).all(ended))
    }

    /// All steps that can happen next.
    pub(crate) fn steps(&self, setting: &Setting) -> Vec<Step> {
        let mut steps: Vec<Step> = (0..self.network.len()).map(Step::Deliver).collect();
        for (t, thread) in self.threads.iter().enumerate() {
            match self.lacks(setting, t) {
                None => {}
                // A waiting thread may find its page before it is woken. This is not a case of its own.
                Some(_) if thread.waiting.is_some() => {}
                Some(None) => steps.push(Step::Execute(t)),
                Some(Some(_)) => steps.push(Step::Fault(t)),
            }
        }
        let bulks = (self.asked.iter().enumerate()).filter(|(_, asked)| !**asked);
        steps.extend(bulks.map(|(i, _)| Step::Bulk(i)));
        for (i, (node, page)) in setting.keeps.iter().enumerate() {
            let has = self.nodes[usize::from(*node)].access(*page) != Access::None;
            if has && !self.kept[i] {
                steps.push(Step::Keep(i));
            }
        }
        if let Some(loans) = &setting.loans {
            let nodes = (0..setting.nodes).filter(|n| self.may_go_on(setting, *n));
            steps.extend(nodes.map(Step::Stage));
            let late = (loans.late.iter().enumerate()).filter(|(i, n)| {
                !self.late[*i] && self.nodes[usize::from(**n)].borrowed().count() > 0
            });
            steps.extend(late.map(|(i, _)| Step::Late(i)));
        }
        let quiet = steps.is_empty();
        for node in &self.nodes {
            let n = node.number();
            for page in self.copies[usize::from(n)].keys() {
                let in_use = (0..self.threads.len()).any(|t| {
                    self.next(setting, t)
                        .is_some_and(|(m, i)| m == n && i.iter().any(|p| p.0 == *page))
                });
                if node.is_held(*page) && (!setting.timed || quiet || !in_use) {
                    steps.push(Step::Release(n, *page));
                }
            }
        }
        steps
    }

    pub(crate) fn step(&mut self, setting: &Setting, step: Step) {
        self.since = self.since.saturating_add(1);
        let mut out = Vec::new();
        let node = match step {
            Step::Deliver(i) => {
                let e = self.network.remove(i);
                self.arriving = e.wrote;
                if let Some(content) = e.content {
                    let copy = self.copy(setting, e.to, e.message.page());
                    if copy.0 != Access::None {
                        self.wrong = Some("a page came over a copy that may be used");
                    }
                    self.copies[usize::from(e.to)].insert(e.message.page(), (copy.0, content));
                }
                let taken = self.nodes[usize::from(e.to)].receive(e.from, e.message, &mut out);
                if taken.is_err() {
                    self.wrong = Some("a message that does not fit");
                }
                e.to
            }
            Step::Fault(t) => {
                let Some((page, access)) = self.lacks(setting, t).flatten() else {
                    return;
                };
                let node = setting.threads[t].0;
                self.threads[t].waiting = Some(page);
                self.nodes[usize::from(node)].fault(page, access, &mut out);
                node
            }
            Step::Execute(t) => {
                let Some((node, pages)) = self.next(setting, t) else {
                    return;
                };
                let number = self.number(setting, node);
                for &(page, access) in pages {
                    let (rights, mut content) = self.copy(setting, node, page);
                    let mut memory = self.content(page);
                    if content[number] != memory[number] {
                        self.wrong = Some("an instruction read an old page");
                    }
                    if access == Access::Write {
                        content[number] = content[number].wrapping_add(1);
                        memory[number] = content[number];
                        self.copies[usize::from(node)].insert(page, (rights, content));
                        self.memory.insert(page, memory);
                        if self.flaw(setting) == Flaw::LateTwin
                            && self.nodes[usize::from(node)].has_loan(page)
                        {
                            self.twins[usize::from(node)].entry(page).or_insert(content);
                        }
                        self.was_lent |= self
                            .nodes
                            .iter()
                            .any(|n| n.number() != node && n.has_loan(page));
                    }
                }
                self.threads[t].done += 1;
                self.since = 0;
                node
            }
            Step::Release(node, page) => {
                self.nodes[usize::from(node)].release(page, &mut out);
                node
            }
            Step::Keep(i) => {
                self.kept[i] = true;
                let (node, page) = setting.keeps[i];
                let copy = self.copy(setting, node, page);
                self.copies[usize::from(node)].insert(page, copy);
                self.nodes[usize::from(node)].hold(page);
                node
            }
            Step::Stage(node) => {
                let stage = &mut self.stages[usize::from(node)];
                let gives_back = *stage != Stage::Settling && *stage != Stage::Passed;
                *stage = match *stage {
                    Stage::Before => Stage::Settling,
                    Stage::Settling => Stage::Arrived,
                    Stage::Arrived => Stage::Passed,
                    Stage::Passed => Stage::Behind,
                    _ => Stage::Ended,
                };
                let passes = *stage == Stage::Passed;
                if passes && self.flaw(setting) != Flaw::NoOrder {
                    self.nodes[usize::from(node)].set_order(1);
                }
                if passes && self.flaw(setting) == Flaw::OnlyBefore {
                    self.stages[usize::from(node)] = Stage::Behind;
                } else if gives_back {
                    self.give_back(node, &mut out);
                }
                node
            }
            Step::Late(i) => {
                self.late[i] = true;
                let node = setting.loans.as_ref().map_or(0, |l| l.late[i]);
                self.give_back(node, &mut out);
                node
            }
            Step::Bulk(i) => {
                self.asked[i] = true;
                let (node, pages) = &setting.bulk[i];
                for &(page, access) in pages {
                    let machine = &mut self.nodes[usize::from(*node)];
                    if machine.access(page) < access && machine.wanted(page) == Access::None {
                        machine.fault(page, access, &mut out);
                        self.along.insert((*node, page));
                    }
                }
                *node
            }
        };
        self.act(setting, node, &out);
        self.arriving = [None; 4];
        self.network.sort();
        self.look(setting);
    }

    /// The home and another node write the page in turn until the home lends it.
    pub(crate) fn fight(&mut self, setting: &Setting, page: u64, other: NodeId) {
        let home = setting.homes.of(page);
        for node in [other, home].repeat(4) {
            let mut out = Vec::new();
            self.nodes[usize::from(node)].fault(page, Access::Write, &mut out);
            self.act(setting, node, &out);
            while !self.network.is_empty() {
                self.step(setting, Step::Deliver(0));
            }
            self.step(setting, Step::Release(node, page));
        }
        self.since = 0;
    }

    fn flaw(&self, setting: &Setting) -> Flaw {
        setting.loans.as_ref().map_or(Flaw::Nothing, |l| l.flaw)
    }

    /// What the node wrote to a page that it gives back.
    fn wrote(&mut self, setting: &Setting, node: NodeId, page: u64) -> [Option<u8>; 4] {
        let now = self.copy(setting, node, page).1;
        let Some(twin) = self.twins[usize::from(node)].remove(&page) else {
            return [None; 4];
        };
        let whole = self.flaw(setting) == Flaw::Whole;
        core::array::from_fn(|i| (whole || now[i] != twin[i]).then_some(now[i]))
    }

    fn act(&mut self, setting: &Setting, node: NodeId, actions: &[Action]) {
        for action in actions {
            match *action {
                Action::Send { to, message } => {
                    let content = matches!(message, Message::Page { .. } | Message::Lend { .. })
                        .then(|| self.copy(setting, node, message.page()).1);
                    let wrote = match message {
                        Message::Return { page, .. } => self.wrote(setting, node, page),
                        _ => [None; 4],
                    };
                    self.network.push(Envelope {
                        from: node,
                        to,
                        message,
                        content,
                        wrote,
                    });
                }
                Action::Twin { page } => {
                    let content = self.copy(setting, node, page).1;
                    if self.flaw(setting) != Flaw::LateTwin {
                        self.twins[usize::from(node)].insert(page, content);
                    }
                }
                Action::Merge { page, .. } => {
                    let (rights, mut content) = self.copy(setting, node, page);
                    if rights != Access::Write {
                        self.wrong = Some("what was lent comes back to a node that may not write");
                    }
                    for (to, wrote) in content.iter_mut().zip(self.arriving) {
                        *to = wrote.unwrap_or(*to);
                    }
                    self.copies[usize::from(node)].insert(page, (rights, content));
                }
                Action::Protect { page, access } => {
                    let content = self.copy(setting, node, page).1;
                    self.copies[usize::from(node)].insert(page, (access, content));
                }
                Action::Wake { page } => {
                    let mut waited = false;
                    for (t, thread) in self.threads.iter_mut().enumerate() {
                        if setting.threads[t].0 == node && thread.waiting == Some(page) {
                            thread.waiting = None;
                            waited = true;
                        }
                    }
                    // A page that no thread waits for is not held.
                    if self.along.remove(&(node, page)) && !waited {
                        let mut out = Vec::new();
                        self.nodes[usize::from(node)].release(page, &mut out);
                        self.act(setting, node, &out);
                    }
                }
            }
        }
    }

    /// Checks that each page has one writer or many readers, and that no node can read an old page.
    fn look(&mut self, setting: &Setting) {
        let pages: std::collections::BTreeSet<u64> =
            self.copies.iter().flat_map(|c| c.keys().copied()).collect();
        for page in pages {
            // Of copies that are lent, only what their threads use is compared, when they use it.
            let lent = |n: &NodeId| self.nodes[usize::from(*n)].has_loan(page);
            if (0..setting.nodes).any(|n| lent(&n)) && !self.is_done(setting) {
                continue;
            }
            let copies: Vec<(Access, Content)> = (0..setting.nodes)
                .filter(|n| !lent(n))
                .map(|n| self.copy(setting, n, page))
                .collect();
            let writers = copies.iter().filter(|c| c.0 == Access::Write).count();
            let users = copies.iter().filter(|c| c.0 != Access::None).count();
            if writers > 1 || (writers == 1 && users > 1) {
                self.wrong = Some("a writer is not alone");
            }
            let content = self.content(page);
            if copies.iter().any(|c| c.0 != Access::None && c.1 != content) {
                self.wrong = Some("a copy that may be read is old");
            }
        }
    }
}
