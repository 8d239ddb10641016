//! A phase of kind `power_cut` or `kill`: work, its end at a moment that the seed chooses, everything taken down hard, what survived brought up
//! as an administrator would, and every acknowledgement looked up. Again and again.
//!
//! Takes the stack of a trial and how ports are opened on it; gives counts and the list of what was lost. Prevents: durability that is
//! believed because nobody pulled the plug.

use crate::cuts::acknowledged::{Found, Log, Logged, survey};
use crate::cuts::ending::Ending;
use crate::cuts::moment::{Came, Moment};
use crate::cuts::sums::{Cut, Sum};
use crate::group::grouped::Open;
use crate::host::stand::{Opened, Stand};
use crate::host::trial::Trial;
use crate::inject;
use crate::not_kept;
use crate::pool::pooled::Pooled;
use crate::signals;
use crate::trial::around::After;
use crate::trial::drive;
use anyhow::Context;
use ledger::Ledger;
use pages::{Files, Instance, PagesError};
use plan::{Phase, PowerCut};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use targets::Port;

/// What a stack is left as by a cut.
enum Left {
    /// Up, with these versions of the pages.
    Up(Vec<u64>),
    /// Destroyed.
    Down,
}

impl Trial<'_> {
    /// Runs the phase and records it.
    pub(crate) fn cut<P: Port + Send>(
        &self,
        ledger: &mut Ledger,
        open: &Open<'_, P>,
        opened: &mut Opened<P>,
        at: usize,
        ordinal: usize,
    ) -> anyhow::Result<After> {
        let phase: &Phase = &self.site.study.phases[ordinal];
        let plan::PhaseKind::PowerCut(cut) = &phase.kind else {
            anyhow::bail!("{} is no power cut and no kill", phase.name)
        };
        let around = self.around();
        let began = Instant::now();
        around.recorded(ledger, phase, ordinal, || {
            let mut sum = Sum::of(cut.end);
            let worked = self.cuts(&mut sum, open, opened, &self.stands[at], (phase, cut, ordinal));
            sum.ended(worked, began.elapsed())
        })
    }

    /// All cuts or kills of a phase; what was found by then stays where one of them fails.
    fn cuts<P: Port + Send>(
        &self,
        sum: &mut Sum,
        open: &Open<'_, P>,
        opened: &mut Opened<P>,
        stand: &Stand,
        (phase, cut, ordinal): (&Phase, &PowerCut, usize),
    ) -> anyhow::Result<()> {
        let around = self.around();
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(self.turn.block.seed ^ (ordinal as u64 + 1) << 40);
        let mut before = None;
        for nth in 0..cut.cuts {
            signals::check(self.turn.cancel)?;
            around.doing(phase, &format!(" · {} {} of {}", cut.end.noun(), nth + 1, cut.cuts));
            let (done, left) = self.one_cut(open, opened, stand, cut, before.take(), &mut rng)?;
            sum.cuts.push(done);
            match left {
                Left::Up(versions) => before = Some(versions),
                Left::Down => {
                    let lost = sum.last_words();
                    self.make_anew(open, opened, stand).context(lost)?;
                }
            }
        }
        Ok(())
    }

    /// Work, its end, down, up, look.
    fn one_cut<P: Port + Send>(
        &self,
        open: &Open<'_, P>,
        opened: &mut Opened<P>,
        stand: &Stand,
        cut: &PowerCut,
        before: Option<Vec<u64>>,
        rng: &mut Xoshiro256PlusPlus,
    ) -> anyhow::Result<(Cut, Left)> {
        let window = cut.latest.0 - cut.earliest.0;
        let after = Duration::from_nanos(cut.earliest.0 + rng.next_u64() % (window + 1));
        let (work_seed, loss_seed) = (rng.next_u64(), rng.next_u64());
        let process = opened.pool.as_ref().map(Pooled::zpool);
        let ending = Ending::of(cut.end, &self.site.luns, stand, process);
        let settings = self.sizes.settings;
        let worked = self.on_ports(open, opened, stand, &mut |mut ports| {
            let work = Work {
                files: &stand.files(),
                settings,
                cut,
                after,
                seed: work_seed,
                before: before.clone(),
                cancel: self.turn.cancel,
            };
            work.until_the_end(&mut ports, &ending)
        })?;
        opened.lose();
        let down = Instant::now();
        let gone = ending.take_down(stand, loss_seed)?;
        let mut found = None;
        let up = self.bring_up(&ending, open, opened, stand).and_then(|()| {
            self.on_ports(open, opened, stand, &mut |mut ports| {
                let versions = ports.look(&stand.files(), settings)?;
                found = Some(versions);
                Ok((Vec::new(), Vec::new()))
            })
        });
        let pages = self.sizes.shape.pages_per_schema;
        let (found, left) = match (up, found) {
            (Ok(_), Some(versions)) => (
                Ok(Found::of(&worked.0, &worked.1, &versions, pages)),
                Left::Up(versions),
            ),
            (Err(error), _) if not_kept::is_loss(&error) => (Err(crate::causes::chain(&error)), Left::Down),
            (Err(error), _) => return Err(error.context(format!("come back after a {}", cut.end.noun()))),
            (Ok(_), None) => anyhow::bail!("a look that saw nothing"),
        };
        let cut = Cut {
            after,
            gone,
            acknowledged: Found::acknowledged(&worked.0),
            up_ns: down.elapsed().as_nanos() as u64,
            found,
        };
        Ok((cut, left))
    }

    /// Mounts, or opens the group or the pool again.
    fn bring_up<P: Port + Send>(
        &self,
        ending: &Ending<'_>,
        open: &Open<'_, P>,
        opened: &mut Opened<P>,
        stand: &Stand,
    ) -> anyhow::Result<()> {
        ending.bring_up(stand)?;
        opened.reopen(stand, self.sizes, open)
    }

    /// After an end that nothing survived: the stack and the database again from the beginning.
    fn make_anew<P: Port + Send>(
        &self,
        open: &Open<'_, P>,
        opened: &mut Opened<P>,
        stand: &Stand,
    ) -> anyhow::Result<()> {
        opened.lose();
        stacks::power_off(&stand.built)?;
        stacks::make_anew(&stand.stack, &stand.built, luns::MARKER, &self.site.journal)?;
        stand.empty_directory()?;
        opened.prepare(stand, self.sizes, open)?;
        let (shape, settings) = (self.sizes.shape, self.sizes.settings);
        self.on_ports(open, opened, stand, &mut |mut ports| {
            ports.load(&stand.files(), shape, settings)?;
            Ok((Vec::new(), Vec::new()))
        })?;
        Ok(())
    }

    /// Opens a port for each worker, of the sort that the stack has, and hands them over.
    fn on_ports<P: Port + Send>(
        &self,
        open: &Open<'_, P>,
        opened: &Opened<P>,
        stand: &Stand,
        with: &mut dyn FnMut(Ports<'_>) -> anyhow::Result<Worked>,
    ) -> anyhow::Result<Worked> {
        let (sizes, workers) = (self.sizes, self.site.study.workers);
        let (memory, depth) = (sizes.memory_bytes(), sizes.depth(stand.data_file_count()));
        if let Some(pool) = &opened.pool {
            let (inject, seed) = (stand.stack.inject, self.turn.block.seed);
            let ports = (0..workers).map(|_| Ok(inject::planted(pool.port(memory, depth)?, inject, seed)));
            let mut all = Some(ports.collect::<anyhow::Result<Vec<_>>>()?);
            return with(Ports(&mut all));
        }
        match &opened.group {
            Some(group) if group.has_two() => {
                let ports = (0..workers).map(|_| group.port_of_two(open, memory, depth));
                let mut all = Some(ports.collect::<anyhow::Result<Vec<_>>>()?);
                with(Ports(&mut all))
            }
            Some(group) => {
                let ports = (0..workers).map(|_| group.port(open, memory, depth));
                let mut all = Some(ports.collect::<anyhow::Result<Vec<_>>>()?);
                with(Ports(&mut all))
            }
            None => {
                let ports = (0..workers).map(|_| stand.plain_port(open, sizes, memory, depth));
                let mut all = Some(ports.collect::<anyhow::Result<Vec<_>>>()?);
                with(Ports(&mut all))
            }
        }
    }
}

