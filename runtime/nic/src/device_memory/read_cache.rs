//! The read cache between a device's memory and its adapter.
//!
//! A line that was read keeps its content until it is invalidated or replaced. Since whole lines are read, a source
//! that was never sent before can be stale: a neighbour in its line was sent.

use hetmp_core::hash::HashMap;
use std::collections::VecDeque;

/// Bytes of a line.
pub const LINE: usize = 64;
/// The most lines in the cache.
const LINES: usize = 512;

/// The read cache of one device. Addresses are those of this process.
#[derive(Debug, Default)]
pub struct ReadCache {
    lines: HashMap<usize, [u8; LINE]>,
    /// The lines' addresses, the oldest first.
    order: VecDeque<usize>,
}

impl ReadCache {
    /// Forgets all lines.
    pub fn invalidate(&mut self) {
        self.lines.clear();
        self.order.clear();
    }

    /// Reads `to.len()` bytes at `address`. Missing lines are fetched by `fetch(address, into)`. Only bytes within
    /// `region` (first address, bytes) exist, and only those are fetched.
    pub fn read(
        &mut self,
        address: usize,
        to: &mut [u8],
        region: (usize, usize),
        mut fetch: impl FnMut(usize, &mut [u8]),
    ) {
        let mut done = 0;
        while done < to.len() {
            let at = address + done;
            let line = at & !(LINE - 1);
            if !self.lines.contains_key(&line) {
                if self.order.len() == LINES {
                    if let Some(oldest) = self.order.pop_front() {
                        self.lines.remove(&oldest);
                    }
                }
                let mut bytes = [0; LINE];
                let from = line.max(region.0);
                let end = (line + LINE).min(region.0 + region.1);
                fetch(from, &mut bytes[from - line..end - line]);
                self.lines.insert(line, bytes);
                self.order.push_back(line);
            }
            let n = (line + LINE - at).min(to.len() - done);
            to[done..done + n].copy_from_slice(&self.lines[&line][at - line..at - line + n]);
            done += n;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Memory of 64 lines from address 32, within the first line.
    fn read(cache: &mut ReadCache, memory: &[u8], offset: usize, n: usize) -> Vec<u8> {
        let mut to = vec![0; n];
        cache.read(32 + offset, &mut to, (32, memory.len()), |at, into| {
            into.copy_from_slice(&memory[at - 32..at - 32 + into.len()])
        });
        to
    }

    #[test]
    fn a_line_stays_until_it_is_invalidated_and_takes_its_neighbours_with_it() {
        let mut memory: Vec<u8> = (0..=255).cycle().take(1000).collect();
        let mut cache = ReadCache::default();
        assert_eq!(read(&mut cache, &memory, 30, 10), memory[30..40]);
        let old = memory.clone();
        memory.fill(9);
        // The first 96 bytes lie in lines that were read before, although some of the bytes were not; the next line
        // is fresh.
        assert_eq!(read(&mut cache, &memory, 0, 96), old[..96]);
        assert_eq!(read(&mut cache, &memory, 96, 10), [9; 10]);
        cache.invalidate();
        assert_eq!(read(&mut cache, &memory, 0, 1000), [9; 1000]);
    }

    #[test]
    fn it_holds_a_bounded_number_of_lines() {
        let mut memory = vec![1; LINE * (LINES + 1)];
        let mut cache = ReadCache::default();
        read(&mut cache, &memory, 0, LINE * (LINES + 1));
        assert_eq!((cache.lines.len(), cache.order.len()), (LINES, LINES));
        memory.fill(2);
        // The first lines were pushed out.
        assert_eq!(read(&mut cache, &memory, 0, 1), [2]);
        let last = LINE * (LINES + 1) - 1;
        assert_eq!(read(&mut cache, &memory, last, 1), [1]);
    }
}
