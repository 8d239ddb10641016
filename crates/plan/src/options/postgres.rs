//! Settings of a PostgreSQL server that a study may say, from the documentation's chapter "Server
//! Configuration", versions 15 to 18.
//!
//! What shapes memory, storage, planning and counting; nothing that runs, loads, opens or lets in.
//! Ranges are inside the server's own.

use super::rule::{Rule, rule};
use super::takes::{Step, Takes};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
const TIB: u64 = 1 << 40;
/// What a number without a unit counts, of settings in the server's pages.
const PAGE: u64 = 8 * KIB;
const MS: u64 = 1_000;
const SECOND: u64 = 1_000_000;
const HOUR: u64 = 3600 * SECOND;
const DAY: u64 = 24 * HOUR;

const fn memory(
    name: &'static str,
    (least, most, bare): (u64, u64, u64),
    example: &'static str,
    of: &'static str,
) -> Rule {
    rule("", name, Takes::Memory { least, most, bare }, example, of)
}

const fn time(
    name: &'static str,
    (least, most, bare): (u64, u64, u64),
    example: &'static str,
    of: &'static str,
) -> Rule {
    rule("", name, Takes::Time { least, most, bare }, example, of)
}

const fn number(name: &'static str, (least, most): (u64, u64), example: &'static str, of: &'static str) -> Rule {
    let step = Step::Any;
    rule("", name, Takes::Number { least, most, step }, example, of)
}

const fn real(name: &'static str, (least, most): (f64, f64), example: &'static str, of: &'static str) -> Rule {
    rule("", name, Takes::Real { least, most }, example, of)
}

const fn boolean(name: &'static str, example: &'static str, of: &'static str) -> Rule {
    rule("", name, Takes::Boolean, example, of)
}

