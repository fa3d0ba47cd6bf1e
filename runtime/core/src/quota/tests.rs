use super::*;
use crate::topo::fixture::Tree;
use proptest::prelude::*;

const V2: &str = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate";
const V1: &str = "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct";

fn tree(groups: &str, mounts: &str) -> Tree {
    let tree = Tree::new();
    tree.file("proc/self/cgroup", groups)
        .file("proc/self/mountinfo", mounts);
    tree
}

#[test]
fn no_files_no_quota() {
    assert_eq!(cpus_below(Tree::new().path()), None);
    assert_eq!(cpus_below(tree("", "").path()), None);
    assert_eq!(cpus_below(tree("0::/a", V2).path()), None);
}

#[test]
fn version_2_takes_the_least_of_all_ancestors() {
    let t = tree("0::/a/b/c", V2);
    t.file("sys/fs/cgroup/a/b/c/cpu.max", "max 100000")
        .file("sys/fs/cgroup/a/b/cpu.max", "250000 100000")
        .file("sys/fs/cgroup/a/cpu.max", "400000 100000");
    assert_eq!(cpus_below(t.path()), Some(3));
    t.file("sys/fs/cgroup/a/cpu.max", "50000 100000");
    assert_eq!(cpus_below(t.path()), Some(1));
    t.file("sys/fs/cgroup/a/cpu.max", "max 100000")
        .file("sys/fs/cgroup/a/b/cpu.max", "max");
    assert_eq!(cpus_below(t.path()), None);
    // The top group of a container has a limit too.
    t.file("sys/fs/cgroup/cpu.max", "200000 100000");
    assert_eq!(cpus_below(t.path()), Some(2));
}

#[test]
fn version_1_rounds_up_and_knows_minus_one() {
    let t = tree("4:cpu,cpuacct:/x\n1:name=systemd:/y\n0::/", V1);
    t.file("sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_quota_us", "150000")
        .file("sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_period_us", "100000")
        .file("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1")
        .file("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000");
    assert_eq!(cpus_below(t.path()), Some(2));
    t.file("sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_quota_us", "-1");
    assert_eq!(cpus_below(t.path()), None);
    t.file("sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_quota_us", "1000")
        .file("sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_period_us", "0");
    assert_eq!(cpus_below(t.path()), None, "a period of 0 means nothing");
}

