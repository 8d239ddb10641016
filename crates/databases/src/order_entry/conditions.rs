//! The twelve consistency conditions (TPC-C 5.11, clause 3.3.2), and the queries that count what breaks them.
//!
//! A query gives one number for each condition that it answers: 0 holds. They can be asked at any moment when no
//! transaction is under way, after a crash too, in any order and at the same time. Prevents: figures of a database that
//! has lost or invented work.

use super::scale::Scale;

/// One condition.
#[derive(Clone, Copy, Debug)]
pub struct Condition {
    /// Its number in the specification.
    pub number: u8,
    /// In words.
    pub says: &'static str,
}

/// All of them, in their order.
pub const CONDITIONS: [Condition; 12] = [
    Condition {
        number: 1,
        says: "what a warehouse took in is what its districts took in",
    },
    Condition {
        number: 2,
        says: "the next order of a district follows its last order and its last new order",
    },
    Condition {
        number: 3,
        says: "the new orders of a district have no gap",
    },
    Condition {
        number: 4,
        says: "a district has as many order lines as its orders say",
    },
    Condition {
        number: 5,
        says: "an order has no carrier just when it is a new order",
    },
    Condition {
        number: 6,
        says: "an order has as many lines as it says",
    },
    Condition {
        number: 7,
        says: "a line has a time of delivery just when its order has a carrier",
    },
    Condition {
        number: 8,
        says: "what a warehouse took in is its history",
    },
    Condition {
        number: 9,
        says: "what a district took in is its history",
    },
    Condition {
        number: 10,
        says: "a customer owes what was delivered to him less what he paid",
    },
    Condition {
        number: 11,
        says: "orders less new orders of a district are those delivered at the load and since",
    },
    Condition {
        number: 12,
        says: "what a customer owes and paid is what was delivered to him",
    },
];

/// A query of one row.
#[derive(Clone, Copy, Debug)]
pub struct ConditionQuery {
    /// The conditions that it answers. Each has a column of eight bytes: how often it is broken.
    pub numbers: &'static [u8],
    sql: &'static str,
}

impl ConditionQuery {
    /// Its text for a company of this size.
    pub fn sql(&self, scale: &Scale) -> String {
        let delivered = scale.customers - scale.undelivered();
        self.sql.replace("$1", &delivered.to_string())
    }
}

