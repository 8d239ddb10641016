//! What a host is: the figures that tell whether two hosts are alike.
//!
//! Takes what the kernel says and this program's file; gives facts, their bytes, and where hosts differ or are one.
//! Prevents: a sum over hosts that run another kernel or another build, and two ranks of one host taken for two hosts.

use rustix::system::uname;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use thiserror::Error;

/// Longest facts in bytes.
pub const FACTS_MAX: usize = 4096;
/// Longest name of a host or a kernel.
const NAME_MAX: usize = 256;
/// More processors than this are none.
const CORES_MAX: u32 = 1 << 20;
/// Where the kernel says which of its starts this is.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";
/// Longest word for it: a UUID has 36 characters.
const BOOT_MAX: usize = 64;

/// What a rank says of its host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostFacts {
    /// The host's name.
    pub host: String,
    /// Release of the kernel.
    pub kernel: String,
    /// Which start of its kernel this is: no two kernels have one in common.
    pub boot: String,
    /// Processors that are online.
    pub cores: u32,
    /// Processors that the rank may use: a launcher may bind it to a few (`mpirun --bind-to none` does not).
    pub usable: u32,
    /// SHA-256 of the program's file, in hexadecimal.
    pub binary: String,
    /// Process id, on its host.
    pub process: u32,
}

