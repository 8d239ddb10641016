//! Whether to believe a verdict, in one command: sets the traps, runs twins on this machine, simulates, prints the table of `assay calibrate --all`.
//!
//!     cargo bench -p assay --bench belief -- [--twins STUDY] [--studies N] [--dir DIR] [--slowed FILE] [--fixed FILE --against FILE] [--scheduled FILE] [--json]
//!
//! STUDY is studies/twins.toml unless said (studies/twins-short.toml where --slowed gives what studies/twins-slowed.toml left); N, studies that are drawn a line, 200,000; DIR, where twins.assay, traps.json and the LUNs of the
//! twins go, the current directory. Twins need root and loop devices. The result files of a fixed protocol and of the procedure beside it
//! take an hour to make (studies/fixed-protocol.toml) and are given, not made; so is what `assay calibrate --schedules DIR --json` printed. Prevents: figures that were put together by hand from several runs.
#![allow(clippy::print_stderr)]

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

struct Asked {
    study: PathBuf,
    dir: PathBuf,
    /// For the table.
    flags: Vec<String>,
}

fn asked() -> Result<Asked, String> {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = Asked {
        study: repository.join("studies/twins.toml"),
        dir: PathBuf::from("."),
        flags: Vec::new(),
    };
    let mut words = std::env::args().skip(1);
    let mut says_twins = false;
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(format!("{word}: give its value"));
        match word.as_str() {
            // Cargo's own.
            "--bench" => {}
            "--twins" => {
                found.study = value()?.into();
                says_twins = true;
            }
            "--dir" => found.dir = value()?.into(),
            "--studies" => found.flags.extend([word.clone(), value()?]),
            "--slowed" | "--fixed" | "--against" | "--scheduled" => {
                let file = value()?;
                let whole = std::fs::canonicalize(&file).map_err(|e| format!("{file}: {e}"))?;
                found.flags.extend([word.clone(), whole.display().to_string()]);
            }
            "--json" => found.flags.push(word),
            other => {
                return Err(format!(
                    "{other}: there is --twins STUDY, --studies N, --dir DIR, --slowed FILE, --fixed FILE --against FILE, --scheduled FILE, --json"
                ));
            }
        }
    }
    match found.flags.iter().any(|flag| flag == "--slowed") && !says_twins {
        true => {
            Err("--slowed: say its --twins too (studies/twins-short.toml is that of studies/twins-slowed.toml)".into())
        }
        false => Ok(found),
    }
}

/// What a program prints goes to standard error: the table alone is this program's output.
fn run(what: &str, command: &mut Command) -> Result<(), String> {
    eprintln!("{what}");
    let ended = command
        .stdout(Stdio::from(std::io::stderr()))
        .status()
        .map_err(|e| format!("{what}: {e}"))?;
    match ended.success() {
        true => Ok(()),
        false => Err(format!("{what}: {ended}")),
    }
}

fn belief() -> Result<ExitCode, String> {
    let asked = asked()?;
    let dir = std::fs::canonicalize(&asked.dir).map_err(|e| format!("{}: {e}", asked.dir.display()))?;
    let (traps, twins) = (dir.join("traps.json"), dir.join("twins.assay"));
    if twins.exists() {
        return Err(format!(
            "{} is there already: take it away, or say --dir elsewhere",
            twins.display()
        ));
    }
    let assay = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
        command.current_dir(&dir);
        command
    };
    let cargo = std::env::var_os("CARGO").unwrap_or("cargo".into());
    // A trap that is missed is a line of the table; where the tests wrote nothing, there is none.
    let _ = std::fs::remove_file(&traps);
    let of_traps = run(
        "traps",
        Command::new(cargo)
            .args(["test", "--release", "--package", "assay", "--test", "traps"])
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .env("ASSAY_TRAPS", &traps),
    );
    if let Err(why) = &of_traps {
        eprintln!("{why}");
        if !traps.exists() {
            return Err(why.clone());
        }
    }
    let study = std::fs::canonicalize(&asked.study).map_err(|e| format!("{}: {e}", asked.study.display()))?;
    run(
        "twins",
        assay().arg("run").arg(study).arg("--output").arg(&twins).arg("--quiet"),
    )?;
    eprintln!("simulated studies");
    let ended = assay()
        .args(["calibrate", "--all", "--twins"])
        .arg(&twins)
        .arg("--traps")
        .arg(&traps)
        .args(asked.flags)
        .status()
        .map_err(|e| e.to_string())?;
    // Missed traps end the table with its own code; whatever else the tests of traps failed for must not end well either.
    let code = ended.code().map_or(1, |code| code as u8);
    Ok(ExitCode::from(if code == 0 && of_traps.is_err() { 1 } else { code }))
}

fn main() -> ExitCode {
    // `cargo test --all-targets` starts benchmarks too, without this word.
    if !std::env::args().any(|word| word == "--bench") {
        return ExitCode::SUCCESS;
    }
    belief().unwrap_or_else(|why| {
        eprintln!("error: {why}");
        ExitCode::FAILURE
    })
}
