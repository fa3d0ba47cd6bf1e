//! `libhetmp_mpi.so`: programs that know MPI only, with and without the library, under every MPI that is installed.

use super::{compile, exec, library, prefix, scratch, start};
use libtest_mimic::{Failed, Trial};
use std::fs;
use std::path::{Path, PathBuf};

/// An MPI of the distribution.
#[derive(Clone, Copy, Debug)]
struct Mpi {
    name: &'static str,
    compiler: &'static str,
    fortran: &'static str,
    launcher: &'static str,
}

const MPIS: [Mpi; 3] = [
    Mpi {
        name: "openmpi",
        compiler: "mpicc.openmpi",
        fortran: "mpif90.openmpi",
        launcher: "mpirun.openmpi",
    },
    Mpi {
        name: "mpich",
        compiler: "mpicc.mpich",
        fortran: "mpif90.mpich",
        launcher: "mpirun.mpich",
    },
    // MPI 5's common interface, of any MPI that has it.
    Mpi {
        name: "abi",
        compiler: "mpicc_abi",
        fortran: "",
        launcher: "mpiexec",
    },
];

impl Mpi {
    fn is_here(self) -> bool {
        use hetmp_abi_compat::suite::compiles_mpi;
        compiles_mpi(self.compiler) && self.launcher().is_ok()
    }

    fn launcher(self) -> Result<PathBuf, String> {
        use hetmp_abi_compat::suite::find_in_path;
        match self.name {
            "abi" => Ok(find_in_path(self.compiler)?.with_file_name(self.launcher)),
            _ => find_in_path(self.launcher),
        }
    }

    fn shim(self) -> PathBuf {
        prefix().join(format!("lib/libhetmp_mpi-{}.so", self.name))
    }

    fn build(self, program: &str) -> Result<PathBuf, Failed> {
        let bin = scratch().join("bin");
        fs::create_dir_all(&bin).map_err(|e| e.to_string())?;
        let out = bin.join(format!(
            "mpi-{program}-{}-{}",
            self.name,
            std::process::id()
        ));
        let source = library::root().join(format!("c-tests/mpi/{program}.c"));
        // gcc takes MPI_STATUSES_IGNORE and MPI_UNWEIGHTED for arrays that are too short.
        let warnings = [
            "-Wall",
            "-Wextra",
            "-Wno-stringop-overflow",
            "-Wno-stringop-overread",
        ];
        let mut args = ["-std=gnu11", "-O1", "-g"].map(str::to_owned).to_vec();
        args.extend(warnings.map(str::to_owned));
        args.extend([
            source.display().to_string(),
            "-o".to_owned(),
            out.display().to_string(),
        ]);
        // Several tests build the same program at the same time: each has a file of its own until it is complete.
        static ONE: std::sync::Mutex<()> = std::sync::Mutex::new(());
        let _one = ONE.lock().map_err(|e| e.to_string())?;
        if !out.exists() {
            compile(self.compiler, &args)?;
        }
        Ok(out)
    }

    /// Runs a program; with `preload` in its ranks only.
    fn run(
        self,
        ranks: u32,
        path: &Path,
        args: &[&str],
        preload: Option<&Path>,
        env: &[(&str, &str)],
    ) -> exec::Outcome {
        let mut all: Vec<String> = vec![];
        let mut env: Vec<(String, String)> = env
            .iter()
            .map(|(n, v)| ((*n).to_owned(), (*v).to_owned()))
            .collect();
        if self.name == "openmpi" {
            all.push("--oversubscribe".to_owned());
            for name in ["OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] {
                env.push((name.to_owned(), "1".to_owned()));
            }
        }
        all.extend(["-n".to_owned(), ranks.to_string()]);
        match preload.map(|p| p.display().to_string()) {
            Some(library) if self.name == "openmpi" => {
                all.extend(["-x".to_owned(), format!("LD_PRELOAD={library}")]);
            }
            Some(library) => all.extend(["-genv".to_owned(), "LD_PRELOAD".to_owned(), library]),
            None => {}
        }
        all.push(path.display().to_string());
        all.extend(args.iter().map(|a| (*a).to_owned()));
        start(&self.launcher().expect("found before"), &all, &env)
    }
}

fn shown(out: &exec::Outcome) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!(
        "{}\n--- output\n{}--- errors\n{}",
        out.ending,
        text(&out.stdout),
        text(&out.stderr)
    )
}

