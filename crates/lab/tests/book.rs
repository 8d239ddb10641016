//! What one instance of the page engine formed and heard acknowledged, held against what is there after a recovery.
//!
//! An acknowledged transaction is there whole, any other whole or not at all, nothing else has changed, and every page
//! holds the content that its version demands. The book of a process that is killed lies in a file. Prevents: a page of
//! one instance that another has touched.

use crate::stage::Window;
use diskgroup::GroupPort;
use pages::{HEADER_BYTES, Instance, PageHeader, PagesError, RandomWork, Shape, Transaction, expected_body};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::sync::Arc;
use targets::{Completion, Nanos, Port, Request, TargetError, left_to};
use workloads::{Operation, Started};

/// The class of an update among the operations of random work.
const UPDATE: u8 = 1;

/// How something went wrong.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The power failed, or the process was killed.
    Gone,
    Wrong(String),
}

impl From<PagesError> for Trouble {
    fn from(error: PagesError) -> Trouble {
        match error {
            PagesError::Target(TargetError::PowerCut) => Trouble::Gone,
            other => Trouble::Wrong(other.to_string()),
        }
    }
}

impl From<diskgroup::GroupError> for Trouble {
    fn from(error: diskgroup::GroupError) -> Trouble {
        if error.is_power_cut() {
            Trouble::Gone
        } else {
            Trouble::Wrong(error.to_string())
        }
    }
}

/// A port that is lent to an engine: one that dies in its recovery must not close it on its own thread.
pub(crate) struct Lent<'a> {
    port: &'a mut GroupPort<Window>,
}

impl<'a> Lent<'a> {
    pub(crate) fn new(port: &'a mut GroupPort<Window>) -> Lent<'a> {
        Lent { port }
    }
}

impl Port for Lent<'_> {
    left_to!(port: now, memory, bytes, bytes_mut, alignment, depth, in_flight, size, grow, extents, waker);

    fn submit(&mut self, request: Request) -> Result<(), TargetError> {
        self.port.submit(request)
    }

    fn wait(&mut self, min: usize, until: Option<Nanos>, done: &mut Vec<Completion>) -> Result<(), TargetError> {
        self.port.wait(min, until, done)
    }
}

/// The book of one instance, that of worker `worker` of `workers`.
#[derive(Clone)]
pub(crate) struct Book {
    shape: Shape,
    worker: u32,
    workers: u32,
    heavy: bool,
    /// Version of each page (schema, page) at the last recovery, and with all transactions formed since.
    base: HashMap<(u32, u32), u64>,
    current: HashMap<(u32, u32), u64>,
    formed: Vec<(Transaction, bool)>,
    /// Place in `formed` of each session's latest transaction.
    latest: HashMap<u32, usize>,
    /// Acknowledged in all lives.
    pub(crate) acknowledged: u64,
    /// Where it is written down as it comes.
    file: Option<Arc<File>>,
}

/// A line of a book that is written down, up to its end.
fn numbers<'a>(words: impl Iterator<Item = &'a str>) -> Option<Vec<u64>> {
    words.map(|word| word.parse().ok()).collect()
}

impl Book {
    pub(crate) fn new(shape: Shape, (worker, workers): (u32, u32), heavy: bool) -> Book {
        let own = (0..shape.schemas).filter(|schema| schema % workers == worker);
        let pages = own.flat_map(|schema| (0..shape.pages_per_schema).map(move |page| ((schema, page), 1)));
        let base: HashMap<(u32, u32), u64> = pages.collect();
        Book {
            shape,
            worker,
            workers,
            heavy,
            current: base.clone(),
            base,
            formed: Vec::new(),
            latest: HashMap::new(),
            acknowledged: 0,
            file: None,
        }
    }

    /// What is formed and acknowledged from now on is written down too: a killed process leaves what it wrote.
    pub(crate) fn write_down(&mut self, file: File) {
        self.file = Some(Arc::new(file));
    }

    /// Takes over what a process wrote down that has ended; half a line at the end was never said.
    pub(crate) fn take_over(&mut self, written: &str) -> Result<(), Trouble> {
        let whole = written.rfind('\n').map_or("", |end| &written[..end]);
        for line in whole.lines() {
            let mut words = line.split(' ');
            let (kind, said) = (words.next(), numbers(words));
            match (kind, said.as_deref()) {
                (Some("formed"), Some([session, changes @ ..])) if changes.len().is_multiple_of(3) => {
                    let change = |one: &[u64]| (one[0] as u32, one[1] as u32, one[2]);
                    self.form(vec![Transaction {
                        session: *session as u32,
                        changes: changes.chunks_exact(3).map(change).collect(),
                    }])?;
                }
                (Some("acknowledged"), Some([nth])) if (*nth as usize) < self.formed.len() => {
                    self.formed[*nth as usize].1 = true;
                    self.acknowledged += 1;
                }
                _ => return Err(Trouble::Wrong(format!("no line of a book: {line}"))),
            }
        }
        Ok(())
    }

    fn form(&mut self, transactions: Vec<Transaction>) -> Result<(), Trouble> {
        for transaction in transactions {
            for &(schema, page, version) in &transaction.changes {
                let current = self.current.get_mut(&(schema, page));
                match current {
                    Some(current) if *current + 1 == version => *current = version,
                    other => {
                        return Err(Trouble::Wrong(format!(
                            "page {schema}/{page} of worker {} went from {other:?} to {version}",
                            self.worker
                        )));
                    }
                }
            }
            self.latest.insert(transaction.session, self.formed.len());
            self.formed.push((transaction, false));
        }
        Ok(())
    }

