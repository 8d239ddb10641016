//! Order entry: new orders per minute, each kind of transaction with both stamps against its limit, conditions,
//! waits, the storage's share.
//!
//! Takes the runs of one stack in one phase, gives [`OrderFigures`]. The work is derived from a published description
//! and is no result of the body that publishes it: the metric is new orders per minute, and nothing here has another
//! name for it. Prevents: orders that were rolled back in the rate, a rate quoted without the users who waited too
//! long for it, and processors and locks ranked as storage.

use crate::cells::counts::NEW_ORDER;
use crate::cells::latency::{of_each, quantiles, unsent_of_ended};
use crate::figures::{Figure, over, total};
use crate::history::{Runs, Seen};
use ledger::{AskedAt, LedgerError, Measure, OrderEntry, Stamp, decode_histogram};
use schemars::JsonSchema;
use serde::Serialize;

/// Below this share of the service time a phase of order entry does not measure storage, and is not ranked as if it
/// did.
pub const STORAGE_SHARE_MIN: f64 = 0.30;

/// The five kinds, in the order in which everybody names them.
const CLASSES: [&str; 5] = [NEW_ORDER, "payment", "order status", "delivery", "stock level"];

/// Latency of one kind of transaction between two stamps, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Percentiles {
    /// Half were faster.
    pub p50_ns: Option<Figure>,
    /// 90 % were faster.
    pub p90_ns: Option<Figure>,
    /// 99 % were faster.
    pub p99_ns: Option<Figure>,
}

/// One kind of transaction.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TransactionFigures {
    /// "new order", "payment", "order status", "delivery", "stock level".
    pub class: String,
    /// Share of all transactions that ended.
    pub share: Option<Figure>,
    /// Share of its own that were rolled back for their user's mistake.
    pub rolled_back_share: Option<Figure>,
    /// Tries that the database refused and that were made again, per transaction that ended.
    pub refused_per_transaction: Option<Figure>,
    /// Start to done, refused tries and waits for locks included.
    pub service: Percentiles,
    /// Due to done.
    pub response: Percentiles,
    /// The longest allowed 90th percentile of response, in nanoseconds.
    pub limit_ns: Option<f64>,
    /// The limit was kept in every block; `null` where there is no limit or nothing ended, and for a load curve: all
    /// its steps together are nobody's response.
    pub within_limit: Option<bool>,
}

/// Waits that are part of the service.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct WaitFigures {
    /// For what: "write lock".
    pub what: String,
    /// Mean wait, in nanoseconds.
    pub mean_ns: Option<Figure>,
    /// 99 % waited less, in nanoseconds.
    pub p99_ns: Option<Figure>,
    /// Share of the service time of all transactions.
    pub share_of_service: Option<Figure>,
}

/// The consistency conditions, asked and answered.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Conditions {
    /// Times a condition was asked before the phase, all blocks together; twelve a block when all were.
    pub asked_before: u32,
    /// After it.
    pub asked_after: u32,
    /// After a crash.
    pub asked_after_crash: u32,
    /// Those that did not hold, in words.
    pub broken: Vec<String>,
}

/// What a new order costs, the whole mix charged to it. Processor time in microseconds, the drain included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct CostPerNewOrder {
    /// Bytes that the lowest visible devices read.
    pub device_read_bytes: Option<Figure>,
    /// Bytes that the lowest visible devices wrote.
    pub device_written_bytes: Option<Figure>,
    /// Processor time of the whole system, not idle.
    pub cpu_us: Option<Figure>,
    /// Of it outside the kernel.
    pub cpu_user_us: Option<Figure>,
    /// Of it in the kernel.
    pub cpu_system_us: Option<Figure>,
    /// Of the database server's processes, user and system.
    pub cpu_server_us: Option<Figure>,
    /// Of kernel threads.
    pub cpu_kernel_us: Option<Figure>,
    /// Of the threads that play the users; with an embedded database they do its work too.
    pub cpu_client_us: Option<Figure>,
}

