//! The live page: in a real browser while a study runs, ends and is killed; and what its port answers to strangers.
//!
//! The run is held and let go by signals, so that no assertion depends on how fast the machine is.
//! Prevents: a page that
//! stands still, complains in the console, or opens to whoever asks; and a watcher that disturbs its run.

use crate::bench::{Bench, LATE, PATIENCE, Running, model_study};
use crate::chromium::{Browser, browser};
use ledger::Ledger;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, ExitStatus};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::time::{Duration, Instant};

const CHECKS: &str = include_str!("../../report/tests/page_checks.js");

/// `assay watch` under way; killed when dropped.
struct Watcher {
    child: Child,
    url: String,
}

impl Watcher {
    fn start(bench: &Bench, args: &[&str]) -> Watcher {
        let mut child = bench.command(&[&["watch"], args].concat()).spawn().expect("started");
        let mut url = String::new();
        BufReader::new(child.stdout.take().expect("a pipe"))
            .read_line(&mut url)
            .expect("the address");
        let url = url.trim().to_string();
        if !url.starts_with("http://127.0.0.1:") {
            let mut said = String::new();
            child
                .stderr
                .take()
                .expect("a pipe")
                .read_to_string(&mut said)
                .expect("read");
            panic!("no address: {url:?}, {said}");
        }
        Watcher { child, url }
    }

    /// Address and path of the page.
    fn parts(&self) -> (&str, &str) {
        let rest = self.url.strip_prefix("http://").expect("an address");
        rest.split_at(rest.find('/').expect("a path"))
    }

