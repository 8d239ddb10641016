//! Settings of a server of our own: the server's defaults or a tuned set, what the study says, and what always holds.
//!
//! Takes a preset, explicit settings and the memory there is; gives the text of a configuration file. The sources of
//! the tuned values stand beside them. Prevents: a setting that nobody wrote down ([`RecordedSetting`] is what the
//! server itself says).

use crate::postgres::error::PostgresError;
use std::collections::BTreeMap;

/// Where settings start from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Preset {
    /// What `initdb` leaves, but that `shared_buffers` never takes more than a quarter of the memory budget.
    #[default]
    Default,
    /// For order entry on solid-state storage; see [`tuned`].
    Tuned,
}

/// What a server is to be started with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Where they start from.
    pub preset: Preset,
    /// The stack's memory budget, bytes: server and page cache together.
    pub memory_bytes: Option<u64>,
    /// `shared_buffers`, bytes, where it is said.
    pub shared_buffers_bytes: Option<u64>,
    /// Sessions at most.
    pub sessions: u32,
    /// Settings that come last and win.
    pub explicit: BTreeMap<String, String>,
}

/// One setting as the server has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedSetting {
    /// Name.
    pub name: String,
    /// Value with its unit, as `SHOW` gives it.
    pub value: String,
    /// Where the server has it from: `default`, `configuration file`, ...
    pub source: String,
}

const DEFAULT_BUFFERS: u64 = 128 << 20;
const SMALLEST_BUFFERS: u64 = 1 << 20;
/// The server's own sessions beside those of users.
const SESSIONS_MORE: u32 = 20;

/// The tuned set.
///
/// * `shared_buffers` a quarter of the memory: PostgreSQL documentation, "Resource Consumption": a reasonable starting
///   value.
/// * `effective_cache_size` three quarters: PostgreSQL wiki, "Tuning Your PostgreSQL Server".
/// * `random_page_cost` 1.1 and `effective_io_concurrency` in the hundreds for solid-state storage: documentation,
///   "Query Planning" and "Resource Consumption".
/// * `checkpoint_timeout` 15 min and a `max_wal_size` that lets it: documentation, "WAL Configuration": checkpoints by
///   time and not by volume, further apart, for less full-page images.
/// * `wal_compression` on: the same chapter: less WAL for full pages.
fn tuned(buffers: u64, memory: Option<u64>) -> Vec<(&'static str, String)> {
    let cache = memory.map_or(buffers * 3, |m| m / 4 * 3);
    vec![
        ("effective_cache_size", kilobytes(cache)),
        ("random_page_cost", "1.1".to_owned()),
        ("effective_io_concurrency", "200".to_owned()),
        ("checkpoint_timeout", "15min".to_owned()),
        ("max_wal_size", "8GB".to_owned()),
        ("wal_compression", "on".to_owned()),
    ]
}

fn kilobytes(bytes: u64) -> String {
    format!("{}kB", (bytes >> 10).max(64))
}

/// What is ours to say, and would break the run if somebody else said it.
const OURS: [&str; 4] = ["shared_buffers", "logging_collector", "log_destination", "port"];
/// Beginnings of names that say how the server is reached, and by which keys.
const REACHED: [&str; 6] = ["listen_", "unix_socket_", "bonjour", "ssl", "krb_", "gss_"];
/// Endings of names that run a program, load code, or name files of the host. A study's own check has a list of what is
/// allowed; this one holds for every caller.
const HARMFUL: [&str; 9] = [
    "_command",
    "_library",
    "_libraries",
    "_library_path",
    "_provider",
    "_directory",
    "_directories",
    "_file",
    "_filename",
];

/// Why a setting is nobody's to say.
fn refusal(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase();
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if name.is_empty() || !name.chars().all(plain) {
        Some("that is no name of a setting of the server itself")
    } else if OURS.contains(&name.as_str()) || REACHED.iter().any(|start| name.starts_with(start)) {
        Some("Assay sets it itself")
    } else if name.starts_with("include") || HARMFUL.iter().any(|end| name.ends_with(end)) {
        Some("it runs, loads or opens what is not the server's")
    } else {
        None
    }
}

/// A value as the server's file has it: its reader takes two quotes for one, and a backslash for the beginning of an
/// escape.
fn quoted(value: &str) -> String {
    format!("'{}'", value.replace('\\', "\\\\").replace('\'', "''"))
}

impl Settings {
    /// `shared_buffers` that they come to, bytes.
    pub fn shared_buffers_bytes(&self) -> u64 {
        let quarter = self.memory_bytes.map(|memory| memory / 4);
        let chosen = match (self.shared_buffers_bytes, self.preset, quarter) {
            (Some(said), _, _) => said,
            (None, Preset::Tuned, Some(quarter)) => quarter,
            (None, _, quarter) => quarter.unwrap_or(DEFAULT_BUFFERS).min(DEFAULT_BUFFERS),
        };
        chosen.max(SMALLEST_BUFFERS)
    }

