//! When a slave crashes, writes a line that names the slave.
//!
//! The process ends by the signal as it would without this handler. But with 64 slaves that run one function,
//! "Segmentation fault" does not say whose arguments to look at. The handler is installed with the first slaves, for
//! signals that have no handler yet. Before it returns it restores the signal's default action. It has a stack of its
//! own, so that it works even after a slave has used up its stack.
//!
//! A crash may happen inside of `malloc` or the loader. So nothing here takes a lock or allocates: the line is put
//! together on the stack, and the object that contains the instruction is looked up in `/proc/self/maps`.

use core::fmt::Write;
use core::sync::atomic::{AtomicBool, Ordering};
use memmap2::{MmapOptions, MmapRaw};
use std::sync::Once;

const SIGNALS: [(libc::c_int, &str); 5] = [
    (libc::SIGSEGV, "SIGSEGV"),
    (libc::SIGBUS, "SIGBUS"),
    (libc::SIGFPE, "SIGFPE"),
    (libc::SIGILL, "SIGILL"),
    (libc::SIGABRT, "SIGABRT"),
];

/// Bytes of a slave's stack for signals.
const STACK: usize = 64 << 10;

/// Installs the handler once, for signals that the program does not handle.
pub(crate) fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        for (signal, _) in SIGNALS {
            // SAFETY: both actions are live. The handler takes no lock and does not allocate (see the module's head).
            unsafe {
                let mut before: libc::sigaction = core::mem::zeroed();
                libc::sigaction(signal, core::ptr::null(), &mut before);
                if before.sa_sigaction != libc::SIG_DFL {
                    continue;
                }
                let mut action: libc::sigaction = core::mem::zeroed();
                action.sa_sigaction = on_crash as *const () as usize;
                action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
                libc::sigemptyset(&mut action.sa_mask);
                libc::sigaction(signal, &action, core::ptr::null_mut());
            }
        }
    });
}

/// Gives the calling thread a stack for signals; `None` if the thread has one already.
pub(crate) fn begin_thread() -> Option<MmapRaw> {
    // SAFETY: plain data, filled by the call, which only asks.
    let has_none = unsafe {
        let mut now: libc::stack_t = core::mem::zeroed();
        libc::sigaltstack(core::ptr::null(), &mut now) == 0 && now.ss_flags & libc::SS_DISABLE != 0
    };
    if !has_none {
        return None;
    }
    let mut options = MmapOptions::new();
    let memory = options.len(STACK).no_reserve_swap().map_anon().ok()?;
    let memory = MmapRaw::from(memory);
    // SAFETY: the memory lives until `end_thread`.
    unsafe {
        let mut stack: libc::stack_t = core::mem::zeroed();
        (stack.ss_sp, stack.ss_size) = (memory.as_mut_ptr().cast(), STACK);
        libc::sigaltstack(&stack, core::ptr::null_mut());
    }
    Some(memory)
}

/// Takes the stack that [`begin_thread`] made from the calling thread.
pub(crate) fn end_thread(stack: MmapRaw) {
    // SAFETY: the thread itself calls this, so no handler runs on its stack. If the program has set another stack
    // meanwhile, that one stays.
    unsafe {
        let mut now: libc::stack_t = core::mem::zeroed();
        let same = |now: &libc::stack_t| core::ptr::eq(now.ss_sp.cast(), stack.as_ptr());
        if libc::sigaltstack(core::ptr::null(), &mut now) == 0 && same(&now) {
            let mut off: libc::stack_t = core::mem::zeroed();
            (off.ss_flags, off.ss_size) = (libc::SS_DISABLE, STACK);
            libc::sigaltstack(&off, core::ptr::null_mut());
        }
    }
    drop(stack);
}

extern "C" fn on_crash(
    signal: libc::c_int,
    info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
) {
    // SAFETY: the kernel passes a structure that it has filled in.
    let (address, code) = unsafe { ((*info).si_addr() as usize, (*info).si_code) };
    say(
        signal,
        (code > 0).then_some(address),
        program_counter(context),
    );
    // SAFETY: the default action ends the process: when the instruction faults again, or abort goes on. A signal that
    // somebody has sent is sent again here, and arrives after this handler has returned.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        if code <= 0 {
            libc::raise(signal);
        }
    }
}

/// Writes which slave the calling thread is, if it is one, and what it did. `address` is `None` if a program has sent
/// the signal.
pub(crate) fn say(signal: libc::c_int, address: Option<usize>, pc: usize) {
    // Only the first crash is reported: other threads may crash while the process ends.
    static SAID: AtomicBool = AtomicBool::new(false);
    let Some((cluster, number)) = crate::callers::slave_here() else {
        return;
    };
    if SAID.swap(true, Ordering::Relaxed) {
        return;
    }
    let mut line = Line::<1024>::new();
    let name = SIGNALS.iter().find(|s| s.0 == signal).map_or("?", |s| s.1);
    // Writing to a `Line` cannot fail.
    let _ = write!(line, "hetmp: slave {number} of cluster {cluster}: {name}");
    if let Some(address) = address.filter(|_| signal == libc::SIGSEGV || signal == libc::SIGBUS) {
        let _ = write!(line, " at address {address:#x}");
    }
    let _ = write!(line, ", instruction ");
    object_of(pc, &mut line);
    let _ = line.write_str(": the process ends by this signal\n");
    hetmp_core::report::write_all(libc::STDERR_FILENO, line.bytes());
}

