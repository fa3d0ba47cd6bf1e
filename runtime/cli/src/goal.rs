//! `hetmp goal`: schedules of collective communication as files.
//!
//! * `check` finds mistakes in the graphs of a whole job and runs them in one thread; `compile` writes one rank's
//!   binary schedule; `show` reads one; `plot` draws a job as a graph for Graphviz; `import` writes an algorithm of
//!   MSCCL in the text form; `run` runs a job for real, with one rank in each process of `hetrun`.
//!
//! The formats and all decisions belong to `hetmp_goal`.

use crate::{outputs, Output};
use hetmp_goal::global::{self, Finding, Place};
use hetmp_goal::graph::{After, Graph};
use hetmp_goal::memory::Owned;
use hetmp_goal::network::Network;
use hetmp_goal::rank::{Limits, State};
use hetmp_goal::schedule::Schedule;
use hetmp_goal::{msccl, text};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The largest file that is read, bytes. Schedules of simulators are long, but a mistyped name may be a disk.
const MOST_BYTES: u64 = 1 << 30;

mod picture;
mod real;
mod timeline;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Looks for messages without a partner and for ranks that wait for each other in a circle, then runs the job in
    /// one thread
    Check {
        #[command(flatten)]
        job: Job,
        /// Draws the order in which messages arrive
        #[arg(long, value_name = "N", default_value_t = 1)]
        seed: u64,
    },
    /// Writes one rank's binary schedule
    Compile {
        #[command(flatten)]
        job: Job,
        /// Whose schedule
        #[arg(long, value_name = "N", default_value_t = 0)]
        rank: u32,
        /// Where to
        #[arg(short, long, value_name = "FILE")]
        output: PathBuf,
    },
    /// Validates a binary schedule and prints its operations
    Show {
        /// What `hetmp goal compile` wrote
        file: PathBuf,
    },
    /// Prints a job as a graph: a column for each rank, an arrow for each dependence and each message
    Plot {
        #[command(flatten)]
        job: Job,
        /// A picture, or Graphviz's DOT
        #[arg(long, value_enum, default_value_t = Format::Dot)]
        format: Format,
    },
    /// Prints an algorithm of MSCCL in the text form: lengths and dependences, without the memory
    Import {
        #[command(flatten)]
        job: Job,
    },
    /// Runs a job, one rank in each process that hetrun starts, and checks that its order is the graph's
    Run(real::Arguments),
    /// Is the network adapter of the rank at the other end of standard input, for the engine `nic`; ranks start this
    #[command(hide = true)]
    NicAdapter,
}

/// Is the adapter of the rank at the other end of standard input, until the rank ends.
fn nic_adapter() -> Result<String, String> {
    use std::os::fd::AsFd as _;
    let socket = std::io::stdin().as_fd().try_clone_to_owned();
    socket
        .and_then(hetmp_goal_job::serve_as_adapter)
        .map(|()| String::new())
        .map_err(|e| format!("nic-adapter: standard input: {e}: a rank starts this command"))
}

/// What `hetmp goal plot` prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// Graphviz's DOT
    Dot,
    /// A picture
    Svg,
}

/// A job from a file.
#[derive(Debug, clap::Args)]
struct Job {
    /// A job in the text form of LogGOPSim and ATLAHS, or an algorithm of MSCCL (XML)
    file: PathBuf,
    /// Floats in a chunk of an algorithm of MSCCL
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u64).range(1..=1 << 28))]
    chunk: u64,
}

/// The content of a file.
struct Loaded {
    graphs: Vec<Graph>,
    /// An algorithm of MSCCL: its graphs use memory, and the result of its collective may be known.
    algorithm: Option<msccl::Algorithm>,
    /// The text form.
    text: String,
}

impl Loaded {
    /// What is wrong, one line each, with where its operations stand in the file.
    fn shown(&self, found: &[Finding]) -> Vec<String> {
        let first = &found[..found.len().min(SHOWN)];
        let named = first.iter().map(|f| (f.to_string(), f.places()));
        let mut lines = self.located(&named.collect::<Vec<_>>());
        if let Some(more) = found.len().checked_sub(SHOWN).filter(|n| *n > 0) {
            lines.push(format!("and {more} more"));
        }
        lines
    }

