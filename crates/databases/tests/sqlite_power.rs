//! SQLite on modelled disks that lose their power: what was acknowledged is there, and the database is sound.
//!
//! The model forgets an arbitrary part of what was not flushed, down to sectors of 512 bytes. Prevents: a VFS that is
//! durable only as long as nothing happens. Two planted bugs show that the machine can fail.

use crate::storm::Rows;
use databases::sqlite::{
    DATA_AT, FileSet, FileSetSpec, Journal, Place, Session, Settings, SqliteError, Synchronous, WRITER_MEMORY_MIN,
};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::sync::Arc;
use targets::{
    Completion, Disks, Extent, FileId, Model, ModelPort, Nanos, Op, Port, PowerFails, Request, TargetError, Waker,
};

/// What is wrong with the storage layer, if anything.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Planted {
    Nothing,
    /// Every sync is left out.
    NoSync,
    /// The size is never kept: heads are not written.
    NoSize,
    /// The bytes before an append in its block are written as zeros.
    TailLost,
}

/// The model with a bug between it and the file set.
struct Window {
    inner: ModelPort,
    planted: Planted,
    /// Requests swallowed, answered at the next wait.
    swallowed: Vec<u64>,
}

impl Port for Window {
    fn now(&self) -> Nanos {
        self.inner.now()
    }
    fn memory(&self) -> u64 {
        self.inner.memory()
    }
    fn bytes(&self, at: u64, len: usize) -> &[u8] {
        self.inner.bytes(at, len)
    }
    fn bytes_mut(&mut self, at: u64, len: usize) -> &mut [u8] {
        self.inner.bytes_mut(at, len)
    }
    fn alignment(&self) -> u32 {
        self.inner.alignment()
    }
    fn depth(&self) -> usize {
        self.inner.depth()
    }
    fn in_flight(&self) -> usize {
        self.inner.in_flight() + self.swallowed.len()
    }
    fn submit(&mut self, request: Request) -> Result<(), TargetError> {
        let head = request.op == Op::Write && request.offset < DATA_AT;
        match self.planted {
            Planted::NoSync if request.op == Op::Flush => self.swallowed.push(request.token),
            Planted::NoSize if head => self.swallowed.push(request.token),
            Planted::TailLost if request.op == Op::Write && !head && request.offset > DATA_AT => {
                let first = self.inner.bytes_mut(request.at, 32);
                first.fill(0);
                self.inner.submit(request)?;
            }
            _ => self.inner.submit(request)?,
        }
        Ok(())
    }
    fn wait(&mut self, min: usize, until: Option<Nanos>, done: &mut Vec<Completion>) -> Result<(), TargetError> {
        let ok = |token| Completion { token, result: Ok(()) };
        let before = done.len();
        done.extend(self.swallowed.drain(..).map(ok));
        self.inner.wait(min.saturating_sub(done.len() - before), until, done)
    }
    fn size(&self, file: FileId) -> Result<u64, TargetError> {
        self.inner.size(file)
    }
    fn grow(&mut self, file: FileId, size: u64) -> Result<(), TargetError> {
        self.inner.grow(file, size)
    }
    fn extents(&self, file: FileId) -> Result<Vec<Extent>, TargetError> {
        self.inner.extents(file)
    }
    fn waker(&self) -> Waker {
        self.inner.waker()
    }
}

fn model(seed: u64) -> Model {
    Model::new(&[0, 0, 0], WRITER_MEMORY_MIN, 8, seed)
}

fn spec(seed: u64) -> FileSetSpec {
    FileSetSpec {
        grow_step: [4096, 64 << 10, 1 << 20][(seed % 3) as usize],
        powersafe_overwrite: seed % 4 != 3,
        log_memory: [16 << 20, 0, 20_000][(seed / 24 % 3) as usize],
        ..FileSetSpec::default()
    }
}

fn settings(seed: u64) -> Settings {
    Settings {
        page_bytes: [512, 4096, 8192, 8192][(seed / 2 % 4) as usize],
        // A few pages: dirty ones are written before the commit.
        cache_bytes: 64 << 10,
        journal: [Journal::Wal, Journal::Delete][(seed % 2) as usize],
        synchronous: Synchronous::Full,
        wal_autocheckpoint_pages: [5, 30, 1000][(seed / 8 % 3) as usize],
        ..Settings::default()
    }
}

/// A machine under test, and what it has acknowledged.
struct Life {
    disks: Disks,
    sure: Rows,
    /// With what was under way when the power went.
    maybe: Rows,
}

