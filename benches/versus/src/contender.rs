//! Who takes part: our own side as a child of this binary, fio, and fio's bare peak tool. Each is a command line and
//! a way to read what it printed.
//!
//! Prevents: contenders that differ in more than their tool (block size, depth, file and O_DIRECT come from one
//! place), and a figure read from the wrong field of another tool's output.

use crate::flags::{Method, Side, Work};
use anyhow::{Context, bail};
use clap::ValueEnum;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Figures of one run, by column.
pub(crate) type Row = BTreeMap<String, f64>;

/// When a run ends.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Limit {
    Seconds(f64),
    /// For counting instructions: the difference of two lengths leaves set-up out.
    Requests(u64),
}

/// How the start of the measured loop is seen.
pub(crate) enum Go {
    /// A line on stdout: `go` of our own side, a rate of `pg_test_fsync`.
    Line,
    /// A file that the tool makes.
    File(PathBuf),
    /// So long after the start: the tool says nothing.
    After(Duration),
}

/// One tool with its parameters.
#[derive(Clone, Debug)]
pub(crate) enum Tool {
    Ours(Side),
    Fio(Fio),
    TIoUring {
        path: PathBuf,
        data: PathBuf,
        depth: u32,
    },
    /// PostgreSQL's `pg_test_fsync`, of which the rate of `fdatasync` is taken and nothing else.
    PgTestFsync(PathBuf),
}

/// A contender of a table.
#[derive(Clone, Debug)]
pub(crate) struct Contender {
    pub(crate) name: String,
    pub(crate) tool: Tool,
    /// Where it fails, the others are compared without it.
    pub(crate) optional: bool,
}

/// Parameters of fio.
#[derive(Clone, Debug)]
pub(crate) struct Fio {
    pub(crate) data: PathBuf,
    /// How often the file is named. A job that verifies ends when it has read as much as its files hold, whatever its
    /// time says (fio 3.33), so it is given the same file many times.
    pub(crate) times: usize,
    pub(crate) rw: &'static str,
    pub(crate) block: &'static str,
    pub(crate) engine: &'static str,
    pub(crate) depth: u32,
    pub(crate) jobs: u32,
    pub(crate) more: Vec<String>,
}

/// fio's registered files and buffers: what a user who cares switches on.
pub(crate) const REGISTERED: &[&str] = &["--fixedbufs=1", "--registerfiles=1"];
/// And all that takes its own cost down further. Rings with deferred completions are fio's own default where it knows
/// them.
pub(crate) const TUNED: &[&str] = &[
    "--fixedbufs=1",
    "--registerfiles=1",
    "--gtod_reduce=1",
    "--iodepth_batch_submit=16",
    "--iodepth_batch_complete_min=8",
    "--iodepth_batch_complete_max=64",
];
/// Every page that is read is checked, as the engine does. The file was laid by fio with the same checksum.
pub(crate) const VERIFIED: &[&str] = &[
    "--verify=crc32c",
    "--verify_fatal=1",
    "--verify_state_save=0",
    "--file_service_type=sequential",
];
const FIO_GO: &str = "fio.go";
const JOB: &str = "versus";
/// What `pg_test_fsync` writes into.
const PG_FILE: &str = "pg_test_fsync";

impl Contender {
    pub(crate) fn ours(name: &str, side: Side) -> Contender {
        Contender {
            name: name.into(),
            tool: Tool::Ours(side),
            optional: false,
        }
    }

    pub(crate) fn fio(name: &str, fio: Fio) -> Contender {
        Contender {
            name: name.into(),
            tool: Tool::Fio(fio),
            optional: false,
        }
    }

    /// One that the comparison can do without.
    pub(crate) fn optional(name: &str, tool: Tool) -> Contender {
        Contender {
            name: name.into(),
            tool,
            optional: true,
        }
    }

