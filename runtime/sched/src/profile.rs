//! The text that keeps a probe cache from one process to the next.
//!
//! One item a line, words separated by single blanks, `-` for what is not known, no comments:
//!
//! ```text
//! hetmp-profile 3
//! nodes cores=0,speed=1;cores=1,speed=0.33
//! object 5f0c9a...                          build-id of the regions' object, in hexadecimal
//! region 1513 11 9d2c5680f3b1a1c7 2         offset, magnitude, shape; times probed
//! node 4641.9                               nanoseconds per iteration
//! node 13948.6
//! way 1513 2 virtual-team 5756000.0 confirmed   offset, threads, way; usual ns; or `found` by one trial only
//! end 2                                     number of regions and ways, so that a cut file is noticed
//! ```
//!
//! A `nodes` line applies until the next one, and so does an `object` line. Offsets and shapes are
//! hexadecimal. Plans are not kept: they follow from the averages, and from the
//! [`Objective`](crate::decide::Objective) of the process that reads them.
//!
//! Pure: text in, values out, and the other way round.

use crate::cache::{Saved, NEW_WEIGHT};
use crate::gain::Kept;
use crate::probe::NodeRate;
use crate::ways::Way;
use core::fmt;
use std::collections::BTreeMap;

/// The first line.
const HEADER: &str = "hetmp-profile 3";
/// Most nodes of one region; a bound against damaged files.
const MOST_NODES: usize = 4096;

/// The machine and the object for which a region was measured.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Setting {
    /// The nodes, in the syntax of `HETMP_NODES`.
    pub nodes: String,
    /// The build-id of the object that holds the region, in hexadecimal.
    pub object: String,
}

/// A region of an object: what [`Key`](crate::cache::Key) is within one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Offset in the object.
    pub offset: u64,
    /// Bits of the trip count.
    pub magnitude: u8,
    /// `Placement::shape_key`.
    pub shape: u64,
}

/// What is known of one object's regions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Regions {
    /// Of their loops.
    pub loops: BTreeMap<Place, Saved>,
    /// Of their ways, by offset in the object and number of threads.
    pub ways: BTreeMap<(u64, u32), Kept>,
}

/// A whole profile. Its [`Display`](fmt::Display) is the text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    /// The most recently used setting first.
    sections: Vec<(Setting, Regions)>,
}

/// Why a text is no profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// True for a damaged profile of this version; false for any other text.
    pub ours: bool,
    /// What is wrong, and what is expected.
    pub why: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

impl Profile {
    /// Reads a text. An empty one is an empty profile.
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        if text.is_empty() {
            return Ok(Profile::default());
        }
        let mut lines = Lines {
            number: 0,
            lines: text.split('\n'),
        };
        match lines.next() {
            Some(HEADER) => {}
            first => {
                let first = first.unwrap_or("");
                let why = match first.strip_prefix("hetmp-profile ") {
                    Some(version) => format!(
                        "version {} (expected a profile of version 3)",
                        clean(version)
                    ),
                    None => "no profile (expected one that hetmp wrote)".to_owned(),
                };
                return Err(Refusal { ours: false, why });
            }
        }
        lines.body().map_err(|what| Refusal {
            ours: true,
            why: format!("line {}: {what} (expected a whole profile)", lines.number),
        })
    }

    /// What is known of the regions in `setting`.
    #[must_use]
    pub fn regions(&self, setting: &Setting) -> Option<&Regions> {
        self.sections
            .iter()
            .find(|(s, _)| s == setting)
            .map(|(_, r)| r)
    }

    /// Adds what is known of objects that this profile does not have.
    pub fn append(&mut self, mut other: Profile) {
        self.sections.append(&mut other.sections);
    }

    /// Whether the profile holds no region.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sections
            .iter()
            .all(|(_, r)| r.loops.is_empty() && r.ways.is_empty())
    }

    /// Makes the setting the most recently used one.
    fn section(&mut self, setting: &Setting) -> &mut Regions {
        let at = match self.sections.iter().position(|(s, _)| s == setting) {
            Some(at) => at,
            None => {
                self.sections.push((setting.clone(), Regions::default()));
                self.sections.len() - 1
            }
        };
        self.sections[..=at].rotate_right(1);
        &mut self.sections[0].1
    }

    /// Adds `news`, which this process has learned after it began with `before`. Regions that another process
    /// has written meanwhile are kept, and averaged where both processes know the region.
    pub fn merge(&mut self, setting: &Setting, before: Option<&Regions>, mut news: Regions) {
        let section = self.section(setting);
        for (place, fresh) in news.loops {
            let other = section.loops.get(&place);
            let known = before.and_then(|b| b.loops.get(&place));
            let merged = match other {
                Some(other) if Some(other) != known => other.blend(&fresh),
                _ => fresh,
            };
            section.loops.insert(place, merged);
        }
        section.ways.append(&mut news.ways);
    }

    /// The text. If it would have more than `most` bytes, the settings that were not used for longest are forgotten,
    /// but not the last one.
    pub fn text(&mut self, most: usize) -> String {
        loop {
            let text = self.to_string();
            if text.len() <= most || self.sections.len() < 2 {
                return text;
            }
            self.sections.pop();
        }
    }
}

