//! What a put costs: posting by template against building the descriptor, and put + quiet on each engine,
//! beside the floors of the same run.
//!
//! `cargo run --release -p hetmp-nic --example put_latency [ROUNDS]`

#[cfg(loom)]
fn main() {}

#[cfg(not(loom))]
fn main() {
    measure::run();
}

#[cfg(not(loom))]
mod measure {
    use hetmp_nic::descriptor::{Descriptor, Key, Local, Remote, Source, Work};
    use hetmp_nic::engine::emulated::{self, Model};
    use hetmp_nic::engine::shm::Shm;
    use hetmp_nic::engine::tcp::{connect, Tcp};
    use hetmp_nic::engine::{Domain, Engine, QueuePair, Sizes, TemplateKeys};
    use hetmp_nic::keys::{Memory, Rights};
    use hetmp_nic::queue_pair::queue_pair;
    use hetmp_nic::template::{Dynamic, Shape, Statics};
    use std::hint::black_box;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    const BATCHES: u32 = 9;

    /// Median over batches of the nanoseconds of one call.
    fn median_ns(rounds: u32, mut call: impl FnMut()) -> f64 {
        for _ in 0..rounds / 10 {
            call();
        }
        let mut batches: Vec<f64> = (0..BATCHES)
            .map(|_| {
                let start = Instant::now();
                for _ in 0..rounds {
                    call();
                }
                start.elapsed().as_nanos() as f64 / f64::from(rounds)
            })
            .collect();
        batches.sort_by(f64::total_cmp);
        batches[batches.len() / 2]
    }

    fn show(what: &str, ns: f64) {
        println!("{what:<44} {ns:>10.1} ns");
    }

    /// Posting alone, with an end that takes and completes in the same thread: the same cost in both rows.
    fn posting(rounds: u32) {
        let statics = Statics {
            queue_pair: 1,
            local: Key(0x1_0001),
            remote: Key(0x1_0002),
        };
        let row = |by_template: bool| {
            let (mut i, mut c) = queue_pair(64, statics);
            i.fill(Shape::Put).expect("empty");
            let mut n = 0u64;
            median_ns(rounds, || {
                n += 8;
                if by_template {
                    let d = Dynamic {
                        peer: 1,
                        remote: n,
                        local: n,
                        length: 8,
                    };
                    i.post_template(Shape::Put, black_box(d)).expect("room");
                } else {
                    let d = Descriptor {
                        queue_pair: statics.queue_pair,
                        peer: 1,
                        signalled: false,
                        count: None,
                        work: Work::Put {
                            source: Source::Memory(
                                Local {
                                    address: n,
                                    key: statics.local,
                                },
                                8,
                            ),
                            remote: Remote {
                                address: n,
                                key: statics.remote,
                            },
                            signal: None,
                        },
                    };
                    i.post(black_box(&d)).expect("room");
                }
                i.ring();
                c.advance();
                c.complete(None);
            })
        };
        show("post + ring + retire, from a template", row(true));
        show("post + ring + retire, whole descriptor", row(false));
    }

    fn put_quiet(
        name: &str,
        engine: &dyn Engine,
        keys: TemplateKeys,
        to: u64,
        from: u64,
        rounds: u32,
    ) {
        let mut qp: QueuePair = engine.queue_pair(64, keys);
        for bytes in [4u32, 1024, 65536] {
            let rounds = (rounds / (1 + bytes / 4096)).max(10);
            let ns = median_ns(rounds, || {
                qp.put(1, to, from, bytes);
                qp.quiet().expect("valid");
            });
            show(&format!("{name}: put + quiet, {bytes} B"), ns);
        }
    }

    /// One way between two threads that both spin.
    fn line_hop(rounds: u32) -> f64 {
        let word = AtomicU64::new(0);
        std::thread::scope(|s| {
            s.spawn(|| {
                let mut next = 1;
                while next != u64::MAX {
                    let v = word.load(Ordering::Acquire);
                    if v == u64::MAX {
                        return;
                    }
                    if v == next {
                        word.store(next + 1, Ordering::Release);
                        next += 2;
                    }
                    std::hint::spin_loop();
                }
            });
            let mut n = 0;
            let ns = median_ns(rounds, || {
                n += 1;
                word.store(n, Ordering::Release);
                n += 1;
                while word.load(Ordering::Acquire) != n {
                    std::hint::spin_loop();
                }
            });
            word.store(u64::MAX, Ordering::Release);
            ns
        })
    }

