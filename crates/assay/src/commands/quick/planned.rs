//! What `assay quick` asks: a pure function of what is there.
//!
//! Takes the places, the rights, the tools and the room; gives the text of a study and what is said before it runs.
//! It plans for power: one question, few comparisons, stacks side by side in short stints, and as many blocks as three
//! minutes hold. Prevents: fifteen comparisons of which two are decided.

use stacks::Buildable;
use std::fmt::Write;
use std::path::{Path, PathBuf};

const MIB: u64 = 1 << 20;
/// Loaded in a second or two, and several times the engine's cache.
const DATA_MIB: u64 = 64;
const REDO_MIB: u64 = 32;
/// Holds data and redo log of every stack but XFS.
const LUN_MIB: u64 = 160;
/// mkfs.xfs refuses less than 300 MiB.
const XFS_LUN_MIB: u64 = 304;
/// Three minutes, less the time to begin, to take down the last block and to report.
const TIME_LIMIT: &str = "175s";

/// Said before a run of root's, beside what it creates.
const EMPTIES: &str = "the run empties this host's page cache, so other programs read from disk again";

/// What is there.
pub(super) struct Here<'a> {
    /// Directories, at least one.
    pub(super) places: &'a [PathBuf],
    /// Whether LUN files may be made.
    pub(super) luns: bool,
    pub(super) is_root: bool,
    /// Which stacks can be built.
    pub(super) probed: &'a [Buildable],
    /// Whether a place has room for so many bytes.
    pub(super) has_room: &'a dyn Fn(&Path, u64) -> bool,
}

/// A study and what is said before it.
#[derive(Debug)]
pub(super) struct Planned {
    pub(super) text: String,
    question: String,
    creates: String,
    /// Only root may.
    empties_cache: bool,
    /// Each with its reason.
    left_out: Vec<String>,
}

impl Planned {
    /// What is asked, of what, how long, what is created and emptied, what is left out.
    pub(super) fn announced(&self) -> Vec<String> {
        let mut lines = vec![
            self.question.clone(),
            "at most three minutes, less when all is decided".to_string(),
            self.creates.clone(),
        ];
        lines.extend(self.empties_cache.then(|| EMPTIES.to_string()));
        lines.extend(self.left_out.iter().map(|one| format!("left out: {one}")));
        lines
    }
}

/// A stack of the study.
struct Line {
    name: String,
    kind: &'static str,
    on: On,
    access: Option<&'static str>,
}

/// What it is built on.
enum On {
    Place(PathBuf),
    Lun(u64),
}

/// What is done to the stacks.
#[derive(Clone, Copy)]
enum Work {
    /// Reads that miss the engine's cache, and updates with commit.
    ReadsAndUpdates,
    /// Updates of data that lie in the engine's cache: what is left is commits and the writing of pages.
    Commits,
}

/// The study for what is there.
///
/// # Errors
/// No room for any; the text ends with the cure.
pub(super) fn planned(here: &Here<'_>) -> Result<Planned, String> {
    match here.places {
        [place] if here.luns => Ok(match stacks_here(here, place) {
            Ok(planned) => planned,
            Err(reasons) => access(here, place, reasons)?,
        }),
        [place] => access(here, place, Vec::new()),
        places => between(here, places),
    }
}

/// Two places or more, each as it is.
fn between(here: &Here<'_>, places: &[PathBuf]) -> Result<Planned, String> {
    let needed = (DATA_MIB + REDO_MIB) * places.len() as u64;
    for place in places {
        room(here, place, needed)?;
    }
    let lines: Vec<Line> = places
        .iter()
        .map(|place| Line {
            name: place.display().to_string(),
            kind: "directory",
            on: On::Place(place.clone()),
            access: Some("direct"),
        })
        .collect();
    let question = "Which of these places serves a database better?";
    let creates = format!("{DATA_MIB} MiB of data and a redo log in each place, removed at the end");
    Ok(Planned {
        text: text(question, &lines, Work::ReadsAndUpdates),
        question: question.to_string(),
        creates,
        empties_cache: here.is_root,
        left_out: Vec::new(),
    })
}

