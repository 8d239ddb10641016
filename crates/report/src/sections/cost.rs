//! What the stacks cost: their price, and the price of what they do and hold.
//!
//! Takes it from the analysis, gives a section. Prevents: a price whose parts are not shown.

use super::source::Source;
use crate::cells::metric::Metric;
use crate::document::{Block, Cell, Fold, Form, Forms, Placed, Section, column};
use crate::format::{bytes, number, ratio, whole};
use crate::grouped::grouped;
use crate::stacks::cost::{Cost, CostOfRate, CostOfStack};

const TAKEN: &str = "Prices are those of the study. A stack costs the host, each LUN that it lies on, each GB \
                     (10^9 bytes) of those LUNs, and its licences. Running costs are not included.";

const FULL: &str = "Data that fill the LUNs: bytes of the LUNs over the bytes that the stack had in use for each byte \
                    of data, after the last phase. In a small study a large part does not grow with the data.";

const RATES: &str = "Price for a unit: the stack's price over its rate, with the plain 95 % interval of that rate over \
                     blocks. Ratio: against the base, with the interval of the verdict; below 1 is cheaper.";

const SLOW: &str = "The models of this study ran in slow motion. Their rates are not those of a device, so no price \
                    for a unit is shown. Ratios stay.";

pub(super) fn section(source: &Source<'_>) -> Option<Section> {
    let cost = source.analysis.cost.as_ref()?;
    let mut blocks: Vec<Placed> = vec![
        (Forms::ALL, Block::Table(prices(source, cost))),
        (Forms::ALL, Block::Note(TAKEN.into())),
    ];
    if cost.stacks.iter().any(|stack| stack.data_bytes_full.is_some()) {
        blocks.push((Forms::LONG, Block::Note(FULL.into())));
    }
    for (phase, rows) in grouped(cost.rates.iter().map(|one| (&one.phase, one))) {
        blocks.push(rates(source, cost, phase, &rows));
    }
    if !cost.rates.is_empty() {
        let slow = cost.rates.iter().all(|one| one.price.is_none());
        blocks.push((Forms::ALL, Block::Note(if slow { SLOW } else { RATES }.into())));
    }
    Section::of("cost", "Cost", "What the stacks cost", blocks)
}

fn prices(source: &Source<'_>, cost: &Cost) -> crate::document::Table {
    let of = |head: &str, unit: &str, pick: fn(&CostOfStack) -> Option<f64>, form: Form| {
        column(head, unit, move |one: &CostOfStack| Cell::number(pick(one), form))
    };
    let priced = |price: f64| move |amount: f64| (price > 0.0).then_some(price * amount);
    let (lun, gb) = (priced(cost.lun), priced(cost.gb));
    let host = priced(1.0)(cost.host).map(|_| cost.host);
    let unit = cost.currency.as_str();
    let columns = vec![
        column("price", unit, |one: &CostOfStack| Cell::number(one.total, number)),
        column("host", unit, move |_: &CostOfStack| Cell::number(host, number)),
        of("LUNs", "", |one| Some(f64::from(one.luns)), whole),
        column("LUNs", unit, move |one: &CostOfStack| {
            Cell::number(lun(f64::from(one.luns)), number)
        }),
        of("space", "", |one| Some(one.lun_bytes), bytes),
        column("space", unit, move |one: &CostOfStack| {
            Cell::number(gb(one.lun_bytes / 1e9), number)
        }),
        column("licences", unit, |one: &CostOfStack| {
            Cell::number((one.licence > 0.0).then_some(one.licence), number)
        }),
        of("data that", "fill the LUNs", |one| one.data_bytes_full, bytes),
        column("a GB of data", unit, |one: &CostOfStack| {
            Cell::number(one.per_gb_of_data, number)
        }),
    ];
    source.table("Price of each stack", &cost.stacks, |one| &one.stack, columns)
}

fn rates(source: &Source<'_>, cost: &Cost, phase: &str, rows: &[&CostOfRate]) -> Placed {
    let unit = rows.first().map_or("", |one| of_unit(one.metric));
    let title = format!("{phase}: price for {unit}");
    let margin = source.analysis.study.margin;
    let columns = vec![
        column("price", cost.currency.as_str(), |one: &&CostOfRate| {
            Cell::number(one.price, number)
        }),
        column("interval", "", |one: &&CostOfRate| {
            let ends = one.low.zip(one.high);
            Cell::maybe(ends.map(|(low, high)| format!("{} to {}", number(low), number(high))))
        }),
        column("ratio", "", |one: &&CostOfRate| Cell::number(one.ratio, ratio)),
        column("interval", "of the ratio", move |one: &&CostOfRate| match one.ratio {
            Some(ratio) => Cell::interval(
                ratio,
                [one.ratio_low, one.ratio_high],
                margin,
                crate::document::Tone::Open,
            ),
            None => Cell::Nothing,
        })
        .compared(),
        column("of", "", |one: &&CostOfRate| Cell::maybe(one.base.as_deref())).of_words(),
    ];
    let table = source.table(title.clone(), rows, |one| &one.stack, columns);
    (
        Forms::ALL,
        Block::part(title, Fold::OfMany, vec![(Forms::ALL, Block::Table(table))]),
    )
}

/// What a price is for.
fn of_unit(metric: Metric) -> &'static str {
    match metric {
        Metric::OperationsPerSecond => "one operation a second",
        Metric::OperationsPerSecondAtLimit => "one operation a second at the limit of response",
        Metric::BytesPerSecond => "10^6 bytes a second",
        Metric::NewOrdersPerMinute => "one new order a minute",
        Metric::ResponseNsP99 | Metric::GeometricMeanSeconds | Metric::ElapsedSeconds => "",
    }
}
