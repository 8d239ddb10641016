//! What one instance of the page engine formed and heard acknowledged, held against what is there after a recovery.
//!
//! An acknowledged transaction is there whole, any other whole or not at all, nothing else has changed, and every page
//! holds the content that its version demands. Prevents: a page of one instance that another has touched.

use crate::stage::Window;
use diskgroup::GroupPort;
use pages::{HEADER_BYTES, Instance, PageHeader, PagesError, RandomWork, Shape, Transaction, expected_body};
use std::collections::HashMap;
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
        }
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

    /// Reads every page of this instance after its recovery and holds it against the book.
    pub(crate) fn check<P: Port>(&mut self, instance: &mut Instance<P>) -> Result<(), Trouble> {
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
        self.recovered(found).map_err(Trouble::Wrong)
    }

    fn recovered(&mut self, found: HashMap<(u32, u32), u64>) -> Result<(), String> {
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
            if *version < low || *version > high {
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
    pub(crate) fn work<P: Port>(
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
            self.form(operation.transactions())?;
            for end in done.drain(..) {
                if end.class == UPDATE {
                    let unformed = || Trouble::Wrong("an update was acknowledged that was never formed".into());
                    let nth = self.latest.remove(&end.session).ok_or_else(unformed)?;
                    self.formed[nth].1 = true;
                    self.acknowledged += 1;
                }
                ready.push(end.session);
                under_way -= 1;
            }
            went?;
            if under_way == 0 && ready.is_empty() {
                return Ok(());
            }
        }
    }
}
