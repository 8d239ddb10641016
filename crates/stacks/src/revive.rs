//! A stack whose LUNs lost their power: taken down without asking, brought up again as an administrator would, or made anew.
//!
//! Takes a [`Built`] stack; its devices come back under the same names. The steps that the journal holds stay valid: mount points and
//! signatures are the same. Prevents: a power cut that is followed by an orderly unmount, which no power cut is.

use crate::build::{Built, Place};
use crate::device;
use crate::error::StackError;
use crate::filesystem::recipe;
use crate::journal::Journal;
use crate::mounts;
use plan::Stack;
use rustix::io::Errno;
use rustix::mount::UnmountFlags;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(15);

/// A file system of a stack, to make and mount it again.
#[derive(Clone, Debug)]
pub(crate) struct Made {
    pub(crate) uuid: [u8; 16],
    pub(crate) devices: Vec<PathBuf>,
    pub(crate) place: PathBuf,
}

/// Unmounts what stands on devices without power. It fails to write whatever it had not written, and must not wait for it.
///
/// # Errors
/// A mount that stays: something still has a file open on it.
pub fn power_off(built: &Built) -> Result<(), StackError> {
    let begin = Instant::now();
    for made in built.made.iter().rev() {
        let place = &made.place;
        let cure = "end what uses it, and run `assay clean`";
        let failed = |e: std::io::Error| StackError::path("unmount after the power cut", place, e, cure);
        while mounts::at(place).map_err(failed)?.is_some() {
            match rustix::mount::unmount(place, UnmountFlags::NOFOLLOW) {
                Ok(()) => {}
                Err(Errno::BUSY) if begin.elapsed() < PATIENCE => std::thread::sleep(Duration::from_millis(5)),
                // The file system says what it could not write, and is gone all the same at the next look.
                Err(Errno::IO) if begin.elapsed() < PATIENCE => std::thread::sleep(Duration::from_millis(5)),
                Err(e) => return Err(failed(e.into())),
            }
        }
    }
    Ok(())
}

/// Mounts the file systems again: the kernel replays their journals.
///
/// # Errors
/// A file system that can't be mounted any more.
pub fn power_on(stack: &Stack, built: &Built) -> Result<(), StackError> {
    for made in &built.made {
        let Some(mut recipe) = recipe(&stack.kind, &made.devices, &made.uuid) else {
            continue;
        };
        recipe.mount(&made.devices[0], &made.place)?;
    }
    Ok(())
}

/// Makes the stack anew over what is there: for one that a power cut has destroyed. Nothing of it may be mounted.
///
/// # Errors
/// As a build.
pub fn make_anew(stack: &Stack, built: &Built, marker: &str, journal: &Journal) -> Result<(), StackError> {
    let clear = |path: &Path| {
        let cure = "it must be free: unmount it or stop what uses it";
        device::claim(path, marker, journal.run_id()).map_err(|e| StackError::path("clear", path, e, cure))
    };
    for made in &built.made {
        let Some(mut recipe) = recipe(&stack.kind, &made.devices, &made.uuid) else {
            continue;
        };
        made.devices.iter().try_for_each(|path| clear(path))?;
        recipe.make(journal.lock())?;
    }
    if matches!(built.redo, Place::Grouped(_)) {
        let devices = built.devices.iter().filter(|path| device::is_block(path));
        devices.into_iter().try_for_each(|path| clear(path))?;
    }
    power_on(stack, built)
}
