//! The parsers under any bytes, and the clients against launchers that a thread plays.

use super::mapping::local_ranks;
use super::pmi::{read_line, read_packet, Message};
use super::wire::{
    hex, read_frame, same_secret, unhex, Malformed, Reply, Request, Ticket, MAX_FRAME, VERSION,
};
use super::{choose, hetrun::Hetrun, pmi1, pmi2, pmix, values, Error, Job, Launcher};
use super::{MAX_KEY, MAX_VALUE, SECRET};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};

fn key() -> impl Strategy<Value = String> {
    "[A-Za-z0-9._-]{1,32}"
}

fn request() -> impl Strategy<Value = Request> {
    prop_oneof![
        (any::<u32>(), any::<[u8; SECRET]>(), any::<u32>()).prop_map(|(version, secret, rank)| {
            Request::Hello {
                version,
                secret,
                rank,
            }
        }),
        (key(), prop::collection::vec(any::<u8>(), 0..300))
            .prop_map(|(key, value)| Request::Put { key, value }),
        Just(Request::Fence),
        (any::<u32>(), key()).prop_map(|(rank, key)| Request::Get { rank, key }),
        (any::<i32>(), ".{0,60}").prop_map(|(status, message)| Request::Abort { status, message }),
        Just(Request::Finalize),
    ]
}

fn reply() -> impl Strategy<Value = Reply> {
    prop_oneof![
        (
            prop::collection::btree_set(0..500_u32, 0..20),
            "[0-9.]{0,20}"
        )
            .prop_map(|(local, address)| Reply::Welcome {
                size: 500,
                local: local.into_iter().collect(),
                address,
            }),
        ".{0,60}".prop_map(Reply::Refused),
        Just(Reply::Fenced),
        prop::option::of(prop::collection::vec(any::<u8>(), 0..300)).prop_map(Reply::Value),
        Just(Reply::Finalized),
    ]
}

proptest! {
    #[test]
    fn what_is_encoded_is_decoded(request in request(), reply in reply()) {
        let frame = request.encode();
        let bytes = read_frame(&mut &frame[..]).unwrap().unwrap();
        prop_assert_eq!(Request::decode(&bytes).unwrap(), request);
        let frame = reply.encode();
        let bytes = read_frame(&mut &frame[..]).unwrap().unwrap();
        prop_assert_eq!(Reply::decode(&bytes).unwrap(), reply);
    }

    /// Random bytes are either refused or decoded to a message whose encoding is exactly those bytes: no byte is
    /// ignored.
    #[test]
    fn any_bytes_are_a_message_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        if let Ok(request) = Request::decode(&bytes) {
            prop_assert_eq!(&request.encode()[4..], &bytes[..]);
        }
        if let Ok(reply) = Reply::decode(&bytes) {
            prop_assert_eq!(&reply.encode()[4..], &bytes[..]);
        }
        let _ = read_frame(&mut &bytes[..]);
    }

    /// A message with one byte changed, cut off or doubled is refused, or decodes to what its bytes say.
    #[test]
    fn damaged_messages_are_read_strictly(
        request in request(), at in any::<prop::sample::Index>(), to in any::<u8>(), cut in any::<bool>()
    ) {
        let mut bytes = request.encode()[4..].to_vec();
        let at = at.index(bytes.len());
        if cut { bytes.truncate(at) } else { bytes[at] = to }
        if let Ok(other) = Request::decode(&bytes) {
            prop_assert_eq!(&other.encode()[4..], &bytes[..]);
        }
    }

    #[test]
    fn pmi_messages_come_back(pairs in prop::collection::vec(("[a-z_-]{1,10}", "[!-:<-~]{0,40}"), 1..6)) {
        let message = Message(pairs);
        // These two shapes never arise, because names are not empty: a first word without "=", and words of "=" only.
        let line = message.to_line();
        prop_assert_eq!(read_line(&mut &line[..]).unwrap(), message.clone());
        let packet = message.to_packet().unwrap();
        prop_assert_eq!(read_packet(&mut &packet[..]).unwrap(), message);
    }

    #[test]
    fn pmi2_values_may_hold_semicolons(value in "[a;=b]{0,12}") {
        let message = Message::new("x").with("value", &value).with("after", 1);
        let packet = message.to_packet().unwrap();
        let got = read_packet(&mut &packet[..]).unwrap();
        prop_assert_eq!(got.get("value"), Some(value.as_str()));
        prop_assert_eq!(got.number("after"), Some(1));
    }

    #[test]
    fn any_bytes_are_pmi_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200), text in ".{0,80}") {
        let _ = read_line(&mut &bytes[..]);
        let _ = read_packet(&mut &bytes[..]);
        let _ = Message::from_line(&text);
        let _ = Message::from_packet(&text);
        let _ = Ticket::decode(&text);
        let _ = unhex(&text);
        let _ = values::first_piece(&text);
        let _ = pmix::peers_of(&text, 0, 4);
        let _ = local_ranks(&text, 0, 4);
    }

    /// Checked against the definition of the mapping: every rank is on one machine, and ranks of one machine agree
    /// about it.
    #[test]
    fn machines_divide_the_ranks(
        blocks in prop::collection::vec((0..5_u32, 1..4_u32, 1..4_u32), 1..4), size in 1..40_u32
    ) {
        let inner: Vec<String> = blocks.iter().map(|(a, b, c)| format!("({a},{b},{c})")).collect();
        let text = format!("(vector,{})", inner.join(","));
        for rank in 0..size {
            let local = local_ranks(&text, rank, size).unwrap();
            prop_assert!(local.contains(&rank));
            for &other in &local {
                prop_assert_eq!(local_ranks(&text, other, size).unwrap(), local.clone());
            }
        }
    }
}

