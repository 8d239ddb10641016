//! What is checked of what the stacks stand on: LUNs, devices, partitions, mount options, access, data, seeds, and the
//! file itself.
//!
//! Takes the facts of the gathered file, gives what was found of the study as a whole. Prevents: a comparison of two
//! mount options, two LUNs or two read-aheads that is read as one of two stacks.

use super::rule::Taken;
use crate::analysis::Analysis;
use crate::check::Status;
use crate::figures::over;
use crate::format::{bytes, number, percent};
use crate::grouped::distinct;
use crate::history::{Book, Runs, Seen};
use crate::ranking::rank::taking_part;
use crate::ranking::refusals::Seeds;
use ledger::{Access, CachesEmptied, FactName, FactValue, Measure, Role, Scope, Seal, Stack, Way};
use std::collections::{BTreeMap, BTreeSet};

/// Sectors, pages and file system blocks of today; a start that is no multiple of it splits requests in two.
const ALIGNMENT_MIN: u64 = 4096;
/// What data found may differ from what was declared: headers and cells are neither noise nor copies.
const DATA_SLACK: f64 = 0.15;
/// Data of databases compresses two to four times; more is a statement about zeros.
const COMPRESSIBILITY_MAX: f64 = 4.0;
/// From so many copies on a deduplicating device stores another amount of data than was written.
const DUPLICATION_MAX: f64 = 0.20;

pub(crate) fn sealed(book: &Book, _: &Analysis) -> Option<Taken> {
    Some(match &book.seal {
        Seal::None => return None,
        Seal::Whole(digits) => Taken::holds(true, format!("as its run left it, seal {digits}")),
        Seal::Broken(tables) => Taken::broken(format!("changed after the study ended: {}", tables.join(", "))),
    })
}

/// Settings with which a database acknowledges what a crash may take: of PostgreSQL, and of SQLite.
const WAIVES: [(&str, &str); 4] = [
    ("fsync", "off"),
    ("synchronous_commit", "off"),
    ("sqlite synchronous", "0"),
    ("sqlite synchronous", "1"),
];

/// A stack that does not wait for its disk is faster for that alone.
pub(crate) fn commits(book: &Book, _: &Analysis) -> Option<Taken> {
    let mut of_stacks = Vec::new();
    for stack in taking_part(book) {
        let database = crate::stacks::databases::of_stack(book, &stack.name);
        let sync = book
            .of_stack(&stack.name, FactName::DatasetSync)
            .and_then(FactValue::text);
        if database.is_none() && sync.is_none() {
            continue;
        }
        let settings = database.iter().flat_map(|of| &of.settings);
        let waives = settings.filter(|one| WAIVES.contains(&(&*one.name, &*one.value)));
        let mut waives: Vec<String> = waives.map(|one| format!("{} = {}", one.name, one.value)).collect();
        waives.extend((sync == Some("disabled")).then(|| "dataset sync = disabled".to_string()));
        of_stacks.push((&stack.name, waives));
    }
    let (_, usual) = of_stacks.first()?;
    let status = match of_stacks.iter().any(|(_, waives)| waives != usual) {
        true => Status::Suspect,
        false if usual.is_empty() => Status::Valid,
        false => Status::Note,
    };
    let said = of_stacks.iter().filter(|(_, waives)| !waives.is_empty());
    let said: Vec<String> = said
        .map(|(stack, waives)| format!("{stack}: {}", waives.join(", ")))
        .collect();
    let figure = match status {
        Status::Valid => "no setting acknowledges a commit before it is durable".to_string(),
        _ => said.join("; "),
    };
    Some(Taken::judged(status, figure))
}

/// Once for the study: whether anybody looked that what was acknowledged stays.
pub(crate) fn durability(book: &Book, _: &Analysis) -> Option<Taken> {
    if book.study.modelled || book.phases.is_empty() {
        return None;
    }
    let (status, figure) = crate::words::cuts::looked_at(book, &taking_part(book).collect::<Vec<_>>());
    Some(Taken::judged(status, figure))
}

