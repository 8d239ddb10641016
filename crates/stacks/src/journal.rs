//! The undo journal: what must be taken back, written down before it is done.
//!
//! One file per run in the state directory, one JSON object a line:
//!
//! ```text
//! {"begin":{"version":1,"run_id":"...","pid":123,"started":456,"boot":"..."}}
//! {"step":{"number":0,"undo":{"kind":"remove_file","path":"/srv/a.lun"}}}
//! {"made":{"number":0,"identity":{"device":64512,"inode":131,"born":[1790000000,5]}}}
//! {"undone":0}
//! ```
//!
//! A step's line is on the disk (`fsync`) before the step is taken; a line cut short by a crash belongs to a step that
//! never was. `made` says which file or directory the step made, by device, inode and birth: the undo removes that one
//! and no other. The owner holds a `flock` on the file, and so do its tools and instances: a journal that can be locked
//! has no owner any more. Journals lie in a directory that only their user can write to. Prevents a host that stays
//! dirty after a kill at any moment, and an undo that follows the word of another user.

use crate::error::StackError;
use crate::held::Held;
use crate::host::process;
use crate::run::{Owner, Run, boot_id};
use crate::undo::Undo;
use rustix::fs::{AtFlags, CWD, FileType, FlockOperation, Mode, OFlags, fstat};
use rustix::io::Errno;
use sandbox::{Directory, Identity, SandboxError};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

const VERSION: u32 = 1;
/// Ending of a journal's name.
pub(crate) const ENDING: &str = ".journal";
/// Ending while it has no first line yet, on file systems without files that have no name.
pub(crate) const NEW_ENDING: &str = ".journal.new";

/// A journal is not longer, whatever it says: hundreds of thousands of steps.
const BYTES_MAX: u64 = 64 << 20;

/// Where journals live: `$ASSAY_STATE_DIR`, else `/var/lib/assay` for root, else `$XDG_STATE_HOME/assay` or
/// `~/.local/state/assay`.
///
/// # Errors
/// None of these is set. A directory that everybody shares would do for nobody.
pub fn state_dir() -> Result<PathBuf, StackError> {
    let from = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    if let Some(dir) = from("ASSAY_STATE_DIR") {
        return Ok(dir);
    }
    if process::is_root() {
        return Ok(PathBuf::from("/var/lib/assay"));
    }
    from("XDG_STATE_HOME")
        .or_else(|| from("HOME").map(|home| home.join(".local/state")))
        .map(|dir| dir.join("assay"))
        .ok_or(StackError::NoStateDirectory)
}

/// Opens a state directory that is its user's alone.
pub(crate) fn open_state_dir(path: &Path) -> Result<Directory, StackError> {
    let dir = Directory::open(path)?;
    let found = fstat(&dir).map_err(|e| StackError::path("look at", path, e, "name another ASSAY_STATE_DIR"))?;
    not_ours(&found).map_or(Ok(dir), |why| {
        let path = path.to_owned();
        Err(StackError::StateDirectory { path, why })
    })
}

/// Why what was found may be another user's word; `None`: it is ours alone.
fn not_ours(found: &rustix::fs::Stat) -> Option<String> {
    let own = rustix::process::geteuid().as_raw();
    match () {
        () if found.st_uid != own => Some(format!("user {} owns it", found.st_uid)),
        () if found.st_mode & 0o022 != 0 => Some("other users can write to it".to_owned()),
        () => None,
    }
}

/// Opens a journal, which is a plain file of ours in a state directory of ours.
fn open_ours(path: &Path, flags: OFlags) -> Result<File, StackError> {
    let failed = |e: io::Error| StackError::path("open the journal", path, e, "run as the user whose run it was");
    let (Some(above), Some(name)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) else {
        return Err(failed(Errno::INVAL.into()));
    };
    let file = File::from(
        open_state_dir(above)?
            .open_file(name, flags)
            .map_err(|e| failed(e.into()))?,
    );
    let found = fstat(&file).map_err(|e| failed(e.into()))?;
    let why = match FileType::from_raw_mode(found.st_mode) {
        FileType::RegularFile if found.st_nlink == 1 => not_ours(&found),
        // Another clean-up has just removed it.
        FileType::RegularFile if found.st_nlink == 0 => return Err(failed(Errno::NOENT.into())),
        FileType::RegularFile => Some("it has other names".to_owned()),
        _ => Some("it is no plain file".to_owned()),
    };
    let path = path.to_owned();
    why.map_or(Ok(file), |why| Err(StackError::StateDirectory { path, why }))
}

