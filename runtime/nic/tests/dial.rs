//! TCP streams that are connected when they are first needed: two ranks that connect to each other at the same time,
//! strangers that connect, and peers that have ended.
#![cfg(not(loom))]

use hetmp_nic::descriptor::Status;
use hetmp_nic::engine::tcp::{Addresses, Tcp};
use hetmp_nic::engine::{Domain, Engine, Sizes, TemplateKeys};
use hetmp_nic::keys::{Memory, Rights};
use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Barrier};
use std::time::Duration;

const SECRET: [u8; 32] = [7; 32];

/// The ranks of a job in this process. Each has eight words of memory, which all ranks register under the same key.
fn job(n: usize) -> (Vec<Tcp>, Vec<Vec<u64>>, TemplateKeys, Vec<SocketAddr>) {
    let listeners: Vec<_> = (0..n)
        .map(|_| TcpListener::bind("127.0.0.1:0").expect("a port"))
        .collect();
    let of: Vec<_> = listeners
        .iter()
        .map(|l| l.local_addr().expect("bound"))
        .collect();
    let mut heaps = vec![vec![0u64; 8]; n];
    let mut keys = TemplateKeys::default();
    let mut engines = Vec::new();
    for (rank, listener) in listeners.into_iter().enumerate() {
        let addresses = Addresses {
            listener,
            of: of.clone(),
            secret: SECRET,
            within: Duration::from_secs(60),
        };
        let domain = Arc::new(Domain::new(Sizes::default()));
        let engine = Tcp::start_dialling(rank as u32, domain, addresses, None).expect("started");
        let memory = Memory::here(heaps[rank].as_mut_ptr().cast(), 64);
        // SAFETY: the tests drop the engines before the heaps, and read the heaps when no operation is under way.
        let key = unsafe { engine.register(memory, Rights::ALL, None) }.expect("room");
        keys = TemplateKeys {
            local: key,
            remote: key,
        };
        engines.push(engine);
    }
    (engines, heaps, keys, of)
}

/// All ranks write to all ranks at the same time, so most pairs connect to each other at the same time.
#[test]
fn calls_that_cross_end_in_one_stream() {
    for round in 0..10u64 {
        let n = 5;
        let (engines, heaps, keys, _) = job(n);
        let start = Barrier::new(n);
        let base: Vec<u64> = heaps.iter().map(|h| h.as_ptr() as u64).collect();
        std::thread::scope(|s| {
            for (rank, engine) in engines.iter().enumerate() {
                let (start, base) = (&start, &base);
                s.spawn(move || {
                    let mut qp = engine.queue_pair(16, keys);
                    start.wait();
                    for peer in (0..n).filter(|p| *p != rank) {
                        let value = (100 * rank as u64 + round).to_le_bytes();
                        let to = base[peer] + 8 * rank as u64;
                        qp.put_inline(peer as u32, to, &value).expect("fits");
                    }
                    assert_eq!(qp.quiet(), Ok(()));
                });
            }
        });
        drop(engines);
        for (rank, heap) in heaps.iter().enumerate() {
            for from in (0..n).filter(|p| *p != rank) {
                assert_eq!(heap[from], 100 * from as u64 + round);
            }
        }
    }
}

#[test]
fn strangers_get_nothing_and_keep_nobody_waiting() {
    let (engines, heaps, keys, addresses) = job(2);
    // More connections than a rank serves at a time. Some send half a greeting, one sends the greeting and a proof of
    // another job.
    let mut idle: Vec<TcpStream> = (0..100)
        .map(|_| TcpStream::connect(addresses[1]).expect("listening"))
        .collect();
    for stream in idle.iter_mut().step_by(3) {
        stream.write_all(b"hetmpnic").expect("sent");
    }
    let wrong = [b"hetmpnic", &[2, 0, 0, 0][..], &[0; 4], &[8; 64]].concat();
    idle[1].write_all(&wrong).expect("sent");
    let mut qp = engines[0].queue_pair(8, keys);
    let to = heaps[1].as_ptr() as u64;
    qp.put_inline(1, to, &5u64.to_le_bytes()).expect("fits");
    assert_eq!(qp.quiet(), Ok(()));
    drop((qp, engines));
    assert_eq!(heaps[1][0], 5);
}

#[test]
fn a_peer_that_is_gone_is_lost_and_others_are_reached() {
    let (mut engines, heaps, keys, _) = job(3);
    drop(engines.remove(1));
    let mut qp = engines[0].queue_pair(8, keys);
    let at = |rank: usize| heaps[rank].as_ptr() as u64;
    qp.put_inline(1, at(1), &1u64.to_le_bytes()).expect("fits");
    qp.put_inline(2, at(2), &2u64.to_le_bytes()).expect("fits");
    let failed = qp.quiet().expect_err("gone").0;
    assert_eq!(failed.len(), 1);
    assert_eq!((failed[0].status, failed[0].value), (Status::PeerLost, 1));
    qp.put_inline(2, at(2) + 8, &3u64.to_le_bytes())
        .expect("fits");
    assert_eq!(qp.quiet(), Ok(()));
    drop((qp, engines));
    assert_eq!((heaps[1][0], &heaps[2][..2]), (0, &[2, 3][..]));
}
