//! The places where a database can be in a trial: stacks that stand.
//!
//! A trial has one where it begins, its *home*, and one for each place that its phases copy the database to. Takes
//! the study and the block, gives what stands. Prevents: a copy that is favoured by better LUNs (home and copy change
//! sides in every other block), and a copy onto what another stack left there.

use crate::host::site::HostSite;
use crate::host::stand::{Key, Stand};
use crate::pool::pooled::Pooled;
use crate::turn::Turn;
use plan::{CopyTarget, Stack, Study};

fn copies(study: &Study) -> impl Iterator<Item = &plan::Copy> {
    study.phases.iter().filter_map(|phase| phase.kind.copy())
}

/// The LUN set that stands in for `set` in a block: home and the first copy change sides in every other one.
fn side(study: &Study, stack: &Stack, block: u32, set: &Option<String>) -> Option<String> {
    let set = set.clone()?;
    let first = copies(study).find(|copy| copy.data.is_some());
    let Some(copy) = first.filter(|_| block % 2 == 1) else {
        return Some(set);
    };
    for (one, other) in [(&stack.data, &copy.data), (&stack.redo, &copy.redo)] {
        if let (Some(one), Some(other)) = (one, other) {
            if *one == set {
                return Some(other.clone());
            }
            if *other == set {
                return Some(one.clone());
            }
        }
    }
    Some(set)
}

/// The trial's stack on the LUN sets of its block, then one stack for each place that phases copy to.
fn wanted(study: &Study, turn: &Turn<'_>) -> anyhow::Result<Vec<(Stack, String, Option<Key>)>> {
    let home = &study.stack_in(turn.block.number, turn.stack);
    let on = |set: &Option<String>| side(study, home, turn.block.number, set);
    let mut all = vec![(
        Stack {
            data: on(&home.data),
            redo: on(&home.redo),
            ..home.clone()
        },
        home.name.clone(),
        None,
    )];
    for copy in copies(study) {
        let key = Key::of(copy);
        if key.is_none() || all.iter().any(|(_, _, known)| *known == key) {
            continue;
        }
        let target = study
            .stacks
            .iter()
            .find(|stack| CopyTarget::Stack(stack.name.clone()) == copy.to);
        let target = target.ok_or_else(|| anyhow::anyhow!("a copy goes to a stack that is not in the study"))?;
        // Directories and mount points are named after it, and home may be of the same name.
        let stack = Stack {
            name: format!("{} copy {}", target.name, all.len()),
            data: on(&copy.data),
            redo: on(&copy.redo),
            ..target.clone()
        };
        all.push((stack, target.name.clone(), key));
    }
    Ok(all)
}

/// Builds everything that the trial needs, home first.
pub(crate) fn build(site: &mut HostSite<'_>, turn: &Turn<'_>) -> anyhow::Result<Vec<Stand>> {
    let mut stands = Vec::new();
    for (nth, (stack, name, key)) in wanted(site.study, turn)?.into_iter().enumerate() {
        let places = site.places(&stack, turn.block.seed ^ ((nth as u64) << 40))?;
        let built = stacks::build(&stack, &places, &site.work_dir, &mut site.journal);
        // A build that a signal ended is no error of its stack.
        crate::signals::check(turn.cancel)?;
        let built = built?;
        let workplace = Pooled::workplace(&built, &site.work_dir, &mut site.journal)?;
        stands.push(Stand {
            stack,
            name,
            built,
            workplace,
            key,
        });
    }
    site.luns.used();
    Ok(stands)
}

/// Which of the stands a copy goes to.
pub(crate) fn target(stands: &[Stand], copy: &plan::Copy) -> Option<usize> {
    let key = Key::of(copy);
    stands.iter().position(|stand| stand.key == key)
}
