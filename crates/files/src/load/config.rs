//! Everything that shapes the work, with every default said.
//!
//! Prevents: settings that cannot be followed and are found out in the middle of a phase ([`Config::check`]).

use super::class::Class;
use super::mix::Mix;
use super::sizes::Sizes;
use super::steps::Steps;
use crate::error::FilesError;

/// Sessions at most: half of a call's number says which one it belongs to.
const SESSIONS_MAX: u32 = 65_535;

/// What the users do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Work {
    /// Each operation is one call, drawn from a mix (one class reads and writes more: see [`Config::whole`]).
    Mix(Mix),
    /// Each operation is a step of a row.
    Steps(Steps),
}

/// The work and its tree of files. Shares are whole percents.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// What the users do.
    pub work: Work,
    /// Sizes of the files.
    pub sizes: Sizes,
    /// Largest READ and WRITE, KiB.
    pub transfer_kib: u32,
    /// Files that are worked on; the others only lie there.
    pub accessed_pct: u8,
    /// Files in a directory.
    pub files_per_directory: u32,
    /// Lookups that ask for a name that is not there.
    pub lookups_failed_pct: u8,
    /// Writes that append; a file above its size is cut back by SETATTR.
    pub append_pct: u8,
    /// Writes that ask for FILE_SYNC; the others are UNSTABLE until a COMMIT.
    pub stable_pct: u8,
    /// Operations of a mix that rename a file instead; the mix must make files, for a rename may replace one.
    pub rename_pct: u8,
    /// Writes that are shorter than a transfer: any whole KiB below it.
    pub short_writes_pct: u8,
    /// Reads and writes take the whole file, call after call, within one operation.
    pub whole: bool,
    /// Most operations under way.
    pub sessions: u32,
    /// Marks the data of this run and names its directory, so that data of another run are told apart.
    pub run: u32,
    /// Of sizes and draws.
    pub seed: u64,
}

impl Config {
    /// The mix `sfs97` with the shape of SFS 3.0: its sizes, 8 KiB a transfer, 10 % accessed, 30 files a directory,
    /// 35 % of lookups fail, 70 % of writes append, 49 % of writes are short.
    pub fn sfs97(sessions: u32, run: u32, seed: u64) -> Config {
        Config {
            work: Work::Mix(Mix::sfs97()),
            sizes: Sizes::sfs97(),
            transfer_kib: 8,
            accessed_pct: 10,
            files_per_directory: 30,
            lookups_failed_pct: 35,
            append_pct: 70,
            stable_pct: 0,
            rename_pct: 0,
            short_writes_pct: 49,
            whole: false,
            sessions,
            run,
            seed,
        }
    }

    /// The mix `build` with the shape of SWBUILD: 16 KiB files, 100 in a directory, read and written whole.
    pub fn build(sessions: u32, run: u32, seed: u64) -> Config {
        Config {
            work: Work::Mix(Mix::build()),
            sizes: Sizes::one(16).unwrap_or_else(|error| unreachable!("a size of our own: {error}")),
            accessed_pct: 100,
            files_per_directory: 100,
            lookups_failed_pct: 0,
            append_pct: 0,
            short_writes_pct: 0,
            whole: true,
            ..Config::sfs97(sessions, run, seed)
        }
    }

    /// A work of steps with the sizes that filebench gives it.
    pub fn steps(steps: Steps, sessions: u32, run: u32, seed: u64) -> Config {
        Config {
            work: Work::Steps(steps),
            sizes: steps.sizes(),
            accessed_pct: 100,
            files_per_directory: if steps == Steps::Fileserver { 20 } else { 1_000 },
            ..Config::build(sessions, run, seed)
        }
    }

    /// Can this be followed?
    pub fn check(&self) -> Result<(), FilesError> {
        let shares = [
            ("accessed", self.accessed_pct),
            ("lookups_failed", self.lookups_failed_pct),
            ("append", self.append_pct),
            ("stable", self.stable_pct),
            ("rename", self.rename_pct),
            ("short writes", self.short_writes_pct),
        ];
        if let Some((name, share)) = shares.into_iter().find(|(_, share)| *share > 100) {
            return refused(format!("`{name}` is {share} %\ngive at most 100 %"));
        }
        if self.accessed_pct == 0 {
            return refused("`accessed` is 0 %: there is nothing to work on\ngive at least 1 %".into());
        }
        if self.sessions == 0 || self.sessions > SESSIONS_MAX {
            return refused(format!(
                "{} sessions cannot be told apart by the number of a call\ngive 1 to {SESSIONS_MAX} sessions",
                self.sessions
            ));
        }
        if self.transfer_kib == 0 || self.transfer_kib > 1024 {
            return refused("a transfer of 0 or above 1 MiB\ngive 1KiB to 1MiB, whole KiB".into());
        }
        if self.files_per_directory == 0 || self.files_per_directory > 100_000 {
            return refused("a directory of 0 or of above 100,000 files\ngive 1 to 100000".into());
        }
        let makes_files = matches!(&self.work, Work::Mix(mix) if mix.percent(Class::Create) > 0);
        if self.rename_pct > 0 && !makes_files {
            return refused(
                "a rename may replace a file, and the work makes none in its place\n\
                 give `create` a share of the mix, or remove `rename`"
                    .into(),
            );
        }
        match &self.work {
            Work::Mix(mix) => mix.check(self.stable_pct),
            Work::Steps(_) => Ok(()),
        }
    }
}

fn refused(why: String) -> Result<(), FilesError> {
    Err(FilesError::Settings(why))
}
