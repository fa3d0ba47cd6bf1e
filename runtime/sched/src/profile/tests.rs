use super::*;
use crate::ways::Reason;
use proptest::prelude::*;

fn setting(nodes: &str, object: &str) -> Setting {
    Setting {
        nodes: nodes.to_owned(),
        object: object.to_owned(),
    }
}

fn saved(ns: &[f64]) -> Saved {
    Saved {
        rates: ns.iter().map(|&ns| Some(NodeRate::of(ns))).collect(),
        probes: 2,
    }
}

fn place(offset: u64) -> Place {
    Place {
        offset,
        magnitude: 11,
        shape: 0xabc,
    }
}

impl Profile {
    fn insert(&mut self, setting: &Setting, place: Place, saved: Saved) {
        self.section(setting).loops.insert(place, saved);
    }
}

fn kept(ns: f64) -> Kept {
    Kept {
        way: Way::Virtual,
        ns,
        confirmed: true,
    }
}

fn sample() -> Profile {
    let mut p = Profile::default();
    p.insert(
        &setting("cores=0;cores=1", "aa"),
        place(0x10),
        saved(&[1.5, 3.0]),
    );
    p.insert(
        &setting("cores=0;cores=1", "bb"),
        place(0x20),
        saved(&[2.0, 2.0]),
    );
    p.insert(&setting("2", "aa"), place(0x10), saved(&[9.0, 9.0]));
    let ways = &mut p.section(&setting("2", "aa")).ways;
    ways.insert((0x30, 2), kept(7.5));
    p
}

#[test]
fn the_last_used_come_first() {
    let p = sample();
    let order: Vec<_> = p.sections.iter().map(|(s, _)| s.object.as_str()).collect();
    assert_eq!(order, ["aa", "bb", "aa"]);
    assert_eq!(p.sections[0].0.nodes, "2");
    let one = p.regions(&setting("cores=0;cores=1", "aa")).expect("there");
    assert_eq!(one.loops[&place(0x10)], saved(&[1.5, 3.0]));
    assert!(p.regions(&setting("2", "bb")).is_none());
}

#[test]
fn of_too_many_regions_the_newest_are_kept() {
    let mut p = Profile::default();
    for object in ["01", "02", "03"] {
        for i in 0..1000 {
            p.insert(&setting("n", object), place(i), saved(&[1.0]));
        }
    }
    let of_one = p.to_string().len() / 3;
    let text = p.text(of_one * 5 / 2);
    let left: Vec<_> = p.sections.iter().map(|(s, _)| s.object.as_str()).collect();
    assert_eq!(left, ["03", "02"]);
    assert_eq!(Profile::parse(&text), Ok(p.clone()));
    // What this process has learned is more than there is room for: the caller says so.
    assert!(p.text(1000).len() > 1000 && p.sections.len() == 1);
}

#[test]
fn another_process_is_not_overwritten() {
    let s = setting("n", "aa");
    let mut disk = Profile::default();
    disk.insert(&s, place(1), saved(&[10.0]));
    let before = disk.regions(&s).cloned();
    // Another one has learned more of region 1, and region 2.
    disk.insert(&s, place(1), saved(&[20.0]));
    disk.insert(&s, place(2), saved(&[5.0]));
    let ways = &mut disk.section(&s).ways;
    ways.extend([((1, 2), kept(3.0)), ((2, 2), kept(4.0))]);
    let news = Regions {
        loops: [(place(1), saved(&[40.0])), (place(3), saved(&[7.0]))].into(),
        ways: [((1, 2), kept(5.0))].into(),
    };
    disk.merge(&s, before.as_ref(), news.clone());
    let ns = |p: &Profile, at| {
        p.regions(&s).expect("there").loops[&place(at)].rates[0].map(|r| r.ns_per_iteration)
    };
    assert_eq!(ns(&disk, 1), Some(0.75 * 40.0 + 0.25 * 20.0));
    assert_eq!((ns(&disk, 2), ns(&disk, 3)), (Some(5.0), Some(7.0)));
    let ways = &disk.regions(&s).expect("there").ways;
    assert_eq!((ways[&(1, 2)], ways[&(2, 2)]), (kept(5.0), kept(4.0)));
    // Nobody else wrote: ours already contains what was there.
    let mut disk = Profile::default();
    disk.insert(&s, place(1), saved(&[10.0]));
    disk.merge(&s, before.as_ref(), news);
    assert_eq!(ns(&disk, 1), Some(40.0));
}

