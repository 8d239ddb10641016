//! Looking at everything: all pages against the oracle, a check that must find nothing, and coming to rest.

use crate::machine::Window;
use crate::machine::content::{PAGE, SECTOR, SECTORS, fill, versions_of};
use crate::machine::life::{Life, Trouble, Went, options};
use crate::machine::oracle::{Oracle, Page};
use crate::machine::scenario::AU;
use diskgroup::{Group, GroupPort};
use std::collections::BTreeMap;
use targets::{FileId, Op, Port, Request};

impl Life<'_> {
    /// Reads every page of every file and holds it against the oracle; afterwards that is what is there. Torn pages are
    /// written again, as a database would from its log.
    pub(crate) fn survey(&mut self, crashed: bool) -> Went<()> {
        let found: BTreeMap<String, u64> = self.group.files().into_iter().map(|f| (f.name, f.size)).collect();
        self.oracle.recovered(&found)?;
        let names: Vec<String> = self.oracle.files.keys().cloned().collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut port = self.group.open(self.machine.window(AU, 4), &names)?;
        for (nth, name) in names.iter().enumerate() {
            if !crashed {
                // What is seen now must be there after whatever comes.
                one(&mut port, Op::Flush, nth, 0, 0)?;
            }
            let file = self.oracle.files.get_mut(*name).expect("known");
            let mut torn = Vec::new();
            for first in (0..file.pages.len()).step_by((AU / PAGE) as usize) {
                let count = (file.pages.len() - first).min((AU / PAGE) as usize);
                one(
                    &mut port,
                    Op::Read,
                    nth,
                    first as u64 * PAGE,
                    count as u32 * PAGE as u32,
                )?;
                for page in first..first + count {
                    let bytes = port.bytes((page - first) as u64 * PAGE, PAGE as usize);
                    let state = &mut file.pages[page];
                    let found = versions_of(file.id, page as u64, bytes);
                    let fits = found.filter(|f| {
                        if crashed {
                            state.may_survive(f)
                        } else {
                            state.may_read(f)
                        }
                    });
                    let Some(versions) = fits else {
                        return Err(Trouble::Wrong(format!("{name} page {page}: {found:?}, not {state:?}")));
                    };
                    state.found(&versions);
                    if Page::is_torn(&versions) {
                        torn.push(page);
                    }
                }
            }
            for page in &torn {
                let version = file.pages[*page].begin();
                for (sector, to) in port.bytes_mut(0, PAGE as usize).chunks_mut(SECTOR).enumerate() {
                    fill(file.id, *page as u64, sector, version, to);
                }
                one(&mut port, Op::Write, nth, *page as u64 * PAGE, PAGE as u32)?;
                file.pages[*page].end(true);
            }
            if !torn.is_empty() {
                one(&mut port, Op::Flush, nth, 0, 0)?;
                torn.iter().for_each(|p| {
                    let version = file.pages[*p].next;
                    file.pages[*p].found(&[version; SECTORS]);
                });
            }
        }
        Ok(())
    }

    /// A check must find nothing.
    pub(crate) fn must_be_sound(&mut self) -> Went<()> {
        let report = self.group.check(false)?;
        if report.is_clean() {
            return Ok(());
        }
        let first: Vec<String> = report.findings.iter().take(4).map(|f| f.what.to_string()).collect();
        Err(Trouble::Wrong(format!(
            "check: {} findings: {}",
            report.findings.len(),
            first.join("; ")
        )))
    }

    /// Ends everything in good order, with nothing left to do.
    pub(crate) fn come_to_rest(&mut self) -> Went<()> {
        self.shut()?;
        let away: Vec<String> = self
            .group
            .disks()
            .into_iter()
            .filter(|d| !d.online || d.failing)
            .map(|d| d.name)
            .collect();
        for name in away {
            self.group.online_disk(&name)?;
        }
        self.keep_up_to_the_end()
    }

    /// Whether the group has taken a disk offline.
    pub(crate) fn is_away(&self, disk: u16) -> bool {
        self.group
            .disks()
            .iter()
            .any(|d| d.file == Some(FileId(disk)) && !d.online)
    }

    /// Gives everything up and mounts again.
    pub(crate) fn mount_again(&mut self) -> Went<()> {
        self.workers.clear();
        self.scratch.clear();
        self.upkeep = None;
        self.machine.quiet();
        let (group, _) = Group::mount(self.machine.window(192 << 10, 16), &options(self.scenario, false))?;
        self.group = group;
        Ok(())
    }

    /// A disk that is offline.
    pub(crate) fn away(&self) -> Option<u16> {
        let disks = self.group.disks();
        let away = disks.iter().find(|d| !d.online)?;
        away.name[1..].parse().ok()
    }

    /// Gives the group up, as a crash does.
    pub(crate) fn drop_all(self) -> Oracle {
        self.oracle
    }
}

/// A request and its end.
fn one(port: &mut GroupPort<Window>, op: Op, file: usize, offset: u64, len: u32) -> Went<()> {
    port.submit(Request {
        op,
        file: FileId(file as u16),
        offset,
        at: 0,
        len,
        token: 1,
    })?;
    let mut done = Vec::new();
    while done.is_empty() {
        port.wait(1, None, &mut done)?;
    }
    done[0]
        .result
        .map_err(|fault| Trouble::Wrong(format!("{op:?} at {offset}: {fault}")))
}
