//! What the cuts or kills of a phase come to: measures, and in words what was kept or lost.
//!
//! Takes one cut after the other, gives what the ledger records. Prevents: a kill told in the words of a power cut.

use crate::cuts::acknowledged::{Found, Kept};
use crate::cuts::ending::{Gone, With};
use crate::full;
use crate::surroundings::Seen;
use crate::trial::done::Done;
use ledger::Measure;
use plan::End;
use std::time::Duration;

/// One cut or kill and what came of it.
pub(crate) struct Cut {
    pub(crate) after: Duration,
    pub(crate) gone: Gone,
    pub(crate) acknowledged: u64,
    pub(crate) up_ns: u64,
    pub(crate) volume: VolumeBack,
    /// `Err`: it could not be brought up, and why.
    pub(crate) found: Result<Found, String>,
    /// Counts of this kind of database alone, which add up.
    pub(crate) more: Vec<(Measure, f64)>,
}

/// How the volumes of a stack came back after a power cut.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct VolumeBack {
    /// Bytes, at least, of the stripes whose parity did not match their data, where there is parity: the write hole.
    pub(crate) stale_parity: Option<u64>,
    /// LUNs that they came back without, in words.
    pub(crate) without: Option<String>,
}

/// What the cuts or kills of a phase come to.
pub(crate) struct Sum {
    pub(crate) end: End,
    pub(crate) cuts: Vec<Cut>,
}

impl Sum {
    pub(crate) fn of(end: End) -> Sum {
        Sum { end, cuts: Vec::new() }
    }

    /// The last of them in words, as far as it lost anything.
    pub(crate) fn last_words(&self) -> String {
        let last = self.cuts.last().map(|cut| cut.words(self.end, self.cuts.len()));
        last.unwrap_or_default()
    }

    /// What a phase hands over that ended so: where something was lost, also what a later failure would take away.
    pub(crate) fn ended(&self, worked: anyhow::Result<()>, elapsed: Duration) -> anyhow::Result<Done> {
        let Err(error) = worked else {
            return Ok(self.done(elapsed));
        };
        if !self.cuts.iter().any(Cut::is_loss) {
            return Err(error);
        }
        let mut done = self.done(elapsed);
        if full::ran_out_of_space(&error) {
            let lost = done.seen.notes.join("; ");
            done.full = Some(format!("{}, after data was lost: {lost}", full::words(0, 0)));
        } else {
            done.failed = Some(error);
        }
        Ok(done)
    }

    fn done(&self, elapsed: Duration) -> Done {
        let total = |of: fn(&Cut) -> u64| self.cuts.iter().map(of).sum::<u64>() as f64;
        let found = |of: fn(&Found) -> u64| move |cut: &Cut| cut.found.as_ref().map_or(0, of);
        let sum = |of: fn(&Found) -> u64| self.cuts.iter().map(found(of)).sum::<u64>() as f64;
        // Where nothing came up, everything that was acknowledged since is gone.
        let down = |cut: &&Cut| cut.found.is_err();
        let gone: u64 = self.cuts.iter().filter(down).map(|cut| cut.acknowledged).sum();
        let losing = self.cuts.iter().filter(|cut| cut.is_loss()).count();
        let mut measures = vec![
            (Measure::CutsMade, self.cuts.len() as f64),
            (Measure::CutsLosing, losing as f64),
            (Measure::CutsNotUp, self.cuts.iter().filter(down).count() as f64),
            (Measure::CutsAcknowledged, total(|cut| cut.acknowledged)),
            (Measure::CutsLost, sum(|found| found.lost) + gone as f64),
            (Measure::CutsHalf, sum(|found| found.half)),
            (Measure::CutsOlder, sum(|found| found.older)),
            (Measure::CutsUpNs, total(|cut| cut.up_ns)),
        ];
        measures.extend(self.reached());
        measures.extend(self.volumes());
        for (measure, count) in self.cuts.iter().flat_map(|cut| &cut.more) {
            match measures.iter_mut().find(|(known, _)| known == measure) {
                Some((_, sum)) => *sum += count,
                None => measures.push((*measure, *count)),
            }
        }
        let mut seen = Seen::default();
        for (nth, cut) in self.cuts.iter().enumerate().filter(|(_, cut)| cut.is_loss()) {
            seen.notes.push(cut.words(self.end, nth + 1));
        }
        for (nth, cut) in self.cuts.iter().enumerate() {
            let without = cut.volume.without.iter();
            let words = without.map(|lost| format!("{} {}: {lost}", self.end.noun(), nth + 1));
            seen.notes.extend(words);
        }
        if losing == 0 {
            seen.remarks.push(self.kept());
        }
        Done {
            elapsed_ns: elapsed.as_nanos() as u64,
            measures,
            seen,
            ..Done::default()
        }
    }

