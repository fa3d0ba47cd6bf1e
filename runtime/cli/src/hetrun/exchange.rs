//! The state of a job: values, fences, and who has joined. Pure: events go in, and actions come out.

use hetmp_core::bootstrap::wire::{Reply, Request};
use std::collections::HashMap;
use std::mem::take;

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Status(i32),
    Signal(i32),
}

impl End {
    /// The exit status, as a shell computes it.
    pub(crate) fn status(self) -> i32 {
        match self {
            Self::Status(status) => status,
            Self::Signal(signal) => 128 + signal,
        }
    }
}

/// An event of a rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// The rank has said hello, with the right secret.
    Joined,
    /// The rank has sent a request.
    Request(Request),
    /// The rank has sent something that is not in the protocol.
    Garbled(String),
    /// The rank's connection has ended.
    Left,
    /// Its process goes on, some time after that.
    WentOn,
    /// The rank's process has ended.
    Ended(End),
}

/// What hetrun has to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Answer a rank.
    Reply(u32, Reply),
    /// End the job with this exit status. The text says why.
    Fail(i32, String),
    /// End the job because a rank has asked for it (`shmem_global_exit(0)`): no error, status 0.
    Stop,
}

#[derive(Debug, Default)]
struct Rank {
    connected: bool,
    joined: bool,
    finalized: bool,
    waiting: bool,
    end: Option<End>,
    /// Values put since the rank's last fence.
    put: Vec<(String, Vec<u8>)>,
}

/// A job's state.
#[derive(Debug)]
pub(crate) struct Exchange {
    ranks: Vec<Rank>,
    /// Values that all ranks can get.
    values: HashMap<(u32, String), Vec<u8>>,
    waiting: usize,
    failed: bool,
}

impl Exchange {
    pub(crate) fn new(size: u32) -> Self {
        Self {
            ranks: (0..size).map(|_| Rank::default()).collect(),
            values: HashMap::new(),
            waiting: 0,
            failed: false,
        }
    }

    /// True if all processes have ended.
    pub(crate) fn ended(&self) -> bool {
        self.ranks.iter().all(|r| r.end.is_some())
    }

    /// The highest exit status of the processes, as a shell computes it.
    pub(crate) fn worst(&self) -> i32 {
        let statuses = self.ranks.iter().filter_map(|r| r.end.map(End::status));
        statuses.max().unwrap_or(0)
    }

    pub(crate) fn handle(&mut self, rank: u32, event: Event) -> Vec<Action> {
        let mut actions = Vec::new();
        if let Some(mine) = self.ranks.get_mut(rank as usize) {
            match event {
                Event::Joined => {
                    mine.connected = true;
                    mine.joined = true;
                    mine.finalized = false;
                }
                Event::Left => mine.connected = false,
                Event::WentOn => {
                    if !mine.connected && !mine.finalized && mine.end.is_none() {
                        let text = format!(
                            "rank {rank}: a process that says good-bye is needed; its connection \
                             ended while its program goes on"
                        );
                        self.fail(&mut actions, 1, text);
                    }
                }
                Event::Garbled(what) => {
                    let text = format!(
                        "rank {rank}: {what} (expected messages of the launcher's protocol)"
                    );
                    self.fail(&mut actions, 1, text);
                }
                Event::Ended(end) => {
                    mine.end = Some(end);
                    self.end_of(&mut actions, rank, end);
                }
                Event::Request(request) => self.request(&mut actions, rank, request),
            }
        }
        actions
    }

    fn request(&mut self, actions: &mut Vec<Action>, rank: u32, request: Request) {
        let mine = &mut self.ranks[rank as usize];
        match request {
            Request::Hello { .. } => {
                let text = format!("rank {rank}: greeted twice (expected once)");
                self.fail(actions, 1, text);
            }
            Request::Put { key, value } => mine.put.push((key, value)),
            Request::Fence => {
                if !mine.waiting {
                    mine.waiting = true;
                    self.waiting += 1;
                }
                self.fence(actions);
            }
            Request::Get { rank: whose, key } => {
                let value = self.values.get(&(whose, key)).cloned();
                actions.push(Action::Reply(rank, Reply::Value(value)));
            }
            Request::Abort { status: 0, .. } => {
                if !self.failed {
                    self.failed = true;
                    actions.push(Action::Stop);
                }
            }
            Request::Abort { status, message } => {
                let line: String = message
                    .chars()
                    .map(|c| if c.is_control() { ' ' } else { c })
                    .collect();
                let text = format!("rank {rank}: ended the job with status {status}: {line}");
                self.fail(actions, status & 0xff, text);
            }
            Request::Finalize => {
                mine.finalized = true;
                actions.push(Action::Reply(rank, Reply::Finalized));
            }
        }
    }

