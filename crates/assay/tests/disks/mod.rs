//! What tests of `assay dg` on plain files share: a bench with files to be disks, the family called on them, and the
//! look at all bytes before and after.
//!
//! Prevents: a refusal that is believed because of what was said, when something was written all the same.

use crate::bench::{Bench, Ran, Running};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

pub(crate) const MIB: u64 = 1 << 20;
pub(crate) const DISK_MIB: u64 = 24;

/// A bench with empty files to be disks, and the arguments that name them.
pub(crate) struct Dg {
    pub(crate) bench: Bench,
    pub(crate) disks: Vec<String>,
}

impl Dg {
    pub(crate) fn new(disks: usize) -> Dg {
        let bench = Bench::new();
        let disks: Vec<String> = (0..disks).map(|n| format!("lun{n}")).collect();
        let dg = Dg { bench, disks };
        dg.disks.iter().for_each(|d| dg.empty_file(d, DISK_MIB));
        dg
    }

    /// With a group `data` on all disks.
    pub(crate) fn with_group(disks: usize, redundancy: &str) -> Dg {
        let dg = Dg::new(disks);
        let mut args = vec!["dg", "create", "data", "--yes", "--redundancy", redundancy];
        args.extend(dg.disks.iter().map(String::as_str));
        dg.bench.expect(0, &args);
        dg
    }

    pub(crate) fn empty_file(&self, name: &str, mib: u64) {
        let file = std::fs::File::create(self.bench.path(name)).expect("made");
        file.set_len(mib * MIB).expect("sized");
    }

    /// `assay dg ARGS --disk ...`, to its end.
    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        Running::start(self.command(args)).wait()
    }

    pub(crate) fn command(&self, args: &[&str]) -> std::process::Command {
        let mut all = vec!["dg"];
        all.extend(args);
        for disk in &self.disks {
            all.extend(["--disk", disk.as_str()]);
        }
        self.bench.command(&all)
    }

    pub(crate) fn expect(&self, code: i32, args: &[&str]) -> Ran {
        let ran = self.run(args);
        assert_eq!(ran.code(), code, "assay dg {args:?}\n{ran}");
        assert!(!ran.stderr.contains("panicked"), "{ran}");
        for line in ran.stdout.lines() {
            assert!(line.chars().count() <= 80, "{args:?}: {} columns: {line}", line.len());
        }
        ran
    }

    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let args: Vec<&str> = args.iter().chain(&["--json"]).copied().collect();
        let json = self.run(&args).json();
        assert_eq!(json["schema"], 1, "{json}");
        json
    }

    /// Writes a local file of random bytes; gives its SHA-256.
    pub(crate) fn source(&self, name: &str, bytes: u64, seed: u64) -> String {
        let content = random(bytes, seed);
        std::fs::write(self.bench.path(name), &content).expect("written");
        sha256(&content)
    }

    /// Copies a file in; gives its SHA-256.
    pub(crate) fn fill(&self, name: &str, bytes: u64, seed: u64) -> String {
        let sum = self.source(name, bytes, seed);
        self.expect(0, &["cp", name, &format!("data:{name}"), "--verify"]);
        sum
    }

    /// SHA-256 of a file of the group, read by a command of its own.
    pub(crate) fn sum_of(&self, name: &str, bytes: u64, more: &[&str]) -> String {
        let (from, size) = (format!("data:{name}"), bytes.to_string());
        let mut args = vec!["cp", from.as_str(), "copied-out", "--bytes", size.as_str()];
        args.extend(more);
        self.expect(0, &args);
        let path = self.bench.path("copied-out");
        let content = std::fs::read(&path).expect("read");
        std::fs::remove_file(path).expect("removed");
        sha256(&content)
    }

    /// Random bytes over a part of a disk.
    pub(crate) fn garbage(&self, disk: usize, from: u64, bytes: u64) {
        let path = self.bench.path(&self.disks[disk]);
        let file = std::fs::OpenOptions::new().write(true).open(path).expect("opened");
        file.write_all_at(&random(bytes, from + 99), from).expect("written");
    }

    /// What is in every file of the directory.
    pub(crate) fn contents(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let files = self.bench.listing();
        let files = files.into_iter().map(|(path, _)| path).filter(|p| p.is_file());
        files.map(|p| (p.clone(), std::fs::read(&p).expect("read"))).collect()
    }

    /// Looks that a command is refused and that nothing at all was written.
    pub(crate) fn refused(&self, code: i32, args: &[&str], words: &[&str]) {
        let before = self.contents();
        let ran = self.run(args);
        ran.failed_with(code, words);
        let cure = ran.stderr.trim_end().lines().last().unwrap_or_default();
        assert!(code == 2 || cure.starts_with("  "), "no cure\n{ran}");
        assert!(before == self.contents(), "{args:?} wrote something\n{ran}");
    }

    /// The bytes of a disk's data area, behind header, table and journal.
    pub(crate) fn data_area() -> (u64, u64) {
        (3 * MIB, (DISK_MIB - 5) * MIB)
    }
}

pub(crate) fn random(bytes: u64, seed: u64) -> Vec<u8> {
    let mut content = vec![0; bytes as usize];
    Xoshiro256PlusPlus::seed_from_u64(seed).fill_bytes(&mut content);
    content
}

pub(crate) fn sha256(content: &[u8]) -> String {
    Sha256::digest(content).iter().map(|b| format!("{b:02x}")).collect()
}
