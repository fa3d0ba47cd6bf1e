use super::*;
use core::sync::atomic::AtomicU64;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::mpsc;
use std::time::Duration;

fn layout(size: usize, align: usize) -> Layout {
    Layout::from_size_align(size, align).expect("a layout")
}

/// A block with bytes that say whose it is.
struct Filled<'a> {
    from: &'a Allocator,
    at: *mut u8,
    layout: Layout,
    seed: u8,
}

impl<'a> Filled<'a> {
    fn new(from: &'a Allocator, layout: Layout, seed: u8, zeroed: bool) -> Filled<'a> {
        // SAFETY: a layout of at least one byte.
        unsafe {
            let at = if zeroed {
                from.alloc_zeroed(layout)
            } else {
                from.alloc(layout)
            };
            assert!(
                !at.is_null() && at as usize % layout.align() == 0,
                "{layout:?}"
            );
            for i in (0..layout.size()).filter(|_| zeroed) {
                assert_eq!(*at.add(i), 0, "byte {i} of {layout:?}");
            }
            at.write_bytes(seed, layout.size());
            Filled {
                from,
                at,
                layout,
                seed,
            }
        }
    }

    fn check(&self, bytes: usize) {
        for i in 0..bytes {
            // SAFETY: the block is this test's and has as many bytes.
            let found = unsafe { *self.at.add(i) };
            assert_eq!(found, self.seed, "byte {i} of {:?}", self.layout);
        }
    }

    fn resize(&mut self, size: usize) {
        // SAFETY: the block is this test's; it is known by the result from here on.
        self.at = unsafe { self.from.realloc(self.at, self.layout, size) };
        assert!(!self.at.is_null());
        let kept = self.layout.size().min(size);
        self.layout = layout(size, self.layout.align());
        assert_eq!(self.at as usize % self.layout.align(), 0);
        self.check(kept);
        // SAFETY: the block has as many bytes.
        unsafe { self.at.write_bytes(self.seed, size) };
    }
}

impl Drop for Filled<'_> {
    fn drop(&mut self) {
        self.check(self.layout.size());
        // SAFETY: the block is this test's, and nobody uses it any more.
        unsafe { self.from.dealloc(self.at, self.layout) };
    }
}

fn a_size() -> impl Strategy<Value = usize> {
    prop_oneof![4 => 1usize..200, 3 => 200usize..5000, 2 => 5000usize..70_000, 1 => 70_000usize..700_000]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    /// Any sequence of calls: blocks are aligned, zero where asked for, keep their bytes, and no two overlap.
    #[test]
    fn blocks_are_their_owners(
        steps in prop::collection::vec((0u8..8, a_size(), 0u32..8, any::<usize>()), 1..200),
    ) {
        let heap = Allocator::new();
        let mut held: Vec<Filled<'_>> = Vec::new();
        let mut ends: BTreeMap<usize, usize> = BTreeMap::new();
        for (i, (what, size, power, which)) in steps.into_iter().enumerate() {
            match what {
                0..=3 => {
                    let align = if power == 7 { 1 << 14 } else { 1 << power };
                    held.push(Filled::new(&heap, layout(size, align), i as u8, what == 0));
                }
                4..=5 if !held.is_empty() => drop(held.swap_remove(which % held.len())),
                _ if !held.is_empty() => {
                    let n = held.len();
                    held[which % n].resize(size);
                }
                _ => {}
            }
            ends.clear();
            ends.extend(held.iter().map(|b| (b.at as usize, b.at as usize + b.layout.size())));
            let mut last = 0;
            for (&start, &end) in &ends {
                prop_assert!(start >= last);
                last = end;
            }
            prop_assert_eq!(ends.len(), held.len());
        }
    }
}

#[test]
fn what_one_thread_allocates_and_another_frees_is_used_again() {
    let heap: &'static Allocator = Box::leak(Box::new(Allocator::new()));
    let (to, from) = mpsc::sync_channel::<usize>(64);
    let l = layout(100, 8);
    let consumer = std::thread::spawn(move || {
        for at in from {
            let at: *mut u8 = core::ptr::with_exposed_provenance_mut(at);
            // SAFETY: a block of the producer, which has given it up.
            unsafe { heap.dealloc(at, l) };
        }
    });
    for _ in 0..100_000 {
        // SAFETY: a layout of a hundred bytes.
        let at = unsafe { heap.alloc(l) };
        to.send(at.expose_provenance()).expect("the consumer runs");
    }
    drop(to);
    consumer.join().expect("the consumer ends");
    // 11 MB have gone through; at most 64 blocks and what shards and depot keep were there at a time.
    assert!(heap.chunk_bytes() <= 4 * CHUNK, "{}", heap.chunk_bytes());
}

#[test]
fn many_threads_share_it() {
    let heap = Allocator::new();
    std::thread::scope(|scope| {
        for t in 0..50u64 {
            let heap = &heap;
            scope.spawn(move || {
                let mut x = t * 77 + 1;
                let mut held = Vec::new();
                for i in 0..200u32 {
                    x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    let size = 1 + (x >> 33) as usize % [64, 512, 4096, 100_000][i as usize % 4];
                    held.push(Filled::new(heap, layout(size, 8), t as u8, false));
                    if held.len() > 8 {
                        held.swap_remove((x >> 40) as usize % 8);
                    }
                }
            });
        }
    });
}

