//! The analysis as JSON, with a schema that is kept in the repository (`docs/report.schema.json`).
//!
//! Takes an [`Analysis`], gives a value. A change that a reader could stumble over raises [`SCHEMA_VERSION`]. Prevents:
//! scripts that break silently because a field was renamed.

use crate::analysis::Analysis;
use schemars::JsonSchema;
use serde::Serialize;

/// Version of the JSON form, in its field `schema`.
pub const SCHEMA_VERSION: u32 = 1;

/// An assay report.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "Assay report", deny_unknown_fields)]
struct Document<'a> {
    /// Version of this form.
    schema: u32,
    /// What the result file says.
    report: &'a Analysis,
}

/// The report as JSON. Figures that were not observed are `null`; ratios are oriented so that above 1 is better.
pub fn json(analysis: &Analysis) -> serde_json::Value {
    let document = Document {
        schema: SCHEMA_VERSION,
        report: analysis,
    };
    serde_json::to_value(&document).expect("plain structs with text keys always become JSON")
}

/// The JSON schema of [`json`]'s form.
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(Document<'_>).to_value()
}
