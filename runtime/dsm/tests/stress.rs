//! Several processes on one shared range, without OpenMP: counters, locks, and accesses that cross pages must
//! give exact results.
//!
//! Each test starts this program again as the origin; an environment variable tells it so. A process may fork
//! only if no other test runs in it.

use hetmp_dsm::backend::{uffd::Uffd, Kind};
use hetmp_dsm::driver::{self, Driver, Settings};
use hetmp_dsm::fork;
use hetmp_dsm::pool::{Shared, Wanted};
use hetmp_dsm::space::{Range, Space};
use hetmp_dsm::PAGE;
use hetmp_nic::job::Way;
use memmap2::MmapMut;
use std::mem::ManuallyDrop;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

const ORIGIN: &str = "HETMP_DSM_TEST_ORIGIN";
/// Longer than any run takes on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(300);
const PAGES: usize = 24;

/// The layout of the range: offsets from its start.
mod layout {
    use super::PAGE;
    /// Number of nodes that have begun, and number of nodes that have finished.
    pub(crate) const BEGUN: usize = 0;
    pub(crate) const DONE: usize = 64;
    /// A lock (the next ticket, and the ticket that is served), and the cells that it guards, on four pages.
    pub(crate) const LOCK: usize = PAGE;
    pub(crate) const CELLS: usize = 2 * PAGE + 8;
    pub(crate) const CELL_COUNT: usize = 1500;
    /// Counters, one on each page.
    pub(crate) const COUNTERS: usize = 8 * PAGE;
    pub(crate) const COUNTER_PAGES: usize = 8;
    /// Blocks of 16 bytes that cross a page boundary, one for each thread.
    pub(crate) const CROSSING: usize = 17 * PAGE - 8;
}

fn settings(args: &[&str]) -> (u8, Settings, u64) {
    let nodes: u8 = args[0].parse().expect("nodes");
    let len = PAGES * PAGE;
    // At an address that all nodes inherit. The driver maps its view there, which stays.
    let memory = MmapMut::map_anon(len).expect("memory");
    let at = ManuallyDrop::new(memory).as_ptr();
    let range = |first: usize, pages: usize, home| Range {
        start: at as usize + first * PAGE,
        len: pages * PAGE,
        home,
        executable: false,
    };
    let space = Space::new(&[range(0, 12, 0), range(12, PAGES - 12, 1)]);
    let (by, pooled) = match args[2].strip_prefix("pool-") {
        Some(by) => (by, true),
        None => (args[2], false),
    };
    let pool = pooled.then(|| Shared::new(len, nodes, &Wanted::default()).expect("a pool"));
    let settings = Settings {
        space,
        way: Way::of(args[1]).expect("a way"),
        backend: Kind::of(by),
        apart: false,
        ahead: true,
        pool,
    };
    (nodes, settings, args[3].parse().expect("operations"))
}

struct Memory(usize);

impl Memory {
    fn word(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: the address is in the shared range, aligned, and only used as an atomic.
        unsafe { AtomicU64::from_ptr(core::ptr::with_exposed_provenance_mut(self.0 + offset)) }
    }

    fn half(&self, offset: usize) -> &AtomicU32 {
        // SAFETY: the address is in the shared range, aligned, and only used as an atomic.
        unsafe { AtomicU32::from_ptr(core::ptr::with_exposed_provenance_mut(self.0 + offset)) }
    }

    fn locked(&self, body: impl FnOnce(&Memory)) {
        let (next, served) = (self.half(layout::LOCK), self.half(layout::LOCK + 4));
        let mine = next.fetch_add(1, Ordering::SeqCst);
        while served.load(Ordering::SeqCst) != mine {
            std::thread::yield_now();
        }
        body(self);
        served.fetch_add(1, Ordering::SeqCst);
    }
}

