//! Modelled devices of LUN sets as a study means them: the model, its class, every parameter with its value and source.
//!
//! Plain data and one table: names, units and ranges of the parameters ([`specs`]) and the classes
//! ([`presets`]), for which the values stand in the order of the model's parameters. Prevents: a
//! modelled device of which a number is used and not told.

use crate::units::{ByteRate, Bytes, Duration, Share};
use crate::word::Word;
use std::fmt;
use std::path::PathBuf;

/// A device by calculation under a LUN set.
#[derive(Clone, Debug, PartialEq)]
pub struct Device {
    /// Kind of model.
    pub model: DeviceModel,
    /// Name of the class that gave what the study does not say; empty where there is none (`plain`, `custom`).
    pub preset: &'static str,
    /// Every parameter, in the order of [`specs`].
    pub parameters: Vec<Parameter>,
    /// Of `custom`: the file of latencies, beside the study.
    pub histogram: Option<PathBuf>,
    /// Bytes of acknowledged writes that a power cut may lose until a flush covers them; 0: none.
    pub volatile: Bytes,
}

words! {
    /// Kinds of model.
    pub enum DeviceModel: "a model of a device" {
        /// No times of its own: requests are answered when they are done. For power cuts and faults.
        Plain = "plain",
        /// A hard disk.
        Hdd = "hdd",
        /// A disk array with caches.
        Array = "array",
        /// A provisioned volume.
        Volume = "volume",
        /// A flash device.
        Ssd = "ssd",
        /// Latencies from a file.
        Custom = "custom",
    }
}

impl DeviceModel {
    /// As a study writes it.
    pub fn word(self) -> &'static str {
        Word::word(&self)
    }

    /// Whether it knows the end of a request when that comes: a disk does not, and what passes on has no end of its
    /// own.
    pub fn knows_ends(self) -> bool {
        !matches!(self, DeviceModel::Plain | DeviceModel::Hdd)
    }
}

/// One parameter of a model.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// What it is.
    pub spec: &'static Spec,
    /// Its value: a number, bytes, bytes a second, nanoseconds, a share, 0 or 1.
    pub value: f64,
    /// True when the study said it; otherwise it is the class's.
    pub written: bool,
}

/// What a parameter's value is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// A whole number.
    Count,
    /// A size.
    Bytes,
    /// Bytes a second.
    ByteRate,
    /// Nanoseconds.
    Time,
    /// A share: 1 is all.
    Share,
    /// Yes or no.
    Flag,
}

/// Name, unit and range of a parameter.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Spec {
    /// In a study.
    pub name: &'static str,
    /// With the table it stands in: `parameters.rpm`.
    pub key: &'static str,
    /// What its value is.
    pub unit: Unit,
    /// Least.
    pub low: f64,
    /// Most.
    pub high: f64,
    /// What it means.
    pub meaning: &'static str,
}

/// A class of device, with a value for each parameter of its model.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct DevicePreset {
    /// Its name in a study.
    pub name: &'static str,
    /// Its model.
    pub model: DeviceModel,
    /// What it is.
    pub what: &'static str,
    /// Where its numbers come from, and what is assumed.
    pub source: &'static str,
    /// In the order of [`specs`].
    pub values: &'static [f64],
}

impl Device {
    /// The value of a parameter by its name; 0 where the model has none of that name.
    pub fn value(&self, name: &str) -> f64 {
        self.parameters
            .iter()
            .find(|p| p.spec.name == name)
            .map_or(0.0, |p| p.value)
    }

    /// Whether it has times of its own, and does not just pass on what the files below take.
    pub fn is_timed(&self) -> bool {
        self.model != DeviceModel::Plain
    }

