//! Studies that would harm what they do not name: each is refused, with the line and the column of what it must not
//! say.
//!
//! Prevents: an option, a setting, a name or a path that reaches a tool because nobody thought of it, and a table of
//! documents that says something else than the check.

use plan::{Step, Takes, Tool};
use proptest::prelude::*;
use std::path::Path;

#[test]
fn each_is_refused_where_it_is_hostile() {
    let cases = crate::hostile::cases("/dev/loop0");
    assert!(cases.len() >= 100, "only {} hostile studies are left", cases.len());
    let mut wrong = Vec::new();
    for case in &cases {
        match plan::parse(&case.text, Path::new("hostile.toml")) {
            Ok(_) => wrong.push(format!("{}: accepted", case.name)),
            Err(error) => {
                let hit = |problem: &plan::Problem| {
                    (problem.line, problem.column) == case.place && problem.message.contains(&case.says)
                };
                if !error.problems().iter().any(hit) {
                    wrong.push(format!(
                        "{}: not at {:?} with {:?}:\n{error}",
                        case.name, case.place, case.says
                    ));
                }
                let said = error.to_string();
                assert!(
                    said.chars().all(|c| c == '\n' || !c.is_control()),
                    "{}: {said:?}",
                    case.name
                );
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// The study around the hostile line is a good one: without the line it is accepted.
#[test]
fn the_same_study_without_its_hostile_line_is_accepted() {
    for kind in ["ext4", "xfs", "btrfs", "zfs", "postgres", "directory", "server"] {
        let more = match kind {
            "directory" => "path = \"/srv/data\"\n",
            "server" => "url = \"postgres://joe@localhost/joe\"\n",
            _ => "",
        };
        let text = crate::hostile::honest(kind).replacen("name = \"s\"\n", &format!("name = \"s\"\n{more}"), 1);
        let read = plan::parse(&text, Path::new("honest.toml"));
        assert!(read.is_ok(), "{kind}:\n{text}\n{}", read.expect_err("refused"));
    }
}

/// A study with `line` in its stack or its database.
fn with(kind: &str, line: &str) -> Result<plan::Study, plan::PlanError> {
    let after = if kind == "postgres" {
        "engine = \"postgres\"\n"
    } else {
        "name = \"s\"\n"
    };
    let text = crate::hostile::honest(kind).replacen(after, &format!("{after}{line}\n"), 1);
    plan::parse(&text, Path::new("option.toml"))
}

/// Where options of a tool stand: the kind of the stack, and the key.
fn home(tool: Tool) -> (&'static str, &'static str) {
    match tool {
        Tool::MkfsExt4 => ("ext4", "mkfs_options"),
        Tool::MkfsXfs => ("xfs", "mkfs_options"),
        Tool::MkfsBtrfs => ("btrfs", "mkfs_options"),
        Tool::MountExt4 => ("ext4", "mount_options"),
        Tool::MountXfs => ("xfs", "mount_options"),
        Tool::MountBtrfs => ("btrfs", "mount_options"),
        Tool::Postgres => ("postgres", "settings"),
    }
}

#[test]
fn each_option_of_the_tables_is_taken_as_its_example_writes_it() {
    for tool in Tool::ALL {
        let (kind, key) = home(tool);
        for rule in tool.rules() {
            let line = match tool {
                Tool::Postgres => format!("settings = {{ {} = \"{}\" }}", rule.name, rule.example),
                _ => format!("{key} = \"{}\"", rule.written()),
            };
            let study = with(kind, &line).unwrap_or_else(|error| panic!("{}: {line}\n{error}", tool.name()));
            let again = plan::parse(&study.to_toml(), Path::new("again.toml"));
            let again = again.unwrap_or_else(|error| panic!("{}: {line} anew\n{error}", tool.name()));
            assert_eq!(again.stacks, study.stacks, "{line}");
            assert!(
                !tool.refused().iter().any(|refused| refused.is_of(&rule.title())),
                "{line} is refused too"
            );
        }
    }
}

/// What a value may never be, whatever its type: each would be another option, another line, or another tool's
/// business.
#[test]
fn no_value_takes_more_than_itself() {
    for tool in Tool::ALL {
        for rule in tool.rules().iter().filter(|rule| !rule.example.is_empty()) {
            let example = rule.example;
            assert!(rule.value(example).is_some(), "{}: {example}", rule.title());
            for tail in [",device=/dev/loop0", "=1", " -d", "\n", "'", "\0", "/", ";x", "\\"] {
                let bad = format!("{example}{tail}");
                assert!(
                    rule.value(&bad).is_none(),
                    "{} of {} takes {bad:?}",
                    rule.title(),
                    tool.name()
                );
            }
            for bad in ["", "/dev/loop0", "../x", "-", "\u{1b}"] {
                assert!(
                    rule.value(bad).is_none(),
                    "{} of {} takes {bad:?}",
                    rule.title(),
                    tool.name()
                );
            }
        }
    }
}

#[test]
fn numbers_end_where_the_table_says() {
    for tool in Tool::ALL {
        for rule in tool.rules() {
            let (least, most) = match &rule.takes {
                Takes::Number {
                    least,
                    most,
                    step: Step::Any,
                } => (*least, *most),
                Takes::Bytes {
                    least,
                    most,
                    step: Step::Power,
                } => (*least, *most),
                _ => continue,
            };
            let is_taken = |number: u64| rule.value(&number.to_string()).is_some();
            assert!(is_taken(least) && is_taken(most), "{}", rule.title());
            assert!(!is_taken(most + 1), "{}", rule.title());
            assert!(
                least == 0 || !is_taken(least - 1) || rule.also.contains(&"0"),
                "{}",
                rule.title()
            );
        }
    }
}

#[test]
fn the_nearest_right_word_is_offered() {
    let cure = |kind: &str, line: &str| with(kind, line).expect_err("refused").to_string();
    assert!(cure("xfs", "mkfs_options = [\"-d\", \"agcuont=4\"]").contains("did you mean `-d agcount`?"));
    assert!(cure("ext4", "mount_options = [\"noatme\"]").contains("did you mean `noatime`?"));
    assert!(cure("btrfs", "mkfs_options = [\"--nodesiz\", \"16384\"]").contains("docs/study.md"));
    assert!(cure("postgres", "settings = { max_wal_sise = \"4GB\" }").contains("did you mean `max_wal_size`?"));
    assert!(cure("ext4", "mkfs_options = [\"-b\", \"4095\"]").contains("write it as `-b 4096`"));
}

/// `UPDATE_DOCS=1` writes them.
#[test]
fn the_documents_tables_are_the_declaration() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/study.md");
    let old = std::fs::read_to_string(&path).expect("read");
    let mut text = old.clone();
    let options = ("options".to_string(), plan::options_markdown());
    let keys = plan::keys_markdown().into_iter();
    let keys = keys.map(|(name, table)| (format!("keys: {name}"), table.trim_end().to_string()));
    for (name, table) in keys.chain([options]) {
        let (begin, end) = (format!("<!-- {name}: begin -->\n"), format!("\n<!-- {name}: end -->"));
        let from = text.find(&begin).unwrap_or_else(|| panic!("no {begin}")) + begin.len();
        let until = text.find(&end).unwrap_or_else(|| panic!("no {end}"));
        text.replace_range(from..until.max(from), &table);
    }
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, text).expect("written");
        return;
    }
    assert!(
        text == old,
        "docs/study.md is old: run `UPDATE_DOCS=1 cargo test -p plan`"
    );
}

/// Pieces of options, honest and hostile, of which words are put together.
const PIECES: &str = "-[a-zA-Z]|--[a-z]{1,9}|[a-z_]{1,14}=?|[0-9]{1,6}[kmgKM]?|,|=| \
     |/dev/loop0|\\.\\./|\\^|size=|logdev=|device=|su=|bigalloc|-l|-d|-E|-O|noatime|data=|commit=|\n|\u{0}|'|\"|é";

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    /// Whatever is accepted: an argument is a flag of the table, or letters and digits with what joins them; no path,
    /// no space, no quote.
    #[test]
    fn no_argument_is_more_than_the_table_allows(
        which in 0usize..6,
        words in prop::collection::vec(prop::collection::vec(PIECES, 1..4), 0..5),
    ) {
        let tool = Tool::ALL[which];
        let words: Vec<String> = words.into_iter().map(|pieces| pieces.concat()).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let Ok(given) = plan::options(tool, &words) else { return Ok(()) };
        let arguments = if which < 3 { plan::arguments(&given) } else { plan::mount_words(&given) };
        for argument in arguments {
            let is_flag = tool.rules().iter().any(|rule| rule.flag == argument);
            let plain = |c: char| c.is_ascii_alphanumeric() || "_=,.^-".contains(c);
            let is_plain = argument.chars().all(plain) && !argument.starts_with('-');
            prop_assert!(is_flag || is_plain, "{:?} of {:?}", argument, words);
        }
    }

    /// The same words in a study: a study or a refusal with its place, and never the end of the program.
    #[test]
    fn any_word_has_its_place(which in 0usize..6, word in prop::collection::vec(PIECES, 0..6)) {
        let (kind, key) = home(Tool::ALL[which]);
        let word = word.concat();
        let text = toml::Value::String(word.clone()).to_string();
        if let Err(error) = with(kind, &format!("{key} = [{text}]")) {
            let has_place = |problem: &plan::Problem| problem.line > 1 && problem.column > 1;
            prop_assert!(error.problems().iter().all(has_place), "{word:?}: {error}");
        }
    }
}
