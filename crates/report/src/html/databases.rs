//! Real databases on the page: which they were, order entry with its limits and its cost, load curves.
//!
//! Takes the phases of order entry, gives the section; bulk loads come from the file beside. Prevents: new orders per minute without the
//! responses that were paid for them, and without what they cost.

use super::curves::{Across, Chart, Series, plot};
use super::figure_cells::{Column, Shown, column, ranged, shown, stack_table};
use super::markup::Markup;
use super::scale::LogScale;
use super::{Section, Source};
use crate::analysis::PhaseReport;
use crate::databases::DatabaseOfStack;
use crate::figures::Figure;
use crate::format::{bytes, nanoseconds, number, percent};
use crate::layouts::whole;
use crate::load_curve::{METHOD, StepFigures};
use crate::order_words::{DERIVED, doubts, has_orders};
use crate::orders::{CostPerNewOrder, OrderFigures, TransactionFigures};

pub(crate) fn section(source: &Source<'_>) -> Option<Section> {
    let mut body = Markup::new();
    which(&mut body, source);
    let phases = &source.analysis.phases;
    if has_orders(source.analysis) {
        body.element("p", &[("class", "quiet")], DERIVED);
    }
    for phase in phases {
        orders(&mut body, source, phase);
        curve(&mut body, source, phase);
        super::bulk::part(&mut body, source, phase);
    }
    Section::new("databases", "Databases", body)
}

/// Which databases ran; what differs between their settings stands at the top of the page.
fn which(body: &mut Markup, source: &Source<'_>) {
    let rows = &source.analysis.databases;
    if rows.is_empty() {
        return;
    }
    let columns: Vec<Column<'_, DatabaseOfStack>> = vec![
        column("database", "", |one: &DatabaseOfStack| Shown::Text(one.words())).of_words(),
        column("its way to storage", "", |one: &DatabaseOfStack| {
            Shown::Text(one.access.clone())
        })
        .of_words(),
        column("started by", "", |one: &DatabaseOfStack| {
            Shown::Text(
                if one.managed {
                    "Assay"
                } else {
                    "somebody else: seen from outside only"
                }
                .into(),
            )
        })
        .of_words(),
        column("changed between blocks", "", |one: &DatabaseOfStack| {
            match one.changed.is_empty() {
                true => Shown::Nothing,
                false => Shown::Text(one.changed.join(", ")),
            }
        })
        .of_words(),
    ];
    stack_table(body, source, "Databases", rows, &columns, |one| &one.stack);
    settings(body, rows);
}

/// Every setting of every stack, folded.
fn settings(body: &mut Markup, rows: &[DatabaseOfStack]) {
    let mut names: Vec<&str> = rows
        .iter()
        .flat_map(|one| &one.settings)
        .map(|one| one.name.as_str())
        .collect();
    names.sort_unstable();
    names.dedup();
    if names.is_empty() {
        return;
    }
    body.raw("<details><summary>Every setting, as the databases told them</summary><div class=wide tabindex=0 role=region aria-label=\"Settings of the databases\"><table class=facts><thead><tr><th scope=col>Setting");
    for one in rows {
        body.raw("<th scope=col>");
        body.text(&one.stack);
    }
    body.raw("<th scope=col>Source</thead><tbody>");
    for name in names {
        body.raw("<tr><th scope=row>");
        body.text(name);
        let told = |one: &DatabaseOfStack| one.settings.iter().find(|setting| setting.name == name).cloned();
        for one in rows {
            body.raw("<td>");
            body.text(&told(one).map_or("-".into(), |setting| setting.value));
        }
        body.raw("<td>");
        body.text(&rows.iter().find_map(told).map_or("-".into(), |setting| setting.source));
    }
    body.raw("</tbody></table></div></details>");
}

/// A stack with its order entry.
type Row<'a> = (&'a str, &'a OrderFigures);

fn orders(body: &mut Markup, source: &Source<'_>, phase: &PhaseReport) {
    let rows: Vec<Row<'_>> = phase
        .cells
        .iter()
        .filter_map(|cell| Some((cell.stack.as_str(), cell.orders.as_ref()?)))
        .collect();
    let Some((_, first)) = rows.first() else { return };
    heading(body, &phase.name, &first.words());
    // Of a load curve the steps tell it; all of them together are nobody's response.
    if phase.cells.iter().all(|cell| cell.load_curve.is_none()) {
        rates(body, source, phase, &rows);
        transactions(body, source, phase, &rows);
    }
    cost(body, source, phase, &rows);
    body.raw("<ul class=quiet>");
    for line in rows.iter().flat_map(|(stack, orders)| doubts(stack, orders)) {
        body.element("li", &[], &line);
    }
    body.raw("</ul>");
}

