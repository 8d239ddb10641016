//! Tables of file serving: filling and reading them.
//!
//! A phase's rows come with its record, in its transaction. Prevents: half of a ramp.

use crate::error::LedgerError;
use crate::file::Ledger;
use crate::insert::{insert, insert_all};
use crate::rows::columns::columns;
use crate::rows::{FileServing, LoadPoint, OfPhase, OfStep, PhaseId, PointMeasure};
use rusqlite::Connection;
use std::collections::BTreeMap;

impl Ledger {
    /// File serving of all phases, in the order of the phases.
    ///
    /// # Errors
    /// [`LedgerError`], as every act of reading.
    pub fn file_servings(&self) -> Result<Vec<OfPhase<FileServing>>, LedgerError> {
        let mut measures = self.grouped::<OfStep, PointMeasure>("load_point_measure", "phase, step, name")?;
        let found = self.table::<OfStep, LoadPoint>("load_point", "phase, step")?;
        let mut histograms = match found.is_empty() {
            true => BTreeMap::new(),
            false => self.step_histograms()?,
        };
        let mut points: BTreeMap<PhaseId, Vec<LoadPoint>> = BTreeMap::new();
        for (of, point) in found {
            points.entry(of.phase).or_default().push(LoadPoint {
                measures: measures.remove(&of).unwrap_or_default(),
                histograms: histograms.remove(&of).unwrap_or_default(),
                ..point
            });
        }
        let rows = self.table::<PhaseId, FileServing>("file_serving", "phase")?;
        let row = |(phase, serving)| OfPhase {
            phase,
            row: FileServing {
                points: points.remove(&phase).unwrap_or_default(),
                ..serving
            },
        };
        Ok(rows.into_iter().map(row).collect())
    }
}

columns!(FileServing: protocol, server, work, arrival, sessions, connections, transfer_bytes, warm_up_ns, limit_ns,
    limit_of, reached_share; points);
columns!(LoadPoint: asked_per_s, began_ns, ended_ns, in_time, unsent, data_bytes, files; measures, histograms);
columns!(PointMeasure: name, value);

pub(crate) fn insert_serving(connection: &Connection, phase: PhaseId, serving: &FileServing) -> rusqlite::Result<()> {
    insert(connection, "file_serving", &phase, serving)?;
    for (step, point) in (0..).zip(&serving.points) {
        let of = OfStep { phase, step };
        insert(connection, "load_point", &of, point)?;
        insert_all(connection, "load_point_measure", &of, &point.measures)?;
        insert_all(connection, "step_histogram", &of, &point.histograms)?;
    }
    Ok(())
}
