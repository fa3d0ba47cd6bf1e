//! The instructions of one function, by their numbers in the order of addresses.

use std::collections::BTreeMap;

use crate::code::Instruction;
use crate::library;
use crate::Callee;

/// Where an instruction leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// To the instruction behind it.
    Fall,
    /// Elsewhere in the function.
    Jump(u64),
    /// Elsewhere, or behind it.
    Branch(u64),
    /// Into a function and then behind it, or to where the exception tables
    /// say.
    Call {
        callee: Callee,
        pad: Option<Landing>,
        /// Nothing of the caller stands behind the call: it ends the program, or leaves by an exception.
        last: bool,
    },
    /// Into a function, and then back to the caller.
    TailCall(Callee),
    /// Back to the caller.
    Return,
    /// Nowhere: a trap.
    Stop,
}

impl Next {
    /// Is this a call that does not return?
    pub(crate) fn never_comes_back(&self) -> bool {
        match self {
            Next::Call { last: true, .. } => true,
            Next::Call {
                callee: Callee::Named(name),
                ..
            } => library::never_returns(name),
            _ => false,
        }
    }
}

/// Where an exception continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Landing {
    pub(crate) address: u64,
    /// Bytes that the stack pointer is raised by on the way.
    pub(crate) pushed: i64,
}

/// One instruction.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) instruction: Instruction,
    pub(crate) next: Next,
    /// A path begins here, or paths meet.
    pub(crate) leads: bool,
}

impl Node {
    /// Addresses of the instructions that may come after it.
    pub(crate) fn successors(&self) -> [Option<u64>; 2] {
        let behind = Some(self.instruction.behind);
        match &self.next {
            Next::Fall => [behind, None],
            Next::Jump(target) => [Some(*target), None],
            Next::Branch(target) => [Some(*target), behind],
            Next::Call { pad, .. } => {
                let ends = self.next.never_comes_back();
                [pad.map(|pad| pad.address), behind.filter(|_| !ends)]
            }
            Next::TailCall(_) | Next::Return | Next::Stop => [None, None],
        }
    }
}

/// The numbers of instructions by their addresses. Nearly all of a function lies in one piece, where a table has the
/// number for each byte: it is looked up at every step of the analysis.
#[derive(Debug, Default)]
pub(crate) struct Numbers {
    /// Address of the first byte of `near`.
    base: u64,
    /// For each byte 0, or the number of the instruction that begins there, plus 1.
    near: Vec<u32>,
    /// Those that lie elsewhere: unlikely code that was placed apart.
    far: BTreeMap<u64, u32>,
}

impl Numbers {
    /// How many bytes of a function are in the table.
    const NEAR: u64 = 1 << 20;

    pub(crate) fn from(base: u64) -> Numbers {
        Numbers {
            base,
            ..Numbers::default()
        }
    }

    pub(crate) fn get(&self, address: u64) -> Option<usize> {
        let offset = address.wrapping_sub(self.base);
        let number = if offset < Numbers::NEAR {
            self.near.get(offset as usize)?.checked_sub(1)?
        } else {
            *self.far.get(&address)?
        };
        Some(number as usize)
    }

    pub(crate) fn insert(&mut self, address: u64, number: usize) {
        let Ok(number) = u32::try_from(number) else {
            return;
        };
        let offset = address.wrapping_sub(self.base);
        if offset >= Numbers::NEAR {
            self.far.insert(address, number);
            return;
        }
        let offset = offset as usize;
        if offset >= self.near.len() {
            self.near.resize(offset + 1, 0);
        }
        self.near[offset] = number + 1;
    }

    /// All numbers, in the order of the addresses.
    fn in_order(&self) -> impl Iterator<Item = usize> + '_ {
        let near = self.near.iter().filter_map(|&number| number.checked_sub(1));
        let below = self.far.range(..self.base).map(|(_, &number)| number);
        let above = self.far.range(self.base..).map(|(_, &number)| number);
        below.chain(near).chain(above).map(|number| number as usize)
    }
}

/// Instructions in the order of their addresses.
#[derive(Debug, Default)]
pub(crate) struct Nodes {
    all: Vec<Node>,
    numbers: Numbers,
}

impl Nodes {
    /// `found` has the instructions in the order in which they were decoded, and `numbers` their places in it.
    pub(crate) fn sorted(found: Vec<Node>, numbers: &Numbers) -> Nodes {
        let mut found: Vec<Option<Node>> = found.into_iter().map(Some).collect();
        let in_order = numbers.in_order();
        let all: Vec<Node> = in_order
            .filter_map(|number| found.get_mut(number)?.take())
            .collect();
        let mut numbers = Numbers::from(numbers.base);
        for (number, node) in all.iter().enumerate() {
            numbers.insert(node.instruction.at, number);
        }
        Nodes { all, numbers }
    }

    /// The number of the instruction at `address`.
    pub(crate) fn number(&self, address: u64) -> Option<usize> {
        self.numbers.get(address)
    }

    /// The instruction with this number.
    pub(crate) fn at(&self, number: usize) -> Option<&Node> {
        self.all.get(number)
    }

    pub(crate) fn get(&self, address: &u64) -> Option<&Node> {
        self.at(self.number(*address)?)
    }

    pub(crate) fn contains_key(&self, address: &u64) -> bool {
        self.number(*address).is_some()
    }

    /// The numbers of the instructions that may come after one of these.
    pub(crate) fn successors(&self, node: &Node) -> [Option<usize>; 2] {
        node.successors()
            .map(|to| to.and_then(|to| self.number(to)))
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    /// Their addresses.
    pub(crate) fn keys(&self) -> impl Iterator<Item = u64> + '_ {
        self.all.iter().map(|node| node.instruction.at)
    }

    pub(crate) fn values_mut(&mut self) -> std::slice::IterMut<'_, Node> {
        self.all.iter_mut()
    }

    pub(crate) fn values(&self) -> std::slice::Iter<'_, Node> {
        self.all.iter()
    }
}

impl std::ops::Index<&u64> for Nodes {
    type Output = Node;

    fn index(&self, address: &u64) -> &Node {
        self.get(address).expect("the address of an instruction")
    }
}
