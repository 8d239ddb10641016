//! File serving as keys and values.
//!
//! Prevents: a load, a mix or sizes that read back as others.

use super::keys::{Keys, quoted, word};
use crate::study::{DataSize, FileSizes, FileWork, Files, Protocol, Serving, Study};

/// Of `[files]`.
pub(super) fn section(study: &Study) -> Keys {
    let Some(files) = study.stacks.iter().find_map(|stack| stack.engine.files()) else {
        return Keys::new();
    };
    let mut keys = vec![
        ("protocol", word(&files.protocol)),
        ("transfer", quoted(files.transfer)),
    ];
    if files.protocol == Protocol::Nfs3 {
        keys.extend(of_nfs(files));
    }
    keys
}

fn of_nfs(files: &Files) -> Keys {
    let mut keys: Keys = files.server.iter().map(|server| ("server", word(server))).collect();
    keys.push(("connections", files.connections.to_string()));
    let threads = files
        .threads
        .map_or_else(|| quoted("auto"), |threads| threads.to_string());
    keys.push(("threads", threads));
    keys
}

pub(super) fn phase(serving: &Serving) -> Keys {
    let mut keys = match &serving.work {
        FileWork::Mix(mix) => vec![("mix", word(mix))],
        FileWork::Own(all) => {
            let all: Vec<String> = all
                .iter()
                .map(|(call, percent)| format!("{call} = {percent}"))
                .collect();
            vec![("mix", format!("{{ {} }}", all.join(", ")))]
        }
        FileWork::Steps(steps) => vec![("work", word(steps))],
    };
    let loads: Vec<String> = serving.load.iter().map(quoted).collect();
    let until = serving.until.map_or_else(
        || quoted("none"),
        |limit| format!("{{ response = {}, of = {} }}", quoted(limit.response), word(&limit.of)),
    );
    let sizes = match &serving.sizes {
        FileSizes::Sfs97 => quoted("sfs97"),
        FileSizes::Own(all) => {
            let all: Vec<String> = all
                .iter()
                .map(|(size, pct)| format!("[{}, {pct}]", quoted(size)))
                .collect();
            format!("[{}]", all.join(", "))
        }
    };
    keys.extend([
        ("load", format!("[{}]", loads.join(", "))),
        ("until", until),
        ("reached", quoted(serving.reached)),
        ("warm_up", quoted(serving.warm_up)),
        ("arrival", word(&serving.arrival)),
        ("sessions", serving.sessions.to_string()),
        match serving.data {
            DataSize::PerLoad(bytes) => ("data_per_load", quoted(bytes)),
            DataSize::Fixed(bytes) => ("data_size", quoted(bytes)),
        },
        ("accessed", quoted(serving.accessed)),
        ("sizes", sizes),
        ("files_per_directory", serving.files_per_directory.to_string()),
        ("lookups_failed", quoted(serving.lookups_failed)),
        ("append", quoted(serving.append)),
        ("stable", quoted(serving.stable)),
    ]);
    keys
}
