//! Which processors this process, and what it starts, may run on.
//!
//! Takes the list of `/proc/self/status`, gives an [`Affinity`]. `taskset`, the settings of a service and the set of
//! processors of a container make it smaller than the host. Prevents: idle processors of a large host taken for room
//! that a run never had.

use crate::Root;

/// The numbers of processors that may be used, as ranges. Some of them may not be online.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Affinity(Vec<(u32, u32)>);

impl Affinity {
    /// Reads a list as the kernel prints it (`0-3,8`); `None` when it is in no known form, or empty.
    pub fn parse(list: &str) -> Option<Affinity> {
        let range = |part: &str| {
            let (from, to) = part.split_once('-').unwrap_or((part, part));
            let (from, to) = (from.parse().ok()?, to.parse().ok()?);
            (from <= to).then_some((from, to))
        };
        let ranges: Option<Vec<(u32, u32)>> = list.trim().split(',').map(range).collect();
        ranges.map(Affinity)
    }

    /// Whether a processor is among them.
    pub fn allows(&self, processor: u32) -> bool {
        self.0.iter().any(|(from, to)| (*from..=*to).contains(&processor))
    }

    /// How many processors they are, also those that are not online.
    pub fn count(&self) -> u64 {
        self.0.iter().map(|(from, to)| u64::from(to - from) + 1).sum()
    }
}

/// Of this process; `None` where the kernel does not tell (before 2.6.26).
pub(crate) fn read(root: &Root) -> Option<Affinity> {
    Affinity::parse(&list(root)?)
}

/// The same as the kernel prints it.
pub(crate) fn list(root: &Root) -> Option<String> {
    let status = root.proc_text("self/status")?;
    let mut lines = status.lines();
    let list = lines.find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    Some(list.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::Affinity;

    #[test]
    fn lists_of_the_kernel_are_read_and_others_are_not() {
        let some = Affinity::parse("\t0-3,8,10-11\n").unwrap();
        let allowed: Vec<u32> = (0..16).filter(|one| some.allows(*one)).collect();
        assert_eq!(allowed, [0, 1, 2, 3, 8, 10, 11]);
        assert_eq!(some.count(), 7);
        assert_eq!(
            Affinity::parse("0-4294967295").map(|all| all.count()),
            Some(1 << 32),
            "nothing is written out"
        );
        for odd in ["", "3-1", "0-", "a", "1,,2", "-1"] {
            assert_eq!(Affinity::parse(odd), None, "{odd:?}");
        }
    }
}
