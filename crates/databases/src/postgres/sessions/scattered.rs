//! The random phase in SQL: a range of keys whose rows lie on scattered pages, one row a page.
//!
//! The method that SLOB and pgio made known: keys of a range stand next to each other in the index and anywhere in the
//! table, so a select of `work_unit` keys touches as many blocks, one after another. One row a block by a fill factor
//! of 10 % and rows wider than that; what is free in the block takes the versions that updates leave behind. Sessions
//! plan without bitmap and sequential scans, which would read ahead or everything. Prevents: a rate of single-block
//! reads that were none.

use crate::order_entry::Kind;
use crate::postgres::connection::{Connection, broken, refused};
use crate::postgres::error::{PostgresError, malformed, shown};
use crate::postgres::login::address::Address;
use crate::postgres::login::stream::{Stream, is_later};
use crate::postgres::sessions::polling::Watch;
use crate::postgres::wire::messages::{self, Malformed};
use crate::postgres::wire::requests;
use crate::postgres::wire::response;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::sync::atomic::AtomicBool;
use targets::{Nanos, monotonic_ns};
use workloads::{Done, Operation, Started};

const CLASSES: [&str; 2] = ["select", "update"];
const SELECT: u8 = 0;
const UPDATE: u8 = 1;
const SQL: [&str; 2] = [
    "SELECT count(n), CAST(sum(n) AS BIGINT) FROM scattered WHERE key >= $1 AND key < $2",
    "UPDATE scattered SET n = n + 1 WHERE key >= $1 AND key < $2",
];
/// Signs of a row's filler: with the fill factor, the second row of a block never fits.
const FILLER_BYTES: usize = 900;
const SCRATCH_BYTES: usize = 16 << 10;

/// The table and the work on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScatteredSpec {
    /// Rows, and blocks of the table.
    pub rows: u64,
    /// Keys of one operation.
    pub work_unit: u32,
    /// Operations in a hundred that change what they touch; each is a transaction of its own.
    pub update_pct: u32,
    /// Sessions.
    pub sessions: u32,
}

/// Makes and fills the table; fillers come from `seed`.
///
/// # Errors
/// It is there already, or there is no room.
pub fn load_scattered(address: &Address, rows: u64, seed: u64, cancel: &AtomicBool) -> Result<(), PostgresError> {
    use crate::order_entry::RowSink;
    let mut connection = Connection::open(address, &[])?;
    connection.run(
        "CREATE TABLE scattered (key BIGINT NOT NULL, n BIGINT NOT NULL, filler VARCHAR(900) NOT NULL) \
         WITH (fillfactor = 10)",
    )?;
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let step = step(rows);
    let mut copy = crate::postgres::wire::copy::Copy::begin(&mut connection, "scattered", cancel)?;
    let mut filler = [0; FILLER_BYTES];
    for nth in 0..rows {
        for pair in filler.chunks_mut(10) {
            let mut draw = random.next_u64();
            for sign in pair {
                *sign = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-."[(draw & 63) as usize];
                draw >>= 6;
            }
        }
        let key = u128::from(nth) * u128::from(step) % u128::from(rows.max(1));
        copy.int(key as i64);
        copy.int(0);
        copy.text(&filler);
        copy.end_row()?;
    }
    copy.finish()?;
    connection.run("CREATE UNIQUE INDEX scattered_key ON scattered (key)")?;
    connection.run("VACUUM ANALYZE scattered")?;
    Ok(())
}

/// A step through all rows, near the golden section of their number: neighbours in key lie far apart.
fn step(rows: u64) -> u64 {
    fn divisor(a: u64, b: u64) -> u64 {
        if b == 0 { a } else { divisor(b, a % b) }
    }
    let near = (rows as f64 * 0.618_033_988_749_895) as u64;
    (near.max(1)..).find(|step| divisor(*step, rows) == 1).unwrap_or(1)
}

