//! A picture: for each program a bar for each strategy.

use super::compare::Comparison;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// Width of a picture, and height for each platform.
const SIZE: (u32, u32) = (1200, 480);

/// Where the axis has lines.
const TICKS: [f64; 16] = [
    0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0,
];

/// Colours that are told apart with any eyes (Okabe and Ito).
const COLOURS: [RGBColor; 8] = [
    RGBColor(0x56, 0xb4, 0xe9),
    RGBColor(0xe6, 0x9f, 0x00),
    RGBColor(0x00, 0x9e, 0x73),
    RGBColor(0xf0, 0xe4, 0x42),
    RGBColor(0x00, 0x72, 0xb2),
    RGBColor(0xd5, 0x5e, 0x00),
    RGBColor(0xcc, 0x79, 0xa7),
    RGBColor(0x66, 0x66, 0x66),
];

/// One picture, platforms below each other.
pub(super) fn draw(comparisons: &[Comparison<'_>]) -> Result<String, String> {
    let mut out = String::new();
    {
        let size = (SIZE.0, SIZE.1 * comparisons.len().max(1) as u32);
        let root = SVGBackend::with_string(&mut out, size).into_drawing_area();
        let failed = |e: &dyn std::fmt::Display| format!("--svg: cannot draw ({e})");
        root.fill(&WHITE).map_err(|e| failed(&e))?;
        for (area, c) in root
            .split_evenly((comparisons.len().max(1), 1))
            .iter()
            .zip(comparisons)
        {
            one(area, c).map_err(|e| failed(&e))?;
        }
        root.present().map_err(|e| failed(&e))?;
    }
    Ok(out)
}

/// How labels are written.
fn anchored(h: HPos, v: VPos) -> TextStyle<'static> {
    TextStyle::from(("sans-serif", 14)).pos(Pos::new(h, v))
}

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

fn one<'a>(area: &Area<'a>, c: &Comparison<'_>) -> Result<(), Box<dyn std::error::Error + 'a>> {
    let rows = c.request.workloads.len();
    let columns = c.columns.len();
    let gains: Vec<Vec<Option<f64>>> = (0..rows)
        .map(|w| (0..columns).map(|k| c.gain(w, k)).collect())
        .collect();
    let range = gains
        .iter()
        .flatten()
        .flatten()
        .fold((0.5f64, 2.0f64), |(lo, hi), &g| (lo.min(g), hi.max(g)));
    let (low, high) = (range.0 / 1.2, range.1 * 1.3);
    let title = format!(
        "{}: gain in {} over {} alone",
        c.request.platform.model.name,
        c.request.objective.name(),
        c.columns[0].name
    );
    // Logarithms on an even axis: the logarithmic one has no ticks below 1. To the right of the
    // bars there is room for the legend.
    let ticks: Vec<f64> = TICKS
        .iter()
        .filter(|&&t| (low..=high).contains(&t))
        .map(|t| t.log10())
        .collect();
    let wide = rows.max(1) as f64;
    let mut chart = ChartBuilder::on(area)
        .caption(title, ("sans-serif", 20))
        .margin(12)
        .x_label_area_size(36)
        .y_label_area_size(56)
        .build_cartesian_2d(0.0..wide * 1.2, low.log10()..high.log10())?;
    let names: Vec<&str> = c
        .request
        .workloads
        .iter()
        .map(|w| w.shown.as_str())
        .collect();
    chart
        .configure_mesh()
        .disable_mesh()
        .x_labels(0)
        .y_labels(0)
        .y_desc("times less")
        .draw()?;
    let grey = RGBColor(0xdd, 0xdd, 0xdd);
    chart.draw_series(
        ticks
            .iter()
            .map(|&t| PathElement::new([(0.0, t), (wide, t)], grey)),
    )?;
    // The names of programs in the middle of their bars.
    let origin = area.get_base_pixel();
    for (w, name) in names.iter().enumerate() {
        let at = chart
            .plotting_area()
            .map_coordinate(&(w as f64 + 0.5, low.log10()));
        area.draw(&Text::new(
            (*name).to_owned(),
            (at.0 - origin.0, at.1 - origin.1 + 6),
            anchored(HPos::Center, VPos::Top),
        ))?;
    }
    for &t in &ticks {
        let at = chart.plotting_area().map_coordinate(&(0.0, t));
        area.draw(&Text::new(
            format!("{}", (10f64.powf(t) * 1000.0).round() / 1000.0),
            (at.0 - origin.0 - 6, at.1 - origin.1),
            anchored(HPos::Right, VPos::Center),
        ))?;
    }
    let bars = columns.saturating_sub(1).max(1);
    for k in 1..columns {
        let colour = COLOURS[(k - 1) % COLOURS.len()];
        let each = 0.86 / bars as f64;
        chart
            .draw_series((0..rows).filter_map(|w| {
                let gain = gains[w][k]?;
                let left = w as f64 + 0.07 + (k - 1) as f64 * each;
                Some(Rectangle::new(
                    [(left, 0.0), (left + each * 0.92, gain.log10())],
                    colour.filled(),
                ))
            }))?
            .label(c.columns[k].name.clone())
            .legend(move |(x, y)| Rectangle::new([(x, y - 5), (x + 12, y + 5)], colour.filled()));
    }
    // The baseline.
    chart.draw_series([PathElement::new([(0.0, 0.0), (wide, 0.0)], BLACK)])?;
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .background_style(WHITE.mix(0.8))
        .border_style(RGBColor(0xcc, 0xcc, 0xcc))
        .draw()?;
    Ok(())
}
