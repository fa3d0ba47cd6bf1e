//! Ranks as threads of one process, next to serial references.

use super::*;
use hetmp_goal::element::Type;
use std::sync::atomic::AtomicBool;

/// Looks again and again; some ranks may be gone.
struct Patience<'a> {
    gone: &'a [AtomicBool],
}

impl Wait for Patience<'_> {
    fn wait(
        &self,
        word: &AtomicU64,
        least: u64,
        peer: u32,
        over: &AtomicU64,
    ) -> Result<(), Failure> {
        loop {
            let gone = self.gone[peer as usize].load(Ordering::Acquire);
            let over = over.load(Ordering::Acquire) != 0;
            if word.load(Ordering::Acquire) >= least {
                return Ok(());
            }
            if over {
                return Err(Failure::PeerFailed { peer });
            }
            if gone {
                return Err(Failure::PeerLost { peer });
            }
            std::thread::yield_now();
        }
    }

    fn ring(&self) {}
}

/// Runs `body` as every rank, each in a thread.
fn job(ranks: u32, body: impl Fn(&mut Direct, &Patience<'_>) + Sync) {
    let words = (BYTES + LINE) / 8;
    let mut memory: Vec<Vec<u64>> = (0..ranks).map(|_| vec![0; words]).collect();
    let areas: Vec<usize> = memory
        .iter_mut()
        .map(|m| (m.as_mut_ptr().expose_provenance()).next_multiple_of(LINE))
        .collect();
    let gone: Vec<AtomicBool> = (0..ranks).map(|_| AtomicBool::new(false)).collect();
    std::thread::scope(|s| {
        for rank in 0..ranks {
            let (areas, gone, body) = (&areas, &gone, &body);
            s.spawn(move || {
                let at = |a: &usize| core::ptr::with_exposed_provenance_mut(*a);
                // SAFETY: aligned, zero, long enough for `BYTES` behind the alignment, and alive until the scope's end.
                let mut direct = unsafe { Direct::new(rank, areas.iter().map(at).collect()) };
                body(&mut direct, &Patience { gone });
                gone[rank as usize].store(true, Ordering::Release);
            });
        }
    });
}

fn piece(words: &mut [u32]) -> Piece {
    // SAFETY: the tests keep the words alive and alone until the collective has returned.
    unsafe { Piece::new(words.as_mut_ptr().cast(), 4 * words.len()) }
}

/// What a rank gives at a place.
fn value(rank: u32, i: usize) -> u32 {
    (rank + 1).wrapping_mul(2_654_435_761) ^ (i as u32).wrapping_mul(40_503)
}

/// What rank `me` is to get, word by word, of blocks of `n` words; where it gets nothing, nothing.
fn expected(what: &Collective, me: u32, ranks: u32, n: usize) -> Vec<u32> {
    let sum = |of: u32, i: usize| (0..of).fold(0u32, |s, r| s.wrapping_add(value(r, i)));
    let all = || (0..ranks).flat_map(move |r| (0..n).map(move |i| (r, i)));
    let own = me as usize * n;
    match what {
        Collective::Broadcast { root, .. } => (0..n).map(|i| value(*root, i)).collect(),
        Collective::Reduce { root, .. } if *root != me => Vec::new(),
        Collective::Gather { root, .. } if *root != me => Vec::new(),
        Collective::Reduce { .. } | Collective::Allreduce { .. } => {
            (0..n).map(|i| sum(ranks, i)).collect()
        }
        Collective::Gather { .. } | Collective::Allgather { .. } => {
            all().map(|(r, i)| value(r, i)).collect()
        }
        Collective::Scatter { root, .. } => (0..n).map(|i| value(*root, own + i)).collect(),
        Collective::Alltoall { .. } => all().map(|(r, i)| value(r, own + i)).collect(),
        Collective::Scan {
            inclusive: false, ..
        } if me == 0 => Vec::new(),
        Collective::Scan { inclusive, .. } => {
            let upto = me + u32::from(*inclusive);
            (0..n).map(|i| sum(upto, i)).collect()
        }
        Collective::ReduceScatter { .. } => (0..n).map(|i| sum(ranks, own + i)).collect(),
        _ => Vec::new(),
    }
}

fn collectives(root: u32, n: usize) -> Vec<Collective> {
    let bytes = 4 * n as u64;
    let vector = Vector {
        op: Arithmetic::Add,
        element: Type::Unsigned(32),
        count: n as u64,
    };
    vec![
        Collective::Barrier,
        Collective::Broadcast { root, bytes },
        Collective::Reduce { root, vector },
        Collective::Allreduce { vector },
        Collective::Gather { root, bytes },
        Collective::Scatter { root, bytes },
        Collective::Allgather { bytes },
        Collective::Alltoall { bytes },
        Collective::Scan {
            vector,
            inclusive: true,
        },
        Collective::Scan {
            vector,
            inclusive: false,
        },
        Collective::ReduceScatter { vector },
    ]
}

/// Every collective with blocks from nothing to several steps, in one row, so that each finds what the one before left;
/// also with one buffer for both.
#[test]
fn every_collective_gives_what_a_serial_one_does() {
    let room = ROOM / 4;
    let lengths = [0, 1, 2, 12, 13, 300, 1025, room - 1, room + 1, 3 * room + 7];
    for ranks in [2, 3, 5] {
        job(ranks, |direct, wait| {
            let me = direct.rank;
            let rows = lengths.iter().enumerate();
            for (what, n) in rows.flat_map(|(i, n)| {
                let root = i as u32 % ranks;
                collectives(root, *n).into_iter().map(move |w| (w, *n))
            }) {
                let wanted = expected(&what, me, ranks, n);
                let (gives, gets) = lengths_in_words(&what, me, ranks);
                assert_eq!(gets, wanted.len(), "{what:?}");
                let mut give: Vec<u32> = (0..gives).map(|i| value(me, i)).collect();
                let mut get = vec![7; gets];
                let done = direct.run(&what, piece(&mut give), piece(&mut get), wait);
                assert_eq!((done, &get), (Ok(()), &wanted), "{what:?}");
                // Both in one.
                let mut both = give;
                both.resize(gives.max(gets), 7);
                let in_place = |words: usize| {
                    // SAFETY: the first words of a vector that lives until the collective has returned.
                    unsafe { Piece::new(both.as_ptr().cast_mut().cast(), 4 * words) }
                };
                // A gather's blocks would lie where the own one does: MPI has another place for that.
                if !matches!(
                    what,
                    Collective::Gather { .. } | Collective::Allgather { .. }
                ) {
                    let done = direct.run(&what, in_place(gives), in_place(gets), wait);
                    assert_eq!(done, Ok(()));
                    assert_eq!(&both[..gets], &wanted[..], "{what:?} in place");
                }
            }
        });
    }
}

fn lengths_in_words(what: &Collective, me: u32, ranks: u32) -> (usize, usize) {
    let (gives, gets) = lengths(what, me, ranks);
    (gives as usize / 4, gets as usize / 4)
}

/// A root that only sends is far ahead of who is slow, and never writes what that one still reads.
#[test]
fn a_root_waits_for_readers_that_are_far_behind() {
    job(3, |direct, wait| {
        for i in 0..300u32 {
            let mut give = vec![i; 20];
            let mut get = vec![0; 20];
            if direct.rank == 2 && i % 50 == 0 {
                std::thread::sleep(core::time::Duration::from_millis(3));
            }
            let what = Collective::Broadcast { root: 0, bytes: 80 };
            let done = direct.run(&what, piece(&mut give), piece(&mut get), wait);
            assert_eq!((done, get), (Ok(()), vec![i; 20]));
        }
    });
}

/// Sums of floating point numbers are the same on all ranks, whatever their order of arrival.
#[test]
fn sums_are_the_same_everywhere() {
    let sums = std::sync::Mutex::new(Vec::new());
    for n in [1usize, 4000] {
        job(4, |direct, wait| {
            let mut give = vec![0.1f32 * 3f32.powi(direct.rank as i32 * 5); n];
            let mut get = vec![0f32; n];
            let vector = Vector {
                op: Arithmetic::Add,
                element: Type::Float,
                count: n as u64,
            };
            let what = Collective::Allreduce { vector };
            // SAFETY: both live until the collective has returned.
            let (from, into) = unsafe {
                (
                    Piece::new(give.as_mut_ptr().cast(), 4 * n),
                    Piece::new(get.as_mut_ptr().cast(), 4 * n),
                )
            };
            assert_eq!(direct.run(&what, from, into, wait), Ok(()));
            let bits: Vec<u32> = get.iter().map(|x| x.to_bits()).collect();
            sums.lock().expect("no panic").push((n, bits));
        });
    }
    let sums = sums.into_inner().expect("no panic");
    for n in [1usize, 4000] {
        let mut of = sums.iter().filter(|s| s.0 == n);
        let first = of.next().expect("four of them");
        assert!(of.all(|s| s == first));
    }
}

#[test]
fn another_collective_is_named_and_ends_all_later_ones() {
    let seen = std::sync::Mutex::new(Vec::new());
    job(2, |direct, wait| {
        let (mut give, mut get) = (vec![1; 16], vec![0; 16]);
        let bytes = if direct.rank == 0 { 8 } else { 16 };
        let what = Collective::Alltoall { bytes };
        let first = direct.run(&what, piece(&mut give), piece(&mut get), wait);
        let barrier = direct.run(
            &Collective::Barrier,
            piece(&mut give),
            piece(&mut get),
            wait,
        );
        assert!(first.is_err() && first == barrier);
        seen.lock().expect("no panic").push(first);
    });
    let seen = seen.into_inner().expect("no panic");
    // Who comes second may find that the first one has given up.
    assert!(seen
        .iter()
        .any(|e| matches!(e, Err(Failure::Differs { .. }))));
}

#[test]
fn a_peer_that_leaves_ends_the_wait() {
    job(3, |direct, wait| {
        let mut none = [];
        let mut barrier =
            || direct.run(&Collective::Barrier, piece(&mut none), piece(&mut []), wait);
        assert_eq!(barrier(), Ok(()));
        if direct.rank == 1 {
            return;
        }
        let mut barrier = || direct.run(&Collective::Barrier, piece(&mut []), piece(&mut []), wait);
        let ended = barrier();
        assert!(
            matches!(
                ended,
                Err(Failure::PeerLost { peer: 1 } | Failure::PeerFailed { .. })
            ),
            "{ended:?}"
        );
        assert_eq!(barrier(), ended);
    });
}

/// A small generator of numbers below `n`.
fn drawn(state: &mut u64, n: usize) -> usize {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    (*state % n as u64) as usize
}

/// A started collective with its buffers.
struct Open {
    step: u64,
    what: Collective,
    _give: Vec<u32>,
    get: Vec<u32>,
    wanted: Vec<u32>,
}

impl Open {
    fn new(what: Collective, n: usize, direct: &mut Direct, wait: &impl Wait) -> Open {
        let (me, ranks) = (direct.rank, direct.ranks());
        let (gives, gets) = lengths_in_words(&what, me, ranks);
        let mut give: Vec<u32> = (0..gives).map(|i| value(me, i)).collect();
        let mut get = vec![7; gets];
        let step = direct.start(&what, piece(&mut give), piece(&mut get), wait);
        Open {
            step: step.expect("nothing has failed"),
            wanted: expected(&what, me, ranks, n),
            what,
            _give: give,
            get,
        }
    }

    /// Whether it is over; then its result is right.
    fn is_over(&self, direct: &mut Direct, wait: &impl Wait) -> bool {
        match direct.look(self.step, wait) {
            Look::Needs(_) => false,
            Look::Ended(done) => {
                assert_eq!((done, &self.get), (Ok(()), &self.wanted), "{:?}", self.what);
                true
            }
        }
    }

    fn end(self, direct: &mut Direct, wait: &impl Wait) {
        while !self.is_over(direct, wait) {
            std::thread::yield_now();
        }
    }
}

/// Collectives of all lengths are started while others go on, ended in any order, and mixed with blocking ones.
#[test]
fn started_collectives_give_what_serial_ones_do() {
    let lengths = [0, 1, 2, 59, 61, 300, 1025, 4000, ROOM / 4];
    for ranks in [2, 3, 5] {
        job(ranks, |direct, wait| {
            let mut random = 77 + u64::from(direct.rank);
            let mut open: Vec<Open> = Vec::new();
            for (i, n) in lengths.iter().enumerate() {
                for what in collectives(i as u32 % ranks, *n) {
                    if !direct.starts(&what) {
                        continue;
                    }
                    open.push(Open::new(what, *n, direct, wait));
                    while open.len() > drawn(&mut random, 9) {
                        let one = open.swap_remove(drawn(&mut random, open.len()));
                        one.end(direct, wait);
                    }
                }
                let barrier =
                    direct.run(&Collective::Barrier, piece(&mut []), piece(&mut []), wait);
                assert_eq!(barrier, Ok(()));
            }
            for one in open {
                one.end(direct, wait);
            }
            assert!(direct.started.is_empty() && direct.unattended() == 0);
        });
    }
}

/// The ranks that have started an allreduce do nothing more until rank 0, which starts the allreduce last, has its
/// result. By a schedule of log2 steps this could not end.
#[test]
fn who_has_started_is_not_needed_any_more() {
    let (started, over) = (AtomicU64::new(0), AtomicBool::new(false));
    job(4, |direct, wait| {
        let what = collectives(0, 5).swap_remove(3);
        assert!(matches!(what, Collective::Allreduce { .. }));
        if direct.rank == 0 {
            while started.load(Ordering::Acquire) < 3 {
                std::thread::yield_now();
            }
            let one = Open::new(what, 5, direct, wait);
            assert!(one.is_over(direct, wait));
            over.store(true, Ordering::Release);
            return;
        }
        let one = Open::new(what, 5, direct, wait);
        started.fetch_add(1, Ordering::Release);
        while !over.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
        one.end(direct, wait);
    });
}

/// More collectives than there are lines, and more long ones than there are places, go on at once; those without room
/// are counted until they have found some.
#[test]
fn those_that_find_no_room_wait_for_it() {
    job(3, |direct, wait| {
        for n in [0usize, 400] {
            let bytes = 4 * n as u64;
            let mut open: Vec<Open> = Vec::new();
            for _ in 0..3 * LINES {
                let what = match n {
                    0 => Collective::Barrier,
                    _ => Collective::Broadcast { root: 0, bytes },
                };
                open.push(Open::new(what, n, direct, wait));
            }
            let barrier = direct.rank == 0 || n == 0;
            // Whether others have read something meanwhile is not known; but not all of it, if they wait for this rank.
            assert!(
                direct.unattended() > 0 || !barrier || direct.started.len() < 2 * LINES as usize
            );
            for one in open {
                one.end(direct, wait);
            }
            assert_eq!(direct.unattended(), 0);
        }
    });
}

#[test]
fn a_started_collective_fails_with_the_others() {
    job(2, |direct, wait| {
        if direct.rank == 1 {
            return;
        }
        let what = Collective::Barrier;
        let step = direct.start(&what, piece(&mut []), piece(&mut []), wait);
        let step = step.expect("nothing has failed");
        assert_eq!(direct.look(step, wait), Look::Needs(1));
        let why = Failure::PeerLost { peer: 1 };
        direct.give_up(why, wait);
        assert!(direct.is_over(0));
        // As often as somebody looks.
        for _ in 0..3 {
            assert_eq!(direct.look(step, wait), Look::Ended(Err(why)));
        }
        let again = direct.start(&what, piece(&mut []), piece(&mut []), wait);
        assert_eq!(again, Err(why));
    });
}

/// Ranks that give unlike amounts: that collective fails where it is noticed, and later ones go on. Of another
/// collective they all fail.
#[test]
fn unlike_amounts_fail_alone() {
    job(3, |direct, wait| {
        let me = direct.rank;
        let wait_for = |direct: &mut Direct, step| loop {
            match direct.look(step, wait) {
                Look::Ended(done) => return done,
                Look::Needs(_) => std::thread::yield_now(),
            }
        };
        let (mut give, mut get) = (vec![1; 64], vec![0; 64]);
        let mut begin = |direct: &mut Direct, what: &Collective| {
            let step = direct.start(what, piece(&mut give), piece(&mut get), wait);
            step.expect("nothing has failed for good")
        };
        let mut unlike = Vec::new();
        for bytes in [8, 16] {
            let bytes = if me == 0 { bytes } else { 24 - bytes };
            let what = Collective::Broadcast { root: 0, bytes };
            unlike.push(begin(direct, &what));
            Open::new(Collective::Barrier, 0, direct, wait).end(direct, wait);
        }
        let expected = match me {
            0 => Ok(()),
            _ => Err(Failure::Differs { peer: 0 }),
        };
        for step in unlike {
            assert_eq!(wait_for(direct, step), expected);
            assert_eq!(
                wait_for(direct, step),
                expected,
                "however often it is asked"
            );
        }
        let blocking = direct.run(&Collective::Barrier, piece(&mut []), piece(&mut []), wait);
        assert_eq!(blocking, Ok(()));
        let bytes = 8;
        let what = match me {
            0 => Collective::Allgather { bytes },
            _ => Collective::Alltoall { bytes },
        };
        let step = begin(direct, &what);
        assert!(wait_for(direct, step).is_err());
        let blocking = direct.run(&Collective::Barrier, piece(&mut []), piece(&mut []), wait);
        assert!(blocking.is_err());
    });
}

/// A rank is in another collective than the others. A barrier that was started before ends all the same when the
/// third rank comes to it.
#[test]
fn what_was_started_before_a_failed_collective_ends_well() {
    let failed = AtomicU64::new(0);
    job(3, |direct, wait| {
        let me = direct.rank;
        let (mut give, mut get) = (vec![1; 16], vec![0; 16]);
        if me == 2 {
            while failed.load(Ordering::Acquire) == 0 {
                std::thread::yield_now();
            }
        }
        let barrier = Open::new(Collective::Barrier, 0, direct, wait);
        let (root, bytes) = (1, 8);
        let what = match me {
            0 => Collective::Broadcast { root, bytes },
            _ => Collective::Scatter { root, bytes },
        };
        let step = direct.start(&what, piece(&mut give), piece(&mut get), wait);
        let step = step.expect("nothing has failed");
        if me == 0 {
            let why = Failure::Differs { peer: 1 };
            while direct.look(step, wait) != Look::Ended(Err(why)) {
                std::thread::yield_now();
            }
            assert_eq!(direct.look(barrier.step, wait), Look::Needs(2));
            failed.store(1, Ordering::Release);
            barrier.end(direct, wait);
            assert_eq!(direct.look(step, wait), Look::Ended(Err(why)));
        } else {
            barrier.end(direct, wait);
        }
    });
}

/// A rank that has started as much as its peers have room for is counted until it has read: its program may wait for
/// something else.
#[test]
fn who_may_hold_up_peers_is_counted() {
    let counted = AtomicU64::new(0);
    job(2, |direct, wait| {
        for (round, (n, unread)) in [(1, LINES / 2), (400, PLACES as u64 - 1)]
            .into_iter()
            .enumerate()
        {
            let what = Collective::Broadcast {
                root: 0,
                bytes: 4 * n as u64,
            };
            while direct.rank == 0 && counted.load(Ordering::Acquire) == round as u64 {
                std::thread::yield_now();
            }
            let mut open: Vec<Open> = Vec::new();
            for i in 0..=unread {
                open.push(Open::new(what.clone(), n, direct, wait));
                let counts = direct.rank == 1 && i == unread;
                assert_eq!(direct.unattended(), usize::from(counts));
            }
            if direct.rank == 1 {
                counted.fetch_add(1, Ordering::Release);
            }
            for one in open {
                one.end(direct, wait);
            }
            assert_eq!(direct.unattended(), 0);
        }
    });
}

/// A rank combines its own input from the segment too, and so may not overwrite what it has not read itself. Scenario:
/// the peers show their inputs, and read, after this rank has looked for them and before it shows more.
#[test]
fn a_rank_waits_for_its_own_reading() {
    job(2, |direct, wait| {
        if direct.rank == 1 {
            return;
        }
        let what = collectives(0, 400).swap_remove(2);
        assert!(matches!(what, Collective::Reduce { .. }));
        let mut open: Vec<Open> = Vec::new();
        for i in 0..=PLACES {
            // In place of the peer.
            let read = if i == PLACES { i as u64 } else { 0 };
            direct.read_by(1).store(read, Ordering::Release);
            open.push(Open::new(what.clone(), 400, direct, wait));
        }
        // The first is not read, and the last not shown.
        assert_eq!(direct.unattended(), 2);
        assert_eq!(direct.look(open[PLACES].step, wait), Look::Needs(1));
    });
}
