//! Building a stack on LUNs and taking it down.
//!
//! Takes a stack of a study and its devices, gives a [`Built`]: what data and redo log are stored on ([`Ground`]),
//! and the facts. Data and redo LUNs get the same kind of file system. Every step is journalled before it is taken;
//! a build that fails undoes its own steps before it returns the error. Prevents half a stack.

use crate::built::{Base, Built, Made, layers, own_name};
use crate::device;
use crate::error::StackError;
use crate::filesystem::{Recipe, recipe};
use crate::ground::{FilePair, Ground};
use crate::held::Held;
use crate::journal::{Journal, Mark, NotUndone};
use crate::places::{Owners, Places, claim};
use crate::undo::{Undo, resolve};
use crate::volume;
use crate::zfs;
use crate::zfs::cleared::claimed;
use plan::{DiskGroup, Stack, StackKind, Volume, Zfs};
use sandbox::Directory;
use std::path::{Path, PathBuf};

/// Builds `stack` on `places`, with mount points in `work_dir`. Devices must be on the run's list
/// ([`Journal::may_write`]).
pub fn build(stack: &Stack, places: &Places, work_dir: &Directory, journal: &mut Journal) -> Result<Built, StackError> {
    let mark = journal.mark();
    work_dir.check()?;
    let all = places.all();
    let devices: Vec<PathBuf> = all.filter(|place| device::is_block(place)).cloned().collect();
    journal.run().part(&devices)?;
    check(stack, places)?;
    let built = match &stack.kind {
        StackKind::Directory { path } => directory(stack, path, mark, journal),
        StackKind::Raw => raw(places, mark),
        StackKind::Server { url } => Ok(server(url, mark)),
        StackKind::Diskgroup(group) => disk_group(group, places, journal),
        StackKind::Zfs(zfs) => match zfs.via {
            Some(way) if way.has_files() => zfs::build(stack, (zfs, way), places, work_dir, journal),
            _ => process_pool(zfs, places, mark, journal),
        },
        StackKind::Volume(volume) if volume.is_raw() => raw_volumes(volume, places, mark, journal),
        StackKind::FileSystem(_) | StackKind::Volume(_) => file_systems(stack, places, work_dir, mark, journal),
        StackKind::Model(_) => unreachable!("refused before"),
    };
    built.and_then(|built| held(stack, built, journal)).inspect_err(|_| {
        // What can't be undone stays in the journal: the end of the run tries again and reports it.
        let _ = journal.undo_to(mark);
    })
}

/// Keeps the devices of a stack for it. Under other kinds the kernel claims them by a mount, a volume or a pool.
fn held(stack: &Stack, built: Built, journal: &mut Journal) -> Result<Built, StackError> {
    if !matches!(stack.kind, StackKind::Raw | StackKind::Diskgroup(_)) {
        return Ok(built);
    }
    let held = Held::of(&built.devices);
    journal.hold(held.clone())?;
    Ok(Built { held, ..built })
}

/// Takes a stack down. Gives what could not be undone; it stays in the journal.
pub fn teardown(built: Built, journal: &mut Journal) -> Vec<NotUndone> {
    if matches!(built.ground, Ground::Devices { .. }) && built.volumes.is_empty() {
        // Pages of the engine could look like somebody's signature to who takes these devices next.
        built.held.let_go();
        // A loop device goes away, and what serves its file may not answer.
        let stays = |path: &&PathBuf| device::is_block(path) && !device::is_loop(path);
        for path in built.devices.iter().filter(stays) {
            let _ = device::claim(path, luns::MARKER, journal.run_id());
        }
    }
    journal.undo_to(built.mark)
}

/// What a stack does when the data are loaded and no phase has begun: the snapshot of a volume is taken.
///
/// # Errors
/// A snapshot that could not be taken.
pub fn loaded(built: &Built, journal: &Journal) -> Result<(), StackError> {
    let first = built.volumes.first();
    first.map_or(Ok(()), |volume| volume.snapshot(journal.run()))
}

