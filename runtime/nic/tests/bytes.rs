//! Parsing of descriptors and completions, for random bytes and for every value of the fields.
#![cfg(not(loom))]

use hetmp_nic::arithmetic::{Arithmetic, Type};
use hetmp_nic::descriptor::*;
use hetmp_nic::template::{Answer, AtomicWords, Dynamic, Shape, SignalWords, Statics, Templates};
use proptest::prelude::*;

fn source(most: usize) -> impl Strategy<Value = Source> {
    prop_oneof![
        (any::<u64>(), any::<u32>(), 0..MESSAGE_BYTES as u32).prop_map(|(address, key, n)| {
            Source::Memory(
                Local {
                    address,
                    key: Key(key),
                },
                n,
            )
        }),
        prop::collection::vec(any::<u8>(), 0..=most)
            .prop_map(|b| Source::Inline(Inline::new(&b).expect("fits"))),
    ]
}

fn remote() -> impl Strategy<Value = Remote> {
    (any::<u64>(), any::<u32>()).prop_map(|(address, key)| Remote {
        address,
        key: Key(key),
    })
}

fn work() -> impl Strategy<Value = Work> {
    use AtomicOp::*;
    let ops = prop::sample::select(vec![Read, Write, Swap, CompareSwap, Add, And, Or, Xor]);
    let fetch = prop_oneof![
        Just(Fetch::No),
        Just(Fetch::Completion),
        (any::<u64>(), 1..u32::MAX).prop_map(|(address, key)| Fetch::Memory(Local {
            address,
            key: Key(key)
        })),
    ];
    let counter = any::<u32>().prop_map(CounterId);
    prop_oneof![
        Just(Work::Nop),
        Just(Work::Fence),
        (source(INLINE_BYTES), remote()).prop_map(|(source, remote)| Work::Put {
            source,
            remote,
            signal: None
        }),
        (
            source(INLINE_BYTES_WITH_SIGNAL),
            remote(),
            remote(),
            any::<bool>(),
            any::<u64>()
        )
            .prop_map(|(source, remote, word, add, value)| Work::Put {
                source,
                remote,
                signal: Some(Signal {
                    remote: word,
                    op: if add { SignalOp::Add } else { SignalOp::Set },
                    value
                })
            }),
        (any::<u64>(), any::<u32>(), any::<u32>(), remote()).prop_map(
            |(address, key, length, remote)| Work::Get {
                local: Local {
                    address,
                    key: Key(key)
                },
                length,
                remote
            }
        ),
        (
            ops,
            any::<bool>(),
            fetch,
            remote(),
            any::<u64>(),
            any::<u64>()
        )
            .prop_map(|(op, wide, fetch, remote, operand, comparand)| {
                Work::Atomic(Atomic {
                    op,
                    width: if wide { Width::W8 } else { Width::W4 },
                    fetch,
                    remote,
                    operand,
                    comparand,
                })
            }),
        (source(INLINE_BYTES), any::<u8>(), any::<u32>())
            .prop_map(|(source, port, tag)| Work::Send { source, port, tag }),
        (counter.clone(), any::<u64>(), 1..=LONGEST_SPAN).prop_map(|(counter, threshold, span)| {
            Work::Wait {
                counter,
                threshold,
                span,
            }
        }),
        (counter, any::<u64>()).prop_map(|(counter, add)| Work::Count { counter, add }),
        compute(),
    ]
}

fn compute() -> impl Strategy<Value = Work> {
    let element = any::<u8>().prop_filter_map("a type", Type::from_raw);
    let local = || {
        (any::<u64>(), any::<u32>()).prop_map(|(address, key)| Local {
            address,
            key: Key(key),
        })
    };
    let op = prop::sample::select(Arithmetic::ALL.to_vec());
    (op, element, local(), local(), 0..1u32 << 20)
        .prop_filter("an operation on such elements", |x| x.0.takes(x.1))
        .prop_map(|(op, element, target, operand, n)| Work::Compute {
            op,
            element,
            target,
            operand,
            length: n * element.bytes() as u32,
        })
}

/// The result that the short path for puts (`PlainPut::of`) must have for a parsed descriptor.
fn plain(parsed: &Result<Descriptor, Malformed>) -> Option<PlainPut> {
    match *parsed {
        Ok(Descriptor {
            peer,
            signalled: false,
            count: None,
            count_source: false,
            work:
                Work::Put {
                    source,
                    remote,
                    signal: None,
                },
            ..
        }) => Some(PlainPut {
            peer,
            source,
            remote,
        }),
        _ => None,
    }
}