const fn words(name: &'static str, of: &'static [&'static str], example: &'static str, phrase: &'static str) -> Rule {
    rule("", name, Takes::Word(of), example, phrase)
}

const MEMORY: &str = "memory";
const BACKGROUND_WRITER: &str = "background writer";
const READS_AND_WRITES: &str = "reads and writes";
const PARALLEL_WORK: &str = "parallel work";
const WRITE_AHEAD_LOG: &str = "write-ahead log";
const CHECKPOINTS: &str = "checkpoints";
const PLANNER: &str = "planner";
const AUTOVACUUM: &str = "autovacuum";
const COUNTERS: &str = "counters";
const LOG: &str = "log";
const SESSIONS_AND_LOCKS: &str = "sessions and locks";
const LEVELS: &[&str] = &[
    "debug1", "debug2", "debug3", "debug4", "debug5", "error", "fatal", "info", "log", "notice", "panic", "warning",
];

/// The table.
pub(super) static SETTINGS: &[Rule] = &[
    words("huge_pages", &["off", "on", "try"], "off", MEMORY),
    memory("temp_buffers", (800 * KIB, TIB, PAGE), "8MB", MEMORY),
    number("max_prepared_transactions", (0, 10_000), "0", MEMORY),
    memory("work_mem", (64 * KIB, TIB, KIB), "4MB", MEMORY),
    real("hash_mem_multiplier", (1.0, 1000.0), "2", MEMORY),
    memory("maintenance_work_mem", (MIB, TIB, KIB), "64MB", MEMORY),
    memory("autovacuum_work_mem", (MIB, TIB, KIB), "64MB", MEMORY).or(&["-1"]),
    memory("vacuum_buffer_usage_limit", (128 * KIB, 16 * GIB, KIB), "2MB", MEMORY)
        .or(&["0"])
        .since(16),
    memory("logical_decoding_work_mem", (64 * KIB, TIB, KIB), "64MB", MEMORY),
    memory("min_dynamic_shared_memory", (0, TIB, MIB), "0", MEMORY),
    memory("temp_file_limit", (0, TIB, KIB), "10GB", MEMORY).or(&["-1"]),
    number("max_files_per_process", (64, 1_000_000), "1000", MEMORY),
    memory("multixact_member_buffers", (128 * KIB, GIB, PAGE), "256kB", MEMORY).since(17),
    memory("multixact_offset_buffers", (128 * KIB, GIB, PAGE), "128kB", MEMORY).since(17),
    memory("notify_buffers", (128 * KIB, GIB, PAGE), "128kB", MEMORY).since(17),
    memory("serializable_buffers", (128 * KIB, GIB, PAGE), "256kB", MEMORY).since(17),
    memory("subtransaction_buffers", (0, GIB, PAGE), "1MB", MEMORY).since(17),
    memory("transaction_buffers", (0, GIB, PAGE), "1MB", MEMORY).since(17),
    time("bgwriter_delay", (10 * MS, 10 * SECOND, MS), "200ms", BACKGROUND_WRITER),
    number("bgwriter_lru_maxpages", (0, 1_000_000), "100", BACKGROUND_WRITER),
    real("bgwriter_lru_multiplier", (0.0, 10.0), "2", BACKGROUND_WRITER),
    memory("bgwriter_flush_after", (0, 2 * MIB, PAGE), "512kB", BACKGROUND_WRITER),
    memory("backend_flush_after", (0, 2 * MIB, PAGE), "0", BACKGROUND_WRITER),
    number("effective_io_concurrency", (0, 1000), "200", READS_AND_WRITES),
    number("maintenance_io_concurrency", (0, 1000), "10", READS_AND_WRITES),
    memory(
        "io_combine_limit",
        (8 * KIB, 256 * KIB, PAGE),
        "128kB",
        READS_AND_WRITES,
    )
    .since(17),
    memory("io_max_combine_limit", (8 * KIB, MIB, PAGE), "128kB", READS_AND_WRITES).since(18),
    words("io_method", &["io_uring", "sync", "worker"], "worker", READS_AND_WRITES).since(18),
    number("io_workers", (1, 32), "3", READS_AND_WRITES).since(18),
    number("io_max_concurrency", (1, 1024), "64", READS_AND_WRITES)
        .or(&["-1"])
        .since(18),
    boolean("data_sync_retry", "off", READS_AND_WRITES),
    boolean("synchronize_seqscans", "on", READS_AND_WRITES),
    number("max_worker_processes", (0, 1024), "8", PARALLEL_WORK),
    number("max_parallel_workers", (0, 1024), "8", PARALLEL_WORK),
    number("max_parallel_workers_per_gather", (0, 1024), "2", PARALLEL_WORK),
    number("max_parallel_maintenance_workers", (0, 1024), "2", PARALLEL_WORK),
    boolean("parallel_leader_participation", "on", PARALLEL_WORK),
    words(
        "wal_level",
        &["logical", "minimal", "replica"],
        "replica",
        WRITE_AHEAD_LOG,
    ),
    boolean("fsync", "on", WRITE_AHEAD_LOG),
    words(
        "synchronous_commit",
        &["local", "off", "on", "remote_apply", "remote_write"],
        "off",
        WRITE_AHEAD_LOG,
    ),
    words(
        "wal_sync_method",
        &["fdatasync", "fsync", "open_datasync", "open_sync"],
        "fdatasync",
        WRITE_AHEAD_LOG,
    ),
    boolean("full_page_writes", "on", WRITE_AHEAD_LOG),
    boolean("wal_log_hints", "off", WRITE_AHEAD_LOG),
    words(
        "wal_compression",
        &["lz4", "off", "on", "pglz", "zstd"],
        "on",
        WRITE_AHEAD_LOG,
    ),
    boolean("wal_init_zero", "on", WRITE_AHEAD_LOG),
    boolean("wal_recycle", "on", WRITE_AHEAD_LOG),
    memory("wal_buffers", (32 * KIB, GIB, PAGE), "16MB", WRITE_AHEAD_LOG).or(&["-1"]),
    time("wal_writer_delay", (MS, 10 * SECOND, MS), "200ms", WRITE_AHEAD_LOG),
    memory("wal_writer_flush_after", (0, GIB, PAGE), "1MB", WRITE_AHEAD_LOG),
    memory("wal_skip_threshold", (0, TIB, KIB), "2MB", WRITE_AHEAD_LOG),
    number("commit_delay", (0, 100_000), "0", WRITE_AHEAD_LOG),
    number("commit_siblings", (0, 1000), "5", WRITE_AHEAD_LOG),
    memory("wal_keep_size", (0, TIB, MIB), "0", WRITE_AHEAD_LOG),
    memory(
        "wal_decode_buffer_size",
        (64 * KIB, 512 * MIB, 1),
        "512kB",
        WRITE_AHEAD_LOG,
    ),
    words("recovery_prefetch", &["off", "on", "try"], "try", WRITE_AHEAD_LOG),
    boolean("summarize_wal", "off", WRITE_AHEAD_LOG).since(17),
    number("max_wal_senders", (0, 100), "0", WRITE_AHEAD_LOG),
    number("max_replication_slots", (0, 100), "0", WRITE_AHEAD_LOG),
    time("checkpoint_timeout", (30 * SECOND, DAY, SECOND), "15min", CHECKPOINTS),
    real("checkpoint_completion_target", (0.0, 1.0), "0.9", CHECKPOINTS),
    memory("checkpoint_flush_after", (0, 2 * MIB, PAGE), "256kB", CHECKPOINTS),
    time("checkpoint_warning", (0, DAY, SECOND), "30s", CHECKPOINTS),
    memory("max_wal_size", (32 * MIB, TIB, MIB), "4GB", CHECKPOINTS),
    memory("min_wal_size", (32 * MIB, TIB, MIB), "80MB", CHECKPOINTS),
    boolean("enable_async_append", "on", PLANNER),
    boolean("enable_bitmapscan", "on", PLANNER),
    boolean("enable_gathermerge", "on", PLANNER),
    boolean("enable_hashagg", "on", PLANNER),
    boolean("enable_hashjoin", "on", PLANNER),
    boolean("enable_incremental_sort", "on", PLANNER),
    boolean("enable_indexonlyscan", "on", PLANNER),
    boolean("enable_indexscan", "on", PLANNER),
    boolean("enable_material", "on", PLANNER),
    boolean("enable_memoize", "on", PLANNER),
    boolean("enable_mergejoin", "on", PLANNER),
    boolean("enable_nestloop", "on", PLANNER),
    boolean("enable_parallel_append", "on", PLANNER),
    boolean("enable_parallel_hash", "on", PLANNER),
    boolean("enable_partition_pruning", "on", PLANNER),
    boolean("enable_partitionwise_aggregate", "on", PLANNER),
    boolean("enable_partitionwise_join", "on", PLANNER),
    boolean("enable_seqscan", "on", PLANNER),
    boolean("enable_sort", "on", PLANNER),
    boolean("enable_tidscan", "on", PLANNER),
    boolean("enable_presorted_aggregate", "on", PLANNER).since(16),
    real("seq_page_cost", (0.0, 1e9), "1", PLANNER),
    real("random_page_cost", (0.0, 1e9), "1.1", PLANNER),
    real("cpu_tuple_cost", (0.0, 1e9), "0.01", PLANNER),
    real("cpu_index_tuple_cost", (0.0, 1e9), "0.005", PLANNER),
    real("cpu_operator_cost", (0.0, 1e9), "0.0025", PLANNER),
    real("parallel_setup_cost", (0.0, 1e9), "1000", PLANNER),
    real("parallel_tuple_cost", (0.0, 1e9), "0.1", PLANNER),
    memory("min_parallel_table_scan_size", (0, TIB, PAGE), "8MB", PLANNER),
    memory("min_parallel_index_scan_size", (0, TIB, PAGE), "512kB", PLANNER),
    memory("effective_cache_size", (8 * KIB, TIB, PAGE), "4GB", PLANNER),
    number("default_statistics_target", (1, 10_000), "100", PLANNER),
    number("from_collapse_limit", (1, 1000), "8", PLANNER),
    number("join_collapse_limit", (1, 1000), "8", PLANNER),
    boolean("geqo", "on", PLANNER),
    words(
        "plan_cache_mode",
        &["auto", "force_custom_plan", "force_generic_plan"],
        "auto",
        PLANNER,
    ),
    boolean("jit", "off", PLANNER),
    real("jit_above_cost", (0.0, 1e9), "100000", PLANNER).or(&["-1"]),
    real("jit_inline_above_cost", (0.0, 1e9), "500000", PLANNER).or(&["-1"]),
    real("jit_optimize_above_cost", (0.0, 1e9), "500000", PLANNER).or(&["-1"]),
    boolean("autovacuum", "off", AUTOVACUUM),
    number("autovacuum_max_workers", (1, 1000), "3", AUTOVACUUM),
    number("autovacuum_worker_slots", (1, 1000), "16", AUTOVACUUM).since(18),
    time("autovacuum_naptime", (SECOND, DAY, SECOND), "1min", AUTOVACUUM),
    number("autovacuum_vacuum_threshold", (0, 2_000_000_000), "50", AUTOVACUUM),
    number(
        "autovacuum_vacuum_max_threshold",
        (0, 2_000_000_000),
        "100000000",
        AUTOVACUUM,
    )
    .or(&["-1"])
    .since(18),
    number(
        "autovacuum_vacuum_insert_threshold",
        (0, 2_000_000_000),
        "1000",
        AUTOVACUUM,
    )
    .or(&["-1"]),
    number("autovacuum_analyze_threshold", (0, 2_000_000_000), "50", AUTOVACUUM),
    real("autovacuum_vacuum_scale_factor", (0.0, 100.0), "0.2", AUTOVACUUM),
    real("autovacuum_vacuum_insert_scale_factor", (0.0, 100.0), "0.2", AUTOVACUUM),
    real("autovacuum_analyze_scale_factor", (0.0, 100.0), "0.1", AUTOVACUUM),
    number(
        "autovacuum_freeze_max_age",
        (100_000, 2_000_000_000),
        "200000000",
        AUTOVACUUM,
    ),
    time("autovacuum_vacuum_cost_delay", (0, 100 * MS, MS), "2ms", AUTOVACUUM).or(&["-1"]),
    number("autovacuum_vacuum_cost_limit", (1, 10_000), "200", AUTOVACUUM).or(&["-1"]),
    time("vacuum_cost_delay", (0, 100 * MS, MS), "0", AUTOVACUUM),
    number("vacuum_cost_limit", (1, 10_000), "200", AUTOVACUUM),
    number("vacuum_cost_page_hit", (0, 10_000), "1", AUTOVACUUM),
    number("vacuum_cost_page_miss", (0, 10_000), "2", AUTOVACUUM),
    number("vacuum_cost_page_dirty", (0, 10_000), "20", AUTOVACUUM),
    number("vacuum_freeze_min_age", (0, 1_000_000_000), "50000000", AUTOVACUUM),
    number("vacuum_freeze_table_age", (0, 2_000_000_000), "150000000", AUTOVACUUM),
    number("vacuum_failsafe_age", (0, 2_100_000_000), "1600000000", AUTOVACUUM),
    boolean("vacuum_truncate", "on", AUTOVACUUM).since(18),
    boolean("track_activities", "on", COUNTERS),
    boolean("track_counts", "on", COUNTERS),
    boolean("track_io_timing", "on", COUNTERS),
    boolean("track_wal_io_timing", "on", COUNTERS),
    boolean("track_cost_delay_timing", "on", COUNTERS).since(18),
    words("track_functions", &["all", "none", "pl"], "none", COUNTERS),
    words("compute_query_id", &["auto", "off", "on", "regress"], "auto", COUNTERS),
    boolean("update_process_title", "off", COUNTERS),
    words("log_min_messages", LEVELS, "warning", LOG),
    words("log_min_error_statement", LEVELS, "error", LOG),
    time("log_min_duration_statement", (0, DAY, MS), "1s", LOG).or(&["-1"]),
    boolean("log_checkpoints", "on", LOG),
    time("log_autovacuum_min_duration", (0, DAY, MS), "1s", LOG).or(&["-1"]),
    boolean("log_lock_waits", "on", LOG),
    memory("log_temp_files", (0, GIB, KIB), "1MB", LOG).or(&["-1"]),
    boolean("log_disconnections", "off", LOG),
    boolean("log_duration", "off", LOG),
    words("log_statement", &["all", "ddl", "mod", "none"], "none", LOG),
    words("log_error_verbosity", &["default", "terse", "verbose"], "default", LOG),
    number("max_connections", (1, 10_000), "200", SESSIONS_AND_LOCKS),
    number("superuser_reserved_connections", (0, 100), "3", SESSIONS_AND_LOCKS),
    time("deadlock_timeout", (MS, HOUR, MS), "1s", SESSIONS_AND_LOCKS),
    number("max_locks_per_transaction", (10, 100_000), "64", SESSIONS_AND_LOCKS),
    number(
        "max_pred_locks_per_transaction",
        (10, 100_000),
        "64",
        SESSIONS_AND_LOCKS,
    ),
    time("statement_timeout", (0, DAY, MS), "0", SESSIONS_AND_LOCKS),
    time("lock_timeout", (0, DAY, MS), "0", SESSIONS_AND_LOCKS),
    time("transaction_timeout", (0, DAY, MS), "0", SESSIONS_AND_LOCKS).since(17),
    memory(
        "gin_pending_list_limit",
        (64 * KIB, GIB, KIB),
        "4MB",
        SESSIONS_AND_LOCKS,
    ),
    words("default_toast_compression", &["lz4", "pglz"], "lz4", SESSIONS_AND_LOCKS),
];
