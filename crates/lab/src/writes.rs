//! What a run of a study writes to: one list, as data, for the person who asks before a run and for whatever confines
//! the run's tools.
//!
//! Takes the study and the result file; gives paths, each with the reason, and touches nothing. Prevents: a run that
//! writes where nobody was told.

use crate::sql::kinds;
use plan::{DeviceModel, LunSource, Manager, Study, ZfsWay};
use sandbox::{Directory, SandboxError};
use std::path::{Path, PathBuf};

/// All that a run writes to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Writes {
    /// Block devices that are written over. Loop devices that the run attaches to its own files are not among them.
    pub devices: Vec<Written>,
    /// Directories in which it makes folders of its own, and removes them again. It writes to nothing else in them.
    pub directories: Vec<Written>,
    /// Files.
    pub files: Vec<Written>,
    /// Files and directories of the kernel by which it attaches, mounts and limits, and places of the tools of LVM and
    /// md, which make devices there.
    pub kernel: Vec<Written>,
    /// Servers that are there already, in which it makes databases of its own.
    pub servers: Vec<Written>,
}

/// One path, or one server's address, with all that it is written for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Absolute, without links as far as it is there already; a server's address as the study says it.
    pub path: PathBuf,
    /// As the study says it.
    asked: PathBuf,
    /// Why, for a person.
    pub why: Vec<String>,
}

impl Writes {
    /// What a run of `study` into the result file `output` would write to.
    pub fn of(study: &Study, output: &Path) -> Writes {
        let mut writes = Writes::default();
        let result = real(output);
        add(&mut writes.files, result.clone(), "the result file");
        add(
            &mut writes.files,
            beside(&result, "-journal"),
            "its journal while it is written",
        );
        if study.stacks.iter().any(|stack| stack.kind.model().is_some()) {
            return writes;
        }
        // Without one there is no run, which says so.
        if let Ok(state) = stacks::state_dir() {
            let why = "the journal of what is to be undone";
            add(&mut writes.directories, state, why);
        }
        let work = work_place(study);
        add(
            &mut writes.directories,
            work,
            "mount points, what services and pools keep, and tables that are copied",
        );
        writes.luns(study);
        for stack in &study.stacks {
            writes.stack(stack);
        }
        writes.memory(study);
        writes
    }

    /// Whether a run may write over this device: what a person was told is what the run is held to.
    pub fn names_device(&self, path: &Path) -> bool {
        self.devices.iter().any(|written| written.path == real(path))
    }

    fn luns(&mut self, study: &Study) {
        for set in &study.luns {
            match &set.source {
                LunSource::Files { dir, .. } => {
                    add(
                        &mut self.directories,
                        dir.clone(),
                        &format!("LUN files of set {}", set.name),
                    );
                    for (path, why) in [
                        ("/dev/loop-control", "loop devices are attached to LUN files"),
                        (
                            "/sys/block/loop*/queue/discard_max_bytes",
                            "and made to discard nothing",
                        ),
                    ] {
                        add(&mut self.kernel, path.into(), why);
                    }
                }
                LunSource::Devices { paths, .. } => {
                    for path in paths {
                        let why = format!("LUN set {}: its content is destroyed", set.name);
                        add(&mut self.devices, path.clone(), &why);
                    }
                }
            }
            let Some(device) = &set.device else { continue };
            add(&mut self.kernel, "/dev/fuse".into(), "modelled LUNs are served");
            if device.model == DeviceModel::Hdd {
                let file = "/sys/block/loop*/queue/rotational";
                add(
                    &mut self.kernel,
                    file.into(),
                    "loop devices on modelled disks say that they turn",
                );
            }
        }
    }

