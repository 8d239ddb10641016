//! `[files]`, and the values of a phase of file serving, as written.
//!
//! Takes the section; gives its keys. Prevents: a load or a mix that is read in two ways.

use super::section::Section;
use super::value::{At, Refusal, Written, type_of};
use crate::error::{Findings, Span};
use crate::shown::{Shown, quoted};
use crate::study::{FileServer, Limit, LimitOf, Protocol};
use crate::units::{Bytes, Duration, Rate};
use toml::Spanned;
use toml::de::DeValue;

use Protocol::Nfs3;

written! {
    /// `[files]`.
    struct WrittenFiles of Protocol {
        /// `posix` (system calls on the mounted file system) or `nfs3` (NFS version 3 over TCP)
        protocol: Protocol = (Protocol::Posix, "with a stack of kind `server`" => Nfs3);
        /// who serves a stack that has no server: `ganesha` (nfs-ganesha) or `kernel` (the kernel's own server).
        /// Started anew for each phase
        server: FileServer [Nfs3] = (FileServer::Ganesha);
        /// TCP connections of all users together
        connections: u64 [Nfs3] = (4, in 1..=64);
        /// largest read and write: whole KiB. Above what the server takes it is refused
        transfer: Bytes = (Bytes::kib(8), in Bytes::kib(1)..=Bytes::mib(1));
        /// worker threads of the server that is started
        threads: u64 | "auto" [Nfs3] = (None, in 1..=1024);
        with {
            /// The header.
            span: Option<Span>,
        }
    }
}

pub(super) fn read(mut s: Section<'_>, findings: &mut Findings) -> WrittenFiles {
    let mut files = WrittenFiles::read(&mut s, findings);
    files.span = Some(s.span.clone());
    s.finish(ELSEWHERE, findings);
    files
}

const ELSEWHERE: &[(&str, &str, &str)] = &[
    (
        "url",
        "a server that is there already is a stack of its own",
        "write it in a stack: kind = \"server\", url = \"nfs://HOST/EXPORT\"",
    ),
    (
        "mix",
        "what users do belongs to a phase",
        "write it in a [[phase]] of kind \"files\"",
    ),
];

/// `load`: one rate, a list of rates, or `{ from, step, points }`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Load {
    /// Rates in the order written.
    Rates(Vec<Rate>),
    /// Evenly spaced.
    Steps {
        /// The first.
        from: Rate,
        /// Between two.
        step: Rate,
        /// How many.
        points: u64,
    },
}

impl Written for Load {
    const WHAT: &'static str = "a rate, a list of rates, or a table of `from`, `step` and `points`";
    const TYPE: &'static str = "rates";
    const EXAMPLE: &'static str = "{ from = \"500/s\", step = \"500/s\", points = 10 }";
    fn read(value: &DeValue<'_>) -> Result<Self, Refusal> {
        match value {
            DeValue::Array(items) => {
                let all = items.iter().map(|item| Rate::read(item.get_ref()));
                all.collect::<Result<_, _>>().map(Load::Rates)
            }
            DeValue::Table(_) => {
                let [from, step, points] = table(value, ["from", "step", "points"], Self::EXAMPLE)?;
                Ok(Load::Steps {
                    from: Rate::read(from)?,
                    step: Rate::read(step)?,
                    points: u64::read(points)?,
                })
            }
            _ => Rate::read(value).map(|rate| Load::Rates(vec![rate])),
        }
    }
}

impl Written for Limit {
    const WHAT: &'static str = "a table of `response` and `of`";
    const TYPE: &'static str = "table";
    const EXAMPLE: &'static str = "{ response = \"15ms\", of = \"mean\" }";
    fn read(value: &DeValue<'_>) -> Result<Self, Refusal> {
        let [response, of] = table(value, ["response", "of"], Self::EXAMPLE)?;
        Ok(Limit {
            response: Duration::read(response)?,
            of: LimitOf::read(of)?,
        })
    }
}

