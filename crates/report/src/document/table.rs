//! Tables of the document: rows with names, and columns declared as a list.
//!
//! Takes rows and columns, gives a [`Table`] of cells that know how they are written. Prevents: a column that says
//! nothing of any row, and a number that two forms write in two ways.

use super::forms::{Forms, Tone};
use super::narrowing::Narrowing;
use crate::figures::Figure;

/// A table: rows with names, columns with heads and units.
pub(crate) struct Table {
    pub(crate) caption: String,
    /// Head of the names.
    pub(crate) names: &'static str,
    pub(crate) rows: Vec<Name>,
    pub(crate) columns: Vec<Cells>,
}

/// The name of a row.
pub(crate) struct Name {
    pub(crate) text: String,
    /// Number of the colour and dash in which it is drawn everywhere.
    pub(crate) mark: Option<usize>,
    pub(crate) forms: Forms,
}

impl From<&str> for Name {
    fn from(text: &str) -> Name {
        Name {
            text: text.into(),
            mark: None,
            forms: Forms::ALL,
        }
    }
}

impl Name {
    pub(crate) fn only(mut self, forms: Forms) -> Name {
        self.forms = forms;
        self
    }
}

/// A column with its cells, one a row.
pub(crate) struct Cells {
    pub(crate) head: String,
    /// Of the thing in the head.
    pub(crate) mark: Option<usize>,
    pub(crate) unit: String,
    pub(crate) forms: Forms,
    /// Begins at the left, as words do.
    pub(crate) words: bool,
    /// Of what is compared: keeps its spread on a lean page.
    pub(crate) compared: bool,
    /// The first of a new part of the table, where a table too wide is broken.
    pub(crate) breaks: bool,
    pub(crate) cells: Vec<Cell>,
}

/// How a number is written.
pub(crate) type Form = fn(f64) -> String;

/// What a page says of the spread of a figure's blocks; other forms mark a figure whose blocks lie far apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spread {
    /// The farthest block.
    Farthest,
    /// Lowest and highest block.
    Range,
    /// As [`Range`](Spread::Range), and no mark: its range stands beside it, or it is a share.
    Unmarked,
}

/// What stands in a cell.
pub(crate) enum Cell {
    Nothing,
    Text(String),
    Tagged(String, Tone),
    /// The name of a thing that is drawn elsewhere too.
    Named(Name),
    Number(f64, Form),
    /// A figure over blocks, divided by a number before it is written.
    Figure(Figure, Spread, f64, Form),
    /// Lowest to highest block of the figure beside it.
    Range(Figure, f64, Form),
    /// A ratio's interval.
    Interval(Interval, Tone),
    /// What was concluded: the ratio's interval, where there is one, and the verdict in a word.
    Verdict(Option<Interval>, &'static str, Tone),
    /// A published range beside an interval of ours.
    Beside(Interval, Option<Interval>, Tone),
    /// A rate over time.
    Series(Vec<f64>),
    /// A share of the highest.
    Share(f64),
    Distribution(Box<Distribution>),
    /// From one value to another, and a third.
    Way([Option<f64>; 3], Form),
    Bar(Bar),
    Narrowing(Narrowing),
}

/// A ratio with its interval; an end that is not there is beyond all bounds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interval {
    pub(crate) ratio: f64,
    pub(crate) low: Option<f64>,
    pub(crate) high: Option<f64>,
    /// Differences inside this share count as equal.
    pub(crate) margin: f64,
}

/// How values are spread: each with how often it was seen, in ascending order.
pub(crate) struct Distribution {
    pub(crate) counts: Vec<(u64, u64)>,
    /// Median, p99 and p99.9.
    pub(crate) quantiles: [u64; 3],
    pub(crate) form: Form,
}

/// A size with lines across it.
pub(crate) struct Bar {
    pub(crate) size: f64,
    /// Inside the bar.
    pub(crate) part: Option<f64>,
    /// To be compared with.
    pub(crate) whole: Option<f64>,
    pub(crate) limit: Option<f64>,
}

/// A column as it is declared: one row of a list.
pub(crate) struct Column<'a, R> {
    head: String,
    mark: Option<usize>,
    unit: String,
    forms: Forms,
    words: bool,
    compared: bool,
    breaks: bool,
    cell: Box<dyn Fn(&R) -> Cell + 'a>,
}

/// A column for all forms.
pub(crate) fn column<'a, R>(
    head: impl Into<String>,
    unit: impl Into<String>,
    cell: impl Fn(&R) -> Cell + 'a,
) -> Column<'a, R> {
    Column {
        head: head.into(),
        mark: None,
        unit: unit.into(),
        forms: Forms::ALL,
        words: false,
        compared: false,
        breaks: false,
        cell: Box::new(cell),
    }
}

