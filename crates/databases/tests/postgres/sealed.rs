//! A server behind TCP for tests, with certificates of an authority that the test makes; and a door to it under another
//! name.
//!
//! It listens on an address of 127.0.0.0/8 of its own, at the usual port, so that it meets no other server. Everything
//! lies in the place of the test and goes with it.

use super::place::Place;
use databases::postgres::{Address, Connection, PostgresError, Server, Settings};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, Issuer, KeyPair};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

pub(crate) const PASSWORD: &str = "s3cret-of-joe";

/// Who may come in how.
const RULES: &str = "local all assay trust\n\
    hostssl all only_tls all scram-sha-256\n\
    hostnossl all only_plain all scram-sha-256\n\
    host all in_clear all password\n\
    host all by_md5 all md5\n\
    hostssl all joe_of_papers all cert\n\
    host all joe all scram-sha-256\n";

/// Who signs.
pub(crate) struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    pub(crate) fn new(name: &str) -> Authority {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Authority(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    /// A certificate and its key, in PEM.
    pub(crate) fn sign(&self, subject: &str, names: &[&str]) -> [String; 2] {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).unwrap();
        params.distinguished_name.push(DnType::CommonName, subject);
        let key = KeyPair::generate().unwrap();
        let issuer: &Issuer<'static, KeyPair> = &self.0;
        [params.signed_by(&key, issuer).unwrap().pem(), key.serialize_pem()]
    }

    pub(crate) fn pem(&self) -> String {
        self.0.pem()
    }
}

/// One that signs itself with an authority's rights, as `openssl req -x509` makes it.
pub(crate) fn self_signed(names: &[&str]) -> [String; 2] {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let mut params = CertificateParams::new(names).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    [params.self_signed(&key).unwrap().pem(), key.serialize_pem()]
}

/// One of X.509's first version for `localhost`, as OpenSSL 3.0 makes it (`openssl x509 -req`) up to the year 2126; its
/// key is nobody's.
pub(crate) fn first_version() -> [String; 2] {
    [FIRST_VERSION.to_owned(), ITS_KEY.to_owned()]
}

const FIRST_VERSION: &str = "-----BEGIN CERTIFICATE-----\n\
MIIBJDCBywIUdTYoVTEr//POl7W5DXjwSR7ypdYwCgYIKoZIzj0EAwIwFDESMBAG\n\
A1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMzEwNTgwN1oYDzIxMjYxMDMwMTA1ODA3\n\
WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNC\n\
AARm73eaw9+i5UeY5+zbcjlrr+Hx4Pi9g4MTY96LnZjBaxr1ycansf3aDcSKmnTa\n\
yyJSyfHIX45wTDqttKElHbg1MAoGCCqGSM49BAMCA0gAMEUCIBqb9tRnDkCyVACM\n\
6vpvDrOtTd4TR+nvPBE5ouwtJ6QOAiEA1UekJj8D90AuqYuZIH950dnpQOrugyKG\n\
CMOzPCqQcsE=\n\
-----END CERTIFICATE-----\n";
const ITS_KEY: &str = "-----BEGIN PRIVATE KEY-----\n\
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgwG6frbWgWKeekys8\n\
wGqUaiIZ8v3FxFbm/cmCYY3JYzKhRANCAARm73eaw9+i5UeY5+zbcjlrr+Hx4Pi9\n\
g4MTY96LnZjBaxr1ycansf3aDcSKmnTayyJSyfHIX45wTDqttKElHbg1\n\
-----END PRIVATE KEY-----\n";

/// A server that others reach by TCP.
pub(crate) struct Sealed {
    pub(crate) server: Server,
    pub(crate) ip: String,
    /// Files of the client: `ca.pem`, `other.pem`, `joe.pem`, `joe.key`.
    pub(crate) files: PathBuf,
    data: PathBuf,
}

