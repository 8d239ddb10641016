//! Whether the stacks of a block can stand side by side and take turns within each phase, and how.
//!
//! Takes the resolved study, gives [`Turns`] with its reason. What would make stints lie (LUNs or a cache in
//! common, work that does not survive an interruption, a device that recovers while its stack rests) is an
//! [`Obstacle`] with its cure. Prevents: a schedule that resolves more and means something else.

use crate::study::{Access, Inject, Phase, Random, Schedule, Stack, Study};
use crate::units::Duration;
use std::collections::BTreeSet;

/// Fewest rounds of a phase: a pair and its mirror image.
const ROUNDS_MIN: u64 = 2;

/// How the stacks of a block take turns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Turns {
    /// One after the other, each through all phases.
    Whole {
        /// Why, in words.
        why: String,
    },
    /// Side by side, in each phase stint after stint.
    Stints(Stints),
}

/// Stints of stacks that stand side by side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stints {
    /// How long a stack works at a time.
    pub stint: Duration,
    /// Longest time between two checkpoints: no shorter is a stint of a phase that updates.
    checkpoint: Duration,
    /// Why, in words.
    pub why: String,
}

/// Why stacks cannot take turns within a phase, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obstacle {
    /// In words, without a full stop.
    pub why: String,
    /// Likewise.
    pub cure: String,
}

impl Obstacle {
    /// An obstacle and its cure.
    pub fn new(why: impl Into<String>, cure: impl Into<String>) -> Obstacle {
        Obstacle {
            why: why.into(),
            cure: cure.into(),
        }
    }
}

impl Stints {
    /// Rounds of a phase and the time of a stint in it; no number of rounds where the phase ends by itself. The
    /// stints of a stack fill the time of the phase, there are two or a multiple of two, and in a phase that
    /// updates none is shorter than the longest time between two checkpoints, for each ends with one.
    pub fn of_phase(&self, phase: &Phase) -> (Option<u32>, Duration) {
        let least = match is_updating(phase) {
            true => self.stint.max(self.checkpoint),
            false => self.stint,
        };
        let Some(time) = phase.time else {
            return (None, least);
        };
        let rounds = (time.0 / least.0 / ROUNDS_MIN * ROUNDS_MIN).clamp(ROUNDS_MIN, 1 << 20);
        (Some(rounds as u32), Duration(time.0 / rounds))
    }

    /// In words: "abba, in stints of 1s".
    pub fn words(&self) -> String {
        format!("abba, in stints of {}", self.stint)
    }
}

impl Study {
    /// How the stacks take turns, as far as the study tells; the machine may lack the memory for it.
    pub fn turns(&self) -> Turns {
        let stints = |why: &str| {
            Turns::Stints(Stints {
                stint: self.stint,
                checkpoint: self.database.checkpoint,
                why: why.to_string(),
            })
        };
        let whole = |why: String| Turns::Whole { why };
        match (self.schedule, obstacle(self)) {
            (Schedule::Whole, _) => whole("the study says so".to_string()),
            (_, Some(obstacle)) => whole(obstacle.why),
            (Schedule::Abba, None) => stints("the study says so"),
            (Schedule::Auto, None) => match self.stacks.iter().any(is_model) {
                true => whole("simulated stacks do so unless the study says otherwise".to_string()),
                false => stints("the stacks can exist side by side"),
            },
        }
    }
}

fn is_model(stack: &Stack) -> bool {
    stack.kind.model().is_some()
}

fn is_updating(phase: &Phase) -> bool {
    phase.kind.random().is_some_and(|random| random.update_pct > 0)
}

/// What keeps the stacks of this study from taking turns, if anything does.
pub(crate) fn obstacle(study: &Study) -> Option<Obstacle> {
    if study.stacks.len() < 2 {
        return Some(Obstacle::new("there is one stack alone", "add a stack"));
    }
    if study.memory.budget.is_some() {
        return Some(Obstacle::new(
            "a memory budget is kept for one stack at a time",
            "remove `memory.budget`",
        ));
    }
    let stacks = study.stacks.iter().find_map(|stack| of_stack(study, stack));
    let phases = || study.phases.iter().find_map(|phase| of_phase(study, phase));
    stacks.or_else(|| shared_luns(study)).or_else(phases)
}

