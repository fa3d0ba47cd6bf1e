//! A line on standard error that says how far a command is and how long the rest may take, where somebody watches. It
//! replaces itself, and goes with its value.

use crate::columns::time;
use std::io::IsTerminal as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// How often the line may change, milliseconds.
const INTERVAL: u64 = 100;

pub(crate) struct Progress {
    begin: Instant,
    of: u64,
    watched: bool,
    /// When the line last changed, in milliseconds since the beginning; 0: never.
    shown: AtomicU64,
}

impl Progress {
    /// `of` steps, which are assumed to take equally long.
    pub(crate) fn new(of: usize) -> Progress {
        Progress {
            begin: Instant::now(),
            of: of as u64,
            watched: std::io::stderr().is_terminal(),
            shown: AtomicU64::new(0),
        }
    }

    /// `done` steps are over, and `name` begins.
    pub(crate) fn at(&self, done: usize, name: &str) {
        let now = self.begin.elapsed().as_millis() as u64;
        // Relaxed: two threads that both write the line do no harm.
        let shown = self.shown.load(Ordering::Relaxed);
        if !self.watched || (shown > 0 && now < shown + INTERVAL) {
            return;
        }
        self.shown.store(now.max(1), Ordering::Relaxed);
        let left = match done as u64 {
            0 => String::new(),
            done => {
                let ns = now * 1_000_000 / done * self.of.saturating_sub(done);
                format!(", about {} left", time(ns))
            }
        };
        eprint!("\r\x1b[K{} of {}, {name}{left}", done + 1, self.of);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.watched {
            eprint!("\r\x1b[K");
        }
    }
}
