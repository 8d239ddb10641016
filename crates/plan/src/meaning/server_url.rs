//! The url of a server that is there already.
//!
//! Takes it as written; gives it as it is, once every word of it is known. Prevents: a password in a study file
//! (whose text goes with every result), a word of libpq's that is misspelt and would leave a certificate unchecked,
//! and a host name that moves a terminal's cursor.

use super::settle::Settle;
use crate::written::{At, WrittenStack};

const ADDRESS: &str =
    "write url = \"postgres://USER@HOST:PORT/DATABASE?sslmode=verify-full\", a socket as ?host=/DIRECTORY";

/// What may stand behind the question mark, and the words that it takes where they are few. Room `databases` holds
/// the same list; a test of the binary holds them against each other.
const PARAMETERS: [(&str, &[&str]); 7] = [
    ("host", &[]),
    (
        "sslmode",
        &["disable", "allow", "prefer", "require", "verify-ca", "verify-full"],
    ),
    ("sslrootcert", &[]),
    ("sslcert", &[]),
    ("sslkey", &[]),
    ("channel_binding", &["disable", "prefer", "require"]),
    ("connect_timeout", &[]),
];

/// The directory that a server of files exports.
pub(super) fn export(stack: &WrittenStack, settle: &mut Settle<'_>) -> String {
    let Some(at) = &stack.url else { return String::new() };
    let rest = at.value.strip_prefix("nfs://").unwrap_or_default();
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let (path, asked) = path
        .split_once('?')
        .map_or((path, None), |(path, asked)| (path, Some(asked)));
    let is_port = |text: &str| text.parse::<u16>().is_ok_and(|port| port > 0);
    let (host, port) = match authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, port)) => (host, port.strip_prefix(':')),
        None => authority
            .split_once(':')
            .map_or((authority, None), |(host, port)| (host, Some(port))),
    };
    let of_host = |c: char| c.is_ascii_alphanumeric() || ".-_:".contains(c);
    let mount = asked.map(|asked| asked.strip_prefix("mountport=").unwrap_or_default());
    let why = if rest.is_empty() || host.is_empty() || !host.chars().all(of_host) || control_character(&at.value) {
        "this is no address of an NFS server"
    } else if path.is_empty() || path.split('/').any(|part| part == "..") {
        "this address names no directory that the server exports"
    } else if port.is_some_and(|port| !is_port(port)) || mount.is_some_and(|mount| !is_port(mount)) {
        "a port of this address is no number from 1 to 65535"
    } else {
        return at.value.clone();
    };
    let cure = "write url = \"nfs://HOST/EXPORT\", with ports nfs://HOST:2049/EXPORT?mountport=20048";
    settle.findings.add(&at.span, why, cure);
    String::new()
}

/// A server's address, which holds no password.
pub(super) fn url(stack: &WrittenStack, settle: &mut Settle<'_>) -> String {
    let Some(at) = &stack.url else { return String::new() };
    let rest = ["postgres://", "postgresql://"]
        .iter()
        .find_map(|scheme| at.value.strip_prefix(scheme));
    let Some(rest) = rest else {
        settle
            .findings
            .add(&at.span, "this is no address of a PostgreSQL server", ADDRESS);
        return String::new();
    };
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    let login = authority.rsplit_once('@').map_or("", |(login, _)| login);
    if login.contains(':') || rest.contains("password=") {
        // The place of the stack, not of the url: a message shows the line that it points at.
        let cure = "take it out, and set PGPASSWORD in the environment of `assay run`";
        settle.findings.add(
            &stack.span,
            "the `url` of this stack holds a password, and a study's text goes with its results",
            cure,
        );
        return String::new();
    }
    match control_character(&at.value) {
        true => settle
            .findings
            .add(&at.span, "this address holds a control character", ADDRESS),
        false => parameters(at, rest, settle),
    }
    at.value.clone()
}

/// One stands there, as it is or as `%1B`.
fn control_character(url: &str) -> bool {
    let hidden = url.split('%').skip(1).any(|after| {
        let byte = after.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        byte.is_some_and(|byte| byte.is_ascii_control())
    });
    hidden || url.chars().any(char::is_control)
}

fn parameters(at: &At<String>, rest: &str, settle: &mut Settle<'_>) {
    let query = rest.split_once('?').map_or("", |(_, query)| query);
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        match PARAMETERS.iter().find(|(known, _)| *known == name) {
            None => {
                let known: Vec<&str> = PARAMETERS.iter().map(|(known, _)| *known).collect();
                let cure = format!("it takes {}", known.join(", "));
                settle
                    .findings
                    .add(&at.span, format!("`{name}` is no parameter of this address"), cure);
            }
            Some((_, words)) if !words.is_empty() && !words.contains(&value) => {
                let cure = format!("write one of {}", words.join(", "));
                settle
                    .findings
                    .add(&at.span, format!("`{name}` can't be `{value}`"), cure);
            }
            Some(_) => {}
        }
    }
}
