//! Prepares the file of `HETMP_TRACE` for drawing: a row for each thread, with nested events.

use serde::Deserialize;
use serde_json::{json, Value};
use std::collections::BTreeMap;
use std::path::Path;

/// The most events of a page. A browser draws this many without effort. If there are more, the longest are kept.
const MOST_EVENTS: usize = 150_000;
/// The most levels of nesting that are drawn.
const MOST_LEVELS: usize = 8;

/// The kinds of events, which have different colours, in the order of the legend.
pub(super) const KINDS: [(&str, &str); 7] = [
    ("region", "region"),
    ("piece", "virtual thread"),
    ("chunk", "chunk"),
    ("probe", "probe"),
    ("wait", "waiting"),
    ("decision", "decision"),
    ("other", "other"),
];

#[derive(Debug, Deserialize)]
struct Event {
    name: String,
    ph: String,
    #[serde(default)]
    cat: String,
    tid: i64,
    #[serde(default)]
    ts: f64,
    #[serde(default)]
    dur: f64,
    #[serde(default)]
    args: BTreeMap<String, Value>,
}

/// An event with its level.
#[derive(Debug, PartialEq)]
struct Drawn {
    start: f64,
    duration: f64,
    level: usize,
    kind: usize,
    text: String,
}

/// All threads' events.
#[derive(Debug, Default)]
pub(super) struct Timeline {
    threads: Vec<(String, Vec<Drawn>)>,
    /// How many events the runtime had no room for.
    pub(super) dropped: u64,
    /// How many events the page has no room for, and how long the longest of these is in microseconds.
    pub(super) left_out: (usize, f64),
}

/// Reads the events of a trace.
///
/// # Errors
/// One line.
pub(super) fn read(path: &Path, value: &Value) -> Result<Timeline, String> {
    let refuse = |why: &dyn std::fmt::Display| {
        format!(
            "trace {}: {why} (expected a file that hetmp wrote under HETMP_TRACE)",
            path.display()
        )
    };
    let list = value["traceEvents"]
        .as_array()
        .ok_or_else(|| refuse(&"no list traceEvents"))?;
    let mut threads: BTreeMap<i64, (String, Vec<Event>)> = BTreeMap::new();
    for (i, raw) in list.iter().enumerate() {
        let event = Event::deserialize(raw).map_err(|e| refuse(&format_args!("event {i}: {e}")))?;
        let (name, events) = threads.entry(event.tid).or_default();
        match event.ph.as_str() {
            "M" if event.name == "thread_name" => {
                if let Some(given) = event.args.get("name").and_then(Value::as_str) {
                    *name = format!("{given} ({})", event.tid);
                }
            }
            "X" | "i" if event.ts >= 0.0 && event.dur >= 0.0 => events.push(event),
            "M" => {}
            other => return Err(refuse(&format_args!("event {i}: phase {other}"))),
        }
    }
    let mut timeline = Timeline {
        dropped: value["otherData"]["dropped_events"].as_u64().unwrap_or(0),
        ..Timeline::default()
    };
    for (name, events) in threads.into_values() {
        if !events.is_empty() {
            timeline.threads.push((name, nest(events)));
        }
    }
    timeline.trim(MOST_EVENTS);
    Ok(timeline)
}

/// Gives every event its level: the number of events around it.
fn nest(mut events: Vec<Event>) -> Vec<Drawn> {
    // Of two events that begin together, the longer one contains the other.
    events.sort_by(|a, b| a.ts.total_cmp(&b.ts).then(b.dur.total_cmp(&a.dur)));
    let mut ends: Vec<f64> = Vec::new();
    let mut out = Vec::with_capacity(events.len());
    for e in events {
        // Times have three digits, so half of the last digit is allowed as an error.
        while ends.last().is_some_and(|&end| end <= e.ts + 0.0005) {
            ends.pop();
        }
        let level = ends.len();
        if e.ph == "X" {
            ends.push(e.ts + e.dur);
        }
        if level < MOST_LEVELS {
            let known = KINDS.iter().position(|k| k.0 == e.cat);
            out.push(Drawn {
                start: e.ts,
                duration: e.dur,
                level,
                kind: known.unwrap_or(KINDS.len() - 1),
                text: describe(&e),
            });
        }
    }
    out
}