/// One line of a journal.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    Begin(Owner),
    Step { number: u64, undo: Undo },
    Made { number: u64, identity: Identity },
    Undone(u64),
}

/// A step that was not undone, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotUndone {
    /// What had to be done.
    pub step: String,
    /// Why it could not.
    pub why: String,
}

/// A step that was written down: what it made is said of it afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepNumber(u64);

/// A step that is not undone yet.
#[derive(Clone, Debug)]
pub(crate) struct OpenStep {
    pub(crate) number: u64,
    pub(crate) undo: Undo,
    /// What it made, as far as that was written down.
    pub(crate) made: Option<Identity>,
}

/// A place in a journal: steps after it can be undone alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark(pub(crate) u64);

/// An open journal.
#[derive(Debug)]
pub struct Journal {
    run: Run,
    path: PathBuf,
    owner: Owner,
    /// Steps not undone yet, in the order they were taken.
    open: Vec<OpenStep>,
    /// Devices that stacks keep for themselves, each with a number among the steps.
    held: Vec<(u64, Held)>,
    next: u64,
    /// Everything was tried to be undone: a drop has nothing to add.
    settled: bool,
    /// The file is gone: a step written now would be lost.
    removed: bool,
    /// The machine was started anew since the run.
    rebooted: bool,
    /// Directories that were made for it, the lowest first; they go with it when nobody else uses them.
    made: Vec<PathBuf>,
}

/// What of a directory and those above it is missing, the lowest first.
fn missing(dir: &Path) -> Vec<PathBuf> {
    let dir = std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned());
    dir.ancestors()
        .take_while(|d| !d.exists())
        .map(Path::to_owned)
        .collect()
}

