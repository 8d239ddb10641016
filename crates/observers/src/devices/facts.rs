//! Facts of a block device that shape results and do not change while a study runs.
//!
//! Takes roots and a device's name, gives pairs of name and value as the kernel prints them, in a fixed order; what the
//! kernel does not tell is left out.
//! Prevents: two devices being compared that differ in a setting nobody wrote down.

use crate::Root;
use crate::devices::topology;
use crate::root::value;

/// Facts of a block device of the running host; empty if there is no such device.
pub fn device_facts(device: &str) -> Vec<(String, String)> {
    device_facts_in(&Root::live(), device)
}

/// [`device_facts`] from given roots. A partition has its own size and its disk's other facts.
pub fn device_facts_in(root: &Root, device: &str) -> Vec<(String, String)> {
    let mut facts = Facts::default();
    let own = root.block_dir(device);
    if !own.exists() {
        return facts.0;
    }
    let disk = topology::disk_of(root, device).unwrap_or_else(|| device.to_owned());
    let dir = root.block_dir(&disk);
    let of = |name: &str| value(&dir.join(name));
    facts.add("device", Some(device.to_owned()));
    facts.add("disk", (disk != device).then(|| disk.clone()));
    let sectors = value(&own.join("size")).and_then(|text| text.parse::<u64>().ok());
    facts.add(
        "size bytes",
        sectors
            .and_then(|n| n.checked_mul(crate::devices::counters::SECTOR_BYTES))
            .map(|n| n.to_string()),
    );
    let sectors = |name: &str| value(&own.join(name))?.parse::<u64>().ok();
    facts.add(
        "partition start bytes",
        sectors("start")
            .filter(|_| disk != device)
            .and_then(|n| n.checked_mul(crate::devices::counters::SECTOR_BYTES))
            .map(|n| n.to_string()),
    );
    facts.add("read only", value(&own.join("ro")));
    for (name, file) in [
        ("vendor", "device/vendor"),
        ("model", "device/model"),
        ("firmware", "device/firmware_rev"),
    ] {
        facts.add(name, of(file));
    }
    facts.add("firmware", of("device/rev"));
    facts.add("transport", topology::nvme_transport(root, &disk));
    facts.add("mapping", of("dm/name"));
    facts.add(
        "mapping kind",
        of("dm/uuid").and_then(|uuid| uuid.split_once('-').map(|(kind, _)| kind.to_lowercase())),
    );
    facts.add("array level", of("md/level"));
    facts.add("array chunk bytes", of("md/chunk_size"));
    facts.add("loop backing file", of("loop/backing_file"));
    let backing =
        of("loop/backing_file").and_then(|file| std::fs::metadata(root.place(std::path::Path::new(&file))).ok());
    facts.add(
        "loop backing bytes",
        backing.as_ref().map(|found| found.len().to_string()),
    );
    let blocks = |found: &std::fs::Metadata| std::os::unix::fs::MetadataExt::blocks(found);
    facts.add(
        "loop backing allocated bytes",
        backing.map(|found| (blocks(&found) * crate::devices::counters::SECTOR_BYTES).to_string()),
    );
    facts.add("loop offset bytes", of("loop/offset"));
    facts.add("loop direct I/O", of("loop/dio"));
    facts.add("compression", of("comp_algorithm").map(|text| chosen(&text)));
    facts.add("scheduler", of("queue/scheduler").map(|text| chosen(&text)));
    for (name, file) in QUEUE {
        facts.add(name, of(&format!("queue/{file}")));
    }
    let queues = topology::entries(dir.join("mq")).len();
    facts.add("hardware queues", (queues > 0).then(|| queues.to_string()));
    facts.add("queue depth", of("device/queue_depth"));
    facts.add("numa node", of("device/numa_node"));
    facts.add("iostats", of("queue/iostats"));
    facts.0
}

/// Names given to the queue's attributes, and the attributes.
const QUEUE: [(&str, &str); 16] = [
    ("rotational", "rotational"),
    ("requests", "nr_requests"),
    ("logical block bytes", "logical_block_size"),
    ("physical block bytes", "physical_block_size"),
    ("minimum I/O bytes", "minimum_io_size"),
    ("optimal I/O bytes", "optimal_io_size"),
    ("largest request KiB", "max_sectors_kb"),
    ("segments", "max_segments"),
    ("write cache", "write_cache"),
    ("forced unit access", "fua"),
    ("discard granularity bytes", "discard_granularity"),
    ("discard bytes at most", "discard_max_bytes"),
    ("read ahead KiB", "read_ahead_kb"),
    ("polled I/O", "io_poll"),
    ("merging off", "nomerges"),
    ("writeback throttle us", "wbt_lat_usec"),
];

/// Facts in the order they were added, each name once.
#[derive(Default)]
pub(crate) struct Facts(pub(crate) Vec<(String, String)>);

impl Facts {
    pub(crate) fn add(&mut self, name: &str, value: Option<String>) {
        let value = value.map(|value| value.split_ascii_whitespace().collect::<Vec<_>>().join(" "));
        if let Some(value) = value.filter(|value| !value.is_empty() && !self.0.iter().any(|(known, _)| known == name)) {
            self.0.push((name.to_owned(), value));
        }
    }
}

/// The one in brackets of `mq-deadline [none]`; all of it when nothing is in brackets.
pub(crate) fn chosen(text: &str) -> String {
    let inside = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    inside.map_or(text, |(inside, _)| inside).to_owned()
}
