//! Figures by device over intervals: which columns there are, how they are put together, and sums over the devices that
//! count. Shared by the readers of `iostat`, `sar`, `sadf` and `zpool iostat`.
//!
//! Takes intervals of rows under titles; gives figures. Prevents: the mean of a latency taken without regard to the
//! requests, a value that is none counted as zero, and the same bytes counted on a disk and again on what lies on it.

use super::partitions::whole_of;
use crate::error::ImportError;
use crate::figure::{Comparable, Figure, Notes, Quantity, excerpt};
use crate::format::Options;
use crate::number::{decimals, rounded};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

/// Most devices of one text.
const DEVICES_MAX: usize = 10_000;

/// How values of a column are put together.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Weight {
    /// Over time: a rate, a queue, a share.
    Time,
    /// By reads, by writes, by both, by discards, by flushes: the mean of a request.
    Reads,
    Writes,
    Both,
    Discards,
    Flushes,
}

/// A known column: its unit, its weight, and the quantity that its sum is, with the factor to base units.
pub(crate) type Known = (&'static str, Weight, Option<(Quantity, f64)>);

/// The column of that title.
pub(crate) fn column(title: &str) -> Option<Known> {
    use Quantity::{DeviceReadBytesPerS, DeviceReadsPerS, DeviceWriteBytesPerS, DeviceWritesPerS};
    let bytes = |factor: f64, quantity| Some((quantity, factor));
    Some(match title {
        "r/s" => ("requests/s", Weight::Time, bytes(1.0, DeviceReadsPerS)),
        "w/s" => ("requests/s", Weight::Time, bytes(1.0, DeviceWritesPerS)),
        "tps" => ("requests/s", Weight::Time, None),
        "d/s" | "f/s" | "rrqm/s" | "wrqm/s" | "drqm/s" => ("requests/s", Weight::Time, None),
        "rkB/s" | "kr/s" => ("KiB/s", Weight::Time, bytes(1024.0, DeviceReadBytesPerS)),
        "wkB/s" | "kw/s" => ("KiB/s", Weight::Time, bytes(1024.0, DeviceWriteBytesPerS)),
        "rMB/s" | "Mr/s" => ("MiB/s", Weight::Time, bytes(1_048_576.0, DeviceReadBytesPerS)),
        "wMB/s" | "Mw/s" => ("MiB/s", Weight::Time, bytes(1_048_576.0, DeviceWriteBytesPerS)),
        "rsec/s" | "rd_sec/s" => ("sectors/s", Weight::Time, bytes(512.0, DeviceReadBytesPerS)),
        "wsec/s" | "wr_sec/s" => ("sectors/s", Weight::Time, bytes(512.0, DeviceWriteBytesPerS)),
        "dkB/s" => ("KiB/s", Weight::Time, None),
        "dMB/s" => ("MiB/s", Weight::Time, None),
        "dsec/s" => ("sectors/s", Weight::Time, None),
        "wait" | "actv" | "avgqu-sz" | "aqu-sz" => ("requests", Weight::Time, None),
        "%util" | "%w" | "%b" | "%rrqm" | "%wrqm" | "%drqm" => ("%", Weight::Time, None),
        "r_await" => ("ms", Weight::Reads, None),
        "w_await" => ("ms", Weight::Writes, None),
        "await" | "svctm" | "svc_t" | "asvc_t" | "wsvc_t" => ("ms", Weight::Both, None),
        "d_await" => ("ms", Weight::Discards, None),
        "f_await" => ("ms", Weight::Flushes, None),
        "avgrq-sz" => ("sectors", Weight::Both, None),
        "areq-sz" => ("KiB", Weight::Both, None),
        "rareq-sz" => ("KiB", Weight::Reads, None),
        "wareq-sz" => ("KiB", Weight::Writes, None),
        "dareq-sz" => ("KiB", Weight::Discards, None),
        "operations.read" => ("requests/s", Weight::Time, bytes(1.0, DeviceReadsPerS)),
        "operations.write" => ("requests/s", Weight::Time, bytes(1.0, DeviceWritesPerS)),
        "bandwidth.read" => ("bytes/s", Weight::Time, bytes(1.0, DeviceReadBytesPerS)),
        "bandwidth.write" => ("bytes/s", Weight::Time, bytes(1.0, DeviceWriteBytesPerS)),
        "capacity.alloc" | "capacity.free" => ("bytes", Weight::Time, None),
        "total_wait.read" | "disk_wait.read" | "syncq_wait.read" | "asyncq_wait.read" => ("us", Weight::Reads, None),
        "total_wait.write" | "disk_wait.write" | "syncq_wait.write" | "asyncq_wait.write" => {
            ("us", Weight::Writes, None)
        }
        _ => return None,
    })
}

/// One value of one device in one interval.
#[derive(Clone)]
pub(crate) struct Value<'t> {
    pub(crate) value: f64,
    pub(crate) text: Cow<'t, str>,
    pub(crate) line: u32,
}

