//! Modelled devices of LUN sets: which model, which class, every parameter.
//!
//! Takes what is written of a device; gives a [`Device`] with all values said. Prevents: a disk whose inner edge is
//! faster than its outer one, found by a panic an hour later.

use super::settle::Settle;
use crate::error::Span;
use crate::study::{Device, DeviceModel, LunSource, Parameter, presets, specs, usual_preset};
use crate::units::Bytes;
use crate::written::{At, PhaseWord, WrittenDevice, WrittenStudy};
use std::path::PathBuf;

/// What a power cut may lose of a device that says nothing of its own cache.
const VOLATILE: u64 = 32 << 20;
/// More would be held in memory by the process that plays the device.
const VOLATILE_MAX: u64 = 1 << 30;

pub(super) fn resolve(
    written: &WrittenDevice,
    study: &WrittenStudy,
    source: &LunSource,
    settle: &mut Settle<'_>,
) -> Option<Device> {
    let span = written.span()?.clone();
    if let LunSource::Devices { .. } = source {
        let cure = "make the set of files, or remove what is said of a model: a real device has times of its own";
        settle.findings.add(&span, "a model needs LUN files, not devices", cure);
    }
    let preset = written.preset.as_ref().map(|at| at.value);
    let class = |name: &str| presets().iter().find(|p| p.name == name);
    let model = match (&written.model, preset.and_then(class)) {
        (Some(at), _) => at.value,
        (None, Some(class)) => class.model,
        (None, None) => DeviceModel::Plain,
    };
    let preset = preset.unwrap_or(usual_preset(model));
    let said = |name: &str| written.parameters.iter().find(|(spec, _)| spec.name == name);
    let parameters: Vec<Parameter> = specs(model)
        .iter()
        .enumerate()
        .map(|(nth, spec)| Parameter {
            spec,
            value: said(spec.name)
                .map_or_else(|| class(preset).map_or(spec.low, |c| c.values[nth]), |(_, at)| at.value),
            written: said(spec.name).is_some(),
        })
        .collect();
    if model == DeviceModel::Custom && written.histogram.is_none() {
        let cure = "name the file of latencies: parameters = { histogram = \"latencies.txt\" }";
        settle
            .findings
            .add(&span, "a device of model \"custom\" has no histogram", cure);
    }
    if let Some(at) = &written.histogram {
        settle.path(at, "histogram", "name the file of latencies, beside the study");
    }
    let cuts = study
        .phases
        .iter()
        .any(|phase| phase.kind.as_ref().is_some_and(|at| at.value == PhaseWord::PowerCut));
    let mut device = Device {
        model,
        preset,
        parameters,
        histogram: written.histogram.as_ref().map(|at| PathBuf::from(&at.value)),
        volatile: Bytes(0),
    };
    device.volatile = volatile(&device, &written.volatile, cuts, settle);
    agree(&device, written, &span, settle);
    reduces(&device, written, (&span, source), settle);
    Some(device)
}

/// What a device of this kind loses of acknowledged writes with its power: what its own volatile cache holds.
fn own_volatile(device: &Device) -> u64 {
    match device.model {
        DeviceModel::Plain | DeviceModel::Custom => VOLATILE,
        DeviceModel::Hdd => device.value("write_cache") as u64,
        DeviceModel::Ssd if device.value("protected") == 0.0 => device.value("buffer") as u64,
        // What they have acknowledged they keep.
        DeviceModel::Ssd | DeviceModel::Array | DeviceModel::Volume => 0,
    }
}

