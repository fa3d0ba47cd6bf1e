//! The protocol between hetrun and its agent on another host, over ssh's standard input and output. It uses the
//! frames of `hetmp_core::bootstrap::wire`. The job's secret travels in a frame, never in an argument, which other
//! users could see.

use super::exchange::{End, Event};
use super::host::{Happening, Plan, Program};
use super::output::Stream;
use super::places::Bind;
use hetmp_core::bootstrap::wire::{Fields, Frame, Malformed, Reply, Request};
use hetmp_core::bootstrap::SECRET;
use hetmp_core::topo::PlaceKind;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

/// The version of both ends must be the same.
pub(crate) const VERSION: u32 = 4;
/// The longest text, and the longest program name, argument or variable, bytes.
const TEXT: usize = 256 * 1024;
/// The longest piece of output or input, bytes.
pub(crate) const PIECE: usize = 128 * 1024;

/// From hetrun to an agent.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Start(Box<Plan>),
    /// Input for rank 0; no bytes mean that the input has ended.
    Stdin(Vec<u8>),
    Reply(u32, Reply),
    Signal(i32),
    /// A sign of life.
    Beat,
}

/// From an agent to hetrun.
#[derive(Debug)]
pub(crate) enum Notice {
    /// The first message, with the agent's version. It proves that an agent answers, and not a shell.
    Ready(u32),
    Output(u32, Stream, Vec<u8>),
    Happened(Happening),
    /// Nothing was started. The exit status, and why.
    Refused(i32, String),
    /// How many bytes of input were taken.
    StdinTaken(u32),
    /// Rank 0 takes no more input.
    StdinClosed,
    /// A sign of life.
    Beat,
}

fn words(mut frame: Frame, words: &[OsString]) -> Frame {
    frame = frame.number(words.len() as u32);
    for word in words {
        frame = frame.bytes(word.as_bytes());
    }
    frame
}

fn word(fields: &mut Fields<'_>) -> Result<OsString, Malformed> {
    Ok(OsString::from_vec(fields.bytes(TEXT)?.to_vec()))
}

fn program(f: &mut Fields<'_>) -> Result<Program, Malformed> {
    let directory = word(f)?.into();
    let n = f.count(4)?;
    let words = (0..n).map(|_| word(f)).collect::<Result<Vec<_>, _>>()?;
    if words.is_empty() {
        return Err(Malformed("no program"));
    }
    let n = f.count(8)?;
    let variables = (0..n)
        .map(|_| Ok((word(f)?, word(f)?)))
        .collect::<Result<Vec<_>, Malformed>>()?;
    Ok(Program {
        words,
        directory,
        variables,
    })
}

fn binding(frame: Frame, bind: &Bind) -> Frame {
    match bind {
        Bind::Share => frame.byte(0),
        Bind::None => frame.byte(1),
        Bind::To { kind, each, strict } => {
            let at = PlaceKind::ALL.iter().position(|k| k == kind);
            let at = at.unwrap_or_default() as u8;
            frame.byte(2 + at).number(*each).byte(u8::from(*strict))
        }
    }
}

fn bound(f: &mut Fields<'_>) -> Result<Bind, Malformed> {
    Ok(match f.byte()? {
        0 => Bind::Share,
        1 => Bind::None,
        n => Bind::To {
            kind: *PlaceKind::ALL
                .get(usize::from(n - 2))
                .ok_or(Malformed("unknown binding"))?,
            each: f.number()?.max(1),
            strict: f.byte()? != 0,
        },
    })
}