    /// Completes a fence that all ranks have reached. Ends the job if a rank will never reach it.
    fn fence(&mut self, actions: &mut Vec<Action>) {
        if self.waiting == 0 {
            return;
        }
        if let Some(gone) = self.ranks.iter().position(|r| r.end.is_some()) {
            let waits = self.ranks.iter().position(|r| r.waiting).unwrap_or(0);
            let text = format!(
                "rank {waits}: waits for rank {gone}, which has ended; every rank is needed in a fence"
            );
            self.fail(actions, 1, text);
            return;
        }
        if self.waiting < self.ranks.len() {
            return;
        }
        self.waiting = 0;
        for (rank, state) in (0..).zip(&mut self.ranks) {
            state.waiting = false;
            for (key, value) in take(&mut state.put) {
                self.values.insert((rank, key), value);
            }
            actions.push(Action::Reply(rank, Reply::Fenced));
        }
    }

    fn end_of(&mut self, actions: &mut Vec<Action>, rank: u32, end: End) {
        let mine = &self.ranks[rank as usize];
        match end {
            End::Status(0) if mine.joined && !mine.finalized => {
                let text = format!("rank {rank}: ended with status 0 in the middle of the job");
                self.fail(actions, 1, text);
            }
            End::Status(0) => self.fence(actions),
            End::Status(status) => {
                self.fail(
                    actions,
                    status,
                    format!("rank {rank}: ended with status {status}"),
                );
            }
            End::Signal(signal) => {
                let name = super::signals::name(signal);
                let text = format!("rank {rank}: ended by signal {signal} ({name})");
                self.fail(actions, 128 + signal, text);
            }
        }
    }

    /// Ends the job for a reason outside of its processes.
    pub(crate) fn fail_by(&mut self, status: i32, text: String) -> Vec<Action> {
        let mut actions = Vec::new();
        self.fail(&mut actions, status, text);
        actions
    }

