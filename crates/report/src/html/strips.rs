//! Pictures of files: where evenly spread points of each lie on what is below it, and where neighbours were torn apart.
//!
//! Takes the layouts, puts figures on the page: dots across the file, as high as their place, and a band below that is dark where
//! neighbouring pages are no neighbours below. Prevents: fragmentation told as a number that nobody can picture.

use super::Source;
use super::figure_cells::stack_name;
use super::markup::Markup;
use crate::layouts::{Layout, LayoutMoment, LayoutPicture, lost, place, whole};

/// Files drawn; of more stacks or files only these.
const FILES_MAX: usize = 24;
/// Height of a picture in its own units, in which places are drawn.
const HEIGHT: f64 = 200.0;

pub(crate) fn strips(body: &mut Markup, source: &Source<'_>) {
    let layouts = &source.analysis.layouts;
    let drawn: Vec<&Layout> = layouts
        .iter()
        .filter(|one| one.moments.iter().any(|moment| moment.picture.is_some()))
        .collect();
    if drawn.is_empty() {
        return;
    }
    let alone = layouts.iter().all(|one| one.file == "data 0");
    body.raw("<h3>Where the blocks lie</h3>");
    for one in drawn.iter().take(FILES_MAX) {
        body.raw("<div class=file><h4>");
        stack_name(body, &source.mark(&one.stack), &place(one, alone));
        body.raw("</h4><div class=strips>");
        for moment in &one.moments {
            if let Some(picture) = &moment.picture {
                let of = (&*source.mark(&one.stack), &*place(one, alone));
                figure(body, of, moment, picture, one.bounds());
            }
        }
        body.raw("</div></div>");
    }
    body.raw(
        "<p class=\"quiet\">Left to right: the file from its begin to its end, 512 points of it. Upwards: the place of the point on \
         what is below, from the lowest of the file to the highest, to one scale before and after. A line that rises is a file in order; a cloud is a file in pieces. The band \
         below is dark where pages next to each other in the file are not next to each other below. One block; the table above has \
         the medians of all.",
    );
    if drawn.iter().any(|one| one.moments.iter().any(is_of_disks)) {
        body.raw(" Where a stack knows its disks, each has a band of its own: stripes climb in all bands at once.");
    }
    if source.analysis.stacks.iter().any(|stack| stack.kind == "btrfs") {
        body.raw(" Addresses of btrfs are its own: how its profile spreads them over several LUNs is not in them.");
    }
    body.raw("</p>");
    if drawn.len() > FILES_MAX {
        body.element(
            "p",
            &[("class", "quiet")],
            &format!("{} more files are in the JSON form.", drawn.len() - FILES_MAX),
        );
    }
}

fn is_of_disks(moment: &LayoutMoment) -> bool {
    moment.picture.as_ref().is_some_and(|picture| picture.devices > 1)
}

fn figure(
    body: &mut Markup,
    (mark, of): (&str, &str),
    moment: &LayoutMoment,
    picture: &LayoutPicture,
    bounds: (f64, f64),
) {
    let count = moment.extents.map_or("no".into(), |figure| whole(figure.median));
    let away = moment
        .adjacency_lost
        .map_or("unknown".into(), |figure| lost(figure.median));
    let words = format!("{count} extents, {away} of neighbours lost");
    body.raw("<figure><figcaption>");
    body.element("b", &[], &format!("after {}", moment.words()));
    body.text(&format!(": {words}"));
    body.raw("</figcaption>");
    let label = format!("{of} after {}: {words}", moment.words());
    body.open(
        "svg",
        &[
            ("class", &format!("strip {mark}")),
            ("viewBox", "0 0 512 200"),
            ("preserveAspectRatio", "none"),
            ("role", "img"),
            ("aria-label", &label),
        ],
    );
    for disk in 1..picture.devices {
        let y = HEIGHT * f64::from(disk) / f64::from(picture.devices);
        body.empty("path", &[("class", "rule"), ("d", &format!("M0,{y:.0}H512"))]);
    }
    body.empty("path", &[("class", "dots"), ("d", &dots(picture, bounds))]);
    body.raw("</svg><svg class=torn viewBox=\"0 0 256 8\" preserveAspectRatio=none aria-hidden=true>");
    for (level, path) in torn(picture).iter().enumerate().filter(|(_, path)| !path.is_empty()) {
        body.empty("path", &[("class", TORN[level]), ("d", path)]);
    }
    body.raw("</svg></figure>");
}

/// A dot a point. Moves are relative: half the letters.
fn dots(picture: &LayoutPicture, (low, high): (f64, f64)) -> String {
    let count = picture.places.len().max(1) as f64;
    let mut path = String::new();
    let mut at: Option<(i64, i64)> = None;
    for (nth, place) in picture.places.iter().enumerate() {
        let Some(place) = place else { continue };
        let x = (512.0 * nth as f64 / count).round() as i64;
        let (disk, up) = picture.on_disk(*place);
        // Each disk has a band, with some air at both ends.
        let up = 0.03 + 0.94 * (up - low) / (high - low);
        let y = (HEIGHT * (1.0 - (disk + up) / f64::from(picture.devices.max(1)))).round() as i64;
        match at {
            None => path.push_str(&format!("M{x},{y}h0")),
            Some((from_x, from_y)) => path.push_str(&format!("m{},{}h0", x - from_x, y - from_y)),
        }
        at = Some((x, y));
    }
    path
}

/// Classes by the share of neighbours lost.
const TORN: [&str; 4] = ["t1", "t2", "t3", "t4"];

/// Bars of each darkness; a part of the file with less than a hundredth lost has none.
fn torn(picture: &LayoutPicture) -> [String; 4] {
    let mut paths = [const { String::new() }; 4];
    let level = |share: f64| match 1.0 - share {
        lost if lost < 0.01 => None,
        lost if lost < 0.1 => Some(0),
        lost if lost < 0.35 => Some(1),
        lost if lost < 0.65 => Some(2),
        _ => Some(3),
    };
    let levels: Vec<Option<usize>> = picture.adjacent.iter().map(|share| level(*share)).collect();
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
    fn dots_are_the_points_and_the_band_their_neighbours() {
        let picture = LayoutPicture {
            block: 0,
            devices: 1,
            places: vec![Some(0.0), None, Some(0.5), Some(1.0)],
            adjacent: vec![1.0, 1.0, 0.5, 0.5, 0.0, 0.995],
        };
        assert_eq!(dots(&picture, (0.0, 1.0)), "M0,194h0m256,-94h0m128,-94h0");
        let upper = LayoutPicture {
            places: vec![Some(0.4), Some(0.6)],
            ..picture.clone()
        };
        assert_eq!(dots(&upper, (0.4, 0.6)), "M0,194h0m256,-188h0");
        assert_eq!(
            torn(&picture),
            ["", "", "M2,0h2v8h-2z", "M4,0h1v8h-1z"].map(String::from)
        );
    }
}
