//! TLS by `rustls`: what is believed of a server, and a stream of sealed bytes that waits or does not.
//!
//! Takes an [`Encryption`] and a connected socket, gives a [`TlsStream`]. Prevents: a session that stands still because
//! its answer is unsealed already while the socket has nothing more to say ([`TlsStream::has_more`]).

use crate::postgres::error::PostgresError;
use crate::postgres::login::certificate;
use crate::postgres::login::encryption::{Encryption, Roots, SslMode};
use crate::postgres::wire::messages::ANSWER_BYTES_MAX;
use rustix::fs::OFlags;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{
    CryptoProvider, verify_tls12_signature, verify_tls13_signature, verify_tls13_signature_with_raw_key,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, ClientConfig, ClientConnection, DigitallySignedStruct, RootCertStore, SignatureScheme};
use std::fs::File;
use std::io::{Error, ErrorKind, Read, Result, Write};
use std::net::TcpStream;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Bytes of a file of certificates at most; the one of a whole operating system has some 200 KB.
const FILE_BYTES_MAX: u64 = 4 << 20;

/// The name that the protocol goes by in a TLS handshake, so that no other server's answer is taken for one of its.
const PROTOCOL: &[u8] = b"postgresql";

/// What is asked of a server's certificate.
#[derive(Debug)]
struct Verifier {
    provider: Arc<CryptoProvider>,
    /// `None`: nothing.
    roots: Option<Believed>,
}

#[derive(Debug)]
struct Believed {
    anchors: RootCertStore,
    /// The same certificates whole: a server may show one of them itself.
    whole: Vec<CertificateDer<'static>>,
    name_too: bool,
}

/// What a server says that it is.
struct Presented<'a> {
    shown: &'a CertificateDer<'a>,
    between: &'a [CertificateDer<'a>],
    name: &'a ServerName<'a>,
}

