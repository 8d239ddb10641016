//! On which line of fio's JSON a value stands: fio prints one key a line.
//!
//! Takes the text; finds jobs by `"jobname"`, then a direction, then a key. Prevents: a figure that nobody can find again
//! in a file of ten thousand lines.

/// Lines of the keys that are looked for.
pub(crate) struct Places {
    /// By job: its line.
    jobs: Vec<u32>,
    /// Key and line, in order, from the first job on.
    keys: Vec<(String, u32)>,
}

/// Keys kept: the first job's are enough.
const KEYS_MAX: usize = 10_000;

impl Places {
    pub(crate) fn of(text: &str, start: usize) -> Places {
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
    pub(crate) fn job(&self, index: usize) -> u32 {
        self.jobs.get(index).or(self.jobs.first()).copied().unwrap_or(1)
    }

    /// Line of a key inside a direction of a job; the job's line where it is not found.
    pub(crate) fn key(&self, job: usize, direction: &str, key: &str) -> u32 {
        let from = self.job(job);
        let mut after = self.keys.iter().skip_while(|(_, line)| *line < from);
        let inside = after.by_ref().find(|(name, _)| name == direction);
        inside
            .and_then(|_| after.find(|(name, _)| name == key))
            .map_or(from, |(_, line)| *line)
    }
}
