//! A stream: one user who asks one question after the other, each when the last is answered.
//!
//! [`Stream`] is an operation of the hot loop over an [`Asker`], which each database brings; [`drive_streams`] gives
//! each a thread of its own, because a question lasts longer than a thread costs. Prevents: a question without end (a
//! limit ends it, and with it the phase, by name), and an answer that nobody keeps.

use super::answer::{Answer, AnswerError, Cell};
use super::order::Ask;
use super::question::{CLASS, Dialect, Question, Text};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use targets::{Nanos, monotonic_ns};
use workloads::{Arrival, Done, Operation, Outcome, Pacing, Started, drive, merge};

/// A connection that questions are asked on.
pub trait Asker {
    /// The database's own error.
    type Error: From<AnswerError>;
    /// Whose SQL it takes.
    const DIALECT: Dialect;

    /// Asks; blocks until the last row is there.
    ///
    /// # Errors
    /// [`Unanswered`]: it was ended, or failed.
    fn ask(&mut self, sql: &str) -> Result<Vec<Vec<Cell>>, Unanswered<Self::Error>>;

    /// Bytes of temporary files so far, of all users: written, or sizes of files that were deleted; `None`: it does not
    /// tell them between two questions.
    ///
    /// # Errors
    /// The database's own.
    fn temp_bytes(&mut self) -> Result<Option<u64>, Self::Error> {
        Ok(None)
    }
}

/// Why there is no answer.
#[derive(Debug)]
pub enum Unanswered<E> {
    /// It ran past its limit, or somebody wants it no more.
    Ended,
    /// The database failed.
    Failed(E),
}

impl<E> From<E> for Unanswered<E> {
    fn from(error: E) -> Self {
        Unanswered::Failed(error)
    }
}

/// An answer with its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// Who asked, from 0.
    pub user: u32,
    /// Which question.
    pub question: Question,
    /// Which of its sets of parameters.
    pub variant: u32,
    /// When it was asked.
    pub began: Nanos,
    /// From there to the last row, ns.
    pub elapsed_ns: u64,
    /// Rows of the answer.
    pub rows: u64,
    /// What it says.
    pub digest: String,
    /// Bytes of temporary files that it took, where nobody else was at work.
    pub temp_bytes: Option<u64>,
}

/// What ends all streams of a phase.
#[derive(Debug, Default)]
pub struct Stop {
    /// Streams look at it between two questions; who ends questions under way looks at it too.
    pub flag: Arc<AtomicBool>,
}

impl Stop {
    fn is_set(&self) -> bool {
        self.flag.load(Ordering::Relaxed)
    }

    fn set(&self) {
        self.flag.store(true, Ordering::Relaxed);
    }
}

/// One user.
pub struct Stream<'a, A> {
    asker: A,
    user: u32,
    asks: VecDeque<Ask>,
    text: Text,
    /// Whether no other user is at work, so that temporary files are this one's.
    alone: bool,
    stop: &'a Stop,
    asked: Vec<Asked>,
    past_limit: Option<Question>,
}

impl<'a, A: Asker> Stream<'a, A> {
    /// A user with his questions. `alone`: no other is at work meanwhile.
    pub fn new(asker: A, (user, asks): (u32, Vec<Ask>), text: Text, alone: bool, stop: &'a Stop) -> Self {
        Stream {
            asker,
            user,
            asks: asks.into(),
            text,
            alone,
            stop,
            asked: Vec::new(),
            past_limit: None,
        }
    }

    fn temp_bytes(&mut self) -> Result<Option<u64>, A::Error> {
        if self.alone { self.asker.temp_bytes() } else { Ok(None) }
    }

    /// Asks one question; `None`: it was ended.
    fn ask(&mut self, ask: &Ask) -> Result<Option<Asked>, A::Error> {
        let sql = ask.question.sql(&ask.parameters, A::DIALECT, self.text);
        let before = self.temp_bytes()?;
        let began = monotonic_ns();
        let cells = match self.asker.ask(&sql) {
            Ok(cells) => cells,
            Err(Unanswered::Ended) => return Ok(None),
            Err(Unanswered::Failed(error)) => return Err(error),
        };
        let elapsed_ns = monotonic_ns() - began;
        let after = self.temp_bytes()?;
        let answer = Answer::new(ask.question, cells)?;
        Ok(Some(Asked {
            user: self.user,
            question: ask.question,
            variant: ask.variant,
            began,
            elapsed_ns,
            rows: answer.rows.len() as u64,
            digest: answer.digest(),
            temp_bytes: after.zip(before).map(|(after, before)| after.saturating_sub(before)),
        }))
    }
}

