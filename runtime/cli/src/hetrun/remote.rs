//! A host that is reached through ssh, on which an agent works for this hetrun.
//!
//! Between fork and exec `ssh` makes system calls only; signals go to a child that nobody has waited for.

use super::frames::{Notice, Order, PIECE, VERSION};
use super::host::{Happening, Plan};
use super::output::Stream;
use super::signals;
use hetmp_core::bootstrap::wire::{read_frame, Reply};
use std::io::{self, Write};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A message from a host.
#[derive(Debug)]
pub(crate) enum Word {
    Happened(Happening),
    /// The host cannot be used any more. The exit status, and why.
    Gone(i32, String),
}

/// How many beats without a sign of life make a host count as gone.
pub(crate) const BEATS: u32 = 4;

/// The signs of life of a host.
#[derive(Debug, Default)]
struct Pulse {
    /// Something has come since the last look.
    heard: AtomicBool,
    /// The agent has answered. From now on it sends beats.
    ready: AtomicBool,
    /// It was reported that the host is gone.
    gone: AtomicBool,
    /// The process id of ssh, until somebody has waited for its end.
    ssh: Mutex<Option<u32>>,
}

/// Input that was sent and not taken yet.
#[derive(Debug, Default)]
struct Way {
    bytes: usize,
    closed: bool,
}

type Input = Arc<(Mutex<Way>, Condvar)>;
type ToAgent = Arc<Mutex<Option<ChildStdin>>>;

/// The connection to an agent.
#[derive(Debug)]
pub(crate) struct Remote {
    to: ToAgent,
    input: Input,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The command that starts ssh unless the user names another: no terminal, no window system, no questions.
pub(crate) const SSH: &str = "ssh -T -x -o BatchMode=yes";

impl Remote {
    /// Starts an agent on `name`. Its messages are passed to `say`, by another thread.
    pub(crate) fn start(
        ssh: &str,
        name: &str,
        hetrun: &Path,
        plan: &Plan,
        say: impl Fn(Word) + Send + Sync + 'static,
        print: impl Fn(u32, Stream, &[u8]) + Send + 'static,
    ) -> Result<Self, String> {
        let mut words = ssh.split_whitespace();
        let program = words
            .next()
            .ok_or("option --ssh: empty (expected a command)".to_owned())?;
        let mut command = Command::new(program);
        command
            .args(words)
            .arg(name)
            .arg("exec")
            .arg(quoted(hetrun)?)
            .arg("--agent")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // The terminal's Ctrl-C is meant for the processes. hetrun passes it on to them.
            .process_group(0);
        // SAFETY: runs between fork and exec: system calls only.
        unsafe {
            command.pre_exec(|| {
                signals::unblock_all();
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM);
                Ok(())
            });
        }
        let mut child = command.spawn().map_err(|error| {
            format!("command {program}: one that reaches hosts is needed ({error})")
        })?;
        let remote = Self {
            to: Arc::new(Mutex::new(child.stdin.take())),
            input: Input::default(),
        };
        send(&remote.to, &Order::Start(Box::new(plan.clone())));
        let pulse = Arc::new(Pulse {
            ssh: Mutex::new(Some(child.id())),
            ..Pulse::default()
        });
        let say = Arc::new(say);
        if plan.host_timeout > 0 {
            let beat = Duration::from_secs(plan.host_timeout.into()) / BEATS;
            let to = Arc::clone(&remote.to);
            // Not the thread that watches, because a write may block.
            std::thread::spawn(move || loop {
                std::thread::sleep(beat);
                if !send(&to, &Order::Beat) {
                    return;
                }
            });
            let (pulse, say) = (Arc::clone(&pulse), Arc::clone(&say));
            let (name, plan) = (name.to_owned(), plan.clone());
            std::thread::spawn(move || watch(&name, &plan, beat, &pulse, &*say));
        }
        let (input, name, plan) = (Arc::clone(&remote.input), name.to_owned(), plan.clone());
        std::thread::spawn(move || listen(child, &name, &plan, &input, &pulse, &*say, &print));
        Ok(remote)
    }

    pub(crate) fn reply(&self, rank: u32, reply: Reply) {
        send(&self.to, &Order::Reply(rank, reply));
    }

    pub(crate) fn signal(&self, signal: i32) {
        send(&self.to, &Order::Signal(signal));
    }

    /// A writer to rank 0's standard input. Dropping it ends that input.
    pub(crate) fn stdin(&self) -> RemoteInput {
        RemoteInput {
            to: Arc::clone(&self.to),
            input: Arc::clone(&self.input),
        }
    }

    /// Ends the agent.
    pub(crate) fn close(&self) {
        lock(&self.to).take();
    }
}

/// False if the connection is closed or breaks now. The thread that listens to the agent notices when the agent is
/// gone.
fn send(to: &ToAgent, order: &Order) -> bool {
    let mut to = lock(to);
    let sent = |to: &mut ChildStdin| to.write_all(&order.encode()).and_then(|()| to.flush());
    to.as_mut().is_some_and(|to| sent(to).is_ok())
}

