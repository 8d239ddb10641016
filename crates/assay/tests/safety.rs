//! No device is touched that is not free, whole and named: the rules of safety, by the whole binary, on real loop
//! devices that the test makes. Needs root, loop devices, mkfs.ext4 and sfdisk.
//!
//! Prevents the worst that such a tool can do. Each refusal is looked at from three sides: the exit code, what is said
//! (path and cure), and the device's content before and after.

use crate::rig::{Ran, Rig, Running, limit, text, tool};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

const MIB: u64 = 64;

/// A study of one stack on `devices`; `more` are further lines of the LUN set.
fn study(devices: &[&Path], more: &str) -> String {
    let devices: Vec<String> = devices.iter().map(|d| format!("\"{}\"", d.display())).collect();
    let limit = limit("1s");
    format!(
        r#"
[study]
name = "safety"
question = "May it be touched?"
time_limit = "{limit}"
blocks = 4
seed = 5
io = "ring"
[luns.data]
devices = [{}]
{more}
[[stack]]
name = "ext4"
kind = "ext4"
data = "data"
[database]
cache = "4MiB"
schemas = 4
scale = "8MiB"
redo_size = "8MiB"
checkpoint = "100ms"
[[phase]]
name = "read"
kind = "random"
update_pct = 0
sessions = 4
work_unit = 4
time = "100ms"
"#,
        devices.join(", ")
    )
}

/// Checksum of what lies on a device, by the file behind it: what the device's own cache holds does not count.
fn content(rig: &Rig, file: &str) -> u64 {
    let path = rig.path(file);
    tool("sync", &[text(&path)]);
    let mut hasher = DefaultHasher::new();
    std::fs::read(&path).expect("read").hash(&mut hasher);
    hasher.finish()
}

/// Runs a study on one device and looks that it is refused: nothing changed in `files`, nothing left, no result file.
fn refused(rig: &Rig, device: &Path, more: &str, flags: &[&str], files: &[&str], words: &[&str]) {
    let before = (
        rig.belongings(&[]),
        files.iter().map(|f| content(rig, f)).collect::<Vec<_>>(),
    );
    let file = rig.study("safety", &study(&[device], more));
    let ran = rig.run(&file, &rig.result("refused"), flags);
    ran.expect(3, words);
    ran.expect(3, &[text(device)]);
    has_cure(&ran);
    let after = (
        rig.belongings(&[]),
        files.iter().map(|f| content(rig, f)).collect::<Vec<_>>(),
    );
    assert_eq!(before, after, "{} was touched, or something is left", device.display());
    assert!(!rig.result("refused").exists(), "a refused study has no result");
}

/// What `assay check` says of a study on one device.
fn checked(rig: &Rig, device: &Path, more: &[&str]) -> Ran {
    let file = rig.study("checked", &study(&[device], "overwrite = true"));
    Running::start(rig.assay(&[&["check", text(&file)][..], more].concat())).wait()
}

/// The last line says what to do.
fn has_cure(ran: &Ran) {
    let last = ran.stderr.trim_end().lines().last().unwrap_or_default();
    assert!(
        last.starts_with("  ") && last.trim().len() > 10,
        "no cure:\n{}",
        ran.stderr
    );
}

fn rig() -> Option<Rig> {
    Rig::on_disk(&["mkfs.ext4", "sfdisk"])
}

fn make_ext4(device: &Path) {
    tool(
        "mkfs.ext4",
        &[
            "-q",
            "-F",
            "-E",
            "nodiscard,lazy_itable_init=0,lazy_journal_init=0",
            text(device),
        ],
    );
}

#[test]
fn a_mounted_device_is_refused_even_under_overwrite() {
    let Some(mut rig) = rig() else { return };
    let device = rig.loop_device("a.disk", MIB);
    make_ext4(&device);
    let place = rig.path("mnt");
    std::fs::create_dir(&place).expect("made");
    // Read-only, so that nothing but the binary could change it.
    tool("mount", &["-o", "ro,noload", text(&device), text(&place)]);
    for more in ["", "overwrite = true"] {
        refused(
            &rig,
            &device,
            more,
            &["--yes"],
            &["a.disk"],
            &["mounted on", text(&place), "unmount it"],
        );
    }
}

