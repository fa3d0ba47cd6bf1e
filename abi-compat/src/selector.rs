//! Target selectors of DejaGnu directives: which tests apply to this machine.
//!
//! The machine is always x86-64 Linux with the host compiler and no offload device.
//! [`Machine`] holds the few facts that differ between such machines: vector units, and
//! whether the compiler has LTO or Graphite.

use crate::tcl;

/// Facts about the machine, the compiler and the test's language that selectors ask for.
#[derive(Clone, Copy, Debug)]
pub struct Machine {
    /// The processor runs AVX.
    pub avx: bool,
    /// The compiler has link-time optimisation.
    pub lto: bool,
    /// The compiler has Graphite.
    pub graphite: bool,
    /// The source is compiled as C++ (`c++` holds) rather than C (`c` holds).
    pub cxx: bool,
}

const TRIPLET: &str = "x86_64-pc-linux-gnu";

impl Machine {
    /// Evaluates a selector expression: keywords, target triplets with `*` and `?`,
    /// `!`, `&&`, `||`, and lists, any member of which may hold.
    ///
    /// # Errors
    /// Names a keyword that this module does not know. The test is then reported as not
    /// runnable, rather than run or left out by a guess.
    pub fn holds(&self, expression: &str) -> Result<bool, String> {
        let words = tcl::words(expression);
        match words.as_slice() {
            [] => Ok(false),
            [one] => {
                if one.contains(char::is_whitespace) || one.starts_with('{') {
                    self.holds(one)
                } else {
                    self.keyword(one)
                }
            }
            [not, rest @ ..] if not == "!" => {
                let rest: Vec<String> = rest.iter().map(|w| format!("{{{w}}}")).collect();
                Ok(!self.holds(&rest.join(" "))?)
            }
            [left, op, rest @ ..] if op == "&&" || op == "||" => {
                let left = self.holds(left)?;
                let rest: Vec<String> = rest.iter().map(|w| format!("{{{w}}}")).collect();
                let right = self.holds(&rest.join(" "))?;
                Ok(if op == "&&" {
                    left && right
                } else {
                    left || right
                })
            }
            list => {
                for word in list {
                    if self.holds(word)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
        }
    }

    /// Evaluates `target EXPR` or `xfail EXPR`, the last argument of a directive.
    /// `Some(true)` if the directive applies to this machine.
    ///
    /// # Errors
    /// Names a keyword that this module does not know.
    pub fn target(&self, argument: &str) -> Result<Option<bool>, String> {
        let words = tcl::words(argument);
        match words.split_first() {
            Some((kind, rest)) if kind == "target" => {
                let rest: Vec<String> = rest.iter().map(|w| format!("{{{w}}}")).collect();
                self.holds(&rest.join(" ")).map(Some)
            }
            // An expected failure does not change whether the test applies to this machine.
            Some((kind, _)) if kind == "xfail" => Ok(None),
            _ => Err(format!("selector {{{argument}}}")),
        }
    }

    fn keyword(&self, word: &str) -> Result<bool, String> {
        if word.contains('*') || word.contains('?') {
            return Ok(glob(word, TRIPLET));
        }
        Ok(match word {
            "avx_runtime" => self.avx,
            "lto" => self.lto,
            "fgraphite" => self.graphite,
            "c" => !self.cxx,
            "c++" => self.cxx,
            "lp64" | "tls" | "tls_runtime" | "pthread" | "fpic" | "shared" | "sse2_runtime"
            | "size32plus" | "sync_int_long" | "large_long_double" | "__float128"
            | "fd_truncate" | "vect_simd_clones" | "alias" => true,
            // gcc's probe maps a variable to a target region and looks whether the
            // host sees the region's store: it does when the host is the device.
            "offload_device_shared_as" | "openacc_host_selected" | "weak_undefined" => true,
            // Other machines, and the long forms of expensive tests, which nobody asks
            // for here. The next arm: there is no offload device or compiler.
            "ia32" | "ilp32" | "run_expensive_tests" | "skip-all-targets" | "aarch64_tiny" => false,
            _ if ["offload_device", "offload_target", "openacc_"]
                .iter()
                .any(|p| word.starts_with(p)) =>
            {
                false
            }
            _ => return Err(format!("effective target {word}")),
        })
    }
}

/// Whether `text` matches a pattern of `*`, `?` and plain characters.
pub(crate) fn glob(pattern: &str, text: &str) -> bool {
    match pattern.chars().next() {
        None => text.is_empty(),
        Some('*') => {
            let rest = &pattern[1..];
            (0..=text.len()).any(|i| text.is_char_boundary(i) && glob(rest, &text[i..]))
        }
        Some(p) => match text.chars().next() {
            Some(t) if p == '?' || p == t => glob(&pattern[p.len_utf8()..], &text[t.len_utf8()..]),
            _ => false,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::Machine;

    const HERE: Machine = Machine {
        avx: true,
        lto: false,
        graphite: true,
        cxx: false,
    };

    #[test]
    fn evaluates_the_forms_the_suite_uses() {
        for (text, want) in [
            ("c", true),
            ("*-*-*", true),
            ("! *-*-*", false),
            ("{ ! run_expensive_tests }", true),
            ("! run_expensive_tests", true),
            ("*-*-linux* *-*-gnu* *-*-freebsd*", true),
            ("alpha*-*-*", false),
            ("{ { i?86-*-* x86_64-*-* } && lp64 }", true),
            ("{ i?86-*-* x86_64-*-* } && ia32", false),
            ("{ lp64 && { ! lp64 } }", false),
            ("vect_simd_clones && lto", false),
            ("offload_target_nvptx || offload_target_amdgcn", false),
        ] {
            assert_eq!(HERE.holds(text), Ok(want), "{text}");
        }
        assert_eq!(HERE.target(" target c "), Ok(Some(true)));
        assert_eq!(HERE.target("target { c++ }"), Ok(Some(false)));
        assert!(HERE.holds("no_such_thing").is_err());
    }
}