fn may_count(work: &Work) -> bool {
    !matches!(
        work,
        Work::Put {
            signal: Some(_),
            ..
        } | Work::Wait { .. }
            | Work::Count { .. }
    )
}

proptest! {
    #[test]
    fn every_descriptor_survives_its_bytes(
        queue_pair in any::<u32>(), peer in any::<u32>(), signalled in any::<bool>(),
        count in prop::option::of(any::<u32>()), at_source in any::<bool>(), work in work()
    ) {
        let count = count.filter(|_| may_count(&work)).map(CounterId);
        let d = Descriptor { queue_pair, peer, signalled, count, count_source: at_source && count.is_some(), work };
        prop_assert_eq!(Descriptor::parse(&d.encode()), Ok(d));
    }

    /// Random words are refused, or parse to a descriptor that builds the same words again.
    #[test]
    fn any_words_parse_or_are_refused(
        mut words in any::<[u64; WORDS]>(), head in any::<[u8; 4]>(), tame in any::<bool>()
    ) {
        let low = if tame {
            // Mostly valid heads, so that the parser also gets to the other fields.
            [head[0] % 11, head[1] & 31 & head[3], head[2] % 26, head[3] % 10]
        } else {
            head
        };
        words[0] = words[0] & !0xffff_ffff | u64::from(u32::from_le_bytes(low));
        if head[0] & 64 != 0 {
            words[1] = words[1] & 0xffff_ffff | u64::from(head[2]) << 32;
        }
        if head[1] & 64 != 0 {
            words[4] = words[4] & !0xffff_ffff | u64::from(low[2]);
        }
        let parsed = Descriptor::parse(&words);
        if let Ok(d) = parsed {
            prop_assert_eq!(Descriptor::parse(&d.encode()), Ok(d));
        }
        prop_assert_eq!(PlainPut::of(&words), plain(&parsed));
        // Random words seldom have the opcode of a put.
        words[0] = words[0] & !0x00ff_ffff | 1;
        prop_assert!(PlainPut::of(&words).is_some());
        for inline in [0, u64::from(head[2] % 26)] {
            words[0] = words[0] & !0x00ff_0000 | inline << 16;
            if inline != 0 {
                words[0] |= 0x200;
                words[4] = words[4] & !0xffff_ffff | inline;
            }
            let parsed = Descriptor::parse(&words);
            let put = PlainPut::of(&words);
            prop_assert_eq!(put, plain(&parsed));
            if let (Some(put), Ok(d)) = (put, parsed) {
                prop_assert_eq!(put.encode(d.queue_pair), d.encode());
            }
        }
    }

    #[test]
    fn a_completion_survives_its_bytes_and_any_words_are_safe(
        words in any::<[u64; COMPLETION_WORDS]>(), status in any::<u8>()
    ) {
        let mut words = words;
        if let Some(c) = Completion::parse(&words) {
            prop_assert_eq!(Completion::parse(&c.encode()), Some(c));
        }
        words[1] = words[1] & !0xffff_ffff | u64::from(status);
        match Completion::parse(&words) {
            Some(c) => prop_assert_eq!(Completion::parse(&c.encode()), Some(c)),
            None => prop_assert_eq!(Status::of(status), None),
        }
    }

    /// After random posts into a slot, patching the slot gives exactly the descriptor that building all words gives.
    #[test]
    fn a_patched_template_is_the_whole_descriptor(
        posts in prop::collection::vec(
            (0..9u8, any::<u32>(), any::<u64>(), any::<u64>(), any::<u32>(), work(),
             (any::<u64>(), any::<u64>(), 0..8usize, any::<bool>(), 0..=8u8)), 1..12)
    ) {
        use AtomicOp::*;
        let statics = Statics { queue_pair: 11, local: Key(22), remote: Key(33) };
        let mut templates = Templates::new(statics, 1);
        let mut slot = [0u64; WORDS];
        let nothing = Dynamic { peer: 0, remote: 0, local: 0, length: 0 };
        templates.prepare(0, Shape::Put, nothing, &mut slot);
        for (kind, peer, remote, local, length, other, (first, second, op, wide, bytes)) in posts {
            let copy = Dynamic { peer, remote, local, length };
            let signal = SignalWords { peer, remote, local, length, signal: first, value: second };
            let sum = if wide { SignalOp::Add } else { SignalOp::Set };
            let whole = match kind {
                0..=3 => {
                    let shape = [Shape::Put, Shape::PutSignalled, Shape::Get, Shape::GetSignalled][usize::from(kind)];
                    templates.patch(0, shape, copy, &mut slot);
                    templates.full(shape, copy)
                }
                4 => {
                    let op = [Read, Write, Swap, CompareSwap, Add, And, Or, Xor][op];
                    let width = if wide { Width::W8 } else { Width::W4 };
                    let answer = [Answer::Nowhere, Answer::Completion, Answer::Memory][usize::from(bytes % 3)];
                    let local = if answer == Answer::Memory { local } else { 0 };
                    let words = AtomicWords { peer, remote, local, operand: first, comparand: second };
                    let shape = Shape::Atomic(op, width, answer);
                    templates.patch(0, shape, words, &mut slot);
                    templates.full(shape, words)
                }
                5 | 6 => {
                    let shape = if kind == 5 { Shape::PutSignal(sum) } else { Shape::PutSignalSignalled(sum) };
                    templates.patch(0, shape, signal, &mut slot);
                    templates.full(shape, signal)
                }
                7 => {
                    let kept = 1u64.checked_shl(u32::from(bytes) * 8).unwrap_or(0).wrapping_sub(1);
                    let words = SignalWords { local: local & kept, length: bytes.into(), ..signal };
                    let shape = Shape::InlineSignal(sum, bytes);
                    templates.patch(0, shape, words, &mut slot);
                    templates.full(shape, words)
                }
                _ => {
                    let d = Descriptor {
                        queue_pair: 11, peer, signalled: true, count: None, count_source: false, work: other,
                    };
                    slot = d.encode();
                    templates.overwritten(0);
                    continue;
                }
            };
            prop_assert_eq!(Some(slot), whole.map(|d| d.encode()));
            // The descriptor parses to the operation that was posted.
            prop_assert_eq!(whole.map(Ok), Some(Descriptor::parse(&slot)));
        }
    }
}

