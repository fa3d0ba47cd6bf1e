use super::*;
use crate::topo::fixture::Tree;
use proptest::prelude::*;
use std::io;

fn list(text: &str) -> CpuSet {
    CpuSet::parse_list(text).expect(text)
}

/// A machine of which only the allowed CPUs are known.
fn bare(allowed: &str) -> Topology {
    Topology::from_sysfs(Path::new("/nonexistent"), list(allowed))
}

fn parse(value: &str, machine: &Topology) -> Result<Nodes, String> {
    Nodes::parse(value.as_bytes(), machine).map_err(|e| e.to_string())
}

fn file(content: &str, machine: &Topology) -> Result<Nodes, String> {
    parse::value(b"@n.toml", machine, &|path| {
        assert_eq!(path, Path::new("n.toml"));
        Ok(content.to_owned())
    })
    .map(Nodes)
    .map_err(|e| e.to_string())
}

fn show(nodes: &Nodes) -> String {
    nodes.to_string()
}

#[test]
fn a_number_splits_the_allowed_cores() {
    let machine = bare("0-3,8-10");
    for (count, want) in [
        ("1", "cores=0-3,8-10,speed=1"),
        ("2", "cores=0-3,speed=1;cores=8-10,speed=1"),
        (
            " 3 ",
            "cores=0-2,speed=1;cores=3,8,speed=1;cores=9-10,speed=1",
        ),
    ] {
        assert_eq!(parse(count, &machine).as_ref().map(show), Ok(want.into()));
    }
    for count in ["0", "8", "99999999999999999999999"] {
        assert_eq!(
            parse(count, &machine).unwrap_err(),
            format!(
                "HETMP_NODES: '{count}': out of range (expected a number of nodes from 1 to 7, the CPUs allowed here)"
            )
        );
    }
}

#[test]
fn a_split_keeps_cores_whole_while_it_can() {
    let tree = Tree::new();
    tree.server(1, 2, 2);
    let machine = Topology::from_sysfs(tree.path(), list("0-3"));
    assert_eq!(
        parse("2", &machine).as_ref().map(show),
        Ok("cores=0,2,speed=1;cores=1,3,speed=1".into())
    );
    assert_eq!(parse("4", &machine).map(|nodes| nodes.len()), Ok(4));
}

#[test]
fn a_list_with_all_fields() {
    let machine = bare("0-15");
    let text = "cores=0-3,8,speed=1,name=big;\
                cores=4-7,speed=0.33,speed.lavaMD=0.125,watts=12.5,watts_idle=2,name=lit-tle_2.x";
    let nodes = parse(text, &machine).expect("accepted");
    assert_eq!(nodes.len(), 2);
    assert_eq!(nodes[0].cpus, list("0-3,8"));
    assert!(!nodes[0].is_slowed());
    assert_eq!(nodes[1].speed_for("lavaMD"), 0.125);
    assert_eq!(nodes[1].speed_for("cfd"), 0.33);
    assert_eq!(
        (nodes[1].watts, nodes[1].watts_idle),
        (Some(12.5), Some(2.0))
    );
    assert_eq!(nodes.of_cpu(8), Some(0));
    assert_eq!(nodes.of_cpu(5), Some(1));
    assert_eq!(nodes.of_cpu(15), None);
    assert_eq!(nodes.to_string(), text);
    // Blanks and order do not matter.
    let spaced = " speed = 0.5 , cores = 4 - 7 , 9 ; cores=0 ";
    assert_eq!(
        parse(spaced, &machine).as_ref().map(show),
        Ok("cores=4-7,9,speed=0.5;cores=0,speed=1".into())
    );
}