#[test]
fn what_is_not_a_profile() {
    for (text, ours, why) in [
        ("x", false, "no profile (expected one that hetmp wrote)"),
        (
            "\u{7f}ELF",
            false,
            "no profile (expected one that hetmp wrote)",
        ),
        (
            "hetmp-profile 2\nend 0\n",
            false,
            "version 2 (expected a profile of version 3)",
        ),
        ("hetmp-profile 3", true, "line 2: the file ends"),
        ("hetmp-profile 3\n", true, "line 2: \""),
        ("hetmp-profile 3\nend 0", true, "line 3: more after"),
        (
            "hetmp-profile 3\nend 1\n",
            true,
            "line 2: no end line with 0",
        ),
        ("hetmp-profile 3\nobject aa\n", true, "line 2: a nodes line"),
        (
            "hetmp-profile 3\nnodes 2\nobject XY\n",
            true,
            "line 3: no build-id",
        ),
        (
            "hetmp-profile 3\nnodes 2\nregion 1\n",
            true,
            "line 3: an object line",
        ),
        (
            "hetmp-profile 3\nnodes 2\nobject aa\nnode 1\n",
            true,
            "line 4: a region line",
        ),
        (
            "hetmp-profile 3\nnodes 2\nobject aa\nregion 1 2 3\n",
            true,
            "line 4: more words",
        ),
        (
            "hetmp-profile 3\nnodes 2\nobject aa\nregion 1 999 3 4\n",
            true,
            "line 4: \"",
        ),
        (
            "hetmp-profile 3\nnodes 2\nobject aa\nregion 1 2 3 4 5\n",
            true,
            "line 4: \"",
        ),
        (
            "hetmp-profile 3\nnodes 2\nobject aa\nregion 1 2 3 4\nnode 0\n",
            true,
            "line 5: \"",
        ),
        (
            "hetmp-profile 3\nnodes 2\nobject aa\nregion 1 2 3 4\nnode inf\n",
            true,
            "line 5: \"",
        ),
        (
            "hetmp-profile 3\nnodes 2\nobject aa\nway 1 2 quick 5.0 found\n",
            true,
            "line 4: \"quick\" for the word of a way",
        ),
    ] {
        let refusal = Profile::parse(text).expect_err(text);
        assert_eq!(refusal.ours, ours, "{text}");
        assert!(refusal.why.starts_with(why), "{refusal}\nwanted {why}");
        assert!(!refusal.why.contains('\n'));
    }
    assert_eq!(Profile::parse(""), Ok(Profile::default()));
}

/// However it is cut, it is noticed, and nothing of it is taken.
#[test]
fn a_cut_file_is_noticed() {
    let text = sample().to_string();
    for cut in 1..text.len() {
        assert!(Profile::parse(&text[..cut]).is_err(), "{cut}");
    }
}

fn any_saved() -> impl Strategy<Value = Saved> {
    let node = prop::option::of(1e-3f64..1e12);
    (prop::collection::vec(node, 0..5), any::<u32>()).prop_map(|(nodes, probes)| Saved {
        rates: nodes.iter().map(|ns| ns.map(NodeRate::of)).collect(),
        probes,
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        regions in prop::collection::vec((0u8..3, 0u8..3, any::<(u64, u8, u64)>(), any_saved()), 0..12),
        ways in prop::collection::vec((any::<(u64, u32)>(), 0..Reason::ALL.len(), 1e-3f64..1e12, any::<bool>()), 0..9),
    ) {
        let mut p = Profile::default();
        for (nodes, object, (offset, magnitude, shape), saved) in regions {
            p.insert(
                &setting(&format!("cores={nodes}"), &format!("{object:02x}")),
                Place { offset, magnitude, shape },
                saved,
            );
        }
        let section = p.section(&setting("cores=0", "00"));
        section.ways.extend(ways.into_iter().map(|(at, reason, ns, confirmed)| {
            let way = Way::Ordinary(Reason::ALL[reason]);
            (at, Kept { way, ns, confirmed })
        }));
        prop_assert_eq!(Profile::parse(&p.to_string()), Ok(p));
    }

    #[test]
    fn no_text_does_harm(text in "(hetmp-profile 3\n)?((nodes|object|region|node|way|end|x) \
                                  [0-9a-f. -]{0,20}\n){0,8}") {
        let _ = Profile::parse(&text);
    }

    #[test]
    fn no_damage_does_harm(at in 0usize..400, byte in any::<u8>()) {
        let mut bytes = sample().to_string().into_bytes();
        let at = at % bytes.len();
        bytes[at] = byte;
        if let Ok(text) = String::from_utf8(bytes) {
            let _ = Profile::parse(&text);
        }
    }
}
