use super::*;
use std::time::{Duration, Instant};

/// Work of `steps` steps, which reads no clock.
fn work(steps: u64) -> u64 {
    let mut x = 1u64;
    for i in 0..steps {
        x = std::hint::black_box(x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(i));
    }
    x
}

/// CPU time of this thread. Other tests of this binary keep all cores busy, and burning takes CPU time too.
fn cpu_seconds() -> f64 {
    timer::cpu_ns() as f64 * 1e-9
}

/// How many times as long `other` takes as `plain`: the median over pairs of runs. Other load on the machine slows
/// both runs of a pair.
fn usual_ratio(runs: usize, mut plain: impl FnMut(), mut other: impl FnMut()) -> f64 {
    let mut ratios: Vec<f64> = (0..runs)
        .map(|_| {
            let start = cpu_seconds();
            plain();
            let between = cpu_seconds();
            other();
            (cpu_seconds() - between) / (between - start)
        })
        .collect();
    ratios.sort_by(f64::total_cmp);
    ratios[runs / 2]
}

/// Repeats `tried` until it succeeds. Other load can spoil tries for a while, so that the tries lie ever further
/// apart (80 s in all); a wrong emulation spoils all of them.
fn sooner_or_later(mut tried: impl FnMut() -> Result<(), String>) {
    let mut tries = Vec::new();
    while let Err(why) = tried() {
        tries.push(why);
        assert!(tries.len() < 13, "{tries:?}");
        std::thread::sleep(Duration::from_millis(10 << tries.len()));
    }
}

/// The example `slow_accuracy` shows the promised accuracy on a quiet machine. These tests run next to others and
/// notice only gross errors.
fn is_twice(what: &str, ratio: f64) -> Result<(), String> {
    if (1.7..2.3).contains(&ratio) {
        Ok(())
    } else {
        Err(format!("{what}: {ratio}"))
    }
}

#[test]
fn full_speed_sets_nothing_up() {
    let thread = SlowThread::new(1.0);
    thread.prepare();
    thread.enter();
    assert!(!thread.is_inside());
    thread.settle();
    thread.leave();
    assert!(thread.account.get().is_null());
}

#[test]
fn speeds_are_limited() {
    for (asked, got) in [
        (f64::NAN, 1.0),
        (2.0, 1.0),
        (0.5, 0.5),
        (0.0, 0.01),
        (-1.0, 0.01),
        (f64::INFINITY, 1.0),
    ] {
        assert_eq!(SlowThread::new(asked).speed(), got, "{asked}");
    }
}

#[test]
fn enter_and_leave_may_repeat() {
    let thread = SlowThread::new(0.9);
    thread.leave();
    thread.enter();
    thread.enter();
    assert!(thread.is_inside());
    thread.leave();
    thread.leave();
    assert!(!thread.is_inside());
}

#[test]
#[ignore = "measures times: a quiet machine is needed"]
fn user_code_takes_as_long_as_asked() {
    sooner_or_later(slowed_by_half);
}

/// An error that says how long a thread at half speed took, if that was not twice the time.
fn slowed_by_half() -> Result<(), String> {
    let thread = SlowThread::new(0.5);
    thread.prepare();
    for steps in [20_000, 3_000_000] {
        let plain = || {
            work(steps);
        };
        let slowed = || {
            thread.enter();
            work(steps);
            thread.leave();
        };
        is_twice(&format!("{steps} steps"), usual_ratio(15, plain, slowed))?;
    }
    // Work in pieces that are settled one by one takes as long in all.
    let plain = || {
        for _ in 0..50 {
            work(20_000);
        }
    };
    let slowed = || {
        thread.enter();
        for _ in 0..50 {
            work(20_000);
            thread.settle();
            assert!(thread.is_inside());
        }
        thread.leave();
    };
    is_twice("settled", usual_ratio(15, plain, slowed))
}

#[test]
fn outside_is_not_slowed() {
    let thread = SlowThread::new(0.1);
    thread.enter();
    work(2_000_000);
    thread.leave();
    sooner_or_later(|| {
        let plain = || {
            work(1_000_000);
        };
        let outside = || {
            let other = SlowThread::new(1.0);
            other.enter();
            work(1_000_000);
        };
        match usual_ratio(10, plain, outside) {
            ratio if (0.67..1.5).contains(&ratio) => Ok(()),
            ratio => Err(format!("{ratio}")),
        }
    });
    assert!(!thread.is_inside());
}

#[test]
#[ignore = "measures times: a quiet machine is needed"]
fn a_sleeping_thread_owes_nothing() {
    sooner_or_later(|| {
        let thread = SlowThread::new(0.25);
        thread.prepare();
        thread.enter();
        let (start, cpu) = (Instant::now(), cpu_seconds());
        // Ticks end the C library's nanosleep early; std then sleeps for the rest.
        std::thread::sleep(Duration::from_millis(60));
        thread.leave();
        let cpu = cpu_seconds() - cpu;
        assert!(start.elapsed() >= Duration::from_millis(60));
        // Had the sleep counted as running, 60 ms would cost another 180 ms. The hundred ticks cost some.
        if cpu < 0.030 {
            Ok(())
        } else {
            Err(format!("{cpu} s"))
        }
    });
}

#[test]
fn timers_come_and_go_with_threads() {
    for _ in 0..50 {
        std::thread::spawn(|| {
            let thread = SlowThread::new(0.5);
            thread.enter();
            work(300_000);
            // Dropped while inside, with the timer set.
        })
        .join()
        .expect("thread");
    }
    let timers = std::fs::read_to_string("/proc/self/timers").unwrap_or_default();
    let signals = timers.matches("ID:").count();
    assert!(signals < 20, "{signals} timers are left");
}

#[test]
#[ignore = "measures times: a quiet machine is needed"]
fn blocked_signals_leave_the_slowing_to_leave() {
    std::thread::spawn(|| {
        let thread = SlowThread::new(0.5);
        thread.prepare();
        // SAFETY: the set is initialised by sigfillset before it is read.
        unsafe {
            let mut all = core::mem::MaybeUninit::<libc::sigset_t>::uninit();
            libc::sigfillset(all.as_mut_ptr());
            libc::pthread_sigmask(libc::SIG_BLOCK, all.as_ptr(), core::ptr::null_mut());
        }
        let plain = || {
            work(2_000_000);
        };
        let slowed = || {
            thread.enter();
            work(2_000_000);
            thread.leave();
        };
        sooner_or_later(|| is_twice("blocked", usual_ratio(9, plain, slowed)));
    })
    .join()
    .expect("thread");
}

#[test]
fn a_forked_child_gets_a_timer_of_its_own() {
    let thread = SlowThread::new(0.5);
    thread.enter();
    work(100_000);
    thread.leave();
    // SAFETY: the child calls nothing that another thread of this test binary may have left
    // locked: its own arithmetic, system calls, and _exit.
    unsafe {
        let child = libc::fork();
        assert!(child >= 0);
        if child == 0 {
            let account = thread.account().expect("set up");
            let old_tid = account.tid.load(Relaxed);
            // The first region is long enough for the thread to notice that ticks are missing. The second sets the
            // timer again.
            for _ in 0..2 {
                thread.enter();
                work(4_000_000);
                thread.leave();
            }
            let own = account.tid.load(Relaxed) == crate::sys::gettid()
                && account.tid.load(Relaxed) != old_tid
                && account.timer.load(Relaxed) >= 0;
            libc::_exit(i32::from(!own));
        }
        let mut status = 0;
        assert_eq!(libc::waitpid(child, &mut status, 0), child);
        assert!(
            libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0,
            "{status}"
        );
    }
}
