//! Phases of kind `scan`.
//!
//! Takes a phase as written; gives [`Scan`]. Prevents: a scan of schemas that are not there.

use super::asked::Asked;
use super::numbers::one_of;
use crate::meaning::settle::Settle;
use crate::study::Scan;
use crate::written::{Limits, WrittenPhase, case};

/// Schemas that a scan may go over.
const SCAN_USERS_MAX: u64 = 65_536;

pub(super) fn phase(phase: &WrittenPhase, schemas: u64, settle: &mut Settle<'_>) -> Asked {
    Asked::of(scan(phase, schemas, settle))
}

fn scan(phase: &WrittenPhase, schemas: u64, settle: &mut Settle<'_>) -> Scan {
    let home = &phase.span;
    let said = one_of(&phase.users(), settle);
    let said = said.and_then(|at| settle.within("users", &at, &Limits::from(1..=SCAN_USERS_MAX)));
    let users = said.unwrap_or(schemas.clamp(1, case::SCAN_USERS) as u32);
    let parallel = settle.count(&phase.parallel());
    if u64::from(users) > schemas {
        let span = phase.users.as_ref().map_or(home, |at| &at.span);
        let message = format!("{users} users cannot be scanned: there are {schemas} schemas");
        settle.findings.add(
            span,
            message,
            format!("write users = {schemas} or less, or raise `schemas` in [database]"),
        );
    }
    if parallel > users {
        let span = phase.parallel.as_ref().map_or(home, |at| &at.span);
        let message = format!("{parallel} scans at the same time, of {users} users");
        settle.findings.add(
            span,
            message,
            format!("write parallel = {users} or less, or raise `users`"),
        );
    }
    Scan {
        users,
        degree: settle.count(&phase.degree()),
        parallel,
    }
}
