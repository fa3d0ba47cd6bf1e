//! The OpenACC profiling interface (OpenACC 2.6, section 5): callbacks for events.
//!
//! Nothing is looked up before the first callback is registered. Dispatching copies the list of callbacks
//! first, so that a callback may register others.

use super::{here, HOST};
use core::sync::atomic::{AtomicBool, Ordering};
use hetmp_core::report;
use hetmp_core::whole::{Held, Mutex};
use std::ffi::{CStr, CString};

/// The values of `acc_event_t` that the host device has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
#[allow(missing_docs, reason = "the names are the specification's")]
pub(crate) enum Event {
    DeviceInitStart = 1,
    DeviceInitEnd = 2,
    EnterDataStart = 10,
    EnterDataEnd = 11,
    ExitDataStart = 12,
    ExitDataEnd = 13,
    UpdateStart = 14,
    UpdateEnd = 15,
    ComputeConstructStart = 16,
    ComputeConstructEnd = 17,
}

/// The first number behind the values of `acc_event_t`.
const EVENTS: usize = 26;
/// Not an event: the switch for all events.
const ALL: usize = 0;

/// The values of `acc_construct_t` for which the host device has events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
#[allow(missing_docs, reason = "the names are the specification's")]
pub(crate) enum Construct {
    Parallel = 0,
    Data = 3,
    EnterData = 4,
    ExitData = 5,
    HostData = 6,
    Update = 12,
    RuntimeApi = 15,
}

/// `acc_prof_info`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Info {
    event: i32,
    valid_bytes: i32,
    version: i32,
    device_type: i32,
    device_number: i32,
    thread_id: i32,
    queue: i64,
    async_queue: i64,
    source_file: *const libc::c_char,
    function: *const libc::c_char,
    lines: [i32; 4],
}

/// `acc_event_info`: the fields that all its variants share, and room for the largest variant.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct EventInfo {
    event: i32,
    valid_bytes: i32,
    construct: i32,
    implicit: i32,
    tool_info: *mut libc::c_void,
    variant: [u64; 4],
}

/// `acc_api_info`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ApiInfo {
    api: i32,
    valid_bytes: i32,
    device_type: i32,
    vendor: i32,
    handles: [*const libc::c_void; 3],
}

const _: () = assert!(size_of::<Info>() == 72);
const _: () = assert!(size_of::<EventInfo>() == 56);
const _: () = assert!(size_of::<ApiInfo>() == 40);

/// Bytes of the fields that all events share.
const COMMON_BYTES: i32 = 24;
/// The interface's version: OpenACC 2.6.
const VERSION: i32 = 201_711;

/// `acc_prof_callback`.
pub type Callback = unsafe extern "C" fn(*mut Info, *mut EventInfo, *mut ApiInfo);

#[derive(Clone, Copy, Debug)]
struct Entry {
    callback: Callback,
    /// How often the callback is registered.
    times: u32,
    enabled: bool,
}

#[derive(Debug)]
struct Registry {
    enabled: [bool; EVENTS],
    entries: [Vec<Entry>; EVENTS],
}

/// A callback was registered or an event switched at least once.
static IN_USE: AtomicBool = AtomicBool::new(false);
static REGISTRY: Mutex<Registry> = Mutex::new(Registry {
    enabled: [true; EVENTS],
    entries: [const { Vec::new() }; EVENTS],
});

fn registry() -> Held<'static, Registry> {
    REGISTRY.lock()
}

/// The kind of a registration: `acc_register_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    Register,
    Toggle,
    ToggleThread,
}

/// Is `event` the end of a construct? Callbacks for ends run in reverse order.
fn is_end(event: usize) -> bool {
    matches!(event, 2 | 4 | 11 | 13 | 15 | 17 | 19 | 21 | 23 | 25)
}

fn how(raw: i32) -> Option<How> {
    Some(match raw {
        0 => How::Register,
        1 => How::Toggle,
        2 => How::ToggleThread,
        _ => return None,
    })
}

