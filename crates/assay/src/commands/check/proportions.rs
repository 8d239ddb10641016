//! What a study keeps of the proportions of the publication that it names: value there, value here, and why they
//! differ.
//!
//! Takes a study, gives rows for `assay check`. Prevents: a small study sold as the large one that it is modelled on.

use crate::commands::answer::{size, wrapped};
use plan::{LunSource, Scale, Study};
use report::published::{Setup, find};
use serde_json::json;
use std::fmt::Write;

/// One quantity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    what: &'static str,
    there: String,
    here: String,
    why: String,
}

/// The factor of `--scale seed`: with it the LUNs of the first stack hold as much as those of the publication.
pub(crate) fn seed_factor(study: &Study) -> anyhow::Result<f64> {
    let cure = "name a publication whose setup is known, as published = \"xtremio-2014\" in [study], or write a number";
    let named = study.published.as_deref().map(find);
    let setup = named.and_then(Result::ok).and_then(|source| source.setup.as_ref());
    let (Some(setup), Some((count, bytes))) = (setup, luns(study)) else {
        anyhow::bail!("--scale seed: the study names no publication with LUNs to be as large as\n  {cure}");
    };
    Ok(setup.luns as f64 * setup.lun_bytes as f64 / (count as f64 * bytes as f64))
}

/// LUN files of the data of the first stack: how many, and bytes of each.
fn luns(study: &Study) -> Option<(u64, u64)> {
    let set = study.stacks.iter().find_map(|stack| stack.data.as_ref())?;
    match &study.luns.iter().find(|one| one.name == *set)?.source {
        LunSource::Files { count, size, .. } => Some((u64::from(*count), size.0)),
        LunSource::Devices { .. } => None,
    }
}

/// The rows; none where the study names no publication, or one whose setup is not known.
pub(crate) fn rows(study: &Study, blocks: u32) -> Vec<Row> {
    let source = study.published.as_deref().and_then(|id| find(id).ok());
    let Some(setup) = source.and_then(|source| source.setup.as_ref()) else {
        return Vec::new();
    };
    let mut rows = Vec::new();
    let mut add = |what, there: String, here: String, why: &str| {
        let why = if there == here { "the same" } else { why }.to_string();
        rows.push(Row { what, there, here, why });
    };
    let database = &study.database;
    let data = study.data_bytes();
    if let Some((count, bytes)) = luns(study) {
        let why = "the size of this run; `--scale seed` makes them as large";
        let of = |count: u64, bytes: u64| format!("{count} of {}", size(bytes));
        add(
            "LUNs of the data",
            of(setup.luns, setup.lun_bytes),
            of(count, bytes),
            why,
        );
    }
    if let Some(data) = data {
        add("data", size(setup.data_bytes), size(data), "follows from LUNs and fill");
    }
    if let Scale::Share(share) = database.scale {
        let why = "a copy-on-write file system that is fuller than about half cannot take a full random overwrite";
        add("fill of the smallest", percent(setup.fill), percent(share.0), why);
    }
    let cache = |cache: u64, data: u64| format!("{:.1} %", cache as f64 * 100.0 / data.max(1) as f64);
    if let Some(data) = data {
        let why = "the pages that all sessions hold must fit into half the cache, for data of any size";
        add(
            "cache of the data",
            cache(setup.cache_bytes, setup.data_bytes),
            cache(database.cache.0, data),
            why,
        );
    }
    memory(study, setup, &mut add);
    add(
        "page",
        size_of_page(setup.page_bytes),
        size_of_page(database.page.0),
        "the study says so",
    );
    let read = database.multiblock_read.to_string();
    add(
        "pages a scan reads",
        setup.multiblock_read.to_string(),
        read,
        "the study says so",
    );
    add(
        "schemas",
        setup.schemas.to_string(),
        database.schemas.to_string(),
        "the study says so",
    );
    phases(study, setup, &mut add);
    add(
        "runs of each phase",
        "1".into(),
        blocks.to_string(),
        "one run has no interval",
    );
    rows
}

fn memory(study: &Study, setup: &Setup, add: &mut dyn FnMut(&'static str, String, String, &str)) {
    let budget = study.memory.budget;
    let budget = budget.map_or("not bounded".into(), |bytes| format!("{} in all", size(bytes.0)));
    let why = "one budget for engine and page cache, the same on all stacks";
    add("memory of files", setup.file_cache.clone(), budget, why);
}

fn phases(study: &Study, setup: &Setup, add: &mut dyn FnMut(&'static str, String, String, &str)) {
    let randoms = || {
        let phases = study.phases.iter();
        phases.filter_map(|phase| Some((phase, phase.kind.random()?)))
    };
    if let Some(most) = randoms().map(|(_, random)| random.sessions).max() {
        add(
            "sessions",
            setup.sessions.to_string(),
            most.to_string(),
            "the study says so",
        );
    }
    let scans = study.phases.iter().find_map(|phase| phase.kind.scan());
    if let Some(scan) = scans {
        let of = |users: u64, degree: u32| format!("{users}, degree {degree}");
        let here = of(u64::from(scan.users), scan.degree);
        add("users scanned", of(setup.scan_users, 1), here, "the study says so");
    }
    if let Some(longest) = randoms().filter_map(|(phase, _)| phase.time).max() {
        let why = "repeated in blocks instead; Assay checks that the rate is steady";
        add(
            "time of random work",
            format!("{} s", setup.random_s),
            format!("{} s", longest.0 / 1_000_000_000),
            why,
        );
    }
    let ages = study.phases.iter().filter_map(|phase| phase.kind.age());
    let passes: u32 = ages.map(|age| age.passes).sum();
    if passes > 0 {
        let here = match passes {
            1 => "each page once".to_string(),
            more => format!("each page {more}x"),
        };
        add(
            "ageing",
            setup.ageing.clone(),
            here,
            "Assay counts what the work really overwrites",
        );
    }
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

fn size_of_page(bytes: u64) -> String {
    format!("{} KiB", bytes >> 10)
}

/// As a table of 80 columns.
pub(crate) fn words(study: &Study, rows: &[Row]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let id = study.published.as_deref().unwrap_or_default();
    let mut text = format!("\nproportions of {id}\n");
    let mut line = |what: &str, there: &str, here: &str, why: &str| {
        let name = format!("  {what:<20} {there:<15} {here:<15} ");
        let indent = name.chars().count();
        let _ = write!(text, "{}", wrapped(&name, indent, why));
    };
    line("", "there", "here", "why");
    for row in rows {
        line(row.what, &row.there, &row.here, &row.why);
    }
    text
}

pub(crate) fn as_json(rows: &[Row]) -> serde_json::Value {
    let one = |row: &Row| json!({ "what": row.what, "seed": row.there, "used": row.here, "why": row.why });
    rows.iter().map(one).collect()
}
