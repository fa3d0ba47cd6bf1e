//! `hetmp goal run`: this process is one rank of the job that `hetrun` has started.
//!
//! It keeps a run's buffers, and leaves them alone, until it has waited for the run.

use super::timeline::{self, Bar};
use super::Job;
use crate::outputs::{self, By};
use crate::Output;
use hetmp_goal::graph::{After, Graph};
use hetmp_goal::msccl::Data;
use hetmp_goal::rank::Event;
use hetmp_goal::{collectives, element, global};
use hetmp_goal_job::choice::Collective;
use hetmp_goal_job::world::{self, How, World};
use hetmp_goal_job::Segment;
use std::path::PathBuf;
use std::sync::Arc;

/// The context of the job's runs. This command's own messages to its peers have another context.
const RUNS: u32 = 0;
const TALK: u32 = 1;
/// Bytes of an event in messages to rank 0.
const EVENT: usize = 17;

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    job: Job,
    /// How often; the timeline is of the last time
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    times: u32,
    /// Writes the timeline of every operation on every rank, as a picture
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Writes the timeline for Perfetto and chrome://tracing
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
}

pub(super) fn run(arguments: &Arguments) -> Output {
    match real(arguments) {
        Ok(text) => Output {
            text,
            ..Output::default()
        },
        // The peers would wait for a rank that has given up. The error status ends the job.
        Err(error) => Output::refuse(error),
    }
}

fn real(arguments: &Arguments) -> Result<String, String> {
    let world = world::join().map_err(|e| e.to_string())?;
    let (rank, ranks) = (world.rank() as usize, world.ranks() as usize);
    // Rank 0 checks all ranks' graphs; the others need their own only.
    let mut loaded = arguments.job.load_of((rank > 0).then_some(rank as u32))?;
    if rank == 0 {
        if let Some(found) = global::check(&loaded.graphs).first() {
            return Err(loaded.shown(core::slice::from_ref(found)).concat());
        }
    }
    let all = loaded.graphs.len();
    if all != ranks {
        return Err(format!(
            "{ranks} processes: the job has {all} ranks (expected hetrun -n {all})"
        ));
    }
    let mut files = Vec::new();
    // Rank 0 writes what all have done.
    if rank == 0 {
        for (option, file) in [("--svg", &arguments.svg), ("--trace", &arguments.trace)] {
            files.extend(file.as_deref().map(|f| (option, f, By::Command)));
        }
    }
    outputs::check(&files)?;
    let compiled = |graph: &Graph| {
        let failed = |e| format!("rank {}: {e}", graph.rank());
        graph.compile().map_err(failed)
    };
    let schedule = Arc::new(compiled(&loaded.graphs[rank])?);
    let operations: usize = loaded.graphs.iter().map(|g| g.operations().len()).sum();
    if files.is_empty() {
        loaded.graphs = Vec::new();
    }
    let graph = schedule.to_graph();
    let data = loaded.algorithm.as_ref().and_then(|a| a.data());
    let mut events = Vec::new();
    for _ in 0..arguments.times {
        let mut segments = buffers(graph_segments(&schedule), data.as_ref(), rank);
        barrier(world)?;
        let outcome = start(world, &schedule, &mut segments)?;
        let ended = world.wait(&outcome);
        ended.map_err(|why| format!("rank {rank}: {why}"))?;
        events = outcome.events().to_vec();
        in_order(&graph, &events).map_err(|why| format!("rank {rank}: {why}"))?;
        if let Some(data) = &data {
            compare(&segments, data, rank)?;
        }
    }
    let times = events.iter().map(|e| e.at);
    let (began, ended) = (times.clone().min(), times.max());
    let own = [
        u64::from(!files.is_empty()),
        events.len() as u64,
        !began.unwrap_or(u64::MAX),
        ended.unwrap_or(0),
    ];
    let [pictures, most, began, ended] = largest(world, own)?;
    let began = !began;
    let gathered = if pictures == 0 {
        Vec::new()
    } else {
        gather(world, &events, most)?
    };
    let mut said = String::new();
    if rank == 0 {
        let mut bars = Vec::new();
        for (graph, events) in loaded.graphs.iter().zip(gathered) {
            bars.extend(of_rank(
                &compiled(graph)?.to_graph(),
                events.into_iter(),
                began,
            ));
        }
        if let Some(path) = &arguments.svg {
            outputs::write("--svg", path, timeline::svg(ranks, &bars))?;
        }
        if let Some(path) = &arguments.trace {
            outputs::write("--trace", path, timeline::perfetto(&bars))?;
        }
        let checked = match (&data, &loaded.algorithm) {
            (Some(_), Some(a)) => format!(", the data are those of an {}", a.collective),
            _ => String::new(),
        };
        said = format!(
            "{ranks} ranks, {operations} operations, {} times by engine {}: every order is the graph's{checked}; last \
             time {:.1} us\n",
            arguments.times,
            world.settings().engine.name(),
            ended.saturating_sub(began) as f64 / 1e3
        );
    }
    barrier(world)?;
    Ok(said)
}

