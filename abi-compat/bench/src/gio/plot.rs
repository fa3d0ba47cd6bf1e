//! Draws a run as one picture: a line for each row, with a dot for each mode. A dot's place on the logarithmic axis is
//! the mode's time divided by gio's.

use std::path::Path;

use anyhow::Result;
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::{Report, Row};
use crate::stats::range;

const LINE: i32 = 16;
const TOP: i32 = 84;
const LABELS: i32 = 330;
const AXIS: i32 = 520;
/// The ends of the axis. Ratios beyond an end are drawn at that end.
const LOW: f64 = 0.1;
const HIGH: f64 = 100.0;

const MODES: [(&str, RGBColor); 8] = [
    ("cpu", RGBColor(0x60, 0x60, 0x60)),
    ("built", RGBColor(0x3b, 0x6f, 0xb5)),
    ("ikn", RGBColor(0xb5, 0x2a, 0x2a)),
    ("interk", RGBColor(0xc9, 0x8a, 0x00)),
    ("overlap", RGBColor(0x8a, 0x4f, 0xb0)),
    ("launch", RGBColor(0xe0, 0x70, 0x20)),
    ("gio", RGBColor(0x1b, 0x7f, 0x5c)),
    ("gpu", RGBColor(0x30, 0x30, 0xa0)),
];

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Draws `report` into the SVG `file`.
pub(super) fn draw(report: &Report, file: &Path) -> Result<()> {
    let rows: Vec<&Row> = report.rows.iter().filter(|r| r.series.len() > 1).collect();
    let height = TOP + LINE * rows.len() as i32 + 40;
    let width = LABELS + AXIS + 20;
    let root = SVGBackend::new(file, (width as u32, height as u32)).into_drawing_area();
    root.fill(&WHITE)?;
    let title = format!(
        "time relative to gio, median and range of {} rounds (HETMP_NIC={})",
        report.rounds, report.engine
    );
    text(&root, &title, (10, 8), 14, HPos::Left)?;
    let machine = format!(
        "{}, {} cores, {}; {}",
        report.machine.cpu, report.machine.cores, report.machine.kernel, report.machine.date
    );
    text(&root, &machine, (10, 27), 11, HPos::Left)?;
    for (k, (mode, colour)) in MODES.iter().enumerate() {
        let at = (LABELS + 66 * k as i32, 50);
        root.draw(&Circle::new((at.0, at.1 + 5), 3, colour.filled()))?;
        text(&root, mode, (at.0 + 7, at.1), 11, HPos::Left)?;
    }
    let bottom = TOP + LINE * rows.len() as i32;
    for ratio in [0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0] {
        let colour = BLACK.mix(if ratio == 1.0 { 0.8 } else { 0.2 });
        root.draw(&PathElement::new(
            vec![(x(ratio), TOP - 4), (x(ratio), bottom)],
            colour,
        ))?;
        text(
            &root,
            &format!("{ratio}"),
            (x(ratio), bottom + 4),
            10,
            HPos::Center,
        )?;
    }
    for (index, row) in rows.iter().enumerate() {
        let y = TOP + LINE * index as i32;
        let label = format!("{} {}", row.part, row.name);
        text(&root, &label, (LABELS - 8, y), 10, HPos::Right)?;
        // A row without the mode gio is shown relative to its mode `plain`.
        let base = row.mode("gio").or(row.mode("plain"));
        let Some(base) = base.map(super::Series::median) else {
            continue;
        };
        for series in &row.series {
            let Some((_, colour)) = MODES.iter().find(|(m, _)| *m == series.mode) else {
                continue;
            };
            let (least, most) = range(series.values.iter().copied());
            root.draw(&PathElement::new(
                vec![(x(least / base), y + 6), (x(most / base), y + 6)],
                colour.mix(0.5),
            ))?;
            let at = (x(series.median() / base), y + 6);
            root.draw(&Circle::new(at, 3, colour.filled()))?;
        }
    }
    root.present()?;
    Ok(())
}

/// The horizontal place of a ratio.
fn x(ratio: f64) -> i32 {
    let share = (ratio.clamp(LOW, HIGH) / LOW).ln() / (HIGH / LOW).ln();
    LABELS + 8 + (share * f64::from(AXIS - 16)) as i32
}

fn text(root: &Area<'_>, what: &str, at: (i32, i32), size: u32, align: HPos) -> Result<()> {
    let style = ("sans-serif", size)
        .into_text_style(root)
        .pos(Pos::new(align, VPos::Top));
    root.draw(&Text::new(what, at, style))?;
    Ok(())
}
