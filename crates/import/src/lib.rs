//! Room `import`: figures that other tools printed, read as figures: Oracle's AWR and statspack reports, iostat, sar,
//! vmstat, zpool iostat, SLOB, fio, pgbench, HammerDB, sysbench.
//!
//! Takes text; gives [`Imported`]: each number as it was printed, its unit, the line it stands on, and, where it can be
//! said without guessing, the quantity it may be set beside ([`Comparable`]). What was not taken is listed with a
//! reason. The room reads no file and uses no other room: it is arithmetic on text.
//!
//! Prevents: a number copied by hand from one report into another, a comma read as the wrong thing, the average since
//! boot taken for a measurement, and a megabyte whose size nobody knows compared with one that is known.

mod awr;
mod benches;
mod choice;
mod columns;
mod detect;
mod error;
mod figure;
mod fio;
mod format;
mod json;
mod lines;
mod linux;
mod load;
mod number;
mod slob;
mod slob_tables;

pub use choice::Choice;
pub use detect::detect;
pub use error::ImportError;
pub use figure::{Comparable, Fact, Figure, Imported, Note, Quantity, Report};
pub use format::{FIGURES_MAX, Format, Options, TEXT_BYTES_MAX};
pub use load::of_one_load;

/// Reads a text.
///
/// # Errors
/// [`ImportError`], each with the line and the cure: an unknown layout says what was looked for.
pub fn read(text: &str, options: &Options) -> Result<Imported, ImportError> {
    if text.len() > TEXT_BYTES_MAX {
        return Err(ImportError::TooLarge { bytes: text.len() });
    }
    // A page of the web has them where the report had spaces; each is one column wide, as a space is.
    let plain = text.contains('\u{a0}').then(|| text.replace('\u{a0}', " "));
    let text = plain.as_deref().unwrap_or(text);
    let format = match options.format {
        Some(format) => format,
        None => detect(text)?,
    };
    if let Some(choice) = options.unread(format) {
        return Err(ImportError::Unread { choice, format });
    }
    let imported = match format {
        Format::Awr | Format::Statspack => awr::read(text, format, options),
        Format::Iostat => linux::iostat::read(text, options),
        Format::Sar => linux::sar::read(text, options),
        Format::Sadf => linux::sadf::read(text, options),
        Format::Vmstat => linux::vmstat::read(text, options),
        Format::Zpool => linux::zpool::read(text, options),
        Format::Slob => slob::read(text, options),
        Format::Fio => fio::read(text),
        Format::Pgbench => benches::pgbench::read(text),
        Format::Hammerdb => benches::hammerdb::read(text),
        Format::Sysbench => benches::sysbench::read(text),
    }
    .map_err(|error| match error {
        // A reader counts rows or names; the message speaks of bytes.
        ImportError::TooLarge { .. } => ImportError::TooLarge { bytes: text.len() },
        other => other,
    })?;
    if imported
        .reports
        .iter()
        .map(|report| report.figures.len())
        .sum::<usize>()
        > FIGURES_MAX
    {
        return Err(ImportError::TooLarge { bytes: text.len() });
    }
    if imported.reports.iter().all(|report| report.figures.is_empty()) {
        return Err(ImportError::Nothing {
            format,
            looked_for: format.looked_for(),
        });
    }
    Ok(imported)
}