fn check(stack: &Stack, places: &Places) -> Result<(), StackError> {
    let refuse = |why: &str, cure: &str| {
        Err(StackError::Unbuildable {
            stack: stack.name.clone(),
            why: why.to_owned(),
            cure: cure.to_owned(),
        })
    };
    for place in places.all() {
        // A disk group works on LUN files as well: those are made new for it and removed with the run.
        let file = stack.kind.takes_lun_files() && place.is_file();
        if !device::is_block(place) && !file {
            return refuse(
                &format!("{} is not a block device", place.display()),
                "attach a LUN file as a loop device first",
            );
        }
    }
    let all: Vec<PathBuf> = places.all().map(|p| resolve(p)).collect();
    if let Some((_, twice)) = all.iter().enumerate().find(|(i, p)| all[..*i].contains(p)) {
        return refuse(
            &format!("{} is used twice", twice.display()),
            "name each device once, in one LUN set",
        );
    }
    let count = places.data.len();
    match &stack.kind {
        StackKind::Directory { .. } | StackKind::Server { .. } => Ok(()),
        StackKind::Model(_) => refuse(
            "a model is not built on this machine",
            "it is simulated: hand it to the model target",
        ),
        _ if count == 0 => refuse("it has no LUN for data", "name a LUN set: data = \"...\""),
        kind if kind.is_raw() && places.redo.is_empty() => refuse(
            "without a file system the redo log needs a LUN of its own",
            "name a LUN set: redo = \"...\"",
        ),
        StackKind::Raw => Ok(()),
        StackKind::FileSystem(made) if !made.row().several_luns && most_of(places) > 1 => refuse(
            &format!(
                "{} takes one LUN each for data, redo and temp in this version",
                made.row().name
            ),
            "give its LUN sets count = 1, or use btrfs",
        ),
        StackKind::Volume(volume) if least_of(places, volume.reserve) < volume.least_luns().0 => refuse(
            "its layout needs more LUNs for data, redo or temp than there are",
            "give its LUN sets a higher count, or choose another layout",
        ),
        StackKind::FileSystem(made) if count < made.least_luns().0 => refuse(
            "raid0 and raid1 need at least two data LUNs",
            "give its LUN set count = 2 or more, or profile = \"single\"",
        ),
        _ => Ok(()),
    }
}

/// LUNs of the smallest of its sets, without those in reserve.
fn least_of(places: &Places, reserve: u32) -> usize {
    let others = [places.redo.len(), places.temp.len()]
        .into_iter()
        .filter(|count| *count > 0);
    let data = places.data.len().saturating_sub(reserve as usize);
    others.fold(data, usize::min)
}

/// LUNs of the largest of its sets.
fn most_of(places: &Places) -> usize {
    places.data.len().max(places.redo.len()).max(places.temp.len())
}

fn directory(stack: &Stack, path: &Path, mark: Mark, journal: &mut Journal) -> Result<Built, StackError> {
    let above = Directory::open(path)?;
    let made = journal.make_directory(&above, &own_name(journal, stack, ""), 0o711, true)?;
    let own = made.path().to_owned();
    let cure = "check that its file system is mounted and answers (stat, dmesg)";
    let stat = rustix::fs::fstatvfs(&made).map_err(|e| StackError::path("look at", &own, e, cure))?;
    let mount = crate::host::mounts::holding(&own).map_err(|e| StackError::path("find the mount of", &own, e, cure))?;
    let (kind, options, mounted) =
        mount.map_or_else(Default::default, |m| (m.kind, m.options, m.place.display().to_string()));
    let ground = Ground::Files(FilePair {
        data: own.join("data"),
        redo: own.join("redo"),
    });
    let layers = vec!["directory".to_owned(), kind.clone()];
    Ok(Built {
        facts: vec![
            ("directory".to_owned(), above.path().display().to_string()),
            ("file system".to_owned(), kind),
            ("mount point".to_owned(), mounted),
            ("mount options".to_owned(), options),
            ("block size".to_owned(), stat.f_bsize.to_string()),
        ],
        usable_bytes: Some(stat.f_bavail * stat.f_frsize),
        own: vec![made],
        ..Built::on(ground, &Places::default(), layers, mark)
    })
}

/// A server that is there already: nothing is built, and nothing of its storage can be seen.
fn server(url: &str, mark: Mark) -> Built {
    let seen = "what the server says: not its devices, memory or processor time";
    Built {
        facts: vec![
            ("server".to_owned(), url.to_owned()),
            ("seen".to_owned(), seen.to_owned()),
        ],
        ..Built::on(Ground::Server, &Places::default(), vec!["server".to_owned()], mark)
    }
}

