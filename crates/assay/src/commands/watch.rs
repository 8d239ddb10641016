//! `assay watch`: a result file as a live page, while a run writes it.
//!
//! A process of its own that only reads: the run neither knows of it nor waits for it. Prevents: a watcher that takes
//! processor time from what it watches, and one that is forgotten.

use crate::cli;
use crate::exit::Failure;
use crate::printed::{self, Holds, say};
use anyhow::Context;
use lab::signals;
use ledger::Ledger;
use report::{Analysis, Edition, Moment, Now};
use std::net::SocketAddr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use watch::{Answer, Asked, Server, Site, Token};

/// The file is looked at so often at most.
const LOOK_EACH: Duration = Duration::from_secs(1);
/// Figures are derived so often at most while the study runs.
const ANALYSE_EACH: Duration = Duration::from_secs(5);
/// And so seldom that deriving them takes this part of one processor at most.
const ANALYSE_PART: u32 = 50;
/// A file that changed so recently may have changed again without a new time.
const TIMES_ARE_COARSE: Duration = Duration::from_secs(2);

pub(crate) fn watch(flags: &cli::Watch) -> Result<(), Failure> {
    let cancel = signals::cancel_flag()?;
    // What is measured has the first claim on the processors. Without permission it stays as it is.
    let _ = rustix::process::setpriority_process(None, 19);
    if flags.wait {
        wait_for(&flags.file, || signals::is_set(&cancel));
    }
    if signals::is_set(&cancel) {
        return Ok(());
    }
    let watched = Watched::open(&flags.file, Duration::from_secs(flags.stay)).map_err(Failure::Usage)?;
    let server = Server::listen(flags.listen)
        .with_context(|| format!("listen on {}\n  name another address by --listen", flags.listen))
        .map_err(Failure::Usage)?;
    for line in of_other_hosts(server.address()) {
        say!("{line}");
    }
    printed::answer(&server.url(), Holds::Words)?;
    say!("read only; Ctrl-C ends it, the run goes on");
    server
        .serve(&watched, || signals::is_set(&cancel))
        .context("the live page")
        .map_err(Failure::Run)
}

/// What is said where other hosts can reach the page, and how they do.
fn of_other_hosts(address: SocketAddr) -> Vec<String> {
    if address.ip().is_loopback() {
        return Vec::new();
    }
    let (all, port) = (address.ip().is_unspecified(), address.port());
    let how = match all {
        true => format!(
            "from another host: put an IP number of this host in place of the one below, with port {port}; `hostname \
             -I` lists them"
        ),
        false => format!("from another host: by the IP number {}, as below", address.ip()),
    };
    vec![
        "WARNING: other hosts can reach this page, and it is not encrypted: whoever sees the address reads the study"
            .to_string(),
        how,
        "by a host name the page is not served (empty answer, 404): another site could lead a browser here by one"
            .to_string(),
    ]
}

/// Until the file is there with something in it.
fn wait_for(file: &Path, stop: impl Fn() -> bool) {
    let is_there = || std::fs::metadata(file).is_ok_and(|meta| meta.len() > 0);
    if !is_there() {
        say!("waiting for {}", file.display());
    }
    while !is_there() && !stop() {
        std::thread::sleep(LOOK_EACH / 4);
    }
}

/// A result file, and what was last made of it.
struct Watched {
    file: PathBuf,
    /// How long nobody asks before it ends, once no run is to be waited for.
    stay: Duration,
    seen: Mutex<Seen>,
}

/// What was last made of the file.
struct Seen {
    looked: Instant,
    /// In every answer, and never asked for: only this watcher and its pages know it.
    sender: Token,
    /// As the file was when [`now`](Seen::now) was read.
    stamp: Option<Stamp>,
    now: Now,
    is_written: bool,
    figures: Figures,
    /// Last time somebody asked.
    asked: Instant,
}

/// A page's figures are of one state of the file.
struct Figures {
    /// 0 before the first.
    version: u64,
    of: (usize, u32, bool),
    made: Instant,
    took: Duration,
    page: String,
}

/// Changes when the file does.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Stamp {
    file: (u64, u64),
    bytes: u64,
    changed: SystemTime,
}

impl Watched {
    fn open(file: &Path, stay: Duration) -> anyhow::Result<Watched> {
        let ledger = Ledger::open(file).with_context(|| {
            let begun = if file.exists() {
                ""
            } else {
                "start the run first, or wait for its file by --wait: "
            };
            format!("{begun}{}", file.display())
        })?;
        let now = Now::read(&ledger)?;
        let made = Instant::now();
        Ok(Watched {
            file: file.into(),
            stay,
            seen: Mutex::new(Seen {
                looked: made,
                sender: Token::draw().context("draw the mark of the page")?,
                stamp: None,
                is_written: Ledger::is_being_written(file)?,
                figures: Figures {
                    version: 0,
                    of: now.recorded(),
                    made,
                    took: Duration::ZERO,
                    page: String::new(),
                },
                now,
                asked: made,
            }),
        })
    }

