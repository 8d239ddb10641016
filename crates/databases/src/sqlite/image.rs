//! A database that is loaded once and copied into fresh places.
//!
//! Takes the file of a closed database, gives its bytes to any [`Place`], by direct I/O where the place has it. Each
//! copy is read back and held against the checksums of the first. Prevents: tables that storage changed on the way, and
//! a load by single rows for each trial of a study that only asks.

use super::error::SqliteError;
use super::file_set::Main;
use super::place::Place;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};

/// Bytes that are copied and checked at once.
const PIECE: usize = 1 << 20;

/// The bytes of a database file, with a CRC32C of each piece of 1 MiB.
#[derive(Debug)]
pub struct Image {
    file: File,
    bytes: u64,
    sums: Vec<u32>,
}

impl Image {
    /// Of a database file that no connection has open, and that has no log or journal. The file may have no name any
    /// more.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn of(file: File) -> io::Result<Image> {
        let bytes = file.metadata()?.len();
        let mut sums = Vec::new();
        let mut piece = vec![0; PIECE];
        for (at, len) in pieces(bytes) {
            file.read_exact_at(&mut piece[..len], at)?;
            sums.push(targets::crc32c(&piece[..len]));
        }
        Ok(Image { file, bytes, sums })
    }

    /// Size of the database in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Copies it into a place that has no database, and reads the copy back. It is durable when this returns.
    ///
    /// # Errors
    /// Those of the storage of the place; [`SqliteError::Copied`]: the copy is not what was written;
    /// [`SqliteError::Setting`]: `cancel` was set.
    pub fn copy_into(&self, place: &Place, cancel: &AtomicBool) -> Result<(), SqliteError> {
        self.copy(&place.make_main()?, cancel)
    }

    fn copy(&self, target: &Main<'_>, cancel: &AtomicBool) -> Result<(), SqliteError> {
        let mut piece = vec![0; PIECE];
        for (nth, (at, len)) in pieces(self.bytes).enumerate() {
            go_on(cancel)?;
            let piece = &mut piece[..len];
            let read = self.file.read_exact_at(piece, at);
            read.map_err(SqliteError::Image)?;
            if targets::crc32c(piece) != self.sums[nth] {
                return Err(SqliteError::Image(io::Error::other("its bytes have changed")));
            }
            target.write(at, piece)?;
        }
        target.sync()?;
        target.let_go()?;
        for (nth, (at, len)) in pieces(self.bytes).enumerate() {
            go_on(cancel)?;
            let piece = &mut piece[..len];
            // A short read must not leave what was there before.
            piece.fill(0);
            target.read(at, piece)?;
            if targets::crc32c(piece) != self.sums[nth] {
                return Err(SqliteError::Copied { at, bytes: len as u64 });
            }
        }
        Ok(())
    }
}

fn pieces(bytes: u64) -> impl Iterator<Item = (u64, usize)> {
    let at = (0..bytes).step_by(PIECE);
    at.map(move |at| (at, (bytes - at).min(PIECE as u64) as usize))
}

