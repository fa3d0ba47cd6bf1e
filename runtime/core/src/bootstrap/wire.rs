//! The protocol between hetrun and the processes it starts: pure encoding and decoding.
//!
//! A frame is a length (32 bits, of the bytes after it), a byte that names the message, and the message's fields.
//! Numbers are little endian; texts and byte strings begin with a 32-bit length. A decoder accepts exactly what an
//! encoder makes. Everything else is [`Malformed`], trailing bytes too, and a length is compared with the bytes that
//! are there before memory is taken for it.

use super::{MAX_KEY, MAX_SIZE, MAX_VALUE, SECRET};
use std::fmt;
use std::io::{self, Read};

/// The protocol's version. A process and a launcher of different versions refuse each other.
pub const VERSION: u32 = 1;
/// The most bytes after a frame's length.
pub(crate) const MAX_FRAME: usize = 8 << 20;

/// Why a message is not one of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed(pub &'static str);

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl From<Malformed> for io::Error {
    fn from(error: Malformed) -> Self {
        Self::new(io::ErrorKind::InvalidData, error.0)
    }
}

/// Reads the fields of a message in order.
#[derive(Debug)]
pub struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    /// The fields in `bytes`.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// The next `n` bytes.
    ///
    /// # Errors
    /// There are fewer.
    pub fn take(&mut self, n: usize) -> Result<&'a [u8], Malformed> {
        if n > self.0.len() {
            return Err(Malformed("message is too short"));
        }
        let (head, tail) = self.0.split_at(n);
        self.0 = tail;
        Ok(head)
    }

    /// The next byte.
    ///
    /// # Errors
    /// There is none.
    pub fn byte(&mut self) -> Result<u8, Malformed> {
        Ok(self.take(1)?[0])
    }

    /// The next number.
    ///
    /// # Errors
    /// There are fewer than four bytes.
    pub fn number(&mut self) -> Result<u32, Malformed> {
        let mut bytes = [0; 4];
        bytes.copy_from_slice(self.take(4)?);
        Ok(u32::from_le_bytes(bytes))
    }

    /// The next byte string, of at most `limit` bytes.
    ///
    /// # Errors
    /// It is longer than that, or than what is there.
    pub fn bytes(&mut self, limit: usize) -> Result<&'a [u8], Malformed> {
        let n = self.number()? as usize;
        if n > limit {
            return Err(Malformed("field is too long"));
        }
        self.take(n)
    }

    /// The next text, of at most `limit` bytes.
    ///
    /// # Errors
    /// As for [`Fields::bytes`], and for what is not UTF-8.
    pub fn text(&mut self, limit: usize) -> Result<String, Malformed> {
        core::str::from_utf8(self.bytes(limit)?)
            .map(str::to_owned)
            .map_err(|_| Malformed("text is not UTF-8"))
    }

    /// A count of things that take at least `each` bytes.
    ///
    /// # Errors
    /// What is left is too short for that many.
    pub fn count(&mut self, each: usize) -> Result<usize, Malformed> {
        let n = self.number()? as usize;
        if n.checked_mul(each).is_none_or(|total| total > self.0.len()) {
            return Err(Malformed("count is too large"));
        }
        Ok(n)
    }

    /// Checks that all bytes were read.
    ///
    /// # Errors
    /// Something is.
    pub fn end(self) -> Result<(), Malformed> {
        if self.0.is_empty() {
            Ok(())
        } else {
            Err(Malformed("message is too long"))
        }
    }
}

/// Builds a frame.
#[derive(Debug)]
pub struct Frame(Vec<u8>);

impl Frame {
    /// A frame that begins with the byte `tag`.
    #[must_use]
    pub fn new(tag: u8) -> Self {
        Self(vec![0, 0, 0, 0, tag])
    }

    /// Adds a byte.
    #[must_use]
    pub fn byte(mut self, byte: u8) -> Self {
        self.0.push(byte);
        self
    }

    /// Adds a number.
    #[must_use]
    pub fn number(mut self, number: u32) -> Self {
        self.0.extend_from_slice(&number.to_le_bytes());
        self
    }

    /// Adds bytes without a length, for fields whose length both sides know.
    #[must_use]
    pub fn fixed(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }

    /// Adds a byte string or a text.
    #[must_use]
    pub fn bytes(self, bytes: &[u8]) -> Self {
        self.number(bytes.len() as u32).fixed(bytes)
    }