impl<A: Asker> Operation for Stream<'_, A> {
    type Error = A::Error;

    fn now(&self) -> Nanos {
        monotonic_ns()
    }

    fn classes(&self) -> &[&'static str] {
        &[CLASS]
    }

    /// Units: one for each question.
    fn start(&mut self, session: u32, done: &mut Vec<Done>) -> Result<Started, A::Error> {
        let Some(ask) = self.asks.pop_front().filter(|_| !self.stop.is_set()) else {
            return Ok(Started::Exhausted);
        };
        let Some(asked) = self.ask(&ask)? else {
            // Whoever sets the flag ends the others' questions too: only the first of all ran past its limit.
            if !self.stop.is_set() {
                self.past_limit = Some(ask.question);
                self.stop.set();
            }
            return Ok(Started::Exhausted);
        };
        done.push(Done {
            session,
            class: 0,
            at: asked.began + asked.elapsed_ns,
            units: 1,
        });
        self.asked.push(asked);
        Ok(Started::Running)
    }

    /// Nothing is ever under way: `start` blocks.
    fn advance(&mut self, _until: Option<Nanos>, _done: &mut Vec<Done>) -> Result<(), A::Error> {
        Ok(())
    }
}

/// What streams came to.
#[derive(Debug)]
pub struct Answered {
    /// Of all of them.
    pub outcome: Outcome,
    /// Every answer, in the order of users.
    pub asked: Vec<Asked>,
    /// The question that ran past its limit and ended them all.
    pub past_limit: Option<Question>,
}

/// Drives streams, each on a thread of its own; they begin together.
///
/// # Errors
/// The first of the first stream that failed; the others end with their question.
///
/// # Panics
/// Without streams.
pub fn drive_streams<A>(streams: Vec<Stream<'_, A>>, slice_ns: u64) -> Result<Answered, A::Error>
where
    A: Asker + Send,
    A::Error: Send,
{
    let together = Barrier::new(streams.len());
    let run = |mut stream: Stream<'_, A>| {
        let pacing = Pacing {
            sessions: 1,
            arrival: Arrival::Closed { think: None },
            stop: workloads::Stop::default(),
            slice_ns,
            cancel: None,
        };
        together.wait();
        let outcome = drive(&mut stream, &pacing, 0);
        if outcome.is_err() {
            stream.stop.set();
        }
        outcome.map(|outcome| (outcome, stream.asked, stream.past_limit))
    };
    let ended: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = streams.into_iter().map(|stream| scope.spawn(|| run(stream))).collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, _>| match thread.join() {
            Ok(ended) => ended,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        threads.into_iter().map(join).collect()
    });
    let (mut outcomes, mut asked, mut past_limit) = (Vec::new(), Vec::new(), None);
    for one in ended {
        let (outcome, answers, past) = one?;
        outcomes.push(outcome);
        asked.extend(answers);
        past_limit = past_limit.or(past);
    }
    Ok(Answered {
        outcome: merge(outcomes),
        asked,
        past_limit,
    })
}

#[cfg(test)]
mod tests {
    use super::super::order::{of_stream, of_users};
    use super::super::scale::Scale;
    use super::*;

    /// Answers question 18 never, and all others with what its columns hold.
    struct Played {
        endless: &'static str,
    }

    impl Asker for Played {
        type Error = AnswerError;
        const DIALECT: Dialect = Dialect::Sqlite;

        fn ask(&mut self, sql: &str) -> Result<Vec<Vec<Cell>>, Unanswered<AnswerError>> {
            if sql.contains(self.endless) {
                return Err(Unanswered::Ended);
            }
            Ok(Vec::new())
        }

        fn temp_bytes(&mut self) -> Result<Option<u64>, AnswerError> {
            Ok(Some(7))
        }
    }

    fn streams(stop: &Stop, many: u32, endless: &'static str) -> Answered {
        let scale = Scale::new(0.01).unwrap();
        let lists = match many {
            1 => vec![of_stream(&Question::all(), scale, 1, 2, 0)],
            _ => of_users(&Question::all(), scale, 1, 2, (many, 2 * many)),
        };
        let stream = |asked| Stream::new(Played { endless }, asked, Text::Grouped, many == 1, stop);
        drive_streams((0..).zip(lists).map(stream).collect(), 1_000_000).unwrap()
    }

    #[test]
    fn every_question_is_answered_once_and_kept() {
        let alone = streams(&Stop::default(), 1, "nothing like it");
        assert_eq!((alone.asked.len(), alone.outcome.count()), (22, 22));
        assert!(alone.asked.iter().all(|asked| asked.temp_bytes == Some(0)));
        let many = streams(&Stop::default(), 11, "nothing like it");
        assert_eq!((many.asked.len(), many.outcome.count()), (22, 22));
        assert!(many.asked.iter().all(|asked| asked.temp_bytes.is_none()));
        assert_eq!(many.past_limit, None);
    }

    #[test]
    fn a_question_past_its_limit_ends_all_and_is_named() {
        let stop = Stop::default();
        let ended = streams(&stop, 1, "SUM(l_quantity) > ");
        assert_eq!(ended.past_limit.map(Question::number), Some(18));
        assert!(stop.flag.load(Ordering::Relaxed) && ended.asked.len() < 22);
    }
}
