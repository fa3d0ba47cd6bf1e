//! Schedules of programs in the engines `kernel` and `nic`, which have to know those of all ranks: the ranks exchange
//! them, and so all come to the same answer.

use super::{blocking, start_in_group, tables, wait, world, Code, Error, Group, Key, Result};
use crate::choice::Collective;
use crate::memory::Segment;
use crate::offload::{Image, Offload, Run};
use crate::world::{RunError, World};
use hetmp_goal::compact::{compact, Compact};
use hetmp_goal::global;
use hetmp_goal::rank::{Failure, StartError};
use hetmp_goal::schedule::Schedule;
use std::sync::Arc;

/// The longest schedule that is exchanged, bytes. One of as many operations as the engines take is shorter.
const LONGEST: u64 = 1 << 20;

/// What an engine runs in place of a schedule.
pub(super) struct Agreed {
    /// Of all ranks, or of a group.
    away: &'static Offload,
    image: Arc<Image>,
    /// Addresses of the first segments of the image. The others are bound when a run starts.
    ranges: Vec<(u64, u64)>,
}

impl Agreed {
    /// Begins a run on bound segments.
    ///
    /// # Errors
    /// A segment is too short, or a peer is lost.
    ///
    /// # Safety
    /// As [`World::run`].
    pub(super) unsafe fn run(
        &self,
        world: &'static World,
        bound: &[Segment],
    ) -> Result<(&'static Offload, Arc<Run>)> {
        let placed = &self.image.segments()[self.ranges.len()..];
        for (i, placed) in placed.iter().enumerate() {
            let have = bound.get(i).map_or(0, |b| b.bytes);
            if have < placed.bytes {
                return Err(RunError::Start(StartError::Segment {
                    segment: i as u16,
                    have,
                    need: placed.bytes,
                })
                .into());
            }
        }
        let ranges = self.ranges.iter();
        let here = ranges.map(|(at, _)| core::ptr::with_exposed_provenance_mut(*at as usize));
        let bound = bound.iter().take(placed.len()).map(|b| b.start);
        let segments = here.chain(bound).collect();
        // Who has agreed has the engine, until it leaves the job.
        world.away().ok_or(Failure::Abandoned)?;
        // SAFETY: the ranges consist of pieces that the schedule uses, and the bound segments are as long as the image
        // says. The caller promises the rest.
        let run = unsafe { self.away.start_agreed(&self.image, segments) }?;
        Ok((self.away, run))
    }
}

/// All ranks, or those of a group, call this together, each with its schedule of one communication among them. From
/// then on runs of these schedules go to the engine `kernel` or `nic`, if there is one that takes them.
///
/// # Errors
/// [`Code::State`], [`Code::Argument`]; [`Code::NotSent`], at all ranks, for a receive without a message; or why the
/// exchange has failed.
pub fn agree(group: Option<Key>, schedule: Key) -> Result<()> {
    let world = world()?;
    let compiled = tables().schedules.get(schedule, "schedule")?.clone();
    let group = match group {
        Some(key) => Some((key, Arc::clone(tables().groups.get(key, "group")?))),
        None => None,
    };
    let away = match &group {
        Some((_, group)) => group.away,
        None => world.away(),
    };
    let Some(away) = away else {
        return Ok(());
    };
    let own = if compiled.addresses {
        compact(&compiled.schedule)
    } else {
        Ok(Compact {
            schedule: Schedule::clone(&compiled.schedule),
            ranges: Vec::new(),
        })
    };
    let bytes = own.as_ref().map_or(Vec::new(), |c| c.schedule.to_bytes());
    let all = exchange(world, group.as_ref(), bytes)?;
    if let Some((rank, why)) = all.as_ref().ok().and_then(|all| global::not_sent(all)) {
        return Err(Error::new(
            Code::NotSent,
            format_args!("GOAL_Agree: rank {rank}: {why}"),
        ));
    }
    let image = away.agree(all);
    if let (Some(image), Ok(Compact { ranges, .. })) = (image, own) {
        let agreed = Some(Arc::new(Agreed {
            away,
            image,
            ranges,
        }));
        tables().schedules.get(schedule, "schedule")?.agreed = agreed;
    }
    Ok(())
}

/// The schedules of all ranks, or of a group's, or one line: why there are none. `own` is empty if this rank has none.
fn exchange(
    world: &World,
    group: Option<&(Key, Arc<Group>)>,
    mut own: Vec<u8>,
) -> Result<core::result::Result<Vec<Schedule>, String>> {
    let members: Box<[u32]> = match group {
        Some((_, group)) => group.members().into(),
        None => (0..world.ranks()).collect(),
    };
    let gather = |what: Collective, give: *const u8, get: *mut u8| match group {
        // SAFETY: below, buffers have the lengths that `what` says, and stay until the collective is over.
        Some((key, _)) => wait(unsafe { start_in_group(*key, what, give, get) }?),
        // SAFETY: as above.
        None => unsafe { blocking(what, give, get) },
    };
    let length = own.len() as u64;
    let mut lengths = vec![0u64; members.len()];
    let what = Collective::Allgather { bytes: 8 };
    gather(
        what,
        (&raw const length).cast(),
        lengths.as_mut_ptr().cast(),
    )?;
    let unfit = |n: &u64| *n == 0 || *n > LONGEST;
    if let Some(number) = lengths.iter().position(unfit) {
        let rank = members[number];
        return Ok(Err(format!("schedule of rank {rank}: too large")));
    }
    let longest = lengths.iter().copied().max().unwrap_or(0);
    own.resize(longest as usize, 0);
    let mut all = vec![0; longest as usize * members.len()];
    let what = Collective::Allgather { bytes: longest };
    gather(what, own.as_ptr(), all.as_mut_ptr())?;
    let read = |(rank, (bytes, n)): (u32, (&[u8], &u64))| {
        let schedule = Schedule::from_bytes(&bytes[..*n as usize]);
        let schedule = schedule.map_err(|e| format!("schedule of rank {rank}: {e}"))?;
        if (schedule.rank(), schedule.ranks()) == (rank, world.ranks()) {
            Ok(schedule)
        } else {
            Err(format!("schedule of rank {rank}: of another rank"))
        }
    };
    let each = all.chunks(longest as usize).zip(&lengths);
    Ok(members.iter().copied().zip(each).map(read).collect())
}
