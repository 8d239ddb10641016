//! Whether someone else used the stack's devices: what the lowest of them moved, held against the nearest.
//!
//! Takes the runs of one stack in one phase and what is known of the devices between, gives what was found. Prevents: a
//! neighbour's backup read as the stack's own work, and a mirror's second copy, a cache, or a device that counts
//! nothing read as a neighbour.

use super::at::At;
use super::rule::Taken;
use crate::cells::provenance::ASKED_BYTES_MIN;
use crate::check::Status;
use crate::figures::Figure;
use crate::format::{bytes, percent};
use crate::history::Seen;
use ledger::Measure;

/// What the lowest devices moved more than the nearest: from this share and size on someone else used them.
const FOREIGN_SHARE: f64 = 0.10;
const FOREIGN_BYTES: f64 = 16.0 * 1024.0 * 1024.0;
/// No larger share is printed: it only says that the nearest devices did next to nothing.
const SHARE_SAID_MAX: f64 = 99.0;

/// One run.
struct Moved {
    near: f64,
    low: f64,
    /// Beyond the nearest: of both directions, and of reads alone.
    beyond: f64,
    beyond_reads: f64,
    asked: f64,
}

impl Moved {
    fn of(run: &Seen) -> Option<Moved> {
        let near = run.sum(&[Measure::NearReadBytes, Measure::NearWriteBytes])?;
        let low = run.sum(&[Measure::LowReadBytes, Measure::LowWriteBytes])?;
        let reads = |measure| run.get(measure).unwrap_or(0.0);
        Some(Moved {
            near,
            low,
            beyond: low - near,
            beyond_reads: reads(Measure::LowReadBytes) - reads(Measure::NearReadBytes),
            asked: run.asked_bytes().unwrap_or(0.0),
        })
    }

    /// The nearest devices say that they did nothing while the engine asked for much: they do not count, or a cache
    /// above them served it all.
    fn is_uncounted(&self) -> bool {
        self.near <= 0.0 && self.low > FOREIGN_BYTES && self.asked >= ASKED_BYTES_MIN
    }

    /// A share of what the nearest moved; what is small is metadata.
    fn share(&self, beyond: f64) -> f64 {
        match beyond > FOREIGN_BYTES {
            true => beyond / self.near.max(1.0),
            false => 0.0,
        }
    }
}

/// Whether a volume of LVM or md put one LUN in the place of another: they have no power, as a disk group has.
fn moves_below(at: &At<'_>) -> bool {
    let rebalance = at.cell.rebalance.as_ref();
    rebalance.is_some_and(|moved| moved.power.is_none())
}

pub(crate) fn foreign(at: &At<'_>) -> Option<Taken> {
    let moved: Vec<Moved> = at.runs.iter().filter_map(|run| Moved::of(run)).collect();
    let median = |value: &dyn Fn(&Moved) -> f64| {
        let found = Figure::of(moved.iter().map(|run| Some(value(run))))?;
        Some(found.median)
    };
    let (near, low) = (median(&|run| run.near)?, median(&|run| run.low)?);
    let share = median(&|run| run.share(run.beyond))?;
    let reads = median(&|run| run.share(run.beyond_reads))?;
    let uncounted = moved.iter().filter(|run| run.is_uncounted()).count() * 2 > moved.len();
    let more = match near > 0.0 {
        true => format!(
            "the lowest devices moved {} more than the stack's nearest",
            percent(share.min(SHARE_SAID_MAX))
        ),
        false => format!("the lowest devices moved {}, the stack's nearest nothing", bytes(low)),
    };
    let (status, figure, advice) = match &at.between {
        _ if uncounted => (
            Status::Note,
            format!("{more}: they do not count, or a cache above them served all"),
            "not checked: make sure that nobody else uses the devices below (`iostat -x` while the stack rests)",
        ),
        _ if share <= FOREIGN_SHARE => (Status::Valid, more, ADVICE),
        // Above the lowest devices, LVM and md read and write what they move: nobody else's.
        _ if moves_below(at) => (
            Status::Note,
            format!("{more}: what was moved to another LUN is among it"),
            "not checked in this phase: make sure that nobody else uses the devices below",
        ),
        Some(layer) if layer.mirrors && reads > FOREIGN_SHARE => (
            Status::Suspect,
            format!(
                "the lowest devices read {} more than the stack's nearest moved, which a mirror does not",
                percent(reads.min(SHARE_SAID_MAX))
            ),
            "someone else used the device, or a mirror was made whole again: use a device of its own, and let a \
             resync end first",
        ),
        Some(layer) => (
            Status::Note,
            format!(
                "{more}; between them lies {}, which moves other bytes than it gets",
                layer.words
            ),
            "Assay cannot tell who moved them: make sure that nobody else uses the devices below (`iostat -x` while \
             the stack rests)",
        ),
        None => (Status::Suspect, more, ADVICE),
    };
    let taken = Taken::judged(status, figure).advising(advice);
    Some(taken.against(format!(
        "at most {} and {}",
        percent(FOREIGN_SHARE),
        bytes(FOREIGN_BYTES)
    )))
}

/// What to do about somebody else.
pub(crate) const ADVICE: &str =
    "someone else used the device, or a layer below multiplied the I/O: use a device of its own";
