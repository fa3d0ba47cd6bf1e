//! A function and the functions that it calls, each followed once from every state of the registers that it is
//! called with.
//!
//! [`settle`] has the states of one function's points, [`calls`] what a call does to them, [`turns`] the loops whose
//! iterations threads take in turn.

mod calls;
mod settle;
mod turns;
mod uneven;

use std::collections::{BTreeMap, BTreeSet};

use crate::carried::{self, Interface};
use crate::code::Roles;
use crate::findings::{Findings, Frame, Uneven};
use crate::graph::Graph;
use crate::once;
use crate::state::{State, GENERAL, VECTOR};
use crate::told;
use crate::value::Value;
use crate::{Calls, Entry, Form, Image, Scan, Use, Why};

/// Instructions that one scan decodes, all functions together.
const DECODED: usize = 40_000;
/// Instructions that one scan executes.
const EXECUTED: usize = 400_000;
/// How deep calls are followed.
const DEPTH: usize = 8;

/// What a function leaves in the registers, or `None` where it does not
/// return.
type Exit = Option<(Vec<Value>, Vec<Value>)>;

struct Analysis<'a> {
    image: &'a dyn Image,
    findings: Findings,
    calls: Calls,
    asked: (bool, bool),
    decoded: usize,
    executed: usize,
    /// Functions that were followed, by address and by what the registers held.
    known: BTreeMap<u64, Vec<Known>>,
    active: Vec<u64>,
    /// Those among the active functions that call themselves, and were taken to leave nothing of
    /// the numbers behind.
    recursive: BTreeSet<u64>,
    /// Whether the results of its loops depend on how they are divided, where
    /// that was asked for: an instruction that shows it.
    divided: Option<Result<(), u64>>,
    /// What the first of the functions is called with.
    form: Form,
    /// What the followed functions do with registers.
    interfaces: BTreeMap<u64, Interface>,
    /// Whether it is to be found out if parts can be made uneven.
    looks_at_parts: bool,
    /// The states are settled, and judged.
    judging: bool,
    /// The functions that were followed, where parts are looked at.
    graphs: BTreeMap<u64, Graph>,
    /// Functions in which each thread prints or counts once, and where.
    always: BTreeMap<u64, u64>,
    /// Calls of the first function that are taken to ask for the number of threads only in order to print it.
    told_calls: BTreeSet<u64>,
}

/// A function that was followed from one state of the registers.
struct Known {
    state: State,
    exit: Exit,
    findings: Findings,
}

pub(crate) fn scan(image: &dyn Image, entry: u64, form: Form) -> Scan {
    Analysis::new(image, form).scan(entry)
}

/// See [`crate::scan_with_division`].
pub(crate) fn scan_with_division(
    image: &dyn Image,
    entry: u64,
    form: Form,
) -> (Scan, Result<(), u64>) {
    let mut analysis = Analysis {
        divided: Some(Ok(())),
        ..Analysis::new(image, form)
    };
    let scan = analysis.scan(entry);
    let divided = match scan.fits() {
        // What that call does is not known, so that the rest was not looked at.
        Ok(()) if scan.calls.unknown => Err(scan.calls.unknown_address),
        Ok(()) => analysis.divided.unwrap_or(Err(entry)),
        Err((_, at)) => Err(at),
    };
    (scan, divided)
}

/// The function at `entry` and those that it calls, as far as they were followed, by their addresses, and what was
/// found about the parts of their loops.
///
/// # Errors
/// Why the function cannot be followed, and where.
#[cfg_attr(
    not(target_arch = "x86_64"),
    allow(dead_code, reason = "copies are made of x86-64's code alone")
)]
pub(crate) fn look_at_parts(
    image: &dyn Image,
    entry: u64,
) -> Result<(BTreeMap<u64, Graph>, Uneven), (Why, u64)> {
    let mut analysis = Analysis {
        looks_at_parts: true,
        ..Analysis::new(image, Form::Data)
    };
    let state = State::outlined(Form::Data, image.machine());
    analysis.function(entry, state)?;
    // A loop that the runtime divides, of the same length and schedule, would keep equal parts.
    let divided = [Entry::LoopDispatch, Entry::Ordered, Entry::Doacross];
    if analysis.calls.any(&divided) {
        return Err((Why::Branch, entry));
    }
    Ok((analysis.graphs, analysis.findings.uneven))
}

impl<'a> Analysis<'a> {
    fn new(image: &'a dyn Image, form: Form) -> Analysis<'a> {
        Analysis {
            image,
            findings: Findings::default(),
            calls: Calls::default(),
            asked: (false, false),
            decoded: DECODED,
            executed: EXECUTED,
            known: BTreeMap::new(),
            active: Vec::new(),
            recursive: BTreeSet::new(),
            divided: None,
            form,
            interfaces: BTreeMap::new(),
            looks_at_parts: false,
            judging: false,
            graphs: BTreeMap::new(),
            always: BTreeMap::new(),
            told_calls: BTreeSet::new(),
        }
    }
}

impl Analysis<'_> {
    fn scan(&mut self, entry: u64) -> Scan {
        let limit = self
            .function(entry, State::outlined(self.form, self.image.machine()))
            .err();
        let ticket = self.findings.ticket;
        let limit = limit.or_else(|| ticket.map(|(address, _)| (Why::Counter, address)));
        let used = |asked: bool, escape: Option<(u64, Why)>| match escape {
            Some((address, why)) => Use::Escapes(why, address),
            None if asked => Use::Arithmetic,
            None => Use::Absent,
        };
        Scan {
            thread_number: used(self.asked.0, self.findings.id),
            team_size: match (self.findings.team, self.always.get(&entry)) {
                (None, Some(&address)) => Use::Escapes(Why::EachThread, address),
                (team, _) => used(self.asked.1, team),
            },
            calls: self.calls,
            chunks: u32::try_from(self.findings.splits.len()).unwrap_or(u32::MAX),
            told: self.findings.told.values().copied().collect(),
            limit: limit.map(|(why, _)| why),
            limit_address: limit.map_or(0, |(_, address)| address),
        }
    }

