//! What can go wrong with a server and its client: what failed, on what, and what to do.

use crate::decision_support::{AnswerError, Doubt, RowsError};
use crate::order_entry::OrderEntryError;
use crate::postgres::wire::messages::Malformed;
use std::path::PathBuf;

/// How a server is that has not come up in time; why the last login failed follows.
const NO_ANSWER: &str = "does not answer";

/// An error of this part of the room.
#[derive(Debug, thiserror::Error)]
pub enum PostgresError {
    /// No server is installed.
    #[error("no PostgreSQL server found in {looked}\n  install it (Debian: postgresql), or name a running one by url")]
    NoServer {
        /// Where it was looked for.
        looked: String,
    },
    /// None of the wanted version.
    #[error(
        "PostgreSQL {wanted} is not installed; there is {found}\n  install that version, or ask for one that is there"
    )]
    Version {
        /// As asked.
        wanted: String,
        /// What there is.
        found: String,
    },
    /// A call on a path failed.
    #[error("{what} {}: {source}\n  {cure}", path.display())]
    Path {
        /// The act.
        what: &'static str,
        /// On what.
        path: PathBuf,
        /// The kernel's word.
        source: std::io::Error,
        /// What to do.
        cure: String,
    },
    /// The data directory has something in it.
    #[error("{} is not empty: a server's data is not made over something else\n  give an empty \
        directory", path.display())]
    NotEmpty {
        /// The directory.
        path: PathBuf,
    },
    /// A path that root is not led by, or a directory that was replaced.
    #[error(transparent)]
    Sandbox(#[from] sandbox::SandboxError),
    /// The user that the server is to run as can't get to its data.
    #[error("user {user} can't enter {}, on the way to {}\n  allow it (chmod o+x), or use another \
        place", barred.display(), path.display())]
    Barred {
        /// The user.
        user: String,
        /// The directory that keeps him out.
        barred: PathBuf,
        /// Where he has to go.
        path: PathBuf,
    },
    /// A user that is not there.
    #[error("there is no user {user}\n  PostgreSQL does not run as root: name another user, or make this one")]
    NoUser {
        /// As asked.
        user: String,
    },
    /// The path of the socket is too long for the kernel.
    #[error("the socket {} has {} bytes, the kernel takes 107\n  set TMPDIR to a shorter \
        directory", path.display(), path.as_os_str().len())]
    SocketPath {
        /// The socket.
        path: PathBuf,
    },
    /// A server listens there already.
    #[error("{} is taken by another server\n  stop it, or use another directory", path.display())]
    SocketTaken {
        /// The socket.
        path: PathBuf,
    },
    /// A program of the server failed.
    #[error("{program} failed ({status}): {said}\n  {cure}")]
    Program {
        /// Its name.
        program: String,
        /// How it ended.
        status: String,
        /// Its last words.
        said: String,
        /// What to do.
        cure: String,
    },
    /// The server ended, or did not come up.
    #[error("the server {what}; the end of its log:\n{log}\n  {cure}")]
    Died {
        /// How.
        what: String,
        /// Last lines of its log, indented.
        log: String,
        /// What to do.
        cure: String,
    },
    /// A connection broke, or can't be made.
    #[error("{address}: {what}\n  {cure}")]
    Gone {
        /// Of which server; never with a password.
        address: String,
        /// What happened.
        what: String,
        /// What to do.
        cure: String,
    },
    /// The server refused a statement.
    #[error("{during}: {severity} {code}: {message}\n  {cure}")]
    Refused {
        /// What was being done.
        during: String,
        /// ERROR, FATAL or PANIC.
        severity: String,
        /// SQLSTATE.
        code: String,
        /// Its words, with detail and hint.
        message: String,
        /// What to do.
        cure: &'static str,
    },
    /// The user of the server lacks the right to a checkpoint.
    #[error(
        "user {user} of the server may not run CHECKPOINT, and a bulk load ends with one\n  let a superuser run GRANT \
         pg_checkpoint TO {user}"
    )]
    NoCheckpoint {
        /// The name, quoted as SQL needs it.
        user: String,
    },
    /// A url that is none.
    #[error(
        "{what} in the url of the server\n  write postgres://USER@HOST:PORT/DATABASE?sslmode=verify-full, a socket as \
         ?host=/DIRECTORY"
    )]
    Url {
        /// What is wrong; never the url itself, which may hold a password.
        what: String,
    },
    /// A setting that can't be written.
    #[error("setting {name} = {value:?} can't be used: {why}\n  change it in the study")]
    Setting {
        /// Its name.
        name: String,
        /// Its value.
        value: String,
        /// Why not.
        why: &'static str,
    },
    /// The server said what the protocol does not allow here.
    #[error("{during}: the server answered {got}\n  is it PostgreSQL 15 or newer, without a pooler before it?")]
    Protocol {
        /// What was being done.
        during: &'static str,
        /// What came.
        got: String,
    },
    /// A statement changed another number of rows than it must.
    #[error("{statement} ended as {got}, not with one row\n  the database is not what was loaded: load it again")]
    Rows {
        /// Name of the statement.
        statement: String,
        /// The server's tag.
        got: String,
    },
    /// One transaction failed again and again.
    #[error(
        "a {class} was refused {times} times in a row for others' sake\n  use fewer users, more warehouses, or \
         another isolation level"
    )]
    Retries {
        /// Its class.
        class: &'static str,
        /// How often.
        times: u32,
    },
    /// Whoever asked for it wants it no more.
    #[error("the load was interrupted\n  load again: half of a database is none")]
    Interrupted,
    /// A row that must be there is not.
    #[error(transparent)]
    OrderEntry(#[from] OrderEntryError),
    /// Rows of decision support did not come from their generator.
    #[error(transparent)]
    Generator(#[from] RowsError),
    /// What was loaded is not there.
    #[error(transparent)]
    Doubt(#[from] Doubt),
    /// An answer that is none.
    #[error(transparent)]
    Answer(#[from] AnswerError),
}

/// What a server writes into its log when the host is in its way, not what is stored.
const OF_THE_HOST: &[&str] = &[
    "shared memory",
    "Cannot allocate memory",
    "out of memory",
    "signal 9",
    "No space left",
    "could not bind",
    "could not create any",
    "Too many open files",
    "unrecognized configuration parameter",
    "invalid value for parameter",
];
/// How a lock file is in the way. One that is empty or holds something else was not kept as it was written.
const LOCKED: &[&str] = &["already exists", "could not create lock file", "Permission denied"];
/// What a server says of a record of its log that is not one: its length asks for more memory than there can be.
const NO_RECORD: &str = "while trying to decode a record";

/// Whether a line of a server's log says that the host is in its way.
fn is_of_the_host(line: &str) -> bool {
    let locked = line.contains("lock file") && LOCKED.iter().any(|words| line.contains(words));
    locked || (!line.contains(NO_RECORD) && OF_THE_HOST.iter().any(|words| line.contains(words)))
}

impl PostgresError {
    /// Whether the server, or what it stores, did not come back as it was written, rather than the host being in the
    /// way: too little memory or time, a directory that cannot be made.
    pub fn is_of_storage(&self) -> bool {
        match self {
            // One that still runs may only be slow.
            PostgresError::Died { what, log, .. } => !what.starts_with(NO_ANSWER) && !log.lines().any(is_of_the_host),
            // Damage, I/O errors, files and tables that are not there.
            PostgresError::Refused { code, .. } => {
                code.starts_with("XX") || ["58030", "58P01", "42P01", "3D000"].contains(&code.as_str())
            }
            PostgresError::Rows { .. }
            | PostgresError::OrderEntry(_)
            | PostgresError::Doubt(_)
            | PostgresError::Answer(_) => true,
            _ => false,
        }
    }

    /// Whether the server says that pages of tables or indexes are not what it wrote.
    pub fn is_damaged(&self) -> bool {
        matches!(self, PostgresError::Refused { code, .. } if code == "XX001" || code == "XX002")
    }

    pub(super) fn path(
        what: &'static str,
        path: impl Into<PathBuf>,
        source: std::io::Error,
        cure: impl Into<String>,
    ) -> Self {
        PostgresError::Path {
            what,
            path: path.into(),
            source,
            cure: cure.into(),
        }
    }
}

/// How a server is that has not come up in time, with the reason why the last login failed, in one line.
pub(super) fn no_answer(last: &PostgresError) -> String {
    let reason = match last {
        PostgresError::Refused {
            severity,
            code,
            message,
            ..
        } => format!("{severity} {code}: {message}"),
        PostgresError::Gone { what, .. } | PostgresError::Died { what, .. } => what.clone(),
        other => other.to_string().lines().next().unwrap_or_default().to_owned(),
    };
    format!("{NO_ANSWER} (the last login: {reason})")
}

/// The error for what the protocol does not allow.
pub(super) fn malformed(during: &'static str, found: Malformed) -> PostgresError {
    PostgresError::Protocol {
        during,
        got: found.to_string(),
    }
}

/// Characters of a server's text that are shown.
const SHOWN_MAX: usize = 1_000;

/// Text of somebody else's as it may be shown: what would move a terminal's cursor, set its title or turn the direction
/// of writing stands there as its number.
pub(super) fn shown(text: &str) -> String {
    let mut out = String::with_capacity(text.len().min(SHOWN_MAX));
    for (nth, sign) in text.chars().enumerate() {
        if nth == SHOWN_MAX {
            out.push_str("...");
            break;
        }
        // Marks of direction, and what joins or hides signs, print nothing of their own.
        let hidden =
            matches!(sign, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
        match sign.is_control() || hidden {
            true => out.extend(sign.escape_default()),
            false => out.push(sign),
        }
    }
    out
}

/// What to do when a server finds no space, be it on a stack or beside the LUN files.
pub(super) const FULL: &str =
    "the file system under the server is full: use fewer warehouses or a smaller scale, or give it more room";

/// What to do about an SQLSTATE.
pub(super) fn cure_of(code: &str) -> &'static str {
    match code {
        "53100" => FULL,
        "53200" => "the server ran out of memory: a smaller shared_buffers or a larger memory budget",
        "53400" => "temporary files reached `temp_file_limit`: raise it in `settings`, or ask with fewer users",
        "53300" => "the server has no room for more sessions: raise max_connections, or use fewer users",
        "28P01" | "28000" => "check user and password, and the server's pg_hba.conf",
        "3D000" => "make the database, or name another one in the url",
        "42501" => {
            "the user lacks the right: to make a database he needs CREATEDB, in one that is there he has to own it"
        }
        "42P01" => "the tables are not there: load the database first",
        "42P04" => "a run that was killed left it, or another one uses it: if it is Assay's, DROP DATABASE it",
        "42P07" => "the tables are there already: use an empty database",
        "57P01" | "57P02" | "57P03" => "the server goes down or comes up: see its log",
        "58030" | "XX001" | "XX002" => {
            "the server found its data damaged or unreadable: see its log, and do not trust the storage"
        }
        _ => "see the server's log",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_a_server_moves_no_terminal() {
        let hostile = "no\u{1b}]0;owned\u{7}\r\n  do this\u{9b}2J\u{202e}";
        let text = shown(hostile);
        assert!(
            !text.chars().any(char::is_control) && !text.contains('\u{202e}'),
            "{text:?}"
        );
        assert!(text.starts_with("no\\u{1b}]0;owned\\u{7}\\r\\n  do this"), "{text}");
        assert_eq!(shown("Straße \"x\" 東京"), "Straße \"x\" 東京");
        assert_eq!(shown(&"x".repeat(1 << 20)).len(), SHOWN_MAX + 3);
    }

    #[test]
    fn what_storage_lost_is_told_from_what_the_host_could_not() {
        let died = |what: &str, log: &str| {
            let (what, log, cure) = (what.to_owned(), log.to_owned(), String::new());
            PostgresError::Died { what, log, cure }.is_of_storage()
        };
        assert!(died(
            "did not start (exit status: 1)",
            "PANIC: could not locate a valid checkpoint record"
        ));
        assert!(!died(NO_ANSWER, "LOG: redo starts"));
        let ended = "did not start (exit status: 1)";
        for (log, is_storage) in [
            ("FATAL:  lock file \"postmaster.pid\" is empty", true),
            ("FATAL:  bogus data in lock file \"postmaster.pid\": \"x\"", true),
            ("FATAL:  lock file \"postmaster.pid\" already exists", false),
            (
                "FATAL:  could not create lock file \"/s/.s.PGSQL.1.lock\": Permission denied",
                false,
            ),
            (
                "LOG:  out of memory while trying to decode a record of length 4026531840\nPANIC:  could not locate a \
                 valid checkpoint record",
                true,
            ),
            ("FATAL:  out of memory\nDETAIL:  Failed on request of size 8192", false),
        ] {
            assert_eq!(died(ended, log), is_storage, "{log}");
        }
        let refused = PostgresError::Refused {
            during: "log in".to_owned(),
            severity: "FATAL".to_owned(),
            code: "57P03".to_owned(),
            message: "the database system is starting up".to_owned(),
            cure: cure_of("57P03"),
        };
        let told = no_answer(&refused);
        assert_eq!(
            told,
            "does not answer (the last login: FATAL 57P03: the database system is starting up)"
        );
        assert!(!died(&told, "LOG: redo starts"));
        let gone = PostgresError::Gone {
            address: "/s".to_owned(),
            what: "can't connect: refused".to_owned(),
            cure: String::new(),
        };
        assert_eq!(
            no_answer(&gone),
            "does not answer (the last login: can't connect: refused)"
        );
        assert!(!died(
            "did not start (exit status: 1)",
            "FATAL: could not map anonymous shared memory"
        ));
        let source = std::io::Error::from_raw_os_error(13);
        assert!(!PostgresError::path("make", "/x", source, "").is_of_storage());
    }
}
