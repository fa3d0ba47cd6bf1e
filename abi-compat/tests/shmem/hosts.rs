//! PEs on two hosts, which are network name spaces joined by a pair of virtual interfaces. The tests are ignored if
//! this user may not create name spaces.

use super::launch::Command;
use super::program::{self, Library};
use super::{verdict, Setting};
use libtest_mimic::{Failed, Trial};
use std::fs;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

const PROGRAMS: &[&str] = &[
    "setup",
    "put_get",
    "contended",
    "collectives",
    "signals",
    "ordering",
    "locks",
    "heap",
];

const ADDRESSES: [&str; 2] = ["10.213.9.1", "10.213.9.2"];

struct Network {
    spaces: [String; 2],
    ssh: PathBuf,
    hosts: PathBuf,
}

fn ip(arguments: &str) -> bool {
    Command::new("/usr/sbin/ip")
        .args(arguments.split(' '))
        .run()
        .ending
        == super::launch::Ending::Exit(0)
}

impl Network {
    fn new() -> Option<Self> {
        if !PathBuf::from("/usr/sbin/ip").is_file() {
            return None;
        }
        let id = std::process::id();
        let spaces = [format!("osha{id}"), format!("oshb{id}")];
        let [a, b] = &spaces;
        let folder = program::scratch();
        fs::create_dir_all(&folder).ok()?;
        let network = Self {
            ssh: folder.join(format!("ssh-{id}")),
            hosts: folder.join(format!("hosts-{id}")),
            spaces: spaces.clone(),
        };
        // hetrun runs this script instead of ssh. The script finds the name space by the host's address.
        fs::write(
            &network.ssh,
            format!(
                "#!/bin/sh\nwhile :; do case $1 in -*) shift ;; *) break ;; esac; done\n\
                 case $1 in {}) space={a} ;; {}) space={b} ;; *) exit 255 ;; esac\n\
                 shift\nexec ip netns exec $space sh -c \"$*\"\n",
                ADDRESSES[0], ADDRESSES[1]
            ),
        )
        .ok()?;
        fs::write(
            &network.hosts,
            format!("{} slots=2\n{} slots=2\n", ADDRESSES[0], ADDRESSES[1]),
        )
        .ok()?;
        let made = ip(&format!("netns add {a}"))
            && ip(&format!("netns add {b}"))
            && ip(&format!(
                "link add v0 netns {a} type veth peer name v0 netns {b}"
            ))
            && ip(&format!("-n {a} addr add {}/24 dev v0", ADDRESSES[0]))
            && ip(&format!("-n {b} addr add {}/24 dev v0", ADDRESSES[1]))
            && ip(&format!("-n {a} link set v0 up"))
            && ip(&format!("-n {b} link set v0 up"))
            && ip(&format!("-n {a} link set lo up"))
            && ip(&format!("-n {b} link set lo up"));
        made.then_some(network)
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for space in &self.spaces {
            ip(&format!("netns del {space}"));
        }
        let _ = fs::remove_file(&self.ssh);
        let _ = fs::remove_file(&self.hosts);
    }
}

/// Only one network exists at a time, since all use the same addresses.
static ONE: Mutex<()> = Mutex::new(());

fn on_two_hosts(name: &str) -> Result<(), Failed> {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let network = Network::new().ok_or("no network name spaces can be made")?;
    let program = program::named(name);
    let path = program.build(&program.builds[0], Library::Ours)?;
    for pes in [2_u32, 4] {
        let setting = Setting::new(&program.builds[0], pes);
        // One PE on each host, or two.
        if pes == 2 {
            fs::write(
                &network.hosts,
                format!("{} slots=1\n{} slots=1\n", ADDRESSES[0], ADDRESSES[1]),
            )?;
        } else {
            fs::write(
                &network.hosts,
                format!("{} slots=2\n{} slots=2\n", ADDRESSES[0], ADDRESSES[1]),
            )?;
        }
        let args = program.args[0]
            .iter()
            .map(|a| a.replace("@pes", &pes.to_string()));
        let out = Command::new(program::prefix().join("bin/hetrun"))
            .args(["--ssh", &format!("sh {} -T", network.ssh.display())])
            .args(["--hosts", &network.hosts.display().to_string()])
            .args(["-x", "SHTEST_RUN", "-n", &pes.to_string()])
            .args([path.as_os_str()])
            .args(args)
            .envs(&program.env)
            .run();
        verdict(&program, setting.pes, &out, false)
            .map_err(|why| format!("{name} on two hosts, {pes} PEs: {why}"))?;
    }
    Ok(())
}

/// A real `sshd` on the second host, with keys made for this test. It is ended on drop.
struct Sshd {
    daemon: std::process::Child,
    dir: PathBuf,
}

impl Drop for Sshd {
    fn drop(&mut self) {
        let _ = self.daemon.kill();
        let _ = self.daemon.wait();
        let _ = fs::remove_dir_all(&self.dir);
    }
}

const PORT: u16 = 2222;

