//! Any bytes as every format: takes what the fuzzer makes, gives nothing. Prevents: a panic, a hang or an allocation
//! without bound on a stranger's file.

#![no_main]

use import::{Format, Options, read};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    for format in Format::ALL.into_iter().map(Some).chain([None]) {
        let options = Options {
            format,
            ..Options::default()
        };
        if let Ok(found) = read(&text, &options) {
            let figures = found.reports.iter().flat_map(|report| &report.figures);
            assert!(figures.into_iter().all(|figure| figure.value.is_finite()));
        }
    }
});