fn raw(places: &Places, mark: Mark) -> Result<Built, StackError> {
    let mut usable_bytes = 0;
    let mut facts = Vec::new();
    for path in &places.data {
        let bytes = device::size(path)
            .map_err(|e| StackError::path("find the size of", path, e, "check that the device is there"))?;
        facts.push((format!("bytes of {}", path.display()), bytes.to_string()));
        usable_bytes += bytes;
    }
    // The log takes one device; a set of several would need a volume manager.
    let redo = places.redo.first().expect("checked before");
    let ground = Ground::Devices {
        data: places.data.clone(),
        redo: redo.clone(),
    };
    Ok(Built {
        facts,
        usable_bytes: Some(usable_bytes),
        ..Built::on(ground, places, layers("raw", &places.data), mark)
    })
}

/// Volumes that the engine uses as devices: one of the data's LUNs, one of the redo log's.
fn raw_volumes(asked: &Volume, places: &Places, mark: Mark, journal: &mut Journal) -> Result<Built, StackError> {
    let manager = &asked.manager;
    let (data, mut facts) = volume::build(manager, (&places.data, asked.reserve), &places.marker, journal)?;
    let (redo, of_redo) = volume::build(&asked.beside_data().manager, (&places.redo, 0), &places.marker, journal)?;
    facts.extend(facts_of("redo", of_redo));
    let device = data.device();
    let bytes = device::size(&device)
        .map_err(|e| StackError::path("find the size of", &device, e, "check that the device is there"))?;
    let ground = Ground::Devices {
        data: vec![device],
        redo: redo.device(),
    };
    Ok(Built {
        facts,
        usable_bytes: Some(bytes),
        volumes: vec![data, redo],
        ..Built::on(ground, places, layers(volume::word(manager), &places.data), mark)
    })
}

/// Facts of what is not the data's: their keys begin with its role.
fn facts_of(role: &'static str, facts: Vec<(String, String)>) -> impl Iterator<Item = (String, String)> {
    facts
        .into_iter()
        .map(move |(key, value)| (format!("{role} {key}"), value))
}

/// Clears the devices for a disk group; the engine, which holds its extent map, makes it.
fn disk_group(group: &DiskGroup, places: &Places, journal: &mut Journal) -> Result<Built, StackError> {
    let mark = journal.mark();
    let mut owners = Owners {
        data: device::uuid(journal.run_id(), journal.mark().0, &places.data[0]),
        redo: None,
        temp: None,
    };
    let mut usable_bytes = 0;
    let members = places.data.len().saturating_sub(group.reserve as usize);
    for (nth, path) in places.data.iter().enumerate() {
        if device::is_block(path) {
            claim(path, "diskgroup", owners.data, &places.marker, journal)?;
        }
        let bytes = device::size(path)
            .map_err(|e| StackError::path("find the size of", path, e, "check that the device is there"))?;
        if nth >= members {
            // In reserve: it may join the group later, so it is made ready and wiped with the others.
            continue;
        }
        // Headers, table and journal take whole units, and the metadata files some more; the spread
        // over disks is not exact.
        usable_bytes += (bytes.saturating_sub(16 * group.au.0) as f64 * 0.97) as u64;
    }
    owners.redo = claim_group(&places.redo, &places.marker, journal)?;
    owners.temp = claim_group(&places.temp, &places.marker, journal)?;
    Ok(Built {
        usable_bytes: Some(usable_bytes / u64::from(group.redundancy.copies())),
        ..Built::on(Ground::Group(owners), places, layers("diskgroup", &places.data), mark)
    })
}

/// Clears the LUNs of a group beside that of the data; gives the UUID to make it with, if there are any.
fn claim_group(luns: &[PathBuf], marker: &str, journal: &mut Journal) -> Result<Option<[u8; 16]>, StackError> {
    let Some(first) = luns.first() else { return Ok(None) };
    let uuid = device::uuid(journal.run_id(), journal.mark().0, first);
    for path in luns.iter().filter(|path| device::is_block(path)) {
        claim(path, "diskgroup", uuid, marker, journal)?;
    }
    Ok(Some(uuid))
}