    /// The frame, with its length.
    #[must_use]
    pub fn done(mut self) -> Vec<u8> {
        let n = (self.0.len() - 4) as u32;
        self.0[..4].copy_from_slice(&n.to_le_bytes());
        self.0
    }
}

/// Reads a frame without its length; `None` if the stream ends before the frame.
///
/// # Errors
/// What the stream says; `InvalidData` for a length of 0 or above `MAX_FRAME`; `UnexpectedEof`
/// within a frame.
pub fn read_frame(from: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut length = [0; 4];
    let mut have = 0;
    while have < 4 {
        match from.read(&mut length[have..]) {
            Ok(0) if have == 0 => return Ok(None),
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(n) => have += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let n = u32::from_le_bytes(length) as usize;
    if n == 0 || n > MAX_FRAME {
        return Err(Malformed("length of a frame is out of bounds").into());
    }
    // The buffer grows with what arrives, so that a peer cannot take memory by sending a large length.
    let mut bytes = Vec::new();
    let got = from.by_ref().take(n as u64).read_to_end(&mut bytes)?;
    if got < n {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(Some(bytes))
}

/// What a process says to hetrun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// The first message of a connection.
    Hello {
        /// [`VERSION`].
        version: u32,
        /// The job's secret. hetrun refuses a process that does not know it.
        secret: [u8; SECRET],
        /// Which process this is.
        rank: u32,
    },
    /// Keep a value. No answer.
    Put {
        /// Its key.
        key: String,
        /// The value.
        value: Vec<u8>,
    },
    /// Wait for all processes; the answer is [`Reply::Fenced`].
    Fence,
    /// Ask for a value; the answer is [`Reply::Value`].
    Get {
        /// Who put it.
        rank: u32,
        /// Under which key.
        key: String,
    },
    /// End the job. No answer.
    Abort {
        /// The exit status of the job.
        status: i32,
        /// For the user.
        message: String,
    },
    /// This process is done; the answer is [`Reply::Finalized`], after which the connection may close.
    Finalize,
}

/// What hetrun says to a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// To [`Request::Hello`].
    Welcome {
        /// How many processes.
        size: u32,
        /// Those on this machine, ascending.
        local: Vec<u32>,
        /// Where the others reach this process: an address in text form.
        address: String,
    },
    /// Refuses any request, and closes the connection. One line for the user.
    Refused(String),
    /// To [`Request::Fence`].
    Fenced,
    /// To [`Request::Get`].
    Value(Option<Vec<u8>>),
    /// To [`Request::Finalize`].
    Finalized,
}

/// The longest text in a message.
const MAX_TEXT: usize = 4096;

impl Request {
    /// The frame.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Self::Hello {
                version,
                secret,
                rank,
            } => Frame::new(1).number(*version).fixed(secret).number(*rank),
            Self::Put { key, value } => Frame::new(2).bytes(key.as_bytes()).bytes(value),
            Self::Fence => Frame::new(3),
            Self::Get { rank, key } => Frame::new(4).number(*rank).bytes(key.as_bytes()),
            Self::Abort { status, message } => Frame::new(5)
                .number(*status as u32)
                .bytes(cut(message, MAX_TEXT).as_bytes()),
            Self::Finalize => Frame::new(6),
        }
        .done()
    }

    /// Decodes a frame's bytes without their length.
    ///
    /// # Errors
    /// The bytes are not what [`Request::encode`] makes.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut f = Fields::new(bytes);
        let message = match f.byte()? {
            1 => {
                let version = f.number()?;
                let mut secret = [0; SECRET];
                secret.copy_from_slice(f.take(SECRET)?);
                Self::Hello {
                    version,
                    secret,
                    rank: f.number()?,
                }
            }
            2 => Self::Put {
                key: f.text(MAX_KEY)?,
                value: f.bytes(MAX_VALUE)?.to_vec(),
            },
            3 => Self::Fence,
            4 => Self::Get {
                rank: f.number()?,
                key: f.text(MAX_KEY)?,
            },
            5 => Self::Abort {
                status: f.number()? as i32,
                message: f.text(MAX_TEXT)?,
            },
            6 => Self::Finalize,
            _ => return Err(Malformed("unknown request")),
        };
        f.end()?;
        Ok(message)
    }
}

