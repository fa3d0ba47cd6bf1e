//! What only shows with sockets: strangers, ranks that do not come, lost peers.
#![cfg(not(loom))]

use hetmp_nic::descriptor::Status;
use hetmp_nic::engine::tcp::{connect, Tcp};
use hetmp_nic::engine::{Domain, Engine, Sizes, TemplateKeys};
use hetmp_nic::keys::{Memory, Rights};
use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

fn listeners(n: usize) -> (Vec<TcpListener>, Vec<SocketAddr>) {
    let l: Vec<_> = (0..n)
        .map(|_| TcpListener::bind("127.0.0.1:0").expect("a port"))
        .collect();
    let a = l.iter().map(|l| l.local_addr().expect("bound")).collect();
    (l, a)
}

#[test]
fn strangers_are_turned_away_and_the_job_connects_all_the_same() {
    let (l, addresses) = listeners(2);
    let within = Duration::from_secs(10);
    // One says nothing sensible, one knows the greeting but not the secret.
    let mut noise = TcpStream::connect(addresses[0]).expect("listening");
    noise.write_all(&[0x55; 100]).expect("sent");
    std::thread::scope(|s| {
        let wrong = s.spawn(|| {
            let (own, _) = listeners(1);
            connect::mesh(1, &own[0], &addresses, &[1; 32], Duration::from_secs(5))
        });
        let real = s.spawn(|| {
            // The strangers first, so that they are in the queue before it.
            std::thread::sleep(Duration::from_millis(20));
            connect::mesh(1, &l[1], &addresses, &[2; 32], within)
        });
        let mine = connect::mesh(0, &l[0], &addresses, &[2; 32], within).expect("connected");
        let theirs = real.join().expect("no panic").expect("connected");
        assert_eq!(
            mine[1].as_ref().map(|s| s.peer_addr().ok()),
            theirs[0].as_ref().map(|s| s.local_addr().ok())
        );
        assert!(wrong.join().expect("no panic").is_err());
    });
}

#[test]
fn a_rank_that_does_not_come_ends_the_wait() {
    let (l, addresses) = listeners(2);
    let start = Instant::now();
    let result = connect::mesh(0, &l[0], &addresses, &[0; 32], Duration::from_millis(100));
    assert!(result.is_err());
    assert!(start.elapsed() < Duration::from_secs(5));
}

#[test]
fn a_peer_that_is_gone_ends_the_wait_for_it() {
    let (l, addresses) = listeners(2);
    let within = Duration::from_secs(10);
    let mut heap = vec![0u64; 8];
    let domain = Arc::new(Domain::new(Sizes::default()));
    std::thread::scope(|s| {
        let peer = s.spawn(|| connect::mesh(1, &l[1], &addresses, &[2; 32], within));
        let streams = connect::mesh(0, &l[0], &addresses, &[2; 32], within).expect("connected");
        let engine = Tcp::start(0, domain.clone(), streams).expect("started");
        let memory = Memory::here(heap.as_mut_ptr().cast(), 64);
        // SAFETY: the heap outlives the engine.
        let key = unsafe { engine.register(memory, Rights::ALL, None) }.expect("room");
        let keys = TemplateKeys {
            local: key,
            remote: key,
        };
        let mut qp = engine.queue_pair(4, keys);
        qp.put(1, memory.base, memory.base, 8);
        // The peer never answers; then it dies.
        let streams = peer.join().expect("no panic").expect("connected");
        std::thread::sleep(Duration::from_millis(20));
        drop(streams);
        let failed = qp.quiet().expect_err("lost").0;
        assert_eq!((failed[0].status, failed[0].value), (Status::PeerLost, 1));
        qp.put(1, memory.base, memory.base, 8);
        let failed = qp.quiet().expect_err("still lost").0;
        assert_eq!(failed[0].status, Status::PeerLost);
        qp.put(0, memory.base, memory.base, 8);
        assert_eq!(qp.quiet(), Ok(()), "itself it still reaches");
    });
}
