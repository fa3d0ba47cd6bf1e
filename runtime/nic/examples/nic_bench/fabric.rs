//! Puts and gets through the `ofi` engine between two processes, next to libfabric's own programs over the same
//! provider.
//!
//! * Put and quiet compared with a round trip of `fi_pingpong`, which comes with libfabric (Debian: libfabric-bin).
//! * Many puts or gets, then one quiet, compared with `fi_rma_bw` of libfabric's test programs ("fabtests"), which few
//!   distributions package: `--fabtests DIR` says where it was built.
//!
//! Every row of every round is two new processes, each on one processor, that exchange addresses through this program.
//! All of them spin while they wait, as libfabric's programs do.

use crate::bench::Options;
use crate::rows::{Report, Rounds};
use hetmp_core::park::Policy;
use hetmp_nic::engine::ofi;
use hetmp_nic::engine::{Domain, Engine, Sizes, TemplateKeys};
use hetmp_nic::keys::{Memory, Rights};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

const SECRET: [u8; 32] = [9; 32];
const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const BYTES: usize = 1 << 20;
/// Operations that are under way together where bandwidth is measured. The same number for both sides.
const WINDOW: u32 = 16;
/// Sizes whose time is compared with a round trip. A message of `fi_pingpong` has as many bytes one way and back, so
/// that only small sizes compare.
const SMALL: [usize; 2] = [8, 64];
/// Sizes whose bandwidth is compared.
const LARGE: [usize; 3] = [4096, 65536, BYTES];
/// Providers that need no adapter.
pub(crate) const PROVIDERS: [&str; 3] = ["tcp;ofi_rxm", "shm", "sockets"];
/// Longer than any pair of processes takes, even on a busy machine.
const LIMIT: Duration = Duration::from_secs(30);
/// How long a server of libfabric's programs may take until it listens. They do not say when.
const LISTENS: Duration = Duration::from_millis(700);

/// What a pair of our processes does.
#[derive(Clone, Copy, PartialEq)]
enum What {
    /// A put, then quiet: nanoseconds of both.
    Put,
    /// A blocking get: nanoseconds.
    Get,
    /// [`WINDOW`] puts, then quiet, from one process to the other: nanoseconds of one put.
    Puts,
    /// [`WINDOW`] gets, then quiet, in both processes at the same time, as `fi_rma_bw -o read` does: nanoseconds of one
    /// get.
    Gets,
}

impl What {
    const ALL: [What; 4] = [What::Put, What::Get, What::Puts, What::Gets];

