//! libfabric itself: loaded at run time, its symbols, and the offers of its providers.
//!
//! The library is loaded when the engine is asked for, and stays loaded. `fi_getinfo` answers a [`Wish`] with a list
//! of offers ([`Infos`]), from which [`super::endpoint`] chooses.

use super::abi::{
    Fabric, FabricAttr, Info, FI_CONTEXT, FI_CONTEXT2, FI_DELIVERY_COMPLETE, FI_EP_RDM,
    FI_MR_ALLOCATED, FI_MR_ENDPOINT, FI_MR_LOCAL, FI_MR_PROV_KEY, FI_MR_VIRT_ADDR, FI_MSG,
    FI_ORDER_SAS, FI_READ, FI_RECV, FI_REMOTE_READ, FI_REMOTE_WRITE, FI_RMA, FI_RM_ENABLED,
    FI_SEND, FI_SOURCE, FI_THREAD_DOMAIN, FI_WRITE, VERSION,
};
use core::ffi::{c_char, c_int, c_void, CStr};
use core::ptr::{null, null_mut};
use std::ffi::CString;
use std::net::IpAddr;
use std::sync::OnceLock;

const NAME: &CStr = c"libfabric.so.1";
/// Providers of adapters that move memory by themselves. None of them was available for a test.
const ADAPTERS: [&str; 7] = ["verbs", "efa", "cxi", "psm2", "psm3", "opx", "ucx"];

type GetInfo = unsafe extern "C" fn(
    u32,
    *const c_char,
    *const c_char,
    u64,
    *const Info,
    *mut *mut Info,
) -> c_int;
type FreeInfo = unsafe extern "C" fn(*mut Info);
type DupInfo = unsafe extern "C" fn(*const Info) -> *mut Info;
type OpenFabric = unsafe extern "C" fn(*mut FabricAttr, *mut *mut Fabric, *mut c_void) -> c_int;
type Text = unsafe extern "C" fn(c_int) -> *const c_char;

/// The library's own symbols.
pub(super) struct Library {
    getinfo: GetInfo,
    freeinfo: FreeInfo,
    dupinfo: DupInfo,
    pub(super) fabric: OpenFabric,
    strerror: Text,
}

/// Signals for which libfabric or a provider may install handlers.
const CRASHES: [c_int; 7] = [
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGILL,
    libc::SIGFPE,
    libc::SIGABRT,
    libc::SIGINT,
    libc::SIGTERM,
];

/// Runs `act`, then restores the signal handlers. Distributions link libfabric with libinfinipath, whose constructor
/// takes all of these signals, to print a backtrace and end the program with status 1, even on machines without such
/// an adapter. The provider `shm` takes some of them when its first endpoint is opened, to remove its files.
pub(super) fn with_own_handlers<R>(act: impl FnOnce() -> R) -> R {
    let before = CRASHES.map(|signal| {
        // SAFETY: a zeroed `sigaction` is a value; asks only.
        unsafe {
            let mut action: libc::sigaction = core::mem::zeroed();
            libc::sigaction(signal, null(), &mut action);
            action
        }
    });
    let result = act();
    for (signal, action) in CRASHES.into_iter().zip(&before) {
        // SAFETY: the process had installed this action a moment ago.
        unsafe { libc::sigaction(signal, action, null_mut()) };
    }
    result
}

