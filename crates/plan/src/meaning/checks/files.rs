//! Contradictions of studies that serve files.
//!
//! Takes the study as written and as meant; gives findings. Prevents: a stack without files that is to serve some, and
//! a tree that is larger than the file system it grows on.

use super::places::{kind_place, place};
use crate::error::Findings;
use crate::space;
use crate::study::{Access, End, FileMix, FileMixed, FileServer, Inject, PowerCut, Protocol, Serving, Stack, Study};
use crate::units::Bytes;
use crate::written::{Word, WrittenFiles, WrittenPhase, WrittenStack, WrittenStudy};

/// Fewer files that are worked on for each session, and sessions wait for each other or find none.
const FILES_OF_A_SESSION: f64 = 4.0;

/// All of them; none where no files are served.
pub(super) fn all(written: &WrittenStudy, study: &Study, findings: &mut Findings) {
    let Some(span) = &written.files.span else {
        for at in written
            .stacks
            .iter()
            .filter_map(|w| w.inject.same_verifier.as_ref())
            .filter(|at| at.value)
        {
            let cure = "remove `same_verifier`, or serve files: [files] with server = \"ganesha\"";
            findings.add(&at.span, "no file server works on this stack", cure);
        }
        return;
    };
    if written.database.span.is_some() {
        let cure = "keep one of the two: [files] serves the stacks' files, [database] works on them";
        findings.add(span, "a study has [files] or [database], not both", cure);
    }
    nobody_serves(&written.files, study, findings);
    for (w, one) in written.stacks.iter().zip(&study.stacks) {
        let before = findings.len();
        stack(w, one, findings);
        if findings.len() == before {
            protocol(&written.files, w, one, findings);
        }
    }
    kernel(written, study, findings);
    for (w, one) in written.phases.iter().zip(&study.phases) {
        match (one.kind.serving(), one.kind.cut()) {
            (Some(serving), _) => users(w, serving, study, findings),
            (None, Some(cut)) => {
                ended(w, cut, (&written.files, study), findings);
                if let Some(serving) = cut.work.serving() {
                    users(w, serving, study, findings);
                }
            }
            (None, None) => elsewhere(w, findings),
        }
        if let Some(fault) = w.faults.first() {
            let cure = "put this phase into a study of the page engine";
            findings.add(&fault.span, "faults are planted under the page engine only", cure);
        }
    }
}

/// What has no files has none to serve.
fn stack(w: &WrittenStack, stack: &Stack, findings: &mut Findings) {
    if let Some(why) = stack.kind.no_files() {
        let message = format!("stack {:?} cannot be served: {why}", stack.name);
        let cure = "use ext4, xfs, btrfs, zfs with via = \"fuse\" or \"kernel\", a directory or a server";
        findings.add(kind_place(w), message, cure);
    }
    if let Some(at) = &w.database.engine {
        let cure = "remove `database` from this stack, or [files] from the study";
        findings.add(
            &at.span,
            "the files of this stack are served, no database works on it",
            cure,
        );
    }
    if let Some(redo) = w.redo.as_ref().filter(|at| at.value.is_some()) {
        let cure = "remove `redo` from this stack";
        findings.add(&redo.span, "files that are served have no redo log", cure);
    }
    planted(w, stack, findings);
}

/// Losses that clients and servers of ours can be made to have.
fn planted(w: &WrittenStack, stack: &Stack, findings: &mut Findings) {
    let files = stack.engine.files();
    let Inject {
        flush_lost,
        same_verifier,
        ..
    } = stack.inject;
    let of_device = Inject {
        flush_lost: false,
        same_verifier: false,
        ..stack.inject
    };
    if of_device.is_planted() {
        let span = place(&w.inject.late, place(&w.inject.error_at, &w.span));
        let cure = "remove it: files that are served can have `flush_lost` and `same_verifier`";
        findings.add(
            span,
            "this part of `inject` is planted into the page engine's I/O",
            cure,
        );
    }
    if flush_lost && files.is_some_and(|files| files.protocol != Protocol::Nfs3) {
        let cure = "write protocol = \"nfs3\" in [files], or remove `flush_lost`";
        findings.add(
            place(&w.inject.flush_lost, &w.span),
            "only clients of NFS can lose their flushes",
            cure,
        );
    }
    if same_verifier && files.is_some_and(|files| files.server.is_none()) {
        let cure = "write server = \"ganesha\" in [files], or remove `same_verifier`";
        let message = "only a server that is started here can come back with its write verifier";
        findings.add(place(&w.inject.same_verifier, &w.span), message, cure);
    }
}

