//! OpenACC without an accelerator: the behaviour of libgomp 12 when the host is the only device.
//!
//! The host shares its memory with itself. So data constructs move nothing, and asynchronous work is done at
//! once when it is queued. What is left is bookkeeping that programs can observe: which device type is
//! current, what must be initialised before what, which arguments are refused, and the events of the
//! profiling interface ([`profile`]).
//!
//! **State**: one device, with a number that counts its shutdowns (`DEVICE`, `SESSION`), and for each
//! thread the number at which it was attached (`Attached`). A shutdown thereby detaches all threads at
//! once.
//!
//! Errors end the program with one line, as in libgomp. Where gcc's tests of OpenACC look for certain words
//! in it, the line has these words.

pub(crate) mod attached;
pub mod profile;

use crate::init;
use crate::thread::Thread;
use attached::Attached;
use core::sync::atomic::{AtomicI32, AtomicUsize, Ordering};
use hetmp_core::report;
use hetmp_core::whole::{Held, Mutex};
use libc::c_void;
use profile::{Construct, Event, Record};

/// `acc_device_t`: the current device of the calling thread.
const CURRENT: i32 = -1;
/// `acc_device_t`: no device.
pub(crate) const NONE: i32 = 0;
/// `acc_device_t`: the type in `ACC_DEVICE_TYPE`, or any device.
const DEFAULT: i32 = 1;
/// `acc_device_t`: the host.
pub(crate) const HOST: i32 = 2;
/// `acc_device_t`: any device but the host.
const NOT_HOST: i32 = 4;
/// The first number behind the values of `acc_device_t`.
const END: i32 = 9;

/// Names of device types in messages.
const NAMES: [&str; END as usize] = [
    "none", "default", "host", "3", "not_host", "nvidia", "6", "7", "radeon",
];

/// The bit of an `acc_device_property_t` that marks string properties.
const STRING: i32 = 0x1_0000;

/// `acc_async_noval`: asynchronous, on the default queue.
const ASYNC_NOVAL: i32 = -1;
/// `acc_async_sync`: not asynchronous.
pub const ASYNC_SYNC: i32 = -2;

/// The device.
struct Device {
    /// A thread has chosen or initialised a device type; new threads use it.
    chosen: bool,
    /// The device was initialised, and not shut down since.
    initialised: bool,
}

static DEVICE: Mutex<Device> = Mutex::new(Device {
    chosen: false,
    initialised: false,
});
/// The number of shutdowns of the device, plus one.
static SESSION: AtomicUsize = AtomicUsize::new(1);
/// Data regions and host fallbacks in progress, in all threads.
static DATA_REGIONS: AtomicUsize = AtomicUsize::new(0);
static FALLBACKS: AtomicUsize = AtomicUsize::new(0);

/// The device number is that of `ACC_DEVICE_NUM` until the program sets one.
const FROM_ENVIRONMENT: i32 = i32::MIN;
static NUMBER: AtomicI32 = AtomicI32::new(FROM_ENVIRONMENT);

/// Calls `f` with the calling thread's state.
fn here<R>(f: impl FnOnce(&Attached) -> R) -> R {
    f(&Thread::current().acc)
}

fn device() -> Held<'static, Device> {
    DEVICE.lock()
}

fn attached() -> bool {
    here(|t| t.session.get() == SESSION.load(Ordering::Relaxed))
}

/// The current device number.
fn number() -> i32 {
    match NUMBER.load(Ordering::Relaxed) {
        FROM_ENVIRONMENT => init::globals().acc_device_num,
        n => n,
    }
}

fn refuse_type(kind: i32) -> ! {
    report::fatal(format_args!(
        "unknown device type {kind}: a value of acc_device_t"
    ))
}

fn refuse_number(number: i32) -> ! {
    report::fatal(format_args!(
        "OpenACC device number {number}: 0, the host is the only device"
    ))
}

