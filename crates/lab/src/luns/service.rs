//! The other end of `assay device-service`: a process that serves one LUN set under a device model, seen from the run.
//!
//! Takes what the study says of the set, gives served files and the model's own counters. Prevents: a run that waits
//! for ever for a device that is not there any more: each question has an end, and who does not answer is killed, so
//! that the kernel fails what waits for it.

use anyhow::{Context, anyhow};
use plan::{Device, DeviceModel, LunSet, LunSource, Study};
use sandbox::Directory;
use serde_json::{Value, json};
use stacks::{Journal, Undo};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};
use targets::Nanos;

/// Longest wait for an answer, or for the word that it takes longer.
const ANSWER: Duration = Duration::from_secs(15);
/// Longest wait for an answer that takes longer: as much as is read or written at an order passes on a slow disk.
const BUSY: Duration = Duration::from_secs(30 * 60);
/// Longest wait for the end of a process that was killed: one that waits for a disk below does not end.
const END: Duration = Duration::from_secs(10);
/// How often it is looked whether it has ended.
const LOOK_AGAIN: Duration = Duration::from_millis(10);
/// How often it is asked whether it is there.
const PULSE: Duration = Duration::from_millis(500);

/// A serving process.
#[derive(Debug)]
pub(crate) struct Service {
    set: String,
    slower: u32,
    place: PathBuf,
    line: Arc<Mutex<Line>>,
}

#[derive(Debug)]
struct Line {
    child: Child,
    to: Option<ChildStdin>,
    from: Receiver<String>,
    /// Longest wait for a word.
    patience: Duration,
    /// Longest wait for its end.
    end_within: Duration,
    /// Number of its connection with the kernel, where that is known.
    connection: Option<u32>,
    /// Why we ended it.
    why: Option<String>,
}

/// What a service says every [`BUSY_EVERY`] while an order takes its time.
pub(crate) const BUSY_LINE: &str = r#"{"busy":true}"#;
/// How often it says so.
pub(crate) const BUSY_EVERY: Duration = Duration::from_secs(2);

/// More than this would not stay in memory on an ordinary machine.
const WARM_BYTES_MAX: u64 = 4 << 30;

/// Of a study that cuts the power of a device that keeps what it has acknowledged; `None`: nothing of the kind.
pub fn nothing_volatile(study: &Study, device: &Device) -> Option<&'static str> {
    let cuts = |phase: &plan::Phase| phase.kind.is_ended_by(plan::End::PowerCut);
    (device.volatile.0 == 0 && study.phases.iter().any(cuts))
        .then_some("nothing of this device is volatile: a cut can only show what the stack above leaves unflushed")
}

/// The order to read what a model plays from memory.
fn warm() -> Value {
    json!({ "do": "warm", "most_bytes": WARM_BYTES_MAX })
}

/// The order to tell what was counted.
pub(crate) fn count() -> Value {
    json!({ "do": "count" })
}

/// A phase comes next, and caches were dropped: what these play from memory lies there again, and then they become as
/// slow as the study says. None does before all are read: in that time each device writes out what its cache holds.
pub(crate) fn make_ready(services: &[&Service]) -> anyhow::Result<()> {
    for service in services {
        service.ask(&warm())?;
    }
    services.iter().try_for_each(|service| service.keep_pace())
}

/// A phase was measured: until the next [`make_ready`] these play at their devices' own pace.
pub(crate) fn end_slow_motion(services: &[&Service]) -> anyhow::Result<()> {
    services.iter().try_for_each(|service| service.run_slower(1))
}

/// Why the files of a set are not read into memory before the phases; `None`: they are, or need not be.
pub fn not_warmed(set: &LunSet) -> Option<String> {
    let device = set.device.as_ref()?;
    let LunSource::Files { count, size, .. } = &set.source else {
        return None;
    };
    let bytes = u64::from(*count).saturating_mul(size.0);
    (device.model != DeviceModel::Plain && bytes > WARM_BYTES_MAX).then(|| {
        format!(
            "no: {} are more than {}, so the disk below shows when it is slower than the model",
            plan::Bytes(bytes),
            plan::Bytes(WARM_BYTES_MAX)
        )
    })
}

