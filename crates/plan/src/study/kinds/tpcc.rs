//! Phases of kind `tpcc`: order entry in SQL.
//!
//! Bytes and times are measured or assumed as each constant says. Prevents: a company that is larger than its stack.

use crate::shown::{Keys, rate_or_none};
use crate::study::kind::{Ends, Engines, InFlight, Kind, KindRow, Loads, NO_END, Ranking};
use crate::study::words::PhaseWord;
use crate::units::Duration;

/// Bytes of a warehouse, keys and indexes counted: measured with SQLite, a little less than with PostgreSQL.
const WAREHOUSE_BYTES: u64 = 80 << 20;
/// Loading a warehouse of full size, keys and indexes built: assumed, from runs on two cores.
const WAREHOUSE_NS: u64 = 6_000_000_000;
/// Asking the twelve consistency conditions of a warehouse; likewise.
const CONDITIONS_NS: u64 = 700_000_000;

settled! {
    /// Order entry, derived from the published description of TPC-C.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Tpcc {
        /// Users at work at the same time; several: a load curve, each step as long as the phase says, in this order.
        pub users: Vec<u32>,
        /// Warehouses, the same in all phases: the company is loaded once a trial.
        pub warehouses: u32,
        /// Items and customers of each warehouse.
        pub company: Company,
        /// Where users work.
        pub home: Home,
        /// Users type and think as the description says; otherwise they never pause.
        pub think_time: bool,
        /// Open arrival: transactions a second of all users together; `None`: closed.
        pub rate: Option<f64> as |orders| rate_or_none(orders.rate),
    }
}

words! {
    /// How much each warehouse has.
    pub enum Company: "a size of company" {
        /// As described: 100,000 items, 30,000 customers.
        Full = "full",
        /// A fiftieth of it, for tests of the tool.
        Reduced = "reduced",
    }
}

words! {
    /// Which warehouse a user works at.
    pub enum Home: "where a user works" {
        /// His own, as described.
        Fixed = "fixed",
        /// Any, drawn anew for each transaction.
        Any = "any",
    }
}

impl Tpcc {
    /// The most users that are at work at the same time.
    pub fn users_most(&self) -> u32 {
        self.users.iter().copied().max().unwrap_or(1)
    }
}

impl Tpcc {
    /// Bytes of the company.
    fn company_bytes(&self) -> u64 {
        let bytes = u64::from(self.warehouses) * WAREHOUSE_BYTES;
        match self.company {
            Company::Full => bytes,
            Company::Reduced => bytes / 50,
        }
    }

    /// Those of full size: reduced ones take next to no time.
    fn full_warehouses(&self) -> u64 {
        match self.company {
            Company::Full => self.warehouses.into(),
            Company::Reduced => 0,
        }
    }

    /// Nanoseconds that the company takes before the phases of a trial.
    pub(crate) fn load_ns(&self) -> u64 {
        self.full_warehouses().saturating_mul(WAREHOUSE_NS + CONDITIONS_NS)
    }
}

/// What all of them are.
pub(super) const ROW: KindRow = KindRow {
    engines: Engines::Sql,
    repeated: None,
};

impl Kind for Tpcc {
    fn kind(&self) -> PhaseWord {
        PhaseWord::Tpcc
    }

    fn own_keys(&self) -> Keys {
        self.keys()
    }

    fn ends(&self) -> Ends {
        Ends::Time(NO_END)
    }

    fn in_flight(&self) -> InFlight {
        InFlight::scattered(self.users_most())
    }

    fn ranking(&self) -> Ranking {
        // A load curve is to be seen whole; its steps are not a dozen questions.
        match self.users.len() > 1 {
            true => Ranking::Asked,
            false => Ranking::Usual,
        }
    }

    fn is_open(&self) -> bool {
        self.rate.is_some()
    }

    fn least_time(&self, time: Option<Duration>) -> Option<Duration> {
        time.map(|time| Duration(time.0.saturating_mul(self.users.len() as u64)))
    }

    fn timed_ns(&self, time: Duration) -> u64 {
        let work = self.least_time(Some(time)).map_or(0, |time| time.0);
        work.saturating_add(self.full_warehouses().saturating_mul(CONDITIONS_NS))
    }

    fn in_sql(&self, _has_temp: bool) -> Option<(u64, &'static str)> {
        Some((self.company_bytes(), "warehouses"))
    }

    fn loads(&self) -> Loads {
        Loads {
            once: self.company_bytes(),
            within: 0,
        }
    }
}
