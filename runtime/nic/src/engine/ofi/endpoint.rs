//! A libfabric endpoint, with the fabric, domain, address vector and completion queue that it needs. Every call of an
//! opened object is made in this file, but for closing.
//!
//! The objects are opened for [`FI_THREAD_DOMAIN`](super::abi::FI_THREAD_DOMAIN): one thread at a time may call them.
//! `&mut self` ensures that.

use super::abi::{
    AvAttr, CqAttr, CqEntry, CqError, Fid, Info, Mr, MsgRma, RmaIov, FI_COMPLETION,
    FI_CQ_FORMAT_DATA, FI_DELIVERY_COMPLETE, FI_EAGAIN, FI_EAVAIL, FI_ENABLE, FI_GETWAIT,
    FI_INJECT, FI_INJECT_COMPLETE, FI_MR_ENDPOINT, FI_MR_PROV_KEY, FI_ORDER_RAW, FI_ORDER_SAS,
    FI_ORDER_SAW, FI_ORDER_WAW, FI_READ, FI_RECV, FI_REMOTE_CQ_DATA, FI_REMOTE_READ,
    FI_REMOTE_WRITE, FI_SEND, FI_SOCKADDR, FI_WAIT_FD, FI_WAIT_NONE, FI_WRITE,
};
use super::closing::{close, Close as _, Objects, MAPPED};
use super::library::{is_adapter, provider_of, with_own_handlers, Library, Wish};
use core::ffi::{c_int, c_void};
use core::ptr::null_mut;
use std::net::IpAddr;
use std::os::fd::RawFd;
use std::path::PathBuf;

/// Longest address of an endpoint.
const LONGEST_ADDRESS: usize = 512;
/// The completion queue has room for at least this many.
const COMPLETIONS: usize = 4096;

/// The abilities of a provider that the engine asks about.
#[derive(Clone, Debug)]
pub(super) struct Facts {
    pub(super) provider: String,
    /// The most bytes that can be injected: then the source may be written again at once.
    pub(super) inject: usize,
    /// The longest operation, bytes.
    pub(super) longest: usize,
    /// A put can carry 64 bits to the target's completion queue.
    pub(super) cq_data: bool,
    /// The `FI_MR_*` bits.
    pub(super) mr_mode: c_int,
    /// Whether a write keeps its place after an earlier write (`waw`), a read after an earlier write (`raw`), and a
    /// message after an earlier write (`saw`).
    pub(super) waw: bool,
    pub(super) raw: bool,
    pub(super) saw: bool,
    /// Bytes arrive through a stream that the target's process reads, so that a word may arrive in two parts. The
    /// provider `shm` copies them from memory to memory, a word in one piece.
    pub(super) streams: bool,
    /// At most one write of up to [`Facts::inject`] bytes is on its way to a peer; the next one is refused until the
    /// peer's process has answered (`shm`: a write that has to say when it has landed goes through one buffer).
    pub(super) one_write: bool,
    /// How many receives may be posted.
    pub(super) receives: usize,
}

impl Facts {
    /// # Safety
    /// `info` is an entry of a live list.
    unsafe fn of(info: *mut Info) -> Facts {
        // SAFETY: who calls has an entry of a live list, and every entry has all its parts.
        let (tx, rx, ep, domain) = unsafe {
            let i = &*info;
            (&*i.tx_attr, &*i.rx_attr, &*i.ep_attr, &*i.domain_attr)
        };
        let order = tx.msg_order & rx.msg_order;
        let whole = |bit: u64, most: usize| order & bit != 0 && most == usize::MAX;
        let provider = provider_of(info);
        Facts {
            inject: tx.inject_size,
            longest: ep.max_msg_size,
            cq_data: domain.cq_data_size >= 8,
            mr_mode: domain.mr_mode,
            waw: whole(FI_ORDER_WAW, ep.max_order_waw_size),
            raw: whole(FI_ORDER_RAW, ep.max_order_raw_size),
            saw: whole(FI_ORDER_SAW, ep.max_order_waw_size),
            streams: !is_adapter(&provider) && provider != "shm",
            one_write: provider == "shm",
            receives: rx.size,
            provider,
        }
    }

    /// Ranks in one process reach each other's endpoints through the same mapping, see [`closing`](super::closing).
    fn is_mapped(&self) -> bool {
        self.provider == "shm"
    }

