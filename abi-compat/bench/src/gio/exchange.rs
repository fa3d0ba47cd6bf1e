//! `bench gio`'s exchanges whose sizes and targets the data decide: a mixture of experts, and a search of a graph.

use anyhow::Result;

use super::{table, Bench};

/// What the rows of a part are.
struct Kind {
    /// The program, which is the part's name, too.
    name: &'static str,
    title: &'static str,
    what: &'static str,
    /// A time of the program is that of this many.
    many: u32,
    /// A row's name and arguments; the first is `--quick`'s.
    sizes: [(&'static str, &'static str); 3],
}

/// A mixture of experts.
pub(super) fn experts(bench: &mut Bench<'_>) -> Result<()> {
    measured(
        bench,
        &Kind {
            name: "experts",
            title: "Mixture of experts, milliseconds a round",
            what: "Each token goes to two experts, of which every PE has four, and back: two all-to-alls a round.",
            many: 20,
            sizes: [
                ("8 tokens of 16 numbers", "--rounds 20 --tokens 8 --width 16"),
                ("16 tokens of 256 numbers", "--rounds 20 --tokens 16 --width 256"),
                ("128 tokens of 1024 numbers", "--rounds 20 --tokens 128 --width 1024"),
            ],
        },
    )
}

/// A search of a graph.
pub(super) fn search(bench: &mut Bench<'_>) -> Result<()> {
    measured(
        bench,
        &Kind {
            name: "search",
            title: "Breadth-first search, milliseconds a search",
            what: "In each level PEs send what they found to its owners; no PE has found any more: it is over.",
            many: 1,
            sizes: [
                ("500 vertices", "--vertices 500"),
                ("20 thousand vertices", "--vertices 20000"),
                ("500 thousand vertices", "--vertices 500000"),
            ],
        },
    )
}

fn measured(bench: &mut Bench<'_>, kind: &Kind) -> Result<()> {
    println!("\n## {}\n", kind.title);
    println!("{} launch: added to every kernel's start.", kind.what);
    let (engine, threads) = (bench.args.engine.clone(), bench.args.threads);
    let sizes = if bench.args.quick {
        &kind.sizes[..1]
    } else {
        &kind.sizes[1..]
    };
    let mut rows = Vec::new();
    for launch in ["0", "20"] {
        // One PE has nobody to send to.
        for &pes in bench.args.pes.clone().iter().filter(|&&pes| pes > 1) {
            for (size, arguments) in sizes {
                let row = format!("{size}, {pes} PEs, launch {launch} us");
                let more = format!("{arguments} --threads {threads} --launch {launch}");
                rows.extend(bench.rounds(kind.name, "ms", |jobs| {
                    let found = jobs.application(kind.name, &engine, "", pes, &more)?;
                    let each = 1e3 / f64::from(kind.many);
                    let row = |(mode, seconds)| (row.clone(), mode, each * seconds);
                    Ok(found.into_iter().map(row).collect())
                })?);
            }
        }
    }
    table(&rows, kind.title.split(',').next().unwrap_or_default());
    bench.report.rows.extend(rows);
    Ok(())
}
