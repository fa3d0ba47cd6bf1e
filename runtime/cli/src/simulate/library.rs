//! The platforms and workloads that are shipped, and how a name or path leads to a text.

use std::path::Path;

/// The kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Platform,
    Workload,
}

impl What {
    pub(super) fn word(self) -> &'static str {
        match self {
            What::Platform => "platform",
            What::Workload => "workload",
        }
    }

    /// Name and text of everything that is shipped, in the order of the listing.
    pub(super) fn shipped(self) -> &'static [(&'static str, &'static str)] {
        match self {
            What::Platform => PLATFORMS,
            What::Workload => WORKLOADS,
        }
    }
}

macro_rules! shipped {
    ($folder:literal: $($name:literal)*) => {
        &[$(($name, include_str!(concat!("../../", $folder, "/", $name, ".toml")))),*]
    };
}

const PLATFORMS: &[(&str, &str)] = shipped!("platforms":
    "xeon-thunderx-rdma" "xeon-thunderx-tcp" "four-nodes" "sixteen-nodes" "sixty-four-nodes"
    "pe-laptop" "big-little" "opposites");

const WORKLOADS: &[(&str, &str)] = shipped!("workloads":
    "blackscholes" "ep-c" "kmeans" "lavamd" "bt-c" "cg-c" "sp-c" "cfd" "lud" "streamcluster"
    "mix" "compute");

/// The ten benchmarks of the paper.
pub(super) const PAPER_TEN: [&str; 10] = [
    "blackscholes",
    "ep-c",
    "kmeans",
    "lavamd",
    "bt-c",
    "cg-c",
    "sp-c",
    "cfd",
    "lud",
    "streamcluster",
];

/// The shown name and the text, for the name of something shipped or for a file.
pub(super) fn text(what: What, name: &str) -> Result<(String, String), String> {
    if let Some((_, text)) = what.shipped().iter().find(|(n, _)| *n == name) {
        return Ok((name.to_owned(), (*text).to_owned()));
    }
    let is_path = name.contains('/') || name.ends_with(".toml") || Path::new(name).exists();
    if !is_path {
        let names: Vec<&str> = what.shipped().iter().map(|(n, _)| *n).collect();
        return Err(format!(
            "{} {name}: unknown (expected a file's path or one of {})",
            what.word(),
            names.join(", ")
        ));
    }
    let bytes = hetmp_core::file::bytes(name.as_ref(), MOST_BYTES).map_err(|e| {
        format!(
            "{} {name}: {e} (expected a file that can be read, of at most {MOST_BYTES} bytes)",
            what.word()
        )
    })?;
    let text = String::from_utf8(bytes)
        .map_err(|_| format!("{} {name}: not UTF-8 (expected a text file)", what.word()))?;
    Ok((name.to_owned(), text))
}

/// The largest file that is read, bytes.
const MOST_BYTES: u64 = 1 << 24;
