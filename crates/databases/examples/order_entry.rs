//! Order entry on a PostgreSQL server, for measuring by hand: `serve`, `load`, `run` and `check`; see
//! `benches/order-entry`.
//!
//! Prevents nothing: it prints what the room gives.

#![allow(clippy::print_stdout, clippy::print_stderr)]

use databases::order_entry::{Home, Scale, mix, nopm, within_limits};
use databases::postgres::{
    Address, Cluster, Connection, Isolation, Phase, Preset, RunAs, ServerCounters, Settings, check, choose, load,
    run_phase,
};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use workloads::Pacing;

type Outcome = Result<(), Box<dyn std::error::Error>>;

const USAGE: &str = "usage: order_entry serve DIR SHARED_BUFFERS_MB SESSIONS default|tuned [NAME=VALUE...]
       order_entry load URL WAREHOUSES LOADERS
       order_entry run URL WAREHOUSES USERS SECONDS [WORKERS [rc|rr|sr [fixed|any]]]
       order_entry check URL WAREHOUSES";

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["serve", dir, rest @ ..] => serve(dir, rest),
        ["load", url, rest @ ..] => fill(url, rest),
        ["run", url, rest @ ..] => run(url, rest),
        ["check", url, rest @ ..] => ask(url, rest),
        _ => Err(USAGE.into()),
    };
    if let Err(e) = done {
        eprintln!("{e}");
        std::process::exit(1);
    }
}

fn number(words: &[&str], nth: usize) -> Result<u32, Box<dyn std::error::Error>> {
    Ok(words.get(nth).ok_or(USAGE)?.parse()?)
}

fn now_us() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |d| d.as_micros() as i64)
}

fn serve(dir: &str, words: &[&str]) -> Outcome {
    let mut settings = Settings {
        shared_buffers_bytes: Some(u64::from(number(words, 0)?) << 20),
        sessions: number(words, 1)?,
        preset: if words.get(2) == Some(&"tuned") {
            Preset::Tuned
        } else {
            Preset::Default
        },
        ..Settings::default()
    };
    for pair in words.iter().skip(3) {
        let (name, value) = pair.split_once('=').ok_or(USAGE)?;
        settings.explicit.insert(name.to_owned(), value.to_owned());
    }
    let cluster = Cluster::create(choose(None)?, Path::new(dir), RunAs::choose(None)?, &[])?;
    let server = cluster.start(&settings, &std::env::temp_dir())?;
    println!("{}", server.address());
    // Until standard input ends.
    let mut line = String::new();
    while std::io::stdin().read_line(&mut line)? > 0 {}
    server.stop()?;
    Ok(())
}

fn fill(url: &str, words: &[&str]) -> Outcome {
    let address = Address::parse(url)?;
    let begin = Instant::now();
    let report = load(
        &address,
        &Scale::full(number(words, 0)?)?,
        1,
        now_us(),
        number(words, 1)?,
        &AtomicBool::new(false),
    )?;
    let s = begin.elapsed().as_secs_f64();
    println!(
        "loaded {} rows, {} MB of text, {} MB of database in {s:.1} s",
        report.rows,
        report.copied_bytes / 1_000_000,
        report.database_bytes / 1_000_000
    );
    Ok(())
}

fn run(url: &str, words: &[&str]) -> Outcome {
    let address = Address::parse(url)?;
    let seconds = number(words, 2)?;
    let phase = Phase {
        scale: Scale::full(number(words, 0)?)?,
        home: if words.get(5) == Some(&"any") {
            Home::Any
        } else {
            Home::Fixed
        },
        load_seed: 1,
        seed: now_us() as u64,
        isolation: match words.get(4) {
            Some(&"rr") => Isolation::RepeatableRead,
            Some(&"sr") => Isolation::Serializable,
            _ => Isolation::ReadCommitted,
        },
        pauses: false,
        pacing: Pacing::closed(number(words, 1)?, u64::from(seconds) * 1_000_000_000),
        workers: number(words, 3).unwrap_or(1),
        now_us: now_us(),
    };
    let mut connection = Connection::open(&address, &[])?;
    let before = ServerCounters::read(&mut connection)?;
    let report = run_phase(&address, &phase)?;
    // Sessions that close hand in their counts.
    std::thread::sleep(Duration::from_millis(300));
    let server = ServerCounters::read(&mut connection)?.since(&before);
    let count = report.outcome.count().max(1);
    println!(
        "new orders per minute {:.0}; transactions/s {:.0}; client CPU us/transaction {:.1}; round trips/transaction \
         {:.2}; statements/transaction {:.1}",
        nopm(&report.outcome),
        count as f64 * 1e9 / report.outcome.elapsed_ns as f64,
        report.client_cpu_ns as f64 / count as f64 / 1000.0,
        report.counts.round_trips as f64 / count as f64,
        report.counts.statements as f64 / count as f64,
    );
    for ((class, share), verdict) in report
        .outcome
        .classes
        .iter()
        .zip(mix(&report.outcome))
        .zip(within_limits(&report.outcome))
    {
        let ms = |q| class.response.value_at_quantile(q) as f64 / 1e6;
        println!(
            "  {:<12} {:>8} ({share:.1} %)  p50 {:.2} ms  p90 {:.2} ms ({})  p99 {:.2} ms",
            class.name,
            class.count,
            ms(0.5),
            ms(0.9),
            if verdict.holds {
                "within the limit"
            } else {
                "OVER the limit"
            },
            ms(0.99)
        );
    }
    println!("  {:?}\n  {server:?}", report.counts);
    Ok(())
}

fn ask(url: &str, words: &[&str]) -> Outcome {
    let begin = Instant::now();
    let broken = check(&Address::parse(url)?, &Scale::full(number(words, 0)?)?)?;
    for one in &broken {
        println!(
            "condition {} ({}): {} rows break it",
            one.condition.number, one.condition.says, one.rows
        );
    }
    println!(
        "{} of 12 conditions hold ({:.1} s)",
        12 - broken.len(),
        begin.elapsed().as_secs_f64()
    );
    match broken.is_empty() {
        true => Ok(()),
        false => Err("the database is not consistent".into()),
    }
}
