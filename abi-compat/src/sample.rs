//! The samples of programs and of settings that a short run takes.
//!
//! * `HETMP_TEST_SAMPLE=N`: a test runs one in N of the programs that it compares.
//! * `HETMP_TEST_SETTINGS=N`: a program runs with N of its settings. Which ones differs from program to program, so
//!   that every setting is used by some programs. `scripts/test` sets it; `scripts/test --all` does not.
//!
//! A program's name alone decides, so a new program does not change the choice among the others.

/// The number in an environment variable, if it is set.
///
/// # Errors
/// One line: the variable is no number from 1.
fn number(variable: &str) -> Result<Option<usize>, String> {
    let Some(value) = std::env::var_os(variable) else {
        return Ok(None);
    };
    let text = value.to_string_lossy();
    match text.parse() {
        Ok(n) if n > 0 => Ok(Some(n)),
        _ => Err(format!(
            "{variable}: '{text}': is not a number (expected 1 or more)"
        )),
    }
}

/// A sum over a name's letters.
fn hash(name: &str) -> usize {
    name.bytes()
        .fold(0usize, |h, b| h.wrapping_mul(31).wrapping_add(b.into()))
}

/// Whether a name is in the sample of one in `step`.
#[must_use]
pub fn keeps(name: &str, step: usize) -> bool {
    hash(name) % step.max(1) == 0
}

/// The settings with which a program runs, out of all of them: those at even distances, from one that the name decides.
///
/// # Panics
/// With one line: `HETMP_TEST_SETTINGS` is no number from 1.
#[must_use]
pub fn settings<T>(name: &str, all: Vec<T>) -> Vec<T> {
    at_least(1, name, all)
}

/// [`settings`], but of at least `few` in a short run.
///
/// # Panics
/// As [`settings`].
#[must_use]
pub fn at_least<T>(few: usize, name: &str, all: Vec<T>) -> Vec<T> {
    let asked = number("HETMP_TEST_SETTINGS").unwrap_or_else(|why| panic!("hetmp: {why}"));
    match asked {
        Some(asked) => chosen(name, all, asked.max(few)),
        None => all,
    }
}

/// One of the settings in a short run, which the name decides: for what many tests vary in the same way, such as the
/// number of processes.
///
/// # Panics
/// As [`settings`].
#[must_use]
pub fn one<T>(name: &str, all: Vec<T>) -> Vec<T> {
    if is_short() {
        chosen(name, all, 1)
    } else {
        all
    }
}

/// Whether this run is a short one.
///
/// # Panics
/// As [`settings`].
#[must_use]
pub fn is_short() -> bool {
    let asked = number("HETMP_TEST_SETTINGS").unwrap_or_else(|why| panic!("hetmp: {why}"));
    asked.is_some()
}

fn chosen<T>(name: &str, all: Vec<T>, few: usize) -> Vec<T> {
    let count = all.len();
    let few = few.min(count);
    let kept: Vec<usize> = (0..few)
        .map(|i| (hash(name) % count + i * count / few) % count)
        .collect();
    all.into_iter()
        .enumerate()
        .filter(|(i, _)| kept.contains(i))
        .map(|(_, setting)| setting)
        .collect()
}

/// Removes the tests that are not in the sample that the environment asks for. Removes nothing if the environment
/// does not ask for a sample, or if the user has named tests (`named`).
///
/// # Errors
/// One line: the variable is no number from 1.
pub fn thin<T>(tests: &mut Vec<T>, named: bool, name: impl Fn(&T) -> &str) -> Result<(), String> {
    let Some(step) = number("HETMP_TEST_SAMPLE")? else {
        return Ok(());
    };
    if !named {
        tests.retain(|t| keeps(name(t), step));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{chosen, keeps};

    #[test]
    fn a_sample_is_about_as_large_as_asked_for_and_no_name_moves_another() {
        let names: Vec<String> = (0..600).map(|i| format!("program_{i}")).collect();
        let kept = names.iter().filter(|n| keeps(n, 6)).count();
        assert!((60..=140).contains(&kept), "{kept} of 600");
        assert!(names.iter().all(|n| keeps(n, 1)));
    }

    #[test]
    fn every_setting_is_used_by_some_program_and_each_program_has_as_many_as_asked_for() {
        let mut used = [0; 10];
        for i in 0..100 {
            let settings = chosen(&format!("program_{i}"), (0..10).collect(), 3);
            assert_eq!(settings.len(), 3);
            settings.iter().for_each(|&s: &usize| used[s] += 1);
        }
        assert!(used.iter().all(|&n| n >= 10), "{used:?}");
        assert_eq!(chosen("a", vec![1, 2], 3), [1, 2]);
        assert!(chosen("a", Vec::<u8>::new(), 3).is_empty());
    }
}
