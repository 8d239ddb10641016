//! The texts of the 22 questions, and what their answers hold.
//!
//! Each asks what the published description asks, in words of our own; `{1}`, `{2}` ... are its parameters, `{one}` is
//! what the number one is among hundredths, `{year COLUMN}` the year of a day. Comparisons are written without
//! division, so that all engines decide them exactly. Where a limit could cut between equals, a key ends the order.
//! Prevents: an answer that depends on which of two equal rows came first.

use super::question::{Dialect, Gives, Question, Text};
use Gives::{Exact, Ratio, Whole};

/// A column of text: short, because tables of them stand below.
const T: Gives = Gives::Text;

/// What the columns of each answer hold, by question.
pub(crate) const GIVES: [&[Gives]; 22] = [
    &[T, T, Exact(2), Exact(2), Exact(4), Exact(6), Ratio, Ratio, Ratio, Whole],
    &[Exact(2), T, T, Whole, T, T, T, T],
    &[Whole, Exact(4), T, Whole],
    &[T, Whole],
    &[T, Exact(4)],
    &[Exact(4)],
    &[T, T, Whole, Exact(4)],
    &[Whole, Ratio],
    &[T, Whole, Exact(4)],
    &[Whole, T, Exact(4), Exact(2), T, T, T, T],
    &[Whole, Exact(2)],
    &[T, Whole, Whole],
    &[Whole, Whole],
    &[Ratio],
    &[Whole, T, T, T, Exact(4)],
    &[T, T, Whole, Whole],
    &[Ratio],
    &[T, Whole, Whole, T, Exact(2), Exact(2)],
    &[Exact(4)],
    &[T, T],
    &[T, Whole],
    &[T, Whole, Exact(2)],
];

/// The text with places for parameters.
pub(crate) fn template(question: Question, dialect: Dialect, text: Text) -> &'static str {
    match (question.number(), text) {
        (1, _) => match dialect {
            Dialect::Postgres => PRICING_SUMMARY,
            Dialect::Sqlite => PRICING_SUMMARY_IN_PARTS,
        },
        (2, Text::Grouped) => CHEAPEST_SUPPLIER_GROUPED,
        (2, Text::Nested) => CHEAPEST_SUPPLIER_NESTED,
        (3, _) => UNSHIPPED_ORDERS,
        (4, _) => ORDER_PRIORITIES,
        (5, _) => LOCAL_SUPPLIERS,
        (6, _) => REVENUE_FORECAST,
        (7, _) => TRADE_OF_TWO_NATIONS,
        (8, _) => MARKET_SHARE,
        (9, _) => PROFIT_BY_PART_NAME,
        (10, _) => RETURNED_ITEMS,
        (11, _) => VALUABLE_STOCK,
        (12, _) => SHIPPING_MODES,
        (13, Text::Grouped) => CUSTOMERS_BY_ORDERS_GROUPED,
        (13, Text::Nested) => CUSTOMERS_BY_ORDERS_JOINED,
        (14, _) => PROMOTION_SHARE,
        (15, _) => BEST_SUPPLIER,
        (16, _) => SUPPLIERS_OF_PARTS,
        (17, Text::Grouped) => SMALL_ORDERS_GROUPED,
        (17, Text::Nested) => SMALL_ORDERS_NESTED,
        (18, _) => LARGE_ORDERS,
        (19, _) => DISCOUNTED_REVENUE,
        (20, Text::Grouped) => EXCESS_STOCK_GROUPED,
        (20, Text::Nested) => EXCESS_STOCK_NESTED,
        (21, _) => LATE_SUPPLIERS,
        // PostgreSQL joins NOT EXISTS by hash; its NOT IN is a linear search once the list outgrows work_mem. SQLite
        // is the other way round: NOT EXISTS reads the table for each row where no index helps.
        (_, Text::Grouped) => match dialect {
            Dialect::Postgres => IDLE_CUSTOMERS_NESTED,
            Dialect::Sqlite => IDLE_CUSTOMERS_GROUPED,
        },
        (_, Text::Nested) => IDLE_CUSTOMERS_NESTED,
    }
}

const PRICING_SUMMARY: &str = "\
SELECT l_returnflag, l_linestatus, SUM(l_quantity), SUM(l_extendedprice),
       SUM(l_extendedprice * ({one} - l_discount)),
       SUM(l_extendedprice * ({one} - l_discount) * ({one} + l_tax)),
       AVG(l_quantity) / {one}.0, AVG(l_extendedprice) / {one}.0, AVG(l_discount) / {one}.0, COUNT(*)
