//! How much one thread is slowed: emulated nodes (`HETMP_NODES` with speeds below 1). And how long it is in
//! the program's code, if that is measured ([`super::stopwatch`]): both follow the boundary between program
//! and runtime.
//!
//! **Data in**: the thread's node, and its position in the program ([`Here`]), from [`crate::boundary`],
//! which threads cross between program and runtime. **Data out**: the thread's own time, which
//! `hetmp_core::slow` makes longer.

use super::speeds::{self, Kernel};
use super::stopwatch::Stopwatch;
use crate::team::seat::Seat;
use core::cell::Cell;
use hetmp_core::slow::SlowThread;
use hetmp_core::topo::Node;

/// Emulated slowness of one thread, and its node.
#[derive(Debug)]
pub(crate) struct SlowState {
    thread: SlowThread,
    /// The thread's node plus one; 0: none yet.
    home: Cell<u32>,
    /// The node is slowed, at least for some kernel.
    slowed: Cell<bool>,
    /// The node is slowed or the stopwatch runs: a thread that crosses the boundary has something to do.
    watched: Cell<bool>,
    stopwatch: Stopwatch,
    /// The code whose kernel was asked for last, and that kernel.
    code: Cell<(usize, Kernel)>,
    /// The loop that the thread is in, if a node schedule hands it out.
    in_loop: Cell<(usize, Here)>,
    /// The kernel that the program has told, and where.
    told: Cell<Option<(Kernel, Here)>>,
}

/// A position in the program: a thread of a region. A team of 0: none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Here {
    /// The team's address.
    pub(crate) team: usize,
    /// The region's number in the team.
    pub(crate) number: u32,
    /// The thread's seat in the team.
    pub(crate) seat: Seat,
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
                    seat: Seat::FIRST,
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

    /// From now on the thread belongs to `node`, whose number is `index`.
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
        // Prepare now, so that no measured loop pays for it.
        self.thread.prepare();
    }

    /// Is the thread's node slowed, at least for some kernel?
    #[inline(always)]
    pub(crate) fn is_slowed(&self) -> bool {
        self.slowed.get()
    }

    /// Is there anything to do for a thread that enters the program's code?
    #[inline(always)]
    pub(crate) fn is_watched(&self) -> bool {
        self.watched.get()
    }

    /// Starts to measure the thread's time in the program's code. The thread is in that code now.
    pub(crate) fn start_watch(&self) {
        self.stopwatch.start();
        self.watched.set(true);
    }

    /// Stops measuring. Returns the ticks in the program's code since [`SlowState::start_watch`].
    pub(crate) fn stop_watch(&self) -> u64 {
        self.watched.set(self.slowed.get());
        self.stopwatch.stop()
    }

    /// The thread begins to run code of the program. It is `here`, in the region of the outlined function
    /// `code`. Outside of regions no thread is slowed.
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
                // The kernel of the loop's function, or else of the region's.
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

    /// The thread, which is `here`, is inside the loop whose key is `key`, or in none (0). Called between
    /// `leave` and `enter`, for slowed threads.
    pub(crate) fn in_loop(&self, here: Here, key: usize) {
        if speeds::active() {
            self.in_loop.set((key, here));
        }
    }

    /// The program tells which kernel the thread runs now; `None`: the kernel follows the code again.
    pub(crate) fn tell(&self, here: Here, kernel: Option<Kernel>) {
        self.told.set(kernel.map(|k| (k, here)));
    }

    /// The thread stops running code of the program. Returns when a slow core would have come this far.
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
