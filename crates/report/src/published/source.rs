//! The publications themselves, as data embedded in the program.
//!
//! Gives [`Source`]s. Prevents: an identity, a stack or a phase misspelt in a study and noticed only when it has run.

use serde::Deserialize;
use std::sync::LazyLock;

/// One publication.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// As a study names it.
    pub id: String,
    /// What was compared.
    pub title: String,
    /// When.
    pub year: u32,
    /// On what, in a sentence.
    pub about: String,
    /// Name and description; the first is the base of the ratios.
    pub stacks: Vec<[String; 2]>,
    /// Sizes, where a study can keep their proportions.
    pub setup: Option<Setup>,
    /// What was measured.
    #[serde(default, rename = "phase")]
    pub phases: Vec<Phase>,
    /// Figures.
    #[serde(default, rename = "figure")]
    pub figures: Vec<Figures>,
    /// Ratios that are given in words, or cannot be made of the figures.
    #[serde(default, rename = "ratio")]
    pub ratios: Vec<Ratio>,
    /// What an array keeps of what it is given.
    #[serde(default)]
    pub capacity: Vec<Capacity>,
}

/// On what a publication measured, in numbers.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setup {
    /// LUNs of the data.
    pub luns: u64,
    /// Bytes of each.
    pub lun_bytes: u64,
    /// Bytes of the data.
    pub data_bytes: u64,
    /// Share of the smallest stack that they filled.
    pub fill: f64,
    /// Bytes of the database's memory.
    pub cache_bytes: u64,
    /// What the file system had for itself, in words.
    pub file_cache: String,
    /// Bytes of a page.
    pub page_bytes: u64,
    /// Pages that a scan read at once.
    pub multiblock_read: u64,
    /// Tables.
    pub schemas: u64,
    /// Sessions.
    pub sessions: u64,
    /// Users scanned, of all.
    pub scan_users: u64,
    /// Seconds of a run of random work.
    pub random_s: u64,
    /// What was done to make the data old, in words.
    pub ageing: String,
}

/// One phase of a publication.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Phase {
    /// As a study names it.
    pub id: String,
    /// In words.
    pub about: String,
    /// What its ratios are of.
    pub quantity: String,
    /// "higher" or "lower".
    pub better: String,
    /// The phase of the same stack that this one is a change from.
    pub against: Option<String>,
    /// The phase in which the base was measured, where not in this one.
    pub base_phase: Option<String>,
}

/// Values of one quantity of one stack in one phase, one a run.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figures {
    /// Of which stack.
    pub stack: String,
    /// In which phase.
    pub phase: String,
    /// With its unit: "reads/s".
    pub quantity: String,
    /// One a run.
    pub values: Vec<f64>,
}

/// A ratio to the base in the publication's own words; above 1 is better for the stack.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ratio {
    /// Of which stack.
    pub stack: String,
    /// In which phase.
    pub phase: String,
    /// Least ratio given.
    pub low: f64,
    /// Greatest ratio given.
    pub high: f64,
    /// What was said.
    pub words: String,
}

/// Bytes given to an array over bytes that it keeps.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Capacity {
    /// Of which stack.
    pub stack: String,
    /// As said, or as they follow from what is said.
    pub ratios: Vec<f64>,
    /// What was said.
    pub words: String,
}

/// What a study says of a publication that does not fit it. The last line is what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}\n  {cure}")]
pub struct PublishedError {
    what: String,
    cure: String,
}

#[derive(Deserialize)]
struct File {
    source: Vec<Source>,
}

static SOURCES: LazyLock<Vec<Source>> = LazyLock::new(|| {
    let text = include_str!("../../data/published.toml");
    let file: File = toml::from_str(text).expect("the figures in the program are tested");
    file.source
});

/// All publications.
pub fn sources() -> &'static [Source] {
    &SOURCES
}

/// The publication of that identity.
///
/// # Errors
/// [`PublishedError`] with those that there are.
pub fn find(id: &str) -> Result<&'static Source, PublishedError> {
    sources().iter().find(|source| source.id == id).ok_or_else(|| {
        let all: Vec<&str> = sources().iter().map(|source| source.id.as_str()).collect();
        PublishedError {
            what: format!("no publication is known as {id:?}"),
            cure: format!(
                "take one of {} (`assay published` lists them), or leave the key out",
                all.join(", ")
            ),
        }
    })
}

/// Whether a publication has the stacks and phases that a study maps to it.
///
/// # Errors
/// [`PublishedError`] for the first that it has not.
pub fn check(id: &str, stacks: &[impl AsRef<str>], phases: &[impl AsRef<str>]) -> Result<(), PublishedError> {
    let source = find(id)?;
    let missing = |what: &str, name: &str, all: Vec<&str>| PublishedError {
        what: format!("[published]: {id} has no {what} {name:?}"),
        cure: format!("it is ours = theirs, and theirs is one of: {}", all.join(", ")),
    };
    for name in stacks.iter().map(AsRef::as_ref) {
        if !source.stacks.iter().any(|[stack, _]| stack == name) {
            let all = source.stacks.iter().map(|[stack, _]| stack.as_str()).collect();
            return Err(missing("stack", name, all));
        }
    }
    for name in phases.iter().map(AsRef::as_ref) {
        if source.phase(name).is_none() {
            let all = source.phases.iter().map(|phase| phase.id.as_str()).collect();
            return Err(missing("phase", name, all));
        }
    }
    Ok(())
}

