//! The file form of `HETMP_NODES`, described in the parent module.

use super::{parse, Node};
use toml_span::value::{Table, Value, ValueInner};

/// The nodes described by the text of a file. Errors say what is wrong, and what is expected.
pub(super) fn nodes(text: &str) -> Result<Vec<Node>, String> {
    let mut root = toml_span::parse(text).map_err(|e| {
        let line = 1 + text[..floor(text, e.span.start)].matches('\n').count();
        format!("line {line}: {} (expected TOML)", e.kind)
    })?;
    let mut root = match root.take() {
        ValueInner::Table(table) => table,
        _ => return Err(SHAPE.to_owned()),
    };
    let list = match take(&mut root, "node") {
        Some(ValueInner::Array(list)) => list,
        _ => return Err(SHAPE.to_owned()),
    };
    none_left(&root, "[[node]]")?;
    if list.is_empty() {
        return Err(SHAPE.to_owned());
    }
    list.into_iter().map(node).collect()
}

const SHAPE: &str = "no list of nodes (expected one [[node]] table a node)";

fn node(mut value: Value<'_>) -> Result<Node, String> {
    let ValueInner::Table(mut table) = value.take() else {
        return Err(SHAPE.to_owned());
    };
    let cores = match take(&mut table, "cores") {
        Some(ValueInner::String(list)) => parse::cpu_list(&list)?,
        // A single core may be written as a number.
        Some(ValueInner::Integer(cpu)) => parse::cpu_list(&cpu.to_string())?,
        _ => parse::cpu_list("")?,
    };
    let mut node = Node::new(cores);
    match take(&mut table, "speed") {
        None => {}
        Some(ValueInner::Table(mut speeds)) => {
            if let Some(default) = take(&mut speeds, "default") {
                node.speed = parse::speed(number(&default))?;
            }
            for (kernel, mut speed) in speeds {
                let kernel = parse::text_name(&kernel.name)?;
                let speed = parse::speed(number(&speed.take()))?;
                node.speeds.push((kernel, speed));
            }
        }
        Some(one) => node.speed = parse::speed(number(&one))?,
    }
    if let Some(watts) = take(&mut table, "watts") {
        node.watts = Some(parse::watts(number(&watts))?);
    }
    if let Some(watts) = take(&mut table, "watts_idle") {
        node.watts_idle = Some(parse::watts(number(&watts))?);
    }
    match take(&mut table, "name") {
        None => {}
        Some(ValueInner::String(name)) => node.name = Some(parse::text_name(&name)?),
        Some(_) => node.name = Some(parse::text_name("")?),
    }
    none_left(&table, "cores, speed, watts, watts_idle and name")?;
    Ok(node)
}

fn take<'a>(table: &mut Table<'a>, key: &str) -> Option<ValueInner<'a>> {
    table.remove(key).map(|mut value| value.take())
}

/// A number, or NaN, which no range accepts.
fn number(value: &ValueInner<'_>) -> f64 {
    match value {
        ValueInner::Float(number) => *number,
        ValueInner::Integer(number) => *number as f64,
        _ => f64::NAN,
    }
}

/// Refuses keys that nobody has asked for: after a mistyped `speed` the node would silently run at full speed.
fn none_left(table: &Table<'_>, accepted: &str) -> Result<(), String> {
    match table.keys().next() {
        None => Ok(()),
        Some(key) => Err(format!("\"{}\": unknown (expected {accepted})", key.name)),
    }
}

/// The nearest character boundary at or below `at`.
fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
