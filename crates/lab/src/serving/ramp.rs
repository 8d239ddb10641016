//! A phase of file serving: the points of its ramp, one after the other on one tree, until response passes the limit,
//! the load is not reached, or the points end.
//!
//! Prevents: a rate of a stack whose files are wrong (all of them are read at the end), and files that stay where the
//! phase was not allowed to end in good order.

use super::point::{Ramp, Ran, is_full};
use super::server::Server;
use super::tree::Tree;
use super::{ceiling, place, rows, work};
use crate::host::observed::Host;
use crate::host::stand::Stand;
use crate::signals;
use crate::sql::steps;
use crate::trial::around::Around;
use crate::trial::done::Done;
use crate::trial::drive::Driven;
use files::{After, Audit};
use ledger::Measure;
use plan::{Files, Phase, Serving};
use workloads::Outcome;

/// A phase and what it is run in.
pub(super) struct Work<'a> {
    pub(super) around: &'a Around<'a>,
    pub(super) stand: &'a Stand,
    pub(super) files: &'a Files,
    pub(super) phase: &'a Phase,
    pub(super) serving: &'a Serving,
    pub(super) seed: u64,
    /// The server that was started for the stack.
    pub(super) server: Option<&'a Server>,
}

impl Work<'_> {
    /// Runs it.
    pub(super) fn run(&self, host: &mut Host<'_>) -> anyhow::Result<Done> {
        self.stand.built.check()?;
        let run = (self.seed ^ (self.seed >> 32)) as u32;
        let config = work::config(self.serving, self.files, run, self.seed)?;
        let place = place::of(self.stand, self.files, self.serving.sessions, self.server)?;
        // What lies on LUNs goes with the stack; elsewhere it is ours to take away.
        let mut tree = Tree::begin(config, place, self.stand.stack.data.is_none())?;
        let worked = self.work(&mut tree, host);
        if self.stand.stack.data.is_none() {
            self.around.doing(self.phase, " · removing the files");
        }
        tree.end(worked).map_err(|error| match self.server {
            Some(server) => server.blame(error),
            None => error,
        })
    }

    fn work(&self, tree: &mut files::Serving, host: &mut Host<'_>) -> anyhow::Result<Done> {
        let mut points = Vec::new();
        let ended = self.points(tree, host, &mut points);
        let full = match ended {
            Err(error) if is_full(&error) => Some(crate::full::words(0, 0)),
            Err(error) => return Err(error),
            Ok(()) => None,
        };
        let audit = match full {
            None => {
                self.around.doing(self.phase, " · reading everything");
                Some(tree.audit(After::Nothing, None)?)
            }
            Some(_) => None,
        };
        let data_bytes = tree.tree().bytes;
        self.done(points, full, audit, data_bytes)
    }

    fn points(&self, tree: &mut files::Serving, host: &mut Host<'_>, points: &mut Vec<Ran>) -> anyhow::Result<()> {
        let turn = self.around.turn;
        let ramp = Ramp {
            serving: self.serving,
            time_ns: self.phase.time.map_or(0, |time| time.0),
            seed: self.seed,
            since: targets::monotonic_ns(),
            cancel: turn.cancel,
        };
        host.before_data()?;
        for (nth, rate) in self.serving.load.iter().enumerate() {
            let of = format!("point {} of {}, {rate}", nth + 1, self.serving.load.len());
            self.around.doing(self.phase, &format!(" · {of} · making files"));
            ramp.grow(tree, *rate, host)?;
            signals::check(turn.cancel)?;
            self.around.doing(self.phase, &format!(" · {of}"));
            let ran = ramp.run(tree, *rate, host)?;
            signals::check(turn.cancel)?;
            let inside = ran.inside;
            points.push(ran);
            if !inside {
                return Ok(());
            }
        }
        Ok(())
    }

    fn done(
        &self,
        points: Vec<Ran>,
        full: Option<String>,
        audit: Option<Audit>,
        data_bytes: u64,
    ) -> anyhow::Result<Done> {
        let outcomes: Vec<&Outcome> = points.iter().map(|ran| &ran.outcome).collect();
        let driven = (!outcomes.is_empty()).then(|| Driven::of(steps::one_after_another(&outcomes)));
        let drain_ns = points.iter().map(|ran| ran.drain_ns).sum();
        let (mut rows, mut seen) = (Vec::new(), Vec::new());
        let mut before_ns = 0;
        for mut ran in points {
            rows.push(ran.row);
            rows::shift(&mut ran.seen, before_ns, ran.outcome.elapsed_ns);
            before_ns += ran.outcome.elapsed_ns;
            seen.push(ran.seen);
        }
        let mut seen = rows::together(seen);
        if let Some(audit) = &audit {
            let wrong = seen
                .measures
                .iter_mut()
                .find(|(measure, _)| *measure == Measure::FilesWrong);
            if let Some((_, wrong)) = wrong {
                *wrong += audit.lost() as f64;
            }
            seen.notes
                .extend(audit.examples.iter().map(|lost| format!("lost: {lost}")));
        }
        let ceiling = ceiling::per_second(self.serving, self.files, self.seed)?;
        Ok(Done {
            elapsed_ns: driven.as_ref().map_or(0, |driven| driven.outcome.elapsed_ns),
            drain_ns,
            measures: vec![
                (Measure::FilesCeiling, ceiling),
                (Measure::DataBytes, data_bytes as f64),
            ],
            seen,
            driven,
            full,
            serving: Some(rows::serving(
                self.serving,
                self.files,
                self.server.map(Server::version),
                rows,
            )),
            ..Done::default()
        })
    }
}
