//! Small drawings: shapes of distributions, ways from one value to another, bars, rates over time, pictures of points.
//!
//! Takes one value of the document each, gives SVG. Their numbers stand beside them, so that they are silent for
//! readers that speak. Prevents: drawings of one column that are drawn to different scales.

use super::scale::{LogScale, line, percent, tick};
use super::{Words, mark};
use crate::document::{Bar, Distribution, Scatter};
use maud::{Markup, html};

/// Parts of the axis in which values are counted.
const PARTS: usize = 72;
const PARTS_LEAN: usize = 28;
/// Height of the drawing, and of the line on which the shape stands.
const HEIGHT: f64 = 30.0;
const FLOOR: f64 = 24.0;

pub(super) fn shape(one: &Distribution, scale: &LogScale, of: Option<usize>, lean: bool) -> Markup {
    let parts = if lean { PARTS_LEAN } else { PARTS };
    let mut counts = vec![0u64; parts];
    for (value, count) in &one.counts {
        let part = (scale.place(*value as f64) * parts as f64) as usize;
        let part = &mut counts[part.min(parts - 1)];
        *part = part.saturating_add(*count);
    }
    let across = |value: u64| format!("{:.1}", scale.place(value as f64) * parts as f64);
    let end = |at: Option<&(u64, u64)>| at.map_or(0, |(value, _)| *value);
    let mut marks = format!(
        "M{},27H{}",
        across(end(one.counts.first())),
        across(end(one.counts.last()))
    );
    // Median tall, p99 and p99.9 short.
    for (value, top) in one.quantiles.iter().zip([3, 18, 22]) {
        marks.push_str(&format!("M{},{top}V{HEIGHT}", across(*value)));
    }
    html! {
        svg class="shape" viewBox={ "0 0 " (parts) " " (HEIGHT) } preserveAspectRatio="none" aria-hidden="true" {
            path class=(mark(of)) d=(steps(&counts)) {}
            path class="q" d=(marks) {}
        }
    }
}

/// The outline of a histogram: a step a part, each relative to the one before, equal ones in one.
fn steps(counts: &[u64]) -> String {
    let most = counts.iter().copied().max().unwrap_or(0).max(1) as f64;
    let first = counts.iter().position(|count| *count > 0).unwrap_or(0);
    let last = counts.iter().rposition(|count| *count > 0).unwrap_or(0);
    let mut path = format!("M{first},{FLOOR}");
    let (mut level, mut run) = (0, 0);
    for count in &counts[first..=last] {
        let next = (*count as f64 / most * (FLOOR - 1.0)).round() as i64;
        if next != level {
            if run > 0 {
                path.push_str(&format!("h{run}"));
            }
            path.push_str(&format!("v{}", level - next));
            (level, run) = (next, 0);
        }
        run += 1;
    }
    path.push_str(&format!("h{run}v{level}z"));
    path
}

/// Ring: the first value; dot: the second; tick: the third.
pub(super) fn way(values: &[Option<f64>; 3], scale: &LogScale, of: Option<usize>) -> Markup {
    let [first, second, third] = values.map(|value| value.map(|value| scale.percent(value)));
    html! {
        svg class="dumbbell" aria-hidden="true" {
            g class=(mark(of)) {
                @if let (Some(from), Some(to)) = (&first, &second) { (line("way", [from, "50%"], [to, "50%"])) }
                @if let Some(x) = &third { (line("way", [x, "15%"], [x, "85%"])) }
                @if let Some(x) = &second { circle class="end" cx=(x) cy="50%" r="4" {} }
                @if let Some(x) = &first { circle class="begin" cx=(x) cy="50%" r="6" {} }
            }
        }
    }
}

pub(super) fn bar(one: &Bar, most: f64, of: Option<usize>) -> Markup {
    let lines = [
        (one.part, "cache", "25%", "75%"),
        (one.whole, "data", "4%", "96%"),
        (one.limit, "budget", "4%", "96%"),
    ];
    html! {
        svg class="bar-of-memory" aria-hidden="true" {
            rect class=(mark(of)) x="0" y="25%" width=(percent(one.size / most)) height="50%" {}
            @for (value, class, from, to) in lines {
                @if let Some(value) = value {
                    @let x = percent(value / most);
                    (line(class, [&x, from], [&x, to]))
                }
            }
        }
    }
}

/// From nothing on, with round marks.
pub(super) fn axis_of_bars(most: f64) -> Markup {
    let rough = most / 4.0;
    let mut step = 1.0;
    while step * 2.0 <= rough {
        step *= 2.0;
    }
    let at = |nth: u32| (nth, f64::from(nth) * step);
    let words = |at: f64| match at {
        0.0 => "0".into(),
        at => crate::format::bytes(at)
            .replace(".00", "")
            .replace(".50", ".5")
            .replace(".0 ", " "),
    };
    html! {
        svg class="axis" aria-hidden="true" {
            @for (nth, at) in (0..).map(at).take_while(|(_, at)| *at < most * 0.97) {
                @let class = if nth % 2 == 0 { "tick" } else { "tick minor" };
                (tick(&percent(at / most), class, &words(at)))
            }
        }
    }
}

