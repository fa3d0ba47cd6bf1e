//! A process under a launcher that speaks PMIx (Open MPI's `mpirun`, `prterun`, `srun --mpi=pmix`).
//!
//! PMIx is a library's interface (PMIx standard 4.1, chapters 3 to 6), not a wire protocol, so the
//! library is loaded when such a launcher is there, and only then. Layouts are those of the
//! standard's C bindings, the same in PMIx 2 to 5.

use super::{exit_now, random_secret, Error, Job, Keys, Launcher, MAX_SIZE, MAX_VALUE, SECRET};
use core::ffi::{c_char, c_int, c_void, CStr};
use std::ffi::CString;
use std::net::{IpAddr, Ipv4Addr};

/// `pmix_proc_t`: a process of a name space.
#[repr(C)]
#[derive(Clone, Copy)]
struct Proc {
    space: [c_char; 256],
    rank: u32,
}

/// `pmix_byte_object_t`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Bytes {
    pointer: *mut c_char,
    size: usize,
}

/// The union of `pmix_value_t`, as far as it is used here; its largest member has 24 bytes.
#[repr(C)]
#[derive(Clone, Copy)]
union Data {
    flag: bool,
    number: u32,
    text: *mut c_char,
    bytes: Bytes,
    room: [u64; 3],
}

/// `pmix_value_t`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Value {
    kind: u16,
    data: Data,
}

/// `pmix_info_t`.
#[repr(C)]
struct Info {
    key: [c_char; 512],
    flags: u32,
    value: Value,
}

const _: () = assert!(size_of::<Proc>() == 260);
const _: () = assert!(size_of::<Value>() == 32 && align_of::<Value>() == 8);
const _: () = assert!(size_of::<Info>() == 552 && core::mem::offset_of!(Info, value) == 520);

const SUCCESS: c_int = 0;
const RANK_WILDCARD: u32 = u32::MAX - 1;
const BOOL: u16 = 1;
const STRING: u16 = 3;
const UINT32: u16 = 14;
const BYTE_OBJECT: u16 = 27;
const GLOBAL: u8 = 3;

type Init = unsafe extern "C" fn(*mut Proc, *mut Info, usize) -> c_int;
type Finalize = unsafe extern "C" fn(*const Info, usize) -> c_int;
type Abort = unsafe extern "C" fn(c_int, *const c_char, *mut Proc, usize) -> c_int;
type Put = unsafe extern "C" fn(u8, *const c_char, *mut Value) -> c_int;
type Commit = unsafe extern "C" fn() -> c_int;
type Fence = unsafe extern "C" fn(*const Proc, usize, *const Info, usize) -> c_int;
type Get =
    unsafe extern "C" fn(*const Proc, *const c_char, *const Info, usize, *mut *mut Value) -> c_int;
type ErrorString = unsafe extern "C" fn(c_int) -> *const c_char;

/// The library's functions.
struct Library {
    init: Init,
    finalize: Finalize,
    abort: Abort,
    put: Put,
    commit: Commit,
    fence: Fence,
    get: Get,
    error_string: ErrorString,
}

impl Library {
    fn load() -> Result<Self, Error> {
        // It loads and opens what variables of its own name.
        if crate::env::is_privileged() {
            return Err(Error::Lost {
                launcher: Launcher::Pmix,
                why: "libpmix.so.2 is not loaded into a privileged process".to_owned(),
            });
        }
        // SAFETY: loads a library whose name is fixed; its constructors run, as they would in any
        // program that is linked with it. It is never unloaded.
        let handle = unsafe { libc::dlopen(c"libpmix.so.2".as_ptr(), libc::RTLD_NOW) };
        if handle.is_null() {
            return Err(Error::Lost {
                launcher: Launcher::Pmix,
                why: "libpmix.so.2 cannot be loaded (it is part of PMIx)".to_owned(),
            });
        }
        let symbol = |name: &CStr| -> Result<*mut c_void, Error> {
            // SAFETY: a live handle and a string with a terminating zero.
            let address = unsafe { libc::dlsym(handle, name.as_ptr()) };
            if address.is_null() {
                return Err(Error::Lost {
                    launcher: Launcher::Pmix,
                    why: format!("libpmix.so.2 has no {}", name.to_string_lossy()),
                });
            }
            Ok(address)
        };
        macro_rules! function {
            ($name:literal, $type:ty) => {{
                let address = symbol($name)?;
                // SAFETY: the standard's C bindings declare the function of this name with the
                // type of the field that it goes into, and the address is not null.
                unsafe { core::mem::transmute::<*mut c_void, $type>(address) }
            }};
        }
        Ok(Self {
            init: function!(c"PMIx_Init", Init),
            finalize: function!(c"PMIx_Finalize", Finalize),
            abort: function!(c"PMIx_Abort", Abort),
            put: function!(c"PMIx_Put", Put),
            commit: function!(c"PMIx_Commit", Commit),
            fence: function!(c"PMIx_Fence", Fence),
            get: function!(c"PMIx_Get", Get),
            error_string: function!(c"PMIx_Error_string", ErrorString),
        })
    }

