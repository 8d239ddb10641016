//! The data LUNs of a stack held against each other: whether one of them takes longer for the same work.
//!
//! Takes what the devices did in a phase, gives the ledger's measures. Prevents: reads of one LUN held against cached
//! writes of another, the poor spread of a stack blamed on a LUN, and a LUN that is another in every block because
//! loop devices are numbered anew.

use ledger::Measure;
use observers::{Delta, DeviceDelta};
use std::path::Path;

/// Fewer requests on a device do not tell how fast it is.
const REQUESTS_MIN: u64 = 50;
/// With less than this share of the median's requests a LUN had other work than its fellows. Not near one: sessions
/// that are bound to a part of the data ask a slow LUN less often because it is slow.
const REQUESTS_SHARE_MIN: f64 = 0.1;
/// With more than this share of them the slowest may be so because it was asked more.
const REQUESTS_SHARE_MAX: f64 = 1.5;
/// Mean requests that differ by more are other requests.
const SIZE_RATIO_MAX: f64 = 1.25;
/// From so much on the slowest LUN is named.
const WORTH_A_WORD: f64 = 1.5;

/// The slowest of the data's devices against the median of the others, and in words which it was; nothing where they
/// are too few, had too little to do, or had not the same to do. `nearest`: of the data; a single one is looked
/// through to the devices it is made of.
pub(crate) fn slowest_lun(nearest: &[String], delta: &Delta) -> (Vec<(Measure, f64)>, Option<String>) {
    let mut luns: Vec<(String, String)> = siblings(nearest)
        .into_iter()
        .map(|device| (identity(&device), device))
        .collect();
    luns.sort_by(|a, b| in_order(&a.0, &b.0));
    let seen: Option<Vec<(&str, &DeviceDelta)>> = luns
        .iter()
        .map(|(name, device)| Some((name.as_str(), delta.devices.get(device)?)))
        .collect();
    seen.map_or((Vec::new(), None), |seen| held_against(&seen))
}

/// The devices themselves, or those of the first level below a single one that has several.
fn siblings(nearest: &[String]) -> Vec<String> {
    let [only] = nearest else {
        return nearest.to_vec();
    };
    let lineage = observers::lineage(&Path::new("/dev").join(only));
    let levels = lineage.map(|found| found.levels).unwrap_or_default();
    let several = levels.into_iter().find(|level| level.devices.len() > 1);
    several.map_or(nearest.to_vec(), |level| level.devices)
}

/// What a LUN is called whatever number its loop device has this time: the file behind it; else the device's own name.
fn identity(device: &str) -> String {
    let file = format!("/sys/class/block/{}/loop/backing_file", device.replace('/', "!"));
    std::fs::read_to_string(file).map_or(device.to_string(), |text| text.trim().to_string())
}

/// By name, numbers by their value: the tenth LUN comes after the second.
fn in_order(a: &str, b: &str) -> std::cmp::Ordering {
    let runs = |text: &str| -> Vec<(String, Option<u128>)> {
        let mut runs: Vec<String> = Vec::new();
        for c in text.chars() {
            match runs.last_mut() {
                Some(run) if run.chars().all(|one| one.is_ascii_digit() == c.is_ascii_digit()) => run.push(c),
                _ => runs.push(c.to_string()),
            }
        }
        runs.into_iter().map(|run| (run.clone(), run.parse().ok())).collect()
    };
    let (a, b) = (runs(a), runs(b));
    let pairs = a.iter().zip(&b).map(|((x, of_x), (y, of_y))| match (of_x, of_y) {
        (Some(x), Some(y)) => x.cmp(y),
        _ => x.cmp(y),
    });
    pairs
        .into_iter()
        .find(|order| order.is_ne())
        .unwrap_or(a.len().cmp(&b.len()))
}

/// What LUNs did in one direction.
struct Work {
    requests: f64,
    bytes_mean: f64,
    service_ns: f64,
}

