//! The eight tables: a company that buys parts and sells them, as the published description of TPC-H has them.
//!
//! Gives columns with their kinds, and each engine's way to make a table. Money, rates and quantities are exact
//! everywhere: PostgreSQL has decimals, SQLite gets whole hundredths. Prevents: a sum that differs between two engines
//! by the order in which it was added.

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// A whole number of four bytes.
    Int,
    /// A whole number of eight bytes.
    Big,
    /// A decimal number with two places.
    Hundredths,
    /// A day.
    Day,
    /// Text of a fixed width.
    Fixed(u32),
    /// Text of at most this width.
    Varying(u32),
}

/// A column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// What it holds.
    pub kind: ColumnKind,
}

/// One of the eight tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Table {
    /// Parts of the world.
    Region,
    /// Countries.
    Nation,
    /// Who sells parts to the company.
    Supplier,
    /// Who buys from it.
    Customer,
    /// What is bought and sold.
    Part,
    /// Which supplier has which part, and at what cost.
    PartSupp,
    /// Orders of customers.
    Orders,
    /// Their lines.
    LineItem,
}

use ColumnKind::{Big, Day, Fixed, Hundredths, Int, Varying};

const fn column(name: &'static str, kind: ColumnKind) -> Column {
    Column { name, kind }
}

const REGION: &[Column] = &[
    column("r_regionkey", Int),
    column("r_name", Fixed(25)),
    column("r_comment", Varying(152)),
];
const NATION: &[Column] = &[
    column("n_nationkey", Int),
    column("n_name", Fixed(25)),
    column("n_regionkey", Int),
    column("n_comment", Varying(152)),
];
const SUPPLIER: &[Column] = &[
    column("s_suppkey", Int),
    column("s_name", Fixed(25)),
    column("s_address", Varying(40)),
    column("s_nationkey", Int),
    column("s_phone", Fixed(15)),
    column("s_acctbal", Hundredths),
    column("s_comment", Varying(101)),
];
const CUSTOMER: &[Column] = &[
    column("c_custkey", Int),
    column("c_name", Varying(25)),
    column("c_address", Varying(40)),
    column("c_nationkey", Int),
    column("c_phone", Fixed(15)),
    column("c_acctbal", Hundredths),
    column("c_mktsegment", Fixed(10)),
    column("c_comment", Varying(117)),
];
const PART: &[Column] = &[
    column("p_partkey", Int),
    column("p_name", Varying(55)),
    column("p_mfgr", Fixed(25)),
    column("p_brand", Fixed(10)),
    column("p_type", Varying(25)),
    column("p_size", Int),
    column("p_container", Fixed(10)),
    column("p_retailprice", Hundredths),
    column("p_comment", Varying(23)),
];
const PARTSUPP: &[Column] = &[
    column("ps_partkey", Int),
    column("ps_suppkey", Int),
    column("ps_availqty", Int),
    column("ps_supplycost", Hundredths),
    column("ps_comment", Varying(199)),
];
const ORDERS: &[Column] = &[
    column("o_orderkey", Big),
    column("o_custkey", Int),
    column("o_orderstatus", Fixed(1)),
    column("o_totalprice", Hundredths),
    column("o_orderdate", Day),
    column("o_orderpriority", Fixed(15)),
    column("o_clerk", Fixed(15)),
    column("o_shippriority", Int),
    column("o_comment", Varying(79)),
];
const LINEITEM: &[Column] = &[
    column("l_orderkey", Big),
    column("l_partkey", Int),
    column("l_suppkey", Int),
    column("l_linenumber", Int),
    column("l_quantity", Hundredths),
    column("l_extendedprice", Hundredths),
    column("l_discount", Hundredths),
    column("l_tax", Hundredths),
    column("l_returnflag", Fixed(1)),
    column("l_linestatus", Fixed(1)),
    column("l_shipdate", Day),
    column("l_commitdate", Day),
    column("l_receiptdate", Day),
    column("l_shipinstruct", Fixed(25)),
    column("l_shipmode", Fixed(10)),
    column("l_comment", Varying(44)),
];

