//! Every reader against a bounded number of hostile inputs: none panics, takes a second, takes 256 MiB, or prints what
//! a terminal would act on.
#![allow(clippy::unwrap_used, reason = "a test")]

use hostile::{READERS, Run, supervise};
use std::path::Path;
use std::time::Duration;

/// Seed of the inputs that are tried each time.
const SEED: u64 = 2026;

/// By the number of inputs, never by time: a busy machine tries as many.
fn inputs(usual: u64) -> u64 {
    match std::env::var("ASSAY_TEST_SIZE").is_ok_and(|size| size == "full") {
        true => usual * 5,
        false => usual,
    }
}

#[test]
fn no_input_stops_a_reader() {
    let program = Path::new(env!("CARGO_BIN_EXE_hostile"));
    let kept = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let mut wrong = Vec::new();
    for reader in READERS {
        let run = Run {
            reader: reader.name.into(),
            seed: SEED,
            from: 0,
            to: inputs(reader.usual),
            // A net under a machine that stands still.
            wall: Duration::from_secs(24 * 3600),
            progress: None,
        };
        let report = supervise(program, &run, kept).unwrap();
        println!("{}: {report:?}", reader.name);
        for (number, why) in &report.failed {
            wrong.push(format!(
                "{}, input {number}: {why}\n  cargo run -p hostile -- --reader '{}' --seed {SEED} --replay {number}",
                reader.name, reader.name
            ));
        }
        // Inputs that are all refused at the door, or all let in, try nothing.
        assert_eq!(report.tried, run.to, "{}", reader.name);
        assert!(report.accepted > 0, "{}: nothing was accepted", reader.name);
        assert!(report.accepted < report.tried, "{}: nothing was refused", reader.name);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