FROM lineitem
WHERE l_shipdate <= '{1}'
GROUP BY l_returnflag, l_linestatus
ORDER BY l_returnflag, l_linestatus";

// From scale 84 on the sum with tax outgrows the 64 bits of SQLite's whole numbers, and SQLite ends the question. So
// prices and taxes are summed apart: p * (100 + t) = p * 100 + p * t, and only their digits are put together.
const PRICING_SUMMARY_IN_PARTS: &str = "\
SELECT l_returnflag, l_linestatus, SUM(l_quantity), SUM(l_extendedprice),
       SUM(l_extendedprice * ({one} - l_discount)),
       printf('%d.%06d',
         SUM(l_extendedprice * ({one} - l_discount)) / 10000
           + (SUM(l_extendedprice * ({one} - l_discount)) % 10000 * {one}
             + SUM(l_extendedprice * ({one} - l_discount) * l_tax)) / 1000000,
         (SUM(l_extendedprice * ({one} - l_discount)) % 10000 * {one}
           + SUM(l_extendedprice * ({one} - l_discount) * l_tax)) % 1000000),
       AVG(l_quantity) / {one}.0, AVG(l_extendedprice) / {one}.0, AVG(l_discount) / {one}.0, COUNT(*)
FROM lineitem
WHERE l_shipdate <= '{1}'
GROUP BY l_returnflag, l_linestatus
ORDER BY l_returnflag, l_linestatus";

const CHEAPEST_SUPPLIER_GROUPED: &str = "\
WITH offers AS (
  SELECT ps_partkey, ps_supplycost, s_acctbal, s_name, s_address, s_phone, s_comment, n_name
  FROM partsupp
  JOIN supplier ON s_suppkey = ps_suppkey
  JOIN nation ON n_nationkey = s_nationkey
  JOIN region ON r_regionkey = n_regionkey
  WHERE r_name = '{3}'
), cheapest AS (
  SELECT ps_partkey AS part, MIN(ps_supplycost) AS cost FROM offers GROUP BY ps_partkey
)
SELECT s_acctbal, s_name, n_name, p_partkey, p_mfgr, s_address, s_phone, s_comment
FROM part
JOIN offers ON ps_partkey = p_partkey
JOIN cheapest ON part = p_partkey AND cost = ps_supplycost
WHERE p_size = {1} AND p_type LIKE '%{2}'
ORDER BY s_acctbal DESC, n_name, s_name, p_partkey
LIMIT 100";

const CHEAPEST_SUPPLIER_NESTED: &str = "\
SELECT s_acctbal, s_name, n_name, p_partkey, p_mfgr, s_address, s_phone, s_comment
FROM part
JOIN partsupp ON ps_partkey = p_partkey
JOIN supplier ON s_suppkey = ps_suppkey
JOIN nation ON n_nationkey = s_nationkey
JOIN region ON r_regionkey = n_regionkey
WHERE p_size = {1} AND p_type LIKE '%{2}' AND r_name = '{3}'
  AND ps_supplycost = (
    SELECT MIN(other.ps_supplycost)
    FROM partsupp AS other
    JOIN supplier AS seller ON seller.s_suppkey = other.ps_suppkey
    JOIN nation AS home ON home.n_nationkey = seller.s_nationkey
    JOIN region AS around ON around.r_regionkey = home.n_regionkey
    WHERE other.ps_partkey = p_partkey AND around.r_name = '{3}')
ORDER BY s_acctbal DESC, n_name, s_name, p_partkey
LIMIT 100";

const UNSHIPPED_ORDERS: &str = "\
SELECT l_orderkey, SUM(l_extendedprice * ({one} - l_discount)) AS revenue, o_orderdate, o_shippriority
FROM customer
JOIN orders ON o_custkey = c_custkey
JOIN lineitem ON l_orderkey = o_orderkey
WHERE c_mktsegment = '{1}' AND o_orderdate < '{2}' AND l_shipdate > '{2}'
GROUP BY l_orderkey, o_orderdate, o_shippriority
ORDER BY revenue DESC, o_orderdate, l_orderkey
LIMIT 10";

const ORDER_PRIORITIES: &str = "\
SELECT o_orderpriority, COUNT(*)
FROM orders
WHERE o_orderdate >= '{1}' AND o_orderdate < '{2}'
  AND EXISTS (SELECT 1 FROM lineitem WHERE l_orderkey = o_orderkey AND l_commitdate < l_receiptdate)
