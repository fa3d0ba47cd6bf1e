//! Teams, collectives and active sets.

use hetmp_shmem::active::{self, Set};
use hetmp_shmem::collective::{self, Reduction, Type};
use hetmp_shmem::team::{self, Config, Team, INVALID, SHARED, WORLD};
use hetmp_shmem::{heap, setup};
use std::ffi::c_long;

const EVERY: &str = "direct check emulated tcp ofi gpu gpu-check";
const F: &str = "test";

/// Roles, PEs, and the engines that they are for.
pub(crate) const ALL: &[(&str, u32, &str)] = &[
    ("moves", 1, EVERY),
    ("moves", 2, EVERY),
    ("moves", 5, EVERY),
    ("moves", 18, "direct"),
    ("reductions", 2, EVERY),
    ("reductions", 5, EVERY),
    ("ahead", 2, EVERY),
    ("ahead", 4, EVERY),
    ("ahead", 18, "direct"),
    ("teams", 1, EVERY),
    ("teams", 6, "direct check emulated gpu"),
    ("teams", 3, "tcp ofi"),
    ("plenty", 3, "direct check emulated"),
    ("sets", 5, EVERY),
    ("again", 3, EVERY),
];

struct Job {
    me: i32,
    n: i32,
}

/// Roles for four PEs on two machines.
pub(crate) const ACROSS: &[&str] = &["moves", "reductions", "teams", "sets"];

/// Plays a role of this file; false if it is none.
pub(crate) fn play(role: &str) -> bool {
    if ALL.iter().all(|(name, _, _)| *name != role) {
        return false;
    }
    setup::init(F);
    let job = &Job {
        me: setup::my_pe(F),
        n: setup::n_pes(F),
    };
    match role {
        "moves" => moves(job),
        "reductions" => reductions(job),
        "ahead" => ahead(job),
        "teams" => teams(job),
        "plenty" => plenty(job),
        "sets" => sets(job),
        _ => again(job),
    }
    setup::finalize(F);
    true
}

/// A symmetric array.
struct Array<T> {
    at: *mut T,
    n: usize,
}

impl<T: Copy + PartialEq + std::fmt::Debug> Array<T> {
    fn new(n: usize) -> Array<T> {
        let at = heap::calloc(F, n.max(1), size_of::<T>()).cast::<T>();
        assert!(!at.is_null());
        Array { at, n }
    }

    fn bytes(&self) -> *mut u8 {
        self.at.cast()
    }

    fn fill(&self, value: impl Fn(usize) -> T) {
        for i in 0..self.n {
            // SAFETY: within the array, whose owner calls.
            unsafe { self.at.add(i).write(value(i)) };
        }
    }

    fn get(&self, i: usize) -> T {
        assert!(i < self.n);
        // SAFETY: within the array; peers write it only where a collective orders that.
        unsafe { self.at.add(i).read_volatile() }
    }

    fn expect(&self, what: &str, value: impl Fn(usize) -> T) {
        for i in 0..self.n {
            assert_eq!(self.get(i), value(i), "{what}: element {i} of {}", self.n);
        }
    }

    fn free(self) {
        heap::free(F, self.bytes());
    }
}

/// A byte that depends on the PE, the place and the turn.
fn mark(pe: i32, i: usize, turn: usize) -> u8 {
    (pe as usize * 31 + i * 7 + turn * 101 + i / 251) as u8
}

