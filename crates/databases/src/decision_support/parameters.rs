//! What a question is asked about: a country, a day, a brand.
//!
//! Takes a seed; gives values from the ranges that the published description names. Prevents: a question that hits
//! nothing because its country is none of the data's.

use super::question::Question;
use super::scale::Scale;
use jiff::civil::{Date, date};
use jiff::{Span, ToSpan};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// One value. Words come from the lists below, so that nothing in them ends a quote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Parameter {
    /// Stands between quotes of the text, or is a part of a pattern.
    Word(String),
    /// A whole number.
    Whole(i64),
    /// A decimal number with two places, in hundredths.
    Hundredths(i64),
}

/// The values of one question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameters(Vec<Parameter>);

const REGIONS: [&str; 5] = ["AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST"];
/// Nations with the number of their region.
const NATIONS: [(&str, usize); 25] = [
    ("ALGERIA", 0),
    ("ARGENTINA", 1),
    ("BRAZIL", 1),
    ("CANADA", 1),
    ("EGYPT", 4),
    ("ETHIOPIA", 0),
    ("FRANCE", 3),
    ("GERMANY", 3),
    ("INDIA", 2),
    ("INDONESIA", 2),
    ("IRAN", 4),
    ("IRAQ", 4),
    ("JAPAN", 2),
    ("JORDAN", 4),
    ("KENYA", 0),
    ("MOROCCO", 0),
    ("MOZAMBIQUE", 0),
    ("PERU", 1),
    ("CHINA", 2),
    ("ROMANIA", 3),
    ("SAUDI ARABIA", 4),
    ("VIETNAM", 2),
    ("RUSSIA", 3),
    ("UNITED KINGDOM", 3),
    ("UNITED STATES", 1),
];
const SEGMENTS: [&str; 5] = ["AUTOMOBILE", "BUILDING", "FURNITURE", "HOUSEHOLD", "MACHINERY"];
const FINISHES: [&str; 6] = ["STANDARD", "SMALL", "MEDIUM", "LARGE", "ECONOMY", "PROMO"];
const TREATMENTS: [&str; 5] = ["ANODIZED", "BURNISHED", "PLATED", "POLISHED", "BRUSHED"];
const METALS: [&str; 5] = ["TIN", "NICKEL", "BRASS", "STEEL", "COPPER"];
const SIZES: [&str; 5] = ["SM", "LG", "MED", "JUMBO", "WRAP"];
const CONTAINERS: [&str; 8] = ["CASE", "BOX", "BAG", "JAR", "PACK", "PKG", "CAN", "DRUM"];
const MODES: [&str; 7] = ["REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB"];
/// Words that order comments have in pairs.
const FIRST_WORDS: [&str; 4] = ["special", "pending", "unusual", "express"];
const SECOND_WORDS: [&str; 4] = ["packages", "requests", "accounts", "deposits"];
/// Words of which a part's name is made.
const COLOURS: [&str; 92] = [
    "almond",
    "antique",
    "aquamarine",
    "azure",
    "beige",
    "bisque",
    "black",
    "blanched",
    "blue",
    "blush",
    "brown",
    "burlywood",
    "burnished",
    "chartreuse",
    "chiffon",
    "chocolate",
    "coral",
    "cornflower",
    "cornsilk",
    "cream",
    "cyan",
    "dark",
    "deep",
    "dim",
    "dodger",
    "drab",
    "firebrick",
    "floral",
    "forest",
    "frosted",
    "gainsboro",
    "ghost",
    "goldenrod",
    "green",
    "grey",
    "honeydew",
    "hot",
    "indian",
    "ivory",
    "khaki",
    "lace",
    "lavender",
    "lawn",
    "lemon",
    "light",
    "lime",
    "linen",
    "magenta",
    "maroon",
    "medium",
    "metallic",
    "midnight",
    "mint",
    "misty",
    "moccasin",
    "navajo",
    "navy",
    "olive",
    "orange",
    "orchid",
    "pale",
    "papaya",
    "peach",
    "peru",
    "pink",
    "plum",
    "powder",
    "puff",
    "purple",
    "red",
    "rose",
    "rosy",
    "royal",
    "saddle",
    "salmon",
    "sandy",
    "seashell",
    "sienna",
    "sky",
    "slate",
    "smoke",
    "snow",
    "spring",
    "steel",
    "tan",
    "thistle",
    "tomato",
    "turquoise",
    "violet",
    "wheat",
    "white",
    "yellow",
];

/// Draws values.
struct Draw(Xoshiro256PlusPlus);

impl Draw {
    fn from(&mut self, range: std::ops::RangeInclusive<i64>) -> i64 {
        let many = (range.end() - range.start() + 1) as u64;
        range.start() + (self.0.next_u64() % many) as i64
    }

