//! `assay run` under a launcher of MPI: the first rank runs the study, each other one serves an instance.
//!
//! Takes what the launcher says; gives the other hosts, or says why this study and these ranks do not fit. Prevents: as
//! many single runs as there are ranks, all of them on the same devices, and a host that stays as a lost rank left it.

use super::runs::{is_left, run_id};
use crate::exit::Failure;
use crate::printed::say;
use anyhow::{anyhow, bail, ensure};
use hosts::{Cause, HasMpi, Host, HostsError, Joining, Keeper, Launcher, Patience, Undone};
use lab::{Ranks, signals};
use plan::{Study, Via};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// The run has so long to undo what it built when all ranks end; the watchdog waits a little longer.
const UNDO: Duration = Duration::from_millis(3500);
/// Between two looks whether it has.
const LOOK: Duration = Duration::from_millis(50);
/// The kernel takes so long at most to end a process that was killed.
const DYING: Duration = Duration::from_secs(10);

/// What this process is among others.
pub(crate) enum Joined {
    /// No launcher, or one rank.
    Alone,
    /// The rank that runs the study.
    First(Together),
    /// Another one: it has served, and the study is over.
    Served,
}

/// What the rank that runs the study holds.
pub(crate) struct Together {
    pub(crate) ranks: Ranks,
    /// The keeper undoes what this run leaves.
    pub(crate) run_id: String,
    pub(crate) cancel: Arc<AtomicBool>,
    keeper: Keeper,
}

/// Joins the other ranks where a launcher has started several.
pub(crate) fn join() -> Result<Joined, Failure> {
    let Some(launcher) = several()? else {
        return Ok(Joined::Alone);
    };
    // Without MPI nothing below can be reached, and the compiler leaves it out.
    let has_mpi = Host::must_have_mpi(launcher).map_err(failed)?;
    if launcher.rank > 0 {
        let last = Box::new(ended_there(launcher.rank));
        let mut host = Host::join(joining(launcher, has_mpi, last)?).map_err(failed)?;
        lab::serve_rank(&mut host)?;
        host.part();
        return Ok(Joined::Served);
    }
    let (run_id, cancel) = (run_id(), signals::cancel_flag_of_rank()?);
    // Before MPI: a process that begins later may hold what belongs to MPI.
    let mut command = sandbox::ourselves();
    command.args(["keeper", &run_id]);
    let keeper = Keeper::start(command).map_err(failed)?;
    let over = Arc::new(OnceLock::new());
    let last = ended_here(run_id.clone(), over.clone(), cancel.clone());
    let host = Host::join(joining(launcher, has_mpi, Box::new(last))?);
    let host = match host {
        Ok(host) => host,
        Err(error) => {
            keeper.let_go();
            return Err(failed(error));
        }
    };
    Ok(Joined::First(Together {
        ranks: Ranks::new(host, over),
        run_id,
        cancel,
        keeper,
    }))
}

/// A command that runs on one host only.
pub(crate) fn must_be_alone() -> Result<(), Failure> {
    match several()? {
        None => Ok(()),
        Some(launcher) => Err(Failure::Run(anyhow!(
            "{} started {} ranks, and this command runs on one host\n  start `assay` without the launcher; \
             `assay run` can use several hosts (docs/instances.md)",
            launcher.kind,
            launcher.size
        ))),
    }
}

