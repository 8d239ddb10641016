//! Stock level: how many items of a district's last twenty orders run low (TPC-C 5.11, clause 2.8). Changes nothing.

use super::answer::Answer;
use super::batch::{Batch, End};
use super::random::uniform;
use super::statements::Query;
use super::step::{Ending, OrderEntryError, Step};
use super::terminal::Terminal;

/// Orders that are looked at.
const ORDERS: i64 = 20;

#[derive(Clone, Debug)]
pub(super) struct StockLevel {
    warehouse: u32,
    district: u32,
    threshold: u32,
}

impl StockLevel {
    pub(super) fn choose(terminal: &mut Terminal) -> Self {
        StockLevel {
            warehouse: terminal.warehouse(),
            district: terminal.own_district(),
            threshold: uniform(&mut terminal.random, 10, 20),
        }
    }

    pub(super) fn step(&mut self, stage: u8, answer: &Answer, batch: &mut Batch) -> Result<Step, OrderEntryError> {
        let (w, d) = (i64::from(self.warehouse), i64::from(self.district));
        let missing = |what| OrderEntryError {
            class: "stock level",
            what,
            warehouse: self.warehouse,
            district: self.district,
        };
        match stage {
            0 => {
                batch.call(Query::DistrictOrders).ints([w, d]);
            }
            1 => {
                let next = answer.int(0, 0, 0).ok_or_else(|| missing("the district"))?;
                batch
                    .call(Query::LowStock)
                    .ints([w, d, next - ORDERS, next, self.threshold.into()]);
                batch.finish(End::Commit);
            }
            _ => {
                answer.int(0, 0, 0).ok_or_else(|| missing("the count"))?;
                return Ok(Step::Ended(Ending::Committed));
            }
        }
        Ok(Step::Run)
    }
}
