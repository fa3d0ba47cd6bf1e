//! Arm machines as their kernels describe them, and the nodes found there. Where a value is computed, as the kernel
//! does from device tree and frequency, the board says so.

use super::fixture::Tree;
use super::{CpuSet, Nodes, Topology};

/// CPUs that sysfs describes in the same way.
struct Cores {
    cpus: &'static str,
    capacity: Option<u32>,
    khz: Option<u32>,
    /// Whom the outermost cache serves, and its level.
    cache: Option<(u32, &'static str)>,
    cluster: Option<&'static str>,
    package: &'static str,
}

const UNKNOWN: Cores = Cores {
    cpus: "",
    capacity: None,
    khz: None,
    cache: None,
    cluster: None,
    package: "",
};

fn list(text: &str) -> CpuSet {
    CpuSet::parse_list(text).expect(text)
}

/// The cores and the capacity of each node that is found on the board. `memory`: the CPUs of each memory node.
fn nodes(board: &[Cores], memory: &[&str]) -> Vec<(String, Option<u32>)> {
    let tree = Tree::new();
    let mut all = CpuSet::new();
    for cores in board {
        for cpu in &list(cores.cpus) {
            all.extend_from(&CpuSet::from_iter([cpu]));
            tree.cpu(cpu, "topology/thread_siblings_list", &cpu.to_string());
            tree.cpu(cpu, "topology/core_siblings_list", cores.package);
            if let Some(cluster) = cores.cluster {
                tree.cpu(cpu, "topology/cluster_cpus_list", cluster);
            }
            if let Some(capacity) = cores.capacity {
                tree.cpu(cpu, "cpu_capacity", &capacity.to_string());
            }
            if let Some(khz) = cores.khz {
                tree.cpu(cpu, "cpufreq/cpuinfo_max_freq", &khz.to_string());
            }
            let Some((outermost, served)) = cores.cache else {
                continue;
            };
            for (index, level) in [1, 1, 2, outermost].iter().enumerate() {
                let served = if *level == outermost {
                    served.to_owned()
                } else {
                    cpu.to_string()
                };
                tree.cpu(
                    cpu,
                    &format!("cache/index{index}/level"),
                    &level.to_string(),
                );
                tree.cpu(cpu, &format!("cache/index{index}/shared_cpu_list"), &served);
            }
        }
    }
    tree.file("devices/system/cpu/online", &all.to_string());
    if !memory.is_empty() {
        tree.file(
            "devices/system/node/online",
            &format!("0-{}", memory.len() - 1),
        );
        for (node, cpus) in memory.iter().enumerate() {
            tree.file(&format!("devices/system/node/node{node}/cpulist"), cpus);
        }
    }
    let machine = Topology::from_sysfs(tree.path(), all);
    let found = Nodes::discover(&machine);
    found
        .iter()
        .map(|node| (node.cpus.to_string(), node.capacity))
        .collect()
}

fn told(nodes: &[(&str, u32)]) -> Vec<(String, Option<u32>)> {
    let told = |&(cpus, capacity): &(&str, u32)| (cpus.to_owned(), Some(capacity));
    nodes.iter().map(told).collect()
}

/// A phone: Google's Tensor (Pixel 6), from a copy of its sysfs: iree-org/iree,
/// `runtime/src/iree/task/testdata/sysfs/arm64_pixel6_tensor.sysfs.txt`.
#[test]
fn pixel_6() {
    let cores = |cpus, capacity| Cores {
        cpus,
        capacity: Some(capacity),
        cache: Some((3, cpus)),
        package: "0-7",
        ..UNKNOWN
    };
    let board = [cores("0-1", 1024), cores("2-3", 820), cores("4-7", 280)];
    let expected = told(&[("0-1", 1024), ("2-3", 820), ("4-7", 280)]);
    assert_eq!(nodes(&board, &[]), expected);
}

/// Rockchip's RK3588: frequencies from Joshua-Riek/ubuntu-rockchip, issue 233; `capacity-dmips-mhz` of 530 and 1024
/// from armbian/build, pull request 6120; the capacity of the first four computed: 530 * 1800 / 2256. One cache.
#[test]
fn rk3588() {
    let cores = |cpus, capacity, khz| Cores {
        cpus,
        capacity: Some(capacity),
        khz: Some(khz),
        cache: Some((3, "0-7")),
        package: "0-7",
        ..UNKNOWN
    };
    let board = [cores("0-3", 422, 1_800_000), cores("4-7", 1024, 2_256_000)];
    assert_eq!(
        nodes(&board, &["0-7"]),
        told(&[("4-7", 1024), ("0-3", 422)])
    );
}

/// Apple's M1 under Linux 6.0: no caches (util-linux/util-linux, issue 1820), clusters as packages, and capacities as
/// in oshi/oshi, issue 1571, of the same machine.
#[test]
fn apple_m1() {
    let cores = |cpus, capacity| Cores {
        cpus,
        capacity: Some(capacity),
        package: cpus,
        ..UNKNOWN
    };
    let board = [cores("0-3", 459), cores("4-7", 1024)];
    assert_eq!(nodes(&board, &[]), told(&[("4-7", 1024), ("0-3", 459)]));
}

/// Apple's M1 Pro: the clusters of its device tree (Linux, `arch/arm64/boot/dts/apple/t600x-common.dtsi`) under a
/// kernel that shows clusters and no caches. Capacities computed: 714 * 2064 / 3228. The fast cores are two clusters.
#[test]
fn apple_m1_pro() {
    let cores = |cpus, capacity| Cores {
        cpus,
        capacity: Some(capacity),
        cluster: Some(cpus),
        package: "0-9",
        ..UNKNOWN
    };
    let board = [cores("0-1", 456), cores("2-5", 1024), cores("6-9", 1024)];
    let expected = told(&[("2-5", 1024), ("6-9", 1024), ("0-1", 456)]);
    assert_eq!(nodes(&board, &[]), expected);
    // A kernel that knows no clusters names each core as its own.
    let single = [0, 1, 2, 3].map(|cpu| Cores {
        cpus: ["0", "1", "2", "3"][cpu],
        cluster: Some(["0", "1", "2", "3"][cpu]),
        package: "0-3",
        ..UNKNOWN
    });
    assert_eq!(nodes(&single, &[]), [("0-3".to_owned(), None)]);
}

/// Nvidia's GB10: open-mpi/hwloc, `tests/hwloc/linux/nvidia-dgx-gb10.tar.bz2`. Each of two clusters has cores of both
/// kinds and a cache of its own; cores of one kind differ by some percent.
#[test]
fn nvidia_gb10() {
    let cores = |cpus, capacity, khz, cluster| Cores {
        cpus,
        capacity: Some(capacity),
        khz: Some(khz),
        cache: Some((3, cluster)),
        cluster: Some(cluster),
        package: "0-19",
    };
    let board = [
        cores("0-4", 718, 2_808_000, "0-9"),
        cores("5-9", 997, 3_900_000, "0-9"),
        cores("10-14", 731, 2_808_000, "10-19"),
        cores("15-18", 1017, 3_900_000, "10-19"),
        cores("19", 1024, 3_900_000, "10-19"),
    ];
    let expected = told(&[("5-9", 997), ("15-19", 1024), ("0-4", 718), ("10-14", 731)]);
    assert_eq!(nodes(&board, &["0-19"]), expected);
}

/// Nvidia's Grace: with a Hopper, whose memory is eight nodes without a CPU (bytedance/xpu-perf, issue 129;
/// frequency from archspec/archspec-json, issue 83), and two of them in one module (open-mpi/hwloc, issue 689).
#[test]
fn grace() {
    let cores = |cpus| Cores {
        cpus,
        khz: Some(3_474_000),
        cache: Some((3, cpus)),
        package: cpus,
        ..UNKNOWN
    };
    let hopper = ["0-71", "", "", "", "", "", "", "", ""];
    assert_eq!(
        nodes(&[cores("0-71")], &hopper),
        [("0-71".to_owned(), None)]
    );
    let two = nodes(&[cores("0-71"), cores("72-143")], &["0-71", "72-143"]);
    assert_eq!(
        two,
        [("0-71".to_owned(), None), ("72-143".to_owned(), None)]
    );
}

/// Huawei's Kunpeng 920: open-mpi/hwloc, `tests/hwloc/linux/128arm-2pa2n8cluster4co.tar.bz2`. Clusters of four cores do
/// not divide what a cache joins.
#[test]
fn kunpeng_920() {
    let clusters: Vec<String> = (0..32)
        .map(|c| format!("{}-{}", 4 * c, 4 * c + 3))
        .collect();
    let caches = ["0-31", "32-63", "64-95", "96-127"];
    let board: Vec<Cores> = clusters
        .iter()
        .enumerate()
        .map(|(c, cpus)| {
            let cpus: &'static str = cpus.clone().leak();
            Cores {
                cpus,
                capacity: Some(1024),
                cache: Some((3, caches[c / 8])),
                cluster: Some(cpus),
                package: ["0-63", "64-127"][c / 16],
                ..UNKNOWN
            }
        })
        .collect();
    assert_eq!(
        nodes(&board, &caches),
        told(&caches.map(|cpus| (cpus, 1024)))
    );
}