/// LUNs for pools that a process makes which speaks for itself.
fn process_pool(zfs: &Zfs, places: &Places, mark: Mark, journal: &mut Journal) -> Result<Built, StackError> {
    let luns = claimed(zfs, places, journal)?;
    // Labels, metaslabs that are cut to size, metadata: none of it exact.
    let usable_bytes = plan::zfs_room(zfs, luns.data_bytes, places.data.len() as u64) / 100 * 96;
    Ok(Built {
        facts: vec![("way to ZFS".to_owned(), "userspace".to_owned())],
        usable_bytes: Some(usable_bytes),
        ..Built::on(
            Ground::ProcessPool(luns.owners),
            places,
            layers("zfs", &places.data),
            mark,
        )
    })
}

fn file_systems(
    stack: &Stack,
    places: &Places,
    work_dir: &Directory,
    mark: Mark,
    journal: &mut Journal,
) -> Result<Built, StackError> {
    let name = own_name(journal, stack, "-data");
    let reserve = stack.kind.reserve();
    let base = base(stack.kind.volume(), (&places.data, reserve), &places.marker, journal)?;
    let beside = stack.kind.volume().map(Volume::beside_data);
    let (data, first) = one_file_system(stack, &base, (work_dir, &name), (&places.marker, &mut *journal))?;
    let data_place = first.place.path().to_owned();
    let mut volumes: Vec<_> = base.volume.into_iter().collect();
    let mut made = vec![first];
    let mut facts = data.facts;
    let mut mounts = vec![data_place.clone()];
    let (mut redo_place, mut temp) = (data_place.clone(), None);
    for (role, luns) in [("redo", &places.redo), ("temp", &places.temp)] {
        if luns.is_empty() {
            continue;
        }
        let name = own_name(journal, stack, &format!("-{role}"));
        let base = self::base(beside.as_ref(), (luns, 0), &places.marker, journal)?;
        let (recipe, other) = one_file_system(stack, &base, (work_dir, &name), (&places.marker, &mut *journal))?;
        volumes.extend(base.volume);
        let place = other.place.path().to_owned();
        made.push(other);
        facts.extend(facts_of(role, recipe.facts));
        mounts.push(place.clone());
        match role {
            "redo" => redo_place = place,
            _ => temp = Some(place),
        }
    }
    let stat = rustix::fs::statvfs(&data_place)
        .map_err(|e| StackError::path("look at", &data_place, e, "check the kernel log (dmesg)"))?;
    // One layer with its volume: as a disk group is one, which does the work of both.
    let top = match stack.kind.volume() {
        Some(volume) => format!("{} on {}", data.kind, volume::word(&volume.manager)),
        None => data.kind.to_owned(),
    };
    let ground = Ground::Files(FilePair {
        data: data_place.join("data"),
        redo: redo_place.join("redo"),
    });
    Ok(Built {
        mounts,
        temp,
        facts,
        usable_bytes: Some(stat.f_bavail * stat.f_frsize),
        made,
        volumes,
        own: vec![work_dir.clone()],
        ..Built::on(ground, places, layers(&top, &places.data), mark)
    })
}

/// What a file system lies on: the LUNs as they are, or a volume made of them.
fn base(
    volume: Option<&Volume>,
    (luns, reserve): (&[PathBuf], u32),
    marker: &str,
    journal: &mut Journal,
) -> Result<Base, StackError> {
    let Some(asked) = volume else {
        return Ok(Base {
            devices: luns.to_vec(),
            volume: None,
            facts: Vec::new(),
        });
    };
    let (made, facts) = volume::build(&asked.manager, (luns, reserve), marker, journal)?;
    Ok(Base {
        devices: vec![made.device()],
        volume: Some(made),
        facts,
    })
}

/// Clears the devices, makes the file system and mounts it.
fn one_file_system(
    stack: &Stack,
    base: &Base,
    (work_dir, name): (&Directory, &str),
    (marker, journal): (&str, &mut Journal),
) -> Result<(Recipe, Made), StackError> {
    let devices = &base.devices;
    let uuid = device::uuid(journal.run_id(), journal.mark().0, &devices[0]);
    let mut recipe = recipe(&stack.kind, devices, &uuid).expect("only kinds with a file system come here");
    recipe.facts.extend(base.facts.clone());
    for path in devices {
        claim(path, recipe.kind, uuid, marker, journal)?;
    }
    recipe.make(journal.run())?;
    let place = journal.make_directory(work_dir, name, 0o711, false)?;
    let path = place.path().to_owned();
    journal.before(Undo::Unmount { path })?;
    recipe.mount(&devices[0], &place)?;
    let devices = devices.clone();
    let made = Made { uuid, devices, place };
    Ok((recipe, made))
}
