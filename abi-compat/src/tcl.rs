//! The part of Tcl's syntax that DejaGnu directives use: lists of words, where a word
//! is bare, `{braced}` or `"quoted"`.

/// Splits Tcl list text into its words.
///
/// The text of a braced word stays as it is, inner braces included. In quoted and bare
/// words, backslash sequences are replaced. A word without its closing brace or quote
/// ends at the end of the text: DejaGnu is as lenient.
pub fn words(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut rest = text.chars().peekable();
    loop {
        while rest.peek().is_some_and(|c| c.is_whitespace()) {
            rest.next();
        }
        let Some(&first) = rest.peek() else { break };
        let mut word = String::new();
        match first {
            '{' => {
                rest.next();
                let mut depth = 1;
                for c in rest.by_ref() {
                    match c {
                        '{' => depth += 1,
                        '}' => depth -= 1,
                        _ => {}
                    }
                    if depth == 0 {
                        break;
                    }
                    word.push(c);
                }
            }
            '"' => {
                rest.next();
                while let Some(c) = rest.next() {
                    match c {
                        '"' => break,
                        '\\' => unescape(&mut rest, &mut word),
                        _ => word.push(c),
                    }
                }
            }
            _ => {
                while let Some(&c) = rest.peek() {
                    if c.is_whitespace() {
                        break;
                    }
                    rest.next();
                    if c == '\\' {
                        unescape(&mut rest, &mut word);
                    } else {
                        word.push(c);
                    }
                }
            }
        }
        out.push(word);
    }
    out
}

fn unescape(rest: &mut impl Iterator<Item = char>, word: &mut String) {
    match rest.next() {
        Some('n') => word.push('\n'),
        Some('r') => word.push('\r'),
        Some('t') => word.push('\t'),
        Some(c) => word.push(c),
        None => {}
    }
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn splits_bare_braced_and_quoted_words() {
        assert_eq!(
            words(r#"run { target { a && b } } "x\ny \[z" e"#),
            ["run", " target { a && b } ", "x\ny [z", "e"]
        );
        assert_eq!(words("  "), Vec::<String>::new());
        assert_eq!(words("{aarch64_tiny}"), ["aarch64_tiny"]);
        assert_eq!(words(r#""\\\[0x""#), [r"\[0x"]);
    }
}