impl Sshd {
    fn start(space: &str) -> Result<Sshd, Failed> {
        let dir = program::scratch().join(format!("sshd-{}", std::process::id()));
        fs::create_dir_all(&dir)?;
        fs::create_dir_all("/run/sshd")?;
        let d = dir.display().to_string();
        for key in ["host", "user"] {
            let out = Command::new("/usr/bin/ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-f", &format!("{d}/{key}")])
                .run();
            if out.ending != super::launch::Ending::Exit(0) {
                return Err(super::shown(&out).into());
            }
        }
        fs::copy(dir.join("user.pub"), dir.join("authorized"))?;
        fs::write(
            dir.join("conf"),
            format!(
                "Port {PORT}\nListenAddress {}\nHostKey {d}/host\nAuthorizedKeysFile {d}/authorized\nPidFile {d}/pid\n\
                 StrictModes no\nPermitRootLogin yes\nPasswordAuthentication no\nUsePAM yes\nMaxStartups 100\n",
                ADDRESSES[1]
            ),
        )?;
        let log = fs::File::create(dir.join("log"))?;
        let daemon = std::process::Command::new("/usr/sbin/ip")
            .args(["netns", "exec", space, "/usr/sbin/sshd", "-D", "-e", "-f"])
            .arg(dir.join("conf"))
            .stdin(std::process::Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()?;
        let sshd = Sshd { daemon, dir };
        for _ in 0..600 {
            if fs::read_to_string(sshd.dir.join("log"))
                .is_ok_and(|l| l.contains("Server listening"))
            {
                return Ok(sshd);
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let log = fs::read_to_string(sshd.dir.join("log")).unwrap_or_default();
        Err(format!("sshd does not listen: {log}").into())
    }

    /// The value of hetrun's option `--ssh`.
    fn command(&self) -> String {
        let d = self.dir.display();
        format!(
            "ssh -F none -T -x -p {PORT} -i {d}/user -o BatchMode=yes -o IdentitiesOnly=yes \
             -o StrictHostKeyChecking=accept-new -o UserKnownHostsFile={d}/known"
        )
    }
}

/// hetrun on the first host starts PEs on the second host by ssh, as for users.
fn by_ssh(name: &str) -> Result<(), Failed> {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let network = Network::new().ok_or("no network name spaces can be made")?;
    let sshd = Sshd::start(&network.spaces[1])?;
    let program = program::named(name);
    let path = program.build(&program.builds[0], Library::Ours)?;
    let args = program.args[0].iter().map(|a| a.replace("@pes", "4"));
    let out = Command::new("/usr/sbin/ip")
        .args(["netns", "exec", &network.spaces[0]])
        .args([program::prefix().join("bin/hetrun").as_os_str()])
        .args(["--ssh", &sshd.command()])
        .args(["--hosts", &network.hosts.display().to_string()])
        .args(["-x", "SHTEST_RUN", "-n", "4"])
        .args([path.as_os_str()])
        .args(args)
        .envs(&program.env)
        .run();
    // Standard error is not empty: ssh prints that it has added the host's key.
    verdict(&program, 4, &out, true).map_err(|why| format!("{name} over ssh: {why}").into())
}

/// The link to the second host goes down in the middle of a job that came there through `sshd`: no connection ends.
/// hetrun says which host is gone, and the PEs there end as well.
fn cut_off() -> Result<(), Failed> {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let network = Network::new().ok_or("no network name spaces can be made")?;
    let sshd = Sshd::start(&network.spaces[1])?;
    let path = program::named("exit_status").build("default", Library::Ours)?;
    let name = path.display().to_string();
    // Only signs of life count here: the PEs compute, and their own watch over sockets is off.
    let out = Command::new("/usr/sbin/ip")
        .args(["netns", "exec", &network.spaces[0]])
        .args([program::prefix().join("bin/hetrun").as_os_str()])
        .args(["--host-timeout", "4", "--ssh", &sshd.command()])
        .args(["--hosts", &network.hosts.display().to_string()])
        .args(["-x", "SHTEST_RUN", "-n", "4"])
        .args([path.as_os_str()])
        .args(["stay", "99", "0"])
        .env("HETMP_NIC_TIMEOUT", "0")
        .run_watched(|_, mark| {
            let pes = || {
                let all = super::launch::marked(mark).into_iter();
                all.filter(|(_, line)| line.starts_with(&name)).count()
            };
            let until = |done: &dyn Fn() -> bool| {
                let began = std::time::Instant::now();
                while !done() && began.elapsed() < Duration::from_secs(60) {
                    std::thread::sleep(Duration::from_millis(50));
                }
            };
            until(&|| pes() == 4);
            std::thread::sleep(Duration::from_secs(1));
            ip(&format!("-n {} link set v0 down", network.spaces[1]));
            // Those on this host are ended by hetrun, those on the other one by its agent.
            until(&|| pes() == 0);
        });
    let said = format!(
        "hetmp: host {}, ranks 2 to 3: no sign of life for 4 s (--host-timeout)",
        ADDRESSES[1]
    );
    let failed = !matches!(out.ending, super::launch::Ending::Exit(1..));
    if failed || !out.left.is_empty() || !out.stderr.contains(&said) {
        return Err(super::shown(&out).into());
    }
    Ok(())
}

/// The tests on two hosts, shown as ignored if no network can be created.
pub(crate) fn trials() -> Vec<Trial> {
    let possible = Network::new().is_some();
    let ssh = ["/usr/sbin/sshd", "/usr/bin/ssh", "/usr/bin/ssh-keygen"];
    let ssh = ssh.iter().all(|path| PathBuf::from(path).is_file());
    if !possible {
        eprintln!("skipped: hosts/, ssh/: need root and network name spaces (iproute2)");
    } else if !ssh {
        eprintln!("skipped: ssh/: needs openssh-server (scripts/setup leaves services out)");
    }
    let mut all: Vec<Trial> = PROGRAMS
        .iter()
        .map(|name| {
            Trial::test(format!("hosts/{name}"), move || on_two_hosts(name))
                .with_ignored_flag(!possible)
        })
        .collect();
    all.extend(["setup", "collectives"].map(|name| {
        Trial::test(format!("ssh/{name}"), move || by_ssh(name))
            .with_ignored_flag(!possible || !ssh)
    }));
    all.push(Trial::test("ssh/cut_off", cut_off).with_ignored_flag(!possible || !ssh));
    all
}
