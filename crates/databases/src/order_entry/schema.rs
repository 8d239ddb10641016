//! The nine tables and their keys (TPC-C 5.11, clause 1.3), as data.
//!
//! Gives `CREATE` texts that PostgreSQL and SQLite both take. Keys stand in the table where it is filled in their order
//! (SQLite), or are built after the load where that is faster (PostgreSQL). Foreign keys are left out: the
//! specification does not ask that they are declared. Prevents: two schemas that drift apart.

/// One column.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Name.
    pub name: &'static str,
    /// SQL type.
    pub sql_type: &'static str,
    /// May be empty.
    pub nullable: bool,
}

/// One table.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Table {
    /// Warehouses.
    Warehouse,
    /// Ten of each warehouse.
    District,
    /// Customers of districts.
    Customer,
    /// Payments; no key.
    History,
    /// Orders not delivered.
    NewOrder,
    /// Orders.
    Orders,
    /// Their lines.
    OrderLine,
    /// Items.
    Item,
    /// Stock of each item in each warehouse.
    Stock,
}

/// All tables.
pub const TABLES: [Table; 9] = [
    Table::Item,
    Table::Warehouse,
    Table::District,
    Table::Customer,
    Table::History,
    Table::Orders,
    Table::NewOrder,
    Table::OrderLine,
    Table::Stock,
];

/// Where the primary key is said.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Keys {
    /// In `CREATE TABLE`.
    InTable,
    /// By [`Table::add_key_sql`] after the load.
    Later,
}

/// A secondary index.
#[derive(Clone, Copy, Debug)]
pub struct Index {
    /// Name.
    pub name: &'static str,
    /// `CREATE INDEX` text.
    pub sql: &'static str,
}

/// What finds customers by name, and the last order of a customer.
pub const INDEXES: [Index; 2] = [
    Index {
        name: "customer_name",
        sql: "CREATE INDEX customer_name ON customer (c_w_id, c_d_id, c_last, c_first)",
    },
    Index {
        name: "orders_customer",
        sql: "CREATE INDEX orders_customer ON orders (o_w_id, o_d_id, o_c_id, o_id)",
    },
];

const fn col(name: &'static str, sql_type: &'static str) -> Column {
    Column {
        name,
        sql_type,
        nullable: false,
    }
}

const fn null(name: &'static str, sql_type: &'static str) -> Column {
    Column {
        name,
        sql_type,
        nullable: true,
    }
}

impl Table {
    /// Name in SQL.
    pub fn name(self) -> &'static str {
        match self {
            Table::Warehouse => "warehouse",
            Table::District => "district",
            Table::Customer => "customer",
            Table::History => "history",
            Table::NewOrder => "new_order",
            Table::Orders => "orders",
            Table::OrderLine => "order_line",
            Table::Item => "item",
            Table::Stock => "stock",
        }
    }

    /// Columns of the primary key; none for `history`.
    pub fn key(self) -> &'static [&'static str] {
        match self {
            Table::Warehouse => &["w_id"],
            Table::District => &["d_w_id", "d_id"],
            Table::Customer => &["c_w_id", "c_d_id", "c_id"],
            Table::History => &[],
            Table::NewOrder => &["no_w_id", "no_d_id", "no_o_id"],
            Table::Orders => &["o_w_id", "o_d_id", "o_id"],
            Table::OrderLine => &["ol_w_id", "ol_d_id", "ol_o_id", "ol_number"],
            Table::Item => &["i_id"],
            Table::Stock => &["s_w_id", "s_i_id"],
        }
    }

    /// Columns, in the order of the rows that [`populate`](super::populate) gives.
    pub fn columns(self) -> &'static [Column] {
        match self {
            Table::Warehouse => &WAREHOUSE,
            Table::District => &DISTRICT,
            Table::Customer => &CUSTOMER,
            Table::History => &HISTORY,
            Table::NewOrder => &NEW_ORDER,
            Table::Orders => &ORDERS,
            Table::OrderLine => &ORDER_LINE,
            Table::Item => &ITEM,
            Table::Stock => &STOCK,
        }
    }

    /// `CREATE TABLE` text.
    pub fn create_sql(self, keys: Keys) -> String {
        let mut parts: Vec<String> = self
            .columns()
            .iter()
            .map(|c| format!("{} {}{}", c.name, c.sql_type, if c.nullable { "" } else { " NOT NULL" }))
            .collect();
        if keys == Keys::InTable && !self.key().is_empty() {
            parts.push(format!("PRIMARY KEY ({})", self.key().join(", ")));
        }
        format!("CREATE TABLE {} ({})", self.name(), parts.join(", "))
    }

    /// Text that adds the primary key after the load; `None` where there is none.
    pub fn add_key_sql(self) -> Option<String> {
        let key = self.key();
        let add = || format!("ALTER TABLE {} ADD PRIMARY KEY ({})", self.name(), key.join(", "));
        (!key.is_empty()).then(add)
    }
}

