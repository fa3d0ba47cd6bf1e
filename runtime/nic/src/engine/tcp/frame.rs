//! What travels over a stream: a header of 32 bytes and its content. Nothing that a peer sends is trusted.
//!
//! The content of a request is the 64-byte descriptor as posted, followed by the bytes of the piece if the operation
//! writes. The content of a reply is the bytes of the piece that was read.

use crate::descriptor::{Status, Words, DESCRIPTOR_BYTES, WORDS};

/// Bytes of a header.
pub const HEADER_BYTES: usize = 32;
/// Longest piece of an operation in one frame.
pub(crate) const PIECE_BYTES: usize = 64 * 1024;
/// The first two bytes of every frame.
const MAGIC: u16 = 0x4e48;

/// Request or reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The receiver has to execute it.
    Request,
    /// The result of a request.
    Reply,
}

/// A header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Request or reply.
    pub kind: Kind,
    /// In a reply: how the request ended.
    pub status: Status,
    /// Bytes of content.
    pub length: u32,
    /// The requester's number for the request; the reply repeats it.
    pub id: u64,
    /// In a reply: the fetched value, or the value of the failure.
    pub value: u64,
    /// In a request: where this piece begins, in bytes of the operation.
    pub offset: u32,
}

impl Header {
    /// Its bytes.
    pub fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut b = [0; HEADER_BYTES];
        b[..2].copy_from_slice(&MAGIC.to_le_bytes());
        b[2] = match self.kind {
            Kind::Request => 1,
            Kind::Reply => 2,
        };
        b[3] = self.status as u8;
        b[4..8].copy_from_slice(&self.length.to_le_bytes());
        b[8..16].copy_from_slice(&self.id.to_le_bytes());
        b[16..24].copy_from_slice(&self.value.to_le_bytes());
        b[24..28].copy_from_slice(&self.offset.to_le_bytes());
        b
    }

    /// Reads a header; `None` if a peer of this version would not send it.
    pub fn parse(b: &[u8; HEADER_BYTES]) -> Option<Header> {
        let u32_at = |i: usize| u32::from_le_bytes([b[i], b[i + 1], b[i + 2], b[i + 3]]);
        let u64_at = |i: usize| u64::from(u32_at(i)) | u64::from(u32_at(i + 4)) << 32;
        let (kind, least, most) = match b[2] {
            1 => (
                Kind::Request,
                DESCRIPTOR_BYTES,
                DESCRIPTOR_BYTES + PIECE_BYTES,
            ),
            2 => (Kind::Reply, 0, PIECE_BYTES),
            _ => return None,
        };
        let header = Header {
            kind,
            status: Status::of(b[3])?,
            length: u32_at(4),
            id: u64_at(8),
            value: u64_at(16),
            offset: u32_at(24),
        };
        let fits = (least..=most).contains(&(header.length as usize));
        (b[..2] == MAGIC.to_le_bytes() && fits && u32_at(28) == 0).then_some(header)
    }
}

/// The bytes of a descriptor.
pub(crate) fn descriptor_bytes(words: &Words) -> [u8; DESCRIPTOR_BYTES] {
    let mut b = [0; DESCRIPTOR_BYTES];
    for (chunk, w) in b.chunks_exact_mut(8).zip(words) {
        chunk.copy_from_slice(&w.to_le_bytes());
    }
    b
}

/// Splits a request's content into descriptor and bytes; `None` if it is too short.
pub fn split(content: &[u8]) -> Option<(Words, &[u8])> {
    let head = content.get(..DESCRIPTOR_BYTES)?;
    let mut words = [0; WORDS];
    for (w, chunk) in words.iter_mut().zip(head.chunks_exact(8)) {
        let mut b = [0; 8];
        b.copy_from_slice(chunk);
        *w = u64::from_le_bytes(b);
    }
    Some((words, &content[DESCRIPTOR_BYTES..]))
}

/// The bytes are no frame. The stream cannot be used any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoFrame;

/// Bytes of the buffer for the next read: at first, and at most.
const ROOM: usize = 16 * 1024;
const MOST_ROOM: usize = 2 * PIECE_BYTES;

/// Cuts a stream into frames, wherever reads split its bytes.
#[derive(Debug, Default)]
pub struct Decoder {
    /// `from..to` was received and not given out yet.
    bytes: Vec<u8>,
    from: usize,
    to: usize,
    /// Length of the buffer for the next read. Grows with the amount that arrives at once.
    room: usize,
}

impl Decoder {
    /// The buffer for received bytes. Say with [`Decoder::filled`] how many were received.
    pub fn room(&mut self) -> &mut [u8] {
        if self.from == self.to {
            self.from = 0;
            self.to = 0;
        }
        self.room = self.room.max(ROOM);
        if self.bytes.len() - self.to < self.room {
            // What is left is shorter than a frame and its header, so that moving it is cheap compared to what will
            // come.
            self.bytes.copy_within(self.from..self.to, 0);
            self.to -= self.from;
            self.from = 0;
            let needed = self.to + self.room;
            if self.bytes.len() < needed {
                self.bytes.resize(needed, 0);
            }
        }
        &mut self.bytes[self.to..]
    }

    /// Takes the first `n` bytes of the [room](Decoder::room).
    pub fn filled(&mut self, n: usize) {
        debug_assert!(n <= self.bytes.len() - self.to);
        if n >= self.room {
            self.room = (self.room * 2).min(MOST_ROOM);
        }
        self.to += n;
    }

    /// Takes received bytes that lie in another buffer.
    pub fn push(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let room = self.room();
            let n = room.len().min(bytes.len());
            room[..n].copy_from_slice(&bytes[..n]);
            self.filled(n);
            bytes = &bytes[n..];
        }
    }

    /// The next whole frame; `None` if it has not arrived in full.
    ///
    /// # Errors
    /// The next bytes are no frame.
    pub fn frame(&mut self) -> Result<Option<(Header, &[u8])>, NoFrame> {
        let rest = &self.bytes[self.from..self.to];
        let Some(head) = rest.first_chunk::<HEADER_BYTES>() else {
            return Ok(None);
        };
        let header = Header::parse(head).ok_or(NoFrame)?;
        let end = HEADER_BYTES + header.length as usize;
        if rest.len() < end {
            return Ok(None);
        }
        let from = self.from + HEADER_BYTES;
        self.from += end;
        Ok(Some((
            header,
            &self.bytes[from..from + header.length as usize],
        )))
    }
}