fn go_on(cancel: &AtomicBool) -> Result<(), SqliteError> {
    match cancel.load(Ordering::Relaxed) {
        false => Ok(()),
        true => Err(SqliteError::Setting {
            what: "the copy of the tables was ended".into(),
            cure: "start the run again",
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::counts::IoCounts;
    use crate::sqlite::file_set::Store;
    use crate::sqlite::file_set::layout::Role;
    use std::sync::Mutex;

    /// A file in memory that acknowledges what it is told to forget.
    #[derive(Default)]
    struct Forgetful {
        bytes: Mutex<Vec<u8>>,
        forgets_from: Option<u64>,
    }

    impl Store for Forgetful {
        fn powersafe_overwrite(&self) -> bool {
            true
        }
        fn log_memory(&self) -> u64 {
            0
        }
        fn is_there(&self, _: Role) -> bool {
            true
        }
        fn create(&self, _: Role) -> Result<(), SqliteError> {
            Ok(())
        }
        fn size(&self, _: Role) -> u64 {
            self.bytes.lock().unwrap().len() as u64
        }
        fn read(&self, _: Role, offset: u64, to: &mut [u8]) -> Result<usize, SqliteError> {
            let bytes = self.bytes.lock().unwrap();
            let from = bytes.get(offset as usize..).unwrap_or_default();
            let len = from.len().min(to.len());
            to[..len].copy_from_slice(&from[..len]);
            Ok(len)
        }
        fn write(&self, _: Role, offset: u64, data: &[u8]) -> Result<(), SqliteError> {
            if self.forgets_from.is_none_or(|from| offset < from) {
                let mut bytes = self.bytes.lock().unwrap();
                bytes.resize(offset as usize + data.len(), 0);
                bytes[offset as usize..].copy_from_slice(data);
            }
            Ok(())
        }
        fn truncate(&self, _: Role, _: u64) -> Result<(), SqliteError> {
            unreachable!("nothing is cut off")
        }
        fn sync(&self, _: Role) -> Result<(), SqliteError> {
            Ok(())
        }
        fn delete(&self, _: Role) -> Result<(), SqliteError> {
            unreachable!("nothing is deleted")
        }
        fn expect_size(&self, _: Role, _: u64) -> Result<(), SqliteError> {
            Ok(())
        }
        fn settle(&self) -> Result<(), SqliteError> {
            Ok(())
        }
        fn counts(&self) -> IoCounts {
            IoCounts::default()
        }
        fn allocated(&self, _: Role) -> u64 {
            0
        }
        fn take_error(&self) -> Option<String> {
            None
        }
    }

    /// Two pieces and a half.
    fn image() -> (Image, Vec<u8>) {
        let bytes: Vec<u8> = (0..PIECE * 5 / 2).map(|at| (at / 7 % 251) as u8).collect();
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(&bytes, 0).unwrap();
        (Image::of(file).unwrap(), bytes)
    }

    #[test]
    fn a_copy_is_the_same_and_a_lost_piece_is_seen() {
        let (image, bytes) = image();
        let (sound, on) = (Forgetful::default(), AtomicBool::new(false));
        image.copy(&Main::FileSet(&sound), &on).unwrap();
        assert!(*sound.bytes.lock().unwrap() == bytes && image.bytes() == bytes.len() as u64);
        let two = 2 * PIECE as u64;
        let forgetful = Forgetful {
            forgets_from: Some(two),
            ..Forgetful::default()
        };
        let lost = image.copy(&Main::FileSet(&forgetful), &on).unwrap_err();
        assert!(matches!(lost, SqliteError::Copied { at, .. } if at == two), "{lost}");
        assert_eq!(lost.is_of_storage(), Some(true));
    }

    /// Whether the page cache holds the first page of a file; `None`: its file system does not tell.
    fn is_in_memory(file: &File) -> Option<bool> {
        let mut page = [0; 4096];
        let mut into = [io::IoSliceMut::new(&mut page)];
        match rustix::io::preadv2(file, &mut into, 0, rustix::io::ReadWriteFlags::NOWAIT) {
            Ok(read) => Some(read > 0),
            Err(rustix::io::Errno::AGAIN) => Some(false),
            Err(_) => None,
        }
    }

    #[test]
    fn a_copy_in_a_file_is_read_back_from_storage() {
        let (image, bytes) = image();
        let file = tempfile::tempfile_in("/var/tmp").unwrap();
        let target = Main::File {
            file: file.try_clone().unwrap(),
            path: std::path::Path::new("main"),
        };
        image.copy(&target, &AtomicBool::new(false)).unwrap();
        let mut found = vec![0; bytes.len()];
        file.read_exact_at(&mut found, 0).unwrap();
        assert!(found == bytes);
        target.let_go().unwrap();
        // On tmpfs (`TMPFS_MAGIC`, `statfs(2)`) it stays there.
        let on_tmpfs = rustix::fs::fstatfs(&file).unwrap().f_type == 0x0102_1994;
        assert!(on_tmpfs || is_in_memory(&file) != Some(true));
    }

    #[test]
    fn an_image_that_has_changed_is_not_copied_and_a_signal_ends_a_copy() {
        let (image, _) = image();
        image.file.write_all_at(b"x", 5).unwrap();
        let (target, on) = (Forgetful::default(), AtomicBool::new(false));
        let changed = image.copy(&Main::FileSet(&target), &on).unwrap_err();
        assert!(matches!(changed, SqliteError::Image(_)), "{changed}");
        let ended = image.copy(&Main::FileSet(&target), &AtomicBool::new(true)).unwrap_err();
        assert!(matches!(ended, SqliteError::Setting { .. }), "{ended}");
    }
}
