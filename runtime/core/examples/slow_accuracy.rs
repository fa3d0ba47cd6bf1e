//! How exact emulated speed is: the same loop at full speed and slowed, interleaved.
//!
//! Prints for each speed and loop length the slow-down that was asked for, the median that was
//! measured, its error, and the spread. With `--check` the exit status is 1 when a loop of 1 ms or
//! more is off by more than 5 %. Takes about half a minute; a busy machine shows in the spread.
//! `--cpu` measures the thread's CPU time instead of elapsed time, which says how exact the burning
//! is where other processes take the cores away.

use hetmp_core::slow::SlowThread;
use std::time::Instant;

fn work(steps: u64) -> u64 {
    let mut x = 1u64;
    for i in 0..steps {
        x = std::hint::black_box(x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(i));
    }
    x
}

fn seconds(cpu: bool, f: impl FnOnce()) -> f64 {
    if cpu {
        let start = cpu_seconds();
        f();
        cpu_seconds() - start
    } else {
        let start = Instant::now();
        f();
        start.elapsed().as_secs_f64()
    }
}

fn cpu_seconds() -> f64 {
    let mut t = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the pointer is to a live timespec, and the clock exists on every Linux.
    unsafe {
        libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut t);
    }
    t.tv_sec as f64 + t.tv_nsec as f64 * 1e-9
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    let check = std::env::args().any(|a| a == "--check");
    let cpu = std::env::args().any(|a| a == "--cpu");
    let per_second = {
        let mut times: Vec<f64> = (0..9)
            .map(|_| {
                seconds(cpu, || {
                    work(10_000_000);
                })
            })
            .collect();
        1e7 / median(&mut times)
    };
    for speed in [1.0, 0.5] {
        let thread = SlowThread::new(speed);
        thread.prepare();
        let mut times: Vec<f64> = (0..101)
            .map(|_| {
                seconds(cpu, || {
                    for _ in 0..1000 {
                        thread.enter();
                        std::hint::black_box(&thread);
                        thread.leave();
                    }
                })
            })
            .collect();
        println!(
            "enter and leave at speed {speed}: {:.1} ns",
            median(&mut times) * 1e6
        );
    }
    println!("  length   speed   asked  measured   error   (least .. most)  runs");
    let mut worst: f64 = 0.0;
    for (name, length, runs) in [
        ("10 us", 1e-5, 301),
        ("100 us", 1e-4, 101),
        ("1 ms", 1e-3, 51),
        ("10 ms", 1e-2, 25),
        ("1 s", 1.0, 3),
    ] {
        let steps = (length * per_second) as u64;
        for speed in [0.33, 0.5, 0.8] {
            let thread = SlowThread::new(speed);
            thread.prepare();
            let mut ratios: Vec<f64> = (0..runs)
                .map(|_| {
                    let plain = seconds(cpu, || {
                        work(steps);
                    });
                    let slowed = seconds(cpu, || {
                        thread.enter();
                        work(steps);
                        thread.leave();
                    });
                    slowed / plain
                })
                .collect();
            let ratio = median(&mut ratios);
            let error = ratio * speed - 1.0;
            if length >= 1e-3 {
                worst = worst.max(error.abs());
            }
            println!(
                "{name:>8}  {speed:>6.2}  {:>6.3}  {ratio:>8.3}  {:>+6.2}%   ({:.3} .. {:.3})  {runs}",
                1.0 / speed,
                error * 100.0,
                ratios[0],
                ratios[runs - 1],
            );
        }
    }
    println!(
        "largest error of loops of 1 ms and more: {:.2} %",
        worst * 100.0
    );
    if check && worst > 0.05 {
        std::process::exit(1);
    }
}