/// `acc_prof_register` (`on`) and `acc_prof_unregister`. Requests without a meaning are ignored.
pub fn register(event: i32, callback: Option<Callback>, raw_how: i32, on: bool) {
    if on {
        IN_USE.store(true, Ordering::Release);
    } else if !IN_USE.load(Ordering::Acquire) {
        return;
    }
    let Some(event) = usize::try_from(event).ok().filter(|&e| e < EVENTS) else {
        return;
    };
    match (how(raw_how), callback) {
        (None, _) | (Some(How::Register), None) => {}
        (Some(How::Toggle), None) => registry().enabled[event] = on,
        (Some(How::Toggle), Some(callback)) => {
            if event != ALL {
                for e in &mut registry().entries[event] {
                    if core::ptr::fn_addr_eq(e.callback, callback) {
                        e.enabled = on;
                    }
                }
            }
        }
        (Some(How::ToggleThread), callback) => {
            if event == ALL && callback.is_none() {
                super::ready();
                here(|t| t.callbacks.set(on));
            }
        }
        (Some(How::Register), Some(callback)) => {
            let list = &mut registry().entries[event];
            let known = list
                .iter()
                .position(|e| core::ptr::fn_addr_eq(e.callback, callback));
            match (known, on) {
                (Some(i), true) => list[i].times += 1,
                (Some(i), false) => {
                    list[i].times -= 1;
                    if list[i].times == 0 {
                        list.remove(i);
                    }
                }
                (None, true) => {
                    let entry = Entry {
                        callback,
                        times: 1,
                        enabled: true,
                    };
                    list.insert(if is_end(event) { 0 } else { list.len() }, entry);
                }
                (None, false) => {}
            }
        }
    }
}

/// Must events be dispatched in this thread?
fn wanted() -> bool {
    IN_USE.load(Ordering::Acquire) && here(|t| t.callbacks.get()) && registry().enabled[ALL]
}

/// Calls the callbacks of the event that `event` names.
///
/// # Safety
/// The pointers lead to live structures of the profiling interface.
pub unsafe fn dispatch(info: *mut Info, event: *mut EventInfo, api: *mut ApiInfo) {
    // SAFETY: by this function's contract the structures are live: `Record` passes its own, and `abi` passes
    // the program's.
    let number = unsafe { (*event).event };
    let Some(number) = usize::try_from(number)
        .ok()
        .filter(|&e| e != ALL && e < EVENTS)
    else {
        return;
    };
    let callbacks: Vec<Callback> = {
        let registry = registry();
        if !registry.enabled[number] {
            return;
        }
        registry.entries[number]
            .iter()
            .filter(|e| e.enabled)
            .map(|e| e.callback)
            .collect()
    };
    for callback in callbacks {
        // SAFETY: the program registered the callback for this interface, and the structures are live.
        unsafe { callback(info, event, api) };
    }
}

/// The structures for the callbacks of one construct's events.
#[derive(Debug)]
pub(crate) struct Record {
    info: Info,
    event: EventInfo,
    api: ApiInfo,
}

impl Record {
    /// A record for the events of a construct; `None` if no callback wants them.
    #[must_use]
    pub(crate) fn begin(
        event: Event,
        construct: Construct,
        implicit: bool,
        queue: i32,
    ) -> Option<Box<Record>> {
        wanted().then(|| {
            Box::new(Record {
                info: Info {
                    event: event as i32,
                    valid_bytes: size_of::<Info>() as i32,
                    version: VERSION,
                    device_type: HOST,
                    device_number: 0,
                    thread_id: -1,
                    queue: i64::from(queue),
                    async_queue: i64::from(queue),
                    source_file: core::ptr::null(),
                    function: core::ptr::null(),
                    lines: [-1; 4],
                },
                event: EventInfo {
                    event: event as i32,
                    valid_bytes: COMMON_BYTES,
                    construct: construct as i32,
                    implicit: i32::from(implicit),
                    tool_info: core::ptr::null_mut(),
                    variant: [0; 4],
                },
                api: ApiInfo {
                    api: 0,
                    valid_bytes: size_of::<ApiInfo>() as i32,
                    device_type: HOST,
                    vendor: -1,
                    handles: [core::ptr::null(); 3],
                },
            })
        })
    }

    /// Sets the device, for events that come before the thread has a device.
    pub(crate) fn set_device(&mut self, kind: i32, number: i32) {
        self.info.device_type = kind;
        self.info.device_number = number;
        self.api.device_type = kind;
    }

