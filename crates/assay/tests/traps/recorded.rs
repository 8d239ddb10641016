//! Traps that no test can set without touching the clock, the heat or the neighbours of the machine: result files as
//! such a run would have written them. A simulated run is told again through the ledger, with the one thing changed
//! that the trap would have changed; that the recording itself is right is held where it is done (`observers`: clocks,
//! neighbours; `placed`: that real runs record it).

use crate::bench::Bench;
use crate::traps::sheet::{At, Judged, STUDY, Trap, at, on};
use ledger::{Fact, FactName, Ledger, Look, Measure, NewTrial, PhaseRecord, PhaseStatus, Scope, TrialStatus};
use serde_json::Value;
use std::path::Path;

/// What a telling changes: the trial, and its phases.
type Change<'a> = &'a dyn Fn(&mut NewTrial, &mut PhaseRecord);

/// Two stacks, six blocks, updates and scans.
fn source(bench: &Bench) -> std::path::PathBuf {
    let stack = |name: &str| {
        format!(
            "[[stack]]\nname = \"{name}\"\nkind = \"model\"\nsize = \"32MiB\"\nservice = \"1ms\"\nspread = 0.2\n\
             parallel = 4\ntransfer = \"20MB/s\"\n\n"
        )
    };
    let text = format!(
        "[study]\nname = \"told\"\nquestion = \"What if?\"\nblocks = 6\nseed = 3\ntime_limit = \"2h\"\n\
         margin = \"1%\"\n\n{}{}\
         [database]\ncache = \"2MiB\"\nschemas = 8\nscale = \"12MiB\"\nredo_size = \"4MiB\"\ncheckpoint = \"100ms\"\n\n\
         [[phase]]\nname = \"work\"\nkind = \"random\"\nupdate_pct = 20\nsessions = 8\nwork_unit = 8\n\
         work_loop = 40\n\n[[phase]]\nname = \"scan\"\nkind = \"scan\"\nusers = 8\n",
        stack("base"),
        stack("other")
    );
    bench.write("told.toml", &text);
    bench.expect(0, &["run", "told.toml", "--quiet", "--output", "told.assay"]);
    bench.path("told.assay")
}

/// What a quiet host would have been seen to do beside it.
fn quiet(record: &mut PhaseRecord) {
    let mib = 1024.0 * 1024.0;
    for (measure, value) in [
        (Measure::CpuCores, 4.0),
        (Measure::CpuIdleShare, 0.6),
        (Measure::CpuOthersShare, 0.01),
        (Measure::CpuStealShare, 0.01),
        (Measure::CpuThrottledShare, 0.0),
        (Measure::CpuThermalThrottles, 0.0),
        (Measure::ClockStepNs, 2_000.0),
        (Measure::ClockSleptNs, 0.0),
        (Measure::OthersReadBytes, 3.0 * mib),
        (Measure::OthersWriteBytes, 5.0 * mib),
        (Measure::MemoryTotalBytesPeak, 100.0 * mib),
        (Measure::MemoryBudgetBytes, 128.0 * mib),
        (Measure::MemoryBudgetEnforced, 0.0),
        (Measure::CpuBusyNs, 8e9),
        (Measure::CpuStealNs, 0.1e9),
        (Measure::CpuThrottledPeriodsShare, 0.0),
        (Measure::PsiMemorySomeNs, 0.0),
        (Measure::EnginePagesBad, 0.0),
        (Measure::ArrayAskedBytes, 20.0 * mib),
        (Measure::ArrayDistinctBytes, 20.0 * mib),
        (Measure::ArrayPackedBytes, 20.0 * mib),
        (Measure::ArrayStoredBytes, 20.0 * mib),
    ] {
        set(record, measure, value);
    }
}

fn set(record: &mut PhaseRecord, measure: Measure, value: f64) {
    record.measures.retain(|(known, _)| *known != measure);
    record.measures.push((measure, value));
}

fn of<T: Clone>(rows: &[ledger::OfPhase<T>], phase: ledger::PhaseId) -> Vec<T> {
    let mine = rows.iter().filter(|row| row.phase == phase);
    mine.map(|row| row.row.clone()).collect()
}

/// Tells a file again; `block` and stack of a trial can be read off what `change` is given.
fn told(from: &Path, to: &Path, change: Change<'_>) {
    told_with(from, to, change, &[], &[]);
}

