//! One node's state machine: faults, messages and ends of holds in; messages and page operations out.
//!
//! # A transaction
//! ```text
//! requester            home                 a holder          other readers
//!    | -- Want ----------> |                    |                  |
//!    |                     | -- Drop ---------------------------> |   for writing only
//!    |                     | <------------------------ Dropped -- |
//!    |                     | -- Pass ---------> |
//!    | <----------------------- bytes, Page --- |
//!    | -- Taken ---------> |
//! ```
//! A reader that wants to write, and still has its copy when its turn comes, gets `Grant` instead, without
//! bytes. If another writer came first, that reader was told to drop its copy, and gets the bytes like any
//! other node. The home decides this when the turn comes, not the requester when it asks: so two readers that
//! want to write at the same time cannot confuse it. A node that wants to read gets the right to write with the bytes,
//! if the page is one that nodes in turn read and then write ([`crate::directory`], "Migratory pages").
//!
//! # Holds
//! A page that was granted is *held*: the node answers `Drop` and `Pass` only after [`Node::release`].
//! Without this, two nodes that write one page could take it from each other for ever, before either thread
//! has executed its one instruction. The driver releases a page some time after it let the thread go on. One
//! instruction may need several pages. Two nodes may then hold pages that the other needs, until one of the
//! holds ends and the other node has all. Three nodes could send pages round for ever if their holds always
//! ended in the wrong order. So the driver draws the length of each hold at random. `tests/model.rs` shows:
//! between two nodes the number of steps to the next executed instruction is bounded if holds outlast
//! transfers; among three nodes, the end can be reached from every state.
//!
//! # Loans
//! ```text
//! a node               home, which goes on writing
//!    | -- Want ----------> |
//!    | <---- bytes, Lend - |   the node keeps a twin of the bytes, and its threads write
//!    | ---- what differs,  |
//!    |      Return ------> |   merges that
//!    | <------ Returned -- |
//! ```
//! When a page is lent: [`crate::directory`], "Pages that are lent". A node's *order* is the number of times that its
//! threads have met other nodes' ([`Node::set_order`]). A node gives all loans back before and after each of these. A
//! loan that it asked for earlier, and that comes later, may lack what others wrote before: the node gives it back as
//! it comes, and asks again.
//!
//! # Duties of the driver
//! * [`Action`]s are carried out in their order.
//! * A message is delivered once, after its page's bytes. Messages may come in any order.
//! * A page's bytes are written to the node's memory while its access is [`Access::None`]: no thread sees a
//!   page half written.
#![forbid(unsafe_code)]

use crate::by_page::ByPage;
use crate::directory::Entry;
use crate::message::UNCHANGED;
use crate::{Access, Homes, Lending, Message, NodeId, MAX_NODES};
use std::collections::BTreeSet;

/// An action for the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Action {
    /// Send a message. Before a [`Message::Page`], send the page's bytes. `to` may be this node itself.
    Send {
        /// The receiver.
        to: NodeId,
        /// The message.
        message: Message,
    },
    /// From now on, let this node's threads do exactly this much with the page.
    Protect {
        /// The page's number.
        page: u64,
        /// What threads may do.
        access: Access,
    },
    /// Let threads that faulted on the page try again, and call [`Node::release`] after a while.
    Wake {
        /// The page's number.
        page: u64,
    },
    /// Keep the bytes of the page, which have come and which no thread can write yet.
    Twin {
        /// The page's number.
        page: u64,
    },
    /// Put what a node wrote to its copy into this node's, whose threads may write to it meanwhile.
    Merge {
        /// The page's number.
        page: u64,
        /// The node.
        from: NodeId,
        /// As in [`Message::Return`].
        place: u8,
    },
}

/// A message that cannot come in this state: the peer does not follow the protocol, or runs another version
/// of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The sender.
    pub from: NodeId,
    /// The message.
    pub message: Message,
    /// This node's own access to the page.
    pub access: Access,
}

impl core::fmt::Display for Violation {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(
            f,
            "message {:?} of node {}: out of order, access here: {:?} (expected one that follows the page protocol)",
            self.message, self.from, self.access
        )
    }
}

impl std::error::Error for Violation {}

/// What the home told a holder to do with its copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Demand {
    Drop,
    Pass { to: NodeId, access: Access },
}

/// What the node has borrowed of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Loan {
    Nothing,
    /// It has a copy, to read and write.
    Borrowed,
    /// It has given its copy back, and the home has not said that it has it.
    Returning,
}

/// A node's view of one page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Page {
    access: Access,
    /// Rights that were asked for and not granted yet.
    wanted: Access,
    held: bool,
    /// What to do with the copy when the hold ends.
    demand: Option<Demand>,
    loan: Loan,
    /// The node's order when it asked for what is wanted.
    asked: u64,
}

