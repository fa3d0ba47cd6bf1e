//! The sample of tests that a quick run takes.
//!
//! `scripts/test --quick` sets `HETMP_TEST_SAMPLE=N`: a test then runs one in N of the programs that it compares. A
//! program's name alone decides, so a new program does not change the choice among the others.

/// The variable's name.
pub const VARIABLE: &str = "HETMP_TEST_SAMPLE";

/// Whether a name is in the sample of one in `step`.
#[must_use]
pub fn keeps(name: &str, step: usize) -> bool {
    let sum = name
        .bytes()
        .fold(0usize, |h, b| h.wrapping_mul(31).wrapping_add(b.into()));
    sum % step.max(1) == 0
}

/// Removes the tests that are not in the sample that the environment asks for. Removes nothing if the environment
/// does not ask for a sample, or if the user has named tests (`named`).
///
/// # Errors
/// One line: the variable is no number from 1.
pub fn thin<T>(tests: &mut Vec<T>, named: bool, name: impl Fn(&T) -> &str) -> Result<(), String> {
    let Some(value) = std::env::var_os(VARIABLE) else {
        return Ok(());
    };
    let text = value.to_string_lossy();
    let step: usize = match text.parse() {
        Ok(n) if n > 0 => n,
        _ => {
            return Err(format!(
                "variable {VARIABLE} {text}: a number from 1 is accepted"
            ))
        }
    };
    if !named {
        tests.retain(|t| keeps(name(t), step));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::keeps;

    #[test]
    fn a_sample_is_about_as_large_as_asked_for_and_no_name_moves_another() {
        let names: Vec<String> = (0..600).map(|i| format!("program_{i}")).collect();
        let kept = names.iter().filter(|n| keeps(n, 6)).count();
        assert!((60..=140).contains(&kept), "{kept} of 600");
        assert!(names.iter().all(|n| keeps(n, 1)));
    }
}