/// The same with looks that the run is to have recorded, and with more facts.
fn told_with(from: &Path, to: &Path, change: Change<'_>, looks: &[Look], facts: &[Fact]) {
    let old = Ledger::open(from).expect("the source");
    let mut new = Ledger::create(to, &old.study().expect("the study")).expect("a new file");
    new.settings_all(&old.settings().expect("settings")).expect("told");
    new.facts_all(&old.facts().expect("facts")).expect("told");
    new.facts_all(facts).expect("told");
    for stack in old.stacks().expect("stacks") {
        new.stack(&stack).expect("told");
    }
    let (phases, measures) = (old.phases().expect("phases"), old.measures().expect("measures"));
    let (histograms, slices) = (old.histograms().expect("histograms"), old.slices().expect("slices"));
    let scans = old.user_scans().expect("scans");
    for trial in old.trials().expect("trials") {
        let mut again = NewTrial {
            block: trial.block,
            position: trial.position,
            stack: trial.stack.clone(),
            seed: trial.seed,
            host: trial.host.clone(),
            instance: trial.instance.clone(),
            lun_set: trial.lun_set.clone(),
            began_unix_ns: trial.began_unix_ns,
        };
        let mut records = Vec::new();
        for phase in phases.iter().filter(|phase| phase.run.trial == trial.id) {
            let mut record = PhaseRecord::new(phase.run.clone());
            record.measures = of(&measures, phase.id);
            record.histograms = of(&histograms, phase.id);
            record.slices = of(&slices, phase.id);
            record.user_scans = of(&scans, phase.id);
            quiet(&mut record);
            change(&mut again, &mut record);
            records.push(record);
        }
        let id = new.begin_trial(&again).expect("told");
        for mut record in records {
            record.run.trial = id;
            new.record_phase(&record).expect("told");
        }
        new.end_trial(id, trial.ended_unix_ns.unwrap_or(0), &TrialStatus::Done)
            .expect("told");
    }
    for look in looks {
        new.look(look).expect("told");
    }
    let end = old.ending().expect("read").expect("it ended");
    new.finish(&end).expect("told");
}

/// A trap that is one measure of stack `other`, in every phase of every block.
#[derive(Clone)]
struct Measured {
    trap: Trap,
    place: At,
    set: fn(&mut PhaseRecord),
}

fn measured() -> Vec<Measured> {
    [of_hosts(), of_stacks(), of_arrays()].concat()
}

const MIB: f64 = 1024.0 * 1024.0;

fn one(
    name: &'static str,
    objection: &'static str,
    line: (&'static str, &'static str),
    place: At,
    set: fn(&mut PhaseRecord),
) -> Measured {
    Measured {
        trap: Trap { name, objection, line },
        place,
        set,
    }
}

fn of_hosts() -> Vec<Measured> {
    let work = at("other", "work");
    vec![
        one(
            "the wall clock is set back by an hour",
            "the times of the log do not agree with those of the server",
            ("clock", "suspect"),
            work,
            |record| set(record, Measure::ClockStepNs, 3.6e12),
        ),
        one(
            "the host sleeps in the middle of a phase",
            "a nap of the laptop was taken for a stall",
            ("clock", "invalid"),
            work,
            |record| set(record, Measure::ClockSleptNs, 30e9),
        ),
        one(
            "the hypervisor gives the processors to others",
            "the virtual machine was overbooked",
            ("stolen CPU", "suspect"),
            work,
            |record| set(record, Measure::CpuStealNs, 3e9),
        ),
        one(
            "a processor is slowed down for heat",
            "the second stack ran on a hot machine",
            ("throttling", "suspect"),
            work,
            |record| set(record, Measure::CpuThermalThrottles, 12.0),
        ),
        one(
            "the processors have nothing left",
            "the host was the bottleneck",
            ("host CPU", "suspect"),
            work,
            |record| set(record, Measure::CpuIdleShare, 0.01),
        ),
        one(
            "a host that runs short of memory",
            "it swapped for a third of the time",
            ("waiting for memory", "suspect"),
            work,
            |record| {
                let all_ns = record.run.elapsed_ns + record.run.drain_ns;
                set(record, Measure::PsiMemorySomeNs, all_ns as f64 / 3.0);
            },
        ),
    ]
}