pub(crate) fn program_counter(context: *mut libc::c_void) -> usize {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the kernel passes the interrupted thread's context.
    unsafe {
        (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs[libc::REG_RIP as usize] as usize
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as on x86-64.
    unsafe {
        (*context.cast::<libc::ucontext_t>()).uc_mcontext.pc as usize
    }
}

/// A text of at most `N` bytes. Bytes beyond that are cut off.
struct Line<const N: usize> {
    bytes: [u8; N],
    len: usize,
}

impl<const N: usize> Line<N> {
    fn new() -> Line<N> {
        Line {
            bytes: [0; N],
            len: 0,
        }
    }
    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
    fn push(&mut self, byte: u8) {
        if self.len < N {
            self.bytes[self.len] = byte;
            self.len += 1;
        }
    }
}

impl<const N: usize> Write for Line<N> {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        text.bytes().for_each(|b| self.push(b));
        Ok(())
    }
}

/// Writes `object+0xoffset`, as addr2line takes it; or the address, if it lies in no object.
fn object_of(pc: usize, out: &mut impl Write) {
    let mut found = false;
    // SAFETY: the name is a C string; the buffer is live and has the given length.
    unsafe {
        let fd = libc::open(
            c"/proc/self/maps".as_ptr(),
            libc::O_RDONLY | libc::O_CLOEXEC,
        );
        let mut chunk = [0u8; 2048];
        let mut line = Line::<512>::new();
        // The path of the object, and the address at which it begins.
        let mut object = Line::<256>::new();
        let mut base = 0;
        while fd >= 0 && !found {
            let n = libc::read(fd, chunk.as_mut_ptr().cast(), chunk.len());
            if n <= 0 {
                break;
            }
            for &byte in &chunk[..n as usize] {
                if byte != b'\n' {
                    line.push(byte);
                    continue;
                }
                if let Some((begin, end, path)) = mapping(line.bytes()) {
                    if path != object.bytes() {
                        object = Line::new();
                        path.iter().for_each(|&b| object.push(b));
                        base = begin;
                    }
                    if (begin..end).contains(&pc) && path.starts_with(b"/") {
                        if let Ok(path) = core::str::from_utf8(path) {
                            let _ = write!(out, "{path}+{:#x}", pc - base);
                            found = true;
                            break;
                        }
                    }
                }
                line.len = 0;
            }
        }
        if fd >= 0 {
            libc::close(fd);
        }
    }
    if !found {
        let _ = write!(out, "{pc:#x}");
    }
}

/// Begin, end and path in a line of `/proc/self/maps`: `begin-end rights offset device inode path`.
fn mapping(line: &[u8]) -> Option<(usize, usize, &[u8])> {
    let text = core::str::from_utf8(line).ok()?;
    let (range, rest) = text.split_once(' ')?;
    let (begin, end) = range.split_once('-')?;
    let path = rest.splitn(5, ' ').nth(4).unwrap_or("").trim_start();
    Some((
        usize::from_str_radix(begin, 16).ok()?,
        usize::from_str_radix(end, 16).ok()?,
        path.as_bytes(),
    ))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn lines_of_maps_are_understood() {
        let line = b"7f0100-7f0200 r-xp 00001000 08:01 1234     /usr/lib/with space.so";
        assert_eq!(
            mapping(line),
            Some((0x7f0100, 0x7f0200, &b"/usr/lib/with space.so"[..]))
        );
        assert_eq!(mapping(b"1-2 rw-p 0 00:00 0"), Some((1, 2, &b""[..])));
        assert_eq!(mapping(b"x"), None);
    }

    #[test]
    fn instructions_are_found_in_their_objects() {
        let mut line = Line::<512>::new();
        object_of(mapping as *const () as usize, &mut line);
        let text = String::from_utf8_lossy(line.bytes()).into_owned();
        let exe = std::env::current_exe().expect("a path");
        assert!(text.starts_with(&format!("{}+0x", exe.display())), "{text}");
        let mut line = Line::<512>::new();
        object_of(16, &mut line);
        assert_eq!(line.bytes(), b"0x10");
    }

    #[test]
    fn long_lines_are_cut() {
        let mut line = Line::<4>::new();
        let _ = write!(line, "{}", 123_456);
        assert_eq!(line.bytes(), b"1234");
    }
}
