//! `hetmp info --platform`: the platforms that message queues can model.

use super::pretty;
use crate::Output;
use hetmp_mq::platform::{Kind, Platform};
use serde_json::{json, Value};
use std::fmt::Write as _;

pub(super) fn run(as_json: bool) -> Output {
    let mut errors = Vec::new();
    let value = std::env::var_os("HETMP_PLATFORM").map(std::ffi::OsString::into_encoded_bytes);
    let chosen = match Platform::from_env(value.as_deref()) {
        Ok(platform) => Some(platform),
        Err(error) => {
            // A program that uses message queues ends with this line.
            errors.push(error);
            None
        }
    };
    let built_in: Vec<Platform> = Platform::names()
        .filter_map(|name| Platform::from_env(Some(name.as_bytes())).ok())
        .collect();
    let text = if as_json {
        pretty(&json!({
            "chosen": chosen.as_ref().map(describe),
            "built_in": built_in.iter().map(describe).collect::<Vec<_>>(),
        }))
    } else {
        let mut out = String::new();
        if let Some(chosen) = &chosen {
            out.push_str("chosen by HETMP_PLATFORM\n");
            show(&mut out, chosen);
        }
        out.push_str("built in\n");
        for platform in &built_in {
            show(&mut out, platform);
        }
        out
    };
    Output {
        text,
        errors,
        ..Output::default()
    }
}

fn describe(p: &Platform) -> Value {
    json!({
        "name": p.name,
        "about": p.about,
        "strict": p.strict,
        "scale": p.scale,
        "clusters": p.clusters,
        "slaves": p.slaves_here(),
        "max_slaves": p.max_slaves,
        "simd_bits": p.simd_bits_here(),
        "scalar_bytes": p.store_bytes(Kind::Scalar),
        "array_bytes": p.store_bytes(Kind::Array),
        "one_memory": !p.has(Kind::Array),
        "global_bytes": p.store_bytes(Kind::Global),
        "high_bandwidth_bytes": p.store_bytes(Kind::HighBandwidth),
        "staged": p.staged(),
        "dma": p.dma.map(|d| json!({
            "slave_gb_s": d.slave, "cluster_gb_s": d.cluster, "latency_ns": d.latency,
        })),
        "direct": p.direct.map(|d| json!({
            "latency_ns": d.latency, "occupancy_ns": d.occupancy,
        })),
    })
}

fn show(out: &mut String, p: &Platform) {
    let mut line = |name: &str, value: String| {
        // Writing to a String cannot fail.
        let _ = writeln!(out, "    {name:<15}{value}");
    };
    let mut name = p.name.clone();
    if p.strict {
        name.push_str(", strict");
    }
    if p.scale != 1.0 {
        let _ = write!(name, ", modelled times {} times as long", p.scale);
    }
    line("platform", format!("{name}: {}", p.about));
    line(
        "slaves",
        format!(
            "{} clusters of {}, at most {}; SIMD {} bits",
            p.clusters,
            p.slaves_here(),
            p.max_slaves,
            p.simd_bits_here()
        ),
    );
    let [scalar, array, global, high] = p.bytes;
    let array = if array == 0 {
        "one memory".to_owned()
    } else {
        format!("array {array} bytes")
    };
    line("local store", format!("scalar {scalar} bytes, {array}"));
    if p.has(Kind::Global) || p.has(Kind::HighBandwidth) {
        line(
            "shared memory",
            format!("of a cluster: global {global} bytes, high-bandwidth {high} bytes"),
        );
    }
    line(
        "DMA",
        p.dma.map_or("not modelled".to_owned(), |d| {
            format!(
                "{} GB/s a slave, {} GB/s a cluster, {} ns",
                d.slave, d.cluster, d.latency
            )
        }),
    );
    line(
        "direct access",
        p.direct.map_or("not modelled".to_owned(), |d| {
            format!("{} ns, the memory busy for {} ns", d.latency, d.occupancy)
        }),
    );
    line(
        "queues",
        if p.staged() {
            "slots at the master, transfers, slots in the store".to_owned()
        } else {
            "one ring that both sides share".to_owned()
        },
    );
    out.push('\n');
}
