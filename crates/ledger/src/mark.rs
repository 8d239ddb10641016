//! What a result file is known by: the mark in its header, the version of its schema, its largest size.
//!
//! Prevents: a file of another program, of another schema or of a stranger that is read as one of ours.

/// "ASSY" in the SQLite header.
pub const APPLICATION_ID: i64 = 0x4153_5359;

/// Version of the schema. Versions 1 to 10 were of the time before the first release: no file of them is read.
pub const SCHEMA_VERSION: i64 = 11;

/// SHA-256 of all tables and indexes of that version, as SQLite keeps them. A test takes it anew: whoever changes a
/// table raises the version, or a file of an earlier build is taken for one of ours.
#[cfg(test)]
pub(crate) const SCHEMA_SHA256: &str = "7a8dd7958abd4b4b1e79b8758b1e16235e5f0c309073c558f73fec81e6ff096b";

/// Largest result file that is opened, in bytes: a day of all series has a tenth of it.
pub const FILE_BYTES_MAX: u64 = 1 << 30;
