//! What only a page shows and only the file has: distributions, series over time, the schedule, what happened.
//!
//! Takes an open ledger and its analysis, gives a [`FromFile`]. Prevents: sections that read files while they are put
//! together, and every histogram of a file unpacked at once.

use super::times::over_time;
use crate::analysis::{Analysis, ReportError};
use crate::cells::PhaseReport;
use crate::cells::latency::{Latency, of_stamp, whole};
use crate::cells::metric::Metric;
use crate::document::{Distribution, Section};
use crate::format::nanoseconds;
use crate::history::{Book, Seen};
use ledger::{Event, FactName, FactValue, Ledger, Scope, Stamp, Trial};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// Read once, for one page.
pub(crate) struct FromFile {
    pub(super) book: Book,
    pub(super) trials: Vec<Trial>,
    pub(super) events: Vec<Event>,
    /// Latency between start and done, by phase and stack, where the analysis has that between due and done.
    service: BTreeMap<(String, String), Vec<Latency>>,
    shapes: BTreeMap<Shown, Shape>,
    over_time: RefCell<Option<Section>>,
}

/// Phase, stack, class, stamp.
type Shown = (String, String, String, Stamp);

struct Shape {
    counts: Vec<(u64, u64)>,
    quantiles: [u64; 3],
}

/// Parts of a logarithmic axis over all times there are: finer than a drawing.
const PARTS_A_DECADE: f64 = 400.0;

/// More pairs of phase and stack than this make a lean page.
const FULL_MAX: usize = 400;

/// True when there is so much to show that a page leaves out what is secondary.
pub(super) fn is_lean(analysis: &Analysis) -> bool {
    analysis.phases.iter().map(|phase| phase.cells.len()).sum::<usize>() > FULL_MAX
}

impl FromFile {
    pub(crate) fn read(ledger: &Ledger, analysis: &Analysis) -> Result<FromFile, ReportError> {
        let book = Book::read(ledger)?;
        let over_time = over_time(ledger, &book, analysis)?;
        let mut file = FromFile {
            trials: ledger.trials()?,
            events: ledger.events()?,
            service: BTreeMap::new(),
            shapes: BTreeMap::new(),
            over_time: RefCell::new(over_time),
            book,
        };
        let lean = is_lean(analysis);
        for phase in &analysis.phases {
            for cell in &phase.cells {
                file.add(phase, &cell.stack, &cell.latency, lean)?;
            }
        }
        Ok(file)
    }

    fn add(&mut self, phase: &PhaseReport, stack: &str, known: &[Latency], lean: bool) -> Result<(), ReportError> {
        let seen = self.book.valid(stack, &phase.name);
        let mut shapes = Vec::new();
        for latency in known {
            shapes.extend(shape(phase, stack, latency, &seen)?);
        }
        // Work that falls due on a schedule: there service and response are two things.
        if phase.metric == Metric::ResponseNsP99 && !lean {
            let service = of_stamp(Stamp::Service, &seen)?;
            for latency in &service {
                shapes.extend(shape(phase, stack, latency, &seen)?);
            }
            self.service.insert((phase.name.clone(), stack.into()), service);
        }
        self.shapes.extend(shapes);
        Ok(())
    }

    /// Name, distribution and kernel of the host.
    pub(super) fn host(&self) -> Vec<String> {
        let fact = |name: FactName| self.book.fact(&Scope::Host, name).map(FactValue::to_string);
        let kernel = fact(FactName::Kernel).map(|kernel| format!("Linux {kernel}"));
        [fact(FactName::Host), fact(FactName::Distribution), kernel]
            .into_iter()
            .flatten()
            .collect()
    }

    pub(super) fn service(&self, phase: &str, stack: &str) -> &[Latency] {
        self.service
            .get(&(phase.into(), stack.into()))
            .map_or(&[], Vec::as_slice)
    }

    pub(super) fn distribution(&self, phase: &str, stack: &str, class: &str, stamp: Stamp) -> Option<Distribution> {
        let shape = self.shapes.get(&(phase.into(), stack.into(), class.into(), stamp))?;
        Some(Distribution {
            counts: shape.counts.clone(),
            quantiles: shape.quantiles,
            form: nanoseconds,
        })
    }

    /// The section of series; there is but one.
    pub(super) fn over_time(&self) -> Option<Section> {
        self.over_time.borrow_mut().take()
    }
}

fn shape(
    phase: &PhaseReport,
    stack: &str,
    latency: &Latency,
    seen: &[&Seen],
) -> Result<Option<(Shown, Shape)>, ReportError> {
    let Some(histogram) = whole(latency.stamp, &latency.class, seen)? else {
        return Ok(None);
    };
    let part = |value: u64| (value.max(1) as f64).log10() * PARTS_A_DECADE;
    let mut counts: Vec<(u64, u64)> = vec![(histogram.min(), 0)];
    for step in histogram.iter_recorded() {
        let (value, count) = (step.value_iterated_to(), step.count_at_value());
        match counts
            .last_mut()
            .filter(|last| part(last.0).floor() == part(value).floor())
        {
            Some(last) => last.1 = last.1.saturating_add(count),
            None => counts.push((value, count)),
        }
    }
    counts.push((histogram.max(), 0));
    let key = (phase.name.clone(), stack.into(), latency.class.clone(), latency.stamp);
    let quantiles = [0.5, 0.99, 0.999].map(|q| histogram.value_at_quantile(q));
    Ok(Some((key, Shape { counts, quantiles })))
}