struct Session {
    stream: Stream,
    class: u8,
    from: i64,
    /// An operation is under way, and its answer is not whole yet.
    waiting: bool,
    incoming: Vec<u8>,
    walked: usize,
}

/// The sessions of one worker.
pub struct Scattered {
    spec: ScatteredSpec,
    random: Xoshiro256PlusPlus,
    watch: Watch,
    sessions: Vec<Session>,
    out: Vec<u8>,
    scratch: Vec<u8>,
    deadlocks: u64,
}

impl Scattered {
    /// Connects all sessions and prepares their statements. `seed`: of the keys.
    ///
    /// # Errors
    /// No server, no room for the sessions, no table.
    pub fn connect(address: &Address, spec: &ScatteredSpec, seed: u64) -> Result<Self, PostgresError> {
        assert!(
            spec.work_unit > 0 && u64::from(spec.work_unit) <= spec.rows,
            "an operation touches 1 to all rows"
        );
        let watch = Watch::new(address)?;
        let mut sessions = Vec::with_capacity(spec.sessions as usize);
        for nth in 0..spec.sessions {
            let options = [("enable_bitmapscan", "off"), ("enable_seqscan", "off")];
            let mut connection = Connection::open(address, &options)?;
            let two = &[Kind::Int8, Kind::Int8][..];
            connection.prepare(
                [SELECT, UPDATE]
                    .map(|n| (n, SQL[usize::from(n)].to_owned(), two))
                    .into_iter(),
            )?;
            let (stream, incoming) = connection.into_stream();
            let mut walked = 0;
            messages::unasked(&incoming, &mut walked).map_err(|found| malformed("prepare", found))?;
            watch.add(&stream, nth)?;
            sessions.push(Session {
                stream,
                class: SELECT,
                from: 0,
                waiting: false,
                incoming,
                walked,
            });
        }
        Ok(Scattered {
            spec: *spec,
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            watch,
            sessions,
            out: Vec::with_capacity(256),
            scratch: vec![0; SCRATCH_BYTES],
            deadlocks: 0,
        })
    }

    /// Updates that the server refused to end a deadlock; each was tried again.
    pub fn deadlocks(&self) -> u64 {
        self.deadlocks
    }

    fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.random.next_u64()) * u128::from(n)) >> 64) as u64
    }

    fn send(&mut self, nth: usize) -> Result<(), PostgresError> {
        let session = &self.sessions[nth];
        self.out.clear();
        let to = session.from + i64::from(self.spec.work_unit);
        requests::call_numbers(&mut self.out, session.class, &[session.from, to]);
        requests::sync(&mut self.out);
        // A session has one message of some eighty bytes on its way: the socket has room for it.
        let session = &mut self.sessions[nth];
        session.waiting = true;
        let stream = &mut session.stream;
        match stream.write(&self.out) {
            Ok(sent) if sent == self.out.len() && !stream.owes() => Ok(()),
            Ok(_) => Err(broken(&self.watch.address, "the socket took part of a message")),
            Err(e) => Err(broken(&self.watch.address, &shown(&e.to_string()))),
        }
    }

    fn receive(&mut self, nth: usize, done: &mut Vec<Done>) -> Result<(), PostgresError> {
        let session = &mut self.sessions[nth];
        let got = match session.stream.read(&mut self.scratch) {
            Ok(0) => return Err(broken(&self.watch.address, "the server closed the connection")),
            Ok(got) => got,
            Err(e) if is_later(&e) => return Ok(()),
            Err(e) => return Err(broken(&self.watch.address, &shown(&e.to_string()))),
        };
        session.incoming.extend_from_slice(&self.scratch[..got]);
        let doubted = |found| malformed("an operation", found);
        if !session.waiting {
            return messages::unasked(&session.incoming, &mut session.walked).map_err(doubted);
        }
        if !response::whole(&session.incoming, &mut session.walked).map_err(doubted)? {
            return Ok(());
        }
        let class = session.class;
        let failure = response::last_words(&session.incoming[..session.walked]);
        let touched = touched(&session.incoming[..session.walked], class);
        // What comes after is no part of it: a notice, or the beginning of one.
        session.incoming.drain(..session.walked);
        (session.waiting, session.walked) = (false, 0);
        messages::unasked(&session.incoming, &mut session.walked).map_err(doubted)?;
        match failure {
            Some(failure) if failure.code == "40P01" => {
                self.deadlocks += 1;
                return self.send(nth);
            }
            Some(failure) => return Err(refused(&self.watch.address, CLASSES[usize::from(class)], failure)),
            None => {}
        }
        let touched = touched.map_err(doubted)?;
        if touched != Some(self.spec.work_unit.into()) {
            return Err(PostgresError::Rows {
                statement: format!("a {} of {} keys", CLASSES[usize::from(class)], self.spec.work_unit),
                got: format!("{touched:?} rows"),
            });
        }
        done.push(Done {
            session: nth as u32,
            class,
            at: monotonic_ns(),
            units: self.spec.work_unit.into(),
        });
        Ok(())
    }
}

