//! Studies that would harm what they do not name, by the whole binary, beside real devices that nobody named. Needs
//! root and loop devices.
//!
//! The table is that of room `plan`, with the path of a real device where a study reaches for one. After `check` and
//! after `run --yes` of each, the devices hold the same bytes, nothing is left, and the refusal has its line and
//! column. Prevents: a refusal that comes after the damage.

use crate::rig::{Rig, Running, text, tool};
use std::path::Path;

const MIB: u64 = 8;

/// Bytes that no tool writes, and that look like no file system.
fn pattern(nth: u8) -> Vec<u8> {
    let mut state = u64::from(nth) + 1;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    (0..MIB << 20).map(|_| next()).collect()
}

/// What lies on the device: what its cache holds has reached the file first.
fn content(rig: &Rig, device: &Path, file: &str) -> Vec<u8> {
    tool("sync", &[text(device)]);
    std::fs::read(rig.path(file)).expect("read")
}

fn start(rig: &Rig, args: &[&str]) -> crate::rig::Ran {
    Running::start(rig.assay(args)).wait()
}

#[test]
fn no_hostile_study_touches_what_it_does_not_name() {
    let Some(mut rig) = Rig::new(&["mkfs.ext4", "mkfs.xfs", "mkfs.btrfs"]) else {
        return;
    };
    let canaries = ["a.disk", "b.disk"].map(|file| (rig.loop_device(file, MIB), file));
    for (nth, (device, _)) in canaries.iter().enumerate() {
        std::fs::write(device, pattern(nth as u8)).expect("written");
    }
    let before = canaries.each_ref().map(|(device, file)| content(&rig, device, file));
    assert_eq!(before[0], pattern(0), "what is read is what was written");
    let belongings = rig.belongings(&[]);
    let cases = crate::hostile::cases(text(&canaries[0].0));
    assert!(cases.len() >= 100, "only {} hostile studies are left", cases.len());
    for case in &cases {
        let study = rig.study("hostile", &case.text);
        let result = rig.result("hostile");
        let (line, column) = case.place;
        let place = format!("hostile.toml:{line}:{column}: ");
        for args in [
            vec!["check", text(&study)],
            vec!["run", text(&study), "--output", text(&result), "--yes"],
        ] {
            let ran = start(&rig, &args);
            assert_eq!(ran.status.code(), Some(2), "{}: {}\n{ran:?}", case.name, args[0]);
            assert!(
                ran.stderr.contains(&place),
                "{}: no {place:?} in\n{}",
                case.name,
                ran.stderr
            );
            assert!(!ran.stderr.contains('\u{1b}'), "{}: {:?}", case.name, ran.stderr);
            assert!(!result.exists(), "{}", case.name);
            let after = canaries.each_ref().map(|(device, file)| content(&rig, device, file));
            assert!(
                after == before,
                "{}: `{}` wrote to a device that is not the study's",
                case.name,
                args[0]
            );
        }
    }
    assert_eq!(rig.belongings(&[]), belongings);
}

/// The twin: a device that the study does name is in the list of what is written, as the device and not as a link, and
/// is written.
#[test]
fn what_a_study_names_is_listed_and_written() {
    let Some(mut rig) = Rig::new(&["mkfs.ext4"]) else {
        return;
    };
    let named = rig.loop_device("a.disk", 64);
    let other = rig.loop_device("b.disk", MIB);
    std::fs::write(&other, pattern(1)).expect("written");
    let before = content(&rig, &other, "b.disk");
    let link = Path::new("/dev").join(format!("assay-test-{}", std::process::id()));
    std::os::unix::fs::symlink(&named, &link).expect("a link");
    let _gone = Gone(&link);
    let text_of = format!(
        "[study]\nname = \"honest\"\ntime_limit = \"3h\"\nblocks = 4\n[luns.data]\ndevices = [\"{}\"]\n\
         overwrite = true\n[[stack]]\n\
         name = \"fs\"\nkind = \"ext4\"\ndata = \"data\"\nmkfs_options = [\"-m\", \"0\", \"-E\", \"stride=16\"]\n\
         mount_options = [\"noatime\"]\n[database]\ncache = \"4MiB\"\nschemas = 4\nscale = \"8MiB\"\n\
         redo_size = \"8MiB\"\n[[phase]]\n\
         name = \"read\"\nkind = \"random\"\nupdate_pct = 0\nsessions = 4\nwork_unit = 4\ntime = \"100ms\"\n",
        link.display()
    );
    let study = rig.study("honest", &crate::rig::limited(&text_of, "1s"));
    let checked = start(&rig, &["check", text(&study), "--json"]);
    checked.expect(0, &[]);
    let json: serde_json::Value = serde_json::from_str(&checked.stdout).expect("JSON");
    let listed = |kind: &str| -> Vec<String> {
        let list = json["writes"][kind].as_array().expect("a list").iter();
        list.map(|written| written["path"].as_str().expect("a path").to_string())
            .collect()
    };
    assert_eq!(listed("devices"), [text(&named)]);
    assert!(
        listed("directories").contains(&text(&rig.path("state")).to_string()),
        "{json}"
    );
    assert!(
        listed("files").contains(&text(&rig.work().join("honest.assay")).to_string()),
        "{json}"
    );
    let belongings = rig.belongings(&[]);
    rig.run(&study, &rig.result("honest"), &["--yes"]).expect(0, &[]);
    assert_eq!(rig.belongings(&[]), belongings);
    assert!(
        content(&rig, &other, "b.disk") == before,
        "{} is not named",
        other.display()
    );
    let file = std::fs::read(rig.path("a.disk")).expect("read");
    assert!(file.iter().any(|byte| *byte != 0), "the study ran on it");
}

/// A link that goes, also when the test fails.
struct Gone<'p>(&'p Path);

impl Drop for Gone<'_> {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(self.0);
    }
}
