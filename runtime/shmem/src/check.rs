//! The checks of `HETMP_CHECK=1` in collectives: members that call different functions or pass different values,
//! buffers that overlap, addresses that are not symmetric.
//!
//! Before every collective, members tell each other what they call and with which values. So a checked collective
//! waits for all members, even if the unchecked one does not.

use crate::fail;
use crate::link;
use crate::team::state::TeamState;

/// The longest function name that is told, bytes; a longer one is cut.
const NAME: usize = 64;
/// The most values that are told.
const VALUES: usize = 8;

/// Instead of a value that is not compared.
const UNSAID: u64 = u64::MAX;

/// A member's call.
#[repr(C)]
#[derive(Clone, Copy)]
struct Record {
    name: [u8; NAME],
    count: u64,
    values: [u64; VALUES],
}

impl Record {
    fn new(f: &str, items: &[(&'static str, u64)]) -> Record {
        let mut record = Record {
            name: [0; NAME],
            count: items.len() as u64,
            values: [0; VALUES],
        };
        for (to, from) in record.name.iter_mut().zip(f.bytes()) {
            *to = from;
        }
        for (to, (_, from)) in record.values.iter_mut().zip(items) {
            *to = *from;
        }
        record
    }

    fn name(&self) -> String {
        let end = self.name.iter().position(|&b| b == 0).unwrap_or(NAME);
        String::from_utf8_lossy(&self.name[..end]).into_owned()
    }
}

/// The difference between two records, as text for a message.
fn difference(
    mine: &Record,
    theirs: &Record,
    items: &[(&'static str, u64)],
    pe: u32,
    other: u32,
) -> Option<String> {
    if mine.name != theirs.name {
        return Some(format!(
            "PE {pe}: called while PE {other} calls {} (expected the same collective of a team by all its members)",
            theirs.name()
        ));
    }
    let (i, (what, value)) = items.iter().enumerate().find(|(i, _)| {
        let (a, b) = (mine.values[*i], theirs.values[*i]);
        a != b && a != UNSAID && b != UNSAID
    })?;
    Some(format!(
        "PE {pe}: {what} {}: differs (expected the same as of PE {other}, {})",
        *value as i64, theirs.values[i] as i64
    ))
}

/// Ends the job if the members of a team call different collectives, or pass different values.
#[inline(always)]
pub(crate) fn agree(team: &TeamState, f: &'static str, items: &[(&'static str, u64)]) {
    if team.world.settings.check {
        compare(team, f, items);
    }
}

#[cold]
#[inline(never)]
fn compare(team: &TeamState, f: &'static str, items: &[(&'static str, u64)]) {
    debug_assert!(items.len() <= VALUES);
    let mine = Record::new(f, items);
    let mut wrong = None;
    // SAFETY: plain words and bytes, written whole by every member.
    unsafe {
        let exchange = team.exchange(f, (&raw const mine).cast(), size_of::<Record>());
        // In the order of ranks, so that most members name the same culprit.
        for rank in 0..team.size() {
            if rank == team.rank as usize {
                continue;
            }
            let theirs = exchange.from(rank).cast::<Record>().read_unaligned();
            let (pe, other) = (team.world.me, team.members[rank].pe);
            if wrong.is_none() {
                wrong = difference(&mine, &theirs, items, pe, other);
            }
        }
    }
    if let Some(text) = wrong {
        fail::die(f, format_args!("{text}"));
    }
}

/// The source and destination arrays of a collective.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Buffers {
    dest: usize,
    dest_bytes: usize,
    source: usize,
    source_bytes: usize,
    /// The two arrays may be the same.
    same: bool,
}

impl Buffers {
    /// Arrays that may not overlap.
    #[inline(always)]
    pub(crate) fn apart(dest: *mut u8, m: usize, source: *const u8, n: usize) -> Buffers {
        Buffers {
            dest: dest as usize,
            dest_bytes: m,
            source: source as usize,
            source_bytes: n,
            same: false,
        }
    }

    /// Arrays that may be the same, but not overlap otherwise.
    #[inline(always)]
    pub(crate) fn apart_or_same(dest: *mut u8, m: usize, source: *const u8, n: usize) -> Buffers {
        Buffers {
            same: true,
            ..Buffers::apart(dest, m, source, n)
        }
    }

    fn overlap(&self) -> bool {
        let apart = self.dest + self.dest_bytes <= self.source
            || self.source + self.source_bytes <= self.dest
            || self.dest_bytes == 0
            || self.source_bytes == 0;
        !(apart || (self.same && self.dest == self.source))
    }
}

