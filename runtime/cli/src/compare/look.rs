//! What the first of the schedules does with the program, in a run that is not timed: a ratio alone does not say
//! whether loops were divided at all.

use super::once::once;
use super::Way;
use crate::report;
use crate::run::watch::Scratch;
use std::fs;
use std::path::Path;

/// One line. `None`: the program used no OpenMP, as far as processes could write reports.
pub(super) fn look(way: &mut Way, input: Option<&Path>) -> std::io::Result<Option<String>> {
    let folder = Scratch::new()?;
    way.command.env("HETMP_REPORT", folder.0.join("%p.json"));
    let ran = once(&mut way.command, input);
    way.command.env_remove("HETMP_REPORT");
    let reports = fs::read_dir(&folder.0).map(|all| all.flatten().map(|entry| entry.path()));
    let reports: Vec<_> = reports.into_iter().flatten().collect();
    let parts = reports.iter().flat_map(|file| report::reach_of(file));
    let line = sum(parts.collect());
    // Who crashed left none.
    ran.map(|run| match run.status.success() {
        true => line,
        false => Some(line.unwrap_or_default()),
    })
}

/// What went which way: whether it kept an ordinary team, nanoseconds, and why.
fn sum(mut parts: Vec<(bool, u64, String)>) -> Option<String> {
    if parts.is_empty() {
        return None;
    }
    let all: u64 = parts.iter().map(|part| part.1).sum();
    let share = |ns: u64| 100.0 * ns as f64 / all.max(1) as f64;
    let divided: u64 = parts.iter().filter(|part| !part.0).map(|part| part.1).sum();
    let mut line = match share(divided).round() {
        0.0 => "divided nothing".to_owned(),
        percent => format!("divided {percent:.0}% of the time in parallel regions"),
    };
    parts.retain(|part| part.0);
    parts.sort_by_key(|part| std::cmp::Reverse(part.1));
    if let Some((_, ns, why)) = parts.first().filter(|part| share(part.1) >= 10.0) {
        line.push_str(&format!("; {:.0}%: {why}", share(*ns)));
    }
    Some(line)
}

#[cfg(test)]
mod tests {
    use super::sum;

    #[test]
    fn the_line_says_what_was_divided_and_what_mostly_was_not() {
        let part = |kept, ns, why: &str| (kept, ns, why.to_owned());
        assert_eq!(sum(vec![]), None);
        let most = sum(vec![
            part(false, 82, ""),
            part(true, 17, "tasks"),
            part(true, 1, "bound"),
        ]);
        let said = "divided 82% of the time in parallel regions; 17%: tasks";
        assert_eq!(most.as_deref(), Some(said));
        let none = sum(vec![part(true, 100, "its threads are bound to places")]);
        let said = "divided nothing; 100%: its threads are bound to places";
        assert_eq!(none.as_deref(), Some(said));
    }
}