    /// Program and arguments, as they are run and printed.
    pub(crate) fn command(&self, limit: Limit, scratch: &Path) -> anyhow::Result<(PathBuf, Vec<String>)> {
        match &self.tool {
            Tool::Ours(side) => Ok((
                std::env::current_exe().context("find this program")?,
                side_args(side, limit),
            )),
            Tool::Fio(fio) => Ok((PathBuf::from("fio"), fio.args(limit, scratch))),
            Tool::TIoUring { path, data, depth } => {
                let Limit::Seconds(seconds) = limit else {
                    bail!("t/io_uring has no limit by count");
                };
                let batch = depth.div_ceil(2);
                let mut args: Vec<String> = ["-p0", "-B1", "-F1", "-n1", "-b8192"].map(String::from).into();
                args.extend([format!("-d{depth}"), format!("-s{batch}"), format!("-c{batch}")]);
                args.extend([format!("-r{}", seconds.ceil() as u64), data.display().to_string()]);
                Ok((path.clone(), args))
            }
            Tool::PgTestFsync(path) => {
                let Limit::Seconds(seconds) = limit else {
                    bail!("pg_test_fsync has no limit by count");
                };
                let file = scratch.join(PG_FILE).display().to_string();
                let whole = seconds.round().max(1.0) as u64;
                Ok((path.clone(), vec!["-f".into(), file, "-s".into(), whole.to_string()]))
            }
        }
    }

    pub(crate) fn go(&self, scratch: &Path) -> Go {
        match &self.tool {
            Tool::Ours(_) | Tool::PgTestFsync(_) => Go::Line,
            Tool::Fio(_) => Go::File(scratch.join(FIO_GO)),
            Tool::TIoUring { .. } => Go::After(Duration::from_millis(200)),
        }
    }

    /// The figures in what it printed.
    pub(crate) fn read(&self, printed: &str) -> anyhow::Result<Row> {
        match &self.tool {
            Tool::Ours(_) => read_side(printed),
            Tool::Fio(fio) => read_fio(printed, fio),
            Tool::TIoUring { .. } => read_t_io_uring(printed),
            Tool::PgTestFsync(_) => {
                let rate = printed.lines().find_map(fdatasync_rate);
                let rate = rate.context("pg_test_fsync printed no rate of fdatasync")?;
                Ok(Row::from([("iops".to_string(), rate)]))
            }
        }
    }
}

fn side_args(side: &Side, limit: Limit) -> Vec<String> {
    let word = |value: Option<clap::builder::PossibleValue>| value.map_or(String::new(), |v| v.get_name().to_string());
    let mut args = vec!["side".to_string(), word(side.work.to_possible_value())];
    let mut pair = |flag: &str, value: String| args.extend([flag.to_string(), value]);
    pair("--data", side.data.display().to_string());
    if let Some(redo) = &side.redo {
        pair("--redo", redo.display().to_string());
    }
    for disk in &side.disk {
        pair("--disk", disk.display().to_string());
    }
    pair("--block", side.block.to_string());
    pair("--method", word(side.method.to_possible_value()));
    pair("--sessions", side.sessions.to_string());
    pair("--work-unit", side.work_unit.to_string());
    pair("--workers", side.workers.to_string());
    pair("--pages", side.pages.to_string());
    pair("--cache-mib", side.cache_mib.to_string());
    pair("--seed", side.seed.to_string());
    match limit {
        Limit::Seconds(seconds) => pair("--seconds", seconds.to_string()),
        Limit::Requests(count) => pair("--ios", count.to_string()),
    }
    for (flag, on) in [
        ("--unverified", side.unverified),
        ("--in-order", side.in_order),
        ("--flush", side.flush),
    ] {
        if on {
            args.push(flag.into());
        }
    }
    args
}

/// Flags of fio as arguments.
pub(crate) fn arguments(parts: &[&[&str]]) -> Vec<String> {
    parts.concat().into_iter().map(String::from).collect()
}

impl Fio {
    /// One job over a file in blocks of 8 KiB.
    pub(crate) fn new(data: &Path, rw: &'static str, engine: &'static str, depth: u32) -> Fio {
        Fio {
            data: data.to_owned(),
            times: 1,
            rw,
            block: "8k",
            engine,
            depth,
            jobs: 1,
            more: Vec::new(),
        }
    }