    /// What is answered to these bytes, as text.
    fn answered(&self, bytes: &[u8]) -> String {
        let mut stream = TcpStream::connect(self.parts().0).expect("connected");
        // It may have heard enough before all is sent.
        let _ = stream.write_all(bytes);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    fn get(&self, path: &str) -> String {
        let host = self.parts().0;
        self.answered(format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes())
    }

    fn end(mut self, signal: Option<Signal>) -> ExitStatus {
        if let Some(signal) = signal {
            kill_process(Pid::from_child(&self.child), signal).expect("signalled");
        }
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("waited") {
                return status;
            }
            assert!(began.elapsed() < PATIENCE, "the watcher does not end");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts the study and holds it where so many phases stand in its file, and no writing is under way.
fn held(bench: &Bench, phases: usize) -> Running {
    let mut running = Running::start(bench.command(&["run", "study.toml", "--quiet", "-o", "study.assay"]));
    let began = Instant::now();
    let file = bench.path("study.assay");
    loop {
        assert!(
            !running.is_over() && began.elapsed() < PATIENCE,
            "{phases} phases were not seen"
        );
        std::thread::sleep(Duration::from_millis(5));
        let found = Ledger::glance(&file).and_then(|ledger| ledger.phases());
        if found.is_ok_and(|found| found.len() >= phases) {
            running.signal(Signal::STOP);
            // Held now, or a moment later.
            std::thread::sleep(Duration::from_millis(50));
            if !bench.path("study.assay-journal").exists() {
                return running;
            }
            running.signal(Signal::CONT);
        }
    }
}

/// Enough blocks that a run is not over before it can be held.
fn study(blocks: u32) -> String {
    let stacks = [("plain", ""), ("twin", ""), ("late", LATE)];
    model_study(5, blocks, &stacks).replace("blocks =", "margin = \"0.1%\"\nblocks =")
}

fn comes_true(browser: &mut Browser, condition: &str) {
    let began = Instant::now();
    while browser.evaluate(condition) != json!(true) {
        if began.elapsed() > PATIENCE {
            let now = browser.evaluate(
                "JSON.stringify(document.documentElement.dataset) + document.getElementById('now').textContent",
            );
            panic!("never came true: {condition}: {now}");
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Nothing in the console, and no request but to the page's own address.
fn assert_quiet(browser: &mut Browser, watcher: &Watcher, what: &str) {
    // An answer brings the events before it.
    browser.evaluate("1");
    let own = format!("request: \"{}", watcher.url);
    let strange = |one: &String| !one.starts_with(&own) && !one.starts_with("request: \"data:");
    let complaints: Vec<String> = browser.complaints().into_iter().filter(strange).collect();
    assert_eq!(complaints, Vec::<String>::new(), "{what}");
    assert_eq!(browser.documents(), 1, "{what}: the page was loaded anew");
}

#[test]
fn a_study_is_followed_in_a_browser_to_its_end() {
    let Some(mut browser) = browser() else { return };
    let bench = Bench::new();
    bench.write("study.toml", &study(8));
    let running = held(&bench, 12);
    let watcher = Watcher::start(&bench, &["study.assay"]);
    browser.open_address(&watcher.url, 1280, 900);
    let said = browser.evaluate("document.getElementById('now').textContent");
    let said = said.as_str().expect("text");
    assert!(said.contains("RUNNING") && said.contains(" of 8"), "{said}");
    assert_eq!(
        browser.evaluate("document.getElementById('now').dataset.version"),
        json!("1")
    );
    browser.picture("live-begun.png", 0, 1280, 1400);
    // The run is held: what is shown changes by nothing but the clock.
    comes_true(&mut browser, "Number(document.documentElement.dataset.updates) >= 2");
    assert_eq!(
        browser.evaluate("document.getElementById('now').dataset.version"),
        json!("1")
    );
    browser.evaluate("scrollTo(0, 700); document.querySelector('#disclosure details').open = true");
    let place = browser.evaluate("scrollY");
    running.signal(Signal::CONT);
    comes_true(&mut browser, "document.getElementById('now').dataset.version !== '1'");
    comes_true(&mut browser, "document.documentElement.dataset.over === 'true'");
    assert_eq!(running.wait().code(), 0);
    assert_quiet(&mut browser, &watcher, "while it ran");
    let end = browser.evaluate("[scrollY, document.querySelector('#disclosure details').open]");
    assert_eq!(
        end,
        json!([place, true]),
        "the place is kept, and what was opened stays open"
    );
    let said = browser.evaluate("document.querySelector('main').textContent");
    let said = said.as_str().expect("text");
    let report = bench.expect(0, &["report", "study.assay", "--json"]).json();
    for wanted in [
        "ENDED",
        "look by look",
        report["report"]["sentence"].as_str().expect("text"),
    ] {
        assert!(said.contains(wanted), "{wanted}: {said}");
    }
    assert!(
        browser
            .evaluate("document.querySelectorAll('.narrowing .look').length")
            .as_u64()
            >= Some(6)
    );
    assert_eq!(
        browser.evaluate("document.querySelector('#block').value"),
        json!("7"),
        "the newest block"
    );
    browser.picture("live-ended.png", 0, 1280, 2800);
    // Over time is drawn on the page as on a report, and the page can be read.
    assert_eq!(
        browser.evaluate("document.documentElement.dataset.charts"),
        json!("5/5")
    );
    assert_eq!(browser.evaluate(CHECKS), json!([]));
    assert!(watcher.end(Some(Signal::INT)).success());
    assert_eq!(
        bench.left_behind(&["study.toml", "study.assay"]),
        Vec::<std::path::PathBuf>::new()
    );
}

#[test]
fn a_killed_run_is_shown_as_stopped_and_the_watcher_goes() {
    let Some(mut browser) = browser() else { return };
    let bench = Bench::new();
    bench.write("study.toml", &study(12));
    let running = held(&bench, 4);
    let watcher = Watcher::start(&bench, &["study.assay", "--stay", "15"]);
    browser.open_address(&watcher.url, 1280, 900);
    running.signal(Signal::KILL);
    running.wait();
    comes_true(
        &mut browser,
        "document.getElementById('now').textContent.includes('STOPPED')",
    );
    assert_quiet(&mut browser, &watcher, "after the kill");
    let own = bench.expect(0, &["report", "study.assay", "--json"]).json();
    assert_eq!(own["report"]["study"]["ended"], serde_json::Value::Null);
    drop(browser);
    assert!(
        watcher.end(None).success(),
        "without a run and without a reader it ends by itself"
    );
    assert_eq!(
        bench.left_behind(&["study.toml", "study.assay"]),
        Vec::<std::path::PathBuf>::new()
    );
}

/// Answers every request with a page of its own, and counts them.
fn answer_in_its_place(listener: &TcpListener, asked: &AtomicUsize, is_over: &AtomicBool) {
    let page = "<section id=now data-version=9 data-sender=00 data-over=true>FORGED</section>";
    listener.set_nonblocking(true).expect("set");
    let began = Instant::now();
    while !is_over.load(Relaxed) && began.elapsed() < PATIENCE {
        let Ok((mut stream, _)) = listener.accept() else {
            std::thread::sleep(Duration::from_millis(20));
            continue;
        };
        stream.set_nonblocking(false).expect("set");
        let mut head = [0; 4096];
        let _ = stream.read(&mut head);
        let answer = format!(
            "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\r\n{page}",
            page.len()
        );
        let _ = stream.write_all(answer.as_bytes());
        asked.fetch_add(1, Relaxed);
    }
}

#[test]
fn a_page_does_not_believe_who_has_the_port_after_its_watcher() {
    let Some(mut browser) = browser() else { return };
    let bench = Bench::new();
    bench.write("study.toml", &study(12));
    let running = held(&bench, 4);
    let watcher = Watcher::start(&bench, &["study.assay"]);
    browser.open_address(&watcher.url, 1280, 900);
    let address = watcher.parts().0.to_string();
    watcher.end(Some(Signal::KILL));
    let listener = TcpListener::bind(address).expect("the port is free again");
    let (asked, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let now = std::thread::scope(|scope| {
        scope.spawn(|| answer_in_its_place(&listener, &asked, &is_over));
        let began = Instant::now();
        let mut now = String::new();
        let is_lost = "document.documentElement.dataset.lost === 'true'";
        while now.is_empty() && began.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(100));
            if asked.load(Relaxed) > 0 && browser.evaluate(is_lost) == json!(true) {
                now = browser
                    .evaluate("document.getElementById('now').textContent")
                    .to_string();
            }
        }
        is_over.store(true, Relaxed);
        now
    });
    assert!(now.contains("does not answer") && now.contains("RUNNING"), "{now}");
    assert!(!now.contains("FORGED"), "{now}");
    running.signal(Signal::KILL);
    running.wait();
}

#[test]
fn nothing_is_reached_without_the_token() {
    let bench = Bench::new();
    bench.write("study.toml", &study(12));
    let running = held(&bench, 4);
    let watcher = Watcher::start(&bench, &["study.assay"]);
    let (host, path) = watcher.parts();
    let page = watcher.get(path);
    assert!(
        page.starts_with("HTTP/1.1 200 OK\r\n") && page.contains("planted"),
        "{page}"
    );
    for header in [
        "Content-Security-Policy: default-src 'none'; ",
        "Referrer-Policy: no-referrer",
        "X-Content-Type-Options: nosniff",
        "Cache-Control: no-store",
    ] {
        assert!(page.contains(header), "{header}");
    }
    assert!(watcher.get(&format!("{path}/now")).contains("RUNNING"));
    let last = if path.ends_with('0') { "1" } else { "0" };
    let wrong = format!("{}{last}", &path[..path.len() - 1]);
    let not_found = watcher.get("/");
    assert!(
        not_found.starts_with("HTTP/1.1 404 ") && not_found.ends_with("Content-Length: 0\r\n\r\n"),
        "{not_found}"
    );
    for other in [
        &wrong,
        "/now",
        "/index.html",
        "/..",
        "/favicon.ico",
        &format!("{path}/study.assay"),
    ] {
        assert_eq!(watcher.get(other), not_found, "{other}");
    }
    let rebound = format!("GET {path} HTTP/1.1\r\nHost: evil.example\r\n\r\n");
    assert_eq!(watcher.answered(rebound.as_bytes()), not_found);
    assert_eq!(
        watcher.answered(format!("GET {path} HTTP/1.1\r\n\r\n").as_bytes()),
        not_found
    );
    let stranger = format!("POST /x HTTP/1.1\r\nHost: {host}\r\nContent-Length: 3\r\n\r\nabc");
    assert_eq!(watcher.answered(stranger.as_bytes()), not_found);
    let status = |bytes: &[u8]| watcher.answered(bytes)[..12.min(bytes.len())].to_string();
    let post = format!("POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: 3\r\n\r\nabc");
    assert_eq!(status(post.as_bytes()), "HTTP/1.1 405");
    assert_eq!(
        status(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 tls\r\n\r\n"),
        "HTTP/1.1 400"
    );
    let long = format!("GET {path}{} HTTP/1.1\r\nHost: {host}\r\n", "x".repeat(100_000));
    assert_eq!(status(long.as_bytes()), "HTTP/1.1 431");
    let many = format!("GET {path} HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(1_000));
    assert_eq!(status(many.as_bytes()), "HTTP/1.1 431");
    assert_eq!(status(b"GET /slow HTTP/1.1\r\nHost: "), "HTTP/1.1 408");
    // It still answers, and the run it watches was not touched.
    assert!(watcher.get(path).starts_with("HTTP/1.1 200 OK\r\n"));
    assert!(watcher.end(Some(Signal::TERM)).success());
    running.signal(Signal::KILL);
    running.wait();
}

#[test]
fn what_cannot_be_watched_is_refused_with_the_cure() {
    let bench = Bench::new();
    bench.run(&["watch", "none.assay"]).failed_with(2, &["--wait"]);
    bench.write("other.txt", "no result file");
    bench.run(&["watch", "other.txt"]).failed_with(2, &["other.txt"]);
    bench
        .run(&["watch", "other.txt", "--listen", "nowhere"])
        .failed_with(2, &["--listen"]);
    bench.write("study.toml", &model_study(5, 4, &[("plain", ""), ("late", LATE)]));
    bench.expect(0, &["run", "study.toml", "--quiet", "-o", "study.assay"]);
    // An address of nobody (RFC 5737).
    let elsewhere = ["watch", "study.assay", "--listen", "192.0.2.1:0"];
    bench.run(&elsewhere).failed_with(2, &["192.0.2.1", "--listen"]);
}
