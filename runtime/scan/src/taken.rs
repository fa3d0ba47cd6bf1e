//! What a function calls, and which functions it knows by their addresses: the bodies of the tasks that it makes, and
//! everything else that it hands out for others to call.

use crate::graph::Graph;
use crate::nodes::Next;
use crate::{library, Callee, Image, Why};
use std::collections::BTreeSet;

/// Where the code of one function leads. The image is asked about each of its calls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    /// Code of the same object that the function calls, or whose address it takes: each address once, in ascending
    /// order.
    ///
    /// Compilers put the address of a function into a register or into memory as a constant: relative to the
    /// instruction, or, in a program at fixed addresses, as a number. So nothing is missing, but a number that happens
    /// to be an address of code is among them, too. Places within the function itself are left out.
    pub inside: BTreeSet<u64>,
    /// The function takes the address of some code.
    pub takes: bool,
    /// The address of the first call whose target is not known, such as one through a pointer, or of a function that
    /// calls back (`qsort`) by one.
    pub unknown: Option<u64>,
    /// The function reaches thread-local variables.
    pub thread_local: bool,
}

/// Reads the function at `entry`. `budget`: how many instructions may be decoded; reduced by those that were.
///
/// # Errors
/// Why the function cannot be followed, and where.
pub fn reach(image: &dyn Image, entry: u64, budget: &mut usize) -> Result<Reach, (Why, u64)> {
    let graph = Graph::read(image, entry, budget)?;
    let mut taken = BTreeSet::new();
    let mut reach = Reach {
        thread_local: graph.thread_local,
        unknown: graph.lost_page,
        ..Reach::default()
    };
    for node in graph.nodes.values() {
        let i = &node.instruction;
        if let Next::Call { callee, .. } | Next::TailCall(callee) = &node.next {
            match callee {
                Callee::Inside(address) => {
                    reach.inside.insert(*address);
                }
                Callee::Unknown => {
                    reach.unknown.get_or_insert(i.at);
                }
                // The function that it calls back is not the one whose address was taken here.
                Callee::Named(name)
                    if library::calls_argument(name).is_some()
                        && !graph.called_back.contains_key(&i.at) =>
                {
                    reach.unknown.get_or_insert(i.at);
                }
                Callee::Runtime(_) | Callee::Named(_) => {}
            }
        }
        taken.extend(i.names);
    }
    taken.retain(|&address| !graph.nodes.contains_key(&address) && image.code(address).is_some());
    reach.takes = !taken.is_empty();
    reach.inside.append(&mut taken);
    Ok(reach)
}
