//! `assay size`: how many LUNs of each measured stack carry a load, from a result file alone.

use super::answer::{print, print_json};
use super::report::style;
use crate::cli;
use crate::exit::Failure;
use crate::printed::{self, Holds};
use anyhow::anyhow;
use ledger::Ledger;
use plan::{Bytes, Duration, Rate};
use report::{Load, Sizing};

const FORM: &str = "write --load \"20000/s reads, 5000/s updates, p99 5ms, 20GiB\": pages read from storage, those of \
                    updates too, pages changed, and what else matters";

/// Of a database that reads next to nothing no phase tells what a page read costs.
const NO_READS: &str = "it has no reads: an update reads its page, unless the database's cache has it, and those reads \
                        count too. Add the pages that the database reads from storage (docs/sizing.md says where it \
                        counts them). If it reads next to nothing, there is no number of LUNs. Hold its writes then, \
                        those of the redo log too, against \"writes asked/s\" of `assay report FILE --full`";

pub(crate) fn size(flags: &cli::Size) -> Result<(), Failure> {
    let load = load(&flags.load).map_err(|what| Failure::Usage(anyhow!("--load: {what}\n  {FORM}")))?;
    let ledger = Ledger::open(&flags.file).map_err(|e| Failure::Usage(anyhow!("{e}")))?;
    let names: Vec<String> = ledger
        .stacks()
        .map_err(|e| Failure::Run(anyhow!("{e}")))?
        .into_iter()
        .map(|one| one.name)
        .collect();
    if let Some(unknown) = flags.stack.iter().find(|name| !names.contains(name)) {
        let known = names.join(", ");
        return Err(Failure::Usage(anyhow!(
            "--stack: the file has no stack {unknown:?}\n  it has: {known}"
        )));
    }
    let sizing = Sizing::of(&ledger, load, &flags.stack).map_err(|e| Failure::Run(anyhow!("{e}")))?;
    match (flags.json, flags.markdown) {
        (true, _) => print_json(&sizing.json()),
        (false, true) => print(&sizing.markdown()),
        (false, false) => Ok(printed::answer(&sizing.terminal(&style()), Holds::Styles)?),
    }
}

/// Parts between commas, each with the word that says what it is.
fn load(text: &str) -> Result<Load, String> {
    let mut load = Load::default();
    for part in text.split(',').map(str::trim) {
        let words: Vec<&str> = part.split_whitespace().collect();
        match words[..] {
            [rate, "reads" | "read"] => once(&mut load.reads_per_s, rate_of(rate)?, part)?,
            [rate, "updates" | "update"] => once(&mut load.updates_per_s, rate_of(rate)?, part)?,
            ["p99", time] => {
                let time: Duration = time.parse().map_err(|e| format!("{e}"))?;
                load.p99_ns = Some(time.0 as f64).filter(|ns| *ns > 0.0);
            }
            [] => return Err("a part between commas is empty".into()),
            _ => {
                let size: Bytes = part
                    .parse()
                    .map_err(|_| format!("{part:?} is no rate, no p99 and no size"))?;
                load.data_bytes = Some(size.0 as f64).filter(|bytes| *bytes > 0.0);
            }
        }
    }
    match (load.reads_per_s > 0.0, load.updates_per_s > 0.0) {
        (true, _) => Ok(load),
        (false, true) => Err(NO_READS.into()),
        (false, false) => Err("it has neither reads nor updates".into()),
    }
}

fn rate_of(text: &str) -> Result<f64, String> {
    let rate: Rate = text.parse().map_err(|e| format!("{e}"))?;
    (rate.0 > 0.0 && rate.0 <= 1e12)
        .then_some(rate.0)
        .ok_or_else(|| format!("{text:?} is no rate of a machine"))
}

fn once(place: &mut f64, value: f64, part: &str) -> Result<(), String> {
    match std::mem::replace(place, value) > 0.0 {
        true => Err(format!("{part:?} comes twice")),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::load;

    #[test]
    fn a_load_is_read_part_by_part() {
        let found = load("20000/s reads, 5000/s updates, p99 5ms, 2 TiB").unwrap();
        assert_eq!((found.reads_per_s, found.updates_per_s), (20_000.0, 5_000.0));
        assert_eq!(
            (found.p99_ns, found.data_bytes),
            (Some(5e6), Some(2.0 * 1024f64.powi(4)))
        );
        assert_eq!(load("100/s reads").unwrap().updates_per_s, 0.0);
        for (text, said) in [
            ("", "empty"),
            ("p99 5ms", "neither reads nor updates"),
            ("5000/s updates", "no reads"),
            ("5000/s updates", "writes asked/s"),
            ("fast", "no rate, no p99 and no size"),
            ("10/s reads, 20/s reads", "comes twice"),
            ("1e300/s reads", ""),
            ("5 reads,", "empty"),
            ("-5/s reads", ""),
            ("p99 soon, 5/s reads", ""),
        ] {
            let error = load(text).unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
