//! The examples of README.md and the pages, for tests that run them as they stand there.

use crate::library;

/// The code blocks of a language in a section of a page (its subsections included), in their order.
///
/// # Panics
/// If there is no such section: a test of its examples would pass without any.
pub fn examples(page: &str, section: &str, language: &str) -> Vec<String> {
    let text = std::fs::read_to_string(library::root().join(page)).expect(page);
    let found = in_section(&text, section, language);
    assert!(
        !found.is_empty(),
        "{page}, {section}: no example in {language}"
    );
    found
}

fn in_section(text: &str, section: &str, language: &str) -> Vec<String> {
    let lines = text.lines().skip_while(|l| *l != section).skip(1);
    let mut found = Vec::new();
    let mut block: Option<(bool, String)> = None;
    for line in lines {
        match (&mut block, line.strip_prefix("```")) {
            (None, Some(name)) => block = Some((name == language, String::new())),
            (None, None) if line.starts_with("## ") => break,
            (None, None) => {}
            (Some(_), Some(_)) => {
                if let Some((true, code)) = block.take() {
                    found.push(code);
                }
                block = None;
            }
            (Some((_, code)), None) => {
                code.push_str(line);
                code.push('\n');
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_a_section() {
        let text =
            "# A\n```sh\nno\n```\n## B\ntext\n```sh\n## one\ntwo\n```\n### b\n```c\nint x;\n```\n\
                    ```sh\nthree\n```\n## C\n```sh\nno\n```\n";
        assert_eq!(in_section(text, "## B", "sh"), ["## one\ntwo\n", "three\n"]);
        assert_eq!(in_section(text, "## B", "c"), ["int x;\n"]);
        assert!(in_section(text, "## D", "sh").is_empty());
    }
}
