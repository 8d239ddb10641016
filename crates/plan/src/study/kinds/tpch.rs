//! Phases of kind `tpch`: decision support in SQL.
//!
//! Bytes are measured, times are assumed from runs on two cores. Prevents: questions whose temporary files nobody
//! has made room for.

use crate::shown::{Keys, Shown, quoted};
use crate::study::kind::{Ends, Engines, InFlight, Kind, KindRow, Loads, Pace, Ranking};
use crate::study::words::{PhaseWord, RunWord};
use crate::units::Duration;
use crate::word::Word;

/// Tables and keys of decision support at scale 1, and what the questions of one user spill there at most: measured
/// with PostgreSQL.
const TABLES_BYTES: f64 = 1.6e9;
const SPILLED_BYTES: f64 = 0.3e9;
/// Users whose questions spill at the same time: of many, most wait.
const SPILLING_MAX: u32 = 10;
/// Making and loading the tables of decision support at scale 1, keys and checksums among it.
const TABLES_NS: f64 = 120e9;
/// Asking all 22 questions at scale 1.
const QUESTIONS_NS: f64 = 60e9;

settled! {
    /// Decision support, derived from the published description of TPC-H.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Tpch {
        /// Scale factor, the same in all phases: the tables are loaded once a trial.
        pub scale: f64,
        /// Who asks what; its own keys stand beside it.
        pub run: TpchRun as |tpch| Some(quoted(tpch.run.word())),
        /// Numbers of the questions that are asked, 1 to 22, ascending.
        pub questions: Vec<u32> as |tpch| tpch.questions.shown().filter(|_| !tpch.asks_all()),
        /// How questions are written that can be written in two ways.
        pub text: TpchText,
        /// The most that one question may take; past it the phase ends.
        pub limit: Duration,
        /// Pairs of refresh functions after the questions.
        pub refresh: u32,
    }
}

/// Who asks the questions of decision support.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TpchRun {
    /// One user asks all of them, one after the other.
    Power,
    /// So many users ask all of them at the same time, each in an order of his own.
    Streams(u32),
    /// Users ask some each, at the same time.
    Users {
        /// How many; several: a load curve, in this order.
        users: Vec<u32>,
        /// Questions of each.
        each: u32,
    },
}

impl TpchRun {
    /// As a study writes it.
    fn word(&self) -> &'static str {
        let word = match self {
            TpchRun::Power => RunWord::Power,
            TpchRun::Streams(_) | TpchRun::Users { .. } => RunWord::Throughput,
        };
        word.word()
    }

    /// Its own keys with their values.
    pub(crate) fn keys(&self) -> Keys {
        let all = match self {
            TpchRun::Power => Vec::new(),
            TpchRun::Streams(streams) => vec![("streams", streams.shown())],
            TpchRun::Users { users, each } => vec![("users", users.shown()), ("each", each.shown())],
        };
        all.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
    }
}

words! {
    /// How questions of decision support are written.
    pub enum TpchText: "a way to write questions" {
        /// Large groups, joined.
        Grouped = "grouped",
        /// A subquery for each row, as published.
        Nested = "nested",
    }
}

impl Tpch {
    /// How many questions there are.
    pub const QUESTIONS: u32 = 22;

    /// Their numbers.
    pub fn all() -> Vec<u32> {
        (1..=Tpch::QUESTIONS).collect()
    }

    /// Whether each of them is asked.
    pub fn asks_all(&self) -> bool {
        self.questions.len() == Tpch::QUESTIONS as usize
    }

    /// The most users that are at work at the same time.
    pub fn users_most(&self) -> u32 {
        match &self.run {
            TpchRun::Power => 1,
            TpchRun::Streams(streams) => *streams,
            TpchRun::Users { users, .. } => users.iter().copied().max().unwrap_or(1),
        }
    }

