//! One stack, once, on this host: attached, built, loaded, driven, copied elsewhere and driven there, taken down.
//!
//! Prevents: anything left standing when a step fails (the journal is undone to where the trial began).

use crate::condition::Health;
use crate::cuts::{self, power_cut::Engine};
use crate::host::devices::Devices;
use crate::host::observed::Host;
use crate::host::opened::Opened;
use crate::host::site::{HostSite, undone};
use crate::host::stand::Stand;
use crate::host::stands;
use crate::instances::others::{Others, Where};
use crate::moves::copying::{AroundCopy, Way};
use crate::moves::volumes::VolumeOf;
use crate::pool::pooled::Pooled;
use crate::ports::{Opener, PageEngine, StackPort};
use crate::result_file;
use crate::serving;
use crate::signals;
use crate::sizes::Sizes;
use crate::sql::{self, kinds};
use crate::surroundings::Seen;
use crate::trial::around::{After, Around};
use crate::trial::book;
use crate::trial::extents::record_extents;
use crate::trial::phases::{Leg, Loaded};
use crate::trial::sampled;
use crate::turn::Turn;
use anyhow::Context;
use ledger::{Ledger, TrialId};
use plan::Phase;

/// A trial under way.
pub(crate) struct Trial<'a> {
    pub(crate) site: &'a HostSite<'a>,
    pub(crate) sizes: &'a Sizes,
    pub(crate) turn: &'a Turn<'a>,
    pub(crate) stands: &'a [Stand],
    pub(crate) id: TrialId,
    pub(crate) first: bool,
}

/// Runs one trial.
pub(crate) fn run(site: &mut HostSite<'_>, ledger: &mut Ledger, turn: &Turn<'_>) -> anyhow::Result<()> {
    let study = site.study;
    let stack = &study.stacks[turn.stack];
    // What the stack before had in memory is not this one's.
    targets::give_back_freed_memory();
    let mark = site.journal.mark();
    turn.doing(&stack.name, "building");
    let sets: Vec<&String> = stack.lun_sets().collect();
    let stands = stands::build(site, turn).map_err(|error| site.luns.blame(error, &sets))?;
    let first = described(site, ledger, turn, &stands)?;
    let (host, ranks) = (site.host.clone(), site.ranks.clone());
    let on = (host.as_str(), ranks.as_ref());
    let result = book::recorded(ledger, &stands[0].stack, turn, on, |ledger, id| {
        if stands[0].stack.engine.files().is_some() {
            let trial = serving::trial::Trial {
                study,
                turn,
                stand: &stands[0],
                id,
                first,
            };
            return serving::trial::run(site, ledger, &trial);
        }
        if kinds::of(&stands[0].stack.engine).is_some() {
            let trial = sql::contract::Trial {
                study,
                turn,
                stand: &stands[0],
                id,
                first,
                scattered_rows: site.scattered_rows(&stands[0].stack.engine)?,
                method: site.prepared.method,
            };
            return sql::trial::run(site, ledger, &trial);
        }
        let sizes = site.sizes()?;
        let trial = Trial {
            site,
            sizes: &sizes,
            turn,
            stands: &stands,
            id,
            first,
        };
        let driven = trial.drive(ledger);
        let sets: Vec<&String> = stands.iter().flat_map(|stand| stand.stack.lun_sets()).collect();
        driven.map_err(|error| site.luns.blame(error, &sets))
    });
    drop(stands);
    // What the trial says comes first; what could not be undone is found again, and reported, at the end of the run.
    let left = site.journal.undo_to(mark);
    site.luns.unserved();
    result.and_then(|()| undone(&left))
}

/// Tells the result file about a stack that stands for the first time; whether it is that.
pub(crate) fn described(
    site: &mut HostSite<'_>,
    ledger: &mut Ledger,
    turn: &Turn<'_>,
    stands: &[Stand],
) -> anyhow::Result<bool> {
    let first = !std::mem::replace(&mut site.described[turn.stack], true);
    if first {
        let stack = &site.study.stacks[turn.stack];
        let layers = site.luns.layers(stack, &stands[0].built.layers);
        ledger.stack(&book::row(turn.stack, stack, layers, None))?;
        for stand in stands {
            result_file::facts(ledger, &stand.scope(), result_file::listed(stand.built.facts.clone())?)?;
        }
    }
    Ok(first)
}

