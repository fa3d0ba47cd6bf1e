//! Messages from one thread to one other, on two CPUs: `c-tests/bench/mq_spsc.c` and `examples/spsc_peers.rs`; and what
//! protocols cost with nothing around them: `c-tests/bench/mq_floor.c`.

use anyhow::Result;

use super::{words, Bench, Side, Unit};

/// The sides: name in the table, program, first argument.
const SIDES: [(&str, &str, &str); 7] = [
    ("hetmp inline", "mq_spsc", "single"),
    ("hetmp calls", "mq_spsc_calls", "single"),
    ("rtrb", "spsc_peers", "rtrb"),
    ("ArrayQueue", "spsc_peers", "array"),
    ("hetmp inline batch", "mq_spsc", "batch"),
    ("hetmp calls batch", "mq_spsc_calls", "batch"),
    ("rtrb chunks", "spsc_peers", "rtrb-chunk"),
];

pub(super) fn measure(bench: &mut Bench) -> Result<()> {
    // Enough messages to make the time of starting the threads negligible.
    let many = if bench.quick { 5_000_000 } else { 20_000_000 };
    let large = if bench.quick { 20_000 } else { 80_000 };
    println!("\n## One sender, one receiver, two CPUs\n");
    println!(
        "ns a message of 8 bytes (less is better), GB/s of messages of 16 KiB (more is better).\n"
    );
    print!("| row |");
    for (name, _, _) in SIDES {
        print!(" {name} |");
    }
    println!(" inline / rtrb | batch / chunks |");
    println!("| --- |{} ---: | ---: |", " ---: |".repeat(SIDES.len()));
    for (bytes, slots, messages) in [(8, 1024, many), (16384, 8, large), (16384, 64, large)] {
        let small = bytes == 8;
        let sides: Vec<Side> = SIDES
            .iter()
            .map(|&(name, program, way)| Side {
                name,
                program: bench.programs.path(program),
                args: words(&format!("{way} {bytes} {slots} {messages}")),
                platform: None,
                amount: if small {
                    messages as f64
                } else {
                    1e-9 * bytes as f64 * messages as f64
                },
            })
            .collect();
        let unit = if small {
            Unit::Nanoseconds
        } else {
            Unit::Rate("GB/s")
        };
        let name = if small {
            format!("8 B, {slots} slots, ns")
        } else {
            format!("16 KiB, {slots} slots, GB/s")
        };
        let row = bench.compare("spsc", name, unit, &sides)?;
        print!("| {} |", row.name);
        for side in &row.sides {
            print!(" {} |", side.shown());
        }
        println!(
            " {:.2} | {:.2} |",
            row.sides[0].over(&row.sides[2]),
            row.sides[4].over(&row.sides[6])
        );
    }
    floor(bench, many)
}

/// Single messages of 8 bytes: our calls, their protocol bare, three others bare, rtrb, nexus-queue.
fn floor(bench: &mut Bench, messages: u64) -> Result<()> {
    const WAYS: [(&str, &str, &str); 8] = [
        ("hetmp inline", "mq_spsc", "single"),
        ("bare ring", "mq_floor", "ring"),
        ("bare ring, positions in memory", "mq_floor", "kept"),
        ("bare ring, published late", "mq_floor", "late"),
        ("bare words", "mq_floor", "word"),
        ("bare pairs", "mq_floor", "pair"),
        ("rtrb", "spsc_peers", "rtrb"),
        ("nexus-queue", "spsc_peers", "nexus"),
    ];
    let sides: Vec<Side> = WAYS
        .iter()
        .map(|&(name, program, way)| Side {
            name,
            program: bench.programs.path(program),
            args: words(&format!("{way} 8 1024 {messages}")),
            platform: None,
            amount: messages as f64,
        })
        .collect();
    println!("\n## The floor: protocols with nothing around them, ns a message of 8 bytes\n");
    let row = bench.compare(
        "floor",
        "8 B, 1024 slots, ns".to_owned(),
        Unit::Nanoseconds,
        &sides,
    )?;
    println!("| protocol | ns | over rtrb | over nexus-queue |\n| --- | ---: | ---: | ---: |");
    for side in &row.sides {
        println!(
            "| {} | {} | {:.2} | {:.2} |",
            side.name,
            side.shown(),
            side.over(&row.sides[6]),
            side.over(&row.sides[7])
        );
    }
    Ok(())
}
