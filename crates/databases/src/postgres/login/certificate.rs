//! What has to be known of a server's certificate beside what `rustls` asks of it.
//!
//! Takes a certificate's bytes, which nobody has vouched for yet. Prevents: a login tied to a hash that the server does
//! not compute.

use rustls::pki_types::SubjectPublicKeyInfoDer;
use sha2::{Digest, Sha256, Sha384, Sha512};
use std::time::Duration;
use x509_cert::Certificate;
use x509_cert::der::asn1::ObjectIdentifier;
use x509_cert::der::{Decode, Encode};

/// Algorithms of a certificate's signature, by the hash in them (RFC 3279, 4055, 5758).
const SHA256: [&str; 5] = [
    "1.2.840.113549.1.1.11",
    "1.2.840.10045.4.3.2",
    // MD5 and SHA-1: RFC 5929 takes SHA-256 in their place.
    "1.2.840.113549.1.1.4",
    "1.2.840.113549.1.1.5",
    "1.2.840.10045.4.1",
];
const SHA384: [&str; 2] = ["1.2.840.113549.1.1.12", "1.2.840.10045.4.3.3"];
const SHA512: [&str; 2] = ["1.2.840.113549.1.1.13", "1.2.840.10045.4.3.4"];

/// The channel binding `tls-server-end-point` (RFC 5929, section 4): the certificate's hash, by the algorithm that it
/// is signed with. `None` where that has no hash of its own (Ed25519), or is not known.
pub(crate) fn end_point(der: &[u8]) -> Option<Vec<u8>> {
    let certificate = Certificate::from_der(der).ok()?;
    let signed_by = certificate.signature_algorithm.oid;
    let is = |names: &[&str]| names.iter().any(|name| ObjectIdentifier::new_unwrap(name) == signed_by);
    match () {
        () if is(&SHA256) => Some(Sha256::digest(der).to_vec()),
        () if is(&SHA384) => Some(Sha384::digest(der).to_vec()),
        () if is(&SHA512) => Some(Sha512::digest(der).to_vec()),
        () => None,
    }
}

/// Its public key, with the key's algorithm.
pub(crate) fn public_key(der: &[u8]) -> Option<SubjectPublicKeyInfoDer<'static>> {
    let certificate = Certificate::from_der(der).ok()?;
    Some(
        certificate
            .tbs_certificate
            .subject_public_key_info
            .to_der()
            .ok()?
            .into(),
    )
}

/// Whether it is valid at this time, counted from 1970; `None` for what is no certificate.
pub(crate) fn is_valid_at(der: &[u8], now: Duration) -> Option<bool> {
    let validity = Certificate::from_der(der).ok()?.tbs_certificate.validity;
    Some(validity.not_before.to_unix_duration() <= now && now <= validity.not_after.to_unix_duration())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{CertificateParams, KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_ECDSA_P384_SHA384, PKCS_ED25519};

    #[test]
    fn the_hash_is_that_of_the_signature() {
        let made = |algorithm| {
            let key = KeyPair::generate_for(algorithm).unwrap();
            CertificateParams::new(["db.example".to_owned()])
                .unwrap()
                .self_signed(&key)
                .unwrap()
        };
        let short = made(&PKCS_ECDSA_P256_SHA256);
        assert_eq!(end_point(short.der()), Some(Sha256::digest(short.der()).to_vec()));
        let long = made(&PKCS_ECDSA_P384_SHA384);
        assert_eq!(end_point(long.der()), Some(Sha384::digest(long.der()).to_vec()));
        assert_eq!(end_point(made(&PKCS_ED25519).der()), None);
        let cut = &short.der()[..short.der().len() - 1];
        assert_eq!((end_point(cut), end_point(b"")), (None, None));
    }

    #[test]
    fn its_time_is_read() {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(["db.example".to_owned()]).unwrap();
        params.not_after = rcgen::date_time_ymd(2020, 1, 1);
        let der = params.self_signed(&key).unwrap().der().to_vec();
        let at = Duration::from_secs;
        assert_eq!(is_valid_at(&der, at(1_500_000_000)), Some(true));
        assert_eq!(is_valid_at(&der, at(1_600_000_000)), Some(false));
        assert_eq!(is_valid_at(b"0", at(0)), None);
    }
}