    /// How far they reached: of a kill nobody knows what lay in the caches of devices.
    fn reached(&self) -> Vec<(Measure, f64)> {
        let count = |of: fn(&Gone) -> bool| self.cuts.iter().filter(|cut| of(&cut.gone)).count() as f64;
        let bytes = |of: fn(&Gone) -> u64| self.cuts.iter().map(|cut| of(&cut.gone)).sum::<u64>() as f64;
        match self.end {
            End::PowerCut => vec![
                (Measure::CutsUnflushed, count(|gone| gone.held_bytes > 0)),
                (Measure::CutsUnflushedBytes, bytes(|gone| gone.held_bytes)),
                (Measure::CutsLostBytes, bytes(|gone| gone.lost_bytes)),
            ],
            End::Kill => vec![
                (Measure::CutsForcedDown, count(|gone| gone.with != With::Nothing)),
                (Measure::CutsPoolEnded, count(|gone| gone.with == With::PoolProcess)),
            ],
        }
    }

    /// What the cuts left of parity, of a stack that has it.
    fn volumes(&self) -> Vec<(Measure, f64)> {
        let stale: Vec<u64> = self.cuts.iter().filter_map(|cut| cut.volume.stale_parity).collect();
        if stale.is_empty() {
            return Vec::new();
        }
        let cuts = stale.iter().filter(|bytes| **bytes > 0).count() as f64;
        let bytes = stale.iter().sum::<u64>() as f64;
        vec![
            (Measure::CutsParityLookedAt, stale.len() as f64),
            (Measure::CutsStaleParity, cuts),
            (Measure::CutsStaleParityBytes, bytes),
        ]
    }

    /// That all was kept.
    fn kept(&self) -> String {
        let acknowledged: u64 = self.cuts.iter().map(|cut| cut.acknowledged).sum();
        let made = self.cuts.len();
        let found = self.cuts.iter().find_map(|cut| cut.found.as_ref().ok());
        let what = noun(found.map(|found| found.what).unwrap_or_default());
        match self.end {
            End::PowerCut => format!("{made} power cuts: kept all {acknowledged} {what}"),
            End::Kill => {
                let count = |of: fn(With) -> bool| self.cuts.iter().filter(|cut| of(cut.gone.with)).count() as f64;
                let (forced, pools) = (
                    count(|with| with != With::Nothing),
                    count(|with| with == With::PoolProcess),
                );
                let how = report::kill_words(made as f64, forced, pools);
                format!("{how}: kept all {acknowledged} {what}; {}", report::KILL_IS_WEAKER)
            }
        }
    }
}

impl Cut {
    fn is_loss(&self) -> bool {
        self.found.as_ref().map_or(true, Found::is_loss)
    }

    fn words(&self, end: End, nth: usize) -> String {
        let seconds = self.after.as_secs_f64();
        let what = match &self.found {
            Err(why) => format!("not brought up: {why}"),
            Ok(found) => {
                let mut what = format!("{} of {} {} lost", found.lost, found.acknowledged, noun(found.what));
                if found.what == Kept::Transactions {
                    let (half, older) = (found.half, found.older);
                    what.push_str(&format!(", {half} half there, {older} pages older than before"));
                }
                for example in &found.examples {
                    what.push_str("; ");
                    what.push_str(example);
                }
                what
            }
        };
        format!("{} {nth}, after {seconds:.3} s of work, DATA LOST: {what}", end.noun())
    }
}

