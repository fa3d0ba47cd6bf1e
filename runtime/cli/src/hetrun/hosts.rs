//! Hosts, from a file or a list, and which processes run on which of them. Pure.

use super::arguments::{quoted, MOST};

/// A host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Host {
    pub(crate) name: String,
    /// How many processes it takes.
    pub(crate) slots: Option<u32>,
    /// How many it takes at most, if it may get more than that.
    pub(crate) most: Option<u32>,
}

/// How processes are divided among hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sharing {
    /// The most that a host gets.
    pub(crate) per_host: Option<u32>,
    /// A host may get more than it has slots.
    pub(crate) oversubscribe: bool,
    /// The hosts take turns. Otherwise one is filled after the other.
    pub(crate) by_turns: bool,
}

/// What the name of a host may be.
pub(crate) const ACCEPTED: &str =
    "a name or an address, USER@ before it and :N behind it, N from 1";

impl Host {
    /// Reads `name`, `user@name`, `name:4`, `[::1]:4`.
    pub(crate) fn new(word: &str) -> Result<Self, String> {
        // An address of IP version 6 has several colons.
        let split = word.rsplit_once(':');
        let split = split.filter(|(name, _)| !name.contains(':') || name.ends_with(']'));
        let (name, slots) = match split {
            Some((name, slots)) => (name, Some(count(slots).ok_or("not a number of processes")?)),
            None => (word, None),
        };
        let name = match name.strip_prefix('[').and_then(|n| n.strip_suffix(']')) {
            Some(address) => address,
            None => name,
        };
        // The name becomes an argument of ssh. It must not look like an option, or like two words.
        let plain = |b: u8| b.is_ascii_alphanumeric() || b".-_:@%".contains(&b);
        if name.is_empty() || name.len() > 255 || name.starts_with('-') || !name.bytes().all(plain)
        {
            return Err("not a host's name".to_owned());
        }
        Ok(Self {
            name: name.to_owned(),
            slots,
            most: None,
        })
    }

    /// Adds what another line says of the same host. A line without a number stands for one process.
    fn grow(&mut self, more: &Self) {
        let sum = |a: u32, b: u32| a.saturating_add(b);
        self.slots = Some(sum(self.slots.unwrap_or(1), more.slots.unwrap_or(1)));
        self.most = self.most.zip(more.most).map(|(a, b)| sum(a, b));
    }
}

fn count(text: &str) -> Option<u32> {
    text.parse().ok().filter(|n| (1..=MOST).contains(n))
}

/// Adds hosts. Those that are there already grow.
pub(crate) fn add(hosts: &mut Vec<Host>, more: Vec<Host>) {
    for host in more {
        match hosts.iter_mut().find(|h| h.name == host.name) {
            Some(same) => same.grow(&host),
            None => hosts.push(host),
        }
    }
}

/// Reads a list of hosts: `a,b:2`.
///
/// # Errors
/// What is wrong.
pub(crate) fn list(text: &str) -> Result<Vec<Host>, String> {
    text.split(',').map(Host::new).collect()
}

/// Reads a hosts' file; `file` is its name, for messages.
///
/// # Errors
/// One line.
pub(crate) fn parse(file: &str, text: &str) -> Result<Vec<Host>, String> {
    let mut hosts: Vec<Host> = Vec::new();
    for (i, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default();
        let mut words = line.split_whitespace();
        let Some(name) = words.next() else { continue };
        let wrong = |word: &str, what: &str, expected: &str| {
            let place = format!("file {file} line {}", i + 1);
            format!("{place}: {}: {what} (expected {expected})", quoted(word))
        };
        let mut host = Host::new(name).map_err(|what| wrong(name, &what, ACCEPTED))?;
        for word in words {
            let (key, value) = word.split_once('=').unwrap_or((word, ""));
            let number = match key {
                "slots" => &mut host.slots,
                "max_slots" | "max-slots" => &mut host.most,
                _ => return Err(wrong(word, "unknown", "slots=N or max_slots=N")),
            };
            *number = count(value);
            if number.is_none() {
                return Err(wrong(word, "not a number of processes", "1 to 4096"));
            }
        }
        if host.most.is_some_and(|most| most < host.slots.unwrap_or(1)) {
            return Err(wrong(
                line.trim(),
                "fewer at most than slots",
                "max_slots from slots",
            ));
        }
        add(&mut hosts, vec![host]);
    }
    if hosts.is_empty() {
        return Err(format!("file {file}: '': no host (expected one a line)"));
    }
    Ok(hosts)
}

