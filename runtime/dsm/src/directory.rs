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
//!
//! # Pages that are lent
//! Where several nodes write different bytes of a page, it goes to and fro. In regions whose code can tell other
//! threads nothing but through the runtime ([`Lending`]), no thread may see what another one writes before both have
//! met there. So a page that goes to and fro stays with its home, which *lends* copies to the nodes that want it: they
//! write to them, and give back which bytes they wrote before their threads meet others. That takes messages, too. So
//! a page is lent after [`FIGHT`] times that another node than its last writer got it for writing, while the home's
//! threads met no others; and then at once in [`TRUSTED`] such times. After these it must go to and fro again: a page
//! that one node uses alone is better off there.
#![forbid(unsafe_code)]

use crate::{Access, Lending, Message, NodeId, NodeSet};

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
    /// Nodes that have a copy which the home lent.
    lent: NodeSet,
    /// Times that another node than the last writer got the page for writing, up to [`FIGHT`], and the round of lending
    /// in which that was counted.
    fights: (u8, u32),
    /// Rounds in which the page is still lent at once, and the last one that counted.
    lends: (u8, u32),
}

/// Times that a page changes its writer before it is lent. With 3, a program of short critical sections took 106 ms
/// instead of 12.
const FIGHT: u8 = 8;
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
            lent: NodeSet::default(),
            fights: (0, 0),
            lends: (0, 0),
        }
    }

    /// Has the home lent copies of the page, or would it?
    pub(crate) fn is_to_lend(&self, lending: Lending) -> bool {
        let Some(round) = lending.round() else {
            return !self.lent.is_empty();
        };
        let (left, last) = self.lends;
        let would = left > 0 || last == round || self.fights == (FIGHT, round);
        would || !self.lent.is_empty()
    }

    /// `from` has given a copy back that it was lent.
    ///
    /// # Errors
    /// `from` has none.
    pub fn returned(
        &mut self,
        home: NodeId,
        page: u64,
        from: NodeId,
        lending: Lending,
        send: &mut dyn FnMut(NodeId, Message),
    ) -> Result<(), Unexpected> {
        if !self.lent.has(from) {
            return Err(Unexpected);
        }
        self.lent = self.lent.without(from);
        send(from, Message::Returned { page });
        self.advance(home, page, lending, send)
    }

    /// The node that usually writes the page, if it alone has it and no node waits.
    pub(crate) fn usual_writer(&self) -> Option<NodeId> {
        let (node, times) = self.writer;
        // Without a turn nobody waits.
        let is_alone = self.exclusive && self.turn.is_none() && self.lent.is_empty();
        (times == USUAL && is_alone).then_some(node)
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
        lending: Lending,
        send: &mut dyn FnMut(NodeId, Message),
    ) -> Result<(), Unexpected> {
        if self.readers.has(from) || self.writers.has(from) || self.lent.has(from) {
            return Err(Unexpected);
        }
        match access {
            Access::Read => self.readers = self.readers.with(from),
            Access::Write => self.writers = self.writers.with(from),
            Access::None => return Err(Unexpected),
        }
        self.advance(home, page, lending, send)
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
        lending: Lending,
        send: &mut dyn FnMut(NodeId, Message),
    ) -> Result<(), Unexpected> {
        let turn = self.turn.take().ok_or(Unexpected)?;
        if turn.requester != from || !turn.dropping.is_empty() {
            return Err(Unexpected);
        }
        self.look(&turn, lending);
        self.exclusive = turn.access == Access::Write;
        self.holders = match turn.access {
            Access::Write => NodeSet::only(from),
            _ => self.holders.with(from),
        };
        self.next = from + 1;
        self.advance(home, page, lending, send)
    }

    /// Learns from a transaction that is over whether the page is migratory, and who writes it. The entry is still that
    /// from before it.
    fn look(&mut self, turn: &Turn, lending: Lending) {
        if turn.access == Access::Write {
            if let Some(round) = lending.round() {
                let before = if self.fights.1 == round {
                    self.fights.0
                } else {
                    0
                };
                let more = u8::from(self.writer.0 != turn.requester);
                self.fights = ((before + more).min(FIGHT), round);
            }
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

    /// Is the page to be lent now? The home alone has it.
    fn lends(&mut self, lending: Lending) -> bool {
        let Some(round) = lending.round() else {
            return false;
        };
        let (left, last) = self.lends;
        self.lends = match self.fights == (FIGHT, round) {
            _ if last == round => return true,
            true => (TRUSTED - 1, round),
            false if left > 0 => (left - 1, round),
            false => return false,
        };
        true
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
        lending: Lending,
        send: &mut dyn FnMut(NodeId, Message),
    ) -> Result<(), Unexpected> {
        if self.turn.is_some() {
            return Ok(());
        }
        let waiting = self.readers.iter().fold(self.writers, NodeSet::with);
        let Some(requester) = waiting.first_from(self.next) else {
            return Ok(());
        };
        let is_homes = self.exclusive && self.holders == NodeSet::only(home);
        if is_homes && !waiting.has(home) && self.lends(lending) {
            (self.readers, self.writers) = Default::default();
            self.lent = waiting.iter().fold(self.lent, NodeSet::with);
            waiting
                .iter()
                .for_each(|to| send(to, Message::Lend { page }));
            return Ok(());
        }
        if !self.lent.is_empty() {
            // What was lent comes back, and then it is their turn.
            return Ok(());
        }
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
    struct Page(Entry, Lending);

    impl Page {
        /// Node `from` wants the page; what it gets. What is lent it gives back at once.
        fn want(&mut self, from: NodeId, access: Access) -> Access {
            let mut granted = Access::None;
            let mut mail = Vec::new();
            let mut send = |to, message| mail.push((to, message));
            (self.0.want(0, 7, from, access, self.1, &mut send)).expect("it has not asked before");
            while let Some((to, message)) = mail.pop() {
                let mut send = |to, message| mail.push((to, message));
                match message {
                    Message::Drop { page } => self.0.dropped(page, to, &mut send),
                    Message::Pass { to, access, .. } => {
                        granted = access;
                        self.0.taken(0, 7, to, self.1, &mut send)
                    }
                    Message::Grant { .. } => {
                        granted = Write;
                        self.0.taken(0, 7, to, self.1, &mut send)
                    }
                    Message::Lend { .. } => self.0.returned(0, 7, to, self.1, &mut send),
                    Message::Returned { .. } => Ok(()),
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

    /// A page that goes to and fro in a region is lent there, and at once in some later ones. Then it must go to and
    /// fro again: one node alone may use it.
    #[test]
    fn what_goes_to_and_fro_is_lent() {
        let mut page = Page(Entry::new(0), Lending::OFF);
        // While nothing is lent, fights do not count.
        (0..20).for_each(|k| assert_eq!(page.want((k + 1) % 2, Write), Write));
        for round in 1..=u32::from(TRUSTED) {
            page.1 = Lending::on(round);
            if round == 1 {
                (0..FIGHT).for_each(|k| assert_eq!(page.want((k + 1) % 2, Write), Write));
            }
            assert!(page.0.is_to_lend(page.1), "{round}");
            (0..3).for_each(|_| assert_eq!(page.want(1, Write), Access::None));
            page.1 = Lending::OFF;
        }
        page.1 = Lending::on(100);
        assert!(!page.0.is_to_lend(page.1));
        assert_eq!(page.want(1, Write), Write);
        // In several regions a page that goes from one node to the other is used by one after the other.
        for round in 101..110 {
            page.1 = Lending::on(round);
            assert_eq!(page.want(round as NodeId % 2 + 1, Write), Write);
        }
    }

    #[test]
    fn what_is_lent_comes_back_before_others_have_it() {
        let mut page = Page(Entry::new(0), Lending::on(1));
        (0..FIGHT).for_each(|k| assert_eq!(page.want((k + 1) % 2, Write), Write));
        let mut mail = Vec::new();
        let mut send = |to, message| mail.push((to, message));
        let entry = &mut page.0;
        assert_eq!(entry.want(0, 7, 1, Read, page.1, &mut send), Ok(()));
        assert_eq!(entry.want(0, 7, 2, Write, Lending::OFF, &mut send), Ok(()));
        assert_eq!(
            entry.returned(0, 7, 2, Lending::OFF, &mut send),
            Err(Unexpected)
        );
        assert_eq!(entry.returned(0, 7, 1, Lending::OFF, &mut send), Ok(()));
        let page = 7;
        let access = Write;
        let expected = [
            (1, Message::Lend { page }),
            (1, Message::Returned { page }),
            (
                0,
                Message::Pass {
                    page,
                    to: 2,
                    access,
                },
            ),
        ];
        assert_eq!(mail, expected);
    }

    #[test]
    fn a_counter_that_nodes_add_to_in_turn_takes_one_transaction() {
        let mut page = Page(Entry::new(0), Lending::OFF);
        let costs: Vec<u32> = (1..200).map(|k| page.add(k % 3)).collect();
        assert_eq!(costs[..2], [2, 2]);
        let all: u32 = costs[2..].iter().sum();
        assert!(all <= 197 + 197 / 7, "{all}: {costs:?}");
    }

    /// A page that one node writes and the other reads is handed over for reading, and the writer keeps its copy.
    #[test]
    fn what_one_node_writes_for_another_is_not_migratory() {
        let mut page = Page(Entry::new(0), Lending::OFF);
        for _ in 0..50 {
            assert_eq!(page.want(1, Read), Read);
            assert_eq!(page.want(0, Write), Write);
        }
    }

    /// Nodes that stop writing are found out.
    #[test]
    fn a_page_that_is_only_read_any_more_is_shared() {
        let mut page = Page(Entry::new(0), Lending::OFF);
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