impl Saved {
    /// Blends what two processes have learned; `newer` counts for more, with the cache's weights.
    #[must_use]
    pub(crate) fn blend(&self, newer: &Saved) -> Saved {
        if self.rates.len() != newer.rates.len() {
            return newer.clone();
        }
        let pairs = self.rates.iter().zip(&*newer.rates);
        Saved {
            rates: pairs
                .map(|(old, new)| match (old, new) {
                    (Some(old), Some(new)) => Some(old.blend(new, NEW_WEIGHT)),
                    (old, new) => new.or(*old),
                })
                .collect(),
            probes: self.probes.max(newer.probes),
        }
    }
}

struct Lines<'a> {
    number: usize,
    lines: core::str::Split<'a, char>,
}

impl<'a> Iterator for Lines<'a> {
    type Item = &'a str;
    fn next(&mut self) -> Option<&'a str> {
        self.number += 1;
        self.lines.next()
    }
}

impl Lines<'_> {
    fn body(&mut self) -> Result<Profile, String> {
        let mut profile = Profile::default();
        let (mut nodes, mut setting) = (None, None);
        let mut place: Option<Place> = None;
        let mut count = 0usize;
        loop {
            let line = self.next().ok_or("the file ends without an end line")?;
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            let mut words = Words(rest.split(' '));
            match word {
                "nodes" if !rest.is_empty() => {
                    nodes = Some(rest.to_owned());
                    (setting, place) = (None, None);
                }
                "object" => {
                    let good = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
                    if rest.is_empty() || rest.len() > 256 || !rest.bytes().all(good) {
                        return Err("no build-id in hexadecimal".to_owned());
                    }
                    let nodes = nodes.clone().ok_or("a nodes line must come before")?;
                    let object = rest.to_owned();
                    setting = Some(profile.sections.len());
                    profile
                        .sections
                        .push((Setting { nodes, object }, Regions::default()));
                    place = None;
                }
                "region" => {
                    let at = setting.ok_or("an object line must come before")?;
                    let here = Place {
                        offset: words.hexadecimal()?,
                        magnitude: words.integer()?,
                        shape: words.hexadecimal()?,
                    };
                    let probes = words.integer()?;
                    words.end()?;
                    let saved = Saved {
                        probes,
                        ..Saved::default()
                    };
                    if profile.sections[at].1.loops.insert(here, saved).is_some() {
                        return Err("a region twice".to_owned());
                    }
                    place = Some(here);
                    count += 1;
                }
                "way" => {
                    let at = setting.ok_or("an object line must come before")?;
                    let here = (words.hexadecimal()?, words.integer()?);
                    let kept = words.way()?;
                    words.end()?;
                    if profile.sections[at].1.ways.insert(here, kept).is_some() {
                        return Err("a way twice".to_owned());
                    }
                    count += 1;
                }
                "node" => {
                    let saved = setting
                        .zip(place)
                        .and_then(|(at, place)| profile.sections[at].1.loops.get_mut(&place))
                        .ok_or("a region line must come before")?;
                    words.node(saved)?;
                    words.end()?;
                }
                "end" => {
                    if words.integer::<usize>()? != count {
                        return Err(format!("no end line with {count}"));
                    }
                    words.end()?;
                    if self.next() != Some("") || self.next().is_some() {
                        return Err("more after the end line".to_owned());
                    }
                    return Ok(profile);
                }
                _ => {
                    return Err(format!(
                        "\"{}\" for nodes, object, region, node, way or end",
                        clean(word)
                    ))
                }
            }
        }
    }
}

