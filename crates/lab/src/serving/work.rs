//! The plan's words of file serving in those of room `files`.
//!
//! Prevents: a key of a study that reaches one protocol and not another (there is one translation, used by all).

use anyhow::Context;
use files::{Class, Config, Mix, Sizes, Steps, Work};
use plan::{FileArrival, FileMix, FileMixed, FileSizes, FileSteps, Files, Serving, Share};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use workloads::{Arrival, Pacing, Schedule, Stop};

/// The work and its tree, of a run with this number.
pub(super) fn config(serving: &Serving, files: &Files, run: u32, seed: u64) -> anyhow::Result<Config> {
    let usual = match (serving.work, &serving.mix) {
        (Some(work), _) => Config::steps(steps(work), serving.sessions, run, seed),
        (None, FileMixed::Mix(FileMix::Build)) => Config::build(serving.sessions, run, seed),
        (None, _) => Config::sfs97(serving.sessions, run, seed),
    };
    let work = match &serving.mix {
        FileMixed::Steps => usual.work.clone(),
        FileMixed::Mix(FileMix::Sfs97) => Work::Mix(Mix::sfs97()),
        FileMixed::Mix(FileMix::Sfs93) => Work::Mix(Mix::sfs93()),
        FileMixed::Mix(FileMix::Build) => Work::Mix(Mix::build()),
        FileMixed::Own(all) => Work::Mix(Mix::new(&own(all)?)?),
    };
    let sizes = match &serving.sizes {
        FileSizes::Sfs97 => Sizes::sfs97(),
        FileSizes::Own(all) => {
            let kib = |bytes: u64| u32::try_from(bytes >> 10).context("a size of a file");
            let table: anyhow::Result<Vec<_>> = all.iter().map(|(size, pct)| Ok((kib(size.0)?, *pct))).collect();
            Sizes::new(&table?)?
        }
    };
    Ok(Config {
        work,
        sizes,
        transfer_kib: u32::try_from(files.transfer.0 >> 10)?,
        accessed_pct: percent(serving.accessed),
        files_per_directory: serving.files_per_directory,
        lookups_failed_pct: percent(serving.lookups_failed),
        append_pct: percent(serving.append),
        stable_pct: percent(serving.stable),
        rename_pct: percent(serving.rename),
        ..usual
    })
}

fn own(all: &[(String, u8)]) -> anyhow::Result<Vec<(Class, u8)>> {
    let one = |(name, percent): &(String, u8)| Some((Class::from_name(name)?, *percent));
    all.iter()
        .map(one)
        .collect::<Option<_>>()
        .context("a call of the mix is unknown")
}

fn steps(work: FileSteps) -> Steps {
    match work {
        FileSteps::Fileserver => Steps::Fileserver,
        FileSteps::Varmail => Steps::Varmail,
        FileSteps::Webserver => Steps::Webserver,
    }
}

fn percent(share: Share) -> u8 {
    (share.0 * 100.0).round().clamp(0.0, 100.0) as u8
}

/// Operations due at a rate, for some time.
pub(super) fn pacing(serving: &Serving, rate_per_s: f64, time_ns: u64, cancel: &Arc<AtomicBool>) -> Pacing {
    let schedule = match serving.arrival {
        FileArrival::Poisson => Schedule::Poisson,
        FileArrival::Fixed => Schedule::Fixed { first_ns: 0 },
    };
    Pacing {
        sessions: serving.sessions,
        arrival: Arrival::Open { rate_per_s, schedule },
        stop: Stop {
            time_ns: Some(time_ns),
            operations_per_session: None,
        },
        slice_ns: crate::trial::drive::slice_ns(Some(plan::Duration(time_ns))),
        cancel: Some(Arc::clone(cancel)),
    }
}

/// The mix or the work in a word.
pub(super) fn words(serving: &Serving) -> String {
    let word = match (serving.work, &serving.mix) {
        (Some(FileSteps::Fileserver), _) => "fileserver",
        (Some(FileSteps::Varmail), _) => "varmail",
        (Some(FileSteps::Webserver), _) => "webserver",
        (None, FileMixed::Mix(FileMix::Sfs97)) => "sfs97",
        (None, FileMixed::Mix(FileMix::Sfs93)) => "sfs93",
        (None, FileMixed::Mix(FileMix::Build)) => "build",
        (None, FileMixed::Own(_) | FileMixed::Steps) => "a mix of the study",
    };
    word.to_string()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::serving) fn serving(phase: &str) -> (Serving, Files) {
        let text = format!(
            "[study]\nname = \"f\"\n[[stack]]\nname = \"a\"\nkind = \"directory\"\npath = \"/srv\"\n[files]\n\
             [[phase]]\nname = \"ramp\"\nkind = \"files\"\nload = \"1000/s\"\n{phase}"
        );
        let study = plan::parse(&text, std::path::Path::new("f.toml")).unwrap();
        let plan::PhaseKind::Files(serving) = &study.phases[0].kind else {
            panic!("{:?}", study.phases[0].kind)
        };
        (serving.clone(), *study.stacks[0].engine.files().unwrap())
    }

    #[test]
    fn defaults_of_the_plan_are_those_of_the_published_works() {
        let same = |phase: &str, usual: Config| {
            let (serving, files) = serving(phase);
            let config = config(&serving, &files, 1, 2).unwrap();
            assert_eq!(
                config,
                Config {
                    sessions: serving.sessions,
                    ..usual
                },
                "{phase}"
            );
        };
        same("", Config::sfs97(1, 1, 2));
        same("mix = \"build\"", Config::build(1, 1, 2));
        for (word, steps) in [
            ("fileserver", Steps::Fileserver),
            ("varmail", Steps::Varmail),
            ("webserver", Steps::Webserver),
        ] {
            same(&format!("work = \"{word}\""), Config::steps(steps, 1, 1, 2));
        }
        let (serving, files) = serving("mix = { lookup = 60, write = 30, commit = 10 }\nsizes = \"4KiB\"");
        let config = config(&serving, &files, 1, 2).unwrap();
        config.check().unwrap();
        assert_eq!(config.sizes, Sizes::one(4).unwrap());
    }
}