    fn name(self) -> &'static str {
        match self {
            What::Put => "put",
            What::Get => "get",
            What::Puts => "puts",
            What::Gets => "gets",
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

fn unhex(text: &str) -> Vec<u8> {
    let digits = |i: usize| u8::from_str_radix(&text[i..i + 2], 16).expect("hexadecimal digits");
    (0..text.len() / 2).map(|i| digits(2 * i)).collect()
}

/// `--fabric RANK PROVIDER WHAT BYTES CALLS`: one of two ranks. Prints its card and the address of its memory, reads
/// those of the other rank, measures if it is its turn, prints nanoseconds, and is there until its input ends.
pub(crate) fn rank(args: &mut dyn Iterator<Item = String>) {
    let mut next = || args.next().expect("five arguments");
    let rank: u32 = next().parse().expect("a rank");
    let provider = next();
    let what = next();
    let what = What::ALL
        .into_iter()
        .find(|w| w.name() == what)
        .expect("a name");
    let bytes: usize = next().parse().expect("a number");
    let calls: u32 = next().parse().expect("a number");
    crate::tcp::pin(rank == 0);
    Policy::set_spins(u64::MAX >> 1, u64::MAX >> 1);
    let mut memory = vec![0u8; BYTES];
    let domain = Arc::new(Domain::new(Sizes::default()));
    let whole = Memory::here(memory.as_mut_ptr(), BYTES);
    // SAFETY: the engine is dropped before the memory, which nobody accesses but the engine.
    let key = unsafe { domain.register(0, whole, Rights::ALL, None) }.expect("room");
    // SAFETY: as for the line before: engine and endpoint are dropped before the memory.
    let opened = unsafe { ofi::open(rank, Some(&provider), Some(HERE), false, whole, &SECRET, 1) };
    let opened = opened.unwrap_or_else(|e| {
        println!("! {e}");
        std::process::exit(0)
    });
    let own = opened.card();
    println!("{} {}", hex(&own), memory.as_ptr() as u64);
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).expect("a line");
    let (card, address) = line.trim().split_once(' ').expect("two words");
    let to: u64 = address.parse().expect("an address");
    let mut cards = [own, unhex(card)];
    cards.rotate_left(rank as usize);
    let keys = TemplateKeys {
        local: key,
        remote: key,
    };
    let engine = opened
        .start(rank, domain, &cards, keys, &SECRET)
        .expect("started");
    if rank == 1 || what == What::Gets {
        let mut qp = engine.queue_pair(64, keys);
        let (peer, from, n) = (1 - rank, memory.as_ptr() as u64, bytes as u32);
        let ns = match what {
            What::Put => each(calls, || {
                qp.put(peer, to, from, n);
                qp.quiet().expect("valid");
            }),
            What::Get => each(calls, || {
                qp.get(peer, to, from, n);
                qp.quiet().expect("valid");
            }),
            What::Puts => windows(calls, || {
                for _ in 0..WINDOW {
                    qp.put(peer, to, from, n);
                }
                qp.quiet().expect("valid");
            }),
            What::Gets => windows(calls, || {
                for _ in 0..WINDOW {
                    qp.get(peer, to, from, n);
                }
                qp.quiet().expect("valid");
            }),
        };
        println!("{ns}");
    }
    let _ = std::io::stdin().read(&mut [0; 1]);
    drop(engine);
    drop(memory);
}

/// Mean nanoseconds of a call, as libfabric's programs print it: these measure all calls with one clock.
fn each(calls: u32, mut call: impl FnMut()) -> f64 {
    for _ in 0..calls / 10 + 10 {
        call();
    }
    let start = Instant::now();
    for _ in 0..calls {
        call();
    }
    start.elapsed().as_nanos() as f64 / f64::from(calls)
}

fn windows(operations: u32, window: impl FnMut()) -> f64 {
    each(operations.div_ceil(WINDOW), window) / f64::from(WINDOW)
}

/// A process that is ended with this value.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Running {
    fn ends(&mut self, until: Instant) -> Result<ExitStatus, String> {
        loop {
            match self.0.try_wait() {
                Ok(Some(status)) => return Ok(status),
                Ok(None) if Instant::now() < until => std::thread::sleep(Duration::from_millis(2)),
                Ok(None) => return Err(format!("not over after {LIMIT:?}")),
                Err(e) => return Err(e.to_string()),
            }
        }
    }
}

/// Reads a line in a thread of its own, since a process that hangs sends none.
fn line_of(
    out: impl Read + Send + 'static,
    until: Instant,
) -> impl FnMut() -> Result<String, String> {
    let (send, receive) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(out).lines().map_while(Result::ok) {
            if send.send(line).is_err() {
                return;
            }
        }
    });
    move || {
        let left = until.saturating_duration_since(Instant::now());
        let line = receive
            .recv_timeout(left)
            .map_err(|_| format!("no answer within {LIMIT:?}"))?;
        match line.strip_prefix("! ") {
            Some(refusal) => Err(refusal.to_owned()),
            None => Ok(line),
        }
    }
}

