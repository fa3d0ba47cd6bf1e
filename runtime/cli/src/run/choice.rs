//! The schedule that `hetmp run` chooses if neither an option nor a variable names one.

use hetmp_core::topo::{Node, Nodes, Topology};

/// The choice, and its reason.
pub(crate) struct Choice {
    /// `None`: the program and OpenMP decide.
    pub(crate) schedule: Option<&'static str>,
    /// The reason, as a clause of a sentence.
    pub(crate) why: String,
}

impl Choice {
    /// The choice as text, for `hetmp info` and `--verbose`.
    pub(crate) fn line(&self) -> String {
        format!(
            "schedule {}: {}",
            self.schedule.unwrap_or("as the program says"),
            self.why
        )
    }
}

/// True if nodes run at different speeds. Cores that differ in memory or caches only gain nothing by another
/// division.
pub(crate) fn schedule(nodes: &Nodes, machine: &Topology) -> Choice {
    let kind = |node: &Node| {
        let first = node.cpus.iter().next();
        machine
            .cpus()
            .iter()
            .find(|cpu| Some(cpu.id) == first)
            .and_then(|cpu| cpu.core_type)
    };
    let mut others = nodes.iter();
    let Some(first) = others.next() else {
        return Choice {
            schedule: None,
            why: "there is no node".to_owned(),
        };
    };
    for (at, node) in others.enumerate() {
        let difference = if node.speed != first.speed || node.speeds != first.speeds {
            "in the speed they are slowed to"
        } else if kind(node) != kind(first) {
            "in the type of their cores"
        } else if node.capacity != first.capacity {
            "in capacity"
        } else {
            continue;
        };
        return Choice {
            schedule: Some("hetprobe"),
            why: format!("nodes 0 and {} differ {difference}", at + 1),
        };
    }
    let why = if nodes.len() > 1 {
        "the nodes have like cores"
    } else {
        "there is one node"
    };
    Choice {
        schedule: None,
        why: why.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(nodes: &str) -> Choice {
        let machine = Topology::discover();
        let nodes = Nodes::parse(nodes.as_bytes(), &machine).expect("nodes of this machine");
        schedule(&nodes, &machine)
    }

    #[test]
    fn one_node_keeps_what_the_program_says() {
        let choice = chosen("1");
        assert_eq!(choice.schedule, None);
        assert_eq!(
            choice.line(),
            "schedule as the program says: there is one node"
        );
    }

    #[test]
    fn slowed_cores_are_unlike() {
        let machine = Topology::discover();
        let cpus: Vec<usize> = machine.allowed().iter().take(2).collect();
        let &[a, b] = &cpus[..] else {
            return; // On one core there is only one node.
        };
        let choice = chosen(&format!("cores={a};cores={b},speed=0.5"));
        assert_eq!(choice.schedule, Some("hetprobe"));
        assert_eq!(
            choice.line(),
            "schedule hetprobe: nodes 0 and 1 differ in the speed they are slowed to"
        );
        assert_eq!(chosen(&format!("cores={a};cores={b}")).schedule, None);
    }
}
