//! Does the work of `c-tests/bench/mq_spsc.c` with queues of Rust crates: rtrb, message by message and in
//! chunks, crossbeam's `ArrayQueue`, and nexus-queue (8 bytes only). Two threads, each on a CPU of its own, wait by
//! spinning only.
//!
//! `spsc_peers rtrb|rtrb-chunk|array|nexus 8|16384 SLOTS MESSAGES` prints the seconds that all messages took.
//! `scripts/bench mq` starts it.

use std::mem::MaybeUninit;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use crossbeam_queue::ArrayQueue;
use rtrb::RingBuffer;

/// Messages in a chunk.
const CHUNK: usize = 64;
/// Buffers that the sender copies large messages from.
const SOURCES: usize = 8;
const WORDS: usize = 16384 / 8;
type Large = [u64; WORDS];

/// A message. The sender fills it from its number, the receiver adds its content to a sum.
trait Message: Copy + Send + 'static {
    /// Writes message `i` to `to`.
    fn fill(i: u64, source: &[Large; SOURCES], to: &mut MaybeUninit<Self>);
    fn sum(&self) -> u64;
}

impl Message for u64 {
    #[inline(always)]
    fn fill(i: u64, _: &[Large; SOURCES], to: &mut MaybeUninit<u64>) {
        to.write(i);
    }
    #[inline(always)]
    fn sum(&self) -> u64 {
        *self
    }
}

impl Message for Large {
    #[inline(always)]
    fn fill(i: u64, source: &[Large; SOURCES], to: &mut MaybeUninit<Large>) {
        let from = &source[i as usize % SOURCES];
        // Copying in place keeps the large message off the stack.
        // SAFETY: both pointers are to whole messages. They do not overlap: `to` is borrowed mutably.
        unsafe { std::ptr::copy_nonoverlapping(from, to.as_mut_ptr(), 1) };
    }
    #[inline(always)]
    fn sum(&self) -> u64 {
        self.iter().fold(0, |sum, word| sum.wrapping_add(*word))
    }
}

/// Binds the calling thread to the `n`-th CPU in `allowed`.
fn pin(allowed: &libc::cpu_set_t, n: usize) {
    // SAFETY: the sets are live and of the size that is passed; CPU numbers are below CPU_SETSIZE.
    unsafe {
        let mut one: libc::cpu_set_t = std::mem::zeroed();
        let cpu = (0..libc::CPU_SETSIZE as usize)
            .filter(|&cpu| libc::CPU_ISSET(cpu, allowed))
            .nth(n);
        if let Some(cpu) = cpu {
            libc::CPU_SET(cpu, &mut one);
            libc::sched_setaffinity(0, size_of_val(&one), &one);
        }
    }
}

fn allowed_cpus() -> libc::cpu_set_t {
    // SAFETY: the set is live and of the size that is passed.
    unsafe {
        let mut all: libc::cpu_set_t = std::mem::zeroed();
        libc::sched_getaffinity(0, size_of_val(&all), &mut all);
        all
    }
}

/// Runs both threads. Returns the seconds from the first message to the receipt of the last one, and the sum.
fn both(send: impl FnOnce() + Send, receive: impl FnOnce() -> u64 + Send + 'static) -> (f64, u64) {
    let allowed = allowed_cpus();
    // Set once the receiver runs on its own CPU.
    static THERE: AtomicBool = AtomicBool::new(false);
    let receiver = std::thread::spawn(move || {
        pin(&allowed, 1);
        THERE.store(true, Ordering::Release);
        let sum = receive();
        (Instant::now(), sum)
    });
    // The kernel may start the receiver on this CPU. A sender that spins already would keep the receiver waiting for
    // some milliseconds, until the kernel switches threads. So send only once the receiver has its own CPU.
    while !THERE.load(Ordering::Acquire) {
        std::thread::yield_now();
    }
    pin(&allowed, 0);
    let began = Instant::now();
    send();
    let (ended, sum) = receiver.join().expect("the receiver does not panic");
    (ended.duration_since(began).as_secs_f64(), sum)
}

fn rtrb<T: Message>(n: u64, slots: usize, source: &[Large; SOURCES]) -> (f64, u64) {
    let (mut producer, mut consumer) = RingBuffer::<T>::new(slots);
    both(
        || {
            for i in 0..n {
                let mut chunk = loop {
                    match producer.write_chunk_uninit(1) {
                        Ok(chunk) => break chunk,
                        Err(_) => std::hint::spin_loop(),
                    }
                };
                T::fill(i, source, &mut chunk.as_mut_slices().0[0]);
                // SAFETY: the chunk's one message was written.
                unsafe { chunk.commit_all() };
            }
        },
        move || {
            let mut sum = 0u64;
            for _ in 0..n {
                let chunk = loop {
                    match consumer.read_chunk(1) {
                        Ok(chunk) => break chunk,
                        Err(_) => std::hint::spin_loop(),
                    }
                };
                sum = sum.wrapping_add(chunk.as_slices().0[0].sum());
                chunk.commit_all();
            }
            sum
        },
    )
}

