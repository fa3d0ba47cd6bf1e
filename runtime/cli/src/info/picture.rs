//! `hetmp info --svg`: a box for each node, in it a box for each last-level cache, in it the CPUs, those of one core
//! joined.

use hetmp_core::topo::{Node, Nodes, Topology};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The side of a CPU's square, and the space around boxes.
const SIDE: usize = 30;
const GAP: usize = 10;
/// A line of text above a box.
const LINE: usize = 18;
/// Squares in a row of a cache's box, at least one core.
const ACROSS: usize = 16;

/// Colours that are told apart with any eyes (Okabe and Ito), one for each node in turns.
const COLOURS: [&str; 6] = [
    "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9",
];

/// The picture of these nodes.
pub(super) fn draw(title: &str, nodes: &Nodes, machine: &Topology) -> String {
    let mut body = String::new();
    let mut wide = SIDE * ACROSS;
    let mut y = GAP + LINE + GAP;
    for (at, node) in nodes.iter().enumerate() {
        let (text, width, height) = of_node(at, node, machine, y);
        body.push_str(&text);
        wide = wide.max(width);
        y += height + GAP;
    }
    let width = wide + 2 * GAP;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {y}\" width=\"{width}\" height=\"{y}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"{width}\" height=\"{y}\" fill=\"#fff\"/>\n\
         <text x=\"{GAP}\" y=\"{}\" font-weight=\"bold\">{}</text>\n{body}</svg>\n",
        GAP + LINE / 2 + 3,
        escaped(title)
    )
}

/// A node's box at this height: its text, width and height.
fn of_node(at: usize, node: &Node, machine: &Topology, top: usize) -> (String, usize, usize) {
    // By cache, then by core: the numbers of the CPUs.
    let mut caches: BTreeMap<usize, BTreeMap<usize, Vec<usize>>> = BTreeMap::new();
    for cpu in node.cpus.iter().filter_map(|id| machine.cpu(id)) {
        let cores = caches.entry(cpu.llc).or_default();
        cores.entry(cpu.core).or_default().push(cpu.id);
    }
    let colour = COLOURS[at % COLOURS.len()];
    let mut inside = String::new();
    let mut wide = 0;
    let mut y = top + LINE + GAP;
    for cores in caches.values() {
        let (mut x, begin) = (2 * GAP, y);
        y += GAP;
        for cpus in cores.values() {
            if x > 2 * GAP && x + cpus.len() * SIDE > 2 * GAP + ACROSS * SIDE {
                x = 2 * GAP;
                y += SIDE + GAP / 2;
            }
            for (i, cpu) in cpus.iter().enumerate() {
                let left = x + i * SIDE;
                // Writing to a String cannot fail.
                let _ = writeln!(
                    inside,
                    "<rect x=\"{left}\" y=\"{y}\" width=\"{SIDE}\" height=\"{SIDE}\" fill=\"{colour}\" \
                     fill-opacity=\"0.25\" stroke=\"{colour}\"/><text x=\"{}\" y=\"{}\" \
                     text-anchor=\"middle\">{cpu}</text>",
                    left + SIDE / 2,
                    y + SIDE / 2 + 4
                );
            }
            x += cpus.len() * SIDE + GAP / 2;
            wide = wide.max(x);
        }
        y += SIDE + GAP;
        let _ = writeln!(
            inside,
            "<rect x=\"{}\" y=\"{begin}\" width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"#999\" \
             stroke-dasharray=\"3\"/>",
            GAP + GAP / 2,
            wide - GAP,
            y - begin
        );
        y += GAP;
    }
    let label = escaped(&label(at, node));
    // A letter of the label takes some 7 units.
    let width = (wide + GAP).max(label.len() * 7);
    let text = format!(
        "<rect x=\"{GAP}\" y=\"{top}\" width=\"{width}\" height=\"{}\" rx=\"6\" fill=\"none\" stroke=\"{colour}\" \
         stroke-width=\"2\"/>\n<text x=\"{}\" y=\"{}\">{label}</text>\n{inside}",
        y - top,
        2 * GAP,
        top + LINE
    );
    (text, width, y - top)
}

/// What is said of a node.
fn label(at: usize, node: &Node) -> String {
    let mut text = format!("node {at}");
    if let Some(name) = &node.name {
        let _ = write!(text, " ({name})");
    }
    if node.is_slowed() {
        let _ = write!(text, ", slowed to {}", node.speed);
    }
    if let Some(capacity) = node.capacity {
        let _ = write!(text, ", capacity {capacity}");
    }
    if let Some(watts) = node.watts {
        let _ = write!(text, ", {watts} W");
    }
    text
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
