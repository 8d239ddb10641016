//! What is owed: every bound in one list, and what a run has seen of each.
//!
//! Takes figures by the name of their line, gives one table. Prevents: a bound that hides in a section, a line that is
//! left out because nobody measured it, and a figure that is held against another bound than the one beside it.

use crate::figures::{Spread, aligned, grouped};
use crate::flags::Section;
use crate::sections::Found;
use Bound::{AtLeast, AtMost, Below, Near, Shown};

/// What the median of a figure must keep to.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Bound {
    AtMost(f64),
    AtLeast(f64),
    Below(f64),
    /// No further from 1 than this.
    Near(f64),
    /// Nothing is owed: the figure was asked for.
    Shown,
}

impl Bound {
    fn words(self) -> String {
        match self {
            AtMost(most) => format!("at most {}", plain(most)),
            AtLeast(least) => format!("at least {}", plain(least)),
            Below(limit) => format!("below {}", plain(limit)),
            Near(share) => format!("within {:.0} % of 1", share * 100.0),
            Shown => SHOWN.into(),
        }
    }

    fn verdict(self, seen: &Spread) -> &'static str {
        let median = seen.median;
        let (met, edges) = match self {
            AtMost(most) => (median <= most, [most; 2]),
            AtLeast(least) => (median >= least, [least; 2]),
            Below(limit) => (median < limit, [limit; 2]),
            Near(share) => ((median - 1.0).abs() <= share, [1.0 - share, 1.0 + share]),
            Shown => return SHOWN,
        };
        let [from, to] = seen.sure;
        let between = edges.iter().any(|edge| from < *edge && *edge < to);
        match (seen.count >= ROUNDS_MIN && between, met) {
            (true, _) => TOO_WIDE,
            (false, true) => MET,
            (false, false) => MISSED,
        }
    }
}

/// Fewer say nothing of their spread.
const ROUNDS_MIN: usize = 3;
const MET: &str = "met";
const MISSED: &str = "MISSED";
/// The rounds lie on both sides of the bound: they show neither.
const TOO_WIDE: &str = "too wide";
const SHOWN: &str = "shown";
const ABSENT: &str = "not measured";

fn plain(value: f64) -> String {
    if value.fract() == 0.0 {
        grouped(value, 0)
    } else {
        value.to_string()
    }
}

/// One line of the list.
struct Line {
    section: Section,
    what: &'static str,
    bound: Bound,
    digits: usize,
}

macro_rules! owed {
    ($($section:ident { $($due:ident: $what:literal, $bound:expr, $digits:literal;)* })*) => {
        /// A line of what is owed. A section that sees a figure names its line.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub(crate) enum Due {
            $($($due,)*)*
        }

        impl Due {
            /// In the order of the table.
            const ALL: &'static [Due] = &[$($(Due::$due,)*)*];

            fn line(self) -> Line {
                match self {
                    $($(Due::$due => Line {
                        section: Section::$section,
                        what: $what,
                        bound: $bound,
                        digits: $digits,
                    },)*)*
                }
            }
        }
    };
}