    /// The class that gave what the study does not say.
    pub fn class(&self) -> Option<&'static DevicePreset> {
        presets().iter().find(|preset| preset.name == self.preset)
    }

    /// Bytes a second of a sequence and random writes a second of one LUN, roughly: for estimates of time and
    /// nothing else. `None` where the machine, or a file of latencies, says it.
    pub fn pace(&self) -> Option<(f64, f64)> {
        let per_s = |ns: f64| 1e9 / ns.max(1.0);
        match self.model {
            DeviceModel::Plain | DeviceModel::Custom => None,
            DeviceModel::Hdd => {
                let mean = f64::midpoint(self.value("outer_rate"), self.value("inner_rate"));
                // With a queue to choose from an arm does about two and a half times what it does with one at a time.
                let turn = 60e9 / self.value("rpm").max(1.0);
                Some((mean, 2.5 * per_s(self.value("seek_average") + turn / 2.0)))
            }
            DeviceModel::Volume => Some((self.value("rate"), self.value("iops"))),
            DeviceModel::Array => Some((self.value("destage_rate"), self.value("destage_rate") / 8192.0)),
            DeviceModel::Ssd => {
                let programs = self.value("dies") * per_s(self.value("program"));
                Some((programs * self.value("page"), programs / 4.0))
            }
        }
    }

    /// In words: "hdd (hdd-7200)", "hdd (hdd-7200, rpm = 15000)", "plain". What the study says of the
    /// device itself is part of its name.
    pub fn words(&self) -> String {
        let class = Some(self.preset.to_string()).filter(|preset| !preset.is_empty());
        let written = self.parameters.iter().filter(|parameter| parameter.written);
        let written = written.map(|parameter| format!("{} = {parameter}", parameter.spec.name));
        let said: Vec<String> = class.into_iter().chain(written).collect();
        match said.is_empty() {
            true => self.model.word().to_string(),
            false => format!("{} ({})", self.model.word(), said.join(", ")),
        }
    }
}

/// The same device, whoever said so.
impl PartialEq for Parameter {
    fn eq(&self, other: &Parameter) -> bool {
        self.spec == other.spec && self.value == other.value
    }
}

impl fmt::Display for Parameter {
    /// As a study would write it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.spec.unit {
            Unit::Count => write!(f, "{}", self.value as u64),
            Unit::Bytes => write!(f, "\"{}\"", Bytes(self.value as u64)),
            Unit::ByteRate => write!(f, "\"{}\"", ByteRate(self.value as u64)),
            Unit::Time => write!(f, "\"{}\"", Duration(self.value as u64)),
            Unit::Share => write!(f, "\"{}\"", Share(self.value)),
            Unit::Flag => write!(f, "{}", self.value != 0.0),
        }
    }
}

/// The parameters of a model.
pub fn specs(model: DeviceModel) -> &'static [Spec] {
    match model {
        DeviceModel::Plain => &[],
        DeviceModel::Hdd => HDD,
        DeviceModel::Array => ARRAY,
        DeviceModel::Volume => VOLUME,
        DeviceModel::Ssd => SSD,
        DeviceModel::Custom => CUSTOM,
    }
}

macro_rules! specs {
    ($($name:literal, $unit:ident, $low:expr, $high:expr, $meaning:literal;)*) => {
        &[$(Spec { name: $name, key: concat!("parameters.", $name), unit: Unit::$unit,
            low: $low as f64, high: $high as f64,
            meaning: $meaning },)*]
    };
}

const SECOND: f64 = 1e9;
const TIB: f64 = 1_099_511_627_776.0;

const HDD: &[Spec] = specs! {
    "rpm", Count, 1000, 100_000, "turns a minute";
    "outer_rate", ByteRate, 1e5, 1e11, "sustained rate at the outer edge";
    "inner_rate", ByteRate, 1e5, 1e11, "sustained rate at the inner edge, not above the outer one";
    "seek_track", Time, 0, SECOND, "seek to the next track";
    "seek_average", Time, 0, SECOND, "mean seek over all pairs of tracks";
    "seek_full", Time, 0, SECOND, "seek from edge to edge";
    "write_settle", Time, 0, SECOND, "what positioning for a write takes more";
    "write_settle_track", Time, 0, SECOND, "the same when the arm goes to the next track or stays where it has read";
    "bus_rate", ByteRate, 1e5, 1e12, "rate between host and disk";
    "overhead", Time, 0, SECOND, "time of a command before anything moves";
    "read_ahead", Bytes, 0, 1u64 << 30, "bytes read ahead of a sequence";
    "write_cache", Bytes, 0, 1u64 << 34, "writes that the disk may hold unwritten; 0: its cache is off";
    "stroke", Share, 0.0001, 1, "share of the arm's way that the LUN takes; 1: it represents a whole disk";
};

