//! The paper's bandwidth test on the modelled SW26010: messages of 16 KiB through queues, compared with transfers that
//! the slaves start themselves.
//!
//! The model multiplies its times by [`SCALE`]: two cores then have the time to play 64 slaves, and their own speed
//! does not show. Printed values are divided by [`SCALE`] again.

use anyhow::Result;

use super::{Bench, Unit};

const SCALE: f64 = 1000.0;

pub(super) fn measure(bench: &mut Bench) -> Result<()> {
    let slaves: &[u32] = if bench.quick {
        &[1, 16, 64]
    } else {
        &[1, 2, 4, 8, 16, 32, 64]
    };
    println!("\n## Modelled SW26010: queues over the slaves' own transfers, 16 KiB\n");
    println!(
        "GB/s of the modelled chip, from runs stretched {SCALE:.0} times. The paper's column is what it reports for \
         chips: 90 % of what transfers reach with few slaves, 70 % with many.\n"
    );
    println!("| slaves | queues | own transfers | ratio | paper |");
    println!("| ---: | ---: | ---: | ---: | ---: |");
    for &n in slaves {
        // A message takes a single slave 2 us. With many slaves, the memory's bandwidth allows one message in 0.6 us.
        let each = (f64::from(n) * 0.6e-6).max(2e-6) * SCALE;
        let messages = (if bench.quick { 0.2 } else { 0.5 } / each).max(8.0) as u64;
        let sides = bench.app_sides(
            "bandwidth",
            &["queues", "dma"],
            &format!("{n} 16384 {messages}"),
            Some(&format!("sw26010,scale={SCALE:.0}")),
            SCALE * 1e-9 * 16384.0 * (messages * u64::from(n)) as f64,
        );
        let row = bench.compare(
            "platform",
            format!("{n} slaves"),
            Unit::Rate("GB/s"),
            &sides,
        )?;
        println!(
            "| {n} | {} | {} | {:.2} | {} |",
            row.sides[0].shown(),
            row.sides[1].shown(),
            row.sides[0].over(&row.sides[1]),
            match n {
                1..=4 => "0.9",
                32.. => "0.7",
                _ => "",
            }
        );
    }
    Ok(())
}