// Conditions 10 and 12 share the largest join of all. Number 11 is written in the specification for a database just
// loaded (orders less new orders = 2,100 a district); deliveries move that, and customers count theirs, so both are in.
// `$1`, where it stands: orders of a district that were delivered at the load.
/// All conditions, each in one query; those that take longest come first.
pub const CONDITION_QUERIES: [ConditionQuery; 11] = [
    ConditionQuery {
        numbers: &[10, 12],
        sql: "SELECT count(CASE WHEN c_balance <> coalesce(owed, 0) - coalesce(paid, 0) THEN 1 END), \
              count(CASE WHEN c_balance + c_ytd_payment <> coalesce(owed, 0) THEN 1 END) FROM customer \
              LEFT JOIN (SELECT o_w_id, o_d_id, o_c_id, sum(ol_amount) AS owed FROM orders JOIN order_line ON \
              ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id WHERE ol_delivery_d IS NOT NULL \
              GROUP BY o_w_id, o_d_id, o_c_id) AS l ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id \
              LEFT JOIN (SELECT h_c_w_id, h_c_d_id, h_c_id, sum(h_amount) AS paid FROM history \
              GROUP BY h_c_w_id, h_c_d_id, h_c_id) AS h ON h_c_w_id = c_w_id AND h_c_d_id = c_d_id AND h_c_id = c_id",
    },
    ConditionQuery {
        numbers: &[7],
        sql: "SELECT count(*) FROM order_line LEFT JOIN orders ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = \
            ol_o_id WHERE o_id IS NULL OR CASE WHEN ol_delivery_d IS NULL THEN 1 ELSE 0 END <> \
              CASE WHEN o_carrier_id IS NULL THEN 1 ELSE 0 END",
    },
    ConditionQuery {
        numbers: &[6],
        sql: "SELECT count(*) FROM orders \
              LEFT JOIN (SELECT ol_w_id, ol_d_id, ol_o_id, count(*) AS there FROM order_line \
              GROUP BY ol_w_id, ol_d_id, ol_o_id) AS l ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id \
              WHERE o_ol_cnt <> coalesce(there, 0)",
    },
    ConditionQuery {
        numbers: &[4],
        sql: "SELECT count(*) FROM district \
              LEFT JOIN (SELECT o_w_id, o_d_id, sum(o_ol_cnt) AS said FROM orders GROUP BY o_w_id, o_d_id) AS o \
              ON o_w_id = d_w_id AND o_d_id = d_id \
              LEFT JOIN (SELECT ol_w_id, ol_d_id, count(*) AS there FROM order_line GROUP BY ol_w_id, ol_d_id) AS l \
              ON ol_w_id = d_w_id AND ol_d_id = d_id WHERE coalesce(said, 0) <> coalesce(there, 0)",
    },
    ConditionQuery {
        numbers: &[5],
        sql: "SELECT (SELECT count(*) FROM orders LEFT JOIN new_order ON no_w_id = o_w_id AND no_d_id = o_d_id AND \
              no_o_id = o_id WHERE CASE WHEN o_carrier_id IS NULL THEN 1 ELSE 0 END <> \
              CASE WHEN no_o_id IS NULL THEN 0 ELSE 1 END) + \
              (SELECT count(*) FROM new_order LEFT JOIN orders ON no_w_id = o_w_id AND no_d_id = o_d_id AND \
              no_o_id = o_id WHERE o_id IS NULL)",
    },
    ConditionQuery {
        numbers: &[11],
        sql: "SELECT count(*) FROM district \
              LEFT JOIN (SELECT o_w_id, o_d_id, count(*) AS n FROM orders GROUP BY o_w_id, o_d_id) AS o \
              ON o_w_id = d_w_id AND o_d_id = d_id \
              LEFT JOIN (SELECT no_w_id, no_d_id, count(*) AS n FROM new_order GROUP BY no_w_id, no_d_id) AS w \
              ON no_w_id = d_w_id AND no_d_id = d_id \
              LEFT JOIN (SELECT c_w_id, c_d_id, sum(c_delivery_cnt) AS n FROM customer GROUP BY c_w_id, c_d_id) AS c \
              ON c_w_id = d_w_id AND c_d_id = d_id \
              WHERE coalesce(o.n, 0) - coalesce(w.n, 0) <> $1 + coalesce(c.n, 0)",
    },
    ConditionQuery {
        numbers: &[2],
        sql: "SELECT count(*) FROM district \
              LEFT JOIN (SELECT o_w_id, o_d_id, max(o_id) AS top FROM orders GROUP BY o_w_id, o_d_id) AS o \
              ON o_w_id = d_w_id AND o_d_id = d_id \
              LEFT JOIN (SELECT no_w_id, no_d_id, max(no_o_id) AS top FROM new_order GROUP BY no_w_id, no_d_id) AS n \
              ON no_w_id = d_w_id AND no_d_id = d_id \
              WHERE o.top IS NULL OR o.top <> d_next_o_id - 1 OR coalesce(n.top, o.top) <> o.top",
    },
    ConditionQuery {
        numbers: &[3],
        sql: "SELECT count(*) FROM (SELECT no_w_id FROM new_order GROUP BY no_w_id, no_d_id \
              HAVING max(no_o_id) - min(no_o_id) + 1 <> count(*)) AS v",
    },
    ConditionQuery {
        numbers: &[9],
        sql: "SELECT count(*) FROM district LEFT JOIN (SELECT h_w_id, h_d_id, sum(h_amount) AS total FROM history \
              GROUP BY h_w_id, h_d_id) AS h ON h_w_id = d_w_id AND h_d_id = d_id WHERE d_ytd <> coalesce(total, 0)",
    },
    ConditionQuery {
        numbers: &[8],
        sql: "SELECT count(*) FROM warehouse LEFT JOIN (SELECT h_w_id, sum(h_amount) AS total FROM history GROUP BY \
            h_w_id) AS h ON h_w_id = w_id WHERE w_ytd <> coalesce(total, 0)",
    },
    ConditionQuery {
        numbers: &[1],
        sql: "SELECT count(*) FROM warehouse LEFT JOIN (SELECT d_w_id, sum(d_ytd) AS total FROM district GROUP BY \
            d_w_id) AS d ON d_w_id = w_id WHERE total IS NULL OR w_ytd <> total",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_condition_is_asked_once() {
        let mut asked: Vec<u8> = CONDITION_QUERIES
            .iter()
            .flat_map(|query| query.numbers)
            .copied()
            .collect();
        asked.sort_unstable();
        assert_eq!(asked, CONDITIONS.map(|condition| condition.number));
    }
}
