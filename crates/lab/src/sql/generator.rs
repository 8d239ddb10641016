//! The process that makes rows of decision support: `assay decision-rows`, a child of `assay run`.
//!
//! Takes a scale, and of refresh functions the number of a set; writes rows to its standard output. It lives outside
//! the memory budget of the stack, for it is no part of the database. Prevents: 300 MB of the generator's text counted
//! as memory of a stack, and a generator that outlives its reader.

use crate::ordered::OrderedError;
use anyhow::{Context, anyhow};
use databases::decision_support::{REFRESH_SETS, Scale, Source, write_refresh, write_rows};
use sandbox::Reach;
use stacks::MemoryLimit;
use std::io::{self, IsTerminal, Read};
use std::process::{Child, ChildStdout, Stdio};

/// The hidden command.
const COMMAND: &str = "decision-rows";

/// Writes rows until the last, or until nobody reads them.
///
/// # Errors
/// No scale: a person started it. Standard output failed.
pub fn serve(scale: &str, set: Option<u32>) -> Result<(), OrderedError> {
    let set = set.filter(|set| *set < REFRESH_SETS);
    let scale = scale.parse::<f64>().ok().and_then(|factor| Scale::new(factor).ok());
    let Some(scale) = scale.filter(|_| !io::stdout().is_terminal()) else {
        return Err(OrderedError::NoOrder(anyhow!(
            "`assay {COMMAND}` is started by `assay run`\n  write engine = \"sqlite\" or \"postgres\" and a phase of \
             kind \"tpch\""
        )));
    };
    let mut out = io::stdout().lock();
    let written = match set {
        Some(set) => write_refresh(scale, set, &mut out),
        None => write_rows(scale, &mut out),
    };
    match written {
        // The reader has what it wants, or has died.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => Ok(written.context("write rows")?),
    }
}

/// Starts that process.
pub(crate) struct Generator<'a> {
    /// The budget that it leaves.
    pub(super) limit: Option<&'a MemoryLimit>,
}

impl Source for Generator<'_> {
    fn begin(&self, scale: Scale) -> io::Result<Box<dyn Read + Send>> {
        self.start(&[scale.factor().to_string()])
    }

    fn begin_refresh(&self, scale: Scale, set: u32) -> io::Result<Box<dyn Read + Send>> {
        self.start(&[scale.factor().to_string(), set.to_string()])
    }
}

impl Generator<'_> {
    fn start(&self, args: &[String]) -> io::Result<Box<dyn Read + Send>> {
        // It writes to its standard output alone.
        let mut child = sandbox::confined(&Reach::nothing(), || {
            sandbox::ourselves()
                .arg(COMMAND)
                .args(args)
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()
        })??;
        if let Some(limit) = self.limit {
            // Where it can't be told apart, it counts.
            let _ = limit.exempt(child.id());
        }
        let from = child.stdout.take().ok_or_else(|| io::Error::other("no pipe"))?;
        Ok(Box::new(Generating { child, from }))
    }
}

/// A generator at work; dropped, it is ended.
struct Generating {
    child: Child,
    from: ChildStdout,
}

impl Read for Generating {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.from.read(into)
    }
}

impl Drop for Generating {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