#[test]
fn a_length_alone_costs_no_memory_and_is_bounded() {
    let mut huge = (MAX_FRAME as u32 + 1).to_le_bytes().to_vec();
    huge.push(1);
    let error = read_frame(&mut &huge[..]).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidData);
    let lone = (MAX_FRAME as u32).to_le_bytes();
    let error = read_frame(&mut &lone[..]).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::UnexpectedEof);
    assert_eq!(read_frame(&mut &[][..]).unwrap(), None);
    // A list that claims more ranks than the message has bytes for.
    let bytes = [1, 4, 0, 0, 0, 255, 255, 255, 255];
    assert_eq!(Reply::decode(&bytes), Err(Malformed("count is too large")));
}

#[test]
fn mappings_are_those_of_the_launchers() {
    let ranks = |text: &str, rank, size| local_ranks(text, rank, size);
    assert_eq!(ranks("(vector,(0,1,2))", 1, 2), Some(vec![0, 1]));
    assert_eq!(ranks("(vector,(0,2,2))", 2, 4), Some(vec![2, 3]));
    assert_eq!(ranks("(vector,(0,2,1))", 0, 4), Some(vec![0, 2]));
    assert_eq!(ranks("(vector, (0,1,3),(1,1,1))", 3, 4), Some(vec![3]));
    for bad in [
        "",
        "(vector)",
        "(vector,)",
        "(vector,(0,1))",
        "(vector,(0,0,1))",
        "(vector,(0,1,0))",
        "(vector,(0,1,2)",
        "(vector,(0,1,2)x)",
        "(vector,(0,1,+2))",
        "(vector,(-1,1,2))",
        "(vector,(0,4294967295,1))",
    ] {
        assert_eq!(ranks(bad, 0, 2), None, "{bad}");
    }
    assert_eq!(ranks("(vector,(0,1,2))", 2, 2), None);
    assert_eq!(pmix::peers_of("3, 1,2", 2, 4), Some(vec![1, 2, 3]));
    assert_eq!(pmix::peers_of("1,2", 0, 4), None);
    assert_eq!(pmix::peers_of("0,4", 0, 4), None);
}

