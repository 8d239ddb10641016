//! Bulk loads: time, rate and space at each row count, the growth of the files, and ratios between stacks per row
//! count.
//!
//! Takes the runs of one stack in one phase, gives a [`BulkFigures`] per row count; over all stacks the ratios, as in
//! the comparison that loaded in decades. Prevents: one total in which the largest load hides all others, and a size
//! without what it is the size of.

use crate::figures::{Figure, over, quantiles};
use crate::grouped::distinct;
use crate::history::Seen;
use ledger::{BulkLoadRow, LedgerError, Stamp};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;

/// What one thing in the database takes.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SpaceFigure {
    /// "table", "index" or "other".
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Bytes.
    pub bytes: Option<Figure>,
}

/// The size of the files after so many rows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct GrowthPoint {
    /// Rows committed.
    pub rows: u64,
    /// Seconds since the load began.
    pub at_s: f64,
    /// Bytes of all files of the database.
    pub bytes: u64,
}

/// One row count on one stack.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct BulkFigures {
    /// Rows.
    pub rows: u64,
    /// Seconds from the first insert until everything was home.
    pub seconds: Option<Figure>,
    /// Of them, bringing everything home after the last commit.
    pub settle_seconds: Option<Figure>,
    /// Rows a second, over all of it.
    pub rows_per_s: Option<Figure>,
    /// Service of a commit: half were faster, in nanoseconds.
    pub commit_ns_p50: Option<Figure>,
    /// 99 % were faster.
    pub commit_ns_p99: Option<Figure>,
    /// Space by table and index.
    pub space: Vec<SpaceFigure>,
    /// Bytes of all files at the end.
    pub file_bytes: Option<Figure>,
    /// Looks at the files that found them larger than the look before; a load has at most 1,000 looks, one a commit
    /// or fewer.
    pub growth_steps: Option<Figure>,
    /// Growth in one block, thinned to at most 256 points.
    pub growth: Vec<GrowthPoint>,
}

/// Points of growth that are kept for a picture.
const POINTS_MAX: usize = 256;

/// Row counts of one stack in one phase, smallest first.
pub(crate) fn bulk(runs: &[&Seen]) -> Result<Vec<BulkFigures>, LedgerError> {
    let counts: BTreeSet<u64> = runs.iter().flat_map(|run| &run.bulk).map(|load| load.rows).collect();
    counts.into_iter().map(|rows| figures(rows, runs)).collect()
}

pub(crate) fn of_rows(run: &Seen, rows: u64) -> Option<&BulkLoadRow> {
    run.bulk.iter().find(|load| load.rows == rows)
}

pub(crate) fn seconds(load: &BulkLoadRow) -> f64 {
    load.elapsed_ns as f64 / 1e9
}

fn figures(rows: u64, runs: &[&Seen]) -> Result<BulkFigures, LedgerError> {
    let loads: Vec<&BulkLoadRow> = runs.iter().filter_map(|run| of_rows(run, rows)).collect();
    let figure = |value: &dyn Fn(&BulkLoadRow) -> Option<f64>| Figure::of(loads.iter().map(|load| value(load)));
    let space = loads.iter().flat_map(|load| &load.space);
    let names = distinct(space.map(|one| (one.kind.clone(), one.name.clone())));
    let space = names.into_iter().map(|(kind, name)| SpaceFigure {
        bytes: figure(&|load| {
            let mut all = load.space.iter();
            all.find(|one| one.kind == kind && one.name == name)
                .map(|one| one.bytes as f64)
        }),
        kind,
        name,
    });
    let space = space.collect();
    let commits = loads.iter().flat_map(|load| &load.histograms);
    let commits = commits.filter(|row| row.stamp == Stamp::Service).map(|row| &row.blob);
    let [p50, p99] = quantiles(commits, [0.5, 0.99])?.map(Figure::of_all);
    Ok(BulkFigures {
        rows,
        seconds: figure(&|load| Some(seconds(load))),
        settle_seconds: figure(&|load| Some(load.settle_ns as f64 / 1e9)),
        rows_per_s: figure(&|load| over(Some(load.rows as f64), Some(seconds(load)))),
        commit_ns_p50: p50,
        commit_ns_p99: p99,
        space,
        file_bytes: figure(&|load| load.growth.last().map(|last| last.bytes as f64)),
        growth_steps: figure(&grew),
        growth: loads.first().map(|load| thinned(load)).unwrap_or_default(),
    })
}

/// The first look finds them grown from nothing; bringing home makes them smaller where a log goes.
fn grew(load: &BulkLoadRow) -> Option<f64> {
    let larger = load.growth.windows(2).filter(|two| two[1].bytes > two[0].bytes);
    (!load.growth.is_empty()).then(|| 1.0 + larger.count() as f64)
}

/// The first of evenly spread points, and the last.
fn thinned(load: &BulkLoadRow) -> Vec<GrowthPoint> {
    let count = load.growth.len();
    let every = count.div_ceil(POINTS_MAX - 1).max(1);
    let kept = load.growth.iter().enumerate();
    kept.filter(|(nth, _)| nth % every == 0 || nth + 1 == count)
        .map(|(_, one)| GrowthPoint {
            rows: one.rows,
            at_s: one.at_ns as f64 / 1e9,
            bytes: one.bytes,
        })
        .collect()
}