impl Library {
    fn load() -> Result<Library, String> {
        // It loads and opens what variables of its own name.
        if hetmp_core::env::is_privileged() {
            return Err("libfabric is not loaded into a privileged process".to_owned());
        }
        let handle = with_own_handlers(|| {
            // SAFETY: loads a library whose name is fixed; its constructors run, as in any program that is linked with
            // it. It is never unloaded.
            unsafe { libc::dlopen(NAME.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) }
        });
        if handle.is_null() {
            return Err(format!(
                "{} cannot be loaded: it is part of libfabric (Debian: libfabric1)",
                NAME.to_string_lossy()
            ));
        }
        // `abi` has the layout of `fi_info` for this version of the symbols; later libraries keep the version.
        let symbol = |name: &CStr, version: &CStr| {
            // SAFETY: a live handle and two strings with their terminating zeros.
            let at = unsafe { libc::dlvsym(handle, name.as_ptr(), version.as_ptr()) };
            if at.is_null() {
                return Err(format!(
                    "{} has no {} of {} (expected libfabric 1.5 or later)",
                    NAME.to_string_lossy(),
                    name.to_string_lossy(),
                    version.to_string_lossy()
                ));
            }
            Ok(at)
        };
        macro_rules! function {
            ($name:literal, $version:literal, $type:ty) => {{
                let at = symbol($name, $version)?;
                // SAFETY: libfabric's headers declare the function of this name and version with the type of the field
                // that it goes into, and the address is not null.
                unsafe { core::mem::transmute::<*mut c_void, $type>(at) }
            }};
        }
        Ok(Library {
            getinfo: function!(c"fi_getinfo", c"FABRIC_1.3", GetInfo),
            freeinfo: function!(c"fi_freeinfo", c"FABRIC_1.3", FreeInfo),
            dupinfo: function!(c"fi_dupinfo", c"FABRIC_1.3", DupInfo),
            fabric: function!(c"fi_fabric", c"FABRIC_1.1", OpenFabric),
            strerror: function!(c"fi_strerror", c"FABRIC_1.0", Text),
        })
    }

    pub(super) fn get() -> Result<&'static Library, String> {
        static LIBRARY: OnceLock<Result<Library, String>> = OnceLock::new();
        LIBRARY
            .get_or_init(Library::load)
            .as_ref()
            .map_err(Clone::clone)
    }

    pub(super) fn text(&self, code: c_int) -> String {
        // SAFETY: takes any number, and gives a string that lives as long as the library.
        let text = unsafe { CStr::from_ptr((self.strerror)(code.abs())) };
        text.to_string_lossy().into_owned()
    }

    /// `Err`, which names what was tried, if the result is negative.
    pub(super) fn check(&self, what: &str, result: c_int) -> Result<(), String> {
        if result < 0 {
            Err(format!("{what}: {}", self.text(result)))
        } else {
            Ok(())
        }
    }

    /// The library's offers, in its order. An empty list if nothing fits.
    pub(super) fn offers(&self, wish: Wish<'_>) -> Result<Infos, String> {
        // SAFETY: null asks for an empty description, with all its parts.
        let hints = unsafe { (self.dupinfo)(null()) };
        if hints.is_null() {
            return Err("memory for fi_info".to_owned());
        }
        let hints = Infos {
            library: self,
            first: hints,
        };
        // SAFETY: the library made it with all its parts, and frees the name with `free`, which `strdup` is for.
        unsafe {
            let h = &mut *hints.first;
            if let Some(provider) = wish.provider.and_then(|p| CString::new(p).ok()) {
                (*h.fabric_attr).prov_name = libc::strdup(provider.as_ptr());
            }
            (*h.ep_attr).kind = FI_EP_RDM;
            (*h.domain_attr).mr_mode =
                FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
            h.mode = FI_CONTEXT | FI_CONTEXT2;
            if wish.able {
                h.caps = FI_MSG
                    | FI_RMA
                    | FI_READ
                    | FI_WRITE
                    | FI_SEND
                    | FI_RECV
                    | FI_REMOTE_READ
                    | FI_REMOTE_WRITE;
                (*h.domain_attr).threading = FI_THREAD_DOMAIN;
                (*h.domain_attr).resource_mgmt = FI_RM_ENABLED;
                (*h.tx_attr).op_flags = FI_DELIVERY_COMPLETE;
                (*h.tx_attr).msg_order = wish.order;
                (*h.rx_attr).msg_order = wish.order;
            }
        }
        let node = wish.source.map(|a| a.to_string());
        let node = node.and_then(|n| CString::new(n).ok());
        let flags = if node.is_some() { FI_SOURCE } else { 0 };
        let node = node.as_ref().map_or(null(), |n| n.as_ptr());
        let mut first = null_mut();
        // SAFETY: a live string or null, live hints, and room for the result.
        let result =
            unsafe { (self.getinfo)(VERSION, node, null(), flags, hints.first, &mut first) };
        if result < 0 && result != -libc::ENODATA && result != -libc::ENOSYS {
            return Err(format!("fi_getinfo: {}", self.text(result)));
        }
        Ok(Infos {
            library: self,
            first: if result < 0 { null_mut() } else { first },
        })
    }
}

