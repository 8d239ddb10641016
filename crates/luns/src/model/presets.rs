//! Classes of devices by name, each with where its numbers come from.
//!
//! What no source says is an assumption, and said to be one. Prevents: a modelled "disk" that nobody ever built.

use super::{ArrayParameters, Effort, HddParameters, Latency, Limit, SeekTimes, SsdParameters, VolumeParameters};

/// A class of device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Preset {
    /// Its name in a study.
    pub name: &'static str,
    /// Kind of model: `hdd`, `array`, `volume` or `ssd`.
    pub model: &'static str,
    /// What it is.
    pub what: &'static str,
    /// Where its numbers come from, and what is assumed.
    pub source: &'static str,
}

/// All of them.
pub fn presets() -> &'static [Preset] {
    &[
        Preset {
            name: "hdd-7200",
            model: "hdd",
            what: "a 2.5 inch nearline SAS disk of 2011: 7,200 turns a minute, 7.5 ms average seek, 116 to 60 MB/s",
            source: "Seagate Constellation.2 SAS product manual, rev. H, sections 5.1 and 5.2.1 (seek times without \
                controller overhead; settling is what its writes take longer). 732,998 bytes a track on average at \
                120 turns a second are 88 MB/s; its \
                     rates by zone, 163 to 84 MB/s, are internal ones, and are scaled to that mean: 116 to 60. The \
                     overhead of 0.2 ms is the difference of its two columns; bus 600 MB/s; read-ahead of 2 MiB and a \
                     write cache, switched off, are assumptions",
        },
        Preset {
            name: "gp2-100",
            model: "volume",
            what: "a general purpose cloud volume of 100 GiB with burst credit: 300 requests a second, 3,000 in bursts",
            source: "Amazon EC2 user guide, volume types, gp2: 3 requests a second and GiB, credit of 5.4 million \
                requests, bursts of 3,000, requests of 256 KiB, 128 MiB/s at this size; what passes at once without \
                credit is a twentieth of a second's; latency (median \
                     0.8 ms, 99 % below 3 ms, none below 0.5 ms) is an assumption",
        },
        Preset {
            name: "gp3",
            model: "volume",
            what: "a general purpose cloud volume without burst: 3,000 requests and 125 MiB a second",
            source: "Amazon EC2 user guide, volume types, gp3 baseline; what passes at once is a twentieth of a \
                second's; latency (median 0.8 ms, 99 % below 3 ms, none below 0.5 ms) is an assumption",
        },
        Preset {
            name: "ssd-slc",
            model: "ssd",
            what: "an early flash device: 16 dies that read in 25 us, program in 200 us and erase in 1.5 ms",
            source: "Agrawal et al.: Design Tradeoffs for SSD Performance, USENIX 2008, table 1 (4 KiB pages, 256 KiB \
                blocks); 15 % spare, a buffer of 16 MiB without protection, 40 us overhead and a bus of 300 MB/s are \
                assumptions",
        },
        Preset {
            name: "array-cached",
            model: "array",
            what: "a disk array with 1 GiB of read cache and 256 MiB of protected write cache before 16 disks",
            source: "latencies (hit 0.5 ms, 99 % below 2 ms; miss 6 ms, 99 % below 25 ms), port of 800 MB/s and \
                destaging at 200 MB/s are assumptions in the range of arrays on 8 Gbit/s Fibre Channel",
        },
        Preset {
            name: "array-flash",
            model: "array",
            what: "an all-flash array: reads in 0.8 ms wherever the data lie, writes in 0.5 ms from 64 MiB of \
                protected cache",
            source: "latencies (read 0.8 ms, 99 % below 1.6 ms; write 0.5 ms, 99 % below 1 ms), 256 reads at a time, \
                port of 1 GB/s and destaging at 400 MB/s are assumptions in the range of the first all-flash arrays",
        },
        Preset {
            name: "array-2017",
            model: "array",
            what: "an all-flash array of 2017 with two processors of twelve cores, which are its limit: 79,500 reads a \
                second, and 57,000 of data that it compresses",
            source: "EMC Unity 600F with two 12-core processors (vendor's list of models, OE 4.1), measured with \
                SLOB by the publication unity-2017. Processor time of a read, a write, compressing and \
                reading a compressed unit are solved from its means without updates and with 50 % (tests 1 \
                to 3, 7 to 12 and 16 to 18), as if processors alone were the limit; its tests with 30 % \
                follow within 1 %. Latencies beside that (read 0.4 ms, 99 % below 0.8 ms; write 0.3 ms, 99 % \
                below 0.6 ms), 256 reads at a time, 64 MiB of protected write cache, destaging at 2 GB/s, \
                units of 8 KiB and granules of 512 bytes are assumptions",
        },
    ]
}

