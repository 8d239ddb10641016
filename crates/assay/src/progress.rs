//! What the user sees while a study runs: a bar on a terminal, a line a step elsewhere, nothing when
//! quiet. On stderr only.

use crate::printed::say;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::time::Duration;

/// Progress of one run, counted in phases.
pub(crate) struct Progress {
    bar: Option<ProgressBar>,
    quiet: bool,
}

impl Progress {
    /// A bar of `phases` steps; lines instead when stderr is no terminal.
    pub(crate) fn new(phases: u64, quiet: bool) -> Progress {
        let bar = (!quiet && std::io::stderr().is_terminal()).then(|| {
            let bar = ProgressBar::with_draw_target(Some(phases), ProgressDrawTarget::stderr_with_hz(5));
            if let Ok(style) =
                ProgressStyle::with_template("[{elapsed_precise}] {bar:20} {pos}/{len} {wide_msg} at most {eta} left")
            {
                bar.set_style(style);
            }
            bar.enable_steady_tick(Duration::from_millis(500));
            bar
        });
        Progress { bar, quiet }
    }

    /// Takes the bar away.
    pub(crate) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

impl lab::Progress for Progress {
    fn doing(&self, text: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(report::escaped(text));
        }
    }

    fn line(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| say!("{text}")),
            None if !self.quiet => say!("{text}"),
            None => {}
        }
    }

    fn milestone(&self, text: &str) {
        if self.bar.is_none() {
            self.line(text);
        }
    }

    fn advance(&self, phases: u64) {
        if let Some(bar) = &self.bar {
            bar.inc(phases);
        }
    }
}
