//! What is asked for, and which engine that takes.

use super::fabric::{common_adapter, Fabric};
use super::Exchange;
use crate::device_memory::DeviceMemory;
use crate::domain::Sizes;
use crate::engine::emulated::Model;
use core::ffi::CStr;
use std::net::{IpAddr, TcpListener, ToSocketAddrs};

/// Where a rank listens for its peers.
pub(super) const ADDRESS: &str = "nic.tcp";

/// What was asked for: `HETMP_NIC`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Mapped memory where it can be, sockets elsewhere.
    Auto,
    /// Mapped memory only.
    Shm,
    /// The software adapter, for peers on this machine.
    Emulated,
    /// Sockets to everybody.
    Tcp,
    /// libfabric to everybody, by this provider or by the one that suits best.
    Ofi(Option<&'static str>),
}

impl Way {
    /// As users write it.
    pub fn name(self) -> &'static str {
        match self {
            Way::Auto => "auto",
            Way::Shm => "shm",
            Way::Emulated => "emulated",
            Way::Tcp => "tcp",
            Way::Ofi(_) => "ofi",
        }
    }

    /// Of what a user wrote, which for libfabric may have a provider behind a colon.
    pub fn of(name: &str) -> Option<Way> {
        if let Some(provider) = name.strip_prefix("ofi:").filter(|p| !p.is_empty()) {
            // Settings are read once.
            return Some(Way::Ofi(Some(provider.to_owned().leak())));
        }
        [Way::Auto, Way::Shm, Way::Emulated, Way::Tcp, Way::Ofi(None)]
            .into_iter()
            .find(|w| w.name() == name)
    }
}

/// Whom the engine of a job reaches; the others' memory is accessed by loads and stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Nobody: every peer is mapped, and there is no engine.
    Nobody,
    /// Those whose memory is not mapped here.
    Unmapped,
    /// All but this rank.
    Others,
    /// All, this rank too: the modelled memory is behind the adapter.
    All,
}

/// What a process brings along.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// What messages call a rank: `PE` for example.
    pub member: &'static str,
    /// What `/proc` calls the segment.
    pub name: &'a CStr,
    /// Bytes of memory that peers are to reach.
    pub memory: usize,
    /// What that memory is aligned to in every process: a power of two, at least a page.
    pub align: usize,
    /// Of the domain; the same in every process.
    pub sizes: Sizes,
    /// Which engine.
    pub way: Way,
    /// `HETMP_NIC_MODEL`; empty for none.
    pub model: &'a str,
    /// Sockets are connected when a peer first has something for another one; else all of them before the job starts.
    pub dials: bool,
}

pub(super) enum Plan {
    Mapped,
    Emulated(Model),
    Tcp(TcpListener, Reach),
    Ofi(Fabric, Reach),
}

impl Plan {
    /// True if memory of peers of this machine is to be mapped.
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

/// Which engine; a rank that listens says where.
pub(super) fn plan(request: &Request<'_>, exchange: &mut dyn Exchange) -> Result<Plan, String> {
    let all_local = exchange.local_ranks().len() == exchange.size() as usize;
    let here_only = |plan| {
        if all_local {
            Ok(plan)
        } else {
            Err(format!(
                "HETMP_NIC {}: auto, tcp or ofi is accepted for {}s on several machines",
                request.way.name(),
                request.member
            ))
        }
    };
    if !request.model.is_empty() {
        let device = DeviceMemory::parse(request.model).map_err(|e| e.to_string())?;
        if !matches!(request.way, Way::Auto | Way::Emulated) {
            return Err(format!(
                "HETMP_NIC {}: auto or emulated is accepted with HETMP_NIC_MODEL",
                request.way.name()
            ));
        }
        return here_only(Plan::Emulated(Model {
            device: Some(device),
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

/// The address that this machine's name stands for, where the launcher does not say one.
pub(super) fn own_address() -> Result<IpAddr, String> {
    let mut buffer = [0u8; 256];
    // SAFETY: room for as many as said; the last byte stays zero.
    unsafe { libc::gethostname(buffer.as_mut_ptr().cast(), buffer.len() - 1) };
    let end = buffer.iter().position(|&b| b == 0).unwrap_or(0);
    let name = String::from_utf8_lossy(&buffer[..end]).into_owned();
    (name.as_str(), 0)
        .to_socket_addrs()
        .ok()
        .and_then(|mut all| all.find(|a| !a.ip().is_loopback()))
        .map(|a| a.ip())
        .ok_or_else(|| {
            format!("host name {name}: one that stands for an address which other machines reach is accepted")
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