impl Page {
    /// A page that no node ever asked for.
    fn untouched(is_home: bool) -> Page {
        Page {
            access: if is_home { Access::Write } else { Access::None },
            wanted: Access::None,
            held: false,
            demand: None,
            loan: Loan::Nothing,
            asked: 0,
        }
    }
}

/// A node: its rights to pages, and the directory of the pages whose home it is.
///
/// Pages that no node ever asked for take no memory.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Node {
    me: NodeId,
    nodes: NodeId,
    homes: Homes,
    pages: ByPage<Page>,
    directory: ByPage<Entry>,
    /// Homes that have moved, as far as this node knows.
    moved: ByPage<NodeId>,
    /// Pages with a [`Loan`].
    loans: BTreeSet<u64>,
    lending: Lending,
    order: u64,
}

impl Node {
    /// Node `me` of `nodes`, at most `MAX_NODES`. Every node gets the same `homes`.
    pub fn new(me: NodeId, nodes: NodeId, homes: Homes) -> Node {
        assert!(me < nodes && usize::from(nodes) <= MAX_NODES);
        Node {
            me,
            nodes,
            homes,
            pages: ByPage::default(),
            directory: ByPage::default(),
            moved: ByPage::default(),
            loans: BTreeSet::new(),
            lending: Lending::OFF,
            order: 0,
        }
    }

    /// The node's number.
    pub fn number(&self) -> NodeId {
        self.me
    }

    /// From now on this node lends pages whose home it is, or does not.
    pub fn set_lending(&mut self, lending: Lending) {
        self.lending = lending;
    }

    /// How often this node's threads have met those of others.
    pub fn set_order(&mut self, order: u64) {
        self.order = order;
    }

    /// Would this node lend the page, whose home it is, or has it?
    pub(crate) fn is_to_lend(&self, page: u64) -> bool {
        let entry = self.directory.get(&page);
        entry.is_some_and(|e| e.is_to_lend(self.lending.at(self.order)))
    }