    fn args(&self, limit: Limit, scratch: &Path) -> Vec<String> {
        let go = scratch.join(FIO_GO);
        let mut args: Vec<String> = vec![format!("--name={JOB}")];
        args.extend(["--thread", "--direct=1", "--norandommap=1", "--group_reporting"].map(String::from));
        let named = vec![self.data.display().to_string(); self.times.max(1)];
        args.extend([
            format!("--filename={}", named.join(":")),
            format!("--rw={}", self.rw),
            format!("--bs={}", self.block),
            format!("--ioengine={}", self.engine),
            format!("--iodepth={}", self.depth),
            format!("--numjobs={}", self.jobs),
            "--output-format=json".into(),
        ]);
        if self.rw.ends_with("read") {
            args.push("--readonly".into());
        }
        args.extend(self.more.iter().cloned());
        match limit {
            Limit::Seconds(seconds) => args.extend([
                "--time_based".into(),
                format!("--runtime={}ms", (seconds * 1e3).round()),
            ]),
            Limit::Requests(count) => args.push(format!("--io_size={}k", count * 8)),
        }
        // A job of its own that says when all begin: done by the job itself it would be done once by each of hundreds.
        args.extend(
            [
                "--name=go",
                "--new_group=1",
                "--thread",
                "--ioengine=null",
                "--rw=read",
                "--size=8k",
            ]
            .map(String::from),
        );
        args.push(format!("--exec_prerun=touch {}", go.display()));
        args
    }
}

/// Our own side prints one object of numbers as its last line.
fn read_side(printed: &str) -> anyhow::Result<Row> {
    let last = printed.lines().last().context("our own side printed nothing")?;
    let value: Value = serde_json::from_str(last).with_context(|| format!("not a result: {last}"))?;
    let object = value.as_object().context("a result is an object")?;
    Ok(object
        .iter()
        .filter_map(|(key, value)| Some((key.clone(), value.as_f64()?)))
        .collect())
}

fn read_fio(printed: &str, fio: &Fio) -> anyhow::Result<Row> {
    // Warnings may stand before the object.
    let from = printed.find('{').context("fio printed no JSON")?;
    let value: Value = serde_json::from_str(&printed[from..]).context("fio printed broken JSON")?;
    let jobs = value["jobs"].as_array().context("fio reports no job")?;
    let job = jobs
        .iter()
        .find(|job| job["jobname"] == JOB)
        .context("fio does not report on its job")?;
    if job["error"].as_i64() != Some(0) {
        bail!("fio reports error {}", job["error"]);
    }
    let of = |way: &str, key: &str| job[way][key].as_f64().unwrap_or(0.0);
    let (reads, writes) = (of("read", "iops"), of("write", "iops"));
    anyhow::ensure!(reads + writes > 0.0, "fio did nothing");
    let bytes = of("read", "bw_bytes") + of("write", "bw_bytes");
    let mut row = Row::from([
        ("iops".to_string(), reads + writes),
        ("reads_s".to_string(), reads),
        ("writes_s".to_string(), writes),
        ("mib_s".to_string(), bytes / 1048576.0),
    ]);
    if fio.rw.ends_with("rw") {
        // A mix of both has no one latency.
        return Ok(row);
    }
    let side = &job[if fio.rw.ends_with("read") { "read" } else { "write" }];
    for (key, share) in [
        ("p50_us", "50.000000"),
        ("p99_us", "99.000000"),
        ("p999_us", "99.900000"),
    ] {
        if let Some(ns) = side["clat_ns"]["percentile"][share].as_f64() {
            row.insert(key.into(), ns / 1000.0);
        }
    }
    Ok(row)
}

/// A line a second: `IOPS=118.5K, BW=...`. The first is left out where there are others: the loop was starting.
fn read_t_io_uring(printed: &str) -> anyhow::Result<Row> {
    let rates: Vec<f64> = printed
        .lines()
        .filter_map(|line| scaled(line.strip_prefix("IOPS=")?.split(',').next()?))
        .collect();
    let counted = if rates.len() > 1 { &rates[1..] } else { &rates[..] };
    anyhow::ensure!(!counted.is_empty(), "t/io_uring printed no rate");
    let iops = counted.iter().sum::<f64>() / counted.len() as f64;
    Ok(Row::from([("iops".to_string(), iops)]))
}

/// The line `fdatasync    1234.567 ops/sec     810 usecs/op`.
pub(crate) fn fdatasync_rate(line: &str) -> Option<f64> {
    let rest = line.trim_start().strip_prefix("fdatasync")?;
    let (rate, _) = rest.split_once("ops/sec")?;
    rate.trim().parse().ok()
}

fn scaled(word: &str) -> Option<f64> {
    let (digits, factor) = match word.strip_suffix('K') {
        Some(digits) => (digits, 1e3),
        None => word.strip_suffix('M').map_or((word, 1.0), |digits| (digits, 1e6)),
    };
    Some(digits.parse::<f64>().ok()? * factor)
}

