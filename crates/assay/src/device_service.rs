//! The other end of `assay device-service`: a process that serves one LUN set under a device model, seen from the run.
//!
//! Takes what the study says of the set, gives served files and the model's own counters. Prevents: a run that waits for ever for a
//! device that is not there any more: each question has an end, and who does not answer is killed, so that the kernel fails what waits
//! for it.

use anyhow::{Context, anyhow};
use plan::Device;
use serde_json::{Value, json};
use stacks::{Journal, Undo};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

/// Longest wait for an answer.
const ANSWER: Duration = Duration::from_secs(15);
/// How often it is asked whether it is there.
const PULSE: Duration = Duration::from_millis(500);

/// A serving process.
#[derive(Debug)]
pub(crate) struct Service {
    set: String,
    place: PathBuf,
    line: Arc<Mutex<Line>>,
}

#[derive(Debug)]
struct Line {
    child: Child,
    to: Option<ChildStdin>,
    from: Receiver<String>,
    /// Why we ended it.
    why: Option<String>,
}

impl Service {
    /// Serves `luns` in a directory of its own under `dir`; journalled before it is there.
    pub(crate) fn start(
        set: &str,
        device: &Device,
        luns: &[PathBuf],
        dir: &Path,
        seed: u64,
        journal: &mut Journal,
    ) -> anyhow::Result<Service> {
        let own = dir.join(format!("{set}.device"));
        let place = own.join("luns");
        journal.before(Undo::RemoveDir {
            path: own.clone(),
            contents: true,
        })?;
        std::fs::create_dir_all(&place).with_context(|| format!("make {}", place.display()))?;
        journal.before(Undo::StopServing {
            dir: own.clone(),
            place: place.clone(),
        })?;
        let histogram = device.histogram.as_ref().map(|file| read_histogram(file)).transpose()?;
        let parameters: serde_json::Map<String, Value> = device
            .parameters
            .iter()
            .map(|p| (p.spec.name.to_string(), json!(p.value)))
            .collect();
        let program = std::env::current_exe().context("find the program itself")?;
        let mut child = Command::new(program)
            .arg("device-service")
            .current_dir(&own)
            // A Ctrl-C is for the run, which needs its devices to take everything down.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context("start the process that serves LUNs")?;
        let from = lines(child.stdout.take().context("its answers")?);
        let service = Service {
            set: set.to_string(),
            place,
            line: Arc::new(Mutex::new(Line {
                to: child.stdin.take(),
                child,
                from,
                why: None,
            })),
        };
        service.ask(&json!({
            "place": service.place, "luns": luns, "model": device.model.word(), "parameters": parameters,
            "histogram": histogram, "volatile": device.volatile.0, "seed": seed,
        }))?;
        watch(Arc::downgrade(&service.line));
        Ok(service)
    }

    /// Where LUN `nth` is served.
    pub(crate) fn lun(&self, nth: usize) -> PathBuf {
        self.place.join(format!("lun{nth}"))
    }

    /// The process.
    pub(crate) fn pid(&self) -> u32 {
        self.line.lock().unwrap_or_else(PoisonError::into_inner).child.id()
    }

    /// Gives an order and its answer.
    pub(crate) fn ask(&self, order: &Value) -> anyhow::Result<Value> {
        let mut line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = line.ask(order);
        let gone = || format!("LUN set `{}` is not served any more", self.set);
        let Some(text) = answer else {
            return Err(anyhow!("{}: {}", gone(), line.ended()));
        };
        let answer: Value = serde_json::from_str(&text).with_context(gone)?;
        match answer["error"].as_str() {
            Some(error) => Err(anyhow!("LUN set `{}`: {error}", self.set)),
            None => Ok(answer),
        }
    }

    /// What ended the process, if something has.
    pub(crate) fn dead(&self) -> Option<String> {
        let mut line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        match line.child.try_wait() {
            Ok(None) => None,
            _ => Some(format!(
                "the process that served LUN set `{}` is gone: {}",
                self.set,
                line.ended()
            )),
        }
    }
}

impl Line {
    fn ask(&mut self, order: &Value) -> Option<String> {
        let to = self.to.as_mut()?;
        let sent = writeln!(to, "{order}").and_then(|()| to.flush());
        let answer = sent.ok().and_then(|()| self.from.recv_timeout(ANSWER).ok());
        if answer.is_none() {
            if matches!(self.child.try_wait(), Ok(None)) {
                self.why = Some(format!("it did not answer for {} s and was ended", ANSWER.as_secs()));
            }
            // The kernel then fails what waits for it.
            let _ = self.child.kill();
            self.to = None;
        }
        answer
    }

    fn ended(&mut self) -> String {
        match self.child.wait() {
            Ok(_) if self.why.is_some() => format!(
                "{}\n  see what holds the machine up (`top`, `dmesg`), and run again",
                self.why.clone().unwrap_or_default()
            ),
            Ok(status) => format!("{status}\n  see the kernel log (dmesg) for who ended it, and run again"),
            Err(error) => error.to_string(),
        }
    }
}

impl Drop for Service {
    /// By now the journal has unmounted what it served, and it has ended by itself; else it is ended here, and the kernel fails what
    /// still waits for it.
    fn drop(&mut self) {
        let mut line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        line.to = None;
        let _ = line.child.kill();
        let _ = line.child.wait();
    }
}

/// Asks again and again, so that a process that hangs is ended although nobody but the kernel waits for it.
fn watch(line: Weak<Mutex<Line>>) {
    std::thread::spawn(move || {
        loop {
            std::thread::sleep(PULSE);
            let Some(line) = line.upgrade() else { return };
            // Whoever has it asks already.
            let Ok(mut line) = line.try_lock() else { continue };
            if line.to.is_none() || line.ask(&json!({ "do": "live" })).is_none() {
                return;
            }
        }
    });
}

fn lines(from: impl std::io::Read + Send + 'static) -> Receiver<String> {
    let (tell, told) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            if tell.send(line).is_err() {
                break;
            }
        }
    });
    told
}

/// The text of a file of latencies, which must be one.
pub(crate) fn read_histogram(file: &Path) -> anyhow::Result<String> {
    let text = std::fs::read_to_string(file)
        .map_err(|e| anyhow!("{}: {e}\n  name a file of latencies beside the study", file.display()))?;
    luns::model::CustomParameters::parse(&text, 1).map_err(|e| anyhow!("{}: {e}", file.display()))?;
    Ok(text)
}

/// Why LUNs can't be modelled here, and the cure.
pub(crate) fn unable() -> Option<(String, String)> {
    let say = |what: &str, cure: &str| Some((what.to_string(), cure.to_string()));
    if !stacks::is_root() {
        return say("modelled LUNs need root", "run as root");
    }
    if !Path::new("/dev/fuse").exists() {
        return say(
            "/dev/fuse not found: LUNs can't be modelled",
            "modprobe fuse, or use a kernel with FUSE",
        );
    }
    None
}