/// Said once where no device of any stack counts its errors; where one does, the phases have lines.
pub(crate) fn errors_counted(book: &Book, _: &Analysis) -> Option<Taken> {
    let runs = || book.trials().flat_map(|(.., ran)| ran.phases.values());
    let observed = runs().any(|run| run.get(Measure::ClockStepNs).is_some());
    let counted = runs().any(|run| run.get(Measure::DeviceErrors).is_some());
    let said = "not checked: no device of these stacks has a counter that is cheap to read";
    (observed && !counted).then(|| Taken::broken(said))
}

/// Blocks are repeats only if they differ in what chance decides, and comparable only if their stacks do not.
pub(crate) fn seeds(book: &Book, _: &Analysis) -> Option<Taken> {
    let Seeds { blocks, again, unlike } = Seeds::of(book);
    if blocks == 0 {
        return None;
    }
    Some(match (unlike, again) {
        (0, 0) => Taken::holds(true, format!("{blocks} blocks, a seed each")),
        (0, again) => Taken::broken(format!("{again} of {blocks} blocks have the seed of another")),
        (unlike, _) => Taken::broken(format!("in {unlike} of {blocks} blocks the stacks had unlike seeds")),
    })
}

/// The same file system with unlike options is another stack.
pub(crate) fn mount_options(book: &Book, _: &Analysis) -> Option<Taken> {
    let mut of_kind: BTreeMap<&str, Vec<(&Stack, BTreeSet<&str>)>> = BTreeMap::new();
    let mut unsafe_ones = Vec::new();
    let has_directory = taking_part(book).any(|stack| stack.kind == "directory");
    for stack in taking_part(book) {
        let Some(options) = book
            .of_stack(&stack.name, FactName::MountOptions)
            .and_then(FactValue::text)
        else {
            continue;
        };
        let left_out = |option: &str| {
            let starts = |with: &&str| option.starts_with(*with);
            OF_THE_PLACE.iter().any(starts) || (has_directory && OF_THE_DEVICE.iter().any(starts))
        };
        let options = options.split(',').filter(|option| !left_out(option));
        let options: BTreeSet<&str> = options.map(without_place).collect();
        if let Some(off) = options.iter().find(|option| NO_FLUSHES.contains(option)) {
            unsafe_ones.push(format!("{} has {off}", stack.name));
        }
        let kind = book
            .of_stack(&stack.name, FactName::FileSystem)
            .and_then(FactValue::text);
        let kind = kind.unwrap_or(&stack.kind);
        of_kind.entry(kind).or_default().push((stack, options));
    }
    if of_kind.is_empty() {
        return None;
    }
    let mut unlike = Vec::new();
    let mut undeclared = false;
    for (kind, all) in &of_kind {
        let (first, usual) = &all[0];
        for (stack, options) in all.iter().skip(1).filter(|(_, options)| options != usual) {
            let more: Vec<&str> = options.difference(usual).copied().collect();
            let less: Vec<&str> = usual.difference(options).copied().collect();
            unlike.push(format!(
                "{kind}: {} has [{}], {} has [{}]",
                first.name,
                less.join(","),
                stack.name,
                more.join(",")
            ));
            undeclared |= [first, stack].iter().any(|stack| stack.kind == "directory");
        }
    }
    let status = match (unlike.is_empty(), unsafe_ones.is_empty()) {
        (true, true) => Status::Valid,
        (_, false) => Status::Suspect,
        _ if undeclared => Status::Suspect,
        // What the study itself asked for is its question.
        _ => Status::Note,
    };
    let is_compared = of_kind.values().any(|all| all.len() > 1);
    let figure = match status {
        Status::Valid if is_compared => "alike".to_string(),
        Status::Valid => "one stack of each kind: nothing to compare; flushes are passed on".to_string(),
        _ => unlike.into_iter().chain(unsafe_ones).collect::<Vec<_>>().join("; "),
    };
    Some(Taken::judged(status, figure))
}

