//! Who may use the engine, behind which interfaces, and for how many ranks: the administrator says so in one file.
//!
//! The helper has rights that reach beyond its caller. Root needs no rules. Everybody else has what the file gives;
//! without the file, nothing.

use std::ffi::CString;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// The file.
pub(crate) const FILE: &str = "/etc/hetmp/goal-kernel.conf";
/// The most bytes of it.
const MOST: u64 = 1 << 16;
/// Ranks of a user at once, if the file does not say: an interface has room for the programs of 63 ranks, so that one
/// user leaves half of it to others.
const RANKS: usize = 31;

/// What the file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rules {
    groups: Vec<u32>,
    interfaces: Vec<String>,
    /// The most ranks of a user at once.
    pub(crate) ranks: usize,
}

/// Who has started this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Caller {
    pub(crate) user: u32,
    pub(crate) groups: Vec<u32>,
}

impl Caller {
    /// This process's caller.
    ///
    /// # Errors
    /// One line: the process runs as another user than its caller, whose ranks could then not be told apart.
    pub(crate) fn of_this_process() -> Result<Caller, String> {
        let mut groups = vec![0; 65536];
        // SAFETY: calls without preconditions; the list is as long as the system's limit, which is what the call is
        // told.
        let (user, acts_as, group, n) = unsafe {
            (
                libc::getuid(),
                libc::geteuid(),
                libc::getgid(),
                libc::getgroups(groups.len() as libc::c_int, groups.as_mut_ptr()),
            )
        };
        if user != acts_as {
            return Err(format!(
                "user {acts_as} for user {user}: a set-user-id program (expected file capabilities)"
            ));
        }
        groups.truncate(usize::try_from(n).unwrap_or(0));
        groups.push(group);
        Ok(Caller { user, groups })
    }
}

/// The number of a group.
fn number_of(name: &str) -> Option<u32> {
    if let Ok(number) = name.parse() {
        return Some(number);
    }
    let name = CString::new(name).ok()?;
    // SAFETY: a C string. This process has one thread, and copies the number before the next call.
    unsafe { libc::getgrnam(name.as_ptr()).as_ref() }.map(|group| group.gr_gid)
}

impl Rules {
    /// The rules of a file that only root can have written.
    ///
    /// # Errors
    /// One line.
    pub(crate) fn read(file: &Path) -> Result<Rules, String> {
        let wrong = |why: &dyn core::fmt::Display| format!("file '{}': {why}", file.display());
        let about = std::fs::metadata(file).map_err(|e| match e.kind() {
            io::ErrorKind::NotFound => wrong(&"not there: without it the engine is for root"),
            _ => wrong(&e),
        })?;
        if about.uid() != 0 || about.mode() & 0o022 != 0 {
            return Err(wrong(&"others than root can write it"));
        }
        let bytes = hetmp_core::file::bytes(file, MOST).map_err(|e| wrong(&e))?;
        Rules::parse(&String::from_utf8_lossy(&bytes), &number_of).map_err(|e| wrong(&e))
    }

    /// Lines of a word and its value; `#` begins a comment.
    fn parse(text: &str, number_of: &dyn Fn(&str) -> Option<u32>) -> Result<Rules, String> {
        let mut rules = Rules {
            groups: Vec::new(),
            interfaces: Vec::new(),
            ranks: RANKS,
        };
        for line in text.lines() {
            let line = line.split('#').next().unwrap_or("").trim();
            let (word, value) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
            let value = value.trim();
            let wrong = |expected: &str| format!("line '{line}': expected {expected}");
            match word {
                "" => {}
                "group" => {
                    let number = number_of(value).ok_or_else(|| wrong("a group of this system"))?;
                    rules.groups.push(number);
                }
                "interface" if !value.is_empty() => rules.interfaces.push(value.to_owned()),
                "ranks" => rules.ranks = value.parse().map_err(|_| wrong("a number"))?,
                _ => return Err(wrong("group NAME, interface NAME or ranks N")),
            }
        }
        Ok(rules)
    }

    /// Whether the caller may have ranks behind the interface.
    ///
    /// # Errors
    /// One line.
    pub(crate) fn allow(&self, caller: &Caller, interface: &str) -> Result<(), String> {
        if !self.groups.iter().any(|g| caller.groups.contains(g)) {
            let user = caller.user;
            return Err(format!("user {user}: in none of the groups of {FILE}"));
        }
        if !self.interfaces.iter().any(|i| i == interface) {
            return Err(format!("interface '{interface}': none of those of {FILE}"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    fn parse(text: &str) -> Result<Rules, String> {
        Rules::parse(text, &|name| (name == "hpc").then_some(40))
    }

    fn caller(groups: &[u32]) -> Caller {
        Caller {
            user: 1000,
            groups: groups.to_vec(),
        }
    }

    #[test]
    fn only_the_groups_only_the_interfaces() {
        let rules =
            parse("# ours\ngroup hpc\n\n interface\teth0 # the fast one\ninterface lo\nranks 8\n");
        let rules = rules.expect("rules");
        assert_eq!(rules.ranks, 8);
        assert_eq!(rules.allow(&caller(&[7, 40]), "eth0"), Ok(()));
        assert_eq!(rules.allow(&caller(&[7, 40]), "lo"), Ok(()));
        let why = rules.allow(&caller(&[7, 40]), "eth1").expect_err("refused");
        assert!(why.starts_with("interface 'eth1': none of "), "{why}");
        let why = rules.allow(&caller(&[7, 0]), "eth0").expect_err("refused");
        assert!(
            why.starts_with("user 1000: in none of the groups of "),
            "{why}"
        );
    }

    #[test]
    fn what_is_not_said_is_not_allowed() {
        let nothing = parse("").expect("rules");
        assert_eq!(nothing.ranks, RANKS);
        assert!(nothing.allow(&caller(&[0, 40]), "lo").is_err());
        let nowhere = parse("group hpc").expect("rules");
        assert!(nowhere.allow(&caller(&[40]), "lo").is_err());
        let nobody = parse("interface lo").expect("rules");
        assert!(nobody.allow(&caller(&[0, 40]), "lo").is_err());
    }

    #[test]
    fn a_line_that_is_not_understood_allows_nothing() {
        for text in [
            "group",
            "group nobody-has-it",
            "interface",
            "ranks many",
            "ranks",
            "user x",
            "group: hpc",
        ] {
            let why = parse(&format!("interface lo\n{text}\n")).expect_err(text);
            assert!(
                why.starts_with(&format!("line '{text}': expected ")),
                "{why}"
            );
        }
    }

    #[test]
    fn a_file_that_others_can_write_allows_nothing() {
        let file = std::env::temp_dir().join(format!("hetmp-rules-{}", std::process::id()));
        let read = |mode| {
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).expect("own");
            Rules::read(&file)
        };
        std::fs::write(&file, "group 40\ninterface lo\n").expect("a folder for files");
        // SAFETY: a call without preconditions.
        let is_root = unsafe { libc::geteuid() } == 0;
        assert_eq!(read(0o644).is_ok(), is_root);
        for mode in [0o664, 0o646] {
            assert!(read(mode)
                .expect_err("writable")
                .ends_with("others than root can write it"));
        }
        std::fs::remove_file(&file).expect("own");
        let gone = Rules::read(&file).expect_err("gone");
        assert!(gone.ends_with("the engine is for root"), "{gone}");
    }
}