/// The kernel's server is threads of the kernel's: nobody can end them in the middle of their work, or count their
/// memory.
fn kernel(written: &WrittenStudy, study: &Study, findings: &mut Findings) {
    let Some(at) = &written.files.server else { return };
    let starts = |stack: &&Stack| stack.engine.files().and_then(|files| files.server) == Some(FileServer::Kernel);
    let Some(stack) = study.stacks.iter().find(starts) else {
        return;
    };
    let cure = "write server = \"ganesha\"";
    if stack.inject.same_verifier {
        let message = "the kernel's NFS server always changes its write verifier, so `same_verifier` cannot work";
        findings.add(&at.span, message, cure);
    }
    if study.phases.iter().any(|phase| phase.kind.cut().is_some()) {
        let message = "the kernel's NFS server cannot be ended in the middle of its work";
        findings.add(&at.span, message, cure);
    }
    if study.memory.budget.is_some() {
        let message = "what the kernel's NFS server keeps in memory is in no memory budget";
        let cure = "write server = \"ganesha\", or remove `budget` from [memory]";
        findings.add(&at.span, message, cure);
    }
}

/// Where every stack is a server that is there, none is started.
fn nobody_serves(files: &WrittenFiles, study: &Study, findings: &mut Findings) {
    if study.stacks.is_empty() || study.stacks.iter().any(|stack| stack.kind.server().is_none()) {
        return;
    }
    let said = [
        ("server", files.server.as_ref().map(|at| &at.span)),
        ("threads", files.threads.as_ref().map(|at| &at.span)),
    ];
    for (key, span) in said {
        let Some(span) = span else { continue };
        let message = format!("`{key}` is of a server that Assay starts, and all stacks here are servers already");
        findings.add(span, message, "remove it");
    }
}

fn protocol(files: &WrittenFiles, w: &WrittenStack, stack: &Stack, findings: &mut Findings) {
    let Some(of) = stack.engine.files() else { return };
    let span = place(&files.protocol, files.span.as_ref().unwrap_or(&w.span));
    match of.protocol {
        Protocol::Posix if stack.kind.server().is_some() => {
            let cure = "write protocol = \"nfs3\", or use the mounted place as a stack of kind \"directory\"";
            let message = format!("stack {:?} is a server: system calls do not reach it", stack.name);
            findings.add(span, message, cure);
        }
        Protocol::Posix => {
            let said = [
                ("server", files.server.as_ref().map(|at| &at.span)),
                ("connections", files.connections.as_ref().map(|at| &at.span)),
                ("threads", files.threads.as_ref().map(|at| &at.span)),
            ];
            for (key, span) in said {
                let Some(span) = span else { continue };
                let message = format!("`{key}` means nothing to the protocol \"{}\"", of.protocol.word());
                findings.add(span, message, "remove it, or write protocol = \"nfs3\"");
            }
        }
        Protocol::Nfs3 => {
            // The page cache is the server's way, and a study that prints itself says so.
            if let Some(at) = w.access.as_ref().filter(|at| at.value == Access::Direct) {
                let cure = "remove it: the server reads and writes as it does";
                findings.add(&at.span, "over NFS the server decides how files are read", cure);
            }
        }
    }
}

/// What holds for the users of every phase.
fn users(w: &WrittenPhase, serving: &Serving, study: &Study, findings: &mut Findings) {
    ignored(w, serving, findings);
    whole_blocks(w, serving, study, findings);
    sessions(w, serving, study, findings);
    room(w, serving, study, findings);
    enough(w, serving, findings);
}

/// Keys that the work of a phase never asks for, but with the value that changes nothing: a study prints itself so.
fn ignored(w: &WrittenPhase, serving: &Serving, findings: &mut Findings) {
    let (is_steps, is_build) = (serving.work.is_some(), serving.mix == FileMixed::Mix(FileMix::Build));
    let said = [
        ("accessed", is_steps, w.accessed.as_ref(), 1.0),
        ("lookups_failed", is_steps, w.lookups_failed.as_ref(), 0.0),
        ("append", is_steps || is_build, w.append.as_ref(), 0.0),
    ];
    for (key, is_ignored, at, nothing) in said {
        let Some(at) = at.filter(|at| is_ignored && at.value.0 != nothing) else {
            continue;
        };
        let what = match is_steps {
            true => "a `work`, which has its own steps",
            false => "mix = \"build\", which has its own writes",
        };
        let message = format!("`{key}` means nothing to {what}");
        findings.add(&at.span, message, "remove it, or use another `mix`");
    }
}

