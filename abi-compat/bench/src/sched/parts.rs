//! The parts of `bench sched`, one function each: runs the comparisons, and prints their table.
//!
//! Tables are in Markdown. Each line is printed as soon as its row is measured.

use anyhow::Result;

use super::compare::{Group, Ratio, Variant};
use super::cores::Cores;
use super::kernel::{Bench, Measure, Program, Region, FIRST, KERNELS, SETTLED, WHOLE};
use super::paper;
use super::quota::Quota;
use super::report::Report;
use super::{Part, SchedArgs};
use crate::report::short;
use crate::stats;

/// The aims. The tables mark ratios that miss them.
mod aim {
    /// The most for hetprobe / ideal split, once hetprobe has settled; and for hetprobe / static on equal nodes.
    pub(super) const OVERHEAD: f64 = 1.02;
    /// The least for static / hetprobe with a slow node at a third of the speed. The limit is 2.0 there.
    pub(super) const GAIN: f64 = 1.8;
    /// The most for hetprobe-i / hetprobe on regular loops.
    pub(super) const REGULAR: f64 = 1.03;
    /// The irregularity in percent from which on hetprobe-i must be faster than hetprobe.
    pub(super) const IRREGULAR: u32 = 50;
}

const STATIC: &str = "static";
pub(super) const CSR: &str = "ideal CSR";
pub(super) const CROSS: &str = "cross-dynamic";
/// All iterations on the fast node, whose threads are those of its cores: the paper's Xeon alone.
pub(super) const ALONE: &str = "node 0 alone";
const AID: [&str; 3] = ["aid-static", "aid-hybrid", "aid-dynamic"];
pub(super) const HETPROBE: &str = "hetprobe";
const HETPROBE_I: &str = "nonmonotonic:hetprobe-i";

fn chosen(args: &SchedArgs) -> impl Iterator<Item = (&'static str, Region)> + '_ {
    KERNELS
        .into_iter()
        .filter(|(name, _)| args.wants_kernel(name))
}

fn group(part: Part, (kernel, region): (&str, Region), form: &'static str) -> Group {
    Group {
        part,
        kernel: kernel.to_owned(),
        form,
        region,
        from_outside: false,
        irregularity: None,
        phases: None,
        series: Vec::new(),
    }
}

/// The text of a ratio in a table, marked if the ratio is not `good`.
pub(super) fn cell(ratio: Option<Ratio>, good: impl Fn(f64) -> bool) -> String {
    match ratio {
        Some(r) if good(r.median) => r.to_string(),
        Some(r) => format!("{r} !"),
        None => "not measured".to_owned(),
    }
}

pub(super) fn any(_: f64) -> bool {
    true
}

/// The text of the geometric mean of a ratio over groups; a dash if no group has the ratio.
pub(super) fn mean<'a>(
    groups: impl Iterator<Item = &'a Group>,
    over: &str,
    under: &str,
    measure: Measure,
) -> String {
    let all: Vec<f64> = groups
        .filter_map(|g| Some(g.ratio(over, under, measure)?.median))
        .collect();
    if all.is_empty() {
        return "-".to_owned();
    }
    format!("{:.3}", stats::geometric_mean(all))
}

pub(super) fn of_part(report: &Report, part: Part) -> impl Iterator<Item = &Group> {
    report.groups.iter().filter(move |g| g.part == part)
}

