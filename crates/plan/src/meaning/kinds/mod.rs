//! How each kind of phase is read: one row and one file each.
//!
//! Takes a phase as written; gives what it asks for and its usual time. Prevents: a kind that is declared and that no
//! study can name.

mod age;
mod asked;
mod bulk;
mod copy;
mod files;
mod numbers;
mod power_cut;
mod random;
mod rebalance;
mod redo;
mod scan;
mod tpcc;
mod tpch;

pub(super) use asked::Asked;

use super::settle::Settle;
use crate::study::End;
use crate::written::{PhaseWord, WrittenPhase, WrittenStudy};

/// The study around a phase, with what phases of one kind have in common.
pub(super) struct Reader<'a> {
    written: &'a WrittenStudy,
    company: tpcc::Loaded,
    tables: tpch::Loaded,
}

impl<'a> Reader<'a> {
    pub(super) fn of(written: &'a WrittenStudy, settle: &mut Settle<'_>) -> Reader<'a> {
        Reader {
            written,
            company: tpcc::Loaded::of(written, settle),
            tables: tpch::Loaded::of(written, settle),
        }
    }

    /// Reads a phase of this kind.
    pub(super) fn read(&self, kind: PhaseWord, phase: &WrittenPhase, settle: &mut Settle<'_>) -> Asked {
        match kind {
            PhaseWord::Random => random::phase(phase, settle),
            PhaseWord::Scan => scan::phase(phase, self.written.database.schemas().value(), settle),
            PhaseWord::Age => age::phase(phase, settle),
            PhaseWord::Redo => redo::phase(phase, settle),
            PhaseWord::Copy => copy::phase(phase, settle),
            PhaseWord::Rebalance => rebalance::phase(phase, settle),
            PhaseWord::Tpcc => tpcc::phase(phase, &self.company, settle),
            PhaseWord::Tpch => tpch::phase(phase, &self.tables, settle),
            PhaseWord::Bulk => bulk::phase(phase, settle),
            PhaseWord::Files => files::phase(phase, self.written, settle),
            PhaseWord::PowerCut => power_cut::phase(phase, self.written, End::PowerCut, settle),
            PhaseWord::Kill => power_cut::phase(phase, self.written, End::Kill, settle),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Findings;
    use crate::written::{self, Word};

    #[test]
    fn each_word_is_read_as_a_kind_that_calls_itself_so() {
        let mut findings = Findings::default();
        let written = written::read("[study]\nname = \"kinds\"\n", &mut findings).expect("a study");
        let mut settle = Settle::new(1.0, &mut findings);
        let reader = Reader::of(&written, &mut settle);
        for word in PhaseWord::ALL {
            let asked = reader.read(*word, &WrittenPhase::default(), &mut settle);
            assert_eq!(asked.kind.word(), word.word());
        }
    }

    /// The kinds that the sentence of a key names, between backticks.
    fn named(key: &str) -> Vec<&'static str> {
        let row = WrittenPhase::KEYS.iter().find(|row| row.name == key);
        let meaning = row.expect("the row of the key").meaning;
        let between = meaning.split('`').skip(1).step_by(2);
        between.filter(|word| PhaseWord::WORDS.contains(word)).collect()
    }

    #[test]
    fn keys_of_all_kinds_name_those_that_they_are_not_for() {
        let mut findings = Findings::default();
        let written = written::read("[study]\nname = \"kinds\"\n", &mut findings).expect("a study");
        let mut settle = Settle::new(1.0, &mut findings);
        let reader = Reader::of(&written, &mut settle);
        let mut untimed = Vec::new();
        for word in PhaseWord::ALL {
            let asked = reader.read(*word, &WrittenPhase::default(), &mut settle);
            untimed.extend((!asked.kind.is_timed()).then_some(word.word()));
        }
        let sorted = |mut words: Vec<&'static str>| {
            words.sort_unstable();
            words
        };
        assert_eq!(sorted(named("time")), sorted(untimed));
        let against = WrittenPhase::KEYS.iter().find(|row| row.name == "against");
        let kinds = against.expect("its row").kinds.iter().map(Word::word);
        assert_eq!(sorted(named("against")), sorted(kinds.collect()));
    }
}
