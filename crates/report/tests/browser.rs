//! The HTML report in a real browser: it draws, it is quiet, it can be read, and no name in a study can act in it.
//!
//! Needs Chromium, which `./test` installs; keeps pictures in `target/report-pages` (`ASSAY_TEST_SIZE=full`: of dark
//! and narrow pages too). Prevents: a page that is right as text and wrong on the screen.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test that cannot go on panics, and says why it skips"
)]

use crate::chromium::{Browser, browser};
use crate::fixture::{Filmed, Scene, actor, scene};
use ledger::{ImportNote, ImportedFact, ImportedFigure, ImportedText, PhaseKind, Setting, Skipped};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

const CHECKS: &str = include_str!("page_checks.js");

fn written(filmed: &Filmed, dir: &Path) -> PathBuf {
    let path = dir.join("report.html");
    std::fs::write(&path, report::html(&filmed.ledger, &filmed.analysis()).unwrap()).unwrap();
    path
}

fn whole() -> Scene {
    let mut cached = actor("buffered", 5.0);
    cached.device = Some(0.02);
    cached.stack.access = ledger::Access::Buffered;
    let mut skipped = actor("xfs", 1.0);
    skipped.stack.skipped = Some(Skipped {
        reason: "mkfs.xfs not found".into(),
        cure: "install xfsprogs".into(),
    });
    let mut scene = scene(vec![
        actor("ext4", 1.0),
        actor("disk group", 1.01),
        actor("btrfs", 0.8),
        cached,
        skipped,
    ]);
    scene.blocks = 6;
    scene.rich = true;
    scene.phases = vec![
        (PhaseKind::Load, "load".into()),
        (PhaseKind::Random, "50 % update".into()),
        (PhaseKind::Open, "on a schedule".into()),
        (PhaseKind::Scan, "aged scan".into()),
        (PhaseKind::Copy, "copy away".into()),
        (PhaseKind::Rebalance, "a disk joins".into()),
        (PhaseKind::Tpcc, "order entry".into()),
        (PhaseKind::Tpcc, "load curve".into()),
        (PhaseKind::Bulk, "bulk load".into()),
    ];
    beside(&mut scene, "50 % update");
    scene
}

/// Imported figures for a phase, and a publication.
fn beside(scene: &mut Scene, phase: &str) {
    let figure = |name: &str, value: f64, text: &str, quantity: &str| ImportedFigure {
        report: String::new(),
        name: name.into(),
        value,
        text: text.into(),
        unit: "per second".into(),
        line: 7,
        comparable: Some((quantity.into(), value)),
    };
    let text = |phase: &str| ImportedText {
        at_unix_ns: 1,
        stack: "oracle".into(),
        phase: phase.into(),
        file: format!("awr of {phase}"),
        sha256: "0123456789abcdef".into(),
        bytes: 10,
        format: "awr".into(),
        layout: "AWR text, statistics".into(),
        facts: vec![ImportedFact {
            name: "release".into(),
            value: phase.into(),
            line: 2,
        }],
        figures: vec![
            figure("physical read IO requests", 80_744.1, "80,744.1", "reads_per_s"),
            figure("physical read bytes", 661e6, "661,000,000", "read_bytes_per_s"),
            figure("db file sequential read", 410_000.0, "410us", "read_ns"),
        ],
        notes: vec![ImportNote {
            line: 9,
            text: format!("left out: {phase}"),
        }],
    };
    scene.imported = vec![text(phase), text("measured nowhere")];
    scene.published = Some("xtremio-2014".into());
    let setting = |key: &str, value: &str| Setting {
        key: key.into(),
        value: value.into(),
        written: true,
    };
    scene.settings = vec![
        setting("published.stacks", "{ \"ext4\" = \"asm\", \"btrfs\" = \"zfs\" }"),
        setting(
            "published.phases",
            "{ \"50 % update\" = \"read\", \"aged scan\" = \"aged scan\" }",
        ),
    ];
}

fn assert_fine(browser: &mut Browser, what: &str) {
    assert_eq!(browser.complaints(), Vec::<String>::new(), "{what}");
    assert_eq!(browser.documents(), 1, "{what}: the page asked for another document");
    assert_eq!(browser.evaluate(CHECKS), json!([]), "{what}");
    assert_eq!(
        browser.evaluate("document.documentElement.dataset.charts"),
        json!("5/5"),
        "{what}"
    );
}

