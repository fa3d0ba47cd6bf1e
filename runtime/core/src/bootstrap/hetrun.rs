//! A process that hetrun started: requests and replies over a unix socket.
//!
//! It is told apart from a stranger's socket by the kernel's word for the peer's user.

use super::wire::{read_frame, Reply, Request, Ticket, VERSION};
use super::{exit_now, Error, Job, Keys, Launcher, SECRET};
use std::io::Write as _;
use std::net::IpAddr;
use std::os::fd::AsRawFd as _;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixStream};

pub(super) struct Hetrun {
    stream: UnixStream,
    rank: u32,
    size: u32,
    local: Vec<u32>,
    secret: [u8; SECRET],
    address: Option<IpAddr>,
    keys: Keys,
}

fn lost(why: impl ToString) -> Error {
    Error::Lost {
        launcher: Launcher::Hetrun,
        why: why.to_string(),
    }
}

fn protocol(what: impl ToString) -> Error {
    Error::Protocol {
        launcher: Launcher::Hetrun,
        what: what.to_string(),
    }
}

impl Hetrun {
    /// Connects as `value`, that of `HETMP_JOB`, says.
    pub(super) fn connect(value: &str) -> Result<Self, Error> {
        let ticket = Ticket::decode(value.trim()).ok_or(Error::Environment {
            name: "HETMP_JOB",
            // The message shows no part of the value, which may be most of a secret.
            value: format!("({} bytes)", value.len()),
            expected: "what hetrun sets",
        })?;
        let stream = SocketAddr::from_abstract_name(ticket.socket.as_bytes())
            .and_then(|name| UnixStream::connect_addr(&name))
            .map_err(lost)?;
        let listener = user_of(&stream).map_err(lost)?;
        // SAFETY: geteuid has no preconditions.
        let own = unsafe { libc::geteuid() };
        // The name of a launcher that has ended is free for anybody.
        if listener != own && listener != 0 {
            return Err(lost(format!("its socket belongs to user {listener}")));
        }
        Self::join(stream, &ticket)
    }

    /// Says hello on a fresh connection.
    pub(super) fn join(stream: UnixStream, ticket: &Ticket) -> Result<Self, Error> {
        let mut this = Self {
            stream,
            rank: ticket.rank,
            size: 1,
            local: Vec::new(),
            secret: ticket.secret,
            address: None,
            keys: Keys::default(),
        };
        this.send(&Request::Hello {
            version: VERSION,
            secret: ticket.secret,
            rank: ticket.rank,
        })?;
        match this.receive()? {
            Reply::Welcome {
                size,
                local,
                address,
            } => {
                if ticket.rank >= size || local.binary_search(&ticket.rank).is_err() {
                    return Err(protocol("a job that this process is not in"));
                }
                this.size = size;
                this.local = local;
                this.address = address.parse().ok();
                Ok(this)
            }
            other => Err(unexpected(&other)),
        }
    }

    fn send(&mut self, request: &Request) -> Result<(), Error> {
        self.stream.write_all(&request.encode()).map_err(lost)
    }

    fn receive(&mut self) -> Result<Reply, Error> {
        match read_frame(&mut self.stream) {
            Ok(Some(bytes)) => Reply::decode(&bytes).map_err(protocol),
            Ok(None) => Err(lost("it has ended")),
            Err(error) if error.kind() == std::io::ErrorKind::InvalidData => Err(protocol(error)),
            Err(error) => Err(lost(error)),
        }
    }
}

/// The user whose process listens at the other end, as the kernel noted it when the socket began to listen.
fn user_of(stream: &UnixStream) -> std::io::Result<libc::uid_t> {
    // SAFETY: plain data, which the call fills in; the descriptor is open.
    unsafe {
        let mut peer: libc::ucred = core::mem::zeroed();
        let mut len = core::mem::size_of_val(&peer) as libc::socklen_t;
        let told = libc::getsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut peer).cast(),
            &raw mut len,
        );
        if told == 0 {
            Ok(peer.uid)
        } else {
            Err(std::io::Error::last_os_error())
        }
    }
}

fn unexpected(reply: &Reply) -> Error {
    match reply {
        Reply::Refused(text) => protocol(text),
        _ => protocol("an answer to another question"),
    }
}

impl Job for Hetrun {
    fn launcher(&self) -> Launcher {
        Launcher::Hetrun
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
        self.address
    }
    fn put(&mut self, key: &str, value: &[u8]) -> Result<(), Error> {
        self.keys.put(key, value)?;
        self.send(&Request::Put {
            key: key.to_owned(),
            value: value.to_vec(),
        })
    }
    fn fence(&mut self) -> Result<(), Error> {
        self.send(&Request::Fence)?;
        match self.receive()? {
            Reply::Fenced => Ok(()),
            other => Err(unexpected(&other)),
        }
    }
    fn get(&mut self, rank: u32, key: &str) -> Result<Option<Vec<u8>>, Error> {
        Keys::get(rank, self.size, key)?;
        self.send(&Request::Get {
            rank,
            key: key.to_owned(),
        })?;
        match self.receive()? {
            Reply::Value(value) => Ok(value),
            other => Err(unexpected(&other)),
        }
    }
    fn abort(&mut self, status: i32, message: &str) -> ! {
        let told = self.send(&Request::Abort {
            status,
            message: message.to_owned(),
        });
        if told.is_ok() {
            // Wait until hetrun closes the connection: it then knows that the job was aborted on purpose. Otherwise
            // it would report this process's death instead of `message`.
            while let Ok(Some(_)) = read_frame(&mut self.stream) {}
        }
        exit_now(status)
    }
    fn finalize(&mut self) -> Result<(), Error> {
        self.send(&Request::Finalize)?;
        match self.receive()? {
            Reply::Finalized => Ok(()),
            other => Err(unexpected(&other)),
        }
    }
}