const WAREHOUSE: [Column; 9] = [
    col("w_id", "INTEGER"),
    col("w_name", "VARCHAR(10)"),
    col("w_street_1", "VARCHAR(20)"),
    col("w_street_2", "VARCHAR(20)"),
    col("w_city", "VARCHAR(20)"),
    col("w_state", "CHAR(2)"),
    col("w_zip", "CHAR(9)"),
    col("w_tax", "INTEGER"),
    col("w_ytd", "BIGINT"),
];

const DISTRICT: [Column; 11] = [
    col("d_w_id", "INTEGER"),
    col("d_id", "INTEGER"),
    col("d_name", "VARCHAR(10)"),
    col("d_street_1", "VARCHAR(20)"),
    col("d_street_2", "VARCHAR(20)"),
    col("d_city", "VARCHAR(20)"),
    col("d_state", "CHAR(2)"),
    col("d_zip", "CHAR(9)"),
    col("d_tax", "INTEGER"),
    col("d_ytd", "BIGINT"),
    col("d_next_o_id", "INTEGER"),
];

const CUSTOMER: [Column; 21] = [
    col("c_w_id", "INTEGER"),
    col("c_d_id", "INTEGER"),
    col("c_id", "INTEGER"),
    col("c_first", "VARCHAR(16)"),
    col("c_middle", "CHAR(2)"),
    col("c_last", "VARCHAR(16)"),
    col("c_street_1", "VARCHAR(20)"),
    col("c_street_2", "VARCHAR(20)"),
    col("c_city", "VARCHAR(20)"),
    col("c_state", "CHAR(2)"),
    col("c_zip", "CHAR(9)"),
    col("c_phone", "CHAR(16)"),
    col("c_since", "BIGINT"),
    col("c_credit", "CHAR(2)"),
    col("c_credit_lim", "BIGINT"),
    col("c_discount", "INTEGER"),
    col("c_balance", "BIGINT"),
    col("c_ytd_payment", "BIGINT"),
    col("c_payment_cnt", "INTEGER"),
    col("c_delivery_cnt", "INTEGER"),
    col("c_data", "VARCHAR(500)"),
];

const HISTORY: [Column; 8] = [
    col("h_c_w_id", "INTEGER"),
    col("h_c_d_id", "INTEGER"),
    col("h_c_id", "INTEGER"),
    col("h_w_id", "INTEGER"),
    col("h_d_id", "INTEGER"),
    col("h_date", "BIGINT"),
    col("h_amount", "BIGINT"),
    col("h_data", "VARCHAR(24)"),
];

const NEW_ORDER: [Column; 3] = [
    col("no_w_id", "INTEGER"),
    col("no_d_id", "INTEGER"),
    col("no_o_id", "INTEGER"),
];

const ORDERS: [Column; 8] = [
    col("o_w_id", "INTEGER"),
    col("o_d_id", "INTEGER"),
    col("o_id", "INTEGER"),
    col("o_c_id", "INTEGER"),
    col("o_entry_d", "BIGINT"),
    null("o_carrier_id", "INTEGER"),
    col("o_ol_cnt", "INTEGER"),
    col("o_all_local", "INTEGER"),
];

const ORDER_LINE: [Column; 10] = [
    col("ol_w_id", "INTEGER"),
    col("ol_d_id", "INTEGER"),
    col("ol_o_id", "INTEGER"),
    col("ol_number", "INTEGER"),
    col("ol_i_id", "INTEGER"),
    col("ol_supply_w_id", "INTEGER"),
    null("ol_delivery_d", "BIGINT"),
    col("ol_quantity", "INTEGER"),
    col("ol_amount", "BIGINT"),
    col("ol_dist_info", "CHAR(24)"),
];

const ITEM: [Column; 5] = [
    col("i_id", "INTEGER"),
    col("i_im_id", "INTEGER"),
    col("i_name", "VARCHAR(24)"),
    col("i_price", "BIGINT"),
    col("i_data", "VARCHAR(50)"),
];

const STOCK: [Column; 17] = [
    col("s_w_id", "INTEGER"),
    col("s_i_id", "INTEGER"),
    col("s_quantity", "INTEGER"),
    col("s_ytd", "BIGINT"),
    col("s_order_cnt", "INTEGER"),
    col("s_remote_cnt", "INTEGER"),
    col("s_dist_01", "CHAR(24)"),
    col("s_dist_02", "CHAR(24)"),
    col("s_dist_03", "CHAR(24)"),
    col("s_dist_04", "CHAR(24)"),
    col("s_dist_05", "CHAR(24)"),
    col("s_dist_06", "CHAR(24)"),
    col("s_dist_07", "CHAR(24)"),
    col("s_dist_08", "CHAR(24)"),
    col("s_dist_09", "CHAR(24)"),
    col("s_dist_10", "CHAR(24)"),
    col("s_data", "VARCHAR(50)"),
];