/// One place, around its page cache and through it. Stacks of this kind cannot take turns, so it is one phase; reads
/// are not asked, for memory would answer them.
fn access(here: &Here<'_>, place: &Path, mut left_out: Vec<String>) -> Result<Planned, String> {
    room(here, place, DATA_MIB + REDO_MIB)?;
    let line = |name: &str, access| Line {
        name: name.to_string(),
        kind: "directory",
        on: On::Place(place.to_path_buf()),
        access: Some(access),
    };
    let lines = [line("direct", "direct"), line("page cache", "buffered")];
    let question = "Are commits faster with direct I/O or through the page cache?";
    left_out.push("reads, because the page cache would answer them".to_string());
    Ok(Planned {
        text: text(question, &lines, Work::Commits),
        question: question.to_string(),
        creates: format!(
            "{DATA_MIB} MiB of data and a redo log under {}, removed at the end",
            place.display()
        ),
        empties_cache: here.is_root,
        left_out,
    })
}

/// What does not come with so many stacks, and why.
fn too_many(here: &Here<'_>, stacks: usize) -> String {
    let one_more = if stacks > 2 { "a fourth stack" } else { "one more stack" };
    match here.is_root {
        true if has_lvm(here) => format!("XFS and btrfs, because {one_more} leaves too little time for each"),
        true => format!("btrfs, because {one_more} leaves too little time for each"),
        false => "ext4, XFS and btrfs on LUN files: they need root".to_string(),
    }
}

/// One place and the stacks that can stand on files in it; what is left out where there are fewer than two.
fn stacks_here(here: &Here<'_>, place: &Path) -> Result<Planned, Vec<String>> {
    let (mut names, mut left_out) = (Vec::new(), Vec::new());
    for (kind, name) in kinds(here) {
        match here.probed.iter().find(|one| one.kind == *kind) {
            Some(one) if !one.able => left_out.push(lacking(name, one)),
            _ => names.push((*kind, *name)),
        }
    }
    let fits = |names: &[(&str, &str)]| {
        let files = names.len() as u64 * lun_mib(names);
        let beside = if here.is_root { 0 } else { DATA_MIB + REDO_MIB };
        (here.has_room)(place, (files + beside) * MIB)
    };
    // XFS needs LUN files of twice the size, and the others then have them too.
    if !fits(&names) && names.iter().any(|(kind, _)| *kind == "xfs") {
        names.retain(|(kind, _)| *kind != "xfs");
        left_out.push("XFS, because there is no room for LUN files of its size".to_string());
    }
    if !fits(&names) {
        left_out.push("stacks on LUN files, because there is no room for them".to_string());
        return Err(left_out);
    }
    let lun = lun_mib(&names);
    let mut lines: Vec<Line> = Vec::new();
    if !here.is_root {
        lines.push(Line {
            name: "files".to_string(),
            kind: "directory",
            on: On::Place(place.to_path_buf()),
            access: Some("direct"),
        });
    }
    lines.extend(names.iter().map(|(kind, name)| Line {
        name: (*name).to_string(),
        kind,
        on: On::Lun(lun),
        access: (*kind != "diskgroup").then_some("direct"),
    }));
    if lines.len() < 2 {
        return Err(left_out);
    }
    left_out.push(too_many(here, lines.len()));
    left_out.push("the page cache: to compare it, run `assay quick --no-luns`".to_string());
    let question = match here.is_root {
        true => format!("Which serves a database better here: {}?", listed(&names)),
        false => "Which serves a database better here: files or a disk group in a file?".to_string(),
    };
    let text = with_luns(&text(&question, &lines, Work::ReadsAndUpdates), place, &lines);
    let many = names.len();
    let files = if many == 1 { "one LUN file" } else { "LUN files" };
    Ok(Planned {
        text,
        question,
        creates: format!(
            "{files} of {lun} MiB {}with {DATA_MIB} MiB of data under {}, removed at the end",
            if many == 1 { "" } else { "each " },
            place.display()
        ),
        empties_cache: here.is_root,
        left_out,
    })
}

