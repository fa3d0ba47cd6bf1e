//! Which ranks share a machine, by PMI's `PMI_process_mapping`.
//!
//! The value is `(vector,(node,nodes,each)...)`. Each block puts `each` ranks on every one of `nodes` machines, in
//! order, beginning with machine number `node`. If ranks are left after the last block, the blocks are gone through
//! again.

use super::MAX_SIZE;

/// The ranks below `size` that are on the machine of `rank`, ascending; `None` if `text` is not
/// such a value.
#[must_use]
pub fn local_ranks(text: &str, rank: u32, size: u32) -> Option<Vec<u32>> {
    if size == 0 || size > MAX_SIZE || rank >= size {
        return None;
    }
    let blocks = parse(text)?;
    let mut machines = Vec::with_capacity(size as usize);
    'all: loop {
        for &(node, nodes, each) in &blocks {
            for machine in node..node + nodes {
                for _ in 0..each {
                    if machines.len() == size as usize {
                        break 'all;
                    }
                    machines.push(machine);
                }
            }
        }
    }
    let mine = machines[rank as usize];
    Some(
        (0..size)
            .filter(|&r| machines[r as usize] == mine)
            .collect(),
    )
}

/// The blocks. Every count is at least 1, so that going through them ends.
fn parse(text: &str) -> Option<Vec<(u32, u32, u32)>> {
    let squeezed: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let mut rest = squeezed.strip_prefix("(vector,")?.strip_suffix(')')?;
    let mut blocks = Vec::new();
    loop {
        let inner = rest.strip_prefix('(')?;
        let (block, after) = inner.split_once(')')?;
        let mut numbers = block.split(',').map(|n| {
            n.parse::<u32>()
                .ok()
                .filter(|_| n.bytes().all(|b| b.is_ascii_digit()))
        });
        let (node, nodes, each) = (numbers.next()??, numbers.next()??, numbers.next()??);
        if numbers.next().is_some()
            || node > MAX_SIZE
            || !(1..=MAX_SIZE).contains(&nodes)
            || !(1..=MAX_SIZE).contains(&each)
        {
            return None;
        }
        blocks.push((node, nodes, each));
        if after.is_empty() {
            return Some(blocks);
        }
        rest = after.strip_prefix(',')?;
    }
}