/// (a): every schedule on unlike nodes.
pub(super) fn schedules(
    args: &SchedArgs,
    bench: &Bench,
    cores: &Cores,
    report: &mut Report,
) -> Result<()> {
    let nodes = cores.unlike(args.speed);
    let ideal = format!("static-csr:1,{}", args.speed);
    let variants: Vec<Variant<'_>> = [
        (STATIC, STATIC),
        ("dynamic", "dynamic"),
        (CSR, &ideal),
        (CROSS, CROSS),
        (AID[0], AID[0]),
        (AID[1], AID[1]),
        (AID[2], AID[2]),
        (HETPROBE, HETPROBE),
        (HETPROBE_I, HETPROBE_I),
        (ALONE, "static-csr:1,0"),
    ]
    .into_iter()
    .map(|(name, schedule)| {
        Variant::ours(
            name,
            &[("HETMP_NODES", &nodes), ("HETMP_SCHEDULE", schedule)],
        )
    })
    .collect();
    // The table of the paper's columns has the last one.
    let shown = variants.len() - 1;
    println!("\n### (a) Schedules on unlike nodes: `schedule(runtime)`, a lap's time, and its ratio to static's\n");
    println!(
        "| kernel | static, ms | dynamic | ideal CSR | cross-dynamic | aid-static | aid-hybrid | aid-dynamic | \
            hetprobe | hetprobe-i |"
    );
    println!("| --- | ---: | --- | --- | --- | --- | --- | --- | --- | --- |");
    for kernel in chosen(args) {
        let program = Program::build(kernel.0, "runtime")?;
        let group = group(Part::A, kernel, "runtime").measure(
            bench,
            &program,
            &args.arguments(),
            &variants,
            args.rounds(),
        );
        print!("| {} | {} ", kernel.0, short(group.ms(STATIC, WHOLE)));
        for variant in &variants[1..shown] {
            print!("| {} ", cell(group.ratio(variant.name, STATIC, WHOLE), any));
        }
        println!("|");
        report.groups.push(group);
    }
    print!("| geometric mean | ");
    for variant in &variants[1..shown] {
        let all = of_part(report, Part::A);
        print!("| {} ", mean(all, variant.name, STATIC, WHOLE));
    }
    println!("|");
    let means = AID.map(|aid| mean(of_part(report, Part::A), HETPROBE, aid, WHOLE));
    println!(
        "\nhetprobe / {}, geometric means of the rounds' medians: {}.",
        AID.join(", "),
        means.join(", ")
    );
    paper::beside(report, args.speed);
    Ok(())
}

/// (b): hetprobe compared with the ideal split, from the runs of (a).
pub(super) fn probing(report: &Report) {
    println!("\n### (b) What probing costs: hetprobe / ideal CSR (the paper: 1.055)\n");
    println!("| kernel | first lap | settled | whole run |");
    println!("| --- | --- | --- | --- |");
    for group in of_part(report, Part::A) {
        println!(
            "| {} | {} | {} | {} |",
            group.kernel,
            cell(group.ratio(HETPROBE, CSR, FIRST), any),
            cell(group.ratio(HETPROBE, CSR, SETTLED), |r| r <= aim::OVERHEAD),
            cell(group.ratio(HETPROBE, CSR, WHOLE), any)
        );
    }
    let means = [FIRST, SETTLED, WHOLE].map(|m| mean(of_part(report, Part::A), HETPROBE, CSR, m));
    println!("| geometric mean | {} |", means.join(" | "));
}

/// (c): loops without a clause, hetprobe compared with static.
pub(super) fn without_clause(
    args: &SchedArgs,
    bench: &Bench,
    cores: &Cores,
    report: &mut Report,
) -> Result<()> {
    let nodes = cores.unlike(args.speed);
    let variants = [STATIC, HETPROBE].map(|schedule| {
        Variant::ours(
            schedule,
            &[("HETMP_NODES", &*nodes), ("HETMP_SCHEDULE", schedule)],
        )
    });
    // With equal shares, the loop ends when the slow node ends. At best, both nodes end together.
    let limit = (1.0 + args.speed) / (2.0 * args.speed);
    println!("\n### (c) Loops without a schedule clause: static / hetprobe (limit {limit:.2})\n");
    println!("| kernel | region | static, ms | hetprobe, ms | whole run | settled |");
    println!("| --- | --- | ---: | ---: | --- | --- |");
    // The aim is for a third of the speed. For other speeds, the same part of the possible gain is the aim.
    let enough = |r: f64| r >= 1.0 + (aim::GAIN - 1.0) * (limit - 1.0);
    for kernel in chosen(args) {
        let program = Program::build(kernel.0, "none")?;
        let group = group(Part::C, kernel, "none").measure(
            bench,
            &program,
            &args.arguments(),
            &variants,
            args.rounds(),
        );
        let good = |r: f64| enough(r) || !kernel.1.can_gain();
        println!(
            "| {} | {} | {} | {} | {} | {} |",
            kernel.0,
            kernel.1.word(),
            short(group.ms(STATIC, WHOLE)),
            short(group.ms(HETPROBE, WHOLE)),
            cell(group.ratio(STATIC, HETPROBE, WHOLE), good),
            cell(group.ratio(STATIC, HETPROBE, SETTLED), good)
        );
        report.groups.push(group);
    }
    for region in [Region::Plain, Region::Barriers] {
        let means = [WHOLE, SETTLED].map(|m| {
            let all = of_part(report, Part::C).filter(|g| g.region == region);
            mean(all, STATIC, HETPROBE, m)
        });
        println!(
            "| geometric mean | {} | | | {} |",
            region.word(),
            means.join(" | ")
        );
    }
    Ok(())
}

