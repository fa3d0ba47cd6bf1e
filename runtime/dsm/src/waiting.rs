//! This node's threads, which wait for what they shall do.
//!
//! They are started before the view is mapped. The C library's function that starts a thread reads and writes a
//! variable (`__libc_single_threaded`) that lies in the program's own data if the program uses the variable, as C++'s
//! shared pointers do. In the view that page is absent, and there would be no thread yet to serve the fault.

use crate::driver::STACK;
use crate::NodeId;
use std::sync::mpsc;

pub(crate) const FAULTS: &str = "hetmp-dsm-fault";
pub(crate) const MESSAGE: &str = "hetmp-dsm-msg";
pub(crate) const END: &str = "hetmp-dsm-end";

pub(crate) type Body = Box<dyn FnOnce() + Send>;

/// See the [module](self).
pub(crate) struct Waiting(Vec<(&'static str, mpsc::Sender<Body>)>);

impl Waiting {
    pub(crate) fn start(me: NodeId, faults: usize, end: bool) -> Result<Waiting, String> {
        let names = core::iter::repeat_n(FAULTS, faults)
            .chain([MESSAGE])
            .chain(end.then_some(END));
        let threads = names.map(|name| {
            let (give, take) = mpsc::channel::<Body>();
            // The stack's size is given. Without it the standard library would look for one in the environment, and the
            // program's `environ` may lie in shared pages.
            std::thread::Builder::new()
                .name(name.to_owned())
                .stack_size(STACK)
                .spawn(move || take.recv().into_iter().for_each(|body| body()))
                .map(|_| (name, give))
                .map_err(|e| format!("thread of node {me}: {e}"))
        });
        threads.collect::<Result<_, _>>().map(Waiting)
    }

    /// Lets the next thread of this name do what it shall.
    pub(crate) fn run(&mut self, name: &str, body: Body) {
        let at = self.0.iter().position(|t| t.0 == name);
        let thread = at.map(|at| self.0.swap_remove(at));
        let given = thread.is_some_and(|t| t.1.send(body).is_ok());
        assert!(given, "a thread {name} waits");
    }
}
