//! The top of the page, where the question and the answer stand, and its foot.
//!
//! Takes the analysis, puts the bar with the ways to the sections, the question, the sentence that answers it, and what
//! speaks against it. Prevents: an answer looked for on the third screen, and one read without its doubts.

use super::markup::Markup;
use super::{Section, Source};
use crate::analysis::GoOn;
use crate::check::Status;
use crate::format::percent;
use ledger::{FactName, FactValue, Scope};

pub(crate) fn head(page: &mut Markup, source: &Source<'_>, sections: &[Section]) {
    page.raw("<a class=\"skip\" href=\"#answer\">To the answer</a>\n<header class=\"bar\"><div><span class=\"brand\">Assay</span> ");
    page.element("span", &[("class", "study")], &source.analysis.study.name);
    page.raw("<nav aria-label=\"Sections\">");
    for section in sections {
        page.element("a", &[("href", &format!("#{}", section.id))], section.title);
    }
    page.raw(
        "</nav><button type=\"button\" id=\"theme\" hidden aria-label=\"Colours: as the system\">Colours: auto</button></div></header>\n",
    );
}

pub(crate) fn answer(page: &mut Markup, source: &Source<'_>) {
    let analysis = source.analysis;
    let study = &analysis.study;
    page.raw("<section id=\"answer\" class=\"answer\">");
    let question = if study.question.is_empty() {
        &study.name
    } else {
        &study.question
    };
    page.element("h1", &[], question);
    page.element("p", &[("class", "lead")], &analysis.sentence);
    if study.modelled {
        page.raw("<p class=\"warn\">A device here is a model in virtual time: nothing was measured on it.</p>");
    }
    page.raw("<p class=\"doubt\">");
    doubts(page, source);
    page.raw("</p><dl class=\"about\">");
    for (name, value) in about(source) {
        page.raw("<div>");
        page.element("dt", &[], name);
        page.element("dd", &[], &value);
        page.raw("</div>");
    }
    page.raw("</dl></section>\n");
}

fn doubts(page: &mut Markup, source: &Source<'_>) {
    let checks = &source.analysis.checks;
    let count = |status: Status| checks.iter().filter(|check| check.status == status).count();
    let mut found = false;
    for status in [Status::Invalid, Status::Suspect, Status::Note] {
        let many = count(status);
        if many > 0 {
            found = true;
            page.element(
                "span",
                &[("class", status_class(status))],
                &format!("{many} {}", status.word()),
            );
            page.raw(" ");
        }
    }
    let valid = count(Status::Valid);
    if found {
        page.text(&format!("of {} checks; ", checks.len()));
        page.raw("<a href=\"#validity\">what speaks against it</a>");
    } else {
        page.text(&format!("All {valid} validity checks are VALID."));
    }
}

/// Class of a status.
pub(crate) fn status_class(status: Status) -> &'static str {
    match status {
        Status::Valid => "status valid",
        Status::Note => "status note",
        Status::Suspect => "status suspect",
        Status::Invalid => "status invalid",
    }
}

fn about(source: &Source<'_>) -> Vec<(&'static str, String)> {
    let analysis = source.analysis;
    let study = &analysis.study;
    let fact = |name: FactName| source.book.fact(&Scope::Host, name).map(FactValue::to_string);
    let state = match (&study.ended, analysis.go_on) {
        (Some(reason), _) => reason.clone(),
        (None, GoOn::Continue(next)) => format!("not finished, the next look is at {next} blocks"),
        (None, _) => "not finished".into(),
    };
    let dropped = match analysis.dropped.len() {
        0 => String::new(),
        count => format!(", {count} dropped"),
    };
    let host = [
        fact(FactName::Host),
        fact(FactName::Distribution),
        fact(FactName::Kernel).map(|kernel| format!("Linux {kernel}")),
    ];
    let host: Vec<String> = host.into_iter().flatten().collect();
    let mut about = vec![
        ("Study", study.name.clone()),
        (
            "Blocks",
            format!(
                "{} of {} run{dropped}; ended: {state}",
                study.blocks_begun, study.blocks_planned
            ),
        ),
        ("Begun", date(study.created_unix_ns)),
    ];
    if !host.is_empty() {
        about.push(("Host", host.join(", ")));
    }
    about.push((
        "Doubt allowed",
        format!(
            "any false verdict: at most {}; equal: within {}",
            percent(study.alpha),
            percent(study.margin)
        ),
    ));
    about
}

/// A moment as people write it, UTC.
pub(crate) fn date(unix_ns: u64) -> String {
    let seconds = unix_ns / 1_000_000_000;
    let (days, rest) = ((seconds / 86_400) as i64, seconds % 86_400);
    // Howard Hinnant, "chrono-compatible low-level date algorithms": civil_from_days.
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let of_era = z.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let day_of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!(
        "{year:04}-{month:02}-{day:02} {:02}:{:02} UTC",
        rest / 3600,
        rest / 60 % 60
    )
}

pub(crate) fn foot(page: &mut Markup, source: &Source<'_>) {
    page.raw("<footer><p>");
    page.text(&format!(
        "Made by assay {} from the result file of run {}; run by assay {}. This page is one file and sends nothing anywhere.",
        env!("CARGO_PKG_VERSION"),
        source.analysis.study.run_id,
        source.analysis.study.tool_version
    ));
    page.raw("</p></footer>\n");
}

#[cfg(test)]
mod tests {
    use super::date;

    #[test]
    fn dates_are_civil() {
        assert_eq!(date(0), "1970-01-01 00:00 UTC");
        assert_eq!(date(1_700_000_000_000_000_000), "2023-11-14 22:13 UTC");
        assert_eq!(date(951_782_399_000_000_000), "2000-02-28 23:59 UTC");
        assert_eq!(date(951_782_400_000_000_000), "2000-02-29 00:00 UTC");
    }
}