/// Broadcast, collects and all-to-alls of many sizes.
fn moves(job: &Job) {
    let (me, n) = (job.me, job.n as usize);
    for (turn, bytes) in [0, 1, 8, 56, 57, 1000, 2048, 2049, 40_000, 300_000]
        .into_iter()
        .enumerate()
    {
        if n > 8 && bytes > 40_000 {
            continue;
        }
        let source = Array::<u8>::new(bytes * n);
        let dest = Array::<u8>::new(bytes * n);
        let one = Array::<u8>::new(bytes);
        source.fill(|i| mark(me, i, turn));
        // SAFETY: the arrays have the sizes that are passed, and barriers order their uses.
        unsafe {
            for root in 0..n.min(6) {
                one.fill(|_| 0);
                collective::barrier_all(F);
                let text = format!("broadcast of {bytes} from {root}");
                let r = collective::broadcast(
                    F,
                    WORLD,
                    one.bytes(),
                    source.bytes(),
                    bytes,
                    root as i32,
                );
                assert_eq!(r, 0);
                one.expect(&text, |i| mark(root as i32, i, turn));
                collective::sync_all(F);
            }
            dest.fill(|_| 0);
            collective::barrier_all(F);
            collective::fcollect(F, WORLD, dest.bytes(), source.bytes(), bytes);
            if bytes > 0 {
                dest.expect("fcollect", |i| mark((i / bytes) as i32, i % bytes, turn));
            }
            collective::barrier_all(F);
            dest.fill(|_| 0);
            collective::barrier_all(F);
            collective::alltoall(F, WORLD, dest.bytes(), source.bytes(), bytes);
            if bytes > 0 {
                let block = me as usize * bytes;
                dest.expect("alltoall", |i| {
                    mark((i / bytes) as i32, block + i % bytes, turn)
                });
            }
            collective::barrier_all(F);
            dest.fill(|_| 0);
            collective::barrier_all(F);
            // PE p gives p * bytes / n.
            let size = |pe: usize| pe * bytes / n;
            collective::collect(F, WORLD, dest.bytes(), source.bytes(), size(me as usize));
            let mut at = 0;
            for pe in 0..n {
                for i in 0..size(pe) {
                    assert_eq!(dest.get(at), mark(pe as i32, i, turn), "collect {pe} {i}");
                    at += 1;
                }
            }
            collective::barrier_all(F);
        }
        one.free();
        dest.free();
        source.free();
    }
    // Elements that lie apart.
    let (dst, sst, count) = (3, 2, 5);
    let source = Array::<u32>::new(n * count * sst);
    let dest = Array::<u32>::new(n * count * dst);
    source.fill(|i| (me as usize * 10_000 + i) as u32);
    dest.fill(|_| 7);
    collective::barrier_all(F);
    // SAFETY: both arrays are symmetric and large enough for the strides; the barrier was the last use.
    unsafe {
        collective::alltoalls(
            F,
            WORLD,
            dest.bytes(),
            source.bytes(),
            dst as isize,
            sst as isize,
            4,
            count,
        );
    }
    dest.expect("alltoalls", |i| {
        if i % dst != 0 {
            return 7;
        }
        let element = i / dst;
        let (pe, k) = (element / count, element % count);
        (pe * 10_000 + (me as usize * count + k) * sst) as u32
    });
    collective::barrier_all(F);
}

/// Reductions: sums with the same bits on all PEs, reductions in place, and scans.
fn reductions(job: &Job) {
    let (me, n) = (job.me, job.n);
    for len in [1usize, 7, 8, 255, 257, 1000, 40_000] {
        let source = Array::<f64>::new(len);
        let dest = Array::<f64>::new(len);
        // Values whose sum depends on the order.
        let value = |pe: i32, i: usize| {
            let big = if (pe as usize + i) % 3 == 0 {
                1e16
            } else {
                1.0
            };
            big / (1.0 + i as f64 + f64::from(pe) * 0.1)
        };
        source.fill(|i| value(me, i));
        collective::barrier_all(F);
        // SAFETY: the arrays have the sizes that are passed, and barriers order their uses.
        unsafe {
            let (d, s) = (dest.bytes(), source.bytes());
            let sum = |i| (1..n).fold(value(0, i), |a, pe| a + value(pe, i));
            collective::reduce(F, WORLD, Reduction::Sum, Type::F64, d, s, len);
            dest.expect("sum", sum);
            collective::barrier_all(F);
            collective::inscan(F, WORLD, Reduction::Sum, Type::F64, d, s, len);
            dest.expect("inscan", |i| {
                (1..=me).fold(value(0, i), |a, pe| a + value(pe, i))
            });
            collective::barrier_all(F);
            collective::exscan(F, WORLD, Reduction::Sum, Type::F64, d, s, len);
            dest.expect("exscan", |i| match me {
                0 => 0.0,
                _ => (1..me).fold(value(0, i), |a, pe| a + value(pe, i)),
            });
            collective::barrier_all(F);
            // In place.
            collective::reduce(F, WORLD, Reduction::Max, Type::F64, s, s, len);
            source.expect("max in place", |i| {
                (0..n).map(|pe| value(pe, i)).fold(f64::MIN, f64::max)
            });
            collective::barrier_all(F);
        }
        dest.free();
        source.free();
    }
    let source = Array::<i16>::new(3000);
    source.fill(|i| (me + 1) as i16 * 3 + i as i16);
    collective::barrier_all(F);
    // SAFETY: the arrays are symmetric and large enough; the barrier was the last use.
    unsafe {
        let s = source.bytes();
        collective::reduce(F, WORLD, Reduction::Xor, Type::I16, s, s, 3000);
    }
    source.expect("xor", |i| {
        (0..n).fold(0, |a, pe| a ^ ((pe + 1) as i16 * 3 + i as i16))
    });
    collective::barrier_all(F);
}