#[test]
fn a_check_refuses_the_device_that_a_run_would_refuse() {
    let Some(mut rig) = rig() else { return };
    let (free, mounted) = (rig.loop_device("a.disk", MIB), rig.loop_device("b.disk", MIB));
    make_ext4(&mounted);
    let place = rig.path("mnt");
    std::fs::create_dir(&place).expect("made");
    tool("mount", &["-o", "ro,noload", text(&mounted), text(&place)]);
    let before = (content(&rig, "a.disk"), content(&rig, "b.disk"));
    for (device, why) in [
        (mounted.as_path(), "mounted on"),
        (Path::new("/dev/null"), "not a block device"),
        (Path::new("/dev/assay-nonesuch"), "No such file"),
    ] {
        let ran = checked(&rig, device, &[]);
        ran.expect(3, &[text(device), why]);
        has_cure(&ran);
        assert!(ran.stdout.contains("Nothing was touched."), "{}", ran.stdout);
        let ran = checked(&rig, device, &["--json"]);
        ran.expect(3, &[why]);
        let json: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
        let said = json["refused"][0].as_str().expect("a refusal");
        assert!(said.contains(why), "{json}");
    }
    // Whether it may be destroyed is asked when the study runs.
    let ran = checked(&rig, &free, &[]);
    ran.expect(0, &[]);
    assert!(ran.stdout.contains("needs --yes"), "{}", ran.stdout);
    assert_eq!((content(&rig, "a.disk"), content(&rig, "b.disk")), before);
}

#[test]
fn a_foreign_signature_is_refused_until_the_study_and_the_user_say_so() {
    let Some(mut rig) = rig() else { return };
    let device = rig.loop_device("a.disk", MIB);
    let other = rig.loop_device("b.disk", MIB);
    make_ext4(&device);
    make_ext4(&other);
    refused(
        &rig,
        &device,
        "",
        &["--yes"],
        &["a.disk"],
        &["ext", "overwrite = [", "name another disk"],
    );
    // The study says so, the user does not.
    refused(
        &rig,
        &device,
        "overwrite = true",
        &[],
        &["a.disk"],
        &["destroys what is on", "--yes"],
    );
    let by_name = format!("overwrite = [\"{}\"]", device.display());
    refused(&rig, &device, &by_name, &[], &["a.disk"], &["--yes"]);

    // Both say so: it runs, and another device, which nobody named, stays as it is.
    let (old, untouched) = (content(&rig, "a.disk"), content(&rig, "b.disk"));
    let before = rig.belongings(&[]);
    let file = rig.study("safety", &study(&[&device], &by_name));
    rig.run(&file, &rig.result("first"), &["--yes"]).expect(0, &[]);
    assert_ne!(content(&rig, "a.disk"), old, "the study ran on it");
    assert_eq!(
        content(&rig, "b.disk"),
        untouched,
        "{} is not named in the study",
        other.display()
    );
    assert_eq!(rig.belongings(&[]), before);

    // What is left on it is our own mark: the next study needs no overwrite, but still the user's word.
    let file = rig.study("safety", &study(&[&device], ""));
    refused(&rig, &device, "", &[], &["a.disk"], &["--yes"]);
    rig.run(&file, &rig.result("second"), &["--yes"]).expect(0, &[]);
    assert_eq!(rig.belongings(&[]), before);
    assert_eq!(content(&rig, "b.disk"), untouched);
    let blank = Command::new("blkid")
        .args(["-p", text(&device)])
        .output()
        .expect("blkid");
    assert!(
        !String::from_utf8_lossy(&blank.stdout).contains("ext4"),
        "the file system is wiped"
    );
}

