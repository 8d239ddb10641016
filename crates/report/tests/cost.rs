//! Prices of a study over known rates.
//!
//! Prevents: a part of a price left out, an interval turned the wrong way round, and the price of a rate that a model
//! in slow motion had.

use crate::fixture::{Scene, actor, host, scene};
use ledger::{Fact, FactName, FactValue, Measure, Scope};
use report::Style;

const GB: f64 = 1e9;

fn price(scope: Scope, name: FactName, price: f64) -> Fact {
    Fact {
        scope,
        key: name.into(),
        value: FactValue::Amount(price),
    }
}

/// Two stacks of one speed apart, on four LUNs of 10 GB; the second needs a licence.
fn priced() -> Scene {
    let mut scene = scene(vec![actor("ext4", 1.0), actor("group", 0.8)]);
    let lun = |number: u32| Fact {
        scope: Scope::Lun("data".into(), Some(number)),
        key: FactName::Bytes.into(),
        value: FactValue::Whole(10_000_000_000),
    };
    scene.facts = (0..4).map(lun).collect();
    // Of a set that no stack lies on.
    scene.facts.push(Fact {
        scope: Scope::Lun("other".into(), Some(0)),
        ..lun(0)
    });
    scene.facts.extend([
        price(Scope::Study, FactName::PriceOfHost, 12_000.0),
        price(Scope::Study, FactName::PriceOfLun, 100.0),
        price(Scope::Study, FactName::PriceOfGb, 0.045),
        price(Scope::Stack("group".into()), FactName::PriceOfLicence, 4_000.0),
    ]);
    let (key, value) = FactName::Currency.is("EUR");
    let scope = Scope::Study;
    scene.facts.push(Fact { scope, key, value });
    scene.extra = vec![(Measure::LunUsedBytes, 4.0 * GB), (Measure::DataBytes, 8.0 * GB)];
    scene
}

#[test]
fn a_price_has_all_its_parts_and_a_rate_its_interval() {
    let analysis = priced().film().analysis();
    let cost = analysis.cost.as_ref().unwrap();
    assert_eq!((cost.currency.as_str(), cost.stacks.len()), ("EUR", 2));
    let totals = [12_000.0 + 400.0 + 1.8, 12_000.0 + 400.0 + 1.8 + 4_000.0];
    for (stack, total) in cost.stacks.iter().zip(totals) {
        assert_eq!(stack.luns, 4);
        assert!((stack.total - total).abs() < 1e-6, "{stack:?}");
        // Half a byte in use for each byte of data: the LUNs hold twice their bytes.
        assert!((stack.data_bytes_full.unwrap() - 80.0 * GB).abs() < 1.0, "{stack:?}");
        assert!((stack.per_gb_of_data.unwrap() - total / 80.0).abs() < 1e-6, "{stack:?}");
    }
    let rates: Vec<_> = cost.rates.iter().filter(|one| one.phase == "50 % update").collect();
    for (one, (total, rate)) in rates.iter().zip(totals.iter().zip([10_000.0, 8_000.0])) {
        let found = one.price.unwrap();
        assert!((found / (total / rate) - 1.0).abs() < 0.01, "{one:?}");
        assert!(one.low.unwrap() < found && found < one.high.unwrap(), "{one:?}");
    }
    assert_eq!((rates[0].base.as_deref(), rates[0].ratio), (None, None));
    let (one, against) = (rates[1], &analysis.comparisons[0]);
    let dearer = totals[1] / totals[0];
    assert!((one.ratio.unwrap() - dearer / against.ratio.unwrap()).abs() < 1e-9);
    assert!((one.ratio_low.unwrap() - dearer / against.high.unwrap()).abs() < 1e-9);
    assert!((one.ratio_high.unwrap() - dearer / against.low.unwrap()).abs() < 1e-9);
    let page = report::markdown(&analysis);
    for wanted in ["What the stacks cost", "16,402", "one operation a second", "EUR"] {
        assert!(page.contains(wanted), "{wanted}\n{page}");
    }
}