    /// Calls the callbacks.
    pub(crate) fn dispatch(&mut self) {
        // SAFETY: the structures belong to this record.
        unsafe { dispatch(&mut self.info, &mut self.event, &mut self.api) };
    }

    /// Goes on to `event` and calls its callbacks. Data that a tool stored stays.
    pub(crate) fn turn(&mut self, event: Event) {
        self.info.event = event as i32;
        self.event.event = event as i32;
        self.dispatch();
    }
}

/// `acc_register_library` of a profiling library.
type RegisterLibrary = unsafe extern "C" fn(
    unsafe extern "C" fn(i32, Option<Callback>, i32),
    unsafe extern "C" fn(i32, Option<Callback>, i32),
    unsafe extern "C" fn(*const libc::c_char) -> *const libc::c_void,
);

unsafe extern "C" fn on(event: i32, callback: Option<Callback>, how: i32) {
    register(event, callback, how, true);
}

unsafe extern "C" fn off(event: i32, callback: Option<Callback>, how: i32) {
    register(event, callback, how, false);
}

unsafe extern "C" fn lookup(_name: *const libc::c_char) -> *const libc::c_void {
    core::ptr::null()
}

/// Loads the libraries that `ACC_PROFLIB` names, separated by semicolons. Done once, before the first event.
pub(crate) fn load_libraries() {
    // Not a `Once`: a library may call this function while it is loaded.
    static LOADED: AtomicBool = AtomicBool::new(false);
    if LOADED.swap(true, Ordering::Relaxed) {
        return;
    }
    // For set-user-id programs the snapshot has no such variable.
    let Some(names) = hetmp_core::env::snapshot().get("ACC_PROFLIB") else {
        return;
    };
    for name in names.split(|&b| b == b';') {
        if let Ok(name) = CString::new(name) {
            if !name.is_empty() {
                load(&name);
            }
        }
    }
}

fn load(name: &CStr) {
    // SAFETY: this loads a library that the user asked for; dlsym gets the handle of dlopen.
    unsafe {
        let library = libc::dlopen(name.as_ptr(), libc::RTLD_LAZY);
        let symbol = if library.is_null() {
            core::ptr::null_mut()
        } else {
            libc::dlsym(library, c"acc_register_library".as_ptr())
        };
        if symbol.is_null() {
            let why = libc::dlerror();
            let why = if why.is_null() {
                "no acc_register_library".into()
            } else {
                CStr::from_ptr(why).to_string_lossy()
            };
            report::warn(format_args!(
                "ACC_PROFLIB '{}': {why}",
                name.to_string_lossy()
            ));
            return;
        }
        // SAFETY: the interface defines the type of the function with this name.
        let register: RegisterLibrary = core::mem::transmute(symbol);
        register(on, off, lookup);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;

    static SEEN: AtomicU64 = AtomicU64::new(0);

    fn note(digit: u64) {
        SEEN.store(SEEN.load(Ordering::Relaxed) * 10 + digit, Ordering::Relaxed);
    }
    unsafe extern "C" fn one(_: *mut Info, e: *mut EventInfo, _: *mut ApiInfo) {
        note(1);
        // SAFETY: the dispatcher passes its own record.
        unsafe { (*e).tool_info = core::ptr::without_provenance_mut(7) };
    }
    unsafe extern "C" fn two(_: *mut Info, e: *mut EventInfo, _: *mut ApiInfo) {
        // SAFETY: `dispatch` passes structures that are live meanwhile.
        note(if unsafe { (*e).tool_info }.addr() == 7 {
            2
        } else {
            9
        });
    }

    #[test]
    fn callbacks_nest_like_brackets() {
        let (start, end) = (Event::UpdateStart as i32, Event::UpdateEnd as i32);
        for event in [start, end] {
            register(event, Some(one), 0, true);
            register(event, Some(two), 0, true);
        }
        let mut r = Record::begin(Event::UpdateStart, Construct::Update, false, -2)
            .expect("something is registered");
        r.dispatch();
        r.turn(Event::UpdateEnd);
        assert_eq!(SEEN.swap(0, Ordering::Relaxed), 1221);
        register(end, Some(two), 1, false);
        register(start, Some(one), 0, false);
        r.turn(Event::UpdateStart);
        r.turn(Event::UpdateEnd);
        assert_eq!(SEEN.load(Ordering::Relaxed), 21);
    }
}
