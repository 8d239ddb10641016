//! Studies and the `slob.conf` that one names.

use super::{Trial, Verdict};
use crate::{Dice, damage};
use anyhow::Context;
use std::path::Path;

const STUDIES: [&str; 12] = [
    include_str!("../../../../studies/asm-vs-cow.toml"),
    include_str!("../../../../studies/asm-vs-zfs-on-array.toml"),
    include_str!("../../../../studies/asm-vs-zfs-on-disks.toml"),
    include_str!("../../../../studies/bulk-load.toml"),
    include_str!("../../../../studies/direct-vs-buffered.toml"),
    include_str!("../../../../studies/diskgroup-vs-filesystems.toml"),
    include_str!("../../../../benches/laboratory/studies/fixed-protocol.toml"),
    include_str!("../../../../studies/kill.toml"),
    include_str!("../../../../studies/lvm-vs-asm.toml"),
    include_str!("../../../../studies/model.toml"),
    include_str!("../../../../studies/overwrite-vs-cow.toml"),
    include_str!("../../../../studies/there-and-back.toml"),
];

/// Words that mean something in a study.
const WORDS: &[&str] = &[
    "[[stack]]",
    "[[phase]]",
    "[luns.a]",
    "[luns.a.device]",
    "[study]",
    "[database]",
    "[memory]",
    "[",
    "]",
    "{",
    "}",
    "=",
    ",",
    "#",
    "\"",
    "\"\"\"",
    "'",
    "name",
    "kind",
    "size",
    "count",
    "scale",
    "time",
    "\"1GiB\"",
    "\"16EiB\"",
    "\"0\"",
    "\"5%\"",
    "\"200%\"",
    "\"10s\"",
    "\"300y\"",
    "true",
    "none",
    "\"none\"",
    "random",
    "scan",
    "age",
    "power_cut",
    "tpcc",
    "tpch",
    "copy",
    "rebalance",
    "device",
    "model",
    "hdd",
    "passes",
    "stacks",
    "schemas",
    "hotspot",
    "inject",
    "zfs",
    "settings",
    "mkfs_options",
    "1979-05-27",
    "a.b.c",
    "\u{feff}",
];

struct Studies;

pub(crate) fn make() -> anyhow::Result<Box<dyn Trial>> {
    Ok(Box::new(Studies))
}

impl Trial for Studies {
    fn input(&mut self, dice: &mut Dice) -> Vec<u8> {
        let good = dice.pick(&STUDIES);
        if dice.once_in(20) {
            return good.as_bytes().to_vec();
        }
        let mut bytes = damage::text(good, dice, WORDS).into_bytes();
        if dice.once_in(8) {
            damage::bytes(&mut bytes, dice);
        }
        if dice.once_in(50) {
            let deep = *dice.pick(&["[", "{a=", "a.", "[[x]]\n"]);
            bytes.extend_from_slice(format!("\nz = {}", deep.repeat(1 << dice.below(17))).as_bytes());
        }
        bytes
    }

    fn read(&mut self, input: &[u8]) -> Result<Verdict, String> {
        // In a directory that no file is in: a study that names one is refused.
        let text = String::from_utf8_lossy(input);
        match plan::parse(&text, Path::new("/proc/none/study.toml")) {
            Ok(study) => {
                let _ = plan::estimate(&study, 500_000_000);
                let _ = study.scaled(0.5);
                for set in &study.luns {
                    devices(set);
                }
                let again = plan::parse(&study.to_toml(), Path::new("again.toml"));
                again.map_err(|error| format!("what was accepted is no study when printed: {error}"))?;
                Ok(Verdict::Accepted)
            }
            Err(error) => cured(&error.to_string(), "cure: "),
        }
    }
}

/// The devices that its parameters make: what is accepted must be a device.
fn devices(set: &plan::LunSet) {
    let Some(device) = &set.device else { return };
    let value = |name: &str| {
        let mut all = device.parameters.iter();
        all.find(|parameter| parameter.spec.name == name)
            .map_or(0.0, |parameter| parameter.value)
    };
    let _ = luns::model::named(
        device.model.word(),
        &value,
        "[read]\n1, 1\n[write]\n1, 1\n[flush]\n1, 1\n",
        &[64 << 20; 4],
        1,
    );
}

/// Refused, with a last line that says what to do and of a length that somebody can read.
pub(crate) fn cured(error: &str, begins: &str) -> Result<Verdict, String> {
    if error.len() > 1 << 20 {
        return Err(format!("an error of {} bytes", error.len()));
    }
    match error.lines().last().is_some_and(|line| line.starts_with(begins)) {
        true => Ok(Verdict::Refused),
        false => Err(format!("no cure: {}", error.chars().take(300).collect::<String>())),
    }
}

const CONF: &str =
    "# by hand\nUPDATE_PCT=30\nSCAN_PCT=5\nRUN_TIME=300\nWORK_LOOP=0\nSCALE=8G\nSCAN_TABLE_SZ=2M\nWORK_UNIT=32
REDO_STRESS=HEAVY\nLOAD_PARALLEL_DEGREE=16\nTHREADS_PER_SCHEMA=2\nDATABASE_STATISTICS_TYPE=awr\nSYSDBA_PASSWD=tiger
EXTERNAL_SCRIPT=''\nDO_HOTSPOT=TRUE\nHOTSPOT_MB=16\nHOTSPOT_OFFSET_MB=4\nHOTSPOT_FREQUENCY=3\nHOT_SCHEMA_FREQUENCY=0
THINK_TM_FREQUENCY=10\nTHINK_TM_MIN=.1\nTHINK_TM_MAX=.5\nexport MY_OWN_NOTE=\"x\"\n";

const NAMING: &str =
    "[study]\nname = \"s\"\ntime_limit = \"3h\"\n[[stack]]\nname = \"here\"\nkind = \"model\"\nsize = \"64GiB\"
[database]\nschemas = 8\nscale = \"1GiB\"\n[[phase]]\nname = \"p\"\nkind = \"random\"\nslob_conf = \"slob.conf\"\n";

const CONF_WORDS: &[&str] = &[
    "UPDATE_PCT",
    "SCALE",
    "RUN_TIME",
    "export",
    "=",
    ";",
    "#",
    "'",
    "\"",
    "$A",
    "`x`",
    "\\",
    "HEAVY",
    "LITE",
    "TRUE",
    "FALSE",
    "8G",
    "64000M",
    "16E",
    "-1",
    ".",
    "1e9",
    "",
];

struct Confs(tempfile::TempDir);

pub(crate) fn make_slob_conf() -> anyhow::Result<Box<dyn Trial>> {
    let dir = tempfile::tempdir().context("make a directory")?;
    Ok(Box::new(Confs(dir)))
}

impl Trial for Confs {
    fn input(&mut self, dice: &mut Dice) -> Vec<u8> {
        if dice.once_in(20) {
            return CONF.as_bytes().to_vec();
        }
        let mut bytes = damage::text(CONF, dice, CONF_WORDS).into_bytes();
        if dice.once_in(8) {
            damage::bytes(&mut bytes, dice);
        }
        bytes
    }

    fn read(&mut self, input: &[u8]) -> Result<Verdict, String> {
        let dir = self.0.path();
        std::fs::write(dir.join("slob.conf"), input).map_err(|error| error.to_string())?;
        match plan::parse(NAMING, &dir.join("study.toml")) {
            Ok(_) => Ok(Verdict::Accepted),
            Err(error) => cured(&error.to_string(), "cure: "),
        }
    }
}