impl Order {
    pub(crate) fn encode(&self) -> Vec<u8> {
        match self {
            Self::Start(plan) => {
                let mut frame = Frame::new(1)
                    .number(VERSION)
                    .number(plan.size)
                    .fixed(&plan.secret)
                    .bytes(plan.address.as_bytes())
                    .byte(u8::from(plan.nodes.is_some()))
                    .bytes(plan.nodes.as_deref().unwrap_or_default().as_bytes())
                    .byte(u8::from(plan.whole))
                    .byte(u8::from(plan.dsm))
                    .number(plan.host_timeout);
                frame = binding(frame, &plan.bind).number(plan.programs.len() as u32);
                for program in &plan.programs {
                    frame = frame.bytes(program.directory.as_os_str().as_bytes());
                    frame = words(frame, &program.words).number(program.variables.len() as u32);
                    for (name, value) in &program.variables {
                        frame = frame.bytes(name.as_bytes()).bytes(value.as_bytes());
                    }
                }
                frame = frame.number(plan.ranks.len() as u32);
                for (rank, program) in &plan.ranks {
                    frame = frame.number(*rank).number(*program);
                }
                frame
            }
            Self::Stdin(bytes) => Frame::new(2).bytes(bytes),
            Self::Reply(rank, reply) => Frame::new(3).number(*rank).fixed(&reply.encode()[4..]),
            Self::Signal(signal) => Frame::new(4).number(*signal as u32),
            Self::Beat => Frame::new(5),
        }
        .done()
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut f = Fields::new(bytes);
        let order = match f.byte()? {
            1 => {
                if f.number()? != VERSION {
                    return Err(Malformed("hetrun has another version there"));
                }
                let size = f.number()?;
                let mut secret = [0; SECRET];
                secret.copy_from_slice(f.take(SECRET)?);
                let address = f.text(TEXT)?;
                let (told, nodes) = (f.byte()? != 0, f.text(TEXT)?);
                let whole = f.byte()? != 0;
                let dsm = f.byte()? != 0;
                let host_timeout = f.number()?;
                let bind = bound(&mut f)?;
                let n = f.count(12)?;
                let programs = (0..n)
                    .map(|_| program(&mut f))
                    .collect::<Result<Vec<_>, _>>()?;
                let n = f.count(8)?;
                let ranks = (0..n)
                    .map(|_| Ok((f.number()?, f.number()?)))
                    .collect::<Result<Vec<_>, Malformed>>()?;
                let ascend = ranks.windows(2).all(|pair| pair[0].0 < pair[1].0);
                let fit = |(rank, program): &(u32, u32)| {
                    *rank < size && (*program as usize) < programs.len()
                };
                if ranks.is_empty()
                    || !ascend
                    || !ranks.iter().all(fit)
                    || size > super::arguments::MOST
                {
                    return Err(Malformed("ranks are out of bounds"));
                }
                Self::Start(Box::new(Plan {
                    size,
                    ranks,
                    programs,
                    secret,
                    address,
                    nodes: told.then_some(nodes),
                    bind,
                    whole,
                    dsm,
                    host_timeout,
                }))
            }
            2 => Self::Stdin(f.bytes(PIECE)?.to_vec()),
            3 => {
                let rank = f.number()?;
                return Ok(Self::Reply(rank, Reply::decode(&bytes[5..])?));
            }
            4 => Self::Signal(f.number()? as i32),
            5 => Self::Beat,
            _ => return Err(Malformed("unknown order")),
        };
        f.end()?;
        Ok(order)
    }
}

