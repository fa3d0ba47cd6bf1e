//! Two machines, which are network name spaces joined by a pair of virtual interfaces. The tests on them are skipped if
//! this user may not create name spaces.

use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) const ADDRESSES: [&str; 2] = ["10.213.9.1", "10.213.9.2"];

/// Goes away with its name spaces and files.
pub(crate) struct Network {
    spaces: [String; 2],
    folder: PathBuf,
}

fn ip(arguments: &str) -> bool {
    match Command::new("ip").args(arguments.split(' ')).output() {
        Ok(output) if output.status.success() => true,
        Ok(output) => {
            let why = String::from_utf8_lossy(&output.stderr).into_owned();
            println!("hosts: skipped: ip {arguments}: {}", why.trim());
            false
        }
        Err(e) => {
            println!("hosts: skipped: ip: {e}");
            false
        }
    }
}

impl Network {
    /// `None`, and a line that says why, where it cannot be made.
    pub(crate) fn new() -> Option<Network> {
        let id = std::process::id();
        let network = Network {
            spaces: [format!("shma{id}"), format!("shmb{id}")],
            folder: std::env::temp_dir().join(format!("hetmp-shmem-hosts-{id}")),
        };
        let [a, b] = &network.spaces;
        let made = ip(&format!("netns add {a}"))
            && ip(&format!("netns add {b}"))
            && ip(&format!(
                "link add v0 netns {a} type veth peer name v0 netns {b}"
            ))
            && ip(&format!("-n {a} addr add {}/24 dev v0", ADDRESSES[0]))
            && ip(&format!("-n {b} addr add {}/24 dev v0", ADDRESSES[1]))
            && network.spaces.iter().all(|s| {
                ip(&format!("-n {s} link set lo up")) && ip(&format!("-n {s} link set v0 up"))
            });
        // Stands in for ssh: host names are addresses, and an address is in a name space.
        let script = format!(
            "#!/bin/sh\nwhile :; do case $1 in -*) shift ;; *) break ;; esac; done\n\
             case $1 in {}) space={a} ;; {}) space={b} ;; *) exit 255 ;; esac\nshift\n\
             exec ip netns exec $space sh -c \"$*\"\n",
            ADDRESSES[0], ADDRESSES[1]
        );
        let hosts = format!("{} slots=2\n{} slots=2\n", ADDRESSES[0], ADDRESSES[1]);
        let written = std::fs::create_dir_all(&network.folder)
            .and_then(|()| write(&network.folder.join("ssh"), &script))
            .and_then(|()| write(&network.folder.join("hosts"), &hosts));
        (made && written.is_ok()).then_some(network)
    }

    /// Takes the link down, at the second machine's end.
    pub(crate) fn cut(&self) {
        let _ = ip(&format!("-n {} link set v0 down", self.spaces[1]));
    }

    /// Brings it up again.
    pub(crate) fn mend(&self) {
        let _ = ip(&format!("-n {} link set v0 up", self.spaces[1]));
    }

    /// `hetrun` in the first of the name spaces.
    pub(crate) fn hetrun(&self, hetrun: &Path) -> Command {
        let mut command = Command::new("ip");
        command
            .args(["netns", "exec", &self.spaces[0]])
            .arg(hetrun)
            .arg("--hosts")
            .arg(self.folder.join("hosts"))
            .arg("--ssh")
            .arg(self.folder.join("ssh"));
        command
    }
}

fn write(path: &Path, text: &str) -> std::io::Result<()> {
    let mut file = std::fs::File::create(path)?;
    file.write_all(text.as_bytes())?;
    file.set_permissions(std::fs::Permissions::from_mode(0o700))
}

impl Drop for Network {
    fn drop(&mut self) {
        for space in &self.spaces {
            let _ = Command::new("ip").args(["netns", "del", space]).output();
        }
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