#[test]
fn large_classes_give_their_pages_back() {
    let heap = Allocator::new();
    let l = layout(200_000, 8);
    let blocks: Vec<Filled<'_>> = (0..3 * KEPT)
        .map(|_| Filled::new(&heap, l, 1, false))
        .collect();
    let places: Vec<*mut u8> = blocks.iter().map(|b| b.at).collect();
    drop(blocks);
    let resident = |at: *mut u8| {
        let mut pages = [0u8; 40];
        let start = (at as usize).next_multiple_of(pages::size()) + pages::size();
        let at = core::ptr::with_exposed_provenance_mut(start);
        // SAFETY: 40 pages within the block, and as many bytes for the answer.
        let error = unsafe { libc::mincore(at, 40 * pages::size(), pages.as_mut_ptr()) };
        assert_eq!(error, 0);
        pages.iter().any(|p| p & 1 == 1)
    };
    let kept = places.iter().filter(|&&at| resident(at)).count();
    assert_eq!(kept, KEPT);
}

/// Ends this process by SIGALRM if it takes longer; in a child that is what the parent sees of a hang.
fn limit(seconds: u32) {
    // SAFETY: no preconditions.
    unsafe {
        libc::signal(libc::SIGALRM, libc::SIG_DFL);
        libc::alarm(seconds);
    }
}

#[test]
fn a_forked_child_allocates_whatever_other_threads_did() {
    static HEAP: Allocator = Allocator::new();
    static ENOUGH: AtomicBool = AtomicBool::new(false);
    let use_it = |rounds: usize, seed: u8| {
        for i in 0..rounds {
            let size = [16, 40, 1000, 9_000, 40_000][i % 5];
            let all: Vec<Filled<'_>> = (0..8)
                .map(|_| Filled::new(&HEAP, layout(size, 8), seed, false))
                .collect();
            drop(all);
        }
    };
    let busy: Vec<_> = (0..2)
        .map(|t| {
            std::thread::spawn(move || {
                while !ENOUGH.load(Ordering::Relaxed) {
                    use_it(10, t);
                }
            })
        })
        .collect();
    // A fork in which other threads hold locks for certain: every other shard, and every other depot.
    let hold = |how: bool| {
        for shard in HEAP.shards.iter().skip(1).step_by(2) {
            if how {
                while shard.held.swap(true, Ordering::Acquire) {
                    std::thread::yield_now();
                }
            } else {
                shard.held.store(false, Ordering::Release);
            }
        }
    };
    for round in 0..10 {
        hold(round % 2 == 0);
        // SAFETY: the child uses this allocator, whose blocks it may touch, and ends by _exit. It allocates by the C
        // library for `Vec`, whose fork handlers make that good.
        let child = unsafe { libc::fork() };
        assert!(child >= 0);
        if child == 0 {
            limit(60);
            use_it(20, 99);
            // SAFETY: no preconditions.
            unsafe { libc::_exit(0) };
        }
        if round % 2 == 0 {
            hold(false);
        }
        let mut status = 0;
        // SAFETY: the child's number and a live word.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        assert_eq!(status, 0, "round {round}");
    }
    ENOUGH.store(true, Ordering::Relaxed);
    for thread in busy {
        thread.join().expect("it ends");
    }
}

#[test]
fn a_signal_handler_may_interrupt_it() {
    static HEAP: Allocator = Allocator::new();
    static HANDLED: AtomicU64 = AtomicU64::new(0);
    extern "C" fn handler(_: libc::c_int) {
        for size in [24, 3000, 50_000] {
            let l = layout(size, 8);
            // SAFETY: a block that is taken and given back here.
            unsafe {
                let at = HEAP.alloc(l);
                if !at.is_null() {
                    at.write_bytes(7, size);
                    HEAP.dealloc(at, l);
                }
            }
        }
        HANDLED.fetch_add(1, Ordering::Relaxed);
    }
    // SAFETY: the handler calls this allocator only, which is what the test is about.
    unsafe { libc::signal(libc::SIGUSR2, handler as *const () as libc::sighandler_t) };
    // SAFETY: no preconditions.
    let me = unsafe { libc::pthread_self() };
    let enough = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !enough.load(Ordering::Relaxed) {
                // SAFETY: that thread waits for this one.
                unsafe { libc::pthread_kill(me, libc::SIGUSR2) };
                std::thread::sleep(Duration::from_micros(50));
            }
        });
        let mut rounds = 0u32;
        while HANDLED.load(Ordering::Relaxed) < 300 && rounds < 3_000_000 {
            rounds += 1;
            let size = [24, 3000, 50_000][rounds as usize % 3];
            let l = layout(size, 8);
            // SAFETY: a block that is taken and given back here.
            unsafe {
                let at = HEAP.alloc(l);
                at.write(9);
                at.add(size - 1).write(9);
                HEAP.dealloc(at, l);
            }
        }
        enough.store(true, Ordering::Relaxed);
    });
    assert!(HANDLED.load(Ordering::Relaxed) > 0);
}

#[test]
fn where_every_lock_is_taken_blocks_come_and_go_all_the_same() {
    let heap = Allocator::new();
    for shard in &heap.shards {
        shard.held.store(true, Ordering::Relaxed);
    }
    for depot in &heap.depots {
        depot.held.store(true, Ordering::Relaxed);
    }
    for size in [16, 1000, 100_000] {
        drop(Filled::new(&heap, layout(size, 8), 3, false));
    }
}