/// Rows that an answer says were touched: a select counts them in its one row, an update in its tag.
pub(crate) fn touched(mut bytes: &[u8], class: u8) -> Result<Option<i64>, Malformed> {
    let mut touched = None;
    while let Some((message, length)) = messages::first(bytes)? {
        bytes = &bytes[length..];
        match (message.tag, class) {
            (b'D', SELECT) => {
                message.check()?;
                let mut cells = message.cells()?;
                if cells.left() != 2 || touched.is_some() {
                    return Err(Malformed::Fields { tag: b'D' });
                }
                touched = cells.take()?.and_then(|cell| response::number(cell, Kind::Int8));
            }
            (b'C', UPDATE) => touched = message.done()?.strip_prefix("UPDATE ").and_then(|n| n.parse().ok()),
            (b'C' | b'2' | b'N' | b'S' | b'A' | b'E' | b'Z', _) => message.check()?,
            (tag, _) => return Err(Malformed::Kind { tag }),
        }
    }
    Ok(touched)
}

impl Operation for Scattered {
    type Error = PostgresError;

    fn now(&self) -> Nanos {
        monotonic_ns()
    }

    fn classes(&self) -> &[&'static str] {
        &CLASSES
    }

    fn start(&mut self, session: u32, _: &mut Vec<Done>) -> Result<Started, PostgresError> {
        let update = self.spec.update_pct > 0 && self.below(100) < u64::from(self.spec.update_pct);
        let from = self.below(self.spec.rows - u64::from(self.spec.work_unit) + 1);
        let state = &mut self.sessions[session as usize];
        state.class = if update { UPDATE } else { SELECT };
        state.from = from as i64;
        self.send(session as usize)?;
        Ok(Started::Running)
    }

    fn advance(&mut self, until: Option<Nanos>, done: &mut Vec<Done>) -> Result<(), PostgresError> {
        let before = done.len();
        loop {
            self.watch.wait(until)?;
            for at in 0..self.watch.events.len() {
                let nth = self.watch.events[at].data.u64() as usize;
                self.receive(nth, done)?;
                while self.sessions[nth].stream.has_more() {
                    self.receive(nth, done)?;
                }
            }
            if done.len() > before || until.is_some_and(|until| monotonic_ns() >= until) {
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_step_visits_every_row_and_neighbours_lie_apart() {
        for rows in [1, 2, 10, 1000, 1024, 4181] {
            let step = step(rows);
            let keys: std::collections::BTreeSet<u64> = (0..rows).map(|n| n * step % rows).collect();
            assert_eq!(keys.len() as u64, rows);
            assert!(
                rows < 10 || (rows / 4..rows - rows / 4).contains(&step),
                "{rows}: {step}"
            );
        }
    }
}