fn rates(body: &mut Markup, source: &Source<'_>, phase: &PhaseReport, rows: &[Row<'_>]) {
    let charged = |stack: &str| {
        phase
            .cells
            .iter()
            .find(|cell| cell.stack == stack)
            .and_then(|cell| cell.primary)
    };
    let wait =
        |row: &Row<'_>, pick: fn(&crate::orders::WaitFigures) -> Option<Figure>| row.1.waits.first().and_then(pick);
    let columns: Vec<Column<'_, Row<'_>>> = vec![
        column("new orders", "per min, of the users' time", |row: &Row<'_>| {
            ranged(row.1.new_orders_per_minute, number)
        })
        .compared(),
        column("new orders", "per min, drain charged", |row: &Row<'_>| {
            match phase.kind.as_str() {
                "tpcc" => ranged(charged(row.0), number),
                _ => Shown::Nothing,
            }
        })
        .compared(),
        column("storage", "of service, at most", |row: &Row<'_>| {
            shown(row.1.storage_share, percent)
        }),
        column("lock wait", "of service", move |row: &Row<'_>| {
            shown(wait(row, |one| one.share_of_service), percent)
        }),
        column("lock wait", "mean", move |row: &Row<'_>| {
            shown(wait(row, |one| one.mean_ns), nanoseconds)
        }),
        column("lock wait", "p99", move |row: &Row<'_>| {
            shown(wait(row, |one| one.p99_ns), nanoseconds)
        }),
    ];
    let caption = format!("New orders per minute: {}", phase.name);
    stack_table(body, source, &caption, rows, &columns, |row| row.0);
}

/// A part of the section, with what it is about.
pub(super) fn heading(body: &mut Markup, name: &str, about: &str) {
    body.raw("<h3>");
    body.text(name);
    body.element("span", &[("class", "aside")], about);
    body.raw("</h3>");
}

