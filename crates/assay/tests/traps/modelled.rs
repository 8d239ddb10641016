//! Traps on simulated devices, in virtual time: what a neighbour does on this machine cannot touch them.

use crate::bench::Bench;
use crate::traps::sheet::{Judged, STUDY, Trap, at, must_not_have, on};
use ledger::{HistogramRow, Ledger, OfPhase, Stamp};
use serde_json::Value;
use std::path::Path;

/// A stack of kind `model`; `more` stands behind the usual keys.
fn stack(name: &str, service: &str, more: &str) -> String {
    format!(
        "[[stack]]\nname = \"{name}\"\nkind = \"model\"\nsize = \"64MiB\"\nservice = \"{service}\"\nspread = 0.2\n\
         parallel = 4\ntransfer = \"20MB/s\"\n{more}\n\n"
    )
}

/// A study of random work; `database` and `phase` stand behind the usual keys.
fn study(stacks: &[String], database: &str, phase: &str) -> String {
    format!(
        "[study]\nname = \"trap\"\nquestion = \"Is it seen?\"\nblocks = 4\nseed = 7\ntime_limit = \"2h\"\n\n{}\
         [database]\nschemas = 4\nredo_size = \"8MiB\"\n{database}\n\n\
         [[phase]]\nname = \"work\"\nkind = \"random\"\n{phase}\n",
        stacks.concat()
    )
}

const READS: &str = "update_pct = 0\nsessions = 8\nwork_unit = 8\n";
const SMALL: &str = "cache = \"2MiB\"\nscale = \"12MiB\"\ncheckpoint = \"100ms\"";

/// Runs it and gives its report.
pub(crate) fn report(bench: &Bench, name: &str, text: &str) -> Value {
    let (study, output) = (format!("{name}.toml"), format!("{name}.assay"));
    bench.write(&study, text);
    let code = bench.run(&["run", &study, "--quiet", "--output", &output]).code();
    // A study whose device fails ends with 3, and its file is reported all the same.
    assert!([0, 3].contains(&code), "{name} ended with {code}");
    bench.expect(0, &["report", &output, "--json"]).json()
}

/// Two stacks alike, and one that a cache serves.
pub(crate) fn half_cached() -> String {
    let stacks = [
        stack("honest", "1ms", ""),
        stack("again", "1ms", ""),
        stack("cached", "1ms", "cached = \"100%\""),
    ];
    study(&stacks, SMALL, &format!("{READS}work_loop = 20"))
}

pub(crate) fn all(bench: &Bench) -> Vec<Judged> {
    [
        rates(bench),
        caches(bench),
        schedules(bench),
        data(bench),
        failures(bench),
        cycles(bench),
    ]
    .concat()
}

/// Devices whose speed changes while it is measured.
fn rates(bench: &Bench) -> Vec<Judged> {
    let stacks = [
        stack("honest", "4ms", ""),
        stack("halved", "4ms", "inject = { late = \"100%\", late_from = 2000 }"),
        stack("burst", "4ms", "inject = { late = \"900%\", late_from = 1000 }"),
    ];
    let phase = "update_pct = 0\nsessions = 8\nwork_unit = 2\ntime = \"3s\"";
    let found = report(bench, "rates", &study(&stacks, SMALL, phase));
    let honest = (&found, at("honest", "work"));
    let halved = Trap {
        name: "a device slows down by half half-way",
        objection: "the mean of two speeds is the speed of neither",
        line: ("rate level", "suspect"),
    };
    let burst = Trap {
        name: "a device with burst credit",
        objection: "it was measured while the credit lasted",
        line: ("rate level", "suspect"),
    };
    let planted = Trap {
        name: "one stack is slowed down on purpose",
        objection: "the comparison was arranged",
        line: ("planted disadvantage", "suspect"),
    };
    vec![
        halved.judge((&found, at("halved", "work")), honest),
        burst.judge((&found, at("burst", "work")), honest),
        planted.judge_alone((&found, on("halved")), (&found, on("honest"))),
    ]
}

