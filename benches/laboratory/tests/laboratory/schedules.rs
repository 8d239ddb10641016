//! Which schedule tells most: a table of 80 columns, and nothing left.

use super::bench::{Bench, is_full};

/// It takes minutes where the disk is slow.
#[test]
fn schedules_are_measured_where_one_says() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("here")).expect("made");
    let refused = bench.ask(&["schedules", "here", "--minutes", "0"]);
    refused.failed_with(2, &["--minutes"]);
    if !is_full() {
        return;
    }
    let ran = bench.told(&["schedules", "here", "--minutes", "0.1"]);
    assert!(ran.stdout.contains("variance / whole's") && ran.is_narrow(), "{ran}");
    assert_eq!(std::fs::read_dir(bench.path("here")).expect("listed").count(), 0);
}
