//! What the server itself counts, before and after a phase.
//!
//! From `pg_stat_database` (of the connection's database), `pg_stat_bgwriter` or, from version 17,
//! `pg_stat_checkpointer` and `pg_stat_io`, and `pg_stat_wal`. A session reports its counts with a delay while it is
//! open, and all of them when it closes: read after the phase's sessions are closed. Prevents: reads of the server's
//! cache taken for reads of the storage. What the server calls a read may have been served by the page cache of the
//! kernel: only the device knows.

use crate::postgres::connection::Connection;
use crate::postgres::error::{PostgresError, shown};

/// Counts since the server's statistics were reset, or the difference of two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerCounters {
    /// Transactions committed.
    pub commits: u64,
    /// Transactions rolled back.
    pub rollbacks: u64,
    /// Deadlocks found.
    pub deadlocks: u64,
    /// Blocks asked of the kernel.
    pub blocks_read: u64,
    /// Blocks found in `shared_buffers`.
    pub blocks_hit: u64,
    /// Sizes of temporary files when they were deleted. At least so many bytes were written: a sort and a hash use the
    /// blocks of a file again.
    pub temp_file_bytes: u64,
    /// Checkpoints by time and by request.
    pub checkpoints: u64,
    /// Blocks written by checkpoints.
    pub checkpoint_blocks: u64,
    /// Blocks written by the background writer.
    pub cleaned_blocks: u64,
    /// Blocks that all others wrote or added to a relation: a session that finds no clean buffer, a bulk load, vacuum.
    /// Of all databases.
    pub backend_blocks: u64,
    /// Records of the write-ahead log.
    pub wal_records: u64,
    /// Full-page images in it.
    pub wal_full_pages: u64,
    /// Bytes of it.
    pub wal_bytes: u64,
}

impl ServerCounters {
    /// Reads them. Bytes of a block: the server's `block_size`, 8,192 unless built otherwise.
    ///
    /// # Errors
    /// No answer.
    pub fn read(connection: &mut Connection) -> Result<Self, PostgresError> {
        let version = connection.version()?;
        let checkpoints = match version {
            170_000.. => "SELECT num_timed + num_requested, buffers_written FROM pg_stat_checkpointer",
            _ => "SELECT checkpoints_timed + checkpoints_req, buffers_checkpoint FROM pg_stat_bgwriter",
        };
        let [commits, rollbacks, deadlocks, blocks_read, blocks_hit, temp_file_bytes] = numbers(
            connection,
            "SELECT xact_commit, xact_rollback, deadlocks, blks_read, blks_hit, temp_bytes FROM pg_stat_database \
             WHERE datname = current_database()",
        )?;
        let [checkpoints, checkpoint_blocks] = numbers(connection, checkpoints)?;
        let [cleaned_blocks] = numbers(connection, "SELECT buffers_clean FROM pg_stat_bgwriter")?;
        let [backend_blocks] = numbers(connection, backends(version))?;
        let [wal_records, wal_full_pages, wal_bytes] = numbers(
            connection,
            "SELECT wal_records, wal_fpi, CAST(wal_bytes AS bigint) FROM pg_stat_wal",
        )?;
        Ok(ServerCounters {
            commits,
            rollbacks,
            deadlocks,
            blocks_read,
            blocks_hit,
            temp_file_bytes,
            checkpoints,
            checkpoint_blocks,
            cleaned_blocks,
            backend_blocks,
            wal_records,
            wal_full_pages,
            wal_bytes,
        })
    }

    /// What came between `before` and this.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        let less = u64::saturating_sub;
        ServerCounters {
            commits: less(self.commits, before.commits),
            rollbacks: less(self.rollbacks, before.rollbacks),
            deadlocks: less(self.deadlocks, before.deadlocks),
            blocks_read: less(self.blocks_read, before.blocks_read),
            blocks_hit: less(self.blocks_hit, before.blocks_hit),
            temp_file_bytes: less(self.temp_file_bytes, before.temp_file_bytes),
            checkpoints: less(self.checkpoints, before.checkpoints),
            checkpoint_blocks: less(self.checkpoint_blocks, before.checkpoint_blocks),
            cleaned_blocks: less(self.cleaned_blocks, before.cleaned_blocks),
            backend_blocks: less(self.backend_blocks, before.backend_blocks),
            wal_records: less(self.wal_records, before.wal_records),
            wal_full_pages: less(self.wal_full_pages, before.wal_full_pages),
            wal_bytes: less(self.wal_bytes, before.wal_bytes),
        }
    }
}

/// Blocks written by whoever is neither the checkpointer nor the background writer. Up to version 16 a column counts
/// them, new blocks among them; then `pg_stat_io` does, from 18 on in bytes, because one write may hold several blocks.
fn backends(version: u32) -> &'static str {
    match version {
        180_000.. => {
            "SELECT CAST(COALESCE(SUM(COALESCE(write_bytes, 0) + COALESCE(extend_bytes, 0)), 0) / \
             current_setting('block_size')::int AS bigint) FROM pg_stat_io WHERE object = 'relation' AND backend_type \
             NOT IN ('checkpointer', 'background writer')"
        }
        170_000.. => {
            "SELECT CAST(COALESCE(SUM(COALESCE(writes, 0) + COALESCE(extends, 0)), 0) AS bigint) \
             FROM pg_stat_io WHERE object = 'relation' AND backend_type NOT IN ('checkpointer', 'background writer')"
        }
        _ => "SELECT buffers_backend FROM pg_stat_bgwriter",
    }
}

/// No server has counted so far: sums of what it says stay within eight bytes.
const COUNT_MAX: u64 = 1 << 53;

/// The numbers of the first row; 0 where there is none.
fn numbers<const N: usize>(connection: &mut Connection, sql: &str) -> Result<[u64; N], PostgresError> {
    let rows = connection.run(sql)?;
    let mut numbers = [0; N];
    for (number, cell) in numbers.iter_mut().zip(rows.first().into_iter().flatten()) {
        let Some(text) = cell else { continue };
        let counted = text.parse().ok().filter(|counted| *counted <= COUNT_MAX);
        *number = counted.ok_or_else(|| PostgresError::Protocol {
            during: "a query of its counters",
            got: format!("with {}", shown(text)),
        })?;
    }
    Ok(numbers)
}
