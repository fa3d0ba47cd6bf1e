//! Identifies the calling thread: a word of thread-local storage, and a number for any thread.
//!
//! The word is null, or the thread's [`crate::callers::Caller`]; only `callers` sets it. It is one word in the
//! initial-exec model, for the reasons that [`hetmp_core::tls`] gives. It is a word of its own, because a slave may
//! use OpenMP too.

mod imp {
    hetmp_core::thread_word!("hetmp_mq_self_word");
}

/// The calling thread's word.
#[inline(always)]
pub(crate) fn get() -> *const () {
    imp::get()
}

/// Sets the calling thread's word.
pub(crate) fn set(value: *const ()) {
    imp::set(value.cast_mut());
}

/// A number that no other live thread has: the thread pointer, which the header's inline paths read too.
#[inline(always)]
pub(crate) fn pointer() -> u64 {
    hetmp_core::tls::pointer()
}
