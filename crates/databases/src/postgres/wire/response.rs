//! The server's answer to one batch: found whole, then read into an [`Answer`] in place.
//!
//! Prevents: an answer that is taken for its statement's when it belongs to another (each statement's end is counted),
//! and a commit that was none.

use crate::order_entry::{Answer, End, Kind};
use crate::postgres::error::{PostgresError, malformed, shown};
use crate::postgres::sessions::session::Expected;
use crate::postgres::wire::messages::{self, ANSWER_BYTES_MAX, Failure, Malformed, Message};

/// Sums and times in microseconds stay far below, and what is counted on from it stays within eight bytes.
const NUMBER_MAX: u64 = 1 << 53;

/// How a batch went.
#[derive(Debug)]
pub(crate) enum Went {
    Well,
    /// Refused; `open`: its transaction has to be rolled back.
    Badly {
        failure: Failure,
        open: bool,
    },
}

/// Is the answer whole? Walks on from `walked`, which is then its end.
pub(crate) fn whole(bytes: &[u8], walked: &mut usize) -> Result<bool, Malformed> {
    while let Some((message, length)) = messages::first(&bytes[*walked..])? {
        *walked += length;
        if message.tag == b'Z' {
            return Ok(true);
        }
        if *walked > ANSWER_BYTES_MAX {
            return Err(Malformed::Endless);
        }
    }
    Ok(false)
}

/// The first failure in what came before a connection broke.
pub(crate) fn last_words(mut bytes: &[u8]) -> Option<Failure> {
    while let Ok(Some((message, length))) = messages::first(bytes) {
        if message.tag == b'E' {
            return message.failure().ok();
        }
        bytes = &bytes[length..];
    }
    None
}

/// Reads a whole answer.
pub(crate) fn read(mut bytes: &[u8], expected: &Expected, answer: &mut Answer) -> Result<Went, PostgresError> {
    answer.clear();
    let before = usize::from(expected.before);
    let (mut ended, mut failure) = (0, None);
    if before == 0 && !expected.calls.is_empty() {
        answer.open_call();
    }
    loop {
        let Some((message, length)) = messages::first(bytes).map_err(doubted)? else {
            return Err(wrong("with less than an answer"));
        };
        bytes = &bytes[length..];
        match message.tag {
            b'D' => row(message, expected, ended, answer)?,
            b'C' => {
                complete(message, expected, ended)?;
                ended += 1;
                if ended >= before && ended - before < expected.calls.len() {
                    answer.open_call();
                }
            }
            b'E' => {
                let said = message.failure().map_err(doubted)?;
                failure.get_or_insert(said);
            }
            b'Z' => {
                let open = message.is_open().map_err(doubted)?;
                let all = before + expected.calls.len() + usize::from(expected.end.is_some());
                return match failure {
                    Some(failure) => Ok(Went::Badly { failure, open }),
                    None if ended == all => Ok(Went::Well),
                    None => Err(wrong(&format!("to {ended} of {all} statements"))),
                };
            }
            b'2' | b'N' | b'S' | b'A' | b'I' => message.check().map_err(doubted)?,
            tag => return Err(doubted(Malformed::Kind { tag })),
        }
    }
}

fn doubted(found: Malformed) -> PostgresError {
    malformed("a transaction", found)
}

fn wrong(got: &str) -> PostgresError {
    PostgresError::Protocol {
        during: "a transaction",
        got: got.to_owned(),
    }
}

fn row(message: Message<'_>, expected: &Expected, ended: usize, answer: &mut Answer) -> Result<(), PostgresError> {
    let call = ended.checked_sub(usize::from(expected.before));
    let Some(query) = call.and_then(|nth| expected.calls.get(nth)) else {
        return Err(wrong("with a row where none belongs"));
    };
    let gives = query.statement().gives;
    answer.open_row();
    let mut cells = message.cells().map_err(doubted)?;
    if usize::from(cells.left()) != gives.len() {
        return Err(wrong(&format!("{query:?} with {} columns", cells.left())));
    }
    for kind in gives {
        match (cells.take().map_err(doubted)?, kind) {
            (None, _) => answer.push_null(),
            (Some(text), Kind::Text) => answer.push_text(text),
            (Some(cell), kind) => match number(cell, *kind) {
                Some(number) => answer.push_int(number),
                None => return Err(wrong(&format!("{query:?} with a number that can't be"))),
            },
        }
    }
    Ok(())
}

/// A number of this kind's bytes.
pub(crate) fn number(cell: &[u8], kind: Kind) -> Option<i64> {
    match kind {
        Kind::Int4 => Some(i32::from_be_bytes(cell.try_into().ok()?).into()),
        _ => Some(i64::from_be_bytes(cell.try_into().ok()?)).filter(|n| n.unsigned_abs() <= NUMBER_MAX),
    }
}