/// One report: by device, the values in the order of the titles.
#[derive(Default)]
pub(crate) struct Interval<'t> {
    pub(crate) line: u32,
    pub(crate) titles: Vec<&'t str>,
    pub(crate) rows: Vec<(Cow<'t, str>, Vec<Option<Value<'t>>>)>,
    /// Idle and waiting for I/O, in percent.
    pub(crate) idle: Option<(f64, u32)>,
}

/// `sd*` is every name that begins with `sd`.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => pattern == name,
    }
}

/// Sums over time and requests of one column of one device.
#[derive(Default)]
struct Column<'t> {
    sum: f64,
    weights: f64,
    first: Option<Value<'t>>,
    decimals: usize,
    /// Intervals that say nothing of it: the value, or the count it is weighted by, is none.
    missing: usize,
}

impl Column<'_> {
    /// The mean over all intervals but those that say nothing; `None`: nothing is known of it.
    fn over_time(&self, intervals: usize) -> Option<f64> {
        let known = intervals.checked_sub(self.missing).filter(|known| *known > 0)?;
        self.first.as_ref().map(|_| self.sum / known as f64)
    }

    /// The mean over the requests; without any it is 0.
    fn over_requests(&self) -> Option<f64> {
        match self.weights > 0.0 {
            true => Some(self.sum / self.weights),
            false => (self.missing == 0).then_some(0.0),
        }
    }

    fn add(&mut self, value: Option<&Value<'_>>, weight: Option<f64>) {
        match value.zip(weight) {
            Some((value, weight)) => {
                self.sum += value.value * weight;
                self.weights += weight;
            }
            None => self.missing += 1,
        }
    }
}

/// Requests of a device in one interval, per second; `None`: the interval does not say.
struct Requests {
    reads: Option<f64>,
    writes: Option<f64>,
    both: Option<f64>,
    discards: Option<f64>,
    flushes: Option<f64>,
}

impl Requests {
    /// `of`: the value under a title.
    fn new(of: impl Fn(&str) -> Option<f64>) -> Requests {
        let reads = of("r/s").or_else(|| of("operations.read"));
        let writes = of("w/s").or_else(|| of("operations.write"));
        Requests {
            reads,
            writes,
            // sar counts both directions in one column.
            both: reads
                .zip(writes)
                .map(|(reads, writes)| reads + writes)
                .or_else(|| of("tps")),
            discards: of("d/s"),
            flushes: of("f/s"),
        }
    }

    fn weight(&self, weight: Weight) -> Option<f64> {
        match weight {
            Weight::Time => Some(1.0),
            Weight::Reads => self.reads,
            Weight::Writes => self.writes,
            Weight::Both => self.both,
            Weight::Discards => self.discards,
            Weight::Flushes => self.flushes,
        }
    }
}