    /// Only the first reason is kept: later ones are consequences of it.
    fn fail(&mut self, actions: &mut Vec<Action>, status: i32, text: String) {
        if !self.failed {
            self.failed = true;
            actions.push(Action::Fail(if status == 0 { 1 } else { status }, text));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Action, End, Event, Exchange};
    use hetmp_core::bootstrap::wire::{Reply, Request};
    use proptest::prelude::*;

    fn put(key: &str, value: &[u8]) -> Event {
        Event::Request(Request::Put {
            key: key.to_owned(),
            value: value.to_vec(),
        })
    }

    fn get(job: &mut Exchange, rank: u32, whose: u32, key: &str) -> Option<Vec<u8>> {
        let key = key.to_owned();
        match &job.handle(rank, Event::Request(Request::Get { rank: whose, key }))[..] {
            [Action::Reply(to, Reply::Value(value))] if *to == rank => value.clone(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn values_are_visible_after_the_fence_of_all() {
        let mut job = Exchange::new(2);
        job.handle(0, Event::Joined);
        job.handle(1, Event::Joined);
        job.handle(0, put("a", b"x"));
        assert_eq!(job.handle(0, Event::Request(Request::Fence)), []);
        assert_eq!(get(&mut job, 1, 0, "a"), None);
        let released = job.handle(1, Event::Request(Request::Fence));
        assert_eq!(
            released,
            [
                Action::Reply(0, Reply::Fenced),
                Action::Reply(1, Reply::Fenced)
            ]
        );
        assert_eq!(get(&mut job, 1, 0, "a").unwrap(), b"x");
        assert_eq!(get(&mut job, 1, 1, "a"), None);
        assert_eq!(get(&mut job, 1, 77, "a"), None);
    }

    fn fails(actions: &[Action], status: i32, text: &str) {
        match actions {
            [Action::Fail(s, t)] => {
                assert_eq!(*s, status);
                assert!(t.contains(text), "{t}");
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_fence_without_a_rank_that_ended_ends_the_job() {
        for first in [true, false] {
            let mut job = Exchange::new(2);
            job.handle(0, Event::Joined);
            let (a, b) = (Event::Request(Request::Fence), Event::Ended(End::Status(0)));
            let actions = if first {
                assert_eq!(job.handle(0, a), []);
                job.handle(1, b)
            } else {
                assert_eq!(job.handle(1, b), []);
                job.handle(0, a)
            };
            fails(&actions, 1, "rank 0: waits for rank 1, which has ended");
        }
    }

    #[test]
    fn ends_that_are_accidents() {
        let mut job = Exchange::new(2);
        fails(
            &job.handle(1, Event::Ended(End::Status(3))),
            3,
            "rank 1: ended with status 3",
        );
        // The consequences of the first failure are not reported.
        assert_eq!(job.handle(0, Event::Ended(End::Signal(15))), []);
        assert!(job.ended());
        assert_eq!(job.worst(), 143);
        let mut job = Exchange::new(1);
        fails(
            &job.handle(0, Event::Ended(End::Signal(11))),
            139,
            "SIGSEGV",
        );
        let mut job = Exchange::new(1);
        job.handle(0, Event::Joined);
        fails(
            &job.handle(0, Event::Ended(End::Status(0))),
            1,
            "in the middle",
        );
        let mut job = Exchange::new(1);
        job.handle(0, Event::Joined);
        job.handle(0, Event::Request(Request::Finalize));
        assert_eq!(job.handle(0, Event::Left), []);
        assert_eq!(job.handle(0, Event::Ended(End::Status(0))), []);
        let mut job = Exchange::new(2);
        job.handle(0, Event::Joined);
        assert_eq!(job.handle(0, Event::Left), []);
        fails(&job.handle(0, Event::WentOn), 1, "its connection ended");
        let mut job = Exchange::new(2);
        job.handle(0, Event::Joined);
        job.handle(0, Event::Left);
        job.handle(0, Event::Joined);
        assert_eq!(job.handle(0, Event::WentOn), []);
        let mut job = Exchange::new(2);
        let stop = Request::Abort {
            status: 0,
            message: String::new(),
        };
        assert_eq!(job.handle(1, Event::Request(stop)), [Action::Stop]);
        assert_eq!(job.handle(0, Event::Ended(End::Signal(15))), []);
        let mut job = Exchange::new(2);
        let abort = Request::Abort {
            status: 256,
            message: "no\nroom".to_owned(),
        };
        fails(
            &job.handle(1, Event::Request(abort)),
            1,
            "rank 1: ended the job with status 256: no room",
        );
    }

    fn event() -> impl Strategy<Value = Event> {
        prop_oneof![
            Just(Event::Joined),
            Just(Event::Left),
            Just(Event::WentOn),
            Just(put("k", b"v")),
            Just(Event::Request(Request::Fence)),
            Just(Event::Request(Request::Finalize)),
            Just(Event::Ended(End::Status(0))),
            Just(Event::Ended(End::Signal(9))),
            (0..5_u32).prop_map(|rank| Event::Request(Request::Get {
                rank,
                key: "k".to_owned()
            })),
        ]
    }

    proptest! {
        /// Whatever happens: one failure at most, and a fence releases every rank at once, each
        /// of which had asked for it.
        #[test]
        fn fences_release_all_or_none(events in prop::collection::vec((0..4_u32, event()), 0..60)) {
            let mut job = Exchange::new(3);
            let mut failures = 0;
            let mut asked = [false; 3];
            for (rank, event) in events {
                if rank < 3 && event == Event::Request(Request::Fence) {
                    asked[rank as usize] = true;
                }
                let actions = job.handle(rank, event);
                failures += actions.iter().filter(|a| matches!(a, Action::Fail(..) | Action::Stop)).count();
                let fenced = actions.iter().filter(|a| matches!(a, Action::Reply(_, Reply::Fenced))).count();
                prop_assert!(fenced == 0 || fenced == 3);
                if fenced == 3 {
                    prop_assert_eq!(asked, [true; 3]);
                    asked = [false; 3];
                }
            }
            prop_assert!(failures <= 1);
        }
    }
}
