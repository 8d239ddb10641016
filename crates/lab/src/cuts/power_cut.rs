//! Power cuts and kills under the page engine: work whose every acknowledgement is kept, its end, all pages surveyed.
//!
//! Takes the stack of a trial and how ports are opened on it; gives what the engine had acknowledged, and what of it is
//! still there. Prevents: an acknowledgement that is asked of the engine that gave it.

use crate::cuts::acknowledged::{Found, Log, Logged, Over, survey};
use crate::cuts::ending::Ending;
use crate::cuts::moment::{Came, Moment};
use crate::cuts::phase::{self, Ended};
use crate::cuts::sums::Cut;
use crate::host::opened::Opened;
use crate::host::site::HostSite;
use crate::host::stand::Stand;
use crate::not_kept;
use crate::pool::pooled::Pooled;
use crate::ports::{PageEngine, StackPort};
use crate::signals;
use crate::trial::drive;
use crate::turn::Turn;
use anyhow::Context;
use pages::PagesError;
use plan::{End, PowerCut, Random};
use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The page engine's database of a trial.
pub(crate) struct Engine<'a, 'o> {
    pub(crate) site: &'a HostSite<'a>,
    pub(crate) turn: &'a Turn<'a>,
    pub(crate) opened: &'a mut Opened<'o>,
    /// Versions of all pages, where somebody has looked.
    pub(crate) before: Option<Vec<u64>>,
}

impl Ended for Engine<'_, '_> {
    fn end_once(&mut self, cut: &PowerCut, after: Duration, chance: &mut Xoshiro256PlusPlus) -> anyhow::Result<Cut> {
        let opened = &mut *self.opened;
        let (work_seed, loss_seed) = (chance.next_u64(), chance.next_u64());
        let stand = opened.stand;
        let ending = Ending::of(cut.end, &self.site.luns, stand, opened.pool().map(Pooled::zpool));
        let work = Work {
            random: cut.work.random().context("the work of a database")?,
            after,
            seed: work_seed,
            before: self.before.take(),
            cancel: self.turn.cancel,
        };
        let worked = work.until_the_end(open(opened)?, &ending, stand)?;
        opened.lose();
        let back = phase::come_back(&ending, (stand, &self.site.journal), loss_seed, || {
            let in_place = stand.stack.kind.overwrites_in_place();
            looked(opened).map_err(|error| {
                if in_place {
                    not_kept::of_whole_files(error)
                } else {
                    error
                }
            })
        })?;
        let pages = opened.sizes.shape.pages_per_schema;
        let found = back.found.map(|versions| {
            let found = Found::of(&worked.logs, &worked.before, &versions, pages);
            self.before = Some(versions);
            found
        });
        Ok(Cut {
            after,
            gone: back.gone,
            acknowledged: Found::acknowledged(&worked.logs),
            up_ns: back.up_ns,
            volume: back.volume,
            found,
            more: Vec::new(),
        })
    }

    fn make_anew(&mut self) -> anyhow::Result<()> {
        let (opened, cancel) = (&mut *self.opened, self.turn.cancel);
        let (stand, sizes) = (opened.stand, opened.sizes);
        opened.lose();
        stand.make_anew(&self.site.journal)?;
        opened.prepare()?;
        let files = stand.files();
        let mut going = |_, _| signals::flow(cancel);
        let mut instance = PageEngine::create(opened.ports()?, &files, sizes.shape, sizes.settings, &mut going)?;
        instance.checkpoint()?;
        Ok(stacks::loaded(&stand.built, &self.site.journal)?)
    }

    fn settle(&mut self) -> anyhow::Result<()> {
        Ok(stacks::settle(&self.opened.stand.built, &self.site.journal)?)
    }
}

/// What is there again.
fn looked(opened: &mut Opened<'_>) -> anyhow::Result<Vec<u64>> {
    opened.reopen()?;
    Ok(survey(&mut open(opened)?)?)
}

/// Opens the database, which recovers.
fn open(opened: &Opened<'_>) -> anyhow::Result<PageEngine> {
    Ok(PageEngine::open(opened.ports()?, &opened.stand.files(), opened.sizes.settings)?.0)
}

/// What was done by the time of an end.
struct Worked {
    /// A log for each worker.
    logs: Vec<Log>,
    /// Versions of all pages before the work.
    before: Vec<u64>,
}

/// The work of one cut.
struct Work<'a> {
    random: &'a Random,
    after: Duration,
    seed: u64,
    before: Option<Vec<u64>>,
    /// What a signal sets.
    cancel: &'a AtomicBool,
}

impl Work<'_> {
    /// Works until the power fails or the engine is killed.
    fn until_the_end(&self, mut instance: PageEngine, ending: &Ending<'_>, stand: &Stand) -> anyhow::Result<Worked> {
        let before = match &self.before {
            Some(versions) => versions.clone(),
            None => survey(&mut instance)?,
        };
        let mut logs: Vec<Log> = instance.ports_mut().map(|_| Log::default()).collect();
        let (moment, over) = (Moment::default(), Over::default());
        let stop = Arc::new(AtomicBool::new(false));
        let pacing = drive::random_pacing(self.random, None, &stop);
        if self.random.update_pct == 0 {
            // Nothing will be acknowledged, and there is nothing to wait for.
            moment.begin();
        }
        std::thread::scope(|scope| {
            let timer = scope.spawn(|| {
                let due = moment.wait(self.after, self.cancel) == Came::Due;
                over.silent.store(due && ending.silences(stand), Ordering::SeqCst);
                let stopped = if due { ending.strike() } else { Ok(()) };
                // Where no storage fails, the engine stops where it is.
                over.killed.store(due && ending.kind() == End::Kill, Ordering::SeqCst);
                // Work that needs no storage would go on, and so would workers beside one that failed.
                stop.store(true, Ordering::SeqCst);
                stopped
            });
            let driven = self.drive(&mut instance, &mut logs, &pacing, (&over, &moment));
            if driven.is_err() {
                moment.fail();
            }
            let stopped = timer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            match (moment.came(), driven) {
                (Some(Came::Failed), Err(error)) => Err(error.into()),
                (Some(Came::Interrupted), _) => signals::check(self.cancel),
                _ => stopped,
            }
        })?;
        Ok(Worked { logs, before })
    }

    fn drive(
        &self,
        instance: &mut PageEngine,
        logs: &mut [Log],
        pacing: &workloads::Pacing,
        (over, moment): (&Over, &Moment),
    ) -> Result<(), PagesError> {
        let operations = instance.random(&drive::random_work(self.random), self.seed)?;
        let mut logged: Vec<Logged<'_, '_, StackPort>> = operations
            .into_iter()
            .zip(logs)
            .map(|(operation, log)| Logged::new(operation, log, over, moment))
            .collect();
        drive::drive_all(&mut logged, pacing, self.seed).map(drop)
    }
}