#[test]
fn a_set_with_one_device_that_is_not_free_is_refused_whole() {
    let Some(mut rig) = rig() else { return };
    let free = rig.loop_device("a.disk", MIB);
    let taken = rig.loop_device("b.disk", MIB);
    make_ext4(&taken);
    let before = (content(&rig, "a.disk"), content(&rig, "b.disk"));
    let words = study(&[&free, &taken], &format!("overwrite = [\"{}\"]", free.display()));
    let words = words.replace("kind = \"ext4\"", "kind = \"btrfs\"\nprofile = \"raid0\"");
    let file = rig.study("safety", &words);
    let ran = rig.run(&file, &rig.result("refused"), &["--yes"]);
    ran.expect(3, &[text(&taken), "did not write"]);
    has_cure(&ran);
    assert_eq!((content(&rig, "a.disk"), content(&rig, "b.disk")), before);
}

#[test]
fn overwrite_of_a_device_that_the_set_does_not_name_is_a_mistake_in_the_study() {
    let Some(mut rig) = rig() else { return };
    let named = rig.loop_device("a.disk", MIB);
    let other = rig.loop_device("b.disk", MIB);
    make_ext4(&other);
    let before = (content(&rig, "a.disk"), content(&rig, "b.disk"));
    let file = rig.study(
        "safety",
        &study(&[&named], &format!("overwrite = [\"{}\"]", other.display())),
    );
    rig.run(&file, &rig.result("refused"), &["--yes"])
        .expect(2, &[text(&other), "not in this LUN set", text(&file)]);
    assert_eq!((content(&rig, "a.disk"), content(&rig, "b.disk")), before);
}

/// A partition that is taken away again, also when the test fails.
struct Partition {
    disk: PathBuf,
}

impl Drop for Partition {
    fn drop(&mut self) {
        let _ = Command::new("delpart").args([text(&self.disk), "1"]).status();
    }
}

#[test]
fn a_partitioned_disk_and_its_partition_are_refused_even_under_overwrite() {
    let Some(mut rig) = rig() else { return };
    let disk = rig.loop_device("a.disk", MIB);
    let table = rig.path("table");
    std::fs::write(&table, "label: gpt\nsize=32MiB\n").expect("written");
    let script = std::fs::File::open(&table).expect("opened");
    let sfdisk = Command::new(crate::rig::which("sfdisk").expect("there"))
        .args(["--no-reread", "--no-tell-kernel", "--quiet", text(&disk)])
        .stdin(script)
        .output()
        .expect("sfdisk");
    assert!(sfdisk.status.success(), "{}", String::from_utf8_lossy(&sfdisk.stderr));
    for more in ["", "overwrite = true"] {
        refused(&rig, &disk, more, &["--yes"], &["a.disk"], &["partitioned", "wipefs"]);
    }
    tool("addpart", &[text(&disk), "1", "2048", "65536"]);
    let guard = Partition { disk: disk.clone() };
    let partition = PathBuf::from(format!("{}p1", disk.display()));
    refused(
        &rig,
        &disk,
        "overwrite = true",
        &["--yes"],
        &["a.disk"],
        &["partitioned"],
    );
    if partition.exists() {
        for more in ["", "overwrite = true"] {
            refused(
                &rig,
                &partition,
                more,
                &["--yes"],
                &["a.disk"],
                &["is partition 1 of", "whole"],
            );
        }
    } else {
        eprintln!("skipped: no node for {} (no devtmpfs here)", partition.display());
    }
    drop(guard);
}

#[test]
fn what_is_no_block_device_is_refused() {
    let Some(rig) = rig() else { return };
    let file = rig.path("work/precious");
    std::fs::write(&file, "precious").expect("written");
    // Not below /dev: the study is wrong, whatever is there.
    for path in [file.clone(), rig.work()] {
        let study = rig.study("safety", &study(&[&path], "overwrite = true"));
        let ran = rig.run(&study, &rig.result("refused"), &["--yes"]);
        ran.expect(
            2,
            &[
                text(&path),
                "not the path of a device",
                "cure: name whole block devices",
            ],
        );
    }
    for (path, what) in [("/dev/null", "a character device"), ("/dev/pts", "a directory")] {
        let words = [what, "not a block device"];
        refused(&rig, Path::new(path), "overwrite = true", &["--yes"], &[], &words);
    }
    refused(
        &rig,
        Path::new("/dev/assay-nonesuch"),
        "",
        &["--yes"],
        &[],
        &["No such file", "check the path"],
    );
    assert_eq!(std::fs::read(&file).expect("read"), b"precious");
}
