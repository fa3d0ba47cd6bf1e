//! How much CPU time this process may use: the CPU quota of its control groups.
//!
//! A container may get one CPU's worth of time on a machine of sixteen CPUs, and see all sixteen. An OpenMP program
//! that starts sixteen threads there is throttled for most of every period, in the middle of its barriers. So the
//! quota bounds the default number of threads. Both versions of control groups are read (`cpu.cfs_quota_us`,
//! `cpu.max`): the process's own group and *every* ancestor that is visible. The smallest quota counts, rounded up to
//! whole CPUs.
//!
//! Data comes from `/proc/self/cgroup` (which group), `/proc/self/mountinfo` (where groups are mounted) and the
//! groups' own files, below a root that tests choose. Every OpenMP program does this at its first use, so it reads a
//! handful of files without a parsing library, in some tens of microseconds.

use std::path::Path;

/// How many CPUs this process can keep busy: the allowed CPUs, or fewer under a quota. At least 1.
pub fn available_cpus() -> usize {
    let allowed = crate::topo::affinity().count().max(1);
    allowed.min(cpus().unwrap_or(usize::MAX))
}

/// The CPU quota of this process in whole CPUs, rounded up; `None` without a quota.
pub fn cpus() -> Option<usize> {
    cpus_below(Path::new(""))
}

