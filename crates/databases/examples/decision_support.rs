//! Long questions on a PostgreSQL server, for measuring by hand: `load`, `ask` and `texts`; see
//! `benches/decision-support`.
//!
//! Prevents nothing: it prints what the room gives.

#![allow(clippy::print_stdout, clippy::print_stderr)]

use databases::decision_support::{Ask, Dialect, Question, Scale, Source, Text, of_stream, write_refresh, write_rows};
use databases::postgres::{Address, Questions, ask_questions, load_decision_support};
use std::io::{Cursor, Read, Result as IoResult};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

type Outcome = Result<(), Box<dyn std::error::Error>>;

const USAGE: &str = "usage: decision_support load URL SCALE
       decision_support ask URL SCALE
       decision_support texts SCALE";

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["load", url, scale] => load(url, scale),
        ["ask", url, scale] => ask(url, scale),
        ["texts", scale] => texts(scale),
        _ => Err(USAGE.into()),
    };
    if let Err(e) = done {
        eprintln!("{e}");
        std::process::exit(1);
    }
}

/// Rows from a thread of this process.
struct Here;

impl Source for Here {
    fn begin(&self, scale: Scale) -> IoResult<Box<dyn Read + Send>> {
        let (from, mut to) = std::io::pipe()?;
        std::thread::spawn(move || {
            // Who reads no more has what he wants.
            let _ = write_rows(scale, &mut to);
        });
        Ok(Box::new(from))
    }

    fn begin_refresh(&self, scale: Scale, set: u32) -> IoResult<Box<dyn Read + Send>> {
        let mut all = Vec::new();
        write_refresh(scale, set, &mut all)?;
        Ok(Box::new(Cursor::new(all)))
    }
}

fn of(scale: &str) -> Result<Scale, Box<dyn std::error::Error>> {
    Ok(Scale::new(scale.parse()?)?)
}

/// The questions of one user, always the same.
fn asks(scale: Scale) -> Vec<Ask> {
    of_stream(&Question::all(), scale, 1, 1, 0)
}

fn load(url: &str, scale: &str) -> Outcome {
    let begin = Instant::now();
    let rows = load_decision_support(&Address::parse(url)?, of(scale)?, &Here, &AtomicBool::new(false))?;
    println!("loaded {rows} rows in {:.1} s", begin.elapsed().as_secs_f64());
    Ok(())
}

fn ask(url: &str, scale: &str) -> Outcome {
    let questions = Questions {
        users: vec![asks(of(scale)?)],
        text: Text::Grouped,
        limit: Duration::from_secs(3600),
        temp_tablespace: None,
        slice_ns: 1_000_000_000,
    };
    let answered = ask_questions(&Address::parse(url)?, &questions, &AtomicBool::new(false))?;
    let rows: u64 = answered.asked.iter().map(|one| one.rows).sum();
    println!("{} answers, {rows} rows", answered.asked.len());
    Ok(())
}

/// The same questions as text, for another client.
fn texts(scale: &str) -> Outcome {
    for ask in asks(of(scale)?) {
        println!(
            "{};",
            ask.question.sql(&ask.parameters, Dialect::Postgres, Text::Grouped)
        );
    }
    Ok(())
}
