//! A rank's way into a libfabric network: its endpoint, and what its peers have to know about it.

use super::way::own_address;
use super::Exchange;
use crate::domain::Domain;
use crate::engine::ofi::{self, Ofi, Opened};
use crate::engine::TemplateKeys;
use crate::keys::Memory;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

/// Under this name a rank publishes how to reach its endpoint.
const ENDPOINT: &str = "nic.ofi";
/// Under this name a rank publishes the provider of its adapter; empty without an adapter.
const ADAPTER: &str = "nic.adapter";

pub(super) struct Fabric {
    /// The provider that was asked for, if any.
    provider: Option<String>,
    opened: Option<Box<Opened>>,
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
        let opened = unsafe { ofi::open(rank, provider, Some(source), several, memory, secret) };
        let opened = opened.map_err(|e| match provider {
            Some(provider) => format!("HETMP_NIC ofi:{provider}: {e}"),
            None => format!("HETMP_NIC ofi: {e}"),
        })?;
        exchange
            .put(ENDPOINT, &opened.card())
            .map_err(|e| e.to_string())?;
        self.opened = Some(Box::new(opened));
        Ok(())
    }

    /// Starts the engine, after all ranks have published their endpoints.
    ///
    /// # Errors
    /// One line: a rank has published nothing, or something that the provider does not understand.
    pub(super) fn start(
        self,
        exchange: &mut dyn Exchange,
        member: &str,
        domain: Arc<Domain>,
        keys: TemplateKeys,
    ) -> Result<Ofi, String> {
        let Some(opened) = self.opened else {
            unreachable!("`begin` has opened the endpoint");
        };
        let mut cards = Vec::new();
        for r in 0..exchange.size() {
            let card = exchange
                .get(r, ENDPOINT)
                .map_err(|e| format!("{member} {r}: {e}"))?;
            let none = || {
                format!("{member} {r}: it has no endpoint: the same HETMP_NIC for all is accepted")
            };
            cards.push(card.ok_or_else(none)?);
        }
        let rank = exchange.rank();
        opened
            .start(rank, domain, &cards, keys, exchange.secret())
            .map_err(|e| format!("{member} {rank}: libfabric: {e}"))
    }
}
