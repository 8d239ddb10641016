//! Every statement of the five transactions, once: its text, what it takes and what it gives.
//!
//! Texts hold to SQL that PostgreSQL and SQLite both take. Prevents: two databases doing different work under one name.

/// The type of a value or a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Four bytes with sign.
    Int4,
    /// Eight bytes with sign: money in cents, times in microseconds, sums.
    Int8,
    /// Characters.
    Text,
}
use Kind::{Int4, Int8, Text};

/// One statement.
#[derive(Clone, Copy, Debug)]
pub struct Statement {
    /// Which it is.
    pub query: Query,
    /// Its text, with `$1`, `$2`, ... for values and no other `$`.
    pub sql: &'static str,
    /// Types of its values.
    pub takes: &'static [Kind],
    /// Types of the columns it gives.
    pub gives: &'static [Kind],
    /// Rows it reads are about to be changed: a server with row locks adds ` FOR UPDATE`.
    pub locks: bool,
    /// It changes exactly one row, and anything else is an error.
    pub one_row: bool,
}

/// The statements by name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Query {
    /// Tax of a warehouse.
    WarehouseTax,
    /// Tax and next order number of a district, to be changed.
    DistrictNext,
    /// Sets the next order number.
    SetDistrictNext,
    /// What a new order needs of its customer.
    CustomerDiscount,
    /// Price, name and data of an item; no row: no such item.
    Item,
    /// Stock of an item in a warehouse, to be changed.
    Stock,
    /// Writes the stock back.
    SetStock,
    /// Adds an order.
    AddOrder,
    /// Adds its number to those not delivered.
    AddNewOrder,
    /// Adds an order line.
    AddOrderLine,
    /// Address of a warehouse.
    Warehouse,
    /// Address of a district.
    District,
    /// Numbers of the customers with a last name, by first name.
    CustomersByName,
    /// A customer who pays, to be changed.
    PayingCustomer,
    /// Adds a payment to a customer.
    SetCustomerPaid,
    /// The same with the remarks of a customer with bad credit.
    SetCustomerPaidData,
    /// Adds a payment to a warehouse.
    PayWarehouse,
    /// Adds a payment to a district.
    PayDistrict,
    /// Adds a line of history.
    AddHistory,
    /// Balance and name of a customer.
    CustomerStatus,
    /// Balances and names of the customers with a last name, by first name.
    CustomerStatusByName,
    /// The last order of a customer.
    LastOrder,
    /// Its lines.
    OrderLines,
    /// The oldest order of a district that is not delivered, to be removed.
    OldestNewOrder,
    /// Removes it.
    RemoveNewOrder,
    /// The customer of an order.
    OrderCustomer,
    /// Sets the carrier of an order.
    SetCarrier,
    /// Sets the delivery time of its lines.
    SetDelivered,
    /// Sum of its lines.
    OrderAmount,
    /// Adds a delivery to a customer.
    SetCustomerDelivered,
    /// Next order number of a district, to look at.
    DistrictOrders,
    /// Items of the last twenty orders whose stock is low.
    LowStock,
}

impl Query {
    /// Statements there are.
    pub const COUNT: usize = CATALOGUE.len();

    /// All statements, in the order of their numbers.
    pub fn all() -> &'static [Statement] {
        &CATALOGUE
    }

    /// Its statement.
    pub fn statement(self) -> &'static Statement {
        &CATALOGUE[self as usize]
    }
}

const fn read(query: Query, sql: &'static str, takes: &'static [Kind], gives: &'static [Kind]) -> Statement {
    Statement {
        query,
        sql,
        takes,
        gives,
        locks: false,
        one_row: false,
    }
}

const fn lock(query: Query, sql: &'static str, takes: &'static [Kind], gives: &'static [Kind]) -> Statement {
    Statement {
        locks: true,
        ..read(query, sql, takes, gives)
    }
}

const fn write(query: Query, sql: &'static str, takes: &'static [Kind]) -> Statement {
    Statement {
        one_row: true,
        ..read(query, sql, takes, &[])
    }
}

