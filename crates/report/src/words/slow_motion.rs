//! What is said of models that run slower than their devices, in the same words for terminal, report and progress.
//!
//! Prevents: a rate of a slowed model read as one of its device.

/// Models that run so many times slower.
pub fn slow_motion(times: u32) -> String {
    let share = match times {
        2 => "half".to_string(),
        5 => "a fifth".to_string(),
        10 => "a tenth".to_string(),
        20 => "a twentieth".to_string(),
        _ => format!("1/{times}"),
    };
    format!(
        "the models run {times} times slower than their devices: rates are {share} of the device's, times are {times} \
         times as long"
    )
}
