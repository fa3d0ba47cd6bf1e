//! The ten programs of the paper on HetProbe compared with our kernels of the same behaviour: gains over one node
//! alone.
//!
//! The paper's text has means of groups of programs, and where each ran. Its machine is a Xeon of 16 cores and a
//! ThunderX of 96, without common memory; here both nodes share memory, so every kernel may gain.

use super::kernel::WHOLE;
use super::parts::{any, cell, mean, of_part, ALONE, CROSS, CSR, HETPROBE};
use super::report::Report;
use super::Part;

/// The programs, by the names of our kernels, and where the paper ran them.
const PROGRAMS: [(&str, &str); 10] = [
    ("blackscholes", BOTH),
    ("ep", BOTH),
    ("kmeans", BOTH),
    ("lavamd", BOTH),
    ("bt", "ThunderX"),
    ("cfd", "ThunderX"),
    ("lud", "ThunderX"),
    ("cg", "Xeon"),
    ("sp", "Xeon"),
    ("streamcluster", "Xeon"),
];
const BOTH: &str = "both nodes";

fn place(kernel: &str) -> Option<&'static str> {
    PROGRAMS.iter().find(|p| p.0 == kernel).map(|p| p.1)
}

/// Prints the kernels' gains over node 0 alone, from the runs of (a), and the paper's means.
pub(super) fn beside(report: &Report, speed: f64) {
    println!(
        "\n### The paper's columns: gain over one node alone (limit {:.2} here; the paper's Xeon has 16 cores, and \
            its ThunderX 96 of about a third of the speed: 3.0)\n",
        1.0 + speed
    );
    println!("| kernel | ideal CSR | cross-dynamic | hetprobe | the paper's program ran on |");
    println!("| --- | --- | --- | --- | --- |");
    let ours = || of_part(report, Part::A).filter(|g| place(&g.kernel).is_some());
    for group in ours() {
        print!("| {} ", group.kernel);
        for variant in [CSR, CROSS, HETPROBE] {
            print!("| {} ", cell(group.ratio(ALONE, variant, WHOLE), any));
        }
        println!("| {} |", place(&group.kernel).unwrap_or("-"));
    }
    let means = |which: &dyn Fn(&str) -> bool| {
        let all = [CSR, CROSS, HETPROBE].map(|variant| {
            let groups = ours().filter(|g| which(place(&g.kernel).unwrap_or_default()));
            mean(groups, ALONE, variant, WHOLE)
        });
        all.join(" | ")
    };
    println!(
        "| the four that profit in the paper | {} | |",
        means(&|on| on == BOTH)
    );
    println!("| the paper's | 2.55 | 2.68 | 2.40 | |");
    println!("| the six others | {} | |", means(&|on| on != BOTH));
    println!("| the paper's | below 1 | below 1 | Xeon: 0.94 (6.1 % longer) | |");
    println!("| all | {} | |", means(&|_| true));
    println!("| the paper's | - | - | 1.41 | |");
}