/// Order entry on one stack.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct OrderFigures {
    /// Users; of a load curve the most.
    pub users: u32,
    /// Warehouses.
    pub warehouses: u32,
    /// True for a company smaller than described: no figure of it says anything about a real one.
    pub reduced: bool,
    /// How transactions are kept apart.
    pub isolation: String,
    /// "closed" or "open".
    pub arrival: String,
    /// Users type and think; false: batch mode.
    pub pauses: bool,
    /// Where users work.
    pub home: String,
    /// New orders committed per minute of the users' work. The phase's primary metric charges the drain too.
    pub new_orders_per_minute: Option<Figure>,
    /// By kind.
    pub transactions: Vec<TransactionFigures>,
    /// Consistency.
    pub conditions: Conditions,
    /// Waits for locks.
    pub waits: Vec<WaitFigures>,
    /// Share of the service time, waits for locks taken off, that was spent in storage calls: an upper bound of the
    /// device's share. Its median over the blocks decides whether the phase is ranked.
    pub storage_share: Option<Figure>,
    /// Who told the time in storage calls.
    pub storage_told_by: Option<String>,
    /// What a new order costs.
    pub cost: CostPerNewOrder,
    /// Memory of the database server's processes at its highest, in bytes.
    pub memory_server_bytes_peak: Option<Figure>,
}

impl OrderFigures {
    /// Of the runs of one stack in one phase that count; `None` where none is of order entry. Conditions are those of
    /// `all` runs: one that is broken makes its run invalid.
    pub(crate) fn of(runs: &[&Seen], all: &[&Seen]) -> Result<Option<OrderFigures>, LedgerError> {
        let Some(first) = runs.iter().find_map(|run| run.orders.as_ref()) else {
            return Ok(None);
        };
        let mut transactions = Vec::new();
        for class in CLASSES {
            transactions.extend(transaction(class, runs)?);
        }
        Ok(Some(OrderFigures {
            users: first.users,
            warehouses: first.warehouses,
            reduced: first.items < 100_000 || first.customers < 3_000,
            isolation: first.isolation.as_str().into(),
            arrival: first.arrival.as_str().into(),
            pauses: first.pauses,
            home: first.home.as_str().into(),
            new_orders_per_minute: runs.figure(|run| per_minute(run.new_orders()?, run.run.elapsed_ns)),
            transactions,
            conditions: Conditions::of(all),
            waits: waits(runs, first)?,
            storage_share: storage_share(runs)?,
            storage_told_by: first.storage_told_by.clone(),
            cost: CostPerNewOrder::of(runs),
            memory_server_bytes_peak: runs.measured(Measure::MemoryServerBytesPeak),
        }))
    }

    /// Kinds whose 90th percentile of response was over its limit in some block.
    pub(crate) fn over_limit(&self) -> Vec<&TransactionFigures> {
        let over = |one: &&TransactionFigures| one.within_limit == Some(false);
        self.transactions.iter().filter(over).collect()
    }

    /// "100 users on 10 warehouses, closed, batch mode, read committed, any warehouse".
    pub(crate) fn words(&self) -> String {
        let pace = if self.pauses {
            "users type and think"
        } else {
            "batch mode"
        };
        let reduced = if self.reduced {
            ", a company of REDUCED size"
        } else {
            ""
        };
        format!(
            "{} users on {} warehouses{reduced}, {} arrival, {pace}, {}, {}",
            self.users, self.warehouses, self.arrival, self.isolation, self.home
        )
    }
}

/// `count` a minute of `ns`.
pub(crate) fn per_minute(count: f64, ns: u64) -> Option<f64> {
    over(Some(count * 60e9), Some(ns as f64))
}