/// [`agree`], and the checks of the arrays.
#[inline(always)]
pub(crate) fn call(
    team: &TeamState,
    f: &'static str,
    buffers: Buffers,
    items: &[(&'static str, u64)],
) {
    if team.world.settings.check {
        check_call(team, f, buffers, items);
    }
}

/// [`call`] for a broadcast. Its root writes to `dest` of the others as soon as it is called, whether they have called
/// or not: so it looks whether they still use `dest`.
#[inline(always)]
pub(crate) fn broadcast(
    team: &TeamState,
    f: &'static str,
    buffers: Buffers,
    items: &[(&'static str, u64)],
    root: usize,
) {
    if team.world.settings.check {
        let before = (root == team.rank as usize).then(|| targets(team, buffers));
        check_call(team, f, buffers, items);
        if let Some(before) = before {
            // All members have called, and wait for this one.
            ready(team, f, &before, &targets(team, buffers), buffers.dest);
        }
    }
}

/// What `dest` holds at the other members; empty if it is not symmetric.
fn targets(team: &TeamState, b: Buffers) -> Vec<Vec<u8>> {
    let Some(offset) = team.world.offset(b.dest, b.dest_bytes) else {
        return Vec::new();
    };
    let read = |rank: usize| {
        let mut bytes = vec![0; b.dest_bytes];
        if rank != team.rank as usize {
            let pe = team.members[rank].pe;
            // SAFETY: as long as said, and in bounds: all segments are alike. A member that writes there now is what is
            // looked for.
            unsafe { link::get(team.world, pe, offset, bytes.as_mut_ptr(), bytes.len()) };
        }
        bytes
    };
    (0..team.size()).map(read).collect()
}

/// Ends the job if a member has written to `dest` after the root has called.
fn ready(team: &TeamState, f: &'static str, before: &[Vec<u8>], after: &[Vec<u8>], dest: usize) {
    for (rank, (old, new)) in before.iter().zip(after).enumerate() {
        if let Some(at) = old.iter().zip(new).position(|(a, b)| a != b) {
            fail::die(
                f,
                format_args!(
                    "PE {}: dest {dest:#x} of PE {}: written at {:#x} after PE {} had called (expected dest ready on \
                        all \
                     members before any calls: a barrier between the two)",
                    team.world.me,
                    team.members[rank].pe,
                    dest + at,
                    team.world.me
                ),
            );
        }
    }
}

#[cold]
#[inline(never)]
fn check_call(team: &TeamState, f: &'static str, buffers: Buffers, items: &[(&'static str, u64)]) {
    arrays(f, buffers);
    let world = team.world;
    let mut all = items.to_vec();
    for (what, at, bytes) in [
        ("offset of dest", buffers.dest, buffers.dest_bytes),
        ("offset of source", buffers.source, buffers.source_bytes),
    ] {
        // A PE that contributes nothing may pass any address.
        let offset = world.offset(at, bytes).filter(|_| bytes > 0);
        all.push((what, offset.unwrap_or(UNSAID)));
    }
    compare(team, f, &all);
}

/// Ends the job if the arrays overlap although they must not, or are not symmetric.
pub(crate) fn arrays(f: &'static str, b: Buffers) {
    let world = crate::world::need(f);
    let me = world.me;
    for (at, bytes) in [(b.dest, b.dest_bytes), (b.source, b.source_bytes)] {
        if bytes > 0 && world.offset(at, bytes).is_none() {
            fail::bad_address(f, at, bytes, me as i32);
        }
    }
    if b.overlap() {
        let expected = if b.same {
            "the same array, or arrays that do not overlap"
        } else {
            "arrays that do not overlap"
        };
        fail::die(
            f,
            format_args!(
                "PE {me}: dest {:#x} of {} bytes and source {:#x} of {} bytes: they overlap (expected {expected})",
                b.dest, b.dest_bytes, b.source, b.source_bytes
            ),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_name_the_value_and_the_other() {
        let items = [("bytes", 8), ("root", 1)];
        let mine = Record::new("shmem_broadcastmem", &items);
        assert_eq!(difference(&mine, &mine, &items, 0, 1), None);
        let theirs = Record::new("shmem_broadcastmem", &[("bytes", 8), ("root", 0)]);
        let text = difference(&mine, &theirs, &items, 2, 3).expect("they differ");
        assert_eq!(
            text,
            "PE 2: root 1: differs (expected the same as of PE 3, 0)"
        );
        let unsaid = Record::new("shmem_broadcastmem", &[("bytes", 8), ("root", UNSAID)]);
        assert_eq!(difference(&mine, &unsaid, &items, 0, 1), None);
        let theirs = Record::new("shmem_sync_all", &[]);
        let text = difference(&mine, &theirs, &items, 2, 3).expect("they differ");
        assert!(text.starts_with("PE 2: called while PE 3 calls shmem_sync_all (expected "));
    }

    #[test]
    fn arrays_may_touch_but_not_overlap() {
        let at = |n: usize| core::ptr::without_provenance_mut::<u8>(n);
        assert!(!Buffers::apart(at(100), 8, at(108), 8).overlap());
        assert!(Buffers::apart(at(100), 9, at(108), 8).overlap());
        assert!(Buffers::apart(at(100), 8, at(100), 8).overlap());
        assert!(!Buffers::apart_or_same(at(100), 8, at(100), 8).overlap());
        assert!(Buffers::apart_or_same(at(101), 8, at(100), 8).overlap());
        assert!(!Buffers::apart(at(100), 0, at(100), 8).overlap());
    }
}