impl Journal {
    /// Makes the journal of a run; `run_id` is unique for ever (it names files and directories too) and holds only
    /// letters, digits, `-`, `_` and `.`. The directory is made if missing.
    pub fn create(state_dir: &Path, run_id: &str) -> Result<Journal, StackError> {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        assert!(
            !run_id.is_empty() && run_id.chars().all(plain),
            "run id {run_id:?} can't name a file"
        );
        let cure = "set ASSAY_STATE_DIR to a directory that this user can write to";
        let made = missing(state_dir);
        use std::os::unix::fs::DirBuilderExt;
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true).mode(0o700);
        builder
            .create(state_dir)
            .map_err(|e| StackError::of_state(state_dir, e, cure))?;
        let held = open_state_dir(state_dir)?;
        let state_dir = held.path();
        let path = state_dir.join(format!("{run_id}{ENDING}"));
        let failed = |e: io::Error| StackError::path("make the journal", &path, e, cure);
        if path.exists() {
            return Err(StackError::AlreadyThere { path });
        }
        let unborn = Unborn::open(&held, run_id).map_err(failed)?;
        let pid = std::process::id();
        let owner = Owner {
            version: VERSION,
            run_id: run_id.to_owned(),
            pid,
            started: process::start_of(pid).unwrap_or(0),
            boot: boot_id(),
        };
        let Unborn { file, named } = unborn;
        // Locked and begun before it has its name, so that nobody ever sees a journal without an owner.
        let begun = rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive)
            .map_err(io::Error::from)
            .and_then(|()| append(&file, &Line::Begin(owner.clone())))
            .and_then(|()| give_name(&file, named.as_deref(), &path))
            .and_then(|()| sync_dir(state_dir));
        begun.map_err(|e| {
            if let Some(named) = &named {
                let _ = std::fs::remove_file(named);
            }
            failed(e)
        })?;
        Ok(Journal {
            run: Run::new(file),
            path,
            owner,
            open: Vec::new(),
            held: Vec::new(),
            next: 0,
            settled: false,
            removed: false,
            rebooted: false,
            made,
        })
    }

    /// Ends waits for volumes once this is set.
    pub fn heed(&mut self, cancel: &std::sync::Arc<std::sync::atomic::AtomicBool>) {
        self.run.cancel = cancel.clone();
    }

    /// Writes down how the step that is about to be taken is undone; on the disk when it returns. An undo that removes
    /// something is refused while that exists: it would not be ours.
    pub fn before(&mut self, undo: Undo) -> Result<StepNumber, StackError> {
        assert!(!self.removed, "a journal that was undone whole takes no more steps");
        let undo = undo.resolved();
        if let Some(path) = undo.makes()
            && std::fs::symlink_metadata(path).is_ok()
        {
            return Err(StackError::AlreadyThere { path: path.to_owned() });
        }
        let number = self.next;
        self.append(&Line::Step {
            number,
            undo: undo.clone(),
        })
        .map_err(|e| {
            StackError::path(
                "write the journal",
                &self.path,
                e,
                "free space there; nothing was done yet",
            )
        })?;
        self.next += 1;
        self.settled = false;
        self.open.push(OpenStep {
            number,
            undo,
            made: None,
        });
        Ok(StepNumber(number))
    }

    /// Writes down which file or directory a step has made: its undo removes that one and no other.
    ///
    /// # Errors
    /// The journal can't be written.
    pub fn made(&mut self, step: StepNumber, identity: Identity) -> Result<(), StackError> {
        let number = step.0;
        self.append(&Line::Made { number, identity })
            .map_err(|e| StackError::path("write the journal", &self.path, e, "free space there"))?;
        if let Some(open) = self.open.iter_mut().find(|open| open.number == number) {
            open.made = Some(identity);
        }
        Ok(())
    }

    /// Makes a directory of the run's own in `parent`, journalled before. `contents`: its undo removes it with what is
    /// in it.
    ///
    /// # Errors
    /// A name that is there already; a parent that was replaced.
    pub fn make_directory(
        &mut self,
        parent: &Directory,
        name: &str,
        mode: u32,
        contents: bool,
    ) -> Result<Directory, StackError> {
        parent.check()?;
        let path = parent.path().join(name);
        let step = self.before(Undo::RemoveDir { path, contents })?;
        let made = parent.make(name, mode)?;
        self.made(step, made.identity())?;
        Ok(made)
    }

    /// The run may write to this device or file from now on.
    ///
    /// # Errors
    /// It is not there.
    pub fn may_write(&mut self, path: &Path) -> Result<(), StackError> {
        Ok(self.run.reach.add(path)?)
    }

    /// Claims the devices of a stack until an undo reaches this place. Not written down: it ends with the process.
    pub(crate) fn hold(&mut self, held: Held) -> Result<(), StackError> {
        held.take()?;
        self.held.push((self.next, held));
        self.next += 1;
        Ok(())
    }

    /// This place: [`undo_to`](Journal::undo_to) takes back what comes after it.
    pub fn mark(&self) -> Mark {
        Mark(self.next)
    }

    /// Undoes the steps since `mark`, the last first. Gives what could not be undone; that stays in the journal.
    pub fn undo_to(&mut self, mark: Mark) -> Vec<NotUndone> {
        self.undo_where(|number| number >= mark.0)
    }

    /// Undoes everything. The journal file is removed when nothing is left; otherwise it stays for [`crate::clean`].
    pub fn undo_all(&mut self) -> Vec<NotUndone> {
        let failed = self.undo_where(|_| true);
        self.settled = true;
        self.removed = failed.is_empty();
        if failed.is_empty() {
            // A journal without open steps undoes nothing: left behind, the next clean-up removes it.
            let _ = std::fs::remove_file(&self.path);
            if let Some(dir) = self.path.parent() {
                let _ = sync_dir(dir);
            }
            // As far as they are empty.
            let _ = self.made.iter().try_for_each(std::fs::remove_dir);
        }
        failed
    }

    /// The id of the run.
    pub fn run_id(&self) -> &str {
        &self.owner.run_id
    }

    /// The journal file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What an undo of everything would do, in that order.
    pub fn open_steps(&self) -> Vec<String> {
        self.open.iter().rev().map(|open| open.undo.to_string()).collect()
    }

    /// What its tools hold while they work, see [`crate::tool`].
    pub(crate) fn run(&self) -> &Run {
        &self.run
    }

    pub(crate) fn owner(&self) -> &Owner {
        &self.owner
    }

    fn undo_where(&mut self, wanted: impl Fn(u64) -> bool) -> Vec<NotUndone> {
        let mut failed = Vec::new();
        let mut kept = Vec::new();
        // Whoever wipes or detaches a device asks for it exclusively.
        let ended = self.held.extract_if(.., |held| wanted(held.0));
        ended.for_each(|(_, held)| held.let_go());
        // What stands on LUNs, or works on files, that nobody serves any more can't be taken down before its requests
        // are failed. What is still unsaid is reported when the step's turn comes.
        for open in self.open.iter().filter(|open| wanted(open.number)) {
            match &open.undo {
                Undo::StopServing { dir, place } => crate::serving::wake_or_kill(dir, place),
                Undo::StopFuse { dir } => drop(crate::zfs::daemon::kill(dir)),
                _ => {}
            }
        }
        while let Some(step) = self.open.pop() {
            if !wanted(step.number) {
                kept.push(step);
                continue;
            }
            let undone = match self.rebooted && step.undo.ends_with_the_boot() {
                true => Ok(()),
                false => self
                    .stands_where_it_did(&step)
                    .and_then(|()| step.undo.take(&self.owner.run_id, step.made.as_ref())),
            };
            match undone {
                // Not written (a full disk, say): the undo would be tried again and find nothing to do.
                Ok(()) => drop(self.append(&Line::Undone(step.number))),
                Err(why) => {
                    failed.push(NotUndone {
                        step: step.undo.to_string(),
                        why: why.to_string(),
                    });
                    kept.push(step);
                }
            }
        }
        kept.reverse();
        self.open = kept;
        failed
    }

    /// An error where a directory of the run that a step's path goes through is another one by now: what the step made
    /// went with the old one, and a look at the path would find nothing to undo.
    fn stands_where_it_did(&self, step: &OpenStep) -> io::Result<()> {
        let Some(path) = step.undo.path() else { return Ok(()) };
        for made in &self.open {
            let (Undo::RemoveDir { path: dir, .. }, Some(identity)) = (&made.undo, &made.made) else {
                continue;
            };
            if !path.starts_with(dir) {
                continue;
            }
            match Directory::open(dir) {
                Ok(now) if now.identity().is(identity) => {}
                // A mount point of the run's shows what is mounted on it. Where that was forced down, each look fails.
                Ok(_) | Err(_) if crate::host::mounts::at(dir)?.is_some() => {}
                Ok(_) => return Err(SandboxError::Replaced { path: dir.clone() }.into()),
                Err(e) if e.io_kind() == Some(io::ErrorKind::NotFound) => {}
                Err(e) => return Err(e.into()),
            }
        }
        Ok(())
    }

    fn append(&mut self, line: &Line) -> io::Result<()> {
        append(&self.run.lock, line)
    }

    /// Takes over the journal of a run that is no more. `None` while it, or a child of it, lives.
    pub(crate) fn adopt(path: &Path) -> Result<Option<Journal>, StackError> {
        let failed = |e: io::Error| StackError::path("open the journal", path, e, "run as the user whose run it was");
        let file = match open_ours(path, OFlags::WRONLY | OFlags::APPEND) {
            Err(StackError::Path { source, .. }) if source.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Ok(None),
            Err(e) => return Err(failed(e.into())),
        }
        let content = match Content::read(path) {
            Err(StackError::Path { source, .. }) if source.kind() == io::ErrorKind::NotFound => return Ok(None),
            read => read?,
        };
        let written = file.metadata().and_then(|found| found.modified()).ok();
        let rebooted = content.owner.is_of_another_boot(written);
        // The next line must not be glued to a fragment.
        file.set_len(content.whole_bytes).map_err(failed)?;
        let next = content.open.last().map_or(0, |open| open.number.saturating_add(1));
        Ok(Some(Journal {
            run: Run::new(file),
            path: path.to_owned(),
            owner: content.owner,
            open: content.open,
            held: Vec::new(),
            next,
            settled: false,
            removed: false,
            rebooted,
            made: Vec::new(),
        }))
    }
}

