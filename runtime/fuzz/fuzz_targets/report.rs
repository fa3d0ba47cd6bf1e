//! A report, and after a zero byte a trace: read back, shown as a table and as a page.
#![no_main]
#![allow(dead_code, reason = "the command uses more of these files")]

#[path = "../../cli/src/columns.rs"]
mod columns;
#[path = "../../cli/src/outputs.rs"]
mod outputs;
#[path = "../../cli/src/report/mod.rs"]
mod report;
#[path = "../../cli/src/source.rs"]
mod source;

use libfuzzer_sys::fuzz_target;

/// As in the command.
#[derive(Default)]
struct Output {
    text: String,
    error: String,
}

impl Output {
    fn refuse(error: impl ToString) -> Output {
        let (text, error) = (String::new(), error.to_string());
        Output { text, error }
    }
}

/// Refused in one line, whatever the file has.
fn seen<T>(answer: Result<T, String>) -> Option<T> {
    answer
        .inspect_err(|line| assert!(!line.contains('\n'), "{line}"))
        .ok()
}

fuzz_target!(|bytes: &[u8]| {
    let mut files = bytes.splitn(2, |&byte| byte == 0);
    let (given, trace) = (files.next().unwrap_or_default(), files.next());
    let html = std::env::temp_dir().join(format!("hetmp-fuzz-{}.html", std::process::id()));
    let beside = html.with_extension("trace");
    hetmp_fuzz::as_file(given, |file| {
        if seen(report::table_of(file)).is_none() {
            return;
        }
        if let Some(trace) = trace {
            std::fs::write(&beside, trace).expect("a folder for temporary files");
        }
        if seen(report::page_of(file, &html, trace.map(|_| &*beside))).is_some() {
            let page = std::fs::read_to_string(&html).expect("the page");
            // Texts of a file do not become elements: those of the page alone close a script.
            let (open, close) = (
                page.matches("<script").count(),
                page.matches("</script").count(),
            );
            assert_eq!(open, close);
            std::fs::remove_file(&html).expect("the page");
        }
        let _ = std::fs::remove_file(&beside);
    });
});
