//! `hetmp calibrate goal`: the sizes from which on another algorithm of a collective is faster.

use crate::Output;
use hetmp_goal::collectives::Vector;
use hetmp_goal::element::{Arithmetic, Type};
use hetmp_goal::schedule::Schedule;
use hetmp_goal_job::choice::Collective;
use hetmp_goal_job::world::{self, How, World};
use hetmp_goal_job::{Allgather, Allreduce, Alltoall, Segment, Settings};
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Instant;

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The longest block, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 1 << 18)]
    #[arg(value_parser = clap::value_parser!(u64).range(8..=1 << 24))]
    longest: u64,
    /// Rounds, of which the median counts
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
}

const CONTEXT: u32 = 2;

/// Two algorithms of a collective.
struct Pair {
    name: &'static str,
    /// The algorithm for short blocks, and the one for long blocks.
    algorithms: [&'static str; 2],
    collective: fn(u64) -> Collective,
    force: fn(&mut Settings, bool),
    /// The size by which the choice is made, from the bytes of a block and the number of ranks.
    counts: fn(u64, u64) -> u64,
}

fn vector(bytes: u64) -> Vector {
    Vector {
        op: Arithmetic::Add,
        element: Type::Double,
        count: bytes / 8,
    }
}

const PAIRS: [Pair; 3] = [
    Pair {
        name: "allreduce",
        algorithms: ["doubling", "ring"],
        collective: |bytes| Collective::Allreduce {
            vector: vector(bytes),
        },
        force: |s, long| {
            s.allreduce = if long {
                Allreduce::Ring
            } else {
                Allreduce::Doubling
            }
        },
        counts: |bytes, _| bytes,
    },
    Pair {
        name: "allgather",
        algorithms: ["log", "ring"],
        collective: |bytes| Collective::Allgather { bytes },
        force: |s, long| {
            s.allgather = if long {
                Allgather::Ring
            } else {
                Allgather::Log
            }
        },
        counts: |bytes, ranks| bytes * ranks,
    },
    Pair {
        name: "alltoall",
        algorithms: ["bruck", "direct"],
        collective: |bytes| Collective::Alltoall { bytes },
        force: |s, long| {
            s.alltoall = if long {
                Alltoall::Direct
            } else {
                Alltoall::Bruck
            }
        },
        counts: |bytes, _| bytes,
    },
];

pub(super) fn run(arguments: &Arguments) -> Output {
    match measure(arguments) {
        Ok(text) => Output {
            text,
            ..Output::default()
        },
        Err(error) => Output::refuse(error),
    }
}

/// Runs a schedule to its end.
fn once(
    world: &'static World,
    schedule: &Arc<Schedule>,
    buffers: &mut [Vec<u64>; 2],
) -> Result<(), String> {
    let bound = buffers
        .iter_mut()
        .zip(schedule.segments())
        .map(|(b, bytes)| Segment {
            start: b.as_mut_ptr().cast(),
            bytes: (*bytes).min(8 * b.len() as u64),
        })
        .collect::<Vec<_>>();
    // SAFETY: the buffers are borrowed until the run has ended, which the next line waits for.
    let outcome = unsafe { world.run(schedule, CONTEXT, &bound, How::Awaited) };
    let outcome = outcome.map_err(|e| format!("{e:?}"))?;
    world.wait(&outcome).map_err(|e| e.to_string())
}

fn compiled(
    world: &World,
    what: &Collective,
    settings: &Settings,
) -> Result<Arc<Schedule>, String> {
    let graph = what.graph(world.rank(), world.ranks(), settings);
    let schedule = graph.and_then(|g| g.compile()).map_err(|e| e.to_string())?;
    Ok(Arc::new(schedule))
}

fn measure(arguments: &Arguments) -> Result<String, String> {
    let world = world::join().map_err(|e| e.to_string())?;
    let ranks = u64::from(world.ranks());
    let settings = *world.settings();
    if ranks < 3 {
        return Err(format!(
            "{ranks} processes: the algorithms are the same for so few (expected hetrun -n 3 or more)"
        ));
    }
    let words = (arguments.longest * ranks / 8) as usize;
    let mut buffers = [vec![0u64; words], vec![0u64; words]];
    let longest_of_all = compiled(
        world,
        &Collective::Allreduce {
            vector: Vector {
                op: Arithmetic::Max,
                element: Type::Unsigned(64),
                count: 1,
            },
        },
        &settings,
    )?;
    let mut out = format!(
        "{ranks} ranks, engine {}, microseconds of one blocking collective\n{:>10} {:>9}",
        settings.engine.name(),
        "",
        "block"
    );
    out.push_str("     short      long\n");
    let mut choices = Vec::new();
    for pair in &PAIRS {
        // The first size from which on the algorithm for long blocks stays faster.
        let mut from = None;
        let mut bytes = 8;
        let mut largest_short = 0;
        while bytes <= arguments.longest {
            let mut took = [0.0; 2];
            let what = (pair.collective)(bytes);
            let schedules = [false, true].map(|long| {
                let mut settings = settings;
                (pair.force)(&mut settings, long);
                compiled(world, &what, &settings)
            });
            let schedules = match schedules {
                [Ok(a), Ok(b)] => [a, b],
                [Err(e), _] | [_, Err(e)] => return Err(e),
            };
            let times = (200_000 / (bytes + 2000)).max(5);
            let mut rounds = [Vec::new(), Vec::new()];
            for round in 0..=arguments.rounds {
                for (i, schedule) in schedules.iter().enumerate() {
                    let began = Instant::now();
                    for _ in 0..times {
                        once(world, schedule, &mut buffers)?;
                    }
                    // The time of the slowest rank counts, and all ranks get it.
                    buffers[0][0] = began.elapsed().as_nanos() as u64;
                    once(world, &longest_of_all, &mut buffers)?;
                    if round > 0 {
                        rounds[i].push(buffers[1][0] as f64 / 1e3 / times as f64);
                    }
                }
            }
            for (took, round) in took.iter_mut().zip(&mut rounds) {
                round.sort_by(f64::total_cmp);
                *took = round[round.len() / 2];
            }
            // Writing to a string does not fail.
            let _ = writeln!(
                out,
                "{:>10} {bytes:>9} {:>9.1} {:>9.1}",
                pair.name, took[0], took[1]
            );
            let counted = (pair.counts)(bytes, ranks);
            if took[1] < took[0] {
                from.get_or_insert(counted);
            } else {
                from = None;
                largest_short = counted;
            }
            bytes *= 4;
        }
        let [short, long] = pair.algorithms;
        let from = from.unwrap_or(u64::MAX >> 1);
        let _ = writeln!(out, "{:>10} short: {short}, long: {long}", "");
        choices.push(match pair.name {
            "alltoall" => format!("alltoall={largest_short}"),
            name => format!("{name}={from}"),
        });
    }
    let _ = writeln!(out, "HETMP_GOAL_CHOICE={}", choices.join(","));
    Ok(if world.rank() == 0 {
        out
    } else {
        String::new()
    })
}