const VOLUME: &[Spec] = specs! {
    "iops", Count, 1, 1e7, "requests a second, for ever";
    "iops_credit", Count, 1, 1e10, "requests that can be saved up";
    "burst_iops", Count, 0, 1e7, "requests a second while the credit lasts; 0: no second limit";
    "burst_credit", Count, 1, 1e10, "requests that this second limit lets through at once";
    "rate", ByteRate, 1e5, 1e11, "bytes a second";
    "rate_credit", Bytes, 4096, TIB, "bytes that can be saved up";
    "request", Bytes, 4096, 1u64 << 24, "a larger request counts as several of this size";
    "read_median", Time, 0, 10.0 * SECOND, "latency of a read that no limit holds back, half of them";
    "read_p99", Time, 0, 10.0 * SECOND, "99 % of them";
    "read_floor", Time, 0, 10.0 * SECOND, "none is shorter";
    "write_median", Time, 0, 10.0 * SECOND, "latency of a write that no limit holds back, half of them";
    "write_p99", Time, 0, 10.0 * SECOND, "99 % of them";
    "write_floor", Time, 0, 10.0 * SECOND, "none is shorter";
};

const ARRAY: &[Spec] = specs! {
    "read_cache", Bytes, 0, TIB, "read cache";
    "write_cache", Bytes, 0, TIB, "protected write cache; 0: writes go to the disks behind";
    "block", Bytes, 512, 1u64 << 24, "unit of the read cache";
    "hit_median", Time, 0, 10.0 * SECOND, "latency of a read hit and of a cached write, half of them";
    "hit_p99", Time, 0, 10.0 * SECOND, "99 % of them";
    "miss_median", Time, 0, 10.0 * SECOND, "latency of a read that the disks behind serve, half of them";
    "miss_p99", Time, 0, 10.0 * SECOND, "99 % of them";
    "parallel", Count, 1, 65_536, "reads that the disks behind serve at a time";
    "destage_rate", ByteRate, 1e5, 1e12, "what the disks behind take from the write cache";
    "lun_iops", Count, 0, 1e8, "limit on requests a second of each LUN; 0: none";
    "lun_rate", ByteRate, 0, 1e12, "limit on bytes a second of each LUN; 0: none";
    "port_rate", ByteRate, 0, 1e12, "limit on bytes a second of the port that all LUNs share; 0: none";
    "processors", Count, 0, 4096, "processors that all requests share; 0: as many as there are requests";
    "processor_read", Time, 0, SECOND, "time of one of them for a read";
    "processor_write", Time, 0, SECOND, "time of one of them for a write";
    "reduction", Flag, 0, 1, "what is written is kept compressed (LZ4, unit by unit), and its bytes are counted";
    "reduction_from", Count, 0, 255, "LUNs of the set from this one on, from 0, are reduced; those before are not";
    "reduction_unit", Bytes, 4096, 1u64 << 20, "bytes that are compressed at a time";
    "reduction_granule", Bytes, 512, 1u64 << 20, "what is kept of a unit takes a multiple of this";
    "deduplication", Flag, 0, 1, "with `reduction`: of units with one content one is kept";
    "compress", Time, 0, SECOND, "time of a processor to compress a unit; the write waits for it";
    "decompress", Time, 0, SECOND, "time of a processor to read a compressed unit that is not in the read cache";
};

