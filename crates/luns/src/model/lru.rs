//! Which blocks a cache holds: least recently used goes first, every operation in constant time.
//!
//! Takes block numbers, says whether they were there. Prevents: a simulated cache whose hit ratio is a parameter.

use std::collections::HashMap;

const NONE: u32 = u32::MAX;

struct Node {
    block: u64,
    newer: u32,
    older: u32,
}

pub(super) struct Lru {
    capacity: usize,
    places: HashMap<u64, u32>,
    nodes: Vec<Node>,
    newest: u32,
    oldest: u32,
}

impl Lru {
    /// Room for that many blocks.
    pub(super) fn new(capacity: usize) -> Lru {
        Lru {
            capacity,
            places: HashMap::with_capacity(capacity.min(1 << 20)),
            nodes: Vec::new(),
            newest: NONE,
            oldest: NONE,
        }
    }

    /// Uses a block: true when it was there. It is there afterwards.
    pub(super) fn touch(&mut self, block: u64) -> bool {
        if self.capacity == 0 {
            return false;
        }
        if let Some(&place) = self.places.get(&block) {
            self.unlink(place);
            self.link(place);
            return true;
        }
        let place = if self.nodes.len() < self.capacity {
            self.nodes.push(Node {
                block,
                newer: NONE,
                older: NONE,
            });
            (self.nodes.len() - 1) as u32
        } else {
            let place = self.oldest;
            self.unlink(place);
            let node = &mut self.nodes[place as usize];
            self.places.remove(&node.block);
            node.block = block;
            place
        };
        self.places.insert(block, place);
        self.link(place);
        false
    }

    fn unlink(&mut self, place: u32) {
        let (newer, older) = (self.nodes[place as usize].newer, self.nodes[place as usize].older);
        match newer {
            NONE => self.newest = older,
            n => self.nodes[n as usize].older = older,
        }
        match older {
            NONE => self.oldest = newer,
            n => self.nodes[n as usize].newer = newer,
        }
    }

    fn link(&mut self, place: u32) {
        let before = self.newest;
        let node = &mut self.nodes[place as usize];
        (node.newer, node.older) = (NONE, before);
        match before {
            NONE => self.oldest = place,
            n => self.nodes[n as usize].newer = place,
        }
        self.newest = place;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_goes() {
        let mut lru = Lru::new(3);
        let seen: Vec<bool> = [1, 2, 3, 1, 4, 2, 1, 3].map(|b| lru.touch(b)).into();
        assert_eq!(seen, [false, false, false, true, false, false, true, false]);
        assert!(!Lru::new(0).touch(7));
    }
}