fn complete(message: Message<'_>, expected: &Expected, ended: usize) -> Result<(), PostgresError> {
    let tag = message.done().map_err(doubted)?;
    let rows = |statement: String| PostgresError::Rows {
        statement,
        got: shown(tag),
    };
    let Some(nth) = ended.checked_sub(usize::from(expected.before)) else {
        return Ok(());
    };
    match expected.calls.get(nth) {
        Some(query) if query.statement().one_row && !tag.ends_with(" 1") => Err(rows(format!("{query:?}"))),
        Some(_) => Ok(()),
        // A transaction that can't be committed is rolled back, and says so only here.
        None if expected.end == Some(End::Commit) && tag != "COMMIT" => Err(rows("COMMIT".to_owned())),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::order_entry::Query;
    use crate::postgres::wire::requests;

    fn message(tag: u8, body: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        requests::message(&mut out, Some(tag), |o| o.extend_from_slice(body));
        out
    }

    fn expected(calls: &[Query], begins: bool, end: Option<End>) -> Expected {
        Expected {
            before: begins.into(),
            calls: calls.to_vec(),
            end,
        }
    }

    #[test]
    fn rows_go_to_their_calls() {
        let expected = expected(
            &[Query::WarehouseTax, Query::Item, Query::AddNewOrder],
            true,
            Some(End::Commit),
        );
        let row = [0, 1, 0, 0, 0, 4, 0, 0, 0, 9];
        let parts = [
            message(b'2', b""),
            message(b'C', b"BEGIN\0"),
            message(b'2', b""),
            message(b'D', &row),
            message(b'C', b"SELECT 1\0"),
            message(b'C', b"SELECT 0\0"),
            message(b'C', b"INSERT 0 1\0"),
            message(b'C', b"COMMIT\0"),
            message(b'Z', b"I"),
        ];
        let bytes = parts.concat();
        let mut answer = Answer::new();
        assert!(matches!(read(&bytes, &expected, &mut answer), Ok(Went::Well)));
        assert_eq!((answer.calls(), answer.rows(0), answer.rows(1)), (3, 1, 0));
        assert_eq!(answer.int(0, 0, 0), Some(9));
        let mut walked = 0;
        assert!(!whole(&bytes[..bytes.len() - 1], &mut walked).unwrap());
        assert!(whole(&bytes, &mut walked).unwrap() && walked == bytes.len());
    }

    #[test]
    fn what_was_not_done_is_an_error() {
        let mut answer = Answer::new();
        let one = expected(&[Query::AddNewOrder], false, None);
        let none_changed = [message(b'C', b"INSERT 0 0\0"), message(b'Z', b"T")].concat();
        assert!(matches!(
            read(&none_changed, &one, &mut answer),
            Err(PostgresError::Rows { .. })
        ));
        let too_few = message(b'Z', b"T");
        assert!(matches!(
            read(&too_few, &one, &mut answer),
            Err(PostgresError::Protocol { .. })
        ));
        let commit = expected(&[], false, Some(End::Commit));
        let not_committed = [message(b'C', b"ROLLBACK\0"), message(b'Z', b"I")].concat();
        assert!(matches!(
            read(&not_committed, &commit, &mut answer),
            Err(PostgresError::Rows { .. })
        ));
        let refused = [message(b'E', b"VERROR\0C40P01\0Mdeadlock\0\0"), message(b'Z', b"E")].concat();
        match read(&refused, &one, &mut answer) {
            Ok(Went::Badly { failure, open }) => assert!(failure.code == "40P01" && open),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn rows_that_are_not_what_was_asked_for_are_an_error() {
        let one = expected(&[Query::WarehouseTax], false, None);
        let answered = |row: &[u8]| {
            let bytes = [message(b'D', row), message(b'C', b"SELECT 1\0"), message(b'Z', b"I")].concat();
            read(&bytes, &one, &mut Answer::new())
        };
        assert!(matches!(answered(&[0, 1, 0, 0, 0, 4, 0, 0, 0, 9]), Ok(Went::Well)));
        let wrong: [&[u8]; 6] = [
            // More and fewer columns, another width, a byte too many and too few, a count that does not fit.
            &[0, 2, 0, 0, 0, 4, 0, 0, 0, 9, 0, 0, 0, 0],
            &[0, 0],
            &[0, 1, 0, 0, 0, 2, 0, 9],
            &[0, 1, 0, 0, 0, 4, 0, 0, 0, 9, 0],
            &[0, 1, 0, 0, 0, 4, 0, 0, 9],
            &[255, 255, 0, 0, 0, 4, 0, 0, 0, 9],
        ];
        for row in wrong {
            let error = answered(row).unwrap_err();
            assert!(matches!(error, PostgresError::Protocol { .. }), "{row:?}: {error}");
        }
        assert_eq!(number(&i64::MAX.to_be_bytes(), Kind::Int8), None);
        assert_eq!(number(&(-7i64).to_be_bytes(), Kind::Int8), Some(-7));
    }

    #[test]
    fn an_answer_without_end_is_given_up() {
        let notice = message(
            b'N',
            &[b"SNOTICE\0C00000\0M", vec![b'x'; 1 << 19].as_slice(), b"\0\0"].concat(),
        );
        let bytes = notice.repeat(ANSWER_BYTES_MAX / notice.len() + 1);
        assert_eq!(whole(&bytes, &mut 0), Err(Malformed::Endless));
    }
}
