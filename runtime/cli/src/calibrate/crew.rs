//! Threads on the CPUs of nodes that do pieces of work together. Each runs at the speed of its node.

use hetmp_core::slow::SlowThread;
use hetmp_core::topo::{set_affinity, CpuSet, Node};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// The barrier of a crew.
pub(super) struct Meeting {
    size: usize,
    arrived: AtomicUsize,
    round: AtomicUsize,
}

/// Turns of spinning before a waiting thread gives its CPU away.
const SPINS: u32 = 20_000;

impl Meeting {
    fn new(size: usize) -> Self {
        Meeting {
            size,
            arrived: AtomicUsize::new(0),
            round: AtomicUsize::new(0),
        }
    }

    /// Returns when all threads have come. What each thread did before is visible to all afterwards.
    pub(super) fn wait(&self) {
        let round = self.round.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.size {
            self.arrived.store(0, Ordering::Relaxed);
            self.round.store(round + 1, Ordering::Release);
            return;
        }
        let mut turns = 0;
        while self.round.load(Ordering::Acquire) == round {
            turns += 1;
            if turns % SPINS == 0 {
                std::thread::yield_now();
            }
            std::hint::spin_loop();
        }
    }
}

/// One thread of a crew.
pub(super) struct Member<'a> {
    /// Its number. Threads are numbered node by node.
    pub(super) index: usize,
    /// Its node's index.
    pub(super) node: usize,
    /// Its number among the threads of its node, and the number of these threads.
    pub(super) rank: (usize, usize),
    meeting: &'a Meeting,
    slow: SlowThread,
}

impl Member<'_> {
    pub(super) fn meet(&self) {
        self.meeting.wait();
    }

    /// Runs `work` at the node's speed, and returns how many seconds it took.
    pub(super) fn run(&self, work: impl FnOnce()) -> f64 {
        let start = Instant::now();
        self.slow.enter();
        work();
        self.slow.leave();
        start.elapsed().as_secs_f64()
    }
}

/// Runs `work` on one thread for each CPU of `nodes`, at the speed that each node has for the kernel `kernel`.
/// Returns the results in the order of threads.
pub(super) fn run<T: Send>(
    nodes: &[&Node],
    kernel: &str,
    work: impl Fn(&Member<'_>) -> T + Sync,
) -> Vec<T> {
    let size = nodes.iter().map(|n| n.cpus.count()).sum();
    let meeting = Meeting::new(size);
    let (meeting, work) = (&meeting, &work);
    std::thread::scope(|scope| {
        let mut handles = Vec::with_capacity(size);
        for (at, node) in nodes.iter().enumerate() {
            let speed = node.speed_for(kernel);
            let threads = node.cpus.count();
            for (rank, cpu) in node.cpus.iter().enumerate() {
                let index = handles.len();
                handles.push(scope.spawn(move || {
                    // If this CPU is not there any more, the thread runs on any CPU.
                    let _ = set_affinity(&CpuSet::from_iter([cpu]));
                    let member = Member {
                        index,
                        node: at,
                        rank: (rank, threads),
                        meeting,
                        slow: SlowThread::new(speed),
                    };
                    member.slow.prepare();
                    work(&member)
                }));
            }
        }
        handles
            .into_iter()
            // The program is built with `panic = "abort"`, so every thread that ends has a result.
            .map(|h| h.join().expect("no thread panics"))
            .collect()
    })
}

/// The median.
pub(super) fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
