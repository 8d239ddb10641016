//! Writes an HTML report to the place that `--html` names.
//!
//! Takes a path and a page; a page of ours that stands there is replaced as a whole, anything else is refused, before a
//! run begins. Prevents: a study or a result file overwritten by a slip of the hand, and half a page left behind.

use crate::cli::Format;
use crate::exit::Failure;
use anyhow::{Context, anyhow};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// What every page of ours has near its beginning, and nothing else is likely to.
const SIGN: &str = "<meta name=\"generator\" content=\"assay\">";
const BEGIN: u64 = 4096;

/// Refuses a place that a page must not or cannot be written to.
pub(crate) fn check(format: &Format) -> Result<(), Failure> {
    let Some(path) = &format.html else { return Ok(()) };
    let dir = directory(path);
    if !dir.is_dir() {
        return Err(Failure::Usage(anyhow!(
            "{}: no such directory\n  make it, or name another --html",
            dir.display()
        )));
    }
    sandbox::Directory::open(&dir).map_err(|error| Failure::Usage(anyhow!("--html: {error}")))?;
    if !path.exists() {
        return Ok(());
    }
    if !path.is_file() {
        return Err(Failure::Usage(anyhow!(
            "{} exists and is no regular file\n  name another file by --html",
            path.display()
        )));
    }
    let mut begin = Vec::new();
    let read = File::open(path).and_then(|file| file.take(BEGIN).read_to_end(&mut begin));
    match read {
        // An empty one holds nothing to lose.
        Ok(0) => Ok(()),
        Ok(_) if String::from_utf8_lossy(&begin).contains(SIGN) => Ok(()),
        Ok(_) => Err(Failure::Usage(anyhow!(
            "{} exists and is no report of assay\n  name another file by --html",
            path.display()
        ))),
        Err(error) => Err(Failure::Usage(anyhow!(
            "{} cannot be read: {error}\n  name another file by --html",
            path.display()
        ))),
    }
}

/// Writes beside the place, then renames.
pub(crate) fn write(path: &Path, page: &str) -> Result<(), Failure> {
    sandbox::write_beside(path, page.as_bytes())
        .with_context(|| {
            format!(
                "write {}\n  make room there, or name another file by --html",
                path.display()
            )
        })
        .map_err(Failure::Run)
}

fn directory(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.into(),
        _ => PathBuf::from("."),
    }
}
