//! The crash machine: one seed makes a small database, works on it, cuts the power, recovers, and checks; several lives
//! long.
//!
//! The oracle knows nothing of the engine's insides: it holds a version per page, the transactions that were formed and
//! which of them were acknowledged. After each recovery: an acknowledged transaction is there whole, any other whole or
//! not at all, nothing else has changed, and every page has exactly the content that its version demands.

mod lent;
mod scenario;

pub(crate) use lent::Lent;
pub(crate) use scenario::{Scenario, scenario};

use pages::{HEADER_BYTES, Instance, PagesError, RandomWork, RedoWork, Transaction, expected_body};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::HashMap;
use targets::{Disks, ModelPort, Port, PowerFails, TargetError};
use workloads::{Operation, Started};

/// What must be true of the database.
struct Oracle {
    /// Version of each page (schema, page) at the last recovery, and with all transactions formed since.
    base: Vec<u64>,
    current: Vec<u64>,
    formed: Vec<(Transaction, bool)>,
    /// Index in `formed` of each session's latest transaction.
    latest: HashMap<u32, usize>,
    pages: u32,
}

impl Oracle {
    fn new(scenario: &Scenario) -> Oracle {
        let all = scenario.shape.pages() as usize;
        Oracle {
            base: vec![1; all],
            current: vec![1; all],
            formed: Vec::new(),
            latest: HashMap::new(),
            pages: scenario.shape.pages_per_schema,
        }
    }

    fn at(&self, schema: u32, page: u32) -> usize {
        (schema * self.pages + page) as usize
    }

    fn form(&mut self, transactions: Vec<Transaction>) -> Result<(), String> {
        for transaction in transactions {
            for &(schema, page, version) in &transaction.changes {
                let at = self.at(schema, page);
                self.current[at] += 1;
                if self.current[at] != version {
                    return Err(format!(
                        "page {schema}/{page} went to version {version}, not {}",
                        self.current[at]
                    ));
                }
            }
            self.latest.insert(transaction.session, self.formed.len());
            self.formed.push((transaction, false));
        }
        Ok(())
    }

    fn acknowledge(&mut self, session: u32) -> Result<(), String> {
        let nth = self
            .latest
            .remove(&session)
            .ok_or("an update was acknowledged that was never formed")?;
        self.formed[nth].1 = true;
        Ok(())
    }

    /// Holds what was found after a recovery against what must be there, and goes on from it.
    fn recovered(&mut self, found: &[u64]) -> Result<(), String> {
        for (transaction, acknowledged) in &self.formed {
            let there = |&&(schema, page, version): &&(u32, u32, u64)| found[self.at(schema, page)] >= version;
            let present = transaction.changes.iter().filter(there).count();
            if present != 0 && present != transaction.changes.len() {
                return Err(format!("half a transaction: {present} changes of {transaction:?}"));
            }
            if *acknowledged && present == 0 {
                return Err(format!("an acknowledged transaction is gone: {transaction:?}"));
            }
        }
        for (at, version) in found.iter().enumerate() {
            if *version < self.base[at] || *version > self.current[at] {
                let (low, high) = (self.base[at], self.current[at]);
                return Err(format!("page {at} has version {version}, not {low} to {high}"));
            }
        }
        self.base = found.to_vec();
        self.current = found.to_vec();
        self.formed.clear();
        self.latest.clear();
        Ok(())
    }
}

/// How a stretch of work ended.
enum Ended {
    /// The power failed.
    Cut,
    /// All work was done.
    Worked,
}

fn power_cut(error: &PagesError) -> bool {
    matches!(error, PagesError::Target(TargetError::PowerCut))
}

/// `Ok(None)` when the power failed, `Err` for any other failure.
fn or_cut<T>(what: &str, result: Result<T, PagesError>) -> Result<Option<T>, String> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if power_cut(&error) => Ok(None),
        Err(error) => Err(format!("{what}: {error}")),
    }
}

/// Reads every page and checks its content; gives the versions.
fn survey(instance: &mut Instance<Lent<'_>>, scenario: &Scenario) -> Result<Option<Vec<u64>>, String> {
    let mut versions = Vec::new();
    let mut bytes = Vec::new();
    for schema in 0..scenario.shape.schemas {
        for page in 0..scenario.shape.pages_per_schema {
            if or_cut("reading a page", instance.read_page(schema, page, &mut bytes))?.is_none() {
                return Ok(None);
            }
            let version = u64::from_le_bytes(bytes[16..24].try_into().expect("eight bytes"));
            let expected = expected_body(&scenario.shape, schema, page, version, scenario.work.heavy);
            if version > 100_000 || bytes[HEADER_BYTES..] != expected[..] {
                return Err(format!(
                    "page {schema}/{page} does not hold the content of its version {version}"
                ));
            }
            versions.push(version);
        }
    }
    Ok(Some(versions))
}

