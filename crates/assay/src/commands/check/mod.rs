//! `assay check`: what a study would do, before it does anything.

mod engines;
pub(super) mod proportions;
mod ramps;
mod stacks_made;
mod twins;

use super::answer::{answer, size, wrapped};
use super::{modelled_luns, study_file};
use crate::cli;
use crate::exit::Failure;
use lab::{Writes, chain, zfs_ways};
use ledger::Skipped;
use plan::{Engine, FileServer, LunSource, Scale, Stack, Study};
use serde_json::json;
use std::path::PathBuf;

/// Spreads of block ratios (standard deviation of the logarithm) for which the detectable difference is shown: a quiet
/// machine, an ordinary one, a noisy one.
const SPREADS: [(f64, &str); 3] = [(0.02, "quiet"), (0.05, "ordinary"), (0.10, "noisy")];
/// Bytes a second at which LUNs are assumed to be filled and loaded.
const LOAD_RATE: u64 = 500 << 20;

pub(crate) fn check(flags: &cli::Check) -> Result<(), Failure> {
    let study = study_file::load(&flags.study, flags.scale)?;
    let facts = Facts::of(&study);
    answer(flags.json, || facts.json(&study), || facts.words(&study))?;
    // All is printed first, and the exit code is that of the run.
    match facts.refused.into_iter().next() {
        Some(error) => Err(Failure::Run(error)),
        None => Ok(()),
    }
}

struct Facts {
    /// Of the stacks that take part; of all where none does.
    estimate: plan::Estimate,
    /// How many take part in each block.
    stacks: u32,
    blocks: u32,
    comparisons: u32,
    detectable: Vec<(f64, &'static str, f64)>,
    skipped: Vec<(String, String)>,
    creates: Vec<String>,
    destroys: Vec<(PathBuf, String)>,
    writes: Writes,
    /// Directories, devices and stacks that a run as root would refuse.
    refused: Vec<anyhow::Error>,
}

impl Facts {
    fn of(study: &Study) -> Facts {
        Facts::without(study, &lab::skipped(study))
    }

    /// `skipped`: for each stack why it takes no part.
    fn without(study: &Study, skipped: &[Option<Skipped>]) -> Facts {
        let all = plan::estimate(study, LOAD_RATE);
        // A run plans its blocks by all stacks, and fills fewer of them.
        let blocks = all.blocks(study);
        let mut part = study.clone();
        let mut takes_part = skipped.iter().map(Option::is_none);
        part.stacks.retain(|_| takes_part.next().unwrap_or(true));
        let stacks = part.stacks.len() as u32;
        let estimate = match stacks {
            0 => all,
            _ => plan::estimate(&part, LOAD_RATE),
        };
        let comparisons = lab::comparisons(study, part.stacks.iter());
        let design = stats::Design::new(blocks, comparisons.max(1), study.margin.0);
        let spreads = SPREADS.iter().filter(|_| comparisons > 0);
        let detectable = spreads
            .map(|&(sd, word)| (sd, word, stats::detectable(&design, sd)))
            .collect();
        let why = |(stack, no): (&Stack, &Option<Skipped>)| {
            let no = no.as_ref()?;
            Some((stack.name.clone(), format!("{}: {}", no.reason, no.cure)))
        };
        let named = study.stacks.iter().zip(skipped).filter_map(why).collect();
        let writes = Writes::of(study, &study_file::usual_output(study));
        let (destroys, of_devices) = destroyed(study);
        let mut refused: Vec<anyhow::Error> = writes.refused().into_iter().map(Into::into).collect();
        // An ordinary user looks at a study for root, who may do more.
        if stacks::is_root() {
            refused.extend(of_devices);
            refused.extend(lab::none_left(skipped));
        }
        Facts {
            estimate,
            stacks,
            blocks,
            comparisons,
            detectable,
            skipped: named,
            creates: created(study),
            destroys,
            writes,
            refused,
        }
    }

