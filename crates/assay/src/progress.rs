//! What the user sees while a study runs: on a terminal how far it is and the interval that narrows, a line a block
//! elsewhere, nothing when quiet. On stderr only.
//!
//! Takes what [`lab::Progress`] says, which comes from the analysis that decides whether the run goes on. Prevents: a
//! name cut short, and a time left that nobody has measured yet.

use crate::printed::say;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use lab::BlockDone;
use report::{escaped, rounded};
use std::fmt::Write;
use std::io::IsTerminal;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use textwrap::{Options, WordSeparator, WordSplitter};

/// Columns of the drawn interval.
const DRAWN: usize = 33;
/// Columns of a terminal that does not say how wide it is.
const WIDTH: usize = 80;

/// Progress of one run, counted in phases.
pub(crate) struct Progress {
    bar: Option<ProgressBar>,
    phases_per_block: u64,
    quiet: bool,
    left: Arc<Mutex<Left>>,
    told: Mutex<Told>,
}

/// The lines below the bar.
#[derive(Default)]
struct Told {
    doing: String,
    judged: String,
}

/// When the study ends.
#[derive(Clone, Copy)]
enum Left {
    Unknown,
    /// By its time limit.
    UpTo(Instant),
    /// By the blocks so far.
    About(Instant),
}

impl Progress {
    /// A bar for so many blocks of so many phases each; lines instead when stderr is no terminal. `limit`: the study's
    /// time limit, where it counts.
    pub(crate) fn new((blocks, phases_per_block): (u32, u64), quiet: bool, limit: Option<Duration>) -> Progress {
        let phases = u64::from(blocks) * phases_per_block;
        let end = limit.and_then(|limit| Instant::now().checked_add(limit));
        let left = Arc::new(Mutex::new(end.map_or(Left::Unknown, Left::UpTo)));
        let bar = (!quiet && std::io::stderr().is_terminal()).then(|| {
            let bar = ProgressBar::with_draw_target(Some(phases), ProgressDrawTarget::stderr_with_hz(5));
            let known = Arc::clone(&left);
            let style = ProgressStyle::with_template("[{elapsed_precise}] {bar:20} {pos} of {len} phases{left}\n{msg}");
            if let Ok(style) = style {
                bar.set_style(style.with_key("left", move |_: &ProgressState, out: &mut dyn Write| {
                    let left = *known.lock().unwrap_or_else(PoisonError::into_inner);
                    // A String takes all that is written to it.
                    let _ = out.write_str(&left.words());
                }));
            }
            bar.enable_steady_tick(Duration::from_millis(500));
            bar
        });
        Progress {
            bar,
            phases_per_block,
            quiet,
            left,
            told: Mutex::default(),
        }
    }

    /// Takes the bar away.
    pub(crate) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    /// Phases that the study is known to have after a block. The plan changes with the time that blocks take, and a
    /// block that does not count is repeated.
    fn phases(&self, block: &BlockDone<'_>, done: u64) -> u64 {
        let more = if block.left.is_some() { self.phases_per_block } else { 0 };
        (u64::from(block.planned) * self.phases_per_block).max(done + more)
    }

    /// Changes the lines below the bar; they are folded, never cut.
    fn tell(&self, bar: &ProgressBar, change: impl FnOnce(&mut Told)) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut told);
        let width = terminal_size::terminal_size_of(std::io::stderr()).map_or(WIDTH, |(w, _)| usize::from(w.0));
        bar.set_message(told.lines(width));
    }
}

impl Left {
    fn words(self) -> String {
        let (word, end) = match self {
            Left::Unknown => return String::new(),
            Left::UpTo(end) => ("up to", end),
            Left::About(end) => ("about", end),
        };
        match end.saturating_duration_since(Instant::now()).as_secs() {
            0 => ", almost done".into(),
            seconds => format!(", {word} {} left", rounded(seconds)),
        }
    }
}

impl Told {
    fn lines(&self, width: usize) -> String {
        let lines = [&self.doing, &self.judged].into_iter().flat_map(|text| text.lines());
        let folded: Vec<String> = lines
            .flat_map(|line| textwrap::wrap(line, folding(width.saturating_sub(1).max(20))))
            .map(|line| line.into_owned())
            .collect();
        folded.join("\n")
    }
}

/// At spaces alone: a hyphen belongs to a name or a path.
fn folding<'a>(width: usize) -> Options<'a> {
    Options::new(width)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation)
}

/// The interval as it is drawn, and what it is of.
fn drawn(block: &BlockDone<'_>) -> String {
    let (decided, of) = block.analysis.decided();
    let counted = format!("{decided} of {of} decided");
    match block.analysis.leading() {
        Some(leading) => format!(
            "{} {}\n{}; {counted}",
            leading.drawn(DRAWN),
            leading.words(),
            escaped(&leading.name())
        ),
        None if of > 0 => counted,
        None => String::new(),
    }
}

/// The block in a line, and the leading comparison folded below it.
fn line(block: &BlockDone<'_>) -> String {
    let mut line = format!(
        "block {} of {}: done in {:.1} s",
        block.number,
        block.planned,
        block.took.as_secs_f64()
    );
    if let Some(left) = block.left {
        line.push_str(&format!(", about {} left", rounded(left.as_secs().max(1))));
    }
    let (decided, of) = block.analysis.decided();
    if of > 0 {
        line.push_str(&format!("; {decided} of {of} decided"));
    }
    if let Some(leading) = block.analysis.leading() {
        let words = format!("{}: {}", escaped(&leading.name()), leading.words());
        let indent = folding(WIDTH).initial_indent("  ").subsequent_indent("  ");
        line.push('\n');
        line.push_str(&textwrap::fill(&words, indent));
    }
    line
}

impl lab::Progress for Progress {
    fn doing(&self, text: &str) {
        if let Some(bar) = &self.bar {
            self.tell(bar, |told| told.doing = escaped(text));
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

    fn judged(&self, block: &BlockDone<'_>) {
        if let Some(end) = block.left.and_then(|left| Instant::now().checked_add(left)) {
            *self.left.lock().unwrap_or_else(PoisonError::into_inner) = Left::About(end);
        }
        match &self.bar {
            Some(bar) => {
                bar.set_length(self.phases(block, bar.position()));
                self.tell(bar, |told| told.judged = drawn(block));
            }
            None => self.milestone(&line(block)),
        }
    }

    fn advance(&self, phases: u64) {
        if let Some(bar) = &self.bar {
            bar.inc(phases);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_folded_and_never_cut() {
        let phase = "a phase whose name goes on for longer than a line of a terminal has columns, and on";
        let told = Told {
            doing: format!("block 3 · a stack with a name · {phase} · round 2"),
            judged: String::new(),
        };
        let path = Told {
            doing: "writing /var/tmp/assay-20261128T224235Z-26b06f110728c5d6/disk group-0.lun in full".to_string(),
            judged: String::new(),
        };
        assert!(path.lines(72).contains("group-0.lun"));
        let lines = told.lines(80);
        assert!(lines.lines().count() == 2 && lines.lines().all(|line| line.chars().count() < 80));
        assert!(lines.replace('\n', " ").contains(phase), "{lines}");
    }

    #[test]
    fn before_the_first_block_the_limit_is_what_is_known() {
        let limit = Instant::now() + Duration::from_secs(1000);
        assert_eq!(Left::UpTo(limit).words(), ", up to 17 min left");
        assert_eq!(Left::Unknown.words(), "");
        assert_eq!(Left::About(Instant::now()).words(), ", almost done");
    }
}