    pub(super) fn has_mode(&self, bit: c_int) -> bool {
        self.mr_mode & bit != 0
    }
}

/// What the provider did with an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Posted {
    Yes,
    /// The provider has no room now.
    Busy,
    /// The operation failed with this error, and will never be done.
    Failed(i32),
}

impl Posted {
    fn of(result: isize) -> Posted {
        match result {
            0.. => Posted::Yes,
            r if r == -FI_EAGAIN => Posted::Busy,
            r => Posted::Failed(-r as i32),
        }
    }
}

/// What the provider is to say of a write, and when the write's source may be written again: at that word, if nothing
/// else is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tell {
    /// That the bytes have left.
    Sent,
    /// That the bytes are in the target's memory.
    Arrived,
    /// As `Arrived`. The source may be written again as soon as the call returns.
    ArrivedOfCopy,
}

/// Memory that is registered with the provider while this value lives.
pub(super) struct Region(*mut Mr);

impl Region {
    /// The key by which peers name the region.
    pub(super) fn key(&self) -> u64 {
        // SAFETY: the region is open as long as `self`.
        unsafe { (*self.0).key }
    }

    /// The descriptor by which own operations name the region.
    pub(super) fn descriptor(&self) -> *mut c_void {
        // SAFETY: the region is open as long as `self`.
        unsafe { (*self.0).mem_desc }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: the region is open, and only this value owns it.
        unsafe { close(self.0.cast()) }
    }
}

/// An endpoint's address, as peers need it.
pub(super) type Address = Vec<u8>;

/// An endpoint, connectionless and reliable (`FI_EP_RDM`).
pub(super) struct Endpoint {
    library: &'static Library,
    objects: Objects,
    /// A descriptor that is readable when there is something to do; `None` if the provider has none.
    fd: Option<RawFd>,
    facts: Facts,
}

impl Endpoint {
    /// Opens an endpoint of `provider`, or of the most suitable provider. `source` is this machine's address for
    /// peers. `several`: peers are on other machines too.
    ///
    /// # Errors
    /// One line without the variable's name: the library or provider is missing, or cannot do what is needed.
    pub(super) fn open(
        provider: Option<&str>,
        source: Option<IpAddr>,
        several: bool,
    ) -> Result<Endpoint, String> {
        let library = Library::get()?;
        let wish = |order, source| Wish {
            provider,
            source,
            able: true,
            order,
        };
        // First asks for the order that makes fences cheap, then for the least order that is needed.
        let orders = [
            FI_ORDER_SAS | FI_ORDER_WAW | FI_ORDER_RAW | FI_ORDER_SAW,
            FI_ORDER_SAS,
        ];
        for order in orders {
            // A provider whose addresses are not internet addresses offers nothing for such a source.
            for source in [source, None] {
                let offers = library.offers(wish(order, source))?;
                let suits = |i: &*mut Info| {
                    // SAFETY: an entry of a live list.
                    let inet = unsafe { FI_SOCKADDR.contains(&(**i).addr_format) };
                    // The provider `shm` keeps writes in order only by leaving reads to the target's process. Without
                    // that order, who reads copies the bytes, and need not wait for a target that computes.
                    let here = !several && order == FI_ORDER_SAS;
                    (inet || source.is_none()) && (here || provider_of(*i) != "shm")
                };
                let best = offers
                    .each()
                    .filter(suits)
                    .min_by_key(|i| (!is_adapter(&provider_of(*i)), rank(&provider_of(*i))));
                if let Some(info) = best {
                    // SAFETY: the entry's list lives until the end of this call.
                    return unsafe { Endpoint::start(library, info) };
                }
            }
        }
        let all = library.offers(Wish {
            provider: None,
            ..wish(FI_ORDER_SAS, None)
        })?;
        let accepted = all.names().join(", ");
        let exists = !library
            .offers(Wish {
                able: false,
                ..wish(0, None)
            })?
            .names()
            .is_empty();
        Err(match provider {
            Some(_) if exists => format!(
                "this provider has no ordered messages with remote memory access between these processes (expected \
                    one of {accepted})"
            ),
            Some(_) => format!("libfabric has no such provider here (expected one of {accepted})"),
            None => "libfabric has no provider with messages and remote memory access here".to_owned(),
        })
    }

