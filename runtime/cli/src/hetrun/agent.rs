//! `hetrun --agent`: does on another host what a hetrun asks for over standard input, and tells it
//! over standard output what happens. Ends, with everything it started, when that connection does.

use super::frames::{Notice, Order, VERSION};
use super::host::{Host, Output, Report};
use hetmp_core::bootstrap::wire::read_frame;
use std::io::{stdin, stdout, Write};
use std::sync::mpsc;
use std::sync::Arc;
use std::time::Duration;

fn tell(notice: &Notice) {
    let mut out = stdout().lock();
    // Where nobody listens, standard input has ended, too.
    let _ = out.write_all(&notice.encode()).and_then(|()| out.flush());
}

/// Serves; returns the exit status.
pub(crate) fn run() -> u8 {
    tell(&Notice::Ready(VERSION));
    let mut host: Option<Host> = None;
    let mut input: Option<mpsc::Sender<Vec<u8>>> = None;
    let mut from = stdin().lock();
    let status = loop {
        let order = match read_frame(&mut from) {
            Ok(Some(bytes)) => Order::decode(&bytes),
            Ok(None) | Err(_) => break 0,
        };
        match order {
            Ok(Order::Start(plan)) if host.is_none() => {
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
            Ok(Order::Signal(signal)) => {
                if let Some(host) = &host {
                    host.signal(signal);
                }
            }
            Ok(Order::Start(_)) => break refuse("one job is accepted"),
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

fn refuse(text: &str) -> u8 {
    tell(&Notice::Refused(1, format!("agent: {text}")));
    1
}

/// A thread that writes to a process: it may be slow to read, which must not hold up the rest.
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
