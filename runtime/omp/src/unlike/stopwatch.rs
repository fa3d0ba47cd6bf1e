//! How long a thread is in the program's code, in ticks.

use core::cell::Cell;
use hetmp_core::sys::ticks;

/// One thread's stopwatch. It stands still while the thread is in the runtime.
#[derive(Debug)]
pub(super) struct Stopwatch {
    on: Cell<bool>,
    /// Tick at which the thread entered the program's code; 0: it is in the runtime.
    since: Cell<u64>,
    sum: Cell<u64>,
}

impl Stopwatch {
    pub(super) const fn new() -> Stopwatch {
        Stopwatch {
            on: Cell::new(false),
            since: Cell::new(0),
            sum: Cell::new(0),
        }
    }

    pub(super) fn is_on(&self) -> bool {
        self.on.get()
    }

    /// Starts at 0.
    pub(super) fn start(&self) {
        self.on.set(true);
        self.sum.set(0);
        self.go_on();
    }

    /// The thread enters the program's code.
    pub(super) fn go_on(&self) {
        if self.on.get() {
            self.since.set(ticks());
        }
    }

    /// The thread leaves the program's code.
    pub(super) fn pause(&self) {
        let since = self.since.replace(0);
        if since != 0 {
            self.sum.set(self.sum.get() + ticks().wrapping_sub(since));
        }
    }

    /// Stops, and returns the time in ticks.
    pub(super) fn stop(&self) -> u64 {
        self.pause();
        self.on.set(false);
        self.sum.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_stands_still_in_the_runtime() {
        let turn = || {
            let began = ticks();
            while ticks().wrapping_sub(began) < 1000 {}
        };
        let watch = Stopwatch::new();
        watch.go_on();
        watch.pause();
        assert_eq!(watch.stop(), 0, "it is off");
        let began = ticks();
        watch.start();
        turn();
        watch.pause();
        // Leaving the program's code twice counts once.
        watch.pause();
        let paused = ticks();
        turn();
        let rest = ticks().wrapping_sub(paused);
        watch.go_on();
        turn();
        let sum = watch.stop();
        let all = ticks().wrapping_sub(began);
        assert!(sum >= 2000, "{sum}");
        assert!(sum + rest <= all, "{sum} {rest} {all}");
        assert!(!watch.is_on());
    }
}
