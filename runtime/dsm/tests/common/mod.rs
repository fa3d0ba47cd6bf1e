//! A small world around the protocol's state machine: nodes, a network that delivers in any order, a memory
//! with one number per page, and threads that execute instructions. Each instruction needs all of its pages
//! at the same time, as an access that crosses pages does. The world compares every readable copy with a
//! memory that has no copies.

use hetmp_dsm::{Access, Action, Homes, Message, Node, NodeId};
use std::collections::{BTreeMap, BTreeSet};

/// The pages that one instruction needs, and how it accesses each of them.
pub(crate) type Instruction = Vec<(u64, Access)>;

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
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Envelope {
    pub(crate) from: NodeId,
    pub(crate) to: NodeId,
    pub(crate) message: Message,
    /// The page's content, if the message is a [`Message::Page`].
    pub(crate) content: Option<u8>,
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
    pub(crate) copies: Vec<BTreeMap<u64, (Access, u8)>>,
    /// The content of a memory without copies.
    pub(crate) memory: BTreeMap<u64, u8>,
    pub(crate) threads: Vec<Thread>,
    /// Which of the setting's bulks were asked for; and the pages that were and did not come, by node.
    pub(crate) asked: Vec<bool>,
    /// Which of the setting's pages were kept.
    pub(crate) kept: Vec<bool>,
    pub(crate) along: BTreeSet<(NodeId, u64)>,
    /// Steps since the last executed instruction.
    pub(crate) since: u16,
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
}

impl World {
    pub(crate) fn new(setting: &Setting) -> World {
        let nodes = (0..setting.nodes)
            .map(|n| Node::new(n, setting.nodes, setting.homes.clone()))
            .collect();
        World {
            nodes,
            network: Vec::new(),
            copies: vec![BTreeMap::new(); setting.nodes.into()],
            memory: BTreeMap::new(),
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
            wrong: None,
        }
    }

    /// A node's copy: how it may be accessed, and its content.
    fn copy(&self, setting: &Setting, node: NodeId, page: u64) -> (Access, u8) {
        let at_first = match setting.homes.of(page) == node {
            true => Access::Write,
            false => Access::None,
        };
        let copy = self.copies[usize::from(node)].get(&page);
        copy.copied().unwrap_or((at_first, 0))
    }

    fn content(&self, page: u64) -> u8 {
        self.memory.get(&page).copied().unwrap_or(0)
    }

    fn next<'a>(&self, setting: &'a Setting, thread: usize) -> Option<(NodeId, &'a Instruction)> {
        let (node, all) = &setting.threads[thread];
        all.get(self.threads[thread].done).map(|i| (*node, i))
    }

    /// The first page of a thread's instruction to which the thread has no access.
    fn lacks(&self, setting: &Setting, thread: usize) -> Option<Option<(u64, Access)>> {
        let (node, pages) = self.next(setting, thread)?;
        let lacking = |p: &&(u64, Access)| self.copy(setting, node, p.0).0 < p.1;
        Some(pages.iter().find(lacking).copied())
    }

    /// Have all threads executed all instructions?
    pub(crate) fn is_done(&self, setting: &Setting) -> bool {
        (0..self.threads.len()).all(|t| self.next(setting, t).is_none())
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
                for &(page, access) in pages {
                    let (rights, content) = self.copy(setting, node, page);
                    if content != self.content(page) {
                        self.wrong = Some("an instruction read an old page");
                    }
                    if access == Access::Write {
                        let new = content.wrapping_add(1);
                        self.copies[usize::from(node)].insert(page, (rights, new));
                        self.memory.insert(page, new);
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
        self.network.sort();
        self.look(setting);
    }

    fn act(&mut self, setting: &Setting, node: NodeId, actions: &[Action]) {
        for action in actions {
            match *action {
                Action::Send { to, message } => {
                    let content = matches!(message, Message::Page { .. })
                        .then(|| self.copy(setting, node, message.page()).1);
                    self.network.push(Envelope {
                        from: node,
                        to,
                        message,
                        content,
                    });
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
            let copies: Vec<(Access, u8)> = (0..setting.nodes)
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
