//! Messages from the master to 1 to 64 slaves, compared with hand-written double buffers.

use anyhow::Result;

use super::{Bench, Reached, Unit};

pub(super) fn measure(bench: &mut Bench) -> Result<()> {
    let slaves: &[u32] = if bench.quick {
        &[1, 2, 64]
    } else {
        &[1, 2, 4, 8, 16, 32, 64]
    };
    println!("\n## Bandwidth through queues over raw copies by the same threads\n");
    println!(
        "GB/s. By hand: as many buffers, a flag each, polled (then yielding) or waited for on a \
         condition variable; the ratio is to the better one.\n"
    );
    println!("| slaves | message | queues | polled | condition variable | ratio |");
    println!("| ---: | ---: | ---: | ---: | ---: | ---: |");
    for &bytes in &[64u64, 1024, 16384, 65536] {
        for &n in slaves {
            // Bytes that take about a tenth of a second: at a few GB/s, and less for small messages.
            let total = match bytes {
                64 => 64 << 20,
                1024 => 256 << 20,
                _ => 512 << 20,
            } / if bench.quick { 4 } else { 1 };
            let messages = (total / (bytes * u64::from(n))).max(4);
            let sides_of = |ways: &[&'static str], messages: u64| {
                bench.app_sides(
                    "bandwidth",
                    ways,
                    &format!("{n} {bytes} {messages}"),
                    None,
                    1e-9 * (bytes * messages * u64::from(n)) as f64,
                )
            };
            let mut sides = sides_of(&["queues", "threads"], messages);
            // Condition variables are some sixty times as slow for small messages.
            let fewer = if bytes < 16384 { 16 } else { 1 };
            sides.extend(sides_of(&["condvar"], (messages / fewer).max(4)));
            let name = format!("{n} slaves, {bytes} bytes");
            let row = bench.compare("bandwidth", name, Unit::Rate("GB/s"), &sides)?;
            println!(
                "| {n} | {bytes} | {} | {} | {} | {:.2} |",
                row.sides[0].shown(),
                row.sides[1].shown(),
                row.sides[2].shown(),
                row.sides[0].over(better(&row.sides[1..]))
            );
        }
    }
    Ok(())
}

/// The side with the highest median.
pub(super) fn better(sides: &[Reached]) -> &Reached {
    sides
        .iter()
        .max_by(|a, b| a.median().total_cmp(&b.median()))
        .expect("a row has sides")
}
