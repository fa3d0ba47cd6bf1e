//! The part of the page about nodes with memory of their own (`HETMP_NODES=dsm:N`): where regions ran and why, what
//! each node had to fetch, and which variables lie in the pages that were fetched most often.

use super::{bar, escape, join, place, plural, shade, Family};
use crate::columns::time;
use crate::report::model::{Crossing, Page, Traffic};
use crate::report::Resolved;
use crate::source::Source;
use std::fmt::Write as _;

/// The titles of [`traffic`]'s cells.
const TRAFFIC: &str = "<th class=\"n\">Read faults<th class=\"n\">Write faults<th class=\"n\">Along<th class=\"n\">Sent\
     <th class=\"n\">Taken away<th class=\"n\">Waited";

/// The cells of a row that tell a node's or a region's traffic.
fn traffic(t: Traffic) -> String {
    format!(
        "<td class=\"n\">{}<td class=\"n\">{}<td class=\"n\">{}<td class=\"n\">{} KiB<td class=\"n\">{}<td \
         class=\"n\">{}",
        t.read_faults,
        t.write_faults,
        t.pages_along,
        t.bytes_sent / 1024,
        t.pages_taken_away,
        time(t.waited_ns)
    )
}

/// A bar whose parts are the nodes' shares of the time waited for pages.
fn waits(nodes: &[Traffic]) -> String {
    let all: u64 = nodes.iter().map(|t| t.waited_ns).sum();
    let parts = nodes.iter().enumerate().map(|(i, t)| {
        let share = t.waited_ns as f64 / all.max(1) as f64;
        let title = format!("node {i}: {} waited for pages", time(t.waited_ns));
        (share, shade(Family::Node, i), title)
    });
    bar("", parts)
}

pub(super) fn dsm(all: &Resolved, out: &mut String) {
    let Some(dsm) = &all.report.dsm else { return };
    let _ = write!(
        out,
        "<h2>Distributed shared memory on {} nodes</h2>\n<p class=\"soft\">Faults are those that asked another node \
         for a page. Along: pages that came with others. Taken away: pages that other nodes asked for. Waited: from a \
         fault to its page, summed over faults. Bars: each node's share of that time.</p>\n<div \
         class=\"scroll\"><table><tr><th>Node{TRAFFIC}</tr>\n",
        dsm.nodes.len()
    );
    for (i, t) in dsm.nodes.iter().enumerate() {
        let _ = writeln!(
            out,
            "<tr><td><span class=\"key\" style=\"background:{}\"></span>{i}{}{}</tr>",
            shade(Family::Node, i),
            if i == 0 {
                " <span class=\"soft\">the origin</span>"
            } else {
                ""
            },
            traffic(*t)
        );
    }
    out.push_str("</table></div>\n");
    if !dsm.regions.is_empty() {
        let _ = writeln!(
            out,
            "<h3>Regions that may cross nodes</h3>\n<div class=\"scroll\"><table><tr><th>Region\
             <th>Where it ran{TRAFFIC}<th>Fault period in the last trial<th><th class=\"why\">Why it last ran \
             there</tr>"
        );
        for (r, s) in dsm.regions.iter().zip(&all.crossings) {
            region(r, s, out);
        }
        out.push_str("</table></div>\n");
    }
    pages(&dsm.pages, out);
}

/// How often and how long a region ran across nodes, whole on another node, and at the origin.
fn ways(r: &Crossing) -> String {
    let way = |what: String, runs: u64, ns: u64| {
        (runs > 0).then(|| {
            format!(
                "<b>{what}</b> <span class=\"soft\">{runs} run{}, mean {}</span>",
                plural(runs),
                time(ns / runs)
            )
        })
    };
    let all = [
        way("across".to_owned(), r.crossed, r.across_ns),
        way(format!("whole on node {}", r.moved_to), r.moved, r.moved_ns),
        way("at the origin".to_owned(), r.stayed, r.home_ns),
    ];
    join(all.into_iter().flatten(), "<br>")
}

fn region(r: &Crossing, s: &Source, out: &mut String) {
    let _ = writeln!(
        out,
        "<tr><td>{}<td>{}{}<td>{}<td>{}<td>{}</tr>",
        place(s, &r.place),
        ways(r),
        traffic(r.nodes.iter().copied().sum()),
        r.trial.map_or("-".to_owned(), |t| t.to_string()),
        waits(&r.nodes),
        escape(&r.reason)
    );
    if r.nodes.is_empty() {
        return;
    }
    let _ = write!(
        out,
        "<tr class=\"more\"><td colspan=\"10\"><details><summary>{} nodes</summary><table>\
         <tr><th class=\"n\">Node{TRAFFIC}</tr>",
        r.nodes.len()
    );
    for (i, t) in r.nodes.iter().enumerate() {
        let _ = write!(out, "<tr><td class=\"n\">{i}{}</tr>", traffic(*t));
    }
    out.push_str("</table></details></tr>\n");
}

fn pages(pages: &[Page], out: &mut String) {
    let Some(most) = pages.iter().map(|p| p.requests).max() else {
        return;
    };
    out.push_str(
        "<h3>Pages asked for most often</h3>\n<div class=\"scroll\"><table><tr><th class=\"n\">Requests<th><th>Page\
         <th class=\"why\">Contents</tr>\n",
    );
    for p in pages {
        let length = p.requests as f64 / most.max(1) as f64;
        let title = format!("{} requests", p.requests);
        let _ = writeln!(
            out,
            "<tr><td class=\"n\">{}<td>{}<td><code>{:#x}</code><td><code>{}</code></tr>",
            p.requests,
            bar("", [(length, "var(--k0)".to_owned(), title)].into_iter()),
            p.address,
            escape(&p.contents)
        );
    }
    out.push_str("</table></div>\n");
}
