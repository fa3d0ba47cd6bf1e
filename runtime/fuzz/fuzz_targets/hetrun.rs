//! What `hetrun` reads: hosts' files, the orders and notices of its agents, and a job's processes that misbehave.
#![no_main]
#![allow(dead_code, reason = "the command uses more of these files")]

#[path = "../../cli/src/hetrun/agent.rs"]
mod agent;
#[path = "../../cli/src/hetrun/arguments.rs"]
mod arguments;
#[path = "../../cli/src/hetrun/exchange.rs"]
mod exchange;
#[path = "../../cli/src/hetrun/frames.rs"]
mod frames;
#[path = "../../cli/src/hetrun/host.rs"]
mod host;
#[path = "../../cli/src/hetrun/hosts.rs"]
mod hosts;
#[path = "../../cli/src/hetrun/launch.rs"]
mod launch;
#[path = "../../cli/src/library.rs"]
mod library;
#[path = "../../cli/src/hetrun/options.rs"]
mod options;
#[path = "../../cli/src/hetrun/output.rs"]
mod output;
#[path = "../../cli/src/hetrun/places.rs"]
mod places;
#[path = "../../cli/src/hetrun/prepare.rs"]
mod prepare;
#[path = "../../cli/src/hetrun/remote.rs"]
mod remote;
#[path = "../../cli/src/hetrun/shares.rs"]
mod shares;
#[path = "../../cli/src/hetrun/signals.rs"]
mod signals;

use exchange::Exchange;
use frames::{Notice, Order};
use host::Happening;
use libfuzzer_sys::fuzz_target;

/// A job's secret; none is made here.
fn random<const N: usize>() -> Result<[u8; N], String> {
    Ok([0; N])
}

fuzz_target!(|bytes: &[u8]| {
    if let Ok(order) = Order::decode(bytes) {
        assert_eq!(Order::decode(&order.encode()[4..]), Ok(order));
    }
    if let Ok(notice) = Notice::decode(bytes) {
        assert_eq!(&notice.encode()[4..], bytes);
    }
    // A job of three processes, and notices with their lengths before them.
    let (mut job, mut rest) = (Exchange::new(3), bytes);
    while let Some((&[length], tail)) = rest.split_first_chunk() {
        let (notice, after) = tail.split_at(tail.len().min(length.into()));
        if let Ok(Notice::Happened(Happening::Rank(rank, event))) = Notice::decode(notice) {
            let _ = job.handle(rank, event);
        }
        rest = after;
    }
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    match hosts::parse("f", text) {
        Ok(hosts) => {
            // A name becomes an argument of ssh.
            assert!(hosts.iter().all(|host| !host.name.starts_with('-')));
            let _ = hosts::place(&hosts, Some(7), hosts::Sharing::default());
        }
        Err(line) => assert!(!line.contains(char::is_control), "{line}"),
    }
    let _ = hosts::list(text);
});