/// The values of exactly these keys.
fn table<'v, const N: usize>(
    value: &'v DeValue<'v>,
    keys: [&str; N],
    example: &str,
) -> Result<[&'v DeValue<'v>; N], Refusal> {
    let found = value.as_table().ok_or(Refusal::Type)?;
    let unknown = found.iter().find(|(key, _)| !keys.contains(&&**key.get_ref()));
    let missing = keys.iter().find(|key| !found.contains_key(**key));
    let what = match (unknown, missing) {
        (Some((key, _)), _) => format!("unknown key `{}` in it", key.get_ref().escape_debug()),
        (None, Some(key)) => format!("it has no `{key}`"),
        (None, None) => return Ok(keys.map(|key| found[key].get_ref())),
    };
    let cure = format!("write {example}");
    Err(Refusal::Value { what, cure })
}

/// `mix`: a published one by its word, or percents by call.
#[derive(Clone, Debug)]
pub(crate) enum Mixed {
    /// By its word.
    Named(crate::study::FileMix),
    /// By call, in the order written.
    Own(Vec<(At<String>, u64)>),
}

impl Shown for Mixed {
    fn shown(&self) -> Option<String> {
        match self {
            Mixed::Named(mix) => mix.shown(),
            Mixed::Own(_) => None,
        }
    }
}

impl Written for Mixed {
    const WHAT: &'static str = "the word of a mix, or a table of percents by call";
    const TYPE: &'static str = "word or table";
    const EXAMPLE: &'static str = "{ read = 60, write = 30, commit = 10 }";
    fn read(_: &DeValue<'_>) -> Result<Self, Refusal> {
        Err(Refusal::Type)
    }
    fn placed(value: &Spanned<DeValue<'_>>) -> Result<Self, Refusal> {
        let Some(table) = value.get_ref().as_table() else {
            return crate::study::FileMix::read(value.get_ref()).map(Mixed::Named);
        };
        let mut all = Vec::new();
        for (name, percent) in table {
            let percent = u64::read(percent.get_ref()).map_err(|_| Refusal::Value {
                what: format!("{} is {}", name.get_ref().escape_debug(), type_of(percent.get_ref())),
                cure: "write whole percents, together 100".to_string(),
            })?;
            let (value, span) = (name.get_ref().to_string(), name.span());
            all.push((At { value, span }, percent));
        }
        all.sort_by_key(|(name, _)| name.span.start);
        Ok(Mixed::Own(all))
    }
}

/// `sizes`: the word of a distribution, one size, or a list of sizes with percents.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SizesOf {
    /// SFS 97.
    Sfs97,
    /// One size for all, or several with their percents.
    Own(Vec<(Bytes, u64)>),
}

impl SizesOf {
    /// The same for all.
    pub(crate) fn one(size: Bytes) -> SizesOf {
        SizesOf::Own(vec![(size, 100)])
    }
}

impl Shown for SizesOf {
    fn shown(&self) -> Option<String> {
        match self {
            SizesOf::Sfs97 => Some(quoted("sfs97")),
            SizesOf::Own(all) => all.iter().map(|(size, _)| *size).collect::<Vec<_>>().shown(),
        }
    }
}

impl Written for SizesOf {
    const WHAT: &'static str = "the word of a distribution, a size, or a list of sizes with percents";
    const TYPE: &'static str = "word, size or list";
    const EXAMPLE: &'static str = "[[\"1KiB\", 33], [\"16KiB\", 67]]";
    fn read(value: &DeValue<'_>) -> Result<Self, Refusal> {
        let Some(items) = value.as_array() else {
            return match value.as_str() {
                Some("sfs97") => Ok(SizesOf::Sfs97),
                _ => Bytes::read(value).map(SizesOf::one),
            };
        };
        let pair = |item: &Spanned<DeValue<'_>>| {
            let pair = item.get_ref().as_array().ok_or(Refusal::Type)?;
            let mut pair = pair.iter();
            let (Some(size), Some(percent), None) = (pair.next(), pair.next(), pair.next()) else {
                return Err(Refusal::Type);
            };
            Ok((Bytes::read(size.get_ref())?, u64::read(percent.get_ref())?))
        };
        items.iter().map(pair).collect::<Result<_, _>>().map(SizesOf::Own)
    }
}
