use super::*;

fn ask(s: &mut State, slot: usize, op: Op, words: Words) -> Vec<Effect> {
    let mut out = Vec::new();
    s.request(slot, op, words, &mut out).expect("fits");
    out
}

fn tell(s: &mut State, from: NodeId, tag: Tag, words: Words) -> Vec<Effect> {
    let mut out = Vec::new();
    s.message(from, tag, words, &mut out).expect("fits");
    out
}

const NONE: Words = [0; 3];

#[test]
fn a_barrier_carries_one_word_to_all() {
    let mut origin = State::new(0, 2);
    assert_eq!(ask(&mut origin, 5, Op::Barrier, [77, 0, 0]), []);
    let words = [77, 0, 0];
    assert_eq!(
        tell(&mut origin, 1, Tag::Arrived, NONE),
        [
            Effect::Send(1, Tag::Released, words),
            Effect::Answer(5, words)
        ]
    );
    // And the next one nothing.
    ask(&mut origin, 5, Op::Barrier, NONE);
    let out = tell(&mut origin, 1, Tag::Arrived, NONE);
    assert_eq!(out[1], Effect::Answer(5, NONE));
}

#[test]
fn every_iteration_is_taken_once_in_whole_grains() {
    for (iterations, grain) in [(0, 1), (1, 4), (100, 7), (1000, 1), (64, 64), (65, 16)] {
        let mut s = State::new(0, 3);
        let mut next = 0;
        for turn in 0.. {
            let node = turn % 3;
            let out = if node == 0 {
                ask(&mut s, 9, Op::Take, [4, iterations, grain])
            } else {
                let number = 4 | 11 << 32;
                tell(&mut s, node, Tag::Take, [number, iterations, grain])
            };
            let (first, end) = match out[..] {
                [Effect::Answer(9, [first, end, 0])] => (first, end),
                [Effect::Send(n, Tag::Answer, [11, first, end])] if n == node => (first, end),
                ref other => panic!("{other:?}"),
            };
            assert_eq!(first, next);
            assert!(end <= iterations && (end % grain == 0 || end == iterations));
            next = end;
            if first == end {
                break;
            }
        }
        assert_eq!(next, iterations);
        assert_eq!(ask(&mut s, 9, Op::Take, [5, 3, 3]).len(), 1, "another loop");
        assert_eq!(s.loops.len(), 2);
        ask(&mut s, 0, Op::Fork, NONE);
        assert!(s.loops.is_empty(), "a region's loops are its own");
    }
}

#[test]
fn a_part_may_be_one_grain() {
    let mut s = State::new(0, 2);
    let out = ask(&mut s, 9, Op::Take, [4 | ONE, 100, 3]);
    assert_eq!(out, [Effect::Answer(9, [0, 3, 0])]);
    let out = tell(&mut s, 1, Tag::Take, [4 | ONE | 7 << 32, 100, 3]);
    assert_eq!(out, [Effect::Send(1, Tag::Answer, [7, 3, 6])]);
}

#[test]
fn a_node_may_take_all_that_is_left() {
    let mut s = State::new(0, 2);
    ask(&mut s, 9, Op::Take, [4 | ONE, 100, 3]);
    let out = ask(&mut s, 9, Op::Take, [4 | REST, 100, 3]);
    assert_eq!(out, [Effect::Answer(9, [3, 100, 0])]);
    let out = tell(&mut s, 1, Tag::Take, [4 | 7 << 32, 100, 3]);
    assert_eq!(out, [Effect::Send(1, Tag::Answer, [7, 100, 100])]);
}

