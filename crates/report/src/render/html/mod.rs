//! The report as one HTML file: offline, light and dark, printable.
//!
//! Takes the [`Document`], gives the whole page. Charts that stand still are SVG inside tables, so that their numbers
//! stand beside them; time lines are drawn by an embedded library. All text passes through [`Words`]. Prevents: a page
//! that sends anything anywhere (its policy allows no request, and no script but our own two), a chart without its
//! numbers, and a stack whose name is a script.

mod drawings;
mod forest;
mod lines;
pub(super) mod live;
mod narrowing;
mod over_time;
mod policy;
mod scale;
mod tables;

use crate::document::{Block, Chart, Document, Fold, Forms, Item, Name, Part, Placed, Scatter, Section, Tone, shown};
use crate::text::escaped;
use maud::{Markup, PreEscaped, Render, html};
use policy::Reach;
use std::cell::Cell;

const STYLE: &str = include_str!("../../../assets/page.css");
const SCRIPT: &str = include_str!("../../../assets/page.js");
const LIVE_SCRIPT: &str = include_str!("../../../assets/live.js");
const CHART_STYLE: &str = include_str!("../../../third_party/uplot/uPlot.min.css");
const CHART_SCRIPT: &str = include_str!("../../../third_party/uplot/uPlot.iife.min.js");
const CHART_LICENCE: &str = include_str!("../../../third_party/uplot/LICENSE");

/// Text of any origin: what would act or hide is made visible, what would be markup is escaped.
struct Words<'a>(&'a str);

impl Render for Words<'_> {
    fn render_to(&self, buffer: &mut String) {
        escaped(self.0).render_to(buffer);
    }
}

/// A sentence, with what stands between backticks as code.
struct Prose<'a>(&'a str);

impl Render for Prose<'_> {
    fn render_to(&self, buffer: &mut String) {
        let parts: Vec<&str> = self.0.split('`').collect();
        for (nth, part) in parts.iter().enumerate() {
            let closed = nth + 1 < parts.len();
            match (nth % 2 == 1, closed) {
                (true, true) => html! { code { (Words(part)) } }.render_to(buffer),
                (true, false) => html! { "`" (Words(part)) }.render_to(buffer),
                _ => Words(part).render_to(buffer),
            }
        }
    }
}

/// Text of several lines that stay lines.
fn lines_of(text: &str) -> Markup {
    html! { @for (nth, line) in text.lines().enumerate() { @if nth > 0 { "\n" } (Words(&line.replace('\t', "    "))) } }
}

/// A value as JSON that a `<script type="application/json">` can hold: no `<` in it, so no end of the script either.
fn json_in_script(value: &serde_json::Value) -> PreEscaped<String> {
    let mut out = String::new();
    for c in value.to_string().chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    PreEscaped(out)
}

/// Class of the colour and dash in which a thing is drawn everywhere.
fn mark(mark: Option<usize>) -> String {
    mark.map_or(String::new(), |mark| format!("s{}", mark % super::MARKS))
}

/// A name with the mark in which it is drawn.
fn named(name: &Name) -> Markup {
    match name.mark {
        Some(_) => html! { span class={ "k " (mark(name.mark)) } { (Words(&name.text)) } },
        None => html! { (Words(&name.text)) },
    }
}

/// What is being put together.
struct Page {
    form: Forms,
    /// Charts of ratios so far: each has a ground with a number.
    forests: Cell<usize>,
}

/// The report as a page.
pub(crate) fn html(document: &Document) -> String {
    let policy = policy::policy(&[CHART_STYLE, STYLE], &[CHART_SCRIPT, SCRIPT], Reach::Nothing);
    whole(document, &policy, None)
}

