//! What dmsetup, LVM and the kernel's md say of volumes, read from their words.
//!
//! Takes texts of theirs, gives figures; `None` where a text says something else. Prevents: a copy that is taken for
//! finished because a line had another form than was thought.

/// What the raid target says of a volume of LVM with copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RaidStatus {
    /// Sectors of the volume.
    pub sectors: u64,
    /// Copies that are lost.
    pub lost: u32,
    /// Which of the first 64 copies are lost: a bit each, that of the first one is the lowest.
    lost_ones: u64,
    /// How far its copies are the same, and the end of that.
    pub in_step: Completed,
    /// All copies are there and nothing is being copied.
    is_whole: bool,
}

impl RaidStatus {
    /// Whether all of it is the same on all copies.
    pub fn is_in_step(&self) -> bool {
        self.is_whole && self.in_step.done == self.in_step.all
    }

    /// Whether the copy of this number is lost; the first one is 0.
    pub fn has_lost(&self, copy: u32) -> bool {
        self.lost_ones.checked_shr(copy).is_some_and(|ones| ones & 1 == 1)
    }
}

/// So much of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Completed {
    /// What is done.
    pub done: u64,
    /// What there is to do.
    pub all: u64,
}

impl Completed {
    /// Its share of so many bytes.
    pub fn of(self, bytes: u64) -> u64 {
        let share = u128::from(bytes) * u128::from(self.done) / u128::from(self.all.max(1));
        u64::try_from(share).unwrap_or(bytes).min(bytes)
    }
}

fn pair(done: &str, all: &str) -> Option<Completed> {
    let (done, all) = (done.trim().parse().ok()?, all.trim().parse().ok()?);
    (done <= all).then_some(Completed { done, all })
}

/// `0 638976 raid raid1 2 AA 638976/638976 idle 0 0 -`, as `dmsetup status` writes it.
pub fn raid_status(text: &str) -> Option<RaidStatus> {
    let mut words = text.lines().next()?.split_whitespace();
    let (_start, sectors) = (words.next()?, words.next()?.parse().ok()?);
    if words.next()? != "raid" {
        return None;
    }
    let (_level, _count, health) = (words.next()?, words.next()?, words.next()?);
    let (done, all) = words.next()?.split_once('/')?;
    let action = words.next()?;
    // A dash: the device is not even known (`__raid_dev_status`).
    let lost = |letter: &u8| matches!(letter, b'D' | b'-');
    let ones = health.bytes().take(64).enumerate().filter(|(_, letter)| lost(letter));
    Some(RaidStatus {
        sectors,
        lost: health.bytes().filter(lost).count() as u32,
        lost_ones: ones.fold(0, |ones, (nth, _)| ones | 1u64 << nth),
        in_step: pair(done, all)?,
        is_whole: action == "idle" && health.bytes().all(|letter| letter == b'A'),
    })
}

/// Why a snapshot keeps nothing any more, in the kernel's word; `None`: it does, or it is of another target. `0 221184
/// snapshot 256/139264 256` as `dmsetup status` writes it, with a word in place of the numbers once it has ended.
pub fn snapshot_ended(text: &str) -> Option<&str> {
    let mut words = text.lines().next()?.split_whitespace().skip(2);
    let status = words.next().filter(|target| *target == "snapshot").and(words.next())?;
    (!status.contains('/')).then_some(status)
}

/// How far pvmove is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MirrorStatus {
    /// Sectors of all its segments.
    pub sectors: Completed,
}

/// `0 65536 mirror 2 254:1 254:2 32/64 1 AA 1 core`, as `dmsetup status` writes it: a line for each segment. pvmove
/// mirrors one segment after the other: those before the mirror are moved, and those after it are not.
pub fn mirror_status(text: &str) -> Option<MirrorStatus> {
    let mut sectors = Completed::default();
    let mut is_mirrored = false;
    for line in text.lines() {
        let mut words = line.split_whitespace().skip(1);
        let length: u64 = words.next()?.parse().ok()?;
        let done = match words.next()? {
            "mirror" => {
                is_mirrored = true;
                let devices: usize = words.next()?.parse().ok()?;
                let (done, all) = words.nth(devices)?.split_once('/')?;
                pair(done, all)?.of(length)
            }
            _ if is_mirrored => 0,
            _ => length,
        };
        sectors.done = sectors.done.checked_add(done)?;
        sectors.all = sectors.all.checked_add(length)?;
    }
    is_mirrored.then_some(MirrorStatus { sectors })
}