    /// Messages and the operations that they name: each message with where these stand in the file.
    fn located(&self, messages: &[(String, Vec<Place>)]) -> Vec<String> {
        let places: Vec<Place> = match self.algorithm {
            None => messages
                .iter()
                .flat_map(|(_, places)| places.clone())
                .collect(),
            Some(_) => Vec::new(),
        };
        let origins = match places[..] {
            [] => HashMap::new(),
            _ => text::origins(&self.text, &places),
        };
        let stands = |place: &Place| {
            let (line, label) = origins.get(place)?;
            let label = if label.is_empty() {
                ""
            } else {
                &format!("{label} ")
            };
            Some(format!("{place} is {label}in line {line}"))
        };
        let line = |(message, places): &(String, Vec<Place>)| {
            let stand: Vec<String> = places.iter().filter_map(stands).collect();
            match stand[..] {
                [] => message.clone(),
                _ => format!("{message} ({})", stand.join(", ")),
            }
        };
        messages.iter().map(line).collect()
    }

    /// The schedule of a rank's graph, or what is wrong with that and where.
    fn compiled(&self, graph: &Graph) -> Result<Schedule, String> {
        let rank = graph.rank();
        graph.compile().map_err(|e| {
            let place = |n| Place {
                rank,
                operation: n as usize,
            };
            let places = e.operations().into_iter().take(SHOWN).map(place);
            self.located(&[(format!("rank {rank}: {e}"), places.collect())])
                .concat()
        })
    }
}

/// How many findings are printed.
const SHOWN: usize = 50;

impl Job {
    fn load(&self) -> Result<Loaded, String> {
        self.load_of(None)
    }

    /// With the operations of all ranks, or of one.
    fn load_of(&self, rank: Option<u32>) -> Result<Loaded, String> {
        let shown = self.file.display();
        let text = hetmp_core::file::text(&self.file, MOST_BYTES)
            .map_err(|e| format!("file {shown}: {e} (expected a text of up to 1 GiB)"))?;
        if text.trim_start().starts_with('<') {
            let algorithm = msccl::read(&text, msccl::Chunk::floats(self.chunk))
                .map_err(|e| format!("file {shown}: {e}"))?;
            return Ok(Loaded {
                graphs: algorithm.graphs.clone(),
                algorithm: Some(algorithm),
                text,
            });
        }
        let graphs = match rank {
            None => text::read(&text),
            Some(rank) => text::read_rank(&text, rank),
        };
        let graphs = graphs.map_err(|e| format!("file {shown}: {e}"))?;
        Ok(Loaded {
            graphs,
            algorithm: None,
            text,
        })
    }
}

pub(crate) fn run(arguments: &Arguments) -> Output {
    let done = match &arguments.what {
        What::Check { job, seed } => return check(job, *seed),
        What::Compile { job, rank, output } => compile(job, *rank, output),
        What::Show { file } => show(file),
        What::Plot { job, format } => job.load().and_then(|job| match format {
            Format::Dot => Ok(picture::dot(&job.graphs)),
            Format::Svg => picture::svg(&job.graphs),
        }),
        What::Import { job } => job.load().and_then(|loaded| match loaded.algorithm {
            Some(algorithm) => Ok(text::write(&algorithm.graphs)),
            None => Err(format!(
                "file {}: not XML (expected an algorithm of MSCCL)",
                job.file.display()
            )),
        }),
        What::Run(arguments) => return real::run(arguments),
        What::NicAdapter => nic_adapter(),
    };
    match done {
        Ok(text) => Output {
            text,
            ..Output::default()
        },
        Err(error) => Output::refuse(error),
    }
}

fn check(job: &Job, seed: u64) -> Output {
    let job = match job.load() {
        Ok(job) => job,
        Err(error) => return Output::refuse(error),
    };
    let mut errors = job.shown(&global::check(&job.graphs));
    let mut text = String::new();
    if errors.is_empty() {
        match rehearse(&job, seed) {
            Ok(said) => text = said,
            Err(why) => errors.push(why),
        }
    }
    Output {
        text,
        errors,
        status: 1,
    }
}