const SSD: &[Spec] = specs! {
    "dies", Count, 1, 4096, "dies that work at the same time";
    "unit", Bytes, 512, 1u64 << 20, "unit of the translation";
    "page", Bytes, 512, 1u64 << 20, "bytes read or programmed at once, not below the unit";
    "block", Bytes, 4096, 1u64 << 30, "bytes erased at once, a multiple of the unit";
    "spare", Share, 0.01, 10, "space besides the LUN's, as a share of it";
    "read", Time, 1, SECOND, "reading a page";
    "program", Time, 1, SECOND, "programming a page";
    "erase", Time, 1, 10.0 * SECOND, "erasing a block";
    "suspend", Time, 0, SECOND, "what a read waits for when its die is programming or erasing";
    "overhead", Time, 0, SECOND, "controller and bus, part of every request";
    "bus_rate", ByteRate, 1e5, 1e12, "rate of the bus, both ways";
    "buffer", Bytes, 4096, 1u64 << 36, "write buffer, at least a unit";
    "protected", Flag, 0, 1, "the buffer is kept without power";
};

const CUSTOM: &[Spec] = specs! {
    "parallel", Count, 1, 65_536, "requests served at a time; the latencies are those of one alone";
};

/// The class of a model that says no other.
pub(crate) fn usual(model: DeviceModel) -> &'static str {
    match model {
        DeviceModel::Plain | DeviceModel::Custom => "",
        DeviceModel::Hdd => "hdd-7200",
        DeviceModel::Array => "array-cached",
        DeviceModel::Volume => "gp3",
        DeviceModel::Ssd => "ssd-slc",
    }
}

const MIB: f64 = 1_048_576.0;

/// Classes of devices.
pub fn presets() -> &'static [DevicePreset] {
    PRESETS
}

