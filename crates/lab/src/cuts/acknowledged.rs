//! What the engine acknowledged, kept outside of the stack, and looked up after the power came back or a kill.
//!
//! Takes the transactions of each worker as they are formed and as they are acknowledged, and the versions of all
//! pages that were found later. Gives what is missing. Prevents: a loss that nobody sees because the database comes
//! up again.

use super::moment::Moment;
use crate::trial::drive::Served;
use pages::{Instance, PagesError, RandomOperation, Transaction};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use targets::{Nanos, Port, TargetError};
use workloads::{Done, Operation, Started};

/// Class of an update among those of random work.
const UPDATE: u8 = 1;
/// So many losses are written out.
const SHOWN: usize = 5;

/// What one worker formed and what of it was acknowledged.
#[derive(Default)]
pub(crate) struct Log {
    formed: Vec<(Transaction, bool)>,
    /// Index of each session's latest transaction.
    latest: HashMap<u32, usize>,
}

impl Log {
    /// Whether something was acknowledged.
    fn take(&mut self, formed: Vec<Transaction>, ended: &[Done]) -> bool {
        for transaction in formed {
            self.latest.insert(transaction.session, self.formed.len());
            self.formed.push((transaction, false));
        }
        let mut some = false;
        for done in ended.iter().filter(|done| done.class == UPDATE) {
            if let Some(nth) = self.latest.remove(&done.session) {
                self.formed[nth].1 = true;
                some = true;
            }
        }
        some
    }
}

/// Random work of a worker whose acknowledgements are written down as they come.
pub(crate) struct Logged<'a, 'l, P: Port> {
    inner: RandomOperation<'a, P>,
    log: &'l mut Log,
    over: &'l Over,
    moment: &'l Moment,
}

/// What holds from the end of the work on.
#[derive(Default)]
pub(crate) struct Over {
    /// The work stops where it is, between two I/Os, as a process does.
    pub(crate) killed: AtomicBool,
    /// Acknowledgements count no more: set before the power goes.
    pub(crate) silent: AtomicBool,
}

impl Over {
    /// What of these acknowledgements counts. They have come already: what counts came before the power went, and
    /// nothing that came before is left out but in the moment in which it goes.
    fn counted<'d>(&self, ended: &'d [Done]) -> &'d [Done] {
        match self.silent.load(Ordering::SeqCst) {
            true => &[],
            false => ended,
        }
    }
}

impl<'a, 'l, P: Port> Logged<'a, 'l, P> {
    /// `moment` is told of the first acknowledgement, and of every error as it comes: other workers may go on for long
    /// before somebody gets to see it.
    pub(crate) fn new(mut inner: RandomOperation<'a, P>, log: &'l mut Log, over: &'l Over, moment: &'l Moment) -> Self {
        inner.trace_transactions();
        Logged {
            inner,
            log,
            over,
            moment,
        }
    }

    fn told<T>(&self, result: Result<T, PagesError>) -> Result<T, PagesError> {
        result.inspect_err(|_| {
            self.moment.fail();
        })
    }

    /// Also where the work failed: what ended before was acknowledged all the same.
    fn take(&mut self, ended: &[Done]) {
        if self.log.take(self.inner.transactions(), self.over.counted(ended)) {
            self.moment.begin();
        }
    }

    /// An error, as there is no other way to leave the loop without ending what is under way.
    fn alive(&self) -> Result<(), PagesError> {
        match self.over.killed.load(Ordering::Relaxed) {
            true => Err(TargetError::PowerCut.into()),
            false => Ok(()),
        }
    }
}

impl<P: Port> Operation for Logged<'_, '_, P> {
    type Error = PagesError;

    fn now(&self) -> Nanos {
        self.inner.now()
    }

    fn classes(&self) -> &[&'static str] {
        self.inner.classes()
    }

    fn start(&mut self, session: u32, done: &mut Vec<Done>) -> Result<Started, PagesError> {
        self.alive()?;
        let before = done.len();
        let started = self.inner.start(session, done);
        self.take(&done[before..]);
        self.told(started)
    }

    fn advance(&mut self, until: Option<Nanos>, done: &mut Vec<Done>) -> Result<(), PagesError> {
        self.alive()?;
        let before = done.len();
        let advanced = self.inner.advance(until, done);
        self.take(&done[before..]);
        self.told(advanced)
    }
}

impl<P: Port> Served for Logged<'_, '_, P> {
    fn sessions(&self) -> u32 {
        self.inner.sessions()
    }

    fn worker(&self) -> (u32, u32) {
        self.inner.worker()
    }

    fn finish(&mut self) -> Result<(), PagesError> {
        self.alive()?;
        let finished = self.inner.finish();
        self.told(finished)
    }
}

/// The version of every page, schema by schema, each read from storage and verified.
pub(crate) fn survey<P: Port + Send>(instance: &mut Instance<P>) -> Result<Vec<u64>, PagesError> {
    let shape = *instance.shape();
    let mut versions = Vec::with_capacity(shape.pages() as usize);
    let mut bytes = Vec::new();
    for schema in 0..shape.schemas {
        for page in 0..shape.pages_per_schema {
            instance.read_page(schema, page, &mut bytes)?;
            versions.push(pages::PageHeader::of(&bytes).version);
        }
    }
    Ok(versions)
}

/// What is kept or lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Kept {
    /// Transactions of a database.
    #[default]
    Transactions,
    /// Names and KiB of files that a server had acknowledged as stable.
    Stable,
}

