//! Random programs under random interleavings, compared with a memory that has no copies.

mod common;

use common::{Flaw, Loans, Setting, World};
use hetmp_dsm::message::BULK;
use hetmp_dsm::{Access, Homes, Message, NodeId};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

fn config() -> ProptestConfig {
    ProptestConfig {
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(
            "proptest-regressions/traces.txt",
        ))),
        ..ProptestConfig::default()
    }
}

fn access() -> impl Strategy<Value = Access> {
    prop_oneof![Just(Access::Read), Just(Access::Write)]
}

/// Up to 4 nodes with up to 2 threads each, up to 5 pages, instructions of 1 to 4 pages, up to 7 requests in bulk, and
/// up to 3 pages that are kept. In half of them homes lend pages.
fn settings() -> impl Strategy<Value = Setting> {
    (2..=4u8, 1..=5u64).prop_flat_map(|(nodes, pages)| {
        let instruction = prop::collection::btree_map(0..pages, access(), 1..=4)
            .prop_map(|m| m.into_iter().collect::<Vec<_>>())
            .prop_shuffle();
        let thread = (0..nodes, prop::collection::vec(instruction, 0..12));
        let threads = prop::collection::vec(thread, 1..=2 * usize::from(nodes));
        let homes = prop::collection::vec(0..nodes, pages as usize);
        let keeps = prop::collection::vec((0..nodes, 0..pages), 0..4);
        let pages = prop::collection::vec((0..pages, access()), 1..=5);
        let bulk = prop::collection::vec((0..nodes, pages), 0..8);
        let late = prop::collection::vec(0..nodes, 0..4);
        let loans = prop::option::of((0..12usize, late));
        let all = (
            threads,
            homes,
            (bulk, keeps),
            (any::<bool>(), any::<bool>()),
            loans,
        );
        all.prop_map(
            move |(threads, homes, (bulk, keeps), (timed, move_once), loans)| {
                let first = Homes::all_at(homes[0]);
                let homes = homes[1..].iter().zip(1u64..);
                let homes = homes.fold(first, |all, (home, page)| all.then(page, *home));
                Setting {
                    nodes,
                    bulk,
                    keeps,
                    homes: match move_once {
                        true => homes.that_move(),
                        false => homes,
                    },
                    threads,
                    timed,
                    loans: loans.map(|(barrier, late)| Loans {
                        barrier,
                        late,
                        flaw: Flaw::Nothing,
                    }),
                }
            },
        )
    })
}

/// Sender, and what an encoded message is made of.
fn message() -> impl Strategy<Value = (NodeId, u8, u8, u8, u64)> {
    (0..5u8, 1..11u8, 0..3u8, 0..5u8, 0..3u64)
}

proptest! {
    #![proptest_config(config())]

    /// `choices` picks among the steps that can happen. When all choices are used, a generator goes on from
    /// the last one.
    #[test]
    fn copies_are_one_memory(setting in settings(), choices in prop::collection::vec(any::<u64>(), 1..400)) {
        let mut world = World::new(&setting);
        if setting.loans.is_some() {
            // A page that is lent from the start on.
            world.fight(&setting, 0, (setting.homes.of(0) + 1) % setting.nodes);
        }
        let mut state = choices[choices.len() - 1];
        let mut steps = 0;
        loop {
            let all = world.steps(&setting);
            if all.is_empty() {
                break;
            }
            let choice = choices.get(steps).copied().unwrap_or_else(|| {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                state >> 33
            });
            world.step(&setting, all[choice as usize % all.len()]);
            prop_assert_eq!(world.wrong, None);
            steps += 1;
            prop_assert!(steps < 2_000_000, "no end");
        }
        prop_assert!(world.is_done(&setting), "it stands still");
        prop_assert!(world.nodes.iter().all(|n| (0..6).all(|p| n.entry(p).is_none_or(|e| !e.is_busy()))));
    }

    #[test]
    fn messages_come_back_and_other_bytes_do_not(
        bytes in prop::collection::vec(0..12u8, 0..20),
        page in 0..u64::MAX - 64,
        to in 0..64u8,
        write: bool,
        count in 1..=BULK,
    ) {
        let access = if write { Access::Write } else { Access::Read };
        for m in [
            Message::Want { page, access, by: to },
            Message::Pass { page, to, access },
            Message::Page { page, access, home: to },
            Message::Drop { page },
            Message::Dropped { page },
            Message::Grant { page },
            Message::Taken { page },
            Message::Lend { page },
            Message::Return { page, place: to },
            Message::Returned { page },
        ] {
            prop_assert_eq!(Message::decode(&m.encode(count)), Some((m, count)));
            prop_assert_eq!(m.about(page + 1).about(page), m);
            let mut other = m.encode(count);
            other[3] = 1;
            prop_assert_eq!(Message::decode(&other), None);
            prop_assert_eq!(Message::decode(&m.encode(BULK + 1)), None);
        }
        if let Some((m, count)) = Message::decode(&bytes) {
            prop_assert_eq!(&m.encode(count)[..], &bytes[..]);
        }
    }

    /// Whatever message a peer sends, a node answers it or refuses it, and does not panic.
    #[test]
    fn any_message_is_taken_or_refused(all in prop::collection::vec(message(), 0..60)) {
        let homes = Homes::all_at(0).then(2, 1).that_move();
        let mut node = hetmp_dsm::Node::new(0, 3, homes);
        node.set_lending(hetmp_dsm::Lending::on(1));
        for (from, kind, access, to, page) in all {
            let mut bytes = [0; 16];
            bytes[..3].copy_from_slice(&[kind, access, to]);
            bytes[8] = page as u8;
            let mut out = Vec::new();
            if let Some((message, _)) = Message::decode(&bytes) {
                if node.receive(from, message, &mut out).is_err() {
                    break;
                }
            }
            node.fault(page, Access::Write, &mut out);
        }
    }
}
