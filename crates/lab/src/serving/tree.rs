//! The tree of a phase: files that are taken away again where they lie among somebody else's, on every way out.
//!
//! Takes what was made at a place; gives it back to whoever works on it. Prevents: files of a run that stay on a server
//! or in a directory of the user's because the phase failed, or because somebody pressed Ctrl-C.

use anyhow::Context;
use files::{Config, Place, Serving};
use std::ops::{Deref, DerefMut};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A tree of files and its users.
pub(super) struct Tree {
    serving: Option<Serving>,
    /// It does not go with the stack.
    is_guest: bool,
}

impl Tree {
    /// Makes the directory of a run at a place. `is_guest`: nobody else takes away what is made there.
    pub(super) fn begin(config: Config, place: Place, is_guest: bool) -> anyhow::Result<Tree> {
        let serving = Some(Serving::begin(config, place)?);
        Ok(Tree { serving, is_guest })
    }

    /// Takes away what must not stay, whatever the work came to. What could not be is told with the work's own error.
    pub(super) fn end<T>(mut self, worked: anyhow::Result<T>) -> anyhow::Result<T> {
        match (self.take_away(), worked) {
            (Ok(()), worked) => worked,
            (Err(left), Ok(_)) => Err(left),
            (Err(left), Err(error)) => Err(error.context(format!("{left:#}"))),
        }
    }

    fn take_away(&mut self) -> anyhow::Result<()> {
        let Some(serving) = self.serving.take().filter(|_| self.is_guest) else {
            return Ok(());
        };
        serving
            .remove()
            .context("the files of the run are left where they were made: remove the directories assay-* there")
    }
}

impl Deref for Tree {
    type Target = Serving;

    fn deref(&self) -> &Serving {
        self.serving.as_ref().expect("a tree until it ends")
    }
}

impl DerefMut for Tree {
    fn deref_mut(&mut self) -> &mut Serving {
        self.serving.as_mut().expect("a tree until it ends")
    }
}

impl Drop for Tree {
    /// The net under an early return or a panic. It can't report: who can, calls [`Tree::end`] before. A second panic
    /// would end the process before anything is undone.
    fn drop(&mut self) {
        let _ = catch_unwind(AssertUnwindSafe(|| self.take_away()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use files::LocalDirectory;
    use std::path::Path;

    fn tree(dir: &Path, run: u32, is_guest: bool) -> anyhow::Result<Tree> {
        let directory = std::fs::File::open(dir)?.into();
        let place = Place::Posix(LocalDirectory {
            directory,
            direct: false,
            threads: 2,
        });
        let mut tree = Tree::begin(Config::sfs97(2, run, 1), place, is_guest)?;
        tree.grow_to(64 << 10, false)?;
        Ok(tree)
    }

    fn names(dir: &Path) -> usize {
        std::fs::read_dir(dir).unwrap().count()
    }

    /// As the points of a ramp do at Ctrl-C.
    fn interrupted(dir: &Path) -> anyhow::Result<()> {
        let _tree = tree(dir, 1, true)?;
        assert!(names(dir) > 0);
        anyhow::bail!("interrupted")
    }

    #[test]
    fn a_tree_among_others_files_goes_on_every_way_out() {
        let dir = tempfile::tempdir().unwrap();
        assert!(interrupted(dir.path()).is_err());
        assert_eq!(names(dir.path()), 0, "an early return");
        let made = tree(dir.path(), 2, true).unwrap();
        let ended: anyhow::Result<()> = made.end(Err(anyhow::anyhow!("failed")));
        assert_eq!(ended.unwrap_err().to_string(), "failed");
        assert_eq!(names(dir.path()), 0, "an error");
        let panicked = std::panic::catch_unwind(|| {
            let _tree = tree(dir.path(), 3, true).unwrap();
            panic!("planted");
        });
        assert!(panicked.is_err());
        assert_eq!(names(dir.path()), 0, "a panic");
        // What goes with its stack is left to the stack: removing it takes time for nothing.
        tree(dir.path(), 4, false).unwrap().end(Ok(())).unwrap();
        assert!(names(dir.path()) > 0);
    }
}
