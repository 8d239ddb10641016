//! The schema of the result file, as SQL, with its version.
//!
//! `PRAGMA application_id` says that a file is Assay's, `PRAGMA user_version` in which schema. Each change of a table
//! raises [`SCHEMA_VERSION`](crate::SCHEMA_VERSION), and puts the new checksum beside it. Prevents: a file of another
//! schema that is read as one of ours.
//!
//! Names of columns end with their unit. Seeds are decimal text, for SQLite's integers have one bit too few.

/// All tables and views.
pub(crate) const SCHEMA: [&str; 6] = [OF_THE_STUDY, IMPORTED, FILE_LAYOUT, OF_DATABASES, FILE_SERVING, SEAL];

/// What every study has.
const OF_THE_STUDY: &str = "
CREATE TABLE study (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    name TEXT NOT NULL, question TEXT NOT NULL, text TEXT NOT NULL, seed TEXT NOT NULL, margin REAL NOT NULL,
    time_limit_ns INTEGER NOT NULL, blocks_planned INTEGER NOT NULL, comparisons INTEGER NOT NULL,
    alpha REAL NOT NULL, alpha_reserved REAL NOT NULL, io_method TEXT NOT NULL, published TEXT,
    tool_version TEXT NOT NULL, run_id TEXT NOT NULL,
    created_unix_ns INTEGER NOT NULL, modelled INTEGER NOT NULL,
    ended_unix_ns INTEGER, ended_reason TEXT);
CREATE TABLE extension (
    number INTEGER PRIMARY KEY, blocks INTEGER NOT NULL, after_block INTEGER NOT NULL,
    began_unix_ns INTEGER NOT NULL);
CREATE TABLE host (
    rank INTEGER PRIMARY KEY, host TEXT NOT NULL, kernel TEXT NOT NULL, cores INTEGER NOT NULL,
    usable INTEGER NOT NULL, binary TEXT NOT NULL);
CREATE TABLE setting (key TEXT PRIMARY KEY, value TEXT NOT NULL, written INTEGER NOT NULL);
CREATE TABLE fact_meaning (name TEXT PRIMARY KEY, unit TEXT NOT NULL, type TEXT NOT NULL, meaning TEXT NOT NULL);
CREATE TABLE fact (
    scope TEXT NOT NULL, subject TEXT NOT NULL, number INTEGER, name TEXT NOT NULL REFERENCES fact_meaning(name),
    role TEXT, which TEXT, value TEXT NOT NULL);
CREATE TABLE stack (
    ordinal INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, layers TEXT NOT NULL,
    database TEXT, data_lun_set TEXT, redo_lun_set TEXT, access TEXT NOT NULL,
    injected TEXT, skipped_reason TEXT, skipped_cure TEXT);
CREATE TABLE trial (
    id INTEGER PRIMARY KEY, block INTEGER NOT NULL, position INTEGER NOT NULL,
    stack TEXT NOT NULL REFERENCES stack(name), seed TEXT NOT NULL,
    host TEXT NOT NULL, instance TEXT NOT NULL, lun_set TEXT NOT NULL,
    began_unix_ns INTEGER NOT NULL, ended_unix_ns INTEGER,
    status TEXT NOT NULL CHECK (status IN ('running', 'done', 'failed', 'interrupted')), reason TEXT);
CREATE TABLE phase (
    id INTEGER PRIMARY KEY, trial INTEGER NOT NULL REFERENCES trial(id), ordinal INTEGER NOT NULL,
    name TEXT NOT NULL, kind TEXT NOT NULL, ranked INTEGER NOT NULL,
    began_unix_ns INTEGER NOT NULL, elapsed_ns INTEGER NOT NULL, drain_ns INTEGER NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('valid', 'invalid', 'failed')), reason TEXT,
    UNIQUE (trial, name));
CREATE TABLE measure_meaning (name TEXT PRIMARY KEY, unit TEXT NOT NULL, meaning TEXT NOT NULL);
CREATE TABLE measure (
    phase INTEGER NOT NULL REFERENCES phase(id), name TEXT NOT NULL REFERENCES measure_meaning(name),
    value REAL NOT NULL, PRIMARY KEY (phase, name)) WITHOUT ROWID;