    fn words(&self, study: &Study) -> String {
        let mut text = wrapped("", 0, &format!("{}: {}", study.name, study.question));
        text.push('\n');
        let mut row = |name: &str, value: String| text.push_str(&row_text(name, &value));
        let phases: Vec<&str> = study.phases.iter().map(|p| p.name.as_str()).collect();
        let (blocks, stacks) = (self.blocks, self.stacks);
        row(
            "trials",
            format!(
                "{blocks} blocks x {stacks} stacks = {}, each with the phases: {}",
                blocks * stacks,
                phases.join(", ")
            ),
        );
        if study.stacks.len() > 1 {
            row("schedule", schedule(study) + sets(study));
        }
        row("time", self.time(study));
        row("data", self.data(study));
        zfs_ways::of(study).into_iter().for_each(|said| row("zfs", said));
        for (name, value) in engines::rows(study) {
            row(name, value);
        }
        if let Some(few) = twins::few(study, &self.estimate, self.blocks) {
            row("temporary", few);
        }
        row("LUN files", size(self.estimate.lun_bytes));
        if self.estimate.once_bytes > 0 {
            let said = format!(
                "about {} beside the LUN files: Assay loads them once and copies them into the stacks",
                size(self.estimate.once_bytes)
            );
            row("tables", said);
        }
        row("written", self.written(study));
        row("verdicts", self.verdicts(study));
        for (sd, word, ratio) in &self.detectable {
            let found = format!(
                "9 of 10 studies find a difference of {} % on {word} storage (blocks scatter by {:.0} %)",
                percent_above(*ratio),
                sd * 100.0
            );
            row("", found);
        }
        if let Some(found) = self.at_a_limit(study) {
            row("", ramps::words(&found));
        }
        if let Some(beside) = published(study) {
            text.push_str(&row_text("published", &beside));
        }
        text.push_str(&proportions::words(study, &proportions::rows(study, blocks)));
        slob(&mut text, study);
        text.push_str(&modelled_luns::words(study));
        self.touches(&mut text);
        text.push_str("\nNothing was touched.\n");
        text
    }

    fn verdicts(&self, study: &Study) -> String {
        match self.comparisons {
            0 => "none: no ranked phase has two stacks that take part and can be compared".into(),
            all => format!(
                "{all} comparisons share an error of at most 5 %; margin {}{}",
                study.margin,
                within(study)
            ),
        }
    }

    /// What more blocks find in a ramp, where anything is compared.
    fn at_a_limit(&self, study: &Study) -> Option<[(u32, f64); 3]> {
        let compared = (self.comparisons > 0).then_some(self.comparisons)?;
        ramps::found(study, self.blocks, compared)
    }

    /// Size of the data, and when it is reached.
    fn data(&self, study: &Study) -> String {
        let data = match (self.estimate.data_bytes, study.database.scale) {
            (Some(bytes), _) => size(bytes),
            (None, Scale::Share(share)) => format!("{share} of the smallest stack's room, known when it runs"),
            (None, Scale::Bytes(bytes)) => bytes.to_string(),
        };
        match study.stacks.first().map(|stack| &stack.engine) {
            Some(Engine::Files(_)) => format!("{data} at the highest load"),
            _ if study.stacks.iter().all(|stack| stack.engine.is_sql()) => {
                format!("about {data} in SQL at its largest")
            }
            _ => format!(
                "{data}, {} schemas, cache {}",
                study.database.schemas, study.database.cache
            ),
        }
    }

    /// Bytes written to make the data: a tree of files grows with the ramp, all else is there before the phases.
    fn written(&self, study: &Study) -> String {
        let bytes = size(self.estimate.written_bytes_per_trial);
        match study.stacks.first().map(|stack| &stack.engine) {
            Some(Engine::Files(_)) => format!("{bytes} of files a trial, if the ramp reaches its highest load"),
            _ => format!("at least {bytes} a trial before the phases"),
        }
    }

