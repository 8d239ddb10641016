//! Settings of a server of our own: the server's defaults or a tuned set, what the study says, and what always holds.
//!
//! Takes a preset, explicit settings and the memory there is; gives the text of a configuration file. The sources of the tuned
//! values stand beside them. Prevents: a setting that nobody wrote down ([`RecordedSetting`] is what the server itself says).

use super::error::PostgresError;
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
/// * `shared_buffers` a quarter of the memory: PostgreSQL documentation, "Resource Consumption": a reasonable starting value.
/// * `effective_cache_size` three quarters: PostgreSQL wiki, "Tuning Your PostgreSQL Server".
/// * `random_page_cost` 1.1 and `effective_io_concurrency` in the hundreds for solid-state storage: documentation, "Query Planning"
///   and "Resource Consumption".
/// * `checkpoint_timeout` 15 min and a `max_wal_size` that lets it: documentation, "WAL Configuration": checkpoints by time and not
///   by volume, further apart, for less full-page images.
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
const OURS: [&str; 8] = [
    "listen_addresses",
    "unix_socket_directories",
    "unix_socket_permissions",
    "port",
    "logging_collector",
    "log_destination",
    "data_directory",
    "external_pid_file",
];

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
    pub(super) fn text(&self, socket_dir: &str) -> Result<String, PostgresError> {
        let buffers = self.shared_buffers_bytes();
        let mut all = vec![
            ("listen_addresses", String::new()),
            ("unix_socket_directories", socket_dir.to_owned()),
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
            let plain = |c: char| c.is_ascii_alphanumeric() || "_.".contains(c);
            if name.is_empty() || !name.chars().all(plain) {
                return Err(refuse("that is no name of a setting"));
            }
            if OURS.contains(&name.to_ascii_lowercase().as_str()) {
                return Err(refuse("Assay sets it itself"));
            }
            if value.chars().any(char::is_control) {
                return Err(refuse("it holds a control character"));
            }
            all.push((name, value.clone()));
        }
        let line = |(name, value): (&str, String)| format!("{name} = '{}'\n", value.replace('\'', "''"));
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
}