    fn one<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[(self.0.next_u64() % list.len() as u64) as usize]
    }

    /// So many different numbers.
    fn several(&mut self, range: std::ops::RangeInclusive<i64>, many: usize) -> Vec<i64> {
        let mut drawn = Vec::with_capacity(many);
        while drawn.len() < many {
            let one = self.from(range.clone());
            if !drawn.contains(&one) {
                drawn.push(one);
            }
        }
        drawn
    }

    fn nation(&mut self) -> (&'static str, usize) {
        NATIONS[self.from(0..=24) as usize]
    }

    fn brand(&mut self) -> String {
        format!("Brand#{}{}", self.from(1..=5), self.from(1..=5))
    }

    /// The first of a month.
    fn month(&mut self, years: std::ops::RangeInclusive<i64>, months: i64) -> Date {
        let (year, month) = (self.from(years), self.from(1..=months));
        date(year as i16, month as i8, 1)
    }

    fn new_year(&mut self) -> Date {
        date(self.from(1993..=1997) as i16, 1, 1)
    }
}

fn word(word: impl Into<String>) -> Parameter {
    Parameter::Word(word.into())
}

fn day(date: Date) -> Parameter {
    word(date.to_string())
}

/// A day and the day so much later.
fn span(from: Date, length: Span) -> [Parameter; 2] {
    [day(from), day(from.saturating_add(length))]
}

impl Parameters {
    pub(crate) fn values(&self) -> &[Parameter] {
        &self.0
    }

    /// Draws them: the same seed and variant, the same values.
    pub fn draw(question: Question, scale: Scale, seed: u64, variant: u32) -> Parameters {
        let number = question.number();
        let mixed = seed ^ (u64::from(variant) << 40) ^ (u64::from(number) << 32);
        let mut draw = Draw(Xoshiro256PlusPlus::seed_from_u64(mixed));
        Parameters(drawn(number, scale, &mut draw))
    }

    /// Those for which the published description has answers.
    pub fn published(question: Question, scale: Scale) -> Parameters {
        Parameters(published(question.number(), scale))
    }
}

fn drawn(number: u8, scale: Scale, draw: &mut Draw) -> Vec<Parameter> {
    let share = Parameter::Whole(scale.ten_thousandths().into());
    match number {
        1 => vec![day(date(1998, 12, 1).saturating_sub(draw.from(60..=120).days()))],
        2 => {
            let (metal, region) = (draw.one(&METALS), draw.one(&REGIONS));
            vec![Parameter::Whole(draw.from(1..=50)), word(metal), word(region)]
        }
        3 => vec![word(draw.one(&SEGMENTS)), day(date(1995, 3, draw.from(1..=31) as i8))],
        4 => span(draw.month(1993..=1997, 10), 3.months()).to_vec(),
        5 => [vec![word(draw.one(&REGIONS))], span(draw.new_year(), 1.year()).to_vec()].concat(),
        6 => forecast(draw.new_year(), draw.from(2..=9), draw.from(24..=25)),
        7 => {
            let two = draw.several(0..=24, 2);
            two.into_iter().map(|nth| word(NATIONS[nth as usize].0)).collect()
        }
        8 => {
            let (nation, region) = draw.nation();
            let kind = [draw.one(&FINISHES), draw.one(&TREATMENTS), draw.one(&METALS)].join(" ");
            vec![word(nation), word(REGIONS[region]), word(kind)]
        }
        9 => vec![word(draw.one(&COLOURS))],
        10 => {
            // From February 1993 to January 1995.
            let months = draw.from(0..=23);
            span(date(1993, 2, 1).saturating_add(months.months()), 3.months()).to_vec()
        }
        11 => vec![word(draw.nation().0), share],
        12 => {
            let two = draw.several(0..=6, 2);
            let modes = two.into_iter().map(|nth| word(MODES[nth as usize]));
            modes.chain(span(draw.new_year(), 1.year())).collect()
        }
        13 => vec![word(draw.one(&FIRST_WORDS)), word(draw.one(&SECOND_WORDS))],
        14 => span(draw.month(1993..=1997, 12), 1.month()).to_vec(),
        15 => span(draw.month(1993..=1997, 10), 3.months()).to_vec(),
        16 => {
            let kind = [draw.one(&FINISHES), draw.one(&TREATMENTS)].join(" ");
            parts(draw.brand(), &kind, &draw.several(1..=50, 8))
        }
        17 => {
            let container = [draw.one(&SIZES), draw.one(&CONTAINERS)].join(" ");
            vec![word(draw.brand()), word(container)]
        }
        18 => vec![Parameter::Hundredths(draw.from(312..=315) * 100)],
        19 => {
            let least = [draw.from(1..=10), draw.from(10..=20), draw.from(20..=30)];
            quantities([draw.brand(), draw.brand(), draw.brand()], least)
        }
        20 => {
            let head = vec![word(draw.one(&COLOURS))];
            let tail = vec![word(draw.nation().0)];
            [head, span(draw.new_year(), 1.year()).to_vec(), tail].concat()
        }
        21 => vec![word(draw.nation().0)],
        _ => codes(&draw.several(10..=34, 7)),
    }
}