/// The host of each process, in the order of their ranks. By slots, if there is a number of them anywhere
/// (a host without one has one); else as equally as possible. Without a number of processes, as many as there are
/// slots.
///
/// # Errors
/// What is wrong, with what would be right.
pub(crate) fn place(
    hosts: &[Host],
    processes: Option<u32>,
    sharing: Sharing,
) -> Result<Vec<usize>, String> {
    let told = hosts.iter().any(|h| h.slots.is_some());
    let cap = |n: u32| n.min(sharing.per_host.unwrap_or(u32::MAX));
    let slots = hosts.iter().map(|h| match (told, sharing.per_host) {
        (false, Some(n)) => n,
        _ => cap(h.slots.unwrap_or(1)),
    });
    let slots: Vec<u32> = slots.collect();
    let sum = |limits: &[u32]| limits.iter().map(|n| u64::from(*n)).sum::<u64>();
    let wanted = processes.map_or_else(|| sum(&slots), u64::from);
    let refuse = |most: u64, what: &str, or: &str| {
        Err(format!(
            "option -n: '{wanted}': more than {what} (expected at most {most}{or})"
        ))
    };
    if wanted > u64::from(MOST) {
        return refuse(MOST.into(), "hetrun starts", "");
    }
    let wanted = wanted as usize;
    let count = hosts.len();
    let limited = told || sharing.per_host.is_some();
    let limits = match (limited, sharing.by_turns) {
        (true, _) => slots,
        (false, true) => vec![MOST; count],
        (false, false) => (0..count)
            .map(|i| (wanted / count + usize::from(i < wanted % count)) as u32)
            .collect(),
    };
    let mut given = vec![0; count];
    let mut order = Vec::with_capacity(wanted);
    let at_once = if sharing.by_turns { 1 } else { MOST };
    hand_out(&limits, at_once, wanted, &mut given, &mut order);
    if order.len() < wanted && sharing.oversubscribe {
        let most: Vec<u32> = hosts.iter().map(|h| cap(h.most.unwrap_or(MOST))).collect();
        hand_out(&most, 1, wanted, &mut given, &mut order);
        if order.len() < wanted {
            return refuse(sum(&most), "the hosts take", "");
        }
    }
    if order.len() < wanted {
        return refuse(sum(&limits), "the hosts' slots", ", or --oversubscribe");
    }
    if !sharing.by_turns {
        order.sort_unstable();
    }
    Ok(order)
}

/// Goes around the hosts, and gives each `at_once` processes, until all have a place or each host has as many as it may
/// have.
fn hand_out(
    limits: &[u32],
    at_once: u32,
    wanted: usize,
    given: &mut [u32],
    order: &mut Vec<usize>,
) {
    let mut before = usize::MAX;
    while order.len() < wanted && order.len() != before {
        before = order.len();
        for (host, (limit, given)) in limits.iter().zip(&mut *given).enumerate() {
            let left = (wanted - order.len()) as u32;
            let n = limit.saturating_sub(*given).min(at_once).min(left);
            *given += n;
            order.extend((0..n).map(|_| host));
        }
    }
}

/// The host's name without the user's.
pub(crate) fn without_user(name: &str) -> &str {
    name.rsplit_once('@').map_or(name, |(_, host)| host)
}

#[cfg(test)]
mod tests {
    use super::{list, parse, place, Host, Sharing};
    use proptest::prelude::*;

