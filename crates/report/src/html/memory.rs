//! Memory at its highest against the size of the data, as bars to one scale.
//!
//! Takes the memory of the stacks, puts a table with bars on the page. Prevents: a stack that is fast by the memory it takes.

use super::Source;
use super::figure_cells::{Column, Shown, column, framed, stack_name, table};
use super::markup::Markup;
use super::scale::percent as along;
use crate::format::{bytes, percent};
use crate::memory::MemoryOfStack;

pub(crate) fn part(body: &mut Markup, source: &Source<'_>) {
    let rows = &source.analysis.memory;
    let most = rows
        .iter()
        .flat_map(|one| [Some(one.bytes_peak), one.data_bytes, one.budget_bytes])
        .flatten()
        .fold(0.0, f64::max);
    if most <= 0.0 {
        return;
    }
    // Some air, so that the line of the data stands inside.
    let scale = most * 1.04;
    body.raw("<h3 id=memory>Memory against data<span class=aside>at the highest of all phases</span></h3>");
    let size = |of: fn(&MemoryOfStack) -> Option<f64>| {
        move |one: &MemoryOfStack| of(one).map_or(Shown::Nothing, |value| Shown::Text(bytes(value)))
    };
    let columns: Vec<Column<'_, MemoryOfStack>> = vec![
        column("bar", "", |one: &MemoryOfStack| {
            Shown::Chart(bar(one, scale, &source.mark(&one.stack)))
        })
        .headed(axis(scale)),
        column("memory", "at most", size(|one| Some(one.bytes_peak))),
        column("memory", "of the data", |one: &MemoryOfStack| {
            one.of_data()
                .map_or(Shown::Nothing, |share| Shown::Text(percent(share)))
        }),
        column("buffer cache", "the engine's", size(|one| one.buffer_cache_bytes)),
        column("data", "", size(|one| one.data_bytes)),
        column("budget", "", |one: &MemoryOfStack| {
            match (one.budget_bytes, one.enforced) {
                (Some(budget), true) => Shown::Text(bytes(budget)),
                (Some(budget), false) => Shown::Text(format!("{}, not enforced", bytes(budget))),
                (None, _) => Shown::Nothing,
            }
        }),
        column("highest", "in", |one: &MemoryOfStack| Shown::Text(one.phase.clone())).of_words(),
    ];
    table(
        body,
        &framed(source, "Memory against data", "Stack"),
        rows,
        &columns,
        |page, one| {
            stack_name(page, &source.mark(&one.stack), &one.stack);
        },
    );
    body.raw(
        "<p class=\"quiet\">Bar: the engine's own memory (a database server's and a pool's processes among it) and the page cache it caused; the inner line: \
         the engine's buffer cache. Tall line: the size of the data. Dashed: the budget. What a device or an array has of its own is unknown.</p>",
    );
}

fn bar(one: &MemoryOfStack, scale: f64, mark: &str) -> Markup {
    let mut page = Markup::new();
    page.raw("<svg class=bar-of-memory aria-hidden=true>");
    let width = along(one.bytes_peak / scale);
    let shape = [("x", "0"), ("y", "25%"), ("width", &*width), ("height", "50%")];
    page.empty("rect", &[&[("class", mark)], &shape[..]].concat());
    for (value, class, from, to) in [
        (one.buffer_cache_bytes, "cache", "25%", "75%"),
        (one.data_bytes, "data", "4%", "96%"),
        (one.budget_bytes, "budget", "4%", "96%"),
    ] {
        if let Some(value) = value {
            let x = along(value / scale);
            super::forest::line(&mut page, class, &x, from, &x, to);
        }
    }
    page.raw("</svg>");
    page
}

/// From nothing on, with round marks.
fn axis(scale: f64) -> Markup {
    let rough = scale / 4.0;
    let mut step = 1.0;
    while step * 2.0 <= rough {
        step *= 2.0;
    }
    let mut page = Markup::new();
    page.raw("<svg class=axis aria-hidden=true>");
    let mut at = 0.0;
    while at < scale * 0.97 {
        let x = along(at / scale);
        let class = if ((at / step) as u64).is_multiple_of(2) {
            "tick"
        } else {
            "tick minor"
        };
        let ends = [("x1", &*x), ("x2", &x), ("y1", "80%"), ("y2", "100%")];
        page.empty("line", &[&[("class", class)], &ends[..]].concat());
        let words = if at == 0.0 {
            "0".into()
        } else {
            bytes(at).replace(".00", "").replace(".50", ".5").replace(".0 ", " ")
        };
        page.element("text", &[("class", class), ("x", &x), ("y", "65%")], &words);
        at += step;
    }
    page.raw("</svg>");
    page
}
