//! The tables of options do not lie: each option that a study may say is taken by the real tool, the real kernel, the
//! real server. Needs root, loop devices and the tools; the part of PostgreSQL needs a server that is installed.
//! `ASSAY_TEST_SIZE=full` tries each word of an option, otherwise its example is tried.
//!
//! What a tool or a kernel is too old for is named and left out ([`NEWER`]); all else must work. Prevents: a study that
//! passes the check and fails when it is built.

use crate::machine::is_full;
use crate::rig::{PATIENCE, Rig, text};
use databases::postgres::{Cluster, Connection, RunAs, Settings, choose};
use plan::{Given, Rule, Takes, Tool};
use rustix::fs::{Mode, OFlags};
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

/// XFS makes nothing below 300 MiB.
const MIB: u64 = 400;

/// What older tools and kernels lack, or newer ones have dropped.
const NEWER: &[&str] = &[
    "-O orphan_file",
    "-O block-group-tree",
    "-O free-space-tree",
    "-O quota",
    "-m bigtime",
    "-m inobtcount",
    "-i nrext64",
    "mb_optimize_scan",
    "no_prefetch_block_bitmaps",
    "space_cache=v1",
];

/// What an option needs beside it.
fn company(tool: Tool, title: &str, value: &str) -> &'static [&'static str] {
    match (tool, title, value) {
        (Tool::MkfsExt4, "-C", _) => &["-O", "bigalloc"],
        (Tool::MkfsExt4, "-J fast_commit_size", _) => &["-O", "fast_commit"],
        (Tool::MkfsExt4, "-E num_backup_sb", _) => &["-O", "sparse_super2"],
        (Tool::MkfsXfs, "-d su", _) => &["-d", "sw=4,agcount=2", "-l", "size=64m"],
        (Tool::MkfsXfs, "-d sw", _) => &["-d", "su=64k,agcount=2", "-l", "size=64m"],
        (Tool::MkfsXfs, "-d sunit", _) => &["-d", "swidth=512,agcount=2", "-l", "size=64m"],
        (Tool::MkfsXfs, "-d swidth", _) => &["-d", "sunit=128,agcount=2", "-l", "size=64m"],
        (Tool::MkfsXfs, "-d agsize", _) => &["-l", "size=64m"],
        (Tool::MkfsXfs, "-m finobt", "0") => &["-m", "inobtcount=0"],
        (Tool::MountExt4, "journal_async_commit", _) => &["data=writeback"],
        (Tool::MountXfs, "sunit", _) => &["swidth=512"],
        (Tool::MountXfs, "swidth", _) => &["sunit=128"],
        _ => &[],
    }
}

/// Every option with its example, and at full size with each of its words.
fn said(tool: Tool) -> Vec<(String, Vec<Given>)> {
    let mut all = Vec::new();
    for rule in tool.rules() {
        let mut values: Vec<&str> = vec![rule.example];
        if is_full() {
            match &rule.takes {
                Takes::Word(words) | Takes::Features(words) => values.extend(*words),
                Takes::Switch => values.extend(["0", "1"]),
                _ => {}
            }
            values.extend(rule.also);
            values.dedup();
        }
        all.extend(
            values
                .into_iter()
                .map(|value| (name(rule, value), given(tool, rule, value))),
        );
    }
    all
}

fn name(rule: &Rule, value: &str) -> String {
    let joint = if rule.name.is_empty() { " " } else { "=" };
    format!("{}{}{value}", rule.title(), if value.is_empty() { "" } else { joint })
}

fn given(tool: Tool, rule: &Rule, value: &str) -> Vec<Given> {
    let value = match value {
        // It and room to grow exclude each other.
        "meta_bg" => "meta_bg,^resize_inode",
        value => value,
    };
    let own = name(rule, value);
    let mut words = vec![own.as_str()];
    words.extend(company(tool, &rule.title(), value));
    plan::options(tool, &words).unwrap_or_else(|error| panic!("{words:?}: {error}"))
}

fn is_newer(name: &str) -> bool {
    NEWER
        .iter()
        .any(|newer| name == *newer || name.starts_with(&format!("{newer}=")))
}

