//! This process as a node of a distributed shared memory: hands to [`crate::across`] what lies above it.

use crate::across::{self, Above, Table};
use crate::team::placement;
use crate::worksharing::{loops, sections};

/// Makes this process a node.
pub fn install(table: &'static Table) {
    let above = Above {
        home: placement::at_home,
        loops: loops::prepare_first,
        sections: sections::prepare_first,
    };
    across::install(table, above);
}

/// What a node other than the origin does all its life: it runs parts of regions, and regions that are to run here
/// alone.
pub fn serve() -> ! {
    across::serve()
}
