//! SQLite on a stack that loses its power, or as it is killed: it works in a process of its own, which is killed with
//! the power.
//!
//! Takes a place on the stack; gives acknowledgements as that process tells them. Prevents: a page cache, a mapped
//! file or a lock of this process that outlives the cut (SQLite maps its log's index, and whoever touches a page that
//! can't be had any more is killed).

use super::contract::{self, Cuttable, Stop, Trial};
use super::kept::Kept;
use crate::cuts::moment::{Came, Moment};
use crate::group::grouped;
use crate::not_kept::NotKept;
use crate::signals;
use anyhow::{Context, anyhow, ensure};
use databases::sqlite::Role;
use diskgroup::Stripe;
use ledger::Measure;
use plan::{Access, Journal, Sqlite, Synchronous};
use rustix::io::Errno;
use rustix::process::Signal;
use serde_json::{Value, json};
use stacks::Ground;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdout, ExitStatus, Stdio};
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

const NAME: &str = "kept";

/// A database and how its process is told of it.
pub(super) struct CutLite<'a> {
    trial: &'a Trial<'a>,
    order: Value,
    sessions: u32,
    child: Option<Child>,
    /// Temporary files that a disk group removed after cuts, since somebody asked.
    removed: u64,
}

impl<'a> CutLite<'a> {
    pub(super) fn make(settings: &Sqlite, trial: &'a Trial<'a>) -> anyhow::Result<CutLite<'a>> {
        let stand = trial.stand;
        let mut order = json!({
            "page": settings.page.0,
            "cache": settings.cache.0,
            "wal": settings.journal == Journal::Wal,
            "synchronous": match settings.synchronous {
                Synchronous::Normal => 1,
                Synchronous::Full => 2,
                Synchronous::Extra => 3,
            },
            "autocheckpoint": settings.wal_autocheckpoint,
            "log_memory": settings.wal_memory.0,
            "number": trial.turn.block.seed,
        });
        if let Ground::Group(_) = stand.built.ground {
            order["group"] = json!(stand.built.luns().0);
        } else {
            order["path"] = json!(stand.directory()?.join(NAME));
            order["direct"] = json!(stand.stack.access == Access::Direct);
        }
        let mut made = CutLite {
            trial,
            order,
            sessions: contract::sessions(trial),
            child: None,
            removed: 0,
        };
        made.make_anew()?;
        Ok(made)
    }

    /// Starts a process that does this with the database.
    fn start(&mut self, act: &str, first: &[u64]) -> anyhow::Result<BufReader<ChildStdout>> {
        let mut order = self.order.clone();
        order["do"] = json!(act);
        order["first"] = json!(first);
        let mut child = sandbox::ourselves()
            .arg("sqlite-sessions")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context("start the process that works with SQLite")?;
        let (to, from) = (child.stdin.take(), child.stdout.take());
        self.child = Some(child);
        writeln!(to.context("its orders")?, "{order}").context("tell it what to do")?;
        Ok(BufReader::new(from.context("its answers")?))
    }

    /// Ends the process, if it has not ended by itself; how it did.
    fn end(&mut self) -> Option<ExitStatus> {
        let mut child = self.child.take()?;
        let _ = child.kill();
        child.wait().ok()
    }

    /// The same to its end; gives its lines.
    fn ask(&mut self, act: &str) -> anyhow::Result<Vec<Value>> {
        let from = self.start(act, &[])?;
        let lines: Vec<Value> = from
            .lines()
            .map(|line| Ok(serde_json::from_str(&line?)?))
            .collect::<anyhow::Result<_>>()?;
        let ended = self.child.take().context("a process")?.wait()?;
        let error = lines.iter().find_map(said);
        error.map_or_else(|| ended_well(ended), Err)?;
        Ok(lines)
    }
}

/// The error that a line of that process tells of, as grave as it was there.
fn said(line: &Value) -> Option<anyhow::Error> {
    let error = line["error"].as_str()?;
    let is = |what: &str| line[what] == Value::Bool(true);
    Some(match (is("loss"), is("full")) {
        (true, _) => NotKept(error.to_string()).into(),
        (_, true) => anyhow::Error::from(Errno::NOSPC).context(error.to_string()),
        _ => anyhow!("{error}"),
    })
}

fn ended_well(ended: ExitStatus) -> anyhow::Result<()> {
    // A mapped file that is shorter than it was.
    if ended.signal() == Some(Signal::BUS.as_raw()) {
        return Err(NotKept(format!("the process that works with SQLite ended: {ended}")).into());
    }
    ensure!(ended.success(), "the process that works with SQLite ended: {ended}");
    Ok(())
}

