//! The home's part of the protocol: which nodes have valid copies of a page, and whose turn is next.
//!
//! One transaction runs on a page at a time. Requests that come meanwhile wait, as one bit for each node, and
//! are served round robin from the last requester on: a node waits for at most one turn of every other node.
//!
//! # Migratory pages
//! A counter that each node in turn reads and then adds to costs a node two transactions for each turn: it gets a copy
//! to read, and then the right to write. The home recognises that: a node that was given a copy to read asked for the
//! right to write, and the page's last writer, which gave it the copy, had not touched it since. If that happens
//! [`SEEN`] times in succession, the page is *migratory*, and a node that wants to read it gets it for writing at once.
//! Whether it then writes, the home does not see. So each [`TRUSTED`]th such turn is again one for reading, and if the
//! node does not ask for more before another node does, the page is no longer migratory. A page that is read by several
//! nodes, or is written by one node only, never becomes migratory.
//!
//! # Usual writers
//! If the home is neither the node that writes a page nor one that reads it, each turn takes messages to and from a
//! third node. So a page's home moves to the node that got the page for writing [`USUAL`] times in succession. It moves
//! once, while nobody waits. The first home passes requests on from then on. The first of them tells the new home that
//! it is one: until then nobody else has asked, so that it is still the only holder, which is how each entry begins.
//! Other nodes learn of the new home from what it tells them and from the pages that come, and then ask it directly.
#![forbid(unsafe_code)]

use crate::{Access, Message, NodeId, NodeSet};

/// A page's entry at its home.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Entry {
    /// Nodes that have a valid copy; never empty.
    holders: NodeSet,
    /// There is one holder, and it may write.
    exclusive: bool,
    /// The transaction under way.
    turn: Option<Turn>,
    /// Nodes that wait to read.
    readers: NodeSet,
    /// Nodes that wait to write.
    writers: NodeSet,
    /// Where the search for the next requester begins.
    next: NodeId,
    /// Turns in succession in which a node read the page and then wrote it, up to [`SEEN`].
    seen: u8,
    /// The node to which the last turn gave a copy for reading, if another node alone had the page before.
    read_by: Option<NodeId>,
    /// Turns in which a reader may still get the page for writing, without the home knowing whether it writes.
    trust: u8,
    /// The node that got the page for writing last, and how often in succession it did, up to [`USUAL`].
    writer: (NodeId, u8),
}

/// Turns that make a node the usual writer of a page.
const USUAL: u8 = 2;
/// Turns that make a page migratory.
const SEEN: u8 = 2;
/// One turn in this many of a migratory page is for reading, to see whether it is still one.
const TRUSTED: u8 = 8;

/// A transaction under way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Turn {
    requester: NodeId,
    access: Access,
    /// Nodes that were told to give their copy up, and have not answered yet.
    dropping: NodeSet,
    /// The node that passes the page on once `dropping` is empty; `None` if the requester has a valid copy.
    source: Option<NodeId>,
}

/// A message that cannot come in this state: the peer does not follow the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unexpected;

impl Entry {
    /// The entry of a page that only its home holds and may write: the first state of every page.
    pub fn new(home: NodeId) -> Entry {
        Entry {
            holders: NodeSet::only(home),
            exclusive: true,
            turn: None,
            readers: NodeSet::default(),
            writers: NodeSet::default(),
            next: 0,
            seen: 0,
            read_by: None,
            trust: 0,
            writer: (home, 0),
        }
    }

    /// The node that usually writes the page, if it alone has it and no node waits.
    pub(crate) fn usual_writer(&self) -> Option<NodeId> {
        let (node, times) = self.writer;
        // Without a turn nobody waits.
        (times == USUAL && self.exclusive && self.turn.is_none()).then_some(node)
    }

    /// The nodes that have a valid copy while no transaction is under way.
    pub fn holders(&self) -> NodeSet {
        self.holders
    }

    /// Is a transaction under way? (A request waits only while there is one.)
    pub fn is_busy(&self) -> bool {
        self.turn.is_some()
    }

