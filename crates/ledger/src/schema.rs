//! The schema of the result file, as SQL, with its version.
//!
//! `PRAGMA application_id` says that a file is Assay's, `PRAGMA user_version` in which schema. A change that an older
//! reader would misread raises [`SCHEMA_VERSION`]. Prevents: a file of another schema that is read as one of ours.
//!
//! Names of columns end with their unit. Seeds are decimal text, for SQLite's integers have one bit too few.

/// "ASSY" in the SQLite header.
pub const APPLICATION_ID: i64 = 0x4153_5359;

/// Version of the schema. Versions 1 to 5 were of the time before the first release: no file of them is read.
pub const SCHEMA_VERSION: i64 = 6;

/// All tables and views.
pub(crate) const SCHEMA: [&str; 5] = [
    OF_THE_STUDY,
    crate::imported::TABLES,
    crate::file_layout::TABLE,
    crate::sql_tables::TABLES,
    crate::seal::TABLE,
];

/// What every study has.
const OF_THE_STUDY: &str = "
CREATE TABLE study (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    name TEXT NOT NULL, question TEXT NOT NULL, text TEXT NOT NULL, seed TEXT NOT NULL, margin REAL NOT NULL,
    time_limit_ns INTEGER NOT NULL, blocks_planned INTEGER NOT NULL, comparisons INTEGER NOT NULL,
    alpha REAL NOT NULL, io_method TEXT NOT NULL, published TEXT, tool_version TEXT NOT NULL, run_id TEXT NOT NULL,
    created_unix_ns INTEGER NOT NULL, modelled INTEGER NOT NULL,
    ended_unix_ns INTEGER, ended_reason TEXT);
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
