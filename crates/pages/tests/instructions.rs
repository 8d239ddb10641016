//! What an operation costs in user instructions, held by bounds: null-target read, cached read, physical read, update,
//! scan.
//!
//! The example `counted`, built as a release is, runs under Valgrind twice; the difference of both lengths leaves
//! set-up out. Instructions, never time: they repeat to a fraction of a per cent on any machine, however busy. Prevents
//! a hot path that grows by a little with each change until someone measures it.

use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Work of the example, two amounts of it, and the most user instructions of one operation.
struct Bound {
    work: &'static str,
    amounts: [u64; 2],
    instructions_max: f64,
}

/// Each bound is at most 10 % above what was measured on 2026-11-28: rustc 1.95, x86-64, Valgrind 3.19. `cargo test
/// -p pages --test integration instructions:: -- --nocapture` prints what is seen. Valgrind has no AVX-512, so
/// checksums take their SSE 4.2 form; copies of whole pages are made by the vector loop of the C library (see
/// `TUNABLES`). A change that costs less should take its bound down, one that costs more must say why.
const BOUNDS: [Bound; 8] = [
    Bound {
        work: "null",
        amounts: [20_000, 40_000],
        instructions_max: 89.0,
    },
    Bound {
        work: "cached",
        amounts: [40_960, 81_920],
        instructions_max: 205.0,
    },
    Bound {
        work: "read",
        amounts: [20_480, 40_960],
        instructions_max: 3047.0,
    },
    Bound {
        work: "update",
        amounts: [20_480, 40_960],
        instructions_max: 1766.0,
    },
    Bound {
        work: "scan",
        amounts: [4, 8],
        instructions_max: 2378.0,
    },
    // The same through an enum of ports, as studies have it.
    Bound {
        work: "one-of-null",
        amounts: [20_000, 40_000],
        instructions_max: 115.0,
    },
    Bound {
        work: "one-of-cached",
        amounts: [40_960, 81_920],
        instructions_max: 228.0,
    },
    Bound {
        work: "one-of-read",
        amounts: [20_480, 40_960],
        instructions_max: 3147.0,
    },
];

/// Otherwise the C library copies a page by one instruction that repeats itself, and Valgrind counts each byte of it.
const TUNABLES: &str = "glibc.cpu.x86_rep_movsb_threshold=1073741824:glibc.cpu.x86_rep_stosb_threshold=1073741824";

/// Builds the example as a release is built, beside what this test was built from.
fn build() -> PathBuf {
    let target = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().to_owned();
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args([
        "build",
        "--quiet",
        "--release",
        "--locked",
        "--package",
        "pages",
        "--example",
        "counted",
    ]);
    cargo
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .arg("--target-dir")
        .arg(&target);
    assert!(cargo.status().unwrap().success(), "the example could not be built");
    target.join("release/examples/counted")
}

/// Operations done and user instructions executed.
fn counted(program: &PathBuf, work: &str, amount: u64) -> (f64, f64) {
    let output = Command::new("valgrind")
        .args(["--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"])
        .arg(program)
        .args([work, &amount.to_string()])
        .env("GLIBC_TUNABLES", TUNABLES)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{work} {amount}: {said}");
    let printed = String::from_utf8_lossy(&output.stdout).trim().parse().unwrap();
    let line = said.lines().find(|line| line.contains("refs:"));
    let count = line.and_then(|line| line.rsplit("refs:").next());
    let count = count.map(|digits| digits.trim().replace(',', "").parse());
    (printed, count.unwrap_or_else(|| panic!("no count in {said}")).unwrap())
}

/// Instructions of one operation, bound by bound. Who counts needs one processor, and as many count at a time as there
/// are.
fn seen_of_all(program: &PathBuf) -> Vec<f64> {
    let next = AtomicUsize::new(0);
    let count = || {
        let mut seen = Vec::new();
        while let Some((nth, bound)) = BOUNDS.iter().enumerate().nth(next.fetch_add(1, Ordering::Relaxed)) {
            let [short, long] = bound.amounts.map(|amount| counted(program, bound.work, amount));
            seen.push((nth, (long.1 - short.1) / (long.0 - short.0)));
        }
        seen
    };
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let mut all: Vec<(usize, f64)> = std::thread::scope(|scope| {
        let counting: Vec<_> = (0..processors).map(|_| scope.spawn(count)).collect();
        counting.into_iter().flat_map(|one| one.join().unwrap()).collect()
    });
    all.sort_by_key(|(nth, _)| *nth);
    all.into_iter().map(|(_, seen)| seen).collect()
}

fn over(bound: &Bound, seen: f64) -> Option<String> {
    (seen > bound.instructions_max).then(|| {
        format!(
            "{}: {seen:.0} user instructions an operation, {:.0} allowed",
            bound.work, bound.instructions_max
        )
    })
}

#[test]
fn no_operation_costs_more_instructions_than_it_did() {
    if cfg!(not(target_arch = "x86_64")) {
        eprintln!("skipped: the bounds are for x86-64");
        return;
    }
    if !Command::new("valgrind")
        .arg("--version")
        .output()
        .is_ok_and(|o| o.status.success())
    {
        assert!(
            std::env::var_os("CI").is_none_or(|ci| ci != "true"),
            "valgrind is missing: ./test installs it"
        );
        eprintln!("skipped: valgrind is missing: install it");
        return;
    }
    let program = build();
    let mut wrong = Vec::new();
    for (bound, seen) in BOUNDS.iter().zip(seen_of_all(&program)) {
        eprintln!(
            "{:<8} {seen:>8.1} user instructions, {:.0} allowed",
            bound.work, bound.instructions_max
        );
        wrong.extend(over(bound, seen));
    }
    assert!(
        wrong.is_empty(),
        "{}\nfind what grew; raise a bound only with the reason",
        wrong.join("\n")
    );
}

#[test]
fn a_bound_that_is_passed_is_reported() {
    let bound = Bound {
        work: "x",
        amounts: [1, 2],
        instructions_max: 100.0,
    };
    assert!(over(&bound, 100.0).is_none());
    assert!(over(&bound, 100.1).is_some_and(|said| said.contains("100 allowed")));
}
