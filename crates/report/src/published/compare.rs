//! Published ratios beside measured ones with their intervals, and what may be said of both.
//!
//! Takes the gathered file, the comparisons and the dropped blocks; gives a [`Published`]. A measured ratio is that
//! of the verdict where the study made one; else, and for a change from one phase to another on the same stack, a
//! plain 95 % interval over blocks that is not tested. Prevents: two numbers that look alike called agreement.

use super::source::{Phase, Source, find};
use crate::cells::metric::Metric;
use crate::format::ratio;
use crate::history::Book;
use crate::ranking::drops::Dropped;
use crate::ranking::verdicts::Comparison;
use crate::ranking::{pairs, refusals};
use ledger::LedgerError;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;

/// Ratios of ours that are shown beside one of a publication; a study maps a few.
const RATIOS_MAX: usize = 256;
/// A longer table of pairs maps nothing: no study writes one, and it is read for each row of capacity.
const PAIRS_BYTES_MAX: usize = 64 << 10;

/// A publication beside what was measured.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Published {
    /// Its identity.
    pub source: String,
    /// What was compared.
    pub title: String,
    /// When.
    pub year: u32,
    /// On what.
    pub about: String,
    /// Its figures.
    pub figures: Vec<PublishedFigure>,
    /// Its ratios beside ours.
    pub ratios: Vec<PublishedRatio>,
}

/// Figures of a publication.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PublishedFigure {
    /// Of its stack.
    pub stack: String,
    /// In its phase.
    pub phase: String,
    /// With its unit: "reads/s".
    pub quantity: String,
    /// One a run.
    pub values: Vec<f64>,
}

/// One ratio of a publication. Above 1 is better for the first of the two.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PublishedRatio {
    /// "zfs to asm in scan", "zfs, aged scan to scan".
    pub theirs: String,
    /// Least ratio published.
    pub low: f64,
    /// Greatest ratio published; equal to `low` for a single one.
    pub high: f64,
    /// What was said of it.
    pub words: Option<String>,
    /// The same of our stacks and phases; `null` where the study maps none to it.
    pub ours: Option<String>,
    /// As measured; `null` where it could not be.
    pub measured: Option<MeasuredRatio>,
    /// What may be said of both.
    pub agreement: Agreement,
    /// The same in words.
    pub says: String,
}

/// A ratio measured here.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MeasuredRatio {
    /// The ratio.
    pub ratio: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Blocks in it.
    pub n: u32,
    /// True when it is a comparison of the study with its share of the error; else a plain 95 % interval.
    pub tested: bool,
}

impl Published {
    /// What it is, on what.
    pub(crate) fn head(&self) -> String {
        format!("{} ({}, {}): {}", self.title, self.source, self.year, self.about)
    }
}

impl PublishedFigure {
    /// One after the other.
    pub(crate) fn values(&self) -> String {
        let values: Vec<String> = self.values.iter().map(f64::to_string).collect();
        values.join(", ")
    }
}

impl PublishedRatio {
    /// "0.50 to 0.60 (what was said of it)".
    pub(crate) fn published(&self) -> String {
        let range = match self.low == self.high {
            true => ratio(self.low),
            false => format!("{} to {}", ratio(self.low), ratio(self.high)),
        };
        let words = self.words.as_ref().map(|words| format!(" ({words})"));
        range + &words.unwrap_or_default()
    }
}

impl MeasuredRatio {
    /// "0.55 (0.52 to 0.58)".
    pub(crate) fn words(&self) -> String {
        let doubt = if self.tested { "" } else { ", not tested" };
        format!(
            "{} ({} to {}{doubt})",
            ratio(self.ratio),
            ratio(self.low),
            ratio(self.high)
        )
    }
}

/// Whether a published and a measured ratio agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Agreement {
    /// Same direction, and the published ratio lies inside the measured interval; or both see no difference.
    DirectionAndSize,
    /// Same direction, another size.
    Direction,
    /// Opposite directions.
    Opposite,
    /// One of the two sees no difference beyond the margin, the other does.
    OneSeesNone,
    /// The measured interval allows more than one answer, or there is none.
    CouldNotBeTold,
}

