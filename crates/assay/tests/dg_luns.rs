//! `assay dg` on real block devices: five LUNs of which one is overwritten while it is read, and devices that may not
//! be taken. Needs root, loop devices and mkfs.ext4.
//!
//! Prevents: a group whose redundancy works on files of a test and not on disks.

use crate::rig::{Ran, Rig, Running, text, tool};
use sha2::{Digest, Sha256};
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

const MIB: u64 = 1 << 20;
const LUN_MIB: u64 = 64;

struct Luns {
    rig: Rig,
    devices: Vec<PathBuf>,
}

impl Luns {
    fn new(count: usize) -> Option<Luns> {
        let mut rig = Rig::new(&["mkfs.ext4", "losetup"])?;
        let devices = (0..count)
            .map(|n| rig.loop_device(&format!("lun{n}"), LUN_MIB))
            .collect();
        Some(Luns { rig, devices })
    }

    fn command(&self, args: &[&str]) -> std::process::Command {
        let mut all = vec!["dg"];
        all.extend(args);
        let mut command = self.rig.assay(&all);
        let disks: Vec<&str> = self.devices.iter().map(|d| text(d)).collect();
        command.env("ASSAY_DISKS", disks.join(" "));
        command
    }

    fn run(&self, args: &[&str]) -> Ran {
        Running::start(self.command(args)).wait()
    }

    fn expect(&self, code: i32, args: &[&str]) -> Ran {
        let ran = self.run(args);
        ran.expect(code, &[]);
        assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
        ran
    }

    fn create(&self, redundancy: &str) {
        let mut args = vec!["create", "data", "--yes", "--redundancy", redundancy];
        args.extend(self.devices.iter().map(|d| text(d)));
        self.expect(0, &args);
    }

    /// SHA-256 of a file of the group.
    fn sum(&self, more: &[&str]) -> String {
        let out = self.rig.path("out");
        let mut args = vec!["cp", "data:file", text(&out)];
        args.extend(more);
        self.expect(0, &args);
        let sum = sha256(&std::fs::read(&out).expect("read"));
        std::fs::remove_file(&out).expect("removed");
        sum
    }

    /// What `dd if=/dev/urandom of=DEVICE` does, from a byte on to the end.
    fn garbage(&self, device: usize, from: u64) {
        let device = OpenOptions::new()
            .write(true)
            .open(&self.devices[device])
            .expect("opened");
        let mut random = std::fs::File::open("/dev/urandom").expect("opened");
        let mut block = vec![0; MIB as usize];
        for at in (from..LUN_MIB * MIB).step_by(MIB as usize) {
            std::io::Read::read_exact(&mut random, &mut block).expect("read");
            let len = MIB.min(LUN_MIB * MIB - at) as usize;
            device.write_all_at(&block[..len], at).expect("written");
        }
        device.sync_all().expect("synced");
    }
}

fn sha256(content: &[u8]) -> String {
    Sha256::digest(content).iter().map(|b| format!("{b:02x}")).collect()
}

fn random_file(path: &Path, mib: u64) -> String {
    let mut content = vec![0; (mib * MIB) as usize];
    let mut random = std::fs::File::open("/dev/urandom").expect("opened");
    std::io::Read::read_exact(&mut random, &mut content).expect("read");
    std::fs::File::create(path)
        .and_then(|mut f| f.write_all(&content))
        .expect("written");
    sha256(&content)
}

