//! Decision support: each question's time, temporary bytes, response by users.
//!
//! Takes a phase of decision support, gives blocks. Prevents: a geometric mean without the questions that it is of.

use crate::cells::PhaseReport;
use crate::cells::questions::{QuestionFigures, QuestionsFigures, RefreshFigures, UsersFigures};
use crate::document::{Block, Cell, Form, Forms, Placed, column};
use crate::figures::Figure;
use crate::format::{bytes, nanoseconds, number, percent, ratio, whole};
use crate::sections::source::Source;

/// A stack with what it answered.
type Of<'a, T> = (&'a str, &'a T);

/// Which of the questions that have two texts were asked in which, if any were.
fn forms(asked: &QuestionsFigures) -> String {
    let asked_too = |number: &&u32| asked.questions.iter().any(|one| one.question == **number);
    let numbers: Vec<String> = [2, 13, 17, 20, 22]
        .iter()
        .filter(asked_too)
        .map(u32::to_string)
        .collect();
    match numbers.split_last() {
        None => String::new(),
        Some((one, [])) => format!(" Question {one} in {} form.", asked.text),
        Some((last, others)) => format!(" Questions {} and {last} in {} form.", others.join(", "), asked.text),
    }
}

pub(in crate::sections) fn blocks(source: &Source<'_>, phase: &PhaseReport) -> Vec<Placed> {
    let asked = phase
        .cells
        .iter()
        .filter_map(|cell| Some((cell.stack.as_str(), cell.questions.as_ref()?)));
    let asked: Vec<Of<'_, QuestionsFigures>> = asked.collect();
    let Some((_, first)) = asked.first() else {
        return Vec::new();
    };
    let words = format!(
        "Decision support at scale {}, derived from TPC-H: no TPC result.{} Every answer was compared with the other \
         runs' answers to the same question.",
        first.scale,
        forms(first)
    );
    let mut blocks = vec![
        (Forms::LONG, Block::Note(words)),
        (Forms::LONG, Block::Table(whole_phase(source, phase, &asked))),
        (Forms::LONG, Block::Table(by_users(source, phase, &asked))),
        (Forms::LONG, Block::Table(by_question(source, phase, &asked))),
    ];
    let refreshed = asked
        .iter()
        .filter_map(|(stack, asked)| Some((*stack, asked.refresh.as_ref()?)));
    let refreshed: Vec<Of<'_, RefreshFigures>> = refreshed.collect();
    if !refreshed.is_empty() {
        blocks.push((Forms::LONG, Block::Table(refresh(source, phase, &refreshed))));
    }
    blocks
}

fn refresh(source: &Source<'_>, phase: &PhaseReport, refreshed: &[Of<'_, RefreshFigures>]) -> crate::document::Table {
    let of = |head: &str, unit: &str, pick: fn(&RefreshFigures) -> Option<Figure>, form: Form| {
        column(head, unit, move |(_, refreshed): &Of<'_, RefreshFigures>| {
            Cell::ranged(pick(refreshed), form)
        })
    };
    let columns = [
        of("new orders", "inserted in", |refreshed| refreshed.insert_s, seconds).compared(),
        of("new orders", "deleted in", |refreshed| refreshed.delete_s, seconds).compared(),
        of("orders", "/s", |refreshed| refreshed.orders_per_s, number),
    ];
    let caption = format!("Refresh functions: {}", phase.name);
    source.table(caption, refreshed, |(stack, _)| stack, columns)
}

/// Seconds in the unit that fits: small data are answered in milliseconds.
fn seconds(value: f64) -> String {
    nanoseconds(value * 1e9)
}

/// Of the bytes of temporary files. `is_least`: of a stack only the sizes of its files are known.
fn temp_unit(is_least: bool) -> &'static str {
    if is_least { "files, at least" } else { "files" }
}