    fn check(&self, what: &str, status: c_int) -> Result<(), Error> {
        if status == SUCCESS {
            return Ok(());
        }
        // SAFETY: any status has a text, which is static.
        let text = unsafe { (self.error_string)(status) };
        let text = if text.is_null() {
            status.to_string()
        } else {
            // SAFETY: not null, and so a static string with a terminating zero.
            unsafe { CStr::from_ptr(text) }
                .to_string_lossy()
                .into_owned()
        };
        Err(Error::Protocol {
            launcher: Launcher::Pmix,
            what: format!("{what}: {text}"),
        })
    }
}

/// What [`Pmix::look`] found.
enum Found {
    Number(u32),
    Text(String),
    Bytes(Vec<u8>),
    Other,
}

pub(super) struct Pmix {
    library: Library,
    me: Proc,
    size: u32,
    local: Vec<u32>,
    secret: [u8; SECRET],
    keys: Keys,
}

/// The directive `name` with the value true.
fn flag(name: &CStr) -> Info {
    let mut key = [0; 512];
    for (to, from) in key.iter_mut().zip(name.to_bytes()) {
        *to = *from as c_char;
    }
    let mut data = Data { room: [0; 3] };
    data.flag = true;
    Info {
        key,
        flags: 0,
        value: Value { kind: BOOL, data },
    }
}

impl Pmix {
    pub(super) fn connect() -> Result<Self, Error> {
        let library = Library::load()?;
        let mut me = Proc {
            space: [0; 256],
            rank: 0,
        };
        // SAFETY: the process's own record is written; no directives are given.
        let status = unsafe { (library.init)(&raw mut me, core::ptr::null_mut(), 0) };
        library.check("PMIx_Init", status)?;
        let mut this = Self {
            library,
            me,
            size: 0,
            local: Vec::new(),
            secret: [0; SECRET],
            keys: Keys::default(),
        };
        let wrong = |what: &str| Error::Protocol {
            launcher: Launcher::Pmix,
            what: what.to_owned(),
        };
        this.size = match this.look(RANK_WILDCARD, c"pmix.job.size")? {
            Some(Found::Number(n)) if (1..=MAX_SIZE).contains(&n) && me.rank < n => n,
            _ => return Err(wrong("no size of this rank's job")),
        };
        let peers = match this.look(RANK_WILDCARD, c"pmix.lpeers")? {
            Some(Found::Text(text)) => text,
            _ => me.rank.to_string(),
        };
        this.local = peers_of(&peers, me.rank, this.size)
            .ok_or_else(|| wrong("a list of local ranks that is not one"))?;
        if me.rank == 0 {
            this.store("hetmp.secret", &random_secret()?)?;
        }
        this.fence()?;
        this.secret = match this.look(0, c"hetmp.secret")? {
            Some(Found::Bytes(bytes)) => bytes.try_into().ok(),
            _ => None,
        }
        .ok_or_else(|| wrong("no secret from rank 0"))?;
        Ok(this)
    }

    fn look(&self, rank: u32, key: &CStr) -> Result<Option<Found>, Error> {
        let who = Proc { rank, ..self.me };
        // Without this directive PMIx_Get waits until somebody puts the key.
        let immediate = flag(c"pmix.immediate");
        let mut value: *mut Value = core::ptr::null_mut();
        // SAFETY: all pointers are to live records of the standard's layout; the library allocates
        // the value.
        let status = unsafe {
            (self.library.get)(
                &raw const who,
                key.as_ptr(),
                &raw const immediate,
                1,
                &raw mut value,
            )
        };
        if status != SUCCESS || value.is_null() {
            // "Not there" has several codes, depending on where the library looked.
            const ABSENT: [c_int; 4] = [-46, -1, -24, -25];
            if ABSENT.contains(&status) {
                return Ok(None);
            }
            self.library.check("PMIx_Get", status)?;
            return Ok(None);
        }
        // SAFETY: the library returned success and a value, which is ours now.
        let Value { kind, data } = unsafe { *value };
        let found = match kind {
            // SAFETY: the kind says which member is there.
            UINT32 => Found::Number(unsafe { data.number }),
            STRING => {
                // SAFETY: the kind says which member is there.
                let text = unsafe { data.text };
                if text.is_null() {
                    Found::Other
                } else {
                    // SAFETY: a string with a terminating zero, which came with the value.
                    let copy = unsafe { CStr::from_ptr(text) }
                        .to_string_lossy()
                        .into_owned();
                    // SAFETY: the standard has values released by free.
                    unsafe { libc::free(text.cast()) };
                    Found::Text(copy)
                }
            }
            BYTE_OBJECT => {
                // SAFETY: the kind says which member is there.
                let bytes = unsafe { data.bytes };
                if bytes.pointer.is_null() || bytes.size == 0 {
                    Found::Bytes(Vec::new())
                } else {
                    // SAFETY: the object's bytes came with the value.
                    let copy = unsafe {
                        core::slice::from_raw_parts(bytes.pointer.cast::<u8>(), bytes.size)
                    }
                    .to_vec();
                    // SAFETY: the standard has values released by free.
                    unsafe { libc::free(bytes.pointer.cast()) };
                    Found::Bytes(copy)
                }
            }
            _ => Found::Other,
        };
        // SAFETY: PMIx has its values released by `free`. Nothing of this value is used afterwards: its text or bytes
        // were copied and freed above.
        unsafe { libc::free(value.cast()) };
        Ok(Some(found))
    }

