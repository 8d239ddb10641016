//! Several hosts in the report: a row for each, what they differ in, how well their clocks are known, and what is
//! counted on one of them alone.
//!
//! Prevents: a sum over hosts that is read as one machine's, and a name of a host that acts on a terminal or a page.

use crate::fixture::{Scene, actor, fact, host, scene};
use ledger::{Access, HostRow, Measure};
use report::{Check, Status, Style, html, json, markdown, schema, terminal};

/// A stack with one instance and one with two, on these hosts.
fn on(hosts: Vec<HostRow>) -> Scene {
    let mut two = actor("two", 1.0);
    two.instances = 2;
    let mut scene = scene(vec![actor("one", 1.0), two]);
    scene.hosts = hosts;
    scene
}

fn lines(scene: &Scene, subject: &str) -> Vec<Check> {
    let checks = scene.film().analysis().checks;
    checks.into_iter().filter(|check| check.subject == subject).collect()
}

/// No host counts the devices of the others: what is opened past the page cache is ranked all the same.
#[test]
fn on_several_hosts_only_what_goes_past_the_page_cache_is_ranked() {
    let of = |kind: &str, access: Access, reads_go: Option<&str>| {
        let mut scene = on(vec![host(0), host(1)]);
        scene.extra = vec![(Measure::HostsClockBoundNs, 1e5)];
        for actor in &mut scene.actors {
            (actor.stack.kind, actor.stack.access) = (kind.into(), access);
            let scope = format!("stack:{}", actor.stack.name);
            let fact = |way| fact(&scope, "data reads go", way);
            scene.facts.extend(reads_go.map(fact));
            let name = actor.stack.name.clone();
            for measure in [
                Measure::NearReadBytes,
                Measure::NearWriteBytes,
                Measure::LowReadBytes,
                Measure::LowWriteBytes,
            ] {
                scene.extra_of.push((name.clone(), measure, f64::NAN));
            }
        }
        scene.film().analysis()
    };
    for kind in ["raw", "diskgroup"] {
        let analysis = of(kind, Access::Direct, Some("around"));
        assert_eq!(analysis.comparisons.len(), 2, "{kind}: {:?}", analysis.unranked);
        assert_eq!(
            analysis.phases[0].cells[0].provenance.reads.origin,
            report::Origin::SeveralHosts
        );
        let found = analysis.checks.iter().find(|check| check.subject == "provenance");
        let found = found.expect("a line");
        assert!(found.figure.contains("not counted (several hosts)"), "{}", found.figure);
        assert_eq!(found.status, Status::Note);
    }
    let in_doubt = [
        of("directory", Access::Direct, None),
        of("raw", Access::Buffered, None),
        of("raw", Access::Direct, Some("through")),
    ];
    for analysis in in_doubt {
        assert!(analysis.comparisons.is_empty() && !analysis.unranked.is_empty());
        let origin = analysis.phases[0].cells[0].provenance.reads.origin;
        assert_eq!(origin, report::Origin::Unknown);
        let mut lines = analysis.checks.iter().filter(|check| check.subject == "provenance");
        assert!(
            lines.all(|line| line.status == Status::Suspect),
            "a cache may have served it"
        );
    }
}

#[test]
fn each_host_has_a_row_and_one_alone_has_no_table() {
    let analysis = on(vec![host(0), host(1)]).film().analysis();
    assert_eq!(analysis.hosts.iter().map(|one| one.rank).collect::<Vec<_>>(), [0, 1]);
    assert_eq!(analysis.hosts[1].host, "node-1");
    let one = &analysis.hosts[0];
    assert_eq!((one.processors, one.processors_usable), (16, 12));
    let text = terminal(&analysis, &Style::default());
    for said in ["Hosts of the study", "node-0", "node-1", "6.1.0", "0123456789ab"] {
        assert!(text.contains(said), "no {said} in {text}");
        assert!(markdown(&analysis).contains(said), "no {said} in Markdown");
    }
    assert!(!text.contains("0123456789abc"), "twelve digits are enough: {text}");
    let value = json(&analysis);
    assert_eq!(
        value["report"]["hosts"][1]["program_sha256"],
        "0123456789abcdef".repeat(4)
    );
    let validator = jsonschema::validator_for(&schema()).unwrap();
    assert!(validator.is_valid(&value));
    let alone = on(Vec::new()).film().analysis();
    assert!(alone.hosts.is_empty());
    assert!(!terminal(&alone, &Style::default()).contains("Hosts of the study"));
}

#[test]
fn hosts_that_differ_are_suspect_and_say_in_what() {
    let found = |others: Vec<HostRow>| {
        let all = [host(0)].into_iter().chain(others).collect();
        let mut lines = lines(&on(all), "hosts that differ");
        assert!(lines.len() < 2, "said once: {lines:?}");
        lines.pop().map(|line| (line.status, line.figure))
    };
    assert_eq!(found(Vec::new()), None, "one host differs from none");
    let alike = found(vec![host(1), host(2)]);
    assert_eq!(alike, Some((Status::Valid, "3 hosts, alike".into())));
    let kernel = HostRow {
        kernel: "6.8.0".into(),
        ..host(1)
    };
    let bound = HostRow { usable: 1, ..host(2) };
    let build = HostRow {
        binary: "f".repeat(64),
        ..host(3)
    };
    let (status, figure) = found(vec![kernel.clone(), bound, build, host(4)]).unwrap();
    assert_eq!(status, Status::Suspect);
    assert_eq!(
        figure,
        "node-1 (rank 1): kernel 6.8.0 and not 6.1.0; node-2 (rank 2): usable processors 1 and not 12; node-3 (rank \
         3): another program"
    );
    let many = (1..=20).map(|rank| HostRow { rank, ..kernel.clone() }).collect();
    let (_, figure) = found(many).unwrap();
    assert!(figure.ends_with("; and 12 more"), "{figure}");
    assert!(figure.contains("(rank 8)") && !figure.contains("(rank 9)"), "{figure}");
}

