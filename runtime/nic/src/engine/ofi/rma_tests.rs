//! Two endpoints of a provider in this process. What the engine does for the sake of providers shows here.

use super::*;
use crate::descriptor::{Descriptor, Key, Local, Remote, Source, Work};
use crate::engine::ofi::library::OPENING;
use crate::engine::tcp::direct::{Begun, Direct};
use crate::engine::{Domain, Sizes};
use crate::execute;
use crate::keys::{Memory, Rights};
use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, Instant};

const BYTES: usize = 1 << 16;

/// A rank's endpoint, its memory, and the table in which its own operations look that memory up.
struct Rank {
    rma: Rma,
    domain: Domain,
    key: Key,
    memory: *mut u8,
}

/// Two ranks that know each other, or `None` where libfabric has no such provider.
fn pair(provider: &str) -> Option<[Rank; 2]> {
    let _alone = OPENING.lock().unwrap_or_else(|e| e.into_inner());
    let mut ranks = Vec::new();
    for rank in 0..2u8 {
        let here = (provider != "shm").then_some(IpAddr::V4(Ipv4Addr::LOCALHOST));
        let endpoint = match Endpoint::open(Some(provider), here, false) {
            Ok(endpoint) => endpoint,
            Err(e) => {
                eprintln!("skipped: {e}");
                return None;
            }
        };
        // Leaked: the provider keeps its registration as long as the process.
        let memory = vec![rank; BYTES].leak().as_mut_ptr();
        let domain = Domain::new(Sizes::default());
        // SAFETY: the memory is never freed, and nobody but these endpoints uses it while they work.
        let key = unsafe { domain.register(0, Memory::here(memory, BYTES), Rights::ALL, None) };
        ranks.push(Rank {
            rma: Rma::new(endpoint),
            domain,
            key: key.expect("room"),
            memory,
        });
    }
    let mut targets = Vec::new();
    for (rank, r) in ranks.iter_mut().enumerate() {
        // SAFETY: as for the registration above.
        let own = unsafe { r.rma.own(r.memory, BYTES, 100 + rank as u64) };
        let (base, key) = own.expect("registered");
        let address = r.rma.endpoint().address().expect("an address");
        targets.push((address, r.memory as u64, base, key));
    }
    for r in &mut ranks {
        let mut known = Vec::new();
        for (address, origin, base, key) in &targets {
            known.push(Target {
                peer: r.rma.endpoint().insert(address).expect("understood"),
                origin: *origin,
                base: *base,
                key: *key,
            });
        }
        let keys = TemplateKeys {
            local: r.key,
            remote: r.key,
        };
        r.rma.reach(known, keys);
        r.rma.listen(2).expect("receives");
        r.rma.note_touched();
    }
    ranks.try_into().ok()
}

fn to_the_other(work: Work) -> Descriptor {
    Descriptor {
        queue_pair: 0,
        peer: 1,
        signalled: true,
        count: None,
        count_source: false,
        work,
    }
}

fn put(a: &Rank, b: &Rank, bytes: u32) -> Descriptor {
    let local = Local {
        address: a.memory as u64,
        key: a.key,
    };
    to_the_other(Work::Put {
        source: Source::Memory(local, bytes),
        remote: Remote {
            address: b.memory as u64,
            key: a.key,
        },
        signal: None,
    })
}

impl Rank {
    /// Begins an operation as soon as the provider has room. Both ranks work meanwhile.
    fn begin(&mut self, other: &mut Rank, d: &Descriptor) {
        self.begin_as(1, other, d, &mut Vec::new());
    }

    /// As `begin`, with this number. Appends what happens to this rank meanwhile.
    fn begin_as(&mut self, id: u64, other: &mut Rank, d: &Descriptor, events: &mut Vec<Event>) {
        let until = Instant::now() + Duration::from_secs(60);
        loop {
            let local = execute::local(d, self.domain.keys(), self.domain.counters());
            match self.rma.begin(id, d, &local.expect("in bounds")) {
                Begun::UnderWay { .. } => return,
                Begun::Busy => {}
                Begun::Refused(f) => panic!("{f:?}"),
            }
            assert!(Instant::now() < until, "no room for a minute");
            self.rma.poll(events);
            other.rma.poll(&mut Vec::new());
        }
    }

    /// Lets both ranks work until this one has nothing under way.
    fn finish(&mut self, other: &mut Rank) {
        let until = Instant::now() + Duration::from_secs(60);
        while self.rma.under_way() > 0 {
            assert!(Instant::now() < until, "not over after a minute");
            self.rma.poll(&mut Vec::new());
            other.rma.poll(&mut Vec::new());
        }
    }
}

#[test]
fn writes_and_reads_of_memory_on_this_machine() {
    let Some([mut a, mut b]) = pair("shm") else {
        return;
    };

    // A word goes as a write, which takes half the time of a message and its reply. While it is under way the next
    // short ones go as messages: the provider takes one such write at a time.
    let (word, short, long) = (put(&a, &b, 8), put(&a, &b, SHORT), put(&a, &b, SHORT + 1));
    assert!(a.rma.takes(&word) && a.rma.takes(&short) && a.rma.takes(&long));
    a.begin(&mut b, &word);
    assert!(!a.rma.takes(&word) && !a.rma.takes(&short));
    assert!(a.rma.takes(&long));
    assert_eq!(a.rma.touched().collect::<Vec<_>>(), [1], "b has work to do");
    a.finish(&mut b);
    assert!(a.rma.takes(&word));
    // SAFETY: the memory is never freed, and nothing is under way.
    assert_eq!(unsafe { b.memory.cast::<u64>().read() }, 0, "a's bytes");

    // A read is over without b, which is not woken for it.
    let get = to_the_other(Work::Get {
        local: Local {
            address: a.memory as u64,
            key: a.key,
        },
        remote: Remote {
            address: b.memory as u64 + 4096,
            key: a.key,
        },
        length: 8,
    });
    a.begin(&mut b, &get);
    let first = a.rma.poll(&mut Vec::new());
    if a.rma.under_way() > 0 {
        // Where processes may not read each other's memory, b has to help.
        assert_eq!(a.rma.touched().collect::<Vec<_>>(), [1], "b has work to do");
        eprintln!("skipped: this provider reads through its target's process here");
    } else {
        assert_eq!(first, 1);
        assert_eq!(a.rma.touched().count(), 0, "b has nothing to do");
    }
    a.finish(&mut b);
    // SAFETY: the memory is never freed, and nothing is under way.
    assert_eq!(unsafe { a.memory.read() }, 1, "b's bytes");
}