    fn store(&mut self, key: &str, value: &[u8]) -> Result<(), Error> {
        let key = CString::new(key)
            .map_err(|_| Error::Usage(format!("key {key:?}: has a zero byte (expected a text)")))?;
        let mut data = Data { room: [0; 3] };
        data.bytes = Bytes {
            pointer: value.as_ptr().cast_mut().cast(),
            size: value.len(),
        };
        let mut record = Value {
            kind: BYTE_OBJECT,
            data,
        };
        // SAFETY: live key and record; the library copies the bytes and does not write to them.
        let status = unsafe { (self.library.put)(GLOBAL, key.as_ptr(), &raw mut record) };
        self.library.check("PMIx_Put", status)
    }
}

/// `0,1,4` as ranks, with `rank` among them.
pub(super) fn peers_of(text: &str, rank: u32, size: u32) -> Option<Vec<u32>> {
    let mut local = text
        .split(',')
        .map(|n| n.trim().parse().ok().filter(|&n: &u32| n < size))
        .collect::<Option<Vec<_>>>()?;
    local.sort_unstable();
    local.dedup();
    local.binary_search(&rank).ok()?;
    Some(local)
}

impl Job for Pmix {
    fn launcher(&self) -> Launcher {
        Launcher::Pmix
    }
    fn rank(&self) -> u32 {
        self.me.rank
    }
    fn size(&self) -> u32 {
        self.size
    }
    fn local_ranks(&self) -> &[u32] {
        &self.local
    }
    fn secret(&self) -> &[u8; SECRET] {
        &self.secret
    }
    fn address(&self) -> Option<IpAddr> {
        (self.local.len() == self.size as usize).then_some(IpAddr::V4(Ipv4Addr::LOCALHOST))
    }
    fn put(&mut self, key: &str, value: &[u8]) -> Result<(), Error> {
        self.keys.put(key, value)?;
        // "h.": PMIx reserves keys that begin with "pmix". "v": PMIx does not tell an empty value from a missing one.
        let mut marked = vec![b'v'];
        marked.extend_from_slice(value);
        self.store(&format!("h.{key}"), &marked)
    }
    fn fence(&mut self) -> Result<(), Error> {
        // SAFETY: no arguments; sends what was put before.
        let status = unsafe { (self.library.commit)() };
        self.library.check("PMIx_Commit", status)?;
        let everyone = Proc {
            rank: RANK_WILDCARD,
            ..self.me
        };
        let collect = flag(c"pmix.collect");
        // SAFETY: live records of the standard's layout.
        let status = unsafe { (self.library.fence)(&raw const everyone, 1, &raw const collect, 1) };
        self.library.check("PMIx_Fence", status)
    }
    fn get(&mut self, rank: u32, key: &str) -> Result<Option<Vec<u8>>, Error> {
        Keys::get(rank, self.size, key)?;
        let name = CString::new(format!("h.{key}"))
            .map_err(|_| Error::Usage(format!("key {key:?}: has a zero byte (expected a text)")))?;
        match self.look(rank, &name)? {
            None => Ok(None),
            Some(Found::Bytes(mut bytes))
                if bytes.first() == Some(&b'v') && bytes.len() <= MAX_VALUE + 1 =>
            {
                bytes.remove(0);
                Ok(Some(bytes))
            }
            Some(_) => Err(Error::Protocol {
                launcher: Launcher::Pmix,
                what: "a value that none of our processes put".to_owned(),
            }),
        }
    }
    fn abort(&mut self, status: i32, message: &str) -> ! {
        crate::report::flush_output();
        crate::report::warn(format_args!(
            "rank {} ended the job with status {status}: {message}",
            self.me.rank
        ));
        let text = CString::new(message.replace('\0', " ")).unwrap_or_default();
        // SAFETY: a live text; no list of processes means all of the job. The process ends even if
        // the library could not pass it on.
        unsafe { (self.library.abort)(status, text.as_ptr(), core::ptr::null_mut(), 0) };
        exit_now(status)
    }
    fn finalize(&mut self) -> Result<(), Error> {
        // SAFETY: no directives are given; nothing of the library is used afterwards.
        let status = unsafe { (self.library.finalize)(core::ptr::null(), 0) };
        self.library.check("PMIx_Finalize", status)
    }
}