    /// Questions that so many users ask together. In a load curve each question is asked equally often in a step, so
    /// that steps differ by their users alone: some users ask one more than `each`, and few users ask several more.
    pub fn asked_by(&self, users: u32) -> u32 {
        let questions = (self.questions.len() as u32).max(1);
        match &self.run {
            TpchRun::Power => questions,
            TpchRun::Streams(_) => users.saturating_mul(questions),
            TpchRun::Users { each, .. } => {
                let least = users.saturating_mul(*each);
                let whole = least.checked_next_multiple_of(questions).unwrap_or(least);
                if self.is_curve() { whole } else { least }
            }
        }
    }

    /// Whether it is a load curve.
    pub fn is_curve(&self) -> bool {
        matches!(&self.run, TpchRun::Users { users, .. } if users.len() > 1)
    }
}

impl Tpch {
    /// Bytes of the tables and keys.
    pub(crate) fn tables_bytes(&self) -> u64 {
        (self.scale * TABLES_BYTES) as u64
    }

    /// Nanoseconds that the tables take to be made and loaded.
    pub(crate) fn tables_ns(&self) -> u64 {
        (self.scale * TABLES_NS) as u64
    }

    /// Bytes that the questions spill at the same time.
    pub(crate) fn spilled_bytes(&self) -> u64 {
        let spilling = match self.run {
            TpchRun::Streams(streams) => streams,
            TpchRun::Power | TpchRun::Users { .. } => self.users_most().min(SPILLING_MAX),
        };
        (self.scale * SPILLED_BYTES * f64::from(spilling)) as u64
    }

    /// Questions asked, in sets of all 22.
    fn sets(&self) -> f64 {
        let questions: f64 = match &self.run {
            TpchRun::Power | TpchRun::Streams(_) => f64::from(self.asked_by(self.users_most())),
            TpchRun::Users { users, .. } => users.iter().map(|users| f64::from(self.asked_by(*users))).sum(),
        };
        questions / f64::from(Tpch::QUESTIONS)
    }
}

/// What all of them are.
pub(super) const ROW: KindRow = KindRow {
    engines: Engines::Sql,
    repeated: None,
};

impl Kind for Tpch {
    fn kind(&self) -> PhaseWord {
        PhaseWord::Tpch
    }

    fn own_keys(&self) -> Keys {
        self.keys().into_iter().chain(self.run.keys()).collect()
    }

    fn ends(&self) -> Ends {
        Ends::Work((
            "this phase ends when its questions are answered",
            "remove `time`: it ends with the last question; `limit` says how long one may take",
        ))
    }

    fn in_flight(&self) -> InFlight {
        InFlight::in_order(self.users_most())
    }

    fn ranking(&self) -> Ranking {
        // A load curve is to be seen whole; its steps are not a dozen questions.
        match self.is_curve() {
            true => Ranking::Asked,
            false => Ranking::Usual,
        }
    }

    fn work_ns(&self, _pace: &Pace) -> u64 {
        (self.sets() * self.scale * QUESTIONS_NS) as u64
    }

    fn in_sql(&self, has_temp: bool) -> Option<(u64, &'static str)> {
        // Tables, keys, and temporary files of the users where they have no LUNs of their own.
        let spilled = if has_temp { 0 } else { self.spilled_bytes() };
        Some((self.tables_bytes().saturating_add(spilled), "scale"))
    }

    fn loads(&self) -> Loads {
        Loads {
            once: self.tables_bytes(),
            within: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tpch(users: &[u32], each: u32, questions: u32) -> Tpch {
        Tpch {
            scale: 0.01,
            run: TpchRun::Users {
                users: users.to_vec(),
                each,
            },
            questions: (1..=questions).collect(),
            text: TpchText::Grouped,
            limit: Duration::minutes(10),
            refresh: 0,
        }
    }

    #[test]
    fn each_step_of_a_curve_asks_each_question_equally_often() {
        let of = |tpch: &Tpch| [1, 10, 100].map(|users| tpch.asked_by(users));
        assert_eq!(of(&tpch(&[1, 10, 100], 1, 5)), [5, 10, 100]);
        assert_eq!(of(&tpch(&[1, 10, 100], 2, 22)), [22, 22, 220]);
        // Alone it has no other step to be like.
        assert_eq!(tpch(&[100], 2, 22).asked_by(100), 200);
    }
}
