//! Whether a disk may be given to a group, before anything is written to it.
//!
//! A device must be whole, unmounted, unused and without a foreign signature; a file must be empty at both ends.
//! `--overwrite` names the very disk whose content may go, and never lifts more than the last of these rules. Prevents
//! the worst that such a command can do.

use super::disks::{self, identity, is_among, shown};
use crate::cli::dg::{Consent, FailureGroup};
use crate::exit::Failure;
use anyhow::{Context, anyhow};
use diskgroup::{DiskSpec, GroupError, Inspected};
use std::os::unix::fs::{FileExt, FileTypeExt};
use std::path::{Path, PathBuf};
use targets::FileId;

/// How the room `luns` calls what the room `diskgroup` writes.
const OURS: &str = "Assay disk group";
/// Bytes at each end of a file that must be zeros.
const END_BYTES: u64 = 64 << 10;

/// A disk that is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) path: PathBuf,
    pub(super) failure_group: Option<String>,
    pub(super) sector_bytes: u32,
    pub(super) overwrite: bool,
}

/// The disks named as arguments and in failure groups, each once.
pub(super) fn asked(arguments: &[PathBuf], groups: &[FailureGroup], consent: &Consent) -> Result<Vec<Asked>, Failure> {
    let usage = |text: String| Failure::Usage(anyhow!(text));
    let mut all: Vec<Asked> = Vec::new();
    let position = |all: &[Asked], path: &Path| {
        let id = identity(path);
        let same = |a: &Asked| a.path == path || (id.is_some() && identity(&a.path) == id);
        all.iter().position(same)
    };
    let new = |path: &PathBuf, failure_group| Asked {
        path: path.clone(),
        failure_group,
        sector_bytes: 512,
        overwrite: is_among(path, &consent.overwrite),
    };
    for path in arguments {
        if position(&all, path).is_some() {
            return Err(usage(format!(
                "{} is named twice\n  name each disk once",
                path.display()
            )));
        }
        all.push(new(path, None));
    }
    for group in groups {
        for path in &group.disks {
            match position(&all, path) {
                Some(at) if all[at].failure_group.is_some() => {
                    return Err(usage(format!(
                        "{} is in two failure groups\n  name each disk in one of them",
                        path.display()
                    )));
                }
                Some(at) => all[at].failure_group = Some(group.name.clone()),
                None => all.push(new(path, Some(group.name.clone()))),
            }
        }
    }
    if all.is_empty() {
        return Err(usage(
            "no disks are given\n  name at least one block device or file".to_string(),
        ));
    }
    let given: Vec<PathBuf> = all.iter().map(|a| a.path.clone()).collect();
    if let Some(stray) = consent.overwrite.iter().find(|o| !is_among(o, &given)) {
        return Err(usage(format!(
            "--overwrite {}: it is not among the disks given\n  name it there too, or leave it out",
            stray.display()
        )));
    }
    Ok(all)
}

/// Looks at every disk by the rules of safety; fills in sector sizes. `own`: the group they shall go to, when it
/// exists.
pub(super) fn inspect(all: &mut [Asked], own: Option<&str>, consent: &Consent) -> Result<(), Failure> {
    let paths: Vec<PathBuf> = all.iter().map(|a| a.path.clone()).collect();
    // What is looked at must be what is written: nobody else may change what the path leads to.
    paths.iter().try_for_each(|path| disks::trust(path))?;
    let survey = disks::survey(&paths)?;
    for (disk, found) in all.iter_mut().zip(&survey) {
        check_group(disk, found, own)?;
        let kind = std::fs::metadata(&disk.path).with_context(|| format!("look at {}", disk.path.display()))?;
        if kind.file_type().is_block_device() {
            disk.sector_bytes = inspect_device(disk)?;
        } else {
            inspect_file(disk, kind.len(), found)?;
        }
    }
    if !consent.yes {
        return Err(Failure::Run(anyhow!(
            "this destroys what is on {}\n  say --yes if that is meant",
            shown(&paths)
        )));
    }
    Ok(())
}

