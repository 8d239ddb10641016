//! Studies on this host: what is prepared once, how one trial is built, and how everything is undone.

use crate::ceiling::Ceiling;
use crate::host::prepared::Prepared;
use crate::host::stand::Stand;
use crate::instances::ranks::Ranks;
use crate::luns::service;
use crate::luns::sets::{self, LunSets};
use crate::progress::Caller;
use crate::result_file;
use crate::serving;
use crate::sizes::{self, Sizes};
use crate::sql::contract::Copied;
use crate::sql::kinds;
use crate::trial::book;
use crate::writes;
use anyhow::{Context, anyhow, ensure};
use ledger::{CachesEmptied, Disclosed, FactName, Ledger, Scope, Skipped};
use plan::{Access, End, Engine, IoMethod, Scale, Stack, Study, Turns};
use sandbox::Directory;
use stacks::{Enforcement, Journal, MemoryLimit, NotUndone, Places};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;
use targets::Method;

/// Memory the tool itself needs beside cache and maps of the engine. It counts against every stack's budget alike.
const TOOL_BYTES: u64 = 40 << 20;
/// Bytes of a page of the page engine, unless a study says otherwise.
const PAGE_BYTES: u64 = 8192;
/// A host with everything a study needs, and the journal that takes it away again.
pub struct HostSite<'a> {
    pub(crate) study: &'a Study,
    pub(crate) journal: Journal,
    pub(crate) luns: LunSets,
    /// Where mount points and directories of stacks are made.
    pub(crate) work_dir: Directory,
    pub(crate) skipped: Vec<Option<Skipped>>,
    pub(crate) described: Vec<bool>,
    pub(crate) limit: Option<MemoryLimit>,
    pub(crate) prepared: Prepared,
    pub(crate) host: String,
    pub(crate) turns: Turns,
    /// Tables of decision support that are copied into each trial, by what stacks share them by.
    pub(crate) images: BTreeMap<String, Copied>,
    /// Other hosts, for the instances of a stack.
    pub(crate) ranks: Option<Ranks>,
    pub(crate) began: Instant,
}

