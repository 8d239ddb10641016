//! A stack of the study as the file has it: its layers and its way to storage as types.
//!
//! Takes layers from the top down, the database above them and the access; gives the group in which the stack is
//! ranked. Words for people are made here and nowhere else. Prevents: a stack on a model that is ranked with one on a
//! device because a sentence was worded anew.

use super::columns::{Columns, columns, no_meaning, optional};
use super::committed::committed_words;
use rusqlite::types::{FromSql, FromSqlResult, ToSqlOutput, ValueRef};
use rusqlite::{Row, ToSql};
use std::fmt;

committed_words! {
    /// How the files of a stack are opened.
    Access {
        /// With `O_DIRECT`.
        Direct = "direct",
        /// Through the page cache.
        Buffered = "buffered",
    }
}

committed_words! {
    /// What of a database stands on modelled devices.
    Modelled {
        /// All of it.
        All = "all",
        /// Its data.
        Data = "data",
        /// Its redo log.
        Log = "log",
    }
}

/// One layer of a stack.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Layer {
    /// "ext4", "loop", "file", "device" ...
    Plain(String),
    /// zfs-fuse with the version of its pools: no OpenZFS.
    ZfsFuse(String),
    /// LUNs that behave as a device by calculation.
    Model {
        /// What stands on them.
        what: Modelled,
        /// The device; data and log may have two.
        device: String,
    },
    /// LUNs whose files are served as they are, by way of the service of models.
    Served {
        /// What stands on them.
        what: Modelled,
    },
}

impl Layer {
    /// A layer as the room that builds it calls it.
    pub fn said(name: &str) -> Layer {
        match name.split_once(' ') {
            Some(("zfs-fuse", version)) => Layer::ZfsFuse(version.into()),
            _ => Layer::Plain(name.into()),
        }
    }

    fn stored(&self) -> String {
        match self {
            Layer::Plain(name) => format!("plain {name}"),
            Layer::ZfsFuse(version) => format!("zfs-fuse {version}"),
            Layer::Model { what, device } => format!("model {} {device}", what.as_str()),
            Layer::Served { what } => format!("served {}", what.as_str()),
        }
    }

    fn read(stored: &str) -> Option<Layer> {
        let (word, rest) = stored.split_once(' ')?;
        Some(match word {
            "plain" => Layer::Plain(rest.into()),
            "zfs-fuse" => Layer::ZfsFuse(rest.into()),
            "model" => {
                let (what, device) = rest.split_once(' ')?;
                let (what, device) = (Modelled::from_word(what)?, device.into());
                Layer::Model { what, device }
            }
            "served" => Layer::Served {
                what: Modelled::from_word(rest)?,
            },
            _ => return None,
        })
    }
}

/// The words that a report prints.
impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, device) = match self {
            Layer::Plain(name) => return f.write_str(name),
            Layer::ZfsFuse(version) => return write!(f, "zfs-fuse (pool version {version})"),
            Layer::Model { what, device } => (what, device.as_str()),
            Layer::Served { what } => (what, "plain"),
        };
        write!(f, "modelled {}", on_model(*what, device))
    }
}

fn on_model(what: Modelled, device: &str) -> String {
    match what {
        Modelled::All => device.into(),
        Modelled::Data => format!("{device} for the data"),
        Modelled::Log => format!("{device} for the log"),
    }
}

/// The layers of a stack, from the top down.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Layers(pub Vec<Layer>);

impl Layers {
    /// Layers without a model, by their names.
    pub fn plain<'a>(names: impl IntoIterator<Item = &'a str>) -> Layers {
        Layers(names.into_iter().map(|name| Layer::Plain(name.into())).collect())
    }

    /// The device that the stack's LUNs behave as, in words, whatever of it they serve; `None` where nothing is
    /// modelled.
    pub fn model(&self) -> Option<String> {
        self.0.iter().find_map(|layer| match layer {
            Layer::Model { what, device } => Some(on_model(*what, device)),
            Layer::Served { what } => Some(on_model(*what, "plain")),
            Layer::Plain(_) | Layer::ZfsFuse(_) => None,
        })
    }

    /// The layer of a ZFS that is not today's.
    pub fn old_zfs(&self) -> Option<&Layer> {
        self.0.iter().find(|layer| matches!(layer, Layer::ZfsFuse(_)))
    }
}