#[test]
fn one_of_five_luns_is_overwritten_and_nothing_is_lost() {
    let Some(mut luns) = Luns::new(5) else { return };
    luns.create("normal");
    let source = luns.rig.path("source");
    let sum = random_file(&source, 100);
    let said = luns.expect(0, &["cp", text(&source), "data:file", "--verify"]);
    assert!(said.stdout.contains(&sum), "{}", said.stdout);
    // All but the header, while the file is being read.
    let reading = Running::start(luns.command(&["cp", "data:file", text(&luns.rig.path("while"))]));
    luns.garbage(1, 4096);
    let read = reading.wait();
    assert!([0, 3].contains(&read.code()), "{}", read.stderr);
    let mended = luns.expect(0, &["check", "--repair"]);
    assert!(mended.stdout.contains("is sound again"), "{}", mended.stdout);
    luns.expect(0, &["check"]);
    assert_eq!(luns.sum(&[]), sum);
    // The whole LUN, header and all: it is no disk of the group any more, until it is taken anew.
    luns.garbage(3, 0);
    let found = luns.expect(1, &["check"]);
    assert!(found.stderr.contains("--overwrite"), "{}", found.stderr);
    assert_eq!(luns.sum(&["--force"]), sum, "read around the lost LUN");
    let device = text(&luns.devices[3]).to_string();
    luns.expect(0, &["check", "--repair", "--overwrite", &device, "--yes"]);
    luns.expect(0, &["check"]);
    assert_eq!(luns.sum(&[]), sum);
    // A sixth joins, the first leaves.
    let more = luns.rig.loop_device("lun5", LUN_MIB);
    let added = luns.expect(0, &["add", text(&more), "--yes", "--power", "64"]);
    assert!(added.stdout.contains("moved"), "{}", added.stdout);
    luns.devices.push(more);
    let first = text(&luns.devices[0]).to_string();
    luns.expect(0, &["drop", &first]);
    luns.devices.remove(0);
    luns.expect(0, &["check"]);
    assert_eq!(luns.sum(&["--verify"]), sum);
}

#[test]
fn devices_that_may_not_be_taken_are_left_alone() {
    let Some(mut luns) = Luns::new(2) else { return };
    let image = luns.rig.path("lun0");
    let device = text(&luns.devices[0]).to_string();
    tool("mkfs.ext4", &["-q", "-F", &device]);
    tool("sync", &[text(&image)]);
    let before = sha256(&std::fs::read(&image).expect("read"));
    let unchanged = || {
        tool("sync", &[text(&image)]);
        assert_eq!(
            sha256(&std::fs::read(&image).expect("read")),
            before,
            "it was written to"
        );
    };
    luns.run(&["create", "new", &device, "--yes"])
        .expect(3, &["ext4", "--overwrite", &device]);
    luns.run(&["create", "new", &device, "--overwrite", &device])
        .expect(3, &["--yes"]);
    unchanged();
    let place = luns.rig.path("place");
    std::fs::create_dir(&place).expect("made");
    tool("mount", &["-o", "ro,noload", &device, text(&place)]);
    // Mounted: not even under --overwrite.
    luns.run(&["create", "new", &device, "--overwrite", &device, "--yes"])
        .expect(3, &["mounted on", text(&place)]);
    tool("umount", &[text(&place)]);
    unchanged();
    let read_only = tool(
        "losetup",
        &["--find", "--show", "--read-only", text(&luns.rig.path("lun1"))],
    );
    luns.run(&["create", "new", read_only.trim(), "--yes"])
        .expect(3, &["read-only"]);
    tool("losetup", &["-d", read_only.trim()]);
    // Sectors of another size.
    let file = luns.rig.path("large-sectors");
    std::fs::File::create(&file)
        .and_then(|f| f.set_len(LUN_MIB * MIB))
        .expect("made");
    let other = tool("losetup", &["--find", "--show", "--sector-size", "4096", text(&file)]);
    let second = text(&luns.devices[1]).to_string();
    luns.run(&["create", "new", &second, other.trim(), "--yes"])
        .expect(3, &["sectors", "512", "4096"]);
    // Said for that very device, it may be destroyed.
    luns.expect(0, &["create", "new", &second, &device, "--overwrite", &device, "--yes"]);
    // And from then on neither another group nor a study takes it.
    luns.run(&["create", "third", &device, "--yes"])
        .expect(3, &["belongs to disk group new"]);
    let refused = luns.rig.study(
        "study",
        &format!(
            "[study]\nname = \"s\"\nquestion = \"May it?\"\n[luns.data]\ndevices = [\"{device}\"]\n[[stack]]\n\
             name = \"e\"\n\
             kind = \"ext4\"\ndata = \"data\"\n[[phase]]\nname = \"read\"\nkind = \"random\"\nupdate_pct = 0\n\
             time = \"1s\"\n"
        ),
    );
    let result = luns.rig.result("study");
    luns.rig
        .run(&refused, &result, &["--yes"])
        .expect(3, &["Assay disk group", &device]);
    luns.devices.clear();
}