CREATE TABLE histogram (
    phase INTEGER NOT NULL REFERENCES phase(id), class TEXT NOT NULL,
    stamp TEXT NOT NULL CHECK (stamp IN ('service', 'response')),
    blob BLOB NOT NULL, count INTEGER NOT NULL, units INTEGER NOT NULL, PRIMARY KEY (phase, class, stamp));
CREATE TABLE slice (
    phase INTEGER NOT NULL REFERENCES phase(id), at_ns INTEGER NOT NULL, count INTEGER NOT NULL,
    units INTEGER NOT NULL);
CREATE INDEX slice_by_phase ON slice (phase, at_ns);
CREATE TABLE sample (
    phase INTEGER NOT NULL REFERENCES phase(id), at_ns INTEGER NOT NULL, name TEXT NOT NULL, value REAL NOT NULL);
CREATE INDEX sample_by_phase ON sample (phase, name, at_ns);
CREATE TABLE event (
    id INTEGER PRIMARY KEY, at_unix_ns INTEGER NOT NULL, trial INTEGER REFERENCES trial(id),
    phase INTEGER REFERENCES phase(id), severity TEXT NOT NULL CHECK (severity IN ('info', 'warning', 'error')),
    text TEXT NOT NULL);
CREATE TABLE look (
    id INTEGER PRIMARY KEY, after_block INTEGER NOT NULL, stack TEXT NOT NULL, base TEXT NOT NULL,
    phase TEXT NOT NULL, n INTEGER NOT NULL, ratio REAL NOT NULL, low REAL NOT NULL, high REAL NOT NULL,
    verdict TEXT NOT NULL, alpha REAL NOT NULL);
CREATE TABLE user_scan (
    phase INTEGER NOT NULL REFERENCES phase(id), schema INTEGER NOT NULL, bytes INTEGER NOT NULL,
    began_ns INTEGER NOT NULL, ended_ns INTEGER NOT NULL);
CREATE INDEX user_scan_by_phase ON user_scan (phase);
CREATE TABLE instance_run (
    phase INTEGER NOT NULL REFERENCES phase(id), instance INTEGER NOT NULL, sessions INTEGER NOT NULL,
    operations INTEGER NOT NULL, units INTEGER NOT NULL, began_ns INTEGER NOT NULL, elapsed_ns INTEGER NOT NULL,
    service_ns_p99 INTEGER NOT NULL, logical_reads INTEGER NOT NULL, cache_hits INTEGER NOT NULL,
    commits INTEGER NOT NULL, redo_bytes INTEGER NOT NULL, cpu_ns INTEGER NOT NULL,
    memory_bytes_peak INTEGER NOT NULL, PRIMARY KEY (phase, instance)) WITHOUT ROWID;
CREATE TABLE extent_summary (
    trial INTEGER NOT NULL REFERENCES trial(id), phase INTEGER REFERENCES phase(id), file TEXT NOT NULL,
    extents INTEGER NOT NULL, bytes INTEGER NOT NULL);
CREATE VIEW phase_full AS
    SELECT phase.id AS id, trial.id AS trial, trial.block AS block, trial.position AS position,
        trial.host AS host, trial.instance AS instance, trial.lun_set AS lun_set,
        stack.name AS stack, stack.kind AS stack_kind, stack.layers AS layers, stack.database AS database,
        trial.status AS trial_status, phase.ordinal AS ordinal, phase.name AS phase, phase.kind AS phase_kind,
        phase.ranked AS ranked, phase.began_unix_ns AS began_unix_ns, phase.elapsed_ns AS elapsed_ns,
        phase.drain_ns AS drain_ns, phase.elapsed_ns + phase.drain_ns AS total_ns,
        phase.status AS status, phase.reason AS reason
    FROM phase JOIN trial ON trial.id = phase.trial JOIN stack ON stack.name = trial.stack;
CREATE VIEW measure_full AS
    SELECT phase_full.stack AS stack, phase_full.phase AS phase, phase_full.block AS block,
        phase_full.host AS host, phase_full.instance AS instance, phase_full.lun_set AS lun_set,
        measure.name AS name, measure.value AS value, measure_meaning.unit AS unit
    FROM measure JOIN phase_full ON phase_full.id = measure.phase
        JOIN measure_meaning ON measure_meaning.name = measure.name;
";