/// What was acknowledged, in words.
fn noun(what: Kept) -> &'static str {
    match what {
        Kept::Transactions => report::ACKNOWLEDGED,
        Kept::Stable => report::ACKNOWLEDGED_BY_A_FILE_SERVER,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(lost: u64) -> Sum {
        let found = Found {
            acknowledged: 3,
            lost,
            ..Found::default()
        };
        let mut sum = Sum::of(End::Kill);
        sum.cuts.push(Cut {
            after: Duration::from_millis(200),
            gone: Gone::default(),
            acknowledged: 3,
            up_ns: 1,
            volume: VolumeBack::default(),
            found: Ok(found),
            more: vec![(Measure::CutsNames, 2.0)],
        });
        sum
    }

    #[test]
    fn what_went_with_the_engine_is_named() {
        let told = |with| {
            let mut sum = sum(0);
            sum.cuts[0].gone.with = with;
            sum.done(Duration::ZERO).seen.remarks.join(" ")
        };
        assert!(told(With::Nothing).contains("(the engine only: what the page cache holds stays)"));
        assert!(told(With::FileSystems).contains("(file system forced down)"));
        let pool = told(With::PoolProcess);
        assert!(
            pool.contains("(the process of its pool ended too)") && !pool.contains("forced down"),
            "{pool}"
        );
    }

    #[test]
    fn a_write_hole_is_counted_and_is_no_loss() {
        let mut sum = sum(0);
        sum.end = End::PowerCut;
        sum.cuts[0].volume.stale_parity = Some(4096);
        let done = sum.done(Duration::ZERO);
        for expected in [
            (Measure::CutsParityLookedAt, 1.0),
            (Measure::CutsStaleParity, 1.0),
            (Measure::CutsStaleParityBytes, 4096.0),
            (Measure::CutsLosing, 0.0),
        ] {
            assert!(done.measures.contains(&expected), "{:?}", done.measures);
        }
    }

    #[test]
    fn counts_of_one_kind_add_up_and_are_told_in_its_words() {
        let mut sum = sum(0);
        for cut in [1, 2] {
            let found = Found {
                what: Kept::Stable,
                ..Found::default()
            };
            sum.cuts.push(Cut {
                after: Duration::from_millis(cut),
                gone: Gone::default(),
                acknowledged: 3,
                up_ns: 1,
                volume: VolumeBack::default(),
                found: Ok(found),
                more: vec![(Measure::CutsNames, 2.0)],
            });
        }
        let done = sum.done(Duration::ZERO);
        assert!(
            done.measures.contains(&(Measure::CutsNames, 6.0)),
            "{:?}",
            done.measures
        );
        sum.cuts.remove(0);
        let told = sum.done(Duration::ZERO).seen.remarks.join(" ");
        assert!(told.contains("kept all 6 names and KiB"), "{told}");
    }

    #[test]
    fn a_loss_outlives_a_later_failure() {
        let ended = |lost, error: anyhow::Error| sum(lost).ended(Err(error), Duration::ZERO);
        let later = || anyhow::anyhow!("a server that took too long");
        let done = ended(1, later()).expect("what was found");
        assert!(
            done.measures.contains(&(Measure::CutsLosing, 1.0)),
            "{:?}",
            done.measures
        );
        assert!(done.seen.notes[0].contains("DATA LOST"), "{:?}", done.seen.notes);
        assert!(done.failed.is_some_and(|error| error.to_string().contains("too long")));
        let no_space = || anyhow::Error::from(std::io::Error::from_raw_os_error(28));
        let full = ended(1, no_space()).expect("what was found");
        let words = full.full.expect("it is full");
        assert!(
            words.contains("ran out of space") && words.contains("DATA LOST"),
            "{words}"
        );
        assert!(full.failed.is_none());
        // Nothing was lost: the error is all there is to tell.
        assert!(ended(0, later()).is_err() && ended(0, no_space()).is_err());
        assert!(
            sum(0)
                .ended(Ok(()), Duration::ZERO)
                .is_ok_and(|done| done.failed.is_none())
        );
    }
}