/// Logs of all workers, and the versions before the work.
type Worked = (Vec<Log>, Vec<u64>);

/// Ports of one sort or another.
struct Ports<'a>(&'a mut dyn Acts);

impl Ports<'_> {
    fn look(&mut self, files: &Files, settings: pages::Settings) -> anyhow::Result<Vec<u64>> {
        self.0.look(files, settings)
    }

    fn load(&mut self, files: &Files, shape: pages::Shape, settings: pages::Settings) -> anyhow::Result<()> {
        self.0.load(files, shape, settings)
    }
}

/// What is done with ports, each time with all of them, which are gone afterwards.
trait Acts {
    /// Opens the database, recovers it, reads everything.
    fn look(&mut self, files: &Files, settings: pages::Settings) -> anyhow::Result<Vec<u64>>;
    /// Loads a new one.
    fn load(&mut self, files: &Files, shape: pages::Shape, settings: pages::Settings) -> anyhow::Result<()>;
    /// Works until the power fails or the engine is killed.
    fn work(&mut self, work: &Work<'_>, ending: &Ending<'_>) -> anyhow::Result<Worked>;
}

impl<Q: Port + Send> Acts for Option<Vec<Q>> {
    fn look(&mut self, files: &Files, settings: pages::Settings) -> anyhow::Result<Vec<u64>> {
        let ports = self.take().context("ports are used once")?;
        let (mut instance, _) = Instance::open(ports, files, settings)?;
        Ok(survey(&mut instance)?)
    }