    /// Follows the function at `entry`, whose registers hold what `state`
    /// says.
    pub(super) fn function(&mut self, entry: u64, state: State) -> Result<Exit, (Why, u64)> {
        let found = self
            .known
            .get(&entry)
            .and_then(|all| all.iter().find(|known| known.state == state));
        if let Some(known) = found {
            self.findings.merge(&known.findings);
            return Ok(known.exit.clone());
        }
        let knows_nothing = state == State::entry(self.image.machine());
        if self.active.contains(&entry) && knows_nothing {
            // What it calls itself with says nothing about the numbers, and whatever it finds out
            // is found where it is being followed. Taken to leave nothing of the numbers behind,
            // which is checked there.
            self.recursive.insert(entry);
            return Ok(Some((
                vec![Value::Plain; GENERAL],
                vec![Value::Plain; VECTOR],
            )));
        }
        if self.active.contains(&entry) || self.active.len() >= DEPTH {
            return Err((Why::TooLong, entry));
        }
        self.active.push(entry);
        let outer = std::mem::take(&mut self.findings);
        let exit = self.follow(entry, &state);
        let findings = std::mem::replace(&mut self.findings, outer);
        self.active.pop();
        let mut findings = findings;
        if matches!(exit, Ok(None)) {
            // Who ends the program may say what the counter was.
            findings.ticket = None;
        }
        self.findings.merge(&findings);
        let exit = exit?;
        let roles = self.image.machine().roles();
        if self.recursive.remove(&entry)
            && exit
                .as_ref()
                .is_some_and(|exit| leaves_numbers(exit, roles))
        {
            return Err((Why::TooLong, entry));
        }
        self.known.entry(entry).or_default().push(Known {
            state,
            exit: exit.clone(),
            findings,
        });
        Ok(exit)
    }

    fn follow(&mut self, entry: u64, state: &State) -> Result<Exit, (Why, u64)> {
        let mut graph = Graph::read(self.image, entry, &mut self.decoded)?;
        self.calls.thread_local |= graph.thread_local;
        self.calls.polls |= crate::polls::any(&graph);
        if self.active.len() == 1 && !self.looks_at_parts {
            self.told_calls = told::pick(&graph);
        }
        let mut frame = Frame::default();
        let states = self.settle_frame(&graph, entry, state, &mut frame)?;
        let records = self.divided.is_some();
        let mut exit = self.judge(&graph, &states, &mut frame, records)?;
        if self.may_be_strided() && !self.looks_at_parts {
            exit = self.judge(&graph, &states, &mut frame, true)?;
        }
        if self.may_be_strided()
            && !self.looks_at_parts
            && self.finds_strided(&mut graph, &states, &frame)
        {
            frame = Frame::default();
            let states = self.settle_frame(&graph, entry, state, &mut frame)?;
            exit = self.judge(&graph, &states, &mut frame, records)?;
            let headers = graph.strided.iter().map(|strided| strided.header);
            self.findings.splits.extend(headers);
            if let Some(divided @ Ok(())) = &mut self.divided {
                // What such a loop carries from one iteration to the next is not looked at.
                *divided = Err(entry);
            }
        }
        if let Some(at) = once::each_thread(&graph, &self.always) {
            self.always.insert(entry, at);
        }
        self.judge_division(&graph, &frame, entry);
        if self.looks_at_parts {
            self.graphs.insert(entry, graph);
        }
        Ok(exit.map(|state| (state.general.to_vec(), state.vector.to_vec())))
    }

    /// Where it was asked for: do the results depend on the division?
    fn judge_division(&mut self, graph: &Graph, frame: &Frame, entry: u64) {
        let Some(divided) = self.divided else {
            return;
        };
        let inner = self.active.len() > 1;
        let here = |at: &&u64| graph.nodes.contains_key(at);
        let splits: BTreeSet<u64> = self.findings.splits.iter().filter(here).copied().collect();
        // A function that not every team size is known to fit is not divided at all.
        let escapes = self.findings.id.is_some() || self.findings.team.is_some();
        let fits = !escapes && !self.findings.splits.is_empty() && !self.calls.unknown;
        if divided.is_ok() && (inner && !splits.is_empty() || !inner && fits) {
            let ends = self.findings.ends.iter().filter(here).copied().collect();
            let found = carried::check(
                (graph, frame),
                (&splits, &ends),
                &self.interfaces,
                inner,
                self.form,
            );
            self.divided = Some(found);
        }
        if inner {
            let interface = Interface::of(graph, frame, &self.interfaces);
            self.interfaces.insert(entry, interface);
        }
    }
}

/// Whether something that stems from the numbers, or belongs to a split, is in a register that a call
/// may change.
fn leaves_numbers((general, vector): &(Vec<Value>, Vec<Value>), roles: &Roles) -> bool {
    let mut left = roles
        .caller_saved
        .iter()
        .map(|&n| general[n])
        .chain(vector.iter().copied());
    left.any(|value| !value.is_free() || value.split().is_some())
}