impl<'a> Trial<'a> {
    /// Drives all phases: on home, and after each copy where it went.
    fn drive(&self, ledger: &mut Ledger) -> anyhow::Result<()> {
        let mut opened: Vec<Opened<'_>> = self.stands.iter().map(|stand| self.opened(stand)).collect();
        let (mut at, mut first) = (0, 0);
        loop {
            let here = &mut opened[at];
            here.prepare()?;
            here.used = true;
            let leg = self.leg(ledger, here, first);
            let leg = leg.map_err(|error| name_files(error, &[here.stand]))?;
            if let Leg::Cut(ordinal) = leg {
                here.stand.sync()?;
                if let Some(pool) = here.pool() {
                    pool.zpool().sync()?;
                }
                first = ordinal + 1;
                let mut engine = Engine {
                    site: self.site,
                    turn: self.turn,
                    opened: here,
                    before: None,
                };
                if cuts::phase::run(&self.around(), ledger, ordinal, &mut engine)? == After::Full {
                    break;
                }
                continue;
            }
            let Leg::Copy(ordinal) = leg else { break };
            let Some(to) = self.copy(ledger, &mut opened, at, ordinal)? else {
                break;
            };
            at = to;
            first = ordinal + 1;
        }
        opened.into_iter().try_for_each(Opened::close)
    }

