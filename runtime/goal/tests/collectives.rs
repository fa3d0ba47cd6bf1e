//! Every collective on 1 to 17 ranks, with random interleavings, is compared with a serial reference: with several runs
//! at the same time, with eager and offered messages, and with one credit and many.

use hetmp_goal::collectives::{self as c, Vector};
use hetmp_goal::element::{apply, Arithmetic, Type};
use hetmp_goal::global;
use hetmp_goal::graph::Graph;
use hetmp_goal::memory::{Buffer, Memory, Owned};
use hetmp_goal::network::Network;
use hetmp_goal::rank::{Handle, Limits, State};
use hetmp_goal::schedule::Schedule;
use std::sync::{Arc, Mutex};

#[path = "adapter/mod.rs"]
mod adapter;

/// Memory that stays reachable while a run uses it.
#[derive(Clone)]
struct Shared(Arc<Mutex<Owned>>);

impl Memory for Shared {
    fn segment_bytes(&self, segment: u16) -> u64 {
        self.0.lock().unwrap().segment_bytes(segment)
    }
    fn make_scratchpad(&mut self, bytes: u64) {
        self.0.lock().unwrap().make_scratchpad(bytes);
    }
    fn read(&self, piece: &Buffer, into: &mut [u8]) {
        self.0.lock().unwrap().read(piece, into);
    }
    fn write(&mut self, piece: &Buffer, from: &[u8]) {
        self.0.lock().unwrap().write(piece, from);
    }
}

fn limits(seed: u64) -> Limits {
    Limits {
        eager: [0, 16, 8 << 10][seed as usize % 3],
        credits: [1, 3, 64][seed as usize / 3 % 3],
        fragment: [64, 700, 64 << 10][seed as usize / 9 % 3],
        ..Limits::default()
    }
}

/// Bytes that differ between ranks and places.
fn pattern(rank: u32, bytes: u64, salt: u64) -> Vec<u8> {
    (0..bytes)
        .map(|i| {
            let x = (u64::from(rank) << 32 ^ i ^ salt << 48).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            (x >> 56) as u8
        })
        .collect()
}

/// Executes `runs` runs of the graphs at the same time. Returns the output of each rank in each run.
fn execute(
    graphs: &[Graph],
    gives: &dyn Fn(u32, u64) -> Vec<u8>,
    runs: u64,
    seed: u64,
) -> Vec<Vec<Vec<u8>>> {
    assert_eq!(global::check(graphs), []);
    let ranks = graphs.len() as u32;
    let schedules: Vec<Arc<Schedule>> = graphs
        .iter()
        .map(|g| {
            let schedule = g.compile().unwrap();
            assert_eq!(
                Schedule::from_bytes(&schedule.to_bytes()).as_ref(),
                Ok(&schedule)
            );
            Arc::new(schedule)
        })
        .collect();
    let mut net = Network::new(ranks, limits(seed), seed);
    let mut running: Vec<Vec<(Handle, Shared)>> = vec![Vec::new(); ranks as usize];
    // Ranks begin their runs at different times, while packets are under way.
    let mut left: Vec<u32> = (0..ranks).flat_map(|r| vec![r; runs as usize]).collect();
    while !left.is_empty() {
        let pick = net.draw(left.len());
        let rank = left.swap_remove(pick);
        let number = running[rank as usize].len() as u64;
        let schedule = &schedules[rank as usize];
        let gets = schedule.segments()[1];
        let mut given = gives(rank, number);
        given.truncate(schedule.segments()[0] as usize);
        let memory = Shared(Arc::new(Mutex::new(Owned::new(vec![
            given,
            vec![0xee; gets as usize],
        ]))));
        let handle = net.start(schedule, 5, Box::new(memory.clone())).unwrap();
        running[rank as usize].push((handle, memory));
        for _ in 0..net.draw(4) {
            net.step();
        }
    }
    net.run();
    for rank in 0..ranks {
        for (handle, _) in &running[rank as usize] {
            assert_eq!(
                net.rank(rank).state(*handle),
                Some(State::Done),
                "rank {rank}"
            );
        }
        assert_eq!(net.rank(rank).early(), (0, 0));
        assert_eq!(net.rank(rank).counts().bad_packets, 0);
    }
    running
        .into_iter()
        .map(|runs| {
            runs.into_iter()
                .map(|(_, memory)| memory.0.lock().unwrap().segments[1].clone())
                .collect()
        })
        .collect()
}

