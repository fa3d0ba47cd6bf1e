//! DejaGnu directives: comments in a test's source that say how to compile and run the test.

use crate::selector::{glob, Machine};
use crate::tcl;
use std::time::Duration;

/// How far a test goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Compile, link and run.
    Run,
    /// Anything that stops earlier (preprocess, compile, assemble, link).
    CompileOnly,
}

/// The directives of one source file, evaluated for this machine.
#[derive(Clone, Debug)]
pub struct Directives {
    /// How far the test goes.
    pub action: Action,
    /// Replaces the default options, if any `dg-options` applies.
    pub options: Option<Vec<String>>,
    /// Options that follow `options`, or the default options.
    pub additional_options: Vec<String>,
    /// Files that are compiled and linked with the test, relative to the source's folder.
    pub additional_sources: Vec<String>,
    /// Environment of the run.
    pub env: Vec<(String, String)>,
    /// The program must end with a status other than zero.
    pub should_fail: bool,
    /// A regular expression for the output: the patterns of all `dg-output` directives, joined in order.
    pub output: Option<String>,
    /// The time limit of the run, if the test sets one.
    pub timeout: Option<Duration>,
    /// The factor for the time limit; 1 if the test sets none.
    pub timeout_factor: f64,
    /// Why the test cannot run on this machine, if it cannot.
    pub unsupported: Option<String>,
}

/// Reads the directives in `source`. `flags` are the options that every test of the
/// directory gets: `dg-skip-if` may name them.
pub fn read(source: &str, machine: &Machine, flags: &[String]) -> Directives {
    let mut d = Directives {
        action: Action::Run,
        options: None,
        additional_options: Vec::new(),
        additional_sources: Vec::new(),
        env: Vec::new(),
        should_fail: false,
        output: None,
        timeout: None,
        timeout_factor: 1.0,
        unsupported: None,
    };
    let mut selected = None;
    for line in source.lines() {
        let Some(body) = directive(line) else {
            continue;
        };
        let words = tcl::words(body);
        let Some((name, args)) = words.split_first() else {
            continue;
        };
        if let Err(why) = d.apply(name, args, machine, flags, &mut selected) {
            d.unsupported.get_or_insert(format!("unknown {why}"));
        }
    }
    if selected == Some(false) {
        d.unsupported.get_or_insert("dg-do target".to_owned());
    }
    d
}

/// The text between `{` and the last blank-preceded `}` of a directive line.
fn directive(line: &str) -> Option<&str> {
    let start = line.match_indices('{').map(|(i, _)| i).find(|&i| {
        line[i + 1..]
            .trim_start_matches([' ', '\t'])
            .starts_with("dg-")
    })?;
    let end = line.rfind('}')?;
    let body = line.get(start + 1..end)?;
    // `dg-foo` must be a word of its own, not the start of some other text.
    body.ends_with([' ', '\t', '}', '"']).then_some(body)
}