    fn host(name: &str, slots: Option<u32>, most: Option<u32>) -> Host {
        Host {
            name: name.to_owned(),
            slots,
            most,
        }
    }

    const PLAIN: Sharing = Sharing {
        per_host: None,
        oversubscribe: false,
        by_turns: false,
    };
    const OVER: Sharing = Sharing {
        oversubscribe: true,
        ..PLAIN
    };
    const TURNS: Sharing = Sharing {
        by_turns: true,
        ..PLAIN
    };

    #[test]
    fn files_are_read() {
        for (text, hosts) in [
            (
                "# cluster\nalpha slots=2\n\n\t me@10.0.0.2 # second\r\n",
                vec![
                    host("alpha", Some(2), None),
                    host("me@10.0.0.2", None, None),
                ],
            ),
            (
                "a:2\nb:3 # c",
                vec![host("a", Some(2), None), host("b", Some(3), None)],
            ),
            ("a slots=2 max_slots=4", vec![host("a", Some(2), Some(4))]),
            ("a:2 max-slots=2", vec![host("a", Some(2), Some(2))]),
            ("a max_slots=3", vec![host("a", None, Some(3))]),
            (
                "fe80::1%eth0\n[::2]:3\n[::3]",
                vec![
                    host("fe80::1%eth0", None, None),
                    host("::2", Some(3), None),
                    host("::3", None, None),
                ],
            ),
            // A host again adds up: once a process, or once a number of them.
            (
                "a\nb\na\na",
                vec![host("a", Some(3), None), host("b", None, None)],
            ),
            ("a:2\na slots=3", vec![host("a", Some(5), None)]),
            (
                "a:1 max_slots=2\na:1 max_slots=3",
                vec![host("a", Some(2), Some(5))],
            ),
            ("a:1 max_slots=2\na", vec![host("a", Some(2), None)]),
            (
                "localhost\n127.0.0.1",
                vec![host("localhost", None, None), host("127.0.0.1", None, None)],
            ),
        ] {
            assert_eq!(parse("f", text), Ok(hosts), "{text}");
        }
        assert_eq!(
            list("a,b:2"),
            Ok(vec![host("a", None, None), host("b", Some(2), None)])
        );
    }

    #[test]
    fn mistakes_name_their_line() {
        for (text, line) in [
            ("", "file f: '': no host (expected one a line)"),
            ("#a", "file f: '': no host (expected one a line)"),
            (
                "a\n-oProxyCommand=x",
                "file f line 2: '-oProxyCommand=x': not a host's name (expected a name",
            ),
            ("a;b", "file f line 1: 'a;b': not a host's name"),
            ("$(x)", "file f line 1: '$(x)': not a host's name"),
            ("a\n\n:2", "file f line 3: ':2': not a host's name"),
            (
                "a:0",
                "file f line 1: 'a:0': not a number of processes (expected a name",
            ),
            ("a:x", "file f line 1: 'a:x': not a number of processes"),
            ("a:", "file f line 1: 'a:': not a number of processes"),
            (
                "a slots=0",
                "file f line 1: 'slots=0': not a number of processes (expected 1 to 4096)",
            ),
            (
                "a slots",
                "file f line 1: 'slots': not a number of processes",
            ),
            (
                "a slots=2 max_slots=-1",
                "file f line 1: 'max_slots=-1': not a number of processes",
            ),
            (
                "a slots=3 max_slots=2 # b",
                "file f line 1: 'a slots=3 max_slots=2': fewer at most than slots",
            ),
            (
                "a 4",
                "file f line 1: '4': unknown (expected slots=N or max_slots=N)",
            ),
            ("a = 4", "file f line 1: '=': unknown"),
        ] {
            let got = parse("f", text).unwrap_err();
            assert!(got.starts_with(line), "{got}");
        }
    }

