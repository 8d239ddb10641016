//! A small drawing of an interval that narrows.
//!
//! Takes its looks, gives a drawing. Prevents: a look far wider than the others that hides them.

use super::class;
use super::scale::percent;
use crate::document::Narrowing;
use maud::{Markup, html};

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
}