impl Cuttable for CutLite<'_> {
    fn describe(&mut self) -> anyhow::Result<ledger::Database> {
        let lines = self.ask("describe")?;
        let facts = lines
            .first()
            .and_then(Value::as_object)
            .context("what SQLite says of itself")?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
        let shown = facts
            .iter()
            .filter(|(key, _)| *key != "sqlite version" && *key != "sqlite files by");
        let access = match (&self.trial.stand.built.ground, self.trial.stand.stack.access) {
            (Ground::Group(_), _) => "disk group",
            (_, Access::Direct) => "direct file",
            (_, Access::Buffered) => "page cache",
        };
        Ok(ledger::Database {
            engine: ledger::DatabaseEngine::Sqlite,
            version: facts.get("sqlite version").map(text).unwrap_or_default(),
            access: access.to_string(),
            managed: true,
            settings: shown
                .map(|(key, value)| ledger::DatabaseSetting {
                    name: key.trim_start_matches("sqlite ").to_string(),
                    value: text(value),
                    source: "assay".to_string(),
                })
                .collect(),
        })
    }

    fn work(&mut self, first: &[u64], after: Duration, stop: &Stop<'_>) -> anyhow::Result<Vec<u64>> {
        let from = self.start("work", first)?;
        let last = Mutex::new(first.iter().map(|number| number - 1).collect::<Vec<u64>>());
        let (moment, error) = (Moment::default(), Mutex::new(None));
        let cancel: &AtomicBool = self.trial.turn.cancel;
        let (stopped, ended) = std::thread::scope(|scope| {
            let (last, moment, error) = (&last, &moment, &error);
            let reader = scope.spawn(move || {
                for line in from.lines().map_while(Result::ok) {
                    // What comes after the cut was said by a machine without power.
                    if moment.came().is_some() {
                        return;
                    }
                    moment.begin();
                    let mut words = line.split(' ').map(str::parse::<u64>);
                    let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
                    match (words.next(), words.next()) {
                        (Some(Ok(session)), Some(Ok(number))) => last[session as usize] = number,
                        _ => *error.lock().unwrap_or_else(PoisonError::into_inner) = Some(line),
                    }
                }
                // It ended; by itself, if nobody had ended it yet.
                moment.fail();
            });
            let stopped = match moment.wait(after, cancel) {
                Came::Due => stop(),
                Came::Failed => Ok(()),
                Came::Interrupted => signals::check(cancel),
            };
            let ended = self.end();
            let _ = reader.join();
            (stopped, ended)
        });
        stopped?;
        if moment.came() == Some(Came::Due) {
            return Ok(last.into_inner().unwrap_or_else(PoisonError::into_inner));
        }
        let line = error.into_inner().unwrap_or_else(PoisonError::into_inner);
        let told = line.map(|line: String| {
            let parsed: Option<Value> = serde_json::from_str(&line).ok();
            parsed.as_ref().and_then(said).unwrap_or_else(|| anyhow!("{line}"))
        });
        let silent = || match ended.map(ended_well) {
            Some(Err(error)) => error,
            _ => anyhow!("it said nothing"),
        };
        let when = "the SQLite process ended before the cut or kill";
        Err(told.unwrap_or_else(silent).context(when))
    }

    fn rise(&mut self) -> anyhow::Result<()> {
        let lines = self.ask("check")?;
        let line = lines.first().unwrap_or(&Value::Null);
        let number = |key: &str| line[key].as_u64().unwrap_or(0);
        self.removed += number("removed");
        ensure!(
            number("left") == 0,
            "{} bytes of the disk group belong to no file: temporary files were left\n  look at the group with `assay \
             dg check`",
            number("left")
        );
        match line["integrity"].as_str().unwrap_or("nothing") {
            "ok" => Ok(()),
            said => Err(NotKept(format!("SQLite's own check of the database says: {said}")).into()),
        }
    }

    fn kept(&mut self) -> anyhow::Result<Kept> {
        let mut kept = Kept::of(self.sessions);
        for row in self.ask("look")? {
            let number = |at: usize| row[at].as_u64().context("a number of a row");
            let body = row[3].as_str().context("the text of a row")?;
            kept.take(number(0)? as usize, number(1)? as u32, number(2)?, body);
        }
        Ok(kept)
    }

    fn counted(&mut self) -> Vec<(Measure, f64)> {
        let removed = std::mem::take(&mut self.removed);
        match self.trial.stand.built.ground {
            Ground::Group(_) => vec![(Measure::CutsTempRemoved, removed as f64)],
            _ => Vec::new(),
        }
    }

    fn fall(&mut self) {
        self.end();
    }

    fn make_anew(&mut self) -> anyhow::Result<()> {
        let stand = self.trial.stand;
        if let Ground::Group(_) = stand.built.ground {
            let (group, _) = grouped::for_sql(&stand.stack, &stand.built)?;
            for role in Role::ALL {
                let name = format!("{NAME}{}", role.suffix());
                grouped::make_file(&group, &name, 1 << 20, Stripe::Coarse)?;
            }
            group.close()?;
        }
        self.ask("make").map(drop)
    }

    fn close(self: Box<Self>) -> anyhow::Result<()> {
        Ok(())
    }
}

impl Drop for CutLite<'_> {
    fn drop(&mut self) {
        self.fall();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::full;
    use crate::not_kept;

    #[test]
    fn an_error_of_the_process_is_as_grave_here_as_it_was_there() {
        let error = |line: Value| said(&line).expect("an error");
        let lost = error(json!({ "error": "database disk image is malformed", "loss": true, "full": false }));
        assert!(
            not_kept::is_loss(&lost) && lost.to_string().contains("malformed"),
            "{lost:#}"
        );
        let full = error(json!({ "error": "database or disk is full", "loss": false, "full": true }));
        assert!(full::ran_out_of_space(&full) && !not_kept::is_loss(&full), "{full:#}");
        let other = error(json!({ "error": "no memory", "loss": false }));
        assert!(
            !not_kept::is_loss(&other) && !full::ran_out_of_space(&other),
            "{other:#}"
        );
        assert!(said(&json!([0, 1, 2, "a row"])).is_none());
    }
}
