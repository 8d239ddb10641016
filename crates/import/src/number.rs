//! Numbers as reports print them: `12,124,290`, `.0`, `8.3846806E+09`, `1.6`, `22.6K`.
//!
//! Takes a token; gives its value and the token, or what is wrong with it. Prevents: `1,6` read as sixteen, and a
//! column of `#######` read as nothing.

use crate::error::ImportError;

/// A number with the text it was printed as.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Printed<'t> {
    pub(crate) value: f64,
    pub(crate) text: &'t str,
}

/// Why a token is no number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// A word, or nothing.
    NoNumber,
    /// `1,6`, `12.124.290`, `1.234,5`.
    DecimalComma,
    /// `######`: it did not fit its column.
    Overflow,
}

/// Whether commas may stand between thousands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Commas {
    /// Oracle's reports.
    Thousands,
    /// iostat never writes them: a comma is a decimal comma.
    Never,
}

/// Largest figure of any report: sums and products of some such are numbers still.
pub(crate) const VALUE_MAX: f64 = 1e30;

const COMMA_CURE: &str =
    "make the report in a session with NLS_NUMERIC_CHARACTERS='.,' (alter session set nls_numeric_characters='.,')";

/// Longest token that can be a number.
const LENGTH_MAX: usize = 40;

/// Reads one token.
pub(crate) fn number(token: &str, commas: Commas) -> Result<Printed<'_>, Trouble> {
    if !token.is_empty() && token.bytes().all(|b| b == b'#') {
        return Err(Trouble::Overflow);
    }
    if token.len() > LENGTH_MAX || !token.bytes().any(|b| b.is_ascii_digit()) {
        return Err(Trouble::NoNumber);
    }
    let unsigned = token.strip_prefix(['-', '+']).unwrap_or(token);
    let (mantissa, exponent) = match unsigned.split_once(['E', 'e']) {
        Some((mantissa, exponent)) => {
            let digits = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
            if digits.is_empty() || digits.len() > 3 || !digits.bytes().all(|b| b.is_ascii_digit()) {
                return Err(Trouble::NoNumber);
            }
            (mantissa, Some(exponent))
        }
        None => (unsigned, None),
    };
    if mantissa.is_empty() || !mantissa.bytes().all(|b| b.is_ascii_digit() || b == b',' || b == b'.') {
        return Err(Trouble::NoNumber);
    }
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    if fraction.is_some_and(|f| f.contains(['.', ','])) {
        return Err(Trouble::DecimalComma);
    }
    if whole.contains(',') && (commas == Commas::Never || !is_grouped(whole)) {
        return Err(Trouble::DecimalComma);
    }
    let sign = if token.starts_with('-') { "-" } else { "" };
    let plain = format!(
        "{sign}{}.{}{}",
        whole.replace(',', ""),
        fraction.filter(|f| !f.is_empty()).unwrap_or("0"),
        exponent.map(|e| format!("e{e}")).unwrap_or_default()
    );
    let plain = plain.replacen("-.", "-0.", 1);
    let plain = if plain.starts_with('.') {
        format!("0{plain}")
    } else {
        plain
    };
    match plain.parse::<f64>() {
        Ok(value) if value.abs() <= VALUE_MAX => Ok(Printed { value, text: token }),
        _ => Err(Trouble::NoNumber),
    }
}

/// `1,234,567`: one to three digits, then groups of three.
fn is_grouped(whole: &str) -> bool {
    let mut groups = whole.split(',');
    let first = groups.next().unwrap_or_default();
    (1..=3).contains(&first.len()) && groups.all(|group| group.len() == 3)
}

/// Digits after the point of a number as printed.
pub(crate) fn decimals(text: &str) -> usize {
    let mantissa = text.split(['E', 'e']).next().unwrap_or_default();
    mantissa
        .split_once('.')
        .map_or(0, |(_, fraction)| fraction.len().min(9))
}

/// A sum or mean with so many digits after the point.
pub(crate) fn rounded(value: f64, decimals: usize) -> (f64, String) {
    let text = format!("{value:.decimals$}");
    (text.parse().unwrap_or(value), text)
}

/// A number of Oracle's; `None` for what is none; an error for a decimal comma.
pub(crate) fn printed(token: &str, line: u32) -> Result<Option<Printed<'_>>, ImportError> {
    match number(token, Commas::Thousands) {
        Ok(printed) => Ok(Some(printed)),
        Err(Trouble::DecimalComma) => Err(ImportError::DecimalComma {
            line,
            token: token.into(),
            cure: COMMA_CURE,
        }),
        Err(Trouble::NoNumber | Trouble::Overflow) => Ok(None),
    }
}

/// The first word as a number; a comma of a sentence behind it is taken off.
pub(crate) fn first_number(text: &str, line: u32) -> Result<Option<Printed<'_>>, ImportError> {
    let word = text
        .split_whitespace()
        .next()
        .unwrap_or_default()
        .trim_end_matches([',', ';']);
    printed(word, line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(token: &str) -> Result<f64, Trouble> {
        number(token, Commas::Thousands).map(|printed| printed.value)
    }

    #[test]
    fn numbers_as_reports_print_them() {
        assert_eq!(value("12,124,290"), Ok(12_124_290.0));
        assert_eq!(value("201,232,334,848"), Ok(201_232_334_848.0));
        assert_eq!(value(".0"), Ok(0.0));
        assert_eq!(value("8.3846806E+09"), Ok(8_384_680_600.0));
        assert_eq!(value("661,463,251.8"), Ok(661_463_251.8));
        assert_eq!(value("-1.5"), Ok(-1.5));
        assert_eq!(value("-.5"), Ok(-0.5));
        assert_eq!(value("7."), Ok(7.0));
        assert_eq!(value("0"), Ok(0.0));
    }

    #[test]
    fn commas_of_other_languages_are_seen() {
        for token in ["1,6", "12.124.290", "1.234,5", "39,79", "1,23,456", "0,0000"] {
            assert_eq!(value(token), Err(Trouble::DecimalComma), "{token}");
        }
        assert_eq!(number("1,234", Commas::Never), Err(Trouble::DecimalComma));
    }

    #[test]
    fn words_are_no_numbers() {
        for token in [
            "", "N/A", "sd13", "1.2.x", "E+09", "1E", "--1", "1e9999", "-", ".", ",", "٣",
        ] {
            assert_eq!(value(token), Err(Trouble::NoNumber), "{token}");
        }
        assert_eq!(value("#####"), Err(Trouble::Overflow));
    }

    #[test]
    fn sums_keep_the_digits_of_what_was_summed() {
        assert_eq!(decimals("12288.9"), 1);
        assert_eq!(decimals("1,000"), 0);
        let sum = 12288.9 * 4.0 + 8192.6;
        assert_eq!(rounded(sum, 1), (57348.2, "57348.2".to_string()));
    }
}
