//! The report as one HTML page that needs no network and no other files.

mod dsm;

use super::model::{Loop, Region};
use super::table::ending;
use super::timeline::{Timeline, KINDS};
use super::{csr, join, line, name, without_nodes, Resolved};
use crate::columns::time;
use crate::source::{Place, Source};
use std::fmt::Write as _;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");
/// How many shades the style sheet has of each family.
const SHADES: usize = 6;

/// What a colour stands for. Each family has a hue of its own, apart from the kinds of events (`--k0` and so on): a
/// colour that two of them shared would say that two things are one.
#[derive(Clone, Copy)]
enum Family {
    Way,
    Node,
}

/// Escapes text for HTML.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// The colour of a family's `i`th member; those after the last shade share it.
fn shade(family: Family, i: usize) -> String {
    let family = match family {
        Family::Way => 'l',
        Family::Node => 'n',
    };
    format!("var(--{family}{})", i.min(SHADES - 1))
}

/// A bar whose parts have shares from 0 to 1.
fn bar(class: &str, parts: impl Iterator<Item = (f64, String, String)>) -> String {
    let mut out = format!("<div class=\"bar {class}\">");
    for (share, colour, title) in parts {
        // Writing to a String cannot fail.
        let _ = write!(
            out,
            "<i style=\"width:{:.2}%;background:{colour}\" title=\"{}\"></i>",
            share.clamp(0.0, 1.0) * 100.0,
            escape(&title)
        );
    }
    out + "</div>"
}

/// The whole page.
pub(super) fn html(all: &Resolved, timeline: Option<&Timeline>) -> String {
    let r = &all.report;
    let program = r.program.rsplit('/').next().unwrap_or(&r.program);
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n\
         <title>hetmp report: {0}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n\
         <h1>{0}</h1>\n<p class=\"soft\">What hetmp did with its parallel regions and loops, and why</p>\n",
        escape(program)
    );
    facts(all, &mut out);
    reach(all, &mut out);
    draw(timeline, &mut out);
    regions(all, &mut out);
    loops(all, &mut out);
    dsm::dsm(all, &mut out);
    let _ = write!(
        out,
        "</main>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n"
    );
    out
}

fn facts(all: &Resolved, out: &mut String) {
    let r = &all.report;
    let nodes = r.nodes.iter().enumerate().map(|(i, n)| {
        let named = n
            .name
            .as_deref()
            .map_or(String::new(), |n| format!(" ({n})"));
        let speed = if n.speed < 1.0 {
            format!(", slowed to {}", n.speed)
        } else {
            String::new()
        };
        format!("{i}{named}: CPUs {}{speed}", n.cpus)
    });
    let nodes = if r.nodes.is_empty() {
        without_nodes(r)
    } else {
        join(nodes, "; ")
    };
    out.push_str("<dl>");
    for (title, text) in [
        ("Program", r.program.clone()),
        (
            "Ended",
            format!(
                "{}, {} after the runtime started",
                ending(&r.ending),
                time(r.elapsed_ns)
            ),
        ),
        ("Schedule", r.schedule.clone()),
        ("Nodes", nodes),
    ] {
        let _ = write!(out, "<dt>{title}</dt><dd>{}</dd>", escape(&text));
    }
    out.push_str("</dl>\n");
}

fn reach(all: &Resolved, out: &mut String) {
    let Some(reach) = all.report.reach.as_ref().filter(|r| !r.by.is_empty()) else {
        return;
    };
    let mut parts: Vec<_> = reach.by.iter().collect();
    parts.sort_by_key(|p| core::cmp::Reverse(p.elapsed_ns));
    out.push_str(
        "<h2>Reach</h2>\n<p class=\"soft\">The time in parallel regions, by the way in which they were divided, \
         or by the reason that kept an ordinary team.</p>\n",
    );
    let bars = parts.iter().enumerate().map(|(i, p)| {
        (
            p.share,
            shade(Family::Way, i),
            format!("{}: {:.1}%", p.way, p.share * 100.0),
        )
    });
    out.push_str(&bar("reach", bars));
    out.push_str(
        "<div class=\"scroll\"><table><tr><th>Way or reason<th class=\"n\">Share<th class=\"n\">Time\
         <th class=\"n\">Runs<th class=\"why\">Why</tr>\n",
    );
    for (i, p) in parts.iter().enumerate() {
        let _ = writeln!(
            out,
            "<tr><td><span class=\"key\" style=\"background:{}\"></span>{} <span class=\"soft\">{}</span>\
             <td class=\"n\">{:.1}%<td class=\"n\">{}<td class=\"n\">{}<td>{}</tr>",
            shade(Family::Way, i),
            escape(&p.way),
            if p.kept { "kept" } else { "divided" },
            p.share * 100.0,
            time(p.elapsed_ns),
            p.runs,
            escape(&p.reason)
        );
    }
    out.push_str("</table></div>\n");
}