    /// A stand of this trial, on which nothing is open yet.
    pub(crate) fn opened(&self, stand: &'a Stand) -> Opened<'a> {
        let opener = Opener {
            method: self.site.prepared.method,
            seed: self.turn.block.seed,
        };
        Opened::new(stand, self.sizes, opener, self.site.study.workers)
    }

    /// The volume that the database lies in, if it lies in one.
    pub(crate) fn volume_of<'b>(&'b self, opened: &'b Opened<'_>) -> Option<VolumeOf<'b>> {
        let (built, journal) = (&opened.stand.built, &self.site.journal);
        let has_volume = opened.stand.stack.kind.volume().is_some();
        has_volume.then_some(VolumeOf { built, journal })
    }

    /// Phases from number `first` on, up to the next copy, where the database is now.
    fn leg(&self, ledger: &mut Ledger, opened: &Opened<'_>, first: usize) -> anyhow::Result<Leg> {
        let health = || opened.condition();
        let (mut instance, host) = self.ready(ledger, opened, &health, first)?;
        let others = self.others(&mut instance, opened)?;
        let volume = self.volume_of(opened);
        let mut loaded = Loaded {
            instance,
            others,
            surroundings: Box::new(host),
            around: &self.around(),
            changes: opened.changes(volume.as_ref()),
        };
        let leg = loaded.phases(ledger, first)?;
        if let Leg::Done | Leg::Full = leg {
            let asked = record_extents(
                &mut loaded.instance,
                &opened.stand.files(),
                self.id,
                ledger,
                "at the end",
            );
            // A full file system may refuse even to say where its files lie.
            if leg == Leg::Done {
                asked?;
            }
        }
        Ok(leg)
    }

    /// The other instances: each is given its workers, which this one gives up.
    fn others(&self, instance: &mut PageEngine, opened: &Opened<'_>) -> anyhow::Result<Others> {
        let count = opened.stand.stack.instances;
        if count < 2 {
            return Ok(Others::default());
        }
        let each = self.site.study.workers / count;
        instance.keep(0..each)?;
        let followers = opened.admit(count - 1)?;
        let place = match &self.site.ranks {
            Some(ranks) => Where::There(ranks),
            None => Where::Here(&self.site.journal),
        };
        let (openings, held) = opened.openings((count, each), matches!(place, Where::There(_)))?;
        let others = Others::open(openings, followers, &place, self.turn.cancel)?;
        // Until here they were found by our descriptors.
        drop(held);
        // What the others have now was this process's until then.
        targets::give_back_freed_memory();
        Ok(others)
    }

    /// Loads the database. A signal ends it.
    fn load(&self, opened: &Opened<'_>) -> anyhow::Result<PageEngine> {
        let (stand, sizes, turn) = (opened.stand, self.sizes, self.turn);
        let mut said = None;
        let mut progress = |done: u64, all: u64| {
            let percent = (done * 100).checked_div(all);
            if percent != said {
                said = percent;
                turn.doing(&stand.name, &format!("loading, {} %", percent.unwrap_or(100)));
            }
            signals::flow(turn.cancel)
        };
        let (ports, files) = (opened.ports()?, stand.files());
        PageEngine::create(ports, &files, sizes.shape, sizes.settings, &mut progress)
            .or_else(|error| signals::check(turn.cancel).and(Err(error.into())))
    }

    /// Loads the database, or opens what was copied here, and has everything ready for the first phase.
    pub(crate) fn ready<'b>(
        &'b self,
        ledger: &mut Ledger,
        opened: &'b Opened<'_>,
        health: &'b Health<'b>,
        first: usize,
    ) -> anyhow::Result<(PageEngine, Host<'b>)> {
        let (sizes, turn, stand) = (self.sizes, self.turn, opened.stand);
        let (files, facts) = (stand.files(), opened.facts()?);
        let loads = first == 0;
        let mut instance = if loads {
            self.load(opened)?
        } else {
            PageEngine::open(opened.ports()?, &files, sizes.settings)?.0
        };
        if self.first && loads {
            for facts in [stand.granted()?, facts, sampled::facts(&mut instance, turn.block.seed)?] {
                result_file::facts(ledger, &stand.scope(), facts)?;
            }
        }
        if loads {
            record_extents(&mut instance, &files, self.id, ledger, "loaded")?;
            if let Some(port) = instance.ports_mut().next() {
                ledger.layouts_of(self.id, &stand.data_files(sizes).look(port)?)?;
            }
            stacks::loaded(&stand.built, &self.site.journal)?;
        } else {
            let copy = &self.site.study.phases[first - 1].name;
            record_extents(&mut instance, &files, self.id, ledger, &format!("after {copy}"))?;
        }
        stand.built.check()?;
        let places = stand.places();
        let devices = stand.devices(&places)?;
        if self.first && loads {
            stand.describe(ledger, &devices)?;
        }
        self.site.drop_caches(&[stand], &places)?;
        self.site.luns.warm(&stand.stack)?;
        let (mounts, budget) = (stand.built.mounts.clone(), self.site.prepared.budget);
        let apart = stand.places_apart();
        let apart = [Devices::under(&apart.0)?, Devices::under(&apart.1)?];
        let (luns, stacks) = (&self.site.luns, [&stand.stack]);
        let host = Host::new(devices, places, mounts, budget, health)
            .with_log(&apart[0], &apart[1])
            .with_models(luns.models_of(&stacks), luns.faults_of(&stacks))
            .with_pools(opened.pool().map(Pooled::zpool))
            .with_mounted(stand.built.ground.mounted_pool())
            .with_files(stand.data_files(sizes), stand.data_copies())
            .one_of_several(self.site.ranks.is_some());
        Ok((instance, host))
    }

    pub(crate) fn around(&self) -> Around<'_> {
        let mut fixed = book::fixed(self.sizes);
        let hosts = match self.site.ranks {
            Some(_) => self.stands[0].stack.instances,
            None => 1,
        };
        let ceiling = self.site.prepared.ceiling.together(self.site.study.workers, hosts);
        fixed.push((ledger::Measure::GeneratorCeilingIops, ceiling.read));
        fixed.push((ledger::Measure::GeneratorCeilingCached, ceiling.cached));
        if ceiling.operations.is_finite() {
            fixed.push((ledger::Measure::GeneratorCeilingOperations, ceiling.operations));
        }
        Around {
            study: self.site.study,
            sizes: Some(self.sizes),
            trial: self.id,
            stack: &self.stands[0].name,
            turn: self.turn,
            fixed,
        }
    }

    /// What observes a copy from one stand to another.
    fn beside_copy<'b>(
        &'b self,
        sides: [&'b Opened<'_>; 2],
        devices: &[Devices; 2],
        health: &'b Health<'b>,
    ) -> anyhow::Result<Host<'b>> {
        let [source, target] = sides.map(|side| side.stand);
        let both = Devices::under(&[source.places(), target.places()].concat())?;
        let mounts = [source.built.mounts.clone(), target.built.mounts.clone()].concat();
        let host = Host::new(both, target.places(), mounts, self.site.prepared.budget, health);
        let stacks = [&source.stack, &target.stack];
        let pools = [source, target].into_iter();
        Ok(host
            .with_sides(&devices[0], &devices[1])
            .with_models(self.site.luns.models_of(&stacks), self.site.luns.faults_of(&stacks))
            .with_pools(sides.into_iter().filter_map(|side| side.pool().map(Pooled::zpool)))
            .with_mounted(pools.filter_map(|stand| stand.built.ground.mounted_pool()))
            .with_files(target.data_files(self.sizes), target.data_copies()))
    }

    /// Runs a copy phase; gives the stand where the database is now, `None` when it had no space there.
    fn copy(
        &self,
        ledger: &mut Ledger,
        opened: &mut [Opened<'_>],
        from: usize,
        ordinal: usize,
    ) -> anyhow::Result<Option<usize>> {
        let phase: &Phase = &self.site.study.phases[ordinal];
        let Some(copy) = phase.kind.copy() else {
            anyhow::bail!("{} is no copy", phase.name)
        };
        let to = stands::target(self.stands, copy).context("a copy goes to what was built for it")?;
        let (source, target) = (&self.stands[from], &self.stands[to]);
        opened[to].prepare()?;
        let (memory, depth) = Way::needs(copy);
        let mut source_port = opened[from].port(memory, depth)?;
        let mut target_port = opened[to].port(memory, depth)?;
        let devices = [Devices::under(&source.places())?, Devices::under(&target.places())?];
        if self.first && !opened[to].used {
            result_file::facts(ledger, &target.scope(), target.granted()?)?;
            target.describe(ledger, &devices[1])?;
            result_file::facts(ledger, &target.scope(), opened[to].facts()?)?;
        }
        let way = Way {
            phase,
            copy,
            from: source.words(),
            to: target.words(),
            from_files: source.files(),
            to_files: target.files(),
            over_existing: opened[to].used,
        };
        self.site
            .drop_caches(&[source, target], &[source.places(), target.places()].concat())?;
        self.site.luns.warm_all(&[&source.stack, &target.stack])?;
        let sides = [&opened[from], &opened[to]];
        let health = || sides[0].condition().with(sides[1].condition());
        let mut host = self.beside_copy(sides, &devices, &health)?;
        let around = self.around();
        let done = around.recorded(ledger, ordinal, || {
            way.go(&mut source_port, &mut target_port, &mut host, &around)
        });
        let after = done.map_err(|error| name_files(error, &[source, target]))?;
        opened[to].used = true;
        Ok((after == After::Next).then_some(to))
    }
}

