//! A stack that ran out of space: told apart from every other failure, because it is a result.
//!
//! Takes an error of a phase; says whether it is the kernel's "no space left". Prevents: a study that asks how far a
//! stack can be filled, and ends in an error on the stack that answers it.

use databases::postgres::PostgresError;
use databases::sqlite::SqliteError;
use pages::PagesError;
use targets::IoFault;

/// Whether the phase failed because the stack (or a quota on it) had no space left.
pub(crate) fn ran_out_of_space(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let of_engine = match cause.downcast_ref() {
            Some(PagesError::Io {
                fault: IoFault::Errno(errno),
                ..
            }) => is_full(*errno),
            _ => false,
        };
        let of_kernel = cause
            .downcast_ref::<std::io::Error>()
            .and_then(std::io::Error::raw_os_error)
            .is_some_and(is_full);
        let of_call = cause
            .downcast_ref::<rustix::io::Errno>()
            .is_some_and(|errno| is_full(errno.raw_os_error()));
        let of_sql = match cause.downcast_ref() {
            Some(PostgresError::Refused { code, .. }) => code == "53100",
            Some(PostgresError::Died { log, .. }) => log.contains("No space left on device"),
            Some(PostgresError::Program { said, .. }) => said.contains("No space left on device"),
            _ => cause.downcast_ref().is_some_and(SqliteError::is_full),
        };
        of_engine || of_kernel || of_call || of_sql
    })
}

fn is_full(errno: i32) -> bool {
    [rustix::io::Errno::NOSPC, rustix::io::Errno::DQUOT]
        .iter()
        .any(|full| full.raw_os_error() == errno)
}

/// The result in words; `overwritten` of `all` pages had come home by then.
pub(crate) fn words(overwritten: u64, all: u64) -> String {
    match overwritten {
        0 => "ran out of space".to_string(),
        _ => format!(
            "ran out of space after {:.1} % of the pages had been overwritten",
            overwritten as f64 * 100.0 / all.max(1) as f64
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context;
    use targets::FileId;

    #[test]
    fn only_a_lack_of_space_is_one() {
        let of_engine = |errno| {
            let error = PagesError::Io {
                what: "page write",
                file: FileId(0),
                offset: 0,
                len: 8192,
                fault: IoFault::Errno(errno),
            };
            anyhow::Error::from(error).context("drain")
        };
        let of_kernel: anyhow::Result<()> = Err(std::io::Error::from_raw_os_error(28)).context("syncfs");
        assert!(ran_out_of_space(&of_engine(28)) && ran_out_of_space(&of_engine(122)));
        assert!(ran_out_of_space(&of_kernel.unwrap_err()));
        assert!(!ran_out_of_space(&of_engine(5)) && !ran_out_of_space(&anyhow::anyhow!("No space left on device")));
        assert_eq!(
            words(632, 1000),
            "ran out of space after 63.2 % of the pages had been overwritten"
        );
        assert_eq!(words(0, 1000), "ran out of space");
    }
}
