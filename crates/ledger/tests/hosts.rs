//! Rows of several hosts: given back by rank, replaced as a whole, sealed, and refused where they are none.

use ledger::*;
use rusqlite::Connection;

fn host(rank: u32, name: &str) -> HostRow {
    HostRow {
        rank,
        host: name.into(),
        kernel: "6.1.0".into(),
        cores: 8,
        usable: 4,
        binary: "ab".repeat(32),
    }
}

#[test]
fn hosts_are_given_back_by_rank_and_a_resumed_run_replaces_them() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("hosts.assay");
    let mut ledger = Ledger::create(&path, &crate::rows::study()).unwrap();
    assert!(ledger.hosts().unwrap().is_empty(), "a study on one host");
    ledger.hosts_all(&[host(2, "c"), host(0, "a"), host(1, "b")]).unwrap();
    assert_eq!(ledger.hosts().unwrap(), [host(0, "a"), host(1, "b"), host(2, "c")]);
    // Two hosts of one rank: those from before stay.
    ledger.hosts_all(&[host(0, "d"), host(0, "e")]).unwrap_err();
    assert_eq!(ledger.hosts().unwrap().len(), 3);
    drop(ledger);
    let mut ledger = Ledger::resume(&path).unwrap();
    ledger.hosts_all(&[host(0, "a"), host(1, "e")]).unwrap();
    drop(ledger);
    let mut ledger = Ledger::resume(&path).unwrap();
    assert_eq!(ledger.hosts().unwrap(), [host(0, "a"), host(1, "e")]);
    ledger.hosts_all(&[]).unwrap();
    assert!(ledger.hosts().unwrap().is_empty());
}

#[test]
fn a_host_that_is_edited_breaks_the_seal_and_one_that_cannot_be_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("hosts.assay");
    let mut ledger = Ledger::create(&path, &crate::rows::study()).unwrap();
    ledger.hosts_all(&[host(0, "a"), host(1, "b")]).unwrap();
    let ending = Ending {
        at_unix_ns: 1,
        reason: "all blocks".into(),
    };
    ledger.finish(&ending).unwrap();
    drop(ledger);
    let edited = |sql: &str| {
        Connection::open(&path).unwrap().execute_batch(sql).unwrap();
        Ledger::open(&path).unwrap()
    };
    let ledger = edited("UPDATE host SET kernel = '6.8.0' WHERE rank = 1");
    assert_eq!(ledger.seal().unwrap(), Seal::Broken(vec!["host".into()]));
    for (sql, says) in [
        ("UPDATE host SET cores = -1 WHERE rank = 0", "damaged"),
        ("UPDATE host SET cores = 8, usable = 'many' WHERE rank = 0", "damaged"),
        (
            "UPDATE host SET usable = 4, host = CAST(zeroblob(5000) AS TEXT)",
            "longer than any",
        ),
    ] {
        let error = edited(sql).hosts().unwrap_err().to_string();
        assert!(error.contains(says), "`{error}` does not say `{says}`");
    }
}
