//! How an analysis is derived from a result file.
//!
//! Takes an open ledger, gives an [`Analysis`]; the same file gives the same one on any machine at any time. Prevents:
//! figures of one report that were derived in two ways.

use crate::analysis::{Analysis, LookTaken, ReportError, StackHead, StudyHead};
use crate::cells::kept::kept;
use crate::cells::phase_report;
use crate::distribution::unpack;
use crate::history::Book;
use crate::hosts::hosts;
use crate::imported::imported;
use crate::phase_kind::kind_row;
use crate::published::published;
use crate::ranking::alike::pairs_alike;
use crate::ranking::changes::changes;
use crate::ranking::drops::Dropped;
use crate::ranking::not_tested::{bulk_ratios, not_tested};
use crate::ranking::own_blocks::own_blocks;
use crate::ranking::rank::{Ranking, base_of, design, rank, takes_part};
use crate::ranking::same_work::same_work;
use crate::ranking::temporary::temporary;
use crate::ranking::verdicts::verdicts;
use crate::sheet::checks;
use crate::spent::time_spent;
use crate::stacks::capacity::capacity;
use crate::stacks::databases::databases;
use crate::stacks::differences::differences;
use crate::stacks::layouts::layouts;
use crate::stacks::memory::memory;
use crate::stacks::modelled::modelled;
use crate::stacks::priced::cost;
use crate::words::not_told::not_told;
use crate::words::promise::promise;
use crate::words::sentence::sentence;
use ledger::{FactName, FactValue, Ledger, LedgerError, Scope, Stamp};

/// All of the file. The distributions that most phases are asked for are unpacked by several processors: that is most
/// of a report's work.
pub(crate) fn unpacked(ledger: &Ledger) -> Result<Book, LedgerError> {
    let mut book = Book::read(ledger)?;
    let seen = book.ran.values_mut().flat_map(|ran| ran.phases.values_mut());
    let asked = seen.flat_map(|seen| {
        let stamp = kind_row(seen.run.kind).stamp;
        // Where all of them are added up, each is unpacked for that.
        let added_up = stamp == Stamp::Response && seen.of_stamp(stamp).nth(1).is_some();
        let is_asked = seen.counts() && !added_up;
        let rows = seen.histograms.iter_mut();
        rows.filter(move |row| is_asked && row.stamp == stamp)
    });
    unpack(asked.collect());
    Ok(book)
}

impl Analysis {
    /// Derives everything from the file, by one processor: others may be measuring.
    pub fn of(ledger: &Ledger) -> Result<Analysis, ReportError> {
        Analysis::of_book(&Book::read(ledger)?)
    }

    /// The same by all processors.
    pub fn of_in_parallel(ledger: &Ledger) -> Result<Analysis, ReportError> {
        Analysis::of_book(&unpacked(ledger)?)
    }

    fn of_book(book: &Book) -> Result<Analysis, ReportError> {
        let ranking = rank(book)?;
        Analysis::derived(book, ranking)
    }

    /// Derives everything from what was gathered and judged.
    pub(crate) fn derived(book: &Book, ranking: Ranking) -> Result<Analysis, ReportError> {
        let phases = book.phases.iter().map(|head| phase_report(book, head));
        let phases = phases.collect::<Result<Vec<_>, LedgerError>>()?;
        let (differences, equal) = differences(book);
        let (comparisons, contrasts) = verdicts(book, &ranking);
        let dropped = Dropped::of(&ranking.dropped);
        let mut analysis = Analysis {
            imported: imported(book, &phases),
            not_told_apart: not_told(book, &phases),
            published: published(book, &comparisons, &dropped)?,
            study: study_head(book, &ranking),
            hosts: hosts(book),
            time_spent: time_spent(book, &ranking, &dropped),
            stacks: stack_heads(book),
            differences,
            equal,
            phases,
            comparisons,
            looks: looks(&ranking),
            go_on: ranking.decision.go_on.into(),
            own_blocks: own_blocks(book, &ranking),
            pairs_alike: pairs_alike(book, &ranking),
            not_tested: not_tested(book, &ranking.pairs, &dropped)?,
            same_work: same_work(book, &dropped)?,
            changes: changes(book, &dropped)?,
            temporary: temporary(book, &dropped)?,
            contrasts,
            databases: databases(book),
            bulk_ratios: bulk_ratios(book, &dropped),
            layouts: layouts(book),
            kept: kept(book),
            capacity: capacity(book),
            modelled: modelled(book),
            memory: memory(book),
            cost: None,
            unranked: ranking.unranked,
            dropped: ranking.dropped,
            checks: Vec::new(),
            promise: None,
            sentence: String::new(),
            recorded_looks: book.looks.clone(),
            design: design(book, &ranking.pairs),
            is_file_kept: true,
        };
        analysis.cost = cost(book, &analysis)?;
        analysis.promise = (analysis.study.blocks_planned > 0).then(|| promise(&analysis.study));
        analysis.checks = checks(book, &analysis);
        analysis.sentence = sentence(&analysis);
        Ok(analysis)
    }
}

impl Analysis {
    /// The same of a result file that is removed after the report: its answer names no command that needs one.
    #[must_use]
    pub fn without_file(mut self) -> Analysis {
        self.is_file_kept = false;
        self.sentence = sentence(&self);
        self
    }
}

fn study_head(book: &Book, ranking: &Ranking) -> StudyHead {
    let fact = |name: FactName| book.fact(&Scope::Study, name);
    let schedule = fact(FactName::Schedule);
    StudyHead {
        schedule: schedule.map(FactValue::to_string),
        slow_motion: fact(FactName::SlowMotion)
            .and_then(FactValue::whole)
            .and_then(|times| u32::try_from(times).ok()),
        in_stints: book.takes_stints(),
        schedule_why: fact(FactName::WhySchedule).map(FactValue::to_string),
        blocks_begun: book.blocks(),
        blocks_valid: ranking.decision.blocks_valid,
        ended: book.ended.clone(),
        phases_uncounted: book.uncounted,
        ..StudyHead::of(&book.study, &book.extensions)
    }
}

fn stack_heads(book: &Book) -> Vec<StackHead> {
    let head = |stack: &ledger::Stack| StackHead {
        name: stack.name.clone(),
        kind: stack.kind.clone(),
        layers: stack.layers.to_string(),
        on_model: stack.layers.model().is_some(),
        group: stack.group().to_string(),
        access: stack.access.as_str().into(),
        base: takes_part(book, stack)
            .ok()
            .and_then(|()| base_of(book, stack))
            .map(str::to_string),
        injected: stack.injected.clone(),
        skipped_reason: stack.skipped.as_ref().map(|skipped| skipped.reason.clone()),
        skipped_cure: stack.skipped.as_ref().map(|skipped| skipped.cure.clone()),
    };
    book.stacks.iter().map(head).collect()
}

pub(crate) fn looks(ranking: &Ranking) -> Vec<LookTaken> {
    let one = |look: &stats::LookApart| LookTaken {
        number: look.rule.number,
        n: look.rule.n,
        blocks_run: look.blocks_run,
        alpha: look.rule.alpha,
        verdicts: look
            .results
            .iter()
            .map(|one| one.map(|(verdict, _)| verdict.into()))
            .collect(),
        estimates: look
            .results
            .iter()
            .map(|one| one.map(|(_, estimate)| estimate))
            .collect(),
    };
    ranking.decision.looks.iter().map(one).collect()
}