/// The operations of one thread. Returns how much the thread added to the counters.
fn operate(memory: &Memory, thread: usize, operations: u64) -> u64 {
    let mut random = 0x9e37_79b9_7f4a_7c15u64.wrapping_mul(thread as u64 + 1);
    let mut seen = [0u64; layout::COUNTER_PAGES];
    let mut added = 0;
    for step in 0..operations {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let i = (random >> 8) as usize % layout::COUNTER_PAGES;
        let counter = memory.word(layout::COUNTERS + i * PAGE);
        match random % 64 {
            0..=39 => {
                counter.fetch_add(1, Ordering::SeqCst);
                added += 1;
            }
            40..=59 => {
                let now = counter.load(Ordering::SeqCst);
                assert!(now >= seen[i], "a counter went back: {} {now}", seen[i]);
                seen[i] = now;
            }
            60 | 61 => {
                // A block of the thread's own, which crosses a page boundary. Its neighbours belong to other
                // threads.
                let at = memory.0 + layout::CROSSING + thread % 7 * PAGE;
                let at: *mut [u64; 2] = core::ptr::with_exposed_provenance_mut(at);
                if thread < 7 {
                    // SAFETY: the block is in the range, and only this thread uses it.
                    unsafe {
                        at.write_unaligned([step, !step]);
                        assert_eq!(at.read_unaligned(), [step, !step]);
                    }
                }
            }
            _ => memory.locked(|m| {
                let cells: *mut u64 = core::ptr::with_exposed_provenance_mut(m.0 + layout::CELLS);
                // SAFETY: the cells are in the range, and only the thread that has the lock comes here.
                unsafe {
                    let first = cells.read();
                    for c in 0..layout::CELL_COUNT {
                        assert_eq!(cells.add(c).read(), first, "cell {c}");
                        cells.add(c).write(first + 1);
                    }
                }
            }),
        }
    }
    added
}