/// Works until the power fails or the work is done; then cuts.
fn live(life: &mut Life, seed: u64, planted: Planted) -> Result<(), String> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut port = ModelPort::from_disks(model(seed), life.disks.clone()).unwrap();
    let at = 1 + rng.next_u64() % 120;
    port.fail_power(match rng.next_u64() % 3 {
        0 => PowerFails::AtWrite(at * 2),
        1 => PowerFails::AtFlush(at),
        _ => PowerFails::AfterFlush(at),
    });
    let window = Window {
        inner: port,
        planted,
        swallowed: Vec::new(),
    };
    let file_set = FileSet::open(window, Vec::new(), spec(seed)).map_err(|e| format!("open: {e}"))?;
    let file_set = Arc::new(file_set);
    let place = Place::on(file_set.clone()).unwrap();
    let worked = work(life, &place, &mut rng, seed);
    drop(place);
    let file_set = Arc::try_unwrap(file_set).ok().expect("the last count");
    let mut window = file_set.into_ports().0;
    // What went wrong before the power failed is an error of ours.
    if let Err(error) = worked
        && !window.inner.is_off()
    {
        return Err(format!("with the power on: {error}"));
    }
    life.disks = window.inner.cut(rng.next_u64());
    Ok(())
}

fn work(life: &mut Life, place: &Place, rng: &mut Xoshiro256PlusPlus, seed: u64) -> Result<(), SqliteError> {
    let session = place.connect(&settings(seed))?;
    crate::storm::prepare(&session)?;
    for _ in 0..40 {
        let change = crate::storm::change(rng);
        let commit = !rng.next_u64().is_multiple_of(5);
        if commit {
            crate::storm::apply(&mut life.maybe, &change);
        }
        crate::storm::run(&session, &change, commit)?;
        if commit {
            crate::storm::apply(&mut life.sure, &change);
        }
        if rng.next_u64().is_multiple_of(16) {
            session.checkpoint()?;
        }
    }
    Ok(())
}

/// Starts the machine again and looks.
fn survey(life: &mut Life, seed: u64) -> Result<(), String> {
    let port = ModelPort::from_disks(model(seed), life.disks.clone()).unwrap();
    let file_set = Arc::new(FileSet::open(port, Vec::new(), spec(seed)).map_err(|e| format!("open again: {e}"))?);
    let place = Place::on(file_set.clone()).unwrap();
    let look = |session: &Session| -> Result<(String, Rows), SqliteError> {
        crate::storm::prepare(session)?;
        Ok((session.integrity()?, crate::storm::rows(session)?))
    };
    let session = place
        .connect(&settings(seed))
        .map_err(|e| format!("connect again: {e}"))?;
    let (sound, rows) = look(&session).map_err(|e| format!("look: {e}"))?;
    if sound != "ok" {
        return Err(format!("integrity check: {sound}"));
    }
    if rows != life.sure && rows != life.maybe {
        let lost = life.sure.keys().filter(|k| !rows.contains_key(k)).count();
        return Err(format!(
            "{} rows, {} were acknowledged, {lost} lost",
            rows.len(),
            life.sure.len()
        ));
    }
    life.sure = rows.clone();
    life.maybe = rows;
    drop((session, place));
    let file_set = Arc::try_unwrap(file_set).ok().expect("the last count");
    life.disks = file_set.into_ports().0.shut_down();
    Ok(())
}

/// Three lives on the same disks.
fn tell(seed: u64, planted: Planted) -> Result<(), String> {
    let port = ModelPort::open(model(seed)).unwrap();
    let file_set = FileSet::create(port, Vec::new(), spec(seed), seed).map_err(|e| e.to_string())?;
    let mut life = Life {
        disks: file_set.into_ports().0.shut_down(),
        sure: Rows::new(),
        maybe: Rows::new(),
    };
    for round in 0..3 {
        live(&mut life, seed ^ (round << 32), planted)?;
        survey(&mut life, seed ^ (round << 32))?;
    }
    Ok(())
}

fn full() -> bool {
    std::env::var("ASSAY_TEST_SIZE").is_ok_and(|size| size == "full")
}

#[test]
fn what_was_acknowledged_is_there_after_the_power_was_cut() {
    let count = if full() { 5000 } else { 600 };
    let first: u64 = std::env::var("ASSAY_SEED").ok().map_or(0, |seed| seed.parse().unwrap());
    for seed in first..first + count {
        if let Err(what) = tell(seed, Planted::Nothing) {
            panic!(
                "seed {seed}: {what}\nagain: ASSAY_SEED={seed} cargo test -p databases --test integration \
                 sqlite_power::"
            );
        }
    }
}

#[test]
fn bugs_that_were_planted_are_found() {
    for planted in [Planted::NoSync, Planted::NoSize, Planted::TailLost] {
        let found = (0..200).find_map(|seed| tell(seed, planted).err().map(|what| (seed, what)));
        let (seed, what) = found.unwrap_or_else(|| panic!("{planted:?} was not found"));
        eprintln!("{planted:?}: seed {seed}: {what}");
    }
}
