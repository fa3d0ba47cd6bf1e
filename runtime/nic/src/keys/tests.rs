//! What key tables find, and what they refuse.

use super::*;

/// Aligned as mapped memory is.
#[repr(C, align(128))]
struct Block([u8; 4096]);

#[test]
fn what_a_peer_writes_into_a_table_leads_nowhere_else() {
    let mut block = Box::new(Block([0; 4096]));
    let mut memory = vec![0u8; 256];
    let at = block.0.as_mut_ptr();
    let users = || Array::own((0..4).map(|_| Users::default()));
    // SAFETY: the block is aligned, zero, long enough for 4 places, and outlives both tables.
    let (own, peer) = unsafe {
        let owner = KeyTable::at(&mut at.clone(), 4, users(), true);
        let peer = KeyTable::at(&mut at.clone(), 4, users(), false);
        (owner, peer)
    };
    let start = memory.as_mut_ptr();
    for table in [&own, &peer] {
        table.window(1, start, memory.len());
    }
    let region = Memory::here(start.wrapping_add(64), 64);
    // SAFETY: the vector outlives the tables, and is not accessed while spans are used.
    let key = unsafe { own.register(region, Rights::ALL, None) }.expect("room");
    let find = |table: &KeyTable, len| {
        table
            .find(Side::Remote, key, region.base, len, Rights::REMOTE_WRITE)
            .map(|span| span.start())
            .map_err(|failure| failure.status)
    };
    assert_eq!(find(&own, 64), Ok(region.here));
    assert_eq!(find(&peer, 64), Ok(region.here));
    // A peer that maps the block writes there what it likes.
    let place = &peer.places[KeyTable::place_of(key)];
    let all = u64::from(Rights::ALL.0);
    let ends = [
        0,
        1,
        64,
        255,
        256,
        1 << 20,
        start as u64,
        u64::MAX - 7,
        u64::MAX,
    ];
    let within = start as usize..=start as usize + memory.len();
    let mut found = 0;
    for (here, base, len) in ends
        .iter()
        .flat_map(|h| ends.iter().flat_map(move |b| ends.map(|l| (*h, *b, l))))
    {
        for window in 0..=WINDOWS as u64 {
            place.here.store(here, Ordering::Relaxed);
            place.base.store(base, Ordering::Relaxed);
            place.len.store(len, Ordering::Relaxed);
            place.rights.store(all | window << 8, Ordering::Relaxed);
            for (address, len) in [
                (base, 1),
                (base.wrapping_add(len / 2), len / 2),
                (region.base, 64),
            ] {
                let at = peer.find(
                    Side::Remote,
                    key,
                    address,
                    len as usize,
                    Rights::REMOTE_WRITE,
                );
                if let Some(span) = at.ok().filter(|span| !span.is_empty()) {
                    let (first, last) = (span.start() as usize, span.start() as usize + span.len());
                    assert!(
                        within.contains(&first) && within.contains(&last),
                        "{here} {base} {len} {window}"
                    );
                    found += 1;
                }
                assert_eq!(find(&own, 64), Ok(region.here));
            }
        }
    }
    assert!(found > 0, "some of it is in the window");
    assert!(own.deregister(key));
    assert_eq!(find(&own, 64), Err(Status::RemoteKey));
    assert_eq!(place.key.load(Ordering::Relaxed), 0);
}

fn table(len: usize, rights: Rights) -> (KeyTable, Vec<u8>, Key, u64) {
    let mut memory = vec![0u8; len];
    let table = KeyTable::new(4);
    let m = Memory::here(memory.as_mut_ptr(), len);
    // SAFETY: the vector is returned with the table and not accessed while spans are used.
    let key = unsafe { table.register(m, rights, None) }.expect("room");
    (table, memory, key, m.base)
}

#[test]
fn bounds_hold_to_the_byte_and_do_not_wrap() {
    let (t, _memory, key, base) = table(64, Rights::ALL);
    let find = |address: u64, len: usize| {
        t.find(Side::Remote, key, address, len, Rights::REMOTE_READ)
            .map(|s| s.len())
    };
    assert_eq!(find(base, 64), Ok(64));
    assert_eq!(find(base + 64, 0), Ok(0));
    assert_eq!(find(base + 63, 1), Ok(1));
    for (address, len) in [
        (base - 1, 1),
        (base, 65),
        (base + 64, 1),
        (base + 65, 0),
        (u64::MAX, usize::MAX),
        (base + 1, usize::MAX),
    ] {
        assert_eq!(
            find(address, len),
            Err(Failure {
                status: Status::RemoteBounds,
                value: address
            }),
            "{address:#x} {len}"
        );
    }
}

#[test]
fn a_missing_right_is_named_for_its_side() {
    let (t, _memory, key, base) = table(8, Rights::LOCAL_READ);
    let local = |r| {
        t.find(Side::Local, key, base, 8, r)
            .map(|_| ())
            .map_err(|f| f.status)
    };
    assert_eq!(local(Rights::LOCAL_READ), Ok(()));
    assert_eq!(local(Rights::LOCAL_WRITE), Err(Status::LocalRight));
    let remote = t.find(Side::Remote, key, base, 8, Rights::REMOTE_WRITE);
    assert_eq!(
        remote.map(|_| ()).map_err(|f| f.status),
        Err(Status::RemoteRight)
    );
}

#[test]
fn the_key_of_a_region_that_is_gone_stays_invalid_when_its_place_is_used_again() {
    let (t, mut memory, key, base) = table(8, Rights::ALL);
    assert!(t.deregister(key));
    assert!(!t.deregister(key));
    // SAFETY: the vector outlives the table, and is not accessed while spans are used.
    let again = unsafe { t.register(Memory::here(memory.as_mut_ptr(), 8), Rights::ALL, None) }
        .expect("room");
    assert_ne!(again, key);
    let found = |k| {
        t.find(Side::Remote, k, base, 8, Rights::REMOTE_READ)
            .map(|_| ())
            .map_err(|f| f.status)
    };
    assert_eq!(found(key), Err(Status::RemoteKey));
    assert_eq!(found(Key::NONE), Err(Status::RemoteKey));
    assert_eq!(found(again), Ok(()));
}

#[test]
fn a_full_table_and_a_wrapping_range_are_refused() {
    let (t, mut memory, _, _) = table(8, Rights::ALL);
    let m = Memory::here(memory.as_mut_ptr(), 8);
    // SAFETY: the vector outlives the table, and is not accessed while spans are used.
    let keys: Vec<_> = (0..4)
        .map(|_| unsafe { t.register(m, Rights::ALL, None) })
        .collect();
    assert!(keys[..3].iter().all(|k| k.is_ok()));
    assert_eq!(keys[3], Err(RegisterError::Full { places: 4 }));
    let wraps = Memory {
        base: u64::MAX,
        ..m
    };
    // SAFETY: refused.
    let refused = unsafe { t.register(wraps, Rights::ALL, None) };
    assert_eq!(
        refused.expect_err("wraps").to_string(),
        "region 0xffffffffffffffff of 8 bytes: beyond the address space (expected a range within it)"
    );
}
