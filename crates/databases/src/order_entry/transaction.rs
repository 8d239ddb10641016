//! A transaction of any class: chosen, stepped, and begun anew after a failure that asks for it.
//!
//! Takes a [`Terminal`] for its inputs and answers for its steps, gives batches. Prevents: a retry with other inputs
//! than the first try (they are kept).

use super::answer::Answer;
use super::batch::Batch;
use super::delivery::Delivery;
use super::new_order::NewOrder;
use super::order_status::OrderStatus;
use super::payment::Payment;
use super::step::{OrderEntryError, Step};
use super::stock_level::StockLevel;
use super::terminal::Terminal;

/// Names of the classes, by their number.
pub const CLASSES: [&str; 5] = ["new order", "payment", "order status", "delivery", "stock level"];

#[derive(Clone, Debug)]
enum Work {
    NewOrder(NewOrder),
    Payment(Payment),
    OrderStatus(OrderStatus),
    Delivery(Delivery),
    StockLevel(StockLevel),
}

/// One transaction with its inputs.
#[derive(Clone, Debug)]
pub struct Transaction {
    work: Work,
    stage: u8,
}

impl Transaction {
    /// What the user types next. `now_us`: the time of day for the rows it writes, microseconds since 1970.
    pub fn choose(terminal: &mut Terminal, now_us: i64) -> Self {
        let work = match terminal.deal() {
            0 => Work::NewOrder(NewOrder::choose(terminal, now_us)),
            1 => Work::Payment(Payment::choose(terminal, now_us)),
            2 => Work::OrderStatus(OrderStatus::choose(terminal)),
            3 => Work::Delivery(Delivery::choose(terminal, now_us)),
            _ => Work::StockLevel(StockLevel::choose(terminal)),
        };
        Transaction { work, stage: 0 }
    }

    /// Index into [`CLASSES`].
    pub fn class(&self) -> u8 {
        match self.work {
            Work::NewOrder(_) => 0,
            Work::Payment(_) => 1,
            Work::OrderStatus(_) => 2,
            Work::Delivery(_) => 3,
            Work::StockLevel(_) => 4,
        }
    }

    /// It changes nothing.
    pub fn is_read_only(&self) -> bool {
        matches!(self.work, Work::OrderStatus(_) | Work::StockLevel(_))
    }

    /// Back to the first step, with the same inputs.
    pub fn restart(&mut self) {
        self.stage = 0;
    }

    /// The next step: takes the answer to the last batch (anything at the first step) and fills `batch`, which is
    /// empty.
    ///
    /// # Errors
    /// A row that must be there is not.
    pub fn step(&mut self, answer: &Answer, batch: &mut Batch) -> Result<Step, OrderEntryError> {
        let stage = self.stage;
        self.stage += 1;
        if stage == 0 {
            batch.begin();
        }
        match &mut self.work {
            Work::NewOrder(work) => work.step(stage, answer, batch),
            Work::Payment(work) => work.step(stage, answer, batch),
            Work::OrderStatus(work) => work.step(stage, answer, batch),
            Work::Delivery(work) => work.step(stage, answer, batch),
            Work::StockLevel(work) => work.step(stage, answer, batch),
        }
    }
}
