//! A rank's way into a libfabric network: its endpoint, and what its peers have to know about it.
//!
//! Memory that peers write is a segment that stays mapped as long as the process: the contract of [`ofi::open`] is
//! passed on.

use super::hosts::{self, Leader};
use super::way::own_address;
use super::Exchange;
use crate::domain::Domain;
use crate::engine::ofi::{self, Ofi, Opened, MOST_ENDPOINTS};
use crate::engine::tcp::Vanished;
use crate::engine::TemplateKeys;
use crate::keys::Memory;
use hetmp_core::env;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;

/// Under this name a rank publishes a line and how to reach its endpoint. In the line is the address where the lowest
/// rank of each of several hosts awaits the others of these (see [`hosts`]); it is empty for other ranks.
const ENDPOINT: &str = "nic.ofi";
/// Under this name a rank publishes the provider of its adapter; empty without an adapter.
const ADAPTER: &str = "nic.adapter";

pub(super) struct Fabric {
    /// The provider that was asked for, if any.
    provider: Option<String>,
    opened: Option<Box<Opened>>,
    /// Where this rank listens if it is its host's leader and there are several hosts.
    leads: Option<TcpListener>,
}

/// Divides what a rank has published.
fn parts(published: &[u8]) -> Option<(Option<SocketAddr>, &[u8])> {
    let end = published.iter().position(|b| *b == b'\n')?;
    let line = core::str::from_utf8(&published[..end]).ok()?;
    let at = match line {
        "" => None,
        text => Some(text.parse().ok()?),
    };
    Some((at, &published[end + 1..]))
}

/// How many endpoints this rank opens, as `HETMP_NIC_ENDPOINTS` says.
fn endpoints() -> u32 {
    env::number("HETMP_NIC_ENDPOINTS", 1..=MOST_ENDPOINTS).unwrap_or(1)
}

/// The provider of a fast adapter, if all ranks have an adapter of the same provider.
pub(super) fn common_adapter(exchange: &mut dyn Exchange) -> Result<Option<String>, String> {
    let own = ofi::adapter().unwrap_or_default();
    exchange
        .put(ADAPTER, own.as_bytes())
        .and_then(|()| exchange.fence())
        .map_err(|e| e.to_string())?;
    let mut same = !own.is_empty();
    for r in 0..exchange.size() {
        let theirs = exchange.get(r, ADAPTER).map_err(|e| e.to_string())?;
        same &= theirs.is_some_and(|t| t == own.as_bytes());
    }
    Ok(same.then_some(own))
}

impl Fabric {
    /// By `provider`, or by the most suitable one.
    pub(super) fn wanted(provider: Option<String>) -> Fabric {
        Fabric {
            provider,
            opened: None,
            leads: None,
        }
    }

    /// Opens this rank's endpoint for its memory, and publishes how to reach it.
    ///
    /// # Errors
    /// One line: the library or provider is missing, or cannot do what is needed.
    ///
    /// # Safety
    /// As for [`ofi::open`].
    pub(super) unsafe fn enter(
        &mut self,
        memory: Memory,
        exchange: &mut dyn Exchange,
    ) -> Result<(), String> {
        let several = exchange.local_ranks().len() != exchange.size() as usize;
        let source = match exchange.address() {
            Some(address) => address,
            None if several => own_address()?,
            None => IpAddr::V4(Ipv4Addr::LOCALHOST),
        };
        let provider = self.provider.as_deref();
        let (rank, secret) = (exchange.rank(), exchange.secret());
        // SAFETY: who calls upholds the contract of `ofi::open`.
        let opened = unsafe {
            ofi::open(
                rank,
                provider,
                Some(source),
                several,
                memory,
                secret,
                endpoints(),
            )
        };
        let opened = opened.map_err(|e| match provider {
            Some(provider) => format!("HETMP_NIC ofi:{provider}: {e}"),
            None => format!("HETMP_NIC: 'ofi': {e}"),
        })?;
        let mut card = Vec::new();
        if several && exchange.local_ranks().first() == Some(&rank) {
            if let Some((listener, at)) = hosts::listen(source) {
                card.extend_from_slice(at.to_string().as_bytes());
                self.leads = Some(listener);
            }
        }
        card.push(b'\n');
        card.extend_from_slice(&opened.card());
        exchange.put(ENDPOINT, &card).map_err(|e| e.to_string())?;
        self.opened = Some(Box::new(opened));
        Ok(())
    }

    /// Starts the engine, after all ranks have published their endpoints. `vanished`: what to do about hosts that
    /// vanish.
    ///
    /// # Errors
    /// One line: a rank has published nothing, or something that the provider does not understand.
    pub(super) fn start(
        self,
        exchange: &mut dyn Exchange,
        member: &str,
        domain: Arc<Domain>,
        keys: TemplateKeys,
        vanished: Option<Vanished>,
    ) -> Result<Ofi, String> {
        let Some(opened) = self.opened else {
            unreachable!("`begin` has opened the endpoint");
        };
        let mut cards = Vec::new();
        let mut leaders = Vec::new();
        for r in 0..exchange.size() {
            let card = exchange
                .get(r, ENDPOINT)
                .map_err(|e| format!("{member} {r}: {e}"))?;
            let none = || {
                format!("{member} {r}: it has no endpoint (expected the same HETMP_NIC for all)")
            };
            let card = card.ok_or_else(none)?;
            let (at, card) = parts(&card).ok_or_else(none)?;
            leaders.extend(at.map(|at| Leader { rank: r, at }));
            cards.push(card.to_vec());
        }
        let rank = exchange.rank();
        let own = leaders.iter().position(|l| l.rank == rank);
        if let (Some(listener), Some(own), Some(vanished)) = (self.leads, own, vanished) {
            // Without a thread for this, the job runs all the same.
            let _ = hosts::start(listener, leaders, own, *exchange.secret(), vanished);
        }
        opened
            .start(rank, domain, &cards, keys, exchange.secret())
            .map_err(|e| format!("{member} {rank}: libfabric: {e}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_published_comes_back() {
        let at: SocketAddr = "10.0.0.2:700".parse().expect("an address");
        assert_eq!(
            parts(b"10.0.0.2:700\n\nabc"),
            Some((Some(at), &b"\nabc"[..]))
        );
        assert_eq!(parts(b"\nabc"), Some((None, &b"abc"[..])));
        assert_eq!(parts(b"abc"), None);
        assert_eq!(parts(b"somewhere\nabc"), None);
    }
}