fn check_known(kind: i32) {
    if !(0..END).contains(&kind) {
        refuse_type(kind);
    }
}

/// Does the known type `kind` stand for the host? The error tells why not.
fn resolve(kind: i32) -> Result<(), String> {
    let named = match kind {
        DEFAULT => match init::globals().acc_device_type.as_deref() {
            None | Some([]) => return Ok(()),
            Some(name) if name.eq_ignore_ascii_case(b"host") => return Ok(()),
            Some(name) => String::from_utf8_lossy(name).into_owned(),
        },
        HOST => return Ok(()),
        NOT_HOST => {
            return Err("OpenACC device type 'not_host': the host is the only device".into())
        }
        other => NAMES[other as usize].to_owned(),
    };
    Err(format!(
        "OpenACC device type '{named}': 'host' or 'default', the host is the only device"
    ))
}

fn resolve_or_end(kind: i32) {
    if let Err(why) = resolve(kind) {
        report::fatal(format_args!("{why}"));
    }
}

fn check_number(number: i32) {
    if number >= 1 {
        refuse_number(number);
    }
}

/// Initialises the device. `implicit`: for a construct, rather than by `acc_init`.
fn initialise(kind: i32, construct: Construct, implicit: bool) {
    here(|t| t.initialising.set(true));
    let mut record = Record::begin(Event::DeviceInitStart, construct, implicit, ASYNC_SYNC);
    if let Some(record) = &mut record {
        record.set_device(kind, number());
        record.dispatch();
    }
    {
        let mut device = device();
        resolve_or_end(kind);
        check_number(number());
        if device.initialised {
            report::fatal(format_args!(
                "acc_init of device type '{}', device already active: after acc_shutdown",
                NAMES[kind as usize]
            ));
        }
        device.initialised = true;
        device.chosen = true;
    }
    if let Some(record) = &mut record {
        record.turn(Event::DeviceInitEnd);
    }
    here(|t| t.initialising.set(false));
}

/// Attaches the calling thread to device `wanted` (negative: the current device number).
fn attach_thread(wanted: i32) {
    if attached() && wanted <= 0 {
        return;
    }
    check_number(if wanted < 0 { number() } else { wanted });
    here(|t| {
        t.session.set(SESSION.load(Ordering::Relaxed));
        t.callbacks.set(true);
    });
}

/// Makes sure that the calling thread has a device.
pub fn ready() {
    if attached() {
        return;
    }
    profile::load_libraries();
    let chosen = device().chosen;
    if !chosen {
        initialise(DEFAULT, Construct::Parallel, true);
    }
    attach_thread(-1);
}

/// `acc_init`.
pub fn acc_init(kind: i32) {
    check_known(kind);
    profile::load_libraries();
    initialise(kind, Construct::RuntimeApi, false);
    attach_thread(-1);
}

/// `acc_shutdown`.
pub fn acc_shutdown(kind: i32) {
    check_known(kind);
    resolve_or_end(kind);
    let mut device = device();
    if DATA_REGIONS.load(Ordering::Relaxed) > 0 {
        report::fatal(format_args!(
            "acc_shutdown in a data region: after the end of every data region"
        ));
    }
    if FALLBACKS.load(Ordering::Relaxed) > 0 {
        report::fatal(format_args!(
            "acc_shutdown in a compute region: after the end of every compute region"
        ));
    }
    SESSION.fetch_add(1, Ordering::Relaxed);
    if !device.initialised {
        report::fatal(format_args!(
            "acc_shutdown of device type '{}', no device initialized: after acc_init",
            NAMES[kind as usize]
        ));
    }
    device.initialised = false;
}

/// `acc_get_num_devices`.
#[must_use]
pub fn num_devices(kind: i32) -> i32 {
    check_known(kind);
    i32::from(kind != NONE && resolve(kind).is_ok())
}

/// `acc_set_device_type`.
pub fn set_device_type(kind: i32) {
    check_known(kind);
    choose(kind);
    attach_thread(-1);
}