/// Messages one by one through a queue's own `push` (true if there was room) and `pop`, which are tried until they
/// succeed. Inlined, so that a queue may keep its positions in registers.
#[inline(always)]
fn single<T: Message>(
    n: u64,
    source: &[Large; SOURCES],
    mut push: impl FnMut(T) -> bool + Send,
    mut pop: impl FnMut() -> Option<T> + Send + 'static,
) -> (f64, u64) {
    both(
        move || {
            for i in 0..n {
                let mut message = MaybeUninit::uninit();
                T::fill(i, source, &mut message);
                // SAFETY: `fill` wrote it.
                let message = unsafe { message.assume_init() };
                while !push(message) {
                    std::hint::spin_loop();
                }
            }
        },
        move || {
            let mut sum = 0u64;
            for _ in 0..n {
                let message = loop {
                    match pop() {
                        Some(message) => break message,
                        None => std::hint::spin_loop(),
                    }
                };
                sum = sum.wrapping_add(message.sum());
            }
            sum
        },
    )
}

fn rtrb_push(n: u64, slots: usize, source: &[Large; SOURCES]) -> (f64, u64) {
    let (mut producer, mut consumer) = RingBuffer::<u64>::new(slots);
    single(
        n,
        source,
        move |message| producer.push(message).is_ok(),
        move || consumer.pop().ok(),
    )
}

fn nexus(n: u64, slots: usize, source: &[Large; SOURCES]) -> (f64, u64) {
    let (producer, consumer) = nexus_queue::spsc::ring_buffer::<u64>(slots);
    single(
        n,
        source,
        move |message| producer.push(message).is_ok(),
        move || consumer.pop(),
    )
}

fn array<T: Message>(n: u64, slots: usize, source: &[Large; SOURCES]) -> (f64, u64) {
    let queue = std::sync::Arc::new(ArrayQueue::<T>::new(slots));
    let other = std::sync::Arc::clone(&queue);
    single(
        n,
        source,
        move |message| queue.push(message).is_ok(),
        move || other.pop(),
    )
}

fn rtrb_chunk<T: Message>(n: u64, slots: usize, source: &[Large; SOURCES]) -> (f64, u64) {
    let (mut producer, mut consumer) = RingBuffer::<T>::new(slots);
    both(
        || {
            let mut i = 0;
            while i < n {
                let want = CHUNK.min(producer.slots()).min((n - i) as usize);
                if want == 0 {
                    std::hint::spin_loop();
                    continue;
                }
                let mut chunk = producer
                    .write_chunk_uninit(want)
                    .expect("as many were free");
                let (first, second) = chunk.as_mut_slices();
                for slot in first.iter_mut().chain(second) {
                    T::fill(i, source, slot);
                    i += 1;
                }
                // SAFETY: every message of the chunk was written.
                unsafe { chunk.commit_all() };
            }
        },
        move || {
            let (mut sum, mut i) = (0u64, 0);
            while i < n {
                let want = CHUNK.min(consumer.slots());
                if want == 0 {
                    std::hint::spin_loop();
                    continue;
                }
                let chunk = consumer.read_chunk(want).expect("as many were there");
                let (first, second) = chunk.as_slices();
                for message in first.iter().chain(second) {
                    sum = sum.wrapping_add(message.sum());
                }
                chunk.commit_all();
                i += want as u64;
            }
            sum
        },
    )
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let parsed = match words.as_slice() {
        [what, bytes, slots, messages] => match (slots.parse::<usize>(), messages.parse::<u64>()) {
            (Ok(slots), Ok(n)) if slots > 0 && n > 0 => Some((*what, *bytes, slots, n)),
            _ => None,
        },
        _ => None,
    };
    let mut source = Box::new([[0u64; WORDS]; SOURCES]);
    for (i, word) in source.iter_mut().flatten().enumerate() {
        *word = (i as u64).wrapping_mul(2_654_435_761);
    }
    let run = parsed.and_then(|(what, bytes, slots, n)| {
        Some(match (what, bytes) {
            ("rtrb", "8") => (n, false, rtrb_push(n, slots, &source)),
            ("nexus", "8") => (n, false, nexus(n, slots, &source)),
            ("rtrb-chunk", "8") => (n, false, rtrb_chunk::<u64>(n, slots, &source)),
            ("array", "8") => (n, false, array::<u64>(n, slots, &source)),
            ("rtrb", "16384") => (n, true, rtrb::<Large>(n, slots, &source)),
            ("rtrb-chunk", "16384") => (n, true, rtrb_chunk::<Large>(n, slots, &source)),
            ("array", "16384") => (n, true, array::<Large>(n, slots, &source)),
            _ => return None,
        })
    });
    let Some((n, large, (seconds, sum))) = run else {
        eprintln!(
            "hetmp: arguments {words:?} (expected rtrb|rtrb-chunk|array|nexus 8|16384 SLOTS MESSAGES)"
        );
        return ExitCode::from(2);
    };
    let sums = source.each_ref().map(Message::sum);
    let want = (0..n).fold(0u64, |sum, i| {
        sum.wrapping_add(if large { sums[i as usize % SOURCES] } else { i })
    });
    if sum != want {
        eprintln!("hetmp: messages: {n} came as something else");
        return ExitCode::FAILURE;
    }
    println!("{seconds:.6}");
    ExitCode::SUCCESS
}