/// The words that a report prints.
impl fmt::Display for Layers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let layers: Vec<String> = self.0.iter().map(Layer::to_string).collect();
        f.write_str(&layers.join("/"))
    }
}

impl ToSql for Layers {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        let layers: Vec<String> = self.0.iter().map(Layer::stored).collect();
        Ok(layers.join("\n").into())
    }
}

impl FromSql for Layers {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Layers> {
        let layers = value.as_str()?.lines();
        let read = layers.map(|layer| Layer::read(layer).ok_or_else(|| no_meaning(layer)));
        read.collect::<FromSqlResult<Vec<Layer>>>().map(Layers)
    }
}

committed_words! {
    /// What models make of a group: what they answer is never ranked with what a device did, nor with what was only
    /// served.
    ModelGroup {
        /// On modelled devices.
        Devices = "modelled devices",
        /// On LUNs that the service of models serves as plain files.
        PlainFiles = "modelled as plain files",
    }
}

/// What stacks have alike that are ranked against each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Group {
    /// Number of layers.
    pub layers: usize,
    /// Whether, and how, models are under them.
    pub models: Option<ModelGroup>,
    /// The database on them, as the study writes it; `None` of the page engine.
    pub database: Option<String>,
}

/// The words that a report prints.
impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(models) = self.models {
            write!(f, "{}, ", models.as_str())?;
        }
        write!(f, "{} layers", self.layers)?;
        self.database.iter().try_for_each(|database| write!(f, ", {database}"))
    }
}

/// One stack of the study, built or skipped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stack {
    /// Order in the study; the lowest of a group is the group's base.
    pub ordinal: u32,
    /// Unique.
    pub name: String,
    /// "ext4", "raw", "directory" ...
    pub kind: String,
    /// From the top down.
    pub layers: Layers,
    /// The database on it, as the study writes it; `None`: the page engine.
    pub database: Option<String>,
    /// LUN set of the data files.
    pub data_lun_set: Option<String>,
    /// LUN set of the redo log; `None`: beside the data.
    pub redo_lun_set: Option<String>,
    /// How its files are opened.
    pub access: Access,
    /// A planted disadvantage, in words.
    pub injected: Option<String>,
    /// Why it could not be built, and the cure.
    pub skipped: Option<Skipped>,
}

/// Why a stack did not take part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// "mkfs.btrfs not found".
    pub reason: String,
    /// "install btrfs-progs".
    pub cure: String,
}

impl Stack {
    /// Stacks of different groups are not ranked against each other.
    pub fn group(&self) -> Group {
        let models = self.layers.0.iter().find_map(|layer| match layer {
            Layer::Model { .. } => Some(ModelGroup::Devices),
            Layer::Served { .. } => Some(ModelGroup::PlainFiles),
            Layer::Plain(_) | Layer::ZfsFuse(_) => None,
        });
        Group {
            // Of a stack that was not built none is known, and it stands on something.
            layers: self.layers.0.len().max(1),
            models,
            database: self.database.clone(),
        }
    }
}

columns!(Stack: ordinal, name, kind, layers, database, data_lun_set, redo_lun_set, access, injected
    + skipped: Option<Skipped>);

impl Columns for Option<Skipped> {
    fn names() -> Vec<&'static str> {
        vec!["skipped_reason", "skipped_cure"]
    }

    fn values(&self) -> rusqlite::Result<Vec<ToSqlOutput<'_>>> {
        let (reason, cure) = self.as_ref().map(|why| (&why.reason, &why.cure)).unzip();
        Ok(vec![optional(reason), optional(cure)])
    }

    fn read(row: &Row<'_>, first: usize) -> rusqlite::Result<Self> {
        let reason: Option<String> = row.get(first)?;
        let cure: Option<String> = row.get(first + 1)?;
        Ok(reason.map(|reason| Skipped {
            reason,
            cure: cure.unwrap_or_default(),
        }))
    }
}