/// Runs a job in one thread. Returns what it took, or why it did not end.
fn rehearse(job: &Loaded, seed: u64) -> Result<String, String> {
    let graphs = &job.graphs;
    let mut net = Network::new(graphs.len() as u32, Limits::default(), seed);
    let mut handles = Vec::new();
    for graph in graphs {
        let rank = graph.rank();
        let schedule = job.compiled(graph)?;
        let segments = schedule.segments().iter().map(|n| vec![0; *n as usize]);
        let memory = Owned::new(segments.collect());
        let started = net.start(&Arc::new(schedule), 0, Box::new(memory));
        handles.push(started.map_err(|e| format!("rank {rank}: {e}"))?);
    }
    net.run();
    let mut sent = 0;
    for (rank, handle) in (0..).zip(handles) {
        match net.rank(rank).state(handle) {
            Some(State::Done) => {}
            Some(State::Failed(why)) => return Err(format!("rank {rank}: {why}")),
            _ => return Err(format!("rank {rank}: its schedule does not end")),
        }
        let counts = net.rank(rank).counts();
        sent += counts.eager + counts.offered;
    }
    let operations: usize = graphs.iter().map(|g| g.operations().len()).sum();
    Ok(format!(
        "{} ranks, {operations} operations, {sent} messages between ranks: every schedule ends; computation on the \
         longest way {} ns\n",
        graphs.len(),
        net.now()
    ))
}

fn compile(job: &Job, rank: u32, output: &Path) -> Result<String, String> {
    let job = job.load()?;
    let last = job.graphs.len() - 1;
    let graph = job
        .graphs
        .get(rank as usize)
        .ok_or_else(|| format!("--rank: '{rank}': no such rank (expected 0 to {last})"))?;
    // Checks all ranks: one rank's schedule does not show which ranks would wait for ever. Circles that only long
    // messages close are left to the user.
    let found = global::check(&job.graphs);
    if let Some(wrong) = found.iter().find(|f| !matches!(f, Finding::Buffered(_))) {
        return Err(job.shown(core::slice::from_ref(wrong)).concat());
    }
    let schedule = job.compiled(graph)?;
    outputs::write("--output", output, schedule.to_bytes())?;
    Ok(format!(
        "{}: {} operations, {} words\n",
        output.display(),
        schedule.operations(),
        schedule.words().len()
    ))
}

fn show(file: &Path) -> Result<String, String> {
    let shown = file.display();
    let wrong = |e| format!("file {shown}: {e} (expected a regular file of up to 1 GiB)");
    let mut bytes = Vec::new();
    hetmp_core::file::open(file)
        .and_then(|file| file.take(4096).read_to_end(&mut bytes))
        .map_err(wrong)?;
    // Of another file, which may be large, no more is read.
    if bytes.starts_with(b"GOAL") {
        bytes = hetmp_core::file::bytes(file, MOST_BYTES).map_err(wrong)?;
    }
    let schedule = Schedule::from_bytes(&bytes).map_err(|e| format!("file {shown}: {e}"))?;
    let graph = schedule.to_graph();
    let mut edges: Vec<_> = graph.edges().collect();
    edges.sort_by_key(|(later, ..)| *later);
    let mut edges = edges.into_iter().peekable();
    let mut out = format!(
        "rank {} of {}, {} operations, {} segments, {} bytes of scratchpad\n",
        schedule.rank(),
        schedule.ranks(),
        schedule.operations(),
        schedule.segments().len(),
        schedule.scratchpad()
    );
    for (place, work) in graph.operations().iter().enumerate() {
        // Writing to a string does not fail.
        let _ = write!(out, "{place:6}  {work}");
        while let Some((_, after, earlier)) = edges.next_if(|(later, ..)| *later == place) {
            let _ = write!(
                out,
                "; after {earlier}{}",
                if after == After::Begun {
                    " has begun"
                } else {
                    ""
                }
            );
        }
        out.push('\n');
    }
    Ok(out)
}