impl AroundCopy for Host<'_> {
    fn begin(&mut self, _: &mut StackPort, _: &mut StackPort) -> anyhow::Result<()> {
        self.start()
    }

    fn settle(&mut self) -> anyhow::Result<u64> {
        self.rest()
    }

    fn end(&mut self, _: &mut StackPort, target: &mut StackPort) -> anyhow::Result<Seen> {
        let mut seen = self.stop()?;
        seen.layouts = self.layouts(target)?;
        Ok(seen)
    }
}

/// The engine names files by number; the user knows them by path.
pub(crate) fn name_files(error: anyhow::Error, stands: &[&Stand]) -> anyhow::Error {
    // What failed with it is but its echo.
    if let Some(lost) = stands.iter().find_map(|stand| stand.lost()) {
        let cure = "raise the memory budget if that was too small (dmesg), or lower `arc_max`; \
            go on with the same command and `--resume`";
        return error.context(format!("{lost}\n  {cure}"));
    }
    if error
        .chain()
        .any(|cause| matches!(cause.downcast_ref(), Some(pages::PagesError::Settings { .. })))
    {
        return error;
    }
    let names: Vec<String> = match stands {
        [only] => vec![only.file_names()],
        several => several
            .iter()
            .map(|stand| format!("{}: {}", stand.words(), stand.file_names()))
            .collect(),
    };
    error.context(names.join("; "))
}
