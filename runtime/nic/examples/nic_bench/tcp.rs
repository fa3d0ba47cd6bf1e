//! Put and quiet over loopback, between two processes, compared with a bare exchange in the same waiting mode (both
//! ends spin, or both ends block): as many bytes one way, 64 at least, and 64 back.
//!
//! The other process is started for each row of each round, so that none spins next to the row of another. Each
//! process has one processor: where the scheduler puts two that block together decides more than what is measured.

use crate::bench::Options;
use crate::rows::{median, Report, Rounds};
use hetmp_core::park::Policy;
use hetmp_nic::engine::tcp::{connect, Tcp};
use hetmp_nic::engine::{Domain, Engine, Sizes, TemplateKeys};
use hetmp_nic::keys::{Memory, Rights};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

const MESSAGE: usize = 64;
const SECRET: [u8; 32] = [5; 32];
const WITHIN: Duration = Duration::from_secs(10);
const BYTES: usize = 1 << 20;
/// Sizes of the puts that are compared.
const SIZES: [usize; 4] = [4, 1024, 65536, 1 << 20];

#[derive(Clone, Copy, PartialEq)]
enum Mode {
    Spinning,
    Blocking,
}

impl Mode {
    fn name(self) -> &'static str {
        match self {
            Mode::Spinning => "spinning",
            Mode::Blocking => "blocking",
        }
    }

    fn of(name: &str) -> Mode {
        if name == "blocking" {
            Mode::Blocking
        } else {
            Mode::Spinning
        }
    }

    fn set(self) {
        match self {
            Mode::Spinning => Policy::set_spins(u64::MAX >> 1, u64::MAX >> 1),
            Mode::Blocking => Policy::set_spins(0, 0),
        }
    }

    fn socket(self, s: &TcpStream) {
        s.set_nodelay(true).expect("a socket");
        s.set_nonblocking(self == Mode::Spinning).expect("a socket");
    }
}

/// Keeps this process, with all threads it will start, on the first or the last processor it may use.
pub(crate) fn pin(last: bool) {
    // SAFETY: a plain bit set, for which zero is a value; it lives through the calls.
    unsafe {
        let size = size_of::<libc::cpu_set_t>();
        let mut may: libc::cpu_set_t = core::mem::zeroed();
        if libc::sched_getaffinity(0, size, &mut may) != 0 {
            return;
        }
        let mut all = (0..libc::CPU_SETSIZE as usize).filter(|c| libc::CPU_ISSET(*c, &may));
        let chosen = if last { all.next_back() } else { all.next() };
        let mut one: libc::cpu_set_t = core::mem::zeroed();
        if let Some(c) = chosen {
            libc::CPU_SET(c, &mut one);
            libc::sched_setaffinity(0, size, &one);
        }
    }
}

/// False when the other end is gone.
fn get(s: &mut TcpStream, buffer: &mut [u8]) -> bool {
    let mut n = 0;
    while n < buffer.len() {
        match s.read(&mut buffer[n..]) {
            Ok(0) => return false,
            Ok(m) => n += m,
            Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => std::hint::spin_loop(),
            Err(_) => return false,
        }
    }
    true
}

/// Sends all of it, however little the socket takes at once.
fn send(s: &mut TcpStream, mut bytes: &[u8]) -> bool {
    while !bytes.is_empty() {
        match s.write(bytes) {
            Ok(n) => bytes = &bytes[n..],
            Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => std::hint::spin_loop(),
            Err(_) => return false,
        }
    }
    true
}

/// `--pong MODE BYTES`: says where it listens, and answers each BYTES bytes with a message.
pub(crate) fn pong(args: &mut dyn Iterator<Item = String>) {
    let mode = Mode::of(&args.next().unwrap_or_default());
    pin(true);
    let l = TcpListener::bind("127.0.0.1:0").expect("a port");
    println!("{}", l.local_addr().expect("bound"));
    let (mut s, _) = l.accept().expect("a client");
    mode.socket(&s);
    let bytes = args.next().and_then(|n| n.parse().ok()).unwrap_or(MESSAGE);
    let mut buffer = vec![0; bytes];
    while get(&mut s, &mut buffer) && send(&mut s, &[0; MESSAGE]) {}
}

/// `--target MODE`: rank 0 of 2, which does nothing but to be there, until its input ends.
pub(crate) fn target(args: &mut dyn Iterator<Item = String>) {
    Mode::of(&args.next().unwrap_or_default()).set();
    pin(true);
    let l = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = l.local_addr().expect("bound");
    println!("{address}");
    let streams = connect::mesh(0, &l, &[address, address], &SECRET, WITHIN).expect("connected");
    let (engine, memory, _) = rank(0, streams);
    println!("{}", memory.as_ptr() as u64);
    let _ = std::io::stdin().read(&mut [0; 1]);
    drop(engine);
    drop(memory);
}

