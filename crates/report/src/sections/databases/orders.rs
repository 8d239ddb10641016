//! Real databases: which ran, order entry with its limits and its cost, load curves.
//!
//! Takes the databases and the phases of order entry, gives blocks. Prevents: new orders per minute without the
//! responses that were paid for them, and a name for them that belongs to an audited benchmark.

use crate::sections::source::Source;

use crate::cells::PhaseReport;
use crate::cells::load_curve::{METHOD, StepFigures};
use crate::cells::orders::{CostPerNewOrder, OrderFigures, TransactionFigures, WaitFigures};
use crate::document::{
    Block, Cell, Chart, Column, Fold, Form, Forms, LineOf, Lines, Name, Placed, Section, Stands, Table, column,
    places_of, words,
};
use crate::figures::Figure;
use crate::format::{bytes, nanoseconds, number, percent, whole};
use crate::stacks::databases::{DatabaseOfStack, DatabaseSetting};
use crate::words::order_words::{DERIVED, doubts, has_orders};

/// Which databases ran.
pub(in crate::sections) fn databases(source: &Source<'_>) -> Option<Section> {
    let all = &source.analysis.databases;
    let mut blocks = vec![];
    if !all.is_empty() {
        blocks.push((Forms::TERMINAL, Block::list(all.iter().flat_map(lines))));
        blocks.push((Forms::PAGE, table_of_databases(source)));
        blocks.extend(settings(all));
    }
    if has_orders(source.analysis) {
        blocks.push((Forms::ALL, Block::Note(DERIVED.into())));
    }
    Section::of("databases", "Databases", "Databases", blocks).map(|section| section.standing(Stands::Before))
}

fn lines(one: &DatabaseOfStack) -> Vec<String> {
    let seen = if one.managed { "" } else { ", seen from outside only" };
    let mut lines = vec![format!("{}: {} by {}{seen}", one.stack, one.words(), one.access)];
    if !one.changed.is_empty() {
        let changed = one.changed.join(", ");
        lines.push(format!("{}: settings changed between blocks: {changed}", one.stack));
    }
    lines
}

fn table_of_databases(source: &Source<'_>) -> Block {
    let columns = [
        words("database", |one: &DatabaseOfStack| one.words()),
        words("its way to storage", |one: &DatabaseOfStack| one.access.clone()),
        words("started by", |one: &DatabaseOfStack| match one.managed {
            true => "Assay".into(),
            false => "somebody else: seen from outside only".into(),
        }),
        words("changed between blocks", |one: &DatabaseOfStack| one.changed.join(", ")),
    ];
    let all = &source.analysis.databases;
    Block::Table(source.table("Databases that ran", all, |one| &one.stack, columns))
}

/// Every setting of every stack.
fn settings(all: &[DatabaseOfStack]) -> Option<Placed> {
    let mut names: Vec<&str> = all
        .iter()
        .flat_map(|one| &one.settings)
        .map(|one| one.name.as_str())
        .collect();
    names.sort_unstable();
    names.dedup();
    if names.is_empty() {
        return None;
    }
    fn find<'a>(one: &'a DatabaseOfStack, name: &str) -> Option<&'a DatabaseSetting> {
        one.settings.iter().find(|setting| setting.name == name)
    }
    let value = |one| move |name: &&str| Cell::maybe(find(one, name).map(|setting| &setting.value));
    let mut columns: Vec<Column<'_, &str>> = all
        .iter()
        .map(|one| column(&one.stack, "", value(one)).of_words())
        .collect();
    let set_by = |name: &&str| Cell::maybe(all.iter().find_map(|one| find(one, name)).map(|one| &one.source));
    columns.push(column("source", "", set_by).of_words());
    let table = Table::of(
        "Settings of the databases",
        "setting",
        &names,
        |name| Name::from(*name),
        columns,
    );
    let title = "Every setting, as the databases report them";
    let part = Block::part(title, Fold::Always, vec![(Forms::PAGE, Block::Table(table))]);
    Some((Forms::PAGE, part))
}

/// A stack with its order entry.
type OnStack<'a> = (&'a str, &'a OrderFigures);

