//! What a server of ours is on its host: its score where memory runs out, who may read its files, and answers that
//! have more rows than one message stream may hold.
//!
//! Skipped, with the reason printed, only where no server is installed; under `CI=true` that is a failure.

use crate::place::Place;
use databases::postgres::{Connection, PostgresError, RunAs};
use std::os::unix::fs::{MetadataExt, PermissionsExt};

/// A process and its children.
fn family(pid: u32) -> Vec<u32> {
    let numbers = std::fs::read_dir("/proc").unwrap().flatten();
    let numbers = numbers.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let is_child = |child: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
        let parent = stat
            .rsplit_once(')')
            .and_then(|(_, rest)| rest.split_whitespace().nth(1));
        parent == Some(&pid.to_string())
    };
    numbers.filter(|one| *one == pid || is_child(one)).collect()
}

#[test]
fn a_server_is_ended_before_us_where_memory_runs_out() {
    let Some(place) = Place::new() else { return };
    let own = std::fs::read_to_string("/proc/self/oom_score_adj").unwrap();
    if own.trim().parse::<i32>().unwrap() >= 500 {
        eprintln!("skipped: this process has a score of {} already", own.trim());
        return;
    }
    let server = place.server(4);
    let _connection = Connection::open(server.address(), &[]).unwrap();
    let family = family(server.facts().pid);
    assert!(family.len() > 3, "{family:?}");
    for pid in family {
        // One that has just ended has no score.
        let score = std::fs::read_to_string(format!("/proc/{pid}/oom_score_adj"));
        assert!(score.as_ref().is_err() || score.is_ok_and(|score| score.trim() == "500"));
    }
    let score = std::fs::read_to_string(format!("/proc/{}/oom_score_adj", server.facts().pid));
    assert_eq!(score.unwrap().trim(), "500");
}

#[test]
fn nobody_but_the_server_s_user_reads_its_configuration_or_gets_to_its_socket() {
    let Some(place) = Place::new() else { return };
    let server = place.server(4);
    let facts = |path: &str| {
        let facts = std::fs::metadata(server.facts().private.join(path)).unwrap();
        (facts.uid(), facts.gid(), facts.permissions().mode() & 0o7777)
    };
    let us = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let (user, group, through, read) = match RunAs::choose(None).unwrap() {
        RunAs::Ourselves => (us.0, us.1, 0o700, 0o600),
        RunAs::User { uid, gid, .. } => (uid, gid, 0o710, 0o640),
    };
    assert_eq!(facts(""), (us.0, group, through));
    assert_eq!(facts("assay.conf"), (us.0, group, read));
    assert_eq!(facts("server.log"), (us.0, us.1, 0o600));
    assert_eq!(facts("s"), (user, group, 0o700));
    // The server reads it again when it is told to.
    let mut connection = Connection::open(server.address(), &[]).unwrap();
    let failed = "SELECT count(*) FROM pg_file_settings WHERE error IS NOT NULL";
    assert_eq!(connection.number(failed).unwrap(), 0);
    let read = "SELECT count(*) FROM pg_file_settings WHERE sourcefile LIKE '%assay.conf'";
    assert!(connection.number(read).unwrap() > 3);
}

#[test]
fn rows_are_read_that_one_answer_can_not_hold() {
    let Some(place) = Place::new() else { return };
    let server = place.server(4);
    let mut connection = Connection::open(server.address(), &[]).unwrap();
    // As many as a study of power cuts has written when it has run for a while; 20 MB of text.
    let rows = 60_000;
    connection
        .run(&format!(
            "CREATE TABLE kept AS SELECT n, repeat('x', 350) AS body FROM generate_series(1, {rows}) n"
        ))
        .unwrap();
    let query = "SELECT n, body FROM kept";
    let at_once = Connection::open(server.address(), &[]).unwrap().run(query).unwrap_err();
    assert!(at_once.to_string().contains("16 MiB"), "{at_once}");
    for (limit, count) in [(rows, rows), (10_000, 10_000), (1, 1), (0, 0)] {
        let (mut found, mut sum) = (0, 0);
        let counted = connection.each_row(&format!("{query} WHERE n <= {limit}"), |row| {
            found += 1;
            sum += row[0].as_deref().unwrap().parse::<u64>().unwrap();
            assert_eq!(row[1].as_deref().unwrap().len(), 350);
            Ok::<_, PostgresError>(())
        });
        counted.unwrap();
        assert_eq!((found, sum), (count, count * (count + 1) / 2));
    }
    let refused = connection.each_row("SELECT nonesuch", |_| Ok::<_, PostgresError>(()));
    assert!(refused.unwrap_err().to_string().contains("42703"));
    let mut connection = Connection::open(server.address(), &[]).unwrap();
    let stopped = connection.each_row(query, |_| Err(PostgresError::Interrupted));
    assert!(matches!(stopped, Err(PostgresError::Interrupted)));
}
