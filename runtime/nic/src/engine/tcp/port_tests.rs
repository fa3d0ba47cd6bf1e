//! Two ports without sockets: any cutting of their bytes, hostile bytes, a lost peer.

use super::*;
use crate::descriptor::{
    Completion, Descriptor, Key, Local, Remote, SignalOp, Source, Status, Work,
};
use crate::engine::tcp::direct::{Begun, Kept, StreamOnly};
use crate::engine::tcp::frame::{Decoder, Header, NoFrame};
use crate::engine::{ends, Sizes, TemplateKeys};
use crate::execute::LocalPart;
use crate::keys::{Memory, Rights};
use crate::queue_pair::Initiator;
use crate::template::{Dynamic, Shape};
use proptest::prelude::*;

const HEAP: usize = 4096;

struct End<D = StreamOnly> {
    port: Port<D>,
    initiator: Initiator,
    heap: Box<[u64; HEAP / 8]>,
    key: Key,
}

fn end(rank: u32) -> End {
    end_with(rank, StreamOnly)
}

fn end_with<D: Direct>(rank: u32, direct: D) -> End<D> {
    let domain = Arc::new(Domain::new(Sizes {
        messages: 2,
        ..Sizes::default()
    }));
    let mut heap = Box::new([u64::from(rank) + 1; HEAP / 8]);
    let memory = Memory::here(heap.as_mut_ptr().cast(), HEAP);
    // SAFETY: the box is kept next to the domain and looked at between operations only.
    let key = unsafe { domain.keys().register(memory, Rights::ALL, None) }.expect("room");
    let keys = TemplateKeys {
        local: key,
        remote: key,
    };
    let (initiator, consumer) = ends(16, 0, keys);
    let mut port = Port::new(rank, domain, 2, direct);
    port.join(consumer);
    End {
        port,
        initiator,
        heap,
        key,
    }
}

fn address<D>(e: &End<D>, offset: usize) -> u64 {
    e.heap.as_ptr() as u64 + offset as u64
}

/// Moves up to `n` bytes of one end to the other.
fn carry(from: &mut End, to: &mut End, n: usize) -> bool {
    let (a, b) = (from.port.rank as usize, to.port.rank as usize);
    let bytes: Vec<u8> = from.port.output(b).iter().take(n).copied().collect();
    from.port.sent(b, bytes.len());
    !bytes.is_empty() && to.port.feed(a, &bytes)
}

fn work<D>(pick: u8, a: &End<D>, b: &End) -> Work {
    let local = Local {
        address: address(a, 256),
        key: a.key,
    };
    let remote = Remote {
        address: address(b, 512),
        key: b.key,
    };
    match pick % 5 {
        0 => Work::Put {
            source: Source::Memory(local, 300),
            remote,
            signal: None,
        },
        1 => Work::Get {
            local,
            length: 200,
            remote,
        },
        2 => Work::Send {
            source: Source::Memory(local, 100),
            port: 0,
            tag: 3,
        },
        3 => Work::Put {
            source: Source::Memory(local, 16),
            remote,
            signal: Some(crate::descriptor::Signal {
                remote: Remote {
                    address: address(b, 1024),
                    ..remote
                },
                op: SignalOp::Add,
                value: 1,
            }),
        },
        _ => Work::Fence,
    }
}

fn post<D>(a: &mut End<D>, b: &End, pick: u8) -> bool {
    let work = work(pick, a, b);
    let d = Descriptor {
        queue_pair: 0,
        peer: 1,
        signalled: false,
        count: None,
        count_source: false,
        work,
    };
    let room = a.initiator.post(&d).is_ok();
    a.initiator.ring();
    room
}

/// `PROPTEST_CASES` cases where that variable is set, `usual` elsewhere.
fn cases(usual: u32) -> ProptestConfig {
    if std::env::var_os("PROPTEST_CASES").is_some() {
        ProptestConfig::default()
    } else {
        ProptestConfig::with_cases(usual)
    }
}

/// Rank 0 posts `picks`, noise is mixed into what it says and hears, then its peer is lost: true if every operation
/// has ended.
fn nonsense_leaves_nothing_hanging(noise: &[u8], at: usize, picks: &[u8], whole: bool) -> bool {
    let (mut a, mut b) = (end(0), end(1));
    for pick in picks {
        post(&mut a, &b, *pick);
    }
    a.port.step();
    let mut bytes = a.port.output(1).to_vec();
    if whole {
        bytes = noise.to_vec();
    } else {
        for (i, n) in noise.iter().take(8).enumerate() {
            if let Some(byte) = bytes.get_mut(at + i) {
                *byte ^= n;
            }
        }
    }
    b.port.feed(0, &bytes);
    // The answers, falsified in the same way.
    let mut answers = b.port.output(0).to_vec();
    for (i, n) in noise.iter().take(4).enumerate() {
        if let Some(byte) = answers.get_mut(at / 8 + i) {
            *byte ^= n;
        }
    }
    a.port.feed(1, &answers);
    a.port.lose(1);
    a.port.step();
    a.initiator.is_quiet()
}

