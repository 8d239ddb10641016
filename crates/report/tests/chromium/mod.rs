//! Headless Chromium for tests, driven over a pipe by its own protocol (DevTools), without any crate for it.
//!
//! Takes a page's file, gives what a person and their developer tools would see: console, requests, values, pictures.
//! The browser and its profile go away when dropped. Prevents: a page that is only right as text.

#![allow(
    clippy::unwrap_used,
    dead_code,
    reason = "a test that cannot go on panics; not every test uses every act"
)]

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// Longer than any answer takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(90);

pub(crate) struct Browser {
    child: Child,
    to: ChildStdin,
    from: Receiver<Value>,
    session: Option<String>,
    last_id: u64,
    /// Events since the last page was opened.
    events: Vec<Value>,
    /// No frame came for a picture.
    draws_nothing: bool,
    _profile: tempfile::TempDir,
}

/// The browser, or `None` with the reason said where there is none. Under `CI=true` that is a failure.
pub(crate) fn browser() -> Option<Browser> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places = std::env::split_paths(&path).flat_map(|dir| [dir.join("chromium"), dir.join("chromium-browser")]);
    let Some(program) = places.find(|place| place.is_file()) else {
        assert!(
            std::env::var("CI").as_deref() != Ok("true"),
            "no chromium in the path: ./test installs it (Debian package chromium)"
        );
        eprintln!("skipped: no chromium in the path (Debian package chromium)");
        return None;
    };
    Some(Browser::start(&program))
}

/// Where pictures are kept: `target/report-pages`.
pub(crate) fn gallery() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target"),
        PathBuf::from,
    );
    let dir = target.join("report-pages");
    std::fs::create_dir_all(&dir).unwrap();
    dir
}

