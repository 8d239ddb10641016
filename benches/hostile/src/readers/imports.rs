//! Texts of other tools.

use super::{Trial, Verdict};
use crate::{Dice, damage};
use import::{Format, Options, detect, read};

const TEXTS: [&str; 40] = [
    include_str!("../../../../crates/import/tests/data/awr-10g.txt"),
    include_str!("../../../../crates/import/tests/data/awr-19c.txt"),
    include_str!("../../../../crates/import/tests/data/awr-info.txt"),
    include_str!("../../../../crates/import/tests/data/fio-2.json"),
    include_str!("../../../../crates/import/tests/data/fio-3.json"),
    include_str!("../../../../crates/import/tests/data/iostat-linux-new.txt"),
    include_str!("../../../../crates/import/tests/data/iostat-linux-old.txt"),
    include_str!("../../../../crates/import/tests/data/unity-2017-physical.txt"),
    include_str!("../../../../crates/import/tests/data/unity-2017-runs.txt"),
    include_str!("../../../../crates/import/tests/data/unity-2017-tablespaces.txt"),
    include_str!("../../../../crates/import/tests/data/xtremio-2014-copy.iostat"),
    include_str!("../../../../crates/import/tests/data/xtremio-2014-half-updates-asm.txt"),
    include_str!("../../../../crates/import/tests/data/xtremio-2014-random-asm.iostat"),
    include_str!("../../../../crates/import/tests/data/xtremio-2014-random-zfs-aged.txt"),
    include_str!("../../../../crates/import/tests/data/xtremio-2014-scan-asm-awr.txt"),
    include_str!("../../../../crates/import/tests/data/xtremio-2014-scan-asm.txt"),
    include_str!("../../../../crates/import/tests/data/pages/11.2.0.3.html"),
    include_str!("../../../../crates/import/tests/data/pages/11.2.0.4.html"),
    include_str!("../../../../crates/import/tests/data/pages/18c.html"),
    include_str!("../../../../crates/import/tests/data/pages/11.2-load-profile.txt"),
    include_str!("../../../../crates/import/tests/data/pages/statspack-10g.txt"),
    include_str!("../../../../crates/import/tests/data/pages/statspack-9i.txt"),
    include_str!("../../../../crates/import/tests/data/pages/11.2-events.txt"),
    include_str!("../../../../crates/import/tests/data/pages/19c-sqlplus.txt"),
    include_str!("../../../../crates/import/tests/data/pages/12.1-containers.html"),
    include_str!("../../../../crates/import/tests/data/pages/statspack-11g.txt"),
    include_str!("../../../../crates/import/tests/data/hosts/sar-12.txt"),
    include_str!("../../../../crates/import/tests/data/hosts/sar-old.txt"),
    include_str!("../../../../crates/import/tests/data/hosts/sadf.json"),
    include_str!("../../../../crates/import/tests/data/hosts/vmstat.txt"),
    include_str!("../../../../crates/import/tests/data/hosts/zpool-v.txt"),
    include_str!("../../../../crates/import/tests/data/hosts/zpool-l.txt"),
    include_str!("../../../../crates/import/tests/data/hosts/zpool-h.txt"),
    include_str!("../../../../crates/import/tests/data/loads/pgbench.txt"),
    include_str!("../../../../crates/import/tests/data/loads/pgbench-old.txt"),
    include_str!("../../../../crates/import/tests/data/loads/hammerdb.log"),
    include_str!("../../../../crates/import/tests/data/loads/sysbench-sql.txt"),
    include_str!("../../../../crates/import/tests/data/loads/sysbench-fileio.txt"),
    include_str!("../../../../crates/import/tests/data/loads/sysbench-0.5.txt"),
    include_str!("../../../../crates/import/tests/data/loads/sysbench-1.1-fileio.txt"),
];

const WORDS: &[&str] = &[
    "WORKLOAD REPOSITORY report for",
    "Tablespace",
    "Device:",
    "avg-cpu:",
    "r/s",
    "rMB/s",
    "await",
    "%util",
    "sda",
    "jobs",
    "read",
    "iops",
    "fio version",
    "Tm",
    "DB time",
    "Snap Id",
    "Elapsed:",
    "----------",
    "---",
    "#######",
    "{",
    "}",
    "[",
    "]",
    "\"",
    ":",
    ",",
    "|",
    "\u{c}",
    "\u{a0}",
    "\t",
    "K",
    "M",
    "G",
    "T",
    "ms",
    "us",
    "%",
    "physical reads",
    "Per Second",
    "<table>",
    "</table>",
    "<tr>",
    "<td>",
    "<th>",
    "&#160;",
    "&lt;",
    "<script>",
    "<!--",
    "Load Profile",
    "TOTAL:",
    "STATSPACK report for",
    "DEV",
    "Average:",
    "procs",
    "pool",
    "capacity",
    "progress:",
    "tps =",
    "NOPM",
    "TPM",
    "TEST RESULT : System achieved",
    "thds:",
    "General statistics:",
    "statement latencies in milliseconds:",
    "30.8K",
    "1,5",
];

struct Imports;

pub(crate) fn make() -> anyhow::Result<Box<dyn Trial>> {
    Ok(Box::new(Imports))
}

impl Trial for Imports {
    fn input(&mut self, dice: &mut Dice) -> Vec<u8> {
        let good = dice.pick(&TEXTS);
        let mut bytes = damage::text(good, dice, WORDS).into_bytes();
        if dice.once_in(6) {
            damage::bytes(&mut bytes, dice);
        }
        bytes
    }

    fn read(&mut self, input: &[u8]) -> Result<Verdict, String> {
        let text = String::from_utf8_lossy(input);
        let mut verdict = Verdict::Refused;
        for format in Format::ALL.iter().copied().map(Some).chain([None]) {
            let options = Options {
                format,
                keep_first: input.len().is_multiple_of(2),
                devices: [vec![], vec!["sd*".to_string()]][input.len() / 2 % 2].clone(),
                ..Options::default()
            };
            let options = match format.or_else(|| detect(&text).ok()) {
                Some(format) => options.fitted(format),
                None => options,
            };
            match read(&text, &options) {
                Ok(found) => {
                    let figures = found.reports.iter().flat_map(|report| &report.figures);
                    if let Some(odd) = figures.into_iter().find(|figure| !figure.value.is_finite()) {
                        return Err(format!("a figure that is no number: {odd:?}"));
                    }
                    verdict = Verdict::Accepted;
                }
                Err(error) => drop(super::study::cured(&error.to_string(), "  ")?),
            }
        }
        Ok(verdict)
    }
}
