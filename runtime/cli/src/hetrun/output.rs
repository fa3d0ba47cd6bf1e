//! The output of many processes, in whole lines, so that lines of two processes never mix.

use hetmp_core::report::write_all;
use std::io::{ErrorKind, Read};
use std::sync::Mutex;

/// One of a process's two outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    Out,
    Err,
}

/// A longer line is passed on in pieces, bytes.
pub(crate) const LONGEST: usize = 64 * 1024;

/// Reads `from` to its end and passes on pieces that end with a line feed. The last piece and pieces of very long
/// lines get one. For a job of one process `whole` is false: bytes are passed on as they come, so that prompts
/// without a line feed appear too.
pub(crate) fn relay(mut from: impl Read, whole: bool, mut out: impl FnMut(&[u8])) {
    let mut buffer = vec![0; 16 * 1024];
    let mut line: Vec<u8> = Vec::new();
    loop {
        let n = match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(n) => n,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(_) => break,
        };
        if !whole {
            out(&buffer[..n]);
            continue;
        }
        line.extend_from_slice(&buffer[..n]);
        let complete = line
            .iter()
            .rposition(|&b| b == b'\n')
            .map_or(0, |at| at + 1);
        if complete > 0 {
            out(&line[..complete]);
            line.drain(..complete);
        }
        while line.len() >= LONGEST {
            let mut piece: Vec<u8> = line.drain(..LONGEST - 1).collect();
            piece.push(b'\n');
            out(&piece);
        }
    }
    if !line.is_empty() {
        line.push(b'\n');
        out(&line);
    }
}

/// hetrun's own outputs, with ranks in front of lines if asked for.
#[derive(Debug)]
pub(crate) struct Printer {
    prefix: bool,
    /// Held while a piece is written.
    turn: Mutex<()>,
}

impl Printer {
    pub(crate) fn new(prefix: bool) -> Self {
        Self {
            prefix,
            turn: Mutex::new(()),
        }
    }

    pub(crate) fn print(&self, rank: u32, stream: Stream, bytes: &[u8]) {
        let fd = match stream {
            Stream::Out => libc::STDOUT_FILENO,
            Stream::Err => libc::STDERR_FILENO,
        };
        // A panic ends the process, so the lock is never poisoned.
        let _turn = self.turn.lock();
        if self.prefix {
            write_all(fd, &prefixed(rank, bytes));
        } else {
            write_all(fd, bytes);
        }
    }
}

fn prefixed(rank: u32, bytes: &[u8]) -> Vec<u8> {
    let mark = format!("[{rank}] ");
    let mut text = Vec::with_capacity(bytes.len() + mark.len() * 4);
    for line in bytes.split_inclusive(|&b| b == b'\n') {
        text.extend_from_slice(mark.as_bytes());
        text.extend_from_slice(line);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{prefixed, relay, LONGEST};
    use proptest::prelude::*;

    struct Pieces(Vec<Vec<u8>>);

    impl std::io::Read for Pieces {
        fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
            if self.0.is_empty() {
                return Ok(0);
            }
            let piece = self.0.remove(0);
            to[..piece.len()].copy_from_slice(&piece);
            Ok(piece.len())
        }
    }

    proptest! {
        /// Nothing is lost or reordered, and everything handed out is whole lines.
        #[test]
        fn lines_stay_whole(
            pieces in prop::collection::vec(
                prop::collection::vec(prop_oneof![Just(b'\n'), Just(b'a'), any::<u8>()], 1..30),
                0..20)
        ) {
            let mut expected = pieces.concat();
            if expected.last().is_some_and(|&b| b != b'\n') {
                expected.push(b'\n');
            }
            let mut got = Vec::new();
            relay(Pieces(pieces), true, |piece| {
                assert_eq!(piece.last(), Some(&b'\n'));
                got.extend_from_slice(piece);
            });
            prop_assert_eq!(got, expected);
        }
    }

    #[test]
    fn a_line_without_end_costs_bounded_memory() {
        let text = vec![b'x'; 5 * LONGEST];
        let mut got = 0;
        relay(&text[..], true, |piece| {
            assert!(piece.len() <= LONGEST);
            got += piece.iter().filter(|&&b| b == b'x').count();
        });
        assert_eq!(got, 5 * LONGEST);
    }

    #[test]
    fn a_job_of_one_is_not_held_back() {
        let mut got = Vec::new();
        let pieces = Pieces(vec![b"name? ".to_vec(), b"x".to_vec()]);
        relay(pieces, false, |piece| got.push(piece.to_vec()));
        assert_eq!(got, [b"name? ".to_vec(), b"x".to_vec()]);
    }

    #[test]
    fn prefixes_are_at_every_line() {
        assert_eq!(prefixed(3, b"a\n\nb\n"), b"[3] a\n[3] \n[3] b\n");
    }
}
