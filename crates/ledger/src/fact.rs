//! A fact of the result file: of what it is, which one, and its value as a type.
//!
//! Takes values as types, or as rooms below give them (a name and a text, which the list must know); gives them back
//! so. Words for people are made here and nowhere else ([`FactKey`] and [`FactValue`] print themselves). Prevents: a
//! report that changes its mind because a sentence was worded anew.

use crate::error::LedgerError;
use crate::file::Ledger;
use crate::insert::insert;
use crate::rows::columns::{columns, no_meaning};
use crate::rows::{Alone, FactName, FactType, committed_words};
use std::fmt;

/// Of what a fact is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// The target of a copy, by the words for it.
    Copy(String),
    /// A block device.
    Device(String),
    /// The host.
    Host,
    /// A set of LUNs, or one of them.
    Lun(String, Option<u32>),
    /// A stack.
    Stack(String),
    /// The study.
    Study,
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scope::Copy(name) => write!(f, "copy:{name}"),
            Scope::Device(name) => write!(f, "device:{name}"),
            Scope::Host => f.write_str("host"),
            Scope::Lun(set, None) => write!(f, "lun:{set}"),
            Scope::Lun(set, Some(number)) => write!(f, "lun:{set}:{number}"),
            Scope::Stack(name) => write!(f, "stack:{name}"),
            Scope::Study => f.write_str("study"),
        }
    }
}

committed_words! {
    /// Which files of a database something is of, where both are told apart.
    Role {
        /// The data.
        Data = "data",
        /// The redo log.
        Redo = "redo",
        /// Temporary files of a database.
        Temp = "temp",
    }
}

committed_words! {
    /// Which way reads or writes go.
    Way {
        /// Around the page cache.
        Around = "around",
        /// Through the page cache.
        Through = "through",
        /// It could not be seen.
        Unknown = "unknown",
    }
}

committed_words! {
    /// How files on a pool are read.
    ArcWay {
        /// Through the page cache and the ARC, as asked.
        Buffered = "buffered",
        /// Through the ARC, whatever was asked.
        Through = "through",
        /// Around the ARC.
        Around = "around",
    }
}

committed_words! {
    /// Who empties the page cache before a phase.
    CachesEmptied {
        /// Root, that of the whole host.
        Root = "root",
        /// The run's memory group, that of its own processes.
        Group = "group",
        /// Nobody: what loading left stays.
        Nobody = "nobody",
    }
}

/// What runs a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ZfsWay {
    /// The kernel's module, of a version.
    Kernel(String),
    /// OpenZFS's library in a process.
    Userspace,
    /// zfs-fuse, with a version of the pool.
    Fuse(String),
}

/// How the stacks of a block take turns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TakingTurns {
    /// One after the other, each for the whole of its phases.
    Whole,
    /// Side by side, in stints: their order and length as the study says them.
    Stints(String),
}

/// Which fact: a row of the list, and what tells it from others of that name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FactKey {
    /// The row of the list.
    pub name: FactName,
    /// Of which files it is, where it is of one of the two.
    pub role: Option<Role>,
    /// Which of several: a path, a number, the name of a disk or a parameter.
    pub which: Option<String>,
}

impl From<FactName> for FactKey {
    fn from(name: FactName) -> FactKey {
        FactKey {
            name,
            role: None,
            which: None,
        }
    }
}

impl FactKey {
    /// The key that a room below says in words; `None` for words that the list does not know.
    fn said(label: &str) -> Option<FactKey> {
        if let Some(name) = FactName::from_word(label) {
            return Some(name.into());
        }
        if let Some(path) = label.strip_prefix(FactName::BytesOf.as_str()) {
            return Some(FactName::BytesOf.of(path.trim_start()));
        }
        let (role, rest) = label.split_once(' ')?;
        Some(FactName::from_word(rest)?.on(Role::from_word(role)?))
    }

    /// With its value.
    pub fn is(self, value: impl Into<FactValue>) -> Disclosed {
        (self, value.into())
    }
}

impl FactName {
    /// The fact of the data or the redo log.
    pub fn on(self, role: Role) -> FactKey {
        FactKey {
            role: Some(role),
            ..self.into()
        }
    }

    /// The fact of one of several.
    pub fn of(self, which: impl fmt::Display) -> FactKey {
        FactKey {
            which: Some(which.to_string()),
            ..self.into()
        }
    }

    /// With its value.
    pub fn is(self, value: impl Into<FactValue>) -> Disclosed {
        FactKey::from(self).is(value)
    }
}