#[test]
fn the_environment_chooses() {
    let of = |pairs: &[(&str, &str)]| {
        let map: BTreeMap<String, String> = pairs
            .iter()
            .map(|(n, v)| ((*n).to_owned(), (*v).to_owned()))
            .collect();
        choose(&move |name: &str| map.get(name).cloned())
    };
    assert_eq!(of(&[]), Ok(Launcher::Alone));
    assert_eq!(of(&[("PMI_FD", "6")]), Ok(Launcher::Pmi1));
    assert_eq!(
        of(&[("PMI_FD", "6"), ("PMI_JOBID", "7.0")]),
        Ok(Launcher::Pmi2)
    );
    let pmix = [("PMIX_NAMESPACE", "n"), ("PMIX_RANK", "0")];
    assert_eq!(of(&pmix), Ok(Launcher::Pmix));
    assert_eq!(
        of(&[("HETMP_JOB", "x"), ("PMI_FD", "6")]),
        Ok(Launcher::Hetrun)
    );
    assert_eq!(
        of(&[("HETMP_JOB", "x"), ("HETMP_BOOTSTRAP", " Pmi2 ")]),
        Ok(Launcher::Pmi2)
    );
    assert_eq!(
        of(&[("HETMP_BOOTSTRAP", "mpi")]).unwrap_err().to_string(),
        "HETMP_BOOTSTRAP: 'mpi': not usable (expected alone, hetrun, pmi1, pmi2 or pmix)"
    );
}

#[test]
fn pmi_variables_are_checked() {
    let of = |fd: &str, rank: &str, size: &str| {
        let (fd, rank, size) = (fd.to_owned(), rank.to_owned(), size.to_owned());
        pmi1::environment(&move |name: &str| {
            Some(match name {
                "PMI_FD" => fd.clone(),
                "PMI_RANK" => rank.clone(),
                _ => size.clone(),
            })
        })
        .map(|_| ())
        .unwrap_err()
        .to_string()
    };
    assert!(of("x", "0", "1").starts_with("PMI_FD: 'x': not usable (expected an open descriptor"));
    assert!(of("987654", "0", "1")
        .starts_with("PMI_FD: \'987654\': not usable (expected an open descriptor"));
    assert!(of("4294967295", "0", "1")
        .starts_with("PMI_FD: \'4294967295\': not usable (expected an open"));
    assert!(of("0", "0", "1").starts_with("PMI_FD: \'0\': not usable (expected an open descriptor"));
    assert!(of("0", "2", "2").starts_with("PMI_RANK: \'2\': not usable (expected a number below"));
    assert!(of("0", "-1", "2").starts_with("PMI_RANK: \'-1\': not usable (expected a number below"));
    assert!(of("0", "0", "0").starts_with("PMI_SIZE: \'0\': not usable (expected 1 to"));
}

#[test]
fn tickets_are_hetruns() {
    let ticket = Ticket {
        socket: "hetrun-12-ab".to_owned(),
        rank: 3,
        secret: [0xa5; SECRET],
    };
    let text = ticket.encode();
    assert_eq!(Ticket::decode(&text), Some(ticket));
    let digits = "a5".repeat(SECRET);
    for bad in [
        String::new(),
        "a:1".to_owned(),
        format!("a:1:{digits}:x"),
        format!("a:-1:{digits}"),
        format!("a:+1:{digits}"),
        format!("a:01:{digits}"),
        format!(":1:{digits}"),
        format!("a/b:1:{digits}"),
        format!("a:1:{digits}00"),
        format!("a:1:{}", digits.to_uppercase()),
    ] {
        assert_eq!(Ticket::decode(&bad), None, "{bad}");
    }
    let mut other = [7; SECRET];
    assert!(same_secret(&other, &[7; SECRET]));
    other[SECRET - 1] = 8;
    assert!(!same_secret(&other, &[7; SECRET]));
}