/// `None` for a study that names no publication that this version knows.
pub(crate) fn published(
    book: &Book,
    comparisons: &[Comparison],
    dropped: &Dropped<'_>,
) -> Result<Option<Published>, LedgerError> {
    let Some(Ok(source)) = book.study.published.as_deref().map(find) else {
        return Ok(None);
    };
    let map = Map::of(book);
    let judge = Judge {
        book,
        comparisons,
        dropped,
        map,
    };
    let mut ratios = Vec::new();
    for phase in &source.phases {
        for [stack, _] in source.stacks.iter().skip(1) {
            ratios.extend(judge.between_stacks(source, phase, stack)?);
        }
        for [stack, _] in &source.stacks {
            ratios.extend(judge.between_phases(source, phase, stack)?);
        }
    }
    let figures = source.figures.iter().map(|figure| PublishedFigure {
        stack: figure.stack.clone(),
        phase: figure.phase.clone(),
        quantity: figure.quantity.clone(),
        values: figure.values.clone(),
    });
    Ok(Some(Published {
        source: source.id.clone(),
        title: source.title.clone(),
        year: source.year,
        about: source.about.clone(),
        figures: figures.collect(),
        ratios,
    }))
}

/// What the study's publication says of the capacity of the stack that ours is mapped to.
pub(crate) fn capacity_of(book: &Book, stack: &str) -> Vec<f64> {
    let Some(Ok(source)) = book.study.published.as_deref().map(find) else {
        return Vec::new();
    };
    let stacks = pairs_of(book.setting("published.stacks"), |ours| ours == stack);
    let of = stacks.first().map_or(&[][..], |(_, theirs)| source.capacity(theirs));
    of.to_vec()
}

/// Ours for theirs, as the study's settings say.
struct Map {
    stacks: Vec<(String, String)>,
    phases: Vec<(String, String)>,
}

impl Map {
    /// Of what the study has itself: a pair of anything else could not be measured.
    fn of(book: &Book) -> Map {
        let stacks: BTreeSet<&str> = book.stacks.iter().map(|stack| stack.name.as_str()).collect();
        Map {
            stacks: pairs_of(book.setting("published.stacks"), |ours| stacks.contains(ours)),
            phases: pairs_of(book.setting("published.phases"), |ours| book.place(ours).is_some()),
        }
    }

    fn stacks(&self, theirs: &str) -> impl Iterator<Item = &str> {
        ours_of(&self.stacks, theirs)
    }

    fn phases(&self, theirs: &str) -> impl Iterator<Item = &str> {
        ours_of(&self.phases, theirs)
    }
}

/// Pairs of ours and theirs in a setting, of those of ours that are wanted.
fn pairs_of(setting: Option<&str>, is_wanted: impl Fn(&str) -> bool) -> Vec<(String, String)> {
    let setting = setting.filter(|text| text.len() <= PAIRS_BYTES_MAX);
    let text = setting.map_or(String::new(), |pairs| format!("pairs = {pairs}"));
    let table: toml::Table = toml::from_str(&text).unwrap_or_default();
    let pairs = table.get("pairs").and_then(|value| value.as_table());
    let wanted = pairs.into_iter().flatten().filter(|(ours, _)| is_wanted(ours));
    wanted
        .filter_map(|(ours, theirs)| Some((ours.clone(), theirs.as_str()?.to_string())))
        .collect()
}

fn ours_of<'m>(pairs: &'m [(String, String)], theirs: &str) -> impl Iterator<Item = &'m str> {
    let of = pairs.iter().filter(move |pair| pair.1 == theirs);
    of.map(|pair| pair.0.as_str())
}

struct Judge<'b> {
    book: &'b Book,
    comparisons: &'b [Comparison],
    dropped: &'b Dropped<'b>,
    map: Map,
}

/// A ratio as it was published.
struct Claim {
    theirs: String,
    range: (f64, f64),
    words: Option<String>,
}

