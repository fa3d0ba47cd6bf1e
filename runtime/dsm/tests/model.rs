//! Every interleaving of small settings, by stateright. The model checks that a page has one writer at most,
//! that no old page is read, that no write is lost, that no message comes which does not fit, that the nodes
//! never all stand still, and that they make progress.
//!
//! Progress is shown in two ways. Between two nodes, with holds that last longer than transfers, the number
//! of steps between two executed instructions has a bound on every path. With holds that end at any time and
//! in any order, the end can still be reached from every state: no page is ever stuck, and with holds of
//! random length the program ends with probability 1. For three nodes whose instructions cross pages there is
//! no such bound: whoever chooses which of several holds ends first can send the pages round for ever. The
//! model finds this cycle. For this reason the driver's holds have random lengths.
//!
//! `scripts/model dsm` runs the larger settings, too.

mod common;

use common::{Flaw, Instruction, Loans, Setting, Step, World};
use hetmp_dsm::Access::{Read, Write};
use hetmp_dsm::{Access, Action, Homes, Message, Node, NodeId};
use stateright::{Checker as _, Model, Property};
use std::collections::HashMap;

/// More steps than lie between two executed instructions on any path of these settings.
const BOUND: u16 = 120;

struct Checked {
    setting: Setting,
    /// Some page of the setting becomes migratory.
    migrates: bool,
}

/// How the setting begins. Where pages are lent, the home and node 1 have fought for page 0 already.
fn start(setting: &Setting) -> World {
    let mut world = World::new(setting);
    if setting.loans.is_some() {
        world.fight(setting, 0, 1);
    }
    world
}

/// Has some page's home moved, and does the new home know it?
fn has_moved(setting: &Setting, world: &World) -> bool {
    (world.nodes.iter())
        .any(|n| (0..2).any(|p| setting.homes.of(p) != n.number() && n.entry(p).is_some()))
}

/// Is a page under way that a node wanted to read, and may write?
fn hands_on(world: &World) -> bool {
    world.network.iter().any(|e| match e.message {
        Message::Page { page, access, .. } => {
            access == Write && world.nodes[usize::from(e.to)].wanted(page) == Read
        }
        _ => false,
    })
}

impl Model for Checked {
    type State = World;
    type Action = Step;

    fn init_states(&self) -> Vec<World> {
        vec![start(&self.setting)]
    }

    fn actions(&self, state: &World, actions: &mut Vec<Step>) {
        actions.extend(state.steps(&self.setting));
    }

    fn next_state(&self, state: &World, step: Step) -> Option<World> {
        let mut next = state.clone();
        next.step(&self.setting, step);
        if !self.setting.timed {
            // Here a cycle is not an error, and the model must recognise it as a cycle.
            next.since = 0;
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("coherent", |_, s: &World| s.wrong.is_none()),
            Property::always("does not stand still", |m: &Checked, s: &World| {
                s.is_done(&m.setting) || !s.steps(&m.setting).is_empty()
            }),
            Property::always("progress", |_, s: &World| s.since < BOUND),
            Property::sometimes("ends", |m: &Checked, s: &World| s.is_done(&m.setting)),
            Property::sometimes("hands on for writing", |m: &Checked, s: &World| {
                !m.migrates || hands_on(s)
            }),
            Property::sometimes("lends", |m: &Checked, s: &World| {
                m.setting.loans.is_none() || s.was_lent
            }),
            Property::sometimes("moves", |m: &Checked, s: &World| {
                m.setting.homes.clone().that_move() != m.setting.homes || has_moved(&m.setting, s)
            }),
        ]
    }
}

fn check(setting: Setting) -> usize {
    check_all(setting, false)
}

fn check_all(setting: Setting, migrates: bool) -> usize {
    let checked = Checked { setting, migrates };
    let checker = checked.checker().threads(2).spawn_bfs().join();
    checker.assert_properties();
    checker.unique_state_count()
}

