//! Serves LUN files under a model until standard input ends, and says then what the model did and how well the service
//! kept up: `served PLACE MODEL LUN...`, MODEL one of the classes of `luns::model::presets` or `none`.
#![allow(clippy::print_stdout, reason = "an example")]

use luns::model::{Array, DeviceModel, Each, Hdd, Ssd, Volume, array_preset, hdd_preset, ssd_preset, volume_preset};
use luns::serve::{ServeOptions, Served};
use std::path::PathBuf;

fn model(name: &str, bytes: &[u64]) -> Option<Box<dyn DeviceModel>> {
    let luns = bytes.len() as u16;
    if let Some(p) = hdd_preset(name) {
        return Some(Box::new(Each::new(
            bytes.iter().map(|b| Hdd::new(p.clone(), *b)).collect(),
        )));
    }
    if let Some(p) = volume_preset(name) {
        return Some(Box::new(Each::new(
            (0..luns).map(|n| Volume::new(p.clone(), n.into())).collect(),
        )));
    }
    if let Some(p) = ssd_preset(name) {
        return Some(Box::new(Each::new(
            bytes.iter().map(|b| Ssd::new(p.clone(), *b)).collect(),
        )));
    }
    array_preset(name).map(|p| Box::new(Array::new(p, luns, 1)) as Box<dyn DeviceModel>)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let (Some(place), Some(name)) = (words.next(), words.next()) else {
        return Err("served PLACE MODEL LUN...".into());
    };
    let luns: Vec<PathBuf> = words.map(PathBuf::from).collect();
    let sizes = luns.iter().map(|l| std::fs::metadata(l).map(|m| m.len()));
    let bytes = sizes.collect::<Result<Vec<u64>, _>>()?;
    let served = Served::start(ServeOptions {
        luns,
        place: PathBuf::from(place),
        model: model(&name, &bytes),
        volatile_bytes: 0,
        cached: false,
        reduction: None,
        threads: 4,
    })?;
    println!("{}", served.path(0).display());
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink())?;
    println!("{:#?}\n{:#?}", served.counters(), served.punctuality());
    served.stop()?;
    Ok(())
}