/// Figures that another tool measured elsewhere.
const IMPORTED: &str = "
CREATE TABLE import (
    id INTEGER PRIMARY KEY, at_unix_ns INTEGER NOT NULL, stack TEXT NOT NULL, phase TEXT NOT NULL,
    file TEXT NOT NULL, sha256 TEXT NOT NULL, bytes INTEGER NOT NULL, format TEXT NOT NULL, layout TEXT NOT NULL);
CREATE TABLE imported_fact (
    import INTEGER NOT NULL REFERENCES import(id), name TEXT NOT NULL, value TEXT NOT NULL, line INTEGER NOT NULL);
CREATE TABLE imported_figure (
    import INTEGER NOT NULL REFERENCES import(id), report TEXT NOT NULL, name TEXT NOT NULL, value REAL NOT NULL,
    text TEXT NOT NULL, unit TEXT NOT NULL, line INTEGER NOT NULL, quantity TEXT, comparable REAL);
CREATE INDEX imported_figure_by_import ON imported_figure (import);
CREATE TABLE import_note (
    import INTEGER NOT NULL REFERENCES import(id), line INTEGER NOT NULL, text TEXT NOT NULL);
";

/// How data files lie on what is below them.
const FILE_LAYOUT: &str = "
CREATE TABLE file_layout (
    trial INTEGER NOT NULL REFERENCES trial(id), phase INTEGER REFERENCES phase(id), on_stack TEXT, file TEXT NOT NULL,
    bytes INTEGER NOT NULL, extents INTEGER NOT NULL, runs INTEGER NOT NULL, page_bytes INTEGER NOT NULL,
    pairs INTEGER NOT NULL, pairs_apart INTEGER NOT NULL, pairs_striped INTEGER NOT NULL, read_bytes INTEGER NOT NULL,
    reads INTEGER NOT NULL, pieces INTEGER NOT NULL, estimated INTEGER NOT NULL, devices INTEGER NOT NULL,
    span_bytes INTEGER NOT NULL, places BLOB NOT NULL, adjacent BLOB NOT NULL);
";

/// What a real database did.
const OF_DATABASES: &str = "
CREATE TABLE database_used (
    id INTEGER PRIMARY KEY, trial INTEGER NOT NULL REFERENCES trial(id), phase INTEGER REFERENCES phase(id),
    engine TEXT NOT NULL, version TEXT NOT NULL, access TEXT NOT NULL, managed INTEGER NOT NULL);
CREATE TABLE database_setting (
    database_used INTEGER NOT NULL REFERENCES database_used(id), name TEXT NOT NULL, value TEXT NOT NULL,
    source TEXT NOT NULL, PRIMARY KEY (database_used, name)) WITHOUT ROWID;
CREATE TABLE order_entry (
    phase INTEGER PRIMARY KEY REFERENCES phase(id), users INTEGER NOT NULL, warehouses INTEGER NOT NULL,
    items INTEGER NOT NULL, customers INTEGER NOT NULL, isolation TEXT NOT NULL, arrival TEXT NOT NULL,
    pauses INTEGER NOT NULL, home TEXT NOT NULL, storage_told_by TEXT);
CREATE TABLE order_transaction (
    phase INTEGER NOT NULL REFERENCES order_entry(phase), class TEXT NOT NULL, serialisation_failures INTEGER NOT NULL,
    deadlocks INTEGER NOT NULL, limit_ns INTEGER NOT NULL, PRIMARY KEY (phase, class));
CREATE TABLE order_condition (
    phase INTEGER NOT NULL REFERENCES order_entry(phase), moment TEXT NOT NULL, condition INTEGER NOT NULL,
    says TEXT NOT NULL, found INTEGER NOT NULL, PRIMARY KEY (phase, moment, condition));
CREATE TABLE order_wait (
    phase INTEGER NOT NULL REFERENCES order_entry(phase), what TEXT NOT NULL, blob BLOB NOT NULL, \
    count INTEGER NOT NULL,
    total_ns INTEGER NOT NULL, PRIMARY KEY (phase, what));
CREATE TABLE load_step (
    phase INTEGER NOT NULL REFERENCES order_entry(phase), step INTEGER NOT NULL, users INTEGER NOT NULL,
    began_ns INTEGER NOT NULL, ended_ns INTEGER NOT NULL, PRIMARY KEY (phase, step));