/// Checks that the end can be reached from every state: searches forward from the start, then backward from
/// the ends.
fn end_stays_reachable(setting: &Setting) -> usize {
    let mut number = HashMap::new();
    let mut states = vec![start(setting)];
    let mut before: Vec<Vec<u32>> = vec![Vec::new()];
    number.insert(states[0].clone(), 0u32);
    let mut at = 0;
    while at < states.len() {
        for step in states[at].steps(setting) {
            let mut next = states[at].clone();
            next.step(setting, step);
            next.since = 0;
            assert_eq!(next.wrong, None);
            let new = states.len() as u32;
            let to = *number.entry(next.clone()).or_insert(new);
            if to == new {
                states.push(next);
                before.push(Vec::new());
            }
            before[to as usize].push(at as u32);
        }
        at += 1;
    }
    let mut reaches = vec![false; states.len()];
    let mut open: Vec<u32> = (0..states.len() as u32)
        .filter(|s| states[*s as usize].is_done(setting))
        .collect();
    while let Some(state) = open.pop() {
        if !core::mem::replace(&mut reaches[state as usize], true) {
            open.extend(&before[state as usize]);
        }
    }
    let stuck = reaches.iter().position(|r| !r);
    assert!(
        stuck.is_none(),
        "the end is out of reach of {:?}",
        stuck.map(|s| &states[s])
    );
    states.len()
}