/// A ratio of ours: its name, stack and base, phase of the one and of the other.
type Ours<'m> = (String, [&'m str; 2], [&'m str; 2]);

impl Judge<'_> {
    /// A stack to the base in one phase.
    fn between_stacks(&self, source: &Source, phase: &Phase, stack: &str) -> Result<Vec<PublishedRatio>, LedgerError> {
        let base = source.base();
        let said = source
            .ratios
            .iter()
            .find(|ratio| ratio.stack == stack && ratio.phase == phase.id);
        let base_phase = phase.base_phase.as_ref().unwrap_or(&phase.id);
        let from_figures = oriented(source.mean(stack, &phase.id), source.mean(base, base_phase), phase);
        let Some(range) = said.map(|ratio| (ratio.low, ratio.high)).or(from_figures) else {
            return Ok(Vec::new());
        };
        let theirs = match &phase.base_phase {
            Some(before) => format!("{stack} in {} to {base} in {before}", phase.id),
            None => format!("{stack} to {base} in {}", phase.id),
        };
        let words = said.map(|ratio| ratio.words.clone());
        let pairs = (self.map.stacks(stack)).flat_map(|ours| self.map.stacks(base).map(move |base| [ours, base]));
        let mapped = pairs.flat_map(|[ours, base]| {
            let phases = self.map.phases(&phase.id);
            phases.map(move |phase| (format!("{ours} to {base} in {phase}"), [ours, base], [phase; 2]))
        });
        self.beside(&Claim { theirs, range, words }, mapped)
    }

    /// The same stack in this phase and in the one that it is a change from.
    fn between_phases(&self, source: &Source, phase: &Phase, stack: &str) -> Result<Vec<PublishedRatio>, LedgerError> {
        let Some(before) = &phase.against else {
            return Ok(Vec::new());
        };
        let Some(range) = oriented(source.mean(stack, &phase.id), source.mean(stack, before), phase) else {
            return Ok(Vec::new());
        };
        let theirs = format!("{stack}, {} to {before}", phase.id);
        let after = |ours| self.map.phases(&phase.id).map(move |after| (ours, after));
        let mapped = (self.map.stacks(stack)).flat_map(after).flat_map(|(ours, after)| {
            let earlier = self.map.phases(before);
            earlier.map(move |before| (format!("{ours}, {after} to {before}"), [ours; 2], [after, before]))
        });
        let words = None;
        self.beside(&Claim { theirs, range, words }, mapped)
    }

    /// What was published beside each of ours that the study maps to it.
    fn beside<'m>(
        &self,
        claim: &Claim,
        mut mapped: impl Iterator<Item = Ours<'m>>,
    ) -> Result<Vec<PublishedRatio>, LedgerError> {
        let mut ratios = Vec::new();
        for (name, stacks, phases) in mapped.by_ref().take(RATIOS_MAX) {
            ratios.push(self.said(claim, Some(name), self.ratio(stacks, phases)?));
        }
        if ratios.is_empty() {
            ratios.push(self.said(claim, None, None));
        }
        if mapped.next().is_some() {
            let says = format!("the study maps more to it: the first {RATIOS_MAX} are shown");
            let unshown = self.said(claim, None, None);
            ratios.push(PublishedRatio { says, ..unshown });
        }
        Ok(ratios)
    }

    fn said(&self, claim: &Claim, ours: Option<String>, measured: Option<MeasuredRatio>) -> PublishedRatio {
        let agreement = agreement(claim.range, measured.as_ref(), self.book.study.margin);
        let says = match (&ours, &measured) {
            (None, _) => "nothing of this study is mapped to it".into(),
            (_, None) => "undecided: it was not measured in two blocks or more".into(),
            (_, Some(measured)) => words_of(agreement, claim.range, measured),
        };
        PublishedRatio {
            theirs: claim.theirs.clone(),
            low: claim.range.0,
            high: claim.range.1,
            words: claim.words.clone(),
            ours,
            measured,
            agreement,
            says,
        }
    }

    /// A ratio of two cells: the study's own comparison where it made one, else over blocks.
    fn ratio(&self, stacks: [&str; 2], phases: [&str; 2]) -> Result<Option<MeasuredRatio>, LedgerError> {
        match self.tested(stacks, phases) {
            Some(tested) => Ok(Some(tested)),
            None => self.over_blocks(stacks, phases),
        }
    }

    fn tested(&self, [stack, base]: [&str; 2], [after, before]: [&str; 2]) -> Option<MeasuredRatio> {
        let found = |ratio, low, high, n| MeasuredRatio {
            ratio,
            low,
            high,
            n,
            tested: true,
        };
        for one in self
            .comparisons
            .iter()
            .filter(|one| after == before && one.phase == after)
        {
            let (Some(ratio), Some(low), Some(high), Some(n)) = (one.ratio, one.low, one.high, one.n) else {
                continue;
            };
            if one.stack == stack && one.base == base {
                return Some(found(ratio, low, high, n));
            }
            if one.stack == base && one.base == stack && low > 0.0 {
                return Some(found(1.0 / ratio, 1.0 / high, 1.0 / low, n));
            }
        }
        None
    }

    fn over_blocks(&self, stacks: [&str; 2], phases: [&str; 2]) -> Result<Option<MeasuredRatio>, LedgerError> {
        let kind_of = |phase: &str| Some(self.book.phases[self.book.place(phase)?].kind);
        let [metric, other] = phases.map(|phase| kind_of(phase).map(Metric::of));
        let Some(metric) = metric.filter(|_| metric == other) else {
            return Ok(None);
        };
        // What is not ranked is not held against a publication either.
        let objects = |nth: usize| {
            let head = self.book.place(phases[nth]).map(|place| &self.book.phases[place]);
            head.is_none_or(|head| pairs::objection_of(self.book, stacks[nth], head).is_some())
        };
        if refusals::of_file(self.book).is_some() || objects(0) || objects(1) {
            return Ok(None);
        }
        let counts = |block: &u32| phases.iter().all(|phase| self.dropped.counts(*block, phase));
        let mut ys = Vec::new();
        for block in (0..self.book.blocks()).filter(counts) {
            let value = |nth: usize| {
                let seen = self.book.at(block, stacks[nth], phases[nth]);
                seen.filter(|seen| seen.counts())
                    .map_or(Ok(None), |seen| metric.value(seen))
            };
            if let (Some(x), Some(base)) = (value(0)?, value(1)?) {
                ys.extend(stats::log_ratio(x, base, metric.orientation()));
            }
        }
        let interval = stats::ratio_interval(&ys, 0.95).filter(|i| i.low.is_finite() && i.high.is_finite());
        Ok(interval.map(|i| MeasuredRatio {
            ratio: i.middle,
            low: i.low,
            high: i.high,
            n: ys.len() as u32,
            tested: false,
        }))
    }
}

