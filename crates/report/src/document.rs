//! The report as one document: sections of words, tables, charts and lists, before any form.
//!
//! Made once from the analysis (by `sections`) and put into four forms (by `render`), which know nothing of storage. A
//! thing that only some forms show says so by its [`Forms`]. Prevents: a column that one form has and another forgets.

use crate::check::Status;
use crate::figures::Figure;

/// Which forms show a thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Forms(u8);

impl Forms {
    pub(crate) const TERMINAL: Forms = Forms(1);
    /// Short: the figures of most tables are left to the other forms.
    pub(crate) const MARKDOWN: Forms = Forms(2);
    /// The page, but not a lean one.
    pub(crate) const FULL_PAGE: Forms = Forms(4);
    /// The page of very many phases, which leaves out what is secondary.
    pub(crate) const LEAN_PAGE: Forms = Forms(8);
    /// The page, lean or not.
    pub(crate) const PAGE: Forms = Forms(4 | 8);
    /// Terminal and Markdown.
    pub(crate) const TEXTS: Forms = Forms(1 | 2);
    /// Terminal and page.
    pub(crate) const LONG: Forms = Forms(1 | 4 | 8);
    /// All but Markdown and a lean page.
    pub(crate) const TERMINAL_AND_FULL_PAGE: Forms = Forms(1 | 4);
    pub(crate) const ALL: Forms = Forms(15);

    /// Those that are in both.
    #[cfg(test)]
    pub(crate) fn and(self, other: Forms) -> Forms {
        Forms(self.0 & other.0)
    }

    /// True when any of these forms is among them.
    pub(crate) fn has(self, form: Forms) -> bool {
        self.0 & form.0 != 0
    }
}

/// The whole report.
pub(crate) struct Document {
    /// Name of the study.
    pub(crate) study: String,
    /// What was asked.
    pub(crate) question: String,
    /// The answer, in one sentence.
    pub(crate) answer: String,
    /// What has to be known before the sections: how far it is, how it was done.
    pub(crate) opening: Vec<Placed>,
    /// In the order of a terminal, in which the last lines are read first.
    pub(crate) sections: Vec<Section>,
    /// Where it is from.
    pub(crate) imprint: String,
    /// So much to show that a page leaves out what is secondary.
    pub(crate) lean: bool,
}

/// A section.
pub(crate) struct Section {
    /// Its anchor on a page.
    pub(crate) id: &'static str,
    /// Its name where sections are listed.
    pub(crate) name: &'static str,
    /// Its heading; empty: none but on a page, where it is the name.
    pub(crate) title: String,
    pub(crate) stands: Stands,
    pub(crate) blocks: Vec<Placed>,
}

/// Where a section stands in forms that are read from the top; a terminal shows all in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stands {
    /// To be known before any number.
    Before,
    /// What is concluded.
    Concludes,
    /// What it is concluded from.
    Follows,
}

impl Document {
    /// The sections for a form that is read from the top.
    pub(crate) fn read_from_the_top(&self) -> Vec<&Section> {
        let mut sections: Vec<&Section> = self.sections.iter().collect();
        sections.sort_by_key(|section| section.stands);
        sections
    }
}

impl Section {
    /// A section that follows; `None` without blocks.
    pub(crate) fn of(
        id: &'static str,
        name: &'static str,
        title: impl Into<String>,
        blocks: Vec<Placed>,
    ) -> Option<Section> {
        (!blocks.is_empty()).then(|| Section {
            id,
            name,
            title: title.into(),
            stands: Stands::Follows,
            blocks,
        })
    }

    pub(crate) fn standing(mut self, stands: Stands) -> Section {
        self.stands = stands;
        self
    }

    /// The blocks that a form shows.
    pub(crate) fn shown(&self, form: Forms) -> impl Iterator<Item = &Block> {
        shown(&self.blocks, form)
    }
}

/// The blocks that a form shows; parts of which it shows nothing are left out.
pub(crate) fn shown(blocks: &[Placed], form: Forms) -> impl Iterator<Item = &Block> {
    let filled = move |block: &&Block| match block {
        Block::Part(part) => shown(&part.blocks, form).next().is_some(),
        Block::List(items) => !items.is_empty(),
        Block::Table(table) => table.rows.iter().any(|row| row.forms.has(form)),
        _ => true,
    };
    let mine = blocks.iter().filter(move |(forms, _)| forms.has(form));
    mine.map(|(_, block)| block).filter(filled)
}

/// A block with the forms that show it.
pub(crate) type Placed = (Forms, Block);

