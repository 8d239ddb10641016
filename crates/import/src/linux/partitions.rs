//! Names of devices that are parts of other devices: `sda1` of `sda`, `nvme0n1p1` of `nvme0n1`, the path `nvme0c1n1`.
//!
//! Takes names; gives the name of the whole. Prevents: the bytes of a disk counted again on its partitions.

use std::borrow::Cow;

/// The device that this one is a part of by its name, if there is such a device. Behind a name that ends in a digit
/// stands `p` or, for slices, `s`; only names of volumes and paths have other signs.
pub(super) fn whole_of(name: &str) -> Option<Cow<'_, str>> {
    if let Some(namespace) = namespace_of(name) {
        return Some(Cow::Owned(namespace));
    }
    let before = name.trim_end_matches(|c: char| c.is_ascii_digit());
    if before.len() == name.len() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return None;
    }
    let whole = before.strip_suffix(['p', 's']);
    let numbered = whole.filter(|whole| whole.ends_with(|c: char| c.is_ascii_digit()));
    let whole = numbered.or_else(|| before.ends_with(|c: char| c.is_ascii_alphabetic()).then_some(before));
    whole.map(Cow::Borrowed)
}

/// What several paths of NVMe lead to: `nvme0c1n1` is one of the paths to `nvme0n1`.
fn namespace_of(name: &str) -> Option<String> {
    let (subsystem, path) = name.strip_prefix("nvme")?.split_once('c')?;
    let (controller, namespace) = path.split_once('n')?;
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let all = [subsystem, controller, namespace].into_iter().all(is_number);
    all.then(|| format!("nvme{subsystem}n{namespace}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_by_their_names() {
        for (name, whole) in [
            ("sda1", Some("sda")),
            ("sdp12", Some("sdp")),
            ("nvme0n1p1", Some("nvme0n1")),
            ("nvme10c3n2", Some("nvme10n2")),
            ("nvme0c1n1p2", Some("nvme0c1n1")),
            ("mmcblk0p2", Some("mmcblk0")),
            ("c3t0d0s2", Some("c3t0d0")),
            ("sda", None),
            ("dm-10", None),
            ("vg-data1", None),
            ("tank/disk1", None),
            // There is no such device, and nothing is left out.
            ("sd12", Some("sd")),
            ("nvme0n1", Some("nvme0n")),
        ] {
            assert_eq!(whole_of(name).as_deref(), whole, "{name}");
        }
    }
}