impl Drop for Journal {
    /// The net under an early return or a panic. It can't report: who can, calls [`Journal::undo_all`] before.
    fn drop(&mut self) {
        if !self.settled {
            let _ = self.undo_all();
        }
    }
}

/// What a journal file says.
pub(crate) struct Content {
    pub(crate) owner: Owner,
    pub(crate) open: Vec<OpenStep>,
    whole_bytes: u64,
}

impl Content {
    /// Reads a journal without locking or changing it.
    pub(crate) fn read(path: &Path) -> Result<Content, StackError> {
        let mut text = Vec::new();
        open_ours(path, OFlags::RDONLY)?
            .take(BYTES_MAX)
            .read_to_end(&mut text)
            .map_err(|e| StackError::path("read the journal", path, e, "run as the user whose run it was"))?;
        Content::parse(&text, path)
    }

    /// Takes the text of a journal apart.
    pub(crate) fn parse(text: &[u8], path: &Path) -> Result<Content, StackError> {
        let wrong = |why: String| StackError::Journal {
            path: path.to_owned(),
            why,
        };
        let whole = text.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
        let mut owner = None;
        let mut open: Vec<OpenStep> = Vec::new();
        for (index, line) in text[..whole]
            .split(|b| *b == b'\n')
            .enumerate()
            .filter(|(_, l)| !l.is_empty())
        {
            let line = serde_json::from_slice(line).map_err(|e| wrong(format!("line {}: {e}", index + 1)))?;
            match line {
                Line::Begin(begun) if begun.version == VERSION => owner = Some(begun),
                Line::Begin(begun) => return Err(wrong(format!("version {} is not known", begun.version))),
                Line::Step { number, undo } => open.push(OpenStep {
                    number,
                    undo,
                    made: None,
                }),
                Line::Made { number, identity } => {
                    let step = open.iter_mut().rev().find(|step| step.number == number);
                    step.into_iter().for_each(|step| step.made = Some(identity));
                }
                // The last one, as a rule: what is undone is undone from the end.
                Line::Undone(done) => {
                    if let Some(at) = open.iter().rposition(|step| step.number == done) {
                        open.remove(at);
                    }
                }
            }
        }
        let owner = owner.ok_or_else(|| wrong("it has no first line".to_owned()))?;
        Ok(Content {
            owner,
            open,
            whole_bytes: whole as u64,
        })
    }
}