/// A column of words for all forms.
pub(crate) fn words<'a, R>(head: impl Into<String>, cell: impl Fn(&R) -> String + 'a) -> Column<'a, R> {
    column(head, "", move |row| Cell::Text(cell(row))).of_words()
}

impl<R> Column<'_, R> {
    /// For these forms alone.
    pub(crate) fn only(mut self, forms: Forms) -> Self {
        self.forms = forms;
        self
    }

    /// Of words, which begin at the left.
    pub(crate) fn of_words(mut self) -> Self {
        self.words = true;
        self
    }

    /// Of what is compared.
    pub(crate) fn compared(mut self) -> Self {
        self.compared = true;
        self
    }

    /// Of the thing with this mark.
    pub(crate) fn marked(mut self, mark: Option<usize>) -> Self {
        self.mark = mark;
        self
    }

    /// Begins a new part of the table.
    pub(crate) fn breaks(mut self) -> Self {
        self.breaks = true;
        self
    }
}

impl Table {
    /// The table of these rows. A column that says nothing of any row is left out.
    pub(crate) fn of<'a, R>(
        caption: impl Into<String>,
        names: &'static str,
        rows: &[R],
        name: impl Fn(&R) -> Name,
        columns: impl IntoIterator<Item = Column<'a, R>>,
    ) -> Table {
        let mut kept: Vec<Cells> = Vec::new();
        let mut breaks = false;
        for column in columns {
            let cells: Vec<Cell> = rows.iter().map(|row| (column.cell)(row)).collect();
            // Where the first column of a part is left out, the next one begins it.
            breaks |= column.breaks;
            if cells.iter().all(Cell::says_nothing) {
                continue;
            }
            kept.push(Cells {
                head: column.head,
                mark: column.mark,
                unit: column.unit,
                forms: column.forms,
                words: column.words,
                compared: column.compared,
                breaks: std::mem::take(&mut breaks),
                cells,
            });
        }
        Table {
            caption: caption.into(),
            names,
            rows: rows.iter().map(name).collect(),
            columns: kept,
        }
    }
}

impl Cell {
    pub(crate) fn text(text: impl Into<String>) -> Cell {
        Cell::Text(text.into())
    }

    /// `None` is nothing to say.
    pub(crate) fn maybe(text: Option<impl Into<String>>) -> Cell {
        text.map_or(Cell::Nothing, Cell::text)
    }

    pub(crate) fn number(value: impl Into<Option<f64>>, form: Form) -> Cell {
        value.into().map_or(Cell::Nothing, |value| Cell::Number(value, form))
    }

    /// A figure, with its farthest block on a page.
    pub(crate) fn figure(figure: impl Into<Option<Figure>>, form: Form) -> Cell {
        Cell::spread(figure, Spread::Farthest, form)
    }

    /// A figure, with the range of its blocks on a page.
    pub(crate) fn ranged(figure: impl Into<Option<Figure>>, form: Form) -> Cell {
        Cell::spread(figure, Spread::Range, form)
    }

    pub(crate) fn unmarked(figure: impl Into<Option<Figure>>, form: Form) -> Cell {
        Cell::spread(figure, Spread::Unmarked, form)
    }

    fn spread(figure: impl Into<Option<Figure>>, spread: Spread, form: Form) -> Cell {
        figure
            .into()
            .map_or(Cell::Nothing, |figure| Cell::Figure(figure, spread, 1.0, form))
    }

    /// A ratio between these ends.
    pub(crate) fn interval(ratio: f64, [low, high]: [Option<f64>; 2], margin: f64, tone: Tone) -> Cell {
        let interval = Interval {
            ratio,
            low,
            high,
            margin,
        };
        Cell::Interval(interval, tone)
    }

    /// The figure divided by this.
    pub(crate) fn per(self, divisor: f64) -> Cell {
        match self {
            Cell::Figure(figure, spread, _, form) => Cell::Figure(figure, spread, divisor, form),
            Cell::Range(figure, _, form) => Cell::Range(figure, divisor, form),
            other => other,
        }
    }

    /// Neither a word nor a number but zero.
    fn says_nothing(&self) -> bool {
        match self {
            Cell::Nothing => true,
            Cell::Text(text) => text.is_empty() || text == "0",
            Cell::Narrowing(one) => one.looks.is_empty(),
            Cell::Figure(figure, _, per, form) => figure.written(*per, *form) == "0",
            Cell::Series(rates) => rates.len() < 2 || rates.iter().all(|rate| *rate <= 0.0),
            _ => false,
        }
    }
}

impl Interval {
    /// "0.78 to 0.82"; `None` where both ends are unbounded.
    pub(crate) fn words(&self) -> Option<String> {
        let end = |end: Option<f64>, beyond: &str| end.map_or(beyond.into(), crate::format::ratio);
        (self.low.is_some() || self.high.is_some())
            .then(|| format!("{} to {}", end(self.low, "0"), end(self.high, "unbounded")))
    }
}