impl Verifier {
    fn check(
        &self,
        believed: &Believed,
        presented: &Presented<'_>,
        now: UnixTime,
    ) -> std::result::Result<(), rustls::Error> {
        let Presented { shown, between, name } = *presented;
        let parsed = ParsedCertificate::try_from(shown)?;
        if believed.whole.iter().any(|one| one == shown) {
            // One that signed itself and is believed by name: `webpki` refuses an authority's own certificate as a
            // server's.
            match certificate::is_valid_at(shown, Duration::from_secs(now.as_secs())) {
                Some(true) => {}
                Some(false) => return Err(CertificateError::Expired.into()),
                None => return Err(CertificateError::BadEncoding.into()),
            }
        } else {
            let known = self.provider.signature_verification_algorithms.all;
            verify_server_cert_signed_by_trust_anchor(&parsed, &believed.anchors, between, now, known)?;
        }
        match believed.name_too {
            true => verify_server_name(&parsed, name),
            false => Ok(()),
        }
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        shown: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        _ocsp: &[u8],
        now: UnixTime,
    ) -> std::result::Result<ServerCertVerified, rustls::Error> {
        if let Some(believed) = &self.roots {
            self.check(believed, &Presented { shown, between, name }, now)?;
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, shown, signature, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.provider.signature_verification_algorithms;
        // Of the first version of X.509, which `webpki` does not read: where nothing is asked of a certificate, its key
        // is enough.
        if self.roots.is_none() && ParsedCertificate::try_from(shown).is_err() {
            let key = certificate::public_key(shown).ok_or(CertificateError::BadEncoding)?;
            return verify_tls13_signature_with_raw_key(message, &key, signature, known);
        }
        verify_tls13_signature(message, shown, signature, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// A small regular file, whole: not a device that never ends, nor a pipe that nobody writes to.
fn read_file(what: &'static str, path: &Path) -> std::result::Result<(Vec<u8>, std::fs::Metadata), PostgresError> {
    let cure = "name a file in PEM format that this user may read";
    let failed = |e| PostgresError::path(what, path, e, cure);
    let not_it = |why: &str| failed(Error::new(ErrorKind::InvalidInput, why));
    let nonblocking = OFlags::NONBLOCK.bits() as i32;
    let file = File::options()
        .read(true)
        .custom_flags(nonblocking)
        .open(path)
        .map_err(failed)?;
    let facts = file.metadata().map_err(failed)?;
    if !facts.is_file() {
        return Err(not_it("it is no regular file"));
    }
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(failed)?;
    match bytes.len() as u64 > FILE_BYTES_MAX {
        true => Err(not_it("it has more than 4 MiB")),
        false => Ok((bytes, facts)),
    }
}

fn certificates(what: &'static str, path: &Path) -> std::result::Result<Vec<CertificateDer<'static>>, PostgresError> {
    let (bytes, _) = read_file(what, path)?;
    let read: std::result::Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes).collect();
    let read = read.ok().filter(|all| !all.is_empty());
    read.ok_or_else(|| unusable(what, path, "there is no certificate in PEM format in it"))
}

fn unusable(what: &'static str, path: &Path, why: &str) -> PostgresError {
    let cure = "name a file in PEM format, the key without a passphrase";
    PostgresError::path(what, path, Error::new(ErrorKind::InvalidData, why.to_owned()), cure)
}

fn key(path: &Path) -> std::result::Result<PrivateKeyDer<'static>, PostgresError> {
    const WHAT: &str = "read the key (sslkey)";
    let (bytes, facts) = read_file(WHAT, path)?;
    // As libpq has it: its group may read a key that is root's.
    let others = if facts.uid() == 0 { 0o037 } else { 0o077 };
    if facts.mode() & others != 0 {
        let why = Error::new(ErrorKind::PermissionDenied, "others may read or change it");
        return Err(PostgresError::path(WHAT, path, why, "chmod 0600 it"));
    }
    PrivateKeyDer::from_pem_slice(&bytes).map_err(|_| unusable(WHAT, path, "there is no key in it that can be used"))
}

fn believed(asked: &Encryption) -> std::result::Result<Option<Believed>, PostgresError> {
    const WHAT: &str = "read the certificates (sslrootcert)";
    let mut anchors = RootCertStore::empty();
    let whole = match &asked.roots {
        None => return Ok(None),
        Some(Roots::System) => {
            let found = rustls_native_certs::load_native_certs();
            let (used, _) = anchors.add_parsable_certificates(found.certs);
            if used == 0 {
                let path = Path::new("/etc/ssl/certs");
                let why = Error::new(ErrorKind::NotFound, "this system has no certificates of authorities");
                let cure = "install them (Debian: ca-certificates), or name a file: sslrootcert=FILE";
                return Err(PostgresError::path(WHAT, path, why, cure));
            }
            Vec::new()
        }
        Some(Roots::File(path)) => {
            let whole = certificates(WHAT, path)?;
            for one in &whole {
                let added = anchors.add(one.clone());
                added.map_err(|_| unusable(WHAT, path, "a certificate in it can't be understood"))?;
            }
            whole
        }
    };
    Ok(Some(Believed {
        anchors,
        whole,
        name_too: asked.mode == SslMode::VerifyFull,
    }))
}

/// What `rustls` has to know, from the files that the url names; they are read once.
pub(crate) fn config(asked: &Encryption) -> std::result::Result<Arc<ClientConfig>, PostgresError> {
    if let Some(made) = asked.config.get() {
        return Ok(made.clone());
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = Verifier {
        provider: provider.clone(),
        roots: believed(asked)?,
    };
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the provider speaks TLS 1.2 and 1.3")
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier));
    let mut made = match &asked.client {
        None => builder.with_no_client_auth(),
        Some((certificate, of)) => {
            let chain = certificates("read the certificate (sslcert)", certificate)?;
            let both = builder.with_client_auth_cert(chain, key(of)?);
            both.map_err(|_| {
                unusable(
                    "use the key (sslkey)",
                    of,
                    "it is not the key of the certificate (sslcert)",
                )
            })?
        }
    };
    // PostgreSQL resumes none, and tickets of two servers behind one name would be mixed up.
    made.resumption = Resumption::disabled();
    made.alpn_protocols = vec![PROTOCOL.to_vec()];
    Ok(asked.config.get_or_init(|| Arc::new(made)).clone())
}

/// A socket whose bytes are sealed. What it does while it is told not to wait, it does as a socket would:
/// [`ErrorKind::WouldBlock`].
pub(crate) struct TlsStream {
    connection: ClientConnection,
    socket: TcpStream,
    /// Bytes that are unsealed and not taken.
    unsealed: usize,
    /// Bytes that came since any were unsealed.
    fruitless: usize,
}

impl TlsStream {
    /// Over a connected socket; `before_wait` is called before each wait, and may end it.
    pub(crate) fn begin(
        config: Arc<ClientConfig>,
        name: ServerName<'static>,
        socket: TcpStream,
        mut before_wait: impl FnMut(&TcpStream) -> Result<()>,
    ) -> Result<TlsStream> {
        let connection = ClientConnection::new(config, name).map_err(sealed_wrong)?;
        let mut stream = TlsStream {
            connection,
            socket,
            unsealed: 0,
            fruitless: 0,
        };
        while stream.connection.is_handshaking() {
            before_wait(&stream.socket)?;
            stream.flush()?;
            if stream.fetch()? == 0 {
                return Err(Error::new(ErrorKind::UnexpectedEof, "the server closed the connection"));
            }
        }
        stream.flush()?;
        Ok(stream)
    }

    pub(crate) fn socket(&self) -> &TcpStream {
        &self.socket
    }

    /// The hash of the server's certificate that a login can be tied to.
    pub(crate) fn end_point(&self) -> Option<Vec<u8>> {
        certificate::end_point(self.connection.peer_certificates()?.first()?)
    }

    /// Version and cipher suite.
    pub(crate) fn describe(&self) -> String {
        let version = self
            .connection
            .protocol_version()
            .and_then(|one| one.as_str().map(str::to_owned));
        let suite = self
            .connection
            .negotiated_cipher_suite()
            .and_then(|one| one.suite().as_str().map(str::to_owned));
        format!("{} {}", version.unwrap_or_default(), suite.unwrap_or_default())
    }

    /// Takes what the socket has, and unseals it. 0 at its end.
    fn fetch(&mut self) -> Result<usize> {
        let got = loop {
            match self.connection.read_tls(&mut self.socket) {
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                got => break got?,
            }
        };
        match self.connection.process_new_packets() {
            Ok(state) => self.unsealed = state.plaintext_bytes_to_read(),
            Err(e) => {
                // The server hears why; whether it does changes nothing.
                let _ = self.flush();
                return Err(sealed_wrong(e));
            }
        }
        self.fruitless = if self.unsealed > 0 { 0 } else { self.fruitless + got };
        if self.fruitless > ANSWER_BYTES_MAX {
            return Err(Error::new(
                ErrorKind::InvalidData,
                "the server talks without saying anything",
            ));
        }
        Ok(got)
    }

    /// Reads what is unsealed, or waits once: [`ErrorKind::Interrupted`] where that gave nothing to read, so that who
    /// waits looks at his clock.
    pub(crate) fn read(&mut self, into: &mut [u8]) -> Result<usize> {
        if self.unsealed == 0 {
            if self.fetch()? == 0 {
                return Ok(0);
            }
            // Answers of the layer itself; what the socket has no room for goes with the next bytes.
            match self.flush() {
                Err(e) if e.kind() == ErrorKind::WouldBlock => {}
                sent => sent?,
            }
            if self.unsealed == 0 {
                return Err(ErrorKind::Interrupted.into());
            }
        }
        let got = self.connection.reader().read(into)?;
        self.unsealed -= got;
        Ok(got)
    }

    /// Seals what there is room for and sends what the socket takes; gives how many bytes were sealed.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        // So that what waits is never more than one piece.
        self.flush()?;
        let taken = self.connection.writer().write(bytes)?;
        match self.flush() {
            Err(e) if e.kind() == ErrorKind::WouldBlock => Ok(taken),
            sent => sent.map(|()| taken),
        }
    }

    /// Sends what is sealed.
    pub(crate) fn flush(&mut self) -> Result<()> {
        while self.connection.wants_write() {
            match self.connection.write_tls(&mut self.socket) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(_) => {}
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    /// Bytes are unsealed already, of which the socket will not speak again.
    pub(crate) fn has_more(&self) -> bool {
        self.unsealed > 0
    }

    /// Bytes are sealed that the socket had no room for.
    pub(crate) fn owes(&self) -> bool {
        self.connection.wants_write()
    }
}

impl std::fmt::Debug for TlsStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "TlsStream({:?})", self.socket)
    }
}

