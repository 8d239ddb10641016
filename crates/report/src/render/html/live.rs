//! A live page: the report with how far its study is above it, and a script that asks for more.
//!
//! Takes the head of a live page, gives its part, its policy, and small drawings of intervals that narrow. Prevents: a
//! live page that is another page than the report, and one that may reach more than its own address.

use super::policy::{Reach, policy};
use super::scale::percent;
use super::{CHART_SCRIPT, CHART_STYLE, LIVE_SCRIPT, Page, SCRIPT, STYLE, Words, class, pill, tables};
use crate::document::{Forms, LiveHead, Narrowing};
use maud::{Markup, html};
use std::cell::Cell;

/// A live page, and what it may do.
#[derive(Clone, Debug)]
pub struct LivePage {
    /// The page.
    pub text: String,
    /// Its `Content-Security-Policy`, which it has inside too.
    pub policy: String,
}

/// What a live page may do: its own scripts and styles, and requests to where it came from.
pub fn live_policy() -> String {
    policy(
        &[CHART_STYLE, STYLE],
        &[CHART_SCRIPT, SCRIPT, LIVE_SCRIPT],
        Reach::OwnAddress,
    )
}

/// What a live page has and a report has not.
pub(super) struct Live<'a> {
    pub(super) head: &'a LiveHead,
    pub(super) version: u64,
}

pub(crate) fn live_now(head: &LiveHead, version: u64) -> String {
    now(&Live { head, version }).into_string()
}

/// The part of the page that says how far the study is; the script puts the next one in its place.
pub(super) fn now(live: &Live<'_>) -> Markup {
    let (head, version) = (live.head, live.version);
    let page = Page {
        form: Forms::FULL_PAGE,
        forests: Cell::new(0),
    };
    let (word, tone) = head.state;
    html! {
        section id="now" aria-label="How far the study is" data-version=(version) data-over=(head.is_over) {
            p class="state" { (pill(word, tone)) " " (Words(&head.said)) }
            @if let Some(share) = head.share {
                progress max="1" value=(format!("{share:.4}")) aria-label="Phases done" {}
                p class="quiet" { (crate::format::percent((share * 100.0).floor() / 100.0)) " of all phases planned" }
            }
            dl class="about" {
                @for (name, value) in &head.facts { div { dt { (name) } dd { (Words(value)) } } }
            }
            @if let Some(stacks) = &head.stacks { (tables::table(&page, stacks)) }
        }
    }
}

/// A page that says why there is none.
pub(crate) fn live_trouble(words: &str) -> String {
    html! {
        (maud::PreEscaped("<!doctype html>\n"))
        html lang="en" {
            head {
                meta charset="utf-8";
                link rel="icon" href="data:,";
                title { "Assay" }
                style { (maud::PreEscaped(STYLE)) }
            }
            body { main { section {
                p class="warn" { (Words(words)) }
                p { "Load this page again to try once more." }
            } } }
        }
    }
    .into_string()
}

/// Height of a drawing.
const HEIGHT: f64 = 44.0;
/// The drawing reaches so many times as far as the last interval at most: an early look may be far wider.
const FARTHEST: f64 = 3.0;

/// One line a look, from low to high, on a logarithmic scale around 1; an end beyond it is cut by the frame.
pub(super) fn narrowing(one: &Narrowing) -> Markup {
    let Some(last) = one.looks.last() else {
        return html! { "-" };
    };
    let far = |values: [f64; 3]| {
        let finite = values
            .into_iter()
            .map(|value| value.ln().abs())
            .filter(|far| far.is_finite());
        finite.fold(0.0, f64::max)
    };
    let margin = one.margin.ln_1p();
    let most = one
        .looks
        .iter()
        .map(|look| far([look.ratio, look.low, look.high]))
        .fold(0.0, f64::max);
    let reach = most
        .min(FARTHEST * far([last.ratio, last.low, last.high]))
        .max(2.0 * margin)
        * 1.08;
    let y = |value: f64| {
        let place = if reach > 0.0 { value.ln() / reach } else { 0.0 };
        percent(0.5 - 0.5 * place.clamp(-1.2, 1.2))
    };
    let count = one.looks.len().max(4) as f64;
    let blocks: Vec<String> = one.looks.iter().map(|look| look.blocks.to_string()).collect();
    let top = y(1.0 + one.margin);
    let height = percent(if reach > 0.0 { margin / reach } else { 0.0 });
    html! {
        svg class={ "narrowing " (class(one.tone)) } height=(HEIGHT) aria-hidden="true" {
            rect class="margin" x="0" width="100%" y=(top) height=(height) {}
            line class="one" x1="0" x2="100%" y1="50%" y2="50%" {}
            @for (nth, look) in one.looks.iter().enumerate() {
                @let x = percent((nth as f64 + 0.5) / count);
                line class="look" x1=(x) x2=(x) y1=(y(look.low)) y2=(y(look.high)) {}
                circle cx=(x) cy=(y(look.ratio)) r="3" {}
            }
        }
        i { "after " (blocks.join(", ")) " blocks" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{Look, Tone};

    #[test]
    fn each_look_is_a_line_and_numbers_without_end_are_none() {
        let look = |blocks, low, high| Look {
            blocks,
            ratio: 0.9,
            low,
            high,
        };
        let drawn = narrowing(&Narrowing {
            looks: vec![look(4, 0.0, f64::INFINITY), look(6, 0.8, 1.01)],
            margin: 0.05,
            tone: Tone::Open,
        })
        .into_string();
        assert_eq!(drawn.matches("class=\"look\"").count(), 2);
        assert!(drawn.contains("after 4, 6 blocks"), "{drawn}");
        assert!(!drawn.contains("NaN") && !drawn.contains("inf"), "{drawn}");
    }

    #[test]
    fn a_live_page_reaches_its_own_address_and_no_other() {
        let policy = live_policy();
        assert!(
            policy.starts_with("default-src 'none'; ") && policy.contains("connect-src 'self'"),
            "{policy}"
        );
        assert!(!policy.contains("unsafe") && !policy.contains("http"), "{policy}");
    }
}