fn rank(rank: u32, streams: Vec<Option<TcpStream>>) -> (Tcp, Vec<u8>, TemplateKeys) {
    let mut memory = vec![0u8; BYTES];
    let domain = Arc::new(Domain::new(Sizes::default()));
    let whole = Memory::here(memory.as_mut_ptr(), BYTES);
    // SAFETY: callers drop the engine before the memory, and do not access it.
    let key = unsafe { domain.keys().register(whole, Rights::ALL, None) }.expect("room");
    let engine = Tcp::start(rank, domain, streams).expect("started");
    let keys = TemplateKeys {
        local: key,
        remote: key,
    };
    (engine, memory, keys)
}

struct Other(Child, BufReader<std::process::ChildStdout>);

impl Other {
    fn start(what: &str, mode: Mode, bytes: usize) -> Other {
        let mut child = Command::new(std::env::current_exe().expect("this program"))
            .args([what, mode.name(), &bytes.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("this program again");
        let out = BufReader::new(child.stdout.take().expect("piped"));
        Other(child, out)
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.1.read_line(&mut line).expect("a line");
        line.trim().into()
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        // Its input ends, and with it the process.
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

/// Median nanoseconds of a call: each is some microseconds long.
fn each(calls: u32, mut call: impl FnMut()) -> f64 {
    for _ in 0..calls / 5 {
        call();
    }
    let times: Vec<f64> = (0..calls)
        .map(|_| {
            let start = Instant::now();
            call();
            start.elapsed().as_nanos() as f64
        })
        .collect();
    median(&times)
}

/// This many bytes one way, a message back.
fn bare(mode: Mode, bytes: usize, calls: u32) -> f64 {
    let bytes = bytes.max(MESSAGE);
    let mut other = Other::start("--pong", mode, bytes);
    pin(false);
    let address: SocketAddr = other.line().parse().expect("an address");
    let mut s = TcpStream::connect(address).expect("listening");
    mode.socket(&s);
    let content = vec![0; bytes];
    let mut answer = [0; MESSAGE];
    each(calls, || {
        assert!(send(&mut s, &content), "the other end is there");
        assert!(get(&mut s, &mut answer), "the other end is there");
    })
}

fn put(mode: Mode, bytes: usize, calls: u32) -> f64 {
    mode.set();
    let mut other = Other::start("--target", mode, bytes);
    pin(false);
    let address: SocketAddr = other.line().parse().expect("an address");
    let l = TcpListener::bind("127.0.0.1:0").expect("a port");
    let own = l.local_addr().expect("bound");
    let streams = connect::mesh(1, &l, &[address, own], &SECRET, WITHIN).expect("connected");
    let (engine, memory, keys) = rank(1, streams);
    let to: u64 = other.line().parse().expect("an address");
    let mut qp = engine.queue_pair(64, keys);
    let from = memory.as_ptr() as u64;
    let ns = each(calls, || {
        qp.put(0, to, from, bytes as u32);
        qp.quiet().expect("valid");
    });
    drop((qp, engine));
    drop(memory);
    ns
}

pub(crate) fn measure(options: &Options, report: &mut Report) {
    for mode in [Mode::Spinning, Mode::Blocking] {
        let calls = match (options.quick, mode) {
            (true, Mode::Spinning) => 2_000,
            (true, Mode::Blocking) => 500,
            (false, Mode::Spinning) => 10_000,
            (false, Mode::Blocking) => 3_000,
        };
        let title = format!(
            "TCP on loopback between two processes, both ends {}",
            mode.name()
        );
        let mut table = Rounds::new(&title, "ns");
        let floor = |bytes: usize| format!("floor: bare exchange, {} B", bytes.max(MESSAGE));
        let row = |bytes: usize| format!("put + quiet, {bytes} B");
        for _ in 0..options.rounds {
            for bytes in SIZES {
                // Large ones take long, and vary less.
                let calls = calls / (1 + bytes as u32 / 16384);
                // A thread of its own, so that this process and what it starts keep their processors.
                let on_one = |what: fn(Mode, usize, u32) -> f64| {
                    std::thread::scope(|s| {
                        let row = s.spawn(|| what(mode, bytes, calls));
                        row.join().expect("no panic")
                    })
                };
                table.add(&floor(bytes), on_one(bare));
                table.add(&row(bytes), on_one(put));
            }
        }
        for bytes in SIZES {
            let name = format!("put / bare exchange, {bytes} B");
            table.ratio(&name, &row(bytes), &floor(bytes));
        }
        report.table(table);
    }
    Policy::set_spins(300_000, 100);
}
