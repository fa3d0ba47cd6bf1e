//! The hosts' file, and which ranks run on which host. Pure.

/// A line of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Host {
    pub(crate) name: String,
    pub(crate) slots: Option<u32>,
}

/// Reads a hosts' file; `file` is its name, for messages.
pub(crate) fn parse(file: &str, text: &str) -> Result<Vec<Host>, String> {
    let mut hosts: Vec<Host> = Vec::new();
    for (i, line) in text.lines().enumerate() {
        let mut words = line
            .split('#')
            .next()
            .unwrap_or_default()
            .split_whitespace();
        let Some(name) = words.next() else { continue };
        let wrong = |what: &str, accepted: &str| {
            Err(format!("file {file} line {}, {what}: {accepted}", i + 1))
        };
        // The name becomes an argument of ssh. It must not look like an option, or like two words.
        let plain = |b: u8| b.is_ascii_alphanumeric() || b".-_:@%".contains(&b);
        if name.len() > 255 || name.starts_with('-') || !name.bytes().all(plain) {
            return wrong(
                &format!("host {name:?}"),
                "a name or an address is accepted, and USER@ before it",
            );
        }
        if hosts.iter().any(|h| h.name == name) {
            return wrong(&format!("host {name}"), "each host once is accepted");
        }
        let mut slots = None;
        for word in words {
            slots = match word.strip_prefix("slots=").map(str::parse::<u32>) {
                Some(Ok(n)) if (1..=super::arguments::MOST).contains(&n) => Some(n),
                _ => return wrong(&format!("{word:?}"), "slots=N, N from 1, is accepted"),
            };
        }
        hosts.push(Host {
            name: name.to_owned(),
            slots,
        });
    }
    if hosts.is_empty() {
        return Err(format!("file {file}: at least one host is accepted"));
    }
    Ok(hosts)
}

/// How many of `processes` each host gets. If the file names slots, by slots (a host without a number has one); else
/// as equally as possible. Ranks are numbered host by host.
pub(crate) fn place(
    file: &str,
    hosts: &[Host],
    processes: Option<u32>,
) -> Result<Vec<u32>, String> {
    let told = hosts.iter().any(|h| h.slots.is_some());
    let slots: Vec<u32> = hosts.iter().map(|h| h.slots.unwrap_or(1)).collect();
    let total: u64 = slots.iter().map(|&n| u64::from(n)).sum();
    let most = u64::from(super::arguments::MOST);
    let wanted = processes.map_or(total, u64::from);
    if (told && wanted > total) || wanted > most {
        return Err(format!(
            "option -n {wanted}: at most {}, the slots in file {file}, are accepted",
            total.min(most)
        ));
    }
    let mut left = wanted as u32;
    let count = hosts.len() as u32;
    Ok((0..count)
        .map(|i| {
            let here = if told {
                slots[i as usize].min(left)
            } else {
                wanted as u32 / count + u32::from(i < wanted as u32 % count)
            };
            left -= here;
            here
        })
        .collect())
}

/// The host's name without the user's.
pub(crate) fn without_user(name: &str) -> &str {
    name.rsplit_once('@').map_or(name, |(_, host)| host)
}

#[cfg(test)]
mod tests {
    use super::{parse, place};
    use proptest::prelude::*;

    #[test]
    fn files_are_read() {
        let hosts = parse("f", "# cluster\nalpha slots=2\n\n me@10.0.0.2 # second\n").unwrap();
        assert_eq!(hosts.len(), 2);
        assert_eq!((hosts[0].name.as_str(), hosts[0].slots), ("alpha", Some(2)));
        assert_eq!(
            (hosts[1].name.as_str(), hosts[1].slots),
            ("me@10.0.0.2", None)
        );
        assert_eq!(place("f", &hosts, None), Ok(vec![2, 1]));
        assert_eq!(place("f", &hosts, Some(1)), Ok(vec![1, 0]));
        assert_eq!(
            place("f", &hosts, Some(4)).unwrap_err(),
            "option -n 4: at most 3, the slots in file f, are accepted"
        );
        let equal = parse("f", "a\nb\nc").unwrap();
        assert_eq!(place("f", &equal, Some(7)), Ok(vec![3, 2, 2]));
        assert_eq!(place("f", &equal, Some(2)), Ok(vec![1, 1, 0]));
    }

    #[test]
    fn mistakes_name_their_line() {
        for (text, line) in [
            ("", "file f: at least one host is accepted"),
            (
                "a\n-oProxyCommand=x",
                "file f line 2, host \"-oProxyCommand=x\": ",
            ),
            ("a;b", "file f line 1, host \"a;b\": "),
            ("$(x)", "file f line 1, host \"$(x)\": "),
            ("a\na", "file f line 2, host a: each host once is accepted"),
            (
                "a slots=0",
                "file f line 1, \"slots=0\": slots=N, N from 1, is accepted",
            ),
            ("a 4", "file f line 1, \"4\": slots=N"),
        ] {
            let got = parse("f", text).unwrap_err();
            assert!(got.starts_with(line), "{got}");
        }
    }

    proptest! {
        #[test]
        fn every_process_has_a_place(slots in prop::collection::vec(prop::option::of(1..9_u32), 1..9), n in 1..60_u32) {
            let text: String = slots.iter().enumerate().map(|(i, s)| match s {
                Some(s) => format!("h{i} slots={s}\n"),
                None => format!("h{i}\n"),
            }).collect();
            let hosts = parse("f", &text).unwrap();
            if let Ok(places) = place("f", &hosts, Some(n)) {
                prop_assert_eq!(places.iter().sum::<u32>(), n);
            }
        }

        #[test]
        fn any_text_is_a_file_or_refused(text in ".{0,100}") {
            if let Ok(hosts) = parse("f", &text) {
                prop_assert!(hosts.iter().all(|h| !h.name.starts_with('-') && !h.name.contains(' ')));
            }
        }
    }
}
