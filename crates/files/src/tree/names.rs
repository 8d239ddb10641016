//! Names of the tree: a letter and a number, made and read without a table.
//!
//! Prevents: memory for a million names, and a listing that is searched for each entry.

/// Longest name, bytes.
const LEN: usize = 24;

/// A name, held by value.
#[derive(Clone, Copy)]
pub(crate) struct Name {
    len: usize,
    bytes: [u8; LEN],
}

/// What a name is of, with its number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Named {
    /// A directory of files.
    Directory(u32),
    /// The symbolic link of a directory.
    Link(u32),
    /// A file.
    File(u32),
    /// A directory that users make and remove; numbered with the files.
    Inner(u32),
    /// A name that never exists.
    Missing(u32),
}

impl Name {
    pub(crate) const fn empty() -> Name {
        Name {
            len: 0,
            bytes: [0; LEN],
        }
    }

    /// The name of something.
    pub(crate) fn of(named: Named) -> Name {
        let (letter, number) = match named {
            Named::Directory(number) => (b'd', number),
            Named::Link(number) => (b'l', number),
            Named::File(number) => (b'f', number),
            Named::Inner(number) => (b'n', number),
            Named::Missing(number) => (b'x', number),
        };
        let mut name = Name::empty();
        name.bytes[0] = letter;
        let mut left = number;
        for at in (1..=10).rev() {
            name.bytes[at] = b'0' + (left % 10) as u8;
            left /= 10;
        }
        name.len = 11;
        name
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// What a name is of; `None`: not one of ours.
pub(crate) fn named(name: &[u8]) -> Option<Named> {
    let (letter, digits) = name.split_first()?;
    if digits.len() != 10 {
        return None;
    }
    let mut number = 0u32;
    for digit in digits {
        let value = u32::from(digit.checked_sub(b'0').filter(|value| *value < 10)?);
        number = number.checked_mul(10)?.checked_add(value)?;
    }
    match letter {
        b'd' => Some(Named::Directory(number)),
        b'l' => Some(Named::Link(number)),
        b'f' => Some(Named::File(number)),
        b'n' => Some(Named::Inner(number)),
        b'x' => Some(Named::Missing(number)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_what_it_is_of() {
        for what in [
            Named::Directory(0),
            Named::File(u32::MAX),
            Named::Link(7),
            Named::Inner(12_345),
        ] {
            assert_eq!(named(Name::of(what).bytes()), Some(what));
        }
        for bad in [
            &b"f00000000"[..],
            b"f4294967296",
            b"f00000000x1",
            b"",
            b"z0000000001",
            b".",
        ] {
            assert_eq!(named(bad), None, "{bad:?}");
        }
    }
}