GROUP BY o_orderpriority
ORDER BY o_orderpriority";

const LOCAL_SUPPLIERS: &str = "\
SELECT n_name, SUM(l_extendedprice * ({one} - l_discount)) AS revenue
FROM region
JOIN nation ON n_regionkey = r_regionkey
JOIN customer ON c_nationkey = n_nationkey
JOIN orders ON o_custkey = c_custkey
JOIN lineitem ON l_orderkey = o_orderkey
JOIN supplier ON s_suppkey = l_suppkey AND s_nationkey = c_nationkey
WHERE r_name = '{1}' AND o_orderdate >= '{2}' AND o_orderdate < '{3}'
GROUP BY n_name
ORDER BY revenue DESC";

const REVENUE_FORECAST: &str = "\
SELECT SUM(l_extendedprice * l_discount)
FROM lineitem
WHERE l_shipdate >= '{1}' AND l_shipdate < '{2}'
  AND l_discount BETWEEN {3} AND {4} AND l_quantity < {5}";

const TRADE_OF_TWO_NATIONS: &str = "\
SELECT sold.n_name, bought.n_name, {year l_shipdate} AS shipped, SUM(l_extendedprice * ({one} - l_discount))
FROM lineitem
JOIN orders ON o_orderkey = l_orderkey
JOIN customer ON c_custkey = o_custkey
JOIN supplier ON s_suppkey = l_suppkey
JOIN nation AS sold ON sold.n_nationkey = s_nationkey
JOIN nation AS bought ON bought.n_nationkey = c_nationkey
WHERE l_shipdate BETWEEN '1995-01-01' AND '1996-12-31'
  AND (sold.n_name = '{1}' AND bought.n_name = '{2}' OR sold.n_name = '{2}' AND bought.n_name = '{1}')
GROUP BY sold.n_name, bought.n_name, {year l_shipdate}
ORDER BY sold.n_name, bought.n_name, shipped";

const MARKET_SHARE: &str = "\
SELECT {year o_orderdate} AS ordered,
       SUM(CASE WHEN seller.n_name = '{1}' THEN l_extendedprice * ({one} - l_discount) ELSE 0 END) * 1.0
         / SUM(l_extendedprice * ({one} - l_discount))
FROM part
JOIN lineitem ON l_partkey = p_partkey
JOIN supplier ON s_suppkey = l_suppkey
JOIN nation AS seller ON seller.n_nationkey = s_nationkey
JOIN orders ON o_orderkey = l_orderkey
JOIN customer ON c_custkey = o_custkey
JOIN nation AS buyer ON buyer.n_nationkey = c_nationkey
JOIN region ON r_regionkey = buyer.n_regionkey
WHERE r_name = '{2}' AND p_type = '{3}' AND o_orderdate BETWEEN '1995-01-01' AND '1996-12-31'
GROUP BY {year o_orderdate}
ORDER BY ordered";

const PROFIT_BY_PART_NAME: &str = "\
SELECT n_name, {year o_orderdate} AS ordered,
       SUM(l_extendedprice * ({one} - l_discount) - ps_supplycost * l_quantity)
FROM part
JOIN lineitem ON l_partkey = p_partkey
JOIN partsupp ON ps_partkey = l_partkey AND ps_suppkey = l_suppkey
JOIN supplier ON s_suppkey = l_suppkey
JOIN nation ON n_nationkey = s_nationkey
JOIN orders ON o_orderkey = l_orderkey
WHERE p_name LIKE '%{1}%'
GROUP BY n_name, {year o_orderdate}
ORDER BY n_name, ordered DESC";

const RETURNED_ITEMS: &str = "\
SELECT c_custkey, c_name, SUM(l_extendedprice * ({one} - l_discount)) AS revenue,
       c_acctbal, n_name, c_address, c_phone, c_comment
FROM orders
JOIN lineitem ON l_orderkey = o_orderkey
JOIN customer ON c_custkey = o_custkey
JOIN nation ON n_nationkey = c_nationkey
WHERE o_orderdate >= '{1}' AND o_orderdate < '{2}' AND l_returnflag = 'R'
GROUP BY c_custkey, c_name, c_acctbal, n_name, c_address, c_phone, c_comment
ORDER BY revenue DESC, c_custkey
LIMIT 20";

