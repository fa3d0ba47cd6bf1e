//! Code that can tell other threads nothing, but through the runtime.
//!
//! Threads of a program without data races learn of each other's writes by atomic operations, locks, and what the
//! runtime or the system does for them. On x86-64 atomic loads and weak atomic stores look as any others. But gcc makes
//! each atomic store, of floating-point numbers, too, from a general register or a constant; and what it adds to memory
//! without a lock prefix is not atomic. So a function that gcc made is mute, if what it stores outside of its frame
//! is stored from vector or floating-point registers or is an operation on what is there, and if it has no locked
//! instruction and no fence and calls nothing but mathematics and entries of the runtime. (clang makes such atomic
//! stores from vector registers.)

use crate::code::{Flow, Instruction, Op, STACK};
use crate::graph::Graph;
use crate::nodes::Next;
use crate::{library, Callee, Entry, Image, Machine};

/// Instructions that are read.
const MOST: usize = 10_000;

/// Can the function at `entry`, which gcc made, tell other threads nothing, but when it calls an entry of the runtime?
///
/// # Errors
/// The address of an instruction that may tell something.
pub fn is_mute(image: &dyn Image, entry: u64) -> Result<(), u64> {
    if image.machine() == Machine::A64 {
        return Err(entry);
    }
    let mut budget = MOST;
    let graph = Graph::read(image, entry, &mut budget).map_err(|(_, at)| at)?;
    let tells = |i: &Instruction, next: &Next| match next {
        Next::Call { callee, .. } | Next::TailCall(callee) => !calls_nobody(callee),
        _ => stores(i),
    };
    let mut all = graph.nodes.values();
    match all.find(|node| tells(&node.instruction, &node.next)) {
        Some(node) => Err(node.instruction.at),
        None => Ok(()),
    }
}

fn calls_nobody(callee: &Callee) -> bool {
    match callee {
        Callee::Named(name) => {
            library::is_mathematics(name) || library::base(name) == "__stack_chk_fail"
        }
        Callee::Runtime(entry) => matches!(
            entry,
            Entry::ThreadNumber
                | Entry::TeamSize
                | Entry::Barrier
                | Entry::Single
                | Entry::LoopDispatch
                | Entry::Critical
                | Entry::Atomic
                | Entry::AtomicEnd
        ),
        Callee::Inside(_) | Callee::Unknown => false,
    }
}

/// Does the instruction store to memory in a way that may be atomic, or order what others store?
fn stores(i: &Instruction) -> bool {
    let atomic = matches!(i.op, Op::Swap | Op::FetchAdd | Op::CompareAndSwap);
    if i.is_locked || i.op == Op::Fence || atomic && i.address.is_some() {
        return true;
    }
    if !i.stores() || i.op == Op::Push || matches!(i.flow, Flow::Calls(_)) {
        return false;
    }
    let Some(address) = i.address else {
        return true;
    };
    let of_frame = !address.is_of_thread && address.base.is_some_and(|base| base.is(STACK));
    let of_vector =
        (i.operands().iter()).any(|o| o.register().is_some_and(|r| r.vector().is_some()));
    let operates = i.loads() && i.op != Op::Pop;
    !(of_frame || of_vector || i.uses_floats || operates)
}
