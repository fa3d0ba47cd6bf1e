//! What posting and putting costs, every floor in the same run: `scripts/bench nic` runs this.
//!
//! * `posting`: descriptors from templates against whole descriptors, in instructions and nanoseconds.
//! * `latency`: put and quiet by size through the emulated adapter, awake and asleep.
//! * `tcp`: put and quiet of 4 bytes between two processes compared with a bare exchange of messages that waits alike.
//! * `fabric`: puts and gets over libfabric's providers compared with libfabric's own programs.
//!
//! Rows of one part are measured in turns, round by round, so that what else the machine does meets all of
//! them; a row is the median of its rounds, with the least and the most.

#[cfg(loom)]
fn main() {}

#[cfg(not(loom))]
mod fabric;
#[cfg(not(loom))]
mod latency;
#[cfg(not(loom))]
mod posting;
#[cfg(not(loom))]
mod rows;
#[cfg(not(loom))]
mod tcp;

#[cfg(not(loom))]
fn main() {
    bench::run();
}

#[cfg(not(loom))]
mod bench {
    use super::{fabric, latency, posting, rows::Report, tcp};
    use std::path::PathBuf;

    const HELP: &str = "\
scripts/bench nic [--quick] [--rounds N] [--parts LIST] [--fabtests DIR]
                  [--providers LIST] [--json FILE]

posting   from templates and whole, instructions (by valgrind) and nanoseconds,
          at 1, 2, 4 and 8 initiators
latency   put and quiet through the emulated adapter, by size, awake and asleep
tcp       put and quiet of 4 bytes against a bare exchange, spinning and blocking
fabric    over libfabric's providers tcp;ofi_rxm, shm and sockets: put and quiet against
          fi_pingpong; bandwidth, against fi_rma_bw with --fabtests (only if named)

--quick   3 short rounds instead of 9
--rounds N    1 to 99
--parts LIST  some of posting,latency,tcp,fabric
--fabtests DIR  where fi_rma_bw of libfabric's test programs is
--providers LIST  other providers for the part fabric, as fi_info names them
--json FILE   the medians, least and most as JSON";

    pub(crate) struct Options {
        pub(crate) rounds: usize,
        pub(crate) quick: bool,
        /// The folder of libfabric's test programs.
        pub(crate) fabtests: Option<PathBuf>,
        pub(crate) providers: Vec<String>,
    }

    const PARTS: [&str; 4] = ["posting", "latency", "tcp", "fabric"];

    fn refuse(what: &str, value: &str, wrong: &str) -> ! {
        eprintln!("hetmp: {what}: '{value}': {wrong}");
        std::process::exit(2);
    }

    pub(crate) fn run() {
        let mut args = std::env::args().skip(1);
        // The parts of libfabric take a quarter of an hour, and need its programs: only by name.
        let mut parts: Vec<String> = PARTS[..3].iter().copied().map(String::from).collect();
        let mut options = Options {
            rounds: 9,
            quick: false,
            fabtests: None,
            providers: fabric::PROVIDERS.map(String::from).to_vec(),
        };
        let mut json = None;
        while let Some(arg) = args.next() {
            let mut value = |accepted: &str| match args.next() {
                Some(v) => v,
                None => refuse("option", &arg, accepted),
            };
            match arg.as_str() {
                "--quick" => {
                    options.quick = true;
                    options.rounds = 3;
                }
                "--rounds" => {
                    let v = value("a number follows");
                    options.rounds = match v.parse() {
                        Ok(n @ 1..=99) => n,
                        _ => refuse("rounds", &v, "out of range (expected 1 to 99)"),
                    };
                }
                "--parts" => {
                    let v = value("a list follows");
                    parts = v.split(',').map(String::from).collect();
                    for p in &parts {
                        if !PARTS.contains(&p.as_str()) {
                            refuse(
                                "part",
                                p,
                                "unknown (expected posting, latency, tcp or fabric)",
                            );
                        }
                    }
                }
                "--fabtests" => {
                    let folder = PathBuf::from(value("a folder follows"));
                    if !folder.join("fi_rma_bw").is_file() {
                        let name = folder.display().to_string();
                        refuse("folder", &name, "no fi_rma_bw in it (expected one with it)");
                    }
                    options.fabtests = Some(folder);
                }
                "--providers" => {
                    let v = value("a list follows");
                    options.providers = v.split(',').map(String::from).collect();
                }
                "--json" => json = Some(value("a file follows")),
                "--help" | "-h" => {
                    println!("{HELP}");
                    return;
                }
                // What this program starts of itself.
                "--post" => return posting::alone(&mut args),
                "--pong" => return tcp::pong(&mut args),
                "--target" => return tcp::target(&mut args),
                "--fabric" => return fabric::rank(&mut args),
                other => refuse("option", other, "see --help"),
            }
        }
        let mut report = Report::default();
        for part in parts {
            match part.as_str() {
                "posting" => posting::measure(&options, &mut report),
                "latency" => latency::measure(&options, &mut report),
                "tcp" => tcp::measure(&options, &mut report),
                _ => fabric::measure(&options, &mut report),
            }
        }
        if let Some(file) = json {
            if let Err(e) = std::fs::write(&file, report.json()) {
                refuse("file", &file, &format!("{e}"));
            }
        }
    }
}