    #[test]
    fn processes_are_placed() {
        for (text, processes, sharing, expected) in [
            ("a slots=2\nb", None, PLAIN, Ok("001")),
            ("a slots=2\nb", Some(1), PLAIN, Ok("0")),
            (
                "a slots=2\nb",
                Some(4),
                PLAIN,
                Err(
                    "option -n: '4': more than the hosts' slots (expected at most 3, or \
                --oversubscribe)",
                ),
            ),
            ("a slots=2\nb", Some(6), OVER, Ok("000011")),
            ("a slots=2 max_slots=2\nb", Some(5), OVER, Ok("00111")),
            (
                "a:2 max_slots=2\nb max_slots=2",
                Some(5),
                OVER,
                Err("option -n: '5': more than the hosts take (expected at most 4)"),
            ),
            ("a\nb\nc", Some(7), PLAIN, Ok("0001122")),
            ("a\nb\nc", Some(2), PLAIN, Ok("01")),
            ("a\nb\nc", None, PLAIN, Ok("012")),
            ("a\nb", Some(5), TURNS, Ok("01010")),
            ("a:1\nb:3", None, TURNS, Ok("0111")),
            (
                "a\nb",
                None,
                Sharing {
                    per_host: Some(2),
                    ..PLAIN
                },
                Ok("0011"),
            ),
            (
                "a\nb",
                Some(3),
                Sharing {
                    per_host: Some(2),
                    ..PLAIN
                },
                Ok("001"),
            ),
            (
                "a\nb",
                None,
                Sharing {
                    per_host: Some(2),
                    ..TURNS
                },
                Ok("0101"),
            ),
            (
                "a:4\nb:1",
                None,
                Sharing {
                    per_host: Some(2),
                    ..PLAIN
                },
                Ok("001"),
            ),
            (
                "a:4\nb:1",
                Some(4),
                Sharing {
                    per_host: Some(2),
                    ..OVER
                },
                Ok("0011"),
            ),
            (
                "a",
                Some(4097),
                OVER,
                Err("option -n: '4097': more than hetrun starts (expected at most 4096)"),
            ),
        ] {
            let hosts = parse("f", text).expect("hosts");
            let got = place(&hosts, processes, sharing);
            let got = got.map(|order| order.iter().map(usize::to_string).collect::<String>());
            let expected = expected.map(str::to_owned).map_err(str::to_owned);
            assert_eq!(got, expected, "{text} {processes:?} {sharing:?}");
        }
    }

    proptest! {
        #[test]
        fn every_process_has_a_place(
            slots in prop::collection::vec(prop::option::of(1..9_u32), 1..9),
            n in 1..60_u32,
            sharing in (prop::option::of(1..9_u32), any::<bool>(), any::<bool>())
        ) {
            let (per_host, oversubscribe, by_turns) = sharing;
            let sharing = Sharing { per_host, oversubscribe, by_turns };
            let hosts: Vec<Host> = slots.iter().map(|s| host("h", *s, None)).collect();
            let placed = place(&hosts, Some(n), sharing);
            // Only limits of hosts are a reason to refuse.
            let limited = per_host.is_some() || !oversubscribe && slots.iter().any(Option::is_some);
            prop_assert!(placed.is_ok() || limited);
            if let Ok(order) = placed {
                prop_assert_eq!(order.len(), n as usize);
                prop_assert!(by_turns || order.is_sorted());
                let most = (0..hosts.len()).map(|h| order.iter().filter(|o| **o == h).count()).max();
                prop_assert!(per_host.is_none_or(|limit| most <= Some(limit as usize)));
            }
        }

        #[test]
        fn any_text_is_a_file_or_refused(text in "(?s)[a-c:=@#\\[\\] \n\tslotmax_0-9-]{0,60}|.{0,100}") {
            match parse("f", &text) {
                Ok(hosts) => prop_assert!(hosts.iter().all(|h| !h.name.starts_with('-') && !h.name.contains(' '))),
                Err(line) => prop_assert!(!line.contains(char::is_control), "{line:?}"),
            }
            if let Ok(hosts) = list(&text) {
                prop_assert!(hosts.iter().all(|h| !h.name.starts_with('-') && !h.name.contains(' ')));
            }
        }
    }
}