impl Directives {
    fn apply(
        &mut self,
        name: &str,
        args: &[String],
        machine: &Machine,
        flags: &[String],
        selected: &mut Option<bool>,
    ) -> Result<(), String> {
        let arg = |i: usize| args.get(i).map(String::as_str).unwrap_or_default();
        let applies = |i: usize| match args.get(i) {
            None => Ok::<bool, String>(true),
            Some(a) => Ok(machine.target(a)? == Some(true)),
        };
        match name {
            "dg-do" => {
                self.action = if arg(0) == "run" {
                    Action::Run
                } else {
                    Action::CompileOnly
                };
                if let Some(a) = args.get(1) {
                    if let Some(yes) = machine.target(a)? {
                        // With several dg-do lines, one that selects this machine is enough.
                        *selected = Some(selected.unwrap_or(false) || yes);
                    }
                }
            }
            "dg-options" if applies(1)? => self.options = Some(tcl::words(arg(0))),
            "dg-additional-options" if applies(1)? => {
                self.additional_options.extend(tcl::words(arg(0)));
            }
            "dg-additional-sources" if applies(1)? => {
                self.additional_sources.extend(tcl::words(arg(0)));
            }
            "dg-options" | "dg-additional-options" | "dg-additional-sources" => {}
            "dg-require-effective-target" if applies(1)? && !machine.holds(arg(0))? => {
                self.unsupported.get_or_insert(format!("needs {}", arg(0)));
            }
            "dg-require-effective-target" | "dg-require-alias" => {}
            "dg-skip-if" if machine.holds(arg(1))? && options_match(args, flags) => {
                let why = if arg(0).is_empty() {
                    "dg-skip-if"
                } else {
                    arg(0)
                };
                self.unsupported.get_or_insert(why.to_owned());
            }
            "dg-xfail-run-if" if machine.holds(arg(1))? && options_match(args, flags) => {
                self.should_fail = true;
            }
            "dg-set-target-env-var" => {
                self.env.push((arg(0).to_owned(), arg(1).to_owned()));
            }
            "dg-shouldfail" => {
                self.should_fail = args.get(1).map_or(Ok(true), |s| machine.holds(s))?;
            }
            "dg-output" if applies(1)? => {
                self.output.get_or_insert_with(String::new).push_str(arg(0));
            }
            "dg-timeout" => self.timeout = arg(0).parse().ok().map(Duration::from_secs),
            "dg-timeout-factor" => self.timeout_factor = arg(0).parse().unwrap_or(1.0),
            // These are about the compiler's messages and dumps. The subject here is the library.
            "dg-output" | "dg-error" | "dg-warning" | "dg-message" | "dg-note" | "dg-bogus"
            | "dg-final" | "dg-prune-output" | "dg-excess-errors" | "dg-add-options" => {}
            _ if name.starts_with("dg-require") => {
                return Err(format!("directive {name}"));
            }
            _ => {}
        }
        Ok(())
    }
}

/// The include and exclude lists of options in a directive's third and fourth
/// argument.
fn options_match(args: &[String], flags: &[String]) -> bool {
    let any = |list: &String| {
        tcl::words(list)
            .iter()
            .any(|p| p.is_empty() || flags.iter().any(|f| glob(p, f)))
    };
    args.get(2).is_none_or(any) && !args.get(3).is_some_and(any)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: Machine = Machine {
        avx: true,
        lto: true,
        graphite: true,
        cxx: false,
    };

    fn of(text: &str) -> Directives {
        read(text, &HERE, &["-O2".to_owned()])
    }

    #[test]
    fn reads_what_the_suite_writes() {
        let d = of("/* { dg-do run } */\n\
             /* { dg-options \"-O1 -g\" { target c } } */\n\
             /* { dg-options \"-O0\" { target c++ } } */\n\
             // { dg-additional-options \"-DX\" { target { ! run_expensive_tests } } }\n\
             ! { dg-set-target-env-var OMP_PLACES \"{6,7}:4:-2,!{2,3}\" }\n\
             C { dg-shouldfail \"why\" }\n\
             ! { dg-output \"a(\\n|\\r)\" }\n\
             ! { dg-output \"b\\\\\\[\" }\n\
             ! { dg-timeout 10 }");
        assert_eq!(d.action, Action::Run);
        assert_eq!(d.options.unwrap(), ["-O1", "-g"]);
        assert_eq!(d.additional_options, ["-DX"]);
        assert_eq!(d.env, [("OMP_PLACES".into(), "{6,7}:4:-2,!{2,3}".into())]);
        assert!(d.should_fail);
        assert_eq!(d.output.unwrap(), "a(\n|\r)b\\[");
        assert_eq!(d.timeout, Some(Duration::from_secs(10)));
        assert_eq!(d.unsupported, None);
    }

    #[test]
    fn leaves_out_what_does_not_apply() {
        assert!(of("! { dg-do run { target offload_device } }")
            .unsupported
            .is_some());
        assert!(of("/* { dg-require-effective-target offload_device } */")
            .unsupported
            .is_some());
        assert!(of("/* { dg-skip-if \"\" { *-*-* } } */")
            .unsupported
            .is_some());
        assert_eq!(of("! { dg-do compile }").action, Action::CompileOnly);
        let kept =
            of("! { dg-skip-if \"\" { ! run_expensive_tests } { \"*\" } { \"-O0\" \"-O2\" } }");
        assert_eq!(kept.unsupported, None);
        assert!(of("/* { dg-require-effective-target warp_drive } */")
            .unsupported
            .unwrap()
            .contains("warp_drive"));
        // A sentence that mentions a directive is not a directive.
        assert_eq!(
            of("   disturb the 'dg-output' scanning below.  */").output,
            None
        );
    }
}