fn choose(kind: i32) {
    resolve_or_end(kind);
    let mut device = device();
    device.chosen = true;
    device.initialised = true;
}

/// `acc_get_device_type`.
#[must_use]
pub fn device_type() -> i32 {
    if attached() {
        return HOST;
    }
    if here(|t| t.initialising.get()) {
        return NONE;
    }
    resolve_or_end(DEFAULT);
    HOST
}

/// `acc_set_device_num`; type 0 stands for the current type.
pub fn set_device_num(wanted: i32, kind: i32) {
    check_known(kind);
    let wanted = if wanted < 0 { number() } else { wanted };
    if kind != NONE {
        check_number(wanted);
        choose(kind);
    }
    attach_thread(wanted);
    NUMBER.store(wanted, Ordering::Relaxed);
}

/// `acc_get_device_num`.
#[must_use]
pub fn device_num(kind: i32) -> i32 {
    check_known(kind);
    resolve_or_end(kind);
    if attached() {
        0
    } else {
        number()
    }
}

/// The text of a string property, as libgomp's host device has it; `None` for properties that are not strings
/// or have no value.
#[must_use]
pub fn property(wanted: i32, kind: i32, property: i32) -> Option<&'static core::ffi::CStr> {
    if kind != CURRENT {
        check_known(kind);
    }
    if property & STRING == 0 {
        return None;
    }
    ready();
    if kind != CURRENT {
        resolve_or_end(kind);
        check_number(wanted);
        choose(kind);
    }
    match property {
        0x1_0001 => Some(c"GOMP"),
        0x1_0002 => Some(c"GNU"),
        0x1_0003 => Some(c"1.0"),
        _ => None,
    }
}

/// The value of a number property. The host has none of them, so the answer is 0, after libgomp's checks.
#[must_use]
pub fn number_property(wanted: i32, kind: i32, property: i32) -> usize {
    if kind != CURRENT {
        check_known(kind);
    }
    if property & STRING == 0 {
        ready();
        if kind != CURRENT {
            resolve_or_end(kind);
            check_number(wanted);
            choose(kind);
        }
    }
    0
}

/// `acc_on_device`, on the host.
#[must_use]
pub fn on_device(kind: i32) -> bool {
    kind == HOST || kind == NONE
}

/// Ends the program unless the calling thread has a device.
fn need_device(what: &str) {
    if !attached() {
        report::fatal(format_args!(
            "{what} without an active device: after acc_init or a construct"
        ));
    }
}

/// Ends the program for values that are not async arguments.
fn check_async(queue: i32) {
    if queue < ASYNC_SYNC {
        report::fatal(format_args!(
            "OpenACC async argument {queue}: at least 0, acc_async_noval or acc_async_sync"
        ));
    }
}

/// Is `queue` a valid async argument?
#[must_use]
pub fn is_async(queue: i32) -> bool {
    queue >= ASYNC_SYNC
}

/// Waits for a queue, or asks whether it is empty. Queues are always empty, so only the arguments are
/// checked.
pub fn queue_is_empty(queue: i32) {
    need_device("an OpenACC wait");
    check_async(queue);
}

/// Waits for all queues.
pub fn all_queues_are_empty() {
    need_device("an OpenACC wait");
}

/// The `wait` directive: `queues` are its arguments, `queue` is its `async` clause.
pub fn wait(queue: i32, queues: impl Iterator<Item = i32>) {
    ready();
    let mut some = false;
    for q in queues {
        some = true;
        if q == ASYNC_NOVAL {
            if queue != ASYNC_SYNC {
                check_async(queue);
            }
            return;
        }
        check_async(q);
    }
    if !some && queue != ASYNC_SYNC {
        check_async(queue);
    }
}

/// Enters data into the device's memory (`acc_copyin`, `acc_create`). Returns the data's address there.
pub fn enter(data: *mut c_void, size: usize) -> *mut c_void {
    if data.is_null() || size == 0 {
        report::fatal(format_args!(
            "OpenACC data [{data:p},+{size}] is a bad range: at least one byte, at an address that \
             is not null"
        ));
    }
    ready();
    data
}

