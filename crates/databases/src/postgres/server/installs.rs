//! Which servers this machine has.
//!
//! Looks where distributions put them and in `PATH`, asks each for its version; gives them newest first. Prevents: an
//! old server that is found first, and one without its `initdb`.

use crate::postgres::error::PostgresError;
use sandbox::Reach;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// The oldest version that is used.
pub const OLDEST_MAJOR: u32 = 15;

/// One server's programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Install {
    /// Directory of `postgres` and `initdb`.
    pub bin: PathBuf,
    /// Major version.
    pub major: u32,
    /// Its version as it says it, without the name before.
    pub version: String,
}

/// Servers found, newest first; those older than [`OLDEST_MAJOR`] too.
pub fn installs() -> Vec<Install> {
    let mut found: Vec<Install> = Vec::new();
    for bin in places() {
        // A link in PATH is the server that it points to.
        let real = std::fs::canonicalize(bin.join("postgres"));
        let bin = real
            .ok()
            .and_then(|file| file.parent().map(Path::to_owned))
            .unwrap_or(bin);
        let is_safe = |name: &str| sandbox::is_safe_program(&bin.join(name));
        if found.iter().any(|f| f.bin == bin) || !is_safe("initdb") || !is_safe("postgres") {
            continue;
        }
        found.extend(ask(&bin));
    }
    newest_first(&mut found);
    found
}

fn newest_first(found: &mut [Install]) {
    let key = |install: &Install| (numbers(&install.version), install.version.clone());
    found.sort_by_cached_key(|install| std::cmp::Reverse(key(install)));
}

/// The numbers that a version begins with: 15 and 18 of `15.18 (Debian 15.18-0+deb12u1)`, 17 of `17beta2`.
fn numbers(version: &str) -> Vec<u32> {
    let plain = version.split(|c: char| !c.is_ascii_digit() && c != '.').next();
    let parts = plain.unwrap_or_default().split('.');
    parts.map_while(|part| part.parse().ok()).collect()
}

/// The newest server, or the newest of major version `wanted`.
///
/// # Errors
/// None there, none of that version, or none new enough.
pub fn choose(wanted: Option<u32>) -> Result<Install, PostgresError> {
    let all = installs();
    if all.is_empty() {
        let looked = "PATH, /usr/lib/postgresql/*/bin, /usr/pgsql-*/bin and /usr/local/pgsql/bin";
        return Err(PostgresError::NoServer {
            looked: looked.to_owned(),
        });
    }
    let fits = |i: &&Install| i.major >= OLDEST_MAJOR && wanted.is_none_or(|w| i.major == w);
    all.iter().find(fits).cloned().ok_or_else(|| PostgresError::Version {
        wanted: match wanted {
            Some(wanted) if wanted >= OLDEST_MAJOR => wanted.to_string(),
            _ => format!("{OLDEST_MAJOR} or newer"),
        },
        found: all.iter().map(|i| i.version.as_str()).collect::<Vec<_>>().join(", "),
    })
}

fn places() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places: Vec<PathBuf> = std::env::split_paths(&path)
        .filter(|dir| dir.join("postgres").is_file())
        .collect();
    let inside = |dir: &str| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
        entries.map(|e| e.path()).collect()
    };
    places.extend(inside("/usr/lib/postgresql").into_iter().map(|p| p.join("bin")));
    let named = |p: &PathBuf| p.file_name().is_some_and(|n| n.to_string_lossy().starts_with("pgsql-"));
    places.extend(inside("/usr").into_iter().filter(named).map(|p| p.join("bin")));
    places.push("/usr/local/pgsql/bin".into());
    places
}

fn ask(bin: &Path) -> Option<Install> {
    let mut asking = sandbox::command(&bin.join("postgres"));
    asking.arg("--version").stdin(Stdio::null());
    let output = sandbox::confined(&Reach::nothing(), || asking.output()).ok()?.ok()?;
    read(&String::from_utf8_lossy(&output.stdout)).map(|(major, version)| Install {
        bin: bin.to_owned(),
        major,
        version,
    })
}

/// From `postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)`.
fn read(said: &str) -> Option<(u32, String)> {
    let (_, version) = said.trim().split_once("(PostgreSQL) ")?;
    let digits = version.split(|c: char| !c.is_ascii_digit()).next()?;
    Some((digits.parse().ok()?, version.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read() {
        let said = "postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n";
        assert_eq!(read(said), Some((15, "15.18 (Debian 15.18-0+deb12u1)".to_owned())));
        assert_eq!(
            read("postgres (PostgreSQL) 19devel\n"),
            Some((19, "19devel".to_owned()))
        );
        assert_eq!(read("mysqld 8"), None);
    }

    #[test]
    fn the_newest_is_the_one_with_the_highest_numbers() {
        let install = |version: &str| Install {
            bin: version.into(),
            major: numbers(version)[0],
            version: version.to_owned(),
        };
        let sorted = [
            "19devel",
            "18.1",
            "18.0",
            "18rc1",
            "15.18 (Debian 15.18-0+deb12u1)",
            "15.9",
            "15.2",
            "9.6.24",
        ];
        let mut found: Vec<Install> = sorted.iter().rev().map(|version| install(version)).collect();
        newest_first(&mut found);
        let found: Vec<&str> = found.iter().map(|install| install.version.as_str()).collect();
        assert_eq!(found, sorted);
    }

    #[test]
    fn a_version_that_is_not_there_is_told_from_no_server() {
        let error = choose(Some(3)).unwrap_err().to_string();
        assert!(
            error.contains("15 or newer is not installed") || error.contains("no PostgreSQL server"),
            "{error}"
        );
    }
}