/// What order entry and its load curve have to say in a phase.
pub(in crate::sections) fn blocks(source: &Source<'_>, phase: &PhaseReport) -> Vec<Placed> {
    let with = phase
        .cells
        .iter()
        .filter_map(|cell| Some((cell.stack.as_str(), cell.orders.as_ref()?)));
    let rows: Vec<OnStack<'_>> = with.collect();
    let mut blocks = Vec::new();
    if let Some((_, first)) = rows.first() {
        blocks.push((Forms::ALL, Block::Note(first.words())));
        // Of a load curve the steps tell it; all of them together are nobody's response.
        if phase.cells.iter().all(|cell| cell.load_curve.is_none()) {
            blocks.push((Forms::LONG, rates(source, phase, &rows)));
            blocks.push((Forms::LONG, transactions(source, phase, &rows)));
        }
        let costs = cost(source, phase, &rows);
        if !costs.columns.is_empty() {
            blocks.push((
                Forms::LONG,
                Block::Label("per new order, the whole mix charged to it".into()),
            ));
            blocks.push((Forms::LONG, Block::Table(costs)));
        }
        let lines = rows.iter().flat_map(|(stack, orders)| doubts(stack, orders));
        blocks.push((Forms::ALL, Block::list(lines)));
    }
    blocks.extend(curve(source, phase));
    blocks
}

fn rates(source: &Source<'_>, phase: &PhaseReport, rows: &[OnStack<'_>]) -> Block {
    type Pick = fn(&WaitFigures) -> Option<Figure>;
    let wait = |unit: &str, pick: Pick, form: Form| {
        column("lock wait", unit, move |(_, orders): &OnStack<'_>| {
            Cell::figure(orders.waits.first().and_then(pick), form)
        })
    };
    let columns = vec![
        column("new orders", "/min, no drain", |(_, orders): &OnStack<'_>| {
            Cell::ranged(orders.new_orders_per_minute, number)
        })
        .compared(),
        column("storage", "of service", |(_, orders): &OnStack<'_>| {
            Cell::figure(orders.storage_share, |share| format!("<={}", percent(share)))
        }),
        wait("of service", |one| one.share_of_service, percent),
        wait("mean", |one| one.mean_ns, nanoseconds),
        wait("p99", |one| one.p99_ns, nanoseconds),
        column("server", "memory", |(_, orders): &OnStack<'_>| {
            Cell::figure(orders.memory_server_bytes_peak, bytes)
        }),
    ];
    let caption = format!("New orders per minute: {}", phase.name);
    Block::Table(source.table(caption, rows, |(stack, _)| stack, columns))
}

fn transactions(source: &Source<'_>, phase: &PhaseReport, rows: &[OnStack<'_>]) -> Block {
    type Of<'a> = (&'a str, &'a TransactionFigures);
    let rows: Vec<Of<'_>> = rows
        .iter()
        .flat_map(|&(stack, orders)| orders.transactions.iter().map(move |one| (stack, one)))
        .collect();
    let of = |head: &str, unit: &str, pick: fn(&TransactionFigures) -> Option<Figure>, form: Form| {
        column(head, unit, move |(_, one): &Of<'_>| Cell::figure(pick(one), form))
    };
    let class = || column("transaction", "", |(_, one): &Of<'_>| Cell::text(&one.class)).of_words();
    let columns = vec![
        class(),
        of("share", "", |one| one.share, percent),
        of("service", "p50", |one| one.service.p50_ns, nanoseconds),
        of("service", "p90", |one| one.service.p90_ns, nanoseconds),
        of("response", "p50", |one| one.response.p50_ns, nanoseconds),
        of("response", "p90", |one| one.response.p90_ns, nanoseconds),
        column("limit", "p90", |(_, one): &Of<'_>| Cell::maybe(limit(one))),
        class().breaks(),
        of("response", "p99", |one| one.response.p99_ns, nanoseconds),
        of("service", "p99", |one| one.service.p99_ns, nanoseconds),
        of("rolled", "back", |one| one.rolled_back_share, percent),
        column("refused", "/1000", |(_, one): &Of<'_>| {
            Cell::figure(one.refused_per_transaction, number).per(0.001)
        }),
    ];
    let caption = format!("Transactions: {}", phase.name);
    Block::Table(source.table(caption, &rows, |(stack, _)| stack, columns))
}

/// "5.00 s OVER" where a block went over it.
fn limit(one: &TransactionFigures) -> Option<String> {
    let word = if one.within_limit? { "" } else { " OVER" };
    Some(format!(
        "{}{word}",
        nanoseconds(one.limit_ns?).replace(".00", "").replace(".0 ", " ")
    ))
}

fn cost(source: &Source<'_>, phase: &PhaseReport, rows: &[OnStack<'_>]) -> Table {
    let of = |head: &str, unit: &str, pick: fn(&CostPerNewOrder) -> Option<Figure>, form: Form| {
        column(head, unit, move |(_, orders): &OnStack<'_>| {
            Cell::figure(pick(&orders.cost), form)
        })
    };
    let columns = [
        of("device", "read", |cost| cost.device_read_bytes, bytes),
        of("device", "written", |cost| cost.device_written_bytes, bytes),
        of("CPU", "us", |cost| cost.cpu_us, number),
        of("user", "us", |cost| cost.cpu_user_us, number),
        of("system", "us", |cost| cost.cpu_system_us, number),
        of("server", "us", |cost| cost.cpu_server_us, number),
        of("kernel thr.", "us", |cost| cost.cpu_kernel_us, number),
        of("client", "us", |cost| cost.cpu_client_us, number),
    ];
    let caption = format!("Cost per new order: {}", phase.name);
    source.table(caption, rows, |(stack, _)| stack, columns)
}