impl Sealed {
    /// `names`: of the server's certificate, beside its address.
    pub(crate) fn start(place: &Place, names: &[&str]) -> Sealed {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        // A number of this server's own among those of all tests that run.
        let nth = std::process::id() * 8 + NEXT.fetch_add(1, Ordering::Relaxed) % 8;
        let ip = format!(
            "127.{}.{}.{}",
            64 + nth / 254 / 256 % 128,
            nth / 254 % 256,
            1 + nth % 254
        );
        let cluster = place.cluster();
        let data = cluster.data().to_owned();
        let authority = Authority::new("authority of the test");
        let names: Vec<&str> = names.iter().copied().chain([ip.as_str()]).collect();
        let files = place.path().join("client");
        std::fs::create_dir(&files).unwrap();
        let client = authority.sign("joe_of_papers", &[]);
        for (name, text) in [
            ("ca.pem", &authority.pem()),
            ("other.pem", &Authority::new("another authority").pem()),
            ("joe.pem", &client[0]),
            ("joe.key", &client[1]),
        ] {
            std::fs::write(files.join(name), text).unwrap();
        }
        std::fs::set_permissions(files.join("joe.key"), PermissionsExt::from_mode(0o600)).unwrap();
        std::fs::write(data.join("pg_hba.conf"), RULES).unwrap();
        std::fs::write(
            data.join("postgresql.auto.conf"),
            format!("listen_addresses = '{ip}'\nssl = on\nssl_ca_file = 'root.crt'\n"),
        )
        .unwrap();
        put(&data, "root.crt", &authority.pem());
        put_papers(&data, &authority.sign("server of the test", &names));
        let settings = Settings {
            sessions: 40,
            ..Settings::default()
        };
        let server = cluster.start(&settings, place.path()).unwrap();
        let sealed = Sealed {
            server,
            ip,
            files,
            data,
        };
        for name in ["only_tls", "only_plain", "in_clear", "joe_of_papers", "joe"] {
            sealed.root(&format!("CREATE ROLE {name} LOGIN CREATEDB PASSWORD '{PASSWORD}'"));
        }
        sealed.root(&format!(
            "SET password_encryption = 'md5'; CREATE ROLE by_md5 LOGIN PASSWORD '{PASSWORD}'"
        ));
        sealed
    }

    pub(crate) fn root(&self, sql: &str) {
        Connection::open(self.server.address(), &[]).unwrap().run(sql).unwrap();
    }

    /// The server takes other papers, or none, for the connections that come.
    pub(crate) fn change(&self, papers: &[String; 2], ssl: bool) {
        put_papers(&self.data, papers);
        self.root(&format!("ALTER SYSTEM SET ssl = {ssl}"));
        self.root("SELECT pg_reload_conf()");
    }

    /// A file of the client, as a parameter of a url has it.
    pub(crate) fn file(&self, name: &str) -> String {
        self.files.join(name).display().to_string()
    }

    pub(crate) fn url(&self, user: &str, host: &str, parameters: &str) -> String {
        format!("postgres://{user}:{PASSWORD}@{host}/postgres?{parameters}")
    }

    /// What the connection is encrypted with, or why there is none; never with the password.
    pub(crate) fn open(&self, user: &str, host: &str, parameters: &str) -> Result<Option<String>, String> {
        let address = Address::parse(&self.url(user, host, parameters)).unwrap();
        let opened = Connection::open(&address, &[]).and_then(|mut connection| {
            assert_eq!(connection.number("SELECT 3").unwrap(), 3);
            let sealed = "SELECT count(*) FROM pg_stat_ssl WHERE ssl AND pid = pg_backend_pid()";
            let sealed = connection.number(sealed)? == 1;
            assert_eq!(sealed, connection.encryption().is_some(), "as the server says");
            Ok(connection.encryption())
        });
        opened.map_err(|e: PostgresError| {
            let text = e.to_string();
            assert!(!text.contains(PASSWORD), "{text}");
            assert!(text.contains("\n  "), "no cure: {text}");
            text
        })
    }
}

fn put_papers(data: &Path, papers: &[String; 2]) {
    put(data, "server.crt", &papers[0]);
    put(data, "server.key", &papers[1]);
}

/// A file that only the server reads.
fn put(data: &Path, name: &str, text: &str) {
    let owner = std::fs::metadata(data).unwrap();
    let path = data.join(name);
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
    chown(&path, Some(owner.uid()), Some(owner.gid())).unwrap();
}

/// A port of 127.0.0.1, also known as `localhost`, from which everything goes on to another address. Ends with the
/// test's process.
pub(crate) fn door_to(ip: &str) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let ip = ip.to_owned();
    std::thread::spawn(move || {
        for one in listener.incoming() {
            let (Ok(here), Ok(there)) = (one, TcpStream::connect((ip.as_str(), 5432))) else {
                continue;
            };
            for (from, to) in [(&here, &there), (&there, &here)] {
                let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                std::thread::spawn(move || pass_on(from, to));
            }
        }
    });
    port
}

fn pass_on(mut from: TcpStream, mut to: TcpStream) {
    let mut piece = [0; 8192];
    while let Ok(got @ 1..) = from.read(&mut piece) {
        if to.write_all(&piece[..got]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}