impl CostPerNewOrder {
    fn of(runs: &[&Seen]) -> CostPerNewOrder {
        let per = |measure: Measure| runs.figure(|run| over(run.get(measure), run.new_orders()));
        let us = |measures: &[Measure]| runs.figure(|run| over(run.sum(measures).map(|ns| ns / 1e3), run.new_orders()));
        CostPerNewOrder {
            device_read_bytes: per(Measure::LowReadBytes),
            device_written_bytes: per(Measure::LowWriteBytes),
            cpu_us: us(&[Measure::CpuBusyNs]),
            cpu_user_us: us(&[Measure::CpuUserNs]),
            cpu_system_us: us(&[Measure::CpuSystemNs]),
            cpu_server_us: us(&[Measure::CpuServerUserNs, Measure::CpuServerSystemNs]),
            cpu_kernel_us: us(&[Measure::CpuKernelThreadsNs]),
            cpu_client_us: us(&[Measure::CpuClientUserNs, Measure::CpuClientSystemNs]),
        }
    }
}

impl Conditions {
    fn of(runs: &[&Seen]) -> Conditions {
        let mut found = Conditions::default();
        for run in runs {
            for one in run.orders.iter().flat_map(|orders| &orders.conditions) {
                match one.moment {
                    AskedAt::Before => found.asked_before += 1,
                    AskedAt::After => found.asked_after += 1,
                    AskedAt::AfterCrash => found.asked_after_crash += 1,
                }
                if one.found > 0 {
                    let words = broken(one);
                    if !found.broken.contains(&words) {
                        found.broken.push(words);
                    }
                }
            }
        }
        found
    }
}

fn broken(one: &ledger::ConditionRow) -> String {
    let moment = match one.moment {
        AskedAt::Before => "before it",
        AskedAt::After => "after it",
        AskedAt::AfterCrash => "after a crash",
    };
    format!(
        "consistency condition {} ({}) does not hold {moment}: {} rows break it",
        one.condition, one.says, one.found
    )
}

/// Why a stack cannot be ranked in a phase of order entry: a condition is broken in some run, or storage had too
/// small a part in those that count.
pub(crate) fn objection(valid: &[&Seen], all: &[&Seen]) -> Result<Option<String>, LedgerError> {
    let rows = all.iter().filter_map(|run| run.orders.as_ref());
    if let Some(row) = rows.flat_map(|orders| &orders.conditions).find(|row| row.found > 0) {
        return Ok(Some(broken(row)));
    }
    Ok(storage_share(valid)?.filter(|share| is_too_small(*share)).map(|share| {
        format!(
            "storage was at most {:.0} % of its service time without waits for locks, less than {:.0} %: processors \
             and locks were measured",
            share.median * 100.0,
            STORAGE_SHARE_MIN * 100.0
        )
    }))
}

/// The one rule by which storage had too small a part for its speed to be what was measured.
pub(crate) fn is_too_small(share: Figure) -> bool {
    share.median < STORAGE_SHARE_MIN
}

fn storage_share(runs: &[&Seen]) -> Result<Option<Figure>, LedgerError> {
    let mut shares = Vec::new();
    for run in runs {
        let told = storage_and_service(run)?;
        // Devices do what the kernel asks too, so that more may be told than there was to wait.
        shares.push(told.and_then(|(storage, service)| over(Some(storage.min(service)), Some(service))));
    }
    Ok(Figure::of(shares))
}

/// Nanoseconds in storage calls, and nanoseconds of service without waits for locks. A wait for a lock is another's
/// service, in which storage has the same share: counted, it would only say how many users there are.
fn storage_and_service(run: &Seen) -> Result<Option<(f64, f64)>, LedgerError> {
    let (Some(orders), Some(storage)) = (&run.orders, run.get(Measure::DatabaseStorageNs)) else {
        return Ok(None);
    };
    let waited = total(orders.waits.iter().map(|wait| wait.total_ns));
    let service = service_ns(run)? - waited as f64;
    Ok((service > 0.0).then_some((storage, service)))
}

/// Service of all transactions of a run, summed.
fn service_ns(run: &Seen) -> Result<f64, LedgerError> {
    let mut sum = 0.0;
    for row in run.of_stamp(Stamp::Service) {
        sum += row.usual()?.sum_ns;
    }
    Ok(sum)
}

