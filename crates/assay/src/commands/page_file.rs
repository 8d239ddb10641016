//! Writes an HTML report to the place that `--html` names.
//!
//! Takes a path and a page; a page of ours that stands there is replaced as a whole, anything else is refused, before a
//! run begins and again before the page takes its place. Prevents: a study or a result file overwritten by a slip of
//! the hand, and half a page left behind.

use crate::cli::Format;
use crate::exit::Failure;
use anyhow::{Context, anyhow, ensure};
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What every page of ours has near its beginning, and nothing else is likely to.
const SIGN: &str = "<meta name=\"generator\" content=\"assay\">";
const BEGIN: u64 = 4096;

/// Refuses a place that a page must not or cannot be written to. `result`: the file that the same command writes or
/// reads, which need not exist yet.
pub(crate) fn check(format: &Format, result: Option<&Path>) -> Result<(), Failure> {
    let Some(path) = &format.html else { return Ok(()) };
    may_be_written(path, result).map_err(Failure::Usage)
}

/// Writes beside the place, then renames: unless something else has come to stand there since it was looked at.
pub(crate) fn write(path: &Path, page: &str) -> Result<(), Failure> {
    let written = || {
        no_other(path)?;
        sandbox::write_beside(path, page.as_bytes()).with_context(|| {
            format!(
                "write {}\n  make room there, or name another file by --html",
                path.display()
            )
        })
    };
    written().map_err(Failure::Run)
}

fn may_be_written(path: &Path, result: Option<&Path>) -> anyhow::Result<()> {
    let dir = directory(path);
    ensure!(
        dir.is_dir(),
        "{}: no such directory\n  make it, or name another --html",
        dir.display()
    );
    sandbox::Directory::open(&dir).map_err(|error| anyhow!("--html: {error}"))?;
    ensure!(
        !result.is_some_and(|result| is_one_place(path, result)),
        "--html names {}, which is the result file\n  name another file by --html",
        path.display()
    );
    no_other(path)
}

/// Whether two paths are one name in one directory, however they are written.
fn is_one_place(one: &Path, other: &Path) -> bool {
    let identity = |path: &Path| {
        let dir = std::fs::metadata(directory(path)).ok()?;
        Some((dir.dev(), dir.ino(), path.file_name()?.to_owned()))
    };
    let one = identity(one);
    one.is_some() && one == identity(other)
}

/// Refuses what is there, unless it is a page of ours or empty.
fn no_other(path: &Path) -> anyhow::Result<()> {
    if !path.exists() {
        return Ok(());
    }
    ensure!(
        path.is_file(),
        "{} exists and is no regular file\n  name another file by --html",
        path.display()
    );
    let mut begin = Vec::new();
    let read = File::open(path).and_then(|file| file.take(BEGIN).read_to_end(&mut begin));
    match read {
        // An empty one holds nothing to lose.
        Ok(0) => Ok(()),
        Ok(_) if String::from_utf8_lossy(&begin).contains(SIGN) => Ok(()),
        Ok(_) => Err(anyhow!(
            "{} exists and is no report of assay\n  name another file by --html",
            path.display()
        )),
        Err(error) => Err(anyhow!(
            "{} cannot be read: {error}\n  name another file by --html",
            path.display()
        )),
    }
}

fn directory(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.into(),
        _ => PathBuf::from("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_result_file_is_no_place_for_a_page_however_it_is_named() {
        let top = tempfile::tempdir().expect("a directory");
        let at = |name: &str| top.path().join(name);
        for dir in ["dir", "dir/sub"] {
            std::fs::create_dir(at(dir)).expect("made");
        }
        std::os::unix::fs::symlink(at("dir"), at("link")).expect("linked");
        let result = at("dir/x.assay");
        for same in ["dir/x.assay", "dir/./x.assay", "dir/sub/../x.assay", "link/x.assay"] {
            let error = may_be_written(&at(same), Some(&result)).expect_err(same).to_string();
            assert!(
                error.contains("is the result file\n  name another file by --html"),
                "{error}"
            );
        }
        for other in ["dir/x.html", "dir/sub/x.assay", "x.assay"] {
            may_be_written(&at(other), Some(&result)).expect(other);
        }
        may_be_written(&result, None).expect("no result file is written");
    }

    #[test]
    fn what_came_to_stand_there_meanwhile_is_not_overwritten() {
        let top = tempfile::tempdir().expect("a directory");
        let place = top.path().join("page.html");
        let (older, newer) = (format!("<html>{SIGN}older"), format!("<html>{SIGN}newer"));
        may_be_written(&place, None).expect("nothing is there");
        std::fs::write(&place, "rows of somebody").expect("written");
        let failure = write(&place, &newer).expect_err("it holds something else");
        assert_eq!(failure.code(), 3);
        assert_eq!(std::fs::read_to_string(&place).expect("read"), "rows of somebody");
        for stands in ["", older.as_str()] {
            std::fs::write(&place, stands).expect("written");
            write(&place, &newer).expect("a page of ours is replaced");
            assert_eq!(std::fs::read_to_string(&place).expect("read"), newer);
        }
    }
}
