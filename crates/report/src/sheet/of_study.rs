//! The rules of the study: the file, its blocks, and what its stacks stand on.
//!
//! One row a rule, in the order of the lines. The words of the document stand with the bound that they explain.
//! Prevents: a threshold that nobody can find, or that the document gives otherwise.

use super::rule::{Bound, Document, Rule, Take};
use super::{hosts, place, sets, whole};
use crate::check::Status;

pub(crate) const RULES: &[Rule] = &[
    Rule {
        subject: "modelled device",
        bound: Bound::None,
        beyond: Status::Suspect,
        advice: "take it as a statement about the model, not about any hardware",
        take: Take::Study(whole::modelled),
        document: Some(Document {
            figure: "a device of the study is simulated in virtual time",
            threshold: "none",
            beyond: "SUSPECT; NOTE for a stack on LUNs that behave as another device",
            why: "a model must never pass for hardware",
        }),
        traps: &["a modelled disk that is taken for a real one"],
    },
    Rule {
        subject: "modelled device",
        bound: Bound::None,
        beyond: Status::Note,
        advice: "take it as a statement about that model; it is never ranked with a stack on real devices",
        take: Take::Stack(whole::on_a_model),
        document: None,
        traps: &[],
    },
    Rule {
        subject: "slow motion",
        bound: Bound::Words("the device's own pace"),
        beyond: Status::Note,
        advice: "compare ratios; take no rate and no time of this study for one of the device",
        take: Take::Study(whole::slow_motion),
        document: Some(Document {
            figure: "how many times slower than its device a model ran",
            threshold: "1",
            beyond: "",
            why: "the machine cannot play the device at its pace; ratios of stacks that wait for it stay, but what a \
                 host adds to each request weighs less",
        }),
        traps: &["models_in_slow_motion_say_so"],
    },
    Rule {
        subject: "old ZFS",
        bound: Bound::None,
        beyond: Status::Note,
        advice: "do not generalise to today's OpenZFS: use via = \"kernel\", or without files via = \"userspace\"",
        take: Take::Stack(whole::on_an_old_zfs),
        document: Some(Document {
            figure: "a stack is on zfs-fuse",
            threshold: "none",
            beyond: "",
            why: "its pools and its caches are those of about 2010",
        }),
        traps: &["a_stack_on_an_old_zfs_says_so"],
    },
    Rule {
        subject: "server's host",
        bound: Bound::None,
        beyond: Status::Note,
        advice: "watch that host by other means meanwhile (`vmstat 1`, `iostat -x 1`), or let Assay start a server \
             on a stack of its own",
        take: Take::Stack(whole::on_a_server),
        document: Some(Document {
            figure: "a stack is a server that was there before the study",
            threshold: "none",
            beyond: "",
            why: "processors, throttling, memory, other processes and devices have no line there: Assay sees only \
                 its own host's",
        }),
        traps: &["a server on a host that nobody looks at"],
    },
    Rule {
        subject: "processors' frequency",
        bound: Bound::Words("performance"),
        beyond: Status::Note,
        advice: "choose it for the study: `cpupower frequency-set --governor performance`",
        take: Take::Study(whole::governor),
        document: Some(Document {
            figure: "what chooses the frequency of the processors (`scaling_governor`), where the kernel shows it",
            threshold: "`performance`",
            beyond: "",
            why: "others follow the load: a stack that waits more for its devices gets slower processors, and its \
                 latency holds the time until they are fast again",
        }),
        traps: &["processors_that_follow_the_load_are_told"],
    },
    Rule {
        subject: "guest's processors",
        bound: Bound::None,
        beyond: Status::Note,
        advice: "compare CPU per operation, and the highest rates, only between stacks of this guest",
        take: Take::Study(whole::in_a_guest),
        document: Some(Document {
            figure: "the study ran in a guest of User-mode Linux \
                 ([a guest](volumes.md#a-guest-with-a-kernel-of-its-own))",
            threshold: "none",
            beyond: "",
            why: "each system call of such a guest costs several switches between processes of its host. Guests of \
                 other hypervisors have no line: their programs run on the processors themselves",
        }),
        traps: &["a_study_in_a_guest_says_whose_processors_it_counted"],
    },
    Rule {
        subject: "hosts that differ",
        bound: Bound::Words("no difference"),
        beyond: Status::Suspect,
        advice: "use hosts of one kind, with one kernel and one program; start ranks with `mpirun --bind-to none`, so \
             that each may use all processors",
        take: Take::Study(hosts::differ),
        document: Some(Document {
            figure: "kernel, processors online, processors that the rank may use, and program (SHA-256) of each other \
                 host, against those of rank 0's",
            threshold: "no difference",
            beyond: "",
            why: "a phase ends when its slowest instance does, and another build is another program",
        }),
        traps: &["hosts_that_differ_are_suspect_and_say_in_what"],
    },
    Rule {
        subject: "planted disadvantage",
        bound: Bound::None,
        beyond: Status::Suspect,
        advice: "take `inject` out of the study for a real comparison",
        take: Take::Stack(whole::planted),
        document: Some(Document {
            figure: "there is one",
            threshold: "none",
            beyond: "",
            why: "it must never pass for hardware",
        }),
        traps: &["one stack is slowed down on purpose"],
    },
    Rule {
        subject: "dropped blocks",
        bound: Bound::None,
        beyond: Status::Suspect,
        advice: "see the reasons at the dropped blocks",
        take: Take::Study(whole::dropped),
        document: Some(Document {
            figure: "blocks that do not count",
            threshold: "none",
            beyond: "SUSPECT, INVALID when no block is left",
            why: "",
        }),
        traps: &["a block that was left out"],
    },
    Rule {
        subject: "failed trials",
        bound: Bound::Words("none that was run again"),
        beyond: Status::Suspect,
        advice: "a stack that fails now and then is a result: the figures are those of the tries that came through",
        take: Take::Study(whole::run_again),
        document: Some(Document {
            figure: "trials that failed, and that `--resume` ran again",
            threshold: "none",
            beyond: "",
            why: "only the last try is in the figures; what an earlier one lost counts as data loss all the same, also \
                  if it was interrupted",
        }),
        traps: &["a_loss_in_a_trial_that_was_run_again_stays_a_loss"],
    },
    Rule {
        subject: "interrupted blocks",
        bound: Bound::Words("all stacks of a block in one run"),
        beyond: Status::Suspect,
        advice: "what changed on the host meanwhile counts as a difference of the stacks: see the ratios of these \
             blocks beside those of the others (`--full`), or run the study again",
        take: Take::Study(whole::interrupted),
        document: Some(Document {
            figure: "valid blocks with a trial that was interrupted and that `--resume` ran again, where another \
                 stack ran before that",
            threshold: "none",
            beyond: "",
            why: "stacks of one block are compared because they ran one after the other",
        }),
        traps: &["a_block_that_a_later_run_completed_is_suspect"],
    },
    Rule {
        subject: "what few blocks hide",
        bound: Bound::Words(
            "a correlation of 0.5, slow runs in half of the blocks and a change by a tenth would be seen",
        ),
        beyond: Status::Note,
        advice: "silence of the next three lines says little: more blocks or more ranked phases see more (`--extend`)",
        take: Take::Study(whole::hidden),
        document: Some(Document {
            figure: "the smallest correlation of one stack's ratios, the smallest share of blocks in which it has \
                 slow runs, and the smallest change between the halves, that the three lines below would find in 8 of \
                 10 such studies",
            threshold: "0.5, half of the blocks, a tenth",
            beyond: "",
            why: "silence of a test that cannot speak is no evidence; fewer than six blocks are not tested at all",
        }),
        traps: &["twelve_blocks_say_what_they_hide"],
    },
    Rule {
        subject: "neighbouring blocks",
        bound: Bound::Words("no more alike than chance explains"),
        beyond: Status::Suspect,
        advice: "the intervals are too narrow: find what lasts longer than a block (a cache that fills, upkeep, a \
             neighbour), make the phases longer than that, or run the study again on other days",
        take: Take::Study(whole::neighbours),
        document: Some(Document {
            figure: "correlation of neighbouring blocks' ratios, without a steady drift of the machine; of the \
                 stack where it is highest",
            threshold: "what chance gives in 1.6 % of studies: blocks in another order, 499 draws",
            beyond: "",
            why: "a verdict assumes that blocks are independent",
        }),
        traps: &["blocks_whose_ratios_wander_are_suspect"],
    },
    Rule {
        subject: "halves of the study",
        bound: Bound::Words("no further apart than chance explains"),
        beyond: Status::Suspect,
        advice: "the verdict mixes both halves: see the ratios block by block, and run the study again",
        take: Take::Study(whole::halves),
        document: Some(Document {
            figure: "ratio of the second half of the blocks over that of the first, in the stack where they differ \
                 most",
            threshold: "the same",
            beyond: "",
            why: "a verdict assumes one true ratio for all blocks",
        }),
        traps: &["a_ratio_that_changes_in_the_middle_is_suspect"],
    },
    Rule {
        subject: "one-sided runs",
        bound: Bound::Words("losses as often as gains"),
        beyond: Status::Suspect,
        advice: "the verdict mixes two kinds of runs: see the slowest runs, and what ran then (compaction, garbage \
             collection, a checkpoint)",
        take: Take::Study(whole::one_sided),
        document: Some(Document {
            figure: "runs with a tenth less than the stack's usual ratio, minus those with a tenth more",
            threshold: "what chance gives in 1.6 % of studies: blocks with the other sign, 499 draws",
            beyond: "",
            why: "few blocks may miss the slow runs, and the mean includes them",
        }),
        traps: &["runs_that_only_lose_are_suspect"],
    },
    Rule {
        subject: "LUN sets apart",
        bound: Bound::Words("each stack on each set equally often"),
        beyond: Status::Note,
        advice: "give all stacks one set with schedule = \"whole\", or sets of files alike in number, size and \
             directory, which take turns; with those, a number of blocks that the number of stacks divides",
        take: Take::Study(sets::sets_apart),
        document: Some(Document {
            figure: "number of valid blocks that a stack and its base ran on each LUN set",
            threshold: "none",
            beyond: "",
            why: "what the LUNs differ by counts as a difference of the stacks",
        }),
        traps: &[
            "stacks_on_sets_of_their_own_say_so",
            "sets_that_take_turns_are_silent_and_uneven_turns_are_counted",
        ],
    },
    Rule {
        subject: "recorded looks",
        bound: Bound::None,
        beyond: Status::Suspect,
        advice: "three causes: a stack left the ranking later and brought dropped blocks back, another version of \
             assay ran the study, or somebody edited the file. See what is not ranked, and compare the tool versions",
        take: Take::Study(whole::looks),
        document: Some(Document {
            figure: "verdicts that differ between the file's numbers and the run's record",
            threshold: "none",
            beyond: "",
            why: "an edit, or another version",
        }),
        traps: &["a verdict written into a file that is sealed anew"],
    },
    Rule {
        subject: "older studies",
        bound: Bound::None,
        beyond: Status::Note,
        advice: "report all of them: a verdict of the better of two is not protected. Where something is open, add \
             blocks to one of them (`assay run --extend FILE`)",
        take: Take::Study(whole::older_studies),
        document: Some(Document {
            figure: "result files of the same stacks and phases in the directory of this one, when it began",
            threshold: "none",
            beyond: "",
            why: "studies that are repeated until one agrees err more often with each",
        }),
        traps: &["a_study_beside_an_older_one_says_so"],
    },
    Rule {
        subject: "seeds",
        bound: Bound::Words("one in a block, another in each"),
        beyond: Status::Invalid,
        advice: "blocks of one seed are one measurement, not repeats: run the study again",
        take: Take::Study(place::seeds),
        document: Some(Document {
            figure: "blocks with the seed of another; blocks whose stacks had different seeds",
            threshold: "none",
            beyond: "",
            why: "blocks of one seed are one measurement",
        }),
        traps: &["a seed used again in every block"],
    },
    Rule {
        subject: "result file",
        bound: Bound::Words("every table as it was sealed"),
        beyond: Status::Invalid,
        advice: "do not believe it: get the file as its run left it, or run the study again",
        take: Take::Study(place::sealed),
        document: Some(Document {
            figure: "tables that changed after the study ended (SHA-256 of each), or that lack their checksum",
            threshold: "none",
            beyond: "",
            why: "it was edited, and `--resume` refuses it; [the result file](result-file.md) says what a seal \
                 without a secret proves",
        }),
        traps: &[
            "a result file edited by hand",
            "an edited file without the seal of what was edited",
        ],
    },
    Rule {
        subject: "durability",
        bound: Bound::Words("acknowledged data survive a power cut"),
        beyond: Status::Note,
        advice: "add a phase of kind `power_cut`, on LUNs with a model; on other LUNs one of kind `kill`, which is \
             weaker",
        take: Take::Study(place::durability),
        document: Some(Document {
            figure: "whether the power was cut under every stack that takes part, with something acknowledged and \
                 writes unflushed",
            threshold: "under all",
            beyond: "",
            why: "a speed says nothing about what is kept. A kill is weaker than a power cut, and a kill of the \
                 engine alone is weaker still. A cut that finds nothing unflushed shows nothing of a database \
                 (judged by run, not by single cut). A loss in a cut or a kill comes first",
        }),
        traps: &["a speed of which nobody asked what is kept"],
    },
    Rule {
        subject: "device errors",
        bound: Bound::None,
        beyond: Status::Note,
        advice: "look into the kernel's log after the run",
        take: Take::Study(place::errors_counted),
        document: None,
        traps: &[],
    },
    Rule {
        subject: "mount options",
        bound: Bound::Words("alike on one kind of file system, flushes passed on"),
        beyond: Status::Suspect,
        advice: "mount both alike, or set the option in the study if it is your question",
        take: Take::Study(place::mount_options),
        document: Some(Document {
            figure: "options that differ between stacks on one kind of file system; options that hold back \
                 flushes. Not counted: the device's geometry for a directory that is used as it is, and the name \
                 of a device for the log or for data of real time (that there is one counts)",
            threshold: "none",
            beyond: "SUSPECT; NOTE if the study's own keys set them",
            why: "another option is another stack",
        }),
        traps: &["two stacks with unlike mount options"],
    },
    Rule {
        subject: "commits",
        bound: Bound::None,
        beyond: Status::Suspect,
        advice: "give all stacks the same settings; a commit that waits for no disk is faster for that alone",
        take: Take::Study(place::commits),
        document: Some(Document {
            figure: "stacks with a setting that acknowledges commits before they are durable: `fsync` or \
                     `synchronous_commit` off, SQLite's `synchronous` below `full`, a dataset with `sync = disabled`",
            threshold: "none",
            beyond: "SUSPECT; NOTE if all stacks have the same",
            why: "such a stack is compared with stacks that wait for their disks",
        }),
        traps: &["a stack that does not wait for its disk"],
    },
    Rule {
        subject: "read-ahead",
        bound: Bound::Words("alike on all stacks"),
        beyond: Status::Suspect,
        advice: "set it alike (`blockdev --setra`): it decides how fast the page cache scans",
        take: Take::Study(place::read_ahead),
        document: Some(Document {
            figure: "read-ahead of the nearest devices, stack by stack",
            threshold: "alike",
            beyond: "SUSPECT if a stack reads through the page cache, else NOTE",
            why: "direct reads do not use it",
        }),
        traps: &["another read-ahead on one side"],
    },
    Rule {
        subject: "LUNs alike",
        bound: Bound::Words("no difference"),
        beyond: Status::Suspect,
        advice: "use LUNs of one kind, size and setting: a stripe is as fast as its slowest",
        take: Take::Each(place::luns_alike),
        document: Some(Document {
            figure: "size, blocks, scheduler, write cache, rotation, model of the LUNs of a set",
            threshold: "no difference",
            beyond: "",
            why: "a stripe is as fast as its slowest",
        }),
        traps: &["LUNs that are not alike"],
    },
    Rule {
        subject: "LUN whole",
        bound: Bound::Least(0.99),
        beyond: Status::Suspect,
        advice: "write the file in full first, with data that do not compress: a read of what was never written \
             meets no disk",
        take: Take::Each(place::luns_whole),
        document: Some(Document {
            figure: "allocated share of the file under a loop device that the user named, before the study",
            threshold: "",
            beyond: "",
            why: "a read of what was never written meets no disk; 1 % is metadata",
        }),
        traps: &["a sparse file that was never written"],
    },
    Rule {
        subject: "direct access",
        bound: Bound::Words("around the page cache"),
        beyond: Status::Suspect,
        advice: "write `access = \"buffered\"` for all stacks, or use a file system that keeps O_DIRECT",
        take: Take::TakingPart(place::direct),
        document: Some(Document {
            figure: "the way that reads and writes really took on a stack that asked for O_DIRECT; Assay looks \
                 into the page cache",
            threshold: "around it",
            beyond: "SUSPECT for reads and if another stack kept it, else NOTE; NOTE if Assay could not see a way, \
                 SUSPECT if there is no device below",
            why: "a flag is only a request",
        }),
        traps: &[
            "a target that takes O_DIRECT and ignores it",
            "a file system on a disk that takes O_DIRECT and ignores it",
        ],
    },
    Rule {
        subject: "cold page cache",
        bound: Bound::Words("emptied before each phase"),
        beyond: Status::Note,
        advice: "run as root, or set `memory.budget` where this user has a control group of its own",
        take: Take::TakingPart(place::caches),
        document: Some(Document {
            figure: "who empties the page cache before each phase, for a stack that reads through it",
            threshold: "root, or the run's memory group (with cgroup v2 from Linux 5.19 on)",
            beyond: "",
            why: "the cache may answer with what loading wrote. How many reads it answered, provenance counts",
        }),
        traps: &["a_page_cache_that_nobody_empties_has_a_line"],
    },
    Rule {
        subject: "alignment",
        bound: Bound::Words("a multiple of the physical block"),
        beyond: Status::Suspect,
        advice: "make the partition anew on a boundary of 1 MiB: every request now touches one block too many",
        take: Take::TakingPart(place::alignment),
        document: Some(Document {
            figure: "first byte of a partition, or of a loop device in its file, of every device from the nearest \
                 down to the lowest",
            threshold: "a multiple of the physical block, at least 4 KiB",
            beyond: "",
            why: "every request touches one block too many",
        }),
        traps: &["a partition that begins in the middle of a block"],
    },
    Rule {
        subject: "data",
        bound: Bound::WithFigure,
        beyond: Status::Suspect,
        advice: "a stack or array that compresses or deduplicates stores and moves next to none of it: lower \
             `database.compressibility` and `database.duplication`",
        take: Take::TakingPart(place::data),
        document: Some(Document {
            figure: "compressibility and copies found in 64 random pages of the loaded database, read back (deflate, \
                 page by page; equal blocks of 4 KiB). PostgreSQL and SQLite in files: without pages of zeros. In a \
                 disk group there is no such line",
            threshold: "15 % above the declared; 4 to 1; 20 % copies. A database in SQL declares nothing",
            beyond: "SUSPECT; NOTE if declared, and below the limits",
            why: "headers and rounding explain some percent; the data of databases compress two to four times",
        }),
        traps: &["data that is nearly all zeros", "deduplicated data"],
    },
    Rule {
        subject: "compression",
        bound: Bound::WithFigure,
        beyond: Status::Suspect,
        advice: "what the array keeps is not what the study says of its data: give the redo log LUNs of its own \
             (`redo`), for it is filled with noise, and change `database.compressibility`",
        take: Take::TakingPart(place::compression),
        document: Some(Document {
            figure: "compressibility of all that was written to the reduced LUNs of a modelled array, unit by unit \
                 (LZ4, before granules), at the end of the last phase",
            threshold: "15 % of the declared",
            beyond: "",
            why: "a capacity is one of these data; headers and rounding explain some percent",
        }),
        traps: &["an array that is given other data than declared"],
    },
];
