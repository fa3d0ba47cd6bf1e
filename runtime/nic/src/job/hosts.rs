//! Notices that another host has vanished, for engines whose own connections cannot tell (libfabric's).
//!
//! A provider reports a peer's end at best, and the end of a host sends no word. So the lowest rank of each host, its
//! *leader*, keeps an idle connection to the leader of every other host. The kernels probe these connections
//! (`SO_KEEPALIVE`), also while the processes compute or are stopped. A probe that stays without an answer ends the
//! connection, and with that the job. A leader that ends takes its connections along, which says nothing about its
//! host.
//!
//! The connections are made in the background. Where they cannot be made (a firewall between the hosts), nothing is
//! watched, and the job runs all the same.

use crate::engine::tcp::connect::{mesh, Secret};
use crate::engine::tcp::{watch, Loss, Vanished};
use hetmp_core::thread;
use std::io::{ErrorKind, Read as _};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd as _;
use std::time::Duration;

/// How long the leaders wait for each other.
const PATIENCE: Duration = Duration::from_secs(60);

/// A leader: its rank, and where it listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Leader {
    pub(super) rank: u32,
    pub(super) at: SocketAddr,
}

/// Listens at `address` for the leaders of other hosts.
pub(super) fn listen(address: IpAddr) -> Option<(TcpListener, SocketAddr)> {
    let listener = TcpListener::bind((address, 0)).ok()?;
    let at = listener.local_addr().ok()?;
    Some((listener, at))
}

/// Watches the other hosts, in a thread that lives as long as the process. `own` is the index of this process among
/// the `leaders`, which are the same and in the same order for all of them.
pub(super) fn start(
    listener: TcpListener,
    leaders: Vec<Leader>,
    own: usize,
    secret: Secret,
    vanished: Vanished,
) -> std::io::Result<()> {
    thread::start(c"hetmp-hosts", move || {
        let addresses: Vec<SocketAddr> = leaders.iter().map(|l| l.at).collect();
        let Ok(streams) = mesh(own as u32, &listener, &addresses, &secret, PATIENCE) else {
            return;
        };
        drop(listener);
        let watched = streams
            .into_iter()
            .zip(leaders)
            .filter_map(|(stream, leader)| Some((stream?, leader)))
            .filter(|(stream, _)| watch(stream, vanished.after).is_ok());
        serve(watched.collect(), &vanished);
    })
    .map(drop)
}

/// Sleeps until a connection ends, until none is left.
fn serve(mut watched: Vec<(TcpStream, Leader)>, vanished: &Vanished) {
    while !watched.is_empty() {
        let mut fds: Vec<libc::pollfd> = watched
            .iter()
            .map(|(stream, _)| libc::pollfd {
                fd: stream.as_raw_fd(),
                events: libc::POLLIN,
                revents: 0,
            })
            .collect();
        // SAFETY: the array is live and of the length given.
        unsafe { libc::poll(fds.as_mut_ptr(), fds.len() as libc::nfds_t, -1) };
        let mut ready = fds.iter().map(|fd| fd.revents != 0);
        watched.retain_mut(|(stream, leader)| {
            if !ready.next().unwrap_or(false) {
                return true;
            }
            match stream.read(&mut [0; 16]) {
                Err(e) if matches!(e.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock) => {
                    true
                }
                Err(e)
                    if matches!(
                        e.kind(),
                        ErrorKind::TimedOut
                            | ErrorKind::HostUnreachable
                            | ErrorKind::NetworkUnreachable
                    ) =>
                {
                    (vanished.tell)(leader.rank, leader.at, Loss::Silent);
                    false
                }
                // The leader has ended. What its end means is the launcher's to say.
                Ok(0) | Err(_) => false,
                // Nobody sends anything here.
                Ok(_) => true,
            }
        });
    }
}
