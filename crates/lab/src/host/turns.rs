//! The stacks of one block, side by side on this host: all built and loaded, driven in turns, taken down together.
//!
//! Takes the turns of a block, gives their trials to the ledger. Prevents: anything left standing when a step fails
//! (the journal is undone to where the block began, whatever happens), and a block of which one stack counts and
//! another does not.

use crate::host::opened::Opened;
use crate::host::site::{HostSite, undone};
use crate::host::stand::Stand;
use crate::host::stands;
use crate::host::trial::{self, Trial};
use crate::instances::others::Others;
use crate::trial::book;
use crate::trial::phases::Loaded;
use crate::trial::stints::{self, Standing};
use crate::turn::Turn;
use ledger::{Ledger, TrialId};
use plan::Stints;

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
        let driven = drive(site, ledger, (turns, &stood, &trials), stints);
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
        let stack = &site.study.stacks[turn.stack];
        turn.doing(&stack.name, "building");
        let sets: Vec<&String> = stack.lun_sets().collect();
        let stands = stands::build(site, turn).map_err(|error| site.luns.blame(error, &sets))?;
        let first = trial::described(site, ledger, turn, &stands)?;
        all.push(Stood { stands, first });
    }
    Ok(all)
}

type OfBlock<'a> = (&'a [Turn<'a>], &'a [Stood], &'a [TrialId]);

/// Loads all stacks, one after the other, and lets them take turns.
fn drive(
    site: &HostSite<'_>,
    ledger: &mut Ledger,
    (turns, stood, ids): OfBlock<'_>,
    stints: &Stints,
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
    let mut opened = Vec::new();
    for trial in &trials {
        let mut one = trial.opened(&trial.stands[0]);
        one.prepare()?;
        one.used = true;
        opened.push(one);
    }
    let arounds: Vec<_> = trials.iter().map(Trial::around).collect();
    let health: Vec<_> = opened.iter().map(|opened| || opened.condition()).collect();
    let mut sides: Vec<Standing<'_>> = Vec::new();
    for (((trial, opened), health), around) in trials.iter().zip(&opened).zip(&health).zip(&arounds) {
        crate::signals::check(trial.turn.cancel)?;
        let ready = trial.ready(ledger, opened, health, 0);
        let (instance, host) = ready.map_err(|error| trial::name_files(error, &[opened.stand]))?;
        let loaded = Loaded {
            instance,
            // A stack of several instances takes no turns.
            others: Others::default(),
            surroundings: Box::new(host),
            around,
            // Nothing changes its LUNs where stacks take turns.
            changes: opened.changes(None),
        };
        sides.push(Standing::new(loaded, trials.len() - 1));
    }
    stints::block(&mut sides, stints, ledger)?;
    for (side, opened) in sides.iter_mut().zip(&opened) {
        side.leave(ledger, &opened.stand.files())?;
    }
    drop(sides);
    drop(health);
    opened.into_iter().try_for_each(Opened::close)
}