/// `acc_is_present`.
#[must_use]
pub fn is_present(data: *const c_void, size: usize) -> bool {
    if data.is_null() || size == 0 {
        return false;
    }
    ready();
    true
}

/// `acc_map_data`: host address and device address must be the same.
pub fn map(host: *const c_void, target: *const c_void) {
    ready();
    if host != target {
        report::fatal(format_args!(
            "acc_map_data of {host:p} to {target:p}, cannot map data on shared-memory system: the \
             same address twice"
        ));
    }
}

/// Attaching and detaching pointers changes nothing, but needs a device.
pub fn attach_pointer(queue: i32) {
    need_device("acc_attach or acc_detach");
    check_async(queue);
}

/// `acc_malloc`; null for size 0.
#[must_use]
pub fn allocate(size: usize) -> *mut c_void {
    if size == 0 {
        return core::ptr::null_mut();
    }
    ready();
    // SAFETY: malloc takes any size.
    unsafe { libc::malloc(size) }
}

/// Runs `body`, a compute construct, on the host. `fallback`: its `if` clause was false.
pub fn compute(fallback: bool, body: impl FnOnce()) {
    ready();
    let mut record = Record::begin(
        Event::ComputeConstructStart,
        Construct::Parallel,
        false,
        ASYNC_SYNC,
    );
    if let Some(record) = &mut record {
        record.dispatch();
    }
    if fallback {
        fall_back(body);
    } else {
        body();
    }
    if let Some(record) = &mut record {
        record.turn(Event::ComputeConstructEnd);
    }
}

/// Runs `body` as a host fallback: the device must not be shut down meanwhile.
pub fn fall_back(body: impl FnOnce()) {
    FALLBACKS.fetch_add(1, Ordering::Relaxed);
    body();
    FALLBACKS.fetch_sub(1, Ordering::Relaxed);
}

/// Begins a structured data region; `host_data`: it is a `host_data` construct.
pub fn begin_data(host_data: bool) {
    ready();
    let construct = if host_data {
        Construct::HostData
    } else {
        Construct::Data
    };
    let record = Record::begin(Event::EnterDataStart, construct, false, ASYNC_SYNC);
    here(|t| t.data_regions.set(t.data_regions.get() + 1));
    DATA_REGIONS.fetch_add(1, Ordering::Relaxed);
    if let Some(mut record) = record {
        record.dispatch();
        record.turn(Event::EnterDataEnd);
    }
}

/// Ends the innermost structured data region.
pub fn end_data() {
    let record = Record::begin(Event::ExitDataStart, Construct::Data, false, ASYNC_SYNC);
    here(|t| {
        if t.data_regions.get() > 0 {
            t.data_regions.set(t.data_regions.get() - 1);
            DATA_REGIONS.fetch_sub(1, Ordering::Relaxed);
        }
    });
    if let Some(mut record) = record {
        record.dispatch();
        record.turn(Event::ExitDataEnd);
    }
}

/// The constructs that only move data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Movement {
    /// `enter data`.
    Enter,
    /// `exit data`.
    Exit,
    /// `update`.
    Update,
}

/// A construct that only moves data: only its events are left of it.
pub fn move_data(what: Movement, queue: i32) {
    ready();
    let (start, end, construct) = match what {
        Movement::Enter => (
            Event::EnterDataStart,
            Event::EnterDataEnd,
            Construct::EnterData,
        ),
        Movement::Exit => (
            Event::ExitDataStart,
            Event::ExitDataEnd,
            Construct::ExitData,
        ),
        Movement::Update => (Event::UpdateStart, Event::UpdateEnd, Construct::Update),
    };
    if let Some(mut record) = Record::begin(start, construct, false, queue) {
        record.dispatch();
        record.turn(end);
    }
}