/// A thread's instructions, as the settings below write them.
type Program = [&'static [(u64, Access)]];

fn setting(homes: Homes, threads: &[(NodeId, &Program)]) -> Setting {
    Setting {
        nodes: threads.iter().map(|t| t.0 + 1).max().unwrap_or(1),
        homes,
        threads: threads
            .iter()
            .map(|(node, all)| {
                let all: Vec<Instruction> = all.iter().map(|i| i.to_vec()).collect();
                (*node, all)
            })
            .collect(),
        bulk: Vec::new(),
        keeps: Vec::new(),
        timed: true,
        loans: None,
    }
}

/// The setting, in which nodes also ask for these pages in bulk.
fn with_bulk(setting: Setting, bulk: &[(NodeId, &[(u64, Access)])]) -> Setting {
    Setting {
        bulk: bulk.iter().map(|(n, pages)| (*n, pages.to_vec())).collect(),
        ..setting
    }
}

/// Two nodes that write both pages and read what the other wrote. Each asks once for both in bulk: one to write, one to
/// read.
fn bulks() -> Setting {
    let homes = Homes::all_at(0).then(1, 1);
    let both: &Program = &[&[(0, Write), (1, Read)], &[(0, Read)]];
    with_bulk(
        setting(homes, &[(0, both), (1, &[&[(1, Write)]])]),
        &[
            (0, &[(0, Read), (1, Write)]),
            (1, &[(0, Write), (1, Write)]),
        ],
    )
}

/// The setting, in which a node also keeps pages that it has.
fn with_keeps(setting: Setting, keeps: &[(NodeId, u64)]) -> Setting {
    Setting {
        keeps: keeps.to_vec(),
        ..setting
    }
}

/// Settings in which the origin keeps its pages at any time, as a reader that may want to write, and as a writer.
fn kept() -> [Setting; 3] {
    [
        with_keeps(crossing(), &[(0, 0), (0, 1)]),
        with_keeps(upgrades(), &[(0, 0)]),
        with_keeps(adds(), &[(0, 0)]),
    ]
}

/// Nodes that write numbers of their own on a page of node 0, meet, and use those of another node. One asks for the
/// page in bulk at any time, and may give it back at any time.
fn lent(nodes: NodeId, flaw: Flaw) -> Setting {
    let all: &Program = &[&[(0, Write)], &[(0, Write)]];
    let reads: &Program = &[&[(0, Write)], &[(0, Read)]];
    let threads = [(0, all), (1, reads), (2, reads)];
    let loans = Loans {
        barrier: 1,
        late: vec![1],
        flaw,
    };
    Setting {
        loans: Some(loans),
        timed: false,
        ..with_bulk(
            setting(Homes::all_at(0), &threads[..usize::from(nodes)]),
            &[(1, &[(0, Read)])],
        )
    }
}

/// The same with a second page that goes to and fro and is not lent. Both are written with one instruction.
fn lent_and_not() -> Setting {
    let both: &Program = &[&[(0, Write), (1, Read)], &[(1, Write), (0, Read)]];
    let loans = Loans {
        barrier: 1,
        late: vec![],
        flaw: Flaw::Nothing,
    };
    Setting {
        loans: Some(loans),
        timed: false,
        ..setting(Homes::all_at(0).then(1, 1), &[(0, both), (1, both)])
    }
}

fn untimed(setting: &Setting) -> Setting {
    Setting {
        timed: false,
        ..setting.clone()
    }
}

/// Two nodes and two pages. Both nodes read, upgrade, and write both pages with one instruction, in opposite
/// order.
fn crossing() -> Setting {
    let homes = Homes::all_at(0).then(1, 1);
    setting(
        homes,
        &[
            (0, &[&[(1, Read)], &[(1, Write), (0, Write)]]),
            (1, &[&[(0, Read)], &[(0, Write), (1, Write)]]),
        ],
    )
}

/// Three nodes and one page. All nodes read, then all write. The home is one of them.
fn upgrades() -> Setting {
    let all: &Program = &[&[(0, Read)], &[(0, Write)]];
    setting(Homes::all_at(0), &[(0, &all[1..]), (1, all), (2, all)])
}

/// Two threads of one node, and one thread of another node, on one page.
fn threads() -> Setting {
    setting(
        Homes::all_at(0),
        &[
            (0, &[&[(0, Write)], &[(0, Write)]]),
            (1, &[&[(0, Read)], &[(0, Write)]]),
            (1, &[&[(0, Write)], &[(0, Read)]]),
        ],
    )
}

/// Two nodes that add to a counter in turn: each reads the page and then writes it, several times.
fn adds() -> Setting {
    let all: &Program = &[
        &[(0, Read)],
        &[(0, Write)],
        &[(0, Read)],
        &[(0, Write)],
        &[(0, Read)],
        &[(0, Write)],
    ];
    setting(Homes::all_at(0), &[(0, all), (1, all)])
}

/// Three nodes and one page, which node 1 writes again when another one has read it. Then its home moves there, while
/// the others ask the first home, which is one of them.
fn moves() -> Setting {
    setting(
        Homes::all_at(0).that_move(),
        &[
            (0, &[&[(0, Read)]]),
            (1, &[&[(0, Write)], &[(0, Write)], &[(0, Read)]]),
            (2, &[&[(0, Read)], &[(0, Write)]]),
        ],
    )
}

/// Three nodes and two pages. The homes are two of the nodes.
fn three_by_two() -> Setting {
    let homes = Homes::all_at(0).then(1, 1);
    setting(
        homes,
        &[
            (0, &[&[(1, Write), (0, Write)]]),
            (1, &[&[(0, Write), (1, Read)]]),
            (2, &[&[(0, Read), (1, Write)]]),
        ],
    )
}

#[test]
fn instructions_that_cross_pages() {
    println!("{} states", check(crossing()));
}

#[test]
fn upgrade_races_of_three() {
    println!("{} states", check(upgrades()));
}

#[test]
fn threads_of_one_node() {
    println!("{} states", check(threads()));
}

#[test]
fn migratory_pages() {
    // With holds that last until a page is used no more, each node would do all of its additions at once.
    println!("{} states", check_all(untimed(&adds()), true));
}

#[test]
fn homes_that_move() {
    println!("{} states", check(untimed(&moves())));
}

/// Pages of which several nodes write different bytes.
#[test]
fn pages_that_are_lent() {
    for setting in [lent(2, Flaw::Nothing), lent_and_not()] {
        println!("{} states", check(setting.clone()));
        println!("{} states", end_stays_reachable(&setting));
    }
}

/// What the model would find.
#[test]
fn lending_wrongly_loses_writes() {
    for flaw in [Flaw::LateTwin, Flaw::Whole, Flaw::NoOrder, Flaw::OnlyBefore] {
        let checked = Checked {
            setting: lent(2, flaw),
            migrates: false,
        };
        let checker = checked.checker().threads(2).spawn_bfs().join();
        let found = checker
            .discovery("coherent")
            .map(|path| path.last_state().wrong);
        println!("{flaw:?}: {found:?}");
        assert!(found.is_some(), "{flaw:?}");
    }
}

#[test]
#[ignore = "a minute: scripts/model dsm runs it"]
fn pages_that_are_lent_to_two_nodes() {
    println!("{} states", check(lent(3, Flaw::Nothing)));
}

/// Messages between nodes, in the last of ten laps in which node 1 writes a page and node 2 reads it.
fn messages_of_a_lap(homes: &Homes) -> usize {
    let mut nodes = [0, 1, 2].map(|n| Node::new(n, 3, homes.clone()));
    let mut last = 0;
    for _ in 0..10 {
        last = 0;
        for (user, access) in [(1, Write), (2, Read)] {
            let mut out = Vec::new();
            nodes[user].fault(0, access, &mut out);
            let mut mail: Vec<(usize, Action)> = out.drain(..).map(|a| (user, a)).collect();
            while let Some((from, action)) = mail.pop() {
                let Action::Send { to, message } = action else {
                    continue;
                };
                let to = usize::from(to);
                last += usize::from(from != to);
                let taken = nodes[to].receive(from as NodeId, message, &mut out);
                taken.expect("it fits");
                nodes[to].release(0, &mut out);
                mail.extend(out.drain(..).map(|a| (to, a)));
            }
            assert!(nodes[user].access(0) >= access);
        }
    }
    last
}

/// What the move is for.
#[test]
fn a_home_at_the_usual_writer_saves_messages() {
    let homes = Homes::all_at(0);
    assert_eq!(messages_of_a_lap(&homes), 9);
    assert_eq!(messages_of_a_lap(&homes.that_move()), 5);
}

/// Bulk requests at any time, of what threads use and of what they do not.
#[test]
fn pages_in_bulk() {
    println!("{} states", check(bulks()));
    let upgrades = with_bulk(upgrades(), &[(1, &[(0, Write)])]);
    println!("{} states", check(upgrades));
}

/// The origin keeps pages at any time. Each such time ends.
#[test]
fn an_origin_that_goes_first() {
    for setting in kept() {
        println!("{} states", check(untimed(&setting)));
    }
}

#[test]
#[ignore = "long: twenty seconds of a processor"]
fn whatever_happened_the_end_is_reachable() {
    let kept = kept();
    for small in [crossing(), upgrades(), threads(), adds(), bulks(), moves()]
        .iter()
        .chain(&kept)
    {
        println!("{} states", end_stays_reachable(&untimed(small)));
    }
}

/// Also with a request in bulk, and with a new home that keeps the page.
#[test]
#[ignore = "a minute: scripts/model dsm runs it"]
fn homes_that_move_in_bulk() {
    let kept = with_keeps(moves(), &[(1, 0)]);
    let bulk = with_bulk(kept, &[(2, &[(0, Write)])]);
    println!("{} states", check(untimed(&bulk)));
}

#[test]
#[ignore = "a minute: scripts/model dsm runs it"]
fn three_nodes_and_two_pages() {
    let setting = untimed(&three_by_two());
    println!("{} states", check(setting.clone()));
    println!("{} states", end_stays_reachable(&setting));
}

/// If there is a livelock, the model finds it: without holds two nodes take a page from each other for ever.
#[test]
fn without_holds_there_would_be_no_progress() {
    let setting = untimed(&crossing());
    let mut world = World::new(&setting);
    // Each hold ends as soon as it begins, and no thread executes.
    let mut idle = 0;
    for _ in 0..5000 {
        let steps = world.steps(&setting);
        let first = |f: &dyn Fn(&Step) -> bool| steps.iter().copied().find(|s| f(s));
        let step = first(&|s| matches!(s, Step::Release(..)))
            .or_else(|| first(&|s| matches!(s, Step::Deliver(_))))
            .or_else(|| first(&|s| matches!(s, Step::Fault(_))));
        match step {
            Some(step) => world.step(&setting, step),
            // Only an execution is left to do.
            None => match first(&|s| matches!(s, Step::Execute(_))) {
                Some(step) => {
                    idle += 1;
                    world.step(&setting, step);
                }
                None => break,
            },
        }
    }
    assert!(
        !world.is_done(&setting) && world.since > BOUND,
        "{idle} executions, {} steps since the last",
        world.since
    );
}