/// The devices that count, in their order.
fn chosen<'i>(
    intervals: &'i [Interval<'_>],
    options: &Options,
    notes: &mut Notes,
) -> Result<Vec<&'i str>, ImportError> {
    let mut order: Vec<&str> = Vec::new();
    let mut known: BTreeSet<&str> = BTreeSet::new();
    for (name, _) in intervals.iter().flat_map(|interval| &interval.rows) {
        let name = name.as_ref();
        let wanted = options.devices.is_empty() || options.devices.iter().any(|pattern| matches(pattern, name));
        if wanted && known.insert(name) {
            if order.len() == DEVICES_MAX {
                return Err(ImportError::TooLarge { bytes: order.len() });
            }
            order.push(name);
        }
    }
    for pattern in &options.devices {
        if !order.iter().any(|name| matches(pattern, name)) {
            return Err(ImportError::Absent {
                what: format!("no device is named {pattern:?} in this text"),
                cure: "name devices as the text does; NAME* takes all that begin so".into(),
            });
        }
    }
    let is_named = |name: &str| options.devices.is_empty() || options.devices.iter().any(|pattern| pattern == name);
    order.retain(|name| {
        if is_named(name) {
            return true;
        }
        let why = match (whole_of(name), part_of(name, &known)) {
            (Some(whole), _) if known.contains(whole.as_ref()) => {
                format!("is a part of {}, which counts", excerpt(&whole))
            }
            (_, Some(part)) => format!("holds {}, which is matched too", excerpt(part)),
            _ => return true,
        };
        let name = excerpt(name);
        notes.add(
            0,
            format!("{name} {why}: left out; say --device {name} if it counts too"),
        );
        false
    });
    Ok(order)
}

/// A device below this one by their names: `tank/mirror-0/sda` below `tank`.
fn part_of<'k>(name: &str, known: &BTreeSet<&'k str>) -> Option<&'k str> {
    let below = format!("{name}/");
    let first = known
        .range::<str, _>((Bound::Excluded(below.as_str()), Bound::Unbounded))
        .next();
    first.copied().filter(|first| first.starts_with(&below))
}

pub(crate) fn figures(
    intervals: &[Interval<'_>],
    options: &Options,
    notes: &mut Notes,
) -> Result<Vec<Figure>, ImportError> {
    let order = chosen(intervals, options, notes)?;
    let place: BTreeMap<&str, usize> = order.iter().enumerate().map(|(index, name)| (*name, index)).collect();
    // Each figure repeats the name of its device.
    let columns = intervals
        .iter()
        .map(|interval| interval.titles.len())
        .max()
        .unwrap_or(0);
    let names: usize = order.iter().map(|name| name.len()).sum();
    if names.saturating_mul(columns) > crate::format::TEXT_BYTES_MAX {
        return Err(ImportError::TooLarge { bytes: names });
    }
    let columns = collect(intervals, &place, order.len())?;
    let mut figures = Vec::new();
    for (name, columns) in order.iter().zip(&columns) {
        for (title, column) in columns {
            figures.extend(mean(&format!("device.{name}.{title}"), title, column, intervals.len()));
        }
    }
    if order.len() == 1 || !options.devices.is_empty() {
        figures.extend(totals(&order, &columns, intervals.len()));
    } else if order.len() > 1 {
        notes.add(
            0,
            "no sum over devices, for one may lie on another: say --device for each that counts",
        );
    }
    figures.extend(idle(intervals));
    Ok(figures)
}

type Columns<'t> = Vec<(&'t str, Column<'t>)>;

/// By device, its columns in the order of the titles.
fn collect<'t>(
    intervals: &[Interval<'t>],
    place: &BTreeMap<&str, usize>,
    devices: usize,
) -> Result<Vec<Columns<'t>>, ImportError> {
    let mut all: Vec<Columns<'t>> = (0..devices).map(|_| Vec::new()).collect();
    // By device: the interval that it was last in, counted from 1.
    let mut seen = vec![0; devices];
    for (number, interval) in (1..).zip(intervals) {
        for (name, values) in &interval.rows {
            let Some(index) = place.get(name.as_ref()).copied() else {
                continue;
            };
            if std::mem::replace(&mut seen[index], number) == number {
                return Err(again(name, values, interval.line));
            }
            let columns = &mut all[index];
            let of = |title: &str| {
                let index = interval.titles.iter().position(|t| *t == title)?;
                values.get(index)?.as_ref().map(|v| v.value)
            };
            let requests = Requests::new(of);
            for (title, value) in interval.titles.iter().zip(values) {
                let Some((_, weight, _)) = column(title) else {
                    continue;
                };
                let index = columns.iter().position(|(t, _)| t == title).unwrap_or_else(|| {
                    columns.push((title, Column::default()));
                    columns.len() - 1
                });
                let column = &mut columns[index].1;
                column.add(value.as_ref(), requests.weight(weight));
                let Some(value) = value else { continue };
                if column.first.is_none() {
                    column.first = Some(value.clone());
                }
                column.decimals = column.decimals.max(decimals(&value.text));
            }
        }
    }
    Ok(all)
}