/// Whether the study asks for as many hosts as there are ranks, and each rank is on another host.
pub(crate) fn must_fit(study: &Study, together: Option<&Together>) -> anyhow::Result<()> {
    let on_hosts = study.instances.is_some_and(|all| all.via == Via::Mpi);
    let most = study.stacks.iter().map(|stack| stack.instances).max().unwrap_or(1);
    let named = if most > 2 { "A,B,..." } else { "A,B" };
    let start = format!("start it as `mpirun -n {most} --host {named} --bind-to none assay run STUDY`");
    let Some(together) = together else {
        ensure!(
            !on_hosts || most < 2,
            "the instances of this study are on several hosts (via = \"mpi\"), and no launcher has started ranks\n  \
             {start}"
        );
        return Ok(());
    };
    let count = together.ranks.count();
    ensure!(
        on_hosts,
        "the launcher started {count} ranks, and the instances of this study are on one host\n  write via = \"mpi\" \
         in [instances], or start `assay` without the launcher"
    );
    ensure!(
        count == most,
        "the launcher started {count} ranks, and a stack of this study has at most {most} instances\n  {start}"
    );
    if let Some((first, second, host)) = together.ranks.on_one_host() {
        bail!(
            "ranks {first} and {second} are both on host {host}, and each instance of this study needs a host of its \
             own (via = \"mpi\")\n  {start}, or write via = \"processes\" in [instances]"
        );
    }
    Ok(())
}

impl Together {
    /// The study is over. What was built is undone by now, or the keeper tries it once more.
    pub(crate) fn part(self, ran: Result<(), Failure>) -> Result<(), Failure> {
        match &ran {
            // A verdict is a result.
            Ok(()) | Err(Failure::Verdict(_)) => self.ranks.part(),
            // The others end when they hear nothing good.
            Err(_) => drop(self.ranks),
        }
        if !is_left(&self.run_id) {
            self.keeper.let_go();
        }
        ran
    }
}

/// `assay keeper RUN`: waits for the end of the rank that runs the study, and undoes what that left.
pub(crate) fn keep(run_id: &str) -> Result<(), Failure> {
    match hosts::keep(|| undo(run_id)) {
        0 => Ok(()),
        _ => Err(Failure::Dirty(anyhow!("not all of run {run_id} could be undone"))),
    }
}

fn undo(run_id: &str) -> Undone {
    let began = Instant::now();
    loop {
        // What other runs have left is their user's to look at.
        let cleaned = stacks::state_dir().and_then(|dir| stacks::clean_run(&dir, run_id));
        let Ok(report) = cleaned else { return Undone::NotAll };
        let is_live = !report.live.is_empty();
        // The kernel closes the pipes of a killed process before it gives its locks back.
        if !is_live || began.elapsed() > DYING {
            return all_or_not(!is_live && report.is_clean());
        }
        std::thread::sleep(LOOK);
    }
}

fn all_or_not(is_all: bool) -> Undone {
    if is_all { Undone::All } else { Undone::NotAll }
}

/// The launcher, where it has started several ranks.
fn several() -> Result<Option<Launcher>, Failure> {
    let launcher = Launcher::here().map_err(|error| failed(error.into()))?;
    Ok(launcher.filter(|launcher| launcher.size > 1))
}

fn joining(launcher: Launcher, has_mpi: HasMpi, last: hosts::LastAct) -> anyhow::Result<Joining> {
    Ok(Joining {
        launcher,
        has_mpi,
        patience: Patience::default(),
        asked: Some(signals::told_to_end()?),
        last,
    })
}

/// Another rank builds nothing: its process of an instance ends with its orders.
fn ended_there(rank: u32) -> impl FnOnce(&Cause) -> Undone + Send {
    move |cause| {
        say!("assay, rank {rank}: {cause}");
        Undone::All
    }
}

/// The study ends, and the run undoes what it has built. `over` and `cancel`: what tells it so, the reason first.
fn ended_here(
    run_id: String,
    over: Arc<OnceLock<Cause>>,
    cancel: Arc<AtomicBool>,
) -> impl FnOnce(&Cause) -> Undone + Send {
    move |cause| {
        say!("assay, rank 0: {cause}");
        let _ = over.set(*cause);
        cancel.store(true, Ordering::Relaxed);
        let began = Instant::now();
        while is_left(&run_id) && began.elapsed() < UNDO {
            std::thread::sleep(LOOK);
        }
        all_or_not(!is_left(&run_id))
    }
}

fn failed(error: HostsError) -> Failure {
    Failure::Run(error.into())
}
