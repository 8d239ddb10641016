//! The page's security policy: nothing is loaded, nothing is sent, and only our own scripts and styles act.
//!
//! Takes the texts of the inline scripts and styles, gives the value of the `Content-Security-Policy` header as a meta
//! tag has it. Prevents: a name that slipped through unescaped from doing anything: a script whose hash is not here
//! does not run.

use sha2::{Digest, Sha256};

/// What a page may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Nothing: it is one file.
    Nothing,
    /// More from where it came from, as a live page does, and its empty icon.
    OwnAddress,
}

pub(crate) fn policy(styles: &[&str], scripts: &[&str], reach: Reach) -> String {
    let hashes = |texts: &[&str]| {
        let hashes: Vec<String> = texts.iter().map(|text| hash(text)).collect();
        hashes.join(" ")
    };
    let more = match reach {
        Reach::Nothing => "",
        Reach::OwnAddress => "; connect-src 'self'; img-src data:",
    };
    format!(
        "default-src 'none'; script-src {}; style-src {}; base-uri 'none'; form-action 'none'{more}",
        hashes(scripts),
        hashes(styles)
    )
}

fn hash(text: &str) -> String {
    format!("'sha256-{}'", base64(&Sha256::digest(text.as_bytes())))
}

/// RFC 4648, section 4.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let bits = three.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
        for place in 0..4 {
            if place <= three.len() {
                text.push(char::from(LETTERS[(bits >> (18 - 6 * place)) as usize & 63]));
            } else {
                text.push('=');
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_the_rfc() {
        for (plain, coded) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
    }

    #[test]
    fn embedded_texts_do_not_end_their_element() {
        for text in [
            super::super::CHART_SCRIPT,
            super::super::SCRIPT,
            super::super::LIVE_SCRIPT,
        ] {
            let lower = text.to_lowercase();
            assert!(!lower.contains("</script") && !lower.contains("<!--"));
        }
        for text in [super::super::CHART_STYLE, super::super::STYLE] {
            assert!(!text.contains('<'), "no tag in a style");
        }
    }
}