// By section: name of the line, what it says, its bound, decimals. CPU is that of the process where nothing else is
// said; system CPU is that of the whole machine.
owed! {
    File {
        FileRingInstructions: "file: bare ring, user instructions per read", AtMost(150.0), 0;
        FileEngineInstructions: "file: page engine, verified, user instructions per read", AtMost(2000.0), 0;
        FileEngine16Instructions: "file: the same, 16 pages an operation", Shown, 0;
        FileEngineOffInstructions: "file: the same, verification off", Shown, 0;
        FileRingRate: "file: bare ring, rate over fio registered", AtLeast(0.97), 3;
        FileEngineRate: "file: page engine, rate over fio registered", AtLeast(0.97), 3;
        FileEngineTunedRate: "file: page engine, rate over fio tuned", AtLeast(0.97), 3;
        FileRingPeak: "file: bare ring, CPU over t/io_uring", AtMost(1.05), 3;
        FileRingPeakSystem: "file: bare ring, system CPU over t/io_uring", AtMost(1.05), 3;
        FileBothVerify: "file: page engine over fio tuned, both verify, CPU", AtMost(0.95), 3;
        FileBothVerifySystem: "file: page engine over fio tuned, both verify, system CPU", Shown, 3;
        FileBothVerifyRate: "file: page engine over fio tuned, both verify, rate", Shown, 3;
        FileNeitherVerifies: "file: page engine over fio tuned, neither verifies, CPU", AtMost(1.0), 3;
        FileNeitherVerifiesSystem: "file: page engine over fio tuned, neither verifies, system CPU", Shown, 3;
        FileOursVerifies: "file: page engine over fio tuned, ours alone verifies, CPU", AtMost(1.2), 3;
        FileOursVerifiesSystem: "file: page engine over fio tuned, ours alone verifies, system CPU", Shown, 3;
    }
    Xfs {
        XfsRingRate: "XFS on loop: bare ring, rate over fio registered", AtLeast(0.97), 3;
        XfsRingSystem: "XFS on loop: bare ring, system CPU over fio registered", Below(1.0), 3;
        XfsEngineTunedRate: "XFS on loop: page engine, rate over fio tuned", AtLeast(0.97), 3;
    }
    Zram {
        ZramEngineOff: "zram: engine by pread, verification off, rate over the bare pread loop", AtLeast(0.95), 3;
        ZramPread: "zram: bare pread, CPU over fio psync", Below(1.0), 3;
        ZramVerified: "zram: engine by pread, verified, rate over verification off", Shown, 3;
    }
    Processors {
        // What the machine itself loses: the loops share nothing.
        ProcessorsLoop: "processors: bare loop on the null target, share of linear", Shown, 3;
        ProcessorsMemory: "processors: page engine on files in memory, share of linear over the bare loop's",
            AtLeast(0.95), 3;
        ProcessorsZram: "processors: page engine on zram, share of linear over the bare loop's", AtLeast(0.95), 3;
        ProcessorsFio: "processors: fio psync on zram, share of linear", Shown, 3;
    }
    Sessions {
        SessionsCpu: "sessions: CPU per operation of 16,384 over that of 64", AtMost(1.1), 3;
        SessionsCpuSystem: "sessions: system CPU per operation of 16,384 over that of 64", Shown, 3;
        SessionsBytes: "sessions: bytes of memory per session", AtMost(512.0), 0;
        SessionsFairness: "sessions: slowest over fastest of 16,384", AtLeast(0.5), 2;
        SessionsMade: "sessions: making 16,384, ms", Shown, 2;
        SessionsFirst: "sessions: until all had their first operation, ms", Shown, 0;
    }
    Updates {
        UpdatesRate: "updates: commits/s over fio's", Shown, 2;
        UpdatesSystem: "updates: system CPU per commit over fio's", Shown, 2;
        UpdatesTarget: "updates: one session over the target's own flush rate", Shown, 2;
        UpdatesGroup: "updates: commits per flush over those of an eighth of the sessions", AtLeast(1.2), 2;
    }
    Mixed {
        MixedRate: "reads and updates: pages/s over fio randrw's, paced alike", Near(0.1), 3;
        MixedCpu: "reads and updates: CPU a page over fio randrw's", Shown, 3;
        MixedSystem: "reads and updates: system CPU a page over fio randrw's", Shown, 3;
    }
    Redo {
        RedoRate: "redo: commits/s over fio --fdatasync=1", Shown, 2;
        RedoCpu: "redo: CPU per commit over fio --fdatasync=1", Shown, 2;
        RedoSystem: "redo: system CPU per commit over fio --fdatasync=1", Shown, 2;
        RedoPg: "redo: commits/s over fdatasync of pg_test_fsync", Shown, 2;
    }
    Sqlite {
        SqliteOrders: "SQLite: order entry, our VFS over its own, system CPU per transaction", AtMost(1.0), 3;
        SqliteOrdersProcess: "SQLite: order entry, our VFS over its own, CPU per transaction", Shown, 3;
        SqliteOrdersRate: "SQLite: order entry, our VFS over its own, rate", Shown, 3;
        SqliteCached: "SQLite: order entry, large cache, our VFS over its own, system CPU each", AtMost(1.0), 3;
        SqliteCachedProcess: "SQLite: order entry, large cache, our VFS over its own, CPU each", Shown, 3;
        SqliteCachedRate: "SQLite: order entry, large cache, our VFS over its own, rate", Shown, 3;
        SqliteBulk: "SQLite: bulk load, our VFS over its own, system CPU per row", AtMost(1.0), 3;
        SqliteBulkProcess: "SQLite: bulk load, our VFS over its own, CPU per row", Shown, 3;
        SqliteBulkRate: "SQLite: bulk load, our VFS over its own, rate", Shown, 3;
    }
    Scan {
        ScanRate: "scan: rate over fio sequential", AtLeast(0.95), 3;
    }
    Floor {
        FloorPass: "floor: one pass over a cold page, us", Shown, 3;
        FloorChecksum: "floor: the engine's checksum of a cold page, us", Shown, 3;
        FloorOverPass: "floor: the engine's checksum over one pass", Shown, 3;
        FloorAhead: "floor: the engine's checksum over the same with nothing asked for ahead", Shown, 3;
    }
    Group {
        GroupRate: "group: rate over the disks directly", AtLeast(0.98), 3;
        GroupExtra: "group: further user instructions a read", AtMost(30.0), 0;
    }
    Mirror {
        MirrorRate: "mirror: group over two disks by hand, writes/s", AtLeast(0.98), 3;
        MirrorCpu: "mirror: group over two disks by hand, CPU a write", Shown, 3;
        MirrorSystem: "mirror: group over two disks by hand, system CPU a write", Shown, 3;
        MirrorExtra: "mirror: further user instructions a write", Shown, 0;
        MirrorGuestByHand: "mirror in a guest: group over two disks by hand, writes/s", Shown, 2;
        MirrorGuestBitmap: "mirror in a guest: group over md raid1 with a bitmap, writes/s", Shown, 2;
        MirrorGuestPlain: "mirror in a guest: group over md raid1 without, writes/s", Shown, 2;
    }
    Lab {
        LabReport: "lab: report of 200 phase runs to the terminal, ms", Below(300.0), 0;
        LabReportLong: "lab: report of 200 phases (1,600 runs), ms", Below(300.0), 0;
        LabHelp: "lab: assay --help, ms", Below(20.0), 1;
        LabBinary: "lab: release binary, MB", AtMost(14.0), 1;
        LabObservers: "lab: observers, % of one core", Below(0.5), 3;
    }
    Grows {
        // Twice as much twice; what a start costs is in the first as well.
        GrowsFourfold: "grows: four times as many, times as much", AtMost(4.2), 2;
        GrowsTenfold: "grows: ten times as many phase runs, times as much", AtMost(10.5), 2;
        GrowsScreen: "grows: report of 10,000 phase runs, ms", Below(2000.0), 0;
        GrowsPage: "grows: page of 10,000 phase runs, ms", Shown, 0;
        GrowsCheck: "grows: check of a study of 10,000 phase runs, ms", Shown, 0;
    }
    GroupSizes {
        // A twentieth more than ten times is noise, and what no longer fits a cache of the processor.
        GroupSizesTenfold: "group sizes: ten times as many, times as much", AtMost(10.5), 2;
        GroupSizesMoved: "group sizes: ten times as many, CPU of a moved extent, times as much", AtMost(1.05), 3;
        GroupSizesCompared: "group sizes: ten times as many, CPU of a compared MiB, times as much", AtMost(1.05), 3;
        GroupSizesMount: "group sizes: mount of 10 TB, ms", Shown, 0;
        GroupSizesCheck: "group sizes: check of 10 TB without data, ms", Shown, 0;
        GroupSizesData: "group sizes: check of 1 TB with data, ms", Shown, 0;
        GroupSizesFiles: "group sizes: mount of 10,000 files, ms", Shown, 0;
        GroupSizesMove: "group sizes: rebalance of 10 TB, CPU us a moved extent", Shown, 1;
    }
    Bookkeeping {
        BookkeepingAfter: "bookkeeping: four times as many, times as long after a block", AtMost(4.2), 2;
        // What is recorded of a phase has nothing to do with those before it.
        BookkeepingPhase: "bookkeeping: four times as many, times as long from a phase to the next", AtMost(1.1), 3;
        BookkeepingMany: "bookkeeping: after the last block of 10,000 phase runs, ms", Shown, 0;
        BookkeepingEach: "bookkeeping: run of 10,000 phase runs, CPU ms each", Shown, 2;
    }
    Engineer {
        EngineerBuild: "engineer: build from nothing, s", AtMost(240.0), 0;
        EngineerAnswer: "engineer: from a clone to the first answer, s", Shown, 0;
        EngineerShare: "engineer: share of the way to the first answer, %", Shown, 1;
        EngineerMeasured: "engineer: share of the first answer's own time that is measuring", Shown, 2;
        EngineerLine: "engineer: one line changed in pages to a running binary, s", AtMost(20.0), 1;
        EngineerOther: "engineer: one line changed to a running binary, s", Shown, 1;
        EngineerBinary: "engineer: release binary, MB", AtMost(14.0), 1;
        EngineerPart: "engineer: of it, MB", Shown, 2;
    }
}

