//! Real databases in a report: order entry, cost, load curves, bulk loads, in every form.

use crate::fixture::{Scene, actor, fact, scene};
use ledger::{Measure, PhaseKind};
use report::{Analysis, Metric, Status, Style, Verdict, json, markdown, schema, terminal};

fn served() -> Scene {
    let mut scene = scene(vec![actor("ext4", 1.0), actor("btrfs", 0.7)]);
    scene.blocks = 6;
    scene.phases = vec![
        (PhaseKind::Tpcc, "order entry".into()),
        (PhaseKind::Tpcc, "load curve".into()),
        (PhaseKind::Bulk, "bulk load".into()),
    ];
    scene
}

fn shown(analysis: &Analysis) -> String {
    let style = Style {
        utf8: true,
        ..Style::default()
    };
    terminal(analysis, &style)
}

fn near(found: f64, wanted: f64, share: f64) -> bool {
    (found / wanted - 1.0).abs() <= share
}

#[test]
fn order_entry_counts_what_was_committed_and_charges_the_drain() {
    let analysis = served().film().analysis();
    let phase = &analysis.phases[0];
    assert_eq!(phase.metric, Metric::NewOrdersPerMinute);
    let cell = &phase.cells[0];
    let orders = cell.orders.as_ref().unwrap();
    // 40,000 transactions, 45 % new orders, 1 % of them rolled back, 20 s of work and half a second of drain.
    let committed = 40_000.0 * 0.45 * 0.99;
    assert!(near(
        orders.new_orders_per_minute.unwrap().median,
        committed * 3.0,
        0.01
    ));
    assert!(near(cell.primary.unwrap().median, committed * 60.0 / 20.5, 0.01));
    let classes: Vec<&str> = orders.transactions.iter().map(|one| one.class.as_str()).collect();
    assert_eq!(
        classes,
        ["new order", "payment", "order status", "delivery", "stock level"]
    );
    let first = &orders.transactions[0];
    assert!(near(first.share.unwrap().median, 0.45, 0.01));
    assert!(near(first.rolled_back_share.unwrap().median, 0.01, 0.02));
    assert!(first.response.p90_ns.unwrap().median > first.service.p90_ns.unwrap().median);
    assert_eq!((first.limit_ns, first.within_limit), (Some(5e9), Some(true)));
    assert_eq!(
        (orders.conditions.asked_before, orders.conditions.asked_after),
        (72, 72)
    );
    // Busy with the whole mix, charged to new orders.
    assert!(near(
        orders.cost.cpu_server_us.unwrap().median,
        310.0 / 0.45 / 0.99,
        0.01
    ));
    assert!(orders.cost.device_written_bytes.is_some() && orders.storage_share.is_none());
    let verdict = analysis
        .comparisons
        .iter()
        .find(|one| one.phase == "order entry")
        .unwrap();
    assert_eq!(verdict.verdict, Verdict::Worse);
    assert!(near(verdict.ratio.unwrap(), 0.7, 0.02));
}

/// One in 25 is a stock level: slow ones would decide the p99 of all transactions together.
#[test]
fn order_entry_on_a_schedule_is_ranked_by_new_orders() {
    let of = |slow_class, unsent: f64| {
        let mut scene = scene(vec![actor("ext4", 1.0), actor("btrfs", 1.0)]);
        scene.blocks = 6;
        scene.phases = vec![(PhaseKind::TpccOpen, "due".into())];
        scene.actors[1].slow_class = slow_class;
        let set = |measure, value| ("btrfs".to_string(), measure, value);
        scene.extra_of = vec![set(Measure::EngineUnsent, unsent), set(Measure::EngineDue, 40_000.0)];
        let analysis = scene.film().analysis();
        let cell = &analysis.phases[0].cells[1];
        let orders = &cell.orders.as_ref().unwrap().transactions[0];
        let (primary, of_orders) = (cell.primary.unwrap(), orders.response.p99_ns.unwrap());
        assert_eq!(primary, of_orders, "the table of classes says the same");
        (primary.median, analysis.comparisons[0].verdict)
    };
    let (usual_ns, verdict) = of(None, 0.0);
    assert_eq!(verdict, Verdict::Equivalent);
    assert_eq!(of(Some("stock level"), 0.0), (usual_ns, Verdict::Equivalent));
    let (slow_ns, verdict) = of(Some("new order"), 0.0);
    assert!(near(slow_ns, 20.0 * usual_ns, 0.01));
    assert_eq!(verdict, Verdict::Worse);
    // A half percent was never sent: of new orders as of all.
    assert!(of(None, 200.0).0 > usual_ns);
}

