//! The engine that is asked for, and what it needs.

use super::fabric::{common_adapter, Fabric};
use super::Exchange;
use crate::device_memory::DeviceMemory;
use crate::domain::Sizes;
use crate::engine::emulated::Model;
use core::ffi::CStr;
use std::net::{IpAddr, TcpListener, ToSocketAddrs};

/// Where a rank listens for its peers.
pub(super) const ADDRESS: &str = "nic.tcp";

/// The engine that was asked for by `HETMP_NIC`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Mapped memory for peers on this machine, sockets for others.
    Auto,
    /// Mapped memory only.
    Shm,
    /// The software adapter, for peers on this machine.
    Emulated,
    /// Sockets to everybody.
    Tcp,
    /// libfabric to everybody, by this provider or by the most suitable one.
    Ofi(Option<&'static str>),
}

impl Way {
    /// The name, as users write it.
    pub fn name(self) -> &'static str {
        match self {
            Way::Auto => "auto",
            Way::Shm => "shm",
            Way::Emulated => "emulated",
            Way::Tcp => "tcp",
            Way::Ofi(_) => "ofi",
        }
    }

    /// Reads what a user wrote. For libfabric a provider may follow after a colon.
    pub fn of(name: &str) -> Option<Way> {
        if let Some(provider) = name.strip_prefix("ofi:").filter(|p| !p.is_empty()) {
            // Leaks a few bytes: settings are read once.
            return Some(Way::Ofi(Some(provider.to_owned().leak())));
        }
        [Way::Auto, Way::Shm, Way::Emulated, Way::Tcp, Way::Ofi(None)]
            .into_iter()
            .find(|w| w.name() == name)
    }
}

/// Which ranks a job's engine reaches. The memory of the other ranks is accessed by loads and stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// No rank: every peer is mapped, and there is no engine.
    Nobody,
    /// The ranks whose memory is not mapped here.
    Unmapped,
    /// All ranks but this one.
    Others,
    /// All ranks, this one too: the adapter stands before the modelled memory.
    All,
}

/// What a process asks for when it joins.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The word for a rank in messages, such as `PE`.
    pub member: &'static str,
    /// The segment's name in `/proc`.
    pub name: &'a CStr,
    /// Bytes of memory that peers can reach.
    pub memory: usize,
    /// The alignment of that memory in every process: a power of two, at least a page.
    pub align: usize,
    /// Sizes of the domain; the same in every process.
    pub sizes: Sizes,
    /// The engine that is asked for.
    pub way: Way,
    /// The value of `HETMP_NIC_MODEL`; empty for none.
    pub model: &'a str,
    /// Sockets are connected when a rank first has something to send to a peer; if false, all are connected before
    /// the job starts.
    pub dials: bool,
    /// No rank may go before this one has left the job: the end of a rank's connection ends the job.
    pub needs_all: bool,
}

pub(super) enum Plan {
    Mapped,
    Emulated(Model),
    Tcp(TcpListener, Reach),
    Ofi(Fabric, Reach),
}

impl Plan {
    /// True if the memory of peers on this machine is mapped.
    pub(super) fn maps(&self) -> bool {
        !matches!(
            self,
            Plan::Tcp(_, Reach::Others) | Plan::Ofi(_, Reach::Others)
        )
    }

    pub(super) fn reach(&self) -> Reach {
        match self {
            Plan::Mapped => Reach::Nobody,
            Plan::Emulated(model) if model.device.is_some() => Reach::All,
            Plan::Emulated(_) => Reach::Others,
            Plan::Tcp(_, reach) | Plan::Ofi(_, reach) => *reach,
        }
    }
}

/// Decides which engine the job gets. A rank that listens publishes its address.
pub(super) fn plan(request: &Request<'_>, exchange: &mut dyn Exchange) -> Result<Plan, String> {
    let all_local = exchange.local_ranks().len() == exchange.size() as usize;
    let here_only = |plan| {
        if all_local {
            Ok(plan)
        } else {
            Err(format!(
                "HETMP_NIC: '{}': one machine only (expected auto, tcp or ofi for {}s on several)",
                request.way.name(),
                request.member
            ))
        }
    };
    if !request.model.is_empty() {
        let device = DeviceMemory::parse(request.model).map_err(|e| e.to_string())?;
        if !matches!(request.way, Way::Auto | Way::Emulated) {
            return Err(format!(
                "HETMP_NIC: '{}': has no HETMP_NIC_MODEL (expected auto or emulated)",
                request.way.name()
            ));
        }
        return here_only(Plan::Emulated(Model {
            device: Some(device),
            // A checked adapter reads sources late, as a real one may: a source that is changed too early is noticed.
            jitter_ns: if device.check { device.hold_ns } else { 0 },
            seed: device.seed,
            ..Model::default()
        }));
    }
    match request.way {
        Way::Auto if all_local => Ok(Plan::Mapped),
        Way::Auto => match common_adapter(exchange)? {
            Some(provider) => Ok(Plan::Ofi(Fabric::wanted(Some(provider)), Reach::Unmapped)),
            None => listen(exchange, Reach::Unmapped),
        },
        Way::Tcp => listen(exchange, Reach::Others),
        Way::Ofi(provider) => Ok(Plan::Ofi(
            Fabric::wanted(provider.map(str::to_owned)),
            Reach::Others,
        )),
        Way::Shm => here_only(Plan::Mapped),
        Way::Emulated => here_only(Plan::Emulated(Model::default())),
    }
}

fn listen(exchange: &mut dyn Exchange, reach: Reach) -> Result<Plan, String> {
    let address = match exchange.address() {
        Some(address) => address,
        None => own_address()?,
    };
    let listener = TcpListener::bind((address, 0))
        .and_then(|l| l.local_addr().map(|a| (l, a)))
        .map_err(|e| format!("listening at {address}: {e}"));
    let (listener, at) = listener?;
    exchange
        .put(ADDRESS, at.to_string().as_bytes())
        .map_err(|e| e.to_string())?;
    Ok(Plan::Tcp(listener, reach))
}

/// The address of this machine's host name, for launchers that do not tell an address.
pub(super) fn own_address() -> Result<IpAddr, String> {
    let mut buffer = [0u8; 256];
    // SAFETY: the buffer is one byte longer than the call is told, so that the last byte stays zero.
    unsafe { libc::gethostname(buffer.as_mut_ptr().cast(), buffer.len() - 1) };
    let end = buffer.iter().position(|&b| b == 0).unwrap_or(0);
    let name = String::from_utf8_lossy(&buffer[..end]).into_owned();
    (name.as_str(), 0)
        .to_socket_addrs()
        .ok()
        .and_then(|mut all| all.find(|a| !a.ip().is_loopback()))
        .map(|a| a.ip())
        .ok_or_else(|| {
            format!("host name {name}: no address that other machines reach (expected one)")
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_have_names() {
        for way in [Way::Auto, Way::Shm, Way::Emulated, Way::Tcp, Way::Ofi(None)] {
            assert_eq!(Way::of(way.name()), Some(way));
        }
        assert_eq!(
            Way::of("ofi:tcp;ofi_rxm"),
            Some(Way::Ofi(Some("tcp;ofi_rxm")))
        );
        assert_eq!(Way::of("ofi:"), None);
        assert_eq!(Way::of("pigeon"), None);
    }
}