/// What every job must do, as seen by rank 0 of 1.
fn exercise(job: &mut dyn Job) {
    assert_eq!((job.rank(), job.size()), (0, 1));
    assert_eq!(job.local_ranks(), [0]);
    let long: Vec<u8> = (0..MAX_VALUE).map(|i| (i % 251) as u8).collect();
    job.put("a", b"one").unwrap();
    job.put("empty", b"").unwrap();
    job.put("long", &long).unwrap();
    job.put(&"k".repeat(MAX_KEY), &[0, b';', b'=', b'\n', 255])
        .unwrap();
    job.fence().unwrap();
    assert_eq!(job.get(0, "a").unwrap().unwrap(), b"one");
    assert_eq!(job.get(0, "empty").unwrap().unwrap(), b"");
    assert_eq!(job.get(0, "long").unwrap().unwrap(), long);
    assert_eq!(
        job.get(0, &"k".repeat(MAX_KEY)).unwrap().unwrap(),
        [0, b';', b'=', b'\n', 255]
    );
    assert_eq!(job.get(0, "missing").unwrap(), None);
    for (got, what) in [
        (job.put("a", b"two"), "key a: "),
        (job.put("", b""), "key \"\": "),
        (job.put("a b", b""), "key \"a b\": "),
        (job.put(&"k".repeat(MAX_KEY + 1), b""), "key \"kk"),
        (job.put("hetmp.secret", b""), "key \"hetmp.secret\": "),
        (job.put("big", &vec![0; MAX_VALUE + 1]), "value of key big"),
        (
            job.get(1, "a").map(|_| ()),
            "rank 1: not in the job (expected 0 to 0)",
        ),
    ] {
        let text = got.unwrap_err().to_string();
        assert!(text.starts_with(what), "{text}");
    }
    job.finalize().unwrap();
}

#[test]
fn a_job_of_one() {
    let mut job = super::alone::Alone::new().unwrap();
    exercise(&mut job);
    let other = super::alone::Alone::new().unwrap();
    assert_ne!(job.secret(), other.secret());
}

fn file(stream: UnixStream) -> File {
    File::from(OwnedFd::from(stream))
}

/// Plays a launcher that speaks PMI-1, for one process; returns how often it was asked.
fn play_pmi1(stream: UnixStream, mapping: Option<&str>) -> usize {
    let mut output = stream.try_clone().unwrap();
    let mut input = BufReader::new(stream);
    let mut values: BTreeMap<String, String> = BTreeMap::new();
    if let Some(mapping) = mapping {
        values.insert("PMI_process_mapping".to_owned(), mapping.to_owned());
    }
    let mut asked = 0;
    while let Ok(question) = read_line(&mut input) {
        asked += 1;
        let answer = match question.get("cmd").unwrap() {
            "init" => Message::new("response_to_init")
                .with("pmi_version", 1)
                .with("pmi_subversion", 1)
                .with("rc", 0),
            "get_my_kvsname" => Message::new("my_kvsname").with("kvsname", "kvs_7_0"),
            "put" => {
                assert_eq!(question.get("kvsname"), Some("kvs_7_0"));
                let (key, value) = (question.get("key").unwrap(), question.get("value").unwrap());
                assert!(key.len() <= 64 && value.len() <= 1000, "{key}");
                let old = values.insert(key.to_owned(), value.to_owned());
                assert_eq!(old, None, "{key}");
                Message::new("put_result")
                    .with("rc", 0)
                    .with("msg", "success")
            }
            "barrier_in" => Message::new("barrier_out"),
            "get" => match values.get(question.get("key").unwrap()) {
                Some(value) => Message::new("get_result")
                    .with("rc", 0)
                    .with("msg", "success")
                    .with("value", value),
                None => Message::new("get_result")
                    .with("rc", -1)
                    .with("msg", "key_not_found")
                    .with("value", "unknown"),
            },
            "finalize" => Message::new("finalize_ack"),
            other => panic!("{other}"),
        };
        output.write_all(&answer.to_line()).unwrap();
    }
    asked
}

