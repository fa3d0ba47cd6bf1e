//! The home's part of the protocol: which nodes have valid copies of a page, and whose turn is next.
//!
//! One transaction runs on a page at a time. Requests that come meanwhile wait, as one bit for each node, and
//! are served round robin from the last requester on: a node waits for at most one turn of every other node.
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
}

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
        }
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
        self.exclusive = turn.access == Access::Write;
        self.holders = match turn.access {
            Access::Write => NodeSet::only(from),
            _ => self.holders.with(from),
        };
        self.next = from + 1;
        self.advance(home, page, send)
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
        let access = if self.writers.has(requester) {
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