fn wait_for(word: &AtomicU64, value: u64) {
    while word.load(Ordering::SeqCst) < value {
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// The work of each process.
fn node(driver: &'static Driver, memory: &Memory, operations: u64, stay: bool) {
    let nodes = u64::from(driver.nodes());
    let first = usize::from(driver.me()) * 2;
    let added = std::thread::scope(|s| {
        let threads = [first, first + 1].map(|t| s.spawn(move || operate(memory, t, operations)));
        threads
            .into_iter()
            .map(|t| t.join().expect("no panic"))
            .sum::<u64>()
    });
    memory
        .word(layout::BEGUN)
        .fetch_add(added, Ordering::SeqCst);
    memory.word(layout::DONE).fetch_add(1, Ordering::SeqCst);
    wait_for(memory.word(layout::DONE), nodes);
    if stay {
        std::thread::sleep(PATIENCE);
    }
    if driver.me() != 0 {
        // This node serves its pages until the origin ends.
        std::thread::sleep(PATIENCE);
        std::process::exit(3);
    }
    let counted: u64 = (0..layout::COUNTER_PAGES)
        .map(|i| {
            memory
                .word(layout::COUNTERS + i * PAGE)
                .load(Ordering::SeqCst)
        })
        .sum();
    assert_eq!(counted, memory.word(layout::BEGUN).load(Ordering::SeqCst));
    let turns = memory.half(layout::LOCK).load(Ordering::SeqCst);
    assert_eq!(
        memory.word(layout::CELLS).load(Ordering::SeqCst),
        u64::from(turns)
    );
    let c = driver.counts();
    let n = |a: &AtomicU64| a.load(Ordering::Relaxed);
    println!(
        "exact: {counted} additions, {turns} turns, faults {} {} {}, sent {}, lost {}, {}",
        n(&c.reads),
        n(&c.writes),
        n(&c.local),
        n(&c.sent),
        n(&c.lost),
        driver.backend().name()
    );
    assert!(n(&c.reads) + n(&c.writes) > 0 && n(&c.sent) > 0);
}

/// The program of the origin, and of the nodes that it forks.
fn origin(args: &str) -> ! {
    let args: Vec<&str> = args.split(' ').collect();
    let (count, settings, operations) = settings(&args);
    let base = settings.space.address_of(0).expect("pages");
    // SAFETY: no other thread of this process does anything that the nodes need.
    let forked = unsafe { fork::fork(count) }.expect("nodes");
    let me = forked.me;
    // SAFETY: no process uses the range yet, and it is empty.
    let driver =
        match unsafe { driver::start(driver::Peers::Forked(forked), settings, &mut |_| {}) } {
            Ok(driver) => driver,
            Err(e) => {
                eprintln!("hetmp: {e}");
                std::process::exit(2);
            }
        };
    // The threads that wait for messages share their CPUs with those of the program. They never spin.
    assert_eq!(hetmp_core::park::Policy::spins(), (0, 0));
    if args.get(4) == Some(&"die") && me == 1 {
        std::thread::spawn(|| {
            std::thread::sleep(Duration::from_millis(300));
            // SAFETY: the signal goes to this process, which is to end.
            unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
        });
    }
    node(driver, &Memory(base), operations, args.get(4).is_some());
    std::process::exit(0);
}

/// Starts the test `name` again as the origin.
fn run(name: &str, args: &str) -> Output {
    if let Ok(args) = std::env::var(ORIGIN) {
        origin(&args);
    }
    let program = std::env::current_exe().expect("this program");
    // Where this program is emulated, the system does not know how to start it.
    let mut command = match std::env::var("HETMP_TEST_EMULATOR") {
        Ok(emulator) => {
            let mut words = emulator.split(' ');
            let mut command = Command::new(words.next().unwrap_or_default());
            command.args(words).arg(program);
            command
        }
        Err(_) => Command::new(program),
    };
    let mut child = command
        .args(["--exact", name, "--nocapture", "--test-threads=1"])
        .env(ORIGIN, args)
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("this program again");
    let until = Instant::now() + PATIENCE;
    while child.try_wait().expect("a child").is_none() {
        if Instant::now() > until {
            let _ = child.kill();
            panic!("{name} {args}: no end");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    child.wait_with_output().expect("its output")
}

fn exact(name: &str, args: &str) {
    let output = run(name, args);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("exact: "),
        "{args}: {} {text} {}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    println!(
        "{args}: {}",
        text.lines().find(|l| l.contains("exact")).unwrap_or("")
    );
}

/// Can userfaultfd be used on this machine? If not, prints a line.
fn has_uffd() -> bool {
    Uffd::probe()
        .map_err(|e| println!("skipped: userfaultfd: {e}"))
        .is_ok()
}

#[test]
fn two_nodes_by_userfaultfd() {
    if has_uffd() {
        exact("two_nodes_by_userfaultfd", "2 shm uffd 4000");
    }
}

#[test]
fn four_nodes_by_userfaultfd() {
    if has_uffd() {
        exact("four_nodes_by_userfaultfd", "4 shm uffd 1000");
    }
}

#[test]
fn three_nodes_over_sockets() {
    if has_uffd() {
        exact("three_nodes_over_sockets", "3 tcp uffd 1000");
    }
}

#[test]
fn two_nodes_by_signals() {
    exact("two_nodes_by_signals", "2 shm sigsegv 4000");
}

#[test]
fn four_nodes_by_signals_over_sockets() {
    exact("four_nodes_by_signals_over_sockets", "4 tcp sigsegv 500");
}

#[test]
fn three_nodes_with_a_pool_by_userfaultfd() {
    if has_uffd() {
        let name = "three_nodes_with_a_pool_by_userfaultfd";
        exact(name, "3 shm pool-uffd 1000");
    }
}

#[test]
fn two_nodes_with_a_pool_by_signals() {
    exact(
        "two_nodes_with_a_pool_by_signals",
        "2 shm pool-sigsegv 2000",
    );
}

#[test]
fn a_node_that_is_killed_ends_all_with_a_line() {
    let output = run(
        "a_node_that_is_killed_ends_all_with_a_line",
        "3 shm sigsegv 100000000 die",
    );
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{text}");
    let lines: Vec<&str> = text.lines().filter(|l| l.contains("hetmp")).collect();
    assert_eq!(
        lines,
        ["hetmp: node 0: node 1 ended while the program ran: the program ends, too"]
    );
}
