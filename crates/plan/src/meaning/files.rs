//! File serving: who serves, which calls, which loads.
//!
//! Takes `[files]` and phases of kind `files` as written; gives [`Files`] and [`Serving`]. Prevents: percents that do
//! not add up, a ramp that goes down, and writes that nothing ever makes stable.

use super::settle::Settle;
use crate::error::Span;
use crate::study::{FileArrival, FileMix, FileMixed, FileSizes, FileSteps, Files, Limit, Protocol, Serving};
use crate::units::{Bytes, Duration, Rate, Share};
use crate::written::{At, Load, Mixed, Said, SizesOf, StackWord, WrittenFiles, WrittenPhase, WrittenStack, case};

/// Calls that a mix may name; room `files` carries them out.
const CALLS: &str = "lookup read getattr write readdirplus readlink access commit readdir create remove setattr fsstat \
     fsinfo mkdir rmdir";
/// Points of a ramp.
const POINTS_MAX: u64 = 100;
/// Half of a call's number says which session it belongs to.
const SESSIONS_MAX: u64 = 65_535;
const KIB: u64 = 1 << 10;
/// The data under a cut or a kill, which are the same however much is asked.
const CUT_DATA: Bytes = Bytes::mib(16);
/// 16,000 operations a second of one process are in reach; more is a slip of the pen.
const RATE_MAX: f64 = 1e7;

/// Whether a stack is a server that is there already.
pub(super) fn is_server(stack: &WrittenStack) -> bool {
    stack.kind.as_ref().is_some_and(|kind| kind.value == StackWord::Server)
}

/// What `[files]` means on a stack.
pub(super) fn of_stack(stack: &WrittenStack, w: &WrittenFiles, settle: &mut Settle<'_>) -> Files {
    let there = is_server(stack);
    let protocol = w.protocol().or_if(there, Protocol::Nfs3).value();
    let transfer = w.transfer();
    let is_odd = |size: Bytes| !size.0.is_multiple_of(KIB) || !transfer.limits.hold(&size);
    if let Some(at) = transfer.written.filter(|at| is_odd(at.value)) {
        let message = format!("a read or write of {} is not possible", at.value);
        let cure = format!("write whole KiB, {}: {}", transfer.limits, transfer.example());
        settle.findings.add(&at.span, message, cure);
    }
    let threads = w.threads();
    let number = threads.value().zip(threads.written);
    let threads = number.and_then(|(value, at)| {
        let span = at.span.clone();
        settle.within(threads.key, &At { value, span }, &threads.limits)
    });
    Files {
        protocol,
        server: (protocol == Protocol::Nfs3 && !there).then(|| w.server().value()),
        connections: settle.count(&w.connections()),
        transfer: transfer.value(),
        threads,
    }
}

/// What a phase asks for. `is_server`: of servers that are there already.
pub(super) fn serving(
    phase: &WrittenPhase,
    (files, is_server): (&WrittenFiles, bool),
    settle: &mut Settle<'_>,
) -> Serving {
    // By system calls a session is a thread.
    let sessions = match files.protocol().or_if(is_server, Protocol::Nfs3).value() {
        Protocol::Posix => case::THREADS,
        Protocol::Nfs3 => case::CLIENTS,
    };
    let (data_per_load, data_size) = data(phase, settle);
    Serving {
        load: load(phase, settle),
        until: until(phase, settle),
        reached: share(&phase.reached(), settle),
        warm_up: phase.warm_up().value(),
        arrival: phase.arrival().value(),
        data_per_load,
        data_size,
        ..users(phase, sessions, false, settle)
    }
}

/// What users do until a power cut or a kill ends it.
pub(super) fn under_a_cut(phase: &WrittenPhase, settle: &mut Settle<'_>) -> Serving {
    let (_, data_size) = data(phase, settle);
    Serving {
        data_size: data_size.or(Some(Bytes(settle.scaled(CUT_DATA.0)))),
        ..users(phase, case::THREADS, true, settle)
    }
}

/// The work and its tree, of so many sessions unless the phase says otherwise; no load. Under a cut more of the files
/// are worked on, for each must be found again.
fn users(phase: &WrittenPhase, sessions: u64, is_cut: bool, settle: &mut Settle<'_>) -> Serving {
    let (mix, work) = work(phase, settle);
    let in_steps = matches!(&mix, FileMixed::Mix(FileMix::Build) | FileMixed::Steps);
    let is_sfs93 = mix == FileMixed::Mix(FileMix::Sfs93);
    let sessions = phase.sessions().or(sessions).at_most(SESSIONS_MAX);
    let serving = Serving {
        load: Vec::new(),
        until: None,
        reached: Share(1.0),
        warm_up: Duration(0),
        arrival: FileArrival::Poisson,
        sessions: settle.count(&sessions),
        data_per_load: None,
        data_size: None,
        accessed: share(&phase.accessed().or_if(in_steps || is_cut, case::ALL), settle),
        sizes: sizes(phase, (&mix, work), settle),
        files_per_directory: settle.count(&directory(phase, &mix, work)),
        lookups_failed: share(&phase.lookups_failed().or_if(in_steps, case::NONE), settle),
        append: share(&phase.append().or_if(in_steps, case::NONE), settle),
        stable: share(&phase.stable().or_if(is_sfs93, case::ALL), settle),
        rename: share(&phase.rename(), settle),
        mix,
        work,
    };
    if serving.accessed.0 == 0.0 {
        let accessed = phase.accessed();
        let cure = format!("write at least 1 %: {}", accessed.example());
        let message = "`accessed` is 0 %: there is nothing to work on";
        settle.findings.add(accessed.span(&phase.span), message, cure);
    }
    never_stable(phase, &serving, settle);
    never_replaced(phase, &serving, settle);
    serving
}

