//! LUN sets: sizes, directories, devices.
//!
//! Takes the sets as written; gives [`LunSet`]s. Prevents: a device that serves in two sets, and a LUN whose size no
//! block device can have.

use super::devices;
use super::settle::{MIB, Settle};
use crate::error::Span;
use crate::study::{LunSet, LunSource};
use crate::units::Bytes;
use crate::written::{At, Listed, Overwrite, Said, WrittenSource, WrittenStudy};
use std::collections::BTreeMap;
use std::path::PathBuf;

pub(super) fn resolve(written: &WrittenStudy, settle: &mut Settle<'_>) -> Vec<LunSet> {
    let mut seen: BTreeMap<PathBuf, String> = BTreeMap::new();
    let mut sets = Vec::new();
    for set in &written.luns {
        let name = settle.name(&Some(set.name.clone()), "LUN set");
        if name == "none" {
            settle.findings.add(
                &set.name.span,
                "a LUN set cannot be named \"none\"",
                "give it another name, such as `data`",
            );
        }
        let source = match &set.source {
            Some(WrittenSource::Files(files)) => {
                let dir = files.dir();
                if let Some(at) = dir.written {
                    let cure = format!("write the directory of the files: {}", dir.example());
                    settle.path(at, dir.key, &cure);
                }
                LunSource::Files {
                    count: settle.count(&files.count()),
                    size: lun_size(&files.size(), settle),
                    dir: PathBuf::from(dir.value()),
                }
            }
            Some(WrittenSource::Devices { paths, overwrite }) => real(paths, overwrite, &name, &mut seen, settle),
            None => continue,
        };
        let device = devices::resolve(&set.device, written, &source, settle);
        sets.push(LunSet { name, source, device });
    }
    sets
}

fn lun_size(key: &Said<'_, Bytes, Bytes, ()>, settle: &mut Settle<'_>) -> Bytes {
    let Some(at) = key.written else { return Bytes(MIB) };
    let size = settle.scaled(at.value.0);
    let holds = key.limits.hold(&Bytes(size));
    if !holds && size < MIB {
        let cure = "write at least 1MiB; an ordinary LUN has some GiB: size = \"2GiB\"";
        settle
            .findings
            .add(&at.span, format!("a LUN of {} is too small", Bytes(size)), cure);
    } else if !size.is_multiple_of(4096) {
        let round = Bytes((size / MIB).max(1) * MIB);
        let message = format!("a LUN of {size} bytes is not a whole number of 4 KiB blocks");
        settle
            .findings
            .add(&at.span, message, format!("write size = \"{round}\""));
    } else if !holds {
        settle.findings.add(
            &at.span,
            format!("a LUN of {} is too large", Bytes(size)),
            "write at most 1PiB",
        );
    }
    Bytes(size)
}

fn real(
    paths: &At<Listed>,
    overwrite: &Option<At<Overwrite>>,
    name: &str,
    seen: &mut BTreeMap<PathBuf, String>,
    settle: &mut Settle<'_>,
) -> LunSource {
    let all = &paths.value.0;
    if all.is_empty() {
        let cure = "name them: devices = [\"/dev/nvme1n1\"]";
        settle.findings.add(&paths.span, "a LUN set of no devices", cure);
    }
    for At { value: path, span } in all {
        check_device(path, span, settle);
        if let Some(other) = seen.insert(PathBuf::from(path), name.to_string()) {
            let message = if other == name {
                format!("{path:?} is twice in this LUN set")
            } else {
                format!("{path:?} is in two LUN sets, {other:?} and {name:?}")
            };
            let cure = "a device serves in one place of one set: remove one of the two";
            settle.findings.add(span, message, cure);
        }
    }
    let plain = |paths: &[At<String>]| -> Vec<PathBuf> { paths.iter().map(|at| PathBuf::from(&at.value)).collect() };
    let overwrite = match overwrite.as_ref().map(|at| &at.value) {
        None | Some(Overwrite::All(false)) => Vec::new(),
        Some(Overwrite::All(true)) => plain(all),
        Some(Overwrite::Named(Listed(named))) => {
            let is_foreign = |at: &&At<String>| !all.iter().any(|listed| listed.value == at.value);
            for at in named.iter().filter(is_foreign) {
                let message = format!("`overwrite` names {:?}, which is not in this LUN set", at.value);
                let cure = "name only devices of this set, exactly as in `devices`";
                settle.findings.add(&at.span, message, cure);
            }
            plain(named)
        }
    };
    LunSource::Devices {
        paths: plain(all),
        overwrite,
    }
}

fn check_device(path: &str, span: &Span, settle: &mut Settle<'_>) {
    if !crate::plain::is_device(path) {
        let cure = "name whole block devices by their path: \"/dev/nvme1n1\" or \"/dev/disk/by-id/...\"";
        let message = format!("{path:?} is not the path of a device");
        settle.findings.add(span, message, cure);
    }
}