#[test]
fn what_does_not_fit_is_refused_by_name() {
    let put = |flags: u32, inline: u32, length: u64| {
        let mut w: Words = [0; WORDS];
        w[0] = u64::from(1 | flags << 8 | inline << 16);
        w[4] = length;
        Descriptor::parse(&w).map(|d| d.work)
    };
    assert_eq!(put(2, 25, 25), Err(Malformed::Inline));
    assert_eq!(put(2, 8, 9), Err(Malformed::Inline));
    assert_eq!(put(0, 8, 8), Err(Malformed::Inline));
    assert_eq!(put(4, 0, 0), Err(Malformed::Flags));
    assert_eq!(put(0x80, 0, 0), Err(Malformed::Flags));
    let first = |word: u64, length: u64| {
        let mut w: Words = [0; WORDS];
        w[0] = word;
        w[4] = length;
        Descriptor::parse(&w).map(|d| d.work)
    };
    assert_eq!(first(10, 0), Err(Malformed::Opcode));
    assert_eq!(first(16 << 8, 0), Err(Malformed::Flags), "nothing to count");
    assert_eq!(first(9 | 9 << 24, 0), Err(Malformed::Detail));
    let compute = |op: u64, element: u64, length: u64| {
        let mut w: Words = [0; WORDS];
        (w[0], w[1], w[4]) = (9 | op << 24, element << 32, length);
        Descriptor::parse(&w).map(|d| d.work)
    };
    assert!(compute(8, 0x7f, 8).is_ok());
    assert_eq!(
        compute(0, 0x7f, 12),
        Err(Malformed::Elements),
        "one and a half"
    );
    assert_eq!(
        compute(0, 0x82, 8),
        Err(Malformed::Elements),
        "no such type"
    );
    assert_eq!(compute(0, 0x100, 8), Err(Malformed::Elements));
    assert_eq!(
        compute(8, 0x81, 8),
        Err(Malformed::Elements),
        "bits of a double"
    );
    assert_eq!(first(4 | 8 << 24, 0), Err(Malformed::Detail));
    assert_eq!(first(2 | 2 << 24, 0), Err(Malformed::Detail));
    assert_eq!(first(5, MESSAGE_BYTES as u64 + 1), Err(Malformed::Message));
    assert_eq!(first(7, 0), Err(Malformed::Span));
    assert_eq!(first(7, u64::from(LONGEST_SPAN) + 1), Err(Malformed::Span));
}