fn graph_segments(schedule: &hetmp_goal::schedule::Schedule) -> Vec<usize> {
    schedule.segments().iter().map(|n| *n as usize).collect()
}

/// The buffers of a run: the collective's data if it is known, else zeros. Made of words, so that floats are aligned.
fn buffers(lengths: Vec<usize>, data: Option<&Data>, rank: usize) -> Vec<Vec<f32>> {
    match data {
        Some(data) => data.before[rank].to_vec(),
        None => lengths.iter().map(|n| vec![0.0; n.div_ceil(4)]).collect(),
    }
}

fn start(
    world: &'static World,
    schedule: &Arc<hetmp_goal::schedule::Schedule>,
    segments: &mut [Vec<f32>],
) -> Result<Arc<hetmp_goal_job::Outcome>, String> {
    let bound = segments
        .iter_mut()
        .map(|s| Segment {
            start: s.as_mut_ptr().cast(),
            bytes: 4 * s.len() as u64,
        })
        .collect::<Vec<_>>();
    // SAFETY: `real` keeps the buffers, and does not touch them, until it has waited for the run.
    unsafe { world.run(schedule, RUNS, &bound, How::Traced) }.map_err(|e| format!("{e:?}"))
}

/// Runs a collective on behalf of this command itself.
fn talk(
    world: &'static World,
    what: &Collective,
    give: &mut [u8],
    get: &mut [u8],
) -> Result<(), String> {
    let graph = what.graph(world.rank(), world.ranks(), world.settings());
    let schedule = graph.and_then(|g| g.compile()).map_err(|e| e.to_string())?;
    let bound = [give, get].map(|b| Segment {
        start: b.as_mut_ptr(),
        bytes: b.len() as u64,
    });
    let schedule = Arc::new(schedule);
    // SAFETY: the buffers are borrowed until the run has ended, which is waited for below.
    let outcome = unsafe { world.run(&schedule, TALK, &bound, How::Awaited) };
    let outcome = outcome.map_err(|e| format!("{e:?}"))?;
    world.wait(&outcome).map_err(|e| e.to_string())
}

fn barrier(world: &'static World) -> Result<(), String> {
    talk(world, &Collective::Barrier, &mut [], &mut [])
}

/// The largest of all ranks' numbers, each by itself.
fn largest<const N: usize>(world: &'static World, own: [u64; N]) -> Result<[u64; N], String> {
    let vector = collectives::Vector {
        op: element::Arithmetic::Max,
        element: element::Type::Unsigned(64),
        count: N as u64,
    };
    let mut own = own.map(u64::to_le_bytes);
    let mut most = [[0; 8]; N];
    let what = Collective::Allreduce { vector };
    talk(
        world,
        &what,
        own.as_flattened_mut(),
        most.as_flattened_mut(),
    )?;
    Ok(most.map(u64::from_le_bytes))
}

/// The events of all ranks, up to `most` each. Only rank 0 gets them.
fn gather(world: &'static World, events: &[Event], most: u64) -> Result<Vec<Vec<Event>>, String> {
    let mut mine = Vec::new();
    for e in events {
        mine.extend((e.place as u64).to_le_bytes());
        mine.push(u8::from(e.complete));
        mine.extend(e.at.to_le_bytes());
    }
    let bytes = most * EVENT as u64;
    // All ranks send equally many bytes. Events beyond a rank's own are zeros, at time 0.
    mine.resize(bytes as usize, 0);
    let root = world.rank() == 0;
    let room = if root {
        bytes as usize * world.ranks() as usize
    } else {
        0
    };
    let mut all = vec![0; room];
    talk(
        world,
        &Collective::Gather { root: 0, bytes },
        &mut mine,
        &mut all,
    )?;
    let word = |b: &[u8]| u64::from_le_bytes(b.try_into().unwrap_or_default());
    Ok(all
        .chunks(bytes.max(1) as usize)
        .map(|row| {
            let events = row.chunks_exact(EVENT).map(|e| Event {
                place: word(&e[..8]) as usize,
                complete: e[8] != 0,
                at: word(&e[9..]),
            });
            events.filter(|e| e.at != 0).collect()
        })
        .collect())
}

