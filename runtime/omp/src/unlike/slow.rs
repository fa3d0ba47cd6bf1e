//! How slow one thread is to be: emulated nodes (`HETMP_NODES` with speeds below 1). And how long it is
//! in the program's code, where somebody wants to know ([`super::stopwatch`]): either hangs at the same place.
//!
//! **Data in**: the thread's node, and where in the program it stands ([`Here`]), from whoever crosses the
//! boundary between runtime and program ([`crate::boundary`]). **Data out**: the thread's own time, made
//! longer by `hetmp_core::slow`.

use super::speeds::{self, Kernel};
use super::stopwatch::Stopwatch;
use core::cell::Cell;
use hetmp_core::slow::SlowThread;
use hetmp_core::topo::Node;

/// Emulated slowness of one thread, and the node it was taken to.
#[derive(Debug)]
pub(crate) struct SlowState {
    thread: SlowThread,
    /// The node plus one; 0: none yet.
    home: Cell<u32>,
    /// The node is slowed, for some kernel at least.
    slowed: Cell<bool>,
    /// It is slowed, or `stopwatch` runs: whoever crosses the boundary has something to do.
    watched: Cell<bool>,
    stopwatch: Stopwatch,
    /// The code that was last asked for its kernel, and the answer.
    code: Cell<(usize, Kernel)>,
    /// The loop that the thread is in, where it comes to the scheduler.
    in_loop: Cell<(usize, Here)>,
    /// What the program has told.
    told: Cell<Option<(Kernel, Here)>>,
}

/// A thread of a region; 0 is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Here {
    /// The team's address.
    pub(crate) team: usize,
    /// The region's number in the team.
    pub(crate) number: u32,
    /// The thread's number.
    pub(crate) tid: u32,
}

impl SlowState {
    pub(crate) const fn new() -> SlowState {
        SlowState {
            thread: SlowThread::new(1.0),
            home: Cell::new(0),
            slowed: Cell::new(false),
            watched: Cell::new(false),
            stopwatch: Stopwatch::new(),
            code: Cell::new((0, 0)),
            in_loop: Cell::new((
                0,
                Here {
                    team: 0,
                    number: 0,
                    tid: 0,
                },
            )),
            told: Cell::new(None),
        }
    }

    /// The node that the thread was taken to, plus one; 0: none yet.
    #[inline(always)]
    pub(crate) fn home(&self) -> u32 {
        self.home.get()
    }

    /// The thread belongs to `node`, number `index`, from now on.
    pub(super) fn go_to(&self, index: usize, node: &Node) {
        self.home.set(index as u32 + 1);
        self.slowed.set(node.is_slowed());
        self.watched.set(node.is_slowed() || self.stopwatch.is_on());
        if speeds::active() {
            self.thread.set_speed(speeds::least_speed(index));
            self.code.set((0, 0));
        } else {
            self.thread.set_speed(node.speed);
        }
        // Now, so that no measured loop pays for it.
        self.thread.prepare();
    }

    /// Is the thread's node slowed, for some kernel at least?
    #[inline(always)]
    pub(crate) fn is_slowed(&self) -> bool {
        self.slowed.get()
    }

    /// Is there anything to do for a thread that goes to the program's code?
    #[inline(always)]
    pub(crate) fn is_watched(&self) -> bool {
        self.watched.get()
    }

    /// From now on the thread's time in the program's code is taken. It is there.
    pub(crate) fn start_watch(&self) {
        self.stopwatch.start();
        self.watched.set(true);
    }

    /// The time since [`SlowState::start_watch`] in the program's code, in ticks.
    pub(crate) fn stop_watch(&self) -> u64 {
        self.watched.set(self.slowed.get());
        self.stopwatch.stop()
    }

    /// The thread begins to run code of the program: it is `here`, in the region of the outlined function
    /// `code`. Outside of regions nothing is slowed.
    pub(crate) fn enter(&self, here: Here, code: usize) {
        if speeds::active() {
            self.choose(here, code);
        }
        self.thread.enter();
        self.stopwatch.go_on();
    }

    /// Sets the speed for the code that is about to run.
    fn choose(&self, here: Here, region: usize) {
        let kernel = match self.told.get() {
            Some((kernel, place)) if place == here => kernel,
            _ => {
                // The loop's function, or else the one around it.
                let (code, place) = self.in_loop.get();
                let own = if code != 0 && place == here {
                    self.kernel_of(code)
                } else {
                    0
                };
                match own {
                    0 => self.kernel_of(region),
                    kernel => kernel,
                }
            }
        };
        if let Some(node) = self.home.get().checked_sub(1) {
            self.thread.set_speed(speeds::speed(node as usize, kernel));
        }
    }

    fn kernel_of(&self, code: usize) -> Kernel {
        if code == 0 {
            return 0;
        }
        let (last, kernel) = self.code.get();
        if last == code {
            return kernel;
        }
        let kernel = speeds::of_code(code);
        self.code.set((code, kernel));
        kernel
    }

    /// The thread, which is `here`, is inside the loop whose key is `key`, or in none (0). Between `leave`
    /// and `enter`; of a slowed thread.
    pub(crate) fn in_loop(&self, here: Here, key: usize) {
        if speeds::active() {
            self.in_loop.set((key, here));
        }
    }

    /// The program says which kernel the thread runs now, or (`None`) leaves it to us again.
    pub(crate) fn tell(&self, here: Here, kernel: Option<Kernel>) {
        self.told.set(kernel.map(|k| (k, here)));
    }

    /// The thread stops running code of the program: returns when a slow core would have come this
    /// far.
    #[inline(always)]
    pub(crate) fn leave(&self) {
        if self.watched.get() {
            self.leave_watched();
        }
    }

    #[cold]
    fn leave_watched(&self) {
        self.thread.leave();
        self.stopwatch.pause();
    }
}