/// Two stacks on one LUN set cannot stand at the same time.
fn shared_luns(study: &Study) -> Option<Obstacle> {
    let mut taken: BTreeSet<&String> = BTreeSet::new();
    for stack in &study.stacks {
        if let Some(set) = stack.lun_sets().find(|set| !taken.insert(*set)) {
            return Some(Obstacle::new(
                format!("more than one stack is built on the LUN set {set:?}"),
                "give each stack LUN sets of its own, alike in number and size",
            ));
        }
    }
    None
}

fn of_stack(study: &Study, stack: &Stack) -> Option<Obstacle> {
    let name = &stack.name;
    if stack.engine.files().is_some() {
        return Some(Obstacle::new(
            format!("the files of {name:?} are served, and the kernel writes them on while it rests"),
            "use the page engine",
        ));
    }
    if stack.engine.is_sql() || stack.kind.server().is_some() {
        return Some(Obstacle::new(
            format!("{name:?} has a database in SQL, which works on in the background while it rests"),
            "use the page engine",
        ));
    }
    if stack.instances > 1 {
        return Some(Obstacle::new(
            format!(
                "{name:?} has {} instances, which work at the same time",
                stack.instances
            ),
            "write instances = 1",
        ));
    }
    if stack.kind.pool().is_some() {
        return Some(Obstacle::new(
            format!("{name:?} is a pool of ZFS, which writes on in the background while it rests"),
            "leave the pool out",
        ));
    }
    if stack.access == Access::Buffered && !is_model(stack) {
        return Some(Obstacle::new(
            format!("{name:?} reads through the page cache, where the stacks would evict each other's pages"),
            "write access = \"direct\"",
        ));
    }
    let modelled = |set: &String| study.luns.iter().any(|luns| luns.name == *set && luns.device.is_some());
    if stack.lun_sets().any(modelled) {
        return Some(Obstacle::new(
            format!("the modelled LUNs of {name:?} recover while it rests: caches empty themselves, credit comes back"),
            "use LUNs without a model",
        ));
    }
    let Inject {
        error_at,
        flush_lost,
        same_verifier,
        short_at,
        stall_at,
        ..
    } = stack.inject;
    if flush_lost || same_verifier || error_at.is_some() || short_at.is_some() || stall_at.is_some() {
        return Some(Obstacle::new(
            format!("{name:?} has a fault planted that belongs to a whole run"),
            "remove `inject` but for `late`",
        ));
    }
    None
}