/// The name that a report prints.
impl fmt::Display for FactKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.name, self.role, &self.which) {
            // Known by their own names.
            (FactName::GroupDisk | FactName::Parameter, _, Some(which)) => f.write_str(which),
            (name, None, Some(which)) => write!(f, "{} {which}", name.as_str()),
            (name, Some(role), _) => write!(f, "{} {}", role.as_str(), name.as_str()),
            (name, None, None) => f.write_str(name.as_str()),
        }
    }
}

/// The value of a fact, by its type.
#[derive(Clone, Debug, PartialEq)]
pub enum FactValue {
    /// [`FactType::Text`].
    Text(String),
    /// [`FactType::Whole`].
    Whole(u64),
    /// [`FactType::Ratio`].
    Ratio(f64),
    /// [`FactType::Amount`].
    Amount(f64),
    /// [`FactType::Share`].
    Share(f64),
    /// [`FactType::Names`].
    Names(Vec<String>),
    /// [`FactType::Way`].
    Way(Way),
    /// [`FactType::ArcWay`].
    ArcWay(ArcWay),
    /// [`FactType::ZfsWay`].
    ZfsWay(ZfsWay),
    /// [`FactType::Turns`].
    Turns(TakingTurns),
    /// [`FactType::Emptied`].
    Emptied(CachesEmptied),
}

macro_rules! values_from {
    ($($type:ty as $variant:ident $(by $with:path)?;)+) => {
        $(impl From<$type> for FactValue {
            fn from(value: $type) -> FactValue {
                FactValue::$variant($($with)?(value))
            }
        })+
    };
}

values_from! {
    String as Text by String::from;
    &str as Text by str::to_owned;
    u64 as Whole by u64::from;
    u32 as Whole by u64::from;
    Vec<String> as Names by Vec::from;
    Way as Way by std::convert::identity;
    ArcWay as ArcWay by std::convert::identity;
    ZfsWay as ZfsWay by std::convert::identity;
    TakingTurns as Turns by std::convert::identity;
    CachesEmptied as Emptied by std::convert::identity;
}

/// A kind of pool or of turns stands before what is said of it.
fn with_rest(word: &str, rest: &str) -> String {
    format!("{word} {rest}")
}

impl FactValue {
    /// The value as the file has it.
    fn stored(&self) -> String {
        match self {
            FactValue::Text(text) => text.clone(),
            FactValue::Whole(number) => number.to_string(),
            FactValue::Ratio(ratio) => format!("{ratio:.2}"),
            FactValue::Amount(amount) => amount.to_string(),
            FactValue::Share(share) => format!("{share:.3}"),
            FactValue::Names(names) => names.join("\n"),
            FactValue::Way(way) => way.as_str().into(),
            FactValue::ArcWay(way) => way.as_str().into(),
            FactValue::ZfsWay(ZfsWay::Kernel(version)) => with_rest("kernel", version),
            FactValue::ZfsWay(ZfsWay::Userspace) => "userspace".into(),
            FactValue::ZfsWay(ZfsWay::Fuse(version)) => with_rest("fuse", version),
            FactValue::Turns(TakingTurns::Whole) => "whole".into(),
            FactValue::Turns(TakingTurns::Stints(said)) => with_rest("stints", said),
            FactValue::Emptied(by) => by.as_str().into(),
        }
    }

    /// What the file has, as a value of that type; `None` for what no run writes.
    fn read(value_type: FactType, stored: &str) -> Option<FactValue> {
        let figure = || stored.parse().ok().filter(|figure: &f64| figure.is_finite());
        let (word, rest) = stored.split_once(' ').unwrap_or((stored, ""));
        Some(match value_type {
            FactType::Text => FactValue::Text(stored.into()),
            FactType::Whole => FactValue::Whole(stored.parse().ok()?),
            FactType::Ratio => FactValue::Ratio(figure()?),
            FactType::Amount => FactValue::Amount(figure()?),
            FactType::Share => FactValue::Share(figure()?),
            FactType::Names => FactValue::Names(stored.lines().map(str::to_owned).collect()),
            FactType::Way => FactValue::Way(Way::from_word(stored)?),
            FactType::ArcWay => FactValue::ArcWay(ArcWay::from_word(stored)?),
            FactType::ZfsWay => FactValue::ZfsWay(match word {
                "kernel" => ZfsWay::Kernel(rest.into()),
                "userspace" => ZfsWay::Userspace,
                "fuse" => ZfsWay::Fuse(rest.into()),
                _ => return None,
            }),
            FactType::Turns => FactValue::Turns(match word {
                "whole" => TakingTurns::Whole,
                "stints" => TakingTurns::Stints(rest.into()),
                _ => return None,
            }),
            FactType::Emptied => FactValue::Emptied(CachesEmptied::from_word(stored)?),
        })
    }