/// The whole page; a live one has something above the answer.
fn whole(document: &Document, policy: &str, above: Option<&Markup>) -> String {
    let page = Page {
        form: if document.lean {
            Forms::LEAN_PAGE
        } else {
            Forms::FULL_PAGE
        },
        forests: Cell::new(0),
    };
    let sections: Vec<&Section> = document
        .read_from_the_top()
        .into_iter()
        .filter(|section| section.shown(page.form).next().is_some())
        .collect();
    let whole = html! {
        (PreEscaped("<!doctype html>\n"))
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="generator" content="assay";
                meta name="referrer" content="no-referrer";
                // Else a browser asks for one, where there is nothing.
                @if above.is_some() { link rel="icon" href="data:,"; }
                title { (Words(&document.study)) " - Assay report" }
                style { (PreEscaped(CHART_STYLE)) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                (bar(document, &sections))
                main {
                    @if let Some(above) = above { (above) }
                    (answer(&page, document))
                    @for section in &sections { (of_section(&page, section)) }
                    (licence())
                }
                footer { p { (Words(&document.imprint)) } }
                script { (PreEscaped(CHART_SCRIPT)) }
                script { (PreEscaped(SCRIPT)) }
                @if above.is_some() { script { (PreEscaped(LIVE_SCRIPT)) } }
            }
        }
    };
    whole.into_string()
}

fn bar(document: &Document, sections: &[&Section]) -> Markup {
    html! {
        a class="skip" href="#answer" { "To the answer" }
        header class="bar" {
            div {
                span class="brand" { "Assay" } " "
                span class="study" { (Words(&document.study)) }
                nav aria-label="Sections" { @for one in sections { a href={ "#" (one.id) } { (one.name) } } }
                button type="button" id="theme" hidden aria-label="Colours: as the system" { "Colours: auto" }
            }
        }
    }
}

fn answer(page: &Page, document: &Document) -> Markup {
    html! {
        section id="answer" class="answer" {
            h1 { (Prose(&document.question)) }
            p class="lead" { (Prose(&document.answer)) }
            (blocks(page, &document.opening))
        }
    }
}

fn of_section(page: &Page, section: &Section) -> Markup {
    let title = if section.title.is_empty() {
        section.name
    } else {
        &section.title
    };
    html! {
        section id=(section.id) aria-labelledby={ (section.id) "-title" } {
            h2 id={ (section.id) "-title" } { (Words(title)) }
            (blocks(page, &section.blocks))
        }
    }
}

/// Parts shown at once; of more, all but the first are folded.
const OPEN_MAX: usize = 8;

fn blocks(page: &Page, all: &[Placed]) -> Markup {
    let is_one = |block: &&Block| matches!(block, Block::Part(part) if part.fold == Fold::OfMany);
    let many = shown(all, page.form).filter(is_one).count() > OPEN_MAX;
    html! {
        @for (nth, block) in shown(all, page.form).enumerate() {
            @match block {
                Block::Part(one) => (part(page, one, many, nth < 2)),
                block => (put(page, block)),
            }
        }
    }
}

fn put(page: &Page, block: &Block) -> Markup {
    html! {
        @match block {
            Block::Text(text) => p { (Prose(text)) },
            Block::Warning(text) => p class="warn" { (Prose(text)) },
            Block::Note(text) => p class="quiet" { (Prose(text)) },
            Block::Label(text) => h4 { (Words(text)) },
            Block::List(items) => (list(items)),
            Block::Facts(facts) => dl class="about" {
                @for (name, value) in facts { div { dt { (name) } dd { (Words(value)) } } }
            },
            Block::Tally(tags, of, more) => p class="doubt" {
                @for (tag, tone) in tags { (pill(tag, *tone)) " " }
                (Words(of))
                @if let Some((id, words)) = more { " " a href={ "#" (id) } { (words) } }
            },
            Block::Table(one) => (tables::table(page, one)),
            Block::Chart(Chart::Lines(chart)) => (lines::plot(chart)),
            Block::Chart(Chart::Scatters(all)) => (scatters(all)),
            Block::Chart(Chart::OverTime(chart)) => (over_time::over_time(chart)),
            Block::Verbatim(text) => pre tabindex="0" { (lines_of(text)) },
            Block::Part(one) => (part(page, one, false, true)),
        }
    }
}

