//! `hetmp goal run`: this process is one rank of the job that `hetrun` has started.

use super::timeline::{self, Bar};
use super::{words, Job};
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
    let loaded = arguments.job.load()?;
    if let Some(found) = global::check(&loaded.graphs).first() {
        return Err(found.to_string());
    }
    let world = world::join().map_err(|e| e.to_string())?;
    let (rank, ranks) = (world.rank() as usize, world.ranks() as usize);
    let graph = &loaded.graphs[..];
    if graph.len() != ranks {
        return Err(format!(
            "{ranks} processes: the job has {0} ranks (expected hetrun -n {0})",
            graph.len()
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
    let graph = &graph[rank];
    let schedule = graph.compile().map_err(|e| format!("rank {rank}: {e}"))?;
    let schedule = Arc::new(schedule);
    let data = loaded.algorithm.as_ref().and_then(|a| a.data());
    let mut events = Vec::new();
    let mut longest = 0;
    for _ in 0..arguments.times {
        let mut segments = buffers(graph_segments(&schedule), data.as_ref(), rank);
        barrier(world)?;
        let outcome = start(world, &schedule, &mut segments)?;
        let ended = world.wait(&outcome);
        ended.map_err(|why| format!("rank {rank}: {why}"))?;
        events = outcome.events().to_vec();
        in_order(&schedule.to_graph(), &events).map_err(|why| format!("rank {rank}: {why}"))?;
        if let Some(data) = &data {
            compare(&segments, data, rank)?;
        }
        let times = events.iter().map(|e| e.at);
        let took = times.clone().max().unwrap_or(0) - times.min().unwrap_or(0);
        longest = longest.max(took);
    }
    let gathered = gather(world, &events)?;
    let mut said = String::new();
    if rank == 0 {
        let all: Vec<Graph> = loaded
            .graphs
            .iter()
            .map(|g| g.compile().map(|s| s.to_graph()).map_err(|e| e.to_string()))
            .collect::<Result<_, String>>()?;
        let bars = bars(&all, &gathered);
        if let Some(path) = &arguments.svg {
            outputs::write("--svg", path, timeline::svg(ranks, &bars))?;
        }
        if let Some(path) = &arguments.trace {
            outputs::write("--trace", path, timeline::perfetto(&bars))?;
        }
        let operations: usize = all.iter().map(|g| g.operations().len()).sum();
        let checked = match (&data, &loaded.algorithm) {
            (Some(_), Some(a)) => format!(", the data are those of an {}", a.collective),
            _ => String::new(),
        };
        let last = bars.iter().map(|b| b.ends).max().unwrap_or(0);
        said = format!(
            "{ranks} ranks, {operations} operations, {} times by engine {}: every order is the graph's{checked}; last \
             time {:.1} us\n",
            arguments.times,
            world.settings().engine.name(),
            last as f64 / 1e3
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

/// The events of all ranks. Only rank 0 gets them.
fn gather(world: &'static World, events: &[Event]) -> Result<Vec<Vec<Event>>, String> {
    let mut mine = Vec::new();
    for e in events {
        mine.extend((e.place as u64).to_le_bytes());
        mine.push(u8::from(e.complete));
        mine.extend(e.at.to_le_bytes());
    }
    let vector = collectives::Vector {
        op: element::Arithmetic::Max,
        element: element::Type::Unsigned(64),
        count: 1,
    };
    let mut most = [0; 8];
    let mut own = (mine.len() as u64).to_le_bytes();
    talk(
        world,
        &Collective::Allreduce { vector },
        &mut own,
        &mut most,
    )?;
    let bytes = u64::from_le_bytes(most);
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

fn bars(graphs: &[Graph], events: &[Vec<Event>]) -> Vec<Bar> {
    let first = events.iter().flatten().map(|e| e.at).min().unwrap_or(0);
    let mut bars = Vec::new();
    for (rank, (graph, events)) in graphs.iter().zip(events).enumerate() {
        for (place, work) in graph.operations().iter().enumerate() {
            let at = |complete| {
                let found = events
                    .iter()
                    .find(|e| e.place == place && e.complete == complete);
                found.map(|e| e.at - first)
            };
            if let (Some(begins), Some(ends)) = (at(false), at(true)) {
                bars.push(Bar {
                    rank,
                    begins,
                    ends,
                    kind: timeline::kind(work),
                    label: format!("{place}: {}", words(work)),
                });
            }
        }
    }
    bars
}

#[cfg(test)]
mod tests {
    use super::*;
    use hetmp_goal::graph::Work;

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