/// [`cpus`] of the system whose `/proc` and mount points lie below `root` (empty for the real
/// one).
pub(crate) fn cpus_below(root: &Path) -> Option<usize> {
    let mut path = root.as_os_str().to_owned().into_string().ok()?;
    let root_len = path.len();
    path.push_str("/proc/self/cgroup");
    let groups = contents(&path)?;
    path.truncate(root_len);
    path.push_str("/proc/self/mountinfo");
    let mounts = contents(&path)?;

    let mut least: Option<usize> = None;
    for mount in mounts.split(|&b| b == b'\n').filter_map(Mount::parse) {
        let Some(group) = own_group(&groups, mount.version) else {
            continue;
        };
        path.truncate(root_len);
        mount.push_group(group, &mut path);
        let mount_len = root_len + mount.point.len();
        // Goes from the process's own group up to the mount point, the topmost group that is visible.
        loop {
            if let Some(cpus) = group_quota(&mut path, mount.version) {
                least = Some(least.map_or(cpus, |other| other.min(cpus)));
            }
            if path.len() <= mount_len {
                break;
            }
            match path.rfind('/') {
                Some(slash) if slash >= mount_len => path.truncate(slash),
                _ => path.truncate(mount_len),
            }
        }
    }
    least
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Version {
    V1,
    V2,
}

/// A mounted hierarchy that may limit CPU time.
#[derive(Debug, PartialEq, Eq)]
struct Mount {
    version: Version,
    /// The group that is visible as the mount's top.
    top: String,
    /// Where it is mounted; without a trailing slash.
    point: String,
}

impl Mount {
    /// Reads a line of mountinfo (proc(5)): `id parent dev root point options [tags] - type source
    /// options`.
    fn parse(line: &[u8]) -> Option<Mount> {
        let dash = line.windows(3).position(|w| w == b" - ")?;
        let mut after = line[dash + 3..].split(|&b| b == b' ');
        let version = match after.next()? {
            b"cgroup2" => Version::V2,
            b"cgroup" => {
                let options = after.nth(1)?;
                if !options.split(|&b| b == b',').any(|o| o == b"cpu") {
                    return None;
                }
                Version::V1
            }
            _ => return None,
        };
        let mut before = line[..dash].split(|&b| b == b' ');
        let top = unescape(before.nth(3)?)?;
        let mut point = unescape(before.next()?)?;
        while point.ends_with('/') {
            point.pop();
        }
        Some(Mount {
            version,
            top,
            point,
        })
    }

    /// Appends the directory of `group` to `path`. A group outside of the mount is not visible; then the mount point
    /// is appended, its only visible ancestor.
    fn push_group(&self, group: &str, path: &mut String) {
        path.push_str(&self.point);
        let below = match group.strip_prefix(self.top.trim_end_matches('/')) {
            // "/a" is not above "/ab".
            Some(rest) if rest.is_empty() || rest.starts_with('/') => rest,
            _ => return,
        };
        let below = below.trim_end_matches('/');
        // "/.." is how a group outside of the cgroup namespace is shown. Following it would leave the mount.
        if !below.split('/').any(|part| part == "..") {
            path.push_str(below);
        }
    }
}

/// The process's group in the hierarchy that limits CPU time, from the lines
/// `id:controllers:group` of `/proc/self/cgroup`.
fn own_group(groups: &[u8], version: Version) -> Option<&str> {
    groups.split(|&b| b == b'\n').find_map(|line| {
        let mut parts = line.splitn(3, |&b| b == b':');
        let id = parts.next()?;
        let controllers = parts.next()?;
        let group = parts.next()?;
        let ours = match version {
            Version::V1 => controllers.split(|&b| b == b',').any(|c| c == b"cpu"),
            Version::V2 => id == b"0" && controllers.is_empty(),
        };
        if ours {
            core::str::from_utf8(group).ok()
        } else {
            None
        }
    })
}

/// The quota of the group at `path`. `path` is the same again when the call returns.
fn group_quota(path: &mut String, version: Version) -> Option<usize> {
    let len = path.len();
    let mut read = |name: &str, f: &dyn Fn(&str) -> Option<(u64, u64)>| {
        path.push_str(name);
        let mut buffer = [0u8; 64];
        let text = read_small(path, &mut buffer);
        path.truncate(len);
        f(text?)
    };
    let (quota, period) = match version {
        Version::V2 => read("/cpu.max", &|text| {
            let mut words = text.split_ascii_whitespace();
            // "max" means no quota. It does not parse, so that `None` is returned.
            let quota = words.next()?.parse().ok()?;
            Some((
                quota,
                words.next().map_or(Some(100_000), |p| p.parse().ok())?,
            ))
        })?,
        Version::V1 => {
            // -1 means no quota. It does not parse as unsigned, so that `None` is returned.
            let one = |text: &str| Some((text.trim().parse().ok()?, 0));
            let (quota, _) = read("/cpu.cfs_quota_us", &one)?;
            let (period, _) = read("/cpu.cfs_period_us", &one)?;
            (quota, period)
        }
    };
    if period == 0 {
        return None;
    }
    Some(usize::try_from(quota.div_ceil(period).max(1)).unwrap_or(usize::MAX))
}

/// The content of a file of `/proc`. The length that such a file reports is 0. A reader that trusts it reads in small
/// pieces, and for each piece the kernel writes the whole text anew; hence the large buffer.
fn contents(path: &str) -> Option<Vec<u8>> {
    use std::io::Read;
    let mut text = Vec::with_capacity(8192);
    std::fs::File::open(path)
        .ok()?
        .read_to_end(&mut text)
        .ok()?;
    Some(text)
}

/// The text of a file of less than 64 bytes.
fn read_small<'a>(path: &str, buffer: &'a mut [u8; 64]) -> Option<&'a str> {
    use std::io::Read as _;
    let n = std::fs::File::open(path).ok()?.read(buffer).ok()?;
    core::str::from_utf8(&buffer[..n]).ok()
}

/// A path of mountinfo. The file writes blanks and backslashes as octal escapes.
fn unescape(text: &[u8]) -> Option<String> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [first, tail @ ..] = rest {
        rest = match tail {
            [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', after @ ..] if *first == b'\\' => {
                out.push((a - b'0') * 64 + (b - b'0') * 8 + (c - b'0'));
                after
            }
            _ => {
                out.push(*first);
                tail
            }
        };
    }
    String::from_utf8(out).ok()
}

#[cfg(test)]
mod tests;