    fn load(&mut self, files: &Files, shape: pages::Shape, settings: pages::Settings) -> anyhow::Result<()> {
        let ports = self.take().context("ports are used once")?;
        let mut instance = Instance::create(ports, files, shape, settings, &mut |_, _| ())?;
        Ok(instance.checkpoint()?)
    }

    fn work(&mut self, work: &Work<'_>, ending: &Ending<'_>) -> anyhow::Result<Worked> {
        let ports = self.take().context("ports are used once")?;
        let (mut instance, _) = Instance::open(ports, work.files, work.settings)?;
        let before = match &work.before {
            Some(versions) => versions.clone(),
            None => survey(&mut instance)?,
        };
        let mut logs: Vec<Log> = (0..work.settings.workers).map(|_| Log::default()).collect();
        let (moment, killed) = (Moment::default(), AtomicBool::new(false));
        let stop = Arc::new(AtomicBool::new(false));
        let pacing = drive::random_pacing(&work.cut.work, None, &stop);
        if work.cut.work.update_pct == 0 {
            // Nothing will be acknowledged, and there is nothing to wait for.
            moment.begin();
        }
        let driven: Result<(), anyhow::Error> = std::thread::scope(|scope| {
            let timer = scope.spawn(|| {
                let due = moment.wait(work.after, work.cancel) == Came::Due;
                let stopped = if due { ending.strike() } else { Ok(()) };
                // Where no storage fails, the engine stops where it is.
                killed.store(due && ending.is_kill(), Ordering::SeqCst);
                // Work that needs no storage would go on, and so would workers beside one that failed.
                stop.store(true, Ordering::SeqCst);
                stopped
            });
            let driven = drive_logged(&mut instance, work, &mut logs, &pacing, (&killed, &moment));
            if driven.is_err() {
                moment.fail();
            }
            let stopped = timer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            match (moment.came(), driven) {
                (Some(Came::Failed), Err(error)) => Err(error.into()),
                (Some(Came::Interrupted), _) => signals::check(work.cancel),
                _ => stopped,
            }
        });
        driven?;
        Ok((logs, before))
    }
}

fn drive_logged<Q: Port + Send>(
    instance: &mut Instance<Q>,
    work: &Work<'_>,
    logs: &mut [Log],
    pacing: &workloads::Pacing,
    (killed, moment): (&AtomicBool, &Moment),
) -> Result<(), PagesError> {
    let operations = instance.random(&drive::random_work(&work.cut.work), work.seed)?;
    let mut logged: Vec<Logged<'_, '_, Q>> = operations
        .into_iter()
        .zip(logs)
        .map(|(operation, log)| Logged::new(operation, log, killed, moment))
        .collect();
    drive::drive_all(&mut logged, pacing, work.seed).map(drop)
}

/// The work of one cut.
struct Work<'a> {
    files: &'a Files,
    settings: pages::Settings,
    cut: &'a PowerCut,
    after: Duration,
    seed: u64,
    before: Option<Vec<u64>>,
    /// What a signal sets.
    cancel: &'a AtomicBool,
}

impl Work<'_> {
    fn until_the_end(&self, ports: &mut Ports<'_>, ending: &Ending<'_>) -> anyhow::Result<Worked> {
        ports.0.work(self, ending)
    }
}
