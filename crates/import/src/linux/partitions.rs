//! Names of devices that are parts of other devices: `sda1` of `sda`, `nvme0n1p1` of `nvme0n1`.
//!
//! Takes names; gives the name of the whole. Prevents: the bytes of a disk counted again on its partitions.

/// The device that this one is a part of by its name, if there is such a device. Behind a name that ends in a digit
/// stands `p` or, for slices, `s`; only names of volumes and paths have other signs.
pub(super) fn whole_of(name: &str) -> Option<&str> {
    let before = name.trim_end_matches(|c: char| c.is_ascii_digit());
    if before.len() == name.len() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return None;
    }
    let whole = before.strip_suffix(['p', 's']);
    let numbered = whole.filter(|whole| whole.ends_with(|c: char| c.is_ascii_digit()));
    numbered.or_else(|| before.ends_with(|c: char| c.is_ascii_alphabetic()).then_some(before))
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
            assert_eq!(whole_of(name), whole, "{name}");
        }
    }
}