/// As a ratio above 1 when the first is better.
fn oriented(of: Option<f64>, to: Option<f64>, phase: &Phase) -> Option<(f64, f64)> {
    let (of, to) = (of.filter(|v| *v > 0.0)?, to.filter(|v| *v > 0.0)?);
    let ratio = if phase.better == "lower" { to / of } else { of / to };
    Some((ratio, ratio))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Better,
    Worse,
    None,
    Unknown,
}

fn agreement((low, high): (f64, f64), measured: Option<&MeasuredRatio>, margin: f64) -> Agreement {
    let Some(measured) = measured else {
        return Agreement::CouldNotBeTold;
    };
    let up = 1.0 + margin;
    let theirs = match () {
        () if low > up => Direction::Better,
        () if high < 1.0 / up => Direction::Worse,
        () if low >= 1.0 / up && high <= up => Direction::None,
        () => Direction::Unknown,
    };
    let ours = match () {
        () if measured.low > 1.0 / up && measured.high < up => Direction::None,
        () if measured.low > 1.0 => Direction::Better,
        () if measured.high < 1.0 => Direction::Worse,
        () => Direction::Unknown,
    };
    match (theirs, ours) {
        (Direction::Unknown, _) | (_, Direction::Unknown) => Agreement::CouldNotBeTold,
        (Direction::None, Direction::None) => Agreement::DirectionAndSize,
        // A difference that may be as small as the published one is no contradiction.
        (Direction::None, _) if high >= measured.low && low <= measured.high => Agreement::CouldNotBeTold,
        (Direction::None, _) | (_, Direction::None) => Agreement::OneSeesNone,
        (a, b) if a != b => Agreement::Opposite,
        _ if high >= measured.low && low <= measured.high => Agreement::DirectionAndSize,
        _ => Agreement::Direction,
    }
}