#[test]
fn what_is_wrong_is_said_in_one_line() {
    let machine = bare("0-1");
    for (value, wrong) in [
        ("", "does not describe nodes"),
        ("x", "does not describe nodes"),
        ("-1", "does not describe nodes"),
        ("0,1", "does not describe nodes"),
        ("cores=0;;cores=1", "does not describe nodes"),
        ("cores=", "a node without CPUs"),
        ("speed=1", "a node without CPUs"),
        ("cores=1-0", "a node without CPUs"),
        ("cores=0,speed=0", "speed out of range (expected 0.01 to 1)"),
        (
            "cores=0,speed=1.5",
            "speed out of range (expected 0.01 to 1)",
        ),
        (
            "cores=0,speed=NaN",
            "speed out of range (expected 0.01 to 1)",
        ),
        ("cores=0,speed=", "speed out of range (expected 0.01 to 1)"),
        ("cores=0,speed.=1", "no name (expected letters"),
        ("cores=0,name=a b", "no name (expected letters"),
        ("cores=0,watts=-1", "watts out of range"),
        ("cores=0,watts=inf", "watts out of range"),
        (
            "cores=0,watts_idle=1",
            "watts_idle without watts (expected both)",
        ),
        (
            "cores=0,watts=1,watts_idle=2",
            "watts_idle 2 is above watts 1",
        ),
        ("cores=0,speeed=1", "\"speeed\": unknown field"),
        ("cores=0,speed=1,1", "does not describe nodes"),
        ("cores=0,speed=1,speed=1", "\"speed\" twice"),
        ("cores=0,speed.k=1,speed.k=1", "\"speed.k\" twice"),
        ("cores=0,1,cores=1", "\"cores\" twice"),
        (
            "cores=0-3",
            "this process has no CPUs 2-3 to run on (expected some of 0-1)",
        ),
        (
            "cores=0;cores=0-1",
            "CPU 0 is in two nodes (expected each CPU in one)",
        ),
        ("@/nonexistent/file", "No such file"),
    ] {
        let error = parse(value, &machine).expect_err(value);
        let start = format!("HETMP_NODES: '{value}': {wrong}");
        assert!(error.starts_with(&start), "{error}\nwanted {start}");
        assert!(error.contains(" (expected "), "{error}");
        assert!(!error.contains('\n'));
    }
    let error = Nodes::parse(b"\xff\n\x1b[31m", &machine).expect_err("not text");
    assert_eq!(error.to_string().lines().count(), 1);
    assert!(!error.to_string().contains('\x1b'));
    let long = "x".repeat(5000);
    assert!(parse(&long, &machine).expect_err("long").len() < 600);
}

#[test]
fn a_file() {
    let machine = bare("0-7");
    let nodes = file(
        "# two kinds of cores\n\
         [[node]]\nname = \"big\"\ncores = \"0-3\"\nwatts = 65\nwatts_idle = 8\n\
         [[node]]\ncores = \"4-6\"\nspeed = { default = 0.5, lavaMD = 0.25 }\n\
         [[node]]\ncores = 7\nspeed = 1\n",
        &machine,
    )
    .expect("accepted");
    let text =
        "cores=0-3,speed=1,watts=65,watts_idle=8,name=big;cores=4-6,speed=0.5,speed.lavaMD=0.25;\
                cores=7,speed=1";
    assert_eq!(nodes.to_string(), text);
    assert_eq!(parse(text, &machine), Ok(nodes));
}

#[test]
fn what_is_wrong_in_a_file() {
    let machine = bare("0-1");
    for (content, wrong) in [
        ("", "no list of nodes (expected one [[node]] table a node)"),
        (
            "node = 3",
            "no list of nodes (expected one [[node]] table a node)",
        ),
        (
            "node = [3]",
            "no list of nodes (expected one [[node]] table a node)",
        ),
        (
            "node = []",
            "no list of nodes (expected one [[node]] table a node)",
        ),
        (
            "[[node]]\ncores = \"0\"\n[x]",
            "\"x\": unknown (expected [[node]])",
        ),
        ("[[node]]\n\ncores = \n", "line 3: "),
        ("[[node]]\nspeed = 1", "a node without CPUs"),
        ("[[node]]\ncores = \"\"", "a node without CPUs"),
        ("[[node]]\ncores = -1", "a node without CPUs"),
        (
            "[[node]]\ncores = 0\nspeed = \"1\"",
            "speed out of range (expected 0.01 to 1)",
        ),
        (
            "[[node]]\ncores = 0\nspeed = { k = 7 }",
            "speed out of range (expected 0.01 to 1)",
        ),
        (
            "[[node]]\ncores = 0\nspeed = { \"a b\" = 1 }",
            "no name (expected letters",
        ),
        ("[[node]]\ncores = 0\nname = 1", "no name (expected letters"),
        (
            "[[node]]\ncores = 0\nspede = 1",
            "\"spede\": unknown (expected cores, speed, watts, watts_idle and name)",
        ),
        (
            "[[node]]\ncores = 5",
            "this process has no CPUs 5 to run on (expected some of 0-1)",
        ),
    ] {
        let error = file(content, &machine).expect_err(content);
        let start = format!("HETMP_NODES: '@n.toml': {wrong}");
        assert!(error.starts_with(&start), "{error}\nwanted {start}");
        assert!(!error.contains('\n'));
    }
    let failed = parse::value(b"@n.toml", &machine, &|_| {
        Err(io::Error::from_raw_os_error(libc::EACCES))
    });
    let error = failed.expect_err("unreadable").to_string();
    assert!(error.contains("Permission denied"), "{error}");
}