fn of_phase(study: &Study, phase: &Phase) -> Option<Obstacle> {
    let name = &phase.name;
    let obstacle = |what: String, cure: &str| Some(Obstacle::new(format!("phase {name:?} {what}"), cure));
    if !phase.faults.is_empty() {
        return obstacle(
            "has faults that come at a time of the phase".to_string(),
            "remove `faults`",
        );
    }
    if phase.rest.0 > 0 {
        return obstacle("rests before it begins".to_string(), "remove `rest`");
    }
    if !phase.kind.own().takes_turns() {
        return obstacle(
            "cannot be interrupted".to_string(),
            "use only phases of kind random, scan and redo",
        );
    }
    let Random {
        rate,
        think_tm_frequency,
        work_loop,
        ..
    } = phase.kind.random()?;
    if rate.is_some() {
        return obstacle(
            "has an open schedule, whose queue must be allowed to grow".to_string(),
            "remove `rate`",
        );
    }
    if *think_tm_frequency > 0 {
        return obstacle(
            "has sessions that pause, and all would begin at once in each stint".to_string(),
            "remove the think time",
        );
    }
    if *work_loop > 0 || phase.time.is_none() {
        return obstacle("ends after a number of operations".to_string(), "give it a `time`");
    }
    let checkpoint = study.database.checkpoint;
    if is_updating(phase) && phase.time.is_some_and(|time| time.0 < ROUNDS_MIN * checkpoint.0) {
        return obstacle(
            format!(
                "updates and is shorter than two times the {checkpoint} between checkpoints, \
                 and each stint ends with one"
            ),
            "give it more time, or lower `database.checkpoint`",
        );
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    const TWO: &str = "[study]
name = \"two\"
@study
[luns.a]
files = { size = \"1GiB\" }
[luns.b]
files = { size = \"1GiB\" }
[[stack]]
name = \"one\"
kind = \"xfs\"
data = \"a\"
[[stack]]
name = \"other\"
kind = \"xfs\"
data = \"b\"
@stack
[[phase]]
name = \"read\"
kind = \"random\"
update_pct = 0
time = \"21s\"
@phase
";

    fn study(study: &str, stack: &str, phase: &str) -> Result<Study, crate::PlanError> {
        let text = TWO
            .replace("@study", study)
            .replace("@stack", stack)
            .replace("@phase", phase);
        crate::parse(&text, Path::new("two.toml"))
    }

    fn turns(head: &str, stack: &str, phase: &str) -> Turns {
        study(head, stack, phase).unwrap_or_else(|e| panic!("{e}")).turns()
    }

    fn why_not(head: &str, stack: &str, phase: &str) -> String {
        let asked = study(&format!("schedule = \"abba\"\n{head}"), stack, phase);
        let refused = asked.err().map(|e| e.to_string()).unwrap_or_default();
        match turns(head, stack, phase) {
            Turns::Whole { why } => {
                assert!(
                    refused.contains(&why) && refused.contains("\"whole\""),
                    "{refused} lacks {why}"
                );
                why
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn stacks_that_can_stand_side_by_side_take_turns_unless_told_otherwise() {
        let Turns::Stints(stints) = turns("", "", "") else {
            panic!("nothing is in the way")
        };
        assert_eq!(stints.stint, Duration::seconds(1));
        let asked = turns("schedule = \"abba\"\nstint = \"500ms\"", "", "");
        assert!(matches!(&asked, Turns::Stints(s) if s.stint.0 == 500_000_000));
        assert!(matches!(turns("schedule = \"whole\"", "", ""), Turns::Whole { .. }));
        assert!(study("stint = \"1ms\"", "", "").is_err());
        assert!(study("schedule = \"sometimes\"", "", "").is_err());
    }

    #[test]
    fn what_would_lie_is_refused_with_its_cure() {
        for (head, stack, phase, why) in [
            ("[memory]\nbudget = \"1GiB\"", "", "", "budget"),
            ("", "access = \"buffered\"", "", "page cache"),
            ("", "inject = { stall_at = 5 }", "", "planted"),
            (
                "",
                "[[stack]]\nname = \"third\"\nkind = \"xfs\"\ndata = \"a\"",
                "",
                "LUN set \"a\"",
            ),
            ("", "database = { engine = \"sqlite\" }", "", "SQL"),
            ("", "", "rate = 50", "open schedule"),
            ("", "", "think_tm_frequency = 5", "pause"),
            ("", "", "[[phase]]\nname = \"old\"\nkind = \"age\"", "interrupted"),
            (
                "",
                "",
                "[[phase]]\nname = \"w\"\nkind = \"random\"\ntime = \"8s\"\n[database]\ncheckpoint = \"5s\"",
                "checkpoints",
            ),
        ] {
            let told = why_not(head, stack, phase);
            assert!(told.contains(why), "{told:?} lacks {why:?}");
        }
        assert!(matches!(turns("", "inject = { late = \"20%\" }", ""), Turns::Stints(_)));
    }

    #[test]
    fn stints_fill_the_time_and_none_of_an_update_is_shorter_than_a_checkpoint_interval() {
        let phases = "[[phase]]\nname = \"write\"\nkind = \"random\"\nupdate_pct = 50\ntime = \"60s\"\n\
            [[phase]]\nname = \"scan\"\nkind = \"scan\"";
        let study = study("", "", phases).unwrap_or_else(|e| panic!("{e}"));
        let Turns::Stints(stints) = study.turns() else {
            panic!("nothing is in the way")
        };
        assert_eq!(stints.of_phase(&study.phases[0]), (Some(20), Duration(1_050_000_000)));
        let (rounds, stint) = stints.of_phase(&study.phases[1]);
        assert_eq!(study.database.checkpoint.0, 15_000_000_000);
        assert_eq!((rounds, stint.0), (Some(4), 15_000_000_000));
        assert_eq!(stints.of_phase(&study.phases[2]), (None, Duration::seconds(1)));
    }
}