/// Options with which a file system tells its device nothing of what must be durable.
const NO_FLUSHES: [&str; 2] = ["nobarrier", "barrier=0"];
/// Options that name the place.
const OF_THE_PLACE: [&str; 3] = ["device=", "subvol=", "subvolid="];
/// Options that come of the device's geometry when a file system is made: where the study makes them they are its
/// question, of a directory that is there nobody chose them.
const OF_THE_DEVICE: [&str; 3] = ["sunit=", "swidth=", "stripe="];
/// Options whose value names the place, and that are a difference by being there: a log or data on a device of their
/// own.
const ON_ANOTHER_DEVICE: [&str; 2] = ["logdev", "rtdev"];

/// The option, less the name of the device that it is about.
fn without_place(option: &str) -> &str {
    let (name, _) = option.split_once('=').unwrap_or((option, ""));
    match ON_ANOTHER_DEVICE.contains(&name) {
        true => name,
        false => option,
    }
}

pub(crate) fn read_ahead(book: &Book, _: &Analysis) -> Option<Taken> {
    let known: Vec<(&Stack, &FactValue)> = taking_part(book)
        .filter_map(|stack| Some((stack, book.of_stack(&stack.name, FactName::ReadAhead)?)))
        .collect();
    let (_, first) = known.first()?;
    let differs = known.iter().any(|(_, ahead)| ahead != first);
    // Direct reads take no part in it.
    let matters = known.iter().any(|(stack, _)| reads_through_cache(book, stack));
    let status = match (differs, matters) {
        (false, _) if known.len() < taking_part(book).count() => Status::Note,
        (false, _) => Status::Valid,
        (true, true) => Status::Suspect,
        (true, false) => Status::Note,
    };
    let said: Vec<String> = known
        .iter()
        .map(|(stack, ahead)| format!("{} {ahead} KiB", stack.name))
        .collect();
    let figure = if differs {
        said.join(", ")
    } else {
        let of = known.len();
        match of == taking_part(book).count() {
            true => format!("{first} KiB on all"),
            false => format!(
                "{first} KiB on {of} of {} stacks; of the others it is not known",
                taking_part(book).count()
            ),
        }
    };
    Some(Taken::judged(status, figure))
}

pub(crate) fn luns_alike(book: &Book) -> Vec<Taken> {
    let mut of_set: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for fact in book.disclosed.facts() {
        match &fact.scope {
            // A LUN of it: the set is there, and nothing is unlike by that alone.
            Scope::Lun(set, Some(_)) => drop(of_set.entry(set).or_default()),
            Scope::Lun(set, None) if fact.key.name == FactName::Unlike => {
                of_set.entry(set).or_default().extend(fact.value.text());
            }
            _ => {}
        }
    }
    let of = |(set, unlike): (&str, Vec<&str>)| match unlike.first() {
        None => Taken::holds(true, format!("{set}: alike")),
        Some(first) => Taken::broken(format!("{set}: {} differences: {first}", unlike.len())),
    };
    of_set.into_iter().map(of).collect()
}

/// What lies in a sparse file was never written: it is read from nowhere, at the speed of memory.
pub(crate) fn luns_whole(book: &Book) -> Vec<Taken> {
    let of = |fact: &ledger::Fact| {
        let (Scope::Lun(set, Some(number)), FactName::LoopBackingAllocated) = (&fact.scope, fact.key.name) else {
            return None;
        };
        let allocated = fact.value.number()?;
        let whole = book.fact(&fact.scope, FactName::LoopBackingBytes)?.number()?;
        let share = allocated / whole.max(1.0);
        let figure = format!(
            "{set}:{number}: {} of {} were on the disk before the study",
            bytes(allocated),
            bytes(whole)
        );
        Some(Taken::share(share, figure))
    };
    book.disclosed.facts().iter().filter_map(of).collect()
}

/// A fact that says which way was seen.
type WayFact = (FactName, Role);

const READS: WayFact = (FactName::ReadsGo, Role::Data);
const WAYS: [WayFact; 3] = [
    READS,
    (FactName::WritesGo, Role::Data),
    (FactName::WritesGo, Role::Redo),
];

/// Which way it goes on a stack, where that is known.
fn goes(book: &Book, stack: &Stack, (name, role): &WayFact) -> Option<Way> {
    book.way(&stack.name, *name, *role)
}