/// A LUN set that is to be served under a device model.
pub(crate) struct ToServe<'a> {
    pub(crate) set: &'a str,
    pub(crate) device: &'a Device,
    /// How many times slower than that device, in phases.
    pub(crate) slower: u32,
    /// How much sooner it answers, for the way of the host.
    pub(crate) sooner: Nanos,
    /// Its files.
    pub(crate) luns: &'a [PathBuf],
    /// Where the service can have a directory.
    pub(crate) dir: &'a Directory,
    pub(crate) seed: u64,
}

impl Service {
    /// Serves a set in a directory of its own; journalled before it is there. Until [`make_ready`] it plays at
    /// the device's own pace: what a stack is built and loaded with is not measured.
    pub(crate) fn start(asked: &ToServe<'_>, journal: &mut Journal) -> anyhow::Result<Service> {
        let (set, device) = (asked.set, asked.device);
        let own = journal.make_directory(asked.dir, &format!("{set}.device"), 0o700, true)?;
        let place = own.make("luns", 0o700)?.path().to_owned();
        journal.before(Undo::StopServing {
            dir: own.path().to_owned(),
            place: place.clone(),
        })?;
        let histogram = device.histogram.as_ref().map(|file| read_histogram(file)).transpose()?;
        let parameters: serde_json::Map<String, Value> = device
            .parameters
            .iter()
            .map(|p| (p.spec.name.to_string(), json!(p.value)))
            .collect();
        let mut child = sandbox::ourselves()
            .arg("device-service")
            .current_dir(own.by_descriptor())
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
            slower: asked.slower,
            place,
            line: Arc::new(Mutex::new(Line {
                to: child.stdin.take(),
                child,
                from,
                patience: ANSWER,
                end_within: END,
                connection: None,
                why: None,
            })),
        };
        service.ask(&json!({
            "place": service.place, "luns": asked.luns, "model": device.model.word(), "parameters": parameters,
            "histogram": histogram, "volatile": device.volatile.0, "seed": asked.seed,
        }))?;
        service.line.lock().unwrap_or_else(PoisonError::into_inner).connection = connection_at(&service.place);
        service.answer_sooner(asked.sooner)?;
        watch(Arc::downgrade(&service.line));
        Ok(service)
    }

    /// Where LUN `nth` is served.
    pub(crate) fn lun(&self, nth: usize) -> PathBuf {
        self.place.join(format!("lun{nth}"))
    }

    /// From now on it is as slow as the study says.
    fn keep_pace(&self) -> anyhow::Result<()> {
        self.run_slower(self.slower)
    }

    fn run_slower(&self, times: u32) -> anyhow::Result<()> {
        self.ask(&json!({ "do": "pace", "slow_motion": times })).map(drop)
    }

    /// How many times slower than its device it plays in phases.
    pub(crate) fn slower(&self) -> u32 {
        self.slower
    }

    /// The process.
    pub(crate) fn pid(&self) -> u32 {
        self.line.lock().unwrap_or_else(PoisonError::into_inner).child.id()
    }

    /// Answers so much sooner than the device would, for the way of the host.
    pub(crate) fn answer_sooner(&self, by: Nanos) -> anyhow::Result<()> {
        self.ask(&json!({ "do": "sooner", "by_ns": by })).map(|_| ())
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

    /// Asks what the model has counted, from a thread of its own; `None`: there was no answer.
    pub(crate) fn counts(&self) -> impl Fn() -> Option<Value> + Send + use<> {
        let line = Arc::clone(&self.line);
        move || {
            let mut line = line.lock().unwrap_or_else(PoisonError::into_inner);
            serde_json::from_str(&line.ask(&count())?).ok()
        }
    }

    /// What ended the process, if something has.
    pub(crate) fn dead(&self) -> Option<String> {
        let mut line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        match line.child.try_wait() {
            Ok(None) if line.to.is_some() => None,
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
        let answer = sent.ok().and_then(|()| self.answer());
        if answer.is_none() {
            let waited = self.patience.as_secs();
            self.end(format!("it did not answer for {waited} s and was ended"));
        }
        answer
    }

    /// The next word that is an answer.
    fn answer(&self) -> Option<String> {
        let began = Instant::now();
        loop {
            let said = self.from.recv_timeout(self.patience).ok()?;
            if said != BUSY_LINE {
                return Some(said);
            }
            if began.elapsed() > BUSY {
                return None;
            }
        }
    }

    /// Asks whether it is there and all of it works; false: it is ended.
    fn lives(&mut self) -> bool {
        if self.to.is_none() {
            return false;
        }
        let Some(answer) = self.ask(&json!({ "do": "live" })) else {
            return false;
        };
        let told: Value = serde_json::from_str(&answer).unwrap_or_default();
        let wrong = told["error"].as_str();
        if let Some(wrong) = wrong {
            self.end(format!("it was ended: {wrong}"));
        }
        wrong.is_none()
    }

    /// Ends it, for a reason if it has not ended by itself: the kernel then fails what waits for it.
    fn end(&mut self, why: String) {
        if matches!(self.child.try_wait(), Ok(None)) {
            self.why = Some(why);
        }
        let _ = self.child.kill();
        self.to = None;
    }

    /// How it ended, or that it does not: then the kernel is told to fail what waits for it.
    fn ended(&mut self) -> String {
        match self.over() {
            Ok(Some(_)) if self.why.is_some() => format!(
                "{}\n  see what holds the machine up (`top`, `dmesg`), and run again",
                self.why.clone().unwrap_or_default()
            ),
            Ok(None) => format!(
                "{}, and process {} does not end although it was killed\n  see the kernel log (dmesg) for the disk \
                 that it waits for, and restart the machine",
                self.why.as_deref().unwrap_or("it does not serve any more"),
                self.child.id()
            ),
            Ok(Some(status)) => format!("{status}\n  see the kernel log (dmesg) for who ended it, and run again"),
            Err(error) => error.to_string(),
        }
    }
}

impl Line {
    /// Its end, if that comes in time. Who waits longer holds up the whole run; so nobody does that twice.
    fn over(&mut self) -> std::io::Result<Option<ExitStatus>> {
        let began = Instant::now();
        loop {
            let ended = self.child.try_wait()?;
            if ended.is_some() {
                return Ok(ended);
            }
            if began.elapsed() >= self.end_within {
                break;
            }
            std::thread::sleep(LOOK_AGAIN);
        }
        self.end_within = Duration::ZERO;
        if let Some(number) = self.connection.take() {
            // Not there without fusectl: then what waits, waits.
            let _ = std::fs::write(format!("/sys/fs/fuse/connections/{number}/abort"), "1");
        }
        Ok(None)
    }
}

/// Number of the FUSE connection of what is mounted at a place: that of its device, which has no driver (major 0).
fn connection_at(place: &Path) -> Option<u32> {
    let device = std::fs::metadata(place).ok()?.dev();
    let above = std::fs::metadata(place.parent()?).ok()?.dev();
    (device != above && rustix::fs::major(device) == 0).then(|| rustix::fs::minor(device))
}

impl Drop for Service {
    /// By now the journal has unmounted what it served, and it has ended by itself; else it is ended here, and the
    /// kernel fails what still waits for it.
    fn drop(&mut self) {
        let mut line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        line.to = None;
        let _ = line.child.kill();
        let _ = line.over();
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
            if !line.lives() {
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

/// Largest file of latencies that is read, in bytes.
const HISTOGRAM_BYTES_MAX: u64 = 1 << 20;

/// The text of a file of latencies, which must be one.
pub fn read_histogram(file: &Path) -> anyhow::Result<String> {
    let bytes = plan::read_file(file, HISTOGRAM_BYTES_MAX)
        .map_err(|e| anyhow!("{}: {e}\n  name a file of latencies beside the study", file.display()))?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    luns::model::CustomParameters::parse(&text, 1).map_err(|e| anyhow!("{}: {e}", file.display()))?;
    Ok(text)
}

/// Why LUNs can't be modelled here, and the cure.
pub fn unable() -> Option<(String, String)> {
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

#[cfg(test)]
impl Service {
    /// One that a shell plays.
    pub(crate) fn played_by(script: &str, slower: u32) -> Service {
        Service {
            set: "data".to_string(),
            slower,
            place: PathBuf::new(),
            line: Arc::new(Mutex::new(tests::line(script, Duration::from_secs(60)))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line to a shell that plays a service.
    pub(super) fn line(script: &str, patience: Duration) -> Line {
        let mut child = std::process::Command::new("sh")
            .args(["-c", script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Line {
            to: child.stdin.take(),
            from: lines(child.stdout.take().unwrap()),
            child,
            patience,
            end_within: Duration::from_secs(60),
            connection: None,
            why: None,
        }
    }

    #[test]
    fn who_is_busy_is_waited_for_and_who_says_nothing_is_ended() {
        let script =
            format!("read order; for n in 1 2 3; do echo '{BUSY_LINE}'; done; echo '{{\"ok\":true}}'; read order");
        let mut busy = line(&script, Duration::from_secs(60));
        assert_eq!(busy.ask(&warm()).as_deref(), Some("{\"ok\":true}"));
        assert!(matches!(busy.child.try_wait(), Ok(None)));
        busy.end(String::new());
        busy.ended();
        let mut silent = line("exec sleep 100", Duration::from_millis(50));
        assert_eq!(silent.ask(&warm()), None);
        assert!(silent.ended().contains("did not answer"), "{:?}", silent.why);
    }

    /// A service that writes its name and each order into a file, and gives one answer to all.
    fn noted_by(name: &str, told: &Path, answer: &str) -> Service {
        let script = format!(
            "while read -r order; do echo \"{name} $order\" >> '{}'; echo '{answer}'; done",
            told.display()
        );
        Service::played_by(&script, 5)
    }

    /// Who was told to do what, and how many times slower than its device.
    fn orders(told: &Path) -> Vec<(String, Option<u64>)> {
        let orders = std::fs::read_to_string(told).unwrap();
        let order = |line: &str| {
            let (name, order) = line.split_once(' ').unwrap();
            let order: Value = serde_json::from_str(order).unwrap();
            let what = order["do"].as_str().unwrap();
            (format!("{name}: {what}"), order["slow_motion"].as_u64())
        };
        orders.lines().map(order).collect()
    }

    #[test]
    fn models_are_slowed_when_a_phase_comes_and_none_before_all_are_warm() {
        let dir = tempfile::tempdir().unwrap();
        let told = dir.path().join("orders");
        let [data, redo] = ["data", "redo"].map(|name| noted_by(name, &told, r#"{"ok":true}"#));
        data.answer_sooner(7).unwrap();
        make_ready(&[&data, &redo]).unwrap();
        end_slow_motion(&[&data]).unwrap();
        let expected = [
            ("data: sooner", None),
            ("data: warm", None),
            ("redo: warm", None),
            ("data: pace", Some(5_u64)),
            ("redo: pace", Some(5)),
            ("data: pace", Some(1)),
        ];
        assert_eq!(orders(&told), expected.map(|(name, times)| (name.to_string(), times)));
    }

    #[test]
    fn what_the_disk_below_refused_before_a_phase_is_said_and_no_phase_begins() {
        let dir = tempfile::tempdir().unwrap();
        let told = dir.path().join("orders");
        let data = noted_by("data", &told, r#"{"error":"write to lun0: Input/output error"}"#);
        let refused = make_ready(&[&data]).expect_err("it was refused").to_string();
        assert_eq!(refused, "LUN set `data`: write to lun0: Input/output error");
        assert_eq!(orders(&told), [("data: warm".to_string(), None)]);
    }

    #[test]
    fn who_does_not_end_is_waited_for_no_longer_than_is_said() {
        // Nothing that a test may start outlives a kill: this one was not killed.
        let mut stays = line("exec sleep 100", Duration::from_secs(60));
        stays.end_within = Duration::from_millis(20);
        stays.why = Some("it was ended".into());
        let said = stays.ended();
        assert!(
            said.starts_with("it was ended, and process") && said.contains("does not end"),
            "{said}"
        );
        let _ = stays.child.kill();
        let _ = stays.child.wait();
        assert!(!stays.ended().contains("does not end"));
    }

    #[test]
    fn a_directory_without_a_mount_has_no_connection() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("place");
        assert_eq!(connection_at(&place), None);
        std::fs::create_dir(&place).unwrap();
        assert_eq!(connection_at(&place), None);
    }

    #[test]
    fn who_says_that_it_does_not_work_any_more_is_ended() {
        let mut whole = line("read order; echo '{\"ok\":true}'; read order", Duration::from_secs(60));
        assert!(whole.lives());
        whole.end(String::new());
        whole.ended();
        let mut half = line(
            "read order; echo '{\"error\":\"its clock has stopped\"}'; read order",
            Duration::from_secs(60),
        );
        assert!(!half.lives());
        assert!(half.ended().contains("its clock has stopped"), "{:?}", half.why);
    }
}
