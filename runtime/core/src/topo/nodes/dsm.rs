//! The notation of nodes with memory of their own. `libhetmp_dsm.so` makes these nodes, or the command hetrun does.
//!
//! | value | nodes |
//! | --- | --- |
//! | `dsm:2` | two, which share the CPUs equally |
//! | `dsm:2;speed=0.33;speed=1` | and their threads are slowed down |
//! | `dsm:2;cores=0-3+cores=4-7,speed=0.33;cores=8-15` | on these CPUs, the first one of two kinds of cores |
//!
//! What stands between two `+` is a node of the process, as `HETMP_NODES` describes it without `dsm`.

use super::{Nodes, MIN_SPEED};
use crate::topo::{CpuSet, Topology};

/// The largest number of nodes.
pub const MOST: usize = 16;

/// What is said of one node with memory of its own.
#[derive(Clone, Debug, PartialEq)]
pub enum Member {
    /// How fast its threads are to be.
    Speed(f64),
    /// The nodes of its process, as a value of `HETMP_NODES`. Nothing is checked but that they have cores.
    Nodes(String),
}

/// A value of `HETMP_NODES`, as the number of nodes and what is said of single ones. `None` if it is about nodes of one
/// process.
pub fn split(value: &str) -> Option<(&str, Option<&str>)> {
    let rest = value.trim().strip_prefix("dsm:")?;
    Some(match rest.split_once(';') {
        Some((count, members)) => (count, Some(members)),
        None => (rest, None),
    })
}

/// What the user said of `count` nodes, of all in the same way; nothing if only their number was given.
///
/// # Errors
/// What is wrong, and what is expected.
pub fn members(value: &str, count: usize) -> Result<Vec<Member>, String> {
    let Some((_, Some(members))) = split(value) else {
        return Ok(Vec::new());
    };
    let parts = members.split(';').map(str::trim);
    let speeds: Option<Vec<Member>> = parts.clone().map(speed).collect();
    let all = speeds.or_else(|| parts.map(nodes).collect());
    all.filter(|all| all.len() == count).ok_or_else(|| {
        format!(
            "not a speed for each node (expected behind dsm:{count} speed=S for each of {count} nodes, {MIN_SPEED} to \
                1, or for each cores=LIST[,speed=S][+cores=...])"
        )
    })
}

fn speed(member: &str) -> Option<Member> {
    let speed: f64 = member.strip_prefix("speed=")?.parse().ok()?;
    let accepted = (MIN_SPEED..=1.0).contains(&speed);
    accepted.then_some(Member::Speed(speed))
}

fn nodes(member: &str) -> Option<Member> {
    let mut parts = member.split('+').map(str::trim);
    let told = parts.all(|node| node.split(',').any(|f| f.trim().starts_with("cores=")));
    told.then(|| Member::Nodes(member.replace('+', ";")))
}

/// All CPUs of the nodes of one process, which [`Member::Nodes`] tells.
///
/// # Errors
/// What is wrong, and what is expected.
pub fn cpus(nodes: &str, machine: &Topology) -> Result<CpuSet, String> {
    let nodes = Nodes::parse(nodes.as_bytes(), machine).map_err(|e| e.wrong().to_owned())?;
    let mut all = CpuSet::default();
    nodes.iter().for_each(|n| all.extend_from(&n.cpus));
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_notation() {
        assert_eq!(split(" dsm:2 "), Some(("2", None)));
        assert_eq!(split("dsm:job;speed=0.5"), Some(("job", Some("speed=0.5"))));
        assert_eq!(split("2"), None);
        assert_eq!(members("dsm:2", 2), Ok(Vec::new()));
        assert_eq!(
            members("dsm:2;speed=0.33; speed=1", 2),
            Ok(vec![Member::Speed(0.33), Member::Speed(1.0)])
        );
        let nodes = |text: &str| Member::Nodes(text.to_owned());
        assert_eq!(
            members("dsm:2;cores=0-1,3,speed=1 + speed=0.5,cores=4;cores=5", 2),
            Ok(vec![
                nodes("cores=0-1,3,speed=1 ; speed=0.5,cores=4"),
                nodes("cores=5")
            ])
        );
        for bad in [
            "dsm:2;speed=1",
            "dsm:2;speed=1;speed=1;speed=1",
            "dsm:2;speed=0;speed=1",
            "dsm:2;speed=2;speed=1",
            "dsm:2;speed=fast;speed=1",
            "dsm:2;speed=1;cores=1",
            "dsm:2;cores=0+;cores=1",
            "dsm:2;cores=0+speed=1;cores=1",
            "dsm:2;cores=0",
            "dsm:2;",
        ] {
            let wrong = members(bad, 2).expect_err(bad);
            let start = "not a speed for each node (expected behind dsm:2 speed=S for each of 2 nodes, 0.01 to 1, or";
            assert!(wrong.starts_with(start), "{bad}: {wrong}");
        }
    }
}