/// Whether the page cache may answer its reads.
fn reads_through_cache(book: &Book, stack: &Stack) -> bool {
    stack.access == Access::Buffered || goes(book, stack, &READS) == Some(Way::Through)
}

/// Whether the page cache may still hold what loading wrote, or what an earlier phase read.
pub(crate) fn caches(book: &Book, stack: &Stack) -> Option<Taken> {
    let FactValue::Emptied(by) = book.fact(&Scope::Study, FactName::CachesEmptiedBy)? else {
        return None;
    };
    let figure = match by {
        CachesEmptied::Root => "root empties the page cache of the whole host before each phase",
        CachesEmptied::Group => "the run's memory group gives up its page cache before each phase",
        CachesEmptied::Nobody => "nobody empties the page cache before its phases",
    };
    reads_through_cache(book, stack).then(|| Taken::holds(*by != CachesEmptied::Nobody, figure))
}

/// What goes there: "data reads".
fn flow((name, role): &WayFact) -> String {
    let what = if *name == FactName::ReadsGo { "reads" } else { "writes" };
    format!("{} {what}", role.as_str())
}

/// Whether direct access was what it was called: seen, not believed.
pub(crate) fn direct(book: &Book, stack: &Stack) -> Option<Taken> {
    if stack.access != Access::Direct {
        return None;
    }
    let known: Vec<(WayFact, Way)> = WAYS
        .into_iter()
        .filter_map(|fact| Some((fact, goes(book, stack, &fact)?)))
        .collect();
    if known.is_empty() {
        return None;
    }
    let of = |wanted: Way| -> Vec<WayFact> {
        let found = known.iter().filter(|(_, way)| *way == wanted);
        found.map(|(fact, _)| *fact).collect()
    };
    let (cached, unseen) = (of(Way::Through), of(Way::Unknown));
    // Where nothing lies below, the cache is all there is.
    let lowest = book.of_stack(&stack.name, FactName::LowestDevices);
    let is_memory = lowest.is_some_and(|lowest| lowest.names().is_empty());
    if cached.is_empty() && !unseen.is_empty() {
        let reads_unseen = unseen.contains(&READS);
        let (status, figure) = match is_memory && reads_unseen {
            true => (
                Status::Suspect,
                "O_DIRECT is taken, and no device lies below: memory answers".to_string(),
            ),
            false => {
                let ways: Vec<String> = unseen.iter().map(flow).collect();
                (
                    Status::Note,
                    format!("Assay could not see which way {} go", ways.join(" and ")),
                )
            }
        };
        let advice = "measure on storage; or believe provenance, which counts what devices moved";
        return Some(Taken::judged(status, figure).advising(advice));
    }
    let one_sided = |fact: &WayFact| taking_part(book).any(|other| goes(book, other, fact) == Some(Way::Around));
    let status = match cached.as_slice() {
        [] => Status::Valid,
        ways if ways.contains(&READS) || ways.iter().any(one_sided) => Status::Suspect,
        _ => Status::Note,
    };
    let figure = match cached.is_empty() {
        true => "reads and writes go around the page cache".to_string(),
        false => format!(
            "O_DIRECT is taken and not kept: {} through the page cache",
            cached
                .iter()
                .map(|(name, role)| name.on(*role).to_string())
                .collect::<Vec<_>>()
                .join(", ")
        ),
    };
    Some(Taken::judged(status, figure))
}

pub(crate) fn alignment(book: &Book, stack: &Stack) -> Option<Taken> {
    let mut seen = false;
    let mut askew = Vec::new();
    for device in book.devices(&stack.name) {
        let scope = Scope::Device(device.into());
        let number = |name: FactName| book.fact(&scope, name)?.whole();
        seen |= book.fact(&scope, FactName::Device).is_some();
        let wanted = number(FactName::PhysicalBlockBytes).unwrap_or(0).max(ALIGNMENT_MIN);
        for name in [FactName::PartitionStartBytes, FactName::LoopOffsetBytes] {
            if let Some(start) = number(name).filter(|start| start % wanted != 0) {
                askew.push(format!("{device} begins at byte {start}, no multiple of {wanted}"));
            }
        }
    }
    if !seen {
        return None;
    }
    Some(match askew.is_empty() {
        true => Taken::holds(true, "begins where its blocks do"),
        false => Taken::broken(distinct(askew).join("; ")),
    })
}