fn curve(source: &Source<'_>, phase: &PhaseReport) -> Vec<Placed> {
    type Of<'a> = (&'a str, &'a StepFigures);
    let mut rows: Vec<Of<'_>> = Vec::new();
    for cell in &phase.cells {
        let steps = cell.load_curve.iter().flat_map(|curve| &curve.steps);
        rows.extend(steps.map(|step| (cell.stack.as_str(), step)));
    }
    if rows.is_empty() {
        return Vec::new();
    }
    let rates = rows.iter().filter_map(|(_, step)| step.new_orders_per_minute);
    let most = rates.map(|one| one.median).fold(0.0, f64::max);
    let of = |head: &str, unit: &str, pick: fn(&StepFigures) -> Option<Figure>, form: Form| {
        column(head, unit, move |(_, step): &Of<'_>| Cell::ranged(pick(step), form))
    };
    let columns = [
        column("users", "", |(_, step): &Of<'_>| {
            Cell::Number(f64::from(step.users), whole)
        }),
        of("new orders", "/min", |step| step.new_orders_per_minute, number).compared(),
        column("of the", "highest", |(_, step): &Of<'_>| {
            step.new_orders_per_minute
                .map_or(Cell::Nothing, |rate| Cell::Share(rate.median / most))
        })
        .only(Forms::TERMINAL),
        of("response", "p50", |step| step.response_ns_p50, nanoseconds),
        of("response", "p90", |step| step.response_ns_p90, nanoseconds),
        of("response", "p99", |step| step.response_ns_p99, nanoseconds),
    ];
    let caption = format!("Load curve: {}", phase.name);
    let table = source.table(caption, &rows, |(stack, _)| stack, columns);
    let points = phase.cells.iter().filter_map(|cell| {
        let point = cell.load_curve.as_ref()?.saturation.as_ref()?;
        Some(format!("{}: {}", cell.stack, point.words))
    });
    let response = "90th percentile of response of new orders";
    vec![
        (Forms::LONG, Block::Label("load curve".into())),
        (
            Forms::PAGE,
            lines_of(source, phase, ("New orders per minute", number), |step| {
                step.new_orders_per_minute
            }),
        ),
        (
            Forms::PAGE,
            lines_of(source, phase, (response, nanoseconds), |step| step.response_ns_p90),
        ),
        (Forms::LONG, Block::Table(table)),
        (Forms::ALL, Block::list(points)),
        (Forms::LONG, Block::Note(METHOD.into())),
    ]
}

fn lines_of(
    source: &Source<'_>,
    phase: &PhaseReport,
    (title, form): (&str, Form),
    pick: fn(&StepFigures) -> Option<Figure>,
) -> Block {
    let line = |cell: &crate::cells::Cell| {
        let steps = &cell.load_curve.as_ref()?.steps;
        let point = |step: &StepFigures| Some((f64::from(step.users), pick(step)?.median));
        Some(LineOf {
            name: source.stack(&cell.stack),
            points: steps.iter().filter_map(point).collect(),
        })
    };
    let series: Vec<LineOf> = phase.cells.iter().filter_map(line).collect();
    let marks = places_of(&series);
    Block::Chart(Chart::Lines(Lines {
        title: title.into(),
        logarithmic: true,
        marks,
        across: ("users", whole),
        form,
        binary: false,
        dots: true,
        series,
    }))
}