const VALUABLE_STOCK: &str = "\
WITH stock AS (
  SELECT ps_partkey AS part, ps_supplycost * ps_availqty AS worth
  FROM nation
  JOIN supplier ON s_nationkey = n_nationkey
  JOIN partsupp ON ps_suppkey = s_suppkey
  WHERE n_name = '{1}'
)
SELECT part, SUM(worth) AS total
FROM stock
GROUP BY part
HAVING SUM(worth) * {2} > (SELECT SUM(worth) FROM stock)
ORDER BY total DESC";

const SHIPPING_MODES: &str = "\
SELECT l_shipmode,
       SUM(CASE WHEN o_orderpriority IN ('1-URGENT', '2-HIGH') THEN 1 ELSE 0 END),
       SUM(CASE WHEN o_orderpriority IN ('1-URGENT', '2-HIGH') THEN 0 ELSE 1 END)
FROM lineitem
JOIN orders ON o_orderkey = l_orderkey
WHERE l_shipmode IN ('{1}', '{2}') AND l_receiptdate >= '{3}' AND l_receiptdate < '{4}'
  AND l_shipdate < l_commitdate AND l_commitdate < l_receiptdate
GROUP BY l_shipmode
ORDER BY l_shipmode";

// SQLite would make an index of the orders for the join below, comments and all, and wait for its pages hundreds of
// thousands of times.
const CUSTOMERS_BY_ORDERS_GROUPED: &str = "\
WITH ordered AS (
  SELECT o_custkey AS customer, COUNT(*) AS orders
  FROM orders
  WHERE o_comment NOT LIKE '%{1}%{2}%'
  GROUP BY o_custkey
), counted AS (
  SELECT c_custkey, COALESCE(orders, 0) AS many
  FROM customer
  LEFT JOIN ordered ON customer = c_custkey
)
SELECT many, COUNT(*) AS customers
FROM counted
GROUP BY many
ORDER BY customers DESC, many DESC";

const CUSTOMERS_BY_ORDERS_JOINED: &str = "\
WITH counted AS (
  SELECT c_custkey, COUNT(o_orderkey) AS many
  FROM customer
  LEFT JOIN orders ON o_custkey = c_custkey AND o_comment NOT LIKE '%{1}%{2}%'
  GROUP BY c_custkey
)
SELECT many, COUNT(*) AS customers
FROM counted
GROUP BY many
ORDER BY customers DESC, many DESC";

const PROMOTION_SHARE: &str = "\
SELECT SUM(CASE WHEN p_type LIKE 'PROMO%' THEN l_extendedprice * ({one} - l_discount) ELSE 0 END) * 100.0
         / SUM(l_extendedprice * ({one} - l_discount))
FROM lineitem
JOIN part ON p_partkey = l_partkey
WHERE l_shipdate >= '{1}' AND l_shipdate < '{2}'";

const BEST_SUPPLIER: &str = "\
WITH earned AS (
  SELECT l_suppkey AS seller, SUM(l_extendedprice * ({one} - l_discount)) AS total
  FROM lineitem
  WHERE l_shipdate >= '{1}' AND l_shipdate < '{2}'
  GROUP BY l_suppkey
)
SELECT s_suppkey, s_name, s_address, s_phone, total
FROM supplier
JOIN earned ON seller = s_suppkey
WHERE total = (SELECT MAX(total) FROM earned)
ORDER BY s_suppkey";

const SUPPLIERS_OF_PARTS: &str = "\
SELECT p_brand, p_type, p_size, COUNT(DISTINCT ps_suppkey) AS sellers
FROM partsupp
JOIN part ON p_partkey = ps_partkey
WHERE p_brand <> '{1}' AND p_type NOT LIKE '{2}%' AND p_size IN ({3})
  AND ps_suppkey NOT IN (SELECT s_suppkey FROM supplier WHERE s_comment LIKE '%Customer%Complaints%')
GROUP BY p_brand, p_type, p_size
ORDER BY sellers DESC, p_brand, p_type, p_size";

const SMALL_ORDERS_GROUPED: &str = "\
WITH usual AS (
  SELECT l_partkey AS part, SUM(l_quantity) AS total, COUNT(*) AS many FROM lineitem GROUP BY l_partkey
)
SELECT SUM(l_extendedprice) / ({one} * 7.0)
FROM part
JOIN lineitem ON l_partkey = p_partkey
JOIN usual ON part = p_partkey
WHERE p_brand = '{1}' AND p_container = '{2}' AND l_quantity * 5 * many < total";