    /// # Safety
    /// `info` is an entry of a live list.
    unsafe fn start(library: &'static Library, info: *mut Info) -> Result<Endpoint, String> {
        // SAFETY: who calls has an entry of a live list.
        let facts = unsafe { Facts::of(info) };
        let mut e = Endpoint {
            library,
            objects: Objects::NONE,
            fd: None,
            facts,
        };
        if e.facts.is_mapped() {
            MAPPED.opens();
        }
        // SAFETY: who calls has an entry of a live list, with all its parts. Each call gets objects that earlier
        // calls have opened, and room for its result. Dropping `e` closes what was opened.
        unsafe {
            // Each operation says itself when it completes.
            (*(*info).tx_attr).op_flags = 0;
            let r = (library.fabric)((*info).fabric_attr, &mut e.objects.fabric, null_mut());
            library.check("fi_fabric", r)?;
            let r = ((*(*e.objects.fabric).ops).domain)(
                e.objects.fabric,
                info,
                &mut e.objects.domain,
                null_mut(),
            );
            library.check("fi_domain", r)?;
            let mut attr: AvAttr = core::mem::zeroed();
            let r = ((*(*e.objects.domain).ops).av_open)(
                e.objects.domain,
                &mut attr,
                &mut e.objects.av,
                null_mut(),
            );
            library.check("fi_av_open", r)?;
            for wait_obj in [FI_WAIT_FD, FI_WAIT_NONE] {
                let mut attr: CqAttr = core::mem::zeroed();
                attr.size = COMPLETIONS;
                attr.format = FI_CQ_FORMAT_DATA;
                attr.wait_obj = wait_obj;
                let r = ((*(*e.objects.domain).ops).cq_open)(
                    e.objects.domain,
                    &mut attr,
                    &mut e.objects.cq,
                    null_mut(),
                );
                if r >= 0 {
                    if wait_obj == FI_WAIT_FD {
                        let mut fd: c_int = -1;
                        let cq = e.objects.cq.cast::<Fid>();
                        let at = (&raw mut fd).cast();
                        if ((*(*cq).ops).control)(cq, FI_GETWAIT, at) >= 0 && fd >= 0 {
                            e.fd = Some(fd);
                        }
                    }
                    break;
                }
                e.objects.cq = null_mut();
                if wait_obj == FI_WAIT_NONE {
                    library.check("fi_cq_open", r)?;
                }
            }
            let open = (*(*e.objects.domain).ops).endpoint;
            let r =
                with_own_handlers(|| open(e.objects.domain, info, &mut e.objects.ep, null_mut()));
            library.check("fi_endpoint", r)?;
            let ep = e.objects.ep.cast::<Fid>();
            let r = ((*(*ep).ops).bind)(ep, e.objects.av.cast(), 0);
            library.check("fi_ep_bind to its addresses", r)?;
            let r = ((*(*ep).ops).bind)(ep, e.objects.cq.cast(), FI_SEND | FI_RECV);
            library.check("fi_ep_bind to its completions", r)?;
            let r = ((*(*ep).ops).control)(ep, FI_ENABLE, null_mut());
            library.check("fi_enable", r)?;
        }
        Ok(e)
    }

    pub(super) fn facts(&self) -> &Facts {
        &self.facts
    }

    /// The address by which peers reach this endpoint.
    pub(super) fn address(&mut self) -> Result<Address, String> {
        let mut address = vec![0u8; LONGEST_ADDRESS];
        let mut len = address.len();
        // SAFETY: the endpoint is open, and the buffer as long as said.
        let r = unsafe {
            ((*(*self.objects.ep).cm).getname)(
                self.objects.ep.cast(),
                address.as_mut_ptr().cast(),
                &mut len,
            )
        };
        self.library.check("fi_getname", r)?;
        address.truncate(len);
        Ok(address)
    }

    /// The file of this endpoint by which peers on this machine map its queues. Only the provider `shm` has one. It
    /// removes the file when the endpoint is closed, which never happens in a process that is killed or calls `_exit`.
    pub(super) fn file(&mut self) -> Option<PathBuf> {
        if self.facts.provider != "shm" {
            return None;
        }
        let address = self.address().ok()?;
        let text = core::str::from_utf8(address.split(|b| *b == 0).next()?).ok()?;
        let name = text.strip_prefix("fi_shm://").unwrap_or(text);
        let plain = !name.is_empty() && !name.contains('/');
        plain.then(|| PathBuf::from("/dev/shm").join(name))
    }

