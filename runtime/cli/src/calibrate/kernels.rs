//! Core speed ratios of standard kernels: how much faster one core of a node is than one of the slowest node, while
//! all cores of all nodes are busy.

use super::crew::{self, median, Member};
use hetmp_core::topo::Node;
use std::hint::black_box;
use std::time::Duration;

/// The result of one kernel.
pub(super) struct Row {
    pub(super) name: &'static str,
    /// What the kernel does, for people.
    pub(super) what: &'static str,
    /// By node: nanoseconds that one core needs for one unit of work.
    pub(super) ns: Vec<f64>,
    /// By node: its core speed ratio; the slowest node has 1.
    pub(super) csr: Vec<f64>,
}

/// Words that each thread's memory kernel goes through: more than fits into second-level caches.
const MEMORY_WORDS: usize = 2 << 20;
/// How often a measurement is repeated; the median is taken.
const REPEATS: usize = 7;

type Unit = fn(&mut State, u64);

struct State {
    seed: u64,
    value: f64,
    memory: Vec<u64>,
}

const KERNELS: [(&str, &str, Unit); 4] = [
    (
        "integer",
        "dependent 64-bit multiplications and additions",
        integer,
    ),
    (
        "float",
        "dependent double-precision multiplications and additions",
        float,
    ),
    ("memory", "sums over 16 MiB a thread", memory),
    ("branchy", "branches that depend on random bits", branchy),
];

fn integer(s: &mut State, units: u64) {
    let mut x = s.seed | 1;
    for _ in 0..units * 64 {
        x = black_box(x)
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
    }
    s.seed = x;
}

fn float(s: &mut State, units: u64) {
    let mut x = s.value;
    for _ in 0..units * 64 {
        x = black_box(x) * 0.999_999 + 0.5;
    }
    s.value = x;
}

fn memory(s: &mut State, units: u64) {
    let length = s.memory.len();
    if length == 0 {
        return;
    }
    for _ in 0..units {
        // 512 words that are 8 cache lines apart: each load needs another line, and they spread over more than one
        // page.
        let start = (s.seed as usize).wrapping_mul(64) % length;
        let mut sum = 0u64;
        for i in 0..64 {
            sum = sum.wrapping_add(s.memory[(start + i * 8) % length]);
        }
        black_box(sum);
        s.seed = s.seed.wrapping_add(8);
    }
}

fn branchy(s: &mut State, units: u64) {
    let mut x = s.seed | 1;
    let mut taken = 0u64;
    for _ in 0..units * 32 {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        if x & 1 == 0 {
            taken = black_box(taken) + 1;
        } else if x & 2 == 0 {
            taken = black_box(taken) ^ x;
        }
    }
    s.seed = x ^ (taken & 1);
}

/// Measures all kernels on all nodes at the same time. One measurement takes about `each`.
pub(super) fn measure(nodes: &[Node], each: Duration) -> Vec<Row> {
    let all: Vec<&Node> = nodes.iter().collect();
    KERNELS
        .iter()
        .map(|&(name, what, unit)| {
            let per_thread = crew::run(&all, name, |m| (m.node, one(m, name, unit, each)));
            let ns: Vec<f64> = (0..nodes.len())
                .map(|node| {
                    let of: Vec<f64> = per_thread
                        .iter()
                        .filter(|(n, _)| *n == node)
                        .map(|(_, ns)| *ns)
                        .collect();
                    of.iter().sum::<f64>() / of.len().max(1) as f64
                })
                .collect();
            let slowest = ns.iter().copied().fold(0.0, f64::max);
            Row {
                name,
                what,
                csr: ns.iter().map(|t| slowest / t).collect(),
                ns,
            }
        })
        .collect()
}

/// Keeps all cores of a node busy for `time`.
pub(super) fn load(node: &Node, time: Duration) {
    crew::run(&[node], "float", |_| {
        let mut state = State {
            seed: 1,
            value: 1.0,
            memory: Vec::new(),
        };
        let start = std::time::Instant::now();
        while start.elapsed() < time {
            float(&mut state, 1000);
        }
        black_box(state.value)
    });
}

/// Nanoseconds that this thread needs for one unit.
fn one(m: &Member<'_>, name: &str, unit: Unit, each: Duration) -> f64 {
    let mut state = State {
        seed: 0x9e37_79b9 + m.index as u64,
        value: 1.0,
        memory: if name == "memory" {
            (0..MEMORY_WORDS as u64).collect()
        } else {
            Vec::new()
        },
    };
    // Finds how many units fill the time at full speed.
    let mut units = 64;
    loop {
        let start = std::time::Instant::now();
        unit(&mut state, units);
        let took = start.elapsed().as_secs_f64();
        if took > 1e-3 {
            units = ((units as f64 * each.as_secs_f64() / took) as u64).max(1);
            break;
        }
        units *= 2;
    }
    m.meet();
    let mut times: Vec<f64> = (0..REPEATS)
        .map(|_| {
            let seconds = m.run(|| unit(&mut state, units));
            black_box((state.seed, state.value));
            seconds * 1e9 / units as f64
        })
        .collect();
    m.meet();
    median(&mut times)
}