fn sealed_wrong(error: rustls::Error) -> Error {
    Error::new(ErrorKind::InvalidData, error)
}

/// What to do about an error of TLS; `None` where it is none.
pub(crate) fn cure_of(error: &Error) -> Option<&'static str> {
    use CertificateError as Bad;
    let error = error.get_ref()?.downcast_ref::<rustls::Error>()?;
    Some(match error {
        rustls::Error::InvalidCertificate(bad) => match bad {
            Bad::UnknownIssuer | Bad::BadSignature => {
                "sslrootcert has to hold the authority that signed the server's certificate; if it does, somebody \
                 else answers there"
            }
            Bad::NotValidForName | Bad::NotValidForNameContext { .. } => {
                "write the host as the certificate's subjectAltName has it (a common name alone does not count), or \
                 sslmode=verify-ca"
            }
            Bad::Expired | Bad::ExpiredContext { .. } | Bad::NotValidYet | Bad::NotValidYetContext { .. } => {
                "renew the server's certificate, or set this host's clock"
            }
            _ => "the server needs a certificate of X.509 version 3 that is made for servers",
        },
        rustls::Error::AlertReceived(_) => {
            "see the server's log: does it want a certificate of ours (sslcert, sslkey), and TLS 1.2 or newer?"
        }
        rustls::Error::InvalidMessage(_) => "is it PostgreSQL that listens there, and nobody in between?",
        rustls::Error::PeerIncompatible(_) => {
            "the server has to speak TLS 1.2 or newer (ssl_max_protocol_version, its OpenSSL)"
        }
        _ => "see the server's log",
    })
}
