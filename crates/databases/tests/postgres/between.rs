//! Somebody between a client and its server: he ends TLS with a certificate of his own and passes everything on,
//! through TLS of his own or without.

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{
    ClientConfig, ClientConnection, DigitallySignedStruct, Error, ServerConfig, ServerConnection, SignatureScheme,
    StreamOwned,
};
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];

/// Believes everybody.
#[derive(Debug)]
struct Credulous;

impl ServerCertVerifier for Credulous {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        default_provider().signature_verification_algorithms.supported_schemes()
    }
}

trait Both: Read + Write + Send {}
impl<T: Read + Write + Send> Both for T {}

fn to_client(mut socket: TcpStream, config: Arc<ServerConfig>) -> Option<Box<dyn Both>> {
    let mut request = [0; 8];
    socket.read_exact(&mut request).ok()?;
    assert_eq!(request, SSL_REQUEST);
    socket.write_all(b"S").ok()?;
    let mut connection = ServerConnection::new(config).ok()?;
    // Before time is short: a write that has to wait for the other's part of the handshake would fail.
    connection.complete_io(&mut socket).ok()?;
    socket.set_read_timeout(Some(Duration::from_millis(5))).ok()?;
    Some(Box::new(StreamOwned::new(connection, socket)))
}

fn to_server(ip: &str, sealed: bool) -> Option<Box<dyn Both>> {
    let mut socket = TcpStream::connect((ip, 5432)).ok()?;
    if !sealed {
        socket.set_read_timeout(Some(Duration::from_millis(5))).ok()?;
        return Some(Box::new(socket));
    }
    socket.write_all(&SSL_REQUEST).ok()?;
    socket.read_exact(&mut [0]).ok()?;
    let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .ok()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Credulous))
        .with_no_client_auth();
    let name = ServerName::try_from("server").ok()?;
    let mut connection = ClientConnection::new(Arc::new(config), name).ok()?;
    connection.complete_io(&mut socket).ok()?;
    socket.set_read_timeout(Some(Duration::from_millis(5))).ok()?;
    Some(Box::new(StreamOwned::new(connection, socket)))
}

/// Passes on what there is; `None` at the end of either.
fn pass(from: &mut dyn Both, to: &mut dyn Both) -> Option<()> {
    let mut piece = [0; 8192];
    match from.read(&mut piece) {
        Ok(0) => None,
        Ok(got) => to.write_all(&piece[..got]).and_then(|()| to.flush()).ok(),
        Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => Some(()),
        Err(_) => None,
    }
}

/// A port of 127.0.0.1 where he stands before the server at `ip`. Ends with the test's process.
pub(crate) fn somebody_before(ip: &str, papers: &[String; 2], sealed: bool) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let certificate = CertificateDer::from_pem_slice(papers[0].as_bytes()).unwrap();
    let key = PrivateKeyDer::from_pem_slice(papers[1].as_bytes()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    let (ip, config) = (ip.to_owned(), Arc::new(config));
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let (ip, config) = (ip.clone(), config.clone());
            std::thread::spawn(move || {
                let (Some(mut client), Some(mut server)) = (to_client(client, config), to_server(&ip, sealed)) else {
                    return;
                };
                while pass(&mut *client, &mut *server).is_some() && pass(&mut *server, &mut *client).is_some() {}
            });
        }
    });
    port
}