    fn time(&self, study: &Study) -> String {
        let total = self.estimate.study_ns(self.blocks);
        let clock = match is_modelled(study) {
            true => ", simulated time",
            false => ", if LUNs are filled at 500 MiB/s",
        };
        let end = match total > study.time_limit.0 {
            true => ": it will stop earlier",
            false => "",
        };
        format!(
            "about {} ({} a block{clock}); the study's limit is {}{end}",
            seconds(total),
            seconds(self.estimate.block_ns),
            study.time_limit
        )
    }

    fn touches(&self, text: &mut String) {
        for (stack, why) in &self.skipped {
            text.push_str(&row_text("skipped", &format!("{stack}: {why}")));
        }
        text.push_str("\ncreated, and removed at the end:\n");
        for line in &self.creates {
            text.push_str(&row_text(" -", line));
        }
        text.push_str("destroyed:\n");
        if self.destroys.is_empty() {
            text.push_str(&row_text(" -", "nothing"));
        }
        for (path, verdict) in &self.destroys {
            text.push_str(&row_text(" -", &format!("{}: {verdict}", path.display())));
        }
        text.push_str("written to, and nothing else:\n");
        for written in self.writes.lists().into_iter().flat_map(|(_, list)| list) {
            let line = format!("{}: {}", written.path.display(), written.why.join("; "));
            text.push_str(&row_text(" -", &line));
        }
    }

    fn json(&self, study: &Study) -> serde_json::Value {
        let settings: Vec<_> = study
            .resolved
            .iter()
            .map(|r| json!({ "key": r.key, "value": r.value, "written": r.written }))
            .collect();
        json!({
            "schema": 1,
            "study": study.name,
            "blocks": self.blocks,
            "schedule": schedule(study),
            "lun_sets_rotate": study.sets_rotate(),
            "trials": self.blocks * self.stacks,
            "comparisons": self.comparisons,
            "time_ns": self.estimate.study_ns(self.blocks),
            "time_limit_ns": study.time_limit.0,
            "lun_bytes": self.estimate.lun_bytes, "copied_tables_bytes": self.estimate.once_bytes,
            "data_bytes": self.estimate.data_bytes,
            "written_bytes_per_trial": self.estimate.written_bytes_per_trial,
            "detectable": self.detectable.iter()
                .map(|(sd, _, ratio)| json!({ "block_sd": sd, "ratio": ratio })).collect::<Vec<_>>(),
            "detectable_at_a_limit": self.at_a_limit(study)
                .map(|found| found.map(|(blocks, ratio)| json!({ "blocks": blocks, "ratio": ratio }))),
            "temporary_space": twins::few(study, &self.estimate, self.blocks),
            "skipped": self.skipped.iter().map(|(s, w)| json!({ "stack": s, "why": w })).collect::<Vec<_>>(),
            "creates": self.creates,
            "destroys": self.destroys.iter()
                .map(|(p, v)| json!({ "device": p.display().to_string(), "verdict": v })).collect::<Vec<_>>(),
            "writes": self.writes.lists().into_iter().map(|(name, list)| {
                let list = list.iter().map(|w| json!({ "path": w.path.display().to_string(), "why": w.why }));
                (name.to_string(), list.collect::<serde_json::Value>())
            }).collect::<serde_json::Map<_, _>>(),
            "refused": self.refused.iter().map(chain).collect::<Vec<_>>(),
            "proportions": proportions::as_json(&proportions::rows(study, self.blocks)),
            "settings": settings,
            "slob_conf": study.slob.iter().map(|r| json!({
                "phase": r.phase, "file": r.file, "line": r.line, "key": r.key, "seed": r.seed, "used": r.used,
                "why": r.why,
            })).collect::<Vec<_>>(),
        })
    }
}

/// What the margin means for the differences that are found, where there is one.
fn within(study: &Study) -> &'static str {
    match study.margin.0 > 0.0 {
        true => ": differences within it count as equal",
        false => "",
    }
}

