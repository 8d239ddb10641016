//! The report as one document: sections of words, tables, charts and lists, before any form.
//!
//! Made once from the analysis (by `sections`) and put into four forms (by `render`), which know nothing of storage. A
//! thing that only some forms show says so by its [`Forms`]. Prevents: a column that one form has and another forgets.

mod chart;
mod forms;
mod live;
mod narrowing;
mod table;

pub(crate) use chart::{Chart, LineOf, Lines, OverTime, Scatter, places_of};
pub(crate) use forms::{Forms, Tone};
pub(crate) use live::LiveHead;
pub(crate) use narrowing::{Look, Narrowing};
pub(crate) use table::{Bar, Cell, Cells, Column, Distribution, Form, Interval, Name, Spread, Table, column, words};

/// The whole report.
pub(crate) struct Document {
    /// Name of the study.
    pub(crate) study: String,
    /// What was asked.
    pub(crate) question: String,
    /// The answer, in a few sentences.
    pub(crate) answer: String,
    /// What has to be known before the sections: how far it is, how it was done.
    pub(crate) opening: Vec<Placed>,
    /// As they are declared; forms show them by [`read_from_the_top`](Document::read_from_the_top).
    pub(crate) sections: Vec<Section>,
    /// How to see what the one screen of a terminal leaves out; empty in other forms.
    pub(crate) rest: String,
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

/// Where a section stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stands {
    /// To be known before the figures are read.
    Before,
    /// What is concluded.
    Concludes,
    /// What it is concluded from.
    Follows,
}

impl Document {
    /// The sections in the order of use.
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
        Block::Table(table) => table.rows.iter().any(|row| row.forms.has(form.of_rows())),
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
