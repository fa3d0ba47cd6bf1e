//! The programs of `bench gio`: compiled by an installation's `oshcc`, run by its `oshrun`.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::{bail, Context, Result};

use hetmp_abi_compat::library;

/// Seconds that one job may take.
const LIMIT: &str = "300";

const SOURCES: [(&str, &str); 5] = [
    ("gio_put", "c-tests/bench/gio_put.c"),
    ("jacobi2d", "c-tests/apps/jacobi2d.c"),
    ("spts", "c-tests/apps/spts.c"),
    ("experts", "c-tests/apps/experts.c"),
    ("search", "c-tests/apps/search.c"),
];

/// Compiled programs and their launcher.
pub(super) struct Jobs {
    run: PathBuf,
    folder: PathBuf,
}

impl Jobs {
    /// Compiles all of them.
    pub(super) fn compile(prefix: &Path) -> Result<Jobs> {
        let folder = library::target_dir().join("gio-bench");
        std::fs::create_dir_all(&folder).with_context(|| format!("folder {}", folder.display()))?;
        let compiler = prefix.join("bin/oshcc");
        for (name, source) in SOURCES {
            let out = Command::new(&compiler)
                .current_dir(library::root())
                .args([
                    "-std=gnu11",
                    "-O3",
                    "-march=native",
                    "-fopenmp",
                    source,
                    "-o",
                ])
                .arg(folder.join(name))
                .args(["-lm", "-lpthread"])
                .output()
                .with_context(|| format!("compiler {}", compiler.display()))?;
            if !out.status.success() {
                bail!(
                    "{}: {source} is not compiled: {}",
                    compiler.display(),
                    String::from_utf8_lossy(&out.stderr).trim_end()
                );
            }
        }
        Ok(Jobs {
            run: prefix.join("bin/oshrun"),
            folder,
        })
    }

    fn job(
        &self,
        name: &str,
        engine: &str,
        model: &str,
        pes: u32,
        arguments: &[&str],
    ) -> Result<Output> {
        let mut command = Command::new("timeout");
        command.arg(LIMIT).arg(&self.run);
        if engine == "emulated" {
            // A PE and its adapter would share the one core that a PE gets here.
            command.args(["--bind-to", "none"]);
        }
        command
            .args(["-n", &pes.to_string()])
            .arg(self.folder.join(name))
            .args(arguments)
            .stdin(Stdio::null());
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if ["OMP_", "GOMP_", "HETMP_", "SHMEM_", "LD_"]
                .iter()
                .any(|start| text.starts_with(start))
            {
                command.env_remove(&name);
            }
        }
        command.env("HETMP_NIC", engine);
        // Enough for a million rows. Less than 64 MiB, since tests limit the size of files to that.
        command.env("SHMEM_SYMMETRIC_SIZE", "40M");
        if !model.is_empty() {
            command.env("HETMP_NIC_MODEL", model);
        }
        let out = command
            .output()
            .with_context(|| format!("program {}", self.run.display()))?;
        if !out.status.success() {
            let said = String::from_utf8_lossy(&out.stderr);
            bail!(
                "{name} {} on {pes} PEs: {}: {}",
                arguments.join(" "),
                out.status,
                said.lines().last().unwrap_or("no message")
            );
        }
        Ok(out)
    }

    /// One run of `gio_put`: rows, modes and microseconds.
    pub(super) fn put(
        &self,
        engine: &str,
        arguments: &[&str],
    ) -> Result<Vec<(String, String, f64)>> {
        let out = self.job("gio_put", engine, "", 2, arguments)?;
        let text = String::from_utf8_lossy(&out.stdout);
        let mut found = Vec::new();
        for line in text.lines() {
            let words: Vec<&str> = line.split_ascii_whitespace().collect();
            let [mode, bytes, initiators, ns, _, _] = words.as_slice() else {
                continue;
            };
            let ns: f64 = ns.parse().with_context(|| format!("line {line}"))?;
            let (row, mode) = match mode.rsplit_once('-') {
                Some((mode, "others")) => (format!("{bytes} B, {initiators} initiators"), mode),
                Some((mode, "stream")) => (format!("{bytes} B"), mode),
                _ if *mode == "hop" => ("hop".to_owned(), *mode),
                _ => ((*bytes).to_owned(), *mode),
            };
            found.push((row, mode.to_owned(), 1e-3 * ns));
        }
        if found.is_empty() || !text.ends_with("end\n") {
            bail!("gio_put: it ended early: {text}");
        }
        Ok(found)
    }

    /// What an application says first, of the problem that it solves.
    pub(super) fn problem(&self, name: &str, arguments: &str) -> Result<String> {
        let arguments: Vec<&str> = arguments.split_ascii_whitespace().collect();
        let out = self.job(name, "shm", "", 1, &arguments)?;
        let text = String::from_utf8_lossy(&out.stdout);
        Ok(text.lines().next().unwrap_or_default().to_owned())
    }

    /// One run of an application: modes and seconds. The parts of a mode's time, where the application says them, are
    /// `MODE:PART`.
    pub(super) fn application(
        &self,
        name: &str,
        engine: &str,
        model: &str,
        pes: u32,
        arguments: &str,
    ) -> Result<Vec<(String, f64)>> {
        let arguments: Vec<&str> = arguments.split_ascii_whitespace().collect();
        let out = self.job(name, engine, model, pes, &arguments)?;
        let mut found = Vec::new();
        for line in String::from_utf8_lossy(&out.stderr).lines() {
            let words: Vec<&str> = line.split_ascii_whitespace().collect();
            if let ["parts", _, mode, parts @ ..] = words.as_slice() {
                for part in parts.chunks_exact(2) {
                    let seconds = part[1].parse().with_context(|| format!("line {line}"))?;
                    found.push((format!("{mode}:{}", part[0]), seconds));
                }
            }
            if let ["time", _, mode, .., "seconds", seconds]
            | ["time", _, mode, .., "seconds", seconds, _, _] = words.as_slice()
            {
                if *mode != "serial" {
                    let seconds = seconds.parse().with_context(|| format!("line {line}"))?;
                    found.push(((*mode).to_owned(), seconds));
                }
            }
        }
        if found.is_empty() {
            bail!("{name} {}: no times", arguments.join(" "));
        }
        Ok(found)
    }
}
