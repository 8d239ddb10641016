//! Ctrl-C and SIGTERM as a flag: whoever waits looks at it, undoes what it did and returns.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The flag that a signal sets. A second signal ends the process at once; `assay clean` then undoes what is left.
///
/// # Errors
/// A signal that cannot be watched.
pub fn cancel_flag() -> anyhow::Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    for signal in [
        signal_hook::consts::SIGINT,
        signal_hook::consts::SIGTERM,
        signal_hook::consts::SIGHUP,
    ] {
        signal_hook::flag::register_conditional_shutdown(signal, 4, Arc::clone(&flag))?;
        signal_hook::flag::register(signal, Arc::clone(&flag))?;
    }
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