/// What is asked of `fi_getinfo`.
#[derive(Clone, Copy)]
pub(super) struct Wish<'a> {
    pub(super) provider: Option<&'a str>,
    pub(super) source: Option<IpAddr>,
    /// The provider can do all that the engine needs, in the order of messages of `order`.
    pub(super) able: bool,
    pub(super) order: u64,
}

/// A list from `fi_getinfo`.
pub(super) struct Infos {
    library: *const Library,
    first: *mut Info,
}

impl Infos {
    pub(super) fn each(&self) -> impl Iterator<Item = *mut Info> + '_ {
        let some = |i: *mut Info| (!i.is_null()).then_some(i);
        // SAFETY: the list lives as long as `self`, and its last entry's `next` is null.
        core::iter::successors(some(self.first), move |i| some(unsafe { (**i).next }))
    }

    pub(super) fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for i in self.each() {
            let name = provider_of(i);
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }
}

impl Drop for Infos {
    fn drop(&mut self) {
        if !self.first.is_null() {
            // SAFETY: the library lives for ever; the list is its own, and nobody uses it any more.
            unsafe { ((*self.library).freeinfo)(self.first) }
        }
    }
}

/// The name of an offer's provider.
pub(super) fn provider_of(info: *mut Info) -> String {
    // SAFETY: an entry of a live list has its parts; the name is null or a string.
    unsafe {
        let name = (*(*info).fabric_attr).prov_name;
        if name.is_null() {
            return String::new();
        }
        CStr::from_ptr(name).to_string_lossy().into_owned()
    }
}

/// True for an adapter that moves memory by itself, which is preferred to sockets.
pub(super) fn is_adapter(provider: &str) -> bool {
    provider.split(';').any(|part| ADAPTERS.contains(&part))
}

/// Where Linux lists adapters: InfiniBand, RoCE, Omni-Path and EFA in the first, Slingshot in the second.
const CLASSES: [&str; 2] = ["/sys/class/infiniband", "/sys/class/cxi"];

/// The provider of an adapter faster than TCP, if this machine has one. If the kernel knows of no adapter, the
/// library is not even loaded.
pub(super) fn adapter() -> Option<String> {
    let has_some =
        |class: &&str| std::fs::read_dir(class).is_ok_and(|mut all| all.next().is_some());
    CLASSES.iter().copied().find(|class| has_some(class))?;
    let wish = Wish {
        provider: None,
        source: None,
        able: true,
        order: FI_ORDER_SAS,
    };
    let offers = Library::get().ok()?.offers(wish).ok()?;
    offers.names().into_iter().find(|name| is_adapter(name))
}

/// Held by tests that open endpoints: meanwhile the handlers of signals, which are the whole process's, may be others.
#[cfg(test)]
pub(super) static OPENING: std::sync::Mutex<()> = std::sync::Mutex::new(());

#[cfg(test)]
mod tests {
    use super::*;

    /// Loading the library, and opening endpoints of the providers that need no adapter.
    #[test]
    fn libfabric_leaves_signals_alone() {
        let handler = |signal| {
            // SAFETY: a zeroed `sigaction` is a value; asks only.
            unsafe {
                let mut action: libc::sigaction = core::mem::zeroed();
                libc::sigaction(signal, null(), &mut action);
                action.sa_sigaction
            }
        };
        let _alone = OPENING.lock().unwrap_or_else(|e| e.into_inner());
        let before = CRASHES.map(handler);
        if let Err(e) = Library::get() {
            eprintln!("skipped: {e}");
            return;
        }
        assert_eq!(before, CRASHES.map(handler));
        for provider in ["tcp", "shm"] {
            // A library that was built without this provider is not our mistake.
            if let Err(e) = super::super::endpoint::Endpoint::open(Some(provider), None, false) {
                eprintln!("skipped: {provider}: {e}");
            }
            assert_eq!(before, CRASHES.map(handler), "{provider}");
        }
    }
}