fn published(number: u8, scale: Scale) -> Vec<Parameter> {
    let share = Parameter::Whole(scale.ten_thousandths().into());
    let words = |all: &[&str]| all.iter().map(|one| word(*one)).collect::<Vec<_>>();
    let in_year = |year| span(date(year, 1, 1), 1.year()).to_vec();
    match number {
        1 => words(&["1998-09-02"]),
        2 => vec![Parameter::Whole(15), word("BRASS"), word("EUROPE")],
        3 => words(&["BUILDING", "1995-03-15"]),
        4 => span(date(1993, 7, 1), 3.months()).to_vec(),
        5 => [words(&["ASIA"]), in_year(1994)].concat(),
        6 => forecast(date(1994, 1, 1), 6, 24),
        7 => words(&["FRANCE", "GERMANY"]),
        8 => words(&["BRAZIL", "AMERICA", "ECONOMY ANODIZED STEEL"]),
        9 => words(&["green"]),
        10 => span(date(1993, 10, 1), 3.months()).to_vec(),
        11 => vec![word("GERMANY"), share],
        12 => [words(&["MAIL", "SHIP"]), in_year(1994)].concat(),
        13 => words(&["special", "requests"]),
        14 => span(date(1995, 9, 1), 1.month()).to_vec(),
        15 => span(date(1996, 1, 1), 3.months()).to_vec(),
        16 => parts(
            "Brand#45".to_owned(),
            "MEDIUM POLISHED",
            &[49, 14, 23, 45, 19, 3, 36, 9],
        ),
        17 => words(&["Brand#23", "MED BOX"]),
        18 => vec![Parameter::Hundredths(30_000)],
        19 => quantities(["Brand#12", "Brand#23", "Brand#34"].map(str::to_owned), [1, 10, 20]),
        20 => [words(&["forest"]), in_year(1994), words(&["CANADA"])].concat(),
        21 => words(&["SAUDI ARABIA"]),
        _ => codes(&[13, 31, 23, 29, 30, 18, 17]),
    }
}

/// Of question 6: a year, a discount with a hundredth to both sides, and a quantity.
fn forecast(from: Date, percent: i64, below: i64) -> Vec<Parameter> {
    let mut all = span(from, 1.year()).to_vec();
    all.extend([percent - 1, percent + 1, below * 100].map(Parameter::Hundredths));
    all
}

/// Of question 16.
fn parts(brand: String, kind: &str, sizes: &[i64]) -> Vec<Parameter> {
    let list = sizes.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
    vec![word(brand), word(kind), word(list)]
}

/// Of question 19: brands with the range of quantities of each.
fn quantities(brands: [String; 3], least: [i64; 3]) -> Vec<Parameter> {
    let mut all = Vec::new();
    for (brand, least) in brands.into_iter().zip(least) {
        all.push(word(brand));
        all.extend([least, least + 10].map(|quantity| Parameter::Hundredths(quantity * 100)));
    }
    all
}

/// Of question 22: the beginnings of telephone numbers, each between quotes.
fn codes(codes: &[i64]) -> Vec<Parameter> {
    let list = codes.iter().map(|code| format!("'{code}'")).collect::<Vec<_>>();
    vec![word(list.join(", "))]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_draws_the_same_and_another_draws_something_else() {
        let scale = Scale::new(1.0).unwrap();
        let all = |seed, variant| -> Vec<Parameters> {
            let one = |n| Parameters::draw(Question::new(n).unwrap(), scale, seed, variant);
            (1..=22).map(one).collect()
        };
        assert_eq!(all(1, 0), all(1, 0));
        assert_ne!(all(1, 0), all(2, 0));
        assert_ne!(all(1, 0), all(1, 1));
        for seed in 0..300 {
            for (nth, parameters) in all(seed, 2).iter().enumerate() {
                for value in parameters.values() {
                    let harmless = match value {
                        Parameter::Word(word) => nth == 21 || !word.contains('\''),
                        Parameter::Whole(number) | Parameter::Hundredths(number) => *number > 0,
                    };
                    assert!(harmless, "question {} takes {value:?}", nth + 1);
                }
            }
        }
    }

    #[test]
    fn days_end_where_they_should() {
        let question = |n| Question::new(n).unwrap();
        let scale = Scale::new(1.0).unwrap();
        let of = |n| Parameters::published(question(n), scale).0;
        assert_eq!(of(4), [word("1993-07-01"), word("1993-10-01")]);
        assert_eq!(of(14), [word("1995-09-01"), word("1995-10-01")]);
        assert_eq!(of(6)[2..], [5, 7, 2400].map(Parameter::Hundredths));
        assert_eq!(of(11)[1], Parameter::Whole(10_000));
    }
}