#[test]
fn a_block_is_taken_once() {
    let mut s = State::new(0, 2);
    let answer = |slot, mine, taken| Effect::Answer(slot, [mine, taken, 0]);
    let sent = |slot, mine, taken| Effect::Send(1, Tag::Answer, [slot, mine, taken]);
    assert_eq!(ask(&mut s, 9, Op::Claim, [4, 0, 0]), [answer(9, 1, 1)]);
    assert_eq!(ask(&mut s, 9, Op::Claim, [4, 0, 0]), [answer(9, 0, 1)]);
    let number = 4 | 7 << 32;
    // A block that no node has only looks.
    for block in [2, u64::MAX] {
        let words = [number, block, 0];
        assert_eq!(tell(&mut s, 1, Tag::Claim, words), [sent(7, 0, 1)]);
    }
    let words = [number, 1, 0];
    assert_eq!(tell(&mut s, 1, Tag::Claim, words), [sent(7, 1, 3)]);
    assert_eq!(tell(&mut s, 1, Tag::Claim, words), [sent(7, 0, 3)]);
    assert_eq!(ask(&mut s, 9, Op::Claim, [5, 1, 0]), [answer(9, 1, 2)]);
    ask(&mut s, 0, Op::Fork, NONE);
    assert!(s.claims.is_empty(), "a region's loops are its own");
    let mut node = State::new(1, 2);
    let asked = Effect::Send(0, Tag::Claim, [4 | 7 << 32, 1, 0]);
    assert_eq!(ask(&mut node, 7, Op::Claim, [4, 1, 0]), [asked]);
}

#[test]
fn turns_come_in_order_whoever_asks_first() {
    let mut s = State::new(0, 2);
    let mine = Effect::Answer(5, NONE);
    let theirs = Effect::Send(1, Tag::Answer, [8, 0, 0]);
    assert_eq!(tell(&mut s, 1, Tag::Turn, [3 | 8 << 32, 10, 0]), []);
    assert_eq!(ask(&mut s, 5, Op::Turn, [3, 0, 0]), [mine]);
    let passed = Effect::Answer(6, [3, 10, 0]);
    assert_eq!(ask(&mut s, 6, Op::Pass, [3, 10, 0]), [theirs, passed]);
    // Another loop's turns are its own.
    assert_eq!(ask(&mut s, 5, Op::Turn, [4, 0, 0]), [mine]);
    assert_eq!(ask(&mut s, 5, Op::Turn, [3, 12, 0]), []);
    assert_eq!(tell(&mut s, 1, Tag::Pass, [3, 12, 0]), [mine]);
    let mut out = Vec::new();
    assert!(s.message(1, Tag::Pass, [3, 12, 0], &mut out).is_err());
    assert!(s.message(1, Tag::Turn, [3, 4, 0], &mut out).is_err());
    ask(&mut s, 0, Op::Fork, NONE);
    assert!(s.turns.is_empty(), "a region's loops are its own");
}

#[test]
fn an_iteration_is_awaited_until_it_or_a_later_one_posts() {
    let mut s = State::new(0, 2);
    let mine = Effect::Answer(5, NONE);
    let theirs = Effect::Send(1, Tag::Answer, [8, 0, 0]);
    assert_eq!(tell(&mut s, 1, Tag::Await, [3 | 8 << 32, 1, 10]), []);
    assert_eq!(ask(&mut s, 5, Op::Await, [3, 1, 12]), []);
    // Another sequence, another loop, an earlier iteration.
    for words in [[3, 2, 20], [4, 1, 20], [3, 1, 9]] {
        assert_eq!(tell(&mut s, 1, Tag::Post, words), []);
    }
    assert_eq!(tell(&mut s, 1, Tag::Post, [3, 1, 11]), [theirs]);
    let posted = Effect::Answer(6, [3, 1, 12]);
    assert_eq!(ask(&mut s, 6, Op::Post, [3, 1, 12]), [mine, posted]);
    // An iteration that posts again after a later one changes nothing.
    assert_eq!(tell(&mut s, 1, Tag::Post, [3, 1, 2]), []);
    assert_eq!(ask(&mut s, 5, Op::Await, [3, 1, 12]), [mine]);
    ask(&mut s, 0, Op::Fork, NONE);
    assert!(s.posts.is_empty(), "a region's loops are its own");
    let mut node = State::new(1, 2);
    let sent = Effect::Send(0, Tag::Await, [3 | 7 << 32, 1, 4]);
    assert_eq!(ask(&mut node, 7, Op::Await, [3, 1, 4]), [sent]);
    assert_eq!(
        tell(&mut node, 0, Tag::Answer, [7, 0, 0]),
        [Effect::Answer(7, NONE)]
    );
}

