//! The first step of every engine thread with a queue pair: it takes descriptors, and marks those that a wait has to
//! release.

use super::parse;
use crate::descriptor::{CounterId, Descriptor, Failure, Malformed, PlainPut, Status, Work};
use crate::queue_pair::Consumer;
use crate::trigger::Counters;

/// The consuming end of a queue pair, and the wait whose span is being taken.
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
    /// The counter and threshold of the wait that this descriptor follows: what [`Triggers::pass`] asks.
    ///
    /// [`Triggers::pass`]: crate::trigger::Triggers::pass
    pub(crate) after: Option<(CounterId, u64)>,
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

    /// Takes the next descriptor, for a rank with these counters.
    pub(crate) fn take(&mut self, counters: &Counters) -> Option<Taken> {
        let (ticket, words) = self.consumer.peek()?;
        self.consumer.advance();
        let mut work = parse(&words);
        let mut after = None;
        if let Some((counter, threshold, left)) = self.aside {
            self.aside = (left > 1).then_some((counter, threshold, left - 1));
            // A wait inside a span would hold back whatever descriptors happen to follow when it runs.
            if matches!(work, Ok(d) if matches!(d.work, Work::Wait { .. })) {
                work = Err(Failure {
                    status: Status::Malformed,
                    value: Malformed::Span as u64,
                });
            }
            if counters.has(counter) {
                after = Some((counter, threshold));
            } else {
                // A descriptor that waits for a counter which does not exist would wait for ever.
                work = Err(Failure {
                    status: Status::Counter,
                    value: u64::from(counter.0),
                });
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
        Some(Taken {
            ticket,
            work,
            after,
        })
    }

    /// True when nothing is under way and no more can be posted.
    pub(crate) fn is_over(&self) -> bool {
        self.consumer.under_way() == 0 && self.consumer.is_abandoned()
    }
}
