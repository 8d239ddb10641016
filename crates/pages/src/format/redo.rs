//! The redo log as it lies on storage: batches of transaction records.
//!
//! Encodes and decodes bytes; knows nothing of buffers or recovery. Prevents: a torn, lost, misplaced or outdated batch
//! that is taken for a good one.

use crate::format::page::{get_u32, get_u64, put_u32, put_u64};

/// First bytes of a batch ("ASSAYRDO").
const BATCH_MAGIC: u64 = 0x4F44_5259_4153_5341;

/// Bytes of a batch header.
pub(crate) const BATCH_HEADER: usize = 48;
/// Bytes of a record header.
pub(crate) const RECORD_HEADER: usize = 16;
/// Bytes of a change header.
pub(crate) const CHANGE_HEADER: usize = 24;

/// The header of a batch: what one redo write holds. All numbers little endian.
///
/// A batch begins at a multiple of 4 KiB and is written once: what was flushed is never touched again in its lap, so
/// that a torn write can only hit commits that nobody has acknowledged. Position in the file = LSN modulo the size of
/// the thread. Replay ends at the first batch whose identity, LSN, link to the batch before or checksum is wrong.
///
/// | bytes | content |
/// | --- | --- |
/// | 0..8 | magic `ASSAYRDO` |
/// | 8..16 | identity of the database |
/// | 16..24 | LSN of the batch: byte position in the endless log |
/// | 24..28 | bytes of header and records, without the padding to 4 KiB |
/// | 28..32 | CRC32C of header (this field zero) and records |
/// | 32..36 | CRC32C field of the batch before (0 for the first) |
/// | 36..40 | records |
/// | 40..48 | worker, then zero |
///
/// A record is one whole transaction: bytes (u32, header included), changes (u32), number of the transaction (u64),
/// then the changes. A record without changes may have any bytes instead.
///
/// A change: schema (u32), page (u32), version after it (u64), bitmap of columns (u32; 0: the body is
/// a whole page), bytes of the body (u32), body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BatchHeader {
    pub(crate) lsn: u64,
    pub(crate) length: u32,
    pub(crate) crc: u32,
    pub(crate) previous: u32,
    pub(crate) records: u32,
}

/// Why bytes are not the batch that should follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotABatch {
    /// No batch of this database and LSN begins here: the usual end of a log.
    Absent,
    /// The header fits, the content or the link does not: a torn write, or damage.
    Broken,
}

/// Reads the header and checks all that the header alone can tell.
pub(crate) fn batch_header(
    block: &[u8],
    database: u64,
    lsn: u64,
    length_max: u64,
    any_lap: bool,
) -> Result<BatchHeader, NotABatch> {
    let header = BatchHeader {
        lsn: get_u64(block, 16),
        length: get_u32(block, 24),
        crc: get_u32(block, 28),
        previous: get_u32(block, 32),
        records: get_u32(block, 36),
    };
    let ours = get_u64(block, 0) == BATCH_MAGIC && get_u64(block, 8) == database;
    if !ours || (header.lsn != lsn && !any_lap) {
        return Err(NotABatch::Absent);
    }
    if (header.length as usize) < BATCH_HEADER || u64::from(header.length) > length_max {
        return Err(NotABatch::Broken);
    }
    Ok(header)
}

/// CRC32C of a batch with its checksum field taken as zero.
pub(crate) fn batch_crc(bytes: &[u8]) -> u32 {
    let crc = targets::crc32c(&bytes[..28]);
    let crc = targets::crc32c_append(crc, &[0; 4]);
    targets::crc32c_append(crc, &bytes[32..])
}

/// Completes a batch: header with checksum. `bytes` is header and records. Returns the checksum; that of `header`
/// does not count.
pub(crate) fn seal_batch(bytes: &mut [u8], database: u64, worker: u32, header: &BatchHeader) -> u32 {
    bytes[..BATCH_HEADER].fill(0);
    put_u64(bytes, 0, BATCH_MAGIC);
    put_u64(bytes, 8, database);
    put_u64(bytes, 16, header.lsn);
    put_u32(bytes, 24, header.length);
    put_u32(bytes, 32, header.previous);
    put_u32(bytes, 36, header.records);
    put_u32(bytes, 40, worker);
    let crc = batch_crc(bytes);
    put_u32(bytes, 28, crc);
    crc
}

/// Header of a record.
pub(crate) fn put_record(bytes: &mut [u8], length: u32, changes: u32, transaction: u64) {
    put_u32(bytes, 0, length);
    put_u32(bytes, 4, changes);
    put_u64(bytes, 8, transaction);
}

/// One change of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Change<'a> {
    pub(crate) schema: u32,
    pub(crate) page: u32,
    pub(crate) version: u64,
    /// 0: `body` is the whole page.
    pub(crate) columns: u32,
    pub(crate) body: &'a [u8],
}

/// Header of a change whose body follows.
pub(crate) fn put_change_header(bytes: &mut [u8], change: &Change<'_>) {
    put_u32(bytes, 0, change.schema);
    put_u32(bytes, 4, change.page);
    put_u64(bytes, 8, change.version);
    put_u32(bytes, 16, change.columns);
    put_u32(bytes, 20, change.body.len() as u32);
}

