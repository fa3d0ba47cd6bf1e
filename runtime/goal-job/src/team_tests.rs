//! Two ranks as threads of one process.

use super::*;
use crate::direct::BYTES;

/// A process that only looks again and again.
struct Looks;

impl Host for Looks {
    fn wait_for(
        &self,
        word: &AtomicU64,
        least: u64,
        _rank: u32,
        _over: &AtomicU64,
    ) -> Result<(), Failure> {
        while word.load(Ordering::Acquire) < least {
            std::thread::yield_now();
        }
        Ok(())
    }

    fn count(&self, _from: u32, _to: u32) {}
    fn wake(&self) {}
}

/// Memory for an area, never freed.
fn area() -> *mut u8 {
    const LINE: usize = 256;
    let words: &'static mut [u64] = Box::leak(vec![0; (BYTES + LINE) / 8].into_boxed_slice());
    let start = words.as_mut_ptr().cast::<u8>();
    start.wrapping_add(start.align_offset(LINE))
}

fn team(me: u32, areas: [*mut u8; 2]) -> Team {
    // SAFETY: aligned, zero, long enough, and never freed; only rank `me` writes to its area.
    let direct = unsafe { Direct::new(me, Box::new(areas)) };
    // SAFETY: as above; an aligned word, accessed as an atomic only.
    let read = unsafe { AtomicU64::from_ptr(Direct::reads_of(areas[me as usize])) };
    Team::new(0, Box::new([0, 1]), Box::new([]), direct, read)
}

fn nothing() -> Piece {
    // SAFETY: no bytes.
    unsafe { Piece::new(core::ptr::null_mut(), 0) }
}

/// A thread of rank 0 runs a blocking barrier, which rank 1 calls only when another thread of rank 0 has found an
/// earlier collective over. With a test that waits for the blocking one this could not end.
#[test]
fn tests_go_on_beside_a_blocking_collective() {
    let areas = [area(), area()];
    let (here, there) = (team(0, areas), team(1, areas));
    let (what, said) = (Collective::Barrier, AtomicBool::new(false));
    let started = here.start(&what, nothing(), nothing(), &Looks);
    let step = started.expect("is short").expect("nothing has failed");
    std::thread::scope(|s| {
        s.spawn(|| here.run(&Collective::Barrier, nothing(), nothing(), &Looks));
        while !here.blocking.load(Ordering::Relaxed) {
            std::thread::yield_now();
        }
        assert_eq!(here.look(step, &Looks), None, "rank 1 has not begun");
        s.spawn(|| {
            let _ = there.run(&Collective::Barrier, nothing(), nothing(), &Looks);
            while !said.load(Ordering::Acquire) {
                std::thread::yield_now();
            }
            there.run(&Collective::Barrier, nothing(), nothing(), &Looks)
        });
        while here.look(step, &Looks).is_none() {
            std::thread::yield_now();
        }
        assert_eq!(here.look(step, &Looks), Some(Look::Ended(Ok(()))));
        said.store(true, Ordering::Release);
    });
}

/// A handle is known until it is freed, and one that finds the place of another taken is not noted.
#[test]
fn handles_are_noted_while_the_program_has_them() {
    let areas = [area(), area()];
    let (here, there) = (team(0, areas), team(1, areas));
    let what = Collective::Barrier;
    let null = core::ptr::null_mut();
    let start = |t: &Team| {
        // SAFETY: a barrier has no buffers.
        if let Some(step) = unsafe { t.start_again(&what, null, null, &Looks) } {
            return step;
        }
        let step = t.start(&what, nothing(), nothing(), &Looks);
        step.expect("is short").expect("nothing has failed")
    };
    let both = || {
        let step = start(&here);
        let other = start(&there);
        assert_eq!(here.look(step, &Looks), Some(Look::Ended(Ok(()))));
        assert_eq!(there.look(other, &Looks), Some(Look::Ended(Ok(()))));
        there.close(other);
        step
    };
    let first = both();
    assert!(here.is_open(first) && !here.is_open(first + 1) && !here.is_open(first + OPEN));
    for _ in 1..OPEN {
        let step = both();
        assert!(here.is_open(step));
        here.close(step);
        assert!(!here.is_open(step));
    }
    let late = both();
    assert_eq!(late, first + OPEN);
    assert!(
        !here.is_open(late) && here.is_open(first),
        "its place is taken"
    );
    here.close(late);
    assert!(here.is_open(first));
    here.close(first);
    assert!(!here.is_open(first));
}