CREATE TABLE decision_support (
    phase INTEGER PRIMARY KEY REFERENCES phase(id), scale REAL NOT NULL, users INTEGER NOT NULL, text TEXT NOT NULL,
    limit_ns INTEGER NOT NULL, past_limit INTEGER);
CREATE TABLE answer (
    phase INTEGER NOT NULL REFERENCES decision_support(phase), user INTEGER NOT NULL, question INTEGER NOT NULL,
    variant INTEGER NOT NULL, users INTEGER NOT NULL, began_ns INTEGER NOT NULL, elapsed_ns INTEGER NOT NULL,
    rows INTEGER NOT NULL, digest TEXT NOT NULL, temp_bytes INTEGER);
CREATE INDEX answer_by_phase ON answer (phase);
CREATE TABLE refresh (
    phase INTEGER NOT NULL REFERENCES decision_support(phase), orders INTEGER NOT NULL, lines INTEGER NOT NULL,
    insert_ns INTEGER NOT NULL, delete_ns INTEGER NOT NULL);
CREATE INDEX refresh_by_phase ON refresh (phase);
CREATE TABLE bulk_load (
    phase INTEGER NOT NULL REFERENCES phase(id), step INTEGER NOT NULL, rows INTEGER NOT NULL,
    elapsed_ns INTEGER NOT NULL, settle_ns INTEGER NOT NULL, PRIMARY KEY (phase, step));
CREATE TABLE bulk_space (
    phase INTEGER NOT NULL, step INTEGER NOT NULL, kind TEXT NOT NULL CHECK (kind IN ('table', 'index', 'other')),
    name TEXT NOT NULL, bytes INTEGER NOT NULL, PRIMARY KEY (phase, step, kind, name),
    FOREIGN KEY (phase, step) REFERENCES bulk_load(phase, step));
CREATE TABLE bulk_growth (
    phase INTEGER NOT NULL, step INTEGER NOT NULL, rows INTEGER NOT NULL, at_ns INTEGER NOT NULL, \
    bytes INTEGER NOT NULL,
    FOREIGN KEY (phase, step) REFERENCES bulk_load(phase, step));
CREATE INDEX bulk_growth_by_load ON bulk_growth (phase, step);
CREATE TABLE step_histogram (
    phase INTEGER NOT NULL REFERENCES phase(id), step INTEGER NOT NULL, class TEXT NOT NULL,
    stamp TEXT NOT NULL CHECK (stamp IN ('service', 'response')), blob BLOB NOT NULL, count INTEGER NOT NULL,
    units INTEGER NOT NULL, PRIMARY KEY (phase, step, class, stamp));
";

/// What file serving did.
const FILE_SERVING: &str = "
CREATE TABLE file_serving (
    phase INTEGER PRIMARY KEY REFERENCES phase(id), protocol TEXT NOT NULL, server TEXT, work TEXT NOT NULL,
    arrival TEXT NOT NULL, sessions INTEGER NOT NULL, connections INTEGER, transfer_bytes INTEGER NOT NULL,
    warm_up_ns INTEGER NOT NULL, limit_ns INTEGER, limit_of TEXT NOT NULL, reached_share REAL NOT NULL);
CREATE TABLE load_point (
    phase INTEGER NOT NULL REFERENCES file_serving(phase), step INTEGER NOT NULL, asked_per_s REAL NOT NULL,
    began_ns INTEGER NOT NULL, ended_ns INTEGER NOT NULL, in_time INTEGER NOT NULL, unsent INTEGER NOT NULL,
    data_bytes INTEGER NOT NULL, files INTEGER NOT NULL, PRIMARY KEY (phase, step));
CREATE TABLE load_point_measure (
    phase INTEGER NOT NULL, step INTEGER NOT NULL, name TEXT NOT NULL REFERENCES measure_meaning(name),
    value REAL NOT NULL, PRIMARY KEY (phase, step, name),
    FOREIGN KEY (phase, step) REFERENCES load_point(phase, step)) WITHOUT ROWID;
";

/// Checksums of the tables of a finished study.
const SEAL: &str = "
CREATE TABLE seal (table_name TEXT PRIMARY KEY, rows INTEGER NOT NULL, sha256 TEXT NOT NULL) WITHOUT ROWID;
";