    /// One write for a piece of work: so many were formed before it, and these acknowledged by it.
    fn write(&self, before: usize, acknowledged: &[usize]) -> Result<(), Trouble> {
        let Some(file) = &self.file else { return Ok(()) };
        let mut text = String::new();
        for (transaction, _) in &self.formed[before..] {
            let _ = write!(text, "formed {}", transaction.session);
            for (schema, page, version) in &transaction.changes {
                let _ = write!(text, " {schema} {page} {version}");
            }
            text.push('\n');
        }
        for nth in acknowledged {
            let _ = writeln!(text, "acknowledged {nth}");
        }
        let written = (&**file).write_all(text.as_bytes());
        written.map_err(|error| Trouble::Wrong(error.to_string()))
    }

    /// Begins with what is there: of who opens what another process has checked.
    pub(crate) fn begin<P: Port + Send>(&mut self, instance: &mut Instance<P>) -> Result<(), Trouble> {
        self.base = self.survey(instance)?;
        self.current.clone_from(&self.base);
        Ok(())
    }

    /// Reads every page of this instance after its recovery and holds it against the book.
    pub(crate) fn check<P: Port + Send>(&mut self, instance: &mut Instance<P>) -> Result<(), Trouble> {
        let found = self.survey(instance)?;
        self.recovered(found, false).map_err(Trouble::Wrong)
    }

    /// The same where what was formed last may not have been written down.
    pub(crate) fn check_written<P: Port + Send>(&mut self, instance: &mut Instance<P>) -> Result<(), Trouble> {
        let found = self.survey(instance)?;
        self.recovered(found, true).map_err(Trouble::Wrong)
    }

    /// The version of every page of this instance; each holds the content that it demands.
    fn survey<P: Port + Send>(&self, instance: &mut Instance<P>) -> Result<HashMap<(u32, u32), u64>, Trouble> {
        let (mut found, mut bytes) = (HashMap::new(), Vec::new());
        for schema in (0..self.shape.schemas).filter(|schema| schema % self.workers == self.worker) {
            for page in 0..self.shape.pages_per_schema {
                instance.read_page(schema, page, &mut bytes)?;
                let version = PageHeader::of(&bytes).version;
                let expected = expected_body(&self.shape, schema, page, version, self.heavy);
                if version > 1_000_000 || bytes[HEADER_BYTES..] != expected[..] {
                    let what = format!("page {schema}/{page} does not hold the content of its version {version}");
                    return Err(Trouble::Wrong(what));
                }
                found.insert((schema, page), version);
            }
        }
        Ok(found)
    }

    /// `unwritten`: more may be there than the book has.
    fn recovered(&mut self, found: HashMap<(u32, u32), u64>, unwritten: bool) -> Result<(), String> {
        for (transaction, acknowledged) in &self.formed {
            let there = |change: &&(u32, u32, u64)| found[&(change.0, change.1)] >= change.2;
            let present = transaction.changes.iter().filter(there).count();
            if present != 0 && present != transaction.changes.len() {
                return Err(format!("half a transaction: {present} changes of {transaction:?}"));
            }
            if *acknowledged && present == 0 {
                return Err(format!("an acknowledged transaction is gone: {transaction:?}"));
            }
        }
        for (place, version) in &found {
            let (low, high) = (self.base[place], self.current[place]);
            if *version < low || (*version > high && !unwritten) {
                return Err(format!("page {place:?} has version {version}, not {low} to {high}"));
            }
        }
        self.base.clone_from(&found);
        self.current = found;
        self.formed.clear();
        self.latest.clear();
        Ok(())
    }

    /// Runs the work to its end.
    pub(crate) fn work<P: Port + Send>(
        &mut self,
        instance: &mut Instance<P>,
        work: &RandomWork,
        seed: u64,
    ) -> Result<(), Trouble> {
        let mut operations = instance.random(work, seed)?;
        let operation = &mut operations[0];
        operation.trace_transactions();
        let (mut ready, mut done): (Vec<u32>, _) = ((0..operation.sessions()).collect(), Vec::new());
        let mut under_way = 0;
        loop {
            let mut went = Ok(());
            while let Some(session) = ready.pop() {
                match operation.start(session, &mut done) {
                    Ok(Started::Running) => under_way += 1,
                    Ok(Started::Exhausted) => {}
                    Err(error) => went = Err(error),
                }
            }
            if went.is_ok() && done.is_empty() && under_way > 0 {
                went = operation.advance(None, &mut done);
            }
            let before = self.formed.len();
            self.form(operation.transactions())?;
            let mut acknowledged = Vec::new();
            for end in done.drain(..) {
                if end.class == UPDATE {
                    let unformed = || Trouble::Wrong("an update was acknowledged that was never formed".into());
                    let nth = self.latest.remove(&end.session).ok_or_else(unformed)?;
                    self.formed[nth].1 = true;
                    self.acknowledged += 1;
                    acknowledged.push(nth);
                }
                ready.push(end.session);
                under_way -= 1;
            }
            self.write(before, &acknowledged)?;
            went?;
            if under_way == 0 && ready.is_empty() {
                return Ok(());
            }
        }
    }
}
