//! Hosts of a test's own: network namespaces on one machine, which hetrun reaches by a stand-in for ssh.

use super::super::{exec, prefix, scratch, start};
use super::variables;
use libtest_mimic::Failed;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// Network namespaces that stand for hosts, joined by a bridge in one of their own. Removed when dropped.
pub(super) struct Hosts {
    spaces: Vec<String>,
    folder: PathBuf,
}

impl Hosts {
    /// Hosts with packets of these many bytes.
    pub(super) fn new(longest: &[u32]) -> Result<Hosts, Failed> {
        let n = longest.len();
        static MADE: AtomicU32 = AtomicU32::new(0);
        let nth = MADE.fetch_add(1, Ordering::Relaxed);
        let name = |what: &str| format!("hgk{}-{nth}-{what}", std::process::id());
        let folder = scratch().join(name("hosts"));
        fs::create_dir_all(&folder).map_err(|e| e.to_string())?;
        let mut hosts = Hosts {
            spaces: Vec::new(),
            folder,
        };
        let bridge = name("bridge");
        hosts.add(&bridge)?;
        ip(&format!("-n {bridge} link add br0 type bridge"))?;
        ip(&format!("-n {bridge} link set br0 up"))?;
        let mut list = String::new();
        for (host, longest) in (0..n as u32).zip(longest) {
            let space = name(&(host + 1).to_string());
            let address = Self::address(host);
            hosts.add(&space)?;
            ip(&format!(
                "link add eth0 netns {space} mtu {longest} type veth peer name p{host} netns {bridge}"
            ))?;
            ip(&format!("-n {bridge} link set p{host} mtu {longest}"))?;
            ip(&format!("-n {bridge} link set p{host} master br0 up"))?;
            ip(&format!("-n {space} addr add {address}/24 dev eth0"))?;
            ip(&format!("-n {space} link set eth0 up"))?;
            ip(&format!("-n {space} link set lo up"))?;
            list.push_str(&format!("{address}\n"));
        }
        // What hetrun takes for ssh: it finds the namespace by the last number of the address.
        let script = format!(
            "while :; do case $1 in -*) shift ;; *) break ;; esac; done\n\
             space={}${{1##*.}}\nshift\nexec ip netns exec $space sh -c \"$*\"\n",
            name("")
        );
        fs::write(hosts.folder.join("ssh"), script).map_err(|e| e.to_string())?;
        fs::write(hosts.folder.join("hosts"), list).map_err(|e| e.to_string())?;
        Ok(hosts)
    }

    fn address(host: u32) -> String {
        format!("10.216.9.{}", host + 1)
    }

    fn add(&mut self, name: &str) -> Result<(), Failed> {
        ip(&format!("netns add {name}"))?;
        self.spaces.push(name.to_owned());
        Ok(())
    }

    pub(super) fn run(&self, path: &Path, rounds: &str, interface: &str) -> exec::Outcome {
        let file = |name: &str| self.folder.join(name).display().to_string();
        let ssh = format!("sh {} -T", file("ssh"));
        let args = [
            "--ssh".to_owned(),
            ssh,
            "--hosts".to_owned(),
            file("hosts"),
            path.display().to_string(),
            rounds.to_owned(),
        ];
        let env = variables(&[("HETMP_GOAL_INTERFACE", interface)]);
        start(&prefix().join("bin/hetrun"), &args, &env)
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for space in &self.spaces {
            let _ = ip(&format!("netns del {space}"));
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn ip(args: &str) -> Result<(), Failed> {
    let path = hetmp_abi_compat::suite::find_in_path("ip").map_err(|e| e.to_string())?;
    let args: Vec<String> = args.split(' ').map(str::to_owned).collect();
    let out = start(&path, &args, &[]);
    if out.ending != exec::Ending::Exit(0) {
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        return Err(format!("ip {}: {said}", args.join(" ")).into());
    }
    Ok(())
}
