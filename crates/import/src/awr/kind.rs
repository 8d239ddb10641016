//! Which table of a report is which, by its titles and its caption.
//!
//! Takes titles in lower case without spaces; gives a kind. Prevents: a table found by its place, which differs by
//! version.

/// A table that is read here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Kind {
    Load,
    Profile,
    Top,
    Foreground,
    Background,
    Waits,
    Functions,
    FileTypes,
    Files,
}

impl Kind {
    /// First word of its figures' names.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Kind::Load => "load",
            Kind::Profile => "io_profile",
            Kind::Top => "top",
            Kind::Foreground => "foreground",
            Kind::Background => "background",
            Kind::Waits => "wait",
            Kind::Functions => "io_function",
            Kind::FileTypes => "io_filetype",
            Kind::Files => "file",
        }
    }

    /// The table with these titles (lower case, no spaces) under this caption.
    pub(crate) fn of(titles: &[String], caption: &str) -> Option<Kind> {
        let has = |title: &str| titles.iter().any(|t| t == title);
        let first = titles.first()?.as_str();
        match first {
            "functionname" => Some(Kind::Functions),
            "function" if has("datavolume") => Some(Kind::Functions),
            "filetypename" => Some(Kind::FileTypes),
            "tablespace" if has("filename") => Some(Kind::Files),
            "" if caption == "Load Profile" && has("persecond") => Some(Kind::Load),
            "" if caption == "IO Profile" => Some(Kind::Profile),
            "event" if caption.starts_with("Top ") && has("waits") => Some(Kind::Top),
            "event" if caption.starts_with("Background") || has("%bgtime") => Some(Kind::Background),
            "event" if caption.starts_with("Foreground") => Some(Kind::Foreground),
            "event" if has("waits/txn") && has("%dbtime") => Some(Kind::Foreground),
            "event" if has("waits/txn") => Some(Kind::Waits),
            _ => None,
        }
    }
}
