//! A phase of file serving: the points of its ramp, one after the other on one tree, until response passes the limit,
//! the load is not reached, or the points end.
//!
//! Prevents: a rate of a stack whose files are wrong (all of them are read at the end), wrong answers that an error
//! hides which came after them, and files that stay where the phase was not allowed to end in good order.

use super::point::{Ramp, Ran, is_full};
use super::rows::Answers;
use super::server::Server;
use super::tree::Tree;
use super::{ceiling, place, rows, work};
use crate::host::observed::Host;
use crate::host::stand::Stand;
use crate::signals;
use crate::sql::steps::Steps;
use crate::trial::around::Around;
use crate::trial::done::Done;
use crate::trial::drive::Driven;
use files::{After, Audit};
use ledger::Measure;
use plan::{Files, Phase, Serving};

/// The points of a ramp so far.
#[derive(Default)]
struct Points {
    ran: Vec<Ran>,
    /// Of all of them, one after another.
    whole: Steps,
    /// Of the point under way, which an error may end.
    unfinished: Answers,
}

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
        let is_removed = self.is_removed();
        let mut tree = Tree::begin(config, place, is_removed)?;
        tree.end_by(self.around.turn.cancel);
        let (mut done, worked) = self.work(&mut tree, host);
        if is_removed {
            self.around.doing(self.phase, " · removing the files");
        }
        if let Err(error) = tree.end(worked) {
            let error = match self.server {
                Some(server) => server.blame(error),
                None => error,
            };
            done.failed = Some(match rows::loss(&done.seen) {
                Some(loss) => error.context(loss),
                None => error,
            });
        }
        Ok(done)
    }

    /// What lies on LUNs goes with the stack, but a later phase begins without it; elsewhere it is ours to take away.
    fn is_removed(&self) -> bool {
        let is_last = self
            .around
            .study
            .phases
            .last()
            .is_some_and(|last| std::ptr::eq(last, self.phase));
        self.stand.stack.data.is_none() || !is_last
    }

    /// Gives what was found in any case, and what ended the work before its time.
    fn work(&self, tree: &mut files::Serving, host: &mut Host<'_>) -> (Done, anyhow::Result<()>) {
        let mut points = Points::default();
        let ended = self.points(tree, host, &mut points).and_then(|()| {
            self.around.doing(self.phase, " · reading everything");
            Ok(tree.audit(After::Nothing, None)?)
        });
        let (audit, full, ended) = match ended {
            Ok(audit) => (Some(audit), None, Ok(())),
            Err(error) if is_full(&error) => (None, Some(crate::full::words(0, 0)), Ok(())),
            Err(error) => (None, None, Err(error)),
        };
        let ceiling = ended.and_then(|()| ceiling::per_second(self.serving, self.files, self.seed));
        let (ceiling, worked) = match ceiling {
            Ok(ceiling) => (Some(ceiling), Ok(())),
            Err(error) => (None, Err(error)),
        };
        let mut done = self.done(points, audit.as_ref());
        let of_generator = ceiling.map(|ceiling| (Measure::FilesCeiling, ceiling));
        done.measures.extend(of_generator);
        done.measures
            .extend(done.driven.as_ref().and_then(|driven| rows::busy(&driven.outcome)));
        done.measures.push((Measure::DataBytes, tree.tree().bytes as f64));
        done.full = full.map(|words| match rows::loss(&done.seen) {
            Some(loss) => format!("{words}; {loss}"),
            None => words,
        });
        (done, worked)
    }

    fn points(&self, tree: &mut files::Serving, host: &mut Host<'_>, points: &mut Points) -> anyhow::Result<()> {
        let turn = self.around.turn;
        let ramp = Ramp {
            serving: self.serving,
            time_ns: self.phase.time.map_or(0, |time| time.0),
            seed: self.seed,
            since: targets::monotonic_ns(),
            cancel: turn.cancel,
            is_elsewhere: self.stand.stack.kind.server().is_some(),
        };
        host.before_data()?;
        for (nth, rate) in self.serving.load.iter().enumerate() {
            let of = format!("point {} of {}, {rate}", nth + 1, self.serving.load.len());
            self.around.doing(self.phase, &format!(" · {of} · making files"));
            ramp.grow(tree, *rate, host)?;
            signals::check(turn.cancel)?;
            self.around.doing(self.phase, &format!(" · {of}"));
            let (ran, outcome) = ramp.run(tree, *rate, host, &mut points.unfinished)?;
            signals::check(turn.cancel)?;
            let inside = ran.inside;
            points.ran.push(ran);
            points.whole.add(outcome);
            if !inside {
                return Ok(());
            }
        }
        Ok(())
    }

    fn done(&self, points: Points, audit: Option<&Audit>) -> Done {
        let Points {
            ran: points,
            whole,
            unfinished,
        } = points;
        let driven = whole.into_one().map(Driven::of);
        let drain_ns = points.iter().map(|ran| ran.drain_ns).sum();
        let (mut rows, mut seen) = (Vec::new(), Vec::new());
        let mut before_ns = 0;
        for mut ran in points {
            rows.push(ran.row);
            rows::shift(&mut ran.seen, before_ns, ran.elapsed_ns);
            before_ns += ran.elapsed_ns;
            seen.push(ran.seen);
        }
        let mut seen = rows::together(seen);
        unfinished.of_unfinished(&mut seen);
        if let Some(audit) = audit {
            rows::add_to(&mut seen, Measure::FilesWrong, audit.lost());
            seen.notes
                .extend(audit.examples.iter().map(|lost| format!("lost: {lost}")));
        }
        Done {
            elapsed_ns: driven.as_ref().map_or(0, |driven| driven.outcome.elapsed_ns),
            drain_ns,
            seen,
            driven,
            serving: Some(rows::serving(
                self.serving,
                self.files,
                self.server.map(Server::version),
                rows,
            )),
            ..Done::default()
        }
    }
}
