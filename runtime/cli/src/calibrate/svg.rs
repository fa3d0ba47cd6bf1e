//! A picture of the sweeps: throughput against operations per byte, as in the paper's figure.

use super::link::{plateau, Threshold};
use super::Pair;
use plotters::prelude::*;

/// Size of the picture for one pair.
const SIZE: (u32, u32) = (900, 460);
/// First node, second node, both: colours that are told apart with any eyes (Okabe and Ito).
const COLOURS: [RGBColor; 3] = [
    RGBColor(0x00, 0x72, 0xb2),
    RGBColor(0xe6, 0x9f, 0x00),
    RGBColor(0x00, 0x9e, 0x73),
];

/// One picture, pairs below each other.
pub(super) fn draw(pairs: &[Pair]) -> Result<String, String> {
    let mut out = String::new();
    {
        let rows = pairs.len().max(1);
        let root =
            SVGBackend::with_string(&mut out, (SIZE.0, SIZE.1 * rows as u32)).into_drawing_area();
        let failed = |e: &dyn std::fmt::Display| format!("--svg: cannot draw ({e})");
        root.fill(&WHITE).map_err(|e| failed(&e))?;
        for (area, pair) in root.split_evenly((rows, 1)).iter().zip(pairs) {
            one(area, pair).map_err(|e| failed(&e))?;
        }
        root.present().map_err(|e| failed(&e))?;
    }
    Ok(out)
}

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

fn one<'a>(area: &Area<'a>, pair: &Pair) -> Result<(), Box<dyn std::error::Error + 'a>> {
    // Operations a second: pages times their bytes times operations for each.
    let curve = |i: usize| {
        pair.points.iter().map(move |p| {
            (
                p.ops_per_byte,
                p.throughput[i] * 4096.0 * p.ops_per_byte / 1e9,
            )
        })
    };
    let (mut low, mut high) = (f64::INFINITY, 0.0f64);
    for (_, y) in (0..3).flat_map(curve) {
        (low, high) = (low.min(y), high.max(y));
    }
    let (from, to) = match (pair.points.first(), pair.points.last()) {
        (Some(a), Some(b)) => (a.ops_per_byte, b.ops_per_byte),
        _ => return Ok(()),
    };
    let [a, b] = &pair.kinds;
    let mut chart = ChartBuilder::on(area)
        .caption(
            format!("{a} - {b}: throughput of a link"),
            ("sans-serif", 20),
        )
        .margin(14)
        .x_label_area_size(44)
        .y_label_area_size(64)
        .build_cartesian_2d(
            (from * 0.9..to * 1.1).log_scale(),
            (low * 0.7..high * 1.6).log_scale(),
        )?;
    chart
        .configure_mesh()
        .x_desc("operations per byte")
        .y_desc("10^9 operations per second")
        .x_label_formatter(&|v| format!("{v}"))
        .y_label_formatter(&|v| format!("{v}"))
        .draw()?;
    let names = [
        format!("{a} alone"),
        format!("{b} alone"),
        "both".to_owned(),
    ];
    for (i, name) in names.into_iter().enumerate() {
        let colour = COLOURS[i];
        let points: Vec<(f64, f64)> = curve(i).collect();
        chart
            .draw_series([PathElement::new(points, colour.stroke_width(2))])?
            .label(name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 20, y)], colour.stroke_width(2)));
    }
    if let (Threshold::From(us), Some(x)) = (pair.threshold, crossing(pair)) {
        let line = [(x, low * 0.7), (x, high * 1.6)];
        chart
            .draw_series([PathElement::new(line, BLACK.stroke_width(1))])?
            .label(format!("threshold: {us:.1} us of core time per moved page"))
            .legend(|(x, y)| PathElement::new([(x, y), (x + 20, y)], BLACK.stroke_width(1)));
    }
    if let Some(q) = plateau(&pair.points) {
        let line = [(q.ops_per_byte, low * 0.7), (q.ops_per_byte, high * 1.6)];
        let grey = BLACK.mix(0.5).stroke_width(1);
        chart
            .draw_series([PathElement::new(line, grey)])?
            .label(format!(
                "plateau: {:.1} operations per byte",
                q.ops_per_byte
            ))
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 20, y)], grey));
    }
    chart
        .configure_series_labels()
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK.mix(0.3))
        .position(SeriesLabelPosition::UpperLeft)
        .draw()?;
    Ok(())
}

/// The operations per byte where the threshold lies.
fn crossing(pair: &Pair) -> Option<f64> {
    let us = pair.threshold.us();
    pair.points.windows(2).find_map(|w| {
        let (a, b) = (w[0].fault_period_us, w[1].fault_period_us);
        (a <= us && us <= b && a < b).then(|| {
            let part = (us / a).ln() / (b / a).ln();
            w[0].ops_per_byte * (w[1].ops_per_byte / w[0].ops_per_byte).powf(part)
        })
    })
}