/// Runs the scenario's work until it is done or the power fails.
fn work(instance: &mut Instance<Lent<'_>>, oracle: &mut Oracle, work: &RandomWork, seed: u64) -> Result<Ended, String> {
    let mut operations = match or_cut("starting work", instance.random(work, seed))? {
        Some(operations) => operations,
        None => return Ok(Ended::Cut),
    };
    let operation = &mut operations[0];
    operation.trace_transactions();
    let mut ready: Vec<u32> = (0..operation.sessions()).collect();
    let (mut done, mut under_way, mut turns) = (Vec::new(), 0, 0);
    loop {
        let mut result = Ok(());
        while let Some(session) = ready.pop() {
            match operation.start(session, &mut done) {
                Ok(Started::Running) => under_way += 1,
                Ok(Started::Exhausted) => {}
                Err(error) => result = Err(error),
            }
        }
        if result.is_ok() && done.is_empty() && under_way > 0 {
            result = operation.advance(None, &mut done);
        }
        oracle.form(operation.transactions())?;
        for end in done.drain(..) {
            if end.class == 1 {
                oracle.acknowledge(end.session)?;
            }
            ready.push(end.session);
            under_way -= 1;
        }
        if or_cut("working", result)?.is_none() {
            return Ok(Ended::Cut);
        }
        if under_way == 0 && ready.is_empty() {
            return Ok(Ended::Worked);
        }
        turns += 1;
        if turns > 20_000 {
            return Err("the work does not end".into());
        }
    }
}

/// Commits that change no page, so many in all: they fill the log and must leave everything else as it is.
fn commits_alone(instance: &mut Instance<Lent<'_>>, scenario: &Scenario, count: u32) -> Result<Ended, String> {
    let work = RedoWork {
        sessions: scenario.work.sessions,
        bytes: 900,
    };
    let Some(mut operations) = or_cut("starting commits", instance.redo(&work, 7))? else {
        return Ok(Ended::Cut);
    };
    let operation = &mut operations[0];
    let mut ready: Vec<u32> = (0..operation.sessions()).collect();
    let (mut done, mut left, mut under_way) = (Vec::new(), count, 0);
    while left > 0 || under_way > 0 {
        let mut result = Ok(());
        while let Some(session) = ready.pop_if(|_| left > 0) {
            left -= 1;
            under_way += 1;
            result = result.and(operation.start(session, &mut done).map(|_| ()));
        }
        if result.is_ok() && done.is_empty() {
            result = operation.advance(None, &mut done);
        }
        for end in done.drain(..) {
            if end.class != 3 {
                return Err(format!("a commit ended as class {}", end.class));
            }
            ready.push(end.session);
            under_way -= 1;
        }
        if or_cut("committing", result)?.is_none() {
            return Ok(Ended::Cut);
        }
    }
    Ok(Ended::Worked)
}

/// Where the power fails, counted from now.
fn arm(port: &mut ModelPort, rng: &mut Xoshiro256PlusPlus, writes_max: u64) {
    let (writes, flushes) = port.asked();
    let nth = |rng: &mut Xoshiro256PlusPlus, max: u64| 1 + rng.next_u64() % max;
    port.fail_power(match rng.next_u64() % 4 {
        0 | 1 => PowerFails::AtWrite(writes + nth(rng, writes_max)),
        2 => PowerFails::AtFlush(flushes + nth(rng, writes_max / 2 + 1)),
        _ => PowerFails::AfterFlush(flushes + nth(rng, writes_max / 2 + 1)),
    });
}

fn new_port(scenario: &Scenario, disks: Option<Disks>, seed: u64) -> Result<ModelPort, String> {
    let model = scenario.model(seed);
    match disks {
        Some(disks) => ModelPort::from_disks(model, disks),
        None => ModelPort::open(model),
    }
    .map_err(|e| e.to_string())
}

/// The content after a cut. With `torn_pages = none` the storage must not tear: seeds are drawn until one does not.
fn cut(port: &mut ModelPort, scenario: &Scenario, rng: &mut Xoshiro256PlusPlus) -> Disks {
    loop {
        let seed = rng.next_u64();
        // The model draws the share of writes kept, then which of three shares is torn; the first of these is zero.
        let mut draws = Xoshiro256PlusPlus::seed_from_u64(seed);
        let _kept = draws.next_u64();
        let whole = draws.next_u64().is_multiple_of(3);
        if whole || !scenario.never_torn() {
            return port.cut(seed);
        }
    }
}

/// Loads the scenario's database; gives the disks.
pub(crate) fn load(scenario: &Scenario) -> Result<Disks, String> {
    let mut port = new_port(scenario, None, 0)?;
    let ports = vec![Lent(&mut port)];
    Instance::create(
        ports,
        &scenario.files(),
        scenario.shape,
        scenario.settings,
        &mut pages::unheard,
    )
    .map_err(|e| format!("load: {e}"))?;
    Ok(port.cut(0))
}

