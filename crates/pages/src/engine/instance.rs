//! The instance: what the layers above hold. Creates or opens a database, hands out operations, counts.
//!
//! An instance may have a part of a database's workers: then other instances, in other processes, have the rest. What
//! a worker writes (its schemas, its redo thread, its control blocks) no other worker reads, so nothing is shared but
//! the files. Prevents: a phase that starts on a cache or a set of parameters it can't work with.

use crate::counters::Counters;
use crate::engine::recovery::{Recovery, read_control};
use crate::engine::worker::{Start, Worker};
use crate::error::PagesError;
use crate::format::content::mix;
use crate::format::layout::{self, Layout, data_file_bytes, redo_file_bytes};
use crate::format::shape::{Files, Settings, Shape, check};
use crate::operations::ageing::{AgeWork, Order};
use crate::operations::random::RandomOperation;
use crate::operations::redo::RedoWork;
use crate::operations::scan::{PausedScan, ScanOperation, ScanWork};
use crate::operations::work::RandomWork;
use std::ops::{ControlFlow, Range};
use targets::Port;

/// A running database, or a part of its workers: one worker per port. Dropping it is a crash as far as the database is
/// concerned; call [`Instance::checkpoint`] first to leave nothing to recover.
pub struct Instance<P> {
    workers: Vec<Worker<P>>,
    shape: Shape,
    settings: Settings,
}

/// One port for each of these workers, files that are large enough.
fn check_ports<P: Port>(
    ports: &[P],
    workers: &Range<u32>,
    files: &Files,
    (shape, settings): (&Shape, &Settings),
) -> Result<(), PagesError> {
    check(shape, settings)?;
    let fits = ports.len() == workers.len() && !workers.is_empty() && workers.end <= settings.workers;
    if !fits || files.data.is_empty() {
        return Err(PagesError::settings(
            format!(
                "{} ports and {} data files for workers {} to {} of {}",
                ports.len(),
                files.data.len(),
                workers.start,
                workers.end,
                settings.workers
            ),
            "open one port per worker, and at least one data file",
        ));
    }
    let sizes = data_file_bytes(shape, settings, files.data.len());
    let needs = files
        .data
        .iter()
        .copied()
        .zip(sizes)
        .chain([(files.redo, redo_file_bytes(settings))]);
    for (file, needed) in needs {
        let size = ports[0].size(file)?;
        if size < needed {
            return Err(PagesError::settings(
                format!("file {} has {size} bytes, the database needs {needed} in it", file.0),
                "make the files larger (pages::data_file_bytes, pages::redo_file_bytes), or the database smaller",
            ));
        }
    }
    Ok(())
}