    /// `from` wants the page.
    ///
    /// # Errors
    /// `from` has asked already, or asks for nothing.
    pub fn want(
        &mut self,
        home: NodeId,
        page: u64,
        from: NodeId,
        access: Access,
        send: &mut dyn FnMut(NodeId, Message),
    ) -> Result<(), Unexpected> {
        if self.readers.has(from) || self.writers.has(from) {
            return Err(Unexpected);
        }
        match access {
            Access::Read => self.readers = self.readers.with(from),
            Access::Write => self.writers = self.writers.with(from),
            Access::None => return Err(Unexpected),
        }
        self.advance(home, page, send)
    }

    /// `from` has given its copy up.
    ///
    /// # Errors
    /// `from` was not told to give its copy up.
    pub fn dropped(
        &mut self,
        page: u64,
        from: NodeId,
        send: &mut dyn FnMut(NodeId, Message),
    ) -> Result<(), Unexpected> {
        let turn = self.turn.as_mut().ok_or(Unexpected)?;
        if !turn.dropping.has(from) {
            return Err(Unexpected);
        }
        turn.dropping = turn.dropping.without(from);
        self.holders = self.holders.without(from);
        self.pass_on(page, send);
        Ok(())
    }

    /// `from` has the page in place: its transaction is over, and the next one begins.
    ///
    /// # Errors
    /// The transaction is not that of `from`, or copies are still being given up.
    pub fn taken(
        &mut self,
        home: NodeId,
        page: u64,
        from: NodeId,
        send: &mut dyn FnMut(NodeId, Message),
    ) -> Result<(), Unexpected> {
        let turn = self.turn.take().ok_or(Unexpected)?;
        if turn.requester != from || !turn.dropping.is_empty() {
            return Err(Unexpected);
        }
        self.look(&turn);
        self.exclusive = turn.access == Access::Write;
        self.holders = match turn.access {
            Access::Write => NodeSet::only(from),
            _ => self.holders.with(from),
        };
        self.next = from + 1;
        self.advance(home, page, send)
    }

    /// Learns from a transaction that is over whether the page is migratory, and who writes it. The entry is still that
    /// from before it.
    fn look(&mut self, turn: &Turn) {
        if turn.access == Access::Write {
            let times = match self.writer.0 == turn.requester {
                true => (self.writer.1 + 1).min(USUAL),
                false => 1,
            };
            self.writer = (turn.requester, times);
        }
        match turn.access {
            Access::Write if turn.source.is_none() && self.read_by == Some(turn.requester) => {
                self.seen = (self.seen + 1).min(SEEN);
                self.trust = TRUSTED - 1;
                self.read_by = None;
            }
            // The one that wrote the page last still writes it, or several nodes read it.
            Access::Write if turn.source.is_none() => self.forget(),
            // It may have come for reading.
            Access::Write => self.read_by = None,
            _ if self.exclusive => self.read_by = Some(turn.requester),
            _ => self.forget(),
        }
    }

    fn forget(&mut self) {
        self.seen = 0;
        self.read_by = None;
    }

    /// Begins the next transaction if none is under way.
    fn advance(
        &mut self,
        home: NodeId,
        page: u64,
        send: &mut dyn FnMut(NodeId, Message),
    ) -> Result<(), Unexpected> {
        if self.turn.is_some() {
            return Ok(());
        }
        let waiting = self.readers.iter().fold(self.writers, NodeSet::with);
        let Some(requester) = waiting.first_from(self.next) else {
            return Ok(());
        };
        let mut access = if self.writers.has(requester) {
            Access::Write
        } else {
            Access::Read
        };
        self.readers = self.readers.without(requester);
        self.writers = self.writers.without(requester);
        let has_copy = self.holders.has(requester);
        if has_copy && (access == Access::Read || self.exclusive) {
            // A node asks only for rights that it lacks, and its rights agree with this entry between
            // transactions.
            return Err(Unexpected);
        }
        if access == Access::Read && self.exclusive && self.seen == SEEN && self.trust > 0 {
            self.trust -= 1;
            access = Access::Write;
        }
        // Prefer the home's own copy, which takes no third node; otherwise take any.
        let source = if has_copy {
            None
        } else if self.holders.has(home) {
            Some(home)
        } else {
            self.holders.first()
        };
        let mut dropping = NodeSet::default();
        if access == Access::Write {
            dropping = self.holders.without(requester);
            if let Some(source) = source {
                dropping = dropping.without(source);
            }
        }
        self.turn = Some(Turn {
            requester,
            access,
            dropping,
            source,
        });
        for node in dropping.iter() {
            send(node, Message::Drop { page });
        }
        self.pass_on(page, send);
        Ok(())
    }