    /// Adds a peer's address, and returns the number by which operations name the peer.
    pub(super) fn insert(&mut self, address: &[u8]) -> Result<u64, String> {
        let mut at = u64::MAX;
        // SAFETY: an open object, an address as `fi_getname` of the same provider gave it, and room for one result.
        let n = unsafe {
            ((*(*self.objects.av).ops).insert)(
                self.objects.av,
                address.as_ptr().cast(),
                1,
                &mut at,
                0,
                null_mut(),
            )
        };
        if n != 1 {
            return Err(format!("fi_av_insert: {}", self.library.text(n.min(0))));
        }
        Ok(at)
    }

    /// Registers memory for own operations; with a `key` also for operations of peers. The provider may choose
    /// another key.
    ///
    /// # Safety
    /// The memory stays valid as long as the region, and others that use it expect the accesses of peers.
    pub(super) unsafe fn register(
        &mut self,
        start: *mut u8,
        len: usize,
        key: u64,
        remote: bool,
    ) -> Result<Region, String> {
        let mut access = FI_SEND | FI_RECV | FI_READ | FI_WRITE;
        if remote {
            access |= FI_REMOTE_READ | FI_REMOTE_WRITE;
        }
        let key = if self.facts.has_mode(FI_MR_PROV_KEY) {
            0
        } else {
            key
        };
        let mut mr = null_mut();
        // SAFETY: the domain is open, who calls keeps the memory valid, and there is room for the result.
        let r = unsafe {
            ((*(*self.objects.domain).mr).reg)(
                self.objects.domain.cast(),
                start.cast(),
                len,
                access,
                0,
                key,
                0,
                &mut mr,
                null_mut(),
            )
        };
        self.library.check("fi_mr_reg", r)?;
        let region = Region(mr);
        if self.facts.has_mode(FI_MR_ENDPOINT) {
            let fid = region.0.cast::<Fid>();
            // SAFETY: both objects are open.
            unsafe {
                let r = ((*(*fid).ops).bind)(fid, self.objects.ep.cast(), 0);
                self.library.check("fi_mr_bind", r)?;
                let r = ((*(*fid).ops).control)(fid, FI_ENABLE, null_mut());
                self.library.check("fi_mr_enable", r)?;
            }
        }
        Ok(region)
    }

    /// Posts a receive.
    ///
    /// # Safety
    /// Until the completion with this context, the memory stays valid and is used by nobody else, and the 64 bytes at
    /// `context` belong to the provider.
    pub(super) unsafe fn receive(
        &mut self,
        to: *mut u8,
        len: usize,
        descriptor: *mut c_void,
        context: *mut c_void,
    ) -> Posted {
        // SAFETY: the endpoint is open; who calls keeps memory and context valid until the completion.
        Posted::of(unsafe {
            ((*(*self.objects.ep).msg).recv)(
                self.objects.ep,
                to.cast(),
                len,
                descriptor,
                u64::MAX,
                context,
            )
        })
    }

    /// Sends a message.
    ///
    /// # Safety
    /// As for [`Endpoint::receive`], except that the memory is read.
    pub(super) unsafe fn send(
        &mut self,
        from: *const u8,
        len: usize,
        descriptor: *mut c_void,
        to: u64,
        context: *mut c_void,
    ) -> Posted {
        // SAFETY: the endpoint is open; who calls keeps memory and context valid until the completion.
        Posted::of(unsafe {
            ((*(*self.objects.ep).msg).send)(
                self.objects.ep,
                from.cast(),
                len,
                descriptor,
                to,
                context,
            )
        })
    }

    /// Sends at most [`Facts::inject`] bytes without a completion. The bytes may be written again when this returns.
    pub(super) fn inject(&mut self, bytes: &[u8], to: u64) -> Posted {
        // SAFETY: an open endpoint, and bytes that live until the return.
        Posted::of(unsafe {
            ((*(*self.objects.ep).msg).inject)(
                self.objects.ep,
                bytes.as_ptr().cast(),
                bytes.len(),
                to,
            )
        })
    }