/// Waits for what a killed engine left in flight.
fn drain(port: &mut ModelPort) {
    let mut ended = Vec::new();
    while port.in_flight() > 0 && port.wait(1, None, &mut ended).is_ok() {}
}

/// One life: open, check, work, perhaps a checkpoint, until the power fails or everything is done.
fn live(
    port: &mut ModelPort,
    scenario: &Scenario,
    oracle: &mut Oracle,
    rng: &mut Xoshiro256PlusPlus,
    armed: bool,
) -> Result<Ended, String> {
    let opened = Instance::open(vec![Lent(port)], &scenario.files(), scenario.settings);
    let Some((mut instance, _)) = or_cut("recovery", opened)? else {
        return Ok(Ended::Cut);
    };
    let Some(found) = survey(&mut instance, scenario)? else {
        return Ok(Ended::Cut);
    };
    oracle.recovered(&found)?;
    if !armed {
        let writes_max = [4, 20, 100, 300][rng.next_u64() as usize % 4];
        let lent = instance.ports_mut().next().ok_or("the port is gone")?;
        arm(lent.0, rng, writes_max);
    }
    for _ in 0..1 + rng.next_u64() % 2 {
        // A third of the databases also has commits without pages, before the work.
        if scenario.shape.seed == 3
            && let Ended::Cut = commits_alone(&mut instance, scenario, scenario.work.work_loop as u32)?
        {
            return Ok(Ended::Cut);
        }
        if let Ended::Cut = work(&mut instance, oracle, &scenario.work, rng.next_u64())? {
            return Ok(Ended::Cut);
        }
        if rng.next_u64().is_multiple_of(3) && or_cut("checkpoint", instance.checkpoint())?.is_none() {
            return Ok(Ended::Cut);
        }
    }
    Ok(Ended::Worked)
}

/// The whole of one seed.
pub(crate) fn run_seed(seed: u64) -> Result<(), String> {
    let scenario = scenario(seed);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed ^ 0x6372_6173_6865_7321);
    let mut oracle = Oracle::new(&scenario);
    let mut port = new_port(&scenario, Some(load(&scenario)?), seed)?;
    let lives = 2 + rng.next_u64() % 3;
    for life in 0..lives {
        let last = life + 1 == lives;
        // Half of the later lives may lose power in the middle of recovery; the last one comes through.
        let armed = life > 0 && !last && rng.next_u64().is_multiple_of(2);
        if armed {
            arm(&mut port, &mut rng, 30);
        }
        live(&mut port, &scenario, &mut oracle, &mut rng, armed).map_err(|e| format!("life {life}: {e}"))?;
        // Now and then only the process dies: what it wrote is there, but not for good.
        if !last && !port.is_off() && rng.next_u64().is_multiple_of(2) {
            drain(&mut port);
            continue;
        }
        let disks = cut(&mut port, &scenario, &mut rng);
        port = new_port(&scenario, Some(disks), seed ^ life)?;
    }
    let opened = Instance::open(vec![Lent(&mut port)], &scenario.files(), scenario.settings);
    let (mut instance, _) = opened.map_err(|e| format!("last recovery: {e}"))?;
    let found = survey(&mut instance, &scenario)?.ok_or("the power failed though nobody cut it")?;
    oracle.recovered(&found).map_err(|e| format!("last recovery: {e}"))
}

/// One life of fixed work on given disks with the power failing as told; then recovery and check. Gives writes and
/// flushes asked for in the first life (for counting them when `fails` is `None`).
#[allow(dead_code, reason = "each test binary uses its part of the machine")]
pub(crate) fn run_once(
    scenario: &Scenario,
    disks: &Disks,
    fails: Option<PowerFails>,
    cut_seed: u64,
) -> Result<(u64, u64), String> {
    let mut oracle = Oracle::new(scenario);
    let mut port = new_port(scenario, Some(disks.clone()), 1)?;
    if let Some(fails) = fails {
        port.fail_power(fails);
    }
    let opened = Instance::open(vec![Lent(&mut port)], &scenario.files(), scenario.settings);
    if let Some((mut instance, _)) = or_cut("opening", opened)?
        && let Ended::Worked = work(&mut instance, &mut oracle, &scenario.work, 1)?
    {
        or_cut("checkpoint", instance.checkpoint())?;
    }
    let asked = port.asked();
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(cut_seed);
    let disks = cut(&mut port, scenario, &mut rng);
    let mut port = new_port(scenario, Some(disks), 2)?;
    let opened = Instance::open(vec![Lent(&mut port)], &scenario.files(), scenario.settings);
    let (mut instance, _) = opened.map_err(|e| format!("recovery: {e}"))?;
    let found = survey(&mut instance, scenario)?.ok_or("the power failed though nobody cut it")?;
    oracle.recovered(&found)?;
    Ok(asked)
}
