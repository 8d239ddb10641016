//! Reading a file that somebody else may have made.
//!
//! Takes a path and the most bytes that make sense, gives the bytes. Prevents: a program that waits for ever on a
//! pipe, or fills the memory from a device or a file without end.

use rustix::fs::OFlags;
use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The bytes of a regular file, at most `bytes_max`.
///
/// # Errors
/// What the system says; of kind `InvalidInput` for what is no regular file, `FileTooLarge` for what is longer.
pub fn read_file(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    // A pipe without a writer opens too; what it is, is asked of what was opened.
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path)?;
    let meta = file.metadata()?;
    if !meta.is_file() {
        let what = if meta.is_dir() {
            "a directory"
        } else {
            "no regular file"
        };
        return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("it is {what}")));
    }
    let too_large = || {
        let most = match bytes_max >> 20 {
            0 => format!("{} KiB", bytes_max >> 10),
            mib => format!("{mib} MiB"),
        };
        io::Error::new(io::ErrorKind::FileTooLarge, format!("it is larger than {most}"))
    };
    if meta.len() > bytes_max {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    file.take(bytes_max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max {
        return Err(too_large());
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_of_bounded_length_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::write(at("good"), [7; 100]).unwrap();
        assert_eq!(read_file(&at("good"), 100).unwrap(), [7; 100]);
        let said = |path: &Path| read_file(path, 99).unwrap_err().to_string();
        assert!(said(&at("good")).contains("larger than"));
        assert!(said(dir.path()).contains("a directory"));
        assert!(said(Path::new("/dev/zero")).contains("no regular file"));
        assert_eq!(read_file(&at("none"), 1).unwrap_err().kind(), io::ErrorKind::NotFound);
        rustix::fs::mkfifoat(rustix::fs::CWD, at("pipe"), rustix::fs::Mode::RUSR).unwrap();
        assert!(said(&at("pipe")).contains("no regular file"));
        let sparse = std::fs::File::create(at("sparse")).unwrap();
        sparse.set_len(10 << 30).unwrap();
        assert!(said(&at("sparse")).contains("larger than"));
    }
}