/// A side with the parameters that most have.
pub(crate) fn side(work: Work, data: &Path) -> Side {
    Side {
        work,
        data: data.to_owned(),
        disk: Vec::new(),
        block: 8192,
        in_order: false,
        flush: false,
        redo: None,
        method: Method::Ring,
        sessions: 64,
        work_unit: 1,
        workers: 1,
        pages: 1,
        cache_mib: 8,
        unverified: false,
        seconds: 0.0,
        ios: None,
        seed: 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading() -> Fio {
        Fio {
            more: arguments(&[TUNED]),
            ..Fio::new(Path::new("/x/data"), "randread", "io_uring", 64)
        }
    }

    #[test]
    fn what_fio_prints_is_read() {
        let printed = r#"fio: a warning
{"jobs":[{"jobname":"versus","error":0,"read":{"iops":1234.5,"bw_bytes":10485760,
"clat_ns":{"percentile":{"50.000000":1000,"99.000000":2000,"99.900000":4000}}}}]}"#;
        let row = read_fio(printed, &reading()).unwrap();
        assert_eq!((row["iops"], row["mib_s"], row["p999_us"]), (1234.5, 10.0, 4.0));
        assert!(
            read_fio(
                r#"{"jobs":[{"jobname":"versus","error":5,"read":{"iops":1.0}}]}"#,
                &reading()
            )
            .is_err()
        );
    }

    #[test]
    fn a_mix_is_reads_and_writes_together() {
        let printed = r#"{"jobs":[{"jobname":"versus","error":0,"read":{"iops":60.0,"bw_bytes":0},
"write":{"iops":40.0,"bw_bytes":1048576}}]}"#;
        let mixed = Fio {
            rw: "randrw",
            ..reading()
        };
        let row = read_fio(printed, &mixed).unwrap();
        assert_eq!((row["iops"], row["reads_s"], row["writes_s"]), (100.0, 60.0, 40.0));
        assert_eq!((row["mib_s"], row.get("p50_us")), (1.0, None));
    }

    #[test]
    fn a_file_can_be_named_many_times() {
        let verified = Fio {
            times: 3,
            more: arguments(&[TUNED, VERIFIED]),
            ..reading()
        };
        let args = verified.args(Limit::Seconds(1.0), Path::new("/x"));
        assert!(
            args.contains(&"--filename=/x/data:/x/data:/x/data".to_string()),
            "{args:?}"
        );
        assert!(args.contains(&"--verify=crc32c".to_string()) && args.contains(&"--gtod_reduce=1".to_string()));
    }

    #[test]
    fn what_pg_test_fsync_prints_is_read() {
        let printed = [
            "Compare file sync methods using one 8kB write:",
            "        open_datasync     n/a*",
            "        fdatasync         1234.500 ops/sec     810 usecs/op",
            "        fsync                9.000 ops/sec       1 usecs/op",
        ]
        .join("\n");
        let contender = Contender::optional("p", Tool::PgTestFsync("/x/pg_test_fsync".into()));
        assert_eq!(contender.read(&printed).unwrap()["iops"], 1234.5);
        assert!(contender.read("open_datasync 1 ops/sec").is_err());
    }

    #[test]
    fn what_t_io_uring_prints_is_read() {
        let printed = "submitter=0\nIOPS=37344, BW=291MiB/s\nIOPS=118.50K, BW=9\nIOPS=1.50M, BW=9\nMaximum IOPS=9\n";
        assert_eq!(
            read_t_io_uring(printed).unwrap()["iops"],
            (118_500.0 + 1_500_000.0) / 2.0
        );
        assert!(read_t_io_uring("no rate").is_err());
    }

    #[test]
    fn our_own_side_gets_the_flags_that_it_reads() {
        use clap::Parser;
        let mut wanted = side(Work::Reads, Path::new("/x/data"));
        wanted.redo = Some("/x/redo".into());
        wanted.unverified = true;
        let args = side_args(&wanted, Limit::Requests(7));
        let parsed = crate::flags::Flags::try_parse_from(std::iter::once("versus".to_string()).chain(args)).unwrap();
        let Some(crate::flags::Command::Side(got)) = parsed.command else {
            panic!("no side")
        };
        assert_eq!((got.work, got.ios, got.unverified), (Work::Reads, Some(7), true));
        assert_eq!((got.redo, got.seed), (wanted.redo, 1));
    }
}