#[test]
fn what_was_not_storage_is_not_ranked_as_storage() {
    let mut scene = served();
    scene.actors[0].storage = Some(0.6);
    scene.actors[1].storage = Some(0.12);
    let analysis = scene.film().analysis();
    let of = |stack: usize| {
        analysis.phases[0].cells[stack]
            .orders
            .as_ref()
            .unwrap()
            .storage_share
            .unwrap()
    };
    // Waits for locks, a tenth of the service, are taken off.
    assert!(
        near(of(0).median, 0.6, 0.001) && near(of(1).median, 0.12, 0.001),
        "{:?}",
        (of(0), of(1))
    );
    let why = analysis
        .unranked
        .iter()
        .find(|one| one.stack == "btrfs" && one.phase.as_deref() == Some("order entry"));
    assert!(why.unwrap().reason.contains("processors and locks"), "{why:?}");
    assert!(!analysis.comparisons.iter().any(|one| one.phase == "order entry"));
    assert!(shown(&analysis).contains("not ranked as a storage result"));
}

#[test]
fn devices_that_were_busy_with_more_than_the_users_asked_are_all_of_the_service() {
    let mut scene = served();
    scene.actors[0].storage = Some(1.7);
    let analysis = scene.film().analysis();
    let share = analysis.phases[0].cells[0].orders.as_ref().unwrap().storage_share;
    assert_eq!(share.unwrap().high, 1.0);
}

#[test]
fn what_tells_two_groups_apart_is_said() {
    let databases = ["postgres", "sqlite", "postgres", "page engine"];
    let mut scene = served();
    scene.actors = databases.map(|database| actor(database, 1.0)).into();
    for (nth, one) in scene.actors.iter_mut().enumerate() {
        one.stack.database = (nth < 3).then(|| databases[nth].into());
        one.stack.name = format!("s{nth}");
    }
    let (what, device) = (ledger::Modelled::All, "disk".into());
    let model = ledger::Layer::Model { what, device };
    scene.actors[2].stack.layers.0.insert(2, model);
    let analysis = scene.film().analysis();
    let reason = |stack: &str| {
        let of = analysis
            .unranked
            .iter()
            .find(|one| one.stack == stack && one.phase.is_none());
        of.unwrap().reason.clone()
    };
    assert_eq!(reason("s1"), "another database (sqlite) than s0 (postgres)");
    assert_eq!(
        reason("s2"),
        "on a modelled device, and s0 on a real one; another number of layers than s0 (postgres/loop/file)"
    );
    assert_eq!(reason("s3"), "another database (the page engine) than s0 (postgres)");
}

#[test]
fn stacks_that_are_compared_in_a_group_of_their_own_are_not_called_unranked() {
    let databases = ["postgres", "sqlite", "sqlite"];
    let mut scene = served();
    scene.actors = databases.map(|database| actor(database, 1.0)).into();
    for (nth, one) in scene.actors.iter_mut().enumerate() {
        one.stack.database = Some(databases[nth].into());
        one.stack.name = format!("s{nth}");
    }
    let analysis = scene.film().analysis();
    assert!(
        analysis
            .comparisons
            .iter()
            .any(|one| one.stack == "s2" && one.base == "s1")
    );
    let text = shown(&analysis);
    assert!(text.contains("Ranked apart"), "{text}");
    assert!(!text.contains("Measured, not ranked"), "{text}");
}

#[test]
fn a_broken_condition_takes_the_figures_away() {
    let mut scene = served();
    scene.actors[1].breaks = Some(8);
    let analysis = scene.film().analysis();
    let why = analysis
        .unranked
        .iter()
        .find(|one| one.stack == "btrfs" && one.phase.as_deref() == Some("order entry"));
    assert!(why.unwrap().reason.contains("condition 8"), "{why:?}");
    let check = analysis
        .checks
        .iter()
        .find(|one| one.subject == "consistency" && one.stack.as_deref() == Some("btrfs"));
    assert_eq!(check.unwrap().status, Status::Invalid);
    // The run is in no figure, and its block still counts for the others.
    let run = analysis.checks.iter().find(|one| one.subject == "phase status");
    assert!(run.unwrap().figure.starts_with("block 1 invalid"), "{run:?}");
    assert_eq!(analysis.phases[0].cells[1].blocks, 5);
    assert!(analysis.dropped.is_empty(), "{:?}", analysis.dropped);
    let text = shown(&analysis);
    assert!(text.contains("none of its figures counts"), "{text}");
    assert!(text.contains("ext4: consistency conditions checked, and all hold: 72 before, 72 after"));
}

