//! Markup in which nothing but our own text is markup.
//!
//! Takes tags and attribute names as they stand in our source (`&'static str`) and texts of any origin, which are escaped;
//! gives HTML. Prevents: a study or stack whose name is a script. There is no way to put a computed string in unescaped.

use crate::text::escaped;

/// HTML under construction.
#[derive(Debug, Default)]
pub(crate) struct Markup {
    out: String,
}

/// Attributes: name, value.
pub(crate) type Attributes<'a> = &'a [(&'static str, &'a str)];

impl Markup {
    pub(crate) fn new() -> Markup {
        Markup::default()
    }

    /// Markup of our own, as it stands in the source.
    pub(crate) fn raw(&mut self, markup: &'static str) {
        self.out.push_str(markup);
    }

    /// Text of any origin.
    pub(crate) fn text(&mut self, text: &str) {
        push_escaped(&mut self.out, &escaped(text));
    }

    /// Text of several lines that stay lines.
    pub(crate) fn lines(&mut self, text: &str) {
        for (index, line) in text.lines().enumerate() {
            if index > 0 {
                self.out.push('\n');
            }
            self.text(&line.replace('\t', "    "));
        }
    }

    /// An opening tag.
    pub(crate) fn open(&mut self, tag: &'static str, attributes: Attributes<'_>) {
        self.out.push('<');
        self.out.push_str(tag);
        for (name, value) in attributes {
            self.out.push(' ');
            self.out.push_str(name);
            self.out.push('=');
            // Quotes are a tenth of a large page, and HTML asks for them only where there is more than letters.
            let is_plain = !value.is_empty() && value.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
            if is_plain {
                self.out.push_str(value);
                continue;
            }
            self.out.push('"');
            push_escaped(&mut self.out, &escaped(value));
            self.out.push('"');
        }
        self.out.push('>');
    }

    /// An element of SVG that holds nothing.
    pub(crate) fn empty(&mut self, tag: &'static str, attributes: Attributes<'_>) {
        self.open(tag, attributes);
        self.out.pop();
        // A slash right after a value without quotes would belong to it.
        self.out.push_str(if self.out.ends_with('"') { "/>" } else { " />" });
    }

    /// The end of what was opened.
    pub(crate) fn close(&mut self, tag: &'static str) {
        self.out.push_str("</");
        self.out.push_str(tag);
        self.out.push('>');
    }

    /// A whole element of text.
    pub(crate) fn element(&mut self, tag: &'static str, attributes: Attributes<'_>, text: &str) {
        self.open(tag, attributes);
        self.text(text);
        self.close(tag);
    }

    /// Markup made elsewhere.
    pub(crate) fn add(&mut self, other: &Markup) {
        self.out.push_str(&other.out);
    }

    /// A value as JSON that a `<script type="application/json">` can hold: no `<` in it, so no end of the script either.
    pub(crate) fn json(&mut self, value: &serde_json::Value) {
        for c in value.to_string().chars() {
            match c {
                '<' => self.out.push_str("\\u003c"),
                '>' => self.out.push_str("\\u003e"),
                '&' => self.out.push_str("\\u0026"),
                '\u{2028}' => self.out.push_str("\\u2028"),
                '\u{2029}' => self.out.push_str("\\u2029"),
                c => self.out.push(c),
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.out.is_empty()
    }

    pub(crate) fn finish(self) -> String {
        self.out
    }
}

fn push_escaped(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_text() {
        let mut page = Markup::new();
        page.element("td", &[("title", "\" onclick='x'")], "<script>&\u{202e}\n");
        assert_eq!(
            page.finish(),
            "<td title=\"&quot; onclick=&#39;x&#39;\">&lt;script&gt;&amp;\\u{202e}\\n</td>"
        );
    }

    #[test]
    fn data_cannot_end_their_script() {
        let mut page = Markup::new();
        page.json(&serde_json::json!(["</script><!--", "\u{2028}"]));
        let text = page.finish();
        assert!(!text.contains('<') && !text.contains('\u{2028}'), "{text}");
        let back: Vec<String> = serde_json::from_str(&text).unwrap();
        assert_eq!(back, ["</script><!--", "\u{2028}"]);
    }

    #[test]
    fn values_without_quotes_end() {
        let mut page = Markup::new();
        page.empty("path", &[("d", "M0 1"), ("class", "s1")]);
        page.open("a", &[("class", "x y"), ("id", "a=b"), ("title", "")]);
        assert_eq!(
            page.finish(),
            "<path d=\"M0 1\" class=s1 /><a class=\"x y\" id=\"a=b\" title=\"\">"
        );
    }

    #[test]
    fn lines_stay_lines() {
        let mut page = Markup::new();
        page.lines("a <b>\r\n\tc\x1b[2J");
        assert_eq!(page.finish(), "a &lt;b&gt;\n    c\\u{1b}[2J");
    }
}