/// What a header of ours on it says.
fn check_group(disk: &Asked, found: &Inspected, own: Option<&str>) -> Result<(), Failure> {
    let path = disk.path.display().to_string();
    let error = match found {
        Inspected::Newer(version) => GroupError::Newer {
            disk: path,
            found: *version,
            known: diskgroup::FORMAT_VERSION,
        },
        Inspected::Disk {
            group, member: true, ..
        } if own == Some(group) => GroupError::Refused {
            what: format!("disk {path} belongs to disk group {group} already"),
            cure: "name a disk that is not in it".to_string(),
        },
        Inspected::Disk {
            group, member: true, ..
        } if !disk.overwrite => {
            return Err(Failure::Run(anyhow!(
                "disk {path} belongs to disk group {group}: it is not touched\n  \
                 name another disk; if that group may be destroyed, say `--overwrite {path}`"
            )));
        }
        Inspected::Damaged if !disk.overwrite => {
            return Err(Failure::Run(anyhow!(
                "disk {path} has a damaged header of a disk group: it is not touched\n  \
                 `assay dg check` its group first; if its content may be destroyed, say `--overwrite {path}`"
            )));
        }
        _ => return Ok(()),
    };
    Err(Failure::Run(error.into()))
}

/// Gives the sector size.
fn inspect_device(disk: &Asked) -> Result<u32, Failure> {
    // Signatures are judged here, because the cure is another than in a study.
    let own = std::slice::from_ref(&disk.path);
    let facts = luns::inspect_device(&disk.path, own, own).map_err(|e| Failure::Run(e.into()))?;
    check_signatures(disk, &facts.signatures)?;
    Ok(u32::try_from(facts.logical_block).unwrap_or(0))
}

fn inspect_file(disk: &Asked, bytes: u64, found: &Inspected) -> Result<(), Failure> {
    let io = |e: std::io::Error| Failure::Run(anyhow!("read {}: {e}\n  check the file system", disk.path.display()));
    let file = std::fs::File::open(&disk.path).map_err(io)?;
    let signatures = luns::signatures(&file, bytes).map_err(io)?;
    check_signatures(disk, &signatures)?;
    let known = !matches!(found, Inspected::Foreign) || signatures.iter().any(|s| s.own);
    if disk.overwrite || known {
        return Ok(());
    }
    for at in [0, bytes.saturating_sub(END_BYTES)] {
        let mut part = vec![0; END_BYTES.min(bytes) as usize];
        file.read_exact_at(&mut part, at).map_err(io)?;
        if let Some(nth) = part.iter().position(|&b| b != 0) {
            return Err(Failure::Run(anyhow!(
                "{path} is not empty (byte {}): it is not touched\n  \
                 if its content may be destroyed, say `--overwrite {path}`; otherwise make a new file (truncate -s \
                 SIZE FILE)",
                at + nth as u64,
                path = disk.path.display()
            )));
        }
    }
    Ok(())
}

fn check_signatures(disk: &Asked, found: &[luns::Signature]) -> Result<(), Failure> {
    let foreign = found.iter().filter(|s| !s.own && s.name != OURS);
    let names: Vec<String> = foreign.map(|s| format!("{} at byte {}", s.name, s.offset)).collect();
    if names.is_empty() || disk.overwrite {
        return Ok(());
    }
    Err(Failure::Run(anyhow!(
        "{path} carries {}, which Assay did not write: it is not touched\n  \
         if that data may be destroyed, say `--overwrite {path}`; otherwise name another disk",
        names.join(", "),
        path = disk.path.display()
    )))
}

/// Specifications for the room: the files of a port from `first` on, names from `number` on.
pub(super) fn specs(group: &str, all: &[Asked], first: usize, number: usize) -> Vec<DiskSpec> {
    let spec = |(nth, disk): (usize, &Asked)| DiskSpec {
        file: FileId((first + nth) as u16),
        name: format!("{group}_{:04}", number + nth),
        failure_group: disk.failure_group.clone(),
        sector_bytes: disk.sector_bytes,
        overwrite: disk.overwrite,
    };
    all.iter().enumerate().map(spec).collect()
}

/// The room names disks as the group does; whoever has just named them knows their paths.
pub(super) fn name_paths(error: &GroupError, specs: &[DiskSpec], all: &[Asked]) -> Failure {
    let mut text = error.to_string();
    for (spec, disk) in specs.iter().zip(all) {
        text = text.replacen(&spec.name, &disk.path.display().to_string(), 1);
    }
    Failure::Run(anyhow!(text))
}
