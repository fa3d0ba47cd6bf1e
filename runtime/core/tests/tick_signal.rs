//! Threads of slow nodes that look for a new signal at the same time, since the program has taken the one that they
//! had. In a process of its own: the wrong signal at its default action ends the process.

use hetmp_core::slow::SlowThread;
use std::sync::Barrier;

extern "C" fn mine(_: libc::c_int) {}

fn handler_of(signal: libc::c_int) -> usize {
    // SAFETY: the action is live, and all-zero is a valid one.
    unsafe {
        let mut now: libc::sigaction = core::mem::zeroed();
        libc::sigaction(signal, core::ptr::null(), &mut now);
        now.sa_sigaction
    }
}

/// Real-time signals with a handler that is not the program's.
fn of_the_library() -> Vec<libc::c_int> {
    (libc::SIGRTMIN()..=libc::SIGRTMAX())
        .filter(|&s| ![libc::SIG_DFL, mine as *const () as usize].contains(&handler_of(s)))
        .collect()
}

#[test]
fn threads_that_look_at_once_keep_a_handler() {
    const THREADS: usize = 12;
    const ROUNDS: usize = 200;
    let start = Barrier::new(THREADS + 1);
    let end = Barrier::new(THREADS + 1);
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for _ in 0..ROUNDS {
                    // Its first `enter` makes a timer, and asks for the signal.
                    let thread = SlowThread::new(0.5);
                    start.wait();
                    thread.enter();
                    let began = std::time::Instant::now();
                    while began.elapsed().as_micros() < 1500 {
                        core::hint::spin_loop();
                    }
                    thread.leave();
                    end.wait();
                }
            });
        }
        for _ in 0..ROUNDS {
            start.wait();
            end.wait();
            let used = of_the_library();
            assert!(!used.is_empty(), "no signal has a handler of the library");
            for signal in libc::SIGRTMIN()..=libc::SIGRTMAX() {
                // The program takes what the library has, and gives back what it took before.
                let action = if used.contains(&signal) {
                    mine as *const () as usize
                } else {
                    libc::SIG_DFL
                };
                // SAFETY: no other thread changes actions now.
                unsafe { libc::signal(signal, action) };
            }
        }
    });
}
