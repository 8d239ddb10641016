//! Power cuts and kills under a file server: users that work, the end of server and storage, a server that comes back,
//! every name and every KiB looked up.
//!
//! Takes a stack that stands and the server that was made for it; gives the counts of any cut, and those of names and
//! KiB. Prevents: an acknowledgement that is asked of the server that gave it (the tree is known by us), and a server
//! that acknowledges what its LUNs, which have just lost their power, cannot keep.

use super::server::Server;
use super::work;
use crate::cuts::acknowledged::{Found, Kept};
use crate::cuts::ending::Ending;
use crate::cuts::moment::{Came, Moment};
use crate::cuts::phase::{self, Ended};
use crate::cuts::sums::Cut;
use crate::host::site::HostSite;
use crate::host::stand::Stand;
use crate::signals;
use anyhow::Context;
use files::{After, Audit, Place, WrongAnswers};
use ledger::Measure;
use plan::{Files, PowerCut, Serving};
use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use workloads::Pacing;

/// Operations of each session before the time of the work begins: so much is acknowledged for certain.
const FIRST: u64 = 2;
/// The work ends with the cut; this is later than any.
const NEVER_NS: u64 = 86_400_000_000_000;

/// The files of a stack whose server is ended again and again.
pub(super) struct Served<'a> {
    pub(super) site: &'a HostSite<'a>,
    pub(super) stand: &'a Stand,
    pub(super) files: &'a Files,
    pub(super) server: &'a mut Server,
    pub(super) cancel: &'a Arc<AtomicBool>,
    pub(super) seed: u64,
    /// Trees made so far: each has a number of its own.
    pub(super) made: u32,
    pub(super) tree: Option<files::Serving>,
}

impl Ended for Served<'_> {
    fn end_once(&mut self, cut: &PowerCut, after: Duration, chance: &mut Xoshiro256PlusPlus) -> anyhow::Result<Cut> {
        let (work_seed, loss_seed) = (chance.next_u64(), chance.next_u64());
        let serving = cut.work.serving().context("the work of a file server")?;
        let mut tree = match self.tree.take() {
            Some(tree) => tree,
            None => self.plant(serving)?,
        };
        let names = tree.tree().files;
        let ending = Ending::of(cut.end, &self.site.luns, self.stand, None);
        let wrong = self.work(&mut tree, &ending, (serving.sessions, after), work_seed)?;
        let back = phase::come_back(&ending, (self.stand, &self.site.journal), loss_seed, || {
            self.server.start(&self.site.journal)?;
            let place = self.server.place().map(Place::Nfs3)?;
            tree.audit(After::Cut, Some(place))
                .map_err(|error| self.server.blame(error.into()))
        })?;
        let mut more = Vec::new();
        let found = back.found.map(|audit| {
            more = counted(&audit);
            found(&audit, wrong)
        });
        let acknowledged = found.as_ref().map_or(names, |found| found.acknowledged);
        if found.is_ok() {
            // What was sent again is there at the next cut.
            self.stand.sync()?;
            self.tree = Some(tree);
        }
        Ok(Cut {
            after,
            gone: back.gone,
            acknowledged,
            up_ns: back.up_ns,
            volume: back.volume,
            found,
            more,
        })
    }

    fn make_anew(&mut self) -> anyhow::Result<()> {
        self.server.kill()?;
        self.stand.make_anew(&self.site.journal)?;
        self.server.start(&self.site.journal)
    }

    fn settle(&mut self) -> anyhow::Result<()> {
        Ok(stacks::settle(&self.stand.built, &self.site.journal)?)
    }
}

impl Served<'_> {
    /// Makes a tree of files, of which everything is on the devices.
    fn plant(&mut self, serving: &Serving) -> anyhow::Result<files::Serving> {
        let seed = self.seed.wrapping_add(u64::from(self.made) << 32);
        let run = (seed ^ (seed >> 32)) as u32;
        self.made += 1;
        let config = work::config(serving, self.files, run, seed)?;
        let mut tree = files::Serving::begin(config, Place::Nfs3(self.server.place()?))?;
        tree.end_by(self.cancel);
        tree.grow_to(serving.data_bytes_most(), true)
            .map_err(|error| self.server.blame(error.into()))?;
        self.stand.sync()?;
        Ok(tree)
    }

    /// Works until the power fails, or the server is killed. Gives answers that were wrong before.
    fn work(
        &self,
        tree: &mut files::Serving,
        ending: &Ending<'_>,
        (sessions, after): (u32, Duration),
        seed: u64,
    ) -> anyhow::Result<WrongAnswers> {
        let mut first = Pacing::closed(sessions, NEVER_NS);
        first.stop.operations_per_session = Some(FIRST);
        first.cancel = Some(Arc::clone(self.cancel));
        tree.run(&first, !seed)
            .map_err(|error| failed(self.server.blame(error.into()), &tree.wrong()))?;
        let mut wrong = tree.wrong();
        signals::check(self.cancel)?;
        let (moment, stop) = (Moment::default(), Arc::new(AtomicBool::new(false)));
        let (server, cancel) = (&*self.server, self.cancel);
        moment.begin();
        let mut pacing = Pacing::closed(sessions, NEVER_NS);
        pacing.cancel = Some(Arc::clone(&stop));
        std::thread::scope(|scope| {
            let timer = scope.spawn(|| {
                let due = moment.wait(after, cancel) == Came::Due;
                // The server before its storage: a host without power says nothing any more.
                let struck = match due {
                    true => server.kill().and_then(|()| ending.strike()),
                    false => Ok(()),
                };
                stop.store(true, Ordering::SeqCst);
                struck
            });
            let driven = tree.run(&pacing, seed);
            // The cut itself ends the work by an error: what was wrong until then counts all the same.
            wrong.add(tree.wrong());
            if driven.is_err() {
                moment.fail();
            }
            let struck = timer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            match (moment.came(), driven) {
                (Some(Came::Failed), Err(error)) => Err(failed(server.blame(error.into()), &wrong)),
                (Some(Came::Interrupted), _) => signals::check(cancel),
                _ => struck,
            }
        })?;
        Ok(wrong)
    }
}

