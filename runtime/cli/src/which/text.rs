//! The tables of `hetmp which`.

use super::{Found, FoundRuntime};
use std::fmt::Write as _;
use std::path::Path;

/// Parts that are shown; the rest is in the JSON.
const SHOWN: usize = 40;

pub(super) fn of(found: &Found) -> String {
    let mut out = String::new();
    if !found.packages.is_empty() {
        line(
            &mut out,
            format_args!("packages: {}", found.packages.join(", ")),
        );
    }
    if found.runtimes.is_empty() && found.parts.is_empty() {
        line(
            &mut out,
            format_args!("{} files, and none of them uses OpenMP", found.files),
        );
        missing(&mut out, found);
        return out;
    }
    line(
        &mut out,
        format_args!("OpenMP runtimes ({} files looked at)", found.files),
    );
    if found.runtimes.is_empty() {
        line(
            &mut out,
            format_args!("  none found, though one is asked for"),
        );
    }
    for runtime in &found.runtimes {
        let name = runtime.runtime.name();
        let renamed = if runtime.renamed { ", renamed" } else { "" };
        line(
            &mut out,
            format_args!("  {name}{renamed}  {}", runtime.path.display()),
        );
        line(&mut out, format_args!("      for {}", users(runtime)));
        line(&mut out, format_args!("      {}", replaced(runtime)));
    }
    let separate = found
        .runtimes
        .iter()
        .filter(|runtime| !runtime.linked_in)
        .count();
    if separate > 1 {
        let all = found
            .runtimes
            .iter()
            .all(|runtime| runtime.needed.is_empty());
        let one = if all {
            "; one under LD_PRELOAD=libhetmp.so"
        } else {
            ""
        };
        line(&mut out, format_args!("  {separate} pools of threads{one}"));
    }
    parts(&mut out, found);
    if found.foreign {
        line(&mut out, format_args!("for another machine: 64-bit Arm"));
    }
    missing(&mut out, found);
    out
}

fn parts(out: &mut String, found: &Found) {
    if found.parts.is_empty() {
        return;
    }
    let width = found
        .parts
        .iter()
        .take(SHOWN)
        .map(|part| name(&part.path).chars().count())
        .max()
        .unwrap_or(4)
        .max(4);
    line(
        out,
        format_args!(
            "\n{:width$}  {:>7}  {:>10}  {:>7}  {:>6}  {:>6}  {:>5}  {:>7}  kept",
            "part", "regions", "dispatched", "runtime", "static", "inline", "tasks", "reached"
        ),
    );
    let mut sorted: Vec<_> = found.parts.iter().collect();
    let regions = |part: &super::FoundPart| part.counts.as_ref().map_or(0, |counts| counts.regions);
    sorted.sort_by_key(|part| std::cmp::Reverse(regions(part)));
    for part in sorted.iter().take(SHOWN) {
        let name = name(&part.path);
        match &part.counts {
            Some(counts) => line(
                out,
                format_args!(
                    "{name:width$}  {:>7}  {:>10}  {:>7}  {:>6}  {:>6}  {:>5}  {:>7}  {}",
                    counts.regions,
                    counts.dispatched,
                    counts.runtime,
                    counts.static_init,
                    counts.static_inline,
                    counts.tasks,
                    counts.reached(),
                    counts.kept()
                ),
            ),
            None => line(
                out,
                format_args!("{name:width$}  code for another machine is not read"),
            ),
        }
    }
    if sorted.len() > SHOWN {
        line(
            out,
            format_args!("and {} more: --json has them all", sorted.len() - SHOWN),
        );
    }
    line(
        out,
        format_args!(
            "\nregions: places that open one; dispatched: loops whose pieces the runtime hands out, those with \
             schedule(runtime) among them;\nstatic: static loops that the runtime divides (clang), inline: that the \
             code divides (gcc); reached: regions that schedules\ndivide as far as their code tells; kept: the \
             others, by reason (hetmp report --words)."
        ),
    );
}

fn missing(out: &mut String, found: &Found) {
    if !found.missing.is_empty() {
        line(out, format_args!("not found: {}", found.missing.join(", ")));
    }
}

fn users(runtime: &FoundRuntime) -> String {
    match &runtime.asked_by[..] {
        [] if runtime.linked_in => "itself".to_owned(),
        [] => "nobody by name: opened at run time, or named here".to_owned(),
        [one] => name(one),
        [first, rest @ ..] => format!("{} and {} more", name(first), rest.len()),
    }
}

fn replaced(runtime: &FoundRuntime) -> String {
    if let Some(name) = runtime.needed.first() {
        let more = match runtime.needed.len() {
            1 => String::new(),
            n => format!(" and {} more", n - 1),
        };
        return format!("not replaced: needs {name}{more}, which hetmp does not have");
    }
    match (runtime.preload, runtime.library_path) {
        _ if runtime.runtime == super::Runtime::Libhetmp => "this is hetmp's",
        (true, true) => "replaced by LD_PRELOAD=libhetmp.so (hetmp run) and by hetmp's folder in LD_LIBRARY_PATH",
        (true, false) => "replaced by LD_PRELOAD=libhetmp.so (hetmp run); LD_LIBRARY_PATH does not reach it",
        (false, _) => "linked into the file: cannot be replaced",
    }
    .to_owned()
}

fn name(path: &Path) -> String {
    path.file_name()
        .unwrap_or(path.as_os_str())
        .to_string_lossy()
        .into_owned()
}

fn line(out: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing into a String cannot fail.
    let _ = writeln!(out, "{text}");
}
