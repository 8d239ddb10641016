//! Keeps zfs-fuse answering.
//!
//! One thread of it reads the requests of all its file systems, and reads as soon as a file system has one. If whoever
//! asked is gone by then, it waits in that file system until the next request, and answers none of the others. So each
//! file system gets a small request every second. Prevents: a run that waits for ever.

use std::path::PathBuf;
use std::sync::{Arc, Once};
use std::time::Duration;

/// A run waits so long at most for a daemon that reads in another file system.
const EACH: Duration = Duration::from_secs(1);

/// As long as it is there, file systems are asked.
#[derive(Debug)]
pub(super) struct Awake {
    begun: Once,
}

impl Awake {
    /// Nobody is asked yet.
    pub(super) fn new() -> Arc<Awake> {
        Arc::new(Awake { begun: Once::new() })
    }

    /// Asks the file systems at these places from now on. What is not mounted at the moment answers too, and says
    /// nothing.
    pub(super) fn keep(self: &Arc<Awake>, places: Vec<PathBuf>) {
        self.begun.call_once(|| {
            let awake = Arc::downgrade(self);
            let ask = move || {
                while awake.strong_count() > 0 {
                    for place in &places {
                        let _ = rustix::fs::statfs(place);
                    }
                    std::thread::sleep(EACH);
                }
            };
            // Nobody waits for it: it may be waiting for a daemon that was stopped.
            let _ = std::thread::Builder::new().name("keep-awake".to_owned()).spawn(ask);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_ends_when_nobody_has_it() {
        let dir = tempfile::tempdir().expect("a directory");
        let awake = Awake::new();
        awake.keep(vec![dir.path().to_path_buf()]);
        awake.keep(vec![dir.path().join("another")]);
        let left = Arc::downgrade(&awake);
        drop(awake);
        assert_eq!(left.strong_count(), 0, "the thread does not keep it");
    }
}
