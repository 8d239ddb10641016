//! What carries notes between ranks: MPI, or memory for tests.
//!
//! Prevents: a watchdog and a protocol that only a cluster can try.

use std::sync::mpsc::{Receiver, Sender, channel};

/// Carries messages between ranks, in order between each two. One thread alone uses it.
pub trait Wire {
    /// This one's number.
    fn rank(&self) -> u32;

    /// How many there are.
    fn size(&self) -> u32;

    /// What carries: name and version.
    fn name(&self) -> String;

    /// The next message, if one is there: who sent it, and its bytes. One of more than `most` bytes comes as none.
    fn take(&self, most: usize) -> Option<(u32, Vec<u8>)>;

    /// Sends a message; calls `meanwhile` as long as it is not gone.
    fn send(&self, to: u32, bytes: &[u8], meanwhile: &mut dyn FnMut());
}

/// Ranks of one process.
#[derive(Debug)]
pub struct Memory {
    rank: u32,
    to: Vec<Sender<(u32, Vec<u8>)>>,
    from: Receiver<(u32, Vec<u8>)>,
}

/// So many ranks in memory, for tests.
pub fn in_memory(size: u32) -> Vec<Memory> {
    let (to, from): (Vec<_>, Vec<_>) = (0..size).map(|_| channel()).unzip();
    let one = |(rank, from)| Memory {
        rank,
        to: to.clone(),
        from,
    };
    (0..).zip(from).map(one).collect()
}

impl Wire for Memory {
    fn rank(&self) -> u32 {
        self.rank
    }

    fn size(&self) -> u32 {
        self.to.len() as u32
    }

    fn name(&self) -> String {
        "memory".to_string()
    }

    fn take(&self, most: usize) -> Option<(u32, Vec<u8>)> {
        let (rank, mut bytes) = self.from.try_recv().ok()?;
        if bytes.len() > most {
            bytes.clear();
        }
        Some((rank, bytes))
    }

    fn send(&self, to: u32, bytes: &[u8], _: &mut dyn FnMut()) {
        if let Some(to) = self.to.get(to as usize) {
            let _ = to.send((self.rank, bytes.to_vec()));
        }
    }
}