#[test]
fn the_load_curve_says_where_users_no_longer_help() {
    let analysis = served().film().analysis();
    let curve = analysis.phases[1].cells[0].load_curve.as_ref().unwrap();
    let users: Vec<u32> = curve.steps.iter().map(|step| step.users).collect();
    assert_eq!(users, [1, 2, 4, 8, 16, 32]);
    let point = curve.saturation.as_ref().unwrap();
    assert_eq!((point.users, point.best_users, point.reached), (8, 16, true));
    assert_eq!((point.users_low, point.users_high), (Some(8), Some(8)));
    assert!(analysis.phases[0].cells[0].load_curve.is_none());
    // Driven past its knee on purpose: all its steps together keep no limit, and break none.
    let orders = analysis.phases[1].cells[0].orders.as_ref().unwrap();
    assert!(orders.transactions.iter().all(|one| one.within_limit.is_none()));
    let limits = analysis.checks.iter().filter(|one| one.subject == "response limits");
    assert!(
        limits
            .into_iter()
            .all(|one| one.phase.as_deref() == Some("order entry"))
    );
}

#[test]
fn bulk_loads_are_compared_per_row_count() {
    let analysis = served().film().analysis();
    let loads = &analysis.phases[2].cells[1].bulk;
    assert_eq!(
        loads.iter().map(|load| load.rows).collect::<Vec<_>>(),
        [10_000, 100_000, 1_000_000]
    );
    assert!(near(loads[2].rows_per_s.unwrap().median, 35_000.0, 0.01));
    assert_eq!(loads[2].space[1].name, "bulk_pk");
    assert_eq!(loads[2].space[1].bytes.unwrap().median, 31e6);
    assert_eq!(loads[2].growth.len(), 40);
    assert_eq!(analysis.bulk_ratios.len(), 3);
    for one in &analysis.bulk_ratios {
        assert!(
            near(one.ratio, 0.7, 0.02) && one.low.unwrap() < one.ratio && one.n == 6,
            "{one:?}"
        );
    }
}

#[test]
fn settings_that_differ_stand_before_the_numbers() {
    let analysis = served().film().analysis();
    assert_eq!(analysis.databases.len(), 2);
    let differ: Vec<&str> = analysis.differences.iter().map(|one| one.fact.as_str()).collect();
    assert!(differ.contains(&"database setting full_page_writes"), "{differ:?}");
    assert!(
        !differ
            .iter()
            .any(|fact| fact.contains("data_directory") || fact.contains("fsync"))
    );
}

#[test]
fn every_form_says_it_and_none_calls_it_by_another_name() {
    let film = served().film();
    let analysis = film.analysis();
    let text = shown(&analysis);
    // However the lines are broken.
    let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for wanted in [
        "new orders",
        "no TPC result",
        "per new order",
        "load curve:",
        "more than 8 users help by no more than 5 %",
        "bulk_pk",
        "files seen to grow 40 times",
        "PostgreSQL 15.18 by page cache",
    ] {
        assert!(joined.contains(wanted), "{wanted} in {text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let page = report::html(&film.ledger, &analysis).unwrap();
    for wanted in ["id=\"databases\"", "no TPC result", "class=\"curve\"", "bulk_pk"] {
        assert!(page.contains(wanted), "{wanted}");
    }
    let value = json(&analysis);
    assert!(jsonschema::validator_for(&schema()).unwrap().is_valid(&value));
    assert_eq!(value["report"]["phases"][2]["cells"][0]["bulk"][0]["rows"], 10_000);
    let short = markdown(&analysis);
    assert!(short.contains("orders/min"), "{short}");
    for wanted in [
        "no TPC result",
        "conditions checked, and all hold",
        "more than 8 users help by no more",
    ] {
        assert!(short.contains(wanted), "{wanted} in {short}");
    }
    for form in [text, page, value.to_string(), short] {
        let lower = form.to_lowercase();
        assert!(!lower.contains("tpmc") && !lower.contains("tpm-c"));
    }
}

#[test]
fn a_file_without_databases_is_read_as_before() {
    let analysis = scene(vec![actor("ext4", 1.0)]).film().analysis();
    assert!(analysis.databases.is_empty() && analysis.bulk_ratios.is_empty());
    assert!(!shown(&analysis).contains("Databases"));
}

#[test]
fn of_rows_in_sql_nothing_is_declared_and_what_compresses_too_well_is_in_doubt() {
    let said = |packed: &str, copied: &str| {
        let mut scene = served();
        scene.facts = vec![
            fact("stack:ext4", "data compressibility found", packed),
            fact("stack:ext4", "data duplication found", copied),
        ];
        let checks = scene.film().analysis().checks;
        let found = checks.into_iter().find(|check| check.subject == "data").unwrap();
        (found.status, found.figure)
    };
    let usual = "compresses 1.90 to 1, 0 % of its blocks of 4 KiB are copies".to_string();
    assert_eq!(said("1.90", "0.000"), (Status::Valid, usual));
    assert_eq!(said("4.50", "0.000").0, Status::Suspect);
    assert_eq!(said("1.90", "0.300").0, Status::Suspect);
}