fn volatile(device: &Device, written: &Option<At<Bytes>>, cuts: bool, settle: &mut Settle<'_>) -> Bytes {
    let own = own_volatile(device).min(VOLATILE_MAX);
    let Some(at) = written else {
        return Bytes(if cuts { own } else { 0 });
    };
    if own == 0 && at.value.0 > 0 {
        let cure = match device.model {
            DeviceModel::Hdd => {
                "switch its write cache on: parameters = { write_cache = \"64MiB\" }; or remove `volatile`"
            }
            DeviceModel::Ssd => "say that its buffer is not: parameters = { protected = false }; or remove `volatile`",
            _ => "remove `volatile`, or use a device that has such a cache: model = \"plain\"",
        };
        let message = format!(
            "{} keeps what it has acknowledged without power: nothing of it is volatile",
            device.words()
        );
        settle.findings.add(&at.span, message, cure);
    }
    if at.value.0 > VOLATILE_MAX {
        let cure = "write at most 1GiB: it is held in memory beside the stack: volatile = \"32MiB\"";
        settle
            .findings
            .add(&at.span, format!("`volatile` cannot be {}", at.value), cure);
    }
    at.value
}

/// Pairs of parameters of which one may not be above the other.
const ORDER: &[(&str, &str)] = &[
    ("inner_rate", "outer_rate"),
    ("seek_track", "seek_average"),
    ("seek_average", "seek_full"),
    ("write_settle_track", "write_settle"),
    ("read_median", "read_p99"),
    ("write_median", "write_p99"),
    ("hit_median", "hit_p99"),
    ("miss_median", "miss_p99"),
    ("unit", "page"),
    ("unit", "buffer"),
    ("page", "block"),
    ("reduction_granule", "reduction_unit"),
];

/// What is compressed and kept is counted in sectors.
const SECTOR_BYTES: f64 = 512.0;
const OF_SECTORS: [&str; 2] = ["reduction_unit", "reduction_granule"];

fn agree(device: &Device, written: &WrittenDevice, home: &Span, settle: &mut Settle<'_>) {
    let find = |name: &str| device.parameters.iter().find(|p| p.spec.name == name);
    for (low, high) in ORDER {
        let (Some(low), Some(high)) = (find(low), find(high)) else {
            continue;
        };
        if low.value > high.value {
            let at = written
                .parameters
                .iter()
                .find(|(spec, _)| spec.name == low.spec.name || spec.name == high.spec.name);
            let message = format!(
                "`{}` is {low}, above `{}`, which is {high}",
                low.spec.name, high.spec.name
            );
            let cure = format!("lower `{}` or raise `{}`", low.spec.name, high.spec.name);
            settle.findings.add(at.map_or(home, |(_, at)| &at.span), message, cure);
        }
    }
}

/// Whether what an array is to reduce can be: units of whole sectors, on a LUN that is there, by an array that reduces.
fn reduces(device: &Device, written: &WrittenDevice, (home, source): (&Span, &LunSource), settle: &mut Settle<'_>) {
    let said = |name: &str| written.parameters.iter().find(|(spec, _)| spec.name == name);
    let place = |name: &str| said(name).map_or(home, |(_, at)| &at.span);
    for name in OF_SECTORS {
        let Some((_, at)) = said(name).filter(|(_, at)| at.value % SECTOR_BYTES != 0.0) else {
            continue;
        };
        let message = format!("`{name}` is {}, no multiple of 512 bytes", Bytes(at.value as u64));
        let cure = format!("write whole sectors: {name} = \"8KiB\"");
        settle.findings.add(&at.span, message, cure);
    }
    if device.value("reduction") == 0.0 {
        let idle = ["deduplication", "reduction_from"];
        if let Some((spec, at)) = idle.into_iter().filter_map(said).find(|(_, at)| at.value != 0.0) {
            let message = format!("`{}` of an array that reduces nothing", spec.name);
            let cure = format!("write reduction = true beside it, or remove `{}`", spec.name);
            settle.findings.add(&at.span, message, cure);
        }
        return;
    }
    let (first, luns) = (device.value("reduction_from"), source.luns() as f64);
    if first >= luns {
        let message = format!("`reduction_from` is {first}, and the set has {luns} LUNs, from 0: none is reduced");
        let cure = format!("write 0 to {}", (luns - 1.0).max(0.0));
        settle.findings.add(place("reduction_from"), message, cure);
    }
}