fn transaction(class: &str, runs: &[&Seen]) -> Result<Option<TransactionFigures>, LedgerError> {
    let told = |run: &Seen| {
        let mut rows = run.orders.as_ref()?.transactions.iter();
        rows.find(|row| row.class == class).cloned()
    };
    let (response, p90s) = percentiles(runs, class, Stamp::Response)?;
    let (service, _) = percentiles(runs, class, Stamp::Service)?;
    if service.p50_ns.is_none() {
        return Ok(None);
    }
    let count = |run: &Seen| Some(run.of_class(class, Stamp::Response)?.count as f64);
    let limit_ns = runs.iter().find_map(|run| told(run)).map(|row| row.limit_ns as f64);
    let stepped = runs
        .iter()
        .filter_map(|run| run.orders.as_ref())
        .any(|orders| !orders.steps.is_empty());
    Ok(Some(TransactionFigures {
        class: class.into(),
        share: runs.figure(|run| {
            let all = total(run.of_stamp(Stamp::Response).map(|row| row.count));
            over(count(run), Some(all as f64))
        }),
        rolled_back_share: runs.figure(|run| {
            let row = run.of_class(class, Stamp::Response)?;
            over(Some(row.count.saturating_sub(row.units) as f64), Some(row.count as f64))
        }),
        refused_per_transaction: runs.figure(|run| {
            let told = told(run)?;
            over(Some((told.serialisation_failures + told.deadlocks) as f64), count(run))
        }),
        service,
        response,
        limit_ns,
        within_limit: limit_ns.filter(|_| !stepped).and_then(|limit| all_within(&p90s, limit)),
    }))
}

/// Percentiles over the blocks, and each block's 90th; `None`: that one was never sent.
fn percentiles(runs: &[&Seen], class: &str, stamp: Stamp) -> Result<(Percentiles, Vec<Option<f64>>), LedgerError> {
    let (mut p50s, mut p90s, mut p99s) = (Vec::new(), Vec::new(), Vec::new());
    for run in runs {
        let Some(row) = run.of_class(class, stamp) else {
            continue;
        };
        let usual = row.usual()?;
        let Some(said) = row.said()? else { continue };
        let [p50, p90, p99] = quantiles(
            row,
            unsent_of_ended(run, stamp),
            [0.5, 0.9, 0.99],
            [said.p50_ns, usual.p90_ns, said.p99_ns],
        )?;
        p50s.push(p50);
        p90s.push(p90);
        p99s.push(p99);
    }
    let of_all = |each: &[Option<f64>]| of_each(each.iter().copied());
    let percentiles = Percentiles {
        p50_ns: of_all(&p50s),
        p90_ns: of_all(&p90s),
        p99_ns: of_all(&p99s),
    };
    Ok((percentiles, p90s))
}

/// Whether each block keeps the limit; `None` where it is not known of one, and no other breaks it.
fn all_within(p90s: &[Option<f64>], limit_ns: f64) -> Option<bool> {
    if p90s.iter().flatten().any(|p90| *p90 > limit_ns) {
        return Some(false);
    }
    p90s.iter().all(Option::is_some).then_some(true)
}

fn waits(runs: &[&Seen], first: &OrderEntry) -> Result<Vec<WaitFigures>, LedgerError> {
    let mut found = Vec::new();
    for what in first.waits.iter().map(|wait| &wait.what) {
        let (mut means, mut p99s, mut shares) = (Vec::new(), Vec::new(), Vec::new());
        for run in runs {
            let rows = run.orders.iter().flat_map(|orders| &orders.waits);
            let Some(row) = rows.into_iter().find(|row| row.what == *what) else {
                continue;
            };
            let histogram = decode_histogram(&row.blob)?;
            means.push(over(Some(row.total_ns as f64), Some(row.count as f64)));
            p99s.push((!histogram.is_empty()).then(|| histogram.value_at_quantile(0.99) as f64));
            shares.push(over(Some(row.total_ns as f64), Some(service_ns(run)?)));
        }
        found.push(WaitFigures {
            what: what.clone(),
            mean_ns: Figure::of(means),
            p99_ns: Figure::of(p99s),
            share_of_service: Figure::of(shares),
        });
    }
    Ok(found)
}
