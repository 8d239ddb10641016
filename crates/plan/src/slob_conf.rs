//! A `slob.conf` as it stands on disk: shell assignments, line by line, and nothing that a shell would have to run.
//!
//! Takes the text; gives assignments with their lines, and what cannot be read without a shell. Prevents: a value that
//! depends on the environment of whoever runs the study, and a password that ends in a result file.

/// One assignment that holds: of several to one key the last, as in a shell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Assignment {
    pub(crate) key: String,
    pub(crate) value: String,
    /// 1-based.
    pub(crate) line: usize,
}

/// Largest file that is read, in bytes: SLOB's own has about four thousand.
pub(crate) const BYTES_MAX: u64 = 64 << 10;

/// The assignments in the order of the file; `Err` with the line and what is wrong there.
pub(crate) fn assignments(text: &str) -> Result<Vec<Assignment>, (usize, String)> {
    let mut found: Vec<Assignment> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line_number = index + 1;
        for statement in statements(line).map_err(|what| (line_number, what))? {
            let words = statement.strip_prefix("export ").unwrap_or(&statement).trim();
            let Some((key, value)) = words.split_once('=') else {
                // `export A B` changes no value.
                if statement.starts_with("export ") {
                    continue;
                }
                return Err((line_number, format!("{:?} is no assignment", shown(&statement))));
            };
            if key.is_empty() || !key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
                return Err((line_number, format!("{:?} is no name of a parameter", shown(key))));
            }
            let value = unquoted(value).map_err(|what| (line_number, format!("{key}: {what}")))?;
            found.retain(|old| old.key != key);
            found.push(Assignment {
                key: key.to_string(),
                value,
                line: line_number,
            });
        }
    }
    Ok(found)
}

fn shown(text: &str) -> String {
    text.chars().take(40).collect()
}

/// A line cut at `;`, its comment off; quotes keep both.
fn statements(line: &str) -> Result<Vec<String>, String> {
    let mut all = vec![String::new()];
    let mut quote = None;
    let mut before = ' ';
    for c in line.trim_end_matches('\r').chars() {
        match (c, quote) {
            ('\'' | '"', None) => quote = Some(c),
            (c, Some(open)) if c == open => quote = None,
            ('#', None) if before.is_whitespace() || before == ';' => break,
            (';', None) => {
                all.push(String::new());
                before = c;
                continue;
            }
            _ => {}
        }
        all.last_mut().expect("it begins with one").push(c);
        before = c;
    }
    if quote.is_some() {
        return Err("a quote is not closed".into());
    }
    let trimmed = all.into_iter().map(|s| s.trim().to_string());
    Ok(trimmed.filter(|s| !s.is_empty()).collect())
}

fn unquoted(value: &str) -> Result<String, String> {
    let value = value.trim();
    if value.contains(['$', '`', '\\', '(', '*', '?']) && !value.starts_with('\'') {
        return Err("its value is made by the shell, which is not run here".into());
    }
    let inner = ['\'', '"']
        .into_iter()
        .find_map(|q| value.strip_prefix(q)?.strip_suffix(q));
    let inner = inner.unwrap_or(value);
    if inner.contains(['\'', '"']) || (inner.len() == value.len() && inner.contains(char::is_whitespace)) {
        return Err("more than one word follows the `=`".into());
    }
    Ok(inner.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(text: &str) -> Vec<(String, String, usize)> {
        let all = assignments(text).unwrap();
        all.into_iter().map(|a| (a.key, a.value, a.line)).collect()
    }

    #[test]
    fn assignments_as_people_write_them() {
        let text = "# a comment\nUPDATE_PCT=25\r\nexport RUN_TIME=300 # seconds\n\n\
            SCALE='8G'; WORK_UNIT=\"64\"\nexport RUN_TIME SCALE\nEXTERNAL_SCRIPT=''\nUPDATE_PCT=50\n";
        let said: Vec<(String, String, usize)> = [
            ("RUN_TIME", "300", 3),
            ("SCALE", "8G", 5),
            ("WORK_UNIT", "64", 5),
            ("EXTERNAL_SCRIPT", "", 7),
            ("UPDATE_PCT", "50", 8),
        ]
        .map(|(k, v, l)| (k.into(), v.into(), l))
        .to_vec();
        assert_eq!(pairs(text), said);
        assert_eq!(pairs("A=#1\nB=x#y\n#C=1\n")[0].1, "#1");
    }

    #[test]
    fn what_needs_a_shell_is_refused_with_its_line() {
        for (text, line) in [
            ("A=1\nB=$A\n", 2),
            ("A=`date`\n", 1),
            ("if true; then\n", 1),
            ("A=\"x\n", 1),
            ("A=1 B=2\n", 1),
            ("\nA-B=1\n", 2),
        ] {
            assert_eq!(assignments(text).unwrap_err().0, line, "{text:?}");
        }
    }
}
