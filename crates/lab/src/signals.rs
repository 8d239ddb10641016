//! Ctrl-C, SIGTERM and SIGHUP as a flag: whoever waits looks at it, undoes what it did and returns.
//!
//! Prevents: a run that leaves its mounts because one order to end came as two signals (coreutils `timeout` sends one
//! to the process and one to its group), and one under `nohup` that ends with the terminal.
#![allow(unsafe_code)]

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use targets::{Nanos, monotonic_ns};

/// How often whoever waits looks.
const LOOK: Duration = Duration::from_millis(50);
/// Those that end a run in order; a hangup only where nobody asked to be spared of it.
const ALWAYS: [i32; 2] = [SIGINT, SIGTERM];
/// What comes within so long of the first signal is the same order to end.
const SAME_ORDER_NS: Nanos = 1_000_000_000;
/// The exit code of a process that a second order ends: something may be left.
const ENDED_AT_ONCE: i32 = 4;

/// The flag that a signal sets. A second signal ends the process at once, unless it comes within a second of the first;
/// `assay clean` then undoes what is left.
///
/// # Errors
/// A signal that cannot be watched.
pub fn cancel_flag() -> anyhow::Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    let first = Arc::new(AtomicU64::new(0));
    // Whatever the clock sets up at its first use is done before a handler reads it.
    let _ = monotonic_ns();
    for signal in those_that_end() {
        let (flag, first) = (Arc::clone(&flag), Arc::clone(&first));
        let heard = move || {
            if is_second_order(&first, monotonic_ns()) {
                signal_hook::low_level::exit(ENDED_AT_ONCE);
            }
            flag.store(true, Ordering::SeqCst);
        };
        // SAFETY: the handler reads the monotonic clock, touches atomics and may call `_exit`: all async-signal-safe.
        unsafe { signal_hook::low_level::register(signal, heard) }?;
    }
    Ok(flag)
}

/// The signals that end a run. `nohup` starts a program with hangups ignored, and a handler would undo that.
fn those_that_end() -> impl Iterator<Item = i32> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let hangup = (!ignores(&status, SIGHUP)).then_some(SIGHUP);
    ALWAYS.into_iter().chain(hangup)
}

/// Whether a process ignores a signal, by the text of its `/proc/PID/status`: `SigIgn` has a bit for each, from 1 on.
fn ignores(status: &str, signal: i32) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & (1 << (signal - 1)) != 0)
}

/// Whether a signal at that time is more than the first order to end. `first`: when that came; 0: none has come.
fn is_second_order(first: &AtomicU64, now: Nanos) -> bool {
    let was = first.compare_exchange(0, now.max(1), Ordering::SeqCst, Ordering::SeqCst);
    was.is_err_and(|came| now.saturating_sub(came) >= SAME_ORDER_NS)
}

/// The same for a rank of MPI, where a second signal is never anybody's impatience: its launcher sends one to the
/// process and one to its group.
///
/// # Errors
/// A signal that cannot be watched.
pub fn cancel_flag_of_rank() -> anyhow::Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    for signal in those_that_end() {
        signal_hook::flag::register(signal, Arc::clone(&flag))?;
    }
    Ok(flag)
}

/// A flag that SIGTERM sets beside the other one: a launcher sends it when it has lost a rank.
///
/// # Errors
/// The signal cannot be watched.
pub fn told_to_end() -> anyhow::Result<Arc<AtomicBool>> {
    let flag = Arc::default();
    signal_hook::flag::register(SIGTERM, Arc::clone(&flag))?;
    Ok(flag)
}

/// An error when the flag is set.
///
/// # Errors
/// Nothing else.
pub fn check(flag: &AtomicBool) -> anyhow::Result<()> {
    if flag.load(Ordering::Relaxed) {
        anyhow::bail!("interrupted");
    }
    Ok(())
}

/// To go on, or not, when the flag is set.
pub(crate) fn flow(flag: &AtomicBool) -> ControlFlow<()> {
    if is_set(flag) {
        ControlFlow::Break(())
    } else {
        ControlFlow::Continue(())
    }
}

/// Waits for that long, or until a signal comes.
///
/// # Errors
/// When one has come.
pub(crate) fn wait(flag: &AtomicBool, time: Duration) -> anyhow::Result<()> {
    let until = Instant::now() + time;
    loop {
        check(flag)?;
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(());
        }
        std::thread::sleep(left.min(LOOK));
    }
}

/// Whether a signal has come.
pub fn is_set(flag: &AtomicBool) -> bool {
    flag.load(Ordering::Relaxed)
}

/// Sets the flag when it goes, also in a panic: for another thread that works until then.
pub(crate) struct SetWhenGone<'a>(pub(crate) &'a AtomicBool);

impl Drop for SetWhenGone<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_within_a_second_are_one_order() {
        let first = AtomicU64::new(0);
        let began = 7 * SAME_ORDER_NS;
        for (after, second) in [
            (0, false),
            (1_000_000, false),
            (SAME_ORDER_NS - 1, false),
            (SAME_ORDER_NS, true),
            (60 * SAME_ORDER_NS, true),
        ] {
            assert_eq!(
                is_second_order(&first, began + after),
                second,
                "{after} ns after the first"
            );
        }
        let first = AtomicU64::new(0);
        assert!(!is_second_order(&first, 0), "the first, whatever the clock says");
        assert!(is_second_order(&first, 2 * SAME_ORDER_NS));
    }

    #[test]
    fn a_hangup_that_nohup_ignores_stays_ignored() {
        let status = |mask: &str| format!("Name:\tassay\nSigBlk:\t0000000000000001\nSigIgn:\t{mask}\nSigCgt:\t0\n");
        for (mask, ignored) in [
            ("0000000000000001", true),
            ("0000000000001007", true),
            ("0000000000001006", false),
            ("0000000000000000", false),
            ("", false),
        ] {
            assert_eq!(ignores(&status(mask), SIGHUP), ignored, "{mask}");
        }
        assert!(ignores(&status("0000000000004000"), SIGTERM));
        assert!(!ignores("", SIGHUP), "no /proc");
        assert!(those_that_end().any(|signal| signal == SIGTERM));
    }

    #[test]
    fn a_wait_lasts_and_a_signal_ends_it() {
        let flag = AtomicBool::new(false);
        let (began, time) = (Instant::now(), Duration::from_millis(1));
        wait(&flag, time).unwrap();
        assert!(began.elapsed() >= time);
        flag.store(true, Ordering::Relaxed);
        assert!(
            wait(&flag, Duration::from_secs(1 << 32)).is_err(),
            "an age is not waited for"
        );
    }
}
