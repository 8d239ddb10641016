//! Block figures of twins as a small CSV file, so that anyone can make the table of a run again without its recordings.
//!
//! Takes result files and gives the text; takes the text and gives the twins that the result files gave. Figures have
//! five significant digits. Prevents: a rate that is published, and nobody else can work out.

use super::recordings::{Below, Recording};
use crate::outcome::Failure;
use crate::result_file::ResultFile;
use report::Twins;
use stats::{Orientation, TwinBlocks, log_ratio};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// The first line: what the file is, and the version of its form.
const KIND: &str = "# block figures of twins, version 1";
/// Between the parts of a phase's line; names may hold anything else.
const TAB: char = '\t';

/// Why a text is none.
#[derive(Debug, thiserror::Error)]
enum FiguresError {
    #[error("it does not begin with {KIND:?}\n  give a file that `laboratory twins --write FILE` made")]
    Kind,
    #[error("it says nothing of {0}\n  give the whole file")]
    Lacks(&'static str),
    #[error("line {0} is no row of figures\n  give the file as it was made")]
    Row(usize),
}

/// Whether a file is one, by its name.
pub(crate) fn is_meant(files: &[PathBuf]) -> bool {
    matches!(files, [one] if one.extension().is_some_and(|end| end == "csv"))
}

/// The figures of several recordings of one study.
pub(crate) fn written(files: &[PathBuf]) -> Result<String, Failure> {
    let twins = Recording::read(files, Below::Nothing)?.twins;
    let mut text = format!("{KIND}\n");
    let [base, twin] = &twins.stacks;
    let facts = [
        ("study", twins.study.clone()),
        ("base", base.clone()),
        ("twin", twin.clone()),
        ("layers", twins.layers.clone()),
        ("host", twins.host.clone()),
        ("margin", twins.margin.to_string()),
        ("dropped blocks", twins.dropped.to_string()),
        ("nanoseconds of a block", twins.block_ns.to_string()),
    ];
    for (name, value) in facts {
        let _ = writeln!(text, "# {name}: {value}");
    }
    let opened = files.iter().map(|file| ResultFile::open(file).map_err(Failure::usage));
    let opened: Vec<ResultFile> = opened.collect::<Result<_, _>>()?;
    for (phase, ns) in twins.phases.iter().zip(&twins.phase_ns) {
        let of_phase = |one: &&report::BlocksCompared| one.phase == *phase;
        let found = opened
            .first()
            .and_then(|file| file.basis.comparisons.iter().find(of_phase));
        let is_time = found.is_some_and(|one| one.orientation == Orientation::LowerIsBetter);
        let better = if is_time { "lower" } else { "higher" };
        let _ = writeln!(text, "# phase: {better}{TAB}{ns}{TAB}{phase}");
    }
    text.push_str("# recording, block, then base and twin of each phase\n");
    for (nth, file) in opened.iter().enumerate() {
        for block in 0..file.basis.blocks_used as usize {
            let counts = |one: &report::BlocksCompared| one.ys.get(block).copied().flatten().is_some();
            if !file.basis.comparisons.iter().all(counts) {
                continue;
            }
            let _ = write!(text, "{},{block}", nth + 1);
            for one in &file.basis.comparisons {
                for figure in one.figures.iter().filter_map(|of| of.get(block).copied().flatten()) {
                    let _ = write!(text, ",{figure:.4e}");
                }
            }
            text.push('\n');
        }
    }
    Ok(text)
}

/// The twins of such a file.
pub(crate) fn read(path: &Path) -> Result<Recording, Failure> {
    let refused = |why: &dyn std::fmt::Display| Failure::usage(format_args!("{}: {why}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| refused(&error))?;
    parsed(&text)
        .map(Recording::of_figures)
        .map_err(|error| refused(&error))
}

fn parsed(text: &str) -> Result<Twins, FiguresError> {
    if text.lines().next() != Some(KIND) {
        return Err(FiguresError::Kind);
    }
    let fact = |name: &'static str| {
        let value = |line: &str| {
            Some(
                line.strip_prefix("# ")?
                    .strip_prefix(name)?
                    .strip_prefix(": ")?
                    .to_string(),
            )
        };
        text.lines().find_map(value).ok_or(FiguresError::Lacks(name))
    };
    let number = |name: &'static str| fact(name)?.parse::<f64>().map_err(|_| FiguresError::Lacks(name));
    let mut phases = Vec::new();
    for line in text.lines().filter_map(|line| line.strip_prefix("# phase: ")) {
        let mut parts = line.splitn(3, TAB);
        let mut part = || parts.next().ok_or(FiguresError::Lacks("phase"));
        let orientation = match part()? {
            "lower" => Orientation::LowerIsBetter,
            _ => Orientation::HigherIsBetter,
        };
        let ns: u64 = part()?.parse().map_err(|_| FiguresError::Lacks("phase"))?;
        phases.push((orientation, ns, part()?.to_string()));
    }
    let mut recordings: Vec<(&str, Vec<Vec<f64>>)> = Vec::new();
    for (nth, line) in text.lines().enumerate().filter(|(_, line)| !line.starts_with('#')) {
        let wrong = || FiguresError::Row(nth + 1);
        let mut cells = line.split(',');
        let (recording, _block) = (cells.next().ok_or_else(wrong)?, cells.next().ok_or_else(wrong)?);
        let figures: Vec<f64> = cells.map(str::parse).collect::<Result<_, _>>().map_err(|_| wrong())?;
        if figures.len() != 2 * phases.len() {
            return Err(wrong());
        }
        let of_phase = |(pair, (orientation, ..)): (&[f64], &(Orientation, u64, String))| {
            log_ratio(pair[1], pair[0], *orientation)
        };
        let ys: Option<Vec<f64>> = figures.chunks(2).zip(&phases).map(of_phase).collect();
        let ys = ys.ok_or_else(wrong)?;
        match recordings.last_mut() {
            Some((last, blocks)) if *last == recording => blocks.push(ys),
            _ => recordings.push((recording, vec![ys])),
        }
    }
    let blocks = (recordings.into_iter()).map(|(_, blocks)| TwinBlocks::new(blocks));
    let blocks = blocks.reduce(|all, next| all?.followed_by(next?)).flatten();
    Ok(Twins {
        study: fact("study")?,
        stacks: [fact("base")?, fact("twin")?],
        layers: fact("layers")?,
        phase_ns: phases.iter().map(|(_, ns, _)| *ns).collect(),
        phases: phases.into_iter().map(|(.., name)| name).collect(),
        blocks: blocks.ok_or(FiguresError::Lacks("any block"))?,
        dropped: number("dropped blocks")? as u32,
        block_ns: number("nanoseconds of a block")? as u64,
        margin: number("margin")?,
        host: fact("host")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = "# block figures of twins, version 1\n# study: s\n# base: a\n# twin: b\n# layers: xfs\n\
                         # host: h\n# margin: 0.001\n# dropped blocks: 1\n# nanoseconds of a block: 5\n\
                         # phase: higher\t7\tread, at random\n# phase: lower\t8\tage\n1,0,1.0e2,2.0e2,4.0e0,1.0e0\n\
                         1,1,1.0e2,1.0e2,1.0e0,1.0e0\n2,0,1.0e2,5.0e1,1.0e0,2.0e0\n";

    #[test]
    fn the_text_gives_ratios_by_recording() {
        let twins = parsed(WHOLE).expect("whole");
        // exp() takes the last bits away that a logarithm of a quotient has.
        let ratios = |blocks: &[Vec<f64>]| -> Vec<u32> {
            let figures = blocks.iter().flatten();
            figures.map(|y| (100.0 * y.exp()).round() as u32).collect()
        };
        let recordings: Vec<Vec<u32>> = twins.blocks.recordings().map(ratios).collect();
        assert_eq!(recordings, [vec![200, 400, 100, 100], vec![50, 50]]);
        assert_eq!(twins.phases, ["read, at random", "age"]);
        assert_eq!((twins.dropped, twins.phase_ns), (1, vec![7, 8]));
    }

    #[test]
    fn what_is_damaged_is_refused() {
        for damaged in [
            "",
            &WHOLE.replace("version 1", "version 2"),
            &WHOLE.replace("# margin: 0.001\n", ""),
            &WHOLE.replace("4.0e0", "0.0e0"),
            &WHOLE.replace(",4.0e0", ""),
            &WHOLE.replace("4.0e0", "four"),
            &WHOLE[..WHOLE.find("1,0").expect("rows")],
        ] {
            parsed(damaged).expect_err(damaged);
        }
    }
}
