//! The waiting policy of a process with an engine of threads and an engine of processes: a process of its own, since
//! the policy is the process'.
#![cfg(not(loom))]

use hetmp_core::park::Policy;

#[test]
fn engines_say_what_they_know_in_any_order() {
    // OpenMP knows the two cores of this process, OpenSHMEM that four processes share eight.
    Policy::join(2);
    Policy::join_job(3, 8);
    assert!(!Policy::oversubscribed(), "one thread of each process");
    // OpenMP comes later, or again: what the job knows stays.
    Policy::join(2);
    assert!(!Policy::oversubscribed());
    Policy::add_threads(5);
    assert!(Policy::oversubscribed(), "nine on eight");
    Policy::add_threads(-5);
    assert!(!Policy::oversubscribed());
}
