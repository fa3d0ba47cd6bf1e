use super::*;
use crate::energy::Power;
use crate::probe::NodeRate;

fn node(threads: u32, ns: f64) -> NodeInput {
    NodeInput {
        threads,
        rate: Some(NodeRate {
            ns_per_iteration: ns,
            faults: None,
            instructions: None,
            cache_misses: None,
        }),
        ..NodeInput::default()
    }
}

fn faulting(threads: u32, ns: f64, period_us: f64, misses: Option<f64>) -> NodeInput {
    let mut n = node(threads, ns);
    if let Some(r) = &mut n.rate {
        r.faults = Some(ns / 1000.0 / period_us);
        r.instructions = misses.map(|_| 1000.0);
        r.cache_misses = misses;
    }
    n
}

#[test]
fn coherent_nodes_split_by_speed_times_cores() {
    let d = decide(&[node(1, 10.0), node(3, 30.0)], &Rules::default());
    assert_eq!(&*d.csr, [Some(3.0), Some(1.0)]);
    assert_eq!(d.shares().collect::<Vec<_>>(), [0.5, 0.5]);
    assert_eq!(
        d.to_string(),
        "split, no remote faults; core speed ratio 3.00:1.00 times cores 1:3 gives 50.0% 50.0%"
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
        &Rules::default(),
    );
    assert_eq!(
        d.shares().collect::<Vec<_>>(),
        [0.4, 0.0, 0.2, 0.4],
        "an unmeasured node counts as the slowest"
    );
    let d = decide(&[NodeInput::default(), node(2, 1.0)], &Rules::default());
    assert_eq!(d.one_node(), Some(1));
    assert_eq!(d.to_string(), "node 1 alone, no other node has threads");
    let d = decide(&[silent, silent], &Rules::default());
    assert_eq!(d.shares().collect::<Vec<_>>(), [0.5, 0.5]);
    assert_eq!(decide(&[], &Rules::default()).one_node(), Some(0));
}

#[test]
fn faults_decide_between_one_and_several() {
    let two = |p| [faulting(2, 10.0, 1e9, None), faulting(8, 20.0, p, None)];
    assert!(decide(&two(101.0), &Rules::default()).one_node().is_none());
    let d = decide(&two(99.0), &Rules::default());
    assert_eq!(
        d.choice,
        Choice::OneNode {
            node: 0,
            why: Reason::Untried
        }
    );
    let slow_link = Rules {
        link: Some(Link {
            fault_period_us: 500.0,
            ..Link::default()
        }),
        ..Rules::default()
    };
    assert!(decide(&two(101.0), &slow_link).one_node().is_some());
}

#[test]
fn counters_choose_the_node() {
    for (misses, node, why) in [(5.0, 1, Reason::MostCores), (1.0, 0, Reason::FastestCores)] {
        let nodes =
            [2, 8].map(|threads| faulting(threads, 10.0 * f64::from(threads), 5.0, Some(misses)));
        let d = decide(&nodes, &Rules::default());
        assert_eq!(d.choice, Choice::OneNode { node, why });
        assert_eq!(d.misses_per_kilo, Some(misses));
    }
}

/// Over a link a node with next to nothing takes nothing; coherent ones keep it.
#[test]
fn negligible_shares() {
    let d = decide(
        &[node(2, 10.0), faulting(2, 1000.0, 200.0, None)],
        &Rules::default(),
    );
    assert_eq!(
        d.choice,
        Choice::OneNode {
            node: 0,
            why: Reason::Negligible
        }
    );
    assert!(d.is_confined());
    assert!(
        d.to_string().ends_with("others would do next to nothing"),
        "{d}"
    );
    let d = decide(&[node(2, 10.0), node(2, 1000.0)], &Rules::default());
    assert!(!d.is_confined() && d.one_node().is_none());
}

/// 100 ns of which 90 are faults against 50 without any.
#[test]
fn fastest_cores_without_faults() {
    let mut nodes = [node(2, 50.0), node(2, 100.0)];
    for (n, faults) in nodes.iter_mut().zip([0.0, 9e-4]) {
        let r = n.rate.as_mut().unwrap();
        (r.faults, r.instructions, r.cache_misses) = (Some(faults), Some(1000.0), Some(1.0));
    }
    let by = |fault_us| {
        let link = Some(Link {
            fault_period_us: 1000.0,
            fault_us,
            ..Link::default()
        });
        let rules = Rules {
            link,
            ..Rules::default()
        };
        decide(&nodes, &rules).one_node()
    };
    assert_eq!((by(None), by(Some(100.0))), (Some(0), Some(1)));
}

