//! Real databases in a terminal: order entry, its cost, load curves, bulk loads and how their files grew.
//!
//! Takes a phase and the analysis, puts tables on the page. Prevents: new orders per minute without the responses that were paid for them, and
//! a name for them that belongs to an audited benchmark.

use crate::analysis::{Analysis, PhaseReport};
use crate::bulk::{BulkFigures, BulkRatio};
use crate::cells::Cell;
use crate::figures::{Figure, marked};
use crate::format::{bytes, nanoseconds, number, percent, ratio};
use crate::layouts::whole;
use crate::load_curve::METHOD;
use crate::order_words::{DERIVED, doubts, has_orders};
use crate::orders::{OrderFigures, TransactionFigures};
use crate::page::{Page, plain};
use crate::spark::spark;
use crate::table::{Column, table};
use crate::text::{clipped, escaped};

const NAMES_MAX: usize = 20;
const SPARK_MAX: usize = 40;

/// What the databases of a phase have to say.
pub(crate) fn database_tables(page: &mut Page, analysis: &Analysis, phase: &PhaseReport) {
    orders(page, phase);
    curves(page, phase);
    bulk(page, analysis, phase);
}

/// Which databases ran, before any number.
pub(crate) fn databases(page: &mut Page, analysis: &Analysis) {
    let mut said: Vec<String> = Vec::new();
    for one in &analysis.databases {
        let seen = if one.managed { "" } else { ", seen from outside only" };
        let words = format!("  {}: {} by {}{seen}", one.stack, one.words(), one.access);
        said.push(words);
        if !one.changed.is_empty() {
            said.push(format!(
                "  {}: settings changed between blocks: {}",
                one.stack,
                one.changed.join(", ")
            ));
        }
    }
    if said.is_empty() && !has_orders(analysis) {
        return;
    }
    page.title("Databases");
    for words in said {
        page.say(&words, 4, plain());
    }
    if has_orders(analysis) {
        page.say(&format!("  {DERIVED}"), 2, plain());
    }
}

fn put(page: &mut Page, names: &[String], columns: Vec<Option<Column>>) {
    let columns: Vec<Column> = columns.into_iter().flatten().collect();
    for line in table(names, &columns, page.width) {
        page.put(line, plain());
    }
}

fn column_of<R>(
    rows: &[R],
    title: &'static str,
    unit: &'static str,
    cell: impl Fn(&R) -> Option<String>,
) -> Option<Column> {
    Column::new(title, unit, rows.iter().map(cell).collect())
}

fn named<'a>(stacks: impl Iterator<Item = &'a str>) -> Vec<String> {
    stacks.map(|name| clipped(&escaped(name), NAMES_MAX)).collect()
}

fn orders(page: &mut Page, phase: &PhaseReport) {
    let rows: Vec<(&Cell, &OrderFigures)> = phase
        .cells
        .iter()
        .filter_map(|cell| Some((cell, cell.orders.as_ref()?)))
        .collect();
    let Some((_, first)) = rows.first() else { return };
    page.say(&format!("  {}", first.words()), 2, plain());
    let names = named(rows.iter().map(|(cell, _)| cell.stack.as_str()));
    // Of a load curve the steps tell it; all of them together are nobody's response.
    if phase.cells.iter().all(|cell| cell.load_curve.is_none()) {
        rates(page, &rows, &names);
        transactions(page, &rows);
    }
    cost(page, &rows, &names);
    for (cell, orders) in &rows {
        for line in doubts(&cell.stack, orders) {
            page.say(&format!("  {line}"), 4, plain());
        }
    }
}

fn rates(page: &mut Page, rows: &[(&Cell, &OrderFigures)], names: &[String]) {
    let column = |title, unit, cell: &dyn Fn(&OrderFigures) -> Option<String>| {
        column_of(rows, title, unit, |(_, orders)| cell(orders))
    };
    let wait = |orders: &OrderFigures, pick: fn(&crate::orders::WaitFigures) -> Option<Figure>| {
        orders.waits.first().and_then(pick)
    };
    put(
        page,
        names,
        vec![
            column("new orders", "/min, no drain", &|orders| {
                marked(orders.new_orders_per_minute, number)
            }),
            column("storage", "of service", &|orders| {
                marked(orders.storage_share, |share| format!("<={}", percent(share)))
            }),
            column("lock wait", "of service", &|orders| {
                marked(wait(orders, |one| one.share_of_service), percent)
            }),
            column("lock wait", "mean", &|orders| {
                marked(wait(orders, |one| one.mean_ns), nanoseconds)
            }),
            column("lock wait", "p99", &|orders| {
                marked(wait(orders, |one| one.p99_ns), nanoseconds)
            }),
            column("server", "memory", &|orders| {
                marked(orders.memory_server_bytes_peak, bytes)
            }),
        ],
    );
}

