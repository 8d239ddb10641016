//! LUN files served through FUSE, with a device model and a volatile cache in between; a loop device on one of them is
//! a disk whose behaviour is known.
//!
//! Takes LUN files and a directory to mount on, gives a file of the same size for each LUN there. Data go straight
//! between the kernel and the LUN file (O_DIRECT, no page cache on either side); answers wait until the model says.
//! Prevents: a modelled device that is served from memory, or that goes on after its power is gone.

mod clockwork;
mod faults;
mod files;
mod reduction;
mod unflushed;
mod window;

pub use clockwork::{LATE_NS, Punctuality};
pub use faults::{LunFault, Wrong};
pub use reduction::{Reduced, Reduction, ReductionSpec};
pub use unflushed::{Piece, SECTOR_BYTES, Unflushed};

use crate::error::LunError;
use crate::model::{Counters, DeviceModel, Prompt};
use clockwork::Clockwork;
use files::Files;
use fuser::{BackgroundSession, Config, MountOption, Session};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;

/// Makes a process fit to play hardware: call it on the first thread, before anything else is started.
pub fn become_hardware() {
    // The kernel may reclaim memory by writing to a LUN that we serve: our own allocations must not wait for that.
    let _ = rustix::process::configure_io_flusher_behavior(true);
    // Hardware does not wait for a turn. Where the one is not given (a control group without real time), the other is.
    if crate::kernel::before_all_others().is_err() {
        let _ = rustix::process::setpriority_process(None, -20);
    }
}

/// What is served.
pub struct ServeOptions {
    /// LUN files, written in full.
    pub luns: Vec<PathBuf>,
    /// Where to mount: an empty directory.
    pub place: PathBuf,
    /// The device; without one, requests are answered when they are done.
    pub model: Option<Box<dyn DeviceModel>>,
    /// Writes that may lie unflushed, in bytes; 0: every write goes to the LUN file before it is answered.
    pub volatile_bytes: u64,
    /// Move data through the page cache: right where a model says how long everything takes, wrong where the disk below
    /// is to be seen.
    pub cached: bool,
    /// Count what an array with inline reduction would keep.
    pub reduction: Option<ReductionSpec>,
    /// Threads that take requests.
    pub threads: usize,
}

/// Served LUN files; unmounted when dropped or [`Served::stop`]ped.
pub struct Served {
    session: Option<BackgroundSession>,
    clockwork: Clockwork,
    runner: Option<JoinHandle<()>>,
    files: Arc<Files>,
    place: PathBuf,
}

impl Served {
    /// Mounts and serves. Needs root and `/dev/fuse`.
    pub fn start(options: ServeOptions) -> Result<Served, LunError> {
        let files = Files::open(&options.luns, options.volatile_bytes, options.cached)?;
        let files = Arc::new(files.with_reduction(options.reduction));
        let clockwork = Clockwork::new(options.model.unwrap_or_else(|| Box::new(Prompt::default())));
        let running = clockwork.clone();
        let runner = std::thread::spawn(move || {
            // Else the kernel wakes up to 50 us late on purpose, to save power.
            let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
            running.run();
        });
        let window = window::Window::new(files.clone(), clockwork.clone());
        let mut config = Config::default();
        config.mount_options = vec![
            MountOption::FSName("assay-luns".into()),
            MountOption::NoDev,
            MountOption::NoSuid,
            MountOption::NoExec,
        ];
        config.n_threads = Some(options.threads.max(1));
        let cure = "run as root on a kernel with FUSE (`modprobe fuse`), and give an empty directory";
        let refused = |e| LunError::path("serve LUNs through FUSE on", &options.place, e, cure);
        let session = Session::new(window, &options.place, &config).and_then(Session::spawn);
        let mut served = Served {
            session: None,
            clockwork,
            runner: Some(runner),
            files,
            place: options.place.clone(),
        };
        served.session = Some(session.map_err(refused)?);
        Ok(served)
    }

