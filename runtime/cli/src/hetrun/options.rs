//! hetrun's options: one table. The parser, the help text, the man page and the shells' completions are made from it,
//! so that none of them knows an option that the others do not know.

/// What an option does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Means {
    Processes,
    Variable,
    Assignment,
    Folder,
    HostList,
    HostsFile,
    PerHost,
    Oversubscribe,
    MapBy,
    BindTo,
    CpusEach,
    Everywhere,
    Prefix,
    Dsm,
    Nodes,
    Ssh,
    Remote,
    HostTimeout,
    Who,
    Agent,
    Version,
    Help,
    /// What it asks for is so here anyway.
    Already,
    /// It has no meaning here.
    Nothing,
}

/// A part of the help text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Group {
    /// Options of one program: of several, each has its own.
    Program,
    Job,
    Others,
    Hidden,
}

impl Means {
    pub(crate) fn group(self) -> Group {
        match self {
            Self::Processes | Self::Variable | Self::Assignment | Self::Folder | Self::HostList => {
                Group::Program
            }
            Self::Nothing => Group::Others,
            Self::Agent => Group::Hidden,
            _ => Group::Job,
        }
    }
}

/// A row of the table.
#[derive(Debug)]
pub(crate) struct Row {
    /// Its names, without dashes. Names of several letters may have one or two of them.
    pub(crate) names: &'static [&'static str],
    /// Its values: a word for each.
    pub(crate) values: &'static str,
    pub(crate) means: Means,
    /// For people.
    pub(crate) help: &'static str,
}

const fn row(
    names: &'static [&'static str],
    values: &'static str,
    means: Means,
    help: &'static str,
) -> Row {
    Row {
        names,
        values,
        means,
        help,
    }
}

/// The rows. Those of [`Means::Nothing`] are listed in the help by name only.
pub(crate) const ROWS: &[Row] = &[
    row(&["n", "np", "c"], "N", Means::Processes, "how many processes; with hosts, their slots are the default"),
    row(&["x"], "NAME[=VALUE]", Means::Variable, "give the processes a variable; on other hosts they have OMP_*, \
        GOMP_*, HETMP_*, SHMEM_*, SMA_* and ACC_* of here anyway"),
    row(&["env"], "NAME VALUE", Means::Assignment, "the same"),
    row(&["wdir", "wd"], "DIR", Means::Folder, "the folder that the processes run in (this one)"),
    row(&["H", "host"], "LIST", Means::HostList, "run on these hosts: 'a,b' or 'a:4,b:2' with numbers of processes; \
        the programs that follow do, too"),
    row(&["hosts", "hostfile", "machinefile", "f"], "FILE", Means::HostsFile, "run on the hosts of a file: one a \
        line, 'slots=M' or ':M' behind its name is how many processes it takes, 'max_slots=M' how many it takes with \
        --oversubscribe"),
    row(&["N", "npernode", "ppn"], "N", Means::PerHost, "how many processes a host gets at most; without \
        -n, how many each gets"),
    row(&["oversubscribe"], "", Means::Oversubscribe, "hosts may get more processes than they have slots"),
    row(&["map-by"], "WHAT", Means::MapBy, "'slot': one host is filled after the other; 'node': the hosts take turns; \
        'ppr:N:node': as -N; behind it ':PE=N' as --cpus-per-rank, and ':OVERSUBSCRIBE'"),
    row(&["bind-to"], "WHAT", Means::BindTo, "the CPUs of a process: 'none': all; 'core', 'hwthread': one of its own, \
        'core:N': N; 'l3cache', 'numa', 'socket'. By default the processes on a host divide its cores"),
    row(&["cpus-per-rank", "cpus-per-proc"], "N", Means::CpusEach, "as --bind-to core:N"),
    row(&["genv"], "NAME VALUE", Means::Everywhere, "give the processes of all programs a variable"),
    row(&["prefix", "l", "tag-output", "prepend-rank"], "", Means::Prefix, "put '[rank] ' before each line of output"),
    row(&["dsm"], "", Means::Dsm, "one OpenMP program on all of them: the processes are nodes of a distributed shared \
                                   memory, and rank 0 runs main"),
    row(&["nodes"], "SPEC", Means::Nodes, "divide each machine's cores as HETMP_NODES does, and give each process one \
        node: '2', 'cores=0-3;cores=4-7', @file; with --dsm 'dsm:2;speed=1;speed=0.33' slows the nodes down, and \
        'dsm:2;cores=0-3;cores=4-7' gives them these CPUs of their hosts"),
    row(&["ssh"], "COMMAND", Means::Ssh, "how to reach a host (ssh -T -x -o BatchMode=yes)"),
    row(&["remote"], "PATH", Means::Remote, "where hetrun is on the other hosts (where it is here)"),
    row(&["host-timeout"], "S", Means::HostTimeout, "end the job when another host gave no sign of life for S seconds \
        (10; 0: never)"),
    row(&["who"], "", Means::Who, "join the job of the launcher that started this process, try the exchange of \
                                   values, and say who it is: for 'hetrun -n 2 hetrun --who', 'mpirun -n 2 hetrun \
                                   --who', ..."),
    row(&["version", "V"], "", Means::Version, "print the version"),
    row(&["help", "h"], "", Means::Help, "print this text"),
    row(&["allow-run-as-root"], "", Means::Already, "nothing: root may run jobs anyway"),
    row(&["agent"], "", Means::Agent, ""),
    row(&["mca"], "NAME VALUE", Means::Nothing, ""),
    row(&["gmca"], "NAME VALUE", Means::Nothing, ""),
    row(&["prtemca"], "NAME VALUE", Means::Nothing, ""),
    row(&["pmixmca"], "NAME VALUE", Means::Nothing, ""),
    row(&["rank-by"], "WHAT", Means::Nothing, ""),
    row(&["report-bindings"], "", Means::Nothing, ""),
    row(&["display-map"], "", Means::Nothing, ""),
    row(&["display-allocation"], "", Means::Nothing, ""),
    row(&["launcher", "bootstrap"], "NAME", Means::Nothing, ""),
    row(&["rmk"], "NAME", Means::Nothing, ""),
    row(&["iface"], "NAME", Means::Nothing, ""),
    row(&["quiet", "q"], "", Means::Nothing, ""),
    row(&["verbose", "v"], "", Means::Nothing, ""),
];

