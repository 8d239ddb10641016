//! Volumes of LVM and md under a stack: made on LUNs, started again, and taken apart by what they are called.
//!
//! Takes a [`plan::Volume`] and LUNs, gives a device that a file system or the engine takes. Names and UUIDs are made
//! of the run's, so that two runs never meet and a foreign volume is never touched. Prevents: a volume that outlives
//! its run, and one that a tool finds on a disk which the study does not name.

mod commands;
mod exchange;
mod health;
pub(crate) mod lvm;
pub(crate) mod mapped;
pub(crate) mod md;
pub(crate) mod parts;
pub mod said;
mod whole;

pub use exchange::{Exchange, Told, exchange};
pub use health::{checked_by_others, lost_members, settle, stale_parity};
pub use parts::volume_unable;

use crate::device;
use crate::error::StackError;
use crate::journal::Journal;
use crate::places::claim;
use crate::run::Run;
use crate::tool;
use crate::undo::Undo;
use commands::PATIENCE;
use plan::{Manager, Resync, Snapshot};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A volume that was made for a run.
#[derive(Clone, Debug)]
pub(crate) struct Made {
    manager: Manager,
    /// By which it is found again.
    uuid: [u8; 16],
    /// Its LUNs, each with the UUID by which it is wiped; those in reserve come last.
    luns: Vec<(PathBuf, [u8; 16])>,
    /// How many of them it is made on.
    members: usize,
}

/// What the layers of a stack call it.
pub(crate) fn word(manager: &Manager) -> &'static str {
    match manager {
        Manager::Lvm(_) => "LVM",
        Manager::Md(_) => "md",
    }
}

/// Clears the LUNs for a volume, makes it, and lets the run write to it. Gives the commands that made it, as facts.
pub(crate) fn build(
    manager: &Manager,
    (luns, reserve): (&[PathBuf], u32),
    marker: &str,
    journal: &mut Journal,
) -> Result<(Made, Vec<(String, String)>), StackError> {
    let uuid = device::uuid(journal.run_id(), journal.mark().0, &luns[0]);
    let mut made = Made {
        manager: manager.clone(),
        uuid,
        luns: Vec::new(),
        members: luns.len().saturating_sub(reserve as usize),
    };
    for path in luns {
        let id = match manager {
            Manager::Lvm(_) => device::uuid(journal.run_id(), journal.mark().0, path),
            Manager::Md(_) => uuid,
        };
        claim(path, made.owner(), id, marker, journal)?;
        made.luns.push((path.clone(), id));
    }
    journal.before(match manager {
        Manager::Lvm(_) => Undo::RemoveVolumes {
            group: lvm::group(&uuid),
        },
        Manager::Md(_) => Undo::StopArray { uuid },
    })?;
    let commands = made.make(journal.run())?;
    journal.may_write(&made.device())?;
    let facts = vec![
        ("volume".to_owned(), commands.join("\n")),
        ("volume tool".to_owned(), tool::version(made.program())),
    ];
    Ok((made, facts))
}

impl Made {
    /// As a device's signature is journalled.
    fn owner(&self) -> &'static str {
        match self.manager {
            Manager::Lvm(_) => "lvm",
            Manager::Md(_) => "md",
        }
    }

    fn program(&self) -> &'static str {
        match self.manager {
            Manager::Lvm(_) => "lvm",
            Manager::Md(_) => "mdadm",
        }
    }

    /// All its LUNs.
    fn paths(&self) -> Vec<PathBuf> {
        self.luns.iter().map(|(path, _)| path.clone()).collect()
    }

    /// Those that it is made on.
    fn members(&self) -> Vec<PathBuf> {
        self.luns[..self.members].iter().map(|(path, _)| path.clone()).collect()
    }

    /// Its device, under a name that it keeps.
    pub(crate) fn device(&self) -> PathBuf {
        match &self.manager {
            Manager::Lvm(_) => lvm::device(&self.uuid),
            Manager::Md(_) => md::device(&self.uuid),
        }
    }

    /// Makes it on LUNs that were cleared, and waits until its copies are the same where the study asks for it. Gives
    /// the commands.
    fn make(&self, run: &Run) -> Result<Vec<String>, StackError> {
        let tools = match &self.manager {
            Manager::Lvm(asked) => lvm::make(asked, &self.uuid, (&self.luns, self.members), run)?,
            Manager::Md(asked) => md::make(asked, &self.uuid, &self.members(), run)?,
        };
        appeared(&self.device())?;
        let resync = match &self.manager {
            Manager::Lvm(asked) => asked.resync,
            Manager::Md(asked) => asked.resync,
        };
        if resync == Resync::Wait {
            whole::wait_until_whole(&self.manager, &self.uuid, &self.device(), run)?;
        }
        Ok(tools)
    }

    /// Makes it anew on LUNs that still hold the old one.
    pub(crate) fn make_anew(&self, marker: &str, journal: &Journal) -> Result<(), StackError> {
        self.stop()?;
        for (path, _) in &self.luns {
            let cure = "it must be free: stop what uses it";
            device::claim(path, marker, journal.run_id()).map_err(|e| StackError::path("clear", path, e, cure))?;
        }
        self.make(journal.run()).map(drop)
    }

    /// Takes it apart; its LUNs keep what they hold.
    pub(crate) fn stop(&self) -> Result<(), StackError> {
        let cure = "end what uses it, and run `assay clean`";
        let stopped = match self.manager {
            Manager::Lvm(_) => lvm::remove(&lvm::group(&self.uuid)),
            Manager::Md(_) => md::stop(&self.uuid),
        };
        stopped.map_err(|e| StackError::path("stop the volume", &self.device(), e, cure))
    }

    /// Finds it on its LUNs again.
    pub(crate) fn start(&self, run: &Run) -> Result<(), StackError> {
        match &self.manager {
            Manager::Lvm(_) => lvm::start(&self.uuid, &self.paths(), run)?,
            Manager::Md(_) => md::start(&self.uuid, &self.members(), run)?,
        }
        appeared(&self.device())
    }

    /// Takes the snapshot that the study asks for, if any.
    pub(crate) fn snapshot(&self, run: &Run) -> Result<(), StackError> {
        match &self.manager {
            Manager::Lvm(asked) if asked.snapshot != Snapshot::None => {
                lvm::snapshot(asked, &self.uuid, (&self.paths(), self.members), run)
            }
            _ => Ok(()),
        }
    }
}

/// Waits until a device has its name: udev gives it in its own time.
fn appeared(path: &Path) -> Result<(), StackError> {
    let start = Instant::now();
    while !device::is_block(path) {
        if start.elapsed() > PATIENCE {
            let gone = std::io::Error::from(std::io::ErrorKind::NotFound);
            return Err(StackError::path(
                "wait for",
                path,
                gone,
                "see whether udev runs, and the kernel log (dmesg)",
            ));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

#[cfg(test)]
mod recorded;