/// Many collectives without barriers between them, while PEs pause at random.
fn ahead(job: &Job) {
    let (me, n) = (job.me as usize, job.n as usize);
    let rounds = if n > 8 { 150 } else { 300 };
    let contribution = Array::<u64>::new(1);
    let sum = Array::<u64>::new(2);
    let cast = Array::<u64>::new(rounds);
    let from = Array::<u64>::new(1);
    let long = Array::<u64>::new(700);
    let long_sum = Array::<u64>::new(700);
    collective::barrier_all(F);
    for round in 0..rounds {
        if (round * 7 + me * 3) % 41 == 0 {
            std::thread::sleep(std::time::Duration::from_micros(300));
        }
        contribution.fill(|_| (round * 100 + me) as u64);
        // SAFETY: each round writes words of its own, or the words of a reduction, of which a PE writes its own.
        unsafe {
            collective::reduce(
                F,
                WORLD,
                Reduction::Sum,
                Type::U64,
                sum.bytes().add(8 * (round % 2)),
                contribution.bytes(),
                1,
            );
            let expected = (0..n).map(|pe| (round * 100 + pe) as u64).sum::<u64>();
            assert_eq!(sum.get(round % 2), expected, "round {round}");
            let root = round % n;
            // The source may be written again at once: the root's collective is over when it returns.
            from.fill(|_| (round * 1000 + me) as u64);
            let to = cast.bytes().add(8 * round);
            collective::broadcast(F, WORLD, to, from.bytes(), 8, root as i32);
            assert_eq!(cast.get(round), (round * 1000 + root) as u64);
            if round % 5 == 0 {
                long.fill(|i| (round + me + i) as u64);
                collective::reduce(
                    F,
                    WORLD,
                    Reduction::Max,
                    Type::U64,
                    long_sum.bytes(),
                    long.bytes(),
                    700,
                );
                long_sum.expect("max", |i| (round + n - 1 + i) as u64);
                // This PE has to check its result before a peer writes that of the next round.
                collective::sync_all(F);
            }
        }
    }
    collective::barrier_all(F);
}

fn split(parent: Team, start: i32, stride: i32, size: i32) -> (i32, Team) {
    let mut new = INVALID;
    // SAFETY: a place for the handle; no configuration.
    let r = unsafe {
        team::split_strided(
            F,
            parent,
            start,
            stride,
            size,
            std::ptr::null(),
            0,
            &raw mut new,
        )
    };
    (r, new)
}

/// The sum over a team of its members' numbers in the world.
fn team_sum(team: Team, source: &Array<i64>, dest: &Array<i64>) -> i64 {
    // SAFETY: a word each.
    unsafe {
        collective::reduce(
            F,
            team,
            Reduction::Sum,
            Type::I64,
            dest.bytes(),
            source.bytes(),
            1,
        );
    }
    dest.get(0)
}

