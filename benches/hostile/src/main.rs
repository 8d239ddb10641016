//! `cargo run -p hostile --release -- --seconds 60 [--reader NAME]`: hostile inputs for minutes, by hand.
//!
//! Prints a table: reader, inputs tried, accepted, the slowest, the largest. Ends with 1 where one failed; such
//! inputs are kept.

#![allow(clippy::print_stdout, reason = "the table is its answer")]

use anyhow::{Context, ensure};
use clap::Parser;
use hostile::{READERS, Run, replay, run, supervise};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Hostile inputs for everything that reads what others wrote.
#[derive(Parser, Debug)]
struct Flags {
    /// Seconds for each reader.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Inputs for each reader; ends at what comes first.
    #[arg(long, default_value_t = u64::MAX)]
    inputs: u64,
    /// Only this one.
    #[arg(long)]
    reader: Option<String>,
    /// Seed of the inputs.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Names the readers.
    #[arg(long)]
    list: bool,
    /// Reads this one input of `--reader` and `--seed` again, here; a panic shows its place.
    #[arg(long)]
    replay: Option<u64>,
    /// Where inputs that fail are kept.
    #[arg(long, default_value = "target/hostile")]
    keep: PathBuf,
    /// The watched process itself.
    #[arg(long, hide = true)]
    child: bool,
    #[arg(long, hide = true, default_value_t = 0)]
    from: u64,
    #[arg(long, hide = true, default_value_t = u64::MAX)]
    to: u64,
    #[arg(long, hide = true, default_value_t = u64::MAX)]
    wall_ms: u64,
    #[arg(long, hide = true)]
    progress: Option<PathBuf>,
}

fn main() -> anyhow::Result<ExitCode> {
    let flags = Flags::parse();
    let asked = |name: &str| Run {
        reader: name.to_string(),
        seed: flags.seed,
        from: flags.from,
        to: flags.to,
        wall: Duration::from_millis(flags.wall_ms),
        progress: flags.progress.clone(),
    };
    let name = flags.reader.as_deref();
    if flags.list {
        for reader in READERS {
            println!("{:<20} {}", reader.name, reader.what);
        }
        return Ok(ExitCode::SUCCESS);
    }
    if flags.child {
        run(&asked(name.context("say --reader")?))?;
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(number) = flags.replay {
        let (input, mut trial) = replay(name.context("say --reader")?, flags.seed, number)?;
        println!("{} bytes: {:?}", input.len(), trial.read(&input));
        return Ok(ExitCode::SUCCESS);
    }
    ensure!(
        name.is_none_or(|name| READERS.iter().any(|reader| reader.name == name)),
        "no such reader\n  --list names them"
    );
    println!(
        "{:<20} {:>10} {:>10} {:>12} {:>12}",
        "reader", "tried", "accepted", "slowest ms", "largest MiB"
    );
    let mut failures = 0;
    for reader in READERS
        .iter()
        .filter(|reader| name.is_none_or(|name| name == reader.name))
    {
        let asked = Run {
            to: flags.inputs,
            wall: Duration::from_secs(flags.seconds),
            ..asked(reader.name)
        };
        let program = std::env::current_exe().context("find the program itself")?;
        let report = supervise(&program, &asked, &flags.keep)?;
        println!(
            "{:<20} {:>10} {:>10} {:>12.1} {:>12.1}",
            reader.name,
            report.tried,
            report.accepted,
            report.slowest.as_secs_f64() * 1e3,
            report.largest as f64 / f64::from(1 << 20)
        );
        for (number, why) in &report.failed {
            println!(
                "  FAILED input {number}: {why}\n    --reader '{}' --seed {} --replay {number}",
                reader.name, flags.seed
            );
        }
        failures += report.failed.len();
    }
    Ok(ExitCode::from(u8::from(failures > 0)))
}
