use super::*;
use crate::energy::Power;
use crate::probe::NodeRate;

fn node(threads: u32, ns: f64) -> NodeInput {
    NodeInput {
        threads,
        rate: Some(NodeRate::of(ns)),
        ..NodeInput::default()
    }
}

#[test]
fn coherent_nodes_split_by_speed_times_cores() {
    let d = decide(&[node(1, 10.0), node(3, 30.0)], Objective::Time);
    assert_eq!(&*d.csr, [Some(3.0), Some(1.0)]);
    assert_eq!(d.shares().collect::<Vec<_>>(), [0.5, 0.5]);
    assert_eq!(
        d.to_string(),
        "split; core speed ratio 3.00:1.00 times cores 1:3 gives 50.0% 50.0%"
    );
}

#[test]
fn empty_and_unmeasured_nodes() {
    let silent = NodeInput {
        threads: 2,
        ..Default::default()
    };
    let d = decide(
        &[node(1, 10.0), NodeInput::default(), node(1, 20.0), silent],
        Objective::Time,
    );
    assert_eq!(
        d.shares().collect::<Vec<_>>(),
        [0.4, 0.0, 0.2, 0.4],
        "an unmeasured node counts as the slowest"
    );
    let d = decide(&[NodeInput::default(), node(2, 1.0)], Objective::Time);
    assert_eq!(d.one_node(), Some(1));
    assert_eq!(d.to_string(), "node 1 alone, no other node has threads");
    let d = decide(&[silent, silent], Objective::Time);
    assert_eq!(d.shares().collect::<Vec<_>>(), [0.5, 0.5]);
    assert_eq!(decide(&[], Objective::Time).one_node(), Some(0));
}

fn drawing(mut n: NodeInput, idle_watts: f64, core_watts: f64) -> NodeInput {
    n.power = Some(Power {
        idle_watts,
        core_watts,
    });
    n
}

/// A fast core (10 ns, 30 W more) and a slow one (30 ns, 2 W more), no idle power. Per
/// iteration: split 7.5 ns and 7.5 * 32 = 240 nJ; slow alone 30 ns and 60 nJ; fast alone 10 ns
/// and 300 nJ.
#[test]
fn energy_may_want_one_node_where_time_wants_both() {
    let nodes = [
        drawing(node(1, 10.0), 0.0, 30.0),
        drawing(node(1, 30.0), 0.0, 2.0),
    ];
    let d = decide(&nodes, Objective::Time);
    assert_eq!(d.shares().collect::<Vec<_>>(), [0.75, 0.25]);
    assert_eq!(d.modelled, None);
    let d = decide(&nodes, Objective::Energy);
    assert_eq!(
        d.choice,
        Choice::OneNode {
            node: 1,
            why: Reason::LeastCost
        }
    );
    let [chosen, by_time] = d.modelled.expect("modelled");
    assert!((chosen.joules - 60e-9).abs() < 1e-18 && (chosen.seconds - 30e-9).abs() < 1e-18);
    assert!((by_time.joules - 240e-9).abs() < 1e-18);
    assert_eq!(
        d.to_string(),
        "node 1 alone; core speed ratio 3.00:1.00: least cost; objective energy, modelled: 60.0 nJ \
         and 30.0 ns per iteration, by time alone 240.0 nJ and 7.5 ns"
    );
    // With 10 W that are drawn anyway: slow alone 30 * 12 = 360 nJ, both 7.5 * 42 = 315 nJ.
    let idle = [
        drawing(node(1, 10.0), 10.0, 30.0),
        drawing(node(1, 30.0), 0.0, 2.0),
    ];
    let d = decide(&idle, Objective::Energy);
    assert_eq!(d.shares().collect::<Vec<_>>(), [0.75, 0.25]);
    assert!(d
        .to_string()
        .contains("1:1 and watts give 75.0% 25.0%; objective energy"));
    // Energy times time, slow core at 1 W: both 7.5 * 7.5 * 31 = 1743.75, slow alone 30 * 30 = 900.
    let edp = [
        drawing(node(1, 10.0), 0.0, 30.0),
        drawing(node(1, 30.0), 0.0, 1.0),
    ];
    assert_eq!(decide(&edp, Objective::Edp).one_node(), Some(1));
    // At 2.5 W it is 2250 against 7.5 * 7.5 * 32.5 = 1828.125.
    let edp = [
        drawing(node(1, 10.0), 0.0, 30.0),
        drawing(node(1, 30.0), 0.0, 2.5),
    ];
    assert_eq!(decide(&edp, Objective::Edp).one_node(), None);
}

#[test]
fn without_watts_time_decides_and_says_so() {
    let nodes = [drawing(node(1, 10.0), 0.0, 30.0), node(1, 30.0)];
    let d = decide(&nodes, Objective::Energy);
    assert_eq!(d.shares().collect::<Vec<_>>(), [0.75, 0.25]);
    assert!(d
        .to_string()
        .ends_with("objective energy: the watts of node 1 are not known, so by time"));
    // A node without threads need not be known.
    let nodes = [
        drawing(node(1, 10.0), 0.0, 30.0),
        drawing(node(1, 30.0), 0.0, 2.0),
        NodeInput::default(),
    ];
    assert_eq!(decide(&nodes, Objective::Energy).one_node(), Some(1));
}
