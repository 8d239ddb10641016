//! File serving: who serves, which calls, which loads.
//!
//! Takes `[files]` and phases of kind `files` as written; gives [`Files`] and [`Serving`]. Prevents: percents that do
//! not add up, a ramp that goes down, and writes that nothing ever makes stable.

use super::settle::{SECOND, Settle, value_or};
use crate::error::Span;
use crate::study::{
    FileArrival, FileMix, FileMixed, FileServer, FileSizes, FileSteps, Files, Limit, LimitOf, Protocol, Serving,
};
use crate::units::{Bytes, Duration, Rate, Share};
use crate::written::{At, Load, Mixed, SizesOf, StackWord, WrittenFiles, WrittenPhase, WrittenStack};

/// Calls that a mix may name; room `files` carries them out.
const CALLS: &str = "lookup read getattr write readdirplus readlink access commit readdir create remove setattr fsstat \
     fsinfo mkdir rmdir";
/// Points of a ramp.
const POINTS_MAX: u64 = 100;
/// Half of a call's number says which session it belongs to.
const SESSIONS_MAX: u32 = 65_535;
const KIB: u64 = 1 << 10;
/// 16,000 operations a second of one process are in reach; more is a slip of the pen.
const RATE_MAX: f64 = 1e7;

/// What `[files]` means on a stack.
pub(super) fn of_stack(stack: &WrittenStack, w: &WrittenFiles, settle: &mut Settle<'_>) -> Files {
    let there = stack.kind.as_ref().is_some_and(|kind| kind.value == StackWord::Server);
    let usual = if there { Protocol::Nfs3 } else { Protocol::Posix };
    let protocol = value_or(&w.protocol, usual);
    let server = value_or(&w.server, FileServer::Ganesha);
    let transfer = value_or(&w.transfer, Bytes(8 * KIB));
    if let Some(at) = w.transfer.as_ref()
        && (!transfer.0.is_multiple_of(KIB) || !(KIB..=KIB * KIB).contains(&transfer.0))
    {
        let cure = "write whole KiB, 1KiB to 1MiB: transfer = \"8KiB\"";
        settle
            .findings
            .add(&at.span, format!("a read or write of {transfer} is not possible"), cure);
    }
    let threads = w.threads.as_ref().and_then(|at| {
        let one = Some(At {
            value: at.value?,
            span: at.span.clone(),
        });
        Some(settle.count(&one, "threads", 16, 1..=1024))
    });
    Files {
        protocol,
        server: (protocol == Protocol::Nfs3 && !there).then_some(server),
        connections: settle.count(&w.connections, "connections", 4, 1..=64),
        transfer,
        threads,
    }
}

/// What a phase asks for.
pub(super) fn serving(phase: &WrittenPhase, files: &WrittenFiles, settle: &mut Settle<'_>) -> Serving {
    // By system calls a session is a thread.
    let posix = files.protocol.as_ref().is_none_or(|at| at.value == Protocol::Posix);
    let (data_per_load, data_size) = data(phase, settle);
    Serving {
        load: load(phase, settle),
        until: until(phase, settle),
        reached: share(&phase.reached, "reached", Share(0.95), settle),
        warm_up: value_or(&phase.warm_up, Duration(5 * SECOND)),
        arrival: value_or(&phase.arrival, FileArrival::Poisson),
        data_per_load,
        data_size,
        ..users(phase, (if posix { 32 } else { 256 }, 0.1), settle)
    }
}

/// What users do until a power cut or a kill ends it. More of the files are worked on, for each must be found again.
pub(super) fn under_a_cut(phase: &WrittenPhase, settle: &mut Settle<'_>) -> Serving {
    let usual = Bytes(16 * KIB * KIB);
    let (_, data_size) = data(phase, settle);
    Serving {
        data_size: data_size.or(Some(Bytes(settle.scaled(usual.0)))),
        ..users(phase, (32, 1.0), settle)
    }
}

