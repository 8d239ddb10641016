//! `assay dg cp`: data in and out of a group, with a checksum.
//!
//! Prevents: half a copy under the name of a whole one. A copy that fails or is stopped is removed again; one that is
//! killed has no name yet in a group, and another one in a directory.

use super::create::redundancy;
use super::meter::Meter;
use super::opened::{self, Opened, find, run_error};
use super::table::{rate, size, time};
use super::transfer::{DEPTH, MEMORY, Transfer, of_local};
use crate::cli::dg::{self, Striping};
use crate::commands::answer::answer;
use crate::exit::Failure;
use anyhow::{Context, anyhow};
use diskgroup::{FileSpec, GroupError, Stripe};
use lab::signals;
use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags, linkat, openat, renameat_with, unlinkat};
use rustix::io::Errno;
use sandbox::Directory;
use serde_json::json;
use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Group and file of `GROUP:FILE`; `None` for a local path.
pub(super) fn in_group(text: &str) -> Option<(&str, &str)> {
    text.split_once(':')
        .filter(|(group, _)| !group.is_empty() && !group.contains('/'))
}

/// What a copy did.
struct Copied {
    from: String,
    to: String,
    bytes: u64,
    sha256: String,
    seconds: f64,
    verified: bool,
}

pub(super) fn cp(flags: &dg::Cp) -> Result<(), Failure> {
    let copied = match (in_group(&flags.from), in_group(&flags.to)) {
        (None, Some(to)) => into_group(flags, to)?,
        (Some(from), None) => out_of_group(flags, from)?,
        (None, None) => {
            return Err(Failure::Usage(anyhow!(
                "neither {} nor {} is a file of a group\n  write GROUP:FILE for one of them, as `assay dg ls` does",
                flags.from,
                flags.to
            )));
        }
        (Some(_), Some(_)) => {
            return Err(Failure::Usage(anyhow!(
                "both are files of groups\n  copy to a local file first, then from there"
            )));
        }
    };
    answer(
        flags.place.json,
        || {
            json!({
                "schema": 1, "from": copied.from, "to": copied.to, "bytes": copied.bytes,
                "sha256": copied.sha256, "seconds": copied.seconds, "verified": copied.verified,
            })
        },
        || copied.words(),
    )
}

impl Copied {
    fn words(&self) -> String {
        let verified = if self.verified {
            "read back, the same"
        } else {
            "no (--verify)"
        };
        format!(
            "from      {}\nto        {}\nsize      {} ({} bytes)\nsha256    {}\nverified  {verified}\n\
             time      {}, {}\n",
            self.from,
            self.to,
            size(self.bytes),
            self.bytes,
            self.sha256,
            time(self.seconds),
            rate(self.bytes, self.seconds)
        )
    }
}

/// How many bytes to copy of a file of `size`.
fn wanted(flags: &dg::Cp, size: u64) -> Result<u64, Failure> {
    match flags.bytes {
        Some(bytes) if bytes > size => Err(run_error(anyhow!(
            "{} has {size} bytes, and --bytes asks for {bytes}\n  ask for less, or leave --bytes out",
            flags.from
        ))),
        bytes => Ok(bytes.unwrap_or(size)),
    }
}

fn mismatch(to: &str, wrote: &str, read: &str) -> Failure {
    run_error(anyhow!(
        "{to} does not hold what was written: sha256 {read} was read back, {wrote} was written\n  \
         look for device errors (dmesg), delete it and copy again"
    ))
}