/// Kinds on LUN files with their names: as many as three minutes have room for.
fn kinds(here: &Here<'_>) -> &'static [(&'static str, &'static str)] {
    match here.is_root {
        true if has_lvm(here) => &[("ext4", "ext4"), ("lvm", "ext4 on LVM"), ("diskgroup", "disk group")],
        true => &[("ext4", "ext4"), ("xfs", "XFS"), ("diskgroup", "disk group")],
        false => &[("diskgroup", "disk group")],
    }
}

/// Its LUNs are files here, which it takes on loop devices alone; `raw` says whether there are any.
fn has_lvm(here: &Here<'_>) -> bool {
    let probed = |kind: &str| here.probed.iter().find(|one| one.kind == kind);
    probed("lvm").is_some_and(|lvm| lvm.able) && probed("raw").is_none_or(|raw| raw.able)
}

/// All LUN files are alike.
fn lun_mib(names: &[(&str, &str)]) -> u64 {
    match names.iter().any(|(kind, _)| *kind == "xfs") {
        true => XFS_LUN_MIB,
        false => LUN_MIB,
    }
}

fn lacking(name: &str, one: &Buildable) -> String {
    format!("{name}: {}; {}", one.reason, one.cure)
}

/// "ext4, XFS or disk group".
fn listed(names: &[(&str, &str)]) -> String {
    let names: Vec<&str> = names.iter().map(|(_, name)| *name).collect();
    match names.split_last() {
        Some((last, [])) => (*last).to_string(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
        None => String::new(),
    }
}

/// An error where a place lacks the room.
fn room(here: &Here<'_>, place: &Path, mib: u64) -> Result<(), String> {
    match (here.has_room)(place, mib * MIB) {
        true => Ok(()),
        false => Err(format!(
            "{}: less than {mib} MiB can be used\n  free some space, or name another directory",
            place.display()
        )),
    }
}

/// The study but for its LUN sets.
fn text(question: &str, lines: &[Line], work: Work) -> String {
    let mut text = format!(
        "[study]\nname = \"quick\"\nquestion = {}\nmargin = \"10%\"\ntime_limit = \"{TIME_LIMIT}\"\nfill_time = true\n\
         stint = \"150ms\"\n\n",
        quoted(question)
    );
    for line in lines {
        let _ = writeln!(
            text,
            "[[stack]]\nname = {}\nkind = \"{}\"",
            quoted(&line.name),
            line.kind
        );
        if let Some(access) = line.access {
            let _ = writeln!(text, "access = \"{access}\"");
        }
        let _ = match &line.on {
            On::Place(path) => writeln!(text, "path = {}\n", quoted_path(path)),
            On::Lun(_) => writeln!(text, "data = {}\n", quoted(&line.name)),
        };
    }
    let cache_mib = match work {
        Work::ReadsAndUpdates => DATA_MIB / 8,
        Work::Commits => DATA_MIB * 2,
    };
    let _ = writeln!(
        text,
        "[database]\ncache = \"{cache_mib}MiB\"\nschemas = 16\nscale = \"{DATA_MIB}MiB\"\n\
         redo_size = \"{REDO_MIB}MiB\"\ncheckpoint = \"300ms\"\n"
    );
    text.push_str(match work {
        Work::ReadsAndUpdates => READS_AND_UPDATES,
        Work::Commits => COMMITS,
    });
    text
}

const READS_AND_UPDATES: &str = r#"[[phase]]
name = "random read"
kind = "random"
update_pct = 0
sessions = 16
work_unit = 4
time = "900ms"

[[phase]]
name = "update"
kind = "random"
update_pct = 100
sessions = 16
work_unit = 4
time = "2400ms"
"#;

const COMMITS: &str = r#"[[phase]]
name = "warm-up"
kind = "random"
ranked = false
update_pct = 0
sessions = 16
work_unit = 64
time = "1s"

[[phase]]
name = "commit"
kind = "random"
update_pct = 100
sessions = 16
work_unit = 4
time = "2s"
"#;

/// A LUN set of its own for each stack that needs one.
fn with_luns(text: &str, place: &Path, lines: &[Line]) -> String {
    let mut luns = String::new();
    for line in lines {
        if let On::Lun(mib) = line.on {
            let _ = writeln!(
                luns,
                "[luns.{}]\nfiles = {{ size = \"{mib}MiB\", dir = {} }}\n",
                quoted(&line.name),
                quoted_path(place)
            );
        }
    }
    format!("{text}\n{luns}")
}

fn quoted_path(path: &Path) -> String {
    quoted(&path.display().to_string())
}

/// A TOML basic string.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                quoted.push('\\');
                quoted.push(c);
            }
            c if c.is_control() => {
                let _ = write!(quoted, "\\u{:04X}", c as u32);
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests;