    /// Where LUN `nth` is served.
    pub fn path(&self, nth: usize) -> PathBuf {
        self.place.join(files::name(nth))
    }

    /// The directory it is mounted on.
    pub fn place(&self) -> &Path {
        &self.place
    }

    /// Where the page cache is used: reads LUN files of at most so many bytes, all together, into it, and writes home
    /// what is dirty there: what the model calls a millisecond must not wait for the disk below.
    ///
    /// # Errors
    /// What the disk below refused: what was written to it before may be lost.
    pub fn warm(&self, most_bytes: u64) -> Result<(), LunError> {
        self.files.warm(most_bytes)
    }

    /// Whether answers still go out.
    pub fn runs(&self) -> bool {
        self.runner.as_ref().is_some_and(|runner| !runner.is_finished())
    }

    /// What the model did.
    pub fn counters(&self) -> Counters {
        self.clockwork.counters()
    }

    /// How well the service kept up with its model.
    pub fn punctuality(&self) -> Punctuality {
        self.clockwork.punctuality()
    }

    /// Answers so much sooner than the device would, from the next request on: the way of the host takes it.
    pub fn answer_sooner(&self, by: targets::Nanos) {
        self.clockwork.answer_sooner(by);
    }

    /// From now on the device is so many times slower than it was made, at least 1; until then it keeps its own pace.
    /// What it holds, owes and has saved up stays.
    pub fn run_slower(&self, times: u32) {
        self.clockwork.run_slower(times);
    }

    /// How many times slower than it was made the device is now.
    pub fn slower(&self) -> u64 {
        self.clockwork.slower()
    }

    /// Flushes that arrived.
    pub fn flushes(&self) -> u64 {
        self.files.flushes()
    }

    /// What inline reduction makes of what was written; `None` where it is not counted.
    pub fn reduced(&self) -> Option<Reduced> {
        self.files.reduced()
    }

    /// Bytes written and not flushed.
    pub fn unflushed_bytes(&self) -> u64 {
        self.files.unflushed_bytes()
    }

    /// The power fails: from now on every request is an error, and of what was not flushed an arbitrary part, by
    /// `seed`, is in the LUN files; a sector, of as many bytes as whatever stands on the LUNs was told, is there or not
    /// as a whole. Gives the bytes that were unflushed and those of them that are lost.
    pub fn cut_power(&self, seed: u64, sector_bytes: u32) -> Result<(u64, u64), LunError> {
        self.stop_power();
        self.lose(seed, sector_bytes)
    }

    /// The first half of [`Served::cut_power`], so that several services can lose their power at one moment.
    pub fn stop_power(&self) {
        self.files.stop_power();
    }

    /// The second half.
    pub fn lose(&self, seed: u64, sector_bytes: u32) -> Result<(u64, u64), LunError> {
        self.files.lose(seed, sector_bytes)
    }

    /// From now on these faults hold, and no others.
    pub fn set_faults(&self, faults: Vec<LunFault>) {
        self.files.faults.set(faults);
    }

    /// What waits, on a thread of its own, until somebody else has unmounted the place.
    pub fn until_unmounted(&mut self) -> impl FnOnce() + Send + 'static {
        let session = self.session.take();
        move || {
            if let Some(session) = session {
                let _ = session.join();
            }
        }
    }

    /// The power is back: requests are served again, by a device that knows nothing of those before.
    pub fn restore_power(&self) {
        self.clockwork.power_cycle();
        self.files.restore_power();
    }

    /// Unmounts. Fails while something has a file open, a loop device for one.
    pub fn stop(mut self) -> Result<(), LunError> {
        let cure = "detach the loop devices on its files first, or run `assay clean`";
        let busy = |e| LunError::path("unmount", &self.place, e, cure);
        if let Some(session) = self.session.take() {
            session.umount_and_join().map_err(busy)?;
        }
        self.files.write_back()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // Answers that are held back would keep the unmount waiting.
        self.clockwork.stop();
        drop(self.session.take());
        if let Some(thread) = self.runner.take() {
            let _ = thread.join();
        }
    }
}
