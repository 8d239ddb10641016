//! Bulk load: rows in decades, commits every hundred, the growth of table and indexes.
