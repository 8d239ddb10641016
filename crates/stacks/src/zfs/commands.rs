//! ZFS by its commands, the same for both ways: pools made, imported, exported, asked; datasets made and set.
//!
//! Takes where the tools are, and in which mount namespace they must run; gives what they say. A pool is not entered in
//! any cache file, so that no boot and no daemon imports it by itself. Prevents: two ways that are built differently
//! where they need not be.

use super::counts::{ArcCounted, OF_DAEMON_AT, number};
use super::module;
use super::ways::{self, Programs};
use crate::error::StackError;
use crate::run::Run;
use crate::tool::{Output, Tool, argument};
use plan::{Vdevs, Zfs};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Making a pool writes its labels and some first blocks.
const MAKE_LIMIT: Duration = Duration::from_secs(120);
/// An import replays intent logs.
const IMPORT_LIMIT: Duration = Duration::from_secs(300);
/// A sync waits for whatever is dirty.
const SYNC_LIMIT: Duration = Duration::from_secs(300);
const ASK_LIMIT: Duration = Duration::from_secs(30);
/// A property of our own; setting one waits for the transaction group that it is in.
const SYNCED: &str = "assay:synced";

/// Tools of a ZFS, and where they run.
#[derive(Clone, Debug)]
pub(crate) struct Commands {
    programs: Programs,
    /// The daemon's mount namespace, in which they must be. Held: a process of the same number may be a stranger's.
    daemon: Option<Arc<OwnedFd>>,
}

/// A pool to be made: its name, and which LUNs do what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PoolPlan {
    pub(crate) name: String,
    pub(crate) data: Vec<PathBuf>,
    pub(crate) log: Vec<PathBuf>,
    pub(crate) vdevs: Vdevs,
}

/// A dataset to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DatasetPlan {
    pub(crate) name: String,
    pub(crate) place: PathBuf,
    pub(crate) record_bytes: u64,
    pub(crate) logbias: String,
}

impl Commands {
    /// Of the kernel's module.
    pub(crate) fn of_module(programs: Programs) -> Commands {
        Commands { programs, daemon: None }
    }

    /// Of a daemon, in whose namespace its socket is.
    pub(crate) fn of_daemon(programs: Programs, daemon: Arc<OwnedFd>) -> Commands {
        let daemon = Some(daemon);
        Commands { programs, daemon }
    }

    fn tool(&self, program: &Path, args: Vec<String>, limit: Duration) -> Tool {
        let tool = match &self.daemon {
            None => Tool::new(&argument(program), args, limit),
            Some(namespace) => {
                let mut all = vec![
                    format!("--mount=/proc/{}/fd/{}", std::process::id(), namespace.as_raw_fd()),
                    "--".to_owned(),
                    argument(program),
                ];
                all.extend(args);
                Tool::new("nsenter", all, limit)
            }
        };
        tool.with_libraries(&self.programs.libraries).mounting()
    }

    fn zpool(&self, args: Vec<String>, limit: Duration, run: Option<&Run>) -> Result<Output, StackError> {
        self.tool(&self.programs.zpool, args, limit).run(run)
    }

    fn zfs(&self, args: Vec<String>, limit: Duration, run: Option<&Run>) -> Result<Output, StackError> {
        self.tool(&self.programs.zfs, args, limit).run(run)
    }

    /// Whether the tools are answered at all.
    pub(crate) fn answers(&self) -> Result<(), StackError> {
        self.zpool(words(&["list", "-H", "-o", "name"]), ASK_LIMIT, None)
            .map(drop)
    }

    /// Makes a pool with no file system of its own mounted. Its tool refuses devices that another pool has imported.
    pub(crate) fn create(&self, pool: &PoolPlan, zfs: &Zfs, run: &Run) -> Result<(), StackError> {
        let of_module = self.daemon.is_none();
        let made = self.zpool(create_words(pool, zfs, of_module), MAKE_LIMIT, Some(run));
        made.map(drop).map_err(cured)
    }

    /// Makes a dataset, which is mounted with it.
    pub(crate) fn create_dataset(&self, dataset: &DatasetPlan, run: &Run) -> Result<(), StackError> {
        let args = words(&[
            "create",
            "-o",
            &format!("recordsize={}", dataset.record_bytes),
            "-o",
            &format!("logbias={}", dataset.logbias),
            "-o",
            &format!("mountpoint={}", argument(&dataset.place)),
            &dataset.name,
        ]);
        self.zfs(args, MAKE_LIMIT, Some(run)).map(drop)
    }

