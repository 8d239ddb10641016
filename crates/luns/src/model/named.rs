//! Models made of parameters by name: how a study's words become a device.
//!
//! Takes the model's word and a value for each name, in base units (nanoseconds, bytes, bytes a second, shares); gives
//! the device for LUNs of these sizes. Prevents: two translations of a study's parameters, one for the service and one
//! for its check.

use super::{
    Array, ArrayParameters, Custom, CustomError, CustomParameters, DeviceModel, Each, Effort, Hdd, HddParameters,
    Latency, Limit, Prompt, ReductionEffort, SeekTimes, Ssd, SsdParameters, Volume, VolumeParameters,
};

/// Why no device could be made.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum NamedError {
    /// No such model.
    #[error("there is no model \"{0}\"\n  use plain, hdd, array, volume, ssd or custom")]
    Unknown(String),
    /// The histogram of a custom device.
    #[error(transparent)]
    Histogram(#[from] CustomError),
}

/// A device by name for LUNs of so many bytes each; `value` gives a parameter, `histogram` is the text of a custom
/// device's file.
///
/// # Errors
/// [`NamedError`].
pub fn named(
    model: &str,
    value: &dyn Fn(&str) -> f64,
    histogram: &str,
    luns: &[u64],
    seed: u64,
) -> Result<Box<dyn DeviceModel>, NamedError> {
    let seeds = (0u64..).map(|nth| seed ^ nth << 32);
    Ok(match model {
        "plain" => Box::new(Prompt::default()),
        "hdd" => {
            let parameters = hdd(value);
            Box::new(Each::new(
                luns.iter().map(|b| Hdd::new(parameters.clone(), *b)).collect(),
            ))
        }
        "ssd" => {
            let parameters = ssd(value);
            Box::new(Each::new(
                luns.iter().map(|b| Ssd::new(parameters.clone(), *b)).collect(),
            ))
        }
        "volume" => {
            let parameters = volume(value);
            let each = luns
                .iter()
                .zip(seeds)
                .map(|(_, seed)| Volume::new(parameters.clone(), seed));
            Box::new(Each::new(each.collect()))
        }
        "array" => Box::new(Array::new(array(value), luns.len() as u16, seed)),
        "custom" => {
            let parameters = CustomParameters::parse(histogram, value("parallel") as u32)?;
            let each = luns
                .iter()
                .zip(seeds)
                .map(|(_, seed)| Custom::new(parameters.clone(), seed));
            Box::new(Each::new(each.collect()))
        }
        other => return Err(NamedError::Unknown(other.to_string())),
    })
}

/// A disk's parameters by name.
pub fn hdd(value: &dyn Fn(&str) -> f64) -> HddParameters {
    HddParameters {
        rpm: value("rpm") as u32,
        outer_rate: value("outer_rate"),
        inner_rate: value("inner_rate"),
        seek: SeekTimes {
            track_ns: value("seek_track") as u64,
            average_ns: value("seek_average") as u64,
            full_ns: value("seek_full") as u64,
        },
        write_settle_ns: value("write_settle") as u64,
        write_settle_track_ns: value("write_settle_track") as u64,
        bus_rate: value("bus_rate"),
        overhead_ns: value("overhead") as u64,
        ahead_bytes: value("read_ahead") as u64,
        write_cache_bytes: value("write_cache") as u64,
        stroke: value("stroke"),
    }
}

/// A volume's parameters by name.
pub fn volume(value: &dyn Fn(&str) -> f64) -> VolumeParameters {
    let limit = |per_second: &str, credit: &str| Limit {
        per_second: value(per_second),
        credit: value(credit),
    };
    let latency = |kind: &str| Latency {
        median_ns: value(&format!("{kind}_median")) as u64,
        p99_ns: value(&format!("{kind}_p99")) as u64,
        floor_ns: value(&format!("{kind}_floor")) as u64,
    };
    let mut requests = vec![limit("iops", "iops_credit")];
    if value("burst_iops") > 0.0 {
        requests.push(limit("burst_iops", "burst_credit"));
    }
    VolumeParameters {
        requests,
        bytes: vec![limit("rate", "rate_credit")],
        request_bytes: value("request") as u32,
        read: latency("read"),
        write: latency("write"),
    }
}

/// A flash device's parameters by name.
pub fn ssd(value: &dyn Fn(&str) -> f64) -> SsdParameters {
    SsdParameters {
        dies: value("dies") as u32,
        unit_bytes: value("unit") as u32,
        page_bytes: value("page") as u32,
        block_bytes: value("block") as u32,
        spare: value("spare"),
        read_ns: value("read") as u64,
        program_ns: value("program") as u64,
        erase_ns: value("erase") as u64,
        suspend_ns: value("suspend") as u64,
        overhead_ns: value("overhead") as u64,
        bus_rate: value("bus_rate"),
        buffer_bytes: value("buffer") as u64,
        protected: value("protected") != 0.0,
    }
}

/// An array's parameters by name. A limit lets through at once what it gives in a hundredth of a second.
pub fn array(value: &dyn Fn(&str) -> f64) -> ArrayParameters {
    let limit = |name: &str| {
        let per_second = value(name);
        (per_second > 0.0).then_some(Limit {
            per_second,
            credit: (per_second / 100.0).max(1.0),
        })
    };
    let latency = |kind: &str| {
        Latency::lognormal(
            value(&format!("{kind}_median")) as u64,
            value(&format!("{kind}_p99")) as u64,
        )
    };
    ArrayParameters {
        read_cache_bytes: value("read_cache") as u64,
        write_cache_bytes: value("write_cache") as u64,
        block_bytes: value("block") as u32,
        hit: latency("hit"),
        miss: latency("miss"),
        parallel: value("parallel") as u32,
        destage_rate: value("destage_rate"),
        lun_requests: limit("lun_iops"),
        lun_bytes: limit("lun_rate"),
        port_bytes: limit("port_rate"),
        effort: Effort {
            processors: value("processors") as u32,
            read_ns: value("processor_read") as u64,
            write_ns: value("processor_write") as u64,
            reduction: (value("reduction") != 0.0).then(|| ReductionEffort {
                from_lun: value("reduction_from") as u16,
                unit_bytes: value("reduction_unit") as u32,
                compress_ns: value("compress") as u64,
                decompress_ns: value("decompress") as u64,
            }),
        },
    }
}