static CATALOGUE: [Statement; 32] = [
    read(
        Query::WarehouseTax,
        "SELECT w_tax FROM warehouse WHERE w_id = $1",
        &[Int4],
        &[Int4],
    ),
    lock(
        Query::DistrictNext,
        "SELECT d_next_o_id, d_tax FROM district WHERE d_w_id = $1 AND d_id = $2",
        &[Int4; 2],
        &[Int4; 2],
    ),
    write(
        Query::SetDistrictNext,
        "UPDATE district SET d_next_o_id = $3 WHERE d_w_id = $1 AND d_id = $2",
        &[Int4; 3],
    ),
    read(
        Query::CustomerDiscount,
        "SELECT c_discount, c_last, c_credit FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3",
        &[Int4; 3],
        &[Int4, Text, Text],
    ),
    read(
        Query::Item,
        "SELECT i_price, i_name, i_data FROM item WHERE i_id = $1",
        &[Int4],
        &[Int8, Text, Text],
    ),
    lock(
        Query::Stock,
        "SELECT s_quantity, s_ytd, s_order_cnt, s_remote_cnt, s_data, CASE $3 WHEN 1 THEN s_dist_01 WHEN 2 THEN \
         s_dist_02 WHEN 3 THEN s_dist_03 WHEN 4 THEN s_dist_04 WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06 WHEN 7 \
         THEN s_dist_07 WHEN 8 THEN s_dist_08 WHEN 9 THEN s_dist_09 ELSE s_dist_10 END FROM stock WHERE s_w_id = $1 \
         AND s_i_id = $2",
        &[Int4; 3],
        &[Int4, Int8, Int4, Int4, Text, Text],
    ),
    write(
        Query::SetStock,
        "UPDATE stock SET s_quantity = $3, s_ytd = $4, s_order_cnt = $5, s_remote_cnt = $6 \
         WHERE s_w_id = $1 AND s_i_id = $2",
        &[Int4, Int4, Int4, Int8, Int4, Int4],
    ),
    write(
        Query::AddOrder,
        "INSERT INTO orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local) \
         VALUES ($1, $2, $3, $4, $5, NULL, $6, $7)",
        &[Int4, Int4, Int4, Int4, Int8, Int4, Int4],
    ),
    write(
        Query::AddNewOrder,
        "INSERT INTO new_order (no_w_id, no_d_id, no_o_id) VALUES ($1, $2, $3)",
        &[Int4; 3],
    ),
    write(
        Query::AddOrderLine,
        "INSERT INTO order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, \
         ol_quantity, ol_amount, ol_dist_info) VALUES ($1, $2, $3, $4, $5, $6, NULL, $7, $8, $9)",
        &[Int4, Int4, Int4, Int4, Int4, Int4, Int4, Int8, Text],
    ),
    read(
        Query::Warehouse,
        "SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip FROM warehouse WHERE w_id = $1",
        &[Int4],
        &[Text; 6],
    ),
    read(
        Query::District,
        "SELECT d_name, d_street_1, d_street_2, d_city, d_state, d_zip FROM district WHERE d_w_id = $1 AND d_id = $2",
        &[Int4; 2],
        &[Text; 6],
    ),
    read(
        Query::CustomersByName,
        "SELECT c_id FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_last = $3 ORDER BY c_first",
        &[Int4, Int4, Text],
        &[Int4],
    ),
    lock(
        Query::PayingCustomer,
        "SELECT c_balance, c_ytd_payment, c_payment_cnt, c_credit, c_credit_lim, c_discount, c_since, c_first, \
         c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, CASE c_credit WHEN 'BC' THEN \
         c_data END FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3",
        &[Int4; 3],
        &[
            Int8, Int8, Int4, Text, Int8, Int4, Int8, Text, Text, Text, Text, Text, Text, Text, Text, Text, Text,
        ],
    ),
    write(
        Query::SetCustomerPaid,
        "UPDATE customer SET c_balance = $4, c_ytd_payment = $5, c_payment_cnt = $6 \
         WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3",
        &[Int4, Int4, Int4, Int8, Int8, Int4],
    ),
    write(
        Query::SetCustomerPaidData,
        "UPDATE customer SET c_balance = $4, c_ytd_payment = $5, c_payment_cnt = $6, c_data = $7 \
         WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3",
        &[Int4, Int4, Int4, Int8, Int8, Int4, Text],
    ),
    write(
        Query::PayWarehouse,
        "UPDATE warehouse SET w_ytd = w_ytd + $2 WHERE w_id = $1",
        &[Int4, Int8],
    ),
    write(
        Query::PayDistrict,
        "UPDATE district SET d_ytd = d_ytd + $3 WHERE d_w_id = $1 AND d_id = $2",
        &[Int4, Int4, Int8],
    ),
    write(
        Query::AddHistory,
        "INSERT INTO history (h_c_w_id, h_c_d_id, h_c_id, h_w_id, h_d_id, h_date, h_amount, h_data) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
        &[Int4, Int4, Int4, Int4, Int4, Int8, Int8, Text],
    ),
    read(
        Query::CustomerStatus,
        "SELECT c_id, c_balance, c_first, c_middle, c_last FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = \
         $3",
        &[Int4; 3],
        &[Int4, Int8, Text, Text, Text],
    ),
    read(
        Query::CustomerStatusByName,
        "SELECT c_id, c_balance, c_first, c_middle, c_last FROM customer \
         WHERE c_w_id = $1 AND c_d_id = $2 AND c_last = $3 ORDER BY c_first",
        &[Int4, Int4, Text],
        &[Int4, Int8, Text, Text, Text],
    ),
    read(
        Query::LastOrder,
        "SELECT o_id, o_carrier_id, o_entry_d FROM orders WHERE o_w_id = $1 AND o_d_id = $2 AND o_c_id = $3 \
         ORDER BY o_id DESC LIMIT 1",
        &[Int4; 3],
        &[Int4, Int4, Int8],
    ),
    read(
        Query::OrderLines,
        "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line \
         WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = $3",
        &[Int4; 3],
        &[Int4, Int4, Int4, Int8, Int8],
    ),
    lock(
        Query::OldestNewOrder,
        "SELECT no_o_id FROM new_order WHERE no_w_id = $1 AND no_d_id = $2 ORDER BY no_o_id LIMIT 1",
        &[Int4; 2],
        &[Int4],
    ),
    write(
        Query::RemoveNewOrder,
        "DELETE FROM new_order WHERE no_w_id = $1 AND no_d_id = $2 AND no_o_id = $3",
        &[Int4; 3],
    ),
    read(
        Query::OrderCustomer,
        "SELECT o_c_id FROM orders WHERE o_w_id = $1 AND o_d_id = $2 AND o_id = $3",
        &[Int4; 3],
        &[Int4],
    ),
    write(
        Query::SetCarrier,
        "UPDATE orders SET o_carrier_id = $4 WHERE o_w_id = $1 AND o_d_id = $2 AND o_id = $3",
        &[Int4; 4],
    ),
    // An order has five to fifteen lines.
    Statement {
        one_row: false,
        ..write(
            Query::SetDelivered,
            "UPDATE order_line SET ol_delivery_d = $4 WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = $3",
            &[Int4, Int4, Int4, Int8],
        )
    },
    read(
        Query::OrderAmount,
        "SELECT CAST(sum(ol_amount) AS BIGINT) FROM order_line WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = $3",
        &[Int4; 3],
        &[Int8],
    ),
    write(
        Query::SetCustomerDelivered,
        "UPDATE customer SET c_balance = c_balance + $4, c_delivery_cnt = c_delivery_cnt + 1 \
         WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3",
        &[Int4, Int4, Int4, Int8],
    ),
    read(
        Query::DistrictOrders,
        "SELECT d_next_o_id FROM district WHERE d_w_id = $1 AND d_id = $2",
        &[Int4; 2],
        &[Int4],
    ),
    read(
        Query::LowStock,
        "SELECT count(DISTINCT s_i_id) FROM order_line, stock WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id >= $3 \
         AND ol_o_id < $4 AND s_w_id = $1 AND s_i_id = ol_i_id AND s_quantity < $5",
        &[Int4; 5],
        &[Int8],
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_statement_stands_at_its_number_and_names_its_values() {
        for (nth, statement) in Query::all().iter().enumerate() {
            assert_eq!(statement.query as usize, nth);
            assert_eq!(statement.query.statement().sql, statement.sql);
            let named = (1..=9).filter(|n| statement.sql.contains(&format!("${n}"))).count();
            assert_eq!(named, statement.takes.len(), "{}", statement.sql);
            assert!(!statement.sql.contains("FOR UPDATE"));
            assert!(!(statement.locks && statement.one_row));
        }
    }
}
