//! `bench gio`'s Jacobi relaxation: by this machine's cores, and on a modelled device; where its time goes.

use anyhow::Result;

use super::{table, Bench, Row};

/// The program as it is.
pub(super) fn measured(bench: &mut Bench<'_>) -> Result<()> {
    println!("\n## Jacobi 2D, milliseconds an iteration\n");
    println!("N x N points a PE (weak scaling). The paper, 4 nodes: gio 57 / 40 / 18 % faster than interk at 1K / 2K \
        / 4K (ratios 1.57 / 1.40 / 1.18), level with overlap; ikn slowest.");
    println!("The second table adds 20 us to every kernel's start, as a GPU has them; a parallel region costs about \
        one.");
    let sizes: &[(u32, u32)] = if bench.args.quick {
        &[(256, 60)]
    } else {
        &[(1024, 100), (2048, 30), (4096, 10)]
    };
    let threads = bench.args.threads;
    for launch in ["0", "20"] {
        let (mut rows, mut parts) = (Vec::new(), Vec::new());
        for &pes in &bench.args.pes.clone() {
            // One PE has no halo, and more than two have no cores here.
            if (pes == 1 || pes > 2) && !bench.args.quick {
                continue;
            }
            for &(size, iterations) in sizes {
                let name = format!("{size} x {size}, {pes} PEs, launch {launch} us");
                let more = format!("--threads {threads} --launch {launch} --verify no");
                let found = relaxed(bench, "jacobi", &name, pes, (size, iterations), &more)?;
                rows.extend(found.0);
                parts.extend(found.1);
            }
        }
        table(&rows, "grid");
        table_of_parts(&parts);
        bench.report.rows.extend(rows);
        bench.report.rows.extend(parts);
    }
    Ok(())
}

/// Runs Jacobi on `pes` PEs with a grid's size and number of iterations. Milliseconds an iteration: the whole, and
/// its parts.
fn relaxed(
    bench: &mut Bench<'_>,
    part: &'static str,
    name: &str,
    pes: u32,
    (size, iterations): (u32, u32),
    more: &str,
) -> Result<(Vec<Row>, Vec<Row>)> {
    let engine = bench.args.engine.clone();
    let more = format!("--size {size} --iterations {iterations} {more}");
    let rows = bench.rounds(part, "ms", |jobs| {
        let found = jobs.application("jacobi2d", &engine, "", pes, &more)?;
        Ok(found
            .into_iter()
            .map(|(mode, s)| {
                let ms = 1e3 * s / f64::from(iterations);
                match mode.split_once(':') {
                    Some((mode, part)) => (format!("{name}: {part}"), mode.to_owned(), ms),
                    None => (name.to_owned(), mode, ms),
                }
            })
            .collect())
    })?;
    Ok(rows.into_iter().partition(|r| r.name == name))
}

/// Figure 7 of the paper: where the time of an iteration goes.
fn table_of_parts(rows: &[Row]) {
    println!("\nWhere the time goes, the mean over workgroups and PEs (launch: a kernel's added start; wait: for \
        halos; meet: the kernel's barriers and the residual):");
    println!("\n| grid: part | gio | ikn | interk | overlap |");
    println!("| --- | ---: | ---: | ---: | ---: |");
    for row in rows {
        print!("| {} ", row.name);
        for mode in ["gio", "ikn", "interk", "overlap"] {
            print!("| {} ", row.shown(mode));
        }
        println!("|");
    }
}

/// Million points a second that the modelled device computes: the paper's MI25 has 484 GB/s of memory bandwidth, of
/// which a point takes 24 bytes (a double is read, and one is read and written).
const RATE: &str = "20000";

/// Jacobi where a device computes as fast as the paper's: neighbours' rows are computed and sent, and for all other
/// rows the time passes that the device would take.
pub(super) fn modelled(bench: &mut Bench<'_>) -> Result<()> {
    println!("\n## Jacobi 2D on a modelled device, milliseconds an iteration\n");
    println!("The programs and the engine are real; the device computes 20 Gpoints/s (484 GB/s over 24 bytes, as the \
        paper's GPU) and starts a kernel in 20 us: that time passes, and leaves the cores to others. The paper, 4 \
        nodes: interk / gio 1.57 / 1.40 / 1.18 at 1K / 2K / 4K.");
    let sizes: &[(u32, u32)] = if bench.args.quick {
        &[(1024, 50)]
    } else {
        &[(1024, 1000), (2048, 300), (4096, 100)]
    };
    let threads = bench.args.threads;
    let (mut rows, mut parts) = (Vec::new(), Vec::new());
    for &pes in &bench.args.pes.clone() {
        for &grid in sizes {
            let name = format!("{0} x {0}, {pes} PEs, modelled", grid.0);
            let more = format!("--threads {threads} --launch 20 --rate {RATE}");
            let found = relaxed(bench, "model", &name, pes, grid, &more)?;
            rows.extend(found.0);
            parts.extend(found.1);
        }
    }
    table(&rows, "grid");
    table_of_parts(&parts);
    bench.report.rows.extend(rows);
    bench.report.rows.extend(parts);
    Ok(())
}