/// A journal file that has not its name yet.
struct Unborn {
    file: File,
    /// Its passing name, where the file system can't make a file without one.
    named: Option<PathBuf>,
}

impl Unborn {
    /// A file without a name dies with its process: a kill here leaves nothing. Not every file system has them. It is
    /// append only and not readable: a child that gets it as standard input can't eat it.
    fn open(state_dir: &Directory, run_id: &str) -> io::Result<Unborn> {
        let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::APPEND | OFlags::CLOEXEC;
        match rustix::fs::openat(state_dir, c".", flags, Mode::RUSR | Mode::WUSR) {
            Ok(file) => {
                let file = File::from(file);
                return Ok(Unborn { file, named: None });
            }
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL | Errno::NOENT) => {}
            Err(e) => return Err(e.into()),
        }
        let name = format!("{run_id}{NEW_ENDING}");
        let file = state_dir.create(&name, OFlags::WRONLY | OFlags::APPEND)?;
        Ok(Unborn {
            file: File::from(file),
            named: Some(state_dir.path().join(name)),
        })
    }
}

/// Gives the file its name for good; never over one that is there, but where the passing name has to be changed.
fn give_name(file: &File, named: Option<&Path>, path: &Path) -> io::Result<()> {
    if let Some(named) = named {
        return std::fs::rename(named, path);
    }
    let open = format!("/proc/self/fd/{}", file.as_raw_fd());
    Ok(rustix::fs::linkat(CWD, open, CWD, path, AtFlags::SYMLINK_FOLLOW)?)
}

/// Adds a line and waits until it is on the disk. A line that could not be written whole is taken back.
fn append(mut file: &File, line: &Line) -> io::Result<()> {
    let mut text = serde_json::to_string(line).map_err(io::Error::other)?;
    text.push('\n');
    let length = file.metadata()?.len();
    file.write_all(text.as_bytes())
        .and_then(|()| file.sync_data())
        .inspect_err(|_| {
            let _ = file.set_len(length);
        })
}

fn sync_dir(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}