/// What was found of what was acknowledged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Found {
    /// What is counted.
    pub(crate) what: Kept,
    /// Transactions acknowledged before the cut.
    pub(crate) acknowledged: u64,
    /// Of them, not there, or not whole.
    pub(crate) lost: u64,
    /// Transactions, acknowledged or not, of which a part is there.
    pub(crate) half: u64,
    /// Pages that are older than what was there before the work began.
    pub(crate) older: u64,
    /// Some of them in words.
    pub(crate) examples: Vec<String>,
}

impl Found {
    /// Holds the logs of all workers against the versions found; `before` are those of the beginning.
    pub(crate) fn of(logs: &[Log], before: &[u64], found: &[u64], pages_per_schema: u32) -> Found {
        let mut all = Found::default();
        let at = |schema: u32, page: u32| (schema as usize) * pages_per_schema as usize + page as usize;
        for (worker, log) in logs.iter().enumerate() {
            for (transaction, acknowledged) in &log.formed {
                let there =
                    |change: &&(u32, u32, u64)| found.get(at(change.0, change.1)).is_some_and(|v| *v >= change.2);
                let present = transaction.changes.iter().filter(there).count();
                let whole = present == transaction.changes.len();
                all.acknowledged += u64::from(*acknowledged);
                all.lost += u64::from(*acknowledged && !whole);
                all.half += u64::from(present > 0 && !whole);
                if !whole && (*acknowledged || present > 0) {
                    all.example(|| {
                        let said = if *acknowledged {
                            "acknowledged"
                        } else {
                            "not acknowledged"
                        };
                        let (first, of) = (transaction.changes.first(), transaction.changes.len());
                        let page = first.map_or(String::new(), |(schema, page, v)| {
                            format!(", the first page {schema}/{page} in version {v}")
                        });
                        format!(
                            "a transaction of session {} of worker {worker}, {said}: \
                             {present} of its {of} changes are there{page}",
                            transaction.session
                        )
                    });
                }
            }
        }
        for (nth, (before, found)) in before.iter().zip(found).enumerate() {
            if found < before {
                all.older += 1;
                let (schema, page) = (nth as u32 / pages_per_schema, nth as u32 % pages_per_schema);
                all.example(|| format!("page {schema}/{page} went back from version {before} to {found}"));
            }
        }
        all
    }

    pub(crate) fn example(&mut self, say: impl FnOnce() -> String) {
        if self.examples.len() < SHOWN {
            self.examples.push(say());
        }
    }

    /// Whether anything is not as it must be.
    pub(crate) fn is_loss(&self) -> bool {
        self.lost > 0 || self.half > 0 || self.older > 0
    }

    /// Transactions acknowledged by these workers.
    pub(crate) fn acknowledged(logs: &[Log]) -> u64 {
        let of = |log: &Log| log.formed.iter().filter(|(_, acknowledged)| *acknowledged).count() as u64;
        logs.iter().map(of).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_half_there_or_older_is_found() {
        let transaction = |session, changes: &[(u32, u32, u64)]| Transaction {
            session,
            changes: changes.to_vec(),
        };
        let ended = |session| Done {
            session,
            class: UPDATE,
            at: 0,
            units: 1,
        };
        let mut log = Log::default();
        log.take(vec![transaction(0, &[(0, 0, 2), (1, 1, 2)])], &[ended(0)]);
        log.take(vec![transaction(1, &[(0, 1, 2), (1, 0, 2)])], &[]);
        log.take(vec![transaction(0, &[(0, 0, 3)])], &[ended(0)]);
        let logs = [log];
        assert_eq!(Found::acknowledged(&logs), 2);
        // Two schemas of two pages: all acknowledged is there, the other transaction not at all.
        let kept = Found::of(&logs, &[1; 4], &[3, 1, 1, 2], 2);
        assert!(!kept.is_loss() && kept.acknowledged == 2, "{kept:?}");
        let lost = Found::of(&logs, &[1; 4], &[2, 1, 1, 2], 2);
        assert_eq!((lost.lost, lost.half, lost.older), (1, 0, 0));
        let half = Found::of(&logs, &[1; 4], &[3, 2, 1, 2], 2);
        assert_eq!((half.lost, half.half, half.older), (0, 1, 0));
        let older = Found::of(&logs, &[1, 2, 1, 1], &[3, 1, 1, 2], 2);
        assert_eq!((older.lost, older.half, older.older), (0, 0, 1));
        assert!(older.examples[0].contains("0/1"), "{:?}", older.examples);
    }

    #[test]
    fn what_is_acknowledged_in_silence_need_not_be_there_and_what_was_before_must_be() {
        let (over, mut log) = (Over::default(), Log::default());
        let ended = |session| Done {
            session,
            class: UPDATE,
            at: 0,
            units: 1,
        };
        let transaction = |session, page| Transaction {
            session,
            changes: vec![(0, page, 2)],
        };
        log.take(vec![transaction(0, 0), transaction(1, 1)], over.counted(&[ended(0)]));
        over.silent.store(true, Ordering::SeqCst);
        log.take(Vec::new(), over.counted(&[ended(1)]));
        let logs = [log];
        let only_before = Found::of(&logs, &[1; 2], &[2, 1], 2);
        assert!(
            !only_before.is_loss() && only_before.acknowledged == 1,
            "{only_before:?}"
        );
        assert_eq!(Found::of(&logs, &[1; 2], &[1, 1], 2).lost, 1);
    }
}