#[test]
fn a_process_under_pmi1() {
    for mapping in [Some("(vector,(0,1,1))"), Some("nonsense"), None] {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let launcher = std::thread::spawn(move || play_pmi1(theirs, mapping));
        let exchange = pmi1::Pmi1::start(file(ours)).unwrap();
        let mut job = values::Texts::join(exchange, 0, 1).unwrap();
        exercise(&mut job);
        assert_eq!(job.launcher(), Launcher::Pmi1);
        drop(job);
        assert!(launcher.join().unwrap() > 300);
    }
}

/// Plays a launcher that speaks PMI-2, for one process.
fn play_pmi2(stream: UnixStream) {
    let mut output = stream.try_clone().unwrap();
    let mut input = BufReader::new(stream);
    let first = read_line(&mut input).unwrap();
    assert_eq!(first.number("pmi_version"), Some(2));
    output
        .write_all(b"cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0\n")
        .unwrap();
    let mut values: BTreeMap<String, String> = BTreeMap::new();
    while let Ok(question) = read_packet(&mut input) {
        let command = question.get("cmd").unwrap().to_owned();
        let answer = Message::new(&format!("{command}-response")).with("rc", 0);
        let look = |answer: Message, value: Option<&String>| match value {
            Some(value) => answer.with("found", "TRUE").with("value", value),
            None => answer.with("found", "FALSE"),
        };
        let answer = match command.as_str() {
            "fullinit" => answer.with("rank", 0).with("size", 1),
            "job-getid" => answer.with("jobid", "j;1"),
            "info-getjobattr" => look(answer, Some(&"(vector,(0,1,1))".to_owned())),
            "kvs-put" => {
                let (key, value) = (question.get("key"), question.get("value"));
                values.insert(key.unwrap().to_owned(), value.unwrap().to_owned());
                answer
            }
            "kvs-get" => {
                assert_eq!(question.get("jobid"), Some("j;1"));
                look(answer, values.get(question.get("key").unwrap()))
            }
            "kvs-fence" | "finalize" => answer,
            other => panic!("{other}"),
        };
        output.write_all(&answer.to_packet().unwrap()).unwrap();
    }
}

#[test]
fn a_process_under_pmi2() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let launcher = std::thread::spawn(move || play_pmi2(theirs));
    let (exchange, rank, size) = pmi2::Pmi2::start(file(ours), 0, None).unwrap();
    assert_eq!((rank, size), (0, Some(1)));
    let mut job = values::Texts::join(exchange, 0, 1).unwrap();
    exercise(&mut job);
    drop(job);
    launcher.join().unwrap();
}

/// Says `words` to anything that the client asks, and ends.
fn say(words: &'static [u8]) -> UnixStream {
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    std::thread::spawn(move || {
        let mut asked = [0; 1024];
        let _ = theirs.read(&mut asked);
        let _ = theirs.write_all(words);
        let _ = theirs.shutdown(std::net::Shutdown::Write);
        // Keeps reading, so that the client's later writes do not fail first.
        while matches!(theirs.read(&mut asked), Ok(n) if n > 0) {}
    });
    ours
}

