//! Text for a terminal: escaped, measured and wrapped.
//!
//! Takes strings of any origin, gives lines that are never wider than asked. Prevents: a stack name that moves the cursor
//! or turns the text around, and lines that the terminal breaks where it likes.

/// Whether a character acts on a terminal or hides: controls (C0, DEL, C1), marks that change the direction, characters without
/// a shape.
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

/// As [`escaped`], but line ends and tabs stay: for what is about to be printed. With `styled`, colours and weights stay too: of
/// a text whose parts of other origin are escaped already.
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

/// Columns a text takes.
pub(crate) fn width(text: &str) -> usize {
    text.chars().map(columns).sum()
}

fn columns(c: char) -> usize {
    match c {
        // Combining marks stand on the letter before them.
        '\u{300}'..='\u{36f}' | '\u{fe00}'..='\u{fe0f}' => 0,
        // Scripts and signs drawn two columns wide.
        '\u{1100}'..='\u{115f}'
        | '\u{2e80}'..='\u{a4cf}'
        | '\u{ac00}'..='\u{d7a3}'
        | '\u{f900}'..='\u{faff}'
        | '\u{fe30}'..='\u{fe4f}'
        | '\u{ff00}'..='\u{ff60}'
        | '\u{ffe0}'..='\u{ffe6}'
        | '\u{1f300}'..='\u{1faff}'
        | '\u{20000}'..='\u{3fffd}' => 2,
        _ => 1,
    }
}

/// At most `limit` columns; what is cut is marked.
pub(crate) fn clipped(text: &str, limit: usize) -> String {
    if width(text) <= limit {
        return text.to_string();
    }
    let mut out = String::new();
    let mut used = 0;
    for c in text.chars() {
        if used + columns(c) + 1 > limit {
            break;
        }
        used += columns(c);
        out.push(c);
    }
    if limit > 0 {
        out.push('~');
    }
    out
}

/// Wraps at spaces; lines after the first are indented by `indent` columns. Words longer than a line are cut in pieces.
pub(crate) fn wrapped(text: &str, limit: usize, indent: usize) -> Vec<String> {
    let indent = if indent + 8 > limit { 0 } else { indent };
    // A percent sign stays with its number.
    let text = &text.replace(" %", "\u{a0}%");
    let mut lines = Vec::new();
    let lead = text.len() - text.trim_start_matches(' ').len();
    let mut line = " ".repeat(lead.min(limit / 2));
    let mut empty = true;
    // Kept as it grows: a word may be as long as a file, and is cut in thousands of pieces.
    let mut used = line.len();
    for mut word in text.split(' ').filter(|word| !word.is_empty()) {
        loop {
            let gap = usize::from(!empty);
            let room = limit.saturating_sub(used + gap);
            let piece = take(word, room.max(1));
            if piece.len() == word.len() && width(piece) <= room {
                line.push_str(&" ".repeat(gap));
                line.push_str(word);
                used += gap + width(piece);
                empty = false;
                break;
            }
            if empty {
                // Alone on its line and still too long.
                word = &word[piece.len()..];
                line.push_str(piece);
            }
            lines.push(std::mem::replace(&mut line, " ".repeat(indent)));
            (used, empty) = (indent, true);
            if word.is_empty() {
                break;
            }
        }
    }
    if !empty || lines.is_empty() {
        lines.push(line);
    }
    lines.iter().map(|line| line.replace('\u{a0}', " ")).collect()
}

/// The first columns of a word, at least one character.
fn take(word: &str, limit: usize) -> &str {
    let mut used = 0;
    for (at, c) in word.char_indices() {
        if at > 0 && used + columns(c) > limit {
            return &word[..at];
        }
        used += columns(c);
    }
    word
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

    #[test]
    fn lines_keep_to_their_width() {
        let text = "  one two three-and-a-word-that-is-far-too-long-for-a-line four";
        for limit in 10..40 {
            let lines = wrapped(text, limit, 4);
            assert!(lines.iter().all(|line| width(line) <= limit), "{limit}: {lines:?}");
            let joined: String = lines.concat().replace(' ', "");
            assert_eq!(joined, text.replace(' ', ""), "nothing is lost");
        }
        assert_eq!(wrapped("", 10, 0), [""]);
        assert_eq!(wrapped("about 12 % of it", 9, 0), ["about", "12 % of", "it"]);
    }

    #[test]
    fn clipping_is_marked() {
        assert_eq!(clipped("btrfs-compressed", 8), "btrfs-c~");
        assert_eq!(clipped("ext4", 8), "ext4");
        assert_eq!(width(&clipped("漢字漢字漢字", 5)), 5);
    }
}