/// The work and its tree, of so many sessions and this share of the files unless the phase says otherwise; no load.
fn users(phase: &WrittenPhase, (sessions, accessed): (u32, f64), settle: &mut Settle<'_>) -> Serving {
    let (mix, work) = work(phase, settle);
    let plain = !matches!(&mix, FileMixed::Mix(FileMix::Build) | FileMixed::Steps);
    let usual = |of_mix: f64, of_rows: f64| Share(if plain { of_mix } else { of_rows });
    let stable = Share(if mix == FileMixed::Mix(FileMix::Sfs93) {
        1.0
    } else {
        0.0
    });
    let serving = Serving {
        load: Vec::new(),
        until: None,
        reached: Share(1.0),
        warm_up: Duration(0),
        arrival: FileArrival::Poisson,
        sessions: settle.count(&phase.sessions, "sessions", sessions, 1..=SESSIONS_MAX),
        data_per_load: None,
        data_size: None,
        accessed: share(&phase.accessed, "accessed", usual(accessed, 1.0), settle),
        sizes: sizes(phase, (&mix, work), settle),
        files_per_directory: settle.count(
            &phase.files_per_directory,
            "files_per_directory",
            directory(&mix, work),
            1..=100_000,
        ),
        lookups_failed: share(&phase.lookups_failed, "lookups_failed", usual(0.35, 0.0), settle),
        append: share(&phase.append, "append", usual(0.7, 0.0), settle),
        stable: share(&phase.stable, "stable", stable, settle),
        mix,
        work,
    };
    if serving.accessed.0 == 0.0 {
        let span = phase.accessed.as_ref().map_or(&phase.span, |at| &at.span);
        let message = "`accessed` is 0 %: there is nothing to work on";
        settle
            .findings
            .add(span, message, "write at least 1 %: accessed = \"10%\"");
    }
    never_stable(phase, &serving, settle);
    serving
}

fn work(phase: &WrittenPhase, settle: &mut Settle<'_>) -> (FileMixed, Option<FileSteps>) {
    let steps = phase.work.as_ref().filter(|at| at.value.is_some());
    if let (Some(at), Some(_)) = (steps, &phase.mix) {
        let cure = "keep one of them: a mix draws each call, a work goes through its steps in a row";
        settle
            .findings
            .add(&at.span, "a phase has a `mix` or a `work`, not both", cure);
    }
    if let Some(steps) = steps.and_then(|at| at.value) {
        return (FileMixed::Steps, Some(steps));
    }
    let Some(mix) = &phase.mix else {
        return (FileMixed::Mix(FileMix::Sfs97), None);
    };
    let mix = match &mix.value {
        Mixed::Named(named) => FileMixed::Mix(*named),
        Mixed::Own(all) => FileMixed::Own(own(all, &mix.span, settle)),
    };
    (mix, None)
}

fn own(all: &[(At<String>, u64)], span: &Span, settle: &mut Settle<'_>) -> Vec<(String, u8)> {
    for (name, _) in all
        .iter()
        .filter(|(name, _)| CALLS.split(' ').all(|call| call != name.value))
    {
        let cure = match crate::nearest::nearest(&name.value, CALLS.split(' ')) {
            Some(near) => format!("did you mean \"{near}\"? It may be {}", CALLS.replace(' ', ", ")),
            None => format!("write some of: {}", CALLS.replace(' ', ", ")),
        };
        let message = format!("{:?} is no call of NFS that a mix can have", name.value);
        settle.findings.add(&name.span, message, cure);
    }
    percents(all.iter().map(|(_, percent)| *percent), "mix", span, settle);
    let small = |percent: u64| percent.min(100) as u8;
    all.iter()
        .map(|(name, percent)| (name.value.clone(), small(*percent)))
        .collect()
}

/// Whole percents add up to 100.
fn percents(all: impl Iterator<Item = u64>, key: &str, span: &Span, settle: &mut Settle<'_>) {
    let sum = all.fold(0u64, u64::saturating_add);
    if sum != 100 {
        let message = format!("the percents of `{key}` add up to {sum}");
        settle.findings.add(span, message, "let them add up to 100");
    }
}

fn load(phase: &WrittenPhase, settle: &mut Settle<'_>) -> Vec<Rate> {
    let Some(at) = &phase.load else {
        let cure = "say how many operations a second: load = { from = \"500/s\", step = \"500/s\", points = 10 }";
        settle
            .findings
            .add(&phase.span, "a phase of kind \"files\" has no `load`", cure);
        return vec![Rate(1000.0)];
    };
    let rates = match &at.value {
        Load::Rates(rates) => rates.clone(),
        Load::Steps { from, step, points } => {
            let points = (*points).min(POINTS_MAX + 1);
            (0..points).map(|nth| Rate(from.0 + step.0 * nth as f64)).collect()
        }
    };
    let (message, cure) = if rates.is_empty() || rates.len() as u64 > POINTS_MAX {
        (
            "a ramp has 1 to 100 points".to_string(),
            "write fewer, or several phases",
        )
    } else if let Some(rate) = rates.iter().find(|rate| !(rate.0 > 0.0 && rate.0 <= RATE_MAX)) {
        let message = format!("a load of {rate} is not possible");
        (
            message,
            "write operations a second of all users together: load = \"500/s\"",
        )
    } else if let Some(two) = rates.windows(2).find(|two| two[1].0 <= two[0].0) {
        let message = format!(
            "the load goes from {} to {}: its points are not ascending",
            two[0], two[1]
        );
        (
            message,
            "write them in ascending order: the data grow with the load, and are not taken away",
        )
    } else {
        return rates;
    };
    settle.findings.add(&at.span, message, cure);
    vec![Rate(1000.0)]
}

