//! Schedules of programs in the engines `kernel` and `nic`, which have to know those of all ranks: the ranks exchange
//! them, and so all come to the same answer.

use super::{blocking, tables, world, Key, Result};
use crate::choice::Collective;
use crate::memory::Segment;
use crate::offload::{Image, Offload, Run};
use crate::world::{RunError, World};
use hetmp_goal::compact::{compact, Compact};
use hetmp_goal::rank::{Failure, StartError};
use hetmp_goal::schedule::Schedule;
use std::sync::Arc;

/// The longest schedule that is exchanged, bytes. One of as many operations as the engines take is shorter.
const LONGEST: u64 = 1 << 20;

/// What an engine runs in place of a schedule.
pub(super) struct Agreed {
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
        let away = world.away().ok_or(Failure::Abandoned)?;
        // SAFETY: the ranges consist of pieces that the schedule uses, and the bound segments are as long as the image
        // says. The caller promises the rest.
        let run = unsafe { away.start_agreed(&self.image, segments) }?;
        Ok((away, run))
    }
}

/// All ranks call this together, each with its schedule of one communication. From then on runs of these schedules go
/// to the engine `kernel` or `nic`, if the job has one that takes them.
///
/// # Errors
/// [`super::Code::State`], [`super::Code::Argument`], or why the exchange has failed.
pub fn agree(schedule: Key) -> Result<()> {
    let world = world()?;
    let compiled = tables().schedules.get(schedule, "schedule")?.clone();
    let Some(away) = world.away() else {
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
    let image = away.agree(exchange(world, bytes)?);
    if let (Some(image), Ok(Compact { ranges, .. })) = (image, own) {
        let agreed = Some(Arc::new(Agreed { image, ranges }));
        tables().schedules.get(schedule, "schedule")?.agreed = agreed;
    }
    Ok(())
}

/// The schedules of all ranks, or one line: why there are none. `own` is empty if this rank has none.
fn exchange(
    world: &World,
    mut own: Vec<u8>,
) -> Result<core::result::Result<Vec<Schedule>, String>> {
    let ranks = world.ranks();
    let length = own.len() as u64;
    let mut lengths = vec![0u64; ranks as usize];
    let what = Collective::Allgather { bytes: 8 };
    // SAFETY: a word is given, and one is got of each rank.
    unsafe {
        blocking(
            what,
            (&raw const length).cast(),
            lengths.as_mut_ptr().cast(),
        )
    }?;
    let unfit = |n: &u64| *n == 0 || *n > LONGEST;
    if let Some(rank) = lengths.iter().position(unfit) {
        return Ok(Err(format!("schedule of rank {rank}: too large")));
    }
    let longest = lengths.iter().copied().max().unwrap_or(0);
    own.resize(longest as usize, 0);
    let mut all = vec![0; longest as usize * ranks as usize];
    let what = Collective::Allgather { bytes: longest };
    // SAFETY: as many bytes are given as the longest schedule has, and got of each rank.
    unsafe { blocking(what, own.as_ptr(), all.as_mut_ptr()) }?;
    let read = |(rank, (bytes, n)): (u32, (&[u8], &u64))| {
        let schedule = Schedule::from_bytes(&bytes[..*n as usize]);
        let schedule = schedule.map_err(|e| format!("schedule of rank {rank}: {e}"))?;
        if (schedule.rank(), schedule.ranks()) == (rank, ranks) {
            Ok(schedule)
        } else {
            Err(format!("schedule of rank {rank}: of another rank"))
        }
    };
    let each = all.chunks(longest as usize).zip(&lengths);
    Ok((0..).zip(each).map(read).collect())
}