/// A figure that was seen.
pub(crate) struct Seen {
    due: Due,
    /// Which of several that the line stands for; empty where it is the only one.
    of: String,
    spread: Spread,
}

impl Seen {
    pub(crate) fn new(due: Due, of: &str, spread: Spread) -> Seen {
        Seen {
            due,
            of: of.into(),
            spread,
        }
    }
}

impl Line {
    fn row(&self, seen: &Seen) -> Vec<String> {
        let what = match seen.of.as_str() {
            "" => self.what.to_string(),
            of => format!("{}: {of}", self.what),
        };
        let Spread {
            median,
            low,
            high,
            count,
            ..
        } = seen.spread;
        let figures = [median, low, high].map(|figure| grouped(figure, self.digits));
        let mut row = vec![what, self.bound.words()];
        row.extend(figures);
        row.extend([count.to_string(), self.bound.verdict(&seen.spread).to_string()]);
        row
    }

    fn absent(&self) -> Vec<String> {
        let mut row = vec![self.what.to_string(), self.bound.words()];
        row.extend(["-", "-", "-", "-", ABSENT].map(String::from));
        row
    }
}

/// All lines of the sections that were asked for, measured or not.
pub(crate) fn table(found: &Found) -> String {
    let head = ["what", "owed", "median", "lowest", "highest", "rounds", "verdict"];
    let mut rows = vec![head.map(String::from).to_vec()];
    for due in Due::ALL.iter().copied() {
        let line = due.line();
        if !found.asked.contains(&line.section) {
            continue;
        }
        let before = rows.len();
        let seen = found.seen.iter().filter(|seen| seen.due == due);
        rows.extend(seen.map(|seen| line.row(seen)));
        if rows.len() == before {
            rows.push(line.absent());
        }
    }
    let count = |verdict: &str| rows.iter().filter(|row| row[6] == verdict).count();
    let counts = [MET, MISSED, TOO_WIDE, SHOWN, ABSENT].map(|verdict| format!("{} {verdict}", count(verdict)));
    let mut text = format!(
        "## Owed and seen\n\nA line is met by its median, unless its rounds lie on both sides of the bound: {}.\n\n{}",
        counts.join(", "),
        aligned(&rows)
    );
    for (section, why) in &found.absent {
        text.push_str(&format!("\n{section:?}, {ABSENT}: {why}\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_is_held_as_it_is_said() {
        for (bound, words, met, missed) in [
            (AtMost(1.2), "at most 1.2", 1.2, 1.201),
            (AtLeast(0.95), "at least 0.95", 0.95, 0.949),
            (Below(2000.0), "below 2,000", 1999.9, 2000.0),
            (Near(0.03), "within 3 % of 1", 1.02, 0.96),
        ] {
            assert_eq!(bound.words(), words);
            let said = [met, missed].map(|median| verdict(bound, &[median]));
            assert_eq!(said, [MET, MISSED], "{bound:?}");
        }
    }

    fn verdict(bound: Bound, rounds: &[f64]) -> &'static str {
        bound.verdict(&Spread::of(rounds.iter().copied()).unwrap())
    }

    #[test]
    fn rounds_on_both_sides_of_a_bound_show_neither() {
        for (bound, rounds, said) in [
            (AtMost(1.0), &[0.8, 0.9, 1.1][..], TOO_WIDE),
            (AtMost(1.0), &[0.9, 1.1, 1.2], TOO_WIDE),
            (AtMost(1.0), &[0.8, 0.9, 1.0], MET),
            (AtMost(1.0), &[1.1, 1.2, 1.3], MISSED),
            // A pair has no spread to speak of.
            (AtMost(1.0), &[0.8, 1.1], MET),
            // One of eight may stray.
            (AtMost(1.0), &[0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 5.0], MET),
            (Near(0.03), &[0.9, 1.0, 1.1], TOO_WIDE),
            (Near(0.03), &[0.98, 1.0, 1.02], MET),
            (Near(0.03), &[1.04, 1.1, 1.2], MISSED),
            (Shown, &[0.5, 1.0, 2.0], SHOWN),
        ] {
            assert_eq!(verdict(bound, rounds), said, "{bound:?} {rounds:?}");
        }
    }

    #[test]
    fn a_line_that_nobody_saw_is_in_the_table() {
        let mut found = Found {
            asked: vec![Section::Scan, Section::Zram],
            absent: vec![(Section::Zram, "not root".into())],
            ..Found::default()
        };
        found.see_of(Due::ScanRate, "depth 8", Spread::of([1.0, 1.5, 2.0]));
        let text = table(&found);
        let counts = "1 met, 0 MISSED, 0 too wide, 0 shown, 3 not measured";
        assert!(text.contains(counts), "{text}");
        assert!(text.contains("scan: rate over fio sequential: depth 8 "), "{text}");
        assert!(text.contains("Zram, not measured: not root"), "{text}");
        assert!(!text.contains("group"), "{text}");
    }

    #[test]
    fn no_two_lines_say_the_same() {
        let said: std::collections::HashSet<&str> = Due::ALL.iter().map(|due| due.line().what).collect();
        assert_eq!(said.len(), Due::ALL.len());
    }
}