fn work(phase: &WrittenPhase, settle: &mut Settle<'_>) -> (FileMixed, Option<FileSteps>) {
    let steps = phase.work();
    if let (Some(at), Some(_), Some(_)) = (steps.written, steps.value(), &phase.mix) {
        let cure = "keep one of them: a mix draws each call, a work goes through its steps in a row";
        settle
            .findings
            .add(&at.span, "a phase has a `mix` or a `work`, not both", cure);
    }
    if let Some(steps) = steps.value() {
        return (FileMixed::Steps, Some(steps));
    }
    let key = phase.mix();
    let mix = match key.value() {
        Mixed::Named(named) => FileMixed::Mix(named),
        Mixed::Own(all) => FileMixed::Own(own(&all, key.span(&phase.span), settle)),
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
    let key = phase.until();
    let until = key.value()?;
    if let Some(at) = key.written.filter(|_| until.response.0 == 0) {
        let cure = "write a response above 0: until = { response = \"15ms\", of = \"mean\" }, or \"none\"";
        settle.findings.add(&at.span, "no response is below 0s", cure);
    }
    Some(until)
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
    let per_load = phase.data_per_load().value();
    (Some(Bytes((per_load.0 as f64 * settle.factor()) as u64)), None)
}

fn sizes(phase: &WrittenPhase, (mix, work): (&FileMixed, Option<FileSteps>), settle: &mut Settle<'_>) -> FileSizes {
    let small = matches!(work, Some(FileSteps::Varmail | FileSteps::Webserver));
    let small = small || *mix == FileMixed::Mix(FileMix::Build);
    let key = phase.sizes().or_if(small, SizesOf::one(case::SMALL_FILES));
    let key = key.or_if(work == Some(FileSteps::Fileserver), SizesOf::one(case::LARGE_FILES));
    let (SizesOf::Own(all), span) = (key.value(), key.span(&phase.span)) else {
        return FileSizes::Sfs97;
    };
    percents(all.iter().map(|(_, percent)| *percent), "sizes", span, settle);
    let odd = |size: &Bytes| size.0 == 0 || !size.0.is_multiple_of(KIB) || size.0 > 4 << 30;
    if let Some((size, _)) = all.iter().find(|(size, _)| odd(size)) {
        let message = format!("a file of {size} is not possible here: each KiB is checked");
        settle.findings.add(span, message, "write whole KiB, 1KiB to 4GiB");
    }
    FileSizes::Own(
        all.iter()
            .map(|(size, percent)| (*size, (*percent).min(100) as u8))
            .collect(),
    )
}

fn directory<'w>(phase: &'w WrittenPhase, mix: &FileMixed, work: Option<FileSteps>) -> Said<'w, u64> {
    let key = phase.files_per_directory();
    match (work, mix) {
        (Some(FileSteps::Fileserver), _) => key.or(case::FILESERVER_DIRECTORY),
        (Some(FileSteps::Varmail | FileSteps::Webserver), _) => key.or(case::MAIL_DIRECTORY),
        (None, FileMixed::Mix(FileMix::Build)) => key.or(case::BUILD_DIRECTORY),
        (None, _) => key,
    }
}

/// A share in whole percents, at most all.
fn share(key: &Said<'_, Share>, settle: &mut Settle<'_>) -> Share {
    let is_whole = |percent: f64| (percent - percent.round()).abs() <= 1e-6;
    let odd = key.written.filter(|at| !is_whole(at.value.0 * 100.0));
    let Some(at) = key.outside().or(odd) else {
        return key.value();
    };
    let message = format!("`{}` cannot be {}", key.key, at.value);
    let cure = format!("write whole percents, {}: {}", key.limits, key.example());
    settle.findings.add(&at.span, message, cure);
    key.usual
}

/// A rename over a file takes one away, which only a CREATE brings back.
fn never_replaced(phase: &WrittenPhase, serving: &Serving, settle: &mut Settle<'_>) {
    let makes_files = match &serving.mix {
        FileMixed::Own(all) => all.iter().any(|(name, percent)| name == "create" && *percent > 0),
        FileMixed::Mix(_) => true,
        FileMixed::Steps => false,
    };
    if serving.rename.0 > 0.0 && !makes_files {
        let span = phase.rename.as_ref().map_or(&phase.span, |at| &at.span);
        let message = "a rename may replace a file, and nothing makes a file in its place";
        let cure = "give `create` a share of the mix, or remove `rename`";
        settle.findings.add(span, message, cure);
    }
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
