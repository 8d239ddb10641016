//! A copy phase: the database's files go from where it is to another place, measured, then read back and compared.
//!
//! Takes two open ports, the transfer between them and what surrounds it; gives the finished phase. One code for
//! hosts and models. Prevents: a copy that is over before its last byte is durable, and a verification whose reads
//! are counted as the copy's.

use crate::ports::StackPort;
use crate::signals;
use crate::surroundings::Seen;
use crate::trial::around::Around;
use crate::trial::done::Done;
use anyhow::Context;
use ledger::Measure;
use pages::{Copied, Counters, Files, Transfer};
use plan::{Copy, Phase};
use std::cell::Cell;
use targets::Port;

/// What surrounds a copy: as for other phases, but there is no instance.
pub(crate) trait AroundCopy {
    /// Just before the first request.
    fn begin(&mut self, source: &mut StackPort, target: &mut StackPort) -> anyhow::Result<()>;

    /// Brings everything to rest; gives the nanoseconds spent only on proving it.
    fn settle(&mut self) -> anyhow::Result<u64>;

    /// What was seen since the beginning.
    fn end(&mut self, source: &mut StackPort, target: &mut StackPort) -> anyhow::Result<Seen>;
}

/// One way of the database.
pub(crate) struct Way<'a> {
    pub(crate) phase: &'a Phase,
    pub(crate) copy: &'a Copy,
    /// In words: "xfs on left".
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) from_files: Files,
    pub(crate) to_files: Files,
    /// A database is or was at the target.
    pub(crate) over_existing: bool,
}

impl Way<'_> {
    /// Memory and depth of the ports that a copy needs.
    pub(crate) fn needs(copy: &Copy) -> (u64, usize) {
        let chunks = u64::from(copy.outstanding);
        // A chunk may be cut into pieces below, each of which is a request.
        ((copy.chunk.0 * chunks).max(1 << 20), chunks as usize * 8)
    }

    /// Copies, waits for rest, and reads back.
    pub(crate) fn go(
        &self,
        source: &mut StackPort,
        target: &mut StackPort,
        surroundings: &mut dyn AroundCopy,
        around: &Around<'_>,
    ) -> anyhow::Result<Done> {
        let sizes = around.sizes.context("only the page engine's database is copied")?;
        let (shape, settings) = (&sizes.shape, &sizes.settings);
        let (chunk, outstanding) = (self.copy.chunk.0, self.copy.outstanding as usize);
        let mut transfer = Transfer::new(shape, settings, &self.from_files, &self.to_files, chunk, outstanding);
        surroundings.begin(source, target)?;
        let told = Cell::new(0);
        let mut progress = |done: u64, all: u64| {
            let percent = done * 100 / all.max(1);
            if percent > told.replace(percent) {
                around.doing(self.phase, &format!(" · {percent} % of {}", plan::Bytes(all)));
            }
        };
        let copied = transfer
            .run(source, target, around.turn.cancel, &mut progress)
            .with_context(|| format!("copy from {} to {}", self.from, self.to))?;
        signals::check(around.turn.cancel)?;
        let copied = copied.context("a copy that nobody stopped has an end")?;
        let ended = target.now();
        let proof_ns = surroundings.settle().context("drain")?;
        let drain_ns = target.now().saturating_sub(ended).saturating_sub(proof_ns);
        let mut seen = surroundings.end(source, target)?;
        let mut measures = self.measures(&copied);
        if self.copy.verify {
            around.doing(self.phase, " · reading back");
            let began = target.now();
            let verified = transfer
                .verify(target, around.turn.cancel)
                .with_context(|| format!("read back what was copied to {}", self.to))?;
            signals::check(around.turn.cancel)?;
            measures.push((Measure::CopyVerifiedBytes, verified as f64));
            measures.push((Measure::CopyVerifyNs, target.now().saturating_sub(began) as f64));
        }
        seen.remarks
            .push(format!("the database went from {} to {}", self.from, self.to));
        Ok(Done {
            counters: Some(counters(&copied)),
            elapsed_ns: copied.elapsed_ns,
            drain_ns,
            measures,
            seen,
            ..Done::default()
        })
    }

    fn measures(&self, copied: &Copied) -> Vec<(Measure, f64)> {
        vec![
            (Measure::CopyBytes, copied.bytes as f64),
            (Measure::CopyNs, copied.elapsed_ns as f64),
            (Measure::CopyOverExisting, f64::from(u8::from(self.over_existing))),
        ]
    }
}

/// What was asked of storage.
fn counters(copied: &Copied) -> Counters {
    Counters {
        multiblock_reads: copied.requests,
        multiblock_read_bytes: copied.bytes,
        data_writes: copied.requests,
        data_write_bytes: copied.bytes,
        verified_pages: copied.pages,
        ..Counters::default()
    }
}
