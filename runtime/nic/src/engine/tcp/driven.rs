//! The engine around wires that some thread drives: its thread, its queue pairs and their doorbells. `tcp` and `ofi`
//! are this engine, each with its own wires.

use super::drive::{Shared, Wires};
use crate::engine::{ends, Abilities, Bell, QueuePair, TemplateKeys};
use crate::queue_pair::Initiator;
use core::ffi::CStr;
use core::sync::atomic::Ordering;
use hetmp_core::thread;
use std::io;
use std::sync::Arc;

/// Triggered operations run by themselves, and all operations make progress while the initiator computes: the engine
/// has a thread.
pub(in crate::engine) const ABILITIES: Abilities = Abilities {
    triggered: true,
    asynchronous: true,
};

/// The engine of one rank, with its thread. Every queue pair holds it too, so it stops when the engine and its last
/// queue pair are dropped.
pub(in crate::engine) struct Driven<W: Wires> {
    pub(in crate::engine) shared: Arc<Shared<W>>,
    thread: Option<thread::Thread>,
}

impl<W: Wires + 'static> Driven<W> {
    /// Starts the engine's thread under this name.
    pub(in crate::engine) fn start(
        name: &'static CStr,
        shared: Shared<W>,
    ) -> io::Result<Arc<Self>> {
        let shared = Arc::new(shared);
        let of_thread = shared.clone();
        let thread = thread::start(name, move || of_thread.serve())?;
        Ok(Arc::new(Driven {
            shared,
            thread: Some(thread),
        }))
    }

    /// A new queue pair; see [`Engine::queue_pair`](crate::engine::Engine::queue_pair).
    pub(in crate::engine) fn queue_pair(
        self: &Arc<Self>,
        depth: usize,
        keys: TemplateKeys,
    ) -> QueuePair {
        let number = self.shared.queue_pairs.fetch_add(1, Ordering::Relaxed);
        let (initiator, consumer) = ends(depth, number, keys);
        self.shared.join(consumer);
        QueuePair::new(initiator, Box::new(Doorbell(self.clone())))
    }
}

impl<W: Wires> Drop for Driven<W> {
    fn drop(&mut self) {
        self.shared.end();
        if let Some(t) = self.thread.take() {
            // The thread ends on `stop`. It cannot end by a panic, because `panic` is "abort".
            t.join();
        }
    }
}

struct Doorbell<W: Wires>(Arc<Driven<W>>);

impl<W: Wires> Bell for Doorbell<W> {
    #[inline]
    fn rung(&mut self) {
        self.0.shared.rung();
    }

    fn drive(&mut self) -> bool {
        self.0.shared.progress()
    }

    fn wait(&mut self, initiator: &mut Initiator, until: &mut dyn FnMut(&mut Initiator) -> bool) {
        self.0.shared.wait(initiator, until);
    }
}