fn part(page: &Page, one: &Part, many: bool, first: bool) -> Markup {
    let inside = blocks(page, &one.blocks);
    let heading = html! {
        h3 { (Words(&one.title)) @if !one.about.is_empty() { span class="aside" { (Words(&one.about)) } } }
    };
    html! {
        @match one.fold {
            Fold::Always => details class="paper" { summary { (Words(&one.title)) } (inside) },
            Fold::OfMany if many => details class="phase" open[first] {
                summary { (heading) }
                (inside)
            },
            _ => div class="phase" { (heading) (inside) },
        }
    }
}

fn list(items: &[Item]) -> Markup {
    let tagged = items.iter().any(|item| item.tag.is_some());
    html! {
        ul class=[tagged.then_some("doubts")] {
            @for item in items {
                li { @if let Some((tag, tone)) = &item.tag { (pill(tag, *tone)) " " } (Prose(&item.text)) }
            }
        }
    }
}

/// A word in a frame.
fn pill(word: &str, tone: Tone) -> Markup {
    html! { span class={ "status " (class(tone)) } { (Words(word)) } }
}

/// Class of a tone; page.css has them.
fn class(tone: Tone) -> &'static str {
    match tone {
        Tone::Better => "better",
        Tone::Worse => "worse",
        Tone::Equal => "equal",
        Tone::Open => "open",
        Tone::Clear => "clear",
        Tone::Valid => "valid",
        Tone::Note => "note",
        Tone::Suspect => "suspect",
        Tone::Invalid => "invalid",
    }
}

/// Pictures of one name together.
fn scatters(all: &[Scatter]) -> Markup {
    html! {
        @for of in all.chunk_by(|a, b| a.name.text == b.name.text) {
            div class="file" {
                h4 { (named(&of[0].name)) }
                div class="strips" { @for one in of { (drawings::scatter(one)) } }
            }
        }
    }
}

/// The library is part of the page, and its licence asks to be.
fn licence() -> Markup {
    html! {
        details class="paper" {
            summary { "Licence of the chart library in this page" }
            p { "uPlot 1.6.32" }
            pre tabindex="0" { (lines_of(CHART_LICENCE)) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_text() {
        let wild = "<script>&\u{202e}\n\" onclick='x'";
        let page = html! { td title=(Words(wild)) { (Words(wild)) } }.into_string();
        assert_eq!(
            page,
            "<td title=\"&lt;script&gt;&amp;\\u{202e}\\n&quot; onclick='x'\">&lt;script&gt;&amp;\\u{202e}\\n&quot; \
                 onclick='x'</td>"
        );
    }

    #[test]
    fn what_stands_between_backticks_is_code() {
        let said = |text| Prose(text).render().into_string();
        assert_eq!(said("set `a<b` to 1"), "set <code>a&lt;b</code> to 1");
        assert_eq!(said("`a` and `b`"), "<code>a</code> and <code>b</code>");
        assert_eq!(said("a ` alone"), "a ` alone");
    }

    #[test]
    fn data_cannot_end_their_script() {
        let text = json_in_script(&serde_json::json!(["</script><!--", "\u{2028}"])).into_string();
        assert!(!text.contains('<') && !text.contains('\u{2028}'), "{text}");
        let back: Vec<String> = serde_json::from_str(&text).unwrap();
        assert_eq!(back, ["</script><!--", "\u{2028}"]);
    }

    #[test]
    fn lines_stay_lines() {
        assert_eq!(
            lines_of("a <b>\r\n\tc\x1b[2J").into_string(),
            "a &lt;b&gt;\n    c\\u{1b}[2J"
        );
    }
}