const SIZES: [u64; 3] = [0, 5, 1031];

/// Builds and runs the graph of each rank, and compares the outputs with `expected`.
fn hold(
    what: &str,
    ranks: u32,
    bytes: u64,
    seed: u64,
    build: &dyn Fn(u32) -> Graph,
    expected: &dyn Fn(u32, u64) -> Option<Vec<u8>>,
) {
    let graphs: Vec<Graph> = (0..ranks).map(build).collect();
    let gives = |rank, run| pattern(rank, bytes, run);
    let got = execute(&graphs, &gives, 3, seed);
    if let Some(triggered) = adapter::execute(&graphs, &gives, 3, seed) {
        assert_eq!(triggered, got, "{what} of {ranks} as triggered operations");
    }
    for (rank, runs) in got.iter().enumerate() {
        for (run, got) in runs.iter().enumerate() {
            if let Some(expected) = expected(rank as u32, run as u64) {
                assert!(
                    *got == expected,
                    "{what}, {ranks} ranks, {bytes} bytes, rank {rank}, run {run}"
                );
            }
        }
    }
}

#[test]
fn blocks_arrive_where_they_belong() {
    for ranks in 1..=17u32 {
        for (i, block) in SIZES.into_iter().enumerate() {
            let seed = u64::from(ranks) * 31 + i as u64;
            let root = ranks / 2;
            let all = block * u64::from(ranks);
            let part =
                |v: &[u8], r: u32| v[(block * u64::from(r)) as usize..][..block as usize].to_vec();
            hold(
                "broadcast",
                ranks,
                block,
                seed,
                &|r| c::broadcast(r, ranks, root, block).unwrap(),
                &|_, run| Some(pattern(root, block, run)),
            );
            let gathered = |run| {
                (0..ranks)
                    .flat_map(|r| pattern(r, block, run))
                    .collect::<Vec<u8>>()
            };
            hold(
                "gather",
                ranks,
                block,
                seed,
                &|r| c::gather(r, ranks, root, block).unwrap(),
                &|r, run| (r == root).then(|| gathered(run)),
            );
            hold(
                "scatter",
                ranks,
                all,
                seed,
                &|r| c::scatter(r, ranks, root, block).unwrap(),
                &|r, run| Some(part(&pattern(root, all, run), r)),
            );
            for (what, build) in [
                ("allgather", c::allgather as fn(u32, u32, u64) -> _),
                ("allgather_ring", c::allgather_ring),
            ] {
                hold(
                    what,
                    ranks,
                    block,
                    seed,
                    &|r| build(r, ranks, block).unwrap(),
                    &|_, run| Some(gathered(run)),
                );
            }
            for (what, build) in [
                ("alltoall", c::alltoall as fn(u32, u32, u64) -> _),
                ("alltoall_bruck", c::alltoall_bruck),
            ] {
                hold(
                    what,
                    ranks,
                    all,
                    seed,
                    &|r| build(r, ranks, block).unwrap(),
                    &|r, run| {
                        Some(
                            (0..ranks)
                                .flat_map(|s| part(&pattern(s, all, run), r))
                                .collect(),
                        )
                    },
                );
            }
        }
    }
}

const TYPES: [Type; 8] = [
    Type::Signed(8),
    Type::Unsigned(16),
    Type::Signed(32),
    Type::Unsigned(64),
    Type::Signed(13),
    Type::Unsigned(1),
    Type::Float,
    Type::Double,
];

/// Small whole numbers, so that sums and products of floating point numbers are exact in any order.
fn numbers(rank: u32, v: Vector, count: u64, run: u64) -> Vec<u8> {
    pattern(rank, count, run)
        .into_iter()
        .flat_map(|byte| {
            let n = byte % 3 + 1;
            match v.element {
                Type::Float => f32::from(n).to_le_bytes().to_vec(),
                Type::Double => f64::from(n).to_le_bytes().to_vec(),
                t => {
                    let mut bytes = vec![0; t.bytes() as usize];
                    bytes[0] = if t == Type::Unsigned(1) { n & 1 } else { n };
                    bytes
                }
            }
        })
        .collect()
}

