//! Order entry: the work of an order-taking company with warehouses, districts and customers, derived from the
//! published description of TPC-C. It is not a TPC result: nothing here was audited, and the metric is *new orders per
//! minute*.
//!
//! The five transactions ([`Transaction`]) are state machines: each step takes the [`Answer`] to its last [`Batch`] and
//! fills the next one. What runs a batch, an *executor*, belongs to each database:
//!
//! ```text
//! transaction.choose(&mut terminal, now)         // what the user typed
//! loop {
//!     transaction.restart();                     // first try, or again after a serialisation failure
//!     answer.clear();
//!     loop {
//!         batch.clear();
//!         match transaction.step(&answer, &mut batch)? {
//!             Step::Run => run(&batch, &mut answer)?,  // a failure to be retried: roll back, go round the outer loop
//!             Step::Ended(ending) => return ending,
//!         }
//!     }
//! }
//! ```
//!
//! `run` must: clear the answer; begin a transaction when [`Batch::begins`]; for each call of [`Batch::calls`], in
//! order, open the call ([`Answer::open_call`]), run the [`Statement`] with its values, push every row
//! ([`Answer::open_row`], then a cell per column of [`Statement::gives`]), and, where [`Statement::one_row`] holds,
//! refuse any number of changed rows but one; then commit or roll back as [`Batch::end`] says. Statements are written
//! with `$1`, `$2`, ... ([`Statement::sql`]; SQLite writes them `?1`), and [`Statement::locks`] says where a server
//! with row locks adds ` FOR UPDATE`. A batch may be sent in one go: no statement of a batch needs the answer to
//! another one of it.
//!
//! Money is kept in cents, rates in 1/10,000, times in microseconds since 1970: exact in every database, and the same
//! bytes. All randomness comes from seeds passed in: the same seed gives the same rows and, per session, the same
//! inputs.

mod answer;
mod batch;
mod conditions;
mod delivery;
mod new_order;
mod order_status;
mod payment;
mod population;
mod random;
mod scale;
mod schema;
mod statements;
mod step;
mod stock_level;
mod terminal;
mod transaction;
mod verdict;

pub use answer::Answer;
pub use batch::{Batch, End, Value};
pub use conditions::{CONDITION_QUERIES, CONDITIONS, Condition, ConditionQuery};
pub use population::{Job, RowSink, jobs, populate};
pub use scale::{Scale, ScaleError};
pub use schema::{Column, INDEXES, Index, Keys, TABLES, Table};
pub use statements::{Kind, Query, Statement};
pub use step::{Ending, OrderEntryError, Step};
pub use terminal::{Home, Terminal};
pub use transaction::{CLASSES, Transaction};
pub use verdict::{ClassVerdict, LIMITS_90_NS, Mix, NEW_ORDER, mix, nopm, within_limits};
