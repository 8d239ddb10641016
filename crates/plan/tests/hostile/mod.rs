//! Hostile studies as data (`cases.toml`): each a small study in which one line is hostile, with where and how it is
//! refused.
//!
//! Shared by the tests of this room and of `assay`, which runs them beside devices that must stay as they are.
#![allow(dead_code)] // each test binary uses its part

/// One hostile study.
pub(crate) struct Case {
    pub(crate) name: String,
    /// The whole study, and where the refusal points: line and column, from 1.
    pub(crate) text: String,
    pub(crate) place: (usize, usize),
    /// A part of the refusal.
    pub(crate) says: String,
    /// The hostile line.
    pub(crate) line: String,
}

/// All, with `canary` as the path of the device that none of them may touch.
pub(crate) fn cases(canary: &str) -> Vec<Case> {
    let table: toml::Table = include_str!("cases.toml").parse().expect("TOML");
    let cases = table["case"].as_array().expect("cases");
    cases.iter().map(|case| read(case, canary)).collect()
}

/// The study of a kind in which the hostile lines stand, without one.
pub(crate) fn honest(kind: &str) -> String {
    let lines: Vec<String> = base(kind).into_iter().flat_map(|(_, lines)| lines).collect();
    lines.join("\n") + "\n"
}

fn read(case: &toml::Value, canary: &str) -> Case {
    let said = |key: &str| case.get(key).and_then(toml::Value::as_str).unwrap_or_default();
    let line = said("line").replace("CANARY", canary);
    let at = said("at").replace("CANARY", canary);
    let key = |line: &str| line.split(['=', ' ', '.']).next().unwrap_or_default().to_string();
    let section = case
        .get("section")
        .map_or("stack", |value| value.as_str().expect("a string"));
    let mut text = Vec::new();
    for (name, mut lines) in base(said("kind")) {
        if name == section {
            let replaced = [key(&line), said("instead").to_string(), key(said("with"))];
            lines.retain(|old| !replaced.contains(&key(old)));
            lines.push(line.clone());
            lines.extend(Some(said("with").to_string()).filter(|with| !with.is_empty()));
        }
        text.extend(lines);
    }
    let number = text
        .iter()
        .position(|written| *written == line)
        .expect("it is in the study");
    let column = line.find(&at).unwrap_or_else(|| panic!("{line} holds no {at}"));
    Case {
        name: said("name").to_string(),
        text: text.join("\n") + "\n",
        place: (number + 1, line[..column].chars().count() + 1),
        says: said("says").to_string(),
        line,
    }
}

/// A small study in sections; the header of each is its first line.
fn base(kind: &str) -> Vec<(&'static str, Vec<String>)> {
    let (stack, more) = match kind {
        "postgres" => ("ext4", "engine = \"postgres\""),
        kind => (kind, "schemas = 4"),
    };
    let on_luns = !matches!(kind, "directory" | "server");
    let words = |lines: &[&str]| lines.iter().map(|line| (*line).to_string()).collect::<Vec<_>>();
    let mut of_stack = words(&["[[stack]]", "name = \"s\""]);
    of_stack.push(format!("kind = \"{stack}\""));
    of_stack.extend(on_luns.then(|| "data = \"data\"".to_string()));
    let luns = ["[luns.data]", "files = { count = 2, size = \"512MiB\" }"];
    let single = ["[luns.data]", "files = { size = \"512MiB\" }"];
    let luns: &[&str] = match kind {
        "btrfs" | "zfs" => &luns,
        _ if on_luns => &single,
        _ => &[],
    };
    let database = match kind {
        "server" => Vec::new(),
        _ => words(&["[database]", more]),
    };
    vec![
        ("study", words(&["[study]", "name = \"hostile\"", "blocks = 4"])),
        ("luns.data", words(luns)),
        ("", Vec::new()),
        ("stack", of_stack),
        ("database", database),
        (
            "phase",
            words(&[
                "[[phase]]",
                "name = \"read\"",
                "kind = \"random\"",
                "update_pct = 0",
                "time = \"1s\"",
            ]),
        ),
    ]
}