/// Parameters of a disk class; `None`: no disk has that name.
pub fn hdd_preset(name: &str) -> Option<HddParameters> {
    (name == "hdd-7200").then_some(HddParameters {
        rpm: 7200,
        outer_rate: 116e6,
        inner_rate: 60e6,
        seek: SeekTimes {
            track_ns: 230_000,
            average_ns: 7_500_000,
            full_ns: 17_060_000,
        },
        write_settle_ns: 1_000_000,
        write_settle_track_ns: 210_000,
        bus_rate: 600e6,
        overhead_ns: 200_000,
        ahead_bytes: 2 << 20,
        write_cache_bytes: 0,
        stroke: 1.0,
    })
}

/// Parameters of a volume class; `None`: no volume has that name.
pub fn volume_preset(name: &str) -> Option<VolumeParameters> {
    let limit = |per_second: f64, credit: f64| Limit { per_second, credit };
    let latency = Latency {
        median_ns: 800_000,
        p99_ns: 3_000_000,
        floor_ns: 500_000,
    };
    const REQUEST: f64 = 262_144.0;
    // What a limit without credit lets through at once: as much as fits a twentieth of a second, and a request at
    // least.
    let mebibytes = |rate: f64| {
        let rate = rate * 1_048_576.0;
        vec![limit(rate, (rate / 20.0).floor().max(REQUEST))]
    };
    let (requests, bytes) = match name {
        "gp2-100" => (vec![limit(300.0, 5.4e6), limit(3000.0, 150.0)], mebibytes(128.0)),
        "gp3" => (vec![limit(3000.0, 150.0)], mebibytes(125.0)),
        _ => return None,
    };
    Some(VolumeParameters {
        requests,
        bytes,
        request_bytes: REQUEST as u32,
        read: latency,
        write: latency,
    })
}

/// Parameters of a flash class; `None`: no flash device has that name.
pub fn ssd_preset(name: &str) -> Option<SsdParameters> {
    (name == "ssd-slc").then_some(SsdParameters {
        dies: 16,
        unit_bytes: 4096,
        page_bytes: 4096,
        block_bytes: 256 << 10,
        spare: 0.15,
        read_ns: 25_000,
        program_ns: 200_000,
        erase_ns: 1_500_000,
        suspend_ns: 20_000,
        overhead_ns: 40_000,
        bus_rate: 300e6,
        buffer_bytes: 16 << 20,
        protected: false,
    })
}

/// Parameters of an array class; `None`: no array has that name.
pub fn array_preset(name: &str) -> Option<ArrayParameters> {
    let port = |per_second: f64| Limit {
        per_second,
        credit: per_second / 100.0,
    };
    let cached = ArrayParameters {
        read_cache_bytes: 1 << 30,
        write_cache_bytes: 256 << 20,
        block_bytes: 8192,
        hit: Latency::lognormal(500_000, 2_000_000),
        miss: Latency::lognormal(6_000_000, 25_000_000),
        parallel: 16,
        destage_rate: 200e6,
        lun_requests: None,
        lun_bytes: None,
        port_bytes: Some(port(800e6)),
        effort: Effort::default(),
    };
    match name {
        "array-cached" => Some(cached),
        "array-flash" => Some(ArrayParameters {
            read_cache_bytes: 0,
            write_cache_bytes: 64 << 20,
            hit: Latency::lognormal(500_000, 1_000_000),
            miss: Latency::lognormal(800_000, 1_600_000),
            parallel: 256,
            destage_rate: 400e6,
            port_bytes: Some(port(1e9)),
            ..cached
        }),
        "array-2017" => Some(ArrayParameters {
            read_cache_bytes: 0,
            write_cache_bytes: 64 << 20,
            hit: Latency::lognormal(300_000, 600_000),
            miss: Latency::lognormal(400_000, 800_000),
            parallel: 256,
            destage_rate: 2e9,
            port_bytes: None,
            effort: Effort {
                processors: 24,
                read_ns: 302_000,
                write_ns: 401_000,
                reduction: None,
            },
            ..cached
        }),
        _ => None,
    }
}