fn teams(job: &Job) {
    let (me, n) = (job.me, job.n);
    assert_eq!((team::my_pe(F, WORLD), team::n_pes(F, WORLD)), (me, n));
    assert_eq!((team::my_pe(F, INVALID), team::n_pes(F, INVALID)), (-1, -1));
    let shared = team::translate_pe(F, SHARED, team::my_pe(F, SHARED), WORLD);
    assert_eq!(shared, me);
    assert_ne!(split(INVALID, 0, 1, 1).0, 0);
    for bad in [(0, 1, n + 1), (n, 1, 1), (-1, 1, 1), (0, 1, 0), (0, 0, 2)] {
        let (r, new) = split(WORLD, bad.0, bad.1, bad.2);
        assert!(r != 0 && new == INVALID, "{bad:?}");
    }
    let mine = Array::<i64>::new(1);
    let sum = Array::<i64>::new(1);
    mine.fill(|_| i64::from(me));
    collective::barrier_all(F);
    // The PEs with even and with odd numbers. Both teams have the same number, and work at the same time.
    let parity = me % 2;
    let (r, even) = split(WORLD, 0, 2, (n + 1) / 2);
    assert_eq!(r, 0);
    let odd = if n > 1 {
        let (r, odd) = split(WORLD, 1, 2, n / 2);
        assert_eq!(r, 0);
        odd
    } else {
        INVALID
    };
    assert_eq!(even == INVALID, parity == 1);
    assert_eq!(odd == INVALID, parity == 0);
    let half = if parity == 0 { even } else { odd };
    for _ in 0..50 {
        let expected: i64 = (0..n).filter(|pe| pe % 2 == parity).map(i64::from).sum();
        assert_eq!(team_sum(half, &mine, &sum), expected);
        assert_eq!(collective::team_sync(F, half), 0);
    }
    assert_eq!(team::my_pe(F, half), me / 2);
    assert_eq!(team::translate_pe(F, half, 0, WORLD), parity);
    assert_eq!(team::translate_pe(F, WORLD, me, half), me / 2);
    if n > 1 {
        assert_eq!(team::translate_pe(F, WORLD, 1 - parity, half), -1);
    }
    // A team of a team, backwards.
    let size = team::n_pes(F, half);
    let (r, back) = split(half, size - 1, -1, size);
    assert_eq!(r, 0);
    assert_eq!(team::my_pe(F, back), size - 1 - me / 2);
    collective::team_sync(F, back);
    team::destroy(F, back);
    team::destroy(F, half);
    // Rows and columns, with a configuration.
    let config = Config { num_contexts: 3 };
    let (mut x, mut y) = (INVALID, INVALID);
    // SAFETY: places for the handles and a configuration.
    unsafe {
        let null = std::ptr::null();
        let r = team::split_2d(F, WORLD, 4, &config, 1, &raw mut x, null, 0, &raw mut y);
        assert_eq!(r, 0);
        let mut got = Config::default();
        assert_eq!(team::get_config(F, x, 1, &raw mut got), 0);
        assert_eq!(got, config);
        assert_ne!(team::get_config(F, INVALID, 1, &raw mut got), 0);
    }
    for _ in 0..20 {
        let row: i64 = (0..n).filter(|pe| pe / 4 == me / 4).map(i64::from).sum();
        assert_eq!(team_sum(x, &mine, &sum), row);
        let column: i64 = (0..n).filter(|pe| pe % 4 == me % 4).map(i64::from).sum();
        assert_eq!(team_sum(y, &mine, &sum), column);
    }
    team::destroy(F, x);
    team::destroy(F, y);
    team::destroy(F, INVALID);
    // The numbers of destroyed teams are used again, by teams of other sizes with other counts.
    for round in 0..60 {
        let size = 1 + round % n;
        let (r, t) = split(WORLD, 0, 1, size);
        assert_eq!(r, 0);
        if t != INVALID {
            for _ in 0..round % 4 {
                assert_eq!(
                    team_sum(t, &mine, &sum),
                    i64::from(size * (size - 1) / 2),
                    "round {round}"
                );
            }
            team::destroy(F, t);
        }
    }
    let (r, t) = split(WORLD, 0, 1, n);
    assert_eq!(r, 0);
    // Not destroyed: finalize does.
    collective::team_sync(F, t);
}

/// Many teams at the same time, and an error when no more can be created.
fn plenty(job: &Job) {
    let n = job.n;
    let mine = Array::<i64>::new(1);
    let sum = Array::<i64>::new(1);
    mine.fill(|_| i64::from(job.me));
    collective::barrier_all(F);
    let mut alive = Vec::new();
    loop {
        let (r, t) = split(WORLD, 0, 1, n);
        if r != 0 {
            assert_eq!(t, INVALID);
            break;
        }
        alive.push(t);
        assert!(alive.len() < 5000);
    }
    assert!(alive.len() >= 256, "{}", alive.len());
    assert_eq!(
        team_sum(alive[alive.len() - 1], &mine, &sum),
        i64::from(n * (n - 1) / 2)
    );
    for t in alive {
        team::destroy(F, t);
    }
    let (r, _) = split(WORLD, 0, 1, n);
    assert_eq!(r, 0);
}

