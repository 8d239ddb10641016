//! Order status: what a customer ordered last (TPC-C 5.11, clause 2.6). Changes nothing.
//!
//! Trips: by number, customer and order in one, then its lines; by last name, who he is first.

use super::answer::Answer;
use super::batch::{Batch, End};
use super::random::last_name;
use super::statements::Query;
use super::step::{Ending, OrderEntryError, Step};
use super::terminal::{Customer, Terminal};

#[derive(Clone, Debug)]
pub(super) struct OrderStatus {
    warehouse: u32,
    district: u32,
    by: Customer,
}

impl OrderStatus {
    pub(super) fn choose(terminal: &mut Terminal) -> Self {
        OrderStatus {
            warehouse: terminal.warehouse(),
            district: terminal.district(),
            by: terminal.customer(),
        }
    }

    fn missing(&self, what: &'static str) -> OrderEntryError {
        OrderEntryError {
            class: "order status",
            what,
            warehouse: self.warehouse,
            district: self.district,
        }
    }

    pub(super) fn step(&mut self, stage: u8, answer: &Answer, batch: &mut Batch) -> Result<Step, OrderEntryError> {
        let (w, d) = (i64::from(self.warehouse), i64::from(self.district));
        match (stage, self.by) {
            (0, Customer::Name(number)) => {
                let mut name = [0; 16];
                let bytes = last_name(number, &mut name);
                batch
                    .call(Query::CustomerStatusByName)
                    .ints([w, d])
                    .words(&name[..bytes]);
            }
            (0, Customer::Number(number)) => {
                batch.call(Query::CustomerStatus).ints([w, d, number.into()]);
                batch.call(Query::LastOrder).ints([w, d, number.into()]);
            }
            (1, Customer::Name(_)) => {
                let middle = answer.rows(0).div_ceil(2).saturating_sub(1);
                let customer = answer.int(0, middle, 0);
                let customer = customer.ok_or_else(|| self.missing("every customer of a last name"))?;
                batch.call(Query::LastOrder).ints([w, d, customer]);
            }
            (1, Customer::Number(_)) => {
                answer.int(0, 0, 0).ok_or_else(|| self.missing("the customer"))?;
                self.lines(answer, 1, batch)?;
            }
            (2, Customer::Name(_)) => self.lines(answer, 0, batch)?,
            _ => {
                if answer.rows(0) == 0 {
                    return Err(self.missing("every line of an order"));
                }
                return Ok(Step::Ended(Ending::Committed));
            }
        }
        Ok(Step::Run)
    }

    fn lines(&self, answer: &Answer, call: usize, batch: &mut Batch) -> Result<(), OrderEntryError> {
        let order = answer
            .int(call, 0, 0)
            .ok_or_else(|| self.missing("the customer's order"))?;
        batch
            .call(Query::OrderLines)
            .ints([self.warehouse.into(), self.district.into(), order]);
        batch.finish(End::Commit);
        Ok(())
    }
}
