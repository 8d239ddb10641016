//! What must hold before a number is believed, with the figure found, the threshold, and what to do.
//!
//! Takes the gathered file and the analysis of it, gives [`Check`]s: a rule after the other, the study first, then by
//! phase and stack. Prevents: the objections that every published comparison has met in its comments.

mod at;
mod beside;
mod between;
mod cell;
mod document;
mod foreign;
mod hosts;
mod instances;
mod memory;
mod of_phase;
mod of_study;
mod order;
mod place;
mod rate;
mod rule;
mod runs;
mod serving;
mod sets;
mod whole;

use crate::analysis::Analysis;
use crate::check::Check;
use crate::history::Book;
use crate::ranking::rank::takes_part;
use at::At;
use ledger::Stack;
use rule::{Rule, Take};

pub use document::{rules_of_phases, rules_of_study, traps};

pub(crate) use cell::rounds;

/// All checks, study first, then by phase and stack.
pub(crate) fn checks(book: &Book, analysis: &Analysis) -> Vec<Check> {
    let mut lines = of_study(book, analysis);
    for (report, head) in analysis.phases.iter().zip(&book.phases) {
        let phase = Some(report.name.as_str());
        for cell in &report.cells {
            let at = At::new(book, report, cell, head);
            for rule in of_phase::RULES {
                if let Take::Cell(take) = rule.take {
                    lines.extend(take(&at).map(|taken| rule.line(Some(&cell.stack), phase, taken)));
                }
            }
        }
        for rule in of_phase::RULES {
            if let Take::Phase(take) = rule.take {
                lines.extend(take(book, report).map(|taken| rule.line(None, phase, taken)));
            }
        }
        for stack in &book.stacks {
            for rule in of_phase::RULES {
                if let Take::Runs(take) | Take::Losses(take) = rule.take {
                    let taken = take(book, &stack.name, head).into_iter();
                    lines.extend(taken.map(|taken| rule.line(Some(&stack.name), phase, taken)));
                }
            }
        }
    }
    lines
}

fn of_study(book: &Book, analysis: &Analysis) -> Vec<Check> {
    let mut lines = Vec::new();
    // Rules of stacks that follow each other go from stack to stack together.
    let of_stacks = |rule: &Rule| matches!(rule.take, Take::Stack(_) | Take::TakingPart(_));
    for rules in of_study::RULES.chunk_by(|one, other| of_stacks(one) && of_stacks(other)) {
        match rules[0].take {
            Take::Study(take) => lines.extend(take(book, analysis).map(|taken| rules[0].line(None, None, taken))),
            Take::Each(take) => {
                lines.extend(take(book).into_iter().map(|taken| rules[0].line(None, None, taken)));
            }
            _ => lines.extend(book.stacks.iter().flat_map(|stack| of_stack(book, stack, rules))),
        }
    }
    lines
}

fn of_stack(book: &Book, stack: &Stack, rules: &[Rule]) -> Vec<Check> {
    let taken = |rule: &Rule| {
        let taken = match rule.take {
            Take::Stack(take) => take(book, stack),
            Take::TakingPart(take) if takes_part(book, stack).is_ok() => take(book, stack),
            _ => None,
        };
        taken.map(|taken| rule.line(Some(&stack.name), None, taken))
    };
    rules.iter().filter_map(taken).collect()
}
