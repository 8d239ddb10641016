//! On which line of fio's JSON a value stands: fio prints one key a line.
//!
//! Takes the text; finds jobs by `"jobname"`, then a direction, then a key. Prevents: a figure that nobody can find
//! again in a file of ten thousand lines.

/// Lines of the keys that are looked for.
pub(super) struct Places {
    /// By job: its line.
    jobs: Vec<u32>,
    /// Key and line, in order, from the first job on.
    keys: Vec<(String, u32)>,
}

/// Keys kept: the first job's are enough.
const KEYS_MAX: usize = 10_000;

impl Places {
    pub(super) fn of(text: &str, start: usize) -> Places {
        let mut places = Places {
            jobs: Vec::new(),
            keys: Vec::new(),
        };
        let before = text.as_bytes()[..start].iter().filter(|b| **b == b'\n').count();
        for (index, line) in text[start..].split('\n').enumerate() {
            let number = u32::try_from(before + index + 1).unwrap_or(u32::MAX);
            let Some(rest) = line.trim_start().strip_prefix('"') else {
                continue;
            };
            let Some((key, _)) = rest.split_once('"') else { continue };
            if key == "jobname" {
                places.jobs.push(number);
            }
            if !places.jobs.is_empty() && places.keys.len() < KEYS_MAX {
                places.keys.push((key.to_string(), number));
            }
        }
        if places.jobs.is_empty() {
            // All on one line, as `jq -c` prints it.
            places.jobs.push(u32::try_from(before + 1).unwrap_or(u32::MAX));
        }
        places
    }

    /// Line of a job.
    pub(super) fn job(&self, index: usize) -> u32 {
        self.jobs.get(index).or(self.jobs.first()).copied().unwrap_or(1)
    }

    /// Line of the last of these keys, each inside the one before it, in a job; of the last one found where one is not.
    pub(super) fn key(&self, job: usize, path: &[&str]) -> u32 {
        let mut found = self.job(job);
        let from = found;
        let mut after = self.keys.iter().skip_while(|(_, line)| *line < from);
        for key in path {
            match after.find(|(name, _)| name == key) {
                Some((_, line)) => found = *line,
                None => break,
            }
        }
        found
    }
}