impl Source {
    /// A phase by its name.
    pub fn phase(&self, id: &str) -> Option<&Phase> {
        self.phases.iter().find(|phase| phase.id == id)
    }

    /// Mean over the runs of the phase's own quantity.
    pub(crate) fn mean(&self, stack: &str, phase: &str) -> Option<f64> {
        let quantity = &self.phase(phase)?.quantity;
        let of = |f: &&Figures| f.stack == stack && f.phase == phase && f.quantity == *quantity;
        let values = &self.figures.iter().find(of)?.values;
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    }

    /// Bytes given to an array over bytes that it keeps, as said of a stack.
    pub(crate) fn capacity(&self, stack: &str) -> &[f64] {
        let found = self.capacity.iter().find(|one| one.stack == stack);
        found.map_or(&[], |one| &one.ratios)
    }

    /// The base of its ratios.
    pub(crate) fn base(&self) -> &str {
        self.stacks.first().map_or("", |[name, _]| name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_data_hold_together() {
        assert!(sources().len() >= 4);
        for source in sources() {
            assert!(source.stacks.len() >= 2 && !source.phases.is_empty() && source.about.len() > 40);
            let stack = |name: &str| source.stacks.iter().any(|[stack, _]| stack == name);
            for figure in &source.figures {
                assert!(
                    stack(&figure.stack) && source.phase(&figure.phase).is_some(),
                    "{figure:?}"
                );
                assert!(!figure.values.is_empty() && figure.values.iter().all(|v| v.is_finite() && *v >= 0.0));
            }
            for ratio in &source.ratios {
                assert!(stack(&ratio.stack) && ratio.stack != source.base(), "{ratio:?}");
                assert!(source.phase(&ratio.phase).is_some() && 0.0 < ratio.low && ratio.low <= ratio.high);
            }
            for one in &source.capacity {
                assert!(stack(&one.stack) && one.ratios.iter().all(|r| *r >= 1.0) && !one.words.is_empty());
            }
            for phase in &source.phases {
                assert!(phase.better == "higher" || phase.better == "lower");
                for other in phase.against.iter().chain(&phase.base_phase) {
                    assert_eq!(source.phase(other).map(|p| &p.quantity), Some(&phase.quantity));
                }
            }
        }
    }

    #[test]
    fn figures_as_published() {
        let xtremio = find("xtremio-2014").unwrap();
        assert_eq!(xtremio.mean("asm", "scan"), Some(234.16));
        assert_eq!(xtremio.mean("zfs", "aged scan"), Some(109.80));
        assert_eq!(xtremio.mean("zfs", "read"), Some(22_231.0));
        let unity = find("unity-2017").unwrap();
        let mean = (39731 + 39732 + 39876 + 39875 + 39709 + 39689) as f64 / 3.0;
        assert_eq!(unity.mean("plain", "0 % updates"), Some(mean));
        let mean = (18854 + 18888 + 18517 + 18467 + 18729 + 18624) as f64 / 3.0;
        assert_eq!(unity.mean("compressed", "50 % updates"), Some(mean));
        // The LUNs' own ratio, and 1.1 TB in 386.2 GB, which is another.
        assert_eq!(unity.capacity("compressed"), [4.5, 2.85]);
        assert!((1100.0f64 / 386.2 - 2.85).abs() < 0.005);
        assert!(unity.capacity("plain").is_empty());
    }

    #[test]
    fn the_ramp_of_2007_has_both_ends_of_its_data_and_its_limit() {
        let veritas = find("veritas-2007").unwrap();
        let of = |stack: &str, quantity: &str| {
            let is_it = |one: &&Figures| one.stack == stack && one.phase == "nfs" && one.quantity.starts_with(quantity);
            veritas.figures.iter().find(is_it).map(|one| one.values.clone())
        };
        let ends = ["GB of data at the first", "GB of data at the last"].map(|quantity| of("veritas", quantity));
        assert_eq!(ends, [Some(vec![7.0]), Some(vec![240.0])]);
        for stack in ["zfs", "veritas"] {
            assert_eq!(of(stack, "ms of response"), Some(vec![15.0]));
            assert_eq!(of(stack, "% of the data accessed"), Some(vec![10.0]));
        }
        assert_eq!(of("veritas", "of the disk bandwidth"), Some(vec![0.125]));
        assert_eq!(of("zfs", "times the bytes"), Some(vec![48.0]));
        assert_eq!(veritas.mean("zfs", "nfs"), Some(9000.0));
    }

    #[test]
    fn what_does_not_fit_is_said_with_a_cure() {
        assert!(check("xtremio-2014", &["asm", "zfs"], &["read", "aged scan"]).is_ok());
        let error = check("xtremio-2013", &[""; 0], &[""; 0]).unwrap_err().to_string();
        assert!(error.contains("xtremio-2014") && error.lines().count() == 2, "{error}");
        let error = check("xtremio-2014", &["btrfs"], &[""; 0]).unwrap_err().to_string();
        assert!(error.contains("asm, zfs"), "{error}");
        let error = check("xtremio-2014", &[""; 0], &["reads"]).unwrap_err().to_string();
        assert!(error.contains("aged scan"), "{error}");
    }
}