    /// Lets the requester have the page once all copies that must go are gone. A writer that got the page
    /// earlier would write while others still read the old content.
    fn pass_on(&self, page: u64, send: &mut dyn FnMut(NodeId, Message)) {
        let Some(turn) = &self.turn else { return };
        if !turn.dropping.is_empty() {
            return;
        }
        let (to, access) = (turn.requester, turn.access);
        match turn.source {
            Some(source) => send(source, Message::Pass { page, to, access }),
            None => send(to, Message::Grant { page }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Access::{Read, Write};

    /// A page of home 0 under requests that come one after the other; each node gives up and hands on at once.
    struct Page(Entry);

    impl Page {
        /// Node `from` wants the page; what it gets.
        fn want(&mut self, from: NodeId, access: Access) -> Access {
            let mut granted = Access::None;
            let mut mail = Vec::new();
            let mut send = |to, message| mail.push((to, message));
            (self.0.want(0, 7, from, access, &mut send)).expect("it has not asked before");
            while let Some((to, message)) = mail.pop() {
                let mut send = |to, message| mail.push((to, message));
                match message {
                    Message::Drop { page } => self.0.dropped(page, to, &mut send),
                    Message::Pass { to, access, .. } => {
                        granted = access;
                        self.0.taken(0, 7, to, &mut send)
                    }
                    Message::Grant { .. } => {
                        granted = Write;
                        self.0.taken(0, 7, to, &mut send)
                    }
                    other => panic!("{other:?}"),
                }
                .expect("it fits");
            }
            granted
        }

        /// Node `from` reads and then writes. Returns the number of transactions.
        fn add(&mut self, from: NodeId) -> u32 {
            if self.0.holders() == NodeSet::only(from) {
                return 0;
            }
            match self.want(from, Read) {
                Write => 1,
                _ => {
                    self.want(from, Write);
                    2
                }
            }
        }
    }

    #[test]
    fn a_counter_that_nodes_add_to_in_turn_takes_one_transaction() {
        let mut page = Page(Entry::new(0));
        let costs: Vec<u32> = (1..200).map(|k| page.add(k % 3)).collect();
        assert_eq!(costs[..2], [2, 2]);
        let all: u32 = costs[2..].iter().sum();
        assert!(all <= 197 + 197 / 7, "{all}: {costs:?}");
    }

    /// A page that one node writes and the other reads is handed over for reading, and the writer keeps its copy.
    #[test]
    fn what_one_node_writes_for_another_is_not_migratory() {
        let mut page = Page(Entry::new(0));
        for _ in 0..50 {
            assert_eq!(page.want(1, Read), Read);
            assert_eq!(page.want(0, Write), Write);
        }
    }

    /// Nodes that stop writing are found out.
    #[test]
    fn a_page_that_is_only_read_any_more_is_shared() {
        let mut page = Page(Entry::new(0));
        (1..40).for_each(|k| {
            page.add(k % 2);
        });
        let mut transactions = 0;
        for k in 0..100 {
            let from = k % 2;
            if !page.0.holders().has(from) {
                page.want(from, Read);
                transactions += 1;
            }
        }
        assert!(transactions <= u32::from(TRUSTED), "{transactions}");
        assert!((0..2).all(|n| page.0.holders().has(n)));
    }
}