/// The collectives that a job has counted, from its line: of GOAL and of MPI.
fn counted(out: &exec::Outcome) -> Option<(String, String)> {
    let text = String::from_utf8_lossy(&out.stderr).into_owned();
    let begins = "hetmp: libhetmp_mpi.so: collectives of all ranks by GOAL: ";
    let line = text.lines().find_map(|l| l.strip_prefix(begins))?;
    let (goal, mpi) = line.split_once("; by MPI, because of ")?;
    Some((goal.to_owned(), mpi.to_owned()))
}

/// The same line with and without the library, on 2 to 4 ranks; and the library says that GOAL has run the collectives.
fn same(mpi: Mpi, engine: &str, arguments: &[&str], ranks: &[u32]) -> Result<(), Failed> {
    let path = mpi.build("collectives")?;
    for ranks in ranks {
        let env = [("HETMP_GOAL_ENGINE", engine), ("HETMP_VERBOSE", "1")];
        let ours = mpi.run(*ranks, &path, arguments, Some(&mpi.shim()), &env);
        let passed = ours.stdout.starts_with(b"collectives: passed, ");
        if ours.ending != exec::Ending::Exit(0) || !passed {
            return Err(format!("{ranks} ranks: {}", shown(&ours)).into());
        }
        // MPICH's ranks spin for whole time slices while they wait. Where ranks outnumber cores, the program alone
        // takes a minute on a loaded machine.
        if mpi.name == "openmpi" || *ranks <= 2 {
            let plain = mpi.run(*ranks, &path, arguments, None, &[]);
            if plain.ending != exec::Ending::Exit(0) || ours.stdout != plain.stdout {
                let both = format!("{}--- alone\n{}", shown(&ours), shown(&plain));
                return Err(format!("{ranks} ranks: {both}").into());
            }
        }
        let Some((goal, left)) = counted(&ours) else {
            return Err(format!("{ranks} ranks: no line with counts: {}", shown(&ours)).into());
        };
        let names =
            "Ibarrier Ibcast Ireduce Iallreduce Ialltoall Iallgather Igather Iscatter Iscan \
                     Ireduce_scatter_block";
        for name in names.split(' ') {
            if !format!(" {goal}").contains(&format!(" {name} ")) {
                return Err(format!("{ranks} ranks: no {name} by GOAL: {goal}").into());
            }
        }
        if !left.contains("operation ") {
            return Err(
                format!("{ranks} ranks: operations of the program were taken: {left}").into(),
            );
        }
    }
    Ok(())
}

/// The library of one MPI in a program of another: one line, and the program does not start. In a program without MPI:
/// nothing.
fn wrong_program(mpi: Mpi) -> Result<(), Failed> {
    let echo = hetmp_abi_compat::suite::find_in_path("echo").map_err(|e| e.to_string())?;
    let env = [
        ("LD_PRELOAD".to_owned(), mpi.shim().display().to_string()),
        ("LD_BIND_NOW".to_owned(), "1".to_owned()),
    ];
    let out = start(&echo, &["here".to_owned()], &env);
    if out.stdout != b"here\n" || !out.stderr.is_empty() {
        return Err(shown(&out).into());
    }
    for other in MPIS
        .into_iter()
        .filter(|o| o.name != mpi.name && o.is_here())
    {
        let path = other.build("collectives")?;
        let out = other.run(2, &path, &[], Some(&mpi.shim()), &[]);
        let text = String::from_utf8_lossy(&out.stderr).into_owned();
        let said = text.contains("hetmp: libhetmp_mpi.so: program of ")
            && text.contains("(expected a program of ");
        if out.ending == exec::Ending::Exit(0) || !said {
            return Err(shown(&out).into());
        }
    }
    Ok(())
}

