//! The rules of a phase: of each stack in it, of all stacks together, of all runs.
//!
//! One row a rule, in the order of the lines; rules of memory, instances, hosts and processors taken away stand beside
//! what takes their figures. The words of the document stand with the bound that they explain. Prevents: a threshold
//! that nobody can find, or that the document gives otherwise.

use super::rule::{Bound, Document, Rule, Take};
use super::{beside, foreign, hosts, instances, memory, order, rate, runs, serving};
use crate::cells::orders::STORAGE_SHARE_MIN;
use crate::check::Status;

pub(crate) const RULES: &[Rule] = &[
    Rule {
        subject: "provenance",
        bound: Bound::Words("at least 90 % met a device"),
        beyond: Status::Suspect,
        advice: "it is not ranked; for a storage result use direct access, or more data than memory",
        take: Take::Cell(|at| at.provenance()),
        document: Some(Document {
            figure: "bytes that the lowest devices moved, over bytes that the engine requested, by direction, all \
                 blocks together",
            threshold: "90 % device, 10 % cache",
            beyond: "INVALID: a cache served it, or the engine requested under 1 MiB, so its own cache did the \
                 work. SUSPECT: between the thresholds, or unknown. NOTE: one direction has no count (SQLite's \
                 writes through the page cache) and the other met a device; or the bytes include those of temporary \
                 files that nobody counts; or `rank_cached` asks for what memory does, and the budget was enforced and \
                 kept; or files are served, by storage and memory together. The line is in doubt exactly when the \
                 ranking refuses the phase for it",
            why: "not 100 %: Assay reads the counters of engine and devices one after the other",
        }),
        traps: &[
            "work that the engine's own cache does alone",
            "a cache serves what is called direct",
            "the page cache below a loop device serves a direct run",
        ],
    },
    Rule {
        subject: "steady state",
        bound: Bound::WithFigure,
        beyond: Status::Suspect,
        advice: "give the phase more time, or let what goes on beside it (a resync, a warm-up) end first",
        take: Take::Cell(|at| at.steady()),
        document: Some(Document {
            figure: "blocks that found five rounds of a second or more within 20 %, with a slope within 10 %; the \
                 rest keeps their level, and the rate as a whole lies within 10 % of it. No line if work is due on \
                 a schedule",
            threshold: "most",
            beyond: "",
            why: "the rule of the SNIA specification [1], for a figure of the whole phase: see [below](#steady-state)",
        }),
        traps: &[
            "a warm-up that never ends",
            "a phase of two levels, each of them steady",
        ],
    },
    Rule {
        subject: "host CPU",
        bound: Bound::Least(0.04),
        beyond: Status::Suspect,
        advice: "the processors may be the limit: use fewer sessions, or a host with more of them",
        take: Take::Cell(|at| at.idle()),
        document: Some(Document {
            figure: "idle share of the processors that the run may use: all online ones, or those that an \
                 affinity, a service or a container allows (the host's fact *cpus allowed* names them). No line \
                 for a server that was there before the study, because nobody sees its host",
            threshold: "",
            beyond: "",
            why: "with less left, whatever needs a processor waits long; idle processors that the run may not use \
                 do not help",
        }),
        traps: &[
            "the processors have nothing left",
            "a run kept to one processor, which something else fills",
        ],
    },
    Rule {
        subject: "generator",
        bound: Bound::WithFigure,
        beyond: Status::Suspect,
        advice: "the generator may be the limit: give it more `workers`, at most one for each processor, then more \
             processors (`assay calibrate` measures one worker)",
        take: Take::Cell(|at| at.ceiling()),
        document: Some(Document {
            figure: "time that the phase's pages and operations need at the generator's ceilings, over its time; \
                 processor time of the workers' threads, over their time (only this for a client of a server)",
            threshold: "70 %; 90 %",
            beyond: "",
            why: "queues grow steeply from about there; a busy worker has no time for more, whatever its ceiling was",
        }),
        traps: &[
            "a run that measures the generator",
            "a client of a file server that is at its end",
        ],
    },
    memory::BUDGET,
    memory::WAITED,
    memory::WORKING_SET,
    Rule {
        subject: "checkpoints",
        bound: Bound::Words("at least 3"),
        beyond: Status::Suspect,
        advice: "give the phase more time, or shorten `database.checkpoint`",
        take: Take::Cell(|at| at.checkpoints()),
        document: Some(Document {
            figure: "checkpoints of the worker with the fewest (of PostgreSQL: of the server), that of the \
                 drain included, in the shortest block of an updating phase",
            threshold: "3",
            beyond: "SUSPECT; NOTE for PostgreSQL",
            why: "fewer show a part of the engine's cycle",
        }),
        traps: &["updates that end before the first checkpoint"],
    },
    Rule {
        subject: "open arrival",
        bound: Bound::Most(0.01),
        beyond: Status::Suspect,
        advice: "lower `rate`: this stack cannot do it, and its latency is that of an endless queue",
        take: Take::Cell(|at| at.unsent()),
        document: Some(Document {
            figure: "share of due operations that were never sent. No line for a ramp: its table has it for each point",
            threshold: "",
            beyond: "",
            why: "the stack cannot do that rate: its latency is that of a queue that grows, and its p99 is not ranked",
        }),
        traps: &["more is due than the device can do"],
    },
    Rule {
        subject: "observer",
        bound: Bound::Most(0.02),
        beyond: Status::Suspect,
        advice: "Assay reads each process of the host before and after a phase: stop processes that you do not need, \
             or give the phase more time",
        take: Take::Cell(|at| at.observer()),
        document: Some(Document {
            figure: "processor time of observing, of one processor; just before and after the phase, a third of it",
            threshold: "",
            beyond: "",
            why: "observing must not change what it observes",
        }),
        traps: &["a host on which watching is work itself"],
    },
    Rule {
        subject: "two populations",
        bound: Bound::Words("one population"),
        beyond: Status::Suspect,
        advice: "do not average them: find out what slowed half of the scans",
        take: Take::Cell(|at| at.populations()),
        document: Some(Document {
            figure: "two groups of scan times",
            threshold: "one",
            beyond: "",
            why: "[below](#two-populations)",
        }),
        traps: &["half of the scans meet something that the others do not"],
    },
    Rule {
        subject: "stalls",
        bound: Bound::WithFigure,
        beyond: Status::Suspect,
        advice: "the rate is a mean over them: look at the slowest latencies too",
        take: Take::Cell(|at| at.stalled()),
        document: Some(Document {
            figure: "slices with under a tenth of the usual work",
            threshold: "none; the study's margin of the time, 5 % if it has none (1 % if work is due on a schedule)",
            beyond: "NOTE, SUSPECT",
            why: "beyond the margin, stalls alone can make the difference of a verdict; a p99 is about 1 % of the \
                 operations",
        }),
        traps: &["a standstill of one second under an open schedule"],
    },
    instances::APART,
    instances::OVERLAP,
    hosts::CLOCKS,
    hosts::SEVERAL,
    Rule {
        subject: "consistency",
        bound: Bound::Words("all twelve hold, before and after"),
        beyond: Status::Invalid,
        advice: "do not use it: the database or the storage lost something; look into the server's log and the \
             kernel's",
        take: Take::Cell(order::conditions),
        document: None,
        traps: &[],
    },
    Rule {
        subject: "response limits",
        bound: Bound::Words("90th percentile of response at most 5 s, stock level 20 s"),
        beyond: Status::Suspect,
        advice: "ask for fewer users, or look at the load curve",
        take: Take::Cell(order::limits),
        document: None,
        traps: &[],
    },
    Rule {
        subject: "company",
        bound: Bound::Words("100,000 items, 3,000 customers a district"),
        beyond: Status::Suspect,
        advice: "leave the size as described; reduced ones are for tests of the tool",
        take: Take::Cell(order::company),
        document: None,
        traps: &[],
    },
    Rule {
        subject: "storage's part",
        bound: Bound::Least(STORAGE_SHARE_MIN),
        beyond: Status::Suspect,
        advice: "more warehouses or less cache make storage matter; what is measured here is processors and locks",
        take: Take::Cell(order::storage),
        document: None,
        traps: &[],
    },
    Rule {
        subject: "answers",
        bound: Bound::Words("every answer is what the model of the files says"),
        beyond: Status::Invalid,
        advice: "this stack gave wrong answers: do not use it; the events name the first",
        take: Take::Cell(serving::answers),
        document: Some(Document {
            figure: "answers of file serving that differ from the model: names, sizes, listings, identities, and each \
                 KiB read (file, place, version, CRC32C); those of a warm-up, and of a run that does not count, too",
            threshold: "0",
            beyond: "INVALID; NOTE where a listing was refused at first and then given",
            why: "one is enough",
        }),
        traps: &["a file server that gives a wrong answer"],
    },
    Rule {
        subject: "generator's lateness",
        bound: Bound::Most(0.05),
        beyond: Status::Suspect,
        advice: "raise `sessions`, or give the users a processor of their own: the time is the generator's, not the \
             server's",
        take: Take::Cell(serving::late),
        document: Some(Document {
            figure: "by how much the rate at the limit would be higher, if each operation were sent when it was due; \
                 without end where the ramp ended because no session was free",
            threshold: "",
            beyond: "",
            why: "response counts from the due time; what passes until the call is sent is no work of the server. At \
                 low loads it is a large share of response, which changes nothing at the limit. Not looked at \
                 without a server: users and file system share the processors, so calls wait for calls",
        }),
        traps: &["a generator that sends late"],
    },
    Rule {
        subject: "generator's ceiling",
        bound: Bound::Most(0.7),
        beyond: Status::Suspect,
        advice: "the generator may be the limit: use more hosts, or fewer calls a second",
        take: Take::Cell(serving::ceiling),
        document: Some(Document {
            figure: "the highest rate of the ramp, over the rate of the same work with a client that answers itself",
            threshold: "",
            beyond: "",
            why: "queues grow steeply from about there",
        }),
        traps: &["a ramp that comes near to its generator's ceiling"],
    },
    Rule {
        subject: "end of the ramp",
        bound: Bound::Words("outside the limit of response, or short of its load"),
        beyond: Status::Suspect,
        advice: "it is not ranked: add points to `load`, beyond the last or below the first",
        take: Take::Cell(serving::ended),
        document: Some(Document {
            figure: "blocks in which every point was inside the limit, or the first was outside already",
            threshold: "none",
            beyond: "",
            why: "a limit that was not reached is no figure",
        }),
        traps: &["a ramp that ends before the limit"],
    },
    serving::CONNECTIONS,
    serving::SUBSTITUTED,
    beside::OTHERS_CPU,
    beside::STOLEN,
    beside::THROTTLED,
    Rule {
        subject: "other processes' I/O",
        bound: Bound::WithFigure,
        beyond: Status::Suspect,
        advice: "stop what else uses the device (`iotop` says who), or use one of its own",
        take: Take::Cell(beside::others_io),
        document: Some(Document {
            figure: "what the nearest devices moved beyond what the engine requested (a mirror's copies counted), \
                 up to what other visible processes read or wrote. A directory that is read through the page cache: \
                 also what they read, if without it the device would not have moved what was asked. No line if the \
                 engine requested nothing, or if the host's processes are hidden (a container with its own process \
                 numbers, a `/proc` with `hidepid`)",
            threshold: "10 % and 16 MiB",
            beyond: "",
            why: "one of the two proves nothing alone: the first may be the stack's own inflation, the second \
                 another disk",
        }),
        traps: &["another process writes to the stack's own disk"],
    },
    Rule {
        subject: "clock",
        bound: Bound::WithFigure,
        beyond: Status::Suspect,
        advice: "durations are right, but stamps of servers and kernels moved: let the time daemon slew, not step, \
             and keep the host awake",
        take: Take::Cell(beside::clock),
        document: Some(Document {
            figure: "how far the wall clock was set; how long the host slept",
            threshold: "10 ms",
            beyond: "SUSPECT; INVALID",
            why: "durations come from a clock that is never set (CLOCK_MONOTONIC), but stamps of servers and logs \
                 do not; that clock stops while the host sleeps, and devices and their caches go on",
        }),
        traps: &[
            "the wall clock is set back by an hour",
            "the host sleeps in the middle of a phase",
        ],
    },
    Rule {
        subject: "slow LUN",
        bound: Bound::WithFigure,
        beyond: Status::Suspect,
        advice: "look at that LUN (the events of the phase name it): path, RAID group, neighbours; a stripe is as \
             fast as its slowest",
        take: Take::Cell(beside::slow_lun),
        document: Some(Document {
            figure: "mean time of a request on the slowest data LUN, over the median of the others, in the \
                 direction with more requests. No line if a LUN had under a tenth of the median's requests, if the \
                 slowest had over one and a half times as many, or if sizes differ by more than a quarter",
            threshold: "2 (and 20 us), the same LUN in all blocks",
            beyond: "",
            why: "a stripe is as fast as its slowest LUN; random requests on equal LUNs differ by far less",
        }),
        traps: &["a LUN slower than its fellows"],
    },
    Rule {
        subject: "device errors",
        bound: Bound::None,
        beyond: Status::Suspect,
        advice: "look into the kernel's log and at the devices (`smartctl`, `btrfs device stats`, `assay dg check`): \
             retries are slow, and the disk below may be failing; a SCSI or SATA disk also counts harmless answers \
             (a poll by `smartd`, a full queue, a reset), which the log does not show",
        take: Take::Cell(beside::device_errors),
        document: Some(Document {
            figure: "errors that the stack's devices counted themselves (SCSI and SATA disks, members of the \
                 kernel's arrays, btrfs), and reads of a mirrored disk group that another copy had to serve. One \
                 sum of those that count. A SCSI or SATA disk counts some answers that are no error",
            threshold: "none",
            beyond: "SUSPECT; one NOTE for the study if nobody counts them",
            why: "a retry that succeeds takes its time",
        }),
        traps: &[
            "a mirror that hides a disk whose pages come back wrong",
            "a mirror that hides a disk that reports errors",
        ],
    },
    Rule {
        subject: "foreign traffic",
        bound: Bound::WithFigure,
        beyond: Status::Suspect,
        advice: foreign::ADVICE,
        take: Take::Cell(foreign::foreign),
        document: Some(Document {
            figure: "what the lowest devices moved beyond the nearest",
            threshold: "10 % and 16 MiB",
            beyond: "SUSPECT. NOTE if the nearest counted nothing although the engine requested 1 MiB or more, or \
                 if a layer between moves other bytes than it gets (an array with redundancy, a cache, a snapshot, \
                 a part of one of LVM): the line names it. A mirror's reads keep the threshold all the same",
            why: "less is metadata; with native multipath of NVMe a partition counts nothing; a mirror writes \
                 twice and reads once",
        }),
        traps: &["the disk below is somebody else's too"],
    },
    Rule {
        subject: "way to ZFS",
        bound: Bound::Least(0.30),
        beyond: Status::Suspect,
        advice: "this way limits the rate; a kernel's ZFS costs less: believe bytes, extents and the ARC, and take \
             rates from slower LUNs (an array, a disk, a model of one) or from `via = \"kernel\"`",
        take: Take::Cell(|at| at.way()),
        document: Some(Document {
            figure: "idle share of these processors, for a pool that runs in a process (`userspace`, `fuse`)",
            threshold: "",
            beyond: "",
            why: "with less left, the rate is that of this way, which costs several times what a kernel's ZFS costs",
        }),
        traps: &["a_pool_in_a_process_is_doubted_where_processors_are_short"],
    },
    Rule {
        subject: "rate level",
        bound: Bound::WithFigure,
        beyond: Status::Suspect,
        advice: rate::ADVICE_FALL,
        take: Take::Cell(rate::level),
        document: Some(Document {
            figure: "the rate before and after the sharpest cut into two levels, of the phase and of the series of \
                 blocks. No line if work is due on a schedule",
            threshold: "no step of 20 % in most blocks, and none that stays",
            beyond: "",
            why: "see below",
        }),
        traps: &[
            "a device slows down by half half-way",
            "a device with burst credit",
            "a resync that ends half-way",
        ],
    },
    Rule {
        subject: "drift between blocks",
        bound: Bound::WithFigure,
        beyond: Status::Suspect,
        advice: "the mirrored order takes a steady drift out of ratios, but not out of this stack's own figures: \
             find what changed over the study",
        take: Take::Cell(rate::drift),
        document: Some(Document {
            figure: "change of the primary metric along the line of least squares from the first block to the last",
            threshold: "10 %, at a risk of 1 % by the t test of the slope",
            beyond: "",
            why: "the slope that the rule of steady state allows a phase",
        }),
        traps: &["a machine that gets slower from block to block"],
    },
    memory::ALIKE,
    Rule {
        subject: "data loss",
        bound: Bound::Words("everything acknowledged is there"),
        beyond: Status::Invalid,
        advice: "this stack loses data that it acknowledged: do not use it like this; the events name what was lost",
        take: Take::Losses(runs::lost),
        document: Some(Document {
            figure: "pages that came back wrong, also in a run that ended because of it; acknowledged work that a \
                 power cut or a kill lost; an answer to a question that is none, or that most runs or another user \
                 of the run do not have; a table that does not hold what was written",
            threshold: "0",
            beyond: "INVALID; SUSPECT if no answer has more than half of all runs",
            why: "one is enough",
        }),
        traps: &[
            "pages that come back wrong",
            "a stack that acknowledges flushes it has not done",
            "a file system mounted so that it passes no flushes on",
        ],
    },
    Rule {
        subject: "power cuts",
        bound: Bound::Words("everything acknowledged is there"),
        beyond: Status::Note,
        advice: "true for these cuts on these devices; more cuts prove more",
        take: Take::Runs(runs::cut),
        document: None,
        traps: &[],
    },
    Rule {
        subject: "write hole",
        bound: Bound::Words("parity matches after each cut"),
        beyond: Status::Note,
        advice: "nothing is lost while all LUNs are there: the array puts its parity right. A LUN lost with the power \
             would have been computed wrong there: md closes the hole with a journal or a partial parity log",
        take: Take::Runs(runs::write_hole),
        document: None,
        traps: &[],
    },
    Rule {
        subject: "kills",
        bound: Bound::Words("everything acknowledged is there"),
        beyond: Status::Note,
        advice: "a phase of kind `power_cut` on LUNs with a model proves more about the stack, and nothing about \
             these devices",
        take: Take::Runs(runs::killed),
        document: None,
        traps: &[],
    },
    Rule {
        subject: "data loss",
        bound: Bound::Words("0"),
        beyond: Status::Invalid,
        advice: "this stack lost data: do not use it; look into the kernel's log",
        take: Take::Losses(runs::bad_pages),
        document: None,
        traps: &[],
    },
    Rule {
        subject: "data loss",
        bound: Bound::Words("the answers of most runs"),
        beyond: Status::Invalid,
        advice: "this stack lost data: do not use it; look into the kernel's log",
        take: Take::Losses(runs::wrong_answers),
        document: None,
        traps: &[],
    },
    Rule {
        subject: "phase status",
        bound: Bound::Words("every run valid"),
        beyond: Status::Invalid,
        advice: "remove the cause and run the study again; this run is in no figure",
        take: Take::Runs(runs::invalid),
        document: Some(Document {
            figure: "runs that failed or are invalid, with the reason",
            threshold: "none",
            beyond: "",
            why: "an I/O error, a short transfer, a device that went away, a model that was late",
        }),
        traps: &["a read that brings a part of a page", "a device that reports an error"],
    },
    Rule {
        subject: "space",
        bound: Bound::Words("enough"),
        beyond: Status::Note,
        advice: "a result of this stack at this size: it is ranked only in what came before",
        take: Take::Runs(runs::full),
        document: Some(Document {
            figure: "a stack that had no room left",
            threshold: "enough",
            beyond: "",
            why: "a result; the stack is ranked up to there only",
        }),
        traps: &["a file system that fills up"],
    },
];