#[test]
fn unset_blank_and_nodes_of_other_processes_mean_discovery() {
    let machine = bare("0-1");
    for value in [None, Some(&b""[..]), Some(b" \t"), Some(b" dsm:2")] {
        let nodes = Nodes::from_env(value, &machine).expect("discovery");
        assert_eq!(nodes.to_string(), "cores=0-1,speed=1");
    }
    assert!(Nodes::from_env(Some(b"2"), &machine).is_ok());
}

#[test]
fn this_machine_has_nodes_that_read_back() {
    let machine = Topology::discover();
    let nodes = Nodes::discover(&machine);
    let mut all = CpuSet::new();
    for node in nodes.iter() {
        assert!(node.cpus.intersection(&all).is_empty());
        all.extend_from(&node.cpus);
    }
    assert_eq!(&all, machine.allowed());
    let read = parse(&nodes.to_string(), &machine).expect("own syntax");
    assert_eq!(read.to_string(), nodes.to_string());
}

#[test]
fn a_hybrid_processor_has_a_node_per_core_type() {
    let tree = Tree::new();
    tree.server(1, 8, 1)
        .file("devices/cpu_core/cpus", "4-7")
        .file("devices/cpu_atom/cpus", "0-3");
    let machine = Topology::from_sysfs(tree.path(), list("0-7"));
    assert_eq!(
        Nodes::discover(&machine).to_string(),
        "cores=4-7,speed=1,name=performance;cores=0-3,speed=1,name=efficiency"
    );
    // Bound to one kind, there is one node.
    let machine = Topology::from_sysfs(tree.path(), list("1-2"));
    assert_eq!(
        Nodes::discover(&machine).to_string(),
        "cores=1-2,speed=1,name=efficiency"
    );
}

#[test]
fn capacity_and_frequency_make_classes() {
    let tree = Tree::new();
    tree.server(1, 6, 1);
    // Little cores first, as on most phones; favoured big cores differ by a few percent.
    for (cpu, capacity) in [446, 446, 446, 446, 1009, 1024].into_iter().enumerate() {
        tree.cpu(cpu, "cpu_capacity", &capacity.to_string());
    }
    let machine = Topology::from_sysfs(tree.path(), list("0-5"));
    let nodes = Nodes::discover(&machine);
    assert_eq!(nodes.to_string(), "cores=4-5,speed=1;cores=0-3,speed=1");
    assert_eq!(nodes[0].capacity, Some(1024));
    assert_eq!(nodes[1].capacity, Some(446));
    assert!(nodes.are_told_apart(&machine));
    // Big cores next to each other, in the user's own nodes, and big next to little ones.
    let own = |text| parse(text, &machine).expect(text).are_told_apart(&machine);
    assert!(!own("cores=4;cores=5"));
    assert!(!own("cores=0-1,name=a;cores=2-3"));
    assert!(own("cores=0,4;cores=1"));
    assert!(own("cores=0;cores=1,speed=0.5"));
    assert!(own("cores=0;cores=1,speed.f=0.5"));
    assert!(own("cores=0;cores=1,watts=3"));
    assert!(!own("1"));

    // Equal capacities say nothing; frequencies do.
    for cpu in 0..6 {
        tree.cpu(cpu, "cpu_capacity", "1024");
        let khz = if cpu < 2 {
            3_400_000
        } else {
            5_700_000 - cpu * 50_000
        };
        tree.cpu(cpu, "cpufreq/cpuinfo_max_freq", &khz.to_string());
    }
    let machine = Topology::from_sysfs(tree.path(), list("0-5"));
    assert_eq!(
        Nodes::discover(&machine).to_string(),
        "cores=2-5,speed=1;cores=0-1,speed=1"
    );
}