/// Active sets that are not all PEs, with arrays used by turns.
fn sets(job: &Job) {
    const WORDS: usize = 64;
    let (me, n) = (job.me, job.n);
    let sync = [Array::<c_long>::new(WORDS), Array::<c_long>::new(WORDS)];
    let bar = Array::<c_long>::new(WORDS);
    let source = Array::<u64>::new(2000);
    let dest = Array::<u64>::new(10_000);
    let sets = [
        Set {
            start: 0,
            log_stride: 1,
            size: (n + 1) / 2,
        },
        Set {
            start: 1,
            log_stride: 0,
            size: n - 1,
        },
        Set {
            start: 0,
            log_stride: 0,
            size: n,
        },
        Set {
            start: n - 1,
            log_stride: 0,
            size: 1,
        },
    ];
    for set in sets {
        collective::barrier_all(F);
        let distance = me - set.start;
        let stride = 1 << set.log_stride;
        if distance < 0 || distance % stride != 0 || distance / stride >= set.size {
            continue;
        }
        let (rank, size) = ((distance / stride) as usize, set.size as usize);
        let pe = |rank: usize| set.start as usize + rank * stride as usize;
        let mut turn = 0;
        // SAFETY: symmetric arrays that are large enough; between two uses of an array lies a collective with the
        // other, and results are looked at before a barrier.
        unsafe {
            for round in 0..30usize {
                let mut psync = || {
                    turn ^= 1;
                    sync[turn].at
                };
                if (round + rank * 5) % 17 == 0 {
                    std::thread::sleep(std::time::Duration::from_micros(200));
                }
                let len = if round % 10 == 0 { 600 } else { 3 };
                source.fill(|i| (me as usize * 100_000 + round * 10 + i) as u64);
                let value = |r: usize, i: usize| (pe(r) * 100_000 + round * 10 + i) as u64;
                active::barrier(F, set, bar.at);
                active::barrier(F, set, bar.at);
                let (d, s) = (dest.bytes(), source.bytes());
                active::reduce(
                    F,
                    Reduction::Sum,
                    Type::U64,
                    d,
                    s,
                    len as i32,
                    set,
                    std::ptr::null_mut(),
                    psync(),
                );
                for i in 0..len {
                    let sum: u64 = (0..size).map(|r| value(r, i)).sum();
                    assert_eq!(dest.get(i), sum, "sum {round} {i}");
                }
                active::barrier(F, set, bar.at);
                active::fcollect(F, d, s, len * 8, set, psync());
                for i in 0..len * size {
                    assert_eq!(dest.get(i), value(i / len, i % len), "fcollect {round} {i}");
                }
                active::barrier(F, set, bar.at);
                let own = rank + 1;
                active::collect(F, d, s, own * 8, set, psync());
                let mut at = 0;
                for r in 0..size {
                    for i in 0..=r {
                        assert_eq!(dest.get(at), value(r, i), "collect {round} {r} {i}");
                        at += 1;
                    }
                }
                active::barrier(F, set, bar.at);
                active::alltoall(F, d, s, 8, set, psync());
                for r in 0..size {
                    assert_eq!(dest.get(r), value(r, rank), "alltoall {round} {r}");
                }
                active::barrier(F, set, bar.at);
                let root = round % size;
                dest.fill(|_| 5);
                active::barrier(F, set, bar.at);
                active::broadcast(F, d, s, len * 8, root as i32, set, psync());
                for i in 0..len {
                    let expected = if rank == root { 5 } else { value(root, i) };
                    assert_eq!(dest.get(i), expected, "broadcast {round} {i}");
                }
                active::barrier(F, set, bar.at);
                active::alltoalls(F, d, s, 2, 3, 8, 2, set, psync());
                for r in 0..size {
                    for k in 0..2 {
                        let found = dest.get((r * 2 + k) * 2);
                        assert_eq!(found, value(r, (rank * 2 + k) * 3), "alltoalls");
                    }
                }
                active::sync(F, set, bar.at);
            }
        }
    }
    collective::barrier_all(F);
    for array in [&sync[0], &sync[1], &bar] {
        array.expect("pSync at the end", |_| 0);
    }
}

/// The library is opened again after it was closed; teams of the first time are gone.
fn again(job: &Job) {
    for _ in 0..3 {
        for _ in 0..30 {
            let (r, t) = split(WORLD, 0, 1, job.n);
            assert_eq!(r, 0);
            assert_eq!(team::n_pes(F, t), job.n);
        }
        setup::finalize(F);
        setup::init(F);
        collective::barrier_all(F);
    }
}