#[test]
fn every_chart_is_drawn_and_nothing_leaves_the_page() {
    let Some(mut browser) = browser() else { return };
    let dir = tempfile::tempdir().unwrap();
    let page = written(&whole().film(), dir.path());
    browser.open(&page, 1280, 900);
    assert_fine(&mut browser, "light");
    let count =
        |browser: &mut Browser, what: &str| browser.evaluate(&format!("document.querySelectorAll('{what}').length"));
    assert_eq!(count(&mut browser, "#charts [data-drawn=yes]"), json!(5));
    assert!(count(&mut browser, "svg.forest").as_u64().unwrap() >= 6);
    assert!(count(&mut browser, "svg.shape").as_u64().unwrap() >= 8);
    // Four stacks: extents before and after; and the p99 of the work beside the rebalance.
    assert_eq!(count(&mut browser, "svg.dumbbell"), json!(8));
    assert_eq!(count(&mut browser, "svg.strip"), json!(8));
    assert_eq!(count(&mut browser, "svg.strip .dots"), json!(8));
    assert_eq!(count(&mut browser, "svg.bar-of-memory rect"), json!(4));
    assert!(count(&mut browser, "#elsewhere svg.theirs").as_u64().unwrap() >= 4);
    let moved = "[...document.querySelectorAll('table')].filter((one) => one.caption && ['Copies of the database', \
         'Rebalances'].includes(one.caption.textContent)).map((one) => one.tBodies[0].rows.length)";
    assert_eq!(browser.evaluate(moved), json!([4, 4]));
    let said = browser.evaluate("document.querySelector('main').textContent");
    for wanted in [
        "80,744.1",
        "imported",
        "measured here",
        "measured nowhere",
        "xtremio-2014",
        "left out",
    ] {
        assert!(said.as_str().unwrap().contains(wanted), "{wanted}");
    }
    pictures(&mut browser, "light", 1280);
    browser.system_colours("dark");
    assert_fine(&mut browser, "dark by the system");
    if is_full() {
        pictures(&mut browser, "dark", 1280);
    }
    browser.evaluate("document.getElementById('theme').click()");
    assert_eq!(
        browser.evaluate("getComputedStyle(document.body).backgroundColor"),
        json!("rgb(255, 255, 255)")
    );
    assert_fine(&mut browser, "light by choice");
    browser.system_colours("light");
    assert!(browser.print("print.pdf") > 1);
    assert_fine(&mut browser, "after it was printed");
    browser.open(&page, 390, 844);
    assert_fine(&mut browser, "narrow");
    if is_full() {
        pictures(&mut browser, "narrow", 390);
    }
}

fn is_full() -> bool {
    std::env::var("ASSAY_TEST_SIZE").is_ok_and(|size| size == "full")
}

/// The whole page in pictures that can still be looked at.
fn pictures(browser: &mut Browser, name: &str, width: u32) {
    const EACH: u32 = 1400;
    let height = browser
        .evaluate("document.documentElement.scrollHeight")
        .as_u64()
        .unwrap() as u32;
    // What is left at the end may be the page's margin, on which there is nothing to see.
    const MARGIN: u32 = 100;
    for (number, top) in (0..height).step_by(EACH as usize).enumerate() {
        let rest = EACH.min(height - top);
        if number == 0 || rest > MARGIN {
            browser.picture(&format!("{name}-{number}.png"), top, width, rest.max(50));
        }
    }
}

#[test]
fn time_lines_follow_their_controls() {
    let Some(mut browser) = browser() else { return };
    let dir = tempfile::tempdir().unwrap();
    browser.open(&written(&whole().film(), dir.path()), 1280, 900);
    let phases = browser.evaluate("[...document.querySelectorAll('#phase option')].map((one) => one.value)");
    assert_eq!(phases, json!(["all", "0", "1", "2", "3", "4", "5", "6", "7", "8"]));
    for (nth, phase) in phases.as_array().unwrap().iter().enumerate() {
        // The first and the last block by turns, and of all phases together both.
        let blocks = if nth == 0 {
            vec!["0", "5"]
        } else {
            vec![["0", "5"][nth % 2]]
        };
        for block in blocks {
            browser.evaluate(&format!(
                "for (const [id, value] of [['phase', {phase}], ['block', '{block}']]) {{ const one = \
                 document.getElementById(id); one.value = value; one.dispatchEvent(new Event('change')); }}"
            ));
            browser.evaluate("new Promise((done) => setTimeout(done, 50))");
            assert_fine(&mut browser, &format!("phase {phase}, block {block}"));
        }
    }
    browser.evaluate("document.querySelector('#values').open = true");
    browser.wait_for("document.querySelectorAll('#values tbody tr').length > 100");
    browser.evaluate("document.querySelector('#charts [tabindex]').focus()");
    for key in ["ArrowRight", "+", "ArrowLeft"] {
        browser.evaluate(&format!(
            "document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {{ key: '{key}', bubbles: true }}))"
        ));
    }
    let readout = browser.evaluate("document.querySelector('.readout').textContent");
    assert!(readout.as_str().unwrap().contains("ext4"), "{readout}");
    browser.evaluate("document.querySelector('[data-stack=\"0\"]').click()");
    browser.evaluate(
        "document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowLeft', bubbles: true }))",
    );
    let readout = browser.evaluate("document.querySelector('.readout').textContent");
    assert!(!readout.as_str().unwrap().contains("ext4"), "{readout}");
    assert_fine(&mut browser, "with a stack hidden");
}