/// Why bytes are no facts.
#[derive(Debug, Error)]
pub enum FactsError {
    /// More than any host has to say.
    #[error("its facts have {0} bytes, and may have {FACTS_MAX}")]
    Long(usize),
    /// No JSON, or of another meaning.
    #[error("its facts mean nothing: {0}")]
    Meaning(#[from] serde_json::Error),
    /// A value that no host has.
    #[error("its facts cannot be: {0}")]
    Impossible(&'static str),
}

impl HostFacts {
    /// Those of this host and this program.
    ///
    /// # Errors
    /// `/proc` cannot be read.
    pub fn here() -> io::Result<HostFacts> {
        let system = uname();
        let text = |name: &std::ffi::CStr| name.to_string_lossy().into_owned();
        let usable = std::thread::available_parallelism()?.get();
        let online = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
        Ok(HostFacts {
            host: text(system.nodename()),
            kernel: text(system.release()),
            boot: std::fs::read_to_string(BOOT_ID)?.trim().to_string(),
            // Where /sys is not there, those that may be used are known all the same.
            cores: count(&online).unwrap_or(usable as u32),
            usable: usable as u32,
            binary: digest(File::open("/proc/self/exe")?)?,
            process: std::process::id(),
        })
    }

    /// As they are sent.
    pub fn bytes(&self) -> Vec<u8> {
        // Strings and numbers alone: JSON has words for all of them.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Facts that another host sent, checked.
    ///
    /// # Errors
    /// Bytes that mean nothing, or say what cannot be.
    pub fn read(bytes: &[u8]) -> Result<HostFacts, FactsError> {
        if bytes.len() > FACTS_MAX {
            return Err(FactsError::Long(bytes.len()));
        }
        let facts: HostFacts = serde_json::from_slice(bytes)?;
        // They are printed and compared: no byte of them may act on a terminal.
        let is_name = |name: &str| !name.is_empty() && name.len() <= NAME_MAX && !name.chars().any(char::is_control);
        let is_uuid_byte = |byte: u8| byte.is_ascii_hexdigit() || byte == b'-';
        let is_boot = (1..=BOOT_MAX).contains(&facts.boot.len()) && facts.boot.bytes().all(is_uuid_byte);
        let is_digest = facts.binary.len() == 64 && facts.binary.bytes().all(|byte| byte.is_ascii_hexdigit());
        match () {
            () if !is_name(&facts.host) => Err(FactsError::Impossible("the name of the host")),
            () if !is_name(&facts.kernel) => Err(FactsError::Impossible("the kernel")),
            () if !is_boot => Err(FactsError::Impossible("the start of its kernel")),
            () if !(1..=CORES_MAX).contains(&facts.cores) || !(1..=CORES_MAX).contains(&facts.usable) => {
                Err(FactsError::Impossible("the processors"))
            }
            () if !is_digest => Err(FactsError::Impossible("the digest of the program")),
            () => Ok(facts),
        }
    }
}

/// SHA-256 of a file, in hexadecimal.
fn digest(mut file: impl Read) -> io::Result<String> {
    let (mut sum, mut some) = (Sha256::new(), vec![0; 1 << 16]);
    loop {
        match file.read(&mut some)? {
            0 => return Ok(sum.finalize().iter().map(|byte| format!("{byte:02x}")).collect()),
            read => sum.update(&some[..read]),
        }
    }
}

/// How many processors a list of the kernel names, as `0-3,6`. `None`: it is no such list.
fn count(list: &str) -> Option<u32> {
    let one = |range: &str| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        last.checked_sub(first)?.checked_add(1)
    };
    list.trim()
        .split(',')
        .try_fold(0_u32, |sum, range| sum.checked_add(one(range)?))
}

/// In what hosts differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Difference {
    /// They run other kernels.
    Kernel,
    /// They have other numbers of processors, or may use others.
    Cores,
    /// They run another build of the program.
    Binary,
}

/// A host that differs from that of rank 0, by rank, and in what.
pub fn differences(facts: &[HostFacts]) -> Vec<(u32, Difference)> {
    let Some((first, others)) = facts.split_first() else {
        return Vec::new();
    };
    let of = |(rank, other): (u32, &HostFacts)| {
        let found = [
            (other.kernel != first.kernel).then_some(Difference::Kernel),
            ((other.cores, other.usable) != (first.cores, first.usable)).then_some(Difference::Cores),
            (other.binary != first.binary).then_some(Difference::Binary),
        ];
        found.into_iter().flatten().map(move |difference| (rank, difference))
    };
    (1..).zip(others).flat_map(of).collect()
}

/// The first two ranks that are on one host: one start of one kernel, under one name. Containers with names of their
/// own are hosts of their own.
pub fn on_one_host(facts: &[HostFacts]) -> Option<(u32, u32)> {
    let mut known = BTreeMap::new();
    (0..).zip(facts).find_map(|(rank, one)| {
        let first = known.insert((&one.boot, &one.host), rank)?;
        Some((first, rank))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_host_says_what_it_is_and_is_understood() {
        let here = HostFacts::here().unwrap();
        assert!(
            here.cores > 0 && !here.kernel.is_empty() && here.boot.len() == 36,
            "{here:?}"
        );
        assert_eq!(HostFacts::read(&here.bytes()).unwrap(), here);
    }

    #[test]
    fn the_digest_is_that_of_the_standard() {
        // FIPS 180-2, appendix B.1.
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(digest(&b"abc"[..]).unwrap(), abc);
    }

    #[test]
    fn processors_are_counted_as_the_kernel_lists_them() {
        assert_eq!(
            (count("0\n"), count("0-3\n"), count("0-3,6,8-9\n")),
            (Some(1), Some(4), Some(7))
        );
        for wrong in ["", "3-1", "a", "0-", "0-4294967295"] {
            assert_eq!(count(wrong), None, "{wrong}");
        }
    }

    fn changed(change: impl FnOnce(&mut HostFacts)) -> HostFacts {
        let mut facts = HostFacts {
            host: "one".into(),
            kernel: "6.1.0".into(),
            boot: "1d4c8e7a-0b1c-4d2e-8f3a-5b6c7d8e9f0a".into(),
            cores: 8,
            usable: 8,
            binary: "0a".repeat(32),
            process: 7,
        };
        change(&mut facts);
        facts
    }

    #[test]
    fn facts_that_cannot_be_are_refused() {
        assert!(HostFacts::read(&changed(|_| {}).bytes()).is_ok());
        for wrong in [
            changed(|facts| facts.host = String::new()),
            changed(|facts| facts.host = "a\u{1b}[2J".into()),
            changed(|facts| facts.kernel = "k".repeat(257)),
            changed(|facts| facts.boot = String::new()),
            changed(|facts| facts.boot = "no start".into()),
            changed(|facts| facts.boot = "0".repeat(65)),
            changed(|facts| facts.cores = 0),
            changed(|facts| facts.cores = u32::MAX),
            changed(|facts| facts.usable = 0),
            changed(|facts| facts.binary = "0a".into()),
            changed(|facts| facts.binary = "zz".repeat(32)),
        ] {
            let error = HostFacts::read(&wrong.bytes()).unwrap_err();
            assert!(matches!(error, FactsError::Impossible(_)), "{error}");
        }
        assert!(matches!(HostFacts::read(b"{}"), Err(FactsError::Meaning(_))));
        assert!(matches!(HostFacts::read(&[b' '; 5000]), Err(FactsError::Long(5000))));
    }

    #[test]
    fn hosts_that_differ_are_named_with_what_differs() {
        let alike = changed(|facts| facts.host = "two".into());
        let other = changed(|facts| {
            facts.kernel = "6.2.0".into();
            facts.binary = "0b".repeat(32);
        });
        let smaller = changed(|facts| facts.cores = 4);
        let found = differences(&[changed(|_| {}), alike, other, smaller]);
        let expected = [(2, Difference::Kernel), (2, Difference::Binary), (3, Difference::Cores)];
        assert_eq!(found, expected);
        assert_eq!(differences(&[]), []);
    }

    /// Namespaces and containers have names of their own under one kernel; hosts may have one name under several.
    #[test]
    fn two_ranks_of_one_host_are_found_by_its_start_and_its_name() {
        let first = || changed(|_| {});
        let (named, started) = (
            changed(|facts| facts.host = "two".into()),
            changed(|facts| facts.boot = "0".repeat(36)),
        );
        assert_eq!(on_one_host(&[first(), named.clone(), started.clone()]), None);
        let again = changed(|facts| facts.process = 9);
        assert_eq!(on_one_host(&[first(), named.clone(), again]), Some((0, 2)));
        assert_eq!(on_one_host(&[first(), named.clone(), named]), Some((1, 2)));
        assert_eq!(on_one_host(&[started]), None);
        assert_eq!(on_one_host(&[]), None);
    }
}
