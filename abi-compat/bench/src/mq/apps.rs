//! Matrix multiplication and password search, with queues and with hand-written buffers. Both versions use the same
//! schedule.

use anyhow::Result;

use super::bandwidth::better;
use super::{Bench, Unit};

pub(super) fn measure(bench: &mut Bench) -> Result<()> {
    println!("\n## Applications with queues over the same by hand\n");
    println!("The ratio is to the better of the two hand-written ones. The paper: 0.88 to 0.90 and \"on par\".\n");
    println!("| application | slaves | queues | polled | condition variable | ratio |");
    println!("| --- | ---: | ---: | ---: | ---: | ---: |");
    let flops = 2e-9 * 1024f64.powi(3);
    let hashes = 2e-6 * 26f64.powi(5);
    for (app, what, more, unit, amount) in [
        (
            "matmul",
            "matrix multiplication, blocks of 32, Gflop/s",
            "32",
            "Gflop/s",
            flops,
        ),
        (
            "matmul",
            "matrix multiplication, blocks of 64, Gflop/s",
            "64",
            "Gflop/s",
            flops,
        ),
        (
            "passwords",
            "password search, Mhash/s",
            "",
            "Mhash/s",
            hashes,
        ),
    ] {
        for slaves in [1, 2, 4] {
            let sides = bench.app_sides(
                app,
                &["queues", "threads", "condvar"],
                &format!("{slaves} {more}"),
                None,
                amount,
            );
            let name = format!("{what}, {slaves} slaves");
            let row = bench.compare("apps", name, Unit::Rate(unit), &sides)?;
            println!(
                "| {what} | {slaves} | {} | {} | {} | {:.2} |",
                row.sides[0].shown(),
                row.sides[1].shown(),
                row.sides[2].shown(),
                row.sides[0].over(better(&row.sides[1..]))
            );
        }
    }
    Ok(())
}