#[test]
fn clocks_that_nobody_knows_to_a_millisecond_are_suspect() {
    let found = |bound_ns: f64| {
        let mut scene = on(vec![host(0), host(1)]);
        scene.extra_of = vec![("two".into(), Measure::HostsClockBoundNs, bound_ns)];
        let lines = lines(&scene, "clocks of hosts");
        assert_eq!(lines.len(), 2, "a line for each phase: {lines:?}");
        assert!(lines.iter().all(|line| line.stack.as_deref() == Some("two")));
        (
            lines[0].status,
            lines[0].figure.clone(),
            lines[0].threshold_words().to_string(),
        )
    };
    let (status, figure, bound) = found(14_000.0);
    assert_eq!(status, Status::Valid);
    assert_eq!(figure, "the clocks of the hosts are known to 14.0 us");
    assert_eq!(bound, "at most 1.00 ms");
    let (status, figure, _) = found(2_500_000.0);
    assert_eq!(status, Status::Suspect);
    assert!(figure.ends_with("2.50 ms"), "{figure}");
    let unknown = lines(&on(vec![host(0), host(1)]), "clocks of hosts");
    assert!(unknown.is_empty(), "what was not measured is not said: {unknown:?}");
}

/// The budget is that of one host; what a stack took of memory is that of all.
#[test]
fn a_memory_budget_is_held_against_the_memory_of_rank_0s_host() {
    let said = |bound_ns: Option<f64>| {
        let mut scene = on(vec![host(0), host(1)]);
        let bound = |ns| ("two".into(), Measure::HostsClockBoundNs, ns);
        scene.extra_of = bound_ns.map(bound).into_iter().collect();
        let analysis = scene.film().analysis();
        let is_it = |check: &&Check| check.subject == "memory budget" && check.stack.as_deref() == Some("two");
        let line = analysis.checks.iter().find(is_it).expect("a line").clone();
        let cell = analysis.phases[0].cells.iter().find(|cell| cell.stack == "two");
        (
            line.status,
            line.figure,
            cell.unwrap().memory_bytes_peak.unwrap().median,
        )
    };
    let elsewhere = " on rank 0's host; memory of the other hosts is not bounded";
    let (status, alone, bytes) = said(None);
    assert!(status == Status::Valid && !alone.contains(elsewhere), "{alone}");
    let (status, figure, of_both) = said(Some(1e5));
    assert_eq!((status, figure), (Status::Valid, format!("{alone}{elsewhere}")));
    let with_the_other = bytes + f64::from(300 << 20);
    assert!(
        (of_both - with_the_other).abs() < 1.0,
        "{of_both} and not {with_the_other}"
    );
}

#[test]
fn what_one_of_several_hosts_alone_counts_is_said() {
    let found = lines(&on(vec![host(0), host(1)]), "several hosts");
    assert_eq!(found.len(), 2, "once for each phase: {found:?}");
    for line in &found {
        assert_eq!((line.status, line.stack.as_deref()), (Status::Note, None));
        assert!(line.phase.is_some() && line.figure.starts_with("2 hosts: "), "{line:?}");
        assert!(line.figure.contains("is that of node-0 alone (rank 0)"), "{line:?}");
    }
    assert!(lines(&on(vec![host(0)]), "several hosts").is_empty());
    assert!(lines(&on(Vec::new()), "several hosts").is_empty());
    // Where each stack has one instance, all is on the run's own host.
    let mut alone = scene(vec![actor("one", 1.0), actor("other", 1.0)]);
    alone.hosts = vec![host(0), host(1)];
    assert!(lines(&alone, "several hosts").is_empty());
}

#[test]
fn the_name_of_a_host_cannot_act() {
    let evil = HostRow {
        host: "<i>qx\x1b[2J\r\n\u{202e}".into(),
        kernel: "<i>qy\x1b]0;title\x07".into(),
        binary: "<i>qz\x1b[2J".into(),
        ..host(1)
    };
    let filmed = on(vec![host(0), evil]).film();
    let analysis = filmed.analysis();
    let page = html(&filmed.ledger, &analysis).unwrap();
    let texts = [terminal(&analysis, &Style::default()), markdown(&analysis), page];
    for text in &texts {
        assert!(!text.contains(['\x1b', '\x07', '\u{202e}']), "{text:?}");
        assert!(text.contains("u{1b}"), "it is made visible: {text}");
    }
    for cell in ["<i>qx", "<i>qy", "<i>qz"] {
        assert!(!texts[2].contains(cell), "{cell} is markup");
    }
}

#[test]
fn a_file_with_more_hosts_than_any_launcher_starts_is_refused() {
    let filmed = on((0..=4096).map(host).collect()).film();
    let error = report::Analysis::of(&filmed.ledger).unwrap_err().to_string();
    assert!(error.contains("4097 hosts"), "{error}");
}
