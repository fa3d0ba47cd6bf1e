//! `hetrun --agent`: works on another host for a hetrun. It gets orders through standard input, and reports through
//! standard output. It ends, with everything it has started, when that connection ends. It also ends if nothing has
//! come through the connection for the time that hetrun has given: hetrun's host may be gone.

use super::frames::{Notice, Order, VERSION};
use super::host::{Host, Output, Report};
use super::remote::BEATS;
use hetmp_core::bootstrap::wire::{read_frame, Malformed};
use std::io::{stdin, stdout, Write};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::Arc;
use std::time::Duration;

fn tell(notice: &Notice) {
    let mut out = stdout().lock();
    // If nobody reads the output, the input has ended too.
    let _ = out.write_all(&notice.encode()).and_then(|()| out.flush());
}

/// Serves a hetrun, and returns the exit status.
pub(crate) fn run() -> u8 {
    tell(&Notice::Ready(VERSION));
    let mut host: Option<Host> = None;
    let mut input: Option<mpsc::Sender<Vec<u8>>> = None;
    let orders = listen();
    let mut silence = Silence::default();
    let status = loop {
        let Some(order) = silence.next(&orders) else {
            break 0;
        };
        match order {
            Ok(Order::Start(plan)) if host.is_none() => {
                silence.starts(plan.host_timeout);
                let report: Report = Arc::new(|happening| tell(&Notice::Happened(happening)));
                let output: Output = Arc::new(|rank, stream, bytes| {
                    tell(&Notice::Output(rank, stream, bytes.to_vec()));
                });
                match Host::start(&plan, &report, &output) {
                    Ok(mut started) => {
                        input = started.stdin().map(feed);
                        host = Some(started);
                    }
                    Err((status, text)) => tell(&Notice::Refused(status, text)),
                }
            }
            Ok(Order::Stdin(bytes)) => {
                if bytes.is_empty() {
                    input = None;
                } else if let Some(input) = &input {
                    let _ = input.send(bytes);
                }
            }
            Ok(Order::Reply(rank, reply)) => {
                if let Some(host) = &host {
                    host.reply(rank, &reply);
                }
            }
            Ok(Order::Beat) => {}
            Ok(Order::Signal(signal)) => {
                // After this signal hetrun stops itself, and sends nothing until it is continued.
                silence.expected = signal == libc::SIGTSTP;
                if let Some(host) = &host {
                    host.signal(signal);
                }
            }
            Ok(Order::Start(_)) => break refuse("a second job (expected one)"),
            Err(error) => break refuse(error.0),
        }
    };
    if let Some(host) = &host {
        host.signal(libc::SIGTERM);
        host.signal(libc::SIGCONT);
        std::thread::sleep(Duration::from_millis(300));
        host.signal(libc::SIGKILL);
    }
    status
}

/// Hetrun's orders, read by a thread of its own, which ends with the connection.
fn listen() -> Receiver<Result<Order, Malformed>> {
    let (sender, orders) = mpsc::channel();
    std::thread::spawn(move || {
        let mut from = stdin().lock();
        while let Ok(Some(bytes)) = read_frame(&mut from) {
            if sender.send(Order::decode(&bytes)).is_err() {
                return;
            }
        }
    });
    orders
}

/// Counts beats in which nothing has come.
#[derive(Default)]
struct Silence {
    /// The time of a beat; `None`: wait for ever.
    beat: Option<Duration>,
    missed: u32,
    expected: bool,
}

impl Silence {
    /// The job begins. From now on hetrun sends beats, and so does this agent.
    fn starts(&mut self, seconds: u32) {
        if seconds == 0 {
            return;
        }
        let beat = Duration::from_secs(seconds.into()) / BEATS;
        self.beat = Some(beat);
        std::thread::spawn(move || loop {
            std::thread::sleep(beat);
            tell(&Notice::Beat);
        });
    }

    /// The next order; `None` if the connection has ended, or has been silent for too long.
    fn next<T>(&mut self, orders: &Receiver<T>) -> Option<T> {
        loop {
            let heard = match self.beat {
                None => orders.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(beat) => orders.recv_timeout(beat),
            };
            match heard {
                Ok(order) => {
                    self.missed = 0;
                    return Some(order);
                }
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) if self.expected => {}
                Err(RecvTimeoutError::Timeout) => {
                    self.missed += 1;
                    if self.missed >= BEATS {
                        return None;
                    }
                }
            }
        }
    }
}

fn refuse(text: &str) -> u8 {
    tell(&Notice::Refused(1, format!("agent: {text}")));
    1
}

/// A thread that writes to a process. The process may read slowly, and must not delay anything else.
fn feed(mut to: impl Write + Send + 'static) -> mpsc::Sender<Vec<u8>> {
    let (sender, pieces) = mpsc::channel::<Vec<u8>>();
    std::thread::spawn(move || {
        for piece in pieces {
            if to.write_all(&piece).is_err() {
                tell(&Notice::StdinClosed);
                return;
            }
            tell(&Notice::StdinTaken(piece.len() as u32));
        }
    });
    sender
}
