//! A study on a server behind TCP: through TLS it runs and keeps the password to itself; where the password could be
//! heard, or the certificate is not the one that is believed, nothing runs.
//!
//! The server is the test's own, on an address of 127.0.0.0/8 of its own. Skipped, with the reason printed, without
//! PostgreSQL. Prevents: a parameter of the url that one room knows and the other refuses.

use crate::bench::Bench;
use crate::rig::limit;
use databases::postgres::{Cluster, Connection, PARAMETERS, RunAs, Server, Settings, choose};
use ledger::Ledger;
use rcgen::{CertificateParams, KeyPair};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;

const PASSWORD: &str = "s3cret-of-joe";

struct Theirs {
    server: Server,
    ip: String,
    // Gone after the server.
    dir: tempfile::TempDir,
}

impl Theirs {
    fn new() -> Option<Theirs> {
        let install = match choose(None) {
            Ok(install) => install,
            Err(missing) => {
                assert!(std::env::var_os("CI").is_none(), "{missing}");
                eprintln!("skipped: {missing}");
                return None;
            }
        };
        let memory = Path::new("/dev/shm");
        let place = if memory.is_dir() { memory } else { Path::new("/var/tmp") };
        let dir = tempfile::Builder::new()
            .prefix("apg-")
            .tempdir_in(place)
            .expect("a directory");
        std::fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o755)).expect("opened");
        let pid = std::process::id();
        let ip = format!(
            "127.{}.{}.{}",
            192 + pid / 254 / 256 % 63,
            pid / 254 % 256,
            1 + pid % 254
        );
        let run_as = RunAs::choose(None).expect("a user");
        let cluster = Cluster::create(install, &dir.path().join("data"), run_as, &["--no-sync"]).expect("made");
        let key = KeyPair::generate().expect("a key");
        let own = CertificateParams::new([ip.clone()]).and_then(|of| of.self_signed(&key));
        let own = own.expect("a certificate").pem();
        std::fs::write(dir.path().join("own.pem"), &own).expect("written");
        let owner = std::fs::metadata(cluster.data()).expect("there");
        for (name, text) in [
            ("server.crt", own.as_str()),
            ("server.key", &key.serialize_pem()),
            (
                "pg_hba.conf",
                "local all assay trust\nhost all ann all password\nhost all joe all scram-sha-256\n",
            ),
            (
                "postgresql.auto.conf",
                &format!("listen_addresses = '{ip}'\nssl = on\n"),
            ),
        ] {
            let path = cluster.data().join(name);
            std::fs::write(&path, text).expect("written");
            std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).expect("closed");
            chown(&path, Some(owner.uid()), Some(owner.gid())).expect("handed over");
        }
        let server = cluster.start(&Settings::default(), dir.path()).expect("started");
        let mut root = Connection::open(server.address(), &[]).expect("connected");
        for name in ["joe", "ann"] {
            let sql = format!("CREATE ROLE {name} LOGIN CREATEDB PASSWORD '{PASSWORD}'");
            root.run(&sql).expect("made");
        }
        Some(Theirs { server, ip, dir })
    }

    fn url(&self, user: &str, parameters: &str) -> String {
        format!("postgres://{user}@{}/postgres?{parameters}", self.ip)
    }
}

fn study(url: &str) -> String {
    let limit = limit("1s");
    format!(
        "[study]\nname = \"there\"\nblocks = 4\ntime_limit = \"{limit}\"\n[[stack]]\nname = \"there\"\n\
         kind = \"server\"\nurl = \"{url}\"\n[[phase]]\nname = \"orders\"\nkind = \"tpcc\"\nusers = 2\nwarehouses = 1\n\
         company = \"reduced\"\ntime = \"100ms\"\n"
    )
}

/// Runs a study on this url; gives what it said, which is never the password.
fn run(bench: &Bench, url: &str, code: i32, variables: &[(&str, &str)]) -> String {
    bench.write("there.toml", &study(url));
    let _ = std::fs::remove_file(bench.path("there.assay"));
    let mut command = bench.command(&["run", "there.toml", "--output", "there.assay"]);
    for (_, name) in PARAMETERS {
        command.env_remove(name);
    }
    command.env("PGPASSWORD", PASSWORD).envs(variables.iter().copied());
    let ran = crate::bench::Running::start(command).wait();
    assert_eq!(ran.code(), code, "{ran}");
    let said = format!("{}{}", ran.stdout, ran.stderr);
    assert!(!said.contains(PASSWORD), "{said}");
    said
}

#[test]
fn a_study_on_a_server_of_others_goes_through_tls() {
    let Some(theirs) = Theirs::new() else { return };
    let bench = Bench::new();
    let own = theirs.dir.path().join("own.pem").display().to_string();
    let full = format!("sslmode=verify-full&sslrootcert={own}&channel_binding=require");
    run(&bench, &theirs.url("joe", &full), 0, &[]);
    let bytes = std::fs::read(bench.path("there.assay")).expect("read");
    assert!(!bytes.windows(PASSWORD.len()).any(|piece| piece == PASSWORD.as_bytes()));
    let databases = Ledger::open(bench.path("there.assay"))
        .and_then(|ledger| ledger.databases())
        .expect("databases");
    let encryption = |row: &ledger::DatabaseRow| {
        let all = &row.database.settings;
        let of = all.iter().find(|one| one.name == "encryption of the connections");
        of.expect("recorded").value.clone()
    };
    assert!(!databases.is_empty());
    for row in &databases {
        assert!(encryption(row).starts_with("TLSv1_3 "), "{}", encryption(row));
    }
    // Where the password could be heard, or somebody else answer, nothing runs.
    let heard = run(&bench, &theirs.url("ann", "sslmode=disable"), 3, &[]);
    assert!(heard.contains("where others can read it"), "{heard}");
    let variables = [("PGSSLMODE", "verify-full"), ("PGSSLROOTCERT", "system")];
    let unknown = run(&bench, &theirs.url("joe", "connect_timeout=20"), 3, &variables);
    assert!(unknown.contains("UnknownIssuer"), "{unknown}");
    let left = Connection::open(theirs.server.address(), &[])
        .and_then(|mut root| root.number("SELECT count(*) FROM pg_database WHERE datname LIKE 'assay%'"));
    assert_eq!(left.expect("an answer"), 0);
    theirs.server.stop().expect("stopped");
}

#[test]
fn a_parameter_of_the_url_is_known_to_both_who_read_it() {
    let bench = Bench::new();
    for (name, value) in [
        ("sslmode", "verify-ca&sslrootcert=/ca.pem"),
        ("sslmode", "disable"),
        ("sslrootcert", "system"),
        ("sslcert", "/a.pem&sslkey=/a.key"),
        ("sslkey", "/a.key&sslcert=/a.pem"),
        ("channel_binding", "require"),
        ("connect_timeout", "7"),
    ] {
        assert!(PARAMETERS.iter().any(|(known, _)| *known == name), "{name}");
        let url = format!("postgres://joe@h/d?{name}={value}");
        assert!(databases::postgres::Address::parse(&url).is_ok(), "{url}");
        bench.write("there.toml", &study(&url));
        bench.expect(0, &["check", "there.toml"]);
    }
    for url in [
        "postgres://joe@h/d?sslmode=on",
        "postgres://joe@h/d?ssl=true",
        "postgres://joe@h%0a/d",
    ] {
        assert!(databases::postgres::Address::parse(url).is_err(), "{url}");
        bench.write("there.toml", &study(url));
        bench.expect(2, &["check", "there.toml"]);
    }
}