    fn stack(&mut self, stack: &plan::Stack) {
        if let Some(url) = stack.kind.server() {
            let what = match stack.engine.files() {
                Some(_) => "directories named assay-*",
                None => "databases named assay_*",
            };
            let why = format!("{what}, of stack {}", stack.name);
            self.servers.push(Written {
                path: url.into(),
                asked: url.into(),
                why: vec![why],
            });
            return;
        }
        if let Some(path) = stack.kind.directory() {
            let why = format!("the database of stack {}", stack.name);
            add(&mut self.directories, path.into(), &why);
        }
        if let Some(volume) = stack.kind.volume() {
            let why = match volume.manager {
                Manager::Lvm(_) => "tools of LVM make its volumes and take them away",
                Manager::Md(_) => "tools of md make its arrays and take them away",
            };
            for place in stacks::VOLUME_PLACES {
                add(&mut self.kernel, place.into(), why);
            }
        }
        match stack.kind.pool().and_then(|zfs| zfs.via) {
            Some(ZfsWay::Kernel) => {
                add(&mut self.kernel, "/dev/zfs".into(), "pools of the kernel's module");
                let why = "its cache and read-ahead, put back at the end";
                add(&mut self.kernel, "/sys/module/zfs/parameters".into(), why);
            }
            Some(ZfsWay::Fuse) => add(&mut self.kernel, "/dev/fuse".into(), "file systems of zfs-fuse"),
            Some(ZfsWay::Userspace) | None => {}
        }
        for (directory, why) in kinds::of(&stack.engine).map_or(Vec::new(), |database| database.writes_beside()) {
            add(&mut self.directories, directory, why);
        }
    }

    /// What empties caches and bounds memory.
    fn memory(&mut self, study: &Study) {
        if stacks::is_root() {
            let drop = "/proc/sys/vm/drop_caches";
            let why = "the page cache of the whole host is emptied before phases";
            add(&mut self.kernel, drop.into(), why);
        }
        if study.memory.budget.is_some() {
            let why = "a control group that bounds the memory, removed at the end";
            add(&mut self.kernel, "/sys/fs/cgroup".into(), why);
        }
    }

    /// Directories in which root will not work, because another user can change them or the way there.
    pub fn refused(&self) -> Vec<SandboxError> {
        let there = |path: &Path| path.ancestors().find(|place| place.is_dir()).map(Path::to_path_buf);
        let directories = self.directories.iter().map(|written| written.asked.as_path());
        let beside = self.files.iter().filter_map(|written| written.path.parent());
        let opened = directories.chain(beside).filter_map(there);
        let refused = opened.filter_map(|dir| Directory::open(&dir).err());
        refused
            .filter(|error| matches!(error, SandboxError::Untrusted { .. }))
            .collect()
    }