const HEAD: &str = "\
usage: hetrun -n N [options] PROGRAM [ARGUMENTS] [: -n M [options] PROGRAM ...]
       hetrun --who

Starts N processes of PROGRAM as one job, here or on other hosts. Programs with
':' between them are one job: the first ones have the first ranks.
";

const TAIL: &str = "\
Names of several letters may have one dash, and numbers may follow at once:
-np 4, -np4, -wdir DIR. '-hosts LIST', with one dash, is --host, as in MPICH.

Standard input goes to rank 0. One process that ends by a signal, or with a
status that is not 0, ends the job.

Examples:
  oshrun -n 4 ./shmem-program
  hetrun --hosts machines -N 2 ./program input.txt
  hetrun -n 2 --dsm ./openmp-program

Exit status: that of the process that ended the job, or 128 + its signal's
number; 127 or 126 if PROGRAM cannot be found or started; 2 for bad arguments;
1 for anything else.
";

/// How an option is written.
pub(crate) fn spelled(name: &str) -> String {
    let dashes = if name.len() == 1 { "-" } else { "--" };
    format!("{dashes}{name}")
}

/// What hetrun prints for `--help`.
pub(crate) fn help() -> String {
    let mut text = HEAD.to_owned();
    let heading = |row: &Row, names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| spelled(name)).collect();
        format!("{} {}", names.join(", "), row.values)
            .trim_end()
            .to_owned()
    };
    for (title, group) in [
        ("Of a program:", Group::Program),
        ("Of the job:", Group::Job),
    ] {
        text.push_str(&format!("\n{title}\n"));
        for row in ROWS.iter().filter(|row| row.means.group() == group) {
            let head = format!("  {}", heading(row, row.names));
            // The explanation begins next to a short heading.
            let head = match head.len() < INDENT {
                true => format!("{head:INDENT$}"),
                false => format!("{head}\n{:INDENT$}", ""),
            };
            text.push_str(&head);
            wrap(&mut text, row.help, INDENT);
        }
    }
    let others: Vec<String> = ROWS
        .iter()
        .filter(|row| row.means.group() == Group::Others)
        .map(|row| heading(row, &row.names[..1]))
        .collect();
    text.push_str(
        "\nOther launchers' options that mean nothing here; one line names those given:\n  ",
    );
    wrap(&mut text, &others.join(", "), 2);
    text.push('\n');
    text.push_str(TAIL);
    text
}

/// The column of explanations.
const INDENT: usize = 20;

/// Adds words in lines of at most 80 columns. The first line has `indent` columns already.
fn wrap(text: &mut String, words: &str, indent: usize) {
    let mut column = indent;
    for (i, word) in words.split(' ').enumerate() {
        if i > 0 && column + 1 + word.len() > 80 {
            text.push('\n');
            text.push_str(&" ".repeat(indent));
            column = indent;
        } else if i > 0 {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += word.len();
    }
    text.push('\n');
}