fn until(phase: &WrittenPhase, settle: &mut Settle<'_>) -> Option<Limit> {
    let usual = Limit {
        response: Duration(15 * SECOND / 1000),
        of: LimitOf::Mean,
    };
    let Some(at) = &phase.until else { return Some(usual) };
    let until = at.value.as_ref()?;
    if until.response.0 == 0 {
        let cure = "write a response above 0: until = { response = \"15ms\", of = \"mean\" }, or \"none\"";
        settle.findings.add(&at.span, "no response is below 0s", cure);
    }
    Some(Limit {
        response: until.response,
        of: until.of,
    })
}

/// For each operation a second, or the same at each load.
fn data(phase: &WrittenPhase, settle: &mut Settle<'_>) -> (Option<Bytes>, Option<Bytes>) {
    if let (Some(size), Some(_)) = (&phase.data_size, &phase.data_per_load) {
        let cure = "keep one of them: data grow with the load, or are the same at each";
        let message = "a phase has a `data_size` or `data_per_load`, not both";
        settle.findings.add(&size.span, message, cure);
    }
    for at in [&phase.data_size, &phase.data_per_load].into_iter().flatten() {
        if at.value.0 == 0 {
            let cure = "write data_per_load = \"100kB\"";
            settle.findings.add(&at.span, "a tree without data has no file", cure);
        }
    }
    if let Some(at) = &phase.data_size {
        return (None, Some(Bytes(settle.scaled(at.value.0))));
    }
    // Small beside what a scale rounds to: whoever scales has more of them.
    let per_load = value_or(&phase.data_per_load, Bytes(100_000));
    (Some(Bytes((per_load.0 as f64 * settle.factor()) as u64)), None)
}

fn sizes(phase: &WrittenPhase, (mix, work): (&FileMixed, Option<FileSteps>), settle: &mut Settle<'_>) -> FileSizes {
    let one = |size: u64| FileSizes::Own(vec![(Bytes(size), 100)]);
    let Some(at) = &phase.sizes else {
        return match (work, mix) {
            (Some(FileSteps::Fileserver), _) => one(128 * KIB),
            (Some(FileSteps::Varmail | FileSteps::Webserver), _) => one(16 * KIB),
            (None, FileMixed::Mix(FileMix::Build)) => one(16 * KIB),
            (None, _) => FileSizes::Sfs97,
        };
    };
    let SizesOf::Own(all) = &at.value else {
        return FileSizes::Sfs97;
    };
    percents(all.iter().map(|(_, percent)| *percent), "sizes", &at.span, settle);
    let odd = |size: &Bytes| size.0 == 0 || !size.0.is_multiple_of(KIB) || size.0 > 4 << 30;
    if let Some((size, _)) = all.iter().find(|(size, _)| odd(size)) {
        let message = format!("a file of {size} is not possible here: each KiB is checked");
        settle.findings.add(&at.span, message, "write whole KiB, 1KiB to 4GiB");
    }
    FileSizes::Own(
        all.iter()
            .map(|(size, percent)| (*size, (*percent).min(100) as u8))
            .collect(),
    )
}

fn directory(mix: &FileMixed, work: Option<FileSteps>) -> u32 {
    match (work, mix) {
        (Some(FileSteps::Fileserver), _) => 20,
        (Some(FileSteps::Varmail | FileSteps::Webserver), _) => 1000,
        (None, FileMixed::Mix(FileMix::Build)) => 100,
        (None, _) => 30,
    }
}

/// A share in whole percents, at most all.
fn share(written: &Option<At<Share>>, key: &str, usual: Share, settle: &mut Settle<'_>) -> Share {
    let Some(at) = written else { return usual };
    let percent = at.value.0 * 100.0;
    if !(0.0..=100.0).contains(&percent) || (percent - percent.round()).abs() > 1e-6 {
        let message = format!("`{key}` cannot be {}", at.value);
        settle.findings.add(
            &at.span,
            message,
            format!("write whole percents, 0% to 100%: {key} = \"{usual}\""),
        );
        return usual;
    }
    at.value
}

/// Writes that are kept by a commit need one.
fn never_stable(phase: &WrittenPhase, serving: &Serving, settle: &mut Settle<'_>) {
    let FileMixed::Own(all) = &serving.mix else { return };
    let has = |call: &str| all.iter().any(|(name, percent)| name == call && *percent > 0);
    if has("write") && serving.stable.0 < 1.0 && !has("commit") {
        let span = phase.mix.as_ref().map_or(&phase.span, |at| &at.span);
        let message = "this mix writes UNSTABLE and has no `commit`: nothing is ever stable";
        let cure = "give `commit` a share of the mix, or write stable = \"100%\"";
        settle.findings.add(span, message, cure);
    }
}