    /// Writes to a peer's memory. Completes as `tell` says. With `data`, the peer's completion queue reports the write.
    ///
    /// # Safety
    /// As for [`Endpoint::receive`], except that the memory is read.
    #[allow(clippy::too_many_arguments, reason = "an operation's parts")]
    pub(super) unsafe fn write(
        &mut self,
        from: *const u8,
        len: usize,
        descriptor: *mut c_void,
        to: u64,
        at: (u64, u64),
        data: Option<u64>,
        tell: Tell,
        context: *mut c_void,
    ) -> Posted {
        let iov = libc::iovec {
            iov_base: from.cast_mut().cast(),
            iov_len: len,
        };
        let remote = RmaIov {
            addr: at.0,
            len,
            key: at.1,
        };
        let message = MsgRma {
            msg_iov: &iov,
            desc: &descriptor,
            iov_count: 1,
            addr: to,
            rma_iov: &remote,
            rma_iov_count: 1,
            context,
            data: data.unwrap_or(0),
        };
        let flags = FI_COMPLETION
            | if data.is_some() { FI_REMOTE_CQ_DATA } else { 0 }
            | match tell {
                Tell::Sent => FI_INJECT_COMPLETE,
                Tell::Arrived => FI_DELIVERY_COMPLETE,
                Tell::ArrivedOfCopy => FI_DELIVERY_COMPLETE | FI_INJECT,
            };
        // SAFETY: the endpoint is open; the provider reads the vectors before it returns; who calls keeps the memory
        // and context valid until the completion.
        Posted::of(unsafe {
            ((*(*self.objects.ep).rma).writemsg)(self.objects.ep, &message, flags)
        })
    }

    /// Reads a peer's memory.
    ///
    /// # Safety
    /// As for [`Endpoint::receive`].
    pub(super) unsafe fn read(
        &mut self,
        to: *mut u8,
        len: usize,
        descriptor: *mut c_void,
        from: u64,
        at: (u64, u64),
        context: *mut c_void,
    ) -> Posted {
        // SAFETY: the endpoint is open; who calls keeps memory and context valid until the completion.
        Posted::of(unsafe {
            ((*(*self.objects.ep).rma).read)(
                self.objects.ep,
                to.cast(),
                len,
                descriptor,
                from,
                at.0,
                at.1,
                context,
            )
        })
    }

    /// Takes completions and lets the provider work. Returns how many completions came. `failed` gets the context and
    /// number of an error.
    pub(super) fn completions(
        &mut self,
        into: &mut [CqEntry],
        failed: &mut dyn FnMut(*mut c_void, i32),
    ) -> usize {
        // SAFETY: the queue is open, and there is room for as many entries, in the format for which it was opened.
        let n = unsafe {
            ((*(*self.objects.cq).ops).read)(self.objects.cq, into.as_mut_ptr().cast(), into.len())
        };
        if n > 0 {
            return n as usize;
        }
        if n == -FI_EAVAIL {
            // SAFETY: plain numbers and pointers, for which zero is a value.
            let mut error: CqError = unsafe { core::mem::zeroed() };
            // SAFETY: an open object, and room for one error.
            let n = unsafe { ((*(*self.objects.cq).ops).readerr)(self.objects.cq, &mut error, 0) };
            if n > 0 {
                failed(error.op_context, error.err);
            }
        }
        0
    }

    /// The descriptor to sleep on, if sleeping is allowed now. `Err` if there is something to do first.
    pub(super) fn wait_on(&self) -> Option<Result<RawFd, ()>> {
        let fd = self.fd?;
        let mut object = self.objects.cq.cast::<Fid>();
        // SAFETY: open objects, and a list of one.
        let r =
            unsafe { ((*(*self.objects.fabric).ops).trywait)(self.objects.fabric, &mut object, 1) };
        Some(if r == 0 { Ok(fd) } else { Err(()) })
    }

    /// The text of an error's number.
    pub(super) fn text(&self, error: i32) -> String {
        self.library.text(error)
    }
}

/// The order in which providers are chosen that are equally good otherwise.
fn rank(provider: &str) -> usize {
    ["tcp;ofi_rxm", "tcp", "shm", "net", "sockets"]
        .iter()
        .position(|p| *p == provider)
        .unwrap_or(usize::MAX)
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        let objects = core::mem::replace(&mut self.objects, Objects::NONE);
        // SAFETY: this value owned the objects, and ends. Of a provider that is not `shm`, nobody else reaches them.
        unsafe {
            if self.facts.is_mapped() {
                MAPPED.ends(objects);
            } else {
                objects.close();
            }
        }
    }
}