/// Work that never left the engine's cache, or took the whole phase to fill it.
fn caches(bench: &Bench) -> Vec<Judged> {
    let one = [stack("honest", "20ms", "")];
    let fits = study(
        &one,
        "cache = \"32MiB\"\nscale = \"24MiB\"\ncheckpoint = \"100ms\"",
        &format!("{READS}work_loop = 144"),
    );
    let fits = report(bench, "fits", &fits);
    let spot = study(
        &one,
        "cache = \"4MiB\"\nscale = \"24MiB\"\ncheckpoint = \"100ms\"",
        &format!("{READS}work_loop = 144\nhotspot = {{ size = \"256KiB\", offset = \"0B\", frequency = 1 }}"),
    );
    let spot = report(bench, "spot", &spot);
    // After a phase in which each page is read.
    let warmed = format!("ranked = false\n{READS}work_loop = 144\n\n[[phase]]\nname = \"again\"\nkind = \"random\"\n");
    let idle = study(
        &one,
        "cache = \"8MiB\"\nscale = \"4MiB\"\ncheckpoint = \"100ms\"",
        &format!("{warmed}{READS}work_loop = 144"),
    );
    let idle = report(bench, "idle", &idle);
    let plain = study(&one, SMALL, &format!("{READS}work_loop = 144"));
    let plain = report(bench, "plain", &plain);
    let honest = (&plain, at("honest", "work"));
    let small = Trap {
        name: "a data set smaller than memory",
        objection: "1 GB database, all cached",
        line: ("working set", "suspect"),
    };
    let untouched = Trap {
        name: "a large working set that is never touched",
        objection: "the data was large, the work went to a corner of it",
        line: ("working set", "suspect"),
    };
    let nothing = Trap {
        name: "work that the engine's own cache does alone",
        objection: "nothing was read, and it is called a storage result",
        line: ("provenance", "invalid"),
    };
    let warming = Trap {
        name: "a warm-up that never ends",
        objection: "it was still getting faster",
        line: ("steady state", "suspect"),
    };
    vec![
        small.judge((&fits, at("honest", "work")), honest),
        untouched.judge((&spot, at("honest", "work")), honest),
        nothing.judge((&idle, at("honest", "again")), honest),
        warming.judge((&fits, at("honest", "work")), honest),
    ]
}

/// Work on a schedule.
fn schedules(bench: &Bench) -> Vec<Judged> {
    let stacks = [
        stack("honest", "1ms", ""),
        stack("stalled", "1ms", "inject = { stall_at = 4000, stall = \"1s\" }"),
        stack("late", "20ms", ""),
    ];
    let phase = "update_pct = 0\nsessions = 8\nwork_unit = 1\nrate = 1000\ntime = \"6s\"";
    let found = report(bench, "schedules", &study(&stacks, SMALL, phase));
    let honest = (&found, at("honest", "work"));
    let stall = Trap {
        name: "a standstill of one second under an open schedule",
        objection: "latency looks fine while the system stalls",
        line: ("stalls", "suspect"),
    };
    let swamped = Trap {
        name: "more is due than the device can do",
        objection: "the latency is that of the few that got through",
        line: ("open arrival", "suspect"),
    };
    // As much ends as fell due, on the stalled device as on the others: the rate is none of theirs.
    must_not_have(&found, STUDY, &["steady state", "rate level"]);
    // The line alone would not tell: response must say what the users waited, and service what the device took.
    let [service, response] = p99_ns(&bench.path("schedules.assay"), "stalled");
    assert!(
        response > 20.0 * service && response > 100e6,
        "a standstill of a second: service {service} ns, response {response} ns"
    );
    vec![
        stall.judge((&found, at("stalled", "work")), honest),
        swamped.judge((&found, at("late", "work")), honest),
    ]
}

