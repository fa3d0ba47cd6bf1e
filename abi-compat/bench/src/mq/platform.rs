//! The paper's bandwidth test on the modelled SW26010 and MT-3000: messages of 16 KiB through queues, compared with
//! transfers that the slaves start themselves.
//!
//! The model multiplies its times by [`SCALE`]: two cores then have the time to play 64 slaves, and their own speed
//! does not show. Printed values are divided by [`SCALE`] again.

use anyhow::Result;

use super::{Bench, Unit};

const SCALE: f64 = 1000.0;

/// A modelled chip, with what the rows need to know of it.
struct Chip {
    /// What `HETMP_PLATFORM` calls it.
    platform: &'static str,
    title: &'static str,
    /// What its rows' names begin with.
    row: &'static str,
    /// Microseconds that a message of 16 KiB takes: a single slave, and the memory that all share.
    slave_us: f64,
    memory_us: f64,
    slaves: &'static [u32],
    quick: &'static [u32],
}

const CHIPS: [Chip; 2] = [
    Chip {
        platform: "sw26010",
        title: "SW26010",
        row: "",
        slave_us: 2.0,
        memory_us: 0.6,
        slaves: &[1, 2, 4, 8, 16, 32, 64],
        quick: &[1, 16, 64],
    },
    Chip {
        platform: "mt3000",
        title: "MT-3000",
        row: "mt3000, ",
        slave_us: 1.4,
        memory_us: 0.4,
        slaves: &[1, 2, 4, 8, 16, 24],
        quick: &[1, 24],
    },
];

pub(super) fn measure(bench: &mut Bench) -> Result<()> {
    for chip in &CHIPS {
        measure_chip(bench, chip)?;
    }
    Ok(())
}

fn measure_chip(bench: &mut Bench, chip: &Chip) -> Result<()> {
    let slaves = if bench.quick { chip.quick } else { chip.slaves };
    println!(
        "\n## Modelled {}: queues over the slaves' own transfers, 16 KiB\n",
        chip.title
    );
    println!(
        "GB/s of the modelled chip, from runs stretched {SCALE:.0} times. The paper's column is what it reports for \
         chips: 90 % of what transfers reach with few slaves, 70 % with many.\n"
    );
    println!("| slaves | queues | own transfers | ratio | paper |");
    println!("| ---: | ---: | ---: | ---: | ---: |");
    for &n in slaves {
        let each = (f64::from(n) * chip.memory_us).max(chip.slave_us) * 1e-6 * SCALE;
        let messages = (if bench.quick { 0.2 } else { 0.5 } / each).max(8.0) as u64;
        let sides = bench.app_sides(
            "bandwidth",
            &["queues", "dma"],
            &format!("{n} 16384 {messages}"),
            Some(&format!("{},scale={SCALE:.0}", chip.platform)),
            SCALE * 1e-9 * 16384.0 * (messages * u64::from(n)) as f64,
        );
        let row = bench.compare(
            "platform",
            format!("{}{n} slaves", chip.row),
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
                _ if n == chip.slaves[chip.slaves.len() - 1] || n >= 32 => "0.7",
                _ => "",
            }
        );
    }
    Ok(())
}