fn held_against(luns: &[(&str, &DeviceDelta)]) -> (Vec<(Measure, f64)>, Option<String>) {
    let nothing = (Vec::new(), None);
    let sum = |of: fn(&DeviceDelta) -> u64| luns.iter().map(|(_, device)| of(device)).sum::<u64>();
    // One direction for all: a cached write takes a tenth of a read, and no LUN is slow for reading.
    let is_reads = sum(|device| device.reads) >= sum(|device| device.writes);
    let works: Option<Vec<Work>> = luns.iter().map(|(_, device)| work(device, is_reads)).collect();
    let Some(works) = works.filter(|works| works.len() > 1 && had_the_same(works)) else {
        return nothing;
    };
    let by_service = |a: &usize, b: &usize| works[*a].service_ns.total_cmp(&works[*b].service_ns);
    let Some(place) = (0..works.len()).max_by(by_service) else {
        return nothing;
    };
    if works[place].requests > REQUESTS_SHARE_MAX * stats::median(&requests_of(&works)) {
        return nothing;
    }
    let others = works.iter().enumerate().filter(|(nth, _)| *nth != place);
    let others: Vec<f64> = others.map(|(_, work)| work.service_ns).collect();
    let (slowest, median) = (works[place].service_ns, stats::median(&others));
    let measures = vec![
        (Measure::LunServiceNsSlowest, slowest),
        (Measure::LunServiceNsFellows, median),
        (Measure::LunSlowest, place as f64),
    ];
    // What is usual between LUNs needs no word.
    let said = (slowest > WORTH_A_WORD * median).then(|| {
        format!(
            "slowest data LUN: {}, {:.2} ms a {}, the others {:.2} ms",
            luns[place].0,
            slowest / 1e6,
            if is_reads { "read" } else { "write" },
            median / 1e6
        )
    });
    (measures, said)
}

/// By the kernel's own sums, which come in whole milliseconds.
fn work(device: &DeviceDelta, is_reads: bool) -> Option<Work> {
    let (requests, bytes, ms) = match is_reads {
        true => (device.reads, device.read_bytes, device.read_ms),
        false => (device.writes, device.write_bytes, device.write_ms),
    };
    (requests >= REQUESTS_MIN).then(|| Work {
        requests: requests as f64,
        bytes_mean: bytes as f64 / requests as f64,
        service_ns: ms.max(1) as f64 * 1e6 / requests as f64,
    })
}

fn requests_of(works: &[Work]) -> Vec<f64> {
    works.iter().map(|work| work.requests).collect()
}

/// Work of the same sort: none was hardly asked, and all requests were as large.
fn had_the_same(works: &[Work]) -> bool {
    let requests = stats::median(&requests_of(works));
    let bytes = stats::median(&works.iter().map(|work| work.bytes_mean).collect::<Vec<_>>());
    works.iter().all(|work| {
        let size = work.bytes_mean / bytes.max(1.0);
        work.requests >= REQUESTS_SHARE_MIN * requests && size <= SIZE_RATIO_MAX && size * SIZE_RATIO_MAX >= 1.0
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Requests, KiB of each and milliseconds a request, of reads and of writes.
    fn lun(reads: (u64, u64, u64), writes: (u64, u64, u64)) -> DeviceDelta {
        DeviceDelta {
            reads: reads.0,
            read_bytes: reads.0 * reads.1 * 1024,
            read_ms: reads.0 * reads.2,
            writes: writes.0,
            write_bytes: writes.0 * writes.1 * 1024,
            write_ms: writes.0 * writes.2,
            ..DeviceDelta::default()
        }
    }

    fn found(luns: &[DeviceDelta]) -> Vec<f64> {
        let named: Vec<(&str, &DeviceDelta)> = luns.iter().map(|lun| ("x", lun)).collect();
        held_against(&named).0.into_iter().map(|(_, value)| value).collect()
    }

    #[test]
    fn a_slow_lun_is_told_from_luns_with_other_work() {
        let usual = lun((1000, 8, 4), (600, 8, 1));
        let slow = lun((900, 8, 12), (600, 8, 1));
        assert_eq!(found(&[usual, slow, usual]), [12e6, 4e6, 1.0]);
        // More writes than reads on one of them: it is held against the others by its reads all the same.
        let writes = lun((700, 8, 4), (900, 8, 1));
        assert_eq!(found(&[usual, writes, usual])[..2], [4e6, 4e6]);
        // It is asked less because it is slow; but with more to do than the others it is slow by the spread.
        assert_eq!(found(&[usual, lun((300, 8, 12), (200, 8, 1)), usual]), [12e6, 4e6, 1.0]);
        assert!(found(&[usual, lun((2000, 8, 12), (600, 8, 1)), usual]).is_empty());
        // A twentieth of the requests, or requests of another size, are other work.
        assert!(found(&[usual, lun((55, 8, 12), (10, 8, 1)), usual]).is_empty());
        assert!(found(&[usual, lun((1000, 64, 12), (10, 8, 1)), usual]).is_empty());
        assert!(found(&[usual]).is_empty());
        assert!(found(&[lun((40, 8, 1), (0, 8, 0)), lun((40, 8, 9), (0, 8, 0))]).is_empty());
    }

    #[test]
    fn luns_are_in_the_order_of_their_numbers() {
        let mut names = ["/w/data.10", "/w/data.2", "/w/data.1", "/v/z", "loop9", "loop10"];
        names.sort_by(|a, b| in_order(a, b));
        assert_eq!(
            names,
            ["/v/z", "/w/data.1", "/w/data.2", "/w/data.10", "loop9", "loop10"]
        );
    }
}
