//! The stacks of one block, side by side on this host: all built and loaded, driven in turns, taken down together.
//!
//! Takes the turns of a block, gives their trials to the ledger. Prevents: anything left standing when a step fails (the journal is
//! undone to where the block began, whatever happens), and a block of which one stack counts and another does not.

use crate::condition::Health;
use crate::group::grouped::Open;
use crate::host::prepared::Method;
use crate::host::site::{HostSite, undone};
use crate::host::stand::{self, Opened, Stand};
use crate::host::trial::{self, Beside, Trial};
use crate::inject;
use crate::trial::book;
use crate::trial::stints::{self, Side, Standing};
use crate::turn::Turn;
use ledger::{Ledger, TrialId};
use plan::Stints;
use targets::{Port, PsyncPort, UringPort};

/// A stack of the block that stands.
struct Stood {
    stands: Vec<Stand>,
    first: bool,
}

/// Runs the trials of one block in turns.
pub(crate) fn run(
    site: &mut HostSite<'_>,
    ledger: &mut Ledger,
    turns: &[Turn<'_>],
    stints: &Stints,
) -> anyhow::Result<()> {
    // What the block before had in memory is not this one's.
    targets::give_back_freed_memory();
    let mark = site.journal.mark();
    let result = built(site, ledger, turns).and_then(|stood| {
        let trials = book::begun(ledger, site.study, turns, &site.host)?;
        let driven = driven(site, ledger, (turns, &stood, &trials), stints);
        let sets: Vec<&String> = (stood.iter().flat_map(|stood| &stood.stands))
            .flat_map(|stand| stand.stack.lun_sets())
            .collect();
        let driven = driven.map_err(|error| site.luns.blame(error, &sets));
        book::all_ended(ledger, turns, &trials, driven)
    });
    // What the trials say comes first; what could not be undone is found again, and reported, at the end of the run.
    let left = site.journal.undo_to(mark);
    site.luns.unserved();
    result.and_then(|()| undone(&left))
}

/// Builds all stacks.
fn built(site: &mut HostSite<'_>, ledger: &mut Ledger, turns: &[Turn<'_>]) -> anyhow::Result<Vec<Stood>> {
    let mut all = Vec::new();
    for turn in turns {
        crate::signals::check(turn.cancel)?;
        let name = &site.study.stacks[turn.stack].name;
        turn.progress
            .doing(&format!("block {} · {name} · building", turn.block.number + 1));
        let stack = &site.study.stacks[turn.stack];
        let sets: Vec<&String> = stack.lun_sets().collect();
        let stands = stand::build(site, turn).map_err(|error| site.luns.blame(error, &sets))?;
        let first = trial::described(site, ledger, turn, &stands)?;
        all.push(Stood { stands, first });
    }
    Ok(all)
}

