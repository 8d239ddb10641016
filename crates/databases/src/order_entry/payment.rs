//! Payment: a customer pays, at his own warehouse or, in 15 % of the cases, at another (TPC-C 5.11, clause 2.5).
//!
//! Trips: look up (by last name: who he is, then the customer himself), then all writes. The warehouse's row, which
//! every payment changes, is locked only in the last trip: the order of work inside a transaction is free (clause 2.3).

use super::answer::Answer;
use super::batch::{Batch, End};
use super::random::{last_name, percent, uniform};
use super::statements::Query;
use super::step::{Ending, OrderEntryError, Step};
use super::terminal::{Customer, Terminal};

/// Width of a customer's remarks.
const DATA_BYTES: usize = 500;
/// The place of a customer's remarks in `PayingCustomer`.
const DATA_COLUMN: usize = 16;
const NAME_BYTES: usize = 10;

#[derive(Clone, Debug)]
pub(super) struct Payment {
    warehouse: u32,
    district: u32,
    customer_warehouse: u32,
    customer_district: u32,
    by: Customer,
    amount: i64,
    now_us: i64,
    /// Found, from the second trip on.
    customer: u32,
    /// Names of warehouse and district, with their lengths.
    names: [[u8; NAME_BYTES]; 2],
    name_bytes: [u8; 2],
}

impl Payment {
    pub(super) fn choose(terminal: &mut Terminal, now_us: i64) -> Self {
        let (warehouse, district) = (terminal.warehouse(), terminal.district());
        let (customer_warehouse, customer_district) = if percent(&mut terminal.random, 85) {
            (warehouse, district)
        } else {
            (terminal.other_warehouse(warehouse), terminal.district())
        };
        Payment {
            warehouse,
            district,
            customer_warehouse,
            customer_district,
            by: terminal.customer(),
            amount: uniform(&mut terminal.random, 100, 500_000).into(),
            now_us,
            customer: 0,
            names: [[0; NAME_BYTES]; 2],
            name_bytes: [0; 2],
        }
    }

    fn missing(&self, what: &'static str) -> OrderEntryError {
        OrderEntryError {
            class: "payment",
            what,
            warehouse: self.customer_warehouse,
            district: self.customer_district,
        }
    }

    pub(super) fn step(&mut self, stage: u8, answer: &Answer, batch: &mut Batch) -> Result<Step, OrderEntryError> {
        match (stage, self.by) {
            (0, _) => self.look_up(batch),
            (1, Customer::Name(_)) => {
                self.keep_names(answer)?;
                let namesakes = answer.rows(2);
                // Clause 2.5.2.2: the middle one by first name, rounded up.
                let middle = answer.int(2, namesakes.div_ceil(2).saturating_sub(1), 0);
                self.customer = middle.ok_or_else(|| self.missing("every customer of a last name"))? as u32;
                self.ask_customer(batch);
            }
            (1, Customer::Number(_)) => {
                self.keep_names(answer)?;
                self.pay(answer, 2, batch)?;
            }
            (2, Customer::Name(_)) => self.pay(answer, 0, batch)?,
            _ => return Ok(Step::Ended(Ending::Committed)),
        }
        Ok(Step::Run)
    }

    fn look_up(&mut self, batch: &mut Batch) {
        let (w, d) = (i64::from(self.warehouse), i64::from(self.district));
        batch.call(Query::Warehouse).int(w);
        batch.call(Query::District).ints([w, d]);
        match self.by {
            Customer::Name(number) => {
                let mut name = [0; 16];
                let bytes = last_name(number, &mut name);
                batch
                    .call(Query::CustomersByName)
                    .ints([self.customer_warehouse.into(), self.customer_district.into()])
                    .words(&name[..bytes]);
            }
            Customer::Number(number) => {
                self.customer = number;
                self.ask_customer(batch);
            }
        }
    }

    fn ask_customer(&self, batch: &mut Batch) {
        batch.call(Query::PayingCustomer).ints(self.key());
    }

    fn key(&self) -> [i64; 3] {
        [
            self.customer_warehouse.into(),
            self.customer_district.into(),
            self.customer.into(),
        ]
    }

    fn keep_names(&mut self, answer: &Answer) -> Result<(), OrderEntryError> {
        for (nth, what) in ["the warehouse", "the district"].into_iter().enumerate() {
            let name = answer.text(nth, 0, 0).ok_or_else(|| self.missing(what))?;
            let bytes = name.len().min(NAME_BYTES);
            self.names[nth][..bytes].copy_from_slice(&name[..bytes]);
            self.name_bytes[nth] = bytes as u8;
        }
        Ok(())
    }