/// Direct access reads and writes whole blocks, and mixes of small calls have writes of any length.
fn whole_blocks(w: &WrittenPhase, serving: &Serving, study: &Study, findings: &mut Findings) {
    let is_whole = serving.work.is_some() || serving.mix == FileMixed::Mix(FileMix::Build);
    let is_direct = |stack: &&Stack| {
        let by_calls = stack
            .engine
            .files()
            .is_some_and(|files| files.protocol == Protocol::Posix);
        by_calls && stack.access == Access::Direct
    };
    let Some(stack) = study.stacks.iter().find(is_direct).filter(|_| !is_whole) else {
        return;
    };
    let message = format!(
        "stack {:?} has access = \"direct\", which takes whole 4 KiB, and this mix has shorter writes",
        stack.name
    );
    let cure = "remove `access`, or write mix = \"build\" or a `work`, with sizes in multiples of 4KiB";
    findings.add(place(&w.mix, &w.span), message, cure);
}

/// A cut or a kill ends a server that we start, and what users were told must not depend on what they hold themselves.
fn ended(w: &WrittenPhase, cut: &PowerCut, (files, study): (&WrittenFiles, &Study), findings: &mut Findings) {
    let span = place(&w.kind, &w.span);
    let noun = cut.end.noun();
    if files.protocol.as_ref().is_none_or(|at| at.value == Protocol::Posix) {
        let message = format!("a {noun} under file serving ends an NFS server, and here there is none");
        findings.add(span, message, "write protocol = \"nfs3\" in [files]");
    }
    if study.phases.iter().any(|phase| phase.kind.cut().is_none()) {
        let message = match cut.end {
            End::PowerCut => "a study of file serving cuts the power or measures, not both",
            End::Kill => "a study of file serving kills or measures, not both",
        };
        findings.add(span, message, "make two studies of it");
    }
}

fn sessions(w: &WrittenPhase, serving: &Serving, study: &Study, findings: &mut Findings) {
    let most = |stack: &Stack| {
        let files = stack.engine.files()?;
        (files.protocol == Protocol::Nfs3).then_some(files.connections)
    };
    let connections = study.stacks.iter().filter_map(most).max().unwrap_or(0);
    if serving.sessions < connections {
        let message = format!(
            "{} sessions leave some of the {connections} connections without any",
            serving.sessions
        );
        let cure = format!("write sessions = {connections} or more, or lower `connections` in [files]");
        findings.add(place(&w.sessions, &w.span), message, cure);
    }
}

/// The tree at the highest load must fit on every stack.
fn room(w: &WrittenPhase, serving: &Serving, study: &Study, findings: &mut Findings) {
    let needed = serving.data_bytes_most();
    for stack in &study.stacks {
        let Some(room) = space::usable(study, stack) else {
            continue;
        };
        if needed > room / 10 * 9 {
            let message = format!(
                "at the highest load the data are {}, and stack {:?} has {}",
                Bytes(needed >> 20 << 20),
                stack.name,
                Bytes(room)
            );
            let span = place(&w.data_size, place(&w.data_per_load, place(&w.load, &w.span)));
            findings.add(
                span,
                message,
                "lower `load` or `data_per_load`, or make the LUNs larger",
            );
            return;
        }
    }
}

/// Each session takes files that no other one changes at that moment.
fn enough(w: &WrittenPhase, serving: &Serving, findings: &mut Findings) {
    // Under a cut all data are there from the beginning.
    let first = serving.load.first();
    let data = first.map_or_else(|| serving.data_bytes_most(), |rate| serving.data_bytes(*rate));
    let files = data as f64 / serving.sizes.mean_bytes().max(1.0) * serving.accessed.0;
    let wanted = f64::from(serving.sessions) * FILES_OF_A_SESSION;
    if files < wanted {
        let at = first.map_or(String::new(), |rate| format!("at {rate} "));
        let message = format!(
            "{at}about {files:.0} files are worked on, and {} sessions need {wanted:.0}",
            serving.sessions
        );
        let span = place(&w.data_size, place(&w.data_per_load, place(&w.load, &w.span)));
        let cure = "raise `data_per_load` or `accessed`, begin with a higher load, or lower `sessions`";
        findings.add(span, message, cure);
    }
}

fn elsewhere(w: &WrittenPhase, findings: &mut Findings) {
    let message = "files are served here, and this phase needs a database";
    let cure = "write kind = \"files\", \"power_cut\" or \"kill\", or put this phase into a study with [database]";
    findings.add(place(&w.kind, &w.span), message, cure);
}