/// (c), second half: libgomp and libhetmp.so, both slowed from outside.
pub(super) fn against_libgomp(
    args: &SchedArgs,
    bench: &Bench,
    cores: &Cores,
    report: &mut Report,
) -> Result<()> {
    println!(
        "\n### (c) The same against libgomp: threads of the slow CPUs under a CPU quota of {:.2}\n",
        args.speed
    );
    let quota = match Quota::new(&cores.slow, args.speed) {
        Ok(quota) => quota,
        Err(why) => {
            let why = format!("{why:#}");
            println!("Not measured: {why}.");
            report.quota = Some(why);
            return Ok(());
        }
    };
    let places = cores.places();
    let nodes = cores.alike();
    let mut variants = [
        Variant {
            preload: false,
            ..Variant::ours(
                "libgomp",
                &[("OMP_PLACES", &*places), ("OMP_PROC_BIND", "true")],
            )
        },
        Variant::ours(
            STATIC,
            &[("HETMP_NODES", &*nodes), ("HETMP_SCHEDULE", STATIC)],
        ),
        Variant::ours(
            HETPROBE,
            &[("HETMP_NODES", &*nodes), ("HETMP_SCHEDULE", HETPROBE)],
        ),
    ];
    for variant in &mut variants {
        variant.quota = Some(&quota);
    }
    println!("The quota begins when the thread does, a moment into the first lap: settled laps are compared.\n");
    println!("| kernel | libgomp, ms | static, ms | hetprobe, ms | libgomp / hetprobe | static / hetprobe |");
    println!("| --- | ---: | ---: | ---: | --- | --- |");
    let mut groups = Vec::new();
    for kernel in chosen(args) {
        let program = Program::build(kernel.0, "none")?;
        let group = Group {
            from_outside: true,
            ..group(Part::C, kernel, "none")
        }
        .measure(bench, &program, &args.arguments(), &variants, args.rounds());
        println!(
            "| {} | {} | {} | {} | {} | {} |",
            kernel.0,
            short(group.ms("libgomp", SETTLED)),
            short(group.ms(STATIC, SETTLED)),
            short(group.ms(HETPROBE, SETTLED)),
            cell(group.ratio("libgomp", HETPROBE, SETTLED), any),
            cell(group.ratio(STATIC, HETPROBE, SETTLED), any)
        );
        groups.push(group);
    }
    let means = ["libgomp", STATIC].map(|v| mean(groups.iter(), v, HETPROBE, SETTLED));
    println!("| geometric mean | | | | {} |", means.join(" | "));
    report.groups.append(&mut groups);
    Ok(())
}

/// (d): equal nodes, where hetprobe can gain nothing.
pub(super) fn equal_nodes(args: &SchedArgs, bench: &Bench, report: &mut Report) -> Result<()> {
    println!("\n### (d) Equal nodes: hetprobe / static\n");
    println!(
        "| kernel | `schedule(runtime)`, whole run | settled | no clause, whole run | settled |"
    );
    println!("| --- | --- | --- | --- | --- |");
    let nodes = report.alike.clone();
    let variants = [STATIC, HETPROBE].map(|schedule| {
        Variant::ours(
            schedule,
            &[("HETMP_NODES", &*nodes), ("HETMP_SCHEDULE", schedule)],
        )
    });
    for kernel in chosen(args) {
        print!("| {} ", kernel.0);
        for form in ["runtime", "none"] {
            let program = Program::build(kernel.0, form)?;
            let group = group(Part::D, kernel, form).measure(
                bench,
                &program,
                &args.arguments(),
                &variants,
                args.rounds(),
            );
            for measure in [WHOLE, SETTLED] {
                let good = |r: f64| r <= aim::OVERHEAD;
                print!("| {} ", cell(group.ratio(HETPROBE, STATIC, measure), good));
            }
            report.groups.push(group);
        }
        println!("|");
    }
    let mut means = Vec::new();
    for form in ["runtime", "none"] {
        for measure in [WHOLE, SETTLED] {
            let all = of_part(report, Part::D).filter(|g| g.form == form);
            means.push(mean(all, HETPROBE, STATIC, measure));
        }
    }
    println!("| geometric mean | {} |", means.join(" | "));
    Ok(())
}