impl Table {
    /// All of them, in the order loaded: the largest last.
    pub const ALL: [Table; 8] = [
        Table::Region,
        Table::Nation,
        Table::Supplier,
        Table::Customer,
        Table::Part,
        Table::PartSupp,
        Table::Orders,
        Table::LineItem,
    ];

    /// Its name in SQL.
    pub fn name(self) -> &'static str {
        match self {
            Table::Region => "region",
            Table::Nation => "nation",
            Table::Supplier => "supplier",
            Table::Customer => "customer",
            Table::Part => "part",
            Table::PartSupp => "partsupp",
            Table::Orders => "orders",
            Table::LineItem => "lineitem",
        }
    }

    /// Its columns, in order.
    pub fn columns(self) -> &'static [Column] {
        match self {
            Table::Region => REGION,
            Table::Nation => NATION,
            Table::Supplier => SUPPLIER,
            Table::Customer => CUSTOMER,
            Table::Part => PART,
            Table::PartSupp => PARTSUPP,
            Table::Orders => ORDERS,
            Table::LineItem => LINEITEM,
        }
    }

    /// Columns of its primary key: the first so many, or two that are not the first.
    fn key(self) -> String {
        let columns = self.columns();
        match self {
            Table::PartSupp => format!("{}, {}", columns[0].name, columns[1].name),
            Table::LineItem => format!("{}, {}", columns[0].name, columns[3].name),
            _ => columns[0].name.to_owned(),
        }
    }

    /// Makes it in PostgreSQL; its key comes after the rows.
    pub(crate) fn create_postgres(self) -> String {
        let kind = |kind: ColumnKind| match kind {
            Int => "integer".to_owned(),
            Big => "bigint".to_owned(),
            Hundredths => "numeric(15,2)".to_owned(),
            Day => "date".to_owned(),
            Fixed(width) => format!("char({width})"),
            Varying(width) => format!("varchar({width})"),
        };
        let columns: Vec<String> = self
            .columns()
            .iter()
            .map(|column| format!("{} {} NOT NULL", column.name, kind(column.kind)))
            .collect();
        format!("CREATE TABLE {} ({})", self.name(), columns.join(", "))
    }

    /// Its key in PostgreSQL.
    pub(crate) fn key_postgres(self) -> String {
        format!("ALTER TABLE {} ADD PRIMARY KEY ({})", self.name(), self.key())
    }

    /// Makes it in SQLite, key and all: rows come in the order of their keys.
    pub(crate) fn create_sqlite(self) -> String {
        let kind = |kind: ColumnKind| match kind {
            Int | Big | Hundredths => "INTEGER",
            Day | Fixed(_) | Varying(_) => "TEXT",
        };
        let columns: Vec<String> = self
            .columns()
            .iter()
            .map(|column| format!("{} {} NOT NULL", column.name, kind(column.kind)))
            .collect();
        // A key of two columns orders the table itself; a key of one is the row's number.
        let without = if self.key().contains(',') { " WITHOUT ROWID" } else { "" };
        format!(
            "CREATE TABLE {} ({}, PRIMARY KEY ({})){without}",
            self.name(),
            columns.join(", "),
            self.key()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_of_two_columns_orders_the_table() {
        let of = Table::create_sqlite;
        assert!(of(Table::LineItem).ends_with("PRIMARY KEY (l_orderkey, l_linenumber)) WITHOUT ROWID"));
        assert!(of(Table::Orders).contains("o_totalprice INTEGER NOT NULL"));
        assert!(of(Table::Orders).ends_with("PRIMARY KEY (o_orderkey))"));
        assert!(
            Table::LineItem
                .create_postgres()
                .contains("l_tax numeric(15,2) NOT NULL")
        );
        assert_eq!(
            Table::PartSupp.key_postgres(),
            "ALTER TABLE partsupp ADD PRIMARY KEY (ps_partkey, ps_suppkey)"
        );
    }
}