#[test]
fn memory_nodes_and_shared_caches_are_nodes() {
    let tree = Tree::new();
    tree.server(2, 2, 1);
    let machine = Topology::from_sysfs(tree.path(), list("0-3"));
    let halves = "cores=0-1,speed=1;cores=2-3,speed=1";
    assert_eq!(Nodes::discover(&machine).to_string(), halves, "by cache");

    let tree = Tree::new();
    tree.file("devices/system/cpu/online", "0-3")
        .file("devices/system/node/online", "0-1")
        .file("devices/system/node/node0/cpulist", "0-1")
        .file("devices/system/node/node1/cpulist", "2-3");
    let machine = Topology::from_sysfs(tree.path(), list("0-3"));
    assert_eq!(Nodes::discover(&machine).to_string(), halves, "by memory");
}

#[test]
fn caches_of_single_cores_make_no_nodes() {
    let tree = Tree::new();
    tree.file("devices/system/cpu/online", "0-3");
    for cpu in 0..4 {
        tree.cpu(cpu, "cache/index0/level", "2");
        tree.cpu(cpu, "cache/index0/shared_cpu_list", &cpu.to_string());
    }
    let machine = Topology::from_sysfs(tree.path(), list("0-3"));
    assert_eq!(Nodes::discover(&machine).to_string(), "cores=0-3,speed=1");
}

fn any_nodes() -> impl Strategy<Value = Nodes> {
    let name = || "[A-Za-z0-9_.-]{1,8}";
    let speed = || (10u32..=1000).prop_map(|s| f64::from(s) / 1000.0);
    let node = (
        1usize..6,
        speed(),
        proptest::collection::btree_map(name(), speed(), 0..3),
        proptest::option::of(0.001f64..1e6),
        proptest::option::of(name()),
    );
    proptest::collection::vec(node, 1..6).prop_map(|parts| {
        let mut next = 0;
        let nodes = parts.into_iter().map(|(cpus, speed, speeds, watts, name)| {
            // Every other CPU, so that lists have commas.
            let set = (0..cpus).map(|i| 2 * (next + i)).collect();
            next += cpus;
            Node {
                speed,
                speeds: speeds.into_iter().collect(),
                watts,
                name,
                ..Node::new(set)
            }
        });
        Nodes(nodes.collect())
    })
}

proptest! {
    #[test]
    fn what_is_printed_is_read_back(nodes in any_nodes()) {
        let machine = bare("0-63");
        prop_assert_eq!(parse(&nodes.to_string(), &machine), Ok(nodes));
    }

    #[test]
    fn no_bytes_panic(value in proptest::collection::vec(any::<u8>(), 0..60)) {
        let machine = bare("0-3");
        if let Err(error) = Nodes::parse(&value, &machine) {
            prop_assert_eq!(error.to_string().lines().count(), 1);
        }
    }

    #[test]
    fn no_likely_text_panics(value in "[coresped=.,;0-9@ nmaw-]{0,40}") {
        if let Ok(nodes) = parse(&value, &bare("0-9")) {
            prop_assert!(!nodes.is_empty());
            prop_assert_eq!(parse(&nodes.to_string(), &bare("0-9")), Ok(nodes));
        }
    }

    #[test]
    fn no_file_panics(content in "(\\[\\[node\\]\\]\n|cores = \"?[0-9,-]{0,5}\"?\n|speed = [{}0-9a-z.= \
        ]{0,9}\n|.){0,8}") {
        if let Err(error) = file(&content, &bare("0-9")) {
            prop_assert_eq!(error.lines().count(), 1);
        }
    }
}

#[test]
fn nodes_that_share_no_cache() {
    let apart = |tree: &Tree, nodes: &str| {
        let all = CpuSet::from_iter(0..8);
        let machine = Topology::from_sysfs(tree.path(), all);
        Nodes::parse(nodes.as_bytes(), &machine)
            .expect("nodes")
            .share_no_cache(&machine)
    };
    let sockets = Tree::new();
    sockets.server(2, 4, 1);
    assert!(apart(&sockets, "cores=0-3;cores=4-7"));
    assert!(!apart(&sockets, "cores=0,1;cores=2,3"), "one socket");
    assert!(
        !apart(&sockets, "cores=0-4;cores=5-7"),
        "cut through a socket"
    );
    // A virtual machine without outer caches.
    let hidden = Tree::new();
    hidden.file("devices/system/cpu/online", "0-7");
    for cpu in 0..8 {
        hidden.cpu(cpu, "cache/index0/level", "2");
        hidden.cpu(cpu, "cache/index0/shared_cpu_list", &cpu.to_string());
    }
    assert!(!apart(&hidden, "cores=0-3;cores=4-7"), "not known");
}