impl Reply {
    /// The frame.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Self::Welcome {
                size,
                local,
                address,
            } => {
                let mut frame = Frame::new(1).number(*size).number(local.len() as u32);
                for rank in local {
                    frame = frame.number(*rank);
                }
                frame.bytes(address.as_bytes())
            }
            Self::Refused(text) => Frame::new(2).bytes(cut(text, MAX_TEXT).as_bytes()),
            Self::Fenced => Frame::new(3),
            Self::Value(None) => Frame::new(4).byte(0),
            Self::Value(Some(value)) => Frame::new(4).byte(1).bytes(value),
            Self::Finalized => Frame::new(5),
        }
        .done()
    }

    /// Decodes a frame's bytes without their length.
    ///
    /// # Errors
    /// The bytes are not what [`Reply::encode`] makes.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut f = Fields::new(bytes);
        let message = match f.byte()? {
            1 => {
                let size = f.number()?;
                if size == 0 || size > MAX_SIZE {
                    return Err(Malformed("size of the job is out of bounds"));
                }
                let n = f.count(4)?;
                let local = (0..n).map(|_| f.number()).collect::<Result<Vec<_>, _>>()?;
                let ascending = local.windows(2).all(|w| w[0] < w[1]);
                if !ascending || local.last().is_some_and(|&last| last >= size) {
                    return Err(Malformed("list of ranks is not one"));
                }
                Self::Welcome {
                    size,
                    local,
                    address: f.text(MAX_TEXT)?,
                }
            }
            2 => Self::Refused(f.text(MAX_TEXT)?),
            3 => Self::Fenced,
            4 => match f.byte()? {
                0 => Self::Value(None),
                1 => Self::Value(Some(f.bytes(MAX_VALUE)?.to_vec())),
                _ => return Err(Malformed("value is neither there nor missing")),
            },
            5 => Self::Finalized,
            _ => return Err(Malformed("unknown reply")),
        };
        f.end()?;
        Ok(message)
    }
}

/// The start of `text`, at most `limit` bytes long.
fn cut(text: &str, limit: usize) -> &str {
    let mut end = text.len().min(limit);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// The content of `HETMP_JOB`: where hetrun listens, which rank this process is, and the secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ticket {
    /// The name of a unix socket in the abstract name space. Such a socket is no file, so no file is left behind.
    pub socket: String,
    /// This process's rank.
    pub rank: u32,
    /// The job's secret.
    pub secret: [u8; SECRET],
}

impl Ticket {
    /// The variable's value.
    #[must_use]
    pub fn encode(&self) -> String {
        format!("{}:{}:{}", self.socket, self.rank, hex(&self.secret))
    }

    /// Reads the variable's value; `None` if hetrun did not write it.
    #[must_use]
    pub fn decode(value: &str) -> Option<Self> {
        let mut parts = value.split(':');
        let (socket, rank, secret) = (parts.next()?, parts.next()?, parts.next()?);
        let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'-';
        if !(1..=100).contains(&socket.len()) || !socket.bytes().all(plain) {
            return None;
        }
        let ticket = Self {
            socket: socket.to_owned(),
            rank: rank.parse().ok()?,
            secret: unhex(secret)?.try_into().ok()?,
        };
        // What hetrun writes has no sign, no zeros in front, and nothing behind.
        (ticket.encode() == value).then_some(ticket)
    }
}

/// Bytes as hexadecimal digits.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |n: u8| char::from(DIGITS[usize::from(n)]);
    bytes
        .iter()
        .flat_map(|b| [digit(b >> 4), digit(b & 15)])
        .collect()
}

/// Bytes from hexadecimal digits; `None` for anything else.
#[must_use]
pub(crate) fn unhex(text: &str) -> Option<Vec<u8>> {
    let value = |b: u8| match b {
        b'0'..=b'9' => Some(b - b'0'),
        b'a'..=b'f' => Some(b - b'a' + 10),
        _ => None,
    };
    if text.len() % 2 != 0 {
        return None;
    }
    text.as_bytes()
        .chunks(2)
        .map(|pair| Some(value(pair[0])? << 4 | value(pair[1])?))
        .collect()
}

/// Compares two secrets. The time it takes does not tell where they differ.
#[must_use]
pub fn same_secret(a: &[u8; SECRET], b: &[u8; SECRET]) -> bool {
    let mut difference = 0;
    for (x, y) in a.iter().zip(b) {
        difference |= x ^ y;
    }
    core::hint::black_box(difference) == 0
}
