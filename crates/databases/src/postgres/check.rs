//! The twelve conditions, asked of the server.

use super::connection::Connection;
use super::error::PostgresError;
use crate::order_entry::{CONDITION_QUERIES, CONDITIONS, Condition, Scale};
use crate::postgres::login::address::Address;

/// A condition that does not hold.
#[derive(Clone, Copy, Debug)]
pub struct Broken {
    /// Which.
    pub condition: &'static Condition,
    /// How many rows break it.
    pub rows: u64,
}

/// Asks all conditions; gives those that do not hold. No transaction may be under way.
///
/// # Errors
/// No answer.
pub fn check(address: &Address, scale: &Scale) -> Result<Vec<Broken>, PostgresError> {
    // One picture for all of them.
    let mut connection = Connection::open(address, &[("default_transaction_isolation", "repeatable read")])?;
    connection.run("BEGIN")?;
    let mut broken = Vec::new();
    for query in &CONDITION_QUERIES {
        let counts = connection.numbers(&query.sql(scale), query.numbers.len())?;
        for (number, rows) in query.numbers.iter().zip(counts).filter(|(_, rows)| *rows != 0) {
            let condition = CONDITIONS.iter().find(|condition| condition.number == *number);
            broken.push(Broken {
                condition: condition.expect("every query names conditions"),
                rows: rows as u64,
            });
        }
    }
    broken.sort_by_key(|one| one.condition.number);
    connection.run("COMMIT")?;
    Ok(broken)
}
