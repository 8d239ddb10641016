//! The report as one HTML file: offline, light and dark, printable.
//!
//! Takes an open ledger and its analysis, gives the whole page. Each section of the page is a file beside this one that
//! makes a [`Section`] from the [`Source`]; [`html`] puts them in order. Charts that stand still are SVG inside tables, so that
//! their numbers stand beside them; time lines are drawn by an embedded library. Prevents: a page that sends anything
//! anywhere (its policy allows no request, and no script but our own two), and a chart without its numbers.

mod bulk;
mod changes;
mod cost;
mod curves;
mod databases;
mod differences;
mod disclosure;
mod elsewhere;
mod figure_cells;
mod forest;
mod head;
mod inflated;
mod lying;
mod markup;
mod memory;
mod modelled;
mod moves;
mod policy;
mod ratios;
mod scale;
mod spread;
mod strips;
mod timelines;
mod validity;
mod work;

use crate::analysis::{Analysis, ReportError};
use crate::history::Book;
use ledger::Ledger;
use markup::Markup;

const STYLE: &str = include_str!("../../assets/page.css");
const SCRIPT: &str = include_str!("../../assets/page.js");
const CHART_STYLE: &str = include_str!("../../third_party/uplot/uPlot.min.css");
const CHART_SCRIPT: &str = include_str!("../../third_party/uplot/uPlot.iife.min.js");

/// What sections are made from.
pub(crate) struct Source<'a> {
    ledger: &'a Ledger,
    book: &'a Book,
    analysis: &'a Analysis,
    /// True when there is so much to show that secondary spreads are left out.
    lean: bool,
}

/// More pairs of phase and stack than this make a lean page.
const FULL_MAX: usize = 400;

impl Source<'_> {
    /// Class of the colour and dash in which a stack is drawn everywhere.
    fn mark(&self, stack: &str) -> String {
        let index = self.analysis.stacks.iter().position(|head| head.name == stack);
        format!("s{}", index.unwrap_or(0) % MARKS)
    }
}

/// Colours and dashes there are; page.css has them.
const MARKS: usize = 12;

/// One section of the page.
pub(crate) struct Section {
    /// Its anchor.
    id: &'static str,
    title: &'static str,
    body: Markup,
}

impl Section {
    /// `None` when there is nothing to say.
    fn new(id: &'static str, title: &'static str, body: Markup) -> Option<Section> {
        (!body.is_empty()).then_some(Section { id, title, body })
    }
}

/// The whole page.
pub fn html(ledger: &Ledger, analysis: &Analysis) -> Result<String, ReportError> {
    let book = Book::read(ledger)?;
    let source = Source {
        ledger,
        book: &book,
        analysis,
        lean: analysis.phases.iter().map(|phase| phase.cells.len()).sum::<usize>() > FULL_MAX,
    };
    // In the order of the page. A section that has nothing to say leaves itself out.
    let sections = [
        differences::section(&source),
        ratios::section(&source),
        work::section(&source),
        spread::section(&source)?,
        databases::section(&source),
        timelines::section(&source)?,
        moves::section(&source),
        cost::section(&source),
        lying::section(&source),
        elsewhere::section(&source),
        validity::section(&source),
        disclosure::section(&source)?,
    ];
    let sections: Vec<Section> = sections.into_iter().flatten().collect();
    let mut page = Markup::new();
    page.raw("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    let policy = policy::policy(&[STYLE, CHART_STYLE], &[CHART_SCRIPT, SCRIPT]);
    page.open(
        "meta",
        &[("http-equiv", "Content-Security-Policy"), ("content", &policy)],
    );
    page.raw("\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    page.raw("<meta name=\"generator\" content=\"assay\">\n<meta name=\"referrer\" content=\"no-referrer\">\n");
    page.element("title", &[], &format!("{} - Assay report", analysis.study.name));
    for style in [CHART_STYLE, STYLE] {
        page.raw("\n<style>");
        page.raw(style);
        page.raw("</style>");
    }
    page.raw("\n</head>\n<body>\n");
    head::head(&mut page, &source, &sections);
    page.raw("<main>\n");
    head::answer(&mut page, &source);
    for section in &sections {
        page.open(
            "section",
            &[("id", section.id), ("aria-labelledby", &title_id(section))],
        );
        page.element("h2", &[("id", &title_id(section))], section.title);
        page.add(&section.body);
        page.raw("</section>\n");
    }
    page.raw("</main>\n");
    head::foot(&mut page, &source);
    for script in [CHART_SCRIPT, SCRIPT] {
        page.raw("<script>");
        page.raw(script);
        page.raw("</script>\n");
    }
    page.raw("</body>\n</html>\n");
    Ok(page.finish())
}

fn title_id(section: &Section) -> String {
    format!("{}-title", section.id)
}
