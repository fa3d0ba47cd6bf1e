//! Draws the ratios of a run as one picture: a panel for each configuration, a line for
//! each row, on a logarithmic axis with marks at parity and at the bound of 1.2.

use std::path::Path;

use anyhow::Result;
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::report::{Report, Row, Verdict};
use super::Suite;

const LINE: i32 = 15;
const TOP: i32 = 62;
const LABELS: i32 = 210;
const PANEL: i32 = 200;
/// The ends of the axis. Ratios beyond an end are drawn at that end.
const LOW: f64 = 0.1;
const HIGH: f64 = 10.0;

const GOOD: RGBColor = RGBColor(0x1b, 0x7f, 0x5c);
const CLOSE: RGBColor = RGBColor(0xc9, 0x8a, 0x00);
const BAD: RGBColor = RGBColor(0xb5, 0x2a, 0x2a);
const GREY: RGBColor = RGBColor(0x80, 0x80, 0x80);

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Draws `report` into the SVG `file`.
pub(crate) fn draw(report: &Report, file: &Path) -> Result<()> {
    let mut configs: Vec<&str> = Vec::new();
    let mut lines: Vec<(Suite, &str)> = Vec::new();
    for row in &report.rows {
        if !configs.contains(&row.config.as_str()) {
            configs.push(&row.config);
        }
        if !lines.contains(&(row.suite, &row.row)) {
            lines.push((row.suite, &row.row));
        }
    }
    // The rows of a suite stay together, although the report lists them by configuration.
    lines.sort_by_key(|(suite, _)| *suite as u8);

    let width = LABELS + PANEL * configs.len().max(1) as i32 + 20;
    let height = TOP + LINE * lines.len() as i32 + 40;
    let root = SVGBackend::new(file, (width as u32, height as u32)).into_drawing_area();
    root.fill(&WHITE)?;
    text(
        &root,
        &format!(
            "overhead, ours / libgomp: median and range of {} rounds",
            report.rounds
        ),
        (10, 8),
        14,
        HPos::Left,
    )?;
    text(
        &root,
        &format!(
            "{}, {} cores, {}; {}",
            report.machine.cpu, report.machine.cores, report.machine.kernel, report.machine.date
        ),
        (10, 27),
        11,
        HPos::Left,
    )?;

    for (index, (_, name)) in lines.iter().enumerate() {
        text(&root, name, (LABELS - 8, line_y(index)), 10, HPos::Right)?;
    }
    for (panel, config) in configs.iter().enumerate() {
        let left = LABELS + PANEL * panel as i32;
        axis(&root, left, config, lines.len())?;
        for row in report.rows.iter().filter(|row| row.config == **config) {
            let index = lines
                .iter()
                .position(|line| *line == (row.suite, row.row.as_str()))
                .expect("every row has a line");
            mark(&root, left, index, row)?;
        }
    }
    root.present()?;
    Ok(())
}

fn line_y(index: usize) -> i32 {
    TOP + LINE * index as i32
}

/// The horizontal place of a ratio, in the panel whose left edge is `left`.
fn x(left: i32, ratio: f64) -> i32 {
    let share = (ratio.clamp(LOW, HIGH) / LOW).ln() / (HIGH / LOW).ln();
    left + 12 + (share * f64::from(PANEL - 24)) as i32
}

fn text(root: &Area<'_>, what: &str, at: (i32, i32), size: u32, align: HPos) -> Result<()> {
    let style = ("sans-serif", size)
        .into_text_style(root)
        .pos(Pos::new(align, VPos::Top));
    root.draw(&Text::new(what, at, style))?;
    Ok(())
}

fn axis(root: &Area<'_>, left: i32, config: &str, lines: usize) -> Result<()> {
    let bottom = line_y(lines);
    text(root, config, (left + PANEL / 2, TOP - 18), 12, HPos::Center)?;
    for (ratio, label, colour) in [
        (0.1, "0.1", &GREY),
        (0.5, "0.5", &GREY),
        (1.0, "1", &BLACK),
        (1.2, "", &BAD),
        (2.0, "2", &GREY),
        (10.0, "10", &GREY),
    ] {
        let at = x(left, ratio);
        root.draw(&PathElement::new(
            vec![(at, TOP - 2), (at, bottom)],
            colour.mix(if ratio == 1.0 { 0.8 } else { 0.3 }),
        ))?;
        text(root, label, (at, bottom + 4), 10, HPos::Center)?;
    }
    Ok(())
}

fn mark(root: &Area<'_>, left: i32, index: usize, row: &Row) -> Result<()> {
    let y = line_y(index) + LINE / 2 - 1;
    if row.error.is_some() {
        return text(root, "failed", (x(left, 1.0) + 4, y - 5), 10, HPos::Left);
    }
    let colour = match row.verdict() {
        Verdict::Unresolved | Verdict::Noise => GREY,
        Verdict::Parity => GOOD,
        Verdict::Above => CLOSE,
        Verdict::FarAbove => BAD,
    };
    root.draw(&PathElement::new(
        vec![(x(left, row.ratio_min), y), (x(left, row.ratio_max), y)],
        colour.mix(0.6),
    ))?;
    root.draw(&Circle::new((x(left, row.ratio), y), 3, colour.filled()))?;
    Ok(())
}