/// A number or a share that the study declares.
fn declared(book: &Book, key: &str) -> Option<f64> {
    let value = book.setting(key)?.trim_matches('"');
    let share = value
        .strip_suffix('%')
        .map(|percents| percents.trim().parse::<f64>().map(|p| p / 100.0));
    share.unwrap_or_else(|| value.parse()).ok()
}

/// What an array with inline reduction found in all that was written to it, against what the study declared.
pub(crate) fn compression(book: &Book, stack: &Stack) -> Option<Taken> {
    let written = |run: &Seen| run.get(Measure::ArrayDistinctBytes).is_some_and(|bytes| bytes > 0.0);
    let mut phases = book.phases.iter().rev().map(|head| book.valid(&stack.name, &head.name));
    let last = phases.find(|runs| runs.iter().any(|run| written(run)))?;
    let packed = |run: &Seen| over(run.get(Measure::ArrayDistinctBytes), run.get(Measure::ArrayPackedBytes));
    let found = last.figure(packed)?.median;
    let wanted = declared(book, "database.compressibility").unwrap_or(1.0);
    let is_near = (wanted / (1.0 + DATA_SLACK)..=wanted * (1.0 + DATA_SLACK)).contains(&found);
    let figure = format!(
        "the array compresses what was written {} to 1 ({} declared)",
        number(found),
        number(wanted)
    );
    let bound = format!("within {} of the declared", percent(DATA_SLACK));
    Some(Taken::holds(is_near, figure).against(bound))
}

/// What was found in pages of the loaded database against what the study declared.
pub(crate) fn data(book: &Book, stack: &Stack) -> Option<Taken> {
    let number_of = |name: FactName| book.of_stack(&stack.name, name)?.number();
    let (packed, copied) = (
        number_of(FactName::CompressibilityFound)?,
        number_of(FactName::DuplicationFound)?,
    );
    let is_unreal = packed > COMPRESSIBILITY_MAX || copied > DUPLICATION_MAX;
    if crate::stacks::databases::of_stack(book, &stack.name).is_some() {
        return Some(data_in_sql(packed, copied, is_unreal));
    }
    let wanted_packed = declared(book, "database.compressibility").unwrap_or(1.0);
    let wanted_copied = declared(book, "database.duplication").unwrap_or(0.0);
    let is_other = packed > wanted_packed * (1.0 + DATA_SLACK) || copied > wanted_copied + DATA_SLACK;
    let status = match (is_other || is_unreal, wanted_packed > 1.0 || wanted_copied > 0.0) {
        (true, _) => Status::Suspect,
        (false, true) => Status::Note,
        (false, false) => Status::Valid,
    };
    let figure = format!(
        "compresses {} to 1 ({} declared), {} of its blocks of 4 KiB are copies ({} declared)",
        number(packed),
        number(wanted_packed),
        percent(copied),
        percent(wanted_copied)
    );
    let wanted = format!(
        "as declared, at most {} to 1 and {} copies",
        number(COMPRESSIBILITY_MAX),
        percent(DUPLICATION_MAX)
    );
    Some(Taken::judged(status, figure).against(wanted))
}

/// Rows of a database in SQL are what its workload says: nothing is declared.
fn data_in_sql(packed: f64, copied: f64, is_unreal: bool) -> Taken {
    let figure = format!(
        "compresses {} to 1, {} of its blocks of 4 KiB are copies",
        number(packed),
        percent(copied)
    );
    let wanted = format!(
        "at most {} to 1 and {} copies",
        number(COMPRESSIBILITY_MAX),
        percent(DUPLICATION_MAX)
    );
    let advice =
        "a stack or array that compresses stores less of such tables than of others: compare stacks without it";
    Taken::holds(!is_unreal, figure).against(wanted).advising(advice)
}