fn transactions(body: &mut Markup, source: &Source<'_>, phase: &PhaseReport, rows: &[Row<'_>]) {
    type Of<'a> = (&'a str, &'a TransactionFigures);
    let rows: Vec<Of<'_>> = rows
        .iter()
        .flat_map(|(stack, orders)| orders.transactions.iter().map(move |one| (*stack, one)))
        .collect();
    let mut columns: Vec<Column<'_, Of<'_>>> = vec![
        column("transaction", "", |row: &Of<'_>| Shown::Text(row.1.class.clone())).of_words(),
        column("share", "", |row: &Of<'_>| shown(row.1.share, percent)),
    ];
    type Pick = fn(&TransactionFigures) -> Option<Figure>;
    let picks: [(&str, &str, Pick); 6] = [
        ("service", "p50", |one| one.service.p50_ns),
        ("service", "p90", |one| one.service.p90_ns),
        ("service", "p99", |one| one.service.p99_ns),
        ("response", "p50", |one| one.response.p50_ns),
        ("response", "p90", |one| one.response.p90_ns),
        ("response", "p99", |one| one.response.p99_ns),
    ];
    for (title, unit, pick) in picks {
        columns.push(column(title, unit, move |row: &Of<'_>| shown(pick(row.1), nanoseconds)));
    }
    columns.push(column("limit of p90", "kept in every block", |row: &Of<'_>| {
        match (row.1.limit_ns, row.1.within_limit) {
            (Some(limit), Some(true)) => Shown::Text(format!("{}: yes", nanoseconds(limit))),
            (Some(limit), Some(false)) => Shown::Text(format!("{}: NO", nanoseconds(limit))),
            _ => Shown::Nothing,
        }
    }));
    columns.push(column("rolled back", "by mistake", |row: &Of<'_>| {
        shown(row.1.rolled_back_share, percent)
    }));
    columns.push(column("refused", "per 1,000", |row: &Of<'_>| {
        shown(row.1.refused_per_transaction, |per| number(per * 1000.0))
    }));
    let caption = format!("Transactions: {}", phase.name);
    stack_table(body, source, &caption, &rows, &columns, |row| row.0);
}

fn cost(body: &mut Markup, source: &Source<'_>, phase: &PhaseReport, rows: &[Row<'_>]) {
    type Pick = fn(&CostPerNewOrder) -> Option<Figure>;
    type Form = fn(f64) -> String;
    let picks: [(&str, &str, Pick, Form); 8] = [
        ("device", "read", |cost| cost.device_read_bytes, bytes),
        ("device", "written", |cost| cost.device_written_bytes, bytes),
        ("CPU, all", "us", |cost| cost.cpu_us, number),
        ("user", "us", |cost| cost.cpu_user_us, number),
        ("system", "us", |cost| cost.cpu_system_us, number),
        ("server", "us", |cost| cost.cpu_server_us, number),
        ("kernel threads", "us", |cost| cost.cpu_kernel_us, number),
        ("client", "us", |cost| cost.cpu_client_us, number),
    ];
    if picks
        .iter()
        .all(|(.., pick, _)| rows.iter().all(|row| pick(&row.1.cost).is_none()))
    {
        return;
    }
    let mut columns: Vec<Column<'_, Row<'_>>> = Vec::new();
    for (title, unit, pick, form) in picks {
        columns.push(column(title, unit, move |row: &Row<'_>| shown(pick(&row.1.cost), form)));
    }
    columns.push(column("server's memory", "at most", |row: &Row<'_>| {
        shown(row.1.memory_server_bytes_peak, bytes)
    }));
    let caption = format!("Cost per new order, the whole mix charged to it: {}", phase.name);
    stack_table(body, source, &caption, rows, &columns, |row| row.0);
}

fn curve(body: &mut Markup, source: &Source<'_>, phase: &PhaseReport) {
    type Of<'a> = (&'a str, &'a StepFigures);
    let mut rows: Vec<Of<'_>> = Vec::new();
    for cell in &phase.cells {
        let steps = cell.load_curve.iter().flat_map(|curve| &curve.steps);
        rows.extend(steps.map(|step| (cell.stack.as_str(), step)));
    }
    if rows.is_empty() {
        return;
    }
    heading(
        body,
        &format!("{}: the load curve", phase.name),
        "from few users to many",
    );
    body.raw("<div class=strips>");
    chart(body, source, phase, "New orders per minute", number, |step| {
        step.new_orders_per_minute
    });
    chart(
        body,
        source,
        phase,
        "90th percentile of response of new orders",
        nanoseconds,
        |step| step.response_ns_p90,
    );
    body.raw("</div>");
    let columns: Vec<Column<'_, Of<'_>>> = vec![
        column("users", "", |row: &Of<'_>| Shown::Text(whole(f64::from(row.1.users)))),
        column("new orders", "per min", |row: &Of<'_>| {
            ranged(row.1.new_orders_per_minute, number)
        })
        .compared(),
        column("response", "p50", |row: &Of<'_>| {
            shown(row.1.response_ns_p50, nanoseconds)
        }),
        column("response", "p90", |row: &Of<'_>| {
            shown(row.1.response_ns_p90, nanoseconds)
        }),
        column("response", "p99", |row: &Of<'_>| {
            shown(row.1.response_ns_p99, nanoseconds)
        }),
    ];
    let caption = format!("Load curve: {}", phase.name);
    stack_table(body, source, &caption, &rows, &columns, |row| row.0);
    body.raw("<ul>");
    for cell in &phase.cells {
        if let Some(point) = cell.load_curve.as_ref().and_then(|curve| curve.saturation.as_ref()) {
            body.element("li", &[], &format!("{}: {}", cell.stack, point.words));
        }
    }
    body.raw("</ul>");
    body.element("p", &[("class", "quiet")], METHOD);
}

fn chart(
    body: &mut Markup,
    source: &Source<'_>,
    phase: &PhaseReport,
    title: &str,
    form: fn(f64) -> String,
    pick: fn(&StepFigures) -> Option<Figure>,
) {
    let series: Vec<Series<'_>> = phase
        .cells
        .iter()
        .filter_map(|cell| {
            let steps = &cell.load_curve.as_ref()?.steps;
            let point = |step: &StepFigures| Some((f64::from(step.users), pick(step)?.median));
            Some(Series {
                mark: source.mark(&cell.stack),
                name: &cell.stack,
                points: steps.iter().filter_map(point).collect(),
            })
        })
        .collect();
    let users = series.iter().flat_map(|one| one.points.iter().map(|point| point.0));
    let mut counts: Vec<f64> = users.collect();
    counts.sort_by(f64::total_cmp);
    counts.dedup();
    let Some(scale) = LogScale::over(counts.iter().copied()) else {
        return;
    };
    let chart = Chart {
        title,
        marks: scale
            .marks(counts, 0.08)
            .into_iter()
            .map(|users| (users, whole(users)))
            .collect(),
        across: Across::Logarithmic(scale),
        across_words: "users",
        form,
        binary: false,
        dots: true,
    };
    plot(body, &chart, &series);
}