/// A ratio above 1 in percent, to a tenth: a margin of 2.5 % is not printed as less.
fn percent_above(ratio: f64) -> f64 {
    ((ratio - 1.0) * 1000.0).round() / 10.0
}

/// How the stacks of a block take turns, and why.
fn schedule(study: &Study) -> String {
    match study.turns() {
        plan::Turns::Whole { why } => format!("whole runs: {why}"),
        plan::Turns::Stints(stints) => format!("{}: {}", stints.words(), stints.why),
    }
}

/// Whether LUN sets go round among the stacks.
fn sets(study: &Study) -> &'static str {
    match study.sets_rotate() {
        true => "; each stack has another LUN set in each block",
        false => "",
    }
}

/// Which publication stands beside the study, by what, and what of it has nothing here.
fn published(study: &Study) -> Option<String> {
    let source = report::published::find(study.published.as_deref()?).ok()?;
    let pairs = study.stands_for.stacks.iter().chain(&study.stands_for.phases);
    let said: Vec<String> = pairs.map(|(ours, theirs)| format!("{ours} for {theirs}")).collect();
    let stands = |pairs: &[(String, String)], name: &str| pairs.iter().any(|(_, theirs)| theirs == name);
    let stacks = source.stacks.iter().map(|[name, _]| name.as_str());
    let stacks = stacks.filter(|name| !stands(&study.stands_for.stacks, name));
    let phases = source.phases.iter().map(|phase| phase.id.as_str());
    let phases = phases.filter(|name| !stands(&study.stands_for.phases, name));
    let left: Vec<&str> = stacks.chain(phases).collect();
    let mut text = format!(
        "{}: {}",
        source.id,
        if said.is_empty() {
            "no stack or phase of the study stands for one of it".into()
        } else {
            said.join(", ")
        }
    );
    if !left.is_empty() {
        text.push_str(&format!("; nothing here for {}", left.join(", ")));
    }
    Some(text)
}

/// Each parameter of a file of SLOB's: its value there, the value used, and why.
fn slob(text: &mut String, study: &Study) {
    let mut named = None;
    for row in &study.slob {
        if named != Some((&row.phase, &row.file)) {
            named = Some((&row.phase, &row.file));
            let heading = format!("\n{} of phase {}: value there, value used, why\n", row.file, row.phase);
            text.push_str(&heading);
        }
        let used = row.used.as_deref().unwrap_or("-");
        let line = format!(
            "{} {}; {used}; {}",
            row.key,
            if row.seed.is_empty() { "''" } else { &row.seed },
            row.why
        );
        text.push_str(&row_text(" -", &line));
    }
}

/// A name and a text beside it, in lines of at most 80 columns where words allow.
fn row_text(name: &str, text: &str) -> String {
    wrapped(name, if name == " -" { 4 } else { 12 }, text)
}

fn is_modelled(study: &Study) -> bool {
    study.stacks.iter().any(|s| s.kind.model().is_some())
}

/// Devices that would lose their content, each with the verdict of the safety rules; and why those rules refuse some.
fn destroyed(study: &Study) -> (Vec<(PathBuf, String)>, Vec<anyhow::Error>) {
    let (mut destroys, mut refused) = (Vec::new(), Vec::new());
    for (path, looked) in lab::devices_looked_at(study) {
        let verdict = match looked {
            Ok(facts) => format!("{} will be overwritten; needs --yes", size(facts.bytes)),
            Err(refusal) => {
                let said = format!("refused: {}", chain(&refusal));
                refused.push(refusal);
                said
            }
        };
        destroys.push((path, verdict));
    }
    (destroys, refused)
}

