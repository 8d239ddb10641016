//! Stacks of LVM and md: they print themselves, read back as themselves, and leave the room of their layout.
//!
//! Prevents: a layout whose copies or parity are not counted.

use plan::Study;
use std::path::Path;

fn parse(text: &str) -> Study {
    plan::parse(text, Path::new("study.toml")).unwrap_or_else(|e| panic!("{e}"))
}

/// Every layout of LVM and every level of md, each with what it alone has.
const VOLUMES: &str = r#"
[study]
name = "volumes"

[luns.data]
files = { count = 4, size = "1GiB" }
[luns.redo]
files = { count = 4, size = "256MiB" }

[[stack]]
name = "linear"
kind = "lvm"
data = "data"
[[stack]]
name = "striped"
kind = "lvm"
data = "data"
layout = "striped"
stripes = 2
stripe_size = "128KiB"
snapshot = "cow"
fs = "xfs"
[[stack]]
name = "three"
kind = "lvm"
data = "data"
layout = "striped"
stripes = 3
[[stack]]
name = "mirror"
kind = "lvm"
data = "data"
layout = "raid1"
resync = "assume"
mkfs_options = ["-b 4k"]
[[stack]]
name = "thin"
kind = "lvm"
data = "data"
thin = true
snapshot = "thin"
[[stack]]
name = "raw"
kind = "lvm"
data = "data"
redo = "redo"
fs = "none"
[[stack]]
name = "raid0"
kind = "md"
data = "data"
level = "raid0"
chunk = "64KiB"
[[stack]]
name = "raid1"
kind = "md"
data = "data"
level = "raid1"
bitmap = true
[[stack]]
name = "raid10"
kind = "md"
data = "data"
level = "raid10"
resync = "assume"
[[stack]]
name = "raid5"
kind = "md"
data = "data"
redo = "redo"
level = "raid5"
[[stack]]
name = "kept back"
kind = "md"
data = "data"
level = "raid1"
reserve = 1

[[phase]]
name = "read"
kind = "random"
update_pct = 0
time = "10s"
"#;

#[test]
fn volumes_read_back_as_themselves_and_leave_the_room_of_their_layout() {
    let study = parse(VOLUMES);
    let again = parse(&study.to_toml());
    assert_eq!(study.stacks, again.stacks);
    assert!(again.resolved.iter().all(|row| row.written), "{}", study.to_toml());
    let lun = 1u64 << 30;
    let room = |name: &str| {
        let stack = study.stacks.iter().find(|stack| stack.name == name).expect("a stack");
        let volume = stack.kind.volume().expect("a volume");
        volume.room(4 * lun, 4) as f64 / lun as f64
    };
    let expected = [
        ("linear", 4.0),
        // The fourth LUN fills no further set of stripes.
        ("three", 3.0),
        ("mirror", 2.0),
        ("raid0", 4.0),
        ("raid1", 1.0),
        ("raid10", 2.0),
        ("raid5", 3.0),
    ];
    for (name, luns) in expected {
        assert!((0.97..=1.0).contains(&(room(name) / luns)), "{name}: {}", room(name));
    }
    assert!(
        room("striped") < 2.0 && room("thin") < 2.0,
        "a snapshot halves the room"
    );
    assert!(study.stacks.iter().filter(|stack| stack.kind.is_raw()).count() == 1);
}