fn into_group(flags: &dg::Cp, (group, name): (&str, &str)) -> Result<Copied, Failure> {
    let path = PathBuf::from(&flags.from);
    let (mut source, size) = open_local(&path)?;
    let bytes = wanted(flags, size)?;
    let base = path.file_name().unwrap_or_default().to_string_lossy();
    let name = if name.is_empty() { &*base } else { name };
    let spec = FileSpec {
        name: name.to_string(),
        size: bytes,
        redundancy: flags.redundancy.map(redundancy),
        stripe: match flags.stripe {
            Striping::Coarse => Stripe::Coarse,
            Striping::Fine => Stripe::Fine,
        },
    };
    let cancel = signals::cancel_flag()?;
    let to = format!("{group}:{name}");
    let found = find(&flags.place, &[], Some(group))?;
    opened::with(&flags.place, found, |opened| {
        // Making the file fills it with zeros: that is a part of what the copy costs.
        let mut meter = Meter::new("copy", false);
        opened.group.begin_file(&spec).map_err(run_error)?;
        let mut port = open_file(opened, name)?;
        let filled = Transfer::new(&mut port, &to, &cancel, &mut meter).fill(&mut source, bytes);
        std::mem::drop(port);
        let seconds = meter.seconds();
        meter.finish(bytes, bytes);
        let sha256 = filled.or_else(|error| {
            opened.group.delete_file(name).map_err(run_error)?;
            Err(Failure::Run(error))
        })?;
        opened.group.finish_file(name).map_err(run_error)?;
        if flags.verify {
            let read = read_back(opened, name, &to, bytes, &cancel)?;
            if read != sha256 {
                return Err(mismatch(&to, &sha256, &read));
            }
        }
        Ok(Copied {
            from: flags.from.clone(),
            to: to.clone(),
            bytes,
            sha256,
            seconds,
            verified: flags.verify,
        })
    })
}

type FilePort = diskgroup::GroupPort<super::port::DiskPort>;

fn open_file(opened: &Opened, name: &str) -> Result<FilePort, Failure> {
    let port = opened.port(MEMORY, DEPTH)?;
    opened.group.open(port, &[name]).map_err(run_error)
}

fn read_back(opened: &Opened, name: &str, shown: &str, bytes: u64, cancel: &AtomicBool) -> Result<String, Failure> {
    let mut meter = Meter::new("verify", false);
    let mut port = open_file(opened, name)?;
    let transfer = Transfer::new(&mut port, shown, cancel, &mut meter).comparing();
    let read = transfer.empty(&mut std::io::sink(), bytes);
    meter.finish(bytes, bytes);
    Ok(read?)
}

/// A local file or device to read, and its size.
fn open_local(path: &Path) -> Result<(File, u64), Failure> {
    let cure = "name a file or device that exists and may be read";
    let failed = |e: std::io::Error| run_error(anyhow!("open {}: {e}\n  {cure}", path.display()));
    let mut file = File::open(path).map_err(failed)?;
    if file.metadata().map_err(failed)?.is_dir() {
        return Err(run_error(anyhow!(
            "{} is a directory\n  copy its files one by one",
            path.display()
        )));
    }
    let size = file.seek(SeekFrom::End(0)).map_err(failed)?;
    file.seek(SeekFrom::Start(0)).map_err(failed)?;
    Ok((file, size))
}

fn out_of_group(flags: &dg::Cp, (group, name): (&str, &str)) -> Result<Copied, Failure> {
    let mut to = PathBuf::from(&flags.to);
    if to.is_dir() {
        to.push(name.rsplit('/').next().unwrap_or(name));
    }
    if to.symlink_metadata().is_ok() {
        return Err(run_error(anyhow!(
            "{} exists\n  name a file that is not there yet",
            to.display()
        )));
    }
    let cancel = signals::cancel_flag()?;
    let found = find(&flags.place, &[], Some(group))?;
    opened::with(&flags.place, found, |opened| {
        let files = opened.group.files();
        let file = files
            .iter()
            .find(|f| f.name == name)
            .ok_or_else(|| run_error(GroupError::NoFile { name: name.to_string() }))?;
        let bytes = wanted(flags, file.size)?;
        let outgoing = Outgoing::make(name, bytes, &to)?;
        let copied = copy_out(opened, flags, &outgoing, &cancel);
        if copied.is_err() {
            outgoing.remove()?;
        }
        copied
    })
}

/// What is copied out of a group, and where it grows until it is whole: in a directory that is held.
struct Outgoing<'a> {
    name: &'a str,
    bytes: u64,
    to: &'a Path,
    dir: Directory,
    made: File,
    part: String,
}

