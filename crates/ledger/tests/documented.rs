//! The document of the result file against the file: every query in it runs, every table and measure of it is there.

use ledger::*;

#[test]
fn the_document_tells_the_truth() {
    let text = include_str!("../../../docs/result-file.md");
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("documented.assay");
    let study = Study {
        name: "documented".into(),
        seed: 1,
        margin: 0.05,
        blocks_planned: 4,
        comparisons: 1,
        alpha: 0.05,
        alpha_reserved: 0.01,
        io_method: "ring".into(),
        ..Study::default()
    };
    drop(Ledger::create(&path, &study).unwrap());
    let connection = rusqlite::Connection::open(&path).unwrap();
    let queries: Vec<&str> = text
        .split("```sql")
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
        .collect();
    assert!(queries.len() >= 5);
    for query in queries {
        connection
            .prepare(query)
            .unwrap_or_else(|error| panic!("{error}\n{query}"));
    }
    let mut tables = connection
        .prepare("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")
        .unwrap();
    let tables: Vec<String> = tables
        .query_map([], |row| row.get(0))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert!(tables.len() > 14);
    for table in tables {
        assert!(
            text.contains(&format!("`{table}`")),
            "{table} is not in docs/result-file.md"
        );
        let mut columns = connection
            .prepare(&format!("SELECT name FROM pragma_table_info('{table}')"))
            .unwrap();
        for column in columns
            .query_map([], |row| row.get::<_, String>(0))
            .unwrap()
            .map(Result::unwrap)
        {
            // Internal keys need no word.
            let known = text.contains(&format!("`{column}`")) || column == "id";
            assert!(known, "column {column} of {table} is not in docs/result-file.md");
        }
    }
    assert!(text.contains(&APPLICATION_ID.to_string()) && text.contains(&format!("schema version, {SCHEMA_VERSION}.")));
}