    fn pay(&self, answer: &Answer, call: usize, batch: &mut Batch) -> Result<(), OrderEntryError> {
        let number = |column| answer.int(call, 0, column).ok_or_else(|| self.missing("the customer"));
        let (balance, paid, payments) = (number(0)?, number(1)?, number(2)?);
        let after = [balance - self.amount, paid + self.amount, payments + 1];
        let (w, d) = (i64::from(self.warehouse), i64::from(self.district));
        match answer.text(call, 0, DATA_COLUMN) {
            Some(data) => {
                // Clause 2.5.2.2: who pays what where, before what was remarked so far.
                let remark = format_args!(
                    "| {} {} {} {} {} {}.{:02} ",
                    self.customer,
                    self.customer_district,
                    self.customer_warehouse,
                    d,
                    w,
                    self.amount / 100,
                    self.amount % 100
                );
                let mut room = Remark::default();
                // It has room for the longest numbers there can be.
                let _ = std::fmt::write(&mut room, remark);
                batch
                    .call(Query::SetCustomerPaidData)
                    .ints(self.key())
                    .ints(after)
                    .pieces(&[&room.text[..room.bytes], data], DATA_BYTES);
            }
            None => {
                batch.call(Query::SetCustomerPaid).ints(self.key()).ints(after);
            }
        }
        let name = |nth: usize| &self.names[nth][..usize::from(self.name_bytes[nth])];
        batch
            .call(Query::AddHistory)
            .ints(self.key())
            .ints([w, d, self.now_us, self.amount])
            .pieces(&[name(0), b"    ", name(1)], 24);
        batch.call(Query::PayDistrict).ints([w, d, self.amount]);
        batch.call(Query::PayWarehouse).ints([w, self.amount]);
        batch.finish(End::Commit);
        Ok(())
    }
}

/// A line of text of fixed room: nothing is allocated.
struct Remark {
    text: [u8; 80],
    bytes: usize,
}

impl Default for Remark {
    fn default() -> Self {
        Remark {
            text: [0; 80],
            bytes: 0,
        }
    }
}

impl std::fmt::Write for Remark {
    fn write_str(&mut self, piece: &str) -> std::fmt::Result {
        let to = self.bytes + piece.len();
        let room = self.text.get_mut(self.bytes..to).ok_or(std::fmt::Error)?;
        room.copy_from_slice(piece.as_bytes());
        self.bytes = to;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::order_entry::{Home, Scale};

    #[test]
    fn fifteen_percent_pay_elsewhere_and_sixty_by_name() {
        let mut terminal = Terminal::new(Scale::full(5).unwrap(), Home::Fixed, 1, 2, 3);
        let (mut remote, mut by_name) = (0, 0);
        for _ in 0..20_000 {
            let payment = Payment::choose(&mut terminal, 0);
            remote += u32::from(payment.customer_warehouse != 4);
            by_name += u32::from(matches!(payment.by, Customer::Name(_)));
        }
        assert!((2_800..3_200).contains(&remote), "{remote}");
        assert!((11_700..12_300).contains(&by_name), "{by_name}");
    }

    #[test]
    fn bad_credit_gets_a_remark_of_at_most_500_bytes() {
        let mut terminal = Terminal::new(Scale::full(1).unwrap(), Home::Fixed, 1, 2, 0);
        let mut payment = Payment::choose(&mut terminal, 0);
        (payment.by, payment.customer, payment.amount) = (Customer::Number(17), 17, 12_305);
        let mut answer = Answer::new();
        answer.open_call();
        answer.open_row();
        for number in [-1_000, 1_000, 1] {
            answer.push_int(number);
        }
        for _ in 3..DATA_COLUMN {
            answer.push_null();
        }
        answer.push_text(&[b'x'; DATA_BYTES]);
        let mut batch = Batch::new();
        payment.pay(&answer, 0, &mut batch).unwrap();
        let (query, values) = batch.calls().next().unwrap();
        assert_eq!(query, Query::SetCustomerPaidData);
        let data = batch.text(values[6]);
        assert_eq!(data.len(), DATA_BYTES);
        assert!(data.starts_with(b"| 17 "), "{}", String::from_utf8_lossy(data));
        assert!(String::from_utf8_lossy(data).contains(" 123.05 xxx"));
        assert_eq!(batch.end(), Some(End::Commit));
    }
}
