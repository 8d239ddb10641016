//! Room `stats`: arithmetic, and nothing else. No files, no clock, no seed of its own.
//!
//! Takes numbers that were measured, gives verdicts with their doubt: [`decide`] is the one procedure by which `run`,
//! `report` and the calibration come to the same answer, [`simulate`] says how often that answer is wrong.
//!
//! Prevents: a verdict from looking often enough, and two parts of the program that judge differently.

mod apart;
mod company;
mod contrast;
mod decide;
mod design;
mod detectable;
mod normal;
mod own_blocks;
mod populations;
mod saturation;
mod simulate;
mod steady;
mod student;
mod summary;

pub use apart::{DecidedApart, LookApart, decide_apart};
pub use company::{Span, two_populations_in_company};
pub use contrast::{Phases, contrast};
pub use decide::{Decision, Estimate, GoOn, History, Judged, Look, Procedure, Reason, Verdict, decide};
pub use design::{Design, EXTENSIONS_MAX, LookRule};
pub use detectable::{detectable, detectable_at};
pub use normal::{normal_quantile, normal_upper_tail};
pub use own_blocks::{BlockRatios, Doubt, Hidden, OwnBlocks, own_blocks};
pub use populations::{Group, Split, two_populations};
pub use saturation::{LoadStep, Saturation, saturation};
pub use simulate::{
    About, Calibration, Neighbours, Noise, Rate, Rule, Scenario, SimulationResult, Tally, TwinBlocks,
    calibrate_procedure, normals, simulate, unseen_share,
};
pub use steady::{Steady, WINDOW as STEADY_WINDOW, steady};
pub use student::{t_cdf, t_quantile, t_upper_quantile, t_upper_tail};
pub use summary::{
    Interval, Orientation, difference, geometric_mean, interval, log_ratio, mean, median, prediction_interval,
    ratio_interval, ratio_of_ratios, ratio_prediction_interval, sd,
};