    /// Round trip of 64 bytes on a bare loopback stream, both ends looking without sleeping.
    fn bare_tcp(rounds: u32) -> f64 {
        let l = TcpListener::bind("127.0.0.1:0").expect("a port");
        let mut a = TcpStream::connect(l.local_addr().expect("bound")).expect("listening");
        let (mut b, _) = l.accept().expect("connected");
        for s in [&a, &b] {
            s.set_nodelay(true).expect("a socket");
            s.set_nonblocking(true).expect("a socket");
        }
        fn get(s: &mut TcpStream) -> bool {
            let (mut buf, mut n) = ([0u8; 64], 0);
            while n < 64 {
                match s.read(&mut buf[n..]) {
                    Ok(0) => return false,
                    Ok(m) => n += m,
                    Err(_) => std::hint::spin_loop(),
                }
            }
            true
        }
        std::thread::scope(|s| {
            s.spawn(move || {
                while get(&mut b) {
                    b.write_all(&[0; 64]).expect("room");
                }
            });
            let ns = median_ns(rounds, || {
                a.write_all(&[0; 64]).expect("room");
                get(&mut a);
            });
            drop(a);
            ns
        })
    }

    pub(crate) fn run() {
        let rounds: u32 = match std::env::args().nth(1).map(|a| a.parse()) {
            None => 20_000,
            Some(Ok(n)) if n > 0 => n,
            Some(_) => {
                eprintln!("hetmp: rounds: a positive number is accepted");
                std::process::exit(2);
            }
        };
        posting(rounds * 10);
        show("floor: cache line round trip", line_hop(rounds));
        show(
            "floor: loopback round trip, 64 B, spinning",
            bare_tcp(rounds / 4 + 1),
        );

        let mut memory = vec![0u8; 2 * 65536];
        let (from, to) = (
            memory.as_mut_ptr() as u64,
            memory.as_mut_ptr() as u64 + 65536,
        );
        show(
            "floor: memcpy, 65536 B",
            median_ns(rounds / 10, || {
                let (a, b) = memory.split_at_mut(65536);
                black_box(&mut *b).copy_from_slice(black_box(a));
            }),
        );
        let whole = Memory::here(memory.as_mut_ptr(), memory.len());
        let domains: Arc<[Arc<Domain>]> = (0..2)
            .map(|_| Arc::new(Domain::new(Sizes::default())))
            .collect();
        let mut keys = TemplateKeys::default();
        for d in domains.iter() {
            // SAFETY: the vector outlives the engines and is not accessed while they run.
            let key = unsafe { d.keys().register(whole, Rights::ALL, None) }.expect("room");
            keys = TemplateKeys {
                local: key,
                remote: key,
            };
        }
        let shm = Shm::new(0, domains.clone()).expect("rank 0 of 2");
        put_quiet("shm", &shm, keys, to, from, rounds);
        {
            let ranks = emulated::start(domains.clone(), Model::default()).expect("a thread");
            put_quiet("emulated, awake", &ranks[0], keys, to, from, rounds);
        }
        let l: Vec<_> = (0..2)
            .map(|_| TcpListener::bind("127.0.0.1:0").expect("a port"))
            .collect();
        let addresses: Vec<_> = l.iter().map(|l| l.local_addr().expect("bound")).collect();
        let within = Duration::from_secs(5);
        let (a, b) = std::thread::scope(|s| {
            let b = s.spawn(|| connect::mesh(1, &l[1], &addresses, &[1; 32], within));
            (
                connect::mesh(0, &l[0], &addresses, &[1; 32], within).expect("connected"),
                b.join().expect("no panic").expect("connected"),
            )
        });
        let one = Tcp::start(1, domains[1].clone(), b).expect("started");
        let zero = Tcp::start(0, domains[0].clone(), a).expect("started");
        put_quiet("tcp", &zero, keys, to, from, rounds / 10);
        drop((zero, one));
        drop(memory);
    }
}