    /// The lists with their headings, those first that lose something.
    pub fn lists(&self) -> [(&'static str, &[Written]); 5] {
        [
            ("devices", &self.devices),
            ("directories", &self.directories),
            ("files", &self.files),
            ("kernel", &self.kernel),
            ("servers", &self.servers),
        ]
    }
}

fn add(list: &mut Vec<Written>, asked: PathBuf, why: &str) {
    let path = real(&asked);
    let why = why.to_string();
    match list.iter_mut().find(|written| written.path == path) {
        Some(written) if written.why.contains(&why) => {}
        Some(written) => written.why.push(why),
        None => list.push(Written {
            path,
            asked,
            why: vec![why],
        }),
    }
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// Absolute, and without links as far as it is there: of what is not there yet, the part that is.
fn real(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let mut missing = Vec::new();
    for place in absolute.ancestors() {
        if let Ok(found) = place.canonicalize() {
            return missing.iter().rev().fold(found, |path, name| path.join(name));
        }
        missing.extend(place.file_name().map(|name| name.to_owned()));
    }
    absolute
}

/// Where mount points go: beside the first LUN files, else in the first directory measured, else in the temporary one.
pub(crate) fn work_place(study: &Study) -> PathBuf {
    let files = study.luns.iter().find_map(|set| match &set.source {
        plan::LunSource::Files { dir, .. } => Some(dir.clone()),
        plan::LunSource::Devices { .. } => None,
    });
    let directory = study.stacks.iter().find_map(|stack| stack.kind.directory());
    files
        .or(directory.map(Path::to_path_buf))
        .unwrap_or_else(std::env::temp_dir)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(stack: &str, luns: &str, more: &str) -> Writes {
        let text = format!(
            "[study]\nname = \"w\"\n{luns}[[stack]]\nname = \"s\"\n{stack}\n{more}[[phase]]\nname = \"read\"\n\
             kind = \"random\"\n\
             update_pct = 0\ntime = \"1s\"\n"
        );
        let study = plan::parse(&text, Path::new("w.toml")).unwrap_or_else(|error| panic!("{error}"));
        Writes::of(&study, Path::new("w.assay"))
    }

    fn paths(list: &[Written]) -> Vec<String> {
        list.iter().map(|written| written.path.display().to_string()).collect()
    }

    #[test]
    fn devices_are_named_as_they_are_and_not_as_links() {
        let dir = tempfile::tempdir().expect("a directory");
        let link = dir.path().join("link");
        std::os::unix::fs::symlink("/dev/null", &link).expect("a link");
        assert_eq!(real(&link), Path::new("/dev/null"));
        assert_eq!(
            real(&dir.path().join("not/yet")),
            dir.path().canonicalize().expect("there").join("not/yet")
        );
        let luns = "[luns.data]\ndevices = [\"/dev/null\"]\n";
        let writes = of(
            "kind = \"ext4\"\ndata = \"data\"",
            luns,
            "[database]\nscale = \"64MiB\"\n",
        );
        assert_eq!(paths(&writes.devices), ["/dev/null"]);
        assert!(
            paths(&writes.directories).contains(
                &real(&stacks::state_dir().expect("a state directory"))
                    .display()
                    .to_string()
            )
        );
    }

    #[test]
    fn each_kind_says_where_it_writes() {
        let here = std::env::current_dir().expect("here").canonicalize().expect("there");
        let luns = "[luns.data]\nfiles = { size = \"512MiB\" }\n";
        let files = of("kind = \"ext4\"\ndata = \"data\"", luns, "");
        assert_eq!(files.devices, []);
        assert!(
            paths(&files.directories).contains(&here.display().to_string()),
            "{files:?}"
        );
        assert!(
            paths(&files.files).contains(&here.join("w.assay").display().to_string()),
            "{files:?}"
        );
        assert!(
            paths(&files.kernel).contains(&"/dev/loop-control".to_string()),
            "{files:?}"
        );
        let database = "[database]\nengine = \"postgres\"\n";
        let postgres = of("kind = \"ext4\"\ndata = \"data\"", luns, database);
        assert!(
            paths(&postgres.directories).contains(&"/dev/shm".to_string()),
            "{postgres:?}"
        );
        let server = of("kind = \"server\"\nurl = \"postgres://joe@localhost/joe\"", "", "");
        assert_eq!(paths(&server.servers), ["postgres://joe@localhost/joe"]);
        let modelled = of("kind = \"model\"", "", "");
        assert!(
            modelled.directories.is_empty() && modelled.kernel.is_empty(),
            "{modelled:?}"
        );
        assert_eq!(modelled.files.len(), 2);
        let bounded = of(
            "kind = \"ext4\"\ndata = \"data\"",
            luns,
            "[memory]\nbudget = \"512MiB\"\n",
        );
        assert!(
            paths(&bounded.kernel).contains(&"/sys/fs/cgroup".to_string()),
            "{bounded:?}"
        );
        let traced = bounded
            .kernel
            .iter()
            .any(|one| one.path.starts_with("/sys/kernel/tracing"));
        assert!(!traced, "no run counts block I/O by a tracing instance: {bounded:?}");
        let zfs = of("kind = \"zfs\"\nvia = \"kernel\"\ndata = \"data\"", luns, "");
        assert!(paths(&zfs.kernel).contains(&"/dev/zfs".to_string()), "{zfs:?}");
    }

    #[test]
    fn stacks_of_lvm_and_md_say_all_that_their_tools_may_write_to() {
        let luns = "[luns.data]\nfiles = { count = 2, size = \"1GiB\" }\n";
        let lvm = of("kind = \"lvm\"\ndata = \"data\"", luns, "");
        let md = of("kind = \"md\"\nlevel = \"raid1\"\ndata = \"data\"", luns, "");
        for place in stacks::VOLUME_PLACES {
            let place = real(Path::new(place)).display().to_string();
            for writes in [&lvm, &md] {
                assert!(paths(&writes.kernel).contains(&place), "{place}: {writes:?}");
            }
        }
        let one = "[luns.data]\nfiles = { count = 1, size = \"1GiB\" }\n";
        let plain = of("kind = \"ext4\"\ndata = \"data\"", one, "");
        assert!(!paths(&plain.kernel).contains(&"/dev".to_string()), "{plain:?}");
    }
}
