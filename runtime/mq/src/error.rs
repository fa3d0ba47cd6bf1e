//! What can go wrong, as numbers of the C interface.

/// Declares the errors once: number, C name, meaning.
macro_rules! errors {
    ($($(#[$m:meta])* $name:ident = $number:literal, $c:literal, $text:literal;)*) => {
        /// An error of the interface; the numbers are those of `include/hetmp/mq.h`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(i32)]
        pub enum Error { $($(#[$m])* $name = $number,)* }

        impl Error {
            /// All of them, in the order of their numbers.
            pub const ALL: &'static [Error] = &[$(Error::$name,)*];

            /// The name of the constant in C.
            #[must_use]
            pub const fn c_name(self) -> &'static core::ffi::CStr {
                match self { $(Error::$name => $c,)* }
            }

            /// The meaning, as half a sentence.
            #[must_use]
            pub const fn c_text(self) -> &'static core::ffi::CStr {
                match self { $(Error::$name => $text,)* }
            }
        }
    };
}

errors! {
    /// A Try form found nothing to take.
    WouldBlock = 1, c"MQ_WOULD_BLOCK", c"nothing to take now";
    /// The platform has no such cluster.
    BadCluster = 2, c"MQ_BAD_CLUSTER", c"the platform has no such cluster";
    /// The cluster has no such slave.
    BadSlave = 3, c"MQ_BAD_SLAVE", c"the cluster has no such slave";
    /// A message size that no queue can have.
    BadSize = 4, c"MQ_BAD_SIZE", c"a message has 1 to 536870912 bytes";
    /// A number of slots that no queue can have.
    BadSlots = 5, c"MQ_BAD_SLOTS", c"each side has 1 to 65536 slots";
    /// No name, or one that is too long.
    BadName = 6, c"MQ_BAD_NAME", c"a name has 1 to 63 bytes";
    /// The slave has a queue of this name.
    NameInUse = 7, c"MQ_NAME_IN_USE", c"the slave has a queue of this name";
    /// Not a memory kind.
    BadKind = 8, c"MQ_BAD_KIND", c"the memory kind is a SlaveMemKind";
    /// Not a direction.
    BadDirection = 9, c"MQ_BAD_DIRECTION", c"the direction is MasterToSlave or SlaveToMaster";
    /// A null or misaligned address.
    BadAddress = 10, c"MQ_BAD_ADDRESS", c"the address is null or not aligned to 8 bytes";
    /// The local store is too small.
    NoLocalMemory = 11, c"MQ_NO_LOCAL_MEMORY", c"does not fit in the slave's local store";
    /// The master has no memory left.
    NoMemory = 12, c"MQ_NO_MEMORY", c"no memory at the master";
    /// The handles of a slave are used up.
    TooManyQueues = 13, c"MQ_TOO_MANY_QUEUES", c"a slave has at most 4096 queues";
    /// Never created, or destroyed.
    NoSuchQueue = 14, c"MQ_NO_SUCH_QUEUE", c"no such queue";
    /// Destroyed while the call waited.
    Destroyed = 15, c"MQ_DESTROYED", c"the queue was destroyed";
    /// The wrong end for the operation.
    WrongDirection = 16, c"MQ_WRONG_DIRECTION", c"the queue has the other direction";
    /// Another thread uses this end.
    SecondUser = 17, c"MQ_SECOND_USER", c"another thread uses this end of the queue";
    /// Not a message that the caller holds.
    ForeignMessage = 18, c"MQ_FOREIGN_MESSAGE", c"not a message of this queue that the caller holds";
    /// An older message must go first.
    OutOfOrder = 19, c"MQ_OUT_OF_ORDER", c"an older message must be sent or released first";
    /// More bytes than the messages have.
    TooLong = 20, c"MQ_TOO_LONG", c"the length is not between 0 and the queue's message size";
    /// Messages are queued or held.
    NotEmpty = 21, c"MQ_NOT_EMPTY", c"the queue has messages in it";
    /// The caller holds every slot.
    AllHeld = 22, c"MQ_ALL_HELD", c"the caller holds every slot of the queue";
    /// Nobody will answer.
    NoSlave = 23, c"MQ_NO_SLAVE", c"the slave does not run";
    /// Both sides wait.
    Deadlock = 24, c"MQ_DEADLOCK", c"master and slave wait for each other";
    /// The time of HETMP_MQ_TIMEOUT is over.
    TimedOut = 25, c"MQ_TIMED_OUT", c"the time of HETMP_MQ_TIMEOUT is over";
    /// An s-function elsewhere than on a slave.
    NotASlave = 26, c"MQ_NOT_A_SLAVE", c"the calling thread is not a slave";
    /// An m-function on a slave.
    NotTheMaster = 27, c"MQ_NOT_THE_MASTER", c"the calling thread is a slave";
    /// A count that makes no sense.
    BadCount = 28, c"MQ_BAD_COUNT", c"the number is below 1 or above what there is";
    /// The slave runs.
    SlavesRunning = 29, c"MQ_SLAVES_RUNNING", c"the slave still runs";
    /// No such group of threads.
    NoSuchThreads = 30, c"MQ_NO_SUCH_THREADS", c"no such slave threads";
    /// An image that cannot be loaded.
    BadImage = 31, c"MQ_BAD_IMAGE", c"the image cannot be loaded";
}

impl Error {
    /// The error of a number of the C interface.
    #[must_use]
    pub fn from_number(number: i32) -> Option<Error> {
        // The numbers are 1, 2, 3, ...: the table's order.
        usize::try_from(number)
            .ok()?
            .checked_sub(1)
            .and_then(|i| Error::ALL.get(i))
            .copied()
    }
}

impl core::fmt::Display for Error {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        // The texts above are ASCII.
        f.write_str(self.c_text().to_str().unwrap_or(""))
    }
}

#[cfg(test)]
mod tests {
    use super::Error;

    #[test]
    fn numbers_are_the_header_s() {
        let header = include_str!("../../../include/hetmp/mq.h");
        for (i, error) in Error::ALL.iter().enumerate() {
            assert_eq!(*error as usize, i + 1);
            assert_eq!(Error::from_number(*error as i32), Some(*error));
            let line = format!(
                "{} = {}",
                error.c_name().to_str().expect("ASCII"),
                *error as i32
            );
            assert!(header.contains(&line), "{line}");
        }
        assert_eq!(Error::from_number(0), None);
        assert_eq!(Error::from_number(99), None);
    }
}
