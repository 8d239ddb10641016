//! Engines and phases in SQL as keys and values.
//!
//! Prevents: keys of the page engine printed in a study that has none.

use super::keys::{Keys, float, or_word, quoted, word};
use crate::study::{Bulk, Engine, PhaseKind, Study, Tpcc, Tpch, TpchRun};
use crate::units::Rate;

/// Of `[database]`, whose keys for the page engine are `all`: those that mean something in this study.
pub(super) fn database(study: &Study, all: Keys) -> Keys {
    let paged = study.stacks.is_empty() || study.stacks.iter().any(|stack| stack.engine == Engine::Pages);
    let random = study
        .phases
        .iter()
        .any(|phase| matches!(phase.kind, PhaseKind::Random(_)));
    // What stacks take from here stands with each of them.
    all.into_iter()
        .filter(|(key, _)| paged || random && *key == "scale")
        .collect()
}

/// Of a stack.
pub(super) fn of_stack(engine: &Engine) -> Keys {
    let mut keys = vec![("database.engine", quoted(engine.word()))];
    match engine {
        Engine::Pages => {}
        Engine::Postgres(postgres) => {
            let settings: Vec<String> = postgres
                .settings
                .iter()
                .map(|(name, value)| format!("{} = {}", quoted(name), quoted(value)))
                .collect();
            keys.extend([
                (
                    "database.version",
                    postgres
                        .version
                        .map_or_else(|| quoted("newest"), |version| version.to_string()),
                ),
                ("database.preset", word(&postgres.preset)),
                ("database.cache", quoted(postgres.cache)),
                ("database.settings", format!("{{ {} }}", settings.join(", "))),
                ("database.checksums", postgres.checksums.to_string()),
                ("database.isolation", word(&postgres.isolation)),
                ("database.run_as", or_word(&postgres.run_as, "auto")),
            ]);
        }
        Engine::Sqlite(sqlite) => keys.extend([
            ("database.page", quoted(sqlite.page)),
            ("database.cache", quoted(sqlite.cache)),
            ("database.journal", word(&sqlite.journal)),
            ("database.synchronous", word(&sqlite.synchronous)),
            ("database.wal_autocheckpoint", sqlite.wal_autocheckpoint.to_string()),
        ]),
    }
    keys
}

pub(super) fn tpcc(tpcc: &Tpcc) -> Keys {
    vec![
        ("users", numbers(&tpcc.users)),
        ("warehouses", tpcc.warehouses.to_string()),
        ("company", word(&tpcc.company)),
        ("home", word(&tpcc.home)),
        ("think_time", tpcc.think_time.to_string()),
        ("rate", or_word(&tpcc.rate.map(Rate), "none")),
    ]
}

pub(super) fn tpch(tpch: &Tpch) -> Keys {
    let run = if tpch.run == TpchRun::Power {
        "power"
    } else {
        "throughput"
    };
    let mut keys = vec![("scale", float(tpch.scale)), ("run", quoted(run))];
    match &tpch.run {
        TpchRun::Power => {}
        TpchRun::Streams(streams) => keys.push(("streams", streams.to_string())),
        TpchRun::Users { users, each } => keys.extend([("users", numbers(users)), ("each", each.to_string())]),
    }
    keys.extend([("text", word(&tpch.text)), ("limit", quoted(tpch.limit))]);
    keys
}

pub(super) fn bulk(bulk: &Bulk) -> Keys {
    vec![
        ("rows", numbers(&bulk.rows)),
        ("commit_every", bulk.commit_every.to_string()),
    ]
}

/// One number as itself, several as a list.
fn numbers<N: ToString>(all: &[N]) -> String {
    match all {
        [one] => one.to_string(),
        all => format!("[{}]", all.iter().map(N::to_string).collect::<Vec<_>>().join(", ")),
    }
}