impl<'a> HostSite<'a> {
    /// Prepares the host. What fails half-way is undone by the journal when it is dropped.
    /// `ranks`: other hosts, for the instances of its stacks.
    pub fn prepare(
        study: &'a Study,
        run_id: &str,
        yes: bool,
        ranks: Option<Ranks>,
        caller: Caller<'_>,
    ) -> anyhow::Result<HostSite<'a>> {
        let began = Instant::now();
        let skipped = skipped(study);
        if let Some(none) = none_left(&skipped) {
            return Err(none);
        }
        let devices = sets::inspect(study, yes)?;
        let mut journal = Journal::create(&stacks::state_dir()?, run_id)?;
        journal.heed(caller.cancel);
        let needs_luns = study
            .stacks
            .iter()
            .zip(&skipped)
            .any(|(s, skip)| skip.is_none() && s.data.is_some());
        let mut luns = if needs_luns {
            LunSets::prepare(study, &devices, &mut journal, caller)?
        } else {
            LunSets::default()
        };
        let work_dir = luns.own_directory(&writes::work_place(study), &mut journal)?;
        kinds::let_servers_through(study, &work_dir)?;
        let mut site = HostSite {
            host: observers::host_facts()
                .into_iter()
                .find_map(|(key, value)| (key == FactName::Host.as_str()).then_some(value))
                .unwrap_or_default(),
            described: vec![false; study.stacks.len()],
            turns: study.turns(),
            prepared: Prepared::default(),
            study,
            journal,
            luns,
            work_dir,
            skipped,
            limit: None,
            images: BTreeMap::new(),
            ranks,
            began,
        };
        site.find_sizes(caller)?;
        site.find_method(caller)?;
        site.find_pace(caller)?;
        site.bound_memory()?;
        site.find_who_empties_caches();
        site.find_turns()?;
        Ok(site)
    }

    /// How much data there is, and what the engine makes of it.
    fn find_sizes(&mut self, caller: Caller<'_>) -> anyhow::Result<()> {
        let paged = has_pages(self.study);
        let random = self.study.phases.iter().any(|phase| phase.kind.random().is_some());
        let usable = match self.study.database.scale {
            Scale::Share(_) if paged || random => self.room(paged, caller)?,
            _ => None,
        };
        if !paged {
            // The page engine has nothing to say here; its sizes might not even fit.
            self.prepared.data_bytes = match (self.study.database.scale, usable) {
                (Scale::Bytes(bytes), _) => Some(bytes.0),
                (Scale::Share(share), usable) => usable.map(|usable| (usable as f64 * share.0) as u64),
            };
            return Ok(());
        }
        let sizes = sizes::sizes(self.study, usable)?;
        self.prepared.data_bytes = Some(sizes.shape.data_bytes());
        if let Some(budget) = self.study.memory.budget {
            let own = sizes.engine_bytes();
            ensure!(
                own + TOOL_BYTES < budget.0,
                "the engine's cache, buffers and maps take {} and the tool itself {}, \
                 of a memory budget of {budget}\n  raise `memory.budget`, or lower `database.cache`",
                plan::Bytes(own),
                plan::Bytes(TOOL_BYTES)
            );
        }
        self.prepared.sizes = Some(sizes);
        Ok(())
    }

    /// Builds every stack once; gives the room for data of the smallest.
    fn room(&mut self, paged: bool, caller: Caller<'_>) -> anyhow::Result<Option<u64>> {
        let study = self.study;
        let mut usable: Option<u64> = None;
        for (stack, _) in study
            .stacks
            .iter()
            .zip(self.skipped.clone())
            .filter(|(_, skipped)| skipped.is_none())
        {
            crate::signals::check(caller.cancel)?;
            caller.progress.doing(&format!("how much room has {}?", stack.name));
            let mark = self.journal.mark();
            let places = self.places(stack, 0)?;
            let built = stacks::build(stack, &places, &self.work_dir, &mut self.journal);
            crate::signals::check(caller.cancel)?;
            let built = built?;
            let redo_beside = stack.redo.is_none() && paged;
            let taken = if redo_beside { study.database.redo_size.0 } else { 0 };
            let room = built.usable_bytes.map(|bytes| bytes.saturating_sub(taken));
            usable = usable.into_iter().chain(room).min();
            let left = stacks::teardown(built, &mut self.journal);
            let mut left_after = self.journal.undo_to(mark);
            self.luns.unserved();
            left_after.extend(left);
            undone(&left_after)?;
            self.luns.used();
        }
        Ok(usable)
    }

    /// Ring or pread, once for all stacks.
    fn find_method(&mut self, caller: Caller<'_>) -> anyhow::Result<()> {
        if !has_pages(self.study) && !has_lone_sqlite(self.study) {
            // Threads of SQLite share their files, which a ring does not allow; of others no I/O is ours.
            self.prepared.method = Method::Pread;
            return Ok(());
        }
        let mut facts = Vec::new();
        self.prepared.method = match self.study.io {
            IoMethod::Ring => Method::Ring,
            IoMethod::Pread => Method::Pread,
            IoMethod::Auto => {
                caller.progress.doing("ring or pread?");
                let mark = self.journal.mark();
                let measured = self.measure_methods(caller);
                undone(&self.journal.undo_to(mark))?;
                match measured {
                    Ok(choice) => {
                        let rate = |iops: f64| format!("{iops:.0} reads/s of 8 KiB");
                        facts.push(FactName::IoRing.is(choice.ring_iops.map_or_else(|| "none".to_string(), rate)));
                        facts.push(FactName::IoPread.is(rate(choice.pread_iops)));
                        facts.extend(choice.ring_refused.map(|why| FactName::IoRingRefused.is(why)));
                        choice.chosen
                    }
                    // SQLite works by pread too, and needs no room for a probe.
                    Err(error) if !has_pages(self.study) => {
                        crate::signals::check(caller.cancel)?;
                        facts.push(FactName::IoRingRefused.is(format!("not measured: {error:#}")));
                        Method::Pread
                    }
                    Err(error) => return Err(error),
                }
            }
        };
        self.prepared.facts.extend(facts);
        if !has_pages(self.study) {
            return Ok(());
        }
        let page_bytes = u32::try_from(self.study.database.page.0)?;
        self.prepared.ceiling = Ceiling::of(page_bytes, self.study.root_seed())?;
        Ok(())
    }

    /// Both ways on a LUN, or on a file that the caller takes away.
    fn measure_methods(&mut self, caller: Caller<'_>) -> anyhow::Result<targets::Choice> {
        let place = match self.luns.any() {
            Some(lun) => lun.to_path_buf(),
            None => {
                let name = "method.probe";
                let path = self.work_dir.path().join(name);
                let step = self.journal.before(stacks::Undo::RemoveFile { path })?;
                let seed = self.study.root_seed();
                let (dir, cancel) = (&self.work_dir, caller.cancel);
                let probe = luns::create_file(dir, name, 64 << 20, seed, &mut |_| (), cancel)?;
                self.journal.made(step, probe.identity)?;
                probe.path
            }
        };
        let spec = targets::OpenSpec::reading(&place, targets::Access::Direct);
        Ok(targets::choose(&spec, self.study.root_seed())?)
    }

    /// Whether the stacks that take part can stand side by side here.
    fn find_turns(&mut self) -> anyhow::Result<()> {
        let asked = self.study.schedule != plan::Schedule::Auto;
        let (Turns::Stints(_), Some(sizes)) = (&self.turns, &self.prepared.sizes) else {
            return Ok(());
        };
        let stacks = self.skipped.iter().filter(|skipped| skipped.is_none()).count() as u64;
        let each = sizes.engine_bytes();
        let memory = observers::Snapshot::take(&[])?.memory;
        let memory = memory.and_then(|memory| memory.available_bytes);
        let why = match memory {
            _ if stacks < 2 => "only one stack can be built here".to_string(),
            Some(bytes) if each * stacks > bytes / 10 * 9 => format!(
                "{stacks} engines at once need {} each, and {} are available",
                plan::Bytes(each),
                plan::Bytes(bytes)
            ),
            _ => return Ok(()),
        };
        ensure!(
            !asked || stacks < 2,
            "the stacks cannot take turns: {why}\n  lower `database.cache`, or write schedule = \"whole\""
        );
        self.turns = Turns::Whole { why };
        Ok(())
    }

    fn bound_memory(&mut self) -> anyhow::Result<()> {
        let Some(budget) = self.study.memory.budget else {
            self.prepared
                .facts
                .push(FactName::MemoryBudget.is("none: measured, not bounded"));
            return Ok(());
        };
        let limit = stacks::memory_limit(budget.0, std::process::id(), &mut self.journal)?;
        let words = match &limit.version {
            Enforcement::V1 => format!("{budget}, enforced by cgroup v1"),
            Enforcement::V2 => format!("{budget}, enforced by cgroup v2"),
            Enforcement::NotEnforced(why) => format!("{budget}, not enforced: {why}"),
        };
        self.prepared.facts.push(FactName::MemoryBudget.is(words));
        let how = match limit.version {
            Enforcement::V1 => 1,
            Enforcement::V2 => 2,
            Enforcement::NotEnforced(_) => 0,
        };
        self.prepared.budget = Some((budget.0, how));
        self.limit = Some(limit);
        Ok(())
    }

    /// Who can do what [`Site::drop_caches`] asks for.
    fn find_who_empties_caches(&mut self) {
        let by = match &self.limit {
            _ if stacks::may_drop_caches() => CachesEmptied::Root,
            Some(limit) if limit.may_reclaim() => CachesEmptied::Group,
            _ => CachesEmptied::Nobody,
        };
        self.prepared.facts.push(FactName::CachesEmptiedBy.is(by));
    }

    /// Block devices for one trial of a stack, which names its LUN sets.
    pub(crate) fn places(&mut self, stack: &Stack, seed: u64) -> anyhow::Result<Places> {
        let looped = stacks::is_root() || !stack.kind.takes_lun_files();
        let mut attach = |set: &Option<String>, salt: u64| -> anyhow::Result<Vec<PathBuf>> {
            let Some(set) = set else { return Ok(Vec::new()) };
            let devices = self.luns.attach(set, looped, seed ^ salt, &mut self.journal)?;
            if let (Some(limit), Some(service)) = (&self.limit, self.luns.service(set)) {
                // Hardware has memory of its own; where it can't be told apart, it counts.
                let _ = limit.exempt(service.pid());
            }
            Ok(devices)
        };
        Ok(Places {
            data: attach(&stack.data, 0)?,
            redo: attach(&stack.redo, 1 << 48)?,
            temp: attach(&stack.temp, 1 << 49)?,
            marker: luns::MARKER.to_string(),
        })
    }

    /// What is known of a study as a whole.
    pub(crate) fn describe_study(&mut self, ledger: &mut Ledger) -> anyhow::Result<()> {
        let Some(sizes) = self.prepared.sizes else {
            return self.describe_sql(ledger);
        };
        if let Some(pages) = result_file::of_study(ledger, FactName::PagesPerSchema)? {
            // A resumed study keeps the size it began with, whatever room there is now.
            let mut sizes = sizes;
            let pages = pages.whole().and_then(|pages| u32::try_from(pages).ok());
            sizes.shape.pages_per_schema = pages.context("pages per schema in the result file")?;
            self.prepared.sizes = Some(sizes);
            self.prepared.data_bytes = Some(sizes.shape.data_bytes());
            self.keep_method(ledger)?;
        } else {
            let pages = FactName::PagesPerSchema.is(sizes.shape.pages_per_schema);
            self.tell_found(ledger, Some(pages))?;
        }
        self.describe_skipped(ledger)
    }

    /// What is known of a study without the page engine.
    fn describe_sql(&mut self, ledger: &mut Ledger) -> anyhow::Result<()> {
        if let Some(bytes) = result_file::of_study(ledger, FactName::RandomBytes)? {
            // A resumed study keeps the size it began with, whatever room there is now.
            self.prepared.data_bytes = Some(bytes.whole().context("bytes of random work in the result file")?);
        }
        // Each run says this once; other facts of the study may be there before it.
        if result_file::of_study(ledger, FactName::MemoryBudget)?.is_none() {
            let size = self.prepared.data_bytes.map(|bytes| FactName::RandomBytes.is(bytes));
            self.tell_found(ledger, size)?;
        } else {
            self.keep_method(ledger)?;
        }
        self.describe_skipped(ledger)
    }

    /// A resumed study goes on as it began.
    fn keep_method(&mut self, ledger: &Ledger) -> anyhow::Result<()> {
        let began = ledger.study()?.io_method;
        self.prepared.method = if began == Method::Pread.word() {
            Method::Pread
        } else {
            Method::Ring
        };
        Ok(())
    }

    /// The size of the data, and everything that was found before the first trial.
    fn tell_found(&mut self, ledger: &mut Ledger, size: Option<Disclosed>) -> anyhow::Result<()> {
        let found = size.into_iter().chain(std::mem::take(&mut self.prepared.facts));
        result_file::facts(ledger, &Scope::Study, found.collect())?;
        for (scope, facts) in std::mem::take(&mut self.luns.facts) {
            result_file::facts(ledger, &scope, facts)?;
        }
        Ok(())
    }

    /// For each stack of the study, why it takes no part.
    pub fn skipped(&self) -> &[Option<Skipped>] {
        &self.skipped
    }

    /// Undoes everything.
    ///
    /// # Errors
    /// What could not be undone: the host is not as it was.
    pub fn leave(mut self) -> anyhow::Result<()> {
        undone(&self.journal.undo_all())
    }

    /// No phase starts with what loading or copying left in the page cache, or this process's allocator of an earlier
    /// database; an ordinary user can only ask for the own group's. What is dirty stays in the cache: that of the
    /// places is written out first. What others have not written is theirs, and may be much.
    pub(crate) fn drop_caches(&self, stands: &[&Stand], places: &[PathBuf]) -> anyhow::Result<()> {
        targets::give_back_freed_memory();
        // What fails here fails in the phase again, which says whose it is.
        for stand in stands {
            let _ = stand.sync();
        }
        for place in places {
            let _ = observers::syncfs(place);
        }
        if stacks::drop_caches().is_err()
            && let Some(limit) = &self.limit
        {
            limit.reclaim()?;
        }
        Ok(())
    }

    /// Rows of the table of random work in SQL: one a page, as many bytes as the page engine would have.
    pub(crate) fn scattered_rows(&self, engine: &Engine) -> anyhow::Result<u64> {
        let page = kinds::of(engine).map_or(PAGE_BYTES, |database| database.page_bytes());
        let bytes = match (self.prepared.data_bytes, self.study.database.scale) {
            (Some(bytes), _) => bytes,
            (None, Scale::Bytes(bytes)) => bytes.0,
            (None, Scale::Share(_)) => 0,
        };
        Ok((bytes / page).max(1))
    }

    /// The sizes, once prepared.
    pub(crate) fn sizes(&self) -> anyhow::Result<Sizes> {
        self.prepared
            .sizes
            .context("sizes are found before anything is measured")
    }
}

