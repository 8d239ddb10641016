//! The modelled device of a LUN set as written: `model`, `preset`, `parameters`, `volatile`.
//!
//! Takes the set's section; gives the values with their places. Prevents: a parameter of one model that is
//! accepted, and ignored, by another.

use super::nearest;
use super::section::Section;
use super::value::At;
use crate::error::{Findings, Span};
use crate::study::{DeviceModel, Spec, Unit, presets, specs};
use crate::units::{ByteRate, Bytes, Duration, Share};

/// What a LUN set says of its device.
#[derive(Default)]
pub(crate) struct WrittenDevice {
    pub(crate) model: Option<At<DeviceModel>>,
    /// One of [`presets`].
    pub(crate) preset: Option<At<&'static str>>,
    pub(crate) parameters: Vec<(&'static Spec, At<f64>)>,
    pub(crate) histogram: Option<At<String>>,
    pub(crate) volatile: Option<At<Bytes>>,
}

impl WrittenDevice {
    /// Where the device is said first; `None` where it is not.
    pub(crate) fn span(&self) -> Option<&Span> {
        let model = self.model.as_ref().map(|at| &at.span);
        model
            .or(self.preset.as_ref().map(|at| &at.span))
            .or(self.volatile.as_ref().map(|at| &at.span))
    }
}

pub(crate) fn read(s: &mut Section<'_>, findings: &mut Findings) -> WrittenDevice {
    let mut device = WrittenDevice {
        model: s.get("model", findings),
        volatile: s.get("volatile", findings),
        ..WrittenDevice::default()
    };
    let mut model = device.model.as_ref().map(|at| at.value);
    if let Some(at) = s.get::<String>("preset", findings) {
        device.preset = preset(&at, model, findings);
        let named = presets()
            .iter()
            .find(|p| device.preset.as_ref().is_some_and(|at| at.value == p.name));
        model = model.or(named.map(|p| p.model));
    }
    let Some(mut table) = s.table("parameters", "parameters = { rpm = 10000 }", findings) else {
        return device;
    };
    let Some(model) = model else {
        let cure = "say which device it is: model = \"hdd\", or preset = \"hdd-7200\"";
        findings.add(&table.span, "parameters of a device that has no model", cure);
        return device;
    };
    for spec in specs(model) {
        if let Some(value) = value(&mut table, spec, findings) {
            device.parameters.push((spec, value));
        }
    }
    if model == DeviceModel::Custom {
        device.histogram = table.require(
            "histogram",
            "name the file of latencies, beside the study: parameters = { histogram = \"latencies.txt\" }",
            findings,
        );
    }
    table.finish(&[], findings);
    device
}

fn preset(at: &At<String>, model: Option<DeviceModel>, findings: &mut Findings) -> Option<At<&'static str>> {
    let found = presets().iter().find(|p| p.name == at.value);
    let Some(found) = found else {
        let names = || presets().iter().map(|p| p.name);
        let cure = match nearest(&at.value, names()) {
            Some(near) => format!("did you mean {near:?}? `assay stacks` lists them"),
            None => format!("write one of: {}", names().collect::<Vec<_>>().join(", ")),
        };
        findings.add(&at.span, format!("no class of devices is called {:?}", at.value), cure);
        return None;
    };
    if let Some(model) = model.filter(|model| *model != found.model) {
        let message = format!(
            "{:?} is a class of model \"{}\", not of \"{}\"",
            found.name,
            found.model.word(),
            model.word()
        );
        findings.add(&at.span, message, "leave `model` out: the class says it");
        return None;
    }
    Some(At {
        value: found.name,
        span: at.span.clone(),
    })
}

/// A parameter's value in its unit's base, if it stands there and is in range.
fn value(table: &mut Section<'_>, spec: &'static Spec, findings: &mut Findings) -> Option<At<f64>> {
    fn of<T>(at: At<T>, value: impl Fn(T) -> f64) -> At<f64> {
        At {
            value: value(at.value),
            span: at.span,
        }
    }
    let name = spec.name;
    let at = match spec.unit {
        Unit::Count => of(table.get::<u64>(name, findings)?, |v| v as f64),
        Unit::Bytes => of(table.get::<Bytes>(name, findings)?, |v| v.0 as f64),
        Unit::ByteRate => of(table.get::<ByteRate>(name, findings)?, |v| v.0 as f64),
        Unit::Time => of(table.get::<Duration>(name, findings)?, |v| v.0 as f64),
        Unit::Share => of(table.get::<Share>(name, findings)?, |v| v.0),
        Unit::Flag => of(table.get::<bool>(name, findings)?, |v| f64::from(u8::from(v))),
    };
    if (spec.low..=spec.high).contains(&at.value) {
        return Some(at);
    }
    let shown = |value: f64| {
        crate::study::Parameter {
            spec,
            value,
            written: true,
        }
        .to_string()
    };
    findings.add(
        &at.span,
        format!("`{name}` cannot be {}", shown(at.value)),
        format!("write {} to {} ({})", shown(spec.low), shown(spec.high), spec.meaning),
    );
    None
}
