//! Text of files in which other users may have put any bytes: mount points, names of people.
//!
//! Prevents: one mount point that is no UTF-8, made by anybody, after which root can undo nothing.

use std::io;
use std::path::Path;

/// Text of such a file. Bytes that are no UTF-8 become the replacement character: such a name is never one of ours.
///
/// # Errors
/// The file can't be read.
pub fn kernel_text(path: impl AsRef<Path>) -> io::Result<String> {
    Ok(String::from_utf8_lossy(&std::fs::read(path)?).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_beside_one_that_is_no_text_are_read() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("mountinfo");
        std::fs::write(&path, b"21 1 8:1 / /tmp/\xff rw - ext4\n22 1 8:2 / /srv rw - xfs\n").expect("written");
        let text = kernel_text(&path).expect("read");
        assert_eq!(text.lines().nth(1), Some("22 1 8:2 / /srv rw - xfs"));
        assert!(kernel_text(dir.path().join("none")).is_err());
    }
}