/// Nanoseconds of one of our operations.
fn ours(provider: &str, what: What, bytes: usize, calls: u32) -> Result<f64, String> {
    let until = Instant::now() + LIMIT;
    let start = |rank: &str| -> Result<_, String> {
        let own = std::env::current_exe().map_err(|e| e.to_string())?;
        let mut child = Command::new(own)
            .args(["--fabric", rank, provider, what.name()])
            .args([bytes.to_string(), calls.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|e| e.to_string())?;
        let input = child.stdin.take().expect("piped");
        let output = line_of(child.stdout.take().expect("piped"), until);
        Ok((Running(child), input, output))
    };
    let (mut target, mut to_target, mut of_target) = start("0")?;
    let (mut initiator, mut to_initiator, mut of_initiator) = start("1")?;
    let (first, second) = (of_target()?, of_initiator()?);
    writeln!(to_target, "{second}").map_err(|e| e.to_string())?;
    writeln!(to_initiator, "{first}").map_err(|e| e.to_string())?;
    let number = |text: String| text.parse::<f64>().map_err(|_| text);
    let mut ns = number(of_initiator()?)?;
    if what == What::Gets {
        ns = (ns + number(of_target()?)?) / 2.0;
    }
    // Their inputs end, and with these the processes: the initiator first, which may still await an answer.
    drop(to_initiator);
    initiator.ends(until)?;
    drop(to_target);
    target.ends(until)?;
    Ok(ns)
}

fn free_port() -> String {
    let l = TcpListener::bind((HERE, 0)).expect("a port");
    l.local_addr().expect("bound").port().to_string()
}

/// Runs a server and a client of libfabric's programs; the result is a number of the client's last line, by its place.
fn theirs(
    program: &str,
    arguments: &[&str],
    of_server: &[&str],
    of_client: &[&str],
    place: usize,
) -> Result<f64, String> {
    let until = Instant::now() + LIMIT;
    let start = |last: bool, more: &[&str]| -> Result<Child, String> {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .args(more)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        // Children have the processor of the thread that starts them.
        std::thread::scope(|s| {
            let starts = s.spawn(|| {
                crate::tcp::pin(last);
                command.spawn()
            });
            starts.join().expect("no panic")
        })
        .map_err(|e| format!("{program}: {e}"))
    };
    let mut server = Running(start(true, of_server)?);
    std::thread::sleep(LISTENS);
    let mut client = Running(start(false, of_client)?);
    let mut out = client.0.stdout.take().expect("piped");
    let status = client.ends(until)?;
    let mut text = String::new();
    out.read_to_string(&mut text).map_err(|e| e.to_string())?;
    let last = text.lines().last().unwrap_or("");
    let value = last
        .split_whitespace()
        .nth(place)
        .and_then(|w| w.parse().ok());
    match value {
        Some(value) if status.success() => {
            server.ends(until)?;
            Ok(value)
        }
        _ => Err(format!("{program}: {status}: {last}")),
    }
}

/// Nanoseconds of a round trip of `fi_pingpong`.
fn round_trip(provider: &str, bytes: usize, calls: u32) -> Result<f64, String> {
    let (bytes, calls, port) = (bytes.to_string(), calls.to_string(), free_port());
    let common = ["-p", provider, "-e", "rdm", "-S", &bytes, "-I", &calls];
    let client = ["-P", &port, "127.0.0.1"];
    // "bytes #sent #ack total time MB/sec usec/xfer Mxfers/sec"; a transfer is one way.
    theirs("fi_pingpong", &common, &["-B", &port], &client, 6).map(|us| 2000.0 * us)
}

/// Nanoseconds of one write or read of `fi_rma_bw`.
fn raw(program: &str, provider: &str, what: What, bytes: usize, calls: u32) -> Result<f64, String> {
    let op = if what == What::Puts {
        "writedata"
    } else {
        "read"
    };
    let (n, window, port) = (bytes.to_string(), WINDOW.to_string(), free_port());
    let calls = calls.to_string();
    let mut common = vec![
        "-p", provider, "-e", "rdm", "-o", op, "-S", &n, "-I", &calls, "-W", &window,
    ];
    if what == What::Puts {
        // A write is complete when it is in the target's memory: what quiet promises.
        common.push("-U");
    }
    let client = ["-P", &port, "127.0.0.1"];
    // "bytes iters total time MB/sec usec/xfer Mxfers/sec"
    theirs(
        program,
        &common,
        &["-s", "127.0.0.1", "-B", &port],
        &client,
        4,
    )
    .map(|mb_per_s| bytes as f64 * 1000.0 / mb_per_s)
}

/// The measurement of one row. After a failure the row is left out, and the reason is printed once.
struct Row<'a> {
    name: String,
    run: Box<dyn Fn() -> Result<f64, String> + 'a>,
    failed: bool,
}

