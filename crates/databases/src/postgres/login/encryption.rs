//! What a url asks of encryption: `sslmode` and its companions, under the names and with the rules of libpq.
//!
//! Takes the parameters of a url, gives [`Encryption`]. Prevents: a certificate that somebody believes is checked and
//! is not (a combination that would leave it unchecked is refused).

use crate::postgres::error::PostgresError;
use rustls::ClientConfig;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

/// How a connection over TCP is encrypted and what is checked of the server, weakest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SslMode {
    /// Never encrypted.
    Disable,
    /// Only where the server refuses us without.
    Allow,
    /// Where the server has it.
    #[default]
    Prefer,
    /// Always; the certificate is checked where certificates to check it with are given.
    Require,
    /// Always, with a certificate that one of the given authorities has signed.
    VerifyCa,
    /// The same, and the certificate names the host of the url.
    VerifyFull,
}

impl SslMode {
    const NAMES: [(&'static str, SslMode); 6] = [
        ("disable", SslMode::Disable),
        ("allow", SslMode::Allow),
        ("prefer", SslMode::Prefer),
        ("require", SslMode::Require),
        ("verify-ca", SslMode::VerifyCa),
        ("verify-full", SslMode::VerifyFull),
    ];
}

/// Whether the login is tied to the server's certificate (SCRAM-SHA-256-PLUS).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ChannelBinding {
    /// Never.
    Disable,
    /// Where the server offers it.
    #[default]
    Prefer,
    /// Always: who does not offer it is refused.
    Require,
}

impl ChannelBinding {
    const NAMES: [(&'static str, ChannelBinding); 3] = [
        ("disable", ChannelBinding::Disable),
        ("prefer", ChannelBinding::Prefer),
        ("require", ChannelBinding::Require),
    ];
}

/// Whose certificates are believed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Roots {
    /// Those of the operating system.
    System,
    /// Those in a file.
    File(PathBuf),
}

/// What a url asks of encryption.
#[derive(Debug, Default)]
pub(crate) struct Encryption {
    pub(crate) mode: SslMode,
    pub(crate) roots: Option<Roots>,
    /// Our own certificate and its key.
    pub(crate) client: Option<(PathBuf, PathBuf)>,
    pub(crate) binding: ChannelBinding,
    /// Made of the files once, for all connections of a run.
    pub(crate) config: OnceLock<Arc<ClientConfig>>,
}

impl PartialEq for Encryption {
    fn eq(&self, other: &Self) -> bool {
        (self.mode, &self.roots, &self.client, self.binding) == (other.mode, &other.roots, &other.client, other.binding)
    }
}

impl Eq for Encryption {}

/// A value, and whether the url itself says it; otherwise the environment does.
pub(crate) type Said = (String, bool);

/// The parameters as they were said.
#[derive(Debug, Default)]
pub(crate) struct Words {
    pub(crate) mode: Option<Said>,
    pub(crate) roots: Option<Said>,
    pub(crate) certificate: Option<Said>,
    pub(crate) key: Option<Said>,
    pub(crate) binding: Option<Said>,
}

fn named<T: Copy>(name: &str, said: &Option<Said>, names: &[(&str, T)], usual: T) -> Result<T, PostgresError> {
    let Some((word, _)) = said else { return Ok(usual) };
    let found = names.iter().find(|(name, _)| name == word);
    found.map(|(_, value)| *value).ok_or_else(|| {
        let all: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
        wrong(&format!("{name} must be one of {}", all.join(", ")))
    })
}

fn wrong(what: &str) -> PostgresError {
    PostgresError::Url { what: what.to_owned() }
}

impl Words {
    /// What they mean.
    ///
    /// # Errors
    /// A word that is none, and combinations that promise a check which is not made.
    pub(crate) fn meaning(self) -> Result<Encryption, PostgresError> {
        let roots = self.roots.as_ref().map(|(word, said)| match word.as_str() {
            "system" => (Roots::System, *said),
            path => (Roots::File(path.into()), *said),
        });
        let usual = match &roots {
            Some((Roots::System, _)) => SslMode::VerifyFull,
            _ => SslMode::default(),
        };
        let mode = named("sslmode", &self.mode, &SslMode::NAMES, usual)?;
        match &roots {
            // Anybody can get a certificate of a public authority, so that only the name tells one from another.
            Some((Roots::System, said)) if mode < SslMode::VerifyFull && (*said || mode >= SslMode::Require) => {
                return Err(wrong("sslrootcert=system with a weaker sslmode than verify-full"));
            }
            Some((Roots::File(_), true)) if mode < SslMode::Require => {
                let what =
                    "sslrootcert without sslmode=require, verify-ca or verify-full, so that nothing would be checked,";
                return Err(wrong(what));
            }
            None if mode >= SslMode::VerifyCa => {
                return Err(wrong(
                    "sslmode=verify-ca or verify-full without sslrootcert=FILE (or system)",
                ));
            }
            _ => {}
        }
        let client = match (self.certificate, self.key) {
            (Some((certificate, _)), Some((key, _))) => Some((certificate.into(), key.into())),
            (None, None) => None,
            _ => return Err(wrong("one of sslcert and sslkey without the other")),
        };
        Ok(Encryption {
            mode,
            roots: roots.map(|(roots, _)| roots).filter(|_| mode >= SslMode::Require),
            client,
            binding: named(
                "channel_binding",
                &self.binding,
                &ChannelBinding::NAMES,
                ChannelBinding::default(),
            )?,
            config: OnceLock::new(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meaning(mode: Option<&str>, roots: Option<&str>) -> Result<Encryption, PostgresError> {
        let said = |word: Option<&str>| word.map(|word| (word.to_owned(), true));
        let words = Words {
            mode: said(mode),
            roots: said(roots),
            ..Words::default()
        };
        words.meaning()
    }

    #[test]
    fn modes_are_libpqs_and_no_check_is_promised_that_is_not_made() {
        assert_eq!(meaning(None, None).unwrap().mode, SslMode::Prefer);
        assert_eq!(meaning(None, Some("system")).unwrap().mode, SslMode::VerifyFull);
        for (name, mode) in SslMode::NAMES {
            let with = meaning(Some(name), Some("/ca.pem"));
            assert_eq!(with.is_ok(), mode >= SslMode::Require, "{name}");
            assert_eq!(meaning(Some(name), None).is_ok(), mode < SslMode::VerifyCa, "{name}");
            assert_eq!(
                meaning(Some(name), Some("system")).is_ok(),
                mode == SslMode::VerifyFull,
                "{name}"
            );
        }
        assert!(meaning(Some("verify_full"), Some("/ca.pem")).is_err());
    }

    #[test]
    fn what_the_environment_says_binds_nobody_who_says_otherwise() {
        let words = Words {
            mode: Some(("disable".to_owned(), true)),
            roots: Some(("system".to_owned(), false)),
            ..Words::default()
        };
        let asked = words.meaning().unwrap();
        assert_eq!((asked.mode, asked.roots), (SslMode::Disable, None));
    }
}