/// Checks that each operation has begun once, then completed once, and began after the operations on which it
/// depends.
pub(super) fn in_order(graph: &Graph, events: &[Event]) -> Result<(), String> {
    let n = graph.operations().len();
    let (mut begun, mut complete) = (vec![None; n], vec![None; n]);
    for (i, e) in events.iter().enumerate() {
        let when = if e.complete {
            &mut complete
        } else {
            &mut begun
        };
        match when.get_mut(e.place) {
            Some(at @ None) => *at = Some(i),
            _ => return Err(format!("operation {} ran twice, or is none", e.place)),
        }
    }
    for op in 0..n {
        match (begun[op], complete[op]) {
            (Some(b), Some(c)) if b < c => {}
            _ => return Err(format!("operation {op} did not run")),
        }
    }
    for (later, after, earlier) in graph.edges() {
        let first = match after {
            After::Complete => complete[earlier],
            After::Begun => begun[earlier],
        };
        if first >= begun[later] {
            return Err(format!("operation {later} began before {earlier}"));
        }
    }
    Ok(())
}

fn compare(segments: &[Vec<f32>], data: &Data, rank: usize) -> Result<(), String> {
    for (s, (got, wanted)) in segments.iter().zip(&data.after[rank]).enumerate() {
        let pairs = got.iter().zip(wanted).enumerate();
        for (i, (got, wanted)) in pairs {
            if wanted.is_some_and(|w| w != *got) {
                return Err(format!(
                    "rank {rank}: element {i} of segment {s} is {got}: the collective's is {}",
                    wanted.unwrap_or_default()
                ));
            }
        }
    }
    Ok(())
}

/// The bars of one rank's operations, from its events in any order, in time since `first`.
fn of_rank(graph: &Graph, events: impl Iterator<Item = Event>, first: u64) -> Vec<Bar> {
    let mut times = vec![[None; 2]; graph.operations().len()];
    for e in events {
        if let Some(times) = times.get_mut(e.place) {
            times[usize::from(e.complete)] = Some(e.at - first);
        }
    }
    let all = graph.operations().iter().zip(times).enumerate();
    all.filter_map(|(place, (work, times))| {
        Some(Bar {
            rank: graph.rank() as usize,
            begins: times[0]?,
            ends: times[1]?,
            kind: timeline::kind(work),
            label: format!("{place}: {work}"),
        })
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hetmp_goal::graph::Work;

    #[test]
    fn bars_take_one_look_at_each_event() {
        const N: usize = 1000;
        let mut graph = Graph::new(0, 1).unwrap();
        for _ in 0..N {
            graph.add(Work::Calc { nanoseconds: 0 }).unwrap();
        }
        let mut looks = 0;
        let events = (0..2 * N).rev().map(|i| Event {
            place: i / 2,
            complete: i % 2 == 1,
            at: 100 + i as u64,
        });
        let bars = of_rank(&graph, events.inspect(|_| looks += 1), 100);
        assert_eq!((bars.len(), looks), (N, 2 * N));
        let last = &bars[N - 1];
        assert_eq!(
            (last.begins, last.ends),
            (2 * N as u64 - 2, 2 * N as u64 - 1)
        );
        assert_eq!(last.label, "999: calc 0 ns");
    }

    #[test]
    fn an_order_that_is_not_the_graph_s_is_noticed() {
        let mut graph = Graph::new(0, 1).unwrap();
        let calc = || Work::Calc { nanoseconds: 0 };
        let (a, b) = (graph.add(calc()).unwrap(), graph.add(calc()).unwrap());
        graph.requires(b, a).unwrap();
        let e = |place, complete| Event {
            place,
            complete,
            at: 1,
        };
        let good = [e(0, false), e(0, true), e(1, false), e(1, true)];
        assert_eq!(in_order(&graph, &good), Ok(()));
        let early = [e(0, false), e(1, false), e(0, true), e(1, true)];
        assert_eq!(
            in_order(&graph, &early),
            Err("operation 1 began before 0".to_owned())
        );
        assert_eq!(
            in_order(&graph, &good[..3]),
            Err("operation 1 did not run".to_owned())
        );
        let twice = [e(0, false), e(0, false)];
        assert!(in_order(&graph, &twice).is_err());
        assert!(in_order(&graph, &[e(7, true)]).is_err());
    }
}