fn transactions(page: &mut Page, rows: &[(&Cell, &OrderFigures)]) {
    let rows: Vec<(&str, &TransactionFigures)> = rows
        .iter()
        .flat_map(|(cell, orders)| orders.transactions.iter().map(|one| (cell.stack.as_str(), one)))
        .collect();
    let names = named(rows.iter().map(|(stack, _)| *stack));
    let column = |title, unit, cell: &dyn Fn(&TransactionFigures) -> Option<String>| {
        column_of(&rows, title, unit, |(_, one)| cell(one))
    };
    put(
        page,
        &names,
        vec![
            column("transaction", "", &|one| Some(one.class.clone())),
            column("share", "", &|one| marked(one.share, percent)),
            column("service", "p50", &|one| marked(one.service.p50_ns, nanoseconds)),
            column("service", "p90", &|one| marked(one.service.p90_ns, nanoseconds)),
            column("response", "p50", &|one| marked(one.response.p50_ns, nanoseconds)),
            column("response", "p90", &|one| marked(one.response.p90_ns, nanoseconds)),
            column("limit", "p90", &|one| {
                let word = if one.within_limit? { "" } else { " OVER" };
                Some(format!(
                    "{}{word}",
                    nanoseconds(one.limit_ns?).replace(".00", "").replace(".0 ", " ")
                ))
            }),
        ],
    );
    put(
        page,
        &names,
        vec![
            column("transaction", "", &|one| Some(one.class.clone())),
            column("response", "p99", &|one| marked(one.response.p99_ns, nanoseconds)),
            column("service", "p99", &|one| marked(one.service.p99_ns, nanoseconds)),
            column("rolled", "back", &|one| marked(one.rolled_back_share, percent)),
            column("refused", "/1000", &|one| {
                marked(one.refused_per_transaction, |per| number(per * 1000.0))
            }),
        ],
    );
}

fn cost(page: &mut Page, rows: &[(&Cell, &OrderFigures)], names: &[String]) {
    let column = |title, unit, pick: fn(&crate::orders::CostPerNewOrder) -> Option<Figure>, form: fn(f64) -> String| {
        column_of(rows, title, unit, |(_, orders)| marked(pick(&orders.cost), form))
    };
    let columns = vec![
        column("device", "read", |cost| cost.device_read_bytes, bytes),
        column("device", "written", |cost| cost.device_written_bytes, bytes),
        column("CPU", "us", |cost| cost.cpu_us, number),
        column("user", "us", |cost| cost.cpu_user_us, number),
        column("system", "us", |cost| cost.cpu_system_us, number),
        column("server", "us", |cost| cost.cpu_server_us, number),
        column("kernel thr.", "us", |cost| cost.cpu_kernel_us, number),
        column("client", "us", |cost| cost.cpu_client_us, number),
    ];
    if columns.iter().any(Option::is_some) {
        page.say("  per new order, the whole mix charged to it:", 2, plain());
        put(page, names, columns);
    }
}

fn curves(page: &mut Page, phase: &PhaseReport) {
    let mut rows = Vec::new();
    for cell in &phase.cells {
        let steps = cell.load_curve.iter().flat_map(|curve| &curve.steps);
        rows.extend(steps.map(|step| (cell.stack.as_str(), step)));
    }
    if rows.is_empty() {
        return;
    }
    page.say("  load curve:", 2, plain());
    let names = named(rows.iter().map(|(stack, _)| *stack));
    let most = rows
        .iter()
        .filter_map(|(_, step)| step.new_orders_per_minute)
        .map(|one| one.median)
        .fold(0.0, f64::max);
    put(
        page,
        &names,
        vec![
            column_of(&rows, "users", "", |(_, step)| Some(whole(f64::from(step.users)))),
            column_of(&rows, "new orders", "/min", |(_, step)| {
                marked(step.new_orders_per_minute, number)
            }),
            column_of(&rows, "of the", "highest", |(_, step)| {
                let share = step.new_orders_per_minute?.median / most;
                let filled = ((share * 12.0).round() as usize).min(12);
                Some("#".repeat(filled) + &".".repeat(12 - filled))
            }),
            column_of(&rows, "response", "p50", |(_, step)| {
                marked(step.response_ns_p50, nanoseconds)
            }),
            column_of(&rows, "response", "p90", |(_, step)| {
                marked(step.response_ns_p90, nanoseconds)
            }),
            column_of(&rows, "response", "p99", |(_, step)| {
                marked(step.response_ns_p99, nanoseconds)
            }),
        ],
    );
    for cell in &phase.cells {
        if let Some(point) = cell.load_curve.as_ref().and_then(|curve| curve.saturation.as_ref()) {
            page.say(&format!("  {}: {}", cell.stack, point.words), 4, plain());
        }
    }
    page.say(&format!("  {METHOD}"), 2, plain());
}