fn run(program: &str, args: &[String]) -> Output {
    let program = crate::rig::which(program).unwrap_or_else(|| panic!("{program} is there"));
    let mut tries = 0;
    loop {
        let done = Command::new(&program).args(args).output().expect("started");
        // A server of another test that just begins has a copy of all mounts for a moment.
        let is_busy = String::from_utf8_lossy(&done.stderr).contains("Device or resource busy");
        if done.status.success() || !is_busy || tries == 100 {
            return done;
        }
        tries += 1;
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
}

/// The arguments that Assay gives of its own, as room `stacks` has them.
fn made_by(tool: Tool, options: &[Given], device: &Path) -> (&'static str, Vec<String>) {
    let words = |list: &[&str]| list.iter().map(|word| (*word).to_string()).collect::<Vec<_>>();
    let (program, mut args) = match tool {
        Tool::MkfsExt4 => {
            let (extended, rest) = plan::split_flag(options, "-E");
            let ours = "nodiscard,lazy_itable_init=0,lazy_journal_init=0".to_string();
            let extended = std::iter::once(ours).chain(extended).collect::<Vec<_>>().join(",");
            let mut args = words(&["-q", "-F", "-E", &extended]);
            args.extend(plan::arguments(&rest));
            ("mkfs.ext4", args)
        }
        Tool::MkfsXfs => ("mkfs.xfs", words(&["-q", "-K", "-f"])),
        _ => ("mkfs.btrfs", words(&["-q", "-K", "-f", "-d", "single", "-m", "dup"])),
    };
    if tool != Tool::MkfsExt4 {
        args.extend(plan::arguments(options));
    }
    args.push(text(device).to_string());
    (program, args)
}

/// Mounts with options and unmounts.
fn mounted(kind: &str, device: &Path, place: &Path, options: &[Given]) -> Result<(), String> {
    let mut all = vec!["nodiscard".to_string()];
    all.extend(plan::mount_words(options));
    let args = ["-t", kind, "-o", &all.join(","), text(device), text(place)].map(str::to_string);
    let done = run("mount", &args);
    if !done.status.success() {
        return Err(String::from_utf8_lossy(&done.stderr).into_owned());
    }
    let gone = run("umount", &[text(place).to_string()]);
    assert!(gone.status.success(), "{}", String::from_utf8_lossy(&gone.stderr));
    is_free(device);
    Ok(())
}

/// Waits until nobody has the device mounted: a process that another test starts with mounts of its own copies this
/// one.
fn is_free(device: &Path) {
    let began = Instant::now();
    let alone = OFlags::RDONLY | OFlags::EXCL;
    while rustix::fs::open(device, alone, Mode::empty()).is_err() {
        assert!(began.elapsed() < PATIENCE, "{} stays in use", device.display());
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Each option of a mkfs makes a file system that mounts, and each option of a mount is taken.
fn taken(mkfs: Tool, mount: Tool, kind: &str) {
    let Some(mut rig) = Rig::new(&[mkfs.name()]) else {
        return;
    };
    let device = rig.loop_device("lun.disk", MIB);
    let place = rig.path("place");
    std::fs::create_dir(&place).expect("made");
    let (mut wrong, mut tried) = (Vec::new(), 0);
    let mut note = |name: String, said: String| match is_newer(&name) {
        true => eprintln!("skipped: {name} of {kind} is not known here: {}", said.trim()),
        false => wrong.push(format!("{name}: {}", said.trim())),
    };
    for (name, options) in said(mkfs) {
        tried += 1;
        let (program, args) = made_by(mkfs, &options, &device);
        let done = run(program, &args);
        let made = match done.status.success() {
            true => mounted(kind, &device, &place, &[]),
            false => Err(format!(
                "{program} {}: {}",
                args.join(" "),
                String::from_utf8_lossy(&done.stderr)
            )),
        };
        if let Err(said) = made {
            note(name, said);
        }
    }
    // The alignment of a mount is that of the file system.
    let base: &[&str] = match mkfs {
        Tool::MkfsXfs => &["-d", "sunit=128,swidth=512,agcount=2", "-l", "size=64m"],
        _ => &[],
    };
    let (program, args) = made_by(mkfs, &plan::options(mkfs, base).expect("options"), &device);
    let made = run(program, &args);
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    for (name, options) in said(mount) {
        tried += 1;
        if let Err(said) = mounted(kind, &device, &place, &options) {
            note(name, said);
        }
    }
    eprintln!("{kind}: {tried} options tried");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn ext4_takes_what_its_tables_allow() {
    taken(Tool::MkfsExt4, Tool::MountExt4, "ext4");
}

#[test]
fn xfs_takes_what_its_tables_allow() {
    taken(Tool::MkfsXfs, Tool::MountXfs, "xfs");
}

#[test]
fn btrfs_takes_what_its_tables_allow() {
    taken(Tool::MkfsBtrfs, Tool::MountBtrfs, "btrfs");
}

#[test]
fn a_server_starts_with_all_settings_of_the_table() {
    let install = match choose(None) {
        Ok(install) => install,
        Err(missing) => {
            assert!(std::env::var_os("CI").is_none(), "{missing}");
            eprintln!("skipped: {missing}");
            return;
        }
    };
    let (major, bin) = (install.major, install.bin.clone());
    let memory = Path::new("/dev/shm");
    let place = if memory.is_dir() { memory } else { Path::new("/var/tmp") };
    let dir = tempfile::Builder::new()
        .prefix("apg-")
        .tempdir_in(place)
        .expect("a directory");
    std::fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o755)).expect("opened");
    let run_as = RunAs::choose(None).expect("a user");
    let cluster = Cluster::create(install, &dir.path().join("data"), run_as, &["--no-sync"]).expect("made");
    let rules: Vec<&Rule> = Tool::Postgres
        .rules()
        .iter()
        .filter(|rule| (rule.versions.0..=rule.versions.1).contains(&major))
        .collect();
    let mut settings = Settings::default();
    for rule in &rules {
        let value = rule.value(rule.example).expect("its example");
        settings.explicit.insert(rule.name.to_string(), rule.value_text(&value));
    }
    assert!(rules.len() >= 100, "{} settings", rules.len());
    let server = cluster.start(&settings, dir.path()).expect("started with all of them");
    let mut connection = Connection::open(server.address(), &[]).expect("connected");
    let sql = "SELECT name, vartype, min_val, max_val, array_to_string(enumvals, ','), source FROM pg_settings";
    let rows = connection.run(sql).expect("asked");
    let cell = |row: &[Option<String>], nth: usize| row[nth].clone().unwrap_or_default();
    let known: BTreeMap<String, Vec<String>> = rows
        .iter()
        .map(|row| (cell(row, 0), (1..6).map(|nth| cell(row, nth)).collect()))
        .collect();
    for rule in &rules {
        let found = known
            .get(rule.name)
            .unwrap_or_else(|| panic!("PostgreSQL {major} has no {}", rule.name));
        assert_eq!(found[4], "configuration file", "{}", rule.name);
        if let Takes::Word(words) = &rule.takes {
            let theirs: Vec<&str> = found[3].split(',').collect();
            let strange: Vec<_> = words.iter().filter(|word| !theirs.contains(word)).collect();
            assert!(strange.is_empty(), "{}: {strange:?} of {theirs:?}", rule.name);
        }
    }
    drop(connection);
    drop(server);
    // The ends of each range, asked of the program itself: it needs no server for that.
    for rule in &rules {
        for value in ends(rule) {
            let setting = format!("{}={value}", rule.name);
            let ran = Command::new(bin.join("postgres"))
                .args(["-C", rule.name, "-c", &setting, "-D"])
                .arg(cluster.data())
                .output();
            let ran = ran.expect("started");
            assert!(
                ran.status.success(),
                "{setting}: {}",
                String::from_utf8_lossy(&ran.stderr)
            );
        }
    }
}

/// Least and most of what a setting takes, as a study would write them.
fn ends(rule: &Rule) -> Vec<String> {
    match &rule.takes {
        Takes::Number { least, most, .. } => vec![least.to_string(), most.to_string()],
        Takes::Real { least, most } => vec![least.to_string(), most.to_string()],
        Takes::Memory { least, most, .. } => vec![format!("{least}B"), format!("{}kB", most >> 10)],
        Takes::Time { least, most, .. } => vec![format!("{least}us"), format!("{most}us")],
        _ => Vec::new(),
    }
}