fn of_stacks() -> Vec<Measured> {
    let work = at("other", "work");
    vec![
        one(
            "one stack with four times the memory",
            "ARC had 100 MB and the SGA 3 GB",
            ("memory alike", "suspect"),
            At {
                phase: Some("work"),
                ..STUDY
            },
            |record| set(record, Measure::MemoryTotalBytesPeak, 400.0 * MIB),
        ),
        one(
            "a memory budget that nobody holds to",
            "give that memory to the SGA",
            ("memory budget", "suspect"),
            work,
            |record| {
                set(record, Measure::MemoryBudgetBytes, 64.0 * MIB);
                set(record, Measure::MemoryBudgetEnforced, 0.0);
            },
        ),
        one(
            "pages that come back wrong",
            "it was fast and the data was not there",
            ("data loss", "invalid"),
            work,
            |record| set(record, Measure::EnginePagesBad, 1.0),
        ),
        one(
            "the disk below is somebody else's too",
            "a backup ran on the same disk",
            ("foreign traffic", "suspect"),
            work,
            |record| {
                let moved = record.measures.iter().find(|(m, _)| *m == Measure::NearReadBytes);
                let near = moved.map_or(0.0, |(_, bytes)| *bytes);
                set(record, Measure::LowReadBytes, near + 64.0 * MIB);
            },
        ),
        one(
            "half of the scans meet something that the others do not",
            "their mean is a time that no scan took",
            ("two populations", "suspect"),
            at("other", "scan"),
            |record| {
                for (nth, scan) in record.user_scans.iter_mut().enumerate() {
                    let seconds = if nth % 2 == 0 { 50 } else { 77 } + nth as u64 % 3;
                    scan.ended_ns = scan.began_ns + seconds * 1_000_000_000;
                }
            },
        ),
        one(
            "a file system that fills up",
            "it stopped half-way and the half was compared",
            ("space", "note"),
            work,
            |record| {
                record.run.status = PhaseStatus::Failed("ran out of space".into());
                set(record, Measure::OutOfSpace, 1.0);
            },
        ),
    ]
}

fn of_arrays() -> Vec<Measured> {
    vec![one(
        "an array that is given other data than declared",
        "4.5 to 1, and nobody knows of what",
        ("compression", "suspect"),
        on("other"),
        |record| set(record, Measure::ArrayPackedBytes, 5.0 * MIB),
    )]
}

pub(crate) fn all(bench: &Bench) -> Vec<Judged> {
    let source = source(bench);
    let report = |name: &str| -> Value { bench.expect(0, &["report", name, "--json"]).json() };
    told(&source, &bench.path("quiet.assay"), &|_, _| ());
    let quiet = report("quiet.assay");
    let mut all = Vec::new();
    for (nth, one) in measured().into_iter().enumerate() {
        let name = format!("measured-{nth}.assay");
        told(&source, &bench.path(&name), &|trial, record| {
            if trial.stack == "other" {
                (one.set)(record);
            }
        });
        // The neighbour in the same file is the nearer twin, where the line is one of a stack.
        let found = report(&name);
        let twin = match one.place.stack {
            Some(_) => (
                &found,
                At {
                    stack: Some("base"),
                    ..one.place
                },
            ),
            None => (&quiet, one.place),
        };
        all.push(match one.trap.line.0 {
            "space" | "two populations" => one.trap.judge_alone((&found, one.place), twin),
            _ => one.trap.judge((&found, one.place), twin),
        });
    }
    all.extend(whole_files(bench, &source, &quiet));
    all.extend(two_levels(bench));
    all
}