/// A put of one number of 4 KiB, from the place of that number to the same place at the other rank.
fn block(a: &Rank, b: &Rank, number: usize) -> Descriptor {
    let mut d = put(a, b, 4096);
    if let Work::Put {
        source: Source::Memory(local, _),
        remote,
        ..
    } = &mut d.work
    {
        local.address += number as u64 * 4096;
        remote.address += number as u64 * 4096;
    }
    d
}

#[test]
fn a_put_that_finds_no_room_goes_with_the_completion_of_the_one_before() {
    let Some([mut a, mut b]) = pair("shm") else {
        return;
    };
    for (at, byte) in (0..3 * 4096).map(|at| (at, (at / 4096) as u8 + 10)) {
        // SAFETY: the memory is never freed, and nothing is under way.
        unsafe { a.memory.add(at).write(byte) };
    }
    let mut events = Vec::new();
    let first = block(&a, &b, 0);
    a.begin_as(0, &mut b, &first, &mut events);
    let d = block(&a, &b, 1);
    let local = execute::local(&d, a.domain.keys(), a.domain.counters());
    let begun = a.rma.begin(1, &d, &local.expect("in bounds"));
    assert_eq!(begun, Begun::UnderWay { freed: false });
    assert!(!a.rma.has_room(1), "the second put waits");
    let until = Instant::now() + Duration::from_secs(60);
    while events.is_empty() {
        assert!(Instant::now() < until, "not over after a minute");
        b.rma.poll(&mut Vec::new());
        a.rma.poll(&mut events);
    }
    assert!(a.rma.has_room(1), "the first one's completion let it go");
    let last = block(&a, &b, 2);
    a.begin_as(2, &mut b, &last, &mut events);
    while a.rma.under_way() > 0 {
        assert!(Instant::now() < until, "not over after a minute");
        a.rma.poll(&mut events);
        b.rma.poll(&mut Vec::new());
    }
    let landed = events.iter().map(|e| match e {
        Event::Landed(id, Ok(())) => *id,
        _ => panic!("nobody sends to this rank, or is lost"),
    });
    assert_eq!(landed.collect::<Vec<_>>(), [0, 1, 2]);
    for at in 0..3 * 4096 {
        // SAFETY: the memory is never freed, and nothing is under way.
        assert_eq!(unsafe { b.memory.add(at).read() }, (at / 4096) as u8 + 10);
    }
}

#[test]
fn one_put_vouches_for_those_before_it() {
    const PUTS: usize = 6;
    let Some([mut a, mut b]) = pair("tcp;ofi_rxm") else {
        return;
    };
    for (at, byte) in (0..BYTES).map(|at| (at, (at / 4096) as u8 + 10)) {
        // SAFETY: the memory is never freed, and nothing is under way.
        unsafe { a.memory.add(at).write(byte) };
    }
    let mut events = Vec::new();
    for n in 0..PUTS {
        let d = block(&a, &b, n);
        a.begin_as(n as u64, &mut b, &d, &mut events);
        assert!(
            a.rma.holds_back(1),
            "the last put waits for one that follows"
        );
    }
    let until = Instant::now() + Duration::from_secs(60);
    while a.rma.under_way() > 0 {
        assert!(Instant::now() < until, "not over after a minute");
        a.rma.flush(1);
        a.rma.poll(&mut events);
        b.rma.poll(&mut Vec::new());
    }
    let (mut freed, mut landed) = (Vec::new(), Vec::new());
    for event in &events {
        match event {
            Event::Freed(id) => freed.push(*id),
            Event::Landed(id, result) => {
                assert_eq!(*result, Ok(()));
                landed.push(*id);
            }
            _ => panic!("nobody sends to this rank, or is lost"),
        }
    }
    // Of the last put alone the provider says that it has arrived.
    assert_eq!(freed, [0, 1, 2, 3, 4]);
    assert_eq!(landed, [0, 1, 2, 3, 4, 5]);
    for at in 0..PUTS * 4096 {
        // SAFETY: the memory is never freed, and nothing is under way.
        assert_eq!(unsafe { b.memory.add(at).read() }, (at / 4096) as u8 + 10);
    }

    // A get keeps its place behind a put, so that the put cannot wait any longer.
    let d = block(&a, &b, 7);
    a.begin(&mut b, &d);
    let get = to_the_other(Work::Get {
        local: Local {
            address: a.memory as u64,
            key: a.key,
        },
        remote: Remote {
            address: b.memory as u64 + 7 * 4096,
            key: a.key,
        },
        length: 8,
    });
    assert!(a.rma.holds_back(1));
    a.begin(&mut b, &get);
    assert!(!a.rma.holds_back(1));
    a.finish(&mut b);
    // SAFETY: the memory is never freed, and nothing is under way.
    assert_eq!(unsafe { a.memory.read() }, 17, "what the put brought");
}
