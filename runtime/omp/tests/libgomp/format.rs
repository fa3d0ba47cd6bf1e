//! Affinity formats.

use hetmp_omp::affinity::format::{expand, Fields, NativeId};

use super::Program;

/// Thread 2 of 3 prints the values that only it knows, and then the format argv[1], expanded into a buffer of
/// argv[2] bytes.
const CAPTURE: &str = r#"
#define _GNU_SOURCE
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv) {
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  size_t room = atoi(argv[2]);
  #pragma omp parallel num_threads(3)
  if (omp_get_thread_num() == 2) {
    char *text = calloc(room + 1, 1);
    size_t length = omp_capture_affinity(text, room, argv[1]);
    printf("%d\n%lu\n%s\n%zu\n%s", getpid(), (unsigned long) pthread_self(), host, length, text);
  }
  return 0;
}
"#;

const FORMATS: &[&str] = &[
    "plain",
    "100 %%",
    "%t|%T|%L|%n|%N|%a|%H|%P|%i|%A",
    "%{team_num}|%{num_teams}|%{nesting_level}|%{thread_num}|%{num_threads}",
    "%{ancestor_tnum}|%{host}|%{process_id}|%{native_thread_id}|%{thread_affinity}",
    "%4t|%4T|%4L|%4n|%4N|%4a|%40H|%9P|%24i|%9A|",
    "%.4t|%.4T|%.4L|%.4n|%.4N|%.4a|%.40H|%.9P|%.24i|%.9A|",
    "%0.4t|%0.4T|%0.4L|%0.4n|%0.4N|%0.4a|%0.40H|%0.9P|%0.24i|%0.9A|",
    "%1n|%1i|%1A|%1H",
    "%0.12{thread_num}%12{thread_num}%.12{thread_num}",
    "%99999999999999999999n",
    "%300n",
    "%.300A",
    "%",
    "%%%",
    "%x",
    "%5%",
    "%05n",
    "%0n",
    "%.n",
    "%0.n",
    "%-5n",
    "%{host",
    "%{}",
    "%{hosts}",
    "%{HOST}",
    "%{thread_num }",
    "%5",
    "%.5",
    "n%nn",
];

#[test]
fn formats_expand_to_the_same_text() {
    let Some(program) = Program::compile("capture", CAPTURE) else {
        return;
    };
    let cpus = hetmp_core::topo::affinity();
    let env = [("OMP_WAIT_POLICY".to_owned(), "passive".to_owned())];
    for format in FORMATS {
        for room in [4096, 20, 1, 0] {
            let out = program.run(&[format, &room.to_string()], &env);
            let mut buffer = vec![0; room];
            let Ok(said) = String::from_utf8(out.stdout) else {
                panic!("{format}: not text")
            };
            let mut said = said.splitn(5, '\n');
            let mut next = || said.next().unwrap_or_default().to_owned();
            let (process, thread, host) = (next(), next(), next());
            let fields = Fields {
                team_num: 0,
                num_teams: 1,
                level: 1,
                thread_num: 2,
                num_threads: 3,
                ancestor_tnum: 0,
                process_id: process.parse().unwrap_or(0),
                native_thread_id: NativeId::Pthread(thread.parse().unwrap_or(0)),
                affinity: &cpus,
                host: &|| host.clone().into_bytes(),
                unknown: None,
            };
            let got = expand(format.as_bytes(), &fields, &mut buffer);
            assert_eq!(got.is_ok(), out.status.success(), "{format}: {got:?}");
            let Ok(length) = got else { continue };
            assert_eq!(length.to_string(), next(), "{format} in {room}");
            // The last byte of a full buffer is for the terminating zero.
            let shown = length.min(room.saturating_sub(1));
            assert_eq!(
                String::from_utf8_lossy(&buffer[..shown]),
                next(),
                "{format} in {room}"
            );
        }
    }
}