/// The one figure that `pvs -o pv_used --units b --nosuffix` writes of one LUN.
pub fn used_bytes(text: &str) -> Option<u64> {
    let mut words = text.split_whitespace();
    let bytes = words.next()?.parse().ok()?;
    words.next().is_none().then_some(bytes)
}

/// `1024 / 65408` in `md/sync_completed`; `None` also for its "none".
pub fn completed(text: &str) -> Option<Completed> {
    let (done, all) = text.split_once('/')?;
    pair(done, all)
}

/// Whether the state of a LUN in an array says that it is lost to it.
pub(super) fn is_faulty(state: &str) -> bool {
    state.split(',').any(|word| word == "faulty")
}

/// A LUN of an array that holds all of it.
pub(super) fn is_in_sync(state: &str) -> bool {
    state.split(',').any(|word| word == "in_sync") && !is_faulty(state)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As dmsetup of LVM 2.03.16 wrote them on a kernel 6.1.
    #[test]
    fn a_status_says_when_copies_are_the_same_and_what_is_lost() {
        let status = |text| raid_status(text).expect("a status");
        let coming = status("0 638976 raid raid1 2 aa 240384/638976 resync 0 0 -\n");
        assert!(!coming.is_in_step() && coming.lost == 0);
        assert_eq!(coming.in_step.of(638_976), 240_384);
        assert!(status("0 638976 raid raid1 2 AA 638976/638976 idle 0 0 -\n").is_in_step());
        let lost = status("0 638976 raid raid1 2 DA 638976/638976 idle 0 0 -\n");
        assert!(!lost.is_in_step() && lost.lost == 1);
        assert!(lost.has_lost(0) && !lost.has_lost(1) && !lost.has_lost(64));
        assert!(status("0 638976 raid raid1 2 AD 638976/638976 idle 0 0 -\n").has_lost(1));
        let unknown = status("0 638976 raid raid1 2 A- 638976/638976 idle 0 0 -\n");
        assert!(unknown.has_lost(1) && unknown.lost == 1 && !unknown.is_in_step());
        assert_eq!(raid_status("0 638976 linear \n"), None);
        assert_eq!(raid_status(""), None);
    }

    #[test]
    fn a_mirror_says_how_far_it_is_in_all_of_its_segments() {
        let sectors = |text: &str| mirror_status(text).expect("a mirror").sectors;
        let first = sectors("0 65536 mirror 2 254:1 254:2 32/64 1 AA 1 core\n65536 8192 linear \n");
        assert_eq!((first.done, first.all), (32_768, 73_728));
        let second = sectors("0 65536 linear \n65536 8192 mirror 2 254:1 254:3 4/8 1 AA 1 core\n");
        assert_eq!((second.done, second.all), (69_632, 73_728), "it does not fall back");
        assert_eq!(mirror_status("0 8192 linear 254:1 0\n"), None);
        assert_eq!(mirror_status("0 8192 mirror 99 254:1\n"), None);
    }

    #[test]
    fn figures_are_read_and_nothing_else() {
        assert_eq!(used_bytes("  117440512\n"), Some(117_440_512));
        assert_eq!(used_bytes("  117440512\n  3\n"), None);
        assert_eq!(used_bytes(""), None);
        assert_eq!(
            completed("1024 / 65408\n"),
            Some(Completed {
                done: 1024,
                all: 65_408
            })
        );
        assert_eq!(completed("none\n"), None);
        assert_eq!(completed("9 / 8\n"), None);
    }

    #[test]
    fn faulty_is_a_word_and_not_a_part_of_one() {
        assert!(is_faulty("faulty") && is_faulty("faulty,write_error") && is_faulty("blocked,faulty"));
        for state in [
            "",
            "in_sync",
            "in_sync,want_replacement",
            "spare,replacement",
            "nonfaulty",
        ] {
            assert!(!is_faulty(state), "{state}");
        }
    }
}