    /// The configuration file's text.
    ///
    /// # Errors
    /// A setting that is ours, or that can't be written.
    pub(crate) fn text(&self, socket_dir: &str) -> Result<String, PostgresError> {
        let buffers = self.shared_buffers_bytes();
        let mut all = vec![
            ("listen_addresses", String::new()),
            // A list: without quotes of its own, a comma in the path would begin a second directory.
            (
                "unix_socket_directories",
                format!("\"{}\"", socket_dir.replace('"', "\"\"")),
            ),
            ("unix_socket_permissions", "0700".to_owned()),
            ("port", "5432".to_owned()),
            ("logging_collector", "off".to_owned()),
            ("log_destination", "stderr".to_owned()),
            ("shared_buffers", kilobytes(buffers)),
            ("max_connections", (self.sessions + SESSIONS_MORE).to_string()),
        ];
        if self.preset == Preset::Tuned {
            all.extend(tuned(buffers, self.memory_bytes));
        }
        for (name, value) in &self.explicit {
            let refuse = |why| PostgresError::Setting {
                name: name.clone(),
                value: value.clone(),
                why,
            };
            if let Some(why) = refusal(name) {
                return Err(refuse(why));
            }
            if value.chars().any(char::is_control) {
                return Err(refuse("it holds a control character"));
            }
            all.push((name, value.clone()));
        }
        if socket_dir.chars().any(char::is_control) {
            let name = "unix_socket_directories".to_owned();
            let (value, why) = (socket_dir.to_owned(), "it holds a control character");
            return Err(PostgresError::Setting { name, value, why });
        }
        let line = |(name, value): (&str, String)| format!("{name} = {}\n", quoted(&value));
        Ok(all.into_iter().map(line).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_stay_inside_the_budget() {
        let settings = |preset, memory, said| Settings {
            preset,
            memory_bytes: memory,
            shared_buffers_bytes: said,
            ..Settings::default()
        };
        let gib = 1 << 30;
        assert_eq!(settings(Preset::Default, None, None).shared_buffers_bytes(), 128 << 20);
        assert_eq!(
            settings(Preset::Default, Some(gib), None).shared_buffers_bytes(),
            128 << 20
        );
        assert_eq!(
            settings(Preset::Default, Some(gib / 4), None).shared_buffers_bytes(),
            64 << 20
        );
        assert_eq!(settings(Preset::Tuned, Some(gib), None).shared_buffers_bytes(), gib / 4);
        assert_eq!(
            settings(Preset::Tuned, Some(gib), Some(gib / 2)).shared_buffers_bytes(),
            gib / 2
        );
    }

    #[test]
    fn explicit_settings_win_and_ours_are_refused() {
        let mut settings = Settings {
            sessions: 100,
            ..Settings::default()
        };
        settings.explicit.insert("fsync".to_owned(), "it's".to_owned());
        let text = settings.text("/tmp/x").unwrap();
        assert!(text.ends_with("fsync = 'it''s'\n"), "{text}");
        assert!(text.contains("listen_addresses = ''\n") && text.contains("max_connections = '120'\n"));
        settings.explicit.insert("port".to_owned(), "1".to_owned());
        assert!(
            settings
                .text("/tmp/x")
                .unwrap_err()
                .to_string()
                .contains("Assay sets it itself")
        );
        settings.explicit.remove("port");
        settings.explicit.insert("jit".to_owned(), "off\nport = 1".to_owned());
        assert!(settings.text("/tmp/x").is_err());
    }

    #[test]
    fn nothing_runs_loads_opens_or_lets_in() {
        for name in [
            "archive_command",
            "Restore_Command",
            "ssl_passphrase_command",
            "shared_preload_libraries",
            "archive_library",
            "dynamic_library_path",
            "jit_provider",
            "data_directory",
            "hba_file",
            "log_filename",
            "unix_socket_directories",
            "listen_addresses",
            "include_dir",
            "include_if_exists",
            "ssl",
            "auto_explain.log_format",
            "fsync = off\nport",
        ] {
            let mut settings = Settings::default();
            settings.explicit.insert(name.to_owned(), "on".to_owned());
            assert!(settings.text("/tmp/x").is_err(), "{name}");
        }
    }

    #[test]
    fn what_is_special_in_the_file_is_a_part_of_the_value() {
        let mut settings = Settings::default();
        let value = "a\\' b'c\\";
        settings.explicit.insert("log_line_prefix".to_owned(), value.to_owned());
        let text = settings.text("/tmp/a, b\"c").unwrap();
        assert!(text.contains("log_line_prefix = 'a\\\\'' b''c\\\\'\n"), "{text}");
        assert!(
            text.contains("unix_socket_directories = '\"/tmp/a, b\"\"c\"'\n"),
            "{text}"
        );
        assert!(settings.text("/tmp/a\nb").is_err());
    }
}