/// An error that lists what was not undone.
///
/// # Errors
/// When there is any.
pub fn undone(left: &[NotUndone]) -> anyhow::Result<()> {
    if left.is_empty() {
        return Ok(());
    }
    let lines: Vec<String> = left.iter().map(|l| format!("{}: {}", l.step, l.why)).collect();
    Err(anyhow!("could not undo: {}", lines.join("; ")))
}

/// Whether the page engine takes part.
pub(super) fn has_pages(study: &Study) -> bool {
    study.stacks.iter().any(|stack| stack.engine.is_pages())
}

/// Whether a stack has a SQLite that one thread alone writes to, past the page cache.
fn has_lone_sqlite(study: &Study) -> bool {
    let by_our_vfs = |stack: &Stack| stack.engine.is_sqlite() && stack.access == Access::Direct;
    let by_one_thread =
        |phase: &plan::Phase| phase.kind.tpch().is_none() && !ENDS.iter().any(|end| phase.kind.is_ended_by(*end));
    study.workers == 1 && study.stacks.iter().any(by_our_vfs) && study.phases.iter().any(by_one_thread)
}

/// Work that ends so is that of a process of its own.
const ENDS: [End; 2] = [End::PowerCut, End::Kill];

/// Why the kernel can't make a stack's volume, and the cure.
fn volume_unable(stack: &Stack) -> Option<Skipped> {
    stacks::volume_unable(&stack.kind).map(|(reason, cure)| Skipped { reason, cure })
}

/// The error of a run in which no stack takes part.
pub fn none_left(skipped: &[Option<Skipped>]) -> Option<anyhow::Error> {
    let first = skipped.first()?.as_ref()?;
    skipped.iter().all(Option::is_some).then(|| {
        anyhow!(
            "no stack of the study can be built here: {}\n  {}",
            first.reason,
            first.cure
        )
    })
}

/// For each stack, why it can't be built here.
pub fn skipped(study: &Study) -> Vec<Option<Skipped>> {
    let probed = crate::pool::zfs_ways::probe_of(study);
    study
        .stacks
        .iter()
        .map(|stack| {
            if let Some((reason, cure)) = book::on_models(study, stack).then(service::unable).flatten() {
                return Some(Skipped { reason, cure });
            }
            let kind = stack.kind.word();
            let found = probed.iter().find(|p| p.kind == kind)?;
            if !found.able {
                return Some(Skipped {
                    reason: found.reason.clone(),
                    cure: found.cure.clone(),
                });
            }
            crate::pool::zfs_ways::unable(study, stack)
                .or_else(|| volume_unable(stack))
                .or_else(|| kinds::unable(stack))
                .or_else(|| serving::unable(stack))
        })
        .collect()
}