/// For a load whose progress nobody follows.
pub fn unheard(_: u64, _: u64) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// Work of each worker, all at once: on a thread each where there are several. The first error in their order is told.
fn together<P: Port + Send, C: Sync, T: Send>(
    workers: &mut [Worker<P>],
    of_each: &[C],
    work: impl Fn(&mut Worker<P>, &C) -> Result<T, PagesError> + Sync,
) -> Result<Vec<T>, PagesError> {
    let pairs = workers.iter_mut().zip(of_each);
    if of_each.len() < 2 {
        return pairs.map(|(worker, of)| work(worker, of)).collect();
    }
    std::thread::scope(|scope| {
        let work = &work;
        // What a thread leaves in flight the kernel may cancel when it ends.
        let whole = move |worker: &mut Worker<P>, of| work(worker, of).and_then(|done| worker.quiet().map(|()| done));
        let threads: Vec<_> = pairs
            .map(|(worker, of)| scope.spawn(move || whole(worker, of)))
            .collect();
        let joined = threads.into_iter().map(|thread| thread.join());
        joined
            .map(|done| done.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    })
}

impl<P: Port + Send> Instance<P> {
    /// Loads a new database over whatever the files hold. `progress` hears of bytes written and bytes in all, and may
    /// end the load; [`unheard`] is for those who do not listen.
    ///
    /// # Errors
    /// [`PagesError::Settings`] when files, ports or parameters do not fit; [`PagesError::Interrupted`]; I/O errors.
    pub fn create(
        ports: Vec<P>,
        files: &Files,
        shape: Shape,
        settings: Settings,
        progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
    ) -> Result<Instance<P>, PagesError> {
        check_ports(&ports, &(0..settings.workers), files, (&shape, &settings))?;
        let total = shape.data_bytes() + redo_file_bytes(&settings);
        let mut done = 0;
        let start = Start {
            shape,
            settings,
            database: mix(shape.seed ^ mix(ports[0].now().wrapping_add(1))),
            home_version: 1,
        };
        let mut workers = Vec::with_capacity(ports.len());
        for (nth, port) in ports.into_iter().enumerate() {
            let layout = Layout::new(&shape, &settings, files, nth as u32);
            let at = layout.redo_bytes;
            let mut worker = Worker::new(port, layout, (at, 0), start)?;
            worker.load(&mut |bytes| {
                done += bytes;
                progress(done, total)
            })?;
            workers.push(worker);
        }
        Ok(Instance {
            workers,
            shape,
            settings,
        })
    }

    /// Opens a database and recovers it: when this returns, every acknowledged transaction is there, no other is half
    /// there, and a checkpoint is recorded.
    ///
    /// # Errors
    /// [`PagesError::NoDatabase`] when no load was ever completed here, [`PagesError::Settings`] when the settings are
    /// not the database's, [`PagesError::DataLoss`] and [`PagesError::RedoDamaged`] when the storage lost what it had
    /// promised.
    pub fn open(ports: Vec<P>, files: &Files, settings: Settings) -> Result<(Instance<P>, Recovery), PagesError> {
        Instance::open_part(ports, 0..settings.workers, files, settings)
    }

    /// Opens these workers of a database and recovers what is theirs. The others may be at work in other instances:
    /// each worker in one instance alone.
    ///
    /// # Errors
    /// As [`Instance::open`].
    pub fn open_part(
        mut ports: Vec<P>,
        of: Range<u32>,
        files: &Files,
        settings: Settings,
    ) -> Result<(Instance<P>, Recovery), PagesError> {
        let mut recovery = Recovery::default();
        let mut controls = Vec::with_capacity(ports.len());
        let no_database = |what: &str| PagesError::NoDatabase { what: what.into() };
        let first = *files
            .data
            .first()
            .ok_or_else(|| no_database("no data file was given"))?;
        for (nth, port) in of.clone().zip(&mut ports) {
            let control = read_control(port, first, nth)?;
            let control = control.ok_or_else(|| no_database("no whole control block in the first data file"))?;
            control.accept(&settings, files.data.len())?;
            controls.push(control);
        }
        let control = controls.first().ok_or_else(|| no_database("no port was given"))?;
        let (shape, database) = (control.shape, control.database);
        let start = Start {
            shape,
            settings,
            database,
            home_version: 0,
        };
        if controls.iter().any(|c| c.database != database) {
            return Err(no_database("its control blocks are of different databases"));
        }
        check_ports(&ports, &of, files, (&shape, &settings))?;
        let mut workers = Vec::with_capacity(ports.len());
        for ((nth, port), control) in of.zip(ports).zip(&controls) {
            let layout = Layout::new(&shape, &settings, files, nth);
            workers.push(Worker::new(
                port,
                layout,
                (control.checkpoint, control.previous),
                start,
            )?);
        }
        for worker in &mut workers {
            worker.quiet()?;
        }
        for recovered in together(&mut workers, &controls, Worker::recover)? {
            recovery += recovered;
        }
        Ok((
            Instance {
                workers,
                shape,
                settings,
            },
            recovery,
        ))
    }

    /// Gives up all workers but these, with a checkpoint: other instances may open those.
    ///
    /// # Errors
    /// I/O errors.
    pub fn keep(&mut self, of: Range<u32>) -> Result<(), PagesError> {
        self.checkpoint()?;
        self.workers.retain(|worker| of.contains(&worker.layout.worker));
        Ok(())
    }

    /// Workers of the database that this instance has.
    pub fn workers(&self) -> u32 {
        self.workers.len() as u32
    }

    /// Pages of the schemas that are this instance's.
    pub fn own_pages(&self) -> u64 {
        let schemas = |worker: &Worker<P>| {
            let layout = &worker.layout;
            layout::schemas_of(&self.shape, layout.workers, layout.worker)
        };
        self.workers.iter().map(schemas).map(u64::from).sum::<u64>() * u64::from(self.shape.pages_per_schema)
    }

    /// The database's shape.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The settings it was opened with.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Ends what earlier operations left under way, writes every dirty page, flushes, records a checkpoint: all workers
    /// at once, as they work in a phase, and as they do in instances of their own.
    ///
    /// # Errors
    /// I/O errors.
    pub fn checkpoint(&mut self) -> Result<(), PagesError> {
        for worker in &mut self.workers {
            worker.settle()?;
        }
        let several = self.workers.len() > 1;
        for worker in self.workers.iter_mut().filter(|_| several) {
            worker.quiet()?;
        }
        let each = vec![(); self.workers.len()];
        together(&mut self.workers, &each, |worker, ()| worker.drain()).map(drop)
    }

    /// Empties the buffer cache (after a checkpoint), so that a phase starts cold.
    ///
    /// # Errors
    /// I/O errors.
    pub fn drop_cache(&mut self) -> Result<(), PagesError> {
        self.checkpoint()?;
        for worker in &mut self.workers {
            worker.cache.clear();
        }
        Ok(())
    }

    /// Takes pages as they come from now on, to measure what verification costs. For selects and scans only: a page
    /// that is changed unverified could hide a loss, so an instance that has been told this refuses updates.
    pub fn skip_verification(&mut self) {
        for worker in &mut self.workers {
            worker.verifies = false;
        }
    }

    /// Counts of all workers since create or open, recovery included.
    pub fn counters(&self) -> Counters {
        self.workers.iter().fold(Counters::default(), |sum, w| sum + w.counters)
    }

    /// Checkpoints of each worker since create or open: each has its own.
    pub fn checkpoints_of_workers(&self) -> Vec<u64> {
        self.workers.iter().map(|w| w.counters.checkpoints).collect()
    }

    /// Pages in the cache now and changed since they were last written.
    pub fn dirty_pages(&self) -> u64 {
        self.workers.iter().map(|w| u64::from(w.cache.dirty)).sum()
    }

    /// SLOB's random work: one operation per worker, in the order of the ports; run each to its end or drop it.
    ///
    /// # Errors
    /// [`PagesError::Settings`] when the work can't run in this cache, redo log or shape.
    pub fn random(&mut self, work: &RandomWork, seed: u64) -> Result<Vec<RandomOperation<'_, P>>, PagesError> {
        work.check(&self.shape, &self.settings)?;
        if work.update_pct > 0 && self.workers.iter().any(|w| !w.verifies) {
            return Err(PagesError::settings(
                "updates of pages that are not verified",
                "measure the cost of verification with selects or scans",
            ));
        }
        for worker in &mut self.workers {
            worker.settle()?;
        }
        self.workers
            .iter_mut()
            .map(|w| RandomOperation::new(w, work, seed))
            .collect()
    }

    /// Records of the redo log alone, committed by all sessions: one operation per worker, in the order of the ports;
    /// run each to its end or drop it.
    ///
    /// # Errors
    /// [`PagesError::Settings`] when the work can't run in this cache or redo log.
    pub fn redo(&mut self, work: &RedoWork, seed: u64) -> Result<Vec<RandomOperation<'_, P>>, PagesError> {
        work.check(&self.shape, &self.settings)?;
        let operations = self.random(&work.as_random(), seed)?;
        Ok(operations
            .into_iter()
            .map(|operation| operation.commits_alone(work.bytes))
            .collect())
    }

    /// Changes every page of every schema `passes` times, in random order: one operation per worker, in the order of
    /// the ports; each ends by itself.
    ///
    /// # Errors
    /// [`PagesError::Settings`] when the work can't run in this cache, redo log or shape.
    pub fn age(&mut self, work: &AgeWork, seed: u64) -> Result<Vec<RandomOperation<'_, P>>, PagesError> {
        if work.passes == 0 {
            return Err(PagesError::settings("an ageing of no pass", "use at least one pass"));
        }
        let operations = self.random(&work.as_random(), seed)?;
        Ok(operations
            .into_iter()
            .map(|operation| operation.ageing(|pages| Order::new(pages, work, seed)))
            .collect())
    }

    /// Begins to count the distinct pages that are written home.
    pub fn count_overwritten(&mut self) {
        for worker in &mut self.workers {
            worker.overwritten.clear();
        }
    }

    /// Distinct pages that were written home since [`Instance::count_overwritten`]: changed ones that are still in the
    /// cache are not among them before a checkpoint.
    pub fn overwritten_pages(&self) -> u64 {
        self.workers.iter().map(|w| w.overwritten.count()).sum()
    }

    /// Full table scans past the cache: one operation per worker. Writes dirty pages first, so that storage holds what
    /// the scans must find.
    ///
    /// # Errors
    /// [`PagesError::Settings`] when the work needs more buffers than there are; I/O errors.
    pub fn scan(&mut self, work: &ScanWork, seed: u64) -> Result<Vec<ScanOperation<'_, P>>, PagesError> {
        work.check(&self.shape, &self.settings)?;
        self.checkpoint()?;
        let users = work.choose(&self.shape, seed);
        Ok(self
            .workers
            .iter_mut()
            .map(|w| ScanOperation::new(w, work, &users))
            .collect())
    }

    /// Goes on with scans that were interrupted ([`ScanOperation::pause`]), one a worker in the order of the ports.
    /// Nothing may have been written since.
    ///
    /// # Errors
    /// I/O errors.
    pub fn scan_on(&mut self, paused: Vec<PausedScan>) -> Result<Vec<ScanOperation<'_, P>>, PagesError> {
        assert_eq!(
            paused.len(),
            self.workers.len(),
            "each worker goes on with its own scans"
        );
        for worker in &mut self.workers {
            worker.settle()?;
        }
        let both = self.workers.iter_mut().zip(paused);
        Ok(both
            .map(|(worker, paused)| ScanOperation::going_on(worker, paused))
            .collect())
    }

    /// Copies the present content of a page to `out` (through the cache, verified when read).
    ///
    /// # Errors
    /// [`PagesError::DataLoss`]; I/O errors; [`PagesError::Settings`] for an address outside the shape.
    pub fn read_page(&mut self, schema: u32, page: u32, out: &mut Vec<u8>) -> Result<(), PagesError> {
        if schema >= self.shape.schemas || page >= self.shape.pages_per_schema {
            return Err(PagesError::settings(
                format!("no page {page} in schema {schema}"),
                "ask for one in the shape",
            ));
        }
        let nth = schema % self.settings.workers;
        let Some(worker) = self.workers.iter_mut().find(|worker| worker.layout.worker == nth) else {
            return Err(PagesError::settings(
                format!("schema {schema} belongs to worker {nth}, which is another instance's"),
                "ask the instance that has it",
            ));
        };
        worker.settle()?;
        let frame = worker.fetch(worker.layout.local(schema, page))?;
        out.clear();
        out.extend_from_slice(
            worker
                .port
                .bytes(worker.layout.frame_at(frame), self.shape.page_bytes as usize),
        );
        Ok(())
    }

    /// The ports, in order; to look at, never to submit with.
    pub fn ports_mut(&mut self) -> impl Iterator<Item = &mut P> {
        self.workers.iter_mut().map(|w| &mut w.port)
    }

    /// Gives the ports back. What was not checkpointed needs recovery at the next open.
    pub fn into_ports(self) -> Vec<P> {
        self.workers.into_iter().map(|w| w.port).collect()
    }

    /// Bytes of the engine's own maps.
    pub fn map_bytes(&self) -> u64 {
        layout::map_bytes(&self.shape, &self.settings)
    }
}
