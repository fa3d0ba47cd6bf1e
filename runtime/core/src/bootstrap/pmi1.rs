//! A process under a launcher that speaks PMI-1 (hydra's `mpiexec`): lines over an inherited
//! descriptor, one question and one answer at a time.

use super::pmi::{read_line, Message};
use super::values::{Exchange, Texts};
use super::{number, Error, Launcher, MAX_SIZE};
use std::fs::File;
use std::io::{BufReader, Write};
use std::os::fd::{AsRawFd, FromRawFd as _, RawFd};

/// What PMI's three variables say.
pub(super) struct Environment {
    pub(super) fd: RawFd,
    pub(super) rank: u32,
    pub(super) size: u32,
}

pub(super) fn environment(text: &dyn Fn(&str) -> Option<String>) -> Result<Environment, Error> {
    let fd = number(
        text,
        "PMI_FD",
        "an open descriptor, as the launcher sets it",
    )?;
    let size = number(text, "PMI_SIZE", "a number of processes")?;
    let rank = number(text, "PMI_RANK", "a number below PMI_SIZE")?;
    if !(1..=MAX_SIZE).contains(&size) {
        return Err(Error::Environment {
            name: "PMI_SIZE",
            value: size.to_string(),
            expected: "1 to 1048576",
        });
    }
    if rank >= size {
        return Err(Error::Environment {
            name: "PMI_RANK",
            value: rank.to_string(),
            expected: "a number below PMI_SIZE",
        });
    }
    let open = RawFd::try_from(fd).is_ok_and(|fd| {
        // SAFETY: asks about a descriptor, which may be any number.
        fd > 2 && unsafe { libc::fcntl(fd, libc::F_GETFD) } >= 0
    });
    if !open {
        return Err(Error::Environment {
            name: "PMI_FD",
            value: fd.to_string(),
            expected: "an open descriptor, as the launcher sets it",
        });
    }
    Ok(Environment {
        fd: fd as RawFd,
        rank,
        size,
    })
}

/// Takes over the launcher's descriptor, and keeps programs that this process starts from inheriting it: they are not
/// part of the job.
pub(super) fn take(fd: RawFd) -> File {
    // SAFETY: sets a flag of a descriptor that was found open.
    unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) };
    // SAFETY: the descriptor is open, and by PMI's rules whoever speaks PMI in this process owns
    // it; `connect` is called once.
    unsafe { File::from_raw_fd(fd) }
}

pub(super) fn connect(text: &dyn Fn(&str) -> Option<String>) -> Result<Texts<Pmi1>, Error> {
    let environment = environment(text)?;
    let exchange = Pmi1::start(take(environment.fd))?;
    Texts::join(exchange, environment.rank, environment.size)
}

pub(super) struct Pmi1 {
    stream: BufReader<File>,
    space: String,
}

pub(super) fn failure(launcher: Launcher, error: &std::io::Error) -> Error {
    match error.kind() {
        std::io::ErrorKind::InvalidData => Error::Protocol {
            launcher,
            what: error.to_string(),
        },
        std::io::ErrorKind::UnexpectedEof => Error::Lost {
            launcher,
            why: "it has ended".to_owned(),
        },
        _ => Error::Lost {
            launcher,
            why: error.to_string(),
        },
    }
}

pub(super) fn refused(launcher: Launcher, message: &Message) -> Error {
    let line = String::from_utf8_lossy(&message.to_line())
        .trim_end()
        .to_owned();
    Error::Protocol {
        launcher,
        what: line.chars().take(200).collect(),
    }
}

impl Pmi1 {
    /// Settles the version, and learns the name of the key space.
    pub(super) fn start(stream: File) -> Result<Self, Error> {
        let mut this = Self {
            stream: BufReader::new(stream),
            space: String::new(),
        };
        let init = Message::new("init")
            .with("pmi_version", 1)
            .with("pmi_subversion", 1);
        let answer = this.ask(&init, "response_to_init")?;
        if answer.number("rc").unwrap_or(0) != 0 || answer.number("pmi_version") != Some(1) {
            return Err(refused(Launcher::Pmi1, &answer));
        }
        let answer = this.ask(&Message::new("get_my_kvsname"), "my_kvsname")?;
        this.space = answer
            .get("kvsname")
            .ok_or_else(|| refused(Launcher::Pmi1, &answer))?
            .to_owned();
        Ok(this)
    }

    fn say(&mut self, message: &Message) -> Result<(), Error> {
        self.stream
            .get_mut()
            .write_all(&message.to_line())
            .map_err(|error| failure(Launcher::Pmi1, &error))
    }

    fn ask(&mut self, message: &Message, answer: &str) -> Result<Message, Error> {
        self.say(message)?;
        let got = read_line(&mut self.stream).map_err(|error| failure(Launcher::Pmi1, &error))?;
        if got.get("cmd") == Some(answer) {
            Ok(got)
        } else {
            Err(refused(Launcher::Pmi1, &got))
        }
    }

    fn look(&mut self, key: &str) -> Result<Option<String>, Error> {
        let question = Message::new("get")
            .with("kvsname", &self.space)
            .with("key", key);
        let answer = self.ask(&question, "get_result")?;
        // A missing key is an rc other than 0; which one differs between launchers.
        Ok(match answer.number("rc") {
            Some(0) => answer.get("value").map(str::to_owned),
            _ => None,
        })
    }
}

/// True if the other end of a connection has closed. Does not wait, and leaves what has arrived in the connection.
pub(super) fn closed(stream: &impl AsRawFd) -> bool {
    let mut look = libc::pollfd {
        fd: stream.as_raw_fd(),
        events: libc::POLLRDHUP,
        revents: 0,
    };
    // SAFETY: one live record, whose descriptor the caller's stream keeps open.
    let ready = unsafe { libc::poll(&raw mut look, 1, 0) };
    ready > 0 && look.revents & (libc::POLLRDHUP | libc::POLLHUP | libc::POLLERR) != 0
}

impl Exchange for Pmi1 {
    fn launcher(&self) -> Launcher {
        Launcher::Pmi1
    }
    fn put(&mut self, key: &str, value: &str) -> Result<(), Error> {
        let message = Message::new("put")
            .with("kvsname", &self.space)
            .with("key", key)
            .with("value", value);
        let answer = self.ask(&message, "put_result")?;
        if answer.number("rc") == Some(0) {
            Ok(())
        } else {
            Err(refused(Launcher::Pmi1, &answer))
        }
    }
    fn fence(&mut self) -> Result<(), Error> {
        let answer = self.ask(&Message::new("barrier_in"), "barrier_out")?;
        if answer.number("rc").unwrap_or(0) == 0 {
            Ok(())
        } else {
            Err(refused(Launcher::Pmi1, &answer))
        }
    }
    fn get(&mut self, key: &str) -> Result<Option<String>, Error> {
        self.look(key)
    }
    fn mapping(&mut self) -> Result<Option<String>, Error> {
        self.look("PMI_process_mapping")
    }
    fn abort(&mut self, status: i32, message: &str) {
        let abort = Message::new("abort")
            .with("exitcode", status)
            .with("message", message);
        // If the message cannot be sent, the launcher still notices that this process ends.
        let _ = self.say(&abort);
    }
    fn is_gone(&self) -> bool {
        closed(self.stream.get_ref())
    }
    fn finalize(&mut self) -> Result<(), Error> {
        self.ask(&Message::new("finalize"), "finalize_ack")
            .map(|_| ())
    }
}