fn whole_phase(source: &Source<'_>, phase: &PhaseReport, asked: &[Of<'_, QuestionsFigures>]) -> crate::document::Table {
    let of = |head: &str, unit: &str, pick: fn(&QuestionsFigures) -> Option<Figure>, form: Form| {
        column(head, unit, move |(_, asked): &Of<'_, QuestionsFigures>| {
            Cell::ranged(pick(asked), form)
        })
    };
    // What is true of one stack is true of the others, too: they wrote no less.
    let is_least = asked.iter().any(|(_, asked)| asked.temp_is_least);
    let unit = |told: &'static str, least: &'static str| if is_least { least } else { told };
    let columns = [
        of("question", "geometric mean", |asked| asked.geometric_mean_s, seconds).compared(),
        of("processors", "/question", |asked| asked.cpu_s_per_question, seconds),
        of("temporary", temp_unit(is_least), |asked| asked.temp_bytes, bytes),
        of(
            "temporary",
            "in whole blocks",
            |asked| asked.temp_blocks_per_byte,
            percent,
        ),
        of(
            "temporary",
            unit("at their device", "at their device, at most"),
            |asked| asked.temp_device_share,
            percent,
        ),
        of(
            "written",
            unit("per temporary byte", "per temporary byte, at most"),
            |asked| asked.written_per_temp_byte,
            ratio,
        ),
    ];
    let caption = format!("Questions as a whole: {}", phase.name);
    source.table(caption, asked, |(stack, _)| stack, columns)
}

fn by_users(source: &Source<'_>, phase: &PhaseReport, asked: &[Of<'_, QuestionsFigures>]) -> crate::document::Table {
    let all = asked
        .iter()
        .flat_map(|(stack, asked)| asked.by_users.iter().map(|users| (*stack, users)));
    let rows: Vec<Of<'_, UsersFigures>> = all.collect();
    let of = |head: &str, unit: &str, pick: fn(&UsersFigures) -> Option<Figure>, form: Form| {
        column(head, unit, move |(_, users): &Of<'_, UsersFigures>| {
            Cell::ranged(pick(users), form)
        })
    };
    let columns = [
        column("users", "", |(_, users): &Of<'_, UsersFigures>| {
            Cell::Number(f64::from(users.users), whole)
        }),
        of("time, no drain", "", |users| users.seconds, seconds).compared(),
        of("questions", "/hour", |users| users.questions_per_hour, number),
        of("response", "mean", |users| users.response_s_mean, seconds).compared(),
        of("response", "p95", |users| users.response_s_p95, seconds),
    ];
    let caption = format!("Response by users: {}", phase.name);
    source.table(caption, &rows, |(stack, _)| stack, columns)
}

fn by_question(source: &Source<'_>, phase: &PhaseReport, asked: &[Of<'_, QuestionsFigures>]) -> crate::document::Table {
    let all = asked
        .iter()
        .flat_map(|(stack, asked)| asked.questions.iter().map(|one| (*stack, one)));
    let mut rows: Vec<Of<'_, QuestionFigures>> = all.collect();
    let is_least = asked.iter().any(|(_, asked)| asked.temp_is_least);
    // The same question of all stacks side by side.
    rows.sort_by_key(|(_, one)| one.question);
    let columns = [
        column("question", "", |(_, one): &Of<'_, QuestionFigures>| {
            Cell::Number(f64::from(one.question), whole)
        }),
        column("time, mean", "", |(_, one): &Of<'_, QuestionFigures>| {
            Cell::ranged(one.seconds, seconds)
        }),
        column(
            "temporary",
            temp_unit(is_least),
            |(_, one): &Of<'_, QuestionFigures>| Cell::ranged(one.temp_bytes, bytes),
        ),
        column("rows", "", |(_, one): &Of<'_, QuestionFigures>| {
            Cell::Number(one.rows as f64, whole)
        })
        .only(Forms::PAGE),
    ];
    let caption = format!("Time of each question: {}", phase.name);
    source.table(caption, &rows, |(stack, _)| stack, columns)
}