impl Notice {
    pub(crate) fn encode(&self) -> Vec<u8> {
        match self {
            Self::Ready(version) => Frame::new(1).fixed(b"hetrun").number(*version),
            Self::Output(rank, stream, bytes) => Frame::new(2)
                .number(*rank)
                .byte(u8::from(*stream == Stream::Err))
                .bytes(bytes),
            Self::Happened(Happening::Rank(rank, event)) => {
                let frame = Frame::new(3).number(*rank);
                match event {
                    Event::Joined => frame.byte(1),
                    Event::Request(request) => frame.byte(2).fixed(&request.encode()[4..]),
                    Event::Garbled(what) => frame.byte(3).bytes(what.as_bytes()),
                    Event::Left => frame.byte(4),
                    Event::WentOn => frame.byte(5),
                    Event::Ended(End::Status(n)) => frame.byte(6).number(*n as u32),
                    Event::Ended(End::Signal(n)) => frame.byte(7).number(*n as u32),
                }
            }
            Self::Happened(Happening::Drained(rank)) => Frame::new(4).number(*rank),
            Self::Refused(status, text) => {
                Frame::new(5).number(*status as u32).bytes(text.as_bytes())
            }
            Self::StdinTaken(n) => Frame::new(6).number(*n),
            Self::StdinClosed => Frame::new(7),
            Self::Beat => Frame::new(8),
        }
        .done()
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut f = Fields::new(bytes);
        let notice = match f.byte()? {
            1 => {
                if f.take(6)? != b"hetrun" {
                    return Err(Malformed("hetrun does not answer"));
                }
                Self::Ready(f.number()?)
            }
            2 => {
                let rank = f.number()?;
                let stream = match f.byte()? {
                    0 => Stream::Out,
                    1 => Stream::Err,
                    _ => return Err(Malformed("unknown stream")),
                };
                Self::Output(rank, stream, f.bytes(PIECE)?.to_vec())
            }
            3 => {
                let rank = f.number()?;
                let event = match f.byte()? {
                    1 => Event::Joined,
                    2 => {
                        let request = Request::decode(&bytes[6..])?;
                        return Ok(Self::Happened(Happening::Rank(
                            rank,
                            Event::Request(request),
                        )));
                    }
                    3 => Event::Garbled(f.text(TEXT)?),
                    4 => Event::Left,
                    5 => Event::WentOn,
                    6 => Event::Ended(End::Status(f.number()? as i32)),
                    7 => match f.number()? {
                        n @ 1..=64 => Event::Ended(End::Signal(n as i32)),
                        _ => return Err(Malformed("unknown signal")),
                    },
                    _ => return Err(Malformed("unknown event")),
                };
                Self::Happened(Happening::Rank(rank, event))
            }
            4 => Self::Happened(Happening::Drained(f.number()?)),
            5 => Self::Refused(f.number()? as i32, f.text(TEXT)?),
            6 => Self::StdinTaken(f.number()?),
            7 => Self::StdinClosed,
            8 => Self::Beat,
            _ => return Err(Malformed("unknown notice")),
        };
        f.end()?;
        Ok(notice)
    }
}

#[cfg(test)]
mod tests {
    use super::{Bind, Notice, Order, PlaceKind};
    use crate::host::{Plan, Program};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_bytes_are_a_frame_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..120), tag in 0..10_u8) {
            let _ = Order::decode(&bytes);
            if let Ok(notice) = Notice::decode(&bytes) {
                prop_assert_eq!(&notice.encode()[4..], &bytes[..]);
            }
            let mut tagged = vec![tag];
            tagged.extend_from_slice(&bytes);
            let _ = Order::decode(&tagged);
            if let Ok(notice) = Notice::decode(&tagged) {
                prop_assert_eq!(&notice.encode()[4..], &tagged[..]);
            }
        }

        #[test]
        fn plans_come_back(
            programs in prop::collection::vec(
                (prop::collection::vec("[ -~]{0,20}", 1..5), prop::collection::vec(("[A-Z]{1,5}", ".{0,9}"), 0..4)),
                1..4
            ),
            bind in prop_oneof![
                Just(Bind::Share),
                Just(Bind::None),
                (prop::sample::select(&PlaceKind::ALL[..]), 1..9_u32, any::<bool>())
                    .prop_map(|(kind, each, strict)| Bind::To { kind, each, strict }),
            ],
            nodes in prop::option::of("[a-z]{0,5}"), whole in any::<bool>(), cut in any::<prop::sample::Index>()
        ) {
            let last = programs.len() as u32 - 1;
            let order = Order::Start(Box::new(Plan {
                size: 7,
                ranks: vec![(1, 0), (3, last), (6, last)],
                programs: programs.into_iter().map(|(words, variables)| Program {
                    words: words.into_iter().map(Into::into).collect(),
                    directory: "/tmp".into(),
                    variables: variables.into_iter().map(|(n, v)| (n.into(), v.into())).collect(),
                }).collect(),
                secret: [3; 32],
                address: "10.0.0.1".to_owned(),
                nodes,
                bind,
                whole,
                dsm: !whole,
                host_timeout: 10,
            }));
            let bytes = &order.encode()[4..];
            prop_assert!(Order::decode(&bytes[..cut.index(bytes.len())]).is_err());
            prop_assert_eq!(Order::decode(bytes).unwrap(), order);
        }
    }
}