/// What tries to get out of a text, an attribute, a script, a style, a comment.
const EVIL: [&str; 6] = [
    "</script><script>window.pwned=1</script>",
    "\"><img src=x onerror=\"window.pwned=1\">",
    "' onmouseover='window.pwned=1",
    "<!--<script>--></title><svg onload=window.pwned=1>",
    "</pre></textarea></style><iframe src=javascript:window.pwned=1>",
    "\u{202e}&lt;script&gt;\u{2028}{{pwned}}${1}\\u003cscript>",
];

#[test]
fn no_name_acts_in_the_page() {
    let Some(mut browser) = browser() else { return };
    let dir = tempfile::tempdir().unwrap();
    let mut actors: Vec<_> = EVIL.iter().map(|name| actor(name, 1.0)).collect();
    actors[1].stack.injected = Some(EVIL.concat());
    actors[2].speed = 0.7;
    actors[5].stack.skipped = Some(Skipped {
        reason: EVIL.concat(),
        cure: EVIL.concat(),
    });
    let mut evil = scene(actors);
    evil.rich = true;
    evil.words = Some(EVIL.concat());
    evil.phases = vec![(PhaseKind::Random, EVIL.concat()), (PhaseKind::Scan, EVIL[0].into())];
    evil.invalid = Some((1, EVIL[0].into()));
    beside(&mut evil, &EVIL.concat());
    browser.open(&written(&evil.film(), dir.path()), 1280, 900);
    assert_fine(&mut browser, "hostile names");
    assert_eq!(browser.evaluate("typeof window.pwned"), json!("undefined"));
    assert_eq!(
        browser
            .evaluate("document.querySelectorAll('img, iframe, textarea, [onload], [onerror], [onmouseover]').length"),
        json!(0)
    );
    assert_eq!(
        browser.evaluate("document.scripts.length"),
        json!(3),
        "the library, the data, our own"
    );
    let shown = browser.evaluate("document.querySelector('h1').textContent");
    assert!(
        shown
            .as_str()
            .unwrap()
            .starts_with("</script><script>window.pwned=1</script>"),
        "{shown}"
    );
    let stacks =
        browser.evaluate("[...document.querySelectorAll('#controls button .k')].map((one) => one.textContent)");
    assert_eq!(stacks.as_array().unwrap()[1], json!(EVIL[1]));
    // Were a name to get through all the same, the policy would hold it.
    browser.evaluate(
        "(() => { const one = document.createElement('script'); one.textContent = 'window.pwned = 2'; \
         document.body.append(one); \
         const image = new Image(); image.src = 'http://192.0.2.1/x.png'; document.body.append(image); })()",
    );
    assert_eq!(
        browser.evaluate("typeof window.pwned"),
        json!("undefined"),
        "the policy lets a strange script run"
    );
    let fetched = browser.evaluate("fetch('http://192.0.2.1/').then(() => 'left', () => 'held')");
    assert_eq!(fetched, json!("held"));
}

#[test]
fn a_large_result_stays_small() {
    let stacks: Vec<_> = (0..10)
        .map(|n| actor(&format!("stack-{n}"), 1.0 - 0.03 * f64::from(n)))
        .collect();
    let phases = |count: u32| -> Vec<(PhaseKind, String)> {
        let kinds = [
            PhaseKind::Random,
            PhaseKind::Open,
            PhaseKind::Scan,
            PhaseKind::Age,
            PhaseKind::Random,
        ];
        let kinds = kinds.into_iter().cycle();
        (0..count)
            .zip(kinds)
            .map(|(n, kind)| (kind, format!("phase {n}")))
            .collect()
    };
    // 200 runs of phases, as a study of ten stacks has them; and 200 phases, each on ten stacks.
    for (count, blocks, rich, what) in [(5, 4, true, "200 runs"), (200, 2, false, "200 phases")] {
        let mut large = scene(stacks.clone());
        large.rich = rich;
        large.lying = !rich;
        large.blocks = blocks;
        large.planned = blocks;
        large.phases = phases(count);
        let began = std::time::Instant::now();
        let filmed = large.film();
        eprintln!("filmed in {:.1} s", began.elapsed().as_secs_f64());
        let dir = tempfile::tempdir().unwrap();
        let began = std::time::Instant::now();
        let page = written(&filmed, dir.path());
        let made_s = began.elapsed().as_secs_f64();
        let bytes = std::fs::metadata(&page).unwrap().len();
        if let Some(dir) = std::env::var_os("KEEP") {
            std::fs::copy(&page, Path::new(&dir).join(format!("{what}.html"))).unwrap();
        }
        assert!(bytes < 5_000_000, "{what}: {bytes} bytes");
        let Some(mut browser) = browser() else { return };
        browser.open(&page, 1280, 900);
        assert_fine(&mut browser, what);
        let opened = browser.evaluate("performance.timing.loadEventEnd - performance.timing.navigationStart");
        let drawn = browser.evaluate("Math.round(performance.getEntriesByName('drawn')[0].startTime)");
        eprintln!(
            "{what}: {bytes} bytes, analysed and written in {made_s:.2} s, loaded in {opened} ms, drawn after {drawn} \
             ms"
        );
        assert_ne!(opened, Value::Null);
    }
}
