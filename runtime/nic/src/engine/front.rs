//! What every engine thread does first with a queue pair: take descriptors, and put aside those that a wait
//! holds back.

use super::parse;
use crate::descriptor::{CounterId, Descriptor, Failure, Malformed, PlainPut, Status, Work};
use crate::queue_pair::Consumer;
use crate::trigger::Counters;

/// The consuming end with the wait that is being filled.
#[derive(Debug)]
pub(crate) struct Front {
    pub(crate) consumer: Consumer,
    aside: Option<(CounterId, u64, u32)>,
}

/// A descriptor that was taken.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taken {
    pub(crate) ticket: u64,
    pub(crate) work: Result<Descriptor, Failure>,
    /// It has to wait for this counter to reach this threshold.
    pub(crate) held: Option<(CounterId, u64)>,
}

impl Front {
    pub(crate) fn new(consumer: Consumer) -> Front {
        Front {
            consumer,
            aside: None,
        }
    }

    /// Takes the next descriptor if it is a plain put, which waits for nothing.
    #[inline]
    pub(crate) fn take_put(&mut self) -> Option<(u64, PlainPut)> {
        if self.aside.is_some() {
            return None;
        }
        let (ticket, words) = self.consumer.peek()?;
        let put = PlainPut::of(&words)?;
        self.consumer.advance();
        Some((ticket, put))
    }

    /// Takes the next descriptor of a rank with these counters.
    pub(crate) fn take(&mut self, counters: &Counters) -> Option<Taken> {
        let (ticket, words) = self.consumer.peek()?;
        self.consumer.advance();
        let mut work = parse(&words);
        let mut held = None;
        if let Some((counter, threshold, left)) = self.aside {
            self.aside = (left > 1).then_some((counter, threshold, left - 1));
            // A wait inside of a span would take aside what follows at whatever time it runs.
            if matches!(work, Ok(d) if matches!(d.work, Work::Wait { .. })) {
                work = Err(Failure {
                    status: Status::Malformed,
                    value: Malformed::Span as u64,
                });
            }
            match counters.value(counter) {
                Some(v) if v >= threshold => {}
                Some(_) => held = Some((counter, threshold)),
                // What waits for a counter that does not exist would wait for ever.
                None => {
                    work = Err(Failure {
                        status: Status::Counter,
                        value: u64::from(counter.0),
                    });
                }
            }
        } else if let Ok(Descriptor {
            work:
                Work::Wait {
                    counter,
                    threshold,
                    span,
                },
            ..
        }) = work
        {
            self.aside = Some((counter, threshold, span));
        }
        Some(Taken { ticket, work, held })
    }

    /// True when nothing is under way and nobody can post any more.
    pub(crate) fn is_over(&self) -> bool {
        self.consumer.under_way() == 0 && self.consumer.is_abandoned()
    }
}
