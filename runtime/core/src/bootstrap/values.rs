//! A job over an exchange of short texts, which is all that PMI offers. The rank becomes a part of each key, and a
//! value travels in pieces of hexadecimal digits.

use super::wire::{hex, unhex};
use super::{exit_now, mapping, random_secret, Error, Job, Keys, Launcher, MAX_VALUE, SECRET};
use std::net::{IpAddr, Ipv4Addr};

/// A launcher's protocol.
pub(super) trait Exchange: Send {
    /// Which protocol.
    fn launcher(&self) -> Launcher;
    /// Keeps a text without blanks and semicolons under a key.
    fn put(&mut self, key: &str, value: &str) -> Result<(), Error>;
    /// Waits for all processes. What was put before is then visible to all.
    fn fence(&mut self) -> Result<(), Error>;
    /// The text of a key; `None` if there is none.
    fn get(&mut self, key: &str) -> Result<Option<String>, Error>;
    /// The value of `PMI_process_mapping`; `None` if the launcher does not tell it.
    fn mapping(&mut self) -> Result<Option<String>, Error>;
    /// Asks the launcher to end the job, and returns.
    fn abort(&mut self, status: i32, message: &str);
    /// Tells the launcher that this process is done.
    fn finalize(&mut self) -> Result<(), Error>;
    /// See [`Job::is_gone`].
    fn is_gone(&self) -> bool;
}

/// Bytes in a piece. They become twice as many digits, well within the 1024 characters that launchers allow for a
/// value.
const PIECE: usize = 200;

pub(super) struct Texts<X> {
    exchange: X,
    rank: u32,
    size: u32,
    local: Vec<u32>,
    secret: [u8; SECRET],
    keys: Keys,
}

impl<X: Exchange> Texts<X> {
    /// Joins the job: agrees on the secret, and finds out who is on this machine.
    pub(super) fn join(mut exchange: X, rank: u32, size: u32) -> Result<Self, Error> {
        let local = exchange
            .mapping()?
            .and_then(|text| mapping::local_ranks(&text, rank, size));
        let mut this = Self {
            exchange,
            rank,
            size,
            local: Vec::new(),
            secret: [0; SECRET],
            keys: Keys::default(),
        };
        if rank == 0 {
            this.put_pieces("hetmp.secret", &random_secret()?)?;
        }
        // Every rank puts this key, even if it needs nobody's machine: a rank without a mapping would otherwise wait
        // for keys that other ranks never put.
        this.put_pieces("hetmp.machine", &machine())?;
        this.exchange.fence()?;
        this.secret = this
            .get_pieces(0, "hetmp.secret")?
            .and_then(|bytes| bytes.try_into().ok())
            .ok_or_else(|| this.protocol("no secret from rank 0"))?;
        this.local = match local {
            Some(local) => local,
            None => {
                let mine = machine();
                let mut local = Vec::new();
                for other in 0..size {
                    if other == rank
                        || this.get_pieces(other, "hetmp.machine")?.as_ref() == Some(&mine)
                    {
                        local.push(other);
                    }
                }
                local
            }
        };
        Ok(this)
    }

    fn protocol(&self, what: &str) -> Error {
        Error::Protocol {
            launcher: self.exchange.launcher(),
            what: what.to_owned(),
        }
    }

    fn put_pieces(&mut self, key: &str, value: &[u8]) -> Result<(), Error> {
        let first = value.len().min(PIECE);
        let text = format!("{}.{}", value.len(), hex(&value[..first]));
        self.exchange.put(&name(self.rank, key, 0), &text)?;
        for (i, piece) in value[first..].chunks(PIECE).enumerate() {
            self.exchange
                .put(&name(self.rank, key, i + 1), &hex(piece))?;
        }
        Ok(())
    }

    fn get_pieces(&mut self, rank: u32, key: &str) -> Result<Option<Vec<u8>>, Error> {
        let Some(text) = self.exchange.get(&name(rank, key, 0))? else {
            return Ok(None);
        };
        let (length, mut value) = first_piece(&text)
            .ok_or_else(|| self.protocol("a value that none of our processes put"))?;
        let mut piece = 1;
        while value.len() < length {
            let next = self
                .exchange
                .get(&name(rank, key, piece))?
                .and_then(|text| unhex(&text))
                .filter(|bytes| !bytes.is_empty() && bytes.len() <= length - value.len())
                .ok_or_else(|| self.protocol("a value of which a piece is missing"))?;
            value.extend_from_slice(&next);
            piece += 1;
        }
        Ok(Some(value))
    }
}

fn name(rank: u32, key: &str, piece: usize) -> String {
    format!("h{rank}-{key}-{piece}")
}

/// Splits a first piece: the length of the whole value, and this piece's bytes.
pub(super) fn first_piece(text: &str) -> Option<(usize, Vec<u8>)> {
    let (length, digits) = text.split_once('.')?;
    let length = length.parse().ok().filter(|&n: &usize| n <= MAX_VALUE)?;
    let value = unhex(digits)?;
    (value.len() <= length).then_some((length, value))
}

/// A name of this machine and its network name space. (In two name spaces of one machine the loopback address means
/// two different hosts.)
fn machine() -> Vec<u8> {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let net = std::fs::read_link("/proc/self/ns/net").unwrap_or_default();
    let text = format!("{} {} {}", boot.trim(), host.trim(), net.display());
    text.into_bytes()
}

impl<X: Exchange> Job for Texts<X> {
    fn launcher(&self) -> Launcher {
        self.exchange.launcher()
    }
    fn rank(&self) -> u32 {
        self.rank
    }
    fn size(&self) -> u32 {
        self.size
    }
    fn local_ranks(&self) -> &[u32] {
        &self.local
    }
    fn secret(&self) -> &[u8; SECRET] {
        &self.secret
    }
    fn address(&self) -> Option<IpAddr> {
        (self.local.len() == self.size as usize).then_some(IpAddr::V4(Ipv4Addr::LOCALHOST))
    }
    fn put(&mut self, key: &str, value: &[u8]) -> Result<(), Error> {
        self.keys.put(key, value)?;
        self.put_pieces(key, value)
    }
    fn fence(&mut self) -> Result<(), Error> {
        self.exchange.fence()
    }
    fn get(&mut self, rank: u32, key: &str) -> Result<Option<Vec<u8>>, Error> {
        Keys::get(rank, self.size, key)?;
        self.get_pieces(rank, key)
    }
    fn abort(&mut self, status: i32, message: &str) -> ! {
        crate::report::flush_output();
        crate::report::warn(format_args!(
            "rank {} ended the job with status {status}: {message}",
            self.rank
        ));
        // When hydra hears of an abort, it drops output that is still on its way to the user, the line above
        // included. Give that line some time.
        std::thread::sleep(std::time::Duration::from_millis(100));
        self.exchange.abort(status, message);
        exit_now(status)
    }
    fn finalize(&mut self) -> Result<(), Error> {
        self.exchange.finalize()
    }
    fn is_gone(&self) -> bool {
        self.exchange.is_gone()
    }
}