fn draw(timeline: Option<&Timeline>, out: &mut String) {
    out.push_str("<h2>Timeline</h2>\n");
    let Some(timeline) = timeline.filter(|t| t.events() > 0) else {
        out.push_str(
            "<p class=\"soft\">No trace: run the program with <code>HETMP_TRACE=trace.json</code> as well, and \
             add <code>--trace trace.json</code>.</p>\n",
        );
        return;
    };
    out.push_str("<div class=\"legend\">");
    for (i, (_, title)) in KINDS.iter().enumerate().take(KINDS.len() - 1) {
        let _ = write!(
            out,
            "<span><span class=\"key\" style=\"background:var(--k{i})\"></span>{title}</span>"
        );
    }
    out.push_str(
        "</div>\n<div id=\"plot\"><canvas tabindex=\"0\" aria-label=\"What each thread did when\"></canvas>\
         <div id=\"tip\"></div></div>\n<p class=\"soft\">Drag to move; zoom with + and -, or with the wheel after \
         a click (or with Ctrl); 0 or a double click shows all.",
    );
    if timeline.dropped > 0 {
        let _ = write!(
            out,
            " The runtime had no room for {} older events (HETMP_TRACE_EVENTS).",
            timeline.dropped
        );
    }
    let (left_out, longest) = timeline.left_out;
    if left_out > 0 {
        let _ = write!(
            out,
            " {left_out} events of at most {} are not shown here; Perfetto shows all.",
            time((longest * 1000.0) as u64)
        );
    }
    // A text of the program must not end the script element.
    let data = timeline.json().to_string().replace('<', "\\u003c");
    let _ = write!(
        out,
        "</p>\n<script type=\"application/json\" id=\"events\">{data}</script>\n"
    );
}

/// The function and source line of a place. The tool tip has everything that is known about it.
fn place(source: &Source, place: &Place) -> String {
    let module = place.module.as_deref().unwrap_or("");
    let mut title = format!("{module}+{:#x}", place.offset);
    if let Some(id) = &place.build_id {
        let _ = write!(title, ", build id {id}");
    }
    if let Some(file) = &source.file {
        let _ = write!(title, ", {file}");
    }
    if let Some(note) = source.note {
        let _ = write!(title, ", {note}");
    }
    format!(
        "<code title=\"{}\">{}</code><br><span class=\"soft\">{}</span>",
        escape(&title),
        escape(name(source, place)),
        escape(&line(source, place))
    )
}

fn regions(all: &Resolved, out: &mut String) {
    let rows = &all.report.regions;
    if rows.is_empty() {
        return;
    }
    let most = rows.iter().map(|r| r.elapsed_ns).max().unwrap_or(1).max(1);
    out.push_str(
        "<h2>Parallel regions</h2>\n<div class=\"scroll\"><table><tr><th>Region<th class=\"n\">Time<th>\
         <th class=\"n\">Runs<th class=\"n\">Mean<th class=\"n\">Least<th class=\"n\">Most\
         <th class=\"why\">Ways it ran</tr>\n",
    );
    for (r, s) in rows.iter().zip(&all.regions) {
        region(r, s, most, out);
    }
    out.push_str("</table></div>\n");
}

fn region(r: &Region, s: &Source, most: u64, out: &mut String) {
    let mut ways: Vec<_> = r.ways.iter().collect();
    ways.sort_by_key(|w| core::cmp::Reverse(w.elapsed_ns));
    let ways = ways.iter().map(|w| {
        let pieces = w
            .virtual_threads
            .map_or(String::new(), |v| format!(", {v} virtual"));
        format!(
            "<b>{}</b> <span class=\"soft\">{} run{}, {} thread{}{pieces}, {}{}</span>",
            escape(&w.way),
            w.runs,
            plural(w.runs),
            w.threads,
            plural(w.threads.into()),
            time(w.elapsed_ns),
            if w.kept || r.ways.len() == 1 {
                format!(": {}", escape(&w.reason))
            } else {
                String::new()
            }
        )
    });
    let length = r.elapsed_ns as f64 / most as f64;
    let _ =
        writeln!(
        out,
        "<tr><td>{}<td class=\"n\">{}<td>{}<td class=\"n\">{}<td class=\"n\">{}<td class=\"n\">{}\
         <td class=\"n\">{}<td>{}</tr>",
        place(s, &r.place),
        time(r.elapsed_ns),
        bar("", [(length, "var(--k0)".to_owned(), time(r.elapsed_ns))].into_iter()),
        r.runs,
        time(r.elapsed_ns / r.runs.max(1)),
        time(r.min_ns),
        time(r.max_ns),
        join(ways, "<br>")
    );
}

