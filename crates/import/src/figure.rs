//! What an import gives: figures as they were printed, with what may be compared of them.
//!
//! Plain data. Prevents: a converted number that cannot be found again in the report it came from: text, unit and line
//! stay with it.

use crate::format::Format;

/// A text as figures.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// As what it was read.
    pub format: Format,
    /// Which of the format's layouts, in words.
    pub layout: String,
    /// What it says of where and when it was taken.
    pub facts: Vec<Fact>,
    /// One or more reports: a table of runs gives one a row.
    pub reports: Vec<Report>,
    /// What was left out, and what has to be known of the figures.
    pub notes: Vec<Note>,
}

/// The figures of one measurement.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// What tells it from the others of the text ("test 4"); empty when it is the only one.
    pub label: String,
    /// In the order of the text.
    pub figures: Vec<Figure>,
    /// Of a row of a table: the cells that say which load it was, by their titles.
    pub load: Vec<Fact>,
}

/// One number.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Dotted, the tool's own words: `statistic.physical reads.per_s`, `device.sd13.r/s`.
    pub name: String,
    /// The value in `unit`.
    pub value: f64,
    /// As printed; for a sum or a mean over lines, with the digits that they have.
    pub text: String,
    /// As the tool means it: `/s`, `ms`, `KiB/s`, `MB/s`, `%`.
    pub unit: &'static str,
    /// 1-based line of the text; of a sum or mean, its first.
    pub line: u32,
    /// What it may be set beside, in base units.
    pub comparable: Option<Comparable>,
}

/// A figure in the units in which measured ones are kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparable {
    /// What it is.
    pub quantity: Quantity,
    /// In the quantity's unit.
    pub value: f64,
}

macro_rules! quantities {
    ($($variant:ident, $name:literal, $unit:literal, $meaning:literal;)*) => {
        /// What a figure is a figure of, where that is known without guessing.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Quantity { $(#[doc = $meaning] $variant,)* }

        impl Quantity {
            /// Every quantity, in the order in which they are shown.
            pub const ALL: &'static [Quantity] = &[$(Quantity::$variant,)*];

            /// Name in a result file.
            pub fn name(self) -> &'static str {
                match self { $(Quantity::$variant => $name,)* }
            }

            /// Unit of the comparable value.
            pub fn unit(self) -> &'static str {
                match self { $(Quantity::$variant => $unit,)* }
            }

            /// In a sentence.
            pub fn meaning(self) -> &'static str {
                match self { $(Quantity::$variant => $meaning,)* }
            }
        }
    };
}

quantities! {
    ReadsPerS, "reads_per_s", "/s", "read requests that the database or generator asked of storage, per second";
    WritesPerS, "writes_per_s", "/s", "write requests of data that it asked of storage, per second; redo left out";
    ReadBytesPerS, "read_bytes_per_s", "bytes/s", "bytes that it read from storage, per second";
    WriteBytesPerS, "write_bytes_per_s", "bytes/s", "bytes of data that it wrote to storage, per second; redo left out";
    ReadNs, "read_ns", "ns", "mean time of a read as the database or generator saw it; shown alone";
    WriteNs, "write_ns", "ns", "mean time of a write as it saw it; shown alone";
    ElapsedS, "elapsed_s", "s", "seconds of the measurement or of the act measured";
    DeviceReadsPerS, "device_reads_per_s", "/s", "reads completed by the devices, per second";
    DeviceWritesPerS, "device_writes_per_s", "/s", "writes completed by the devices, per second";
    DeviceReadBytesPerS, "device_read_bytes_per_s", "bytes/s", "bytes read from the devices, per second";
    DeviceWriteBytesPerS, "device_write_bytes_per_s", "bytes/s", "bytes written to the devices, per second";
    CpuIdleShare, "cpu_idle_share", "share", "idle share of the processors, 1 is all idle";
}

impl Quantity {
    /// True where Assay measures it too. It times operations, and an operation reads as many pages as it needs.
    pub fn is_measured_here(self) -> bool {
        !matches!(self, Quantity::ReadNs | Quantity::WriteNs)
    }
}

/// Something said of the measurement that is no figure of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// "release", "host", "snapshots" ...
    pub name: String,
    /// As printed.
    pub value: String,
    /// 1-based.
    pub line: u32,
}

/// A word on what was left out, or on how a figure has to be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// 1-based; 0 for the whole text.
    pub line: u32,
    /// In words.
    pub text: String,
}

impl Figure {
    /// A figure without anything to set it beside.
    pub(crate) fn new(
        name: impl Into<String>,
        printed: &crate::number::Printed<'_>,
        unit: &'static str,
        line: u32,
    ) -> Figure {
        Figure {
            name: name.into(),
            value: printed.value,
            text: printed.text.to_string(),
            unit,
            line,
            comparable: None,
        }
    }

    /// The same as this quantity: the value in base units is `factor` times the printed one.
    pub(crate) fn of_quantity(mut self, quantity: Quantity, factor: f64) -> Figure {
        let value = self.value * factor;
        if value.is_finite() && value >= 0.0 {
            self.comparable = Some(Comparable { quantity, value });
        }
        self
    }
}

impl Report {
    /// The comparable figure of a quantity, if there is one: the first.
    pub fn comparable(&self, quantity: Quantity) -> Option<&Figure> {
        let of = |figure: &&Figure| figure.comparable.is_some_and(|c| c.quantity == quantity);
        self.figures.iter().find(of)
    }

    /// A figure by its name.
    pub fn figure(&self, name: &str) -> Option<&Figure> {
        self.figures.iter().find(|figure| figure.name == name)
    }
}

/// Notes, at most so many: a broken text of a million lines gives no million notes.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    kept: Vec<Note>,
    more: usize,
}

const NOTES_MAX: usize = 200;

impl Notes {
    pub(crate) fn add(&mut self, line: u32, text: impl Into<String>) {
        if self.kept.len() < NOTES_MAX {
            self.kept.push(Note {
                line,
                text: text.into(),
            });
        } else {
            self.more += 1;
        }
    }

    pub(crate) fn finish(mut self) -> Vec<Note> {
        if self.more > 0 {
            self.kept.push(Note {
                line: 0,
                text: format!("{} more lines were left out", self.more),
            });
        }
        self.kept
    }
}

/// Longest name of a device, tablespace, event or column that is read, in bytes.
pub(crate) const NAME_BYTES_MAX: usize = 200;

/// A name, cut where it is longer.
pub(crate) fn cut(name: &str) -> &str {
    let mut end = name.len().min(NAME_BYTES_MAX);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    &name[..end]
}

/// A piece of a line for a note: short, without characters that act on a terminal.
pub(crate) fn excerpt(line: &str) -> String {
    let mut out: String = line
        .trim()
        .chars()
        .take(60)
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    if line.trim().chars().nth(60).is_some() {
        out.push_str("...");
    }
    out
}