/// Work that failed by itself: nothing is counted of it, so its error says what was wrong before.
fn failed(error: anyhow::Error, wrong: &WrongAnswers) -> anyhow::Error {
    match wrong.examples.first() {
        Some(first) => error.context(format!("{} answers were wrong before, DATA LOST: {first}", wrong.count)),
        None => error,
    }
}

/// What was found, in the terms of all cuts: names and KiB that had to be as they were acknowledged. Wrong answers
/// before the cut are of such names and KiB too.
fn found(audit: &Audit, wrong: WrongAnswers) -> Found {
    let mut found = Found {
        what: Kept::Stable,
        acknowledged: audit.acknowledged() + wrong.count,
        lost: audit.lost() + wrong.count,
        ..Found::default()
    };
    for example in wrong.examples.into_iter().chain(audit.examples.iter().cloned()) {
        found.example(|| example);
    }
    if audit.verifier_hides_loss {
        found.example(|| "the write verifier is the same though uncommitted data are gone".to_string());
    }
    found
}

/// Names and KiB apart.
fn counted(audit: &Audit) -> Vec<(Measure, f64)> {
    [
        (Measure::CutsNames, audit.names + audit.names_removed),
        (Measure::CutsNamesLost, audit.names_lost + audit.names_back),
        (Measure::CutsKib, audit.kib_stable + audit.kib_wrong_after),
        (Measure::CutsKibLost, audit.kib_lost + audit.kib_wrong_after),
        (Measure::CutsKibUnstable, audit.kib_unstable),
        (Measure::CutsKibGone, audit.kib_gone),
        (Measure::CutsKibResent, audit.kib_resent),
        (Measure::CutsVerifierHid, u64::from(audit.verifier_hides_loss)),
        (
            Measure::CutsHandlesStale,
            u64::from(audit.handles_survived == Some(false)),
        ),
    ]
    .into_iter()
    .map(|(measure, count)| (measure, count as f64))
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_kib_and_a_verifier_that_hides_a_loss_are_lost() {
        let clean = Audit {
            names: 10,
            kib_stable: 20,
            kib_unstable: 5,
            kib_gone: 5,
            ..Audit::default()
        };
        let right = WrongAnswers::default;
        let kept = found(&clean, right());
        assert!(!kept.is_loss() && kept.acknowledged == 30, "{kept:?}");
        let lost = |audit: Audit| found(&audit, right()).lost;
        assert_eq!(
            lost(Audit {
                names_lost: 2,
                ..clean.clone()
            }),
            2
        );
        assert_eq!(
            lost(Audit {
                names_back: 1,
                ..clean.clone()
            }),
            1
        );
        let hidden = Audit {
            verifier_hides_loss: true,
            ..clean.clone()
        };
        let told = found(&hidden, right());
        assert!(told.lost == 5 && told.examples[0].contains("verifier"), "{told:?}");
        assert_eq!(told.acknowledged, 35, "5 hidden ones had to be there too");
        let wrong = WrongAnswers {
            count: 40,
            examples: vec!["a wrong answer".to_string()],
        };
        let told = found(&clean, wrong);
        assert_eq!(
            (told.lost, told.acknowledged),
            (40, 70),
            "each counts, not only those in words"
        );
        let back = Audit {
            names_removed: 3,
            names_back: 3,
            ..clean.clone()
        };
        assert_eq!(found(&back, right()).acknowledged, 33);
        assert!(counted(&back).contains(&(Measure::CutsNames, 13.0)));
        let of = |measure| {
            counted(&hidden)
                .into_iter()
                .find(|(known, _)| *known == measure)
                .unwrap()
                .1
        };
        assert_eq!((of(Measure::CutsKibGone), of(Measure::CutsVerifierHid)), (5.0, 1.0));
    }
}