struct Words<'a>(core::str::Split<'a, char>);

impl<'a> Words<'a> {
    fn word(&mut self) -> Result<&'a str, String> {
        self.0
            .next()
            .filter(|w| !w.is_empty())
            .ok_or_else(|| "more words are needed".to_owned())
    }

    fn integer<T: core::str::FromStr>(&mut self) -> Result<T, String> {
        let word = self.word()?;
        word.parse()
            .ok()
            .filter(|_| word.bytes().all(|b| b.is_ascii_digit()))
            .ok_or_else(|| format!("\"{}\" for an integer", clean(word)))
    }

    fn hexadecimal(&mut self) -> Result<u64, String> {
        let word = self.word()?;
        u64::from_str_radix(word, 16)
            .ok()
            .filter(|_| word.bytes().all(|b| b.is_ascii_hexdigit()))
            .ok_or_else(|| format!("\"{}\" for a hexadecimal number", clean(word)))
    }

    /// A number for which `good` is true, or `-`.
    fn number(&mut self, good: impl Fn(f64) -> bool) -> Result<Option<f64>, String> {
        let word = self.word()?;
        if word == "-" {
            return Ok(None);
        }
        word.parse()
            .ok()
            .filter(|&x: &f64| x.is_finite() && good(x))
            .map(Some)
            .ok_or_else(|| format!("\"{}\" for a number or -", clean(word)))
    }

    fn node(&mut self, saved: &mut Saved) -> Result<(), String> {
        let ns = self.number(|x| x > 0.0)?;
        if saved.rates.len() == MOST_NODES {
            return Err(format!("more than {MOST_NODES} nodes"));
        }
        saved.rates.push(ns.map(NodeRate::of));
        Ok(())
    }

    fn way(&mut self) -> Result<Kept, String> {
        let word = self.word()?;
        let refusal = || format!("\"{}\" for the word of a way", clean(word));
        let way = Way::of_word(word).ok_or_else(refusal)?;
        let ns = self.number(|x| x > 0.0)?.ok_or("a time is needed")?;
        let confirmed = match self.word()? {
            "found" => false,
            "confirmed" => true,
            word => return Err(format!("\"{}\" for found or confirmed", clean(word))),
        };
        Ok(Kept { way, ns, confirmed })
    }

    fn end(&mut self) -> Result<(), String> {
        match self.0.next() {
            None | Some("") => Ok(()),
            Some(word) => Err(format!("\"{}\" after the last word", clean(word))),
        }
    }
}

/// The part of a foreign text that may be shown to the user.
fn clean(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(40).collect()
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{HEADER}")?;
        let mut nodes = "";
        let mut count = 0;
        for (setting, regions) in &self.sections {
            if setting.nodes != nodes {
                nodes = &setting.nodes;
                writeln!(f, "nodes {nodes}")?;
            }
            writeln!(f, "object {}", setting.object)?;
            for (place, saved) in &regions.loops {
                count += 1;
                writeln!(
                    f,
                    "region {:x} {} {:x} {}",
                    place.offset, place.magnitude, place.shape, saved.probes
                )?;
                for rate in &saved.rates {
                    let ns = rate.map(|r| r.ns_per_iteration);
                    match ns.filter(|ns| ns.is_finite()) {
                        Some(ns) => writeln!(f, "node {ns:?}")?,
                        None => writeln!(f, "node -")?,
                    }
                }
            }
            for ((offset, threads), kept) in &regions.ways {
                count += 1;
                let (way, ns) = (kept.way.word(), kept.ns);
                let by = if kept.confirmed { "confirmed" } else { "found" };
                writeln!(f, "way {offset:x} {threads} {way} {ns:?} {by}")?;
            }
        }
        writeln!(f, "end {count}")
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