#[test]
fn reductions_combine_every_rank_once() {
    let symmetric = Arithmetic::ALL
        .into_iter()
        .filter(|op| !matches!(op, Arithmetic::Sub | Arithmetic::Div));
    for op in symmetric {
        for (i, element) in TYPES.into_iter().enumerate().filter(|(_, t)| op.takes(*t)) {
            for ranks in 1..=17u32 {
                let count = [1, 23, 2][i % 3];
                let v = Vector { op, element, count };
                let seed = u64::from(ranks) * 7 + i as u64 + op as u64;
                let combined = |from: u32, to: u32, elements: u64, run| {
                    let mut sum = numbers(from, v, elements, run);
                    for r in from + 1..to {
                        apply(op, element, &mut sum, &numbers(r, v, elements, run)).unwrap();
                    }
                    sum
                };
                let run = |what: &str,
                           elements: u64,
                           build: &dyn Fn(u32) -> Graph,
                           root: Option<u32>,
                           scan: Option<u32>| {
                    let graphs: Vec<Graph> = (0..ranks).map(build).collect();
                    let got = execute(&graphs, &|r, n| numbers(r, v, elements, n), 2, seed);
                    for (rank, runs) in got.iter().enumerate() {
                        for (n, got) in runs.iter().enumerate() {
                            let to = scan.map_or(ranks, |own| rank as u32 + own);
                            if to == 0 {
                                assert!(got.is_empty());
                                continue;
                            }
                            let mut expected = combined(0, to, elements, n as u64);
                            if elements > count {
                                let size = v.bytes() as usize;
                                expected = expected[size * rank..][..size].to_vec();
                            }
                            if root.is_none_or(|root| root == rank as u32) {
                                assert_eq!(
                                    *got, expected,
                                    "{what} {op} of {element}, {ranks} ranks, rank {rank}"
                                );
                            }
                        }
                    }
                };
                let root = ranks - 1;
                run(
                    "reduce",
                    count,
                    &|r| c::reduce(r, ranks, root, v).unwrap(),
                    Some(root),
                    None,
                );
                run(
                    "allreduce",
                    count,
                    &|r| c::allreduce(r, ranks, v).unwrap(),
                    None,
                    None,
                );
                run(
                    "allreduce_ring",
                    count,
                    &|r| c::allreduce_ring(r, ranks, v).unwrap(),
                    None,
                    None,
                );
                run(
                    "scan",
                    count,
                    &|r| c::scan(r, ranks, v).unwrap(),
                    None,
                    Some(1),
                );
                run(
                    "exclusive scan",
                    count,
                    &|r| c::exclusive_scan(r, ranks, v).unwrap(),
                    None,
                    Some(0),
                );
                let build = |r: u32| c::reduce_scatter_block(r, ranks, v).unwrap();
                run(
                    "reduce_scatter",
                    count * u64::from(ranks),
                    &build,
                    None,
                    None,
                );
            }
        }
    }
}

