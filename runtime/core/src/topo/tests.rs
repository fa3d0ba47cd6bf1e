//! Made-up and real machines.

use super::fixture::Tree;
use super::{CpuSet, PlaceKind, Topology};

fn list(text: &str) -> CpuSet {
    CpuSet::parse_list(text).expect(text)
}

fn show(places: &[CpuSet]) -> String {
    let texts: Vec<String> = places.iter().map(CpuSet::to_string).collect();
    texts.join(" ")
}

#[test]
fn this_machine_is_consistent() {
    let machine = Topology::discover();
    assert!(!machine.allowed().is_empty());
    let all: CpuSet = machine.cpus().iter().map(|cpu| cpu.id).collect();
    assert!(machine.allowed().difference(&all).is_empty());
    for kind in PlaceKind::ALL {
        let places = machine.places(kind, None);
        let mut union = CpuSet::new();
        for place in &places {
            assert!(!place.is_empty(), "{kind:?}");
            assert!(place.intersection(&union).is_empty(), "{kind:?}");
            union.extend_from(place);
        }
        assert_eq!(&union, machine.allowed(), "{kind:?}");
        assert_eq!(machine.places(kind, Some(1)), places[..1]);
    }
}

#[test]
fn a_bound_thread_sees_its_own_mask() {
    let all = super::affinity();
    let last = all.iter().last().expect("a CPU");
    std::thread::spawn(move || {
        super::set_affinity(&CpuSet::from_iter([last])).expect("allowed");
        assert_eq!(super::affinity(), CpuSet::from_iter([last]));
    })
    .join()
    .expect("thread");
    let error = super::set_affinity(&CpuSet::new()).expect_err("empty mask");
    assert_eq!(error.raw_os_error(), Some(libc::EINVAL));
}

#[test]
fn a_server_with_two_sockets_and_two_threads_a_core() {
    let tree = Tree::new();
    tree.server(2, 2, 2)
        .file("devices/system/node/online", "0-1")
        .file("devices/system/node/node0/cpulist", "0-1,4-5")
        .file("devices/system/node/node1/cpulist", "2-3,6-7");
    let machine = Topology::from_sysfs(tree.path(), list("0-7"));
    assert_eq!(
        show(&machine.places(PlaceKind::Threads, None)),
        "0 4 1 5 2 6 3 7"
    );
    assert_eq!(
        show(&machine.places(PlaceKind::Cores, None)),
        "0,4 1,5 2,6 3,7"
    );
    let halves = "0-1,4-5 2-3,6-7";
    assert_eq!(show(&machine.places(PlaceKind::Sockets, None)), halves);
    assert_eq!(show(&machine.places(PlaceKind::LlCaches, None)), halves);
    assert_eq!(show(&machine.places(PlaceKind::NumaDomains, None)), halves);
    assert_eq!(
        show(&machine.places(PlaceKind::Cores, Some(3))),
        "0,4 1,5 2,6"
    );
    let cpu = machine.cpu(7).expect("CPU 7");
    assert_eq!(
        (cpu.core, cpu.package, cpu.die, cpu.llc, cpu.numa),
        (3, 2, 2, 2, 1)
    );
    assert_eq!(cpu.llc_level, Some(3));
}

#[test]
fn places_hold_allowed_cpus_only() {
    let tree = Tree::new();
    tree.server(2, 2, 2);
    let machine = Topology::from_sysfs(tree.path(), list("3,5-6"));
    assert_eq!(show(&machine.places(PlaceKind::Threads, None)), "3 5 6");
    assert_eq!(show(&machine.places(PlaceKind::Cores, None)), "3 5 6");
    assert_eq!(show(&machine.places(PlaceKind::Sockets, None)), "3,6 5");
    // The core keeps the name of its lowest CPU, though that one is not allowed.
    assert_eq!(machine.cpu(5).map(|cpu| cpu.core), Some(1));
}

#[test]
fn cores_come_by_first_cpu_across_sockets() {
    // Sockets numbered alternately, as some vendors do.
    let tree = Tree::new();
    tree.file("devices/system/cpu/online", "0-3");
    for cpu in 0..4 {
        tree.cpu(cpu, "topology/thread_siblings_list", &cpu.to_string());
        let package = if cpu % 2 == 0 { "0,2" } else { "1,3" };
        tree.cpu(cpu, "topology/core_siblings_list", package);
    }
    let machine = Topology::from_sysfs(tree.path(), list("0-3"));
    assert_eq!(show(&machine.places(PlaceKind::Cores, None)), "0 1 2 3");
    assert_eq!(show(&machine.places(PlaceKind::Sockets, None)), "0,2 1,3");
}

#[test]
fn nothing_known_is_one_package_of_single_cores() {
    let tree = Tree::new();
    let machine = Topology::from_sysfs(tree.path(), list("2,5"));
    assert_eq!(show(&machine.places(PlaceKind::Threads, None)), "2 5");
    assert_eq!(show(&machine.places(PlaceKind::Cores, None)), "2 5");
    for kind in [
        PlaceKind::Sockets,
        PlaceKind::LlCaches,
        PlaceKind::NumaDomains,
    ] {
        assert_eq!(show(&machine.places(kind, None)), "2,5", "{kind:?}");
    }
    assert_eq!(machine.cpus().len(), 2);
}

#[test]
fn damaged_files_are_as_good_as_missing() {
    let tree = Tree::new();
    tree.file("devices/system/cpu/online", "0-1")
        .cpu(0, "topology/thread_siblings_list", "garbage")
        .cpu(1, "topology/thread_siblings_list", "0")
        .cpu(0, "topology/core_siblings_list", "")
        .cpu(0, "cache/index0/level", "x")
        .cpu(1, "cache/index0/level", "2")
        .cpu(0, "cpu_capacity", "-3")
        .file("devices/system/node/online", "0-1")
        .file("devices/system/node/node0/cpulist", "")
        .file("devices/cpu_core/cpus", "?");
    let machine = Topology::from_sysfs(tree.path(), list("0-1"));
    assert_eq!(show(&machine.places(PlaceKind::Cores, None)), "0 1");
    assert_eq!(show(&machine.places(PlaceKind::Sockets, None)), "0-1");
    assert_eq!(show(&machine.places(PlaceKind::LlCaches, None)), "0-1");
    assert_eq!(machine.cpus()[0].capacity, None);
    assert_eq!(machine.cpus()[0].core_type, None);
}

#[test]
fn more_than_1024_cpus() {
    let tree = Tree::new();
    tree.file("devices/system/cpu/online", "0-2047");
    let machine = Topology::from_sysfs(tree.path(), list("1000-2047"));
    assert_eq!(machine.places(PlaceKind::Threads, None).len(), 1048);
    assert_eq!(show(&machine.places(PlaceKind::Sockets, None)), "1000-2047");
}
