//! Classes of operations: each has a histogram of its own.
//!
//! Prevents: a class that is counted under the number of another. The number of a class is its place here.

/// How many classes there are; the hot loop takes 16.
pub const CLASS_COUNT: usize = 16;

/// One kind of call. A step of a [`crate::Steps`] may need several calls and is counted under the class of its purpose.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "they are named in RFC 1813, chapter 3.3")]
pub enum Class {
    Lookup,
    Read,
    Getattr,
    Write,
    Readdirplus,
    Readlink,
    Access,
    Commit,
    Readdir,
    Create,
    Remove,
    Setattr,
    Fsstat,
    Fsinfo,
    Mkdir,
    Rmdir,
}

impl Class {
    /// In the order of their numbers.
    pub const ALL: [Class; CLASS_COUNT] = [
        Class::Lookup,
        Class::Read,
        Class::Getattr,
        Class::Write,
        Class::Readdirplus,
        Class::Readlink,
        Class::Access,
        Class::Commit,
        Class::Readdir,
        Class::Create,
        Class::Remove,
        Class::Setattr,
        Class::Fsstat,
        Class::Fsinfo,
        Class::Mkdir,
        Class::Rmdir,
    ];

    /// Their names, in the order of their numbers.
    pub const NAMES: [&str; CLASS_COUNT] = [
        "lookup",
        "read",
        "getattr",
        "write",
        "readdirplus",
        "readlink",
        "access",
        "commit",
        "readdir",
        "create",
        "remove",
        "setattr",
        "fsstat",
        "fsinfo",
        "mkdir",
        "rmdir",
    ];

    /// As studies and reports write it.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// The class of a name.
    pub fn from_name(name: &str) -> Option<Class> {
        let at = Self::NAMES.iter().position(|known| *known == name)?;
        Some(Self::ALL[at])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_belong_together() {
        for (at, class) in Class::ALL.into_iter().enumerate() {
            assert_eq!(class as usize, at);
            assert_eq!(Class::from_name(class.name()), Some(class));
            assert_eq!(class.name(), format!("{class:?}").to_lowercase());
        }
        assert_eq!(Class::from_name("rename"), None);
    }
}