/// Gives the host up after [`BEATS`] beats in a row without a sign of life. It counts beats and not the time, because
/// hetrun may have been stopped for a while.
fn watch(name: &str, plan: &Plan, beat: Duration, pulse: &Pulse, say: &impl Fn(Word)) {
    let mut missed = 0;
    while missed < BEATS {
        std::thread::sleep(beat);
        if pulse.gone.load(Ordering::Relaxed) {
            return;
        }
        let silent =
            pulse.ready.load(Ordering::Relaxed) && !pulse.heard.swap(false, Ordering::Relaxed);
        missed = if silent { missed + 1 } else { 0 };
    }
    if pulse.gone.swap(true, Ordering::Relaxed) {
        return;
    }
    // A thread that waits to write to the host then gets an error.
    if let Some(ssh) = *lock(&pulse.ssh) {
        // SAFETY: asks for a signal to one of our children that nobody has waited for.
        unsafe { libc::kill(ssh as libc::pid_t, libc::SIGKILL) };
    }
    let ranks: Vec<u32> = plan.ranks.iter().map(|(rank, _)| *rank).collect();
    let ranks = match ranks[..] {
        [rank] => format!("rank {rank}"),
        [first, .., last] if (last - first) as usize + 1 == ranks.len() => {
            format!("ranks {first} to {last}")
        }
        _ => {
            let ranks: Vec<String> = ranks.iter().map(u32::to_string).collect();
            format!("ranks {}", ranks.join(", "))
        }
    };
    let text = format!(
        "host {name}, {ranks}: no sign of life for {} s (--host-timeout)",
        plan.host_timeout
    );
    say(Word::Gone(1, text));
}

/// A path as one word of a shell's command line: ssh passes one line to the shell on the other side.
fn quoted(path: &Path) -> Result<String, String> {
    let text = path
        .to_str()
        .filter(|text| !text.chars().any(char::is_control))
        .ok_or_else(|| {
            format!(
                "option --remote: '{}': has other than printable characters (expected a path of those)",
                path.display()
            )
        })?;
    Ok(format!("'{}'", text.replace('\'', "'\\''")))
}

fn listen(
    mut child: Child,
    name: &str,
    plan: &Plan,
    input: &Input,
    pulse: &Pulse,
    say: &impl Fn(Word),
    print: &impl Fn(u32, Stream, &[u8]),
) {
    let mut why = None;
    let mut ready = false;
    if let Some(mut from) = child.stdout.take() {
        loop {
            let notice = match read_frame(&mut from) {
                Ok(Some(bytes)) => Notice::decode(&bytes).map_err(|error| error.to_string()),
                Ok(None) => break,
                Err(error) => Err(error.to_string()),
            };
            pulse.heard.store(true, Ordering::Relaxed);
            match notice {
                Ok(Notice::Ready(VERSION)) if !ready => {
                    ready = true;
                    pulse.ready.store(true, Ordering::Relaxed);
                }
                Ok(Notice::Beat) if ready => {}
                Ok(Notice::Output(rank, stream, bytes)) if ready && plan.has(rank) => {
                    print(rank, stream, &bytes);
                }
                Ok(Notice::Happened(happening)) if ready && plan.has(rank_of(&happening)) => {
                    say(Word::Happened(happening));
                }
                Ok(Notice::Refused(status, text)) if ready => {
                    why = Some((status, format!("host {name}: {text}")));
                    break;
                }
                Ok(Notice::StdinTaken(n)) => {
                    let mut way = lock(&input.0);
                    way.bytes = way.bytes.saturating_sub(n as usize);
                    input.1.notify_all();
                }
                Ok(Notice::StdinClosed) => close(input),
                Ok(_) => {
                    why = Some((
                        1,
                        format!("host {name}: another version of hetrun (expected the same)"),
                    ));
                    break;
                }
                Err(error) => {
                    why = Some((
                        1,
                        format!(
                            "host {name}: {error} (expected hetrun's answers only, and nothing that a shell prints \
                             before)"
                        ),
                    ));
                    break;
                }
            }
        }
    }
    close(input);
    // Its replies do not matter any more. Without this it could wait for somebody to read them.
    let _ = child.kill();
    lock(&pulse.ssh).take();
    let ended = child.wait();
    if pulse.gone.swap(true, Ordering::Relaxed) {
        return;
    }
    let (status, text) = why.unwrap_or_else(|| {
        let how = ended.map_or_else(|error| error.to_string(), |status| status.to_string());
        let text = if ready {
            format!("host {name}: its connection is needed to the end ({how})")
        } else {
            format!("host {name}: {how} (expected one that ssh reaches, with hetrun on it)")
        };
        (1, text)
    });
    say(Word::Gone(status, text));
}

fn close(input: &Input) {
    lock(&input.0).closed = true;
    input.1.notify_all();
}

fn rank_of(happening: &Happening) -> u32 {
    match happening {
        Happening::Rank(rank, _) | Happening::Drained(rank) => *rank,
    }
}

/// A writer to a process on the other host.
#[derive(Debug)]
pub(crate) struct RemoteInput {
    to: ToAgent,
    input: Input,
}

/// How many bytes may be on their way. A process that does not read must not fill memory.
const WINDOW: usize = 2 * PIECE;

impl Write for RemoteInput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let piece = &bytes[..bytes.len().min(PIECE)];
        let mut way = lock(&self.input.0);
        while way.bytes + piece.len() > WINDOW && !way.closed {
            way = self
                .input
                .1
                .wait(way)
                .unwrap_or_else(PoisonError::into_inner);
        }
        if way.closed {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        way.bytes += piece.len();
        drop(way);
        if !piece.is_empty() {
            send(&self.to, &Order::Stdin(piece.to_vec()));
        }
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for RemoteInput {
    fn drop(&mut self) {
        send(&self.to, &Order::Stdin(Vec::new()));
    }
}

#[cfg(test)]
mod tests {
    use super::quoted;
    use std::path::Path;

    #[test]
    fn a_path_is_one_word() {
        assert_eq!(quoted(Path::new("/a b/c")).unwrap(), "'/a b/c'");
        assert_eq!(quoted(Path::new("/a'$(x)")).unwrap(), "'/a'\\''$(x)'");
        assert!(quoted(Path::new("/a\nb")).is_err());
    }
}