/// (e): the irregular mix, and the cost of hetprobe-i in regular loops.
pub(super) fn irregular(
    args: &SchedArgs,
    bench: &Bench,
    cores: &Cores,
    report: &mut Report,
) -> Result<()> {
    if args.wants_kernel("mix") {
        let program = Program::build("mix", "runtime")?;
        let file =
            std::env::temp_dir().join(format!("hetmp-mix-nodes-{}.toml", std::process::id()));
        std::fs::write(&file, cores.mix_file(args.speed))?;
        let measured = mix(
            args,
            bench,
            &program,
            &format!("@{}", file.display()),
            report,
        );
        let _ = std::fs::remove_file(&file);
        measured?;
    }
    let regular: Vec<&Group> = of_part(report, Part::A)
        .filter(|g| g.ratio(HETPROBE_I, HETPROBE, WHOLE).is_some())
        .collect();
    if regular.is_empty() {
        return Ok(());
    }
    println!("\nhetprobe-i / hetprobe on the regular kernels of (a):\n");
    println!("| kernel | whole run | settled |");
    println!("| --- | --- | --- |");
    for group in &regular {
        let good = |r: f64| r <= aim::REGULAR;
        println!(
            "| {} | {} | {} |",
            group.kernel,
            cell(group.ratio(HETPROBE_I, HETPROBE, WHOLE), good),
            cell(group.ratio(HETPROBE_I, HETPROBE, SETTLED), good)
        );
    }
    let means = [WHOLE, SETTLED].map(|m| mean(regular.iter().copied(), HETPROBE_I, HETPROBE, m));
    println!("| geometric mean | {} |", means.join(" | "));
    Ok(())
}

fn mix(
    args: &SchedArgs,
    bench: &Bench,
    program: &Program,
    nodes: &str,
    report: &mut Report,
) -> Result<()> {
    let variants = [STATIC, CROSS, HETPROBE, HETPROBE_I].map(|schedule| {
        Variant::ours(
            schedule,
            &[("HETMP_NODES", nodes), ("HETMP_SCHEDULE", schedule)],
        )
    });
    println!("\n### (e) Two kernels that prefer different nodes: `schedule(runtime)`\n");
    println!("| irregularity | phases | static, ms | cross-dynamic, ms | hetprobe, ms | hetprobe-i, ms | hetprobe-i / \
        hetprobe | first lap |");
    println!("| ---: | ---: | ---: | ---: | ---: | ---: | --- | --- |");
    let percents: &[u32] = if args.quick {
        &[0, 50, 100]
    } else {
        &[0, 25, 50, 75, 100]
    };
    // With an even number of phases, the front and the back of the range are of unlike kinds. This suits two nodes
    // that begin at the two ends. With an odd number, both ends are of the same kind.
    let phases: &[u32] = if args.quick { &[4] } else { &[4, 5] };
    for (&phases, &percent) in phases
        .iter()
        .flat_map(|phases| percents.iter().map(move |percent| (phases, percent)))
    {
        // The kernel takes the irregularity as the argument after the laps, so the laps must be given.
        let laps = args.laps.unwrap_or(4);
        let arguments = [
            args.size.clone(),
            laps.to_string(),
            percent.to_string(),
            phases.to_string(),
        ];
        let group = Group {
            part: Part::E,
            kernel: program.name.clone(),
            form: "runtime",
            region: Region::Plain,
            from_outside: false,
            irregularity: Some(percent),
            phases: Some(phases),
            series: Vec::new(),
        }
        .measure(bench, program, &arguments, &variants, args.rounds());
        let good = |r: f64| match percent {
            0 => r <= aim::REGULAR,
            p if p >= aim::IRREGULAR => r < 1.0,
            _ => true,
        };
        print!("| {percent} % | {phases} ");
        for variant in &variants {
            print!("| {} ", short(group.ms(variant.name, WHOLE)));
        }
        println!(
            "| {} | {} |",
            cell(group.ratio(HETPROBE_I, HETPROBE, WHOLE), good),
            cell(group.ratio(HETPROBE_I, HETPROBE, FIRST), any)
        );
        report.groups.push(group);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_mark_what_misses() {
        let ratio = Ratio {
            median: 1.05,
            min: 1.0,
            max: 1.1,
        };
        assert_eq!(cell(Some(ratio), |r| r <= 1.1), "1.05 (1.00-1.10)");
        assert_eq!(cell(Some(ratio), |r| r <= 1.02), "1.05 (1.00-1.10) !");
        assert_eq!(cell(None, any), "not measured");
    }
}