/// A program that opens MPI after its start: one line, and with MPI in `LD_PRELOAD` behind the library GOAL runs its
/// collectives.
fn late(mpi: Mpi) -> Result<(), Failed> {
    let bin = scratch().join("bin");
    fs::create_dir_all(&bin).map_err(|e| e.to_string())?;
    let source = library::root().join("c-tests/mpi/late.c");
    let (program, module) = (
        bin.join(format!("mpi-late-{}", mpi.name)),
        bin.join(format!("mpi-late-{}.so", mpi.name)),
    );
    let args = |out: &Path, more: &[&str]| {
        let all = ["-std=gnu11", "-O1", "-Wall", "-Wextra"].iter().chain(more);
        let mut all: Vec<String> = all.map(|a| (*a).to_owned()).collect();
        all.extend([source.display().to_string(), "-o".to_owned()]);
        all.extend([out.display().to_string(), "-ldl".to_owned()]);
        all
    };
    compile("gcc", &args(&program, &[]))?;
    compile(
        mpi.compiler,
        &args(&module, &["-DMODULE", "-shared", "-fPIC"]),
    )?;
    let module = module.display().to_string();
    let out = mpi.run(2, &program, &[&module], Some(&mpi.shim()), &[]);
    let text = String::from_utf8_lossy(&out.stderr).into_owned();
    let line = text.lines().find_map(|l| {
        let named = l.strip_prefix(
            "hetmp: libhetmp_mpi.so: program that opens MPI after its start: MPI is not there yet (expected \
                LD_PRELOAD of this library and then of ",
        )?;
        named.strip_suffix(')')
    });
    let Some(file) = line.filter(|_| out.ending != exec::Ending::Exit(0)) else {
        return Err(shown(&out).into());
    };
    // That MPI need not be where the loader looks.
    let file = match mpi.name {
        "abi" => mpi.launcher()?.with_file_name("../lib").join(file),
        _ => PathBuf::from(file),
    };
    let both = format!("{}:{}", mpi.shim().display(), file.display());
    let both = PathBuf::from(both);
    let verbose = [("HETMP_VERBOSE", "1")];
    let out = mpi.run(2, &program, &[&module], Some(&both), &verbose);
    let by_goal = counted(&out).is_some_and(|(goal, _)| goal == "Iallreduce 2");
    if out.ending != exec::Ending::Exit(0) || out.stdout != b"late: 2 ranks\n" || !by_goal {
        return Err(shown(&out).into());
    }
    Ok(())
}

/// A collective that fails next to a barrier and messages that do not, under each function that waits or tests: the
/// error is reported once, and nothing is lost.
fn failed(mpi: Mpi) -> Result<(), Failed> {
    let path = mpi.build("failed")?;
    let ways = "wait test waitall testall waitany testany waitsome testsome status";
    for way in ways.split(' ') {
        let out = mpi.run(2, &path, &[way], Some(&mpi.shim()), &[]);
        let line = format!("failed: {way}: reported once, nothing lost\n");
        let said = String::from_utf8_lossy(&out.stderr)
            .contains("hetmp: libhetmp_mpi.so: a collective failed: ");
        if out.ending != exec::Ending::Exit(0) || out.stdout != line.as_bytes() || !said {
            return Err(format!("{way}: {}", shown(&out)).into());
        }
    }
    Ok(())
}

/// Numbers of elements for each rank, large numbers: the same with and without the library, which has run all of them.
/// Persistent requests: with the library.
fn wider(mpi: Mpi) -> Result<(), Failed> {
    let path = mpi.build("wider")?;
    let verbose = [("HETMP_VERBOSE", "1")];
    let again = mpi.run(3, &path, &["persistent"], Some(&mpi.shim()), &verbose);
    let ours = mpi.run(2, &path, &[], Some(&mpi.shim()), &verbose);
    let plain = mpi.run(2, &path, &[], None, &[]);
    for out in [&again, &ours, &plain] {
        let passed = out.stdout.starts_with(b"wider: passed, ");
        if out.ending != exec::Ending::Exit(0) || !passed {
            return Err(shown(out).into());
        }
    }
    if ours.stdout != plain.stdout {
        return Err(format!("{}--- alone\n{}", shown(&ours), shown(&plain)).into());
    }
    let (goal, left) = counted(&ours).ok_or_else(|| shown(&ours))?;
    let names =
        "Ireduce_scatter Igatherv Iscatterv Iallgatherv Ialltoallv Ialltoallw Ineighbor_allgather \
                 Ineighbor_allgatherv Ineighbor_alltoallv Ineighbor_alltoallw";
    let lacks = names
        .split(' ')
        .find(|name| !format!(" {goal}").contains(&format!(" {name} ")));
    if left != "communicator 0" || lacks.is_some() {
        return Err(format!("{lacks:?}: {goal}; by MPI {left}").into());
    }
    Ok(())
}