/// What would be made.
fn created(study: &Study) -> Vec<String> {
    let mut creates = Vec::new();
    // An ordinary user's stacks open the files themselves.
    let how = match stacks::is_root() {
        true => ", attached to a loop device each",
        false => "",
    };
    for set in &study.luns {
        if let LunSource::Files { count, size, dir } = &set.source {
            let place = dir.display();
            creates.push(format!("{count} LUN file(s) of {size} in {place}/assay-RUN/{how}"));
        }
    }
    for stack in &study.stacks {
        if let Some(server) = stack.engine.files().and_then(|files| files.server) {
            let what = match server {
                FileServer::Ganesha => "nfs-ganesha and a port mapper",
                FileServer::Kernel => "the kernel's NFS server, its mount daemon and a port mapper",
            };
            let own = "in network and mount namespaces of their own";
            creates.push(format!("{what}, {own}, for stack {}", stack.name));
        }
        creates.extend(stacks_made::made(stack));
    }
    if is_modelled(study) {
        creates.push("nothing but the result file: the stacks are simulated in memory".to_string());
    } else if study.memory.budget.is_some() {
        creates.push("a control group that bounds the memory, if the kernel allows it".to_string());
    }
    creates
}

fn seconds(ns: u64) -> String {
    let s = ns as f64 / 1e9;
    if s >= 120.0 {
        format!("{:.0} min", s / 60.0)
    } else {
        format!("{s:.0} s")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn study() -> Study {
        let text = "[study]\nname = \"t\"\nblocks = 6\n[luns.data]\nfiles = { size = \"1GiB\" }\n\
                    [[phase]]\nname = \"read\"\nkind = \"random\"\nupdate_pct = 0\ntime = \"10s\"\n";
        let stacks = ["ext4", "xfs", "btrfs"]
            .map(|kind| format!("[[stack]]\nname = \"{kind}\"\nkind = \"{kind}\"\ndata = \"data\"\n"));
        plan::parse(&(text.to_string() + &stacks.concat()), Path::new("study.toml")).unwrap_or_else(|e| panic!("{e}"))
    }

    /// The facts where so many stacks at the end of the study cannot be built.
    fn without(few: usize) -> Facts {
        let study = study();
        let no = |reason: &str| Skipped {
            reason: reason.into(),
            cure: "install it".into(),
        };
        let from = study.stacks.len() - few;
        let skipped: Vec<Option<Skipped>> = (0..study.stacks.len())
            .map(|index| (index >= from).then(|| no("mkfs not found")))
            .collect();
        Facts::without(&study, &skipped)
    }

    #[test]
    fn a_stack_that_is_skipped_is_in_no_trial_and_no_comparison() {
        let [all, two] = [without(0), without(1)];
        assert_eq!((all.stacks, all.comparisons), (3, 2));
        assert_eq!((two.stacks, two.comparisons), (2, 1));
        assert_eq!(two.blocks, all.blocks);
        assert!(
            two.estimate.block_ns * 3 == all.estimate.block_ns * 2,
            "two trials of three"
        );
        assert_eq!(
            two.skipped,
            [("btrfs".to_string(), "mkfs not found: install it".to_string())]
        );
        assert!(
            two.detectable
                .iter()
                .zip(&all.detectable)
                .all(|(two, all)| two.2 <= all.2)
        );
        assert!(two.words(&study()).contains("6 blocks x 2 stacks = 12"));
    }

    #[test]
    fn nothing_is_found_where_nothing_is_compared() {
        let one = without(2);
        assert_eq!((one.comparisons, one.detectable.len()), (0, 0));
        let said = one.words(&study());
        assert!(
            said.contains("none: no ranked phase") && !said.contains("9 of 10 studies"),
            "{said}"
        );
        // What the host refuses besides is the same for all of them.
        let refused = |few: usize| without(few).refused.len();
        assert_eq!(refused(2), refused(0), "a run of one stack is a run");
        assert_eq!(refused(3), refused(0) + usize::from(stacks::is_root()));
        let none = without(3);
        assert!(none.words(&study()).contains("6 blocks x 0 stacks = 0"));
    }
}