#[test]
fn neighbours_of_any_topology_exchange() {
    // A ring on which everybody also has itself and the next rank twice.
    for ranks in 1..=9u32 {
        let up = |r: u32, n: u32| (r + n) % ranks;
        let destinations = |r: u32| vec![up(r, 1), r, up(r, ranks - 1), up(r, 1)];
        // In order of the sources' own lists: the first with the first.
        let sources = |r: u32| vec![up(r, ranks - 1), r, up(r, 1), up(r, ranks - 1)];
        let bytes = 12;
        let given = |r: u32, run: u64| pattern(r, 4 * bytes, run);
        let graphs: Vec<Graph> = (0..ranks)
            .map(|r| c::neighbour_alltoall(r, ranks, &sources(r), &destinations(r), bytes).unwrap())
            .collect();
        let got = execute(&graphs, &given, 2, u64::from(ranks));
        let seed = u64::from(ranks);
        let expected = execute(&graphs, &given, 5, seed);
        assert_eq!(adapter::execute_own(&graphs, &given, 5, seed), expected);
        for (rank, runs) in got.iter().enumerate() {
            for (n, got) in runs.iter().enumerate() {
                let mut expected = Vec::new();
                let mut used: Vec<(u32, usize)> = Vec::new();
                for s in sources(rank as u32) {
                    let seen = used.iter().filter(|(r, _)| *r == s).count();
                    let list = destinations(s);
                    let at = (0..4)
                        .filter(|i| list[*i] == rank as u32)
                        .nth(seen)
                        .unwrap();
                    used.push((s, at));
                    expected.extend_from_slice(
                        &given(s, n as u64)[at * bytes as usize..][..bytes as usize],
                    );
                }
                assert_eq!(*got, expected, "{ranks} ranks, rank {rank}");
            }
        }
    }
}

/// A group has ranks of a larger job, in an order of its own.
#[test]
fn groups_compute_what_a_job_of_their_members_does() {
    let v = Vector {
        op: Arithmetic::Add,
        element: Type::Double,
        count: 5,
    };
    for (seed, members) in (1..).zip([
        &[9u32, 2][..],
        &[4, 0, 7],
        &[11, 3, 5, 1],
        &[6, 2, 8, 0, 10, 1, 3],
    ]) {
        let n = members.len() as u32;
        let among = |g: Graph| g.among(members, 12).unwrap();
        let next = |r: u32, by: u32| [(r + by) % n, r];
        let builds: [&dyn Fn(u32) -> Graph; 7] = [
            &|r| c::allreduce(r, n, v).unwrap(),
            &|r| c::allgather(r, n, 40).unwrap(),
            &|r| c::scan(r, n, v).unwrap(),
            &|r| c::reduce(r, n, n - 1, v).unwrap(),
            &|r| c::alltoall(r, n, 40 / u64::from(n)).unwrap(),
            &|r| c::neighbour_alltoall(r, n, &next(r, n - 1), &next(r, 1), 20).unwrap(),
            &|r| c::exclusive_scan(r, n, v).unwrap(),
        ];
        let gives = |rank, run| pattern(rank, 40, run);
        for (i, build) in builds.iter().enumerate() {
            let apart: Vec<Graph> = (0..n).map(build).collect();
            let graphs: Vec<Graph> = apart.iter().cloned().map(among).collect();
            let expected = execute(&apart, &gives, 3, seed);
            assert_eq!(
                adapter::execute(&graphs, &gives, 3, seed).unwrap(),
                expected,
                "{i} of {n}"
            );
            if i == 5 {
                assert_eq!(adapter::execute_own(&graphs, &gives, 3, seed), expected);
            }
        }
    }
}

#[test]
fn nobody_leaves_a_barrier_before_everybody_came() {
    for ranks in 1..=17u32 {
        let schedules: Vec<Arc<Schedule>> = (0..ranks)
            .map(|r| Arc::new(c::barrier(r, ranks).unwrap().compile().unwrap()))
            .collect();
        let mut net = Network::new(ranks, limits(ranks.into()), 3);
        let empty = || Box::new(Owned::new(vec![Vec::new(), Vec::new()]));
        let late = ranks / 3;
        let handles: Vec<Handle> = (0..ranks)
            .filter(|r| *r != late)
            .map(|r| net.start(&schedules[r as usize], 0, empty()).unwrap())
            .collect();
        net.run();
        for (r, handle) in (0..ranks).filter(|r| *r != late).zip(&handles) {
            assert_eq!(
                net.rank(r).state(*handle),
                Some(State::Running),
                "rank {r} of {ranks}"
            );
        }
        let last = net.start(&schedules[late as usize], 0, empty()).unwrap();
        net.run();
        assert_eq!(net.rank(late).state(last), Some(State::Done));
        for (r, handle) in (0..ranks).filter(|r| *r != late).zip(&handles) {
            assert_eq!(net.rank(r).state(*handle), Some(State::Done));
        }
    }
}