/// Median over blocks of the 99th percentile of service and of response on a stack.
fn p99_ns(file: &Path, stack: &str) -> [f64; 2] {
    let ledger = Ledger::open(file).expect("a result");
    let trials = ledger.trials().expect("trials");
    let phases = ledger.phases().expect("phases");
    let histograms = ledger.histograms().expect("histograms");
    [Stamp::Service, Stamp::Response].map(|stamp| {
        let mine = |row: &&OfPhase<HistogramRow>| {
            let phase = phases.iter().find(|phase| phase.id == row.phase).expect("its phase");
            let trial = trials
                .iter()
                .find(|trial| trial.id == phase.run.trial)
                .expect("its trial");
            trial.stack == stack && row.row.stamp == stamp
        };
        let p99 = |row: &OfPhase<HistogramRow>| {
            let histogram = ledger::decode_histogram(&row.row.blob).expect("a histogram");
            histogram.value_at_quantile(0.99) as f64
        };
        let all: Vec<f64> = histograms.iter().filter(mine).map(p99).collect();
        stats::median(&all)
    })
}

/// Data that a stack or array below stores for nothing.
fn data(bench: &Bench) -> Vec<Judged> {
    let phase = format!("{READS}work_loop = 20");
    let one = [stack("honest", "1ms", "")];
    let with = |name: &str, more: &str| {
        let text = study(&one, &format!("{SMALL}\n{more}"), &phase);
        report(bench, name, &text)
    };
    let plain = with("plain-data", "");
    let zeros = with("zeros", "compressibility = 50.0");
    let copies = with("copies", "duplication = \"90%\"");
    let honest = (&plain, on("honest"));
    let zero = Trap {
        name: "data that is nearly all zeros",
        objection: "zeros compress well",
        line: ("data", "suspect"),
    };
    let copied = Trap {
        name: "deduplicated data",
        objection: "the array stored one block in place of ten",
        line: ("data", "suspect"),
    };
    vec![
        zero.judge((&zeros, on("honest")), honest),
        copied.judge((&copies, on("honest")), honest),
    ]
}

/// Transfers that are not whole, and I/O that fails.
fn failures(bench: &Bench) -> Vec<Judged> {
    let phase = format!("{READS}work_loop = 30");
    let with = |name: &str, more: &str| report(bench, name, &study(&[stack("one", "1ms", more)], SMALL, &phase));
    let cached = with("cached", "cached = \"100%\"");
    let plain = with("whole", "");
    let short = with("short", "inject = { short_at = 1500 }");
    let error = with("error", "inject = { error_at = 1500 }");
    let honest = (&plain, STUDY);
    let reads = Trap {
        name: "a read that brings a part of a page",
        objection: "short transfers were counted as whole ones",
        line: ("phase status", "invalid"),
    };
    let errors = Trap {
        name: "a device that reports an error",
        objection: "errors were retried away",
        line: ("phase status", "invalid"),
    };
    let served = Trap {
        name: "a cache serves what is called direct",
        objection: "the array had a cache",
        line: ("provenance", "invalid"),
    };
    vec![
        served.judge((&cached, on("one")), (&plain, on("one"))),
        reads.judge_alone((&short, on("one").saying("of 8192")), honest),
        errors.judge_alone((&error, on("one")), honest),
    ]
}

/// A phase too short for the engine's own rhythm, and a device that is none.
fn cycles(bench: &Bench) -> Vec<Judged> {
    let one = [stack("honest", "1ms", "")];
    let phase = "update_pct = 50\nsessions = 8\nwork_unit = 8\nwork_loop = 20";
    let long = study(&one, "cache = \"2MiB\"\nscale = \"12MiB\"\ncheckpoint = \"60s\"", phase);
    let long = report(bench, "long", &long);
    let often = report(bench, "often", &study(&one, &SMALL.replace("100ms", "30ms"), phase));
    let few = Trap {
        name: "updates that end before the first checkpoint",
        objection: "what was written had not been written yet",
        line: ("checkpoints", "suspect"),
    };
    vec![few.judge((&long, at("honest", "work")), (&often, at("honest", "work")))]
}