/// What a section is made of.
pub(crate) enum Block {
    /// A paragraph.
    Text(String),
    /// A paragraph that warns.
    Warning(String),
    /// How figures are to be read.
    Note(String),
    /// What the next block is.
    Label(String),
    List(Vec<Item>),
    /// Names and values.
    Facts(Vec<(&'static str, String)>),
    /// Words with their tones, and what they are of; the anchor is where one reads on.
    Tally(Vec<(String, Tone)>, String, Option<(&'static str, &'static str)>),
    Table(Table),
    Chart(Chart),
    /// Text whose lines stay.
    Verbatim(String),
    Part(Part),
}

impl Block {
    pub(crate) fn list(lines: impl IntoIterator<Item = String>) -> Block {
        Block::List(lines.into_iter().map(Item::from).collect())
    }

    /// A part that its title tells all about.
    pub(crate) fn part(title: impl Into<String>, fold: Fold, blocks: Vec<Placed>) -> Block {
        Block::Part(Part {
            title: title.into(),
            about: String::new(),
            fold,
            blocks,
        })
    }
}

/// An item of a list.
#[derive(Default)]
pub(crate) struct Item {
    /// A word in front.
    pub(crate) tag: Option<(String, Tone)>,
    pub(crate) text: String,
    /// Drawn behind it where a form has letters only.
    pub(crate) series: Vec<f64>,
}

impl From<String> for Item {
    fn from(text: String) -> Item {
        Item {
            text,
            ..Item::default()
        }
    }
}

/// Blocks under a heading of their own.
pub(crate) struct Part {
    pub(crate) title: String,
    /// What the title is about.
    pub(crate) about: String,
    pub(crate) fold: Fold,
    pub(crate) blocks: Vec<Placed>,
}

impl Part {
    /// Title and what it is about, in forms that never fold; `None` where it has none there.
    pub(crate) fn heading(&self) -> Option<String> {
        match (self.fold, self.about.is_empty()) {
            (Fold::Always, _) => None,
            (_, true) => Some(self.title.clone()),
            (_, false) => Some(format!("{} ({})", self.title, self.about)),
        }
    }
}

/// Whether a page folds a part; other forms never do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fold {
    Never,
    /// Where there are many such parts in a section.
    OfMany,
    /// Always; then it has no heading in other forms.
    Always,
}

/// What a word says by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    Better,
    Worse,
    Equal,
    Open,
    Clear,
    Valid,
    Note,
    Suspect,
    Invalid,
}

impl From<Status> for Tone {
    fn from(status: Status) -> Tone {
        match status {
            Status::Valid => Tone::Valid,
            Status::Note => Tone::Note,
            Status::Suspect => Tone::Suspect,
            Status::Invalid => Tone::Invalid,
        }
    }
}

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

/// A drawing of its own.
pub(crate) enum Chart {
    Lines(Lines),
    /// One after the other; those of one name together.
    Scatters(Vec<Scatter>),
    /// Drawn by the page's script.
    OverTime(OverTime),
}

/// Lines over an axis, from zero upwards.
pub(crate) struct Lines {
    pub(crate) title: String,
    /// Decades across are as wide as each other; else from zero.
    pub(crate) logarithmic: bool,
    /// Marks of the axis across.
    pub(crate) marks: Vec<f64>,
    /// What the axis across counts, and how it is written.
    pub(crate) across: (&'static str, Form),
    pub(crate) form: Form,
    /// Heights are bytes: rules stand at round numbers of their binary unit.
    pub(crate) binary: bool,
    /// Points are drawn too: steps that were measured, not a course of time.
    pub(crate) dots: bool,
    pub(crate) series: Vec<LineOf>,
}

/// One line.
pub(crate) struct LineOf {
    pub(crate) name: Name,
    /// Across and up, in ascending order.
    pub(crate) points: Vec<(f64, f64)>,
}

/// Points across a thing, each as high as its place; a darker band below where neighbours were lost.
pub(crate) struct Scatter {
    pub(crate) name: Name,
    /// The moment.
    pub(crate) after: String,
    /// What is to be said of it.
    pub(crate) about: String,
    /// Bands one over the other.
    pub(crate) bands: u32,
    /// Band, and the height in it from 0 to 1, of evenly spread points.
    pub(crate) points: Vec<Option<(f64, f64)>>,
    /// Share of neighbours lost in equal parts.
    pub(crate) lost: Vec<f64>,
}

/// Series over time, with what chooses among them.
pub(crate) struct OverTime {
    pub(crate) data: serde_json::Value,
    /// Number and name.
    pub(crate) phases: Vec<(usize, String)>,
    pub(crate) blocks: Vec<u32>,
    pub(crate) stacks: Vec<(usize, Name)>,
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
