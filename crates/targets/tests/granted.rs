//! What the kernel gave is seen from outside, and the choice of method stands on figures.

use targets::{Access, Method, OpenSpec, Way, choose, observe};

fn file(mib: usize) -> (tempfile::TempDir, std::path::PathBuf) {
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    let path = dir.path().join("data");
    std::fs::write(&path, vec![7; mib << 20]).unwrap();
    std::fs::File::open(&path).unwrap().sync_all().unwrap();
    (dir, path)
}

#[test]
fn buffered_access_is_seen_in_the_cache() {
    let (_dir, path) = file(8);
    let granted = observe(&path, Access::Buffered).unwrap();
    assert_eq!((granted.reads, granted.writes), (Way::Cached, Way::Cached));
    assert_eq!(
        std::fs::read(&path).unwrap(),
        vec![7; 8 << 20],
        "the probe changed the file"
    );
}

#[test]
fn direct_access_is_seen_to_go_around_it() {
    let (_dir, path) = file(8);
    let granted = observe(&path, Access::Direct).unwrap();
    // The file system of /var/tmp decides; none may say that reads of O_DIRECT were not looked at.
    assert_ne!(granted.reads, Way::Unknown, "{granted:?}");
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
    let root = mounts
        .lines()
        .rfind(|line| line.split(' ').nth(1) == Some("/"))
        .unwrap_or_default();
    if ["ext4", "xfs"].contains(&root.split(' ').nth(2).unwrap_or_default()) && !mounts.contains(" /var") {
        assert_eq!((granted.reads, granted.writes), (Way::Direct, Way::Direct), "{root}");
    }
    assert_eq!(std::fs::read(&path).unwrap(), vec![7; 8 << 20]);
}

#[test]
fn the_choice_follows_its_figures() {
    let (_dir, path) = file(8);
    let choice = choose(&OpenSpec::reading(&path, Access::Direct), 1).unwrap();
    let expected = match choice.ring_iops {
        Some(ring) if choice.pread_iops < 1.1 * ring => Method::Ring,
        _ => Method::Pread,
    };
    assert!(choice.pread_iops > 0.0 && choice.chosen == expected, "{choice:?}");
}
