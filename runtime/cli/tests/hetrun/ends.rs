//! How the processes of a job end, stop and go on, and what `hetrun` says of it.

use super::*;

/// Standard error of a job that failed, without what test programs say.
pub(super) fn verdict(output: &Output) -> Vec<String> {
    let lines = text(&output.stderr);
    let ours = lines.lines().filter(|l| l.starts_with("hetmp: "));
    ours.map(str::to_owned).collect()
}

#[test]
fn one_death_ends_the_job() {
    for (script, status, line) in [
        (
            "kill -SEGV $$",
            139,
            "hetmp: rank 1: ended by signal 11 (SIGSEGV)",
        ),
        (
            "kill -KILL $$",
            137,
            "hetmp: rank 1: ended by signal 9 (SIGKILL)",
        ),
        ("exit 3", 3, "hetmp: rank 1: ended with status 3"),
    ] {
        // The others ignore polite requests, and so do their children.
        let script = format!(
            "if [ $HETRUN_RANK = 1 ]; then {script}; fi; trap '' TERM; sleep 300 & sleep 300; wait"
        );
        let output = run(&mut hetrun(&["-n", "3", "sh", "-c", &script]));
        assert_eq!(output.status.code(), Some(status));
        assert_eq!(verdict(&output), [line]);
    }
}

#[test]
fn deaths_in_the_middle_of_a_job_are_named() {
    for (name, status, line) in [
        (
            "abort",
            9,
            "hetmp: rank 1: ended the job with status 9: no more room",
        ),
        (
            "leave",
            1,
            "hetmp: rank 1: ended with status 0 in the middle of the job",
        ),
        (
            "hide",
            1,
            "hetmp: rank 1: a process that says good-bye is needed; its connection ended while its \
             program goes on",
        ),
    ] {
        let output = run(role(&mut hetrun(&["-n", "3"]), name));
        assert_eq!(output.status.code(), Some(status), "{name}");
        assert_eq!(verdict(&output), [line]);
    }
    // A rank that never joins.
    let own = std::env::current_exe().expect("this program");
    let script = format!(
        "[ $HETRUN_RANK = 1 ] || exec {} --exact a_process_of_a_job",
        own.display()
    );
    let output = run(hetrun(&["-n", "2", "sh", "-c", &script]).env("HETRUN_TEST_ROLE", "fence"));
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        verdict(&output),
        ["hetmp: rank 0: waits for rank 1, which has ended; every rank is needed in a fence"]
    );
}

#[test]
fn what_processes_leave_behind_ends_too() {
    let output = run(&mut hetrun(&["-n", "2", "sh", "-c", "sleep 300 & echo $!"]));
    assert!(output.status.success());
    for pid in text(&output.stdout).lines() {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        assert!(stat.is_empty() || stat.contains(") Z "), "{stat}");
    }
}

/// Starts a job whose ranks say `ready`, waits for all of them, and sends a signal to hetrun.
fn signalled(script: &str, signals: &[i32]) -> Output {
    let script = format!(":; {script}\necho ready; while :; do sleep 0.1; done");
    let mut child = hetrun(&["-n", "2", "sh", "-c", &script])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("hetrun");
    let mut out = child.stdout.take().expect("piped");
    let mut seen = Vec::new();
    while text(&seen).matches("ready").count() < 2 {
        let mut byte = [0];
        assert_eq!(out.read(&mut byte).expect("output"), 1, "{}", text(&seen));
        seen.push(byte[0]);
    }
    for signal in signals {
        // SAFETY: a signal to a child that has not been waited for.
        unsafe { libc::kill(child.id() as i32, *signal) };
        std::thread::sleep(Duration::from_millis(150));
    }
    child.stdout = Some(out);
    let mut output = finish(&mut child);
    seen.append(&mut output.stdout);
    output.stdout = seen;
    output
}

#[test]
fn signals_are_passed_on() {
    let output = signalled("", &[libc::SIGTERM]);
    assert_eq!(output.status.code(), Some(143));
    assert_eq!(verdict(&output), [""; 0]);
    let output = signalled("trap 'echo bye; exit 0' INT", &[libc::SIGINT]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(text(&output.stdout).matches("bye").count(), 2);
    // Processes that ignore the first signal are killed at the second one.
    let output = signalled("trap '' TERM", &[libc::SIGTERM, libc::SIGTERM]);
    assert_eq!(output.status.code(), Some(137));
    let output = signalled(
        // With another status, the rank that is late would be ended before it has said anything.
        "trap 'echo one' USR1; trap 'exit 0' USR2",
        &[libc::SIGUSR1, libc::SIGUSR2],
    );
    assert_eq!(text(&output.stdout).matches("one").count(), 2);
    assert_eq!(output.status.code(), Some(0));
}

/// The state letter of a process.
fn state(pid: &str) -> char {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let rest = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
    rest.chars().next().unwrap_or('?')
}

#[test]
fn stop_and_continue_reach_the_processes() {
    let mut child = hetrun(&["-n", "1", "sh", "-c", "echo $$; exec sleep 300"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // A group of its own in this session, as a shell makes it: else TSTP would be ignored.
        .process_group(0)
        .spawn()
        .expect("hetrun");
    let mut out = child.stdout.take().expect("piped");
    let mut pid = String::new();
    while !pid.ends_with('\n') {
        let mut byte = [0];
        assert_eq!(out.read(&mut byte).expect("output"), 1);
        pid.push(char::from(byte[0]));
    }
    let (pid, own) = (pid.trim().to_owned(), child.id().to_string());
    let becomes = |who: &str, states: &str| {
        let end = Instant::now() + LIMIT;
        while !states.contains(state(who)) {
            assert!(Instant::now() < end, "{who} is {} not {states}", state(who));
            std::thread::sleep(Duration::from_millis(10));
        }
    };
    let tell = |signal| {
        // SAFETY: a signal to a child that has not been waited for.
        unsafe { libc::kill(own.parse().expect("a number"), signal) };
    };
    tell(libc::SIGTSTP);
    becomes(&own, "T");
    becomes(&pid, "T");
    tell(libc::SIGCONT);
    becomes(&own, "S");
    becomes(&pid, "S");
    tell(libc::SIGTERM);
    child.stdout = Some(out);
    assert_eq!(finish(&mut child).status.code(), Some(143));
}

#[test]
fn processes_end_with_hetrun() {
    let mut child = hetrun(&["-n", "2", "sh", "-c", "echo $$; exec sleep 300"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("hetrun");
    let mut out = child.stdout.take().expect("piped");
    let mut pids = Vec::new();
    while pids.iter().filter(|&&b| b == b'\n').count() < 2 {
        let mut byte = [0];
        assert_eq!(out.read(&mut byte).expect("output"), 1);
        pids.push(byte[0]);
    }
    child.kill().expect("killed");
    child.wait().expect("waited");
    for pid in text(&pids).lines() {
        let end = Instant::now() + LIMIT;
        while !"?Z".contains(state(pid)) {
            assert!(Instant::now() < end, "{pid} is {}", state(pid));
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}
