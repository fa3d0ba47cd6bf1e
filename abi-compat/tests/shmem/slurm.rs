//! Jobs under Slurm. The tests start Slurm's daemons on the loopback interface, with a key, a configuration and ports
//! of their own. The tests are shown as ignored if `slurmctld`, `slurmd`, `munged` and `srun` are not installed, or if
//! this user is not root, which slurmd needs to start jobs as any user.

use super::launch::{self, Command, Ending, Outcome};
use super::program::{self, Library};
use super::{shown, verdict};
use libtest_mimic::{Failed, Trial};
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

const PROGRAMS: &[&str] = &["setup", "put_get", "collectives", "signals", "locks"];

/// The daemons, and where they keep what.
struct Cluster {
    dir: PathBuf,
    daemons: Vec<Child>,
}

fn tool(name: &str) -> Option<PathBuf> {
    launch::find(name).or_else(|| {
        let path = Path::new("/usr/sbin").join(name);
        path.is_file().then_some(path)
    })
}

/// A port that is free at this moment.
fn port() -> Option<u16> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).ok()?;
    Some(listener.local_addr().ok()?.port())
}

impl Cluster {
    fn start() -> Option<Cluster> {
        // SAFETY: geteuid has no preconditions.
        if unsafe { libc::geteuid() } != 0 {
            return None;
        }
        let (munged, ctld, slurmd) = (tool("munged")?, tool("slurmctld")?, tool("slurmd")?);
        tool("srun")?;
        // munged's socket needs a short path, in a folder that only this user may write.
        let dir = std::env::temp_dir().join(format!("hetmp-slurm-{}", std::process::id()));
        fs::create_dir_all(dir.join("spool")).ok()?;
        fs::create_dir_all(dir.join("state")).ok()?;
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o700)).ok()?;
        let host = fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
        let host = host
            .trim()
            .split('.')
            .next()
            .unwrap_or("localhost")
            .to_owned();
        let mut key = vec![0; 128];
        std::io::Read::read_exact(&mut fs::File::open("/dev/urandom").ok()?, &mut key).ok()?;
        fs::write(dir.join("key"), key).ok()?;
        fs::set_permissions(dir.join("key"), fs::Permissions::from_mode(0o600)).ok()?;
        let d = dir.display().to_string();
        let cpus = std::thread::available_parallelism().map_or(1, |n| n.get());
        let configuration = format!(
            "ClusterName=hetmptest\nSlurmctldHost={host}(127.0.0.1)\nSlurmctldPort={}\nSlurmdPort={}\n\
             SlurmUser=root\nSlurmdUser=root\nAuthType=auth/munge\nAuthInfo=socket={d}/socket\n\
             StateSaveLocation={d}/state\nSlurmdSpoolDir={d}/spool\n\
             SlurmctldPidFile={d}/ctld.pid\nSlurmdPidFile={d}/slurmd.pid\n\
             SlurmctldLogFile={d}/ctld.log\nSlurmdLogFile={d}/slurmd.log\n\
             ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\n\
             JobAcctGatherType=jobacct_gather/none\nAccountingStorageType=accounting_storage/none\n\
             SelectType=select/cons_tres\nSelectTypeParameters=CR_Core\nMpiDefault=none\nReturnToService=2\n\
             KillWait=2\nSchedulerParameters=sched_interval=1\n\
             NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} State=UNKNOWN\n\
             PartitionName=all Nodes={host} Default=YES State=UP OverSubscribe=FORCE:4\n",
            port()?,
            port()?
        );
        fs::write(dir.join("slurm.conf"), configuration).ok()?;
        let mut cluster = Cluster {
            dir,
            daemons: vec![],
        };
        let key = format!("--key-file={d}/key");
        let mut munge = vec!["--force".to_owned(), "--foreground".to_owned(), key];
        for file in ["socket", "pid-file", "log-file", "seed-file"] {
            munge.push(format!("--{file}={d}/{file}"));
        }
        cluster.daemon(&munged, &munge)?;
        let socket = cluster.dir.join("socket");
        cluster.until(|| socket.exists())?;
        cluster.daemon(&ctld, &["-D".to_owned(), "-i".to_owned()])?;
        cluster.daemon(&slurmd, &["-D".to_owned(), "-N".to_owned(), host])?;
        // Both daemons are ready once a job runs.
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(60) {
            let out = cluster
                .command("srun")
                .args(["-n", "1", "true"])
                .limit(Duration::from_secs(20))
                .run();
            if out.ending == Ending::Exit(0) {
                return Some(cluster);
            }
            std::thread::sleep(Duration::from_millis(300));
        }
        None
    }

    /// [`Cluster::start`], for all tests. The thread of the first test may end before the other tests have, and the
    /// kernel ends the daemons with the thread that has started them. So a thread starts them that never ends.
    fn start_for_all() -> Option<Cluster> {
        let (tell, told) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let _ = tell.send(Cluster::start());
            loop {
                std::thread::park();
            }
        });
        told.recv().ok()?
    }

    fn daemon(&mut self, path: &Path, args: &[String]) -> Option<()> {
        let log = fs::File::create(self.dir.join(format!("out.{}", self.daemons.len()))).ok()?;
        let mut command = std::process::Command::new(path);
        command
            .args(args)
            .env("SLURM_CONF", self.dir.join("slurm.conf"))
            .stdin(Stdio::null())
            .stdout(log.try_clone().ok()?)
            .stderr(log);
        // The daemon ends with the thread that starts it: with this process, however this process ends
        // (`start_for_all`).
        // SAFETY: the closure runs between fork and exec, and makes one system call.
        unsafe {
            command.pre_exec(|| {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                Ok(())
            })
        };
        self.daemons.push(command.spawn().ok()?);
        Some(())
    }

    fn until(&self, ready: impl Fn() -> bool) -> Option<()> {
        let began = Instant::now();
        while !ready() {
            if began.elapsed() > Duration::from_secs(30) {
                return None;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Some(())
    }

    /// One of Slurm's commands, for this cluster.
    fn command(&self, name: &str) -> Command {
        let conf = self.dir.join("slurm.conf").display().to_string();
        Command::new(tool(name).expect("a command of Slurm")).env("SLURM_CONF", &conf)
    }

    /// `srun` for a job with `pes` PEs, which may be more than the machine has cores.
    fn srun(&self, mpi: &str, pes: u32, program: &Path) -> Command {
        self.command("srun")
            .args(["--overcommit", "--quiet", &format!("--mpi={mpi}")])
            .args(["-J", JOB, "-n", &pes.to_string()])
            .args([program.as_os_str()])
            .limit(Duration::from_secs(180))
    }
}

/// The name of every job here, for `scancel`.
const JOB: &str = "hetmp-test";

impl Drop for Cluster {
    fn drop(&mut self) {
        for daemon in self.daemons.iter_mut().rev() {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
        let _ = fs::remove_dir_all(&self.dir);
    }
}

/// The cluster of this run, started by the first test that needs it. One job at a time.
static CLUSTER: OnceLock<Mutex<Option<Cluster>>> = OnceLock::new();

fn with_cluster(test: impl FnOnce(&Cluster) -> Result<(), Failed>) -> Result<(), Failed> {
    let mutex = CLUSTER.get_or_init(|| Mutex::new(Cluster::start_for_all()));
    let cluster = mutex.lock().unwrap_or_else(PoisonError::into_inner);
    test(cluster.as_ref().ok_or("Slurm's daemons did not come up")?)
}

/// Ends the daemons. Called after the last test.
pub(crate) fn stop() {
    if let Some(mutex) = CLUSTER.get() {
        mutex.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

fn runs(mpi: &str, name: &str) -> Result<(), Failed> {
    let program = program::named(name);
    let path = program.build(&program.builds[0], Library::Ours)?;
    with_cluster(|cluster| {
        for pes in [2_u32, 5] {
            let args = program.args[0]
                .iter()
                .map(|a| a.replace("@pes", &pes.to_string()));
            let out = cluster
                .srun(mpi, pes, &path)
                .args(args)
                .envs(&program.env)
                .run();
            verdict(&program, pes, &out, true)
                .map_err(|why| format!("{name} under srun --mpi={mpi}, {pes} PEs: {why}"))?;
        }
        Ok(())
    })
}

/// Runs a job whose PEs keep running until `act` ends the job in some way. No process may be left.
fn ended_by(mpi: &str, act: impl FnOnce(&Cluster, &str)) -> Result<Outcome, Failed> {
    let path = program::named("exit_status").build("default", Library::Ours)?;
    let mut result = Err("no cluster".into());
    with_cluster(|cluster| {
        let out = cluster
            .srun(mpi, 3, &path)
            // The program ends PE 99, which this job does not have: all PEs keep running.
            .args(["stay-wait", "99", "0"])
            .run_watched(|_, mark| {
                let began = Instant::now();
                // Wait until all PEs run, and srun itself.
                while launch::marked(mark)
                    .iter()
                    .filter(|(_, line)| line.contains("stay-wait"))
                    .count()
                    < 4
                    && began.elapsed() < Duration::from_secs(60)
                {
                    std::thread::sleep(Duration::from_millis(50));
                }
                std::thread::sleep(Duration::from_secs(1));
                act(cluster, mark);
            });
        result = if out.left.is_empty() {
            Ok(out)
        } else {
            Err(format!("left running: {:?} {}", out.left, shown(&out)).into())
        };
        Ok(())
    })?;
    result
}

fn cancelled(mpi: &str) -> Result<(), Failed> {
    let out = ended_by(mpi, |cluster, _| {
        cluster.command("scancel").args(["-n", JOB]).run();
    })?;
    if matches!(out.ending, Ending::Exit(0)) || out.took > Duration::from_secs(120) {
        return Err(shown(&out).into());
    }
    Ok(())
}

/// slurmstepd, the parent of a step's processes, is killed. Slurm does not end the processes then; they must end
/// themselves.
fn orphaned() -> Result<(), Failed> {
    let path = program::named("exit_status").build("default", Library::Ours)?;
    let name = path.display().to_string();
    with_cluster(|cluster| {
        let mut left = Vec::new();
        let out = cluster
            .srun("pmi2", 3, &path)
            .args(["stay-wait", "99", "0"])
            .run_watched(|srun, mark| {
                let pes = || {
                    let all = launch::marked(mark).into_iter();
                    all.filter(|(_, line)| line.starts_with(&name))
                        .map(|(pid, _)| pid)
                        .collect::<Vec<_>>()
                };
                let until = |seconds, done: &dyn Fn() -> bool| {
                    let began = Instant::now();
                    while !done() && began.elapsed() < Duration::from_secs(seconds) {
                        std::thread::sleep(Duration::from_millis(50));
                    }
                };
                until(60, &|| pes().len() == 3);
                std::thread::sleep(Duration::from_secs(1));
                if let Some(parent) = pes().first().and_then(|pid| parent(*pid)) {
                    // SAFETY: kill(2) takes no pointers. The daemon is the parent of a process of this test's job.
                    unsafe { libc::kill(parent, libc::SIGKILL) };
                }
                until(60, &|| pes().is_empty());
                left = pes();
                // srun waits for the daemon, and does not notice that the daemon is dead.
                // SAFETY: kill(2) takes no pointers. srun is our child, and is not waited for yet.
                unsafe { libc::kill(srun as libc::pid_t, libc::SIGKILL) };
            });
        if !left.is_empty() {
            return Err(format!("PEs {left:?} go on without their daemon: {}", shown(&out)).into());
        }
        // The PEs' output goes through the dead daemon and is lost, so it cannot be checked.
        Ok(())
    })
}

fn parent(pid: i32) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?
        .1
        .split_whitespace()
        .nth(1)?
        .parse()
        .ok()
}

/// PEs on the node that a list names, as a step of an allocation: the first step's PEs end, the second step's are a job
/// of their own.
fn steps_on_a_list(mpi: &str) -> Result<(), Failed> {
    let program = program::named("setup");
    let path = program.build(&program.builds[0], Library::Ours)?;
    with_cluster(|cluster| {
        let node = fs::read_to_string("/proc/sys/kernel/hostname")?;
        let node = node.trim().split('.').next().unwrap_or_default().to_owned();
        let args = program.args[0].join(" ").replace("@pes", "3");
        let step = format!(
            "srun --overcommit --quiet --mpi={mpi} --nodelist={node} -n 3 {} {args}",
            path.display()
        );
        let out = cluster
            .command("salloc")
            .args(["--quiet", "-J", JOB, "-n", "1", "--nodelist", &node])
            .args(["/bin/sh", "-euc", &format!("{step}; echo between; {step}")])
            .envs(&program.env)
            .limit(Duration::from_secs(180))
            .run();
        let halves: Vec<Outcome> = out
            .stdout
            .split("between\n")
            .map(|half| Outcome {
                stdout: half.to_owned(),
                ..out.clone()
            })
            .collect();
        if halves.len() != 2 {
            return Err(shown(&out).into());
        }
        for half in &halves {
            verdict(&program, 3, half, true).map_err(|why| format!("step of {mpi}: {why}"))?;
        }
        Ok(())
    })
}

/// The tests under Slurm, shown as ignored if Slurm is not installed.
pub(crate) fn trials() -> Vec<Trial> {
    // SAFETY: geteuid has no preconditions.
    let root = unsafe { libc::geteuid() } == 0;
    let possible = root
        && ["munged", "slurmctld", "slurmd", "srun", "scancel"]
            .iter()
            .all(|t| tool(t).is_some());
    if !possible {
        eprintln!("skipped: slurm/: needs root, and slurmctld slurmd slurm-client munge (scripts/setup leaves \
            services out)");
    }
    let mut all = Vec::new();
    for mpi in ["pmi2", "pmix"] {
        for name in PROGRAMS {
            all.push(Trial::test(format!("slurm/{mpi}/{name}"), move || {
                runs(mpi, name)
            }));
        }
        all.push(Trial::test(format!("slurm/{mpi}/cancelled"), move || {
            cancelled(mpi)
        }));
        all.push(Trial::test(format!("slurm/{mpi}/steps"), move || {
            steps_on_a_list(mpi)
        }));
    }
    all.push(Trial::test("slurm/orphaned", orphaned));
    all.into_iter()
        .map(|t| t.with_ignored_flag(!possible))
        .collect()
}