/// Changes of the records of a checked batch, in order; `Err` when the framing is impossible (which the checksum rules
/// out unless who wrote it was wrong).
pub(crate) fn for_each_change<'a, E: From<Malformed>>(
    batch: &'a [u8],
    mut record: impl FnMut(u64, u32),
    mut change: impl FnMut(u32, u32, Change<'a>) -> Result<(), E>,
) -> Result<(), E> {
    let mut at = BATCH_HEADER;
    while at < batch.len() {
        let head = batch.get(at..at + RECORD_HEADER).ok_or(Malformed)?;
        let (length, changes, transaction) = (get_u32(head, 0) as usize, get_u32(head, 4), get_u64(head, 8));
        let end = at + length;
        if length < RECORD_HEADER || end > batch.len() {
            return Err(Malformed.into());
        }
        record(transaction, changes);
        at += RECORD_HEADER;
        for nth in 0..changes {
            let head = batch.get(at..at + CHANGE_HEADER).ok_or(Malformed)?;
            let body_bytes = get_u32(head, 20) as usize;
            at += CHANGE_HEADER;
            let body = batch
                .get(at..at + body_bytes)
                .filter(|_| at + body_bytes <= end)
                .ok_or(Malformed)?;
            at += body_bytes;
            let (schema, page) = (get_u32(head, 0), get_u32(head, 4));
            let columns = get_u32(head, 16);
            change(
                nth,
                changes,
                Change {
                    schema,
                    page,
                    version: get_u64(head, 8),
                    columns,
                    body,
                },
            )?;
        }
        // A record without changes is bytes alone.
        at = if changes == 0 { end } else { at };
        if at != end {
            return Err(Malformed.into());
        }
    }
    Ok(())
}

/// A batch whose checksum is right and whose framing is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

#[cfg(test)]
mod tests {
    use super::*;

    fn batch() -> Vec<u8> {
        let mut bytes = vec![0; BATCH_HEADER + RECORD_HEADER + 2 * CHANGE_HEADER + 10 + 6];
        let length = (bytes.len() - BATCH_HEADER) as u32;
        put_record(&mut bytes[BATCH_HEADER..], length, 2, 55);
        let mut at = BATCH_HEADER + RECORD_HEADER;
        for (schema, columns, body) in [(1, 0b11, &[0; 10][..]), (4, 0, &[0; 6])] {
            let change = Change {
                schema,
                page: schema + 1,
                version: u64::from(schema) + 2,
                columns,
                body,
            };
            put_change_header(&mut bytes[at..], &change);
            at += CHANGE_HEADER + body.len();
        }
        let header = BatchHeader {
            lsn: 8192,
            length: bytes.len() as u32,
            crc: 0,
            previous: 77,
            records: 1,
        };
        seal_batch(&mut bytes, 9, 0, &header);
        bytes
    }

    #[test]
    fn a_batch_is_known_by_identity_and_position() {
        let bytes = batch();
        let header = batch_header(&bytes, 9, 8192, 4096, false).unwrap();
        assert_eq!(
            (header.length as usize, header.previous, header.crc),
            (bytes.len(), 77, batch_crc(&bytes))
        );
        assert_eq!(
            batch_header(&bytes, 9, 8192 + 65536, 4096, false),
            Err(NotABatch::Absent),
            "an old lap"
        );
        assert_eq!(
            batch_header(&bytes, 8, 8192, 4096, false),
            Err(NotABatch::Absent),
            "another database"
        );
        assert_eq!(
            batch_header(&bytes, 9, 8192, 64, false),
            Err(NotABatch::Broken),
            "too long to be true"
        );
    }

    #[test]
    fn every_flipped_bit_breaks_the_checksum() {
        let bytes = batch();
        let crc = batch_crc(&bytes);
        for at in (0..bytes.len()).filter(|at| !(28..32).contains(at)) {
            let mut bad = bytes.clone();
            bad[at] ^= 1;
            assert_ne!(batch_crc(&bad), crc, "byte {at}");
        }
    }

    #[test]
    fn changes_come_back_in_order_and_impossible_framing_is_refused() {
        let bytes = batch();
        let mut seen = Vec::new();
        for_each_change::<Malformed>(&bytes, |t, n| seen.push((t as u32, n, 0)), |_, _, _| Ok(())).unwrap();
        for_each_change::<Malformed>(
            &bytes,
            |_, _| (),
            |_, _, c| {
                seen.push((c.schema, c.page, c.body.len()));
                Ok(())
            },
        )
        .unwrap();
        assert_eq!(seen, [(55, 2, 0), (1, 2, 10), (4, 5, 6)]);
        let mut bad = bytes.clone();
        bad[BATCH_HEADER] -= 1;
        assert_eq!(
            for_each_change::<Malformed>(&bad, |_, _| (), |_, _, _| Ok(())),
            Err(Malformed)
        );
    }
}