    /// Imports a pool by its name, from the devices that this directory has links to, and mounts its datasets.
    pub(crate) fn import(&self, pool: &str, links: &Path, run: Option<&Run>) -> Result<(), StackError> {
        let dir = argument(links);
        // Whoever had it imported before has lost its power.
        let args = words(&["import", "-f", "-o", "cachefile=none", "-d", &dir, pool]);
        let imported = self.zpool(args, IMPORT_LIMIT, run).map(drop);
        imported.map_err(StackError::not_brought_up)
    }

    /// Whether a pool of this name is there.
    ///
    /// # Errors
    /// Nobody knows: the tool was killed, or did not answer.
    pub(crate) fn is_imported(&self, pool: &str) -> Result<bool, StackError> {
        match self.zpool(words(&["list", "-H", "-o", "name", pool]), ASK_LIMIT, None) {
            Ok(_) => Ok(true),
            Err(StackError::Tool { said, .. }) if said.contains("no such pool") => Ok(false),
            Err(e) => Err(e),
        }
    }

    /// Unmounts and exports a pool.
    pub(crate) fn export(&self, pool: &str) -> Result<(), StackError> {
        self.zpool(words(&["export", "-f", pool]), MAKE_LIMIT, None).map(drop)
    }

    /// Waits until everything dirty is on the devices. What older tools have no word for is had by setting a property.
    pub(crate) fn sync(&self, pool: &str, nonce: u64) -> Result<(), StackError> {
        if self.daemon.is_none() {
            return self.zpool(words(&["sync", pool]), SYNC_LIMIT, None).map(drop);
        }
        let args = words(&["set", &format!("{SYNCED}={nonce}"), pool]);
        self.zfs(args, SYNC_LIMIT, None).map(drop)
    }

    /// A property of a pool, as it is printed; `None` where it has none.
    pub(crate) fn of_pool(&self, pool: &str, property: &str) -> Option<String> {
        let args = words(&["get", property, pool]);
        let said = self.zpool(args, ASK_LIMIT, None).ok()?.stdout;
        // A heading, then name, property, value and source: the oldest tool has no option against it.
        let value = said.lines().nth(1)?.split_whitespace().nth(2)?.to_owned();
        (value != "-").then_some(value)
    }

    /// The same of a dataset, exactly.
    pub(crate) fn of_dataset(&self, dataset: &str, property: &str) -> Option<String> {
        let args = words(&["get", "-H", "-p", "-o", "value", property, dataset]);
        let said = self.zfs(args, ASK_LIMIT, None).ok()?.stdout.trim().to_owned();
        (!said.is_empty() && said != "-").then_some(said)
    }

    /// What the daemon's cache has counted; `None` while it shows nothing, and where it is the module's. By a program,
    /// which can be killed: who reads a file of a daemon that does not answer waits for it.
    pub(crate) fn arc(&self) -> Option<ArcCounted> {
        self.daemon.as_ref()?;
        let counters = ArcCounted::OF_DAEMON.map(|name| format!("{}/{name}", OF_DAEMON_AT));
        // With the name of the file before each value.
        let mut args = words(&["-aH", ""]);
        args.extend(counters);
        let said = self.tool(Path::new("grep"), args, ASK_LIMIT).run(None).ok()?;
        ArcCounted::of_files(&said.stdout)
    }

    /// A number of a newer `zpool list`, which can be asked for exact ones.
    pub(crate) fn listed(&self, pool: &str, column: &str) -> Option<f64> {
        let args = words(&["list", "-H", "-p", "-o", column, pool]);
        number(&self.zpool(args, ASK_LIMIT, None).ok()?.stdout)
    }
}

/// Exports a pool of ours. Not imported, or no module: fine.
pub(crate) fn export(pool: &str) -> io::Result<()> {
    if !module::is_loaded() {
        return Ok(());
    }
    let programs = match ways::kernel_programs() {
        Ok(programs) => programs,
        Err((why, cure)) => return Err(io::Error::other(format!("{why}; {cure}"))),
    };
    let commands = Commands::of_module(programs);
    let told = |e: StackError| io::Error::other(e.to_string());
    match commands.is_imported(pool).map_err(told)? {
        true => commands.export(pool).map_err(told),
        false => Ok(()),
    }
}

fn words(list: &[&str]) -> Vec<String> {
    list.iter().map(|word| (*word).to_owned()).collect()
}

/// With what to do about a pool that could not be made, where the tool says why.
fn cured(error: StackError) -> StackError {
    let StackError::Tool {
        command,
        status,
        exited,
        said,
        cure,
    } = error
    else {
        return error;
    };
    let cure = if said.contains("pool already exists") {
        "export that pool; if a killed run left it, by `assay clean`".to_owned()
    } else if said.contains("is part of") {
        "name other LUNs; or export that pool, and clear its labels if nobody wants it (zpool labelclear)".to_owned()
    } else {
        cure
    };
    StackError::Tool {
        command,
        status,
        exited,
        said,
        cure,
    }
}

