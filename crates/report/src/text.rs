//! Text of any origin made safe to print.
//!
//! Takes strings, gives strings in which nothing acts on a terminal. Prevents: a stack name that moves the cursor or
//! turns the text around.

/// Whether a character acts on a terminal or hides: controls (C0, DEL, C1), marks that change the direction, characters
/// without a shape.
fn acts(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Makes characters visible that would act on the terminal or hide, line ends and tabs too: for text within a line.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match acts(c) {
            true => out.extend(c.escape_default()),
            false => out.push(c),
        }
    }
    out
}

/// As [`escaped`], but line ends and tabs stay: for what is about to be printed. With `styled`, colours and weights
/// stay too: of a text whose parts of other origin are escaped already.
pub fn escaped_lines(text: &str, styled: bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let kept = match c {
            '\n' | '\t' => 1,
            '\u{1b}' if styled => style_bytes(rest),
            c if acts(c) => 0,
            c => c.len_utf8(),
        };
        if kept == 0 {
            out.extend(c.escape_default());
        }
        out.push_str(&rest[..kept]);
        rest = &rest[kept.max(c.len_utf8())..];
    }
    out
}

/// As [`escaped`] for JSON, whose own rules leave more than half of these characters as they are.
pub fn escaped_json(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        // Outside of strings JSON has no such character but line ends.
        if acts(c) && c != '\n' {
            let mut units = [0; 2];
            out.extend(c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")));
        } else {
            out.push(c);
        }
    }
    out
}

/// Bytes of the sequence that sets colour and weight, with which the text begins; 0 where it begins with anything else.
fn style_bytes(text: &str) -> usize {
    let bytes = text.as_bytes();
    if !bytes.starts_with(b"\x1b[") {
        return 0;
    }
    let numbers = bytes[2..]
        .iter()
        .take_while(|b| b.is_ascii_digit() || **b == b';')
        .count();
    if bytes.get(2 + numbers) == Some(&b'm') {
        numbers + 3
    } else {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_acts_on_the_terminal() {
        assert_eq!(escaped("a\x1b[31mb\r\n\tc"), "a\\u{1b}[31mb\\r\\n\\tc");
        assert_eq!(escaped("x\u{202e}y"), "x\\u{202e}y");
        assert_eq!(escaped("Größe"), "Größe");
        assert_eq!(escaped("\u{9b}2J"), "\\u{9b}2J");
    }

    #[test]
    fn what_is_printed_keeps_its_lines_and_our_styles() {
        let text = "a\tb\n\x1b[1;31mred\x1b[0m \x1b]0;title\x07 \u{9b}2J\u{7f}\u{202e}\r";
        let rest = " \\u{1b}]0;title\\u{7} \\u{9b}2J\\u{7f}\\u{202e}\\r";
        assert_eq!(escaped_lines(text, true), format!("a\tb\n\x1b[1;31mred\x1b[0m{rest}"));
        assert_eq!(
            escaped_lines(text, false),
            format!("a\tb\n\\u{{1b}}[1;31mred\\u{{1b}}[0m{rest}")
        );
        for other in ["\x1b", "\x1b[", "\x1b[1", "\x1b[2J", "\x1b[1;?m", "\x1b(0"] {
            assert!(!escaped_lines(other, true).contains('\x1b'), "{other:?}");
        }
    }

    #[test]
    fn json_stays_the_same_value() {
        assert_eq!(
            escaped_json("{\n \"\u{9b}\u{202e}\u{e0041}é\"}"),
            "{\n \"\\u009b\\u202e\\udb40\\udc41é\"}"
        );
    }
}