/// A device that does twice as much from the middle of each phase on, as one does whose resync ends. No planted fault
/// makes one faster.
fn two_levels(bench: &Bench) -> Vec<Judged> {
    let stack = |name: &str| {
        format!(
            "[[stack]]\nname = \"{name}\"\nkind = \"model\"\nsize = \"32MiB\"\nservice = \"4ms\"\nspread = 0.2\n\
             parallel = 4\ntransfer = \"20MB/s\"\n\n"
        )
    };
    let text = format!(
        "[study]\nname = \"levels\"\nquestion = \"At what rate?\"\nblocks = 4\nseed = 3\ntime_limit = \"2h\"\n\n{}{}\
         [database]\ncache = \"1MiB\"\nschemas = 8\nscale = \"12MiB\"\nredo_size = \"4MiB\"\n\n\
         [[phase]]\nname = \"work\"\nkind = \"random\"\nupdate_pct = 0\nsessions = 8\nwork_unit = 2\ntime = \"12s\"\n",
        stack("base"),
        stack("other")
    );
    bench.write("levels.toml", &text);
    bench.expect(0, &["run", "levels.toml", "--quiet", "--output", "levels.assay"]);
    told(
        &bench.path("levels.assay"),
        &bench.path("doubled.assay"),
        &|trial, record| {
            if trial.stack != "other" {
                return;
            }
            let middle_ns = record.run.elapsed_ns / 2;
            for slice in record.slices.iter_mut().filter(|slice| slice.at_ns > middle_ns) {
                slice.count *= 2;
            }
            let operations: u64 = record.slices.iter().map(|slice| slice.count).sum();
            set(record, Measure::EngineOperations, operations as f64);
        },
    );
    let found = bench.expect(0, &["report", "doubled.assay", "--json"]).json();
    let (doubled, honest) = ((&found, at("other", "work")), (&found, at("base", "work")));
    let level = Trap {
        name: "a resync that ends half-way",
        objection: "the mean of two speeds is the speed of neither, whichever came first",
        line: ("rate level", "suspect"),
    };
    let steady = Trap {
        name: "a phase of two levels, each of them steady",
        objection: "it was steady, and at another rate than the one reported",
        line: ("steady state", "suspect"),
    };
    // Ten rounds: five at each level, either of which is steady by itself.
    let whole = (&found, at("other", "work").saying("the rate of the whole phase lies"));
    vec![level.judge(doubled, honest), steady.judge(whole, honest)]
}

/// Traps that are in the whole file: its seeds, its blocks, its bytes.
fn whole_files(bench: &Bench, source: &Path, quiet: &Value) -> Vec<Judged> {
    let report = |name: &str| -> Value { bench.expect(0, &["report", name, "--json"]).json() };
    told(source, &bench.path("seeds.assay"), &|trial, _| trial.seed = 1);
    told(source, &bench.path("drift.assay"), &|trial, record| {
        let slower = 1.0 + 0.06 * f64::from(trial.block);
        record.run.elapsed_ns = (record.run.elapsed_ns as f64 * slower) as u64;
    });
    let seeds = Trap {
        name: "a seed used again in every block",
        objection: "twelve repeats of one run are one run",
        line: ("seeds", "invalid"),
    };
    let drift = Trap {
        name: "a machine that gets slower from block to block",
        objection: "the first was measured in the morning",
        line: ("drift between blocks", "suspect"),
    };
    let mut all = vec![
        seeds.judge((&report("seeds.assay"), STUDY), (quiet, STUDY)),
        drift.judge((&report("drift.assay"), at("base", "work")), (quiet, on("base"))),
    ];
    all.push(left_out(bench, source, quiet));
    all.push(elsewhere(bench, source, quiet));
    all.push(resealed(bench, source));
    all.push(waived(bench, source));
    all.extend(edits(bench, source));
    all
}

/// A block whose runs do not count.
fn left_out(bench: &Bench, source: &Path, quiet: &Value) -> Judged {
    told(source, &bench.path("left-out.assay"), &|trial, record| {
        if trial.block == 2 && trial.stack == "other" {
            record.run.status = PhaseStatus::Invalid("the LUN was busy before it began".into());
        }
    });
    let trap = Trap {
        name: "a block that was left out",
        objection: "you threw away the runs that you did not like",
        line: ("dropped blocks", "suspect"),
    };
    let found = bench.expect(0, &["report", "left-out.assay", "--json"]).json();
    trap.judge_alone((&found, STUDY), (quiet, STUDY))
}

/// A stack that is a server of somebody else's: nothing that is seen here speaks for its host.
fn elsewhere(bench: &Bench, source: &Path, quiet: &Value) -> Judged {
    let served = bench.path("served.assay");
    std::fs::copy(source, &served).expect("copied");
    rusqlite::Connection::open(&served)
        .and_then(|file| file.execute("UPDATE stack SET kind = 'server' WHERE name = 'other'", []))
        .expect("told");
    told(&served, &bench.path("elsewhere.assay"), &|_, _| ());
    let trap = Trap {
        name: "a server on a host that nobody looks at",
        objection: "the database's own host was at its limit",
        line: ("server's host", "note"),
    };
    let found = bench.expect(0, &["report", "elsewhere.assay", "--json"]).json();
    trap.judge_alone((&found, on("other")), (quiet, on("other")))
}