    fn with<T>(&self, act: impl FnOnce(&mut Seen) -> T) -> T {
        act(&mut self.seen.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Seen {
    /// Reads how far the study is, where the file changed; keeps what is known where it cannot be read just now.
    fn look(&mut self, file: &Path) {
        if self.looked.elapsed() < LOOK_EACH {
            return;
        }
        self.looked = Instant::now();
        self.is_written = Ledger::is_being_written(file).unwrap_or(false);
        let stamp = stamp(file);
        let is_old = stamp.is_some_and(|one| one.changed.elapsed().is_ok_and(|since| since > TIMES_ARE_COARSE));
        if is_old && stamp == self.stamp {
            return;
        }
        // A run that writes just now is read the next time.
        let now = Ledger::glance(file).and_then(|ledger| Now::read(&ledger));
        if let Ok(now) = now {
            (self.now, self.stamp) = (now, stamp);
        }
    }

    /// Whether figures are to be derived anew.
    fn is_due(&self) -> bool {
        let figures = &self.figures;
        let rest = (figures.took * ANALYSE_PART).max(ANALYSE_EACH);
        let rested = figures.made.elapsed() >= rest || self.now.is_over();
        figures.version == 0 || (figures.of != self.now.recorded() && rested)
    }

    /// What a page has whose figures have this version.
    fn edition(&self, version: u64) -> Edition<'_> {
        Edition {
            version,
            sender: self.sender.as_str(),
        }
    }

    /// How far the study is, with the version of the figures that a page asked for now would have.
    fn how_far(&self) -> String {
        let edition = self.edition(self.figures.version + u64::from(self.is_due()));
        report::live_now(&self.now, self.moment(), edition)
    }

    fn moment(&self) -> Moment {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Moment {
            at_unix_ns: u64::try_from(since.as_nanos()).unwrap_or(u64::MAX),
            is_written: self.is_written,
        }
    }

    /// The page. Where no newer one can be made, the last one.
    fn page(&mut self, file: &Path) -> anyhow::Result<String> {
        if self.is_due() {
            let (began, of) = (Instant::now(), self.now.recorded());
            let made = self.made(file);
            let figures = &mut self.figures;
            (figures.made, figures.took) = (Instant::now(), began.elapsed());
            match made {
                Ok(page) => (figures.page, figures.of, figures.version) = (page, of, figures.version + 1),
                Err(error) if figures.version == 0 => return Err(error),
                Err(_) => {}
            }
        }
        Ok(self.figures.page.clone())
    }

    fn made(&self, file: &Path) -> anyhow::Result<String> {
        let ledger = Ledger::open(file)?;
        let analysis = Analysis::of(&ledger)?;
        let now = (&self.now, self.moment());
        Ok(report::live_page(&ledger, &analysis, now, self.edition(self.figures.version + 1))?.text)
    }
}

impl Site for Watched {
    fn answer(&self, asked: Asked) -> Answer {
        let body = self.with(|seen| {
            seen.look(&self.file);
            let body = match asked {
                Asked::Now => Ok(seen.how_far()),
                Asked::Page => seen.page(&self.file),
            };
            // On a busy machine a page may take longer to make than nobody may ask.
            seen.asked = Instant::now();
            body
        });
        Answer {
            policy: report::live_policy(),
            body: body.unwrap_or_else(|error| report::live_trouble(&lab::chain(&error))),
        }
    }

    /// Nobody asked for long, and there is no run to wait for.
    fn is_left(&self) -> bool {
        self.with(|seen| {
            if seen.asked.elapsed() < self.stay {
                return false;
            }
            seen.look(&self.file);
            seen.now.is_over() || !seen.is_written
        })
    }
}

fn stamp(file: &Path) -> Option<Stamp> {
    let meta = std::fs::metadata(file).ok()?;
    Some(Stamp {
        file: (meta.dev(), meta.ino()),
        bytes: meta.len(),
        changed: meta.modified().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_listens_for_other_hosts_hears_what_they_type() {
        let said = |address: &str| of_other_hosts(address.parse().expect("an address")).join("\n");
        assert_eq!(said("127.0.0.1:8000"), "");
        assert_eq!(said("[::1]:8000"), "");
        for all in ["0.0.0.0:8000", "[::]:8000"] {
            let all = said(all);
            assert!(
                all.contains("an IP number of this host") && all.contains("port 8000"),
                "{all}"
            );
            assert!(all.contains("by a host name the page is not served"), "{all}");
        }
        let one = said("192.0.2.1:8000");
        assert!(
            one.contains("IP number 192.0.2.1") && one.contains("by a host name"),
            "{one}"
        );
    }
}