/// The command line that makes a pool: of the kernel's module, which has the property `sync`, or of zfs-fuse.
fn create_words(pool: &PoolPlan, zfs: &Zfs, of_module: bool) -> Vec<String> {
    let on_off = |on: bool| if on { "on" } else { "off" };
    let mut of_datasets = vec![
        ("compression", zfs.compression.as_str()),
        ("checksum", &zfs.checksum),
        ("primarycache", &zfs.primarycache),
        ("atime", on_off(zfs.keeps_atime())),
        ("canmount", "off"),
        ("mountpoint", "none"),
        // Nothing that lies on a stack runs, or is a device.
        ("setuid", "off"),
        ("devices", "off"),
        ("exec", "off"),
    ];
    if of_module {
        of_datasets.push(("sync", &zfs.sync));
    }
    let ashift = zfs.ashift.to_string();
    // An error is an error: by default a pool whose device fails waits for ever.
    let of_pool = [
        ("ashift", ashift.as_str()),
        ("cachefile", "none"),
        ("failmode", "continue"),
    ];
    let mut args = words(&["create"]);
    if of_module {
        // Its tool takes a disk without a partition table for one whose table it can't read, and refuses it. What lay
        // on the devices was looked at and cleared before, while nobody else had them; one that a pool has imported is
        // refused all the same.
        args.push("-f".to_owned());
    }
    let mut add = |flag: &str, (name, value): (&str, &str)| args.extend([flag.to_owned(), format!("{name}={value}")]);
    of_pool.into_iter().for_each(|property| add("-o", property));
    of_datasets.into_iter().for_each(|property| add("-O", property));
    args.push(pool.name.clone());
    args.extend(match pool.vdevs {
        Vdevs::Stripe => None,
        Vdevs::Mirror => Some("mirror".to_owned()),
        Vdevs::Raidz1 => Some("raidz1".to_owned()),
    });
    args.extend(pool.data.iter().map(|path| argument(path)));
    if !pool.log.is_empty() {
        args.push("log".to_owned());
        args.extend(pool.log.iter().map(|path| argument(path)));
    }
    args
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use plan::{Bytes, RedoAs, ZfsPreset};

    /// What a study says that says nothing.
    pub(crate) fn plain() -> Zfs {
        Zfs {
            via: None,
            preset: ZfsPreset::Default,
            vdevs: Vdevs::Stripe,
            ashift: 12,
            recordsize: Bytes(8192),
            compression: "off".into(),
            checksum: "on".into(),
            primarycache: "all".into(),
            logbias: "latency".into(),
            sync: "standard".into(),
            atime: None,
            prefetch: true,
            prefetch_distance: None,
            arc_max: Bytes(64 << 20),
            arc_min: None,
            redo_as: RedoAs::Pool,
        }
    }

    #[test]
    fn a_pool_is_made_by_one_command_that_says_everything() {
        let pool = PoolPlan {
            name: "assay-1".into(),
            data: vec!["/dev/a".into(), "/dev/b".into()],
            log: vec!["/dev/c".into()],
            vdevs: Vdevs::Mirror,
        };
        let line = create_words(&pool, &plain(), true).join(" ");
        assert_eq!(
            line,
            "create -f -o ashift=12 -o cachefile=none -o failmode=continue -O compression=off -O checksum=on \
             -O primarycache=all -O atime=on -O canmount=off -O mountpoint=none -O setuid=off -O devices=off \
             -O exec=off -O sync=standard assay-1 mirror /dev/a /dev/b log /dev/c"
        );
        let older = create_words(&pool, &plain(), false).join(" ");
        assert!(!older.contains("sync=") && !older.contains(" -f "), "{older}");
    }

    #[test]
    fn tools_of_a_daemon_run_where_its_socket_is() {
        let programs = Programs {
            zpool: "/u/sbin/zpool".into(),
            zfs: "/u/sbin/zfs".into(),
            daemon: Some("/u/sbin/zfs-fuse".into()),
            libraries: String::new(),
            root: "/u".into(),
        };
        let namespace = OwnedFd::from(std::fs::File::open("/proc/self/ns/mnt").expect("our own"));
        let held = format!("/proc/{}/fd/{}", std::process::id(), namespace.as_raw_fd());
        let commands = Commands::of_daemon(programs, Arc::new(namespace));
        let tool = commands.tool(&commands.programs.zpool, words(&["list"]), ASK_LIMIT);
        assert_eq!(tool.line(), format!("nsenter --mount={held} -- /u/sbin/zpool list"));
    }
}