fn words_of(agreement: Agreement, (low, high): (f64, f64), measured: &MeasuredRatio) -> String {
    let middle = (low * high).sqrt();
    match agreement {
        Agreement::DirectionAndSize if low >= measured.low && high <= measured.high => {
            "agrees in direction and size: the published ratio lies inside the measured interval".into()
        }
        Agreement::DirectionAndSize if low <= measured.high && high >= measured.low => {
            "agrees in direction and size: the published range overlaps the measured interval".into()
        }
        Agreement::DirectionAndSize => "agrees: no difference beyond the margin in either".into(),
        Agreement::Direction if middle.ln().abs() > measured.ratio.ln().abs() => {
            "same direction, and smaller here than published".into()
        }
        Agreement::Direction => "same direction, and larger here than published".into(),
        Agreement::Opposite => "opposite direction".into(),
        Agreement::OneSeesNone if measured.low > 1.0 || measured.high < 1.0 => {
            "disagrees: a difference here, none beyond the margin published".into()
        }
        Agreement::OneSeesNone => "disagrees: no difference beyond the margin here, one published".into(),
        Agreement::CouldNotBeTold => "undecided: the measured interval allows more than one answer".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{actor, scene};
    use ledger::{PhaseKind, Setting};

    /// So many stacks for each of the two that were published, and names that the study does not have.
    fn mapped(each: usize) -> Published {
        let name = |of: &str, nth: usize| format!("{of} {nth}");
        let all = || (0..each).flat_map(|nth| ["plain", "compressed"].map(|of| (name(of, nth), of)));
        let mut scene = scene(all().map(|(ours, _)| actor(&ours, 1.0)).collect());
        scene.blocks = 2;
        scene.phases = vec![(PhaseKind::Random, "fresh".into())];
        scene.published = Some("unity-2017".into());
        let strangers = (0..500).flat_map(|nth| ["plain", "compressed"].map(|of| (format!("no {of} {nth}"), of)));
        let stacks: Vec<String> = all()
            .chain(strangers)
            .map(|(ours, of)| format!("{ours:?} = {of:?}"))
            .collect();
        let phases: Vec<String> = (0..1000).map(|nth| format!("\"no {nth}\" = \"0 % updates\"")).collect();
        let setting = |key: &str, pairs: &[String]| Setting {
            key: key.into(),
            value: format!("{{ {}, \"fresh\" = \"0 % updates\" }}", pairs.join(", ")),
            written: true,
        };
        scene.settings = vec![
            setting("published.stacks", &stacks),
            setting("published.phases", &phases),
        ];
        scene.film().analysis().published.expect("a publication that is known")
    }

    #[test]
    fn what_the_study_does_not_have_is_mapped_to_nothing_and_shown_ratios_are_bounded() {
        let few = mapped(2);
        let of = |published: &Published| -> Vec<String> {
            let own = published.ratios.iter().filter_map(|ratio| ratio.ours.clone());
            own.collect()
        };
        let due = ["0 to plain 0", "0 to plain 1", "1 to plain 0", "1 to plain 1"];
        let due: Vec<String> = due.iter().map(|pair| format!("compressed {pair} in fresh")).collect();
        assert_eq!(of(&few), due);
        assert!(
            few.ratios.iter().all(|ratio| !ratio.says.contains("maps more")),
            "{few:?}"
        );
        let many = mapped(17);
        assert_eq!(of(&many).len(), RATIOS_MAX);
        let said = many
            .ratios
            .iter()
            .filter(|ratio| ratio.says.contains("the first 256 are shown"));
        assert_eq!(said.count(), 1);
    }

    #[test]
    fn a_table_of_pairs_is_read_up_to_a_bound() {
        let pairs = |bytes: usize| format!("{{ \"a\" = \"{}\", \"b\" = \"x\" }}", "x".repeat(bytes));
        assert_eq!(
            pairs_of(Some(&pairs(1)), |ours| ours == "b"),
            [("b".to_string(), "x".to_string())]
        );
        assert!(pairs_of(Some(&pairs(PAIRS_BYTES_MAX)), |_| true).is_empty());
        assert!(pairs_of(None, |_| true).is_empty());
    }

    fn measured(low: f64, high: f64) -> MeasuredRatio {
        MeasuredRatio {
            ratio: (low * high).sqrt(),
            low,
            high,
            n: 4,
            tested: true,
        }
    }

    #[test]
    fn what_may_be_said() {
        let of = |published: f64, low, high| agreement((published, published), Some(&measured(low, high)), 0.05);
        assert_eq!(of(0.5, 0.45, 0.55), Agreement::DirectionAndSize);
        assert_eq!(of(0.5, 0.7, 0.8), Agreement::Direction);
        assert_eq!(of(0.5, 1.2, 1.3), Agreement::Opposite);
        assert_eq!(of(0.5, 0.97, 1.03), Agreement::OneSeesNone);
        assert_eq!(of(1.0, 0.97, 1.03), Agreement::DirectionAndSize);
        assert_eq!(of(1.0, 0.5, 0.6), Agreement::OneSeesNone);
        // The published ratio lies inside, and so does its opposite.
        assert_eq!(of(0.5, 0.4, 1.4), Agreement::CouldNotBeTold);
        assert_eq!(agreement((0.5, 0.5), None, 0.05), Agreement::CouldNotBeTold);
        assert_eq!(
            agreement((1.11, 1.17), Some(&measured(1.15, 1.3)), 0.05),
            Agreement::DirectionAndSize
        );
    }
}