impl<'a> Outgoing<'a> {
    fn make(name: &'a str, bytes: u64, to: &'a Path) -> Result<Outgoing<'a>, Failure> {
        let above = to.parent().filter(|above| !above.as_os_str().is_empty());
        let dir = Directory::open(above.unwrap_or(Path::new(".")));
        let dir = dir.map_err(|e| run_error(anyhow!("make {}: {e}", to.display())))?;
        let own = to.file_name().and_then(|name| name.to_str());
        let part = own
            .map(|own| format!("{own}.part"))
            .ok_or_else(|| run_error(anyhow!("{} has no name in UTF-8\n  name another file", to.display())))?;
        let made = dir.create(&part, OFlags::RDWR).map(File::from).map_err(|e| {
            run_error(anyhow!(
                "make {}: {e}\n  name a file that is not there yet, in a directory that may be written; delete what a \
                 killed copy left",
                dir.path().join(&part).display()
            ))
        })?;
        let outgoing = Outgoing {
            name,
            bytes,
            to,
            dir,
            made,
            part,
        };
        if let Err(error) = sandbox::mask_file(&outgoing.made) {
            outgoing.remove()?;
            return Err(run_error(error));
        }
        Ok(outgoing)
    }

    /// Takes away what is not whole.
    fn remove(&self) -> anyhow::Result<()> {
        match unlinkat(&self.dir, self.part.as_str(), AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => {
                let part = self.dir.path().join(&self.part);
                Err(error).with_context(|| format!("remove {}, which is not whole", part.display()))
            }
        }
    }

    /// Gives a whole copy its name, which nobody else may have taken meanwhile, durably.
    fn name_it(&self) -> anyhow::Result<()> {
        let (part, to) = (self.part.as_str(), self.to.file_name().unwrap_or_default());
        let cure = || format!("call it {}: name another place", self.to.display());
        match renameat_with(&self.dir, part, &self.dir, to, RenameFlags::NOREPLACE) {
            Ok(()) => {}
            // A file system that cannot rename without replacing can link without it.
            Err(Errno::INVAL | Errno::NOSYS) => {
                linkat(&self.dir, part, &self.dir, to, AtFlags::empty()).with_context(cure)?;
                self.remove()?;
            }
            Err(error) => return Err(anyhow::Error::from(error).context(cure())),
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let opened = openat(&self.dir, c".", flags, Mode::empty()).with_context(cure)?;
        rustix::fs::fsync(opened).with_context(cure)
    }
}

fn copy_out(
    opened: &Opened,
    flags: &dg::Cp,
    outgoing: &Outgoing<'_>,
    cancel: &Arc<AtomicBool>,
) -> Result<Copied, Failure> {
    let (bytes, mut made) = (outgoing.bytes, &outgoing.made);
    let mut meter = Meter::new("copy", false);
    let mut port = open_file(opened, outgoing.name)?;
    let sha256 = Transfer::new(&mut port, &flags.from, cancel, &mut meter).empty(&mut made, bytes);
    std::mem::drop(port);
    let shown = outgoing.to.display().to_string();
    let failed = |what: &str| format!("{what} {shown}: free space there, or name another place");
    let sha256 = sha256.with_context(|| format!("copy {} to {shown}", flags.from))?;
    made.sync_all().with_context(|| failed("flush"))?;
    let seconds = meter.seconds();
    meter.finish(bytes, bytes);
    if flags.verify {
        made.seek(SeekFrom::Start(0)).with_context(|| failed("read"))?;
        let read = of_local(made, cancel)?;
        if read != sha256 {
            return Err(mismatch(&shown, &sha256, &read));
        }
    }
    outgoing.name_it()?;
    Ok(Copied {
        from: flags.from.clone(),
        to: shown,
        bytes,
        sha256,
        seconds,
        verified: flags.verify,
    })
}

#[cfg(test)]
mod tests {
    use super::in_group;

    #[test]
    fn a_colon_makes_a_file_of_a_group_unless_a_slash_comes_first() {
        assert_eq!(in_group("data:users.dbf"), Some(("data", "users.dbf")));
        assert_eq!(in_group("data:a/b:c"), Some(("data", "a/b:c")));
        assert_eq!(in_group("data:"), Some(("data", "")));
        for local in ["users.dbf", "./a:b", "/tmp/a:b", ":a", ""] {
            assert_eq!(in_group(local), None, "{local}");
        }
    }
}