/// A pool that acknowledges before anything is on a disk, beside one that waits; the twin has two that wait.
fn waived(bench: &Bench, source: &Path) -> Judged {
    let report = |name: &str, other: &str| -> Value {
        let fact = |(stack, sync): (&str, &str)| {
            let (key, value) = FactName::DatasetSync.is(sync);
            let scope = Scope::Stack(stack.to_string());
            Fact { scope, key, value }
        };
        let facts = [("base", "standard"), ("other", other)].map(fact);
        told_with(source, &bench.path(name), &|_, _| (), &[], &facts);
        bench.expect(0, &["report", name, "--json"]).json()
    };
    let trap = Trap {
        name: "a stack that does not wait for its disk",
        objection: "it is faster because it never waits",
        line: ("commits", "suspect"),
    };
    let (found, honest) = (report("waived.assay", "disabled"), report("waits.assay", "standard"));
    trap.judge_alone((&found, STUDY), (&honest, STUDY))
}

/// A verdict that is not what the figures give, in a file sealed anew; the twin has the looks as they were taken.
fn resealed(bench: &Bench, source: &Path) -> Judged {
    let taken = Ledger::open(source).and_then(|file| file.looks()).expect("looks");
    assert!(!taken.is_empty(), "the run recorded its looks");
    let flattered: Vec<Look> = taken
        .iter()
        .map(|look| Look {
            verdict: if look.verdict == "better" { "worse" } else { "better" }.into(),
            ..look.clone()
        })
        .collect();
    for (name, looks) in [("taken.assay", &taken), ("flattered.assay", &flattered)] {
        told_with(source, &bench.path(name), &|_, _| (), looks, &[]);
    }
    let report = |name: &str| -> Value { bench.expect(0, &["report", name, "--json"]).json() };
    let trap = Trap {
        name: "a verdict written into a file that is sealed anew",
        objection: "the table says better, the figures do not",
        line: ("recorded looks", "suspect"),
    };
    trap.judge_alone((&report("flattered.assay"), STUDY), (&report("taken.assay"), STUDY))
}

/// Result files that somebody changed, with what he did to hide it.
fn edits(bench: &Bench, source: &Path) -> Vec<Judged> {
    const EDIT: &str = "UPDATE measure SET value = value * 1.2 WHERE name = 'engine.operations' AND phase = 1";
    let report = |name: &str| -> Value { bench.expect(0, &["report", name, "--json"]).json() };
    let honest = report("told.assay");
    let edited = |name: &str, hidden: &str| {
        let file = bench.path(name);
        std::fs::copy(source, &file).expect("copied");
        rusqlite::Connection::open(&file)
            .and_then(|file| file.execute_batch(&format!("{EDIT}; {hidden}")))
            .expect("edited");
    };
    let trap = |name, objection| Trap {
        name,
        objection,
        line: ("result file", "invalid"),
    };
    let traps = [
        (
            trap(
                "a result file edited by hand",
                "who says that these are the numbers you measured",
            ),
            "",
        ),
        (
            trap(
                "an edited file whose end was taken away",
                "it says that it is not finished yet",
            ),
            "UPDATE study SET ended_unix_ns = NULL",
        ),
        (
            trap(
                "an edited file without the seal of what was edited",
                "the rest is sealed",
            ),
            "DELETE FROM seal WHERE table_name = 'measure'",
        ),
        (
            trap(
                "an edited file that is resumed",
                "its seal is whole, the tool put it there",
            ),
            "",
        ),
    ];
    let mut all = Vec::new();
    for (nth, (trap, hidden)) in traps.into_iter().enumerate() {
        let name = format!("edited-{nth}.assay");
        edited(&name, hidden);
        if trap.name.ends_with("resumed") {
            let again = bench.run(&["run", "told.toml", "--quiet", "--resume", "--output", &name]);
            assert_eq!(again.code(), 2, "{again}");
            assert!(
                again.stderr.contains("was changed after its study ended (measure)"),
                "{again}"
            );
        }
        all.push(trap.judge((&report(&name), STUDY), (&honest, STUDY)));
    }
    all
}