#[test]
fn a_mount_of_a_subtree_is_stripped_from_the_group() {
    // A container without a cgroup namespace: the group's path is the host's, and the mount shows a part of it.
    let mount = "32 31 0:29 /docker/abc /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu";
    let t = tree("4:cpu:/docker/abc/inner", mount);
    t.file("sys/fs/cgroup/cpu/inner/cpu.cfs_quota_us", "300000")
        .file("sys/fs/cgroup/cpu/inner/cpu.cfs_period_us", "100000");
    assert_eq!(cpus_below(t.path()), Some(3));
    t.file("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "100000")
        .file("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000");
    assert_eq!(cpus_below(t.path()), Some(1));
    // A group outside of the mount: only the mount's top is visible.
    t.file("proc/self/cgroup", "4:cpu:/docker/abcd/inner");
    assert_eq!(cpus_below(t.path()), Some(1));
}

#[test]
fn a_group_outside_of_the_namespace_does_not_leave_the_mount() {
    let t = tree("0::/../../other", V2);
    t.file("sys/fs/cgroup/cpu.max", "200000 100000")
        .file("other/cpu.max", "100000 100000");
    assert_eq!(cpus_below(t.path()), Some(2));
}

#[test]
fn both_versions_at_once() {
    let hybrid = "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw";
    let t = tree("4:cpu,cpuacct:/x\n0::/y", &format!("{V1}\n{hybrid}"));
    t.file("sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_quota_us", "500000")
        .file("sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_period_us", "100000")
        .file("sys/fs/cgroup/unified/y/cpu.max", "400000 100000");
    assert_eq!(cpus_below(t.path()), Some(4));
}

#[test]
fn mount_points_with_blanks() {
    let mount = "30 23 0:26 / /cg\\040here rw - cgroup2 cgroup2 rw";
    let t = tree("0::/a b", mount);
    t.file("cg here/a b/cpu.max", "100000 50000");
    assert_eq!(cpus_below(t.path()), Some(2));
    assert_eq!(unescape(b"a\\134b\\04"), Some("a\\b\\04".to_owned()));
}

#[test]
fn a_real_group_limits_this_process() {
    // Needs root, and a version 1 CPU hierarchy without a limit above. A child process enters the group, because
    // other tests of this binary run in other threads meanwhile.
    let mount = std::fs::read("/proc/self/mountinfo").ok().and_then(|text| {
        text.split(|&b| b == b'\n')
            .filter_map(Mount::parse)
            .find(|mount| mount.version == Version::V1)
    });
    let Some(mount) = mount else {
        eprintln!("SKIPPED: no version 1 cpu hierarchy is mounted");
        return;
    };
    if let Some(marker) = std::env::var_os("HETMP_TEST_IN_GROUP") {
        // The child: the quota is 1.2 CPUs, the ancestor's 4.5.
        assert_eq!(cpus(), Some(2), "{marker:?}");
        assert_eq!(available_cpus(), 2.min(crate::topo::affinity().count()));
        return;
    }
    let outer = format!("{}/hetmp-test-{}", mount.point, std::process::id());
    let inner = format!("{outer}/inner");
    if let Err(error) = std::fs::create_dir_all(&inner) {
        eprintln!("SKIPPED: cannot make a control group ({error})");
        return;
    }
    let write = |path: String, text: &str| std::fs::write(&path, text).expect(&path);
    write(format!("{outer}/cpu.cfs_quota_us"), "450000");
    write(format!("{inner}/cpu.cfs_quota_us"), "120000");
    let child = std::process::Command::new("/bin/sh")
        .args([
            "-c",
            "echo $$ > \"$1/cgroup.procs\" && shift && exec \"$@\"",
            "sh",
        ])
        .arg(&inner)
        .arg(std::env::current_exe().expect("own path"))
        .args(["--exact", "quota::tests::a_real_group_limits_this_process"])
        .env("HETMP_TEST_IN_GROUP", "1")
        .output()
        .expect("child");
    let removed = std::fs::remove_dir(&inner).and_then(|()| std::fs::remove_dir(&outer));
    assert!(child.status.success(), "{child:?}");
    let out = String::from_utf8_lossy(&child.stdout);
    assert!(out.contains("1 passed"), "the child ran the test: {out}");
    removed.expect("groups are removed");
}

#[test]
#[ignore = "measures times: a quiet machine is needed"]
fn reading_is_cheap() {
    // 100 us is the target.
    let least = (0..50)
        .map(|_| {
            let start = std::time::Instant::now();
            std::hint::black_box(available_cpus());
            start.elapsed()
        })
        .min()
        .expect("runs");
    eprintln!("available_cpus takes {least:?}");
    assert!(least < std::time::Duration::from_millis(1), "{least:?}");
}

proptest! {
    #[test]
    fn no_content_panics(groups in "[0-9:,/.a-z\n]*", mount in "[ -~\n]*") {
        let t = tree(&groups, &format!("{V2}\n{mount}\n{V1}"));
        let _ = cpus_below(t.path());
    }

    #[test]
    fn any_quota_rounds_up(quota in 1u64..10_000_000, period in 1000u64..1_000_000) {
        let t = tree("0::/", V2);
        t.file("sys/fs/cgroup/cpu.max", &format!("{quota} {period}"));
        let want = (quota as f64 / period as f64).ceil() as usize;
        prop_assert_eq!(cpus_below(t.path()), Some(want));
    }
}
