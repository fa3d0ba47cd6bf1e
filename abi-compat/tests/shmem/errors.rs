//! Mistakes of a program. After each, one line names the function and the value, and the whole job ends, on a quiet
//! machine within two seconds, with a status that is not zero.

use super::launch::{Ending, Launcher, Outcome};
use super::program::{self, Library};
use super::{shown, Setting};
use hetmp_abi_compat::sample;
use libtest_mimic::{Failed, Trial};
use std::time::Duration;

/// Number of PEs of these jobs.
const PES: u32 = 3;
/// How long a job that fails may take where all tests run, on a quiet machine, start included.
const LIMIT: Duration = Duration::from_secs(2);

/// A mistake that `c-tests/shmem/errors.c` makes, and the parts that the line must have.
struct Mistake {
    case: &'static str,
    /// The mistake is found only with `HETMP_CHECK=1`.
    checked: bool,
    /// Parts of the line.
    parts: &'static [&'static str],
}

const fn always(case: &'static str, parts: &'static [&'static str]) -> Mistake {
    Mistake {
        case,
        checked: false,
        parts,
    }
}

const fn checked(case: &'static str, parts: &'static [&'static str]) -> Mistake {
    Mistake {
        case,
        checked: true,
        parts,
    }
}

const MISTAKES: &[Mistake] = &[
    always(
        "put-pe",
        &["shmem_long_put ", "PE 3", "no such PE (expected 0 to 2)"],
    ),
    always(
        "put-pe-negative",
        &["shmem_long_put ", "PE -1", "no such PE (expected 0 to 2)"],
    ),
    always("put-pe-huge", &["shmem_long_put ", "PE 1073741824"]),
    always("put-address", &["shmem_long_put ", "PE 0", "address 0x"]),
    always("put-null", &["shmem_putmem ", "address 0x0"]),
    always("put-malloc", &["shmem_int_put ", "address 0x"]),
    always("put-end", &["shmem_putmem ", "1099511627776 bytes"]),
    always("put-128", &["shmem_put128 ", "PE 3"]),
    always("putmem-nbi-pe", &["shmem_putmem_nbi ", "PE 3"]),
    always("get-pe", &["shmem_long_get ", "PE 3"]),
    always("get-address", &["shmem_long_get ", "PE 0", "address 0x"]),
    always("get-nbi-address", &["shmem_getmem_nbi ", "address 0x"]),
    always("p-pe", &["shmem_long_p ", "PE 3"]),
    always("p-address", &["shmem_double_p ", "address 0x"]),
    always("g-pe", &["shmem_long_g ", "PE 3"]),
    always("g-address", &["shmem_short_g ", "address 0x"]),
    always("p-longdouble-pe", &["shmem_longdouble_p ", "PE 3"]),
    always("iput-pe", &["shmem_int_iput ", "PE 3"]),
    always("iput-range", &["shmem_long_iput "]),
    always("iget-pe", &["shmem_iget64 ", "PE -3"]),
    always("add-pe", &["shmem_long_atomic_add ", "PE 3"]),
    always("add-address", &["shmem_long_atomic_add ", "address 0x"]),
    always("fetch-pe", &["shmem_int_atomic_fetch ", "PE 3"]),
    always("swap-address", &["shmem_double_atomic_swap ", "address 0x"]),
    always(
        "fetch-add-nbi-pe",
        &["shmem_long_atomic_fetch_add_nbi ", "PE 3"],
    ),
    always("signal-pe", &["shmem_putmem_signal ", "PE 3"]),
    always("signal-address", &["shmem_putmem_signal ", "address 0x"]),
    always("signal-op", &["shmem_putmem_signal ", "77"]),
    always("wait-cmp", &["shmem_long_wait_until ", "99"]),
    always("ctx-invalid", &["shmem_ctx_long_p ", "SHMEM_CTX_INVALID"]),
    always("before-init", &["shmem_long_p ", "before shmem_init"]),
    always("my-pe-before-init", &["shmem_my_pe ", "before shmem_init"]),
    always("free-address", &["shmem_free ", "address 0x"]),
    always("free-twice", &["shmem_free ", "address 0x"]),
    always("free-inside", &["shmem_free ", "address 0x"]),
    always("root", &["shmem_long_broadcast ", "3"]),
    always("root-negative", &["shmem_broadcastmem ", "-1"]),
    always(
        "team-invalid",
        &["shmem_long_sum_reduce ", "SHMEM_TEAM_INVALID"],
    ),
    always("team-ctx-pe", &["shmem_ctx_long_p ", "PE 1"]),
    always("after-finalize", &["shmem_long_p ", "after shmem_finalize"]),
    always("barrier-set", &["shmem_barrier "]),
    always(
        "reduce-huge",
        &["shmem_long_sum_reduce ", "elements of 8 bytes"],
    ),
    checked(
        "add-misaligned",
        &["shmem_long_atomic_add ", "a multiple of 8"],
    ),
    checked("wait-address", &["shmem_long_wait_until ", "address 0x"]),
    checked("lock-address", &["shmem_set_lock ", "address 0x"]),
    checked("clear-free-lock", &["shmem_clear_lock ", "not held"]),
    checked("ctx-destroyed", &["shmem_ctx_long_p ", "context"]),
    checked("ctx-destroy-default", &["shmem_ctx_destroy "]),
    checked("ctx-private", &["shmem_ctx_long_p ", "SHMEM_CTX_PRIVATE"]),
    checked("team-destroy-world", &["shmem_team_destroy "]),
    checked("team-destroyed", &["shmem_team_sync ", "team"]),
    checked("reduce-address", &["shmem_long_sum_reduce ", "address 0x"]),
    checked("reduce-overlap", &["shmem_long_sum_reduce ", "overlap"]),
    checked("collect-overlap", &["shmem_long_fcollect ", "overlap"]),
    checked("reduce-counts", &["shmem_long_sum_reduce ", "4", "5"]),
    checked("reduce-targets", &["shmem_long_sum_reduce "]),
    checked("roots", &["shmem_long_broadcast ", "0", "1"]),
    checked(
        "broadcast-unready",
        &["shmem_long_broadcast PE 0", "of PE 1: written at 0x"],
    ),
    checked(
        "broadcast64-unready",
        &["shmem_broadcast64 PE 0", "of PE 1: written at 0x"],
    ),
    checked("kinds", &["shmem_long_sum_reduce", "shmem_long_max_reduce"]),
    checked(
        "barrier-and-reduce",
        &["shmem_barrier_all", "shmem_long_max_reduce"],
    ),
    checked("malloc-sizes", &["shmem_malloc", "100", "200"]),
    checked("malloc-and-barrier", &["shmem_malloc", "shmem_barrier_all"]),
];

/// True for a line that hetrun itself adds. Before a PE has joined the job, or after it has left, the library prints
/// its own line, and hetrun adds one about the process's end.
fn by_hetrun(line: &str) -> bool {
    line.starts_with("hetmp: rank ") && line.ends_with(": ended with status 1")
}

/// The lines of standard error that hetmp has printed.
fn said(out: &Outcome) -> Vec<&str> {
    let all = out.stderr.lines().filter(|l| l.starts_with("hetmp: "));
    all.filter(|l| !by_hetrun(l)).collect()
}

/// Checks the lines. With `by_each`, every PE may print the same line, before it hears that another one has ended the
/// job.
fn judge(out: &Outcome, parts: &[&str], by_each: bool) -> Result<(), String> {
    match out.ending {
        Ending::Exit(status) if status != 0 => {}
        _ => return Err(format!("a status was to be there: {}", shown(out))),
    }
    if out.stdout.contains("not noticed") || out.stdout.contains("no such case") {
        return Err(format!("went on: {}", shown(out)));
    }
    let mut lines = said(out);
    if by_each {
        lines.dedup();
    }
    let [line] = lines[..] else {
        return Err(format!("one line of hetmp's was to come: {}", shown(out)));
    };
    if out.stderr.lines().any(|l| l != line && !by_hetrun(l)) {
        return Err(format!("others talked, too: {}", shown(out)));
    }
    for part in parts {
        if !line.contains(part) {
            return Err(format!("`{part}` is not in the line: {}", shown(out)));
        }
    }
    if !line.contains(" (expected ") {
        return Err(format!(
            "the line does not say what is expected: {}",
            shown(out)
        ));
    }
    if !out.left.is_empty() {
        return Err(format!("left running: {:?}", out.left));
    }
    Ok(())
}

/// Runs one mistake in one setting, and checks the line, the status and the time.
fn noticed(case: &str, parts: &[&str], env: &[(&str, &str)]) -> Result<(), Failed> {
    let path = program::named("errors").build("default", Library::Ours)?;
    let mut slowest = Duration::MAX;
    // The test is repeated only if the job took too long: the machine may have been busy.
    for _ in 0..3 {
        let mut command = Launcher::Oshrun.start(PES, &path).args([case]);
        for (name, value) in env {
            command = command.env(name, value);
        }
        let out = command.run();
        judge(&out, parts, case == "none")
            .map_err(|why| format!("errors {case} with {env:?}: {why}"))?;
        slowest = out.took;
        if slowest < LIMIT || sample::is_short() {
            return Ok(());
        }
    }
    Err(format!("errors {case} with {env:?}: the job ended after {slowest:?}").into())
}

/// A variable with a bad value gives one line for the whole job, and the program runs with the default.
fn bad_variable(name: &str, value: &str) -> Result<(), Failed> {
    let path = program::named("errors").build("default", Library::Ours)?;
    let out = Launcher::Oshrun
        .start(PES, &path)
        .args(["none"])
        .env(name, value)
        .run();
    let lines = said(&out);
    let begins = format!("hetmp: {name}: '{value}': ");
    let all_of_it = lines
        .iter()
        .all(|l| l.starts_with(&begins) && l.contains(" (expected "));
    if lines.is_empty() || lines.len() > PES as usize || !all_of_it {
        return Err(format!("not lines that begin with `{begins}`: {}", shown(&out)).into());
    }
    Ok(())
}

/// Tests of mistakes.
pub(crate) fn trials() -> Vec<Trial> {
    let mut trials: Vec<Trial> = MISTAKES
        .iter()
        .map(|mistake| {
            Trial::test(format!("errors/{}", mistake.case), move || {
                if !mistake.checked {
                    noticed(mistake.case, mistake.parts, &[])?;
                }
                noticed(mistake.case, mistake.parts, &[("HETMP_CHECK", "1")])?;
                Ok(())
            })
        })
        .collect();
    // The same lines where operations go through an engine.
    for engine in ["emulated", "tcp"] {
        trials.push(Trial::test(format!("errors/through-{engine}"), move || {
            for mistake in MISTAKES.iter().filter(|m| !m.checked).step_by(4) {
                noticed(mistake.case, mistake.parts, &[("HETMP_NIC", engine)])?;
            }
            Ok(())
        }));
    }
    for (name, value) in [("HETMP_NIC", "pigeon"), ("HETMP_CHECK", "perhaps")] {
        trials.push(Trial::test(
            format!("errors/variable-{name}-{value}"),
            move || bad_variable(name, value),
        ));
    }
    // These bad values end the job. For the heap's size, the specification demands it. With another memory model than
    // the user asked for, wrong programs would pass.
    for (name, value, part) in [
        (
            "SHMEM_SYMMETRIC_SIZE",
            "much",
            "'much': not a size (expected ",
        ),
        (
            "SHMEM_SYMMETRIC_SIZE",
            "-5M",
            "'-5M': not a size (expected ",
        ),
        (
            "SHMEM_SYMMETRIC_HEAP_SIZE",
            "much",
            "'much': not a size (expected ",
        ),
        (
            "SHMEM_SYMMETRIC_SIZE",
            "100T",
            "'100T': too large (expected at most 64T)",
        ),
        ("HETMP_NIC_MODEL", "gpu,seed=x", "'seed=x': "),
    ] {
        trials.push(Trial::test(
            format!("errors/variable-{name}-{value}"),
            move || noticed("none", &[name, part], &[(name, value)]),
        ));
    }
    trials.push(Trial::test("errors/none", || {
        let program = program::named("errors");
        let mut setting = Setting::new("default", PES);
        setting.env = vec![("HETMP_CHECK".to_owned(), "1".to_owned())];
        let path = program.build(&setting.build, Library::Ours)?;
        let out = Launcher::Oshrun
            .start(setting.pes, &path)
            .args(["none"])
            .envs(&setting.env)
            .run();
        super::verdict(&program, setting.pes, &out, false)?;
        Ok(())
    }));
    trials
}