/// The name and arguments of an event in one line.
fn describe(e: &Event) -> String {
    let mut out = e.name.clone();
    for (key, value) in &e.args {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Bool(true) if key == "unfinished" => {
                "not ended when the trace was written".into()
            }
            other => other.to_string(),
        };
        // The name contains these arguments already.
        if ["from", "to", "chunks"].contains(&key.as_str()) {
            continue;
        }
        out.push_str(", ");
        if key != "unfinished" && key != "reason" {
            out.push_str(&key.replace('_', " "));
            out.push(' ');
        }
        out.push_str(&text);
    }
    out
}

impl Timeline {
    /// Drops the shortest events until at most `most` are left.
    fn trim(&mut self, most: usize) {
        let durations = self.threads.iter().flat_map(|t| &t.1).map(|e| e.duration);
        let mut durations: Vec<f64> = durations.collect();
        if durations.len() <= most {
            return;
        }
        durations.sort_by(|a, b| b.total_cmp(a));
        let least = durations[most];
        self.left_out = (durations.iter().filter(|&&d| d <= least).count(), least);
        for (_, events) in &mut self.threads {
            events.retain(|e| e.duration > least || e.kind == 5);
        }
    }

    /// The data for the page's script. Each event is its start and duration in nanoseconds, its level, its kind, and
    /// the number of its text.
    pub(super) fn json(&self) -> Value {
        let mut texts: Vec<&str> = Vec::new();
        let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
        let threads: Vec<Value> = self
            .threads
            .iter()
            .map(|(name, events)| {
                let events: Vec<Value> = events
                    .iter()
                    .map(|e| {
                        let text = *numbers.entry(&e.text).or_insert_with(|| {
                            texts.push(&e.text);
                            texts.len() - 1
                        });
                        let ns = |us: f64| (us * 1000.0).round() as u64;
                        json!([ns(e.start), ns(e.duration), e.level, e.kind, text])
                    })
                    .collect();
                json!({"name": name, "events": events})
            })
            .collect();
        let kinds: Vec<&str> = KINDS.iter().map(|k| k.1).collect();
        json!({"kinds": kinds, "texts": texts, "threads": threads})
    }

    pub(super) fn events(&self) -> usize {
        self.threads.iter().map(|t| t.1.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(ts: f64, dur: f64, cat: &str) -> Value {
        json!({"name": "e", "ph": "X", "cat": cat, "pid": 1, "tid": 7, "ts": ts, "dur": dur})
    }

    fn trace(events: Vec<Value>) -> Result<Timeline, String> {
        read(Path::new("t.json"), &json!({"traceEvents": events}))
    }

    #[test]
    fn events_lie_in_each_other() {
        let t = trace(vec![
            event(0.0, 10.0, "region"),
            event(0.0, 4.0, "chunk"),
            event(4.0, 6.0, "probe"),
            event(5.0, 1.0, "region"),
            event(11.0, 1.0, "strange"),
        ])
        .unwrap();
        let drawn: Vec<(usize, usize)> = t.threads[0].1.iter().map(|e| (e.level, e.kind)).collect();
        assert_eq!(drawn, [(0, 0), (1, 2), (1, 3), (2, 0), (0, 6)]);
    }

    #[test]
    fn the_shortest_are_left_out() {
        let mut t = trace(
            (0..10)
                .map(|i| event(f64::from(i) * 10.0, f64::from(i), "chunk"))
                .collect(),
        )
        .unwrap();
        t.trim(3);
        assert_eq!((t.events(), t.left_out), (3, (7, 6.0)));
    }

    #[test]
    fn strange_traces_are_refused() {
        for bad in [
            json!({}),
            json!({"traceEvents": 3}),
            json!({"traceEvents": [3]}),
            json!({"traceEvents": [{"name": "x", "ph": "Q", "tid": 1}]}),
            json!({"traceEvents": [{"name": "x", "ph": "X", "tid": 1, "ts": -1}]}),
        ] {
            let why = read(Path::new("t.json"), &bad).expect_err("refused");
            assert!(
                why.starts_with("trace t.json: ") && !why.contains('\n'),
                "{why}"
            );
        }
    }
}