/// The noise moves the start of the second get by one byte: its answer is a valid frame, one byte short.
#[test]
fn an_answer_that_is_short_leaves_nothing_hanging() {
    let noise = [0, 0, 0, 0, 0, 0, 0, 1];
    assert!(nonsense_leaves_nothing_hanging(
        &noise,
        309,
        &[86, 17, 16],
        false
    ));
}

proptest! {
    #![proptest_config(cases(200))]

    /// However the stream is cut and whenever the receiver empties its inbox, every operation completes.
    #[test]
    fn every_operation_completes_however_the_bytes_arrive(
        picks in prop::collection::vec(any::<u8>(), 1..12),
        cuts in prop::collection::vec(1..200usize, 1..20),
    ) {
        let (mut a, mut b) = (end(0), end(1));
        let (mut sends, mut signals) = (0, 0);
        for pick in &picks {
            prop_assert!(post(&mut a, &b, *pick));
            sends += usize::from(pick % 5 == 2);
            signals += u64::from(pick % 5 == 3);
        }
        let mut received = 0;
        for turn in 0..20_000 {
            let cut = cuts[turn % cuts.len()];
            a.port.step();
            carry(&mut a, &mut b, cut);
            b.port.step();
            carry(&mut b, &mut a, cut);
            if cut % 3 == 0 {
                let m = b.port.domain.inbox().and_then(|i| i.receive());
                received += usize::from(m.is_some());
            }
            if turn % cuts.len() == 0 {
                received += usize::from(b.port.domain.inbox().and_then(|i| i.receive()).is_some());
            }
            if a.initiator.is_quiet() {
                break;
            }
        }
        prop_assert!(a.initiator.is_quiet());
        prop_assert!(a.initiator.take_errors().is_empty());
        while b.port.domain.inbox().and_then(|i| i.receive()).is_some() {
            received += 1;
        }
        prop_assert_eq!(received, sends);
        prop_assert_eq!(b.heap[128], 2 + signals);
    }

    /// Any bytes, as themselves or in place of a part of a real conversation: refused or answered with an
    /// error, and never more written than a valid descriptor may.
    #[test]
    fn hostile_bytes_are_refused(
        noise in prop::collection::vec(any::<u8>(), 1..300),
        at in 0..400usize,
        picks in prop::collection::vec(any::<u8>(), 0..6),
        whole in any::<bool>(),
    ) {
        prop_assert!(
            nonsense_leaves_nothing_hanging(&noise, at, &picks, whole),
            "a peer that talks nonsense leaves nothing hanging"
        );
    }

    #[test]
    fn a_header_survives_its_bytes_and_any_bytes_are_safe(
        bytes in any::<[u8; 32]>(), tame in any::<bool>()
    ) {
        let mut bytes = bytes;
        if tame {
            bytes[..2].copy_from_slice(&0x4e48u16.to_le_bytes());
            bytes[2] = 1 + bytes[2] % 2;
            bytes[3] %= 14;
            bytes[6] &= 3;
            bytes[7] = 0;
            bytes[28..].fill(0);
        }
        if let Some(h) = Header::parse(&bytes) {
            prop_assert_eq!(h.encode(), bytes);
        }
    }
}

#[test]
fn a_stream_of_noise_is_given_up_at_its_first_header() {
    let mut d = Decoder::default();
    d.push(&[0xff; 31]);
    assert_eq!(d.frame(), Ok(None));
    d.push(&[0xff]);
    assert_eq!(d.frame(), Err(NoFrame));
}

#[test]
fn what_is_under_way_to_a_lost_peer_ends_in_error_and_so_does_what_follows() {
    let (mut a, b) = (end(0), end(1));
    assert!(post(&mut a, &b, 0) && post(&mut a, &b, 1));
    a.port.step();
    a.port.lose(1);
    assert!(post(&mut a, &b, 0));
    a.port.step();
    assert!(a.initiator.is_quiet());
    let errors = a.initiator.take_errors();
    assert_eq!(errors.len(), 3);
    let lost = |c: &Completion| c.status == Status::PeerLost && c.value == 1;
    assert!(errors.iter().all(lost));
}