#[test]
fn without_counters_every_node_gets_its_turn() {
    let mut nodes = [10.0, 20.0, 30.0].map(|ns| faulting(2, ns, 5.0, None));
    let rules = Rules {
        origin: 1,
        ..Rules::default()
    };
    let mut turns = Vec::new();
    for alone in [7.0, 9.0, 5.0] {
        let d = decide(&nodes, &rules);
        let i = d.one_node().unwrap();
        turns.push(i);
        nodes[i].alone_ns = Some(alone);
    }
    assert_eq!(turns, [1, 0, 2]);
    let d = decide(&nodes, &rules);
    assert_eq!(
        d.choice,
        Choice::OneNode {
            node: 2,
            why: Reason::FastestAlone
        }
    );
    assert!(d.to_string().ends_with("9.0 7.0 5.0 ns per iteration"));
}

fn drawing(mut n: NodeInput, idle_watts: f64, core_watts: f64) -> NodeInput {
    n.power = Some(Power {
        idle_watts,
        core_watts,
    });
    n
}

fn wanting(objective: Objective) -> Rules {
    Rules {
        objective,
        ..Rules::default()
    }
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
    let d = decide(&nodes, &wanting(Objective::Time));
    assert_eq!(d.shares().collect::<Vec<_>>(), [0.75, 0.25]);
    assert_eq!(d.modelled, None);
    let d = decide(&nodes, &wanting(Objective::Energy));
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
    let d = decide(&idle, &wanting(Objective::Energy));
    assert_eq!(d.shares().collect::<Vec<_>>(), [0.75, 0.25]);
    assert!(d
        .to_string()
        .contains("1:1 and watts give 75.0% 25.0%; objective energy"));
    // Energy times time, slow core at 1 W: both 7.5 * 7.5 * 31 = 1743.75, slow alone 30 * 30 = 900.
    let edp = [
        drawing(node(1, 10.0), 0.0, 30.0),
        drawing(node(1, 30.0), 0.0, 1.0),
    ];
    assert_eq!(decide(&edp, &wanting(Objective::Edp)).one_node(), Some(1));
    // At 2.5 W it is 2250 against 7.5 * 7.5 * 32.5 = 1828.125.
    let edp = [
        drawing(node(1, 10.0), 0.0, 30.0),
        drawing(node(1, 30.0), 0.0, 2.5),
    ];
    assert_eq!(decide(&edp, &wanting(Objective::Edp)).one_node(), None);
}

#[test]
fn without_watts_time_decides_and_says_so() {
    let nodes = [drawing(node(1, 10.0), 0.0, 30.0), node(1, 30.0)];
    let d = decide(&nodes, &wanting(Objective::Energy));
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
    assert_eq!(
        decide(&nodes, &wanting(Objective::Energy)).one_node(),
        Some(1)
    );
}

/// Where faults forbid a split, the nodes take turns, and the cheapest is kept: 20 ns at 30 W
/// are 600 nJ, 40 ns at 2 W are 80 nJ. Counters do not matter then.
#[test]
fn of_single_nodes_the_cheapest_is_kept() {
    let mut nodes = [
        drawing(faulting(1, 10.0, 5.0, Some(9.0)), 0.0, 30.0),
        drawing(faulting(1, 30.0, 5.0, Some(9.0)), 0.0, 2.0),
    ];
    for alone in [20.0, 40.0] {
        let i = decide(&nodes, &wanting(Objective::Energy))
            .one_node()
            .unwrap();
        nodes[i].alone_ns = Some(alone);
    }
    let d = decide(&nodes, &wanting(Objective::Energy));
    assert_eq!(
        d.choice,
        Choice::OneNode {
            node: 1,
            why: Reason::LeastCost
        }
    );
    assert!(d.to_string().contains("least cost, 20.0 40.0 ns"), "{d}");
    let d = decide(&nodes, &wanting(Objective::Time));
    assert_eq!(
        d.one_node(),
        Some(0),
        "counters: most cores, then the fastest"
    );
}
