//! Which files the dynamic loader would load: ld.so(8)'s order, without running anything.

use super::part::{Part, Unfit};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Includes in includes of /etc/ld.so.conf.
const INCLUDES: u32 = 8;

/// Where the loader looks, apart from what each file says.
pub(super) struct Search {
    library_path: Vec<PathBuf>,
    system: Vec<PathBuf>,
}

/// How a library was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// Named to this command.
    Named,
    /// By a path, or in a folder that a file's `DT_RPATH` names: `LD_LIBRARY_PATH` comes too late for it.
    Fixed,
    /// Elsewhere.
    Searched,
}

/// A file that would be loaded.
#[derive(Debug)]
pub(super) struct Loaded {
    pub(super) part: Part,
    pub(super) way: Way,
    /// Which of the files asked for it first; none for those named to this command.
    parent: Option<usize>,
    /// Names by which files need it.
    pub(super) names: BTreeSet<String>,
    /// Files that need it, by their index.
    pub(super) users: BTreeSet<usize>,
}

/// Everything that would be loaded.
#[derive(Debug, Default)]
pub(super) struct Process {
    pub(super) files: Vec<Loaded>,
    /// Needed names that nothing was found for.
    pub(super) missing: BTreeSet<String>,
}

impl Search {
    /// As this process would search.
    pub(super) fn new() -> Search {
        let library_path = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
        let mut system = Vec::new();
        configured(Path::new("/etc/ld.so.conf"), INCLUDES, &mut system);
        for folder in [
            "/lib/x86_64-linux-gnu",
            "/usr/lib/x86_64-linux-gnu",
            "/lib64",
            "/usr/lib64",
            "/lib",
            "/usr/lib",
        ] {
            system.push(PathBuf::from(folder));
        }
        Search {
            library_path: std::env::split_paths(&library_path)
                .filter(|folder| !folder.as_os_str().is_empty())
                .collect(),
            system,
        }
    }

    /// Adds `root` and everything that it needs, and what that needs.
    pub(super) fn load(&self, process: &mut Process, root: Part) {
        if process.holds_file(&root.path) {
            return;
        }
        let mut next = process.files.len();
        process.add(root, Way::Named, None);
        // The loader goes through the files in the order in which they were loaded.
        while next < process.files.len() {
            let part = &process.files[next].part;
            // Libraries of another machine are not where this one's are.
            let needed = part.needed.iter().filter(|_| part.is_native).cloned();
            for name in needed.collect::<Vec<_>>() {
                self.need(process, next, &name);
            }
            next += 1;
        }
    }

    fn need(&self, process: &mut Process, user: usize, name: &str) {
        let there = process.files.iter().position(|file| {
            file.names.contains(name) || file.part.soname.as_deref() == Some(name)
        });
        let index = there.or_else(|| {
            let (part, way) = self.find(process, user, name)?;
            // Two names may mean one file.
            let same = process
                .files
                .iter()
                .position(|file| file.part.path == part.path);
            Some(same.unwrap_or_else(|| process.add(part, way, Some(user))))
        });
        match index {
            Some(index) => {
                process.files[index].names.insert(name.to_owned());
                process.files[index].users.insert(user);
            }
            None => {
                process.missing.insert(name.to_owned());
            }
        }
    }

    fn find(&self, process: &Process, user: usize, name: &str) -> Option<(Part, Way)> {
        if name.contains('/') {
            return Some((Part::read(Path::new(name)).ok()?, Way::Fixed));
        }
        let part = &process.files[user].part;
        let mut rpaths = Vec::new();
        if part.runpaths.is_empty() {
            let mut ancestor = Some(user);
            while let Some(index) = ancestor {
                rpaths.extend(process.files[index].part.rpaths.iter());
                ancestor = process.files[index].parent;
            }
        }
        let fixed = rpaths.into_iter().map(|folder| (folder, Way::Fixed));
        let searched = self
            .library_path
            .iter()
            .chain(&part.runpaths)
            .chain(&self.system);
        fixed
            .chain(searched.map(|folder| (folder, Way::Searched)))
            .find_map(|(folder, way)| {
                let path = folder.join(name);
                // The loader passes by what is for another machine.
                let path = if path.is_file() {
                    path.canonicalize().ok()?
                } else {
                    return None;
                };
                Some((Part::read(&path).ok()?, way))
            })
    }
}

impl Process {
    fn holds_file(&self, path: &Path) -> bool {
        let whole = path.canonicalize();
        let whole = whole.as_deref().unwrap_or(path);
        self.files.iter().any(|file| {
            file.part
                .path
                .canonicalize()
                .as_deref()
                .unwrap_or(&file.part.path)
                == whole
        })
    }

    fn add(&mut self, part: Part, way: Way, parent: Option<usize>) -> usize {
        self.files.push(Loaded {
            part,
            way,
            parent,
            names: BTreeSet::new(),
            users: BTreeSet::new(),
        });
        self.files.len() - 1
    }
}

/// The folders that a file like /etc/ld.so.conf names.
fn configured(file: &Path, depth: u32, into: &mut Vec<PathBuf>) {
    let Ok(text) = hetmp_core::file::text(file, hetmp_core::file::SMALL) else {
        return;
    };
    for line in text.lines() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if let Some(pattern) = line.strip_prefix("include ") {
            if depth > 0 {
                for included in matching(Path::new(pattern.trim()), file) {
                    configured(&included, depth - 1, into);
                }
            }
        } else if line.starts_with('/') {
            into.push(PathBuf::from(line));
        }
    }
}

/// The files that `pattern` means, a path with at most one `*`, in its last part.
fn matching(pattern: &Path, beside: &Path) -> Vec<PathBuf> {
    let pattern = beside.parent().unwrap_or(Path::new("/")).join(pattern);
    let name = pattern
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let Some((start, end)) = name.split_once('*') else {
        return vec![pattern];
    };
    let Some(Ok(folder)) = pattern.parent().map(std::fs::read_dir) else {
        return Vec::new();
    };
    let mut found: Vec<PathBuf> = folder
        .flatten()
        .filter(|entry| {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            name.len() >= start.len() + end.len() && name.starts_with(start) && name.ends_with(end)
        })
        .map(|entry| entry.path())
        .collect();
    found.sort();
    found
}

/// The error of a file that was named to this command.
pub(super) fn refused(what: &str, path: &Path, unfit: &Unfit) -> String {
    format!(
        "{what} {}: {} (expected an ELF file of this machine)",
        path.display(),
        unfit.0
    )
}