impl Browser {
    fn start(program: &Path) -> Browser {
        let profile = tempfile::tempdir().unwrap();
        // The protocol is spoken on descriptors 3 and 4, which the shell makes of our pipes.
        let mut child = Command::new("sh")
            .args(["-c", "exec \"$@\" 3<&0 4>&1 0</dev/null 1>/dev/null 2>/dev/null", "sh"])
            .arg(program)
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--no-first-run",
            ])
            .args([
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
                "--hide-scrollbars",
            ])
            .args([
                "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
                "--remote-debugging-pipe",
            ])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let to = child.stdin.take().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let (sender, from) = channel();
        std::thread::spawn(move || {
            let mut message = Vec::new();
            while out.read_until(0, &mut message).is_ok_and(|count| count > 0) {
                message.pop();
                let Ok(value) = serde_json::from_slice(&message) else {
                    break;
                };
                if sender.send(value).is_err() {
                    break;
                }
                message.clear();
            }
        });
        let mut browser = Browser {
            child,
            to,
            from,
            session: None,
            last_id: 0,
            events: Vec::new(),
            draws_nothing: false,
            _profile: profile,
        };
        let target = browser.call("Target.createTarget", json!({ "url": "about:blank" }));
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let attached = browser.call("Target.attachToTarget", attach);
        browser.session = Some(attached["sessionId"].as_str().unwrap().to_string());
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        browser
    }

    /// One command and its answer.
    pub(crate) fn call(&mut self, method: &str, params: Value) -> Value {
        self.call_within(method, params, PATIENCE)
            .unwrap_or_else(|| panic!("chromium does not answer while waiting for {method}"))
    }

    /// The same with a limit of its own; `None` where no answer came.
    fn call_within(&mut self, method: &str, params: Value, limit: Duration) -> Option<Value> {
        self.last_id += 1;
        let mut message = json!({ "id": self.last_id, "method": method, "params": params });
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        self.to.write_all(message.to_string().as_bytes()).unwrap();
        self.to.write_all(&[0]).unwrap();
        loop {
            let mut answer = self.from.recv_timeout(limit).ok()?;
            if answer["id"] == self.last_id {
                assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
                return Some(answer["result"].take());
            }
            self.events.push(answer);
        }
    }

    fn next(&mut self, waiting_for: &str) -> Value {
        let answer = self.from.recv_timeout(PATIENCE);
        answer.unwrap_or_else(|error| panic!("chromium does not answer while waiting for {waiting_for}: {error}"))
    }

    /// Opens a page of these columns; returns when it is loaded.
    pub(crate) fn open(&mut self, file: &Path, width: u32, height: u32) {
        let url = format!("file://{}", file.canonicalize().unwrap().display());
        self.open_address(&url, width, height);
    }

    /// The same of a page that is served.
    pub(crate) fn open_address(&mut self, url: &str, width: u32, height: u32) {
        self.resize(width, height);
        self.events.clear();
        self.call("Page.navigate", json!({ "url": url }));
        while !self.events.iter().any(|event| event["method"] == "Page.loadEventFired") {
            let event = self.next("the page to load");
            self.events.push(event);
        }
        self.wait_for("document.documentElement.dataset.charts !== undefined");
    }

    pub(crate) fn resize(&mut self, width: u32, height: u32) {
        let metrics = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", metrics);
    }

    /// "light" or "dark", as the system would say.
    pub(crate) fn system_colours(&mut self, scheme: &str) {
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.call(
            "Emulation.setEmulatedMedia",
            json!({ "media": "", "features": features }),
        );
        // The page draws anew.
        self.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done, 150)))");
    }

    /// The value of an expression of the page, awaited.
    pub(crate) fn evaluate(&mut self, expression: &str) -> Value {
        let params = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let mut result = self.call("Runtime.evaluate", params);
        assert!(
            result["exceptionDetails"].is_null(),
            "{expression}: {}",
            result["exceptionDetails"]
        );
        result["result"]["value"].take()
    }

    pub(crate) fn wait_for(&mut self, condition: &str) {
        let poll = format!(
            "new Promise((done) => {{ let left = 600; const look = () => {{ if ({condition}) done(true); else if \
             (left-- > 0) setTimeout(look, 50); else done(false); }}; look(); }})"
        );
        assert_eq!(self.evaluate(&poll), json!(true), "never came true: {condition}");
    }

    /// What the console, the log and uncaught errors said, and every address asked for but the page's own.
    pub(crate) fn complaints(&self) -> Vec<String> {
        let mut found = Vec::new();
        for event in &self.events {
            let params = &event["params"];
            match event["method"].as_str().unwrap_or_default() {
                "Runtime.exceptionThrown" => found.push(params.to_string()),
                "Runtime.consoleAPICalled" if params["type"] != "log" => found.push(params.to_string()),
                "Log.entryAdded" => found.push(params["entry"].to_string()),
                "Network.requestWillBeSent" if params["type"] != "Document" => {
                    found.push(format!("request: {}", params["request"]["url"]));
                }
                "Page.javascriptDialogOpening" => found.push(params.to_string()),
                _ => {}
            }
        }
        found
    }

    /// Requests for documents; opening a page makes one.
    pub(crate) fn documents(&self) -> usize {
        let is_document =
            |event: &&Value| event["method"] == "Network.requestWillBeSent" && event["params"]["type"] == "Document";
        self.events.iter().filter(is_document).count()
    }

    /// A picture of the page from `top` on, for people to look at. A browser without a screen sometimes draws no frame
    /// for one, and never answers: then there is none, and no other of this browser is asked for. What a page shows is
    /// asked of its document, not of pictures.
    pub(crate) fn picture(&mut self, name: &str, top: u32, width: u32, height: u32) {
        const FRAME: Duration = Duration::from_secs(20);
        if self.draws_nothing {
            return;
        }
        let clip = json!({ "x": 0, "y": top, "width": width, "height": height, "scale": 1 });
        let asked = json!({ "format": "png", "clip": clip, "captureBeyondViewport": true });
        let Some(shot) = self.call_within("Page.captureScreenshot", asked, FRAME) else {
            eprintln!("{name}: chromium drew no picture");
            self.draws_nothing = true;
            return;
        };
        let bytes = from_base64(shot["data"].as_str().unwrap());
        assert!(bytes.len() > 5_000, "{name} is empty: {} bytes", bytes.len());
        std::fs::write(gallery().join(name), bytes).unwrap();
    }

    /// The page as it is printed.
    pub(crate) fn print(&mut self, name: &str) -> usize {
        let printed = self.call(
            "Page.printToPDF",
            json!({ "printBackground": true, "preferCSSPageSize": true }),
        );
        let bytes = from_base64(printed["data"].as_str().unwrap());
        std::fs::write(gallery().join(name), &bytes).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        text.matches("/Type /Page\n")
            .count()
            .max(text.matches("/Type /Page ").count())
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // It may be gone already; either way it must be gone after this.
        let _ = self.to.write_all(b"{\"id\":0,\"method\":\"Browser.close\"}\0");
        for _ in 0..100 {
            if self.child.try_wait().is_ok_and(|ended| ended.is_some()) {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn from_base64(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let (mut bits, mut held) = (0u32, 0);
    for letter in text.bytes().filter(|letter| *letter != b'=') {
        let value = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' => 62,
            _ => 63,
        };
        bits = bits << 6 | u32::from(value);
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held) as u8);
        }
    }
    bytes
}
