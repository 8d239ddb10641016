//! Decision support: a company's history, and the 22 long questions that its managers ask.
//!
//! Derived from the published description of TPC-H: the same tables, data of a generator that follows dbgen byte for
//! byte, and questions that ask the same in words of our own. Its figures are no TPC results. [`Scale`] says how much,
//! [`Source`] brings the rows, [`Question`] is what is asked and [`Answer`] what came back; each database has its own
//! way to load, to ask and to refresh. Prevents: a slow answer that is compared with a wrong one.

mod answer;
mod checksum;
mod generator;
mod order;
mod parameters;
mod question;
mod refresh;
mod scale;
mod schema;
mod stream;
mod texts;
mod written;

pub use answer::{Answer, AnswerError, Cell};
pub use checksum::{Checksums, Doubt, Held};
pub(crate) use checksum::{Kept, hundredths, sql as checksum_sql};
pub use generator::{REFRESH_SETS, Rows, RowsError, Source, write_refresh, write_rows};
pub use order::{Ask, VARIANTS, of_stream, of_users};
pub use parameters::Parameters;
pub use question::{CLASS, Dialect, Question, Text};
pub use refresh::{NewOrder, RefreshSet, Refreshed, Refresher, refresh};
pub use scale::{Scale, ScaleError};
pub use schema::{Column, ColumnKind, Table};
pub use stream::{Answered, Asked, Asker, Stop, Stream, Unanswered, drive_streams};