/// A rate over time in a word's size; from zero, so that a stall goes down to the line.
pub(super) fn spark(rates: &[f64], lean: bool) -> Option<Markup> {
    let halved: Vec<f64> = rates.chunks(2).map(stats::mean).collect();
    let rates: &[f64] = if lean { &halved } else { rates };
    let most = rates.iter().copied().fold(0.0, f64::max);
    if rates.len() < 2 || most <= 0.0 {
        return None;
    }
    let height = |rate: &f64| (20.0 - 18.0 * rate / most).round() as i64;
    let heights: Vec<i64> = rates.iter().map(height).collect();
    let mut path = format!("M0,{}l", heights[0]);
    for pair in heights.windows(2) {
        path.push_str(&format!("1,{} ", pair[1] - pair[0]));
    }
    Some(html! {
        svg class="spark" viewBox={ "0 0 " (rates.len() - 1) " 21" } preserveAspectRatio="none" aria-hidden="true" {
            path d=(path.trim_end()) {}
        }
    })
}

/// Height of a picture in its own units.
const PICTURE: f64 = 200.0;
/// Classes by the share of neighbours lost.
const TORN: [&str; 4] = ["t1", "t2", "t3", "t4"];

/// Dots across the file, as high as their place, and a band below that is dark where neighbours were lost.
pub(super) fn scatter(one: &Scatter) -> Markup {
    let label = format!("{} after {}: {}", one.name.text, one.after, one.about);
    html! {
        figure {
            figcaption { b { "after " (Words(&one.after)) } ": " (Words(&one.about)) }
            svg class={ "strip " (mark(one.name.mark)) } viewBox="0 0 512 200" preserveAspectRatio="none" role="img"
                aria-label=(Words(&label)) {
                @for band in 1..one.bands.min(64) {
                    @let y = (PICTURE * f64::from(band) / f64::from(one.bands)).round();
                    path class="rule" d={ "M0," (y) "H512" } {}
                }
                path class="dots" d=(dots(&one.points, one.bands)) {}
            }
            svg class="torn" viewBox="0 0 256 8" preserveAspectRatio="none" aria-hidden="true" {
                @for (level, path) in torn(&one.lost).iter().enumerate() {
                    @if !path.is_empty() { path class=(TORN[level]) d=(path) {} }
                }
            }
        }
    }
}

/// A dot a point. Moves are relative: half the letters.
fn dots(points: &[Option<(f64, f64)>], bands: u32) -> String {
    let count = points.len().max(1) as f64;
    let mut path = String::new();
    let mut at: Option<(i64, i64)> = None;
    for (nth, point) in points.iter().enumerate() {
        let Some((band, up)) = point else { continue };
        let x = (512.0 * nth as f64 / count).round() as i64;
        // Each band has some air at both ends.
        let up = 0.03 + 0.94 * up;
        let y = (PICTURE * (1.0 - (band + up) / f64::from(bands.max(1)))).round() as i64;
        match at {
            None => path.push_str(&format!("M{x},{y}h0")),
            Some((from_x, from_y)) => path.push_str(&format!("m{},{}h0", x - from_x, y - from_y)),
        }
        at = Some((x, y));
    }
    path
}

/// Bars of each darkness; a part with less than a hundredth lost has none.
fn torn(lost: &[f64]) -> [String; 4] {
    let mut paths = [const { String::new() }; 4];
    let level = |lost: &f64| match *lost {
        lost if lost < 0.01 => None,
        lost if lost < 0.1 => Some(0),
        lost if lost < 0.35 => Some(1),
        lost if lost < 0.65 => Some(2),
        _ => Some(3),
    };
    let levels: Vec<Option<usize>> = lost.iter().map(level).collect();
    let mut from = 0;
    for run in levels.chunk_by(|a, b| a == b) {
        if let Some(level) = run[0] {
            let width = run.len();
            paths[level].push_str(&format!("M{from},0h{width}v8h-{width}z"));
        }
        from += run.len();
    }
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_outline_closes() {
        assert_eq!(steps(&[0, 1, 1, 4, 0, 0]), "M1,24v-6h2v-17h1v23z");
        assert_eq!(steps(&[0, 0]), "M0,24h1v0z");
    }

    #[test]
    fn dots_are_the_points_and_the_band_their_neighbours() {
        let points = [Some((0.0, 0.0)), None, Some((0.0, 0.5)), Some((0.0, 1.0))];
        assert_eq!(dots(&points, 1), "M0,194h0m256,-94h0m128,-94h0");
        assert_eq!(
            torn(&[0.0, 0.0, 0.5, 0.5, 1.0, 0.005]),
            ["", "", "M2,0h2v8h-2z", "M4,0h1v8h-1z"].map(String::from)
        );
    }
}