    /// The pages of which this node has borrowed copies.
    pub fn borrowed(&self) -> impl Iterator<Item = u64> + '_ {
        let has = |page: &u64| self.page(*page).loan == Loan::Borrowed;
        self.loans.iter().copied().filter(has)
    }

    /// The number of pages that this node has borrowed, and of which it does not know that their homes have them back.
    pub fn loans(&self) -> usize {
        self.loans.len()
    }

    /// Is the page borrowed, or on its way back?
    pub fn has_loan(&self, page: u64) -> bool {
        self.loans.contains(&page)
    }

    /// Gives the copy back, if the page is borrowed.
    pub fn give_back(&mut self, page: u64, out: &mut Vec<Action>) {
        if self.page(page).loan != Loan::Borrowed {
            return;
        }
        let p = self.page_mut(page);
        (p.loan, p.access) = (Loan::Returning, Access::None);
        let access = Access::None;
        // Protect before the bytes are compared: a later write would be lost.
        out.push(Action::Protect { page, access });
        self.send_back(page, out);
    }

    fn send_back(&self, page: u64, out: &mut Vec<Action>) {
        let message = Message::Return {
            page,
            place: UNCHANGED,
        };
        let to = self.home(page);
        out.push(Action::Send { to, message });
    }

    fn page(&self, page: u64) -> Page {
        self.pages
            .get(&page)
            .copied()
            .unwrap_or_else(|| Page::untouched(self.homes.of(page) == self.me))
    }

    fn page_mut(&mut self, page: u64) -> &mut Page {
        let (me, homes) = (self.me, &self.homes);
        let entry = self.pages.entry(page);
        entry.or_insert_with(|| Page::untouched(homes.of(page) == me))
    }

    /// The page's home, as far as this node knows; its first home knows it always.
    fn home(&self, page: u64) -> NodeId {
        let moved = self.moved.get(&page).copied();
        moved.unwrap_or_else(|| self.homes.of(page))
    }

    /// Learns that `home` is the page's home. False if that cannot be: the first home would know of a move, and homes
    /// move once.
    fn learn(&mut self, page: u64, home: NodeId) -> bool {
        let first = self.homes.of(page);
        let may_move = self.homes.move_once && self.me != first && home < self.nodes;
        if home != self.home(page) && may_move && !self.moved.contains_key(&page) {
            self.moved.insert(page, home);
        }
        home == self.home(page)
    }

    /// What this node's threads may do with the page.
    pub fn access(&self, page: u64) -> Access {
        self.page(page).access
    }

    /// Rights that this node has asked for and not got yet; [`Access::None`] if none.
    pub fn wanted(&self, page: u64) -> Access {
        self.page(page).wanted
    }

    /// Was the page granted and not released yet?
    pub fn is_held(&self, page: u64) -> bool {
        self.page(page).held
    }

    /// Does a peer wait for the end of the page's hold?
    pub(crate) fn is_demanded(&self, page: u64) -> bool {
        self.page(page).demand.is_some()
    }

    /// Did no node ever ask for the page, as far as this node knows?
    pub(crate) fn is_untouched(&self, page: u64) -> bool {
        !self.pages.contains_key(&page)
    }

    /// The home's entry of a page; `None` if this node is not its home, or no node asked for the page.
    pub fn entry(&self, page: u64) -> Option<&Entry> {
        self.directory.get(&page)
    }

    /// A thread of this node faulted. It goes on at the next [`Action::Wake`] of the page, which may be among
    /// `out`. It may fault again: a grant for reading also wakes threads that want to write.
    pub fn fault(&mut self, page: u64, access: Access, out: &mut Vec<Action>) {
        let p = self.page(page);
        if access == Access::None {
            return;
        }
        if p.access >= access {
            // The rights are there: the mapping is not in place yet, or the fault is older than the grant.
            out.push(Action::Protect {
                page,
                access: p.access,
            });
            out.push(Action::Wake { page });
        } else if p.wanted == Access::None {
            let p = self.page_mut(page);
            p.wanted = access;
            if p.loan == Loan::Nothing {
                self.ask(page, out);
            }
        }
    }

    /// Asks for what is wanted of the page.
    fn ask(&mut self, page: u64, out: &mut Vec<Action>) {
        let (to, by, order) = (self.home(page), self.me, self.order);
        let p = self.page_mut(page);
        p.asked = order;
        let access = p.wanted;
        let message = Message::Want { page, access, by };
        out.push(Action::Send { to, message });
    }

    /// From now on the page is held, though no thread of this node was woken for it: who wants it waits for
    /// [`Node::release`]. Not a page of which this node wants more itself: its turn may be behind that of who waits.
    pub fn hold(&mut self, page: u64) {
        let p = self.page(page);
        if p.access != Access::None && p.wanted == Access::None && p.loan == Loan::Nothing {
            self.page_mut(page).held = true;
        }
    }

    /// The page's hold ends: carries out what the home demanded meanwhile.
    pub fn release(&mut self, page: u64, out: &mut Vec<Action>) {
        if !self.page(page).held {
            return;
        }
        let p = self.page_mut(page);
        p.held = false;
        if let Some(demand) = p.demand.take() {
            self.obey(page, demand, out);
        }
    }

    /// Takes a message.
    ///
    /// # Errors
    /// The message cannot come in this state. The node is then useless and the program must end, since memory
    /// may be lost.
    pub fn receive(
        &mut self,
        from: NodeId,
        message: Message,
        out: &mut Vec<Action>,
    ) -> Result<(), Violation> {
        if self.accept(from, message, out) {
            Ok(())
        } else {
            // A message that cannot come has changed nothing.
            let access = self.access(message.page());
            Err(Violation {
                from,
                message,
                access,
            })
        }
    }

    fn accept(&mut self, from: NodeId, message: Message, out: &mut Vec<Action>) -> bool {
        let page = message.page();
        let me = self.me;
        if from >= self.nodes {
            return false;
        }
        match message {
            Message::Want { by, .. } => {
                let first = self.homes.of(page);
                if by >= self.nodes || (by != from && from != first) {
                    return false;
                }
                if first == me && self.home(page) != me {
                    let to = self.home(page);
                    out.push(Action::Send { to, message });
                    return true;
                }
                // The first home says that the home is here now, and only to the node that alone has the page.
                let told = from == first && self.page(page).access == Access::Write;
                (self.home(page) == me || told && self.learn(page, me))
                    && self.tell_directory(by, message, out)
            }
            Message::Dropped { .. } | Message::Taken { .. } => {
                let done = self.home(page) == me && self.tell_directory(from, message, out);
                if done && matches!(message, Message::Taken { .. }) {
                    self.move_home(page);
                }
                done
            }
            Message::Pass { to, access, .. } => {
                to < self.nodes && self.demand(page, from, Demand::Pass { to, access }, out)
            }
            Message::Drop { .. } => self.demand(page, from, Demand::Drop, out),
            Message::Page { access, home, .. } => {
                let p = self.page(page);
                // Who wants to read may get more: a migratory page.
                let enough = p.wanted != Access::None && p.wanted <= access;
                p.access == Access::None && enough && self.learn(page, home) && {
                    self.grant(page, access, out);
                    true
                }
            }
            Message::Lend { .. } => {
                let p = self.page(page);
                let asked = p.access == Access::None && p.wanted != Access::None;
                asked && p.loan == Loan::Nothing && from != me && self.learn(page, from) && {
                    self.borrow(page, out);
                    true
                }
            }
            Message::Return { place, .. } => {
                let at = out.len();
                let done = self.home(page) == me && self.tell_directory(from, message, out);
                if done {
                    out.insert(at, Action::Merge { page, from, place });
                }
                done
            }
            Message::Returned { .. } => {
                self.page(page).loan == Loan::Returning && self.home(page) == from && {
                    self.loans.remove(&page);
                    let p = self.page_mut(page);
                    p.loan = Loan::Nothing;
                    if p.wanted != Access::None {
                        self.ask(page, out);
                    }
                    true
                }
            }
            Message::Grant { .. } => {
                let p = self.page(page);
                p.access == Access::Read && p.wanted == Access::Write && self.learn(page, from) && {
                    self.grant(page, Access::Write, out);
                    true
                }
            }
        }
    }

    /// The copy that was asked for is lent.
    fn borrow(&mut self, page: u64, out: &mut Vec<Action>) {
        let order = self.order;
        self.loans.insert(page);
        let p = self.page_mut(page);
        if p.asked != order {
            p.loan = Loan::Returning;
            return self.send_back(page, out);
        }
        (p.loan, p.access, p.wanted) = (Loan::Borrowed, Access::Write, Access::None);
        let access = Access::Write;
        out.extend([
            Action::Twin { page },
            Action::Protect { page, access },
            Action::Wake { page },
        ]);
    }

    /// Tells the directory what came from a node about a page whose home this node is.
    fn tell_directory(&mut self, from: NodeId, message: Message, out: &mut Vec<Action>) -> bool {
        let (me, page) = (self.me, message.page());
        let lending = self.lending.at(self.order);
        let entry = self.directory.entry(page).or_insert_with(|| Entry::new(me));
        let send = &mut |to, message| out.push(Action::Send { to, message });
        let done = match message {
            Message::Want { access, .. } => entry.want(me, page, from, access, lending, send),
            Message::Dropped { .. } => entry.dropped(page, from, send),
            Message::Return { .. } => entry.returned(me, page, from, lending, send),
            _ => entry.taken(me, page, from, lending, send),
        };
        done.is_ok()
    }

    /// Lets the page's home move to the node that usually writes it, if this is the first home.
    fn move_home(&mut self, page: u64) {
        let writer = self.directory.get(&page).and_then(Entry::usual_writer);
        let may_move = self.homes.move_once && self.homes.of(page) == self.me;
        if let Some(writer) = writer.filter(|w| may_move && *w != self.me) {
            self.directory.remove(&page);
            self.moved.insert(page, writer);
        }
    }

    /// Carries out what the home told, or keeps it until the page's hold ends. False if the message cannot
    /// come now.
    fn demand(&mut self, page: u64, home: NodeId, demand: Demand, out: &mut Vec<Action>) -> bool {
        let p = self.page(page);
        if p.access == Access::None || p.demand.is_some() || !self.learn(page, home) {
            return false;
        }
        let p = self.page_mut(page);
        // Passing a copy for reading takes nothing away from a reader.
        let harmless = matches!(
            demand,
            Demand::Pass {
                access: Access::Read,
                ..
            }
        );
        if p.held && !(harmless && p.access == Access::Read) {
            p.demand = Some(demand);
        } else {
            self.obey(page, demand, out);
        }
        true
    }

    fn obey(&mut self, page: u64, demand: Demand, out: &mut Vec<Action>) {
        let home = self.home(page);
        let p = self.page_mut(page);
        let left = match demand {
            Demand::Pass {
                access: Access::Read,
                ..
            } => Access::Read,
            _ => Access::None,
        };
        if p.access != left {
            p.access = left;
            // Protect before the bytes are sent: a later write would be lost.
            out.push(Action::Protect { page, access: left });
        }
        let (to, message) = match demand {
            Demand::Drop => (home, Message::Dropped { page }),
            Demand::Pass { to, access } => (to, Message::Page { page, access, home }),
        };
        out.push(Action::Send { to, message });
    }

    fn grant(&mut self, page: u64, access: Access, out: &mut Vec<Action>) {
        let to = self.home(page);
        let p = self.page_mut(page);
        p.access = access;
        p.wanted = Access::None;
        p.held = true;
        out.push(Action::Protect { page, access });
        out.push(Action::Wake { page });
        let message = Message::Taken { page };
        out.push(Action::Send { to, message });
    }
}