/// A study of stacks with one, two and four instances has four hosts; each stack is priced with its own.
#[test]
fn a_stack_pays_for_the_hosts_of_its_own_instances() {
    let totals = |hosts: u32| {
        let mut scene = priced();
        scene.actors.push(actor("xfs", 0.9));
        for (actor, instances) in scene.actors.iter_mut().zip([1, 2, 4]) {
            actor.instances = instances;
        }
        scene.facts.retain(|fact| fact.key != FactName::PriceOfLicence.into());
        scene.hosts = (0..hosts).map(host).collect();
        let cost = scene.film().analysis().cost.expect("prices");
        let beside = 400.0 + 1.8;
        let paid = cost.stacks.iter().map(|stack| (stack.total - beside) / 12_000.0);
        paid.map(|hosts| (hosts * 1e6).round() / 1e6).collect::<Vec<_>>()
    };
    assert_eq!(totals(4), [1.0, 2.0, 4.0]);
    assert_eq!(totals(0), [1.0, 1.0, 1.0], "processes of one host");
}

/// An array that keeps a quarter of what it is given holds four times its bytes; LUNs in reserve hold nothing.
#[test]
fn a_price_of_data_knows_reduction_and_reserve() {
    let full = |scene: &Scene| {
        let analysis = scene.film().analysis();
        let cost = analysis.cost.expect("prices");
        (cost.stacks[0].luns, cost.stacks[0].data_bytes_full.expect("known"))
    };
    let (_, plain) = full(&priced());
    let mut reduced = priced();
    reduced.extra.extend([
        (Measure::ArrayAskedBytes, 8.0 * GB),
        (Measure::ArrayStoredBytes, 2.0 * GB),
    ]);
    assert!((full(&reduced).1 / plain - 4.0).abs() < 1e-6);
    let mut reserved = priced();
    reserved.settings.push(ledger::Setting {
        key: "stack.ext4.reserve".into(),
        value: "1".into(),
        written: true,
    });
    let (luns, bytes) = full(&reserved);
    assert_eq!(luns, 4, "all are paid for");
    assert!((bytes / plain - 0.75).abs() < 1e-6);
}

#[test]
fn slow_motion_has_ratios_and_no_prices_of_a_unit() {
    let mut scene = priced();
    let (key, value) = FactName::SlowMotion.is(10_u32);
    let scope = Scope::Study;
    scene.facts.push(Fact { scope, key, value });
    let analysis = scene.film().analysis();
    let rates = &analysis.cost.as_ref().unwrap().rates;
    assert!(rates.len() == 4 && rates.iter().all(|one| one.price.is_none() && one.low.is_none()));
    assert!(rates.iter().any(|one| one.ratio.is_some()));
    assert!(report::terminal(&analysis, &Style::default()).contains("slow motion"));
}

#[test]
fn a_study_without_prices_says_nothing_of_them() {
    let analysis = scene(vec![actor("ext4", 1.0), actor("xfs", 1.0)]).film().analysis();
    assert_eq!(analysis.cost, None);
    assert!(!report::markdown(&analysis).contains("What the stacks cost"));
}

/// A result file may be anybody's.
#[test]
fn a_currency_that_a_terminal_would_act_on_is_shown_and_not_done() {
    let mut scene = priced();
    for fact in &mut scene.facts {
        if fact.key == FactName::Currency.into() {
            fact.value = FactValue::Text("EUR\u{1b}[31m<script>".into());
        }
    }
    let film = scene.film();
    let analysis = film.analysis();
    let shown = report::terminal(&analysis, &Style::default());
    assert_eq!(report::escaped_lines(&shown, false), shown);
    let page = report::html(&film.ledger, &analysis).unwrap();
    assert!(!page.contains("[31m<script>"), "markup of a file reaches the page");
}