fn bulk(page: &mut Page, analysis: &Analysis, phase: &PhaseReport) {
    let rows: Vec<(&str, &BulkFigures)> = phase
        .cells
        .iter()
        .flat_map(|cell| cell.bulk.iter().map(|load| (cell.stack.as_str(), load)))
        .collect();
    if rows.is_empty() {
        return;
    }
    let against = |stack: &str, load: &BulkFigures| -> Option<&BulkRatio> {
        let mut all = analysis.bulk_ratios.iter();
        all.find(|one| one.phase == phase.name && one.stack == stack && one.rows == load.rows)
    };
    let names = named(rows.iter().map(|(stack, _)| *stack));
    let column = |title, unit, cell: &dyn Fn(&BulkFigures) -> Option<String>| {
        column_of(&rows, title, unit, |(_, load)| cell(load))
    };
    put(
        page,
        &names,
        vec![
            column("rows", "", &|load| Some(whole(load.rows as f64))),
            column("time", "s", &|load| marked(load.seconds, number)),
            column("home", "s", &|load| marked(load.settle_seconds, number)),
            column("rows", "/s", &|load| marked(load.rows_per_s, number)),
            column_of(&rows, "speed", "to base", |(stack, load)| {
                Some(ratio(against(stack, load)?.ratio))
            }),
            column_of(&rows, "interval", "95 %", |(stack, load)| {
                let one = against(stack, load)?;
                // One block has no interval; one end may lie beyond what a number holds.
                (one.low.is_some() || one.high.is_some()).then(|| {
                    let (low, high) = (
                        one.low.map_or("0".into(), ratio),
                        one.high.map_or("unbounded".into(), ratio),
                    );
                    format!("{low} to {high}")
                })
            }),
            column("commit", "p99", &|load| marked(load.commit_ns_p99, nanoseconds)),
        ],
    );
    space(page, &rows);
    growth(page, &rows);
}

fn space(page: &mut Page, rows: &[(&str, &BulkFigures)]) {
    let rows: Vec<(&str, &BulkFigures, &crate::bulk::SpaceFigure)> = largest(rows)
        .into_iter()
        .flat_map(|(stack, load)| load.space.iter().map(move |one| (stack, load, one)))
        .collect();
    if rows.is_empty() {
        return;
    }
    page.say("  space after the largest load:", 2, plain());
    let names = named(rows.iter().map(|(stack, ..)| *stack));
    put(
        page,
        &names,
        vec![
            column_of(&rows, "what", "", |(.., one)| Some(one.kind.clone())),
            column_of(&rows, "name", "", |(.., one)| Some(clipped(&escaped(&one.name), 24))),
            column_of(&rows, "rows", "", |(_, load, _)| Some(whole(load.rows as f64))),
            column_of(&rows, "size", "", |(.., one)| marked(one.bytes, bytes)),
            column_of(&rows, "bytes", "/row", |(_, load, one)| {
                marked(one.bytes, |size| number(size / load.rows as f64))
            }),
        ],
    );
}

/// The largest row count of each stack.
fn largest<'a>(rows: &[(&'a str, &'a BulkFigures)]) -> Vec<(&'a str, &'a BulkFigures)> {
    let last = |(nth, row): (usize, &(&'a str, &'a BulkFigures))| {
        rows.get(nth + 1).is_none_or(|next| next.0 != row.0).then_some(*row)
    };
    rows.iter().enumerate().filter_map(last).collect()
}

/// The size of the files after equal numbers of rows.
fn by_rows(load: &BulkFigures) -> Vec<f64> {
    let after = |nth: usize| {
        let rows = load.rows / SPARK_MAX as u64 * (nth as u64 + 1)
            + load.rows % SPARK_MAX as u64 * (nth as u64 + 1) / SPARK_MAX as u64;
        let at = load.growth.iter().take_while(|one| one.rows <= rows).last();
        at.or(load.growth.first()).map(|one| one.bytes as f64)
    };
    (0..SPARK_MAX).filter_map(after).collect()
}

fn growth(page: &mut Page, rows: &[(&str, &BulkFigures)]) {
    for (stack, load) in largest(rows) {
        let (Some(steps), Some(size)) = (load.growth_steps, load.file_bytes) else {
            continue;
        };
        let sizes = by_rows(load);
        let drawn = spark(&sizes, SPARK_MAX, page.utf8).map_or(String::new(), |drawn| format!(" {drawn}"));
        page.say(
            &format!(
                "  {stack}: files seen to grow {} times, to {} at {} rows{drawn}",
                whole(steps.median),
                bytes(size.median),
                whole(load.rows as f64)
            ),
            4,
            plain(),
        );
    }
}
