//! Commands of mdadm: which are given, and how an array is found again.
//!
//! An array has the UUID that the journal holds; it is stopped wherever the kernel has assembled it, under whatever
//! name. Prevents: an array of another run, or of the machine, that is stopped in the place of ours.

use super::commands::{PATIENCE, on_array, tool, words};
use super::mapped;
use crate::error::StackError;
use crate::run::Run;
use crate::tool::argument;
use plan::{Md, MdLevel, Resync};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// What is written in the place of the machine's name: no machine assembles it as its own.
const HOME_HOST: &str = "assay";

/// So often is an array assembled before its LUNs are held to be why it does not come up.
const TRIES: u32 = 3;

/// A name of 32 characters is the longest, the host's among them.
fn name(uuid: &[u8; 16]) -> String {
    let hex: String = uuid[..8].iter().map(|byte| format!("{byte:02x}")).collect();
    format!("assay-{hex}")
}

pub(super) fn device(uuid: &[u8; 16]) -> PathBuf {
    Path::new("/dev/md").join(name(uuid))
}

/// As mdadm writes a UUID: four groups of eight.
fn md_uuid(uuid: &[u8; 16]) -> String {
    let groups = uuid
        .chunks(4)
        .map(|four| four.iter().map(|byte| format!("{byte:02x}")).collect::<String>());
    groups.collect::<Vec<_>>().join(":")
}

/// Makes the array. Gives the command.
pub(super) fn make(asked: &Md, uuid: &[u8; 16], luns: &[PathBuf], run: &Run) -> Result<Vec<String>, StackError> {
    let made = tool("mdadm", create(asked, uuid, luns), luns);
    made.run(Some(run))?;
    Ok(vec![made.line()])
}

fn create(asked: &Md, uuid: &[u8; 16], luns: &[PathBuf]) -> Vec<String> {
    let level = match asked.level {
        MdLevel::Raid0 => "0",
        MdLevel::Raid1 => "1",
        MdLevel::Raid10 => "10",
        MdLevel::Raid5 => "5",
    };
    let mut args = words(&["--create", &argument(&device(uuid)), "--run", "--metadata=1.2"]);
    args.push(format!("--homehost={HOME_HOST}"));
    args.push(format!("--name={}", name(uuid)));
    args.push(format!("--uuid={}", md_uuid(uuid)));
    args.push(format!("--level={level}"));
    args.push(format!("--raid-devices={}", luns.len()));
    if asked.level != MdLevel::Raid1 {
        args.push(format!("--chunk={}", asked.chunk.0 >> 10));
    }
    if asked.level != MdLevel::Raid0 {
        // Unless it is said, mdadm adds one to arrays from 100 GiB on.
        args.push(format!("--bitmap={}", if asked.bitmap { "internal" } else { "none" }));
        args.extend((asked.resync == Resync::Assume).then(|| "--assume-clean".to_owned()));
    }
    args.extend(luns.iter().map(|path| argument(path)));
    args
}

/// Holds the journal's lock, or a clean-up would stop an array that comes after it. Where udev runs it may bring the
/// array up first, and without a LUN that it has not seen yet: such an array is stopped, and all is tried again.
pub(super) fn start(uuid: &[u8; 16], luns: &[PathBuf], run: &Run) -> Result<(), StackError> {
    let mut args = words(&["--assemble", &argument(&device(uuid)), "--run"]);
    args.push(format!("--homehost={HOME_HOST}"));
    args.push(format!("--uuid={}", md_uuid(uuid)));
    args.extend(luns.iter().map(|path| argument(path)));
    let assemble = tool("mdadm", args, luns);
    let cleared = || {
        let cure = "end what uses the array";
        stop(uuid).map_err(|e| StackError::path("stop the array before it is assembled", &device(uuid), e, cure))
    };
    let mut tries = 0;
    loop {
        cleared()?;
        let Err(failed) = assemble.run(Some(run)) else {
            return writable(uuid, run);
        };
        tries += 1;
        // What mdadm may have left half done.
        cleared()?;
        for lun in luns {
            let cure = "end what uses the LUN";
            crate::device::wait_until_free(lun).map_err(|e| StackError::path("assemble an array of", lun, e, cure))?;
        }
        if tries == TRIES {
            return Err(failed.not_brought_up());
        }
        std::thread::sleep(Duration::from_millis(300));
    }
}

/// With `start_ro`, which distributions set, an array that was assembled is read-only until its first write. Until then
/// the kernel puts nothing right, and nobody may write before it has.
fn writable(uuid: &[u8; 16], run: &Run) -> Result<(), StackError> {
    let failed = |e| StackError::path("look at", &device(uuid), e, "see the kernel log (dmesg)");
    let array = mapped::here().array_of(uuid).map_err(failed)?;
    let state = mapped::here().of_array(&array, "array_state").map_err(failed)?;
    if !is_read_only(&state) {
        return Ok(());
    }
    let args = words(&["--readwrite", &argument(&array)]);
    on_array(&array, args, &[]).run(Some(run)).map(drop)
}

/// Whether `array_state` says so; a first write ends "read-auto".
fn is_read_only(state: &str) -> bool {
    matches!(state, "read-auto" | "readonly")
}

/// Stops the array with this UUID. None: fine.
pub(crate) fn stop(uuid: &[u8; 16]) -> io::Result<()> {
    let begin = Instant::now();
    loop {
        let array = match mapped::here().array_of(uuid) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                let hex = md_uuid(uuid).replace(':', "");
                return mapped::here().forget_array(&device(uuid), &hex);
            }
            found => found?,
        };
        let failed = on_array(&array, words(&["--stop", &argument(&array)]), &[])
            .run(None)
            .err();
        if begin.elapsed() > PATIENCE {
            let why = failed.map_or_else(|| "it comes back".to_owned(), |e| e.to_string());
            return Err(io::Error::other(why));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::Bytes;

    #[test]
    fn an_array_that_waits_for_its_first_write_is_read_only() {
        assert!(is_read_only("read-auto") && is_read_only("readonly"));
        for state in ["", "active", "active-idle", "clean", "write-pending", "inactive"] {
            assert!(!is_read_only(state), "{state}");
        }
    }

    #[test]
    fn the_command_says_all_that_mdadm_would_choose() {
        let luns = ["/dev/a", "/dev/b", "/dev/c"].map(PathBuf::from);
        let raid5 = Md {
            level: MdLevel::Raid5,
            chunk: Bytes(64 << 10),
            resync: Resync::Wait,
            bitmap: false,
        };
        let uuid = [0x1a; 16];
        assert_eq!(
            create(&raid5, &uuid, &luns).join(" "),
            "--create /dev/md/assay-1a1a1a1a1a1a1a1a --run --metadata=1.2 --homehost=assay \
             --name=assay-1a1a1a1a1a1a1a1a --uuid=1a1a1a1a:1a1a1a1a:1a1a1a1a:1a1a1a1a --level=5 --raid-devices=3 \
             --chunk=64 --bitmap=none /dev/a /dev/b /dev/c"
        );
        let mirror = Md {
            level: MdLevel::Raid1,
            resync: Resync::Assume,
            bitmap: true,
            ..raid5
        };
        let line = create(&mirror, &uuid, &luns[..2]).join(" ");
        let end = "--level=1 --raid-devices=2 --bitmap=internal --assume-clean /dev/a /dev/b";
        assert!(line.ends_with(end), "{line}");
    }
}