/// The reply that broke the protocol had already taken its request off the list of requests.
#[test]
fn an_operation_whose_last_reply_is_nonsense_ends_in_error() {
    let (mut a, b) = (end(0), end(1));
    assert!(post(&mut a, &b, 1));
    a.port.step();
    let asked = a.port.output(1);
    let header = Header::parse(asked.first_chunk().expect("a frame")).expect("a header");
    let short = Header {
        kind: Kind::Reply,
        length: 3,
        ..header
    };
    let bytes = [&short.encode()[..], &[1, 2, 3]].concat();
    assert!(!a.port.feed(1, &bytes));
    assert!(a.initiator.is_quiet());
    let errors = a.initiator.take_errors();
    assert_eq!(errors.len(), 1);
    assert_eq!(errors[0].status, Status::PeerLost);
}

#[test]
fn a_reply_that_nobody_asked_for_ends_the_stream() {
    let mut a = end(0);
    let reply = Header {
        kind: Kind::Reply,
        status: Status::Ok,
        length: 0,
        id: 77,
        value: 0,
        offset: 0,
    };
    assert!(!a.port.feed(1, &reply.encode()));
    assert!(!a.port.feed(1, &[]), "and it stays ended");
}

/// A piece that claims to lie behind the end of the operation it belongs to.
#[test]
fn a_piece_outside_of_its_operation_writes_nothing() {
    let (mut a, mut b) = (end(0), end(1));
    let before = b.heap.clone();
    let d = Dynamic {
        peer: 1,
        remote: address(&b, 0),
        local: address(&a, 0),
        length: 64,
    };
    a.initiator.post_template(Shape::Put, d).expect("room");
    a.initiator.ring();
    a.port.step();
    let mut bytes = a.port.output(1).to_vec();
    bytes[24..28].copy_from_slice(&1u32.to_le_bytes());
    assert!(!b.port.feed(0, &bytes));
    assert_eq!(b.heap, before);
}

/// An adapter that takes puts and gets, and tells what it was given.
#[derive(Debug, Default)]
struct Adapter {
    given: Vec<(u64, &'static str)>,
    /// Has no room.
    full: bool,
}

impl Direct for Adapter {
    fn keeps_order(&self) -> Kept {
        Kept::default()
    }

    fn takes(&self, d: &Descriptor) -> bool {
        matches!(d.work, Work::Put { signal: None, .. } | Work::Get { .. })
    }

    fn begin(&mut self, id: u64, d: &Descriptor, _: &LocalPart<'_>) -> Begun {
        if self.full {
            return Begun::Busy;
        }
        let name = match d.work {
            Work::Put { .. } => "put",
            _ => "get",
        };
        self.given.push((id, name));
        Begun::UnderWay { freed: false }
    }
}

impl End<Adapter> {
    fn given(&self) -> Vec<&'static str> {
        self.port.direct.given.iter().map(|g| g.1).collect()
    }
}

#[test]
fn an_adapter_is_given_at_once_what_nothing_stands_before() {
    const PUT: u8 = 0;
    const GET: u8 = 1;
    const REQUEST: u8 = 2;
    const FENCE: u8 = 4;
    let (mut a, b) = (end_with(0, Adapter::default()), end(1));

    // Nothing is in the line: the operation leaves with its descriptor.
    assert!(post(&mut a, &b, PUT) && post(&mut a, &b, GET));
    assert!(a.port.take_from(0));
    assert_eq!(a.given(), ["put", "get"]);

    // What finds no room waits in the line, and nothing passes it.
    a.port.direct.full = true;
    assert!(post(&mut a, &b, PUT));
    a.port.step();
    a.port.direct.full = false;
    assert!(post(&mut a, &b, GET));
    assert!(a.port.take_from(0));
    assert_eq!(a.given().len(), 2, "the put stands before the get");
    a.port.step();
    assert_eq!(a.given(), ["put", "get", "put", "get"]);

    // A fence holds back what is behind it, until all before it have landed.
    assert!(post(&mut a, &b, FENCE) && post(&mut a, &b, PUT));
    a.port.step();
    assert_eq!(a.given().len(), 4);
    for (id, _) in core::mem::take(&mut a.port.direct.given) {
        a.port.landed(id, Ok(()));
    }
    a.port.step();
    assert_eq!(a.given(), ["put"]);

    // A request goes by the stream, and the operations to a lost peer go nowhere.
    assert!(post(&mut a, &b, REQUEST));
    a.port.step();
    assert!(!a.port.output(1).is_empty());
    a.port.lose(1);
    assert!(post(&mut a, &b, GET));
    a.port.step();
    assert_eq!(a.given(), ["put"]);
    assert!(a.initiator.is_quiet());
    let lost = a.initiator.take_errors();
    assert_eq!(lost.len(), 3, "the last put, the request and the get");
    assert!(lost.iter().all(|c| c.status == Status::PeerLost));
}