const PRESETS: &[DevicePreset] = &[
    DevicePreset {
        name: "hdd-7200",
        model: DeviceModel::Hdd,
        what: "a 2.5 inch nearline SAS disk of 2011: 7,200 turns a minute, 7.5 ms average seek, 116 to 60 MB/s",
        source: "Seagate Constellation.2 SAS product manual, rev. H, sections 5.1 and 5.2.1 (seek times \
                 without controller overhead; settling is what its writes take longer). 732,998 bytes a track on \
                 average at 120 turns a second are 88 MB/s; its rates by zone, 163 to 84 MB/s, are internal ones, and \
                 are scaled to that mean: 116 to 60. The overhead of 0.2 ms is the difference of its two columns; bus \
                 600 MB/s; read-ahead of 2 MiB and a write cache, switched off, are assumptions",
        values: &[
            7200.0,
            116e6,
            60e6,
            230e3,
            7.5e6,
            17.06e6,
            1e6,
            210e3,
            600e6,
            200e3,
            2.0 * MIB,
            0.0,
            1.0,
        ],
    },
    DevicePreset {
        name: "gp2-100",
        model: DeviceModel::Volume,
        what: "a general purpose cloud volume of 100 GiB with burst credit: 300 requests a second, 3,000 in bursts",
        source: "Amazon EC2 user guide, volume types, gp2: 3 requests a second and GiB, credit of 5.4 \
                 million requests, bursts of 3,000, requests of 256 KiB, 128 MiB/s at this size; what passes at once \
                 without credit is a twentieth of a second's; latency (median 0.8 ms, 99 % below 3 ms, none below 0.5 \
                 ms) is an assumption",
        values: &[
            300.0,
            5.4e6,
            3000.0,
            150.0,
            128.0 * MIB,
            6_710_886.0,
            262_144.0,
            8e5,
            3e6,
            5e5,
            8e5,
            3e6,
            5e5,
        ],
    },
    DevicePreset {
        name: "gp3",
        model: DeviceModel::Volume,
        what: "a general purpose cloud volume without burst: 3,000 requests and 125 MiB a second",
        source: "Amazon EC2 user guide, volume types, gp3 baseline; what passes at once is a twentieth of a \
                 second's; latency (median 0.8 ms, 99 % below 3 ms, none below 0.5 ms) is an assumption",
        values: &[
            3000.0,
            150.0,
            0.0,
            150.0,
            125.0 * MIB,
            6_553_600.0,
            262_144.0,
            8e5,
            3e6,
            5e5,
            8e5,
            3e6,
            5e5,
        ],
    },
    DevicePreset {
        name: "ssd-slc",
        model: DeviceModel::Ssd,
        what: "an early flash device: 16 dies that read in 25 us, program in 200 us and erase in 1.5 ms",
        source: "Agrawal et al.: Design Tradeoffs for SSD Performance, USENIX 2008, table 1 (4 KiB pages, \
                 256 KiB blocks); 15 % spare, a buffer of 16 MiB without protection, 40 us overhead and a bus of 300 \
                 MB/s are assumptions",
        values: &[
            16.0,
            4096.0,
            4096.0,
            262_144.0,
            0.15,
            25e3,
            200e3,
            1.5e6,
            20e3,
            40e3,
            300e6,
            16.0 * MIB,
            0.0,
        ],
    },
    DevicePreset {
        name: "array-cached",
        model: DeviceModel::Array,
        what: "a disk array with 1 GiB of read cache and 256 MiB of protected write cache before 16 disks",
        source: "latencies (hit 0.5 ms, 99 % below 2 ms; miss 6 ms, 99 % below 25 ms), port of 800 MB/s and \
                 destaging at 200 MB/s are assumptions in the range of arrays on 8 Gbit/s Fibre Channel",
        values: &[
            1024.0 * MIB,
            256.0 * MIB,
            8192.0,
            5e5,
            2e6,
            6e6,
            25e6,
            16.0,
            200e6,
            0.0,
            0.0,
            800e6,
            0.0,
            0.0,
            0.0,
            0.0,
            0.0,
            8192.0,
            512.0,
            0.0,
            0.0,
            0.0,
        ],
    },
    DevicePreset {
        name: "array-flash",
        model: DeviceModel::Array,
        what: "an all-flash array: reads in 0.8 ms wherever the data lie, writes in 0.5 ms \
               from 64 MiB of protected cache",
        source: "latencies (read 0.8 ms, 99 % below 1.6 ms; write 0.5 ms, 99 % below 1 ms), 256 reads at a \
                 time, port of 1 GB/s and destaging at 400 MB/s are assumptions in the range of the first all-flash \
                 arrays",
        values: &[
            0.0,
            64.0 * MIB,
            8192.0,
            5e5,
            1e6,
            8e5,
            1.6e6,
            256.0,
            400e6,
            0.0,
            0.0,
            1e9,
            0.0,
            0.0,
            0.0,
            0.0,
            0.0,
            8192.0,
            512.0,
            0.0,
            0.0,
            0.0,
        ],
    },
    DevicePreset {
        name: "array-2017",
        model: DeviceModel::Array,
        what: "an all-flash array of 2017 with two processors of twelve cores, which are its limit: 79,500 reads a \
               second, and 57,000 of data that it compresses",
        source: "EMC Unity 600F with two 12-core processors (vendor's list of models, OE 4.1), measured \
                 with SLOB by the publication unity-2017. Processor time of a read, a write, compressing \
                 and reading a compressed unit are solved from its means without updates and with 50 % \
                 (tests 1 to 3, 7 to 12 and 16 to 18), as if processors alone were the limit; its tests \
                 with 30 % follow within 1 %. Latencies beside that (read 0.4 ms, 99 % below 0.8 ms; \
                 write 0.3 ms, 99 % below 0.6 ms), 256 reads at a time, 64 MiB of protected write cache, \
                 destaging at 2 GB/s, units of 8 KiB and granules of 512 bytes are assumptions",
        values: &[
            0.0,
            64.0 * MIB,
            8192.0,
            3e5,
            6e5,
            4e5,
            8e5,
            256.0,
            2e9,
            0.0,
            0.0,
            0.0,
            24.0,
            302e3,
            401e3,
            0.0,
            0.0,
            8192.0,
            512.0,
            0.0,
            69e3,
            119e3,
        ],
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_class_has_a_value_in_range_for_each_parameter() {
        for preset in presets() {
            let specs = specs(preset.model);
            assert_eq!(specs.len(), preset.values.len(), "{}", preset.name);
            for (spec, value) in specs.iter().zip(preset.values) {
                assert!((spec.low..=spec.high).contains(value), "{} {}", preset.name, spec.name);
            }
        }
        for model in DeviceModel::ALL {
            let named = usual(*model);
            assert!(named.is_empty() || presets().iter().any(|p| p.name == named && p.model == *model));
        }
    }
}
