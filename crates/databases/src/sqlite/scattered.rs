//! The random phase in SQL: a range of keys whose rows lie on scattered pages, one row a page.
//!
//! The method is the one that SLOB and pgio made known: keys of a range stand next to each other in the index and
//! anywhere in the table, so that a select of `work_unit` keys touches as many pages of the table. Takes
//! [`Connections`], gives an [`Operation`]. SQLite itself counts which pages it had and which it had to read. Prevents:
//! a rate of reads that were none.

use super::counts::CacheCounts;
use super::error::SqliteError;
use super::place::Session;
use super::turnstile::Connections;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rusqlite::{Connection, params};
use targets::{Nanos, monotonic_ns};
use workloads::{Done, Operation, Started};

/// Classes of operation.
const CLASSES: [&str; 2] = ["select", "update"];
const LOAD_ROWS: u64 = 5_000;

/// The table and the work on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ScatteredShape {
    /// Rows, and pages of the table.
    pub rows: u64,
    /// Bytes of a page of the database.
    pub page_bytes: u32,
    /// Keys of one operation.
    pub work_unit: u32,
    /// Operations in a hundred that change what they touch.
    pub update_pct: u32,
}

impl CacheCounts {
    /// Of a connection, since it was opened.
    pub fn of(session: &Session) -> CacheCounts {
        session.cache_counts()
    }
}

/// Bytes of a row's filler: more than half a page, so that no page has two rows.
fn filler_bytes(page_bytes: u32) -> usize {
    page_bytes as usize * 5 / 8
}

/// Key of the `nth` row in the order of the table: a permutation by a step that has no divisor in common with the
/// count.
fn key(nth: u64, rows: u64) -> u64 {
    // Near the golden section of the count, so that neighbours in key lie far apart.
    let near = (rows as f64 * 0.618_033_988_749_895) as u64;
    let step = (near.max(1)..).find(|step| gcd(*step, rows) == 1).unwrap_or(1);
    (u128::from(nth) * u128::from(step) % u128::from(rows)) as u64
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Makes and fills the table, with incompressible filler from `seed`.
///
/// # Errors
/// No room, above all.
pub fn load_scattered(session: &Session, shape: &ScatteredShape, seed: u64) -> Result<(), SqliteError> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut filler = vec![0; filler_bytes(shape.page_bytes)];
    let mut all = || -> Result<(), rusqlite::Error> {
        let sql = session.sql();
        sql.execute_batch(
            "CREATE TABLE scattered (id INTEGER PRIMARY KEY, key BIGINT NOT NULL, n BIGINT NOT NULL, \
            filler BLOB NOT NULL); BEGIN",
        )?;
        let mut insert = sql.prepare("INSERT INTO scattered VALUES (?1, ?2, 0, ?3)")?;
        for nth in 0..shape.rows {
            random.fill_bytes(&mut filler);
            insert.execute(params![nth as i64, key(nth, shape.rows) as i64, filler])?;
            if (nth + 1).is_multiple_of(LOAD_ROWS) {
                sql.execute_batch("COMMIT; BEGIN")?;
            }
        }
        sql.execute_batch("COMMIT; CREATE UNIQUE INDEX scattered_key ON scattered (key); ANALYZE")
    };
    all().map_err(|e| session.error("load the scattered table", e))
}

/// A thread at the random phase, for any number of users in turn.
pub struct Scattered {
    connections: Connections,
    shape: ScatteredShape,
    random: Xoshiro256PlusPlus,
}

impl Scattered {
    /// `seed`: of the keys of this thread.
    pub fn new(connections: Connections, shape: ScatteredShape, seed: u64) -> Scattered {
        Scattered {
            connections,
            shape,
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
        }
    }

    /// Pages so far ([`Connections::cache_counts`]).
    pub fn cache_counts(&self) -> CacheCounts {
        self.connections.cache_counts()
    }
}

fn select(sql: &Connection, from: i64, to: i64) -> Result<u64, rusqlite::Error> {
    let text = "SELECT count(n), sum(n) FROM scattered WHERE key >= ?1 AND key < ?2";
    sql.prepare_cached(text)?
        .query_row([from, to], |row| row.get::<_, i64>(0).map(|rows| rows as u64))
}

fn update(sql: &Connection, from: i64, to: i64) -> Result<u64, rusqlite::Error> {
    sql.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
    let text = "UPDATE scattered SET n = n + 1 WHERE key >= ?1 AND key < ?2";
    let rows = sql.prepare_cached(text)?.execute([from, to])?;
    sql.prepare_cached("COMMIT")?.execute([])?;
    Ok(rows as u64)
}

impl Operation for Scattered {
    type Error = SqliteError;

    fn now(&self) -> Nanos {
        monotonic_ns()
    }

    fn classes(&self) -> &[&'static str] {
        &CLASSES
    }

    /// Units: rows touched, which are pages of the table.
    fn start(&mut self, session: u32, done: &mut Vec<Done>) -> Result<Started, SqliteError> {
        let unit = u64::from(self.shape.work_unit).min(self.shape.rows);
        let from = self.random.next_u64() % (self.shape.rows - unit + 1);
        let update = self.random.next_u64() % 100 < u64::from(self.shape.update_pct);
        let (from, to) = (from as i64, (from + unit) as i64);
        let failed = |session: &Session, e| session.error("touch scattered rows", e);
        let touched = if update {
            let turn = self.connections.enter();
            let session = turn.session();
            self::update(session.sql(), from, to).map_err(|e| failed(session, e))
        } else {
            let read = |session: &Session| select(session.sql(), from, to).map_err(|e| failed(session, e));
            self.connections.read(read)
        };
        let touched = touched?;
        done.push(Done {
            session,
            class: u8::from(update),
            at: monotonic_ns(),
            units: touched,
        });
        Ok(Started::Running)
    }

    fn advance(&mut self, until: Option<Nanos>, _done: &mut Vec<Done>) -> Result<(), SqliteError> {
        let now = monotonic_ns();
        if let Some(until) = until.filter(|until| *until > now) {
            std::thread::sleep(std::time::Duration::from_nanos(until - now));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_a_permutation_whose_neighbours_lie_apart() {
        for rows in [1, 2, 7, 100, 1024, 10_007] {
            let mut place = vec![None; rows as usize];
            for nth in 0..rows {
                assert!(place[key(nth, rows) as usize].replace(nth).is_none());
            }
            let place: Vec<u64> = place.into_iter().map(Option::unwrap).collect();
            if rows >= 100 {
                let near = place.windows(2).filter(|w| w[0].abs_diff(w[1]) <= 4).count();
                assert_eq!(near, 0, "{rows} rows");
            }
        }
    }
}
