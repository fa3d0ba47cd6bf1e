//! The model of a slave's DMA engine, and of the slave's access to single words of the master's memory.
//!
//! Time is the machine's clock. A transfer is copied at once (its source does not change until it is done), but
//! counts as done only at the time that the model gives. Each slave has an engine that moves one transfer after the
//! other. The engines of a cluster share the cluster's memory, which accesses to single words keep busy too. This is
//! the paper's explanation for why many slaves get less bandwidth each than few.
//!
//! # Memory ordering
//! The time until which the memory is busy is one word, to which slaves add by compare-exchange. It orders nothing
//! else, so it is relaxed. (It belongs to the model of a memory controller, not to a queue.)

use crate::platform::Platform;
use core::cell::Cell;
use core::sync::atomic::{AtomicU64, Ordering};
use hetmp_core::park::Spinner;
use hetmp_core::sys::{self, monotonic_ns};

/// The memory of a cluster, with the time until which it is busy (ns).
#[derive(Debug, Default)]
pub struct Controller(crossbeam_utils::CachePadded<AtomicU64>);

impl Controller {
    /// An idle memory.
    #[must_use]
    pub const fn new() -> Controller {
        Controller(crossbeam_utils::CachePadded::new(AtomicU64::new(0)))
    }

    /// Reserves the memory for `ns`, beginning at `from` or as soon as it is free. Returns the end of that time.
    fn reserve(&self, from: u64, ns: u64) -> u64 {
        let mut busy = self.0.load(Ordering::Relaxed);
        loop {
            let end = busy.max(from) + ns;
            match self
                .0
                .compare_exchange_weak(busy, end, Ordering::Relaxed, Ordering::Relaxed)
            {
                Ok(_) => return end,
                Err(now) => busy = now,
            }
        }
    }
}

/// The engine of one slave. Only the slave's thread uses it.
#[derive(Debug)]
pub struct Engine {
    model: Option<Model>,
    controller: &'static Controller,
    busy: Cell<u64>,
}

#[derive(Clone, Copy, Debug)]
struct Model {
    /// Nanoseconds per byte: of one slave, and of the whole cluster.
    slave: f64,
    cluster: f64,
    latency: f64,
    direct: u64,
    occupancy: u64,
}

impl Engine {
    /// The engine of a slave of this platform.
    #[must_use]
    pub fn new(platform: &Platform, controller: &'static Controller) -> Engine {
        let model = (platform.dma.is_some() || platform.direct.is_some()).then(|| {
            let k = platform.scale;
            let dma = platform.dma;
            Model {
                slave: dma.map_or(0.0, |d| k / d.slave),
                cluster: dma.map_or(0.0, |d| k / d.cluster),
                latency: dma.map_or(0.0, |d| k * d.latency),
                direct: platform.direct.map_or(0, |d| (k * d.latency) as u64),
                occupancy: platform.direct.map_or(0, |d| (k * d.occupancy) as u64),
            }
        });
        Engine {
            model,
            controller,
            busy: Cell::new(0),
        }
    }

    /// Starts a transfer of `bytes`, which the caller copies. Returns the time (ns) at which the transfer is done; 0
    /// if it is done at once.
    pub fn start(&self, bytes: usize) -> u64 {
        let Some(m) = self.model else { return 0 };
        let now = monotonic_ns();
        let own = now.max(self.busy.get()) + (bytes as f64 * m.slave) as u64;
        // From now on, not from the time at which this engine is free: what is reserved in the future leaves the memory
        // idle until then, and the other slaves' transfers come after it.
        let shared = self
            .controller
            .reserve(now, (bytes as f64 * m.cluster) as u64);
        let end = own.max(shared);
        self.busy.set(end);
        end + m.latency as u64
    }

    /// True if that time has come.
    #[inline]
    pub fn done(&self, at: u64) -> bool {
        at == 0 || monotonic_ns() >= at
    }

    /// Waits until that time.
    pub fn wait(&self, at: u64) {
        let mut spinner = Spinner::new();
        while !self.done(at) {
            if spinner.turn() {
                continue;
            }
            let left = at.saturating_sub(monotonic_ns());
            // A sleep takes some 60 us longer than asked.
            if left > 200_000 {
                sys::nap(left - 100_000);
            } else {
                hetmp_core::park::rest();
            }
        }
    }

    /// Waits as long as one access to a word of the master's memory takes.
    #[inline]
    pub fn direct_access(&self) {
        if let Some(m) = self.model {
            if m.direct != 0 || m.occupancy != 0 {
                let end = self.controller.reserve(monotonic_ns(), m.occupancy);
                self.wait(end + m.direct);
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn transfers_take_the_modelled_time_one_after_the_other() {
        static MEMORY: Controller = Controller::new();
        let platform = Platform::from_env(Some(b"sw26010,scale=1000")).expect("platform");
        let engine = Engine::new(&platform, &MEMORY);
        let began = monotonic_ns();
        let (first, second) = (engine.start(8000), engine.start(8000));
        // 8000 bytes at 8 GB/s take 1 us, scaled by 1000; the latency is 0.27 ms.
        assert!(first >= began + 1_270_000 && second >= first + 1_000_000);
        assert!(!engine.done(second));
        engine.wait(second);
        assert!(monotonic_ns() >= second);
    }

    #[test]
    fn a_busy_engine_leaves_no_hole_in_the_memory_s_time() {
        static MEMORY: Controller = Controller::new();
        let platform = Platform::from_env(Some(b"sw26010,scale=100000")).expect("platform");
        let engines: Vec<Engine> = (0..8).map(|_| Engine::new(&platform, &MEMORY)).collect();
        let began = monotonic_ns();
        // 28000 bytes keep the memory busy for 0.1 s, and one engine for 0.35 s: four each, and the memory's time has
        // no hole.
        for engine in &engines {
            for _ in 0..4 {
                engine.start(28_000);
            }
        }
        let busy = MEMORY.0.load(Ordering::Relaxed) - began;
        assert!((3_200_000_000..3_700_000_000).contains(&busy), "{busy}");
    }

    #[test]
    fn many_engines_share_the_memory() {
        static MEMORY: Controller = Controller::new();
        let platform = Platform::from_env(Some(b"sw26010,scale=1000")).expect("platform");
        let began = monotonic_ns();
        let last = (0..64)
            .map(|_| Engine::new(&platform, &MEMORY).start(28_000))
            .max()
            .expect("some");
        // 64 transfers of 28000 bytes at 28 GB/s, scaled by 1000.
        assert!(last >= began + 64_000_000, "{}", last - began);
    }
}