fn run(rows: &mut [Row<'_>], table: &mut Rounds, rounds: usize) {
    for _ in 0..rounds {
        for row in rows.iter_mut().filter(|r| !r.failed) {
            match (row.run)() {
                Ok(value) => table.add(&row.name, value),
                Err(why) => {
                    eprintln!("skipped: {}: {why}", row.name);
                    row.failed = true;
                    table.remove(&row.name);
                }
            }
        }
    }
}

pub(crate) fn measure(options: &Options, report: &mut Report) {
    let beside = options
        .fabtests
        .as_ref()
        .map(|d: &PathBuf| d.join("fi_rma_bw").display().to_string());
    for provider in &options.providers {
        let calls = |bytes: usize| {
            let most: usize = if options.quick { 2_000 } else { 10_000 };
            (most / (1 + bytes / 16384)) as u32
        };
        let title = format!("libfabric, provider {provider}: a round trip");
        let mut table = Rounds::new(&title, "ns");
        let floor = |bytes: usize| format!("floor: fi_pingpong and back, {bytes} B");
        let mut rows = Vec::new();
        for bytes in SMALL {
            let n = calls(bytes);
            rows.push(Row {
                name: floor(bytes),
                run: Box::new(move || round_trip(provider, bytes, n)),
                failed: false,
            });
            for (what, name) in [(What::Put, "put + quiet"), (What::Get, "get")] {
                rows.push(Row {
                    name: format!("{name}, {bytes} B"),
                    run: Box::new(move || ours(provider, what, bytes, n)),
                    failed: false,
                });
            }
        }
        run(&mut rows, &mut table, options.rounds);
        for bytes in SMALL {
            for name in ["put + quiet", "get"] {
                let row = format!("{name}, {bytes} B");
                table.ratio(
                    &format!("{name} / fi_pingpong, {bytes} B"),
                    &row,
                    &floor(bytes),
                );
            }
        }
        report.table(table);
        bandwidth(provider, options, beside.as_deref(), &calls, report);
    }
}

fn bandwidth(
    provider: &str,
    options: &Options,
    beside: Option<&str>,
    calls: &dyn Fn(usize) -> u32,
    report: &mut Report,
) {
    let title = format!("libfabric, provider {provider}: {WINDOW} operations and quiet");
    let mut table = Rounds::new(&title, "GB/s");
    let mut rows = Vec::new();
    let kinds = [(What::Puts, "puts"), (What::Gets, "gets both ways")];
    let rate = |bytes: usize| move |ns: f64| bytes as f64 / ns;
    for bytes in LARGE {
        let n = calls(bytes).next_multiple_of(WINDOW);
        for (what, name) in kinds {
            if let Some(program) = beside {
                rows.push(Row {
                    name: format!("floor: fi_rma_bw, {name}, {bytes} B"),
                    run: Box::new(move || raw(program, provider, what, bytes, n).map(rate(bytes))),
                    failed: false,
                });
            }
            rows.push(Row {
                name: format!("{name}, {bytes} B"),
                run: Box::new(move || ours(provider, what, bytes, n).map(rate(bytes))),
                failed: false,
            });
        }
    }
    run(&mut rows, &mut table, options.rounds);
    if beside.is_some() {
        for bytes in LARGE {
            for (_, name) in kinds {
                let (row, floor) = (
                    format!("{name}, {bytes} B"),
                    format!("floor: fi_rma_bw, {name}, {bytes} B"),
                );
                table.ratio(&format!("{name} / fi_rma_bw, {bytes} B"), &row, &floor);
            }
        }
    }
    report.table(table);
}
