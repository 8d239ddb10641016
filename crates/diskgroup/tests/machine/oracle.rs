//! What must be on a group, told by what was asked and acknowledged, and by nothing else.

use crate::machine::content::{PAGE, SECTORS, number_of};
use std::collections::BTreeMap;

/// One page.
#[derive(Clone, Debug, Default)]
pub(crate) struct Page {
    /// Durable, sector by sector.
    pub(crate) base: [u32; SECTORS],
    /// Versions written since, oldest first: acknowledged or not.
    pub(crate) since: Vec<u32>,
    /// A write is in flight.
    pub(crate) busy: bool,
    /// A write failed: what is there is one of `base` and `since`, sector by sector.
    pub(crate) unsure: bool,
    pub(crate) next: u32,
    /// Reads in flight: no write is begun meanwhile, so that it is known what they must find.
    pub(crate) readers: u32,
}

impl Page {
    pub(crate) fn begin(&mut self) -> u32 {
        self.next += 1;
        self.since.push(self.next);
        self.busy = true;
        self.next
    }

    pub(crate) fn end(&mut self, well: bool) {
        self.busy = false;
        self.unsure = !well;
    }

    /// The last version that was acknowledged; 0 when that is not known.
    pub(crate) fn acknowledged(&self) -> u32 {
        let last = if self.busy {
            self.since.iter().rev().nth(1)
        } else {
            self.since.last()
        };
        last.copied().filter(|_| !self.unsure).unwrap_or(0)
    }

    /// Whether a read while nothing is written may find this.
    pub(crate) fn may_read(&self, found: &[u32; SECTORS]) -> bool {
        if self.unsure || self.busy {
            return self.may_survive(found);
        }
        match self.since.last() {
            Some(last) => found.iter().all(|v| v == last),
            None => *found == self.base,
        }
    }

    /// Whether this may be there after a crash.
    pub(crate) fn may_survive(&self, found: &[u32; SECTORS]) -> bool {
        found
            .iter()
            .zip(&self.base)
            .all(|(v, base)| v == base || self.since.contains(v))
    }

    pub(crate) fn is_torn(found: &[u32; SECTORS]) -> bool {
        found.iter().any(|v| *v != found[0])
    }

    /// A flush is done that began when `version` was the last one acknowledged.
    pub(crate) fn flushed(&mut self, version: u32) {
        if self.since.contains(&version) {
            self.base = [version; SECTORS];
            self.since.retain(|v| *v > version);
        }
    }

    /// This is what is there now.
    pub(crate) fn found(&mut self, found: &[u32; SECTORS]) {
        self.base = *found;
        self.since.clear();
        self.busy = false;
        self.unsure = false;
        self.readers = 0;
    }
}

#[derive(Clone, Debug)]
pub(crate) struct FileModel {
    pub(crate) id: u64,
    pub(crate) pages: Vec<Page>,
    /// Being made or deleted: after a crash it may be there or not.
    pub(crate) doubtful: bool,
    /// Pages it is growing to.
    pub(crate) growing_to: Option<usize>,
}

/// The whole group.
#[derive(Clone, Debug, Default)]
pub(crate) struct Oracle {
    pub(crate) files: BTreeMap<String, FileModel>,
}

impl Oracle {
    pub(crate) fn begin_create(&mut self, name: &str, pages: usize) {
        let file = FileModel {
            id: number_of(name),
            pages: vec![Page::default(); pages],
            doubtful: true,
            growing_to: None,
        };
        self.files.insert(name.to_owned(), file);
    }

    /// Holds the files found after a crash against what may be there.
    pub(crate) fn recovered(&mut self, found: &BTreeMap<String, u64>) -> Result<(), String> {
        for (name, size) in found {
            let file = self
                .files
                .get_mut(name)
                .ok_or_else(|| format!("file {name} was never made, or is deleted"))?;
            let (pages, was) = ((*size / PAGE) as usize, file.pages.len());
            if pages != was && Some(pages) != file.growing_to {
                return Err(format!(
                    "file {name} has {pages} pages, not {was} or {:?}",
                    file.growing_to
                ));
            }
            file.pages.resize_with(pages, Page::default);
            file.growing_to = None;
            file.doubtful = false;
        }
        let gone: Vec<String> = self.files.keys().filter(|n| !found.contains_key(*n)).cloned().collect();
        for name in gone {
            if !self.files[&name].doubtful {
                return Err(format!("file {name} is gone"));
            }
            self.files.remove(&name);
        }
        Ok(())
    }
}
