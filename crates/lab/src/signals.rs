//! Ctrl-C and SIGTERM as a flag: whoever waits looks at it, undoes what it did and returns.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often whoever waits looks.
const LOOK: Duration = Duration::from_millis(50);
/// Those that end a run in order.
const SIGNALS: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];

/// The flag that a signal sets. A second signal ends the process at once; `assay clean` then undoes what is left.
///
/// # Errors
/// A signal that cannot be watched.
pub fn cancel_flag() -> anyhow::Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    for signal in SIGNALS {
        signal_hook::flag::register_conditional_shutdown(signal, 4, Arc::clone(&flag))?;
        signal_hook::flag::register(signal, Arc::clone(&flag))?;
    }
    Ok(flag)
}

/// The same for a rank of MPI, where a second signal is nobody's impatience: its launcher sends one to the process and
/// one to its group.
///
/// # Errors
/// A signal that cannot be watched.
pub fn cancel_flag_of_rank() -> anyhow::Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    for signal in SIGNALS {
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