#[test]
fn launchers_that_end_or_talk_nonsense_are_named() {
    let ticket = Ticket {
        socket: "none".to_owned(),
        rank: 1,
        secret: [1; SECRET],
    };
    let text = |error: Error| error.to_string();
    let hetrun = |words| text(Hetrun::join(say(words), &ticket).map(|_| ()).unwrap_err());
    assert_eq!(
        hetrun(b""),
        "launcher hetrun: the connection is needed (it has ended)"
    );
    assert!(hetrun(b"\xff\xff\xff\xff").contains("length of a frame is out of bounds"));
    assert!(hetrun(b"\x01\0\0\0\x63").contains("unknown reply"));
    assert!(hetrun(b"\x01\0\0\0\x03").contains("an answer to another question"));
    // A job of one rank, which rank 1 is not in.
    assert!(hetrun(b"\x0d\0\0\0\x01\x01\0\0\0\0\0\0\0\0\0\0\0").contains("is not in"));
    let pmi1 = |words| text(pmi1::Pmi1::start(file(say(words))).map(|_| ()).unwrap_err());
    assert!(pmi1(b"").starts_with("launcher pmi1: the connection is needed"));
    assert!(pmi1(b"\xff\n").contains("a line is not of PMI-1"));
    assert!(pmi1(b"cmd=response_to_init pmi_version=2 rc=0\n").contains("pmi_version=2"));
    let pmi2 = |words| {
        text(
            pmi2::Pmi2::start(file(say(words)), 0, None)
                .map(|_| ())
                .unwrap_err(),
        )
    };
    assert!(pmi2(b"cmd=response_to_init pmi_version=1 rc=-1\n").contains("rc=-1"));
    let started = b"cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0\nabcdef";
    assert!(pmi2(started).contains("a length is not of PMI-2"));
}

/// The name of a launcher that has ended is free for anybody.
#[test]
fn a_launcher_of_another_user_hears_no_secret() {
    // SAFETY: a call without preconditions.
    if unsafe { libc::geteuid() } != 0 {
        eprintln!("only root can be another user");
        return;
    }
    let ticket = Ticket {
        socket: format!("hetmp-test-{}", std::process::id()),
        rank: 0,
        secret: [5; SECRET],
    };
    let name = SocketAddr::from_abstract_name(&ticket.socket).unwrap();
    let (tell, listening) = std::sync::mpsc::channel();
    let taker = std::thread::spawn(move || {
        let nobody = 65534;
        // SAFETY: numbers. The system call itself, unlike the C library's function, concerns this thread alone.
        let done = unsafe { libc::syscall(libc::SYS_setresuid, nobody, nobody, nobody) };
        assert_eq!(done, 0);
        let listener = UnixListener::bind_addr(&name).unwrap();
        tell.send(()).unwrap();
        let mut heard = Vec::new();
        let (mut caller, _) = listener.accept().unwrap();
        caller.read_to_end(&mut heard).unwrap();
        heard
    });
    listening.recv().unwrap();
    let refused = Hetrun::connect(&ticket.encode());
    let why = refused.map(|_| ()).unwrap_err().to_string();
    assert!(why.contains("its socket belongs to user 65534"), "{why}");
    assert_eq!(taker.join().unwrap(), b"");
}

#[test]
fn hello_carries_version_secret_and_rank() {
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    let ticket = Ticket {
        socket: "none".to_owned(),
        rank: 2,
        secret: [9; SECRET],
    };
    let launcher = std::thread::spawn(move || {
        let bytes = read_frame(&mut theirs).unwrap().unwrap();
        let welcome = Reply::Welcome {
            size: 4,
            local: vec![2, 3],
            address: "10.0.0.2".to_owned(),
        };
        theirs.write_all(&welcome.encode()).unwrap();
        Request::decode(&bytes).unwrap()
    });
    let job = Hetrun::join(ours, &ticket).unwrap();
    assert_eq!((job.rank(), job.size()), (2, 4));
    assert_eq!(job.local_ranks(), [2, 3]);
    assert_eq!(job.address(), Some("10.0.0.2".parse().unwrap()));
    assert_eq!(
        launcher.join().unwrap(),
        Request::Hello {
            version: VERSION,
            secret: [9; SECRET],
            rank: 2
        }
    );
    assert_eq!(unhex(&hex(&[0, 255, 16])), Some(vec![0, 255, 16]));
}
