//! A process under a launcher that speaks PMI-2 (`srun --mpi=pmi2`, hydra too).

use super::pmi::{read_line, read_packet, Message};
use super::pmi1::{closed, environment, failure, refused, take};
use super::values::{Exchange, Texts};
use super::{Error, Launcher};
use std::fs::File;
use std::io::{BufReader, Write};

pub(super) fn connect(text: &dyn Fn(&str) -> Option<String>) -> Result<Texts<Pmi2>, Error> {
    let environment = environment(text)?;
    let stream = take(environment.fd);
    let (exchange, rank, size) = Pmi2::start(stream, environment.rank, text("PMI_JOBID"))?;
    Texts::join(exchange, rank, size.unwrap_or(environment.size))
}

pub(super) struct Pmi2 {
    stream: BufReader<File>,
    job: String,
}

impl Pmi2 {
    /// Settles the version and tells the launcher which rank this is. Returns the rank and, if the launcher tells it,
    /// the size of the job.
    pub(super) fn start(
        stream: File,
        rank: u32,
        job: Option<String>,
    ) -> Result<(Self, u32, Option<u32>), Error> {
        let mut this = Self {
            stream: BufReader::new(stream),
            job: String::new(),
        };
        let init = Message::new("init")
            .with("pmi_version", 2)
            .with("pmi_subversion", 0);
        let failed = |error: std::io::Error| failure(Launcher::Pmi2, &error);
        this.stream
            .get_mut()
            .write_all(&init.to_line())
            .map_err(failed)?;
        let answer = read_line(&mut this.stream).map_err(failed)?;
        if answer.get("cmd") != Some("response_to_init")
            || answer.number("rc").unwrap_or(0) != 0
            || answer.number("pmi_version") != Some(2)
        {
            return Err(refused(Launcher::Pmi2, &answer));
        }
        let mut init = Message::new("fullinit");
        if let Some(job) = &job {
            init = init.with("pmijobid", job);
        }
        let init = init.with("pmirank", rank).with("threaded", "FALSE");
        let answer = this.ask(&init, "fullinit-response")?;
        let size = answer
            .number("size")
            .and_then(|n| u32::try_from(n).ok())
            .filter(|n| (1..=super::MAX_SIZE).contains(n));
        let rank = answer
            .number("rank")
            .and_then(|n| u32::try_from(n).ok())
            .unwrap_or(rank);
        if size.is_some_and(|size| rank >= size) {
            return Err(refused(Launcher::Pmi2, &answer));
        }
        this.job = match job {
            Some(job) => job,
            None => {
                let answer = this.ask(&Message::new("job-getid"), "job-getid-response")?;
                answer.get("jobid").unwrap_or_default().to_owned()
            }
        };
        Ok((this, rank, size))
    }

    fn say(&mut self, message: &Message) -> Result<(), Error> {
        let packet = message
            .to_packet()
            .ok_or_else(|| refused(Launcher::Pmi2, message))?;
        self.stream
            .get_mut()
            .write_all(&packet)
            .map_err(|error| failure(Launcher::Pmi2, &error))
    }

    fn ask(&mut self, message: &Message, answer: &str) -> Result<Message, Error> {
        self.say(message)?;
        let got = read_packet(&mut self.stream).map_err(|error| failure(Launcher::Pmi2, &error))?;
        if got.get("cmd") == Some(answer) && got.number("rc").unwrap_or(0) == 0 {
            Ok(got)
        } else {
            Err(refused(Launcher::Pmi2, &got))
        }
    }
}

/// The value in an answer; `None` if the answer says that there is none.
fn found(answer: &Message) -> Option<String> {
    answer
        .get("found")
        .is_some_and(|f| f.eq_ignore_ascii_case("true"))
        .then(|| answer.get("value").map(str::to_owned))
        .flatten()
}

impl Exchange for Pmi2 {
    fn launcher(&self) -> Launcher {
        Launcher::Pmi2
    }
    fn put(&mut self, key: &str, value: &str) -> Result<(), Error> {
        let message = Message::new("kvs-put")
            .with("key", key)
            .with("value", value);
        self.ask(&message, "kvs-put-response").map(|_| ())
    }
    fn fence(&mut self) -> Result<(), Error> {
        self.ask(&Message::new("kvs-fence"), "kvs-fence-response")
            .map(|_| ())
    }
    fn get(&mut self, key: &str) -> Result<Option<String>, Error> {
        let message = Message::new("kvs-get")
            .with("jobid", &self.job)
            .with("srcid", -1)
            .with("key", key);
        self.say(&message)?;
        // A missing key is an rc other than 0, a "found" that is not true, or both, depending on the launcher.
        let answer =
            read_packet(&mut self.stream).map_err(|error| failure(Launcher::Pmi2, &error))?;
        if answer.get("cmd") == Some("kvs-get-response") {
            Ok(found(&answer))
        } else {
            Err(refused(Launcher::Pmi2, &answer))
        }
    }
    fn mapping(&mut self) -> Result<Option<String>, Error> {
        let message = Message::new("info-getjobattr").with("key", "PMI_process_mapping");
        self.say(&message)?;
        let answer =
            read_packet(&mut self.stream).map_err(|error| failure(Launcher::Pmi2, &error))?;
        if answer.get("cmd") == Some("info-getjobattr-response") {
            Ok(found(&answer))
        } else {
            Err(refused(Launcher::Pmi2, &answer))
        }
    }
    fn abort(&mut self, status: i32, message: &str) {
        let abort = Message::new("abort")
            .with("isworld", "TRUE")
            .with("exitcode", status)
            .with("msg", message.replace('\n', " "));
        // If the message cannot be sent, the launcher still notices that this process ends.
        let _ = self.say(&abort);
    }
    fn is_gone(&self) -> bool {
        closed(self.stream.get_ref())
    }
    fn finalize(&mut self) -> Result<(), Error> {
        self.ask(&Message::new("finalize"), "finalize-response")
            .map(|_| ())
    }
}
