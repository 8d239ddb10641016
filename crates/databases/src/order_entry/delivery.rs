//! Delivery: the oldest order of each district that is not delivered goes out (TPC-C 5.11, clause 2.7).
//!
//! It runs while its user waits, not from a queue as the specification allows: what it costs is then seen. All ten
//! districts in one transaction, in three trips. A district without such an order is passed over.

use super::answer::Answer;
use super::batch::{Batch, End};
use super::random::uniform;
use super::scale::DISTRICTS;
use super::statements::Query;
use super::step::{Ending, OrderEntryError, Step};
use super::terminal::Terminal;

const EACH: usize = DISTRICTS as usize;
/// Calls per order of the second trip, and the places of the customer and of the amount among them.
const CALLS: usize = 5;
const CUSTOMER: usize = 1;
const AMOUNT: usize = 4;

#[derive(Clone, Debug)]
pub(super) struct Delivery {
    warehouse: u32,
    carrier: u32,
    now_us: i64,
    /// Order of each district; 0: none.
    orders: [u32; EACH],
}

impl Delivery {
    pub(super) fn choose(terminal: &mut Terminal, now_us: i64) -> Self {
        Delivery {
            warehouse: terminal.warehouse(),
            carrier: uniform(&mut terminal.random, 1, 10),
            now_us,
            orders: [0; EACH],
        }
    }

    fn districts() -> impl Iterator<Item = (usize, i64)> {
        (0..EACH).map(|nth| (nth, nth as i64 + 1))
    }

    pub(super) fn step(&mut self, stage: u8, answer: &Answer, batch: &mut Batch) -> Result<Step, OrderEntryError> {
        let w = i64::from(self.warehouse);
        match stage {
            0 => {
                for (_, d) in Self::districts() {
                    batch.call(Query::OldestNewOrder).ints([w, d]);
                }
            }
            1 => {
                for (nth, d) in Self::districts() {
                    let order = answer.int(nth, 0, 0).unwrap_or(0);
                    self.orders[nth] = order as u32;
                    if order == 0 {
                        continue;
                    }
                    batch.call(Query::RemoveNewOrder).ints([w, d, order]);
                    batch.call(Query::OrderCustomer).ints([w, d, order]);
                    batch.call(Query::SetCarrier).ints([w, d, order, self.carrier.into()]);
                    batch.call(Query::SetDelivered).ints([w, d, order, self.now_us]);
                    batch.call(Query::OrderAmount).ints([w, d, order]);
                }
            }
            2 => {
                let delivered = Self::districts().filter(|(nth, _)| self.orders[*nth] != 0);
                for (at, (nth, d)) in delivered.enumerate() {
                    let missing = |what| OrderEntryError {
                        class: "delivery",
                        what,
                        warehouse: self.warehouse,
                        district: nth as u32 + 1,
                    };
                    let customer = answer.int(at * CALLS + CUSTOMER, 0, 0);
                    let customer = customer.ok_or_else(|| missing("an order that is not delivered"))?;
                    let amount = answer.int(at * CALLS + AMOUNT, 0, 0);
                    let amount = amount.ok_or_else(|| missing("every line of an order"))?;
                    batch.call(Query::SetCustomerDelivered).ints([w, d, customer, amount]);
                }
                batch.finish(End::Commit);
            }
            _ => return Ok(Step::Ended(Ending::Committed)),
        }
        Ok(Step::Run)
    }
}