/// One device twice in one report: its rates would be added up.
fn again(name: &str, values: &[Option<Value<'_>>], report: u32) -> ImportError {
    ImportError::Other {
        line: values.iter().flatten().next().map_or(report, |value| value.line),
        what: format!("{} is here again in the same report", excerpt(name)),
        cure: "give the text as the tool printed it, with the titles above each report".into(),
    }
}

/// The mean of a column; a device that is not listed in an interval (`-z`) did nothing in it.
fn mean(name: &str, title: &str, sums: &Column<'_>, intervals: usize) -> Option<Figure> {
    let (unit, weight, _) = column(title)?;
    let first = sums.first.as_ref()?;
    let (value, text) = match (intervals, weight) {
        (1, _) => (first.value, first.text.to_string()),
        (_, Weight::Time) => rounded(sums.over_time(intervals)?, sums.decimals),
        _ => rounded(sums.over_requests()?, sums.decimals),
    };
    Some(Figure {
        name: name.into(),
        value,
        text,
        unit,
        line: first.line,
        comparable: None,
    })
}

/// Sums over devices, of the columns that can be summed: those of which every device's mean is known.
fn totals(names: &[&str], columns: &[Columns<'_>], intervals: usize) -> Vec<Figure> {
    let mut totals: Vec<Figure> = Vec::new();
    let Some(first) = columns.first() else { return totals };
    for (title, _) in first {
        let Some((unit, _, Some((quantity, factor)))) = column(title) else {
            continue;
        };
        let of: Vec<&Column<'_>> = columns
            .iter()
            .filter_map(|columns| columns.iter().find(|(t, _)| t == title).map(|(_, c)| c))
            .collect();
        let digits = of.iter().map(|c| c.decimals).max().unwrap_or(0);
        let means: Option<Vec<f64>> = of.iter().map(|c| c.over_time(intervals)).collect();
        let Some(means) = means else { continue };
        let (value, text) = rounded(means.iter().sum(), digits);
        let line = of
            .iter()
            .filter_map(|c| c.first.as_ref())
            .map(|v| v.line)
            .min()
            .unwrap_or(0);
        totals.push(Figure {
            name: format!("devices.{}.{title}", names.len()),
            value,
            text,
            unit,
            line,
            comparable: Some(Comparable {
                quantity,
                value: value * factor,
            }),
        });
    }
    totals
}

fn idle(intervals: &[Interval<'_>]) -> Option<Figure> {
    let found: Vec<(f64, u32)> = intervals.iter().filter_map(|interval| interval.idle).collect();
    let (_, line) = *found.first()?;
    let (value, text) = rounded(found.iter().map(|(v, _)| v).sum::<f64>() / found.len() as f64, 2);
    let figure = Figure {
        name: "cpu.idle and iowait".into(),
        value,
        text,
        unit: "%",
        line,
        comparable: None,
    };
    Some(figure.of_quantity(Quantity::CpuIdleShare, 0.01))
}
