//! The collectives of `goal.h`: of all ranks, and of groups.

use super::{code, free, make, null, rank, vector, wrong, Handle, Result, Schedule};
use core::ffi::{c_int, c_void};
use hetmp_goal_job::api::{self, Key};
use hetmp_goal_job::choice::Collective;

type Group = Key;

/// Defines the three forms of a collective: `$now` returns when the collective is complete, `$later` returns a handle
/// at once, and so does `$grouped`, for the ranks of a group. `$what` turns the C arguments into the [`Collective`].
macro_rules! collectives {
    ($(
        $(#[$m:meta])*
        $now:ident, $later:ident, $grouped:ident ( $($a:ident : $t:ty),* ; $give:ident, $get:ident ) $what:block
    )*) => { $(
        $crate::entry::api!("HETMP_GOAL", stringify!($now), $now);
        $(#[$m])*
        #[allow(clippy::too_many_arguments, reason = "the C function's arguments")]
        unsafe extern "C" fn $now($give: *const c_void, $get: *mut c_void, $($a: $t),*) -> c_int {
            let what = || -> Result<Collective> { $what };
            // SAFETY: the program passes buffers of the lengths that `goal.h` asks for.
            code(what().and_then(|w| unsafe { api::blocking(w, $give.cast(), $get.cast()) }))
        }

        $crate::entry::api!("HETMP_GOAL", stringify!($later), $later);
        #[allow(clippy::too_many_arguments, reason = "the C function's arguments")]
        unsafe extern "C" fn $later(
            $give: *const c_void,
            $get: *mut c_void,
            $($a: $t,)*
            handle: *mut Handle,
        ) -> c_int {
            let what = || -> Result<Collective> { $what };
            // SAFETY: the program passes null or a variable of its own for the handle, buffers of the lengths that
            // `goal.h` asks for, and keeps the buffers until the run has ended.
            unsafe { make(handle, || api::start(what()?, $give.cast(), $get.cast())) }
        }

        $crate::entry::api!("HETMP_GOAL", stringify!($grouped), $grouped);
        #[allow(clippy::too_many_arguments, reason = "the C function's arguments")]
        unsafe extern "C" fn $grouped(
            group: Group,
            $give: *const c_void,
            $get: *mut c_void,
            $($a: $t,)*
            handle: *mut Handle,
        ) -> c_int {
            let what = || -> Result<Collective> { $what };
            // SAFETY: the program passes null or a variable of its own for the handle, buffers of the lengths that
            // `goal.h` asks for, and keeps the buffers until the run has ended.
            unsafe {
                make(handle, || api::start_in_group(group, what()?, $give.cast(), $get.cast()))
            }
        }
    )* };
}

collectives! {
    /// Every process gets the root's input.
    goal_broadcast, goal_ibroadcast, goal_group_ibroadcast(bytes: usize, root: c_int; give, get) {
        Ok(Collective::Broadcast { root: rank(root)?, bytes: bytes as u64 })
    }
    /// The root gets the combination of the vectors of all processes.
    goal_reduce, goal_ireduce, goal_group_ireduce(
        count: usize, r#type: c_int, operation: c_int, root: c_int; give, get
    ) {
        Ok(Collective::Reduce { root: rank(root)?, vector: vector(count, r#type, operation)? })
    }
    /// Every process gets the combination of the vectors of all processes.
    goal_allreduce, goal_iallreduce, goal_group_iallreduce(count: usize, r#type: c_int, operation: c_int; give, get) {
        Ok(Collective::Allreduce { vector: vector(count, r#type, operation)? })
    }
    /// The root gets one block from each process, in the order of ranks.
    goal_gather, goal_igather, goal_group_igather(bytes: usize, root: c_int; give, get) {
        Ok(Collective::Gather { root: rank(root)?, bytes: bytes as u64 })
    }
    /// The root gives one block for each process, in the order of ranks; each process gets its block.
    goal_scatter, goal_iscatter, goal_group_iscatter(bytes: usize, root: c_int; give, get) {
        Ok(Collective::Scatter { root: rank(root)?, bytes: bytes as u64 })
    }
    /// Every process gets one block from each process, in the order of ranks.
    goal_allgather, goal_iallgather, goal_group_iallgather(bytes: usize; give, get) {
        Ok(Collective::Allgather { bytes: bytes as u64 })
    }
    /// Every process gives one block for each process, and gets one block from each, both in the order of ranks.
    goal_alltoall, goal_ialltoall, goal_group_ialltoall(bytes: usize; give, get) {
        Ok(Collective::Alltoall { bytes: bytes as u64 })
    }
    /// Process r gets the combination of the vectors of processes 0 to r (an inclusive scan).
    goal_scan, goal_iscan, goal_group_iscan(count: usize, r#type: c_int, operation: c_int; give, get) {
        Ok(Collective::Scan { vector: vector(count, r#type, operation)?, inclusive: true })
    }
    /// Process r gets the combination of the vectors of processes before it (an exclusive scan); process 0 gets
    /// nothing.
    goal_exscan, goal_iexscan, goal_group_iexscan(count: usize, r#type: c_int, operation: c_int; give, get) {
        Ok(Collective::Scan { vector: vector(count, r#type, operation)?, inclusive: false })
    }
    /// Every process gives one block of `count` elements for each process, and gets its own block of the combination.
    goal_reduce_scatter, goal_ireduce_scatter, goal_group_ireduce_scatter(
        count: usize, r#type: c_int, operation: c_int; give, get
    ) {
        Ok(Collective::ReduceScatter { vector: vector(count, r#type, operation)? })
    }
}

crate::entry::api!("HETMP_GOAL", "goal_barrier", goal_barrier);
/// Returns when every process has called it.
unsafe extern "C" fn goal_barrier() -> c_int {
    // SAFETY: a barrier has no buffers.
    code(unsafe {
        api::blocking(
            Collective::Barrier,
            core::ptr::null(),
            core::ptr::null_mut(),
        )
    })
}

crate::entry::api!("HETMP_GOAL", "goal_ibarrier", goal_ibarrier);
unsafe extern "C" fn goal_ibarrier(handle: *mut Handle) -> c_int {
    let start = || {
        // SAFETY: a barrier has no buffers.
        unsafe {
            api::start(
                Collective::Barrier,
                core::ptr::null(),
                core::ptr::null_mut(),
            )
        }
    };
    // SAFETY: the program passes null or a variable of its own for the handle.
    unsafe { make(handle, start) }
}

crate::entry::api!("HETMP_GOAL", "goal_group_ibarrier", goal_group_ibarrier);
unsafe extern "C" fn goal_group_ibarrier(group: Group, handle: *mut Handle) -> c_int {
    let (give, get) = (core::ptr::null(), core::ptr::null_mut());
    // SAFETY: a barrier has no buffers. The program passes null or a variable of its own for the handle.
    unsafe {
        make(handle, || {
            api::start_in_group(group, Collective::Barrier, give, get)
        })
    }
}

crate::entry::api!("HETMP_GOAL", "GOAL_Group_create", GOAL_Group_create);
/// Called by all members with the same arguments; sends nothing. Groups that have a member in common have different
/// contexts, numbers from 1. A context may be used again, after GOAL_Group_free, for the same list only.
unsafe extern "C" fn GOAL_Group_create(
    context: c_int,
    ranks: *const c_int,
    n: c_int,
    group: *mut Group,
) -> c_int {
    let create = || {
        let n = usize::try_from(n).map_err(|_| wrong("number of ranks", n, "a number from 1"))?;
        if ranks.is_null() {
            return Err(null("ranks"));
        }
        // SAFETY: not null, hence the program's array of `n` ranks (`goal.h` asks for that many).
        api::group(context, unsafe { core::slice::from_raw_parts(ranks, n) })
    };
    // SAFETY: the program passes null or a variable of its own for the handle.
    unsafe { make(group, create) }
}

crate::entry::api!("HETMP_GOAL", "GOAL_Group_agree", GOAL_Group_agree);
/// As GOAL_Agree, called by the members of a group, for a communication among them. The ranks in their graphs are those
/// of the job. From then on all members begin the runs of these schedules in the same order, among the group's
/// collectives, by GOAL_Run_bound in a context that is the group's own.
extern "C" fn GOAL_Group_agree(group: Group, schedule: Schedule) -> c_int {
    code(api::agree(Some(group), schedule))
}

crate::entry::api!("HETMP_GOAL", "GOAL_Group_free", GOAL_Group_free);
/// Frees a group; *group becomes null. Its runs go on.
unsafe extern "C" fn GOAL_Group_free(group: *mut Group) -> c_int {
    // SAFETY: the program passes null or a variable of its own for the handle.
    unsafe { free(group, api::free_group) }
}

/// A list of neighbours' ranks.
///
/// # Safety
/// `list` is null, or an array of `n` ranks.
unsafe fn ranks(list: *const c_int, n: c_int) -> Result<Box<[u32]>> {
    let n = usize::try_from(n).map_err(|_| wrong("number of neighbours", n, "a number from 0"))?;
    if n == 0 {
        return Ok(Box::default());
    }
    if list.is_null() {
        return Err(null("neighbours"));
    }
    // SAFETY: not null, hence the program's array of `n` ranks (`goal.h` asks for that many).
    let list = unsafe { core::slice::from_raw_parts(list, n) };
    list.iter().map(|r| rank(*r)).collect()
}

/// Defines the three forms of an exchange with neighbours: `$now` returns when the exchange is complete, `$later`
/// returns a handle at once, and so does `$grouped`, for the ranks of a group.
macro_rules! neighbours {
    ($($(#[$m:meta])* $now:ident, $later:ident, $grouped:ident, $what:ident;)*) => { $(
        $crate::entry::api!("HETMP_GOAL", stringify!($now), $now);
        $(#[$m])*
        unsafe extern "C" fn $now(
            sources: *const c_int,
            n_sources: c_int,
            destinations: *const c_int,
            n_destinations: c_int,
            give: *const c_void,
            get: *mut c_void,
            bytes: usize,
        ) -> c_int {
            // SAFETY: the program passes lists of `n_sources` and `n_destinations` ranks, and buffers of the lengths
            // that `goal.h` asks for.
            code(unsafe {
                let what = || -> Result<Collective> {
                    Ok(Collective::$what {
                        sources: ranks(sources, n_sources)?,
                        destinations: ranks(destinations, n_destinations)?,
                        bytes: bytes as u64,
                    })
                };
                what().and_then(|w| api::blocking(w, give.cast(), get.cast()))
            })
        }

        $crate::entry::api!("HETMP_GOAL", stringify!($later), $later);
        #[allow(clippy::too_many_arguments, reason = "the C function's arguments")]
        unsafe extern "C" fn $later(
            sources: *const c_int,
            n_sources: c_int,
            destinations: *const c_int,
            n_destinations: c_int,
            give: *const c_void,
            get: *mut c_void,
            bytes: usize,
            handle: *mut Handle,
        ) -> c_int {
            // SAFETY: the program passes lists of `n_sources` and `n_destinations` ranks, null or a variable for the
            // handle, and keeps the buffers until the run has ended.
            unsafe {
                make(handle, || {
                    let what = Collective::$what {
                        sources: ranks(sources, n_sources)?,
                        destinations: ranks(destinations, n_destinations)?,
                        bytes: bytes as u64,
                    };
                    api::start(what, give.cast(), get.cast())
                })
            }
        }

        $crate::entry::api!("HETMP_GOAL", stringify!($grouped), $grouped);
        #[allow(clippy::too_many_arguments, reason = "the C function's arguments")]
        unsafe extern "C" fn $grouped(
            group: Group,
            sources: *const c_int,
            n_sources: c_int,
            destinations: *const c_int,
            n_destinations: c_int,
            give: *const c_void,
            get: *mut c_void,
            bytes: usize,
            handle: *mut Handle,
        ) -> c_int {
            // SAFETY: the program passes lists of `n_sources` and `n_destinations` ranks, null or a variable for the
            // handle, and keeps the buffers until the run has ended.
            unsafe {
                make(handle, || {
                    let what = Collective::$what {
                        sources: ranks(sources, n_sources)?,
                        destinations: ranks(destinations, n_destinations)?,
                        bytes: bytes as u64,
                    };
                    api::start_in_group(group, what, give.cast(), get.cast())
                })
            }
        }
    )* };
}

neighbours! {
    /// Exchanges with neighbours. Every process lists the ranks that send to it (sources) and the ranks that it sends
    /// to (destinations); the lists of both sides must agree. A process gets one block from each source, in the order
    /// of the list. It gives the same block to all destinations.
    goal_neighbor_allgather, goal_ineighbor_allgather, goal_group_ineighbor_allgather, NeighbourAllgather;
    /// The same, with one block for each destination, in the order of the list.
    goal_neighbor_alltoall, goal_ineighbor_alltoall, goal_group_ineighbor_alltoall, NeighbourAlltoall;
}
