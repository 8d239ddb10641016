//! A phase of kind `power_cut` or `kill`: work, its end at a moment that the seed chooses, everything taken down hard, what survived brought up
//! as an administrator would, and every acknowledgement looked up. Again and again.
//!
//! Takes the stack of a trial and how ports are opened on it; gives counts and the list of what was lost. Prevents: durability that is
//! believed because nobody pulled the plug.

use crate::cuts::acknowledged::{Found, Log, Logged, survey};
use crate::cuts::ending::Ending;
use crate::cuts::moment::{Came, Moment};
use crate::cuts::sums::{Cut, Sum};
use crate::host::opened::Opened;
use crate::host::trial::Trial;
use crate::not_kept;
use crate::pool::pooled::Pooled;
use crate::ports::{PageEngine, StackPort};
use crate::signals;
use crate::trial::around::After;
use crate::trial::drive;
use anyhow::Context;
use ledger::Ledger;
use pages::PagesError;
use plan::{Phase, PowerCut};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What a stack is left as by a cut.
enum Left {
    /// Up, with these versions of the pages.
    Up(Vec<u64>),
    /// Destroyed.
    Down,
}

impl Trial<'_> {
    /// Runs the phase and records it.
    pub(crate) fn cut(&self, ledger: &mut Ledger, opened: &mut Opened<'_>, ordinal: usize) -> anyhow::Result<After> {
        let phase: &Phase = &self.site.study.phases[ordinal];
        let plan::PhaseKind::PowerCut(cut) = &phase.kind else {
            anyhow::bail!("{} is no power cut and no kill", phase.name)
        };
        let around = self.around();
        let began = Instant::now();
        around.recorded(ledger, phase, ordinal, || {
            let mut sum = Sum::of(cut.end);
            let worked = self.cuts(&mut sum, opened, (phase, cut, ordinal));
            sum.ended(worked, began.elapsed())
        })
    }

    /// All cuts or kills of a phase; what was found by then stays where one of them fails.
    fn cuts(
        &self,
        sum: &mut Sum,
        opened: &mut Opened<'_>,
        (phase, cut, ordinal): (&Phase, &PowerCut, usize),
    ) -> anyhow::Result<()> {
        let around = self.around();
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(self.turn.block.seed ^ (ordinal as u64 + 1) << 40);
        let mut before = None;
        for nth in 0..cut.cuts {
            signals::check(self.turn.cancel)?;
            around.doing(phase, &format!(" · {} {} of {}", cut.end.noun(), nth + 1, cut.cuts));
            let (done, left) = self.one_cut(opened, cut, before.take(), &mut rng)?;
            sum.cuts.push(done);
            match left {
                Left::Up(versions) => before = Some(versions),
                Left::Down => {
                    let lost = sum.last_words();
                    self.make_anew(opened).context(lost)?;
                }
            }
        }
        Ok(())
    }

    /// Work, its end, down, up, look.
    fn one_cut(
        &self,
        opened: &mut Opened<'_>,
        cut: &PowerCut,
        before: Option<Vec<u64>>,
        rng: &mut Xoshiro256PlusPlus,
    ) -> anyhow::Result<(Cut, Left)> {
        let window = cut.latest.0 - cut.earliest.0;
        let after = Duration::from_nanos(cut.earliest.0 + rng.next_u64() % (window + 1));
        let (work_seed, loss_seed) = (rng.next_u64(), rng.next_u64());
        let stand = opened.stand;
        let ending = Ending::of(cut.end, &self.site.luns, stand, opened.pool().map(Pooled::zpool));
        let work = Work {
            cut,
            after,
            seed: work_seed,
            before,
            cancel: self.turn.cancel,
        };
        let worked = work.until_the_end(open(opened)?, &ending)?;
        opened.lose();
        let down = Instant::now();
        let gone = ending.take_down(stand, loss_seed)?;
        let up = ending.bring_up(stand).map_err(anyhow::Error::from);
        // As an administrator would: mounted, or the group or the pool opened again; then the engine recovers.
        let found = up
            .and_then(|()| opened.reopen())
            .and_then(|()| Ok(survey(&mut open(opened)?)?));
        let pages = self.sizes.shape.pages_per_schema;
        let (found, left) = match found {
            Ok(versions) => (
                Ok(Found::of(&worked.logs, &worked.before, &versions, pages)),
                Left::Up(versions),
            ),
            Err(error) if not_kept::is_loss(&error) => (Err(crate::causes::chain(&error)), Left::Down),
            Err(error) => return Err(error.context(format!("come back after a {}", cut.end.noun()))),
        };
        let cut = Cut {
            after,
            gone,
            acknowledged: Found::acknowledged(&worked.logs),
            up_ns: down.elapsed().as_nanos() as u64,
            found,
        };
        Ok((cut, left))
    }

    /// After an end that nothing survived: the stack and the database again from the beginning.
    fn make_anew(&self, opened: &mut Opened<'_>) -> anyhow::Result<()> {
        let stand = opened.stand;
        opened.lose();
        stacks::power_off(&stand.built)?;
        stacks::make_anew(&stand.stack, &stand.built, luns::MARKER, &self.site.journal)?;
        stand.empty_directory()?;
        opened.prepare()?;
        let (shape, settings) = (self.sizes.shape, self.sizes.settings);
        let mut instance = PageEngine::create(opened.ports()?, &stand.files(), shape, settings, &mut |_, _| ())?;
        Ok(instance.checkpoint()?)
    }
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
    cut: &'a PowerCut,
    after: Duration,
    seed: u64,
    before: Option<Vec<u64>>,
    /// What a signal sets.
    cancel: &'a AtomicBool,
}

impl Work<'_> {
    /// Works until the power fails or the engine is killed.
    fn until_the_end(&self, mut instance: PageEngine, ending: &Ending<'_>) -> anyhow::Result<Worked> {
        let before = match &self.before {
            Some(versions) => versions.clone(),
            None => survey(&mut instance)?,
        };
        let mut logs: Vec<Log> = instance.ports_mut().map(|_| Log::default()).collect();
        let (moment, killed) = (Moment::default(), AtomicBool::new(false));
        let stop = Arc::new(AtomicBool::new(false));
        let pacing = drive::random_pacing(&self.cut.work, None, &stop);
        if self.cut.work.update_pct == 0 {
            // Nothing will be acknowledged, and there is nothing to wait for.
            moment.begin();
        }
        std::thread::scope(|scope| {
            let timer = scope.spawn(|| {
                let due = moment.wait(self.after, self.cancel) == Came::Due;
                let stopped = if due { ending.strike() } else { Ok(()) };
                // Where no storage fails, the engine stops where it is.
                killed.store(due && ending.is_kill(), Ordering::SeqCst);
                // Work that needs no storage would go on, and so would workers beside one that failed.
                stop.store(true, Ordering::SeqCst);
                stopped
            });
            let driven = self.drive(&mut instance, &mut logs, &pacing, (&killed, &moment));
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
        (killed, moment): (&AtomicBool, &Moment),
    ) -> Result<(), PagesError> {
        let operations = instance.random(&drive::random_work(&self.cut.work), self.seed)?;
        let mut logged: Vec<Logged<'_, '_, StackPort>> = operations
            .into_iter()
            .zip(logs)
            .map(|(operation, log)| Logged::new(operation, log, killed, moment))
            .collect();
        drive::drive_all(&mut logged, pacing, self.seed).map(drop)
    }
}