/// For collectives that the kernel moves on, or that need nobody for that, no thread of the process works either; for
/// those of an adapter that is a thread, one does.
fn no_thread(mpi: Mpi, engine: &str) -> Result<(), Failed> {
    let path = mpi.build("no_thread")?;
    let env = [("HETMP_GOAL_ENGINE", engine), ("HETMP_VERBOSE", "1")];
    let ours = mpi.run(2, &path, &[], Some(&mpi.shim()), &env);
    let by_goal = counted(&ours).is_some_and(|(goal, _)| goal == "Iallreduce 220");
    let works = ours.stdout != b"no_thread: 0 wrong, 0 ns\n";
    let is_right = ours.stdout.starts_with(b"no_thread: 0 wrong, ");
    if !is_right || works != (engine == "nic-thread") || !by_goal {
        return Err(shown(&ours).into());
    }
    Ok(())
}

/// Blocking collectives: the same with and without the library, which has run those of long blocks. Sums of more than
/// two ranks are MPI's.
fn blocking(mpi: Mpi) -> Result<(), Failed> {
    let path = mpi.build("blocking")?;
    for ranks in [2, 3] {
        let verbose = [("HETMP_VERBOSE", "1")];
        let ours = mpi.run(ranks, &path, &[], Some(&mpi.shim()), &verbose);
        let passed = ours.stdout.starts_with(b"blocking: passed, ");
        // With blocks of 20,000, 64,000 and, in a communicator, 16,384 bytes; and a broadcast.
        let of_each = if ranks == 2 { 8 } else { 7 };
        let goal = format!("blocking {}", ranks * (3 * of_each + 1));
        let by_goal = counted(&ours).is_some_and(|(all, _)| all == goal);
        if ours.ending != exec::Ending::Exit(0) || !passed || !by_goal {
            return Err(format!("{ranks} ranks, {goal}: {}", shown(&ours)).into());
        }
        let plain = mpi.run(ranks, &path, &[], None, &[]);
        if plain.ending != exec::Ending::Exit(0) || ours.stdout != plain.stdout {
            return Err(format!("{}--- alone\n{}", shown(&ours), shown(&plain)).into());
        }
    }
    Ok(())
}

/// What MPI refuses is refused with the library as without it, and so on with the other edges; and the library runs
/// what can be run.
fn edges(mpi: Mpi) -> Result<(), Failed> {
    let path = mpi.build("edges")?;
    let verbose = [("HETMP_VERBOSE", "1")];
    let ours = mpi.run(2, &path, &[], Some(&mpi.shim()), &verbose);
    let plain = mpi.run(2, &path, &[], None, &[]);
    let passed = ours.stdout.ends_with(b"edges: passed\n") && ours.stdout == plain.stdout;
    if ours.ending != exec::Ending::Exit(0) || !passed {
        return Err(format!("{}--- alone\n{}", shown(&ours), shown(&plain)).into());
    }
    // Broadcast and allgather of each rank, sums of 240 communicators and of Fortran, which the common interface has
    // not, as it has no allgather of unlike lengths; graphs, one of which is MPI's.
    let (sums, gathers) = if mpi.name == "abi" {
        (480, 2)
    } else {
        (496, 4)
    };
    let expected = format!("Ibcast 2 Iallreduce {sums} Iallgather {gathers} Ineighbor_alltoall 6");
    let refused = |text: &str| mpi.name == "abi" || text.contains("arguments ");
    let left = |text: &str| text.contains("topology 2") && refused(text);
    if !counted(&ours).is_some_and(|(goal, mpi)| goal == expected && left(&mpi)) {
        return Err(shown(&ours).into());
    }
    // Open MPI alone ends the program here.
    let unlike = mpi.run(2, &path, &["unlike"], Some(&mpi.shim()), &[]);
    if unlike.ending != exec::Ending::Exit(0) || unlike.stdout != b"edges: unlike: heard\n" {
        return Err(shown(&unlike).into());
    }
    Ok(())
}

