//! A resolved study as keys and values: the list that goes with every result, and the study printed whole.
//!
//! Takes a [`Study`], whose parts give their keys; gives [`Resolved`] rows in a stable order, and TOML that reads back
//! as the same study. Prevents: a default that is used but not shown: rows and print come from the one list made here.

use crate::shown::{Keys, Shown, quoted, strings, table};
use crate::study::{Device, Engine, LunSource, Resolved, Stack, Study};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// One section of the file with its keys.
struct Part {
    /// `[study]`, `[luns."data"]`, `[[phase]]`.
    header: String,
    /// `study`, `luns.data`, `phase.fresh read`.
    name: String,
    /// Dotted where they stand in a table of the section: `inject.late`.
    keys: Vec<(String, String)>,
}

/// The rows of a study. `said` holds what stands in the file, as (section, key).
pub(crate) fn resolved(study: &Study, said: &BTreeSet<(String, String)>) -> Vec<Resolved> {
    let mut rows = Vec::new();
    if study.scaled != 1.0 {
        let value = study.scaled.to_string();
        rows.push(Resolved {
            key: "run.scale".to_string(),
            value,
            written: true,
            unscaled: None,
        });
    }
    for part in parts(study) {
        for (key, value) in part.keys {
            // `files = "x"` is refused, `files.size` is what counts; a table said as a whole says its keys apart.
            let of_all = |key: &str| {
                part.name.starts_with("stack.") && said.contains(&("database".to_string(), key.to_string()))
            };
            let written =
                said.contains(&(part.name.clone(), key.clone())) || key.strip_prefix("database.").is_some_and(of_all);
            rows.push(Resolved {
                key: format!("{}.{key}", part.name),
                value,
                written,
                unscaled: None,
            });
        }
    }
    rows
}

/// The study as a file that says everything.
pub(crate) fn to_toml(study: &Study) -> String {
    let sections = parts(study).into_iter().filter(|part| !part.keys.is_empty());
    let sections = sections.map(|part| {
        let keys = part.keys.iter().map(|(key, value)| format!("{key} = {value}\n"));
        format!("{}\n{}", part.header, keys.collect::<String>())
    });
    sections.collect::<Vec<_>>().join("\n")
}

fn parts(study: &Study) -> Vec<Part> {
    let mut parts = vec![section("study", plain(study.keys()))];
    for set in &study.luns {
        let device = set.device.as_ref().map(device).unwrap_or_default();
        parts.push(Part {
            header: format!("[luns.{}]", quoted(&set.name)),
            name: format!("luns.{}", set.name),
            keys: plain([source(&set.source), device].concat()),
        });
    }
    parts.push(section("memory", plain(study.memory.keys())));
    parts.extend(
        study
            .instances
            .iter()
            .map(|all| section("instances", plain(all.keys()))),
    );
    parts.extend(study.stacks.iter().map(|each| item("stack", &each.name, stack(each))));
    parts.push(section("database", plain(database(study))));
    if let Some(files) = study.stacks.iter().find_map(|stack| stack.engine.files()) {
        parts.push(section("files", plain(files.keys())));
    }
    for phase in &study.phases {
        let keys = [phase.keys(), phase.kind.keys()].concat();
        parts.push(item("phase", &phase.name, plain(keys)));
    }
    parts.extend(study.cost.iter().map(|cost| section("cost", plain(cost.keys()))));
    // Nothing stands for a publication unless it was said.
    let published = stands_for(study);
    parts.extend((!published.is_empty()).then(|| section("published", plain(published))));
    parts
}

/// `[name]`.
fn section(name: &str, keys: Vec<(String, String)>) -> Part {
    Part {
        header: format!("[{name}]"),
        name: name.to_string(),
        keys,
    }
}

/// One of `[[list]]`.
fn item(list: &str, name: &str, keys: Vec<(String, String)>) -> Part {
    Part {
        header: format!("[[{list}]]"),
        name: format!("{list}.{name}"),
        keys,
    }
}

fn plain(keys: Keys) -> Vec<(String, String)> {
    under("", keys)
}

/// Keys of a table within a section: `inject.late`.
fn under(table: &str, keys: Keys) -> Vec<(String, String)> {
    let keys = keys.into_iter();
    keys.map(|(key, value)| (format!("{table}{key}"), value)).collect()
}

/// What stands for what of a publication, as far as it was said.
fn stands_for(study: &Study) -> Keys {
    let both = [
        ("stacks", &study.stands_for.stacks),
        ("phases", &study.stands_for.phases),
    ];
    let said = both.into_iter().filter(|(_, all)| !all.is_empty());
    let pairs = |all: &[(String, String)]| table(all.iter().map(|(ours, theirs)| (quoted(ours), quoted(theirs))));
    said.map(|(key, all)| (key, pairs(all))).collect()
}

fn source(source: &LunSource) -> Keys {
    match source {
        LunSource::Files { count, size, dir } => vec![
            ("files.count", count.to_string()),
            ("files.size", quoted(size)),
            ("files.dir", quoted(dir.display())),
        ],
        LunSource::Devices { paths, overwrite } => {
            let list = |paths: &[PathBuf]| strings(paths.iter().map(|path| path.display().to_string()));
            vec![("devices", list(paths)), ("overwrite", list(overwrite))]
        }
    }
}

fn device(device: &Device) -> Keys {
    let mut keys = vec![("model", quoted(device.model.word()))];
    keys.extend((!device.preset.is_empty()).then(|| ("preset", quoted(device.preset))));
    keys.extend(device.histogram.shown().map(|file| ("parameters.histogram", file)));
    keys.extend(device.parameters.iter().map(|p| (p.spec.key, p.to_string())));
    keys.push(("volatile", quoted(device.volatile)));
    keys
}

fn stack(stack: &Stack) -> Vec<(String, String)> {
    let mut inject = under("inject.", stack.inject.keys());
    let rare = inject.split_off(2);
    let engine = match &stack.engine {
        // A section of their own has them.
        Engine::Files(_) => Keys::new(),
        engine => [vec![("engine", quoted(engine.word()))], engine.keys()].concat(),
    };
    [plain(stack.keys()), inject, under("database.", engine), rare].concat()
}

/// Of the page engine's keys, those that mean something in this study: what stacks take from `[database]` stands with
/// each of them.
fn database(study: &Study) -> Keys {
    let paged = study.stacks.is_empty() || study.stacks.iter().any(|stack| stack.engine == Engine::Pages);
    let random = study.phases.iter().any(|phase| phase.kind.random().is_some());
    let all = study.database.keys().into_iter();
    all.filter(|(key, _)| paged || random && *key == "scale").collect()
}
