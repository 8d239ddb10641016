//! Modelled LUNs in words: for `assay check` what a study asks for, for `assay stacks` what there is.
//!
//! Takes the plan's table of devices, gives text. Prevents: a parameter that is used and whose source nobody is told.

use super::answer::wrapped;
use lab::device_service;
use plan::Study;
use serde_json::{Value, json};

/// Each modelled LUN set with its class, every parameter, and where it comes from.
pub(super) fn words(study: &Study) -> String {
    let mut text = String::new();
    for set in &study.luns {
        let Some(device) = &set.device else { continue };
        let head = format!("LUN set {} is modelled: {}", set.name, device.words());
        text.push_str(&format!("\n{}", wrapped("", 0, &head)));
        let mut line = |said: String| text.push_str(&wrapped(" -", 4, &said));
        if let Some(class) = device.class() {
            line(format!("the class: {}", class.what));
            line(format!("its source: {}", class.source));
        }
        for parameter in &device.parameters {
            let from = match parameter.written {
                true => "the study",
                false => "the class",
            };
            let value = parameter.to_string();
            let value = value.trim_matches('"');
            let spec = parameter.spec;
            line(format!("{} {value}, from {from}: {}", spec.name, spec.meaning));
        }
        if let Some(file) = &device.histogram {
            let beside = study.file.parent().unwrap_or(std::path::Path::new("")).join(file);
            match device_service::read_histogram(&beside) {
                Ok(_) => line(format!("latencies from {}", beside.display())),
                Err(error) => line(format!("refused: {error:#}")),
            }
        }
        if let Some(why) = device_service::not_warmed(set) {
            line(format!("read into memory before the phases: {why}"));
        }
        line(device_service::nothing_volatile(study, device).map_or_else(
            || format!("a power cut may lose {} of each LUN until flushed", device.volatile),
            str::to_string,
        ));
    }
    text
}

/// The classes of devices, and whether LUNs can be modelled here.
pub(super) fn classes() -> String {
    let mut text = match device_service::unable() {
        None => "\nLUN files can behave as another device (`preset` of a LUN set):\n".to_string(),
        Some((why, cure)) => format!("\nLUN files cannot be modelled here: {why}: {cure}. The classes are:\n"),
    };
    for preset in plan::presets() {
        let said = format!("{}: {}", preset.model.word(), preset.what);
        text.push_str(&wrapped(preset.name, 13, &said));
    }
    text
}

/// The same as JSON.
pub(super) fn classes_as_json() -> Vec<Value> {
    let of = |preset: &plan::DevicePreset| {
        let specs = plan::specs(preset.model).iter().zip(preset.values);
        let parameters: serde_json::Map<String, Value> = specs
            .map(|(spec, value)| (spec.name.to_string(), json!(value)))
            .collect();
        json!({
            "name": preset.name, "model": preset.model.word(), "what": preset.what, "source": preset.source,
            "parameters": parameters,
        })
    };
    plan::presets().iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use plan::DeviceModel;

    /// The plan says the numbers to users, room luns computes with its own: they must be the same.
    #[test]
    fn the_classes_of_the_plan_are_those_of_the_models() {
        for preset in plan::presets() {
            let value = |name: &str| {
                let specs = plan::specs(preset.model).iter().zip(preset.values);
                specs
                    .into_iter()
                    .find(|(spec, _)| spec.name == name)
                    .map_or(0.0, |(_, value)| *value)
            };
            let same = match preset.model {
                DeviceModel::Hdd => luns::model::hdd_preset(preset.name) == Some(luns::model::hdd(&value)),
                DeviceModel::Volume => luns::model::volume_preset(preset.name) == Some(luns::model::volume(&value)),
                DeviceModel::Ssd => luns::model::ssd_preset(preset.name) == Some(luns::model::ssd(&value)),
                DeviceModel::Array => luns::model::array_preset(preset.name) == Some(luns::model::array(&value)),
                DeviceModel::Plain | DeviceModel::Custom => false,
            };
            assert!(same, "{} differs", preset.name);
        }
        let ours: Vec<[&str; 4]> = plan::presets()
            .iter()
            .map(|p| [p.name, p.model.word(), p.what, p.source])
            .collect();
        let theirs: Vec<[&str; 4]> = luns::model::presets()
            .iter()
            .map(|p| [p.name, p.model, p.what, p.source])
            .collect();
        assert_eq!(ours, theirs, "in words too");
    }
}
