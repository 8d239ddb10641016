//! A server that others reach by TCP: each `sslmode` and way to log in, with the right papers and with wrong ones, and
//! users at work over TLS.
//!
//! Skipped, with the reason printed, only where no server is installed; under `CI=true` that is a failure.

#[allow(dead_code, reason = "the other tests of the server use the rest")]
use crate::between::somebody_before;
use crate::place::Place;
use crate::sealed::{Authority, PASSWORD, Sealed, door_to, self_signed};
use databases::order_entry::{Home, Scale};
use databases::postgres::{
    Address, Connection, Isolation, Phase, ScatteredSpec, check, create, load, load_scattered, run_phase, run_scattered,
};
use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use workloads::{Pacing, Stop};

const PATIENCE: Duration = Duration::from_secs(60);

/// Refused, with these words.
fn assert_refused(opened: Result<Option<String>, String>, words: &[&str]) {
    let said = opened.unwrap_err();
    for word in words {
        assert!(said.contains(word), "not said: {word}\n{said}");
    }
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < PATIENCE, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn each_sslmode_does_what_its_name_says() {
    let Some(place) = Place::new() else { return };
    let sealed = Sealed::start(&place, &["localhost"]);
    let ip = sealed.ip.clone();
    let (ca, other) = (sealed.file("ca.pem"), sealed.file("other.pem"));
    let open = |parameters: &str| sealed.open("joe", &ip, parameters);
    for plain in ["sslmode=disable", "sslmode=allow"] {
        assert_eq!(open(plain), Ok(None), "{plain}");
    }
    for tls in [
        "",
        "sslmode=prefer",
        "sslmode=require",
        &format!("sslmode=require&sslrootcert={ca}"),
        &format!("sslmode=verify-ca&sslrootcert={ca}"),
        &format!("sslmode=verify-full&sslrootcert={ca}"),
    ] {
        let with = open(tls).unwrap().unwrap();
        assert!(with.starts_with("TLSv1_3 TLS13_"), "{tls}: {with}");
    }
    for mode in ["require", "verify-ca", "verify-full"] {
        let refused = open(&format!("sslmode={mode}&sslrootcert={other}"));
        assert_refused(refused, &["UnknownIssuer", "sslrootcert has to hold the authority"]);
    }
    assert_refused(open("sslmode=verify-full&sslrootcert=system"), &["UnknownIssuer"]);

    // By a name: this one is in the certificate, and 127.0.0.1 is not.
    let port = door_to(&ip);
    let full = format!("sslmode=verify-full&sslrootcert={ca}");
    let by = |host: &str, parameters: &str| sealed.open("joe", &format!("{host}:{port}"), parameters);
    assert!(by("localhost", &full).unwrap().is_some());
    assert_refused(
        by("127.0.0.1", &full),
        &["not valid for name", "subjectAltName", "verify-ca"],
    );
    let chain_only = format!("sslmode=verify-ca&sslrootcert={ca}");
    assert!(by("127.0.0.1", &chain_only).unwrap().is_some());

    // The rules of the server name the kind of stream.
    assert!(sealed.open("only_tls", &ip, "sslmode=allow").unwrap().is_some());
    assert_refused(
        sealed.open("only_tls", &ip, "sslmode=disable"),
        &["28000", "no encryption"],
    );
    assert_eq!(sealed.open("only_plain", &ip, "sslmode=prefer"), Ok(None));
    assert_refused(sealed.open("only_plain", &ip, "sslmode=require"), &["28000"]);
    assert_refused(sealed.open("nobody", &ip, "sslmode=prefer"), &["28000"]);
    papers_change(&sealed);
    sealed.server.stop().unwrap();
}

/// A certificate that signed itself, one that has run out, then none.
fn papers_change(sealed: &Sealed) {
    let ip = sealed.ip.clone();
    let open = |parameters: &str| sealed.open("joe", &ip, parameters);
    let own = self_signed(&[&ip]);
    std::fs::write(sealed.files.join("own.pem"), &own[0]).unwrap();
    let full = format!("sslmode=verify-full&sslrootcert={}", sealed.file("own.pem"));
    let before = open(&full);
    assert_refused(before, &["UnknownIssuer"]);
    sealed.change(&own, true);
    wait_until("the server's own certificate", || open(&full).is_ok());
    let elsewhere = sealed.open("joe", &format!("127.0.0.1:{}", door_to(&ip)), &full);
    assert_refused(elsewhere, &["not valid for name"]);
    // One that says nothing of what it is for: enough where nothing is asked of it.
    let bare = crate::sealed::first_version();
    std::fs::write(sealed.files.join("bare.pem"), &bare[0]).unwrap();
    let checked = format!("sslmode=verify-ca&sslrootcert={}", sealed.file("bare.pem"));
    sealed.change(&bare, true);
    wait_until("the server's next certificate", || open(&full).is_err());
    assert!(open("sslmode=require").unwrap().is_some());
    assert!(open("sslmode=require&channel_binding=require").unwrap().is_some());
    assert_refused(open(&checked), &["X.509 version 3"]);
    sealed.change(&own, false);
    wait_until("the end of TLS", || open("sslmode=require").is_err());
    for plain in ["sslmode=disable", "sslmode=allow", "sslmode=prefer", ""] {
        assert_eq!(open(plain), Ok(None), "{plain}");
    }
    for tls in ["sslmode=require", &full] {
        assert_refused(open(tls), &["the server has no TLS", "set ssl = on"]);
    }
    assert_refused(
        sealed.open("in_clear", &ip, "sslmode=prefer"),
        &["in the url", "others can read it"],
    );
}

#[test]
fn a_password_goes_out_only_where_nobody_listens() {
    let Some(place) = Place::new() else { return };
    let sealed = Sealed::start(&place, &[]);
    let ip = sealed.ip.clone();
    let open = |user: &str, parameters: &str| sealed.open(user, &ip, parameters);
    for user in ["in_clear", "by_md5"] {
        assert!(open(user, "sslmode=require").unwrap().is_some(), "{user}");
        let words = ["over TCP without TLS, where others can read it", "scram-sha-256"];
        assert_refused(open(user, "sslmode=disable"), &words);
    }
    // SCRAM is for everywhere; tied to the certificate it is only through TLS.
    for (parameters, goes) in [
        ("sslmode=disable", true),
        ("sslmode=require&channel_binding=disable", true),
        ("sslmode=require&channel_binding=require", true),
        ("sslmode=disable&channel_binding=require", false),
    ] {
        assert_eq!(open("joe", parameters).is_ok(), goes, "{parameters}");
    }
    for user in ["in_clear", "by_md5", "joe_of_papers"] {
        let papers = format!("sslcert={}&sslkey={}", sealed.file("joe.pem"), sealed.file("joe.key"));
        let refused = open(user, &format!("sslmode=require&channel_binding=require&{papers}"));
        assert_refused(refused, &["channel_binding=require"]);
    }
    sealed.root("ALTER SYSTEM SET ssl_max_protocol_version = 'TLSv1.2'");
    sealed.root("SELECT pg_reload_conf()");
    let bound = "sslmode=require&channel_binding=require";
    wait_until("TLS 1.2", || {
        open("joe", bound).unwrap().unwrap().starts_with("TLSv1_2 TLS_ECDHE")
    });
    papers_of_our_own(&sealed);
    sealed.server.stop().unwrap();
}

fn papers_of_our_own(sealed: &Sealed) {
    let open = |user: &str, parameters: &str| sealed.open(user, &sealed.ip, parameters);
    let key = sealed.file("joe.key");
    let with = |key: &str| format!("sslmode=require&sslcert={}&sslkey={key}", sealed.file("joe.pem"));
    assert!(open("joe_of_papers", &with(&key)).unwrap().is_some());
    assert_refused(open("joe_of_papers", "sslmode=require"), &["28000"]);
    let foreign = Authority::new("nobody's").sign("joe_of_papers", &[]);
    for (name, text) in [("foreign.pem", &foreign[0]), ("foreign.key", &foreign[1])] {
        std::fs::write(sealed.files.join(name), text).unwrap();
        std::fs::set_permissions(sealed.files.join(name), PermissionsExt::from_mode(0o600)).unwrap();
    }
    let (certificate, foreign) = (sealed.file("foreign.pem"), sealed.file("foreign.key"));
    let papers = format!("sslmode=require&sslcert={certificate}&sslkey={foreign}");
    assert_refused(open("joe_of_papers", &papers), &["see the server's log"]);
    assert_refused(
        open("joe_of_papers", &with(&foreign)),
        &["not the key of the certificate"],
    );
    std::fs::set_permissions(&key, PermissionsExt::from_mode(0o644)).unwrap();
    assert_refused(open("joe_of_papers", &with(&key)), &["others may read", "chmod 0600"]);
    assert_refused(open("joe", &with("/dev/zero")), &["no regular file"]);
    assert_refused(
        open("joe", "sslmode=verify-ca&sslrootcert=/dev/zero"),
        &["no regular file"],
    );
    let no_certificate = format!("sslmode=verify-ca&sslrootcert={key}");
    assert_refused(open("joe", &no_certificate), &["no certificate in PEM format"]);
}

#[test]
fn somebody_in_between_is_found_out() {
    let Some(place) = Place::new() else { return };
    let sealed = Sealed::start(&place, &["localhost"]);
    let his = Authority::new("his own").sign("server", &["localhost", "127.0.0.1"]);
    let through = |sealed_on: bool| {
        let port = somebody_before(&sealed.ip, &his, sealed_on);
        let sealed = &sealed;
        move |parameters: &str| sealed.open("joe", &format!("localhost:{port}"), parameters)
    };
    let (relayed, stripped) = (through(true), through(false));
    // Whoever asks for no check, and for no tie to the certificate, talks to him.
    let address = Address::parse(&sealed.url("joe", &sealed.ip, "sslmode=require&channel_binding=disable")).unwrap();
    assert!(Connection::open(&address, &[]).is_ok());
    let unknowing = relayed("sslmode=require&channel_binding=disable");
    assert!(unknowing.unwrap().is_some());
    // SCRAM is tied to the certificate where the server offers it; he has another one.
    for parameters in ["", "sslmode=require", "sslmode=require&channel_binding=require"] {
        assert_refused(relayed(parameters), &["channel binding check failed"]);
    }
    let takes_the_offer_away = stripped("sslmode=require&channel_binding=require");
    assert_refused(takes_the_offer_away, &["the server does not offer it"]);
    let ca = sealed.file("ca.pem");
    for mode in ["require", "verify-ca", "verify-full"] {
        for way in [&relayed as &dyn Fn(&str) -> _, &stripped] {
            assert_refused(way(&format!("sslmode={mode}&sslrootcert={ca}")), &["UnknownIssuer"]);
        }
    }
    sealed.server.stop().unwrap();
}

#[test]
fn users_work_through_tls_and_the_conditions_hold() {
    let Some(place) = Place::new() else { return };
    let sealed = Sealed::start(&place, &[]);
    let parameters = format!("sslmode=verify-full&sslrootcert={}", sealed.file("ca.pem"));
    let address = Address::parse(&sealed.url("joe", &sealed.ip, &parameters)).unwrap();
    let shop = create(&address, "shop").unwrap();
    let scale = Scale::reduced(2).unwrap();
    load(&shop, &scale, 7, 1, 2, &AtomicBool::new(false)).unwrap();
    let counted = |sessions: u32, operations: u64| Pacing {
        stop: Stop {
            time_ns: None,
            operations_per_session: Some(operations),
        },
        ..Pacing::closed(sessions, 0)
    };
    let phase = Phase {
        scale,
        home: Home::Fixed,
        load_seed: 7,
        seed: 11,
        isolation: Isolation::ReadCommitted,
        pauses: false,
        pacing: counted(20, 50),
        workers: 2,
        now_us: 1_800_000_000_000_000,
    };
    let ran = run_phase(&shop, &phase).unwrap();
    assert_eq!(ran.outcome.count(), 1000);
    assert!(check(&shop, &scale).unwrap().is_empty());
    load_scattered(&shop, 2000, 3, &AtomicBool::new(false)).unwrap();
    let spec = ScatteredSpec {
        rows: 2000,
        work_unit: 8,
        update_pct: 20,
        sessions: 0,
    };
    let (outcome, _) = run_scattered(&shop, &spec, &counted(8, 100), 2, 5).unwrap();
    assert_eq!(outcome.count(), 800);
    // An answer that is longer than what is read at once, and a batch that is longer than what is sealed at once.
    let mut connection = Connection::open(&shop, &[]).unwrap();
    let long = "SELECT repeat(md5(n::text), 10) FROM generate_series(1, 2000) n";
    let rows = connection.run(long).unwrap();
    assert!(rows.len() == 2000 && rows.iter().all(|row| row[0].as_ref().unwrap().len() == 320));
    let longer = format!("SELECT length('{}')", "x".repeat(900_000));
    assert_eq!(connection.number(&longer).unwrap(), 900_000);
    let error = connection.run("SELECT repeat('x', 2000000)").unwrap_err().to_string();
    assert!(
        error.contains("bytes (4 to 1048576 are possible)") && !error.contains(PASSWORD),
        "{error}"
    );
    sealed.server.stop().unwrap();
}