fn plural(n: u64) -> &'static str {
    if n == 1 {
        ""
    } else {
        "s"
    }
}

fn loops(all: &Resolved, out: &mut String) {
    out.push_str("<h2>Loops and regions of virtual threads</h2>\n");
    if all.report.loops.is_empty() {
        out.push_str("<p class=\"soft\">No loop was scheduled or timed by hetmp.</p>\n");
        return;
    }
    out.push_str(
        "<p class=\"soft\">Bars: what part of the iterations each node ran. CSR: how much faster one core of the \
         node ran the loop than one of the slowest.</p>\n<div class=\"scroll\"><table><tr><th>Loop\
         <th class=\"n\">Time<th class=\"n\">Runs<th class=\"n\">Iterations<th>Schedule<th>CSR<th>Shares\
         <th class=\"why\">Last decision</tr>\n",
    );
    for (l, s) in all.report.loops.iter().zip(&all.loops) {
        a_loop(l, s, out);
    }
    out.push_str("</table></div>\n");
}

fn a_loop(l: &Loop, s: &Source, out: &mut String) {
    let parts = l.nodes.iter().enumerate().map(|(i, n)| {
        let title = format!(
            "node {i}: {:.1}%, {} iterations, {} thread{}",
            n.share * 100.0,
            n.iterations,
            n.threads,
            plural(n.threads.into())
        );
        (n.share, shade(Family::Node, i), title)
    });
    let _ = write!(
        out,
        "<tr><td>{}<td class=\"n\" title=\"{} to {} a run\">{}<td class=\"n\">{}<td class=\"n\">{}<td><code>{}</code>\
         <td>{}<td>{}<span class=\"soft\">{}</span><td>",
        place(s, &l.place),
        time(l.min_ns),
        time(l.max_ns),
        time(l.elapsed_ns),
        l.executions,
        if l.is_region() {
            format!("{} virtual", l.iterations)
        } else {
            l.iterations.to_string()
        },
        escape(&l.schedule),
        csr(l.nodes.iter().map(|n| n.csr)),
        bar("", parts),
        super::shares(l.nodes.iter().map(|n| n.share)),
    );
    if let Some(last) = l.decisions.last() {
        out.push_str(&escape(&last.reason));
        out.push_str("</tr>\n<tr class=\"more\"><td colspan=\"8\">");
        decisions(l, out);
    }
    out.push_str("</tr>\n");
}

fn decisions(l: &Loop, out: &mut String) {
    let _ = write!(
        out,
        "<details><summary>{} decision{}</summary><table><tr><th class=\"n\">Run<th>Learning\
         <th class=\"n\">Time<th>Probe, ns an iteration<th>Decided<th>Ran<th>CSR<th class=\"why\">Reason</tr>",
        l.decisions.len(),
        plural(l.decisions.len() as u64)
    );
    for d in &l.decisions {
        let list = |numbers: &mut dyn Iterator<Item = Option<f64>>, scale: f64, unit: &str| {
            let text =
                |n: Option<f64>| n.map_or("-".to_owned(), |n| format!("{:.1}{unit}", n * scale));
            join(numbers.map(text), " ")
        };
        let _ = write!(
            out,
            "<tr><td class=\"n\">{}<td>{}<td class=\"n\" title=\"{} iterations\">{}<td>{}<td>\
             {}<td>{}<td>{}<td>{}</tr>",
            d.execution,
            escape(&d.learning),
            d.iterations,
            time(d.elapsed_ns),
            list(
                &mut d.nodes.iter().map(|n| n.probe_ns_per_iteration),
                1.0,
                ""
            ),
            list(&mut d.nodes.iter().map(|n| n.decided_share), 100.0, "%"),
            list(&mut d.nodes.iter().map(|n| Some(n.share)), 100.0, "%"),
            csr(d.nodes.iter().map(|n| n.csr)),
            escape(&d.reason)
        );
    }
    out.push_str("</table></details>");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_colour_stands_for_two_things() {
        for theme in STYLE.split("prefers-color-scheme: dark") {
            let theme = theme.split('}').next().unwrap_or("");
            let word = |text: &str| text.trim().to_owned();
            let mut colours: Vec<String> = theme
                .split("--")
                .filter_map(|of| of.split_once(':'))
                .filter(|(name, _)| name.len() == 2)
                .map(|(_, value)| word(value.split(';').next().unwrap_or("")))
                .collect();
            let all = colours.len();
            assert_eq!(all, KINDS.len() + 2 * SHADES);
            colours.sort();
            colours.dedup();
            assert_eq!(colours.len(), all, "{colours:?}");
        }
    }

    #[test]
    fn nothing_of_the_program_is_markup() {
        assert_eq!(escape("a<b>&\"'"), "a&lt;b&gt;&amp;&quot;&#39;");
    }
}