const SMALL_ORDERS_NESTED: &str = "\
SELECT SUM(l_extendedprice) / ({one} * 7.0)
FROM part
JOIN lineitem ON l_partkey = p_partkey
WHERE p_brand = '{1}' AND p_container = '{2}'
  AND l_quantity < (SELECT AVG(other.l_quantity) / 5 FROM lineitem AS other WHERE other.l_partkey = p_partkey)";

const LARGE_ORDERS: &str = "\
SELECT c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice, SUM(l_quantity)
FROM orders
JOIN customer ON c_custkey = o_custkey
JOIN lineitem ON l_orderkey = o_orderkey
WHERE o_orderkey IN (SELECT l_orderkey FROM lineitem GROUP BY l_orderkey HAVING SUM(l_quantity) > {1})
GROUP BY c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice
ORDER BY o_totalprice DESC, o_orderdate, o_orderkey
LIMIT 100";

const DISCOUNTED_REVENUE: &str = "\
SELECT SUM(l_extendedprice * ({one} - l_discount))
FROM lineitem
JOIN part ON p_partkey = l_partkey
WHERE l_shipmode IN ('AIR', 'AIR REG') AND l_shipinstruct = 'DELIVER IN PERSON'
  AND (p_brand = '{1}' AND p_container IN ('SM CASE', 'SM BOX', 'SM PACK', 'SM PKG')
         AND l_quantity BETWEEN {2} AND {3} AND p_size BETWEEN 1 AND 5
    OR p_brand = '{4}' AND p_container IN ('MED BAG', 'MED BOX', 'MED PKG', 'MED PACK')
         AND l_quantity BETWEEN {5} AND {6} AND p_size BETWEEN 1 AND 10
    OR p_brand = '{7}' AND p_container IN ('LG CASE', 'LG BOX', 'LG PACK', 'LG PKG')
         AND l_quantity BETWEEN {8} AND {9} AND p_size BETWEEN 1 AND 15)";

const EXCESS_STOCK_GROUPED: &str = "\
WITH moved AS (
  SELECT l_partkey AS part, l_suppkey AS seller, SUM(l_quantity) AS total
  FROM lineitem
  WHERE l_shipdate >= '{2}' AND l_shipdate < '{3}'
  GROUP BY l_partkey, l_suppkey
)
SELECT s_name, s_address
FROM supplier
JOIN nation ON n_nationkey = s_nationkey
WHERE n_name = '{4}'
  AND s_suppkey IN (
    SELECT ps_suppkey
    FROM partsupp
    JOIN moved ON part = ps_partkey AND seller = ps_suppkey
    WHERE ps_availqty * 2 * {one} > total
      AND ps_partkey IN (SELECT p_partkey FROM part WHERE p_name LIKE '{1}%'))
ORDER BY s_name";

const EXCESS_STOCK_NESTED: &str = "\
SELECT s_name, s_address
FROM supplier
JOIN nation ON n_nationkey = s_nationkey
WHERE n_name = '{4}'
  AND s_suppkey IN (
    SELECT ps_suppkey
    FROM partsupp
    WHERE ps_partkey IN (SELECT p_partkey FROM part WHERE p_name LIKE '{1}%')
      AND ps_availqty * 2 * {one} > (
        SELECT SUM(l_quantity)
        FROM lineitem
        WHERE l_partkey = ps_partkey AND l_suppkey = ps_suppkey
          AND l_shipdate >= '{2}' AND l_shipdate < '{3}'))
ORDER BY s_name";

const LATE_SUPPLIERS: &str = "\
SELECT s_name, COUNT(*) AS waits
FROM supplier
JOIN nation ON n_nationkey = s_nationkey
JOIN lineitem AS late ON late.l_suppkey = s_suppkey
JOIN orders ON o_orderkey = late.l_orderkey
WHERE n_name = '{1}' AND o_orderstatus = 'F' AND late.l_receiptdate > late.l_commitdate
  AND EXISTS (
    SELECT 1 FROM lineitem AS other
    WHERE other.l_orderkey = late.l_orderkey AND other.l_suppkey <> late.l_suppkey)
  AND NOT EXISTS (
    SELECT 1 FROM lineitem AS other
    WHERE other.l_orderkey = late.l_orderkey AND other.l_suppkey <> late.l_suppkey
      AND other.l_receiptdate > other.l_commitdate)
GROUP BY s_name
ORDER BY waits DESC, s_name
LIMIT 100";

