//! The text of the kernel's block tracepoints, and the sums made of it.
//!
//! Takes lines of a trace pipe, gives event, direction and length. Source of the letters: `blk_fill_rwbs` of the
//! kernel. Prevents: a write that asks for a flush first (`FW`) being counted as a flush.

/// Where an I/O is counted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum BlockEvent {
    /// Handed to the block layer, before splitting and merging (`block_bio_queue`).
    BioQueue,
    /// Sent to the driver, after merging; a request sent again counts again (`block_rq_issue`).
    RequestIssue,
}

impl BlockEvent {
    pub(crate) const ALL: [BlockEvent; 2] = [BlockEvent::BioQueue, BlockEvent::RequestIssue];

    /// The kernel's name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            BlockEvent::BioQueue => "block_bio_queue",
            BlockEvent::RequestIssue => "block_rq_issue",
        }
    }
}

/// I/Os of one direction at one point.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TraceSum {
    /// How many.
    pub ios: u64,
    /// Their length in all, bytes.
    pub bytes: u64,
}

/// What passed one point.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TraceCounts {
    /// Reads, read-ahead and metadata among them.
    pub reads: TraceSum,
    /// Writes.
    pub writes: TraceSum,
    /// Discards.
    pub discards: TraceSum,
    /// Flushes without data.
    pub flushes: TraceSum,
    /// Anything else, commands passed through among it.
    pub others: TraceSum,
}

impl TraceCounts {
    pub(crate) fn add(&mut self, direction: Direction, sectors: u64) {
        let sum = match direction {
            Direction::Read => &mut self.reads,
            Direction::Write => &mut self.writes,
            Direction::Discard => &mut self.discards,
            Direction::Flush => &mut self.flushes,
            Direction::Other => &mut self.others,
        };
        sum.ios += 1;
        sum.bytes = sum
            .bytes
            .saturating_add(sectors.saturating_mul(crate::devices::counters::SECTOR_BYTES));
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Direction {
    Read,
    Write,
    Discard,
    Flush,
    Other,
}

impl Direction {
    /// By the kernel's letters: `F` for "flush first" may stand before the operation, and is an operation itself.
    fn parse(letters: &str) -> Self {
        let operation = match letters.as_bytes() {
            [b'F', next @ (b'R' | b'W' | b'D' | b'N'), ..] => *next,
            [first, ..] => *first,
            [] => b'N',
        };
        match operation {
            b'R' => Direction::Read,
            b'W' => Direction::Write,
            b'D' => Direction::Discard,
            b'F' => Direction::Flush,
            _ => Direction::Other,
        }
    }
}

/// `… block_rq_issue: 254,0 R 8192 () 12345 + 16 none,0,0 [fio]` gives the event, the direction and 16 sectors.
pub(crate) fn parse_line(line: &str) -> Option<(BlockEvent, Direction, u64)> {
    let (event, at) = BlockEvent::ALL.into_iter().find_map(|event| {
        let mark = format!(" {}: ", event.name());
        line.find(&mark).map(|at| (event, at + mark.len()))
    })?;
    let mut words = line.get(at..)?.split_ascii_whitespace();
    let direction = Direction::parse(words.nth(1)?);
    // A flush has no place and no length: no plus sign is a length of 0.
    let sectors = words
        .skip_while(|word| *word != "+")
        .nth(1)
        .and_then(|word| word.parse().ok());
    Some((event, direction, sectors.unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lines_of_both_events_are_understood() {
        let issue = "   fio-7216 [001] d..1.   77.031: block_rq_issue: 254,0 RA 8192 () 12345 + 16 none,0,0 [f + 9]";
        assert_eq!(parse_line(issue), Some((BlockEvent::RequestIssue, Direction::Read, 16)));
        let queue = " kworker/0:1-9 [000] .....   77.031: block_bio_queue: 7,0 WS 2048 + 256 [kworker/0:1]";
        assert_eq!(parse_line(queue), Some((BlockEvent::BioQueue, Direction::Write, 256)));
        let flush = " x-9 [000] ..... 7.0: block_rq_issue: 254,0 FF 0 () 0 + 0 none,0,0 [x]";
        assert_eq!(parse_line(flush), Some((BlockEvent::RequestIssue, Direction::Flush, 0)));
        assert_eq!(parse_line("CPU:1 [LOST 12 EVENTS]"), None);
        assert_eq!(parse_line("# tracer: nop"), None);
    }

    #[test]
    fn the_operation_counts_and_not_its_flags() {
        let cases = [
            ("R", Direction::Read),
            ("RAM", Direction::Read),
            ("W", Direction::Write),
            ("WFS", Direction::Write),
            ("FWS", Direction::Write),
            ("FF", Direction::Flush),
            ("F", Direction::Flush),
            ("D", Direction::Discard),
            ("DS", Direction::Discard),
            ("N", Direction::Other),
            ("", Direction::Other),
        ];
        for (letters, expected) in cases {
            assert_eq!(Direction::parse(letters), expected, "{letters}");
        }
    }

    proptest! {
        #[test]
        fn no_line_makes_the_parser_panic(line in ".{0,120}", tail in "[ -~]{0,60}") {
            let _ = parse_line(&line);
            let _ = parse_line(&format!("a block_rq_issue: {tail}"));
            let _ = parse_line(&format!("a block_bio_queue: {tail}"));
        }
    }
}
