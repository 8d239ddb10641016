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
            Some(PostgresError::Refused { code, message, .. }) => match code.as_str() {
                "53100" => !is_of_memory(message),
                // A study can give temporary files less than the file system has.
                "53400" => message.contains("temp_file_limit"),
                _ => false,
            },
            Some(PostgresError::Died { log, .. }) => says_full(log),
            Some(PostgresError::Program { said, .. }) => says_full(said),
            _ => cause.downcast_ref().is_some_and(SqliteError::is_full),
        };
        of_engine || of_kernel || of_call || of_sql
    })
}

/// Whether one of these lines says that the file system of the data has no space left.
fn says_full(text: &str) -> bool {
    // What a program said at its end is on one line.
    let mut lines = text.split(['\n', ';']);
    lines.any(|line| line.contains("No space left on device") && !is_of_memory(line))
}

/// PostgreSQL says of shared memory that does not fit into /dev/shm what it says of a full file system.
fn is_of_memory(line: &str) -> bool {
    line.contains("shared memory")
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

/// The same where several instances wrote: those that had no space left did not say how far they had come.
pub(crate) fn words_of_several() -> String {
    "ran out of space; how many pages its instances had overwritten by then is not known".to_string()
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
        let refused_as = |code: &str, message: &str| {
            anyhow::Error::from(PostgresError::Refused {
                during: "question 9".to_string(),
                severity: "ERROR".to_string(),
                code: code.to_string(),
                message: message.to_string(),
                cure: "",
            })
        };
        let refused = |message: &str| refused_as("53100", message);
        let limit = "temporary file size exceeds \"temp_file_limit\" (1024kB)";
        assert!(ran_out_of_space(&refused_as("53400", limit)));
        assert!(!ran_out_of_space(&refused_as("53400", "too many replication slots")));
        assert!(ran_out_of_space(&refused(
            "could not extend file \"base/5/16\": No space left on device"
        )));
        let memory = "could not resize shared memory segment \"/PostgreSQL.1\" to 8 bytes: No space left on device";
        assert!(
            !ran_out_of_space(&refused(memory)) && !says_full(memory),
            "/dev/shm is the host's"
        );
        for between in ["\n", "; "] {
            assert!(says_full(&format!(
                "{memory}{between}could not write block 7: No space left on device"
            )));
        }
        assert_eq!(
            words(632, 1000),
            "ran out of space after 63.2 % of the pages had been overwritten"
        );
        assert_eq!(words(0, 1000), "ran out of space");
    }
}