    /// The number of [`FactType::Whole`], [`FactType::Ratio`], [`FactType::Amount`] and [`FactType::Share`].
    pub fn number(&self) -> Option<f64> {
        match self {
            FactValue::Whole(number) => Some(*number as f64),
            FactValue::Ratio(figure) | FactValue::Amount(figure) | FactValue::Share(figure) => Some(*figure),
            _ => None,
        }
    }

    /// The number of [`FactType::Whole`].
    pub fn whole(&self) -> Option<u64> {
        match self {
            FactValue::Whole(number) => Some(*number),
            _ => None,
        }
    }

    /// The names of [`FactType::Names`].
    pub fn names(&self) -> &[String] {
        match self {
            FactValue::Names(names) => names,
            _ => &[],
        }
    }

    /// The text of [`FactType::Text`].
    pub fn text(&self) -> Option<&str> {
        match self {
            FactValue::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// The words that a report prints.
impl fmt::Display for FactValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FactValue::Names(names) => f.write_str(&names.join(", ")),
            FactValue::Way(way) => f.write_str(match way {
                Way::Around => "around the page cache",
                Way::Through => "through the page cache",
                Way::Unknown => "unknown",
            }),
            FactValue::ArcWay(way) => f.write_str(match way {
                ArcWay::Buffered => "files are read through the page cache and it",
                ArcWay::Through => "through it: O_DIRECT is taken and ignored (seen by its counters)",
                ArcWay::Around => "around it: O_DIRECT is kept (seen by its counters)",
            }),
            FactValue::ZfsWay(way) => match way {
                ZfsWay::Kernel(version) => write!(f, "kernel: its module, version {version}"),
                ZfsWay::Userspace => f.write_str("userspace: OpenZFS's library in a process of its own"),
                ZfsWay::Fuse(version) => write!(f, "fuse: zfs-fuse, pool version {version}, not today's OpenZFS"),
            },
            FactValue::Turns(turns) => turns.fmt(f),
            FactValue::Emptied(by) => f.write_str(match by {
                CachesEmptied::Root => "root, for the whole host",
                CachesEmptied::Group => "the run's memory group",
                CachesEmptied::Nobody => "nobody",
            }),
            plain => f.write_str(&plain.stored()),
        }
    }
}

impl fmt::Display for TakingTurns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TakingTurns::Whole => "whole runs",
            TakingTurns::Stints(said) => said,
        })
    }
}

/// A fact before it is said of what it is.
pub type Disclosed = (FactKey, FactValue);

/// One fact about what the study ran on.
#[derive(Clone, Debug, PartialEq)]
pub struct Fact {
    /// Of what.
    pub scope: Scope,
    /// Which.
    pub key: FactKey,
    /// Its value, of the type that its name has.
    pub value: FactValue,
}

/// A fact that a room below gives as a name and a text.
///
/// # Errors
/// [`LedgerError::UnknownFact`] for a name that is not in the list, or a text that is no value of it.
pub fn disclosed(name: &str, text: &str) -> Result<Disclosed, LedgerError> {
    let key = FactKey::said(name);
    let value = key
        .as_ref()
        .and_then(|key| FactValue::read(key.name.value_type(), text));
    key.zip(value).ok_or_else(|| LedgerError::UnknownFact {
        name: name.into(),
        value: text.into(),
    })
}

/// A fact as its columns.
pub(crate) struct StoredFact {
    scope: String,
    subject: String,
    number: Option<u32>,
    name: String,
    role: Option<Role>,
    which: Option<String>,
    value: String,
}

columns!(StoredFact: scope, subject, number, name, role, which, value);

impl From<&Fact> for StoredFact {
    fn from(fact: &Fact) -> StoredFact {
        let (scope, subject, number) = match &fact.scope {
            Scope::Copy(name) => ("copy", name.as_str(), None),
            Scope::Device(name) => ("device", name.as_str(), None),
            Scope::Host => ("host", "", None),
            Scope::Lun(set, number) => ("lun", set.as_str(), *number),
            Scope::Stack(name) => ("stack", name.as_str(), None),
            Scope::Study => ("study", "", None),
        };
        StoredFact {
            scope: scope.into(),
            subject: subject.into(),
            number,
            name: fact.key.name.as_str().into(),
            role: fact.key.role,
            which: fact.key.which.clone(),
            value: fact.value.stored(),
        }
    }
}

