//! Which characters a study's names and paths may have.
//!
//! Names become file names, mount points, names of control groups and lines of a report; paths become arguments of
//! tools and values in their lists. Prevents: a name that breaks out of its place (a line break, a separator, a
//! sign that turns the line around), and a path that ends elsewhere than it seems to.

use std::path::{Component, Path};

/// Most bytes of a name: a LUN's number and ending must fit behind it into a file name.
pub(crate) const NAME_BYTES_MAX: usize = 128;

/// Whether a character shows as itself: no control character, no break of a line, nothing that is
/// invisible or turns text around.
pub(crate) fn shows(c: char) -> bool {
    let hidden = matches!(
        c,
        '\u{ad}'
            | '\u{61c}'
            | '\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}'
    );
    !c.is_control() && !hidden
}

/// Whether a file can be named after a name with this character.
pub(crate) fn files(c: char) -> bool {
    c.is_alphanumeric() || " -_.".contains(c)
}

/// What is wrong with the path of a directory or file; `None`: nothing.
pub(crate) fn path_fault(path: &str) -> Option<&'static str> {
    let up = Path::new(path).components().any(|part| part == Component::ParentDir);
    if path.is_empty() {
        Some("is empty")
    } else if !path.chars().all(shows) {
        Some("holds a character that does not show")
    } else if up {
        Some("goes up by `..`, and where that ends depends on links")
    } else if path.starts_with('-') {
        Some("begins with a `-`, as options of tools do")
    } else {
        None
    }
}

/// Whether this can be the path of a device, and nothing else: a member of a mount's option list holds no comma.
pub(crate) fn is_device(path: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/-_.:+@#~%\\".contains(c);
    let up = Path::new(path).components().any(|part| part == Component::ParentDir);
    path.strip_prefix("/dev/").is_some_and(|rest| !rest.is_empty()) && path.chars().all(plain) && !up
}

/// Whether this can be the name of a user of the host.
pub(crate) fn is_user(name: &str) -> bool {
    let first = |c: char| c.is_ascii_lowercase() || c == '_';
    let other = |c: char| first(c) || c.is_ascii_digit() || c == '-';
    name.len() <= 32 && name.starts_with(first) && name.chars().all(other)
}