const IDLE_CUSTOMERS_GROUPED: &str = "\
WITH near AS (
  SELECT c_custkey, substr(c_phone, 1, 2) AS code, c_acctbal FROM customer WHERE substr(c_phone, 1, 2) IN ({1})
), usual AS (
  SELECT SUM(c_acctbal) AS total, COUNT(*) AS many FROM near WHERE c_acctbal > 0
)
SELECT code, COUNT(*), SUM(c_acctbal)
FROM near
WHERE c_acctbal * (SELECT many FROM usual) > (SELECT total FROM usual)
  AND c_custkey NOT IN (SELECT o_custkey FROM orders)
GROUP BY code
ORDER BY code";

const IDLE_CUSTOMERS_NESTED: &str = "\
WITH near AS (
  SELECT c_custkey, substr(c_phone, 1, 2) AS code, c_acctbal FROM customer WHERE substr(c_phone, 1, 2) IN ({1})
), usual AS (
  SELECT SUM(c_acctbal) AS total, COUNT(*) AS many FROM near WHERE c_acctbal > 0
)
SELECT code, COUNT(*), SUM(c_acctbal)
FROM near
WHERE c_acctbal * (SELECT many FROM usual) > (SELECT total FROM usual)
  AND NOT EXISTS (SELECT 1 FROM orders WHERE o_custkey = c_custkey)
GROUP BY code
ORDER BY code";

#[cfg(test)]
mod tests {
    use super::super::answer::{Answer, Cell};
    use super::super::parameters::Parameters;
    use super::super::scale::Scale;
    use super::super::schema::Table;
    use super::*;
    use rusqlite::{Connection, params, types::Value};

    /// Lines of one group as SQLite keeps them: price, discount and tax in hundredths.
    fn lines(sql: &Connection, lines: &[(i64, i64, i64)]) {
        sql.execute_batch(&Table::LineItem.create_sqlite()).unwrap();
        let text = "INSERT INTO lineitem VALUES (?1, 1, 1, 1, 100, ?2, ?3, ?4, 'N', 'O', '1998-01-01', '1998-01-01', \
                    '1998-01-01', 'NONE', 'MAIL', '')";
        let mut insert = sql.prepare(text).unwrap();
        for (nth, (price, discount, tax)) in lines.iter().enumerate() {
            insert.execute(params![nth as i64, price, discount, tax]).unwrap();
        }
    }

    fn summary(sql: &Connection) -> Vec<Vec<String>> {
        let question = Question::new(1).unwrap();
        let parameters = Parameters::published(question, Scale::new(100.0).unwrap());
        let text = question.sql(&parameters, Dialect::Sqlite, Text::Grouped);
        let mut statement = sql.prepare(&text).unwrap();
        let rows = statement.query_map([], |row| {
            let cell = |nth| {
                Ok(match row.get::<_, Value>(nth)? {
                    Value::Integer(number) => Cell::Whole(number),
                    Value::Real(number) => Cell::Real(number),
                    Value::Text(text) => Cell::Text(text),
                    Value::Null | Value::Blob(_) => Cell::Null,
                })
            };
            (0..10).map(cell).collect::<rusqlite::Result<Vec<Cell>>>()
        });
        let rows = rows.unwrap().collect::<rusqlite::Result<_>>().unwrap();
        Answer::new(question, rows).unwrap().rows
    }

    #[test]
    fn sqlite_sums_prices_with_tax_past_64_bits() {
        // A thousand lines at large prices come to what hundreds of millions come to at scale 100, and to more.
        let large = (0..1000).map(|nth| (10_000_000_000_000 + nth * 7919, nth % 11, nth % 9));
        // Digits behind the point are carried, and zeros at the end are kept.
        let carried = vec![(1, 1, 1), (99_999, 0, 8), (90_100, 10, 0)];
        for all in [large.collect::<Vec<_>>(), carried, vec![(100, 0, 0)]] {
            let sql = Connection::open_in_memory().unwrap();
            lines(&sql, &all);
            let with_tax = |(price, discount, tax): &(i64, i64, i64)| {
                i128::from(*price) * i128::from(100 - discount) * i128::from(100 + tax)
            };
            let sum: i128 = all.iter().map(with_tax).sum();
            let rows = summary(&sql);
            assert_eq!(rows.len(), 1);
            assert_eq!(rows[0][5], format!("{}.{:06}", sum / 1_000_000, sum % 1_000_000));
            assert_eq!(rows[0][9], all.len().to_string());
        }
    }
}