impl StoredFact {
    /// The fact; `None` for a name of a later version, `Err` for what no version writes.
    fn fact(self) -> Result<Option<Fact>, String> {
        let Some(name) = FactName::from_word(&self.name) else {
            return Ok(None);
        };
        let scope = match self.scope.as_str() {
            "copy" => Scope::Copy(self.subject),
            "device" => Scope::Device(self.subject),
            "host" => Scope::Host,
            "lun" => Scope::Lun(self.subject, self.number),
            "stack" => Scope::Stack(self.subject),
            "study" => Scope::Study,
            other => return Err(no_meaning(other).to_string()),
        };
        let value = FactValue::read(name.value_type(), &self.value);
        Ok(Some(Fact {
            scope,
            key: FactKey {
                name,
                role: self.role,
                which: self.which,
            },
            value: value.ok_or_else(|| format!("the fact \"{}\" has a value that no run writes", self.name))?,
        }))
    }
}

impl Ledger {
    /// Records a fact; the same scope and key again replaces the value.
    ///
    /// # Errors
    /// [`LedgerError`], as every act of writing.
    pub fn fact(&mut self, fact: &Fact) -> Result<(), LedgerError> {
        self.facts_all(std::slice::from_ref(fact))
    }

    /// Records many facts at once.
    ///
    /// # Errors
    /// [`LedgerError`], as every act of writing.
    pub fn facts_all(&mut self, facts: &[Fact]) -> Result<(), LedgerError> {
        let rows: Vec<StoredFact> = facts.iter().map(StoredFact::from).collect();
        self.act("record a fact", |connection| {
            let mut old = connection.prepare_cached(
                "DELETE FROM fact WHERE scope = ?1 AND subject = ?2 AND number IS ?3 AND name = ?4 AND role IS ?5
                 AND which IS ?6",
            )?;
            for row in &rows {
                old.execute((&row.scope, &row.subject, row.number, &row.name, row.role, &row.which))?;
                insert(connection, "fact", &Alone, row)?;
            }
            Ok(())
        })
    }

    /// Facts, by what they are of and by the names that are printed; those of names that this version does not know are
    /// left out.
    ///
    /// # Errors
    /// [`LedgerError`], as every act of reading.
    pub fn facts(&self) -> Result<Vec<Fact>, LedgerError> {
        let mut facts = Vec::new();
        for row in self.plain::<StoredFact>("fact", "rowid")? {
            facts.extend(row.fact().map_err(|detail| LedgerError::Damaged {
                path: self.path.clone(),
                detail,
            })?);
        }
        facts.sort_by_cached_key(|fact| (fact.scope.clone(), fact.key.to_string()));
        Ok(facts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_room_says_is_found_in_the_list_or_refused() {
        let printed =
            |name: &str, text: &str| disclosed(name, text).map(|(key, value)| (key.to_string(), value.to_string()));
        for name in [
            "redo mkfs version",
            "data profile",
            "bytes of /dev/sd a",
            "dataset sync",
        ] {
            let text = if name.starts_with("bytes") { "7" } else { "x" };
            assert_eq!(printed(name, text).unwrap(), (name.to_string(), text.to_string()));
        }
        let way = printed("way to ZFS", "fuse 23").unwrap().1;
        assert_eq!(way, "fuse: zfs-fuse, pool version 23, not today's OpenZFS");
        assert!(printed("no such fact", "x").is_err());
        assert!(printed("way to ZFS", "by hand").is_err());
        assert!(printed("cpus", "two").is_err());
    }

    #[test]
    fn a_value_is_read_as_it_was_stored() {
        for value in [
            FactValue::Names(vec!["sda".into(), "sdb".into()]),
            FactValue::Names(Vec::new()),
            FactValue::Way(Way::Around),
            FactValue::Turns(TakingTurns::Stints("abba, in stints of 1s".into())),
            FactValue::Emptied(CachesEmptied::Group),
            FactValue::ZfsWay(ZfsWay::Kernel("2.1.11-1 (of the distribution)".into())),
            FactValue::Ratio(1.25),
        ] {
            let value_type = match value {
                FactValue::Names(_) => FactType::Names,
                FactValue::Way(_) => FactType::Way,
                FactValue::Turns(_) => FactType::Turns,
                FactValue::Emptied(_) => FactType::Emptied,
                FactValue::ZfsWay(_) => FactType::ZfsWay,
                _ => FactType::Ratio,
            };
            assert_eq!(FactValue::read(value_type, &value.stored()), Some(value));
        }
    }
}