#[test]
fn a_lock_is_tried() {
    let mut s = State::new(0, 2);
    let got = |n| [Effect::Answer(3, [n, 0, 0])];
    assert_eq!(ask(&mut s, 3, Op::TryLock, [9, 0, 0]), got(1));
    assert_eq!(ask(&mut s, 3, Op::TryLock, [9, 0, 0]), got(0));
    assert_eq!(
        tell(&mut s, 1, Tag::TryLock, [9, 5, 0]),
        [Effect::Send(1, Tag::Answer, [5, 0, 0])]
    );
    ask(&mut s, 3, Op::Unlock, [9, 0, 0]);
    assert_eq!(
        tell(&mut s, 1, Tag::TryLock, [9, 5, 0]),
        [Effect::Send(1, Tag::Answer, [5, 1, 0])]
    );
}

#[test]
fn a_barrier_needs_every_node_once() {
    let mut origin = State::new(0, 3);
    assert_eq!(tell(&mut origin, 2, Tag::Arrived, NONE), []);
    assert_eq!(ask(&mut origin, 5, Op::Barrier, NONE), []);
    let mut out = Vec::new();
    assert!(origin.message(2, Tag::Arrived, NONE, &mut out).is_err());
    assert_eq!(
        tell(&mut origin, 1, Tag::Arrived, NONE),
        [
            Effect::Send(1, Tag::Released, NONE),
            Effect::Send(2, Tag::Released, NONE),
            Effect::Answer(5, NONE)
        ]
    );
    let mut node = State::new(1, 3);
    assert_eq!(
        ask(&mut node, 7, Op::Barrier, NONE),
        [Effect::Send(0, Tag::Arrived, NONE)]
    );
    assert_eq!(
        tell(&mut node, 0, Tag::Released, NONE),
        [Effect::Answer(7, NONE)]
    );
}

#[test]
fn locks_go_round_in_the_order_of_asking() {
    let mut s = State::new(0, 3);
    let key = [9, 0, 0];
    assert_eq!(
        tell(&mut s, 2, Tag::Lock, [9, 4, 0]),
        [Effect::Send(2, Tag::Granted, [9, 4, 0])]
    );
    assert_eq!(ask(&mut s, 6, Op::Lock, key), []);
    assert_eq!(tell(&mut s, 1, Tag::Lock, [9, 3, 0]), []);
    assert_eq!(
        tell(&mut s, 1, Tag::Lock, [8, 3, 0]).len(),
        1,
        "another key"
    );
    assert_eq!(tell(&mut s, 2, Tag::Unlock, key), [Effect::Answer(6, key)]);
    assert_eq!(
        ask(&mut s, 6, Op::Unlock, key),
        [
            Effect::Send(1, Tag::Granted, [9, 3, 0]),
            Effect::Answer(6, key)
        ]
    );
    assert_eq!(tell(&mut s, 1, Tag::Unlock, key), []);
    let mut out = Vec::new();
    assert!(s.message(1, Tag::Unlock, key, &mut out).is_err());
}

#[test]
fn regions_start_and_join() {
    let mut origin = State::new(0, 2);
    let region = [1, 2, 3];
    assert_eq!(
        ask(&mut origin, 0, Op::Fork, region),
        [
            Effect::Send(1, Tag::Fork, region),
            Effect::Answer(0, region)
        ]
    );
    let mut node = State::new(1, 2);
    assert_eq!(tell(&mut node, 0, Tag::Fork, region), []);
    assert_eq!(
        ask(&mut node, 0, Op::Next, NONE),
        [Effect::Answer(0, region)]
    );
    assert_eq!(tell(&mut origin, 1, Tag::Done, [4, 5, 6]), []);
    assert_eq!(
        ask(&mut origin, 1, Op::Join, NONE),
        [Effect::Answer(1, NONE)]
    );
    assert_eq!(ask(&mut origin, 1, Op::Join, NONE), []);
    let mut out = Vec::new();
    assert!(node.request(0, Op::Fork, NONE, &mut out).is_err());
}