type OfBlock<'a> = (&'a [Turn<'a>], &'a [Stood], &'a [TrialId]);

/// On ports of the method that was chosen, with planted disadvantages where there are any.
fn driven(site: &HostSite<'_>, ledger: &mut Ledger, block: OfBlock<'_>, stints: &Stints) -> anyhow::Result<()> {
    let (turns, stood, _) = block;
    let seed = turns.first().map_or(0, |turn| turn.block.seed);
    let planted = stood
        .iter()
        .any(|stood| inject::is_planted(&stood.stands[0].stack.inject));
    match (site.prepared.method, planted) {
        (Method::Ring, false) => drive(site, ledger, block, stints, &|_, specs, memory, depth| {
            UringPort::open(specs, memory, depth)
        }),
        (Method::Pread, false) => drive(site, ledger, block, stints, &|_, specs, memory, depth| {
            PsyncPort::open(specs, memory, depth)
        }),
        (Method::Ring, true) => drive(site, ledger, block, stints, &|inject, specs, memory, depth| {
            Ok(inject::planted(UringPort::open(specs, memory, depth)?, inject, seed))
        }),
        (Method::Pread, true) => drive(site, ledger, block, stints, &|inject, specs, memory, depth| {
            Ok(inject::planted(PsyncPort::open(specs, memory, depth)?, inject, seed))
        }),
    }
}

/// Loads all stacks, one after the other, and lets them take turns.
fn drive<P: Port + Send>(
    site: &HostSite<'_>,
    ledger: &mut Ledger,
    (turns, stood, ids): OfBlock<'_>,
    stints: &Stints,
    open: &Open<'_, P>,
) -> anyhow::Result<()> {
    let sizes = site.sizes()?;
    let trials: Vec<Trial<'_>> = (turns.iter().zip(stood).zip(ids))
        .map(|((turn, stood), id)| Trial {
            site,
            sizes: &sizes,
            turn,
            stands: &stood.stands,
            id: *id,
            first: stood.first,
        })
        .collect();
    let mut opened: Vec<Opened<P>> = Vec::new();
    for trial in &trials {
        let mut one = Opened {
            group: None,
            pool: None,
            used: true,
        };
        one.prepare(&trial.stands[0], &sizes, open)?;
        opened.push(one);
    }
    let health: Vec<Box<Health<'_>>> = opened
        .iter()
        .map(|opened| {
            let of_group = move || opened.group.as_ref().map(|group| group.condition());
            Box::new(move || of_group().unwrap_or_default()) as Box<Health<'_>>
        })
        .collect();
    let mut sides: Vec<Box<dyn Side + '_>> = Vec::new();
    for ((trial, opened), health) in trials.iter().zip(&opened).zip(&health) {
        crate::signals::check(trial.turn.cancel)?;
        let side = one_side(trial, opened, health.as_ref(), open, ledger, trials.len() - 1);
        sides.push(side.map_err(|error| trial::name_files(error, &[&trial.stands[0]]))?);
    }
    let Some(first) = turns.first() else { return Ok(()) };
    stints::block(
        &mut sides,
        stints,
        &site.study.phases,
        first.block.seed,
        ledger,
        first.cancel,
    )?;
    for (side, trial) in sides.iter_mut().zip(&trials) {
        side.leave(ledger, &trial.stands[0].files())?;
    }
    drop(sides);
    drop(health);
    for group in opened.into_iter().filter_map(|opened| opened.group) {
        group.close()?;
    }
    Ok(())
}

/// One stack, loaded: plain files, a disk group, or one whose redo log is a group of its own.
fn one_side<'a, P: Port + Send + 'a>(
    trial: &'a Trial<'a>,
    opened: &'a Opened<P>,
    health: &'a Health<'a>,
    open: &Open<'_, P>,
    ledger: &mut Ledger,
    others: usize,
) -> anyhow::Result<Box<dyn Side + 'a>> {
    let (stand, sizes) = (&trial.stands[0], trial.sizes);
    let (memory, depth) = (sizes.memory_bytes(), sizes.depth(stand.data_file_count()));
    let beside = Beside {
        facts: opened.group.as_ref().map(|group| group.facts()).unwrap_or_default(),
        health,
        regroup: None,
        pool: None,
    };
    let with = (beside, others);
    match &opened.group {
        Some(group) if group.has_two() => loaded(trial, ledger, with, || group.port_of_two(open, memory, depth)),
        Some(group) => loaded(trial, ledger, with, || group.port(open, memory, depth)),
        None => loaded(trial, ledger, with, || stand.plain_port(open, sizes, memory, depth)),
    }
}

/// A port for each worker, and the stack loaded through them.
fn loaded<'a, P: Port + Send + 'a>(
    trial: &'a Trial<'a>,
    ledger: &mut Ledger,
    (beside, others): (Beside<'a>, usize),
    port: impl Fn() -> anyhow::Result<P>,
) -> anyhow::Result<Box<dyn Side + 'a>> {
    let ports = (0..trial.site.study.workers).map(|_| port());
    let ports = ports.collect::<anyhow::Result<Vec<_>>>()?;
    let (instance, host) = trial.ready(ledger, &trial.stands[0], ports, 0, beside)?;
    // This host's clock goes by itself.
    Ok(Box::new(Standing::new(
        instance,
        host,
        trial.around(),
        others,
        |_, _| (),
    )))
}