/// Programs of Fortran by each of its interfaces: the same with and without the library, which has run all collectives.
fn fortran(mpi: Mpi) -> Result<(), Failed> {
    let bin = scratch().join("bin");
    fs::create_dir_all(&bin).map_err(|e| e.to_string())?;
    for form in ["mpif", "mpi", "mpi_f08"] {
        let path = bin.join(format!("mpi-fortran-{form}-{}", mpi.name));
        let source = library::root().join("c-tests/mpi/fortran.F90");
        let form_of = format!("-Dwith_{form}");
        // mpif.h has no interfaces: gfortran takes one call for another with wrong types.
        let args = ["-O1", "-cpp", "-fallow-argument-mismatch", "-w", &form_of].map(str::to_owned);
        let files = [&source, Path::new("-o"), &path].map(|p| p.display().to_string());
        let modules = ["-J".to_owned(), bin.display().to_string()];
        compile(mpi.fortran, &[&args[..], &files, &modules].concat())?;
        let plain = mpi.run(2, &path, &[], None, &[]);
        let verbose = [("HETMP_VERBOSE", "1")];
        let ours = mpi.run(2, &path, &[], Some(&mpi.shim()), &verbose);
        let passed = ours.stdout == b" fortran: passed\n" && ours.stdout == plain.stdout;
        let goal = "Ibarrier 2 Ibcast 2 Ireduce 2 Iallreduce 84 Ialltoall 2 Iallgather 2 Iexscan 2 Ialltoallv 2";
        let by_goal = counted(&ours) == Some((goal.to_owned(), "communicator 0".to_owned()));
        if ours.ending != exec::Ending::Exit(0) || !passed || !by_goal {
            return Err(format!("{form}: {}--- alone\n{}", shown(&ours), shown(&plain)).into());
        }
    }
    Ok(())
}

/// A Fortran program on the common interface: all forms of collectives, of which the library has run all.
fn fortran_abi(mpi: Mpi) -> Result<(), Failed> {
    let bin = scratch().join("bin");
    fs::create_dir_all(&bin).map_err(|e| e.to_string())?;
    let path = bin.join("mpi-fortran-abi");
    let source = library::root().join("c-tests/mpi/fortran_abi.f90");
    let files = [&source, Path::new("-o"), &path].map(|p| p.display().to_string());
    let flags = ["-O1".to_owned(), format!("-J{}", bin.display())];
    let libraries = ["-lgfortran".to_owned()];
    compile(mpi.compiler, &[&flags[..], &files, &libraries].concat())?;
    let verbose = [("HETMP_VERBOSE", "1")];
    let ours = mpi.run(2, &path, &[], Some(&mpi.shim()), &verbose);
    let goal = "Ibcast 6 Iallreduce 6 blocking 6";
    let by_goal = counted(&ours) == Some((goal.to_owned(), "communicator 0".to_owned()));
    if ours.stdout != b"fortran_abi: 0 wrong\n" || !by_goal {
        return Err(shown(&ours).into());
    }
    Ok(())
}

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = vec![];
    for mpi in MPIS {
        if !mpi.is_here() {
            let name = format!("mpi::{}, which is not installed", mpi.name);
            trials.push(Trial::test(name, || Ok(())).with_ignored_flag(true));
            continue;
        }
        let name = mpi.name;
        for engine in ["thread", "nic", "nic-thread", "kernel"] {
            trials.push(Trial::test(format!("mpi::{name}::{engine}"), move || {
                same(mpi, engine, &[], &[2, 3])
            }));
        }
        trials.push(Trial::test(format!("mpi::{name}::four_ranks"), move || {
            same(mpi, "thread", &[], &[4])
        }));
        trials.push(Trial::test(format!("mpi::{name}::threads"), move || {
            same(mpi, "thread", &["threads"], &[3])
        }));
        trials.push(Trial::test(
            format!("mpi::{name}::wrong_program"),
            move || wrong_program(mpi),
        ));
        trials.push(Trial::test(format!("mpi::{name}::late"), move || late(mpi)));
        trials.push(Trial::test(format!("mpi::{name}::failed"), move || {
            failed(mpi)
        }));
        trials.push(Trial::test(format!("mpi::{name}::wider"), move || {
            wider(mpi)
        }));
        for engine in ["thread", "kernel", "nic-thread"] {
            trials.push(Trial::test(
                format!("mpi::{name}::no_thread_{engine}"),
                move || no_thread(mpi, engine),
            ));
        }
        trials.push(Trial::test(format!("mpi::{name}::blocking"), move || {
            blocking(mpi)
        }));
        trials.push(Trial::test(format!("mpi::{name}::edges"), move || {
            edges(mpi)
        }));
        let find = hetmp_abi_compat::suite::find_in_path;
        let (is_abi, trial) = (name == "abi", format!("mpi::{name}::fortran"));
        let trial = Trial::test(trial, move || match is_abi {
            true => fortran_abi(mpi),
            false => fortran(mpi),
        });
        let compiler = if is_abi { "gfortran" } else { mpi.fortran };
        trials.push(trial.with_ignored_flag(find(compiler).is_err()));
    }
    trials
}
