//! A live page: the report with how far its study is above it, and a script that asks for more.
//!
//! Takes the head of a live page, gives its part and its policy. Prevents: a
//! live page that is another page than the report, and one that may reach more than its own address.

use super::policy::{Reach, policy};
use super::{CHART_SCRIPT, CHART_STYLE, LIVE_SCRIPT, Page, SCRIPT, STYLE, Words, pill, tables, whole};
use crate::document::{Document, Forms, LiveHead};
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

/// Which figures a live page shows, and whose they are.
#[derive(Clone, Copy, Debug)]
pub struct Edition<'a> {
    /// Counts from 1; a page asks for the figures again where it grows.
    pub version: u64,
    /// The watcher's secret mark. A page takes answers with its own mark only.
    pub sender: &'a str,
}

/// What a live page may do: its own scripts and styles, and requests to where it came from.
pub fn live_policy() -> String {
    policy(
        &[CHART_STYLE, STYLE],
        &[CHART_SCRIPT, SCRIPT, LIVE_SCRIPT],
        Reach::OwnAddress,
    )
}

/// The report as a live page.
pub(crate) fn live_page(document: &Document, head: &LiveHead, edition: Edition<'_>) -> LivePage {
    let policy = live_policy();
    LivePage {
        text: whole(document, &policy, Some(&now(head, edition))),
        policy,
    }
}

pub(crate) fn live_now(head: &LiveHead, edition: Edition<'_>) -> String {
    now(head, edition).into_string()
}

/// The part of the page that says how far the study is; the script puts the next one in its place.
fn now(head: &LiveHead, Edition { version, sender }: Edition<'_>) -> Markup {
    let page = Page {
        form: Forms::FULL_PAGE,
        forests: Cell::new(0),
    };
    let (word, tone) = head.state;
    html! {
        section id="now" aria-label="How far the study is" data-version=(version) data-sender=(sender)
            data-over=(head.is_over)
        {
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

#[cfg(test)]
mod tests {
    use super::*;

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
