//! Who started this process: a launcher of MPI, or nobody.
//!
//! Takes the variables of the environment; gives the launcher, this process's rank and the number of ranks. Prevents:
//! MPI that is initialised where no launcher is, and ranks that take themselves for single programs.

use std::fmt::{self, Display};
use thiserror::Error;

/// More ranks than this are no study.
pub const RANKS_MAX: u32 = 4096;

/// A program that starts ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LauncherKind {
    /// `mpirun` of Open MPI.
    OpenMpi,
    /// `mpirun` of MPICH, or of an MPI that speaks its protocol (PMI).
    Mpich,
    /// `srun` of Slurm.
    Slurm,
}

impl Display for LauncherKind {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(match self {
            LauncherKind::OpenMpi => "mpirun of Open MPI",
            LauncherKind::Mpich => "mpirun of MPICH",
            LauncherKind::Slurm => "srun of Slurm",
        })
    }
}

/// What the launcher says of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launcher {
    /// Which one it is.
    pub kind: LauncherKind,
    /// This process's number, from 0.
    pub rank: u32,
    /// How many processes it started.
    pub size: u32,
}

/// A variable of the launcher means nothing.
#[derive(Debug, Error)]
#[error(
    "the launcher's variable {name} is `{value}`, and must be a number from {least} to {most}\n  start the program \
     with a launcher of MPI, or unset the variable"
)]
pub struct LauncherError {
    /// Its name.
    name: String,
    /// What it holds.
    value: String,
    /// The least that it may hold.
    least: u32,
    /// The most.
    most: u32,
}

/// Variables of one launcher: its kind, those that hold the size (the first that is set counts), that of the rank.
type Variables = (LauncherKind, &'static [&'static str], &'static str);

/// The innermost launcher first: `mpirun` in an allocation of Slurm is started there by `srun`.
const LAUNCHERS: [Variables; 3] = [
    (LauncherKind::OpenMpi, &["OMPI_COMM_WORLD_SIZE"], "OMPI_COMM_WORLD_RANK"),
    (LauncherKind::Mpich, &["PMI_SIZE"], "PMI_RANK"),
    (
        LauncherKind::Slurm,
        &["SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"],
        "PMIX_RANK",
    ),
];

impl Launcher {
    /// The launcher that `variable` tells of; `None`: nobody starts ranks here.
    ///
    /// # Errors
    /// A variable that is no number, or a rank beyond the size.
    pub fn of(variable: impl Fn(&str) -> Option<String>) -> Result<Option<Launcher>, LauncherError> {
        for (kind, sizes, rank) in LAUNCHERS {
            let size = sizes.iter().find(|name| variable(name).is_some());
            if let (Some(size), Some(_)) = (size, variable(rank)) {
                return one(kind, size, rank, &variable).map(Some);
            }
        }
        // `srun` without a service for MPI: its ranks would run as single programs. A batch script has no step.
        let (size, rank) = ("SLURM_STEP_NUM_TASKS", "SLURM_PROCID");
        let is_alone = variable(size).is_none_or(|size| size == "1");
        match is_alone || variable(rank).is_none() {
            true => Ok(None),
            false => one(LauncherKind::Slurm, size, rank, &variable).map(Some),
        }
    }

    /// The launcher of this process.
    ///
    /// # Errors
    /// As [`Launcher::of`].
    pub fn here() -> Result<Option<Launcher>, LauncherError> {
        Launcher::of(|name| std::env::var(name).ok())
    }

    /// How to start a binary so that its MPI and its launcher are one.
    pub(crate) fn cure(self) -> &'static str {
        match self.kind {
            LauncherKind::Slurm => {
                "start it with `srun --mpi=pmix` (`srun --mpi=list` names what is there), or with `mpirun` in `salloc`"
            }
            LauncherKind::OpenMpi | LauncherKind::Mpich => {
                "start it with the `mpirun` of the MPI that it was built with (`ldd` names its library)"
            }
        }
    }
}

fn one(
    kind: LauncherKind,
    size_name: &str,
    rank_name: &str,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Launcher, LauncherError> {
    let size = number(size_name, &variable, 1, RANKS_MAX)?;
    let rank = number(rank_name, &variable, 0, size - 1)?;
    Ok(Launcher { kind, rank, size })
}

fn number(name: &str, variable: impl Fn(&str) -> Option<String>, least: u32, most: u32) -> Result<u32, LauncherError> {
    let value = variable(name).unwrap_or_default();
    match value.parse() {
        Ok(number) if (least..=most).contains(&number) => Ok(number),
        _ => Err(LauncherError {
            name: name.to_string(),
            value: value.chars().take(40).collect(),
            least,
            most,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> Result<Option<Launcher>, LauncherError> {
        Launcher::of(|name| {
            let found = variables.iter().find(|(one, _)| *one == name);
            found.map(|(_, value)| (*value).to_string())
        })
    }

    fn is(variables: &[(&str, &str)], kind: LauncherKind, rank: u32, size: u32) {
        let launcher = of(variables).unwrap();
        assert_eq!(launcher, Some(Launcher { kind, rank, size }), "{variables:?}");
    }

    #[test]
    fn each_launcher_is_known_by_its_variables() {
        let open = [("OMPI_COMM_WORLD_SIZE", "4"), ("OMPI_COMM_WORLD_RANK", "3")];
        is(&open, LauncherKind::OpenMpi, 3, 4);
        is(&[("PMI_RANK", "0"), ("PMI_SIZE", "2")], LauncherKind::Mpich, 0, 2);
        is(&[("PMIX_RANK", "1"), ("SLURM_NTASKS", "2")], LauncherKind::Slurm, 1, 2);
        let step = [("PMIX_RANK", "1"), ("SLURM_NTASKS", "8"), ("SLURM_STEP_NUM_TASKS", "2")];
        is(&step, LauncherKind::Slurm, 1, 2);
    }

    #[test]
    fn the_innermost_launcher_counts() {
        let both = [
            ("SLURM_NTASKS", "2"),
            ("SLURM_PROCID", "1"),
            ("PMIX_RANK", "5"),
            ("OMPI_COMM_WORLD_SIZE", "8"),
            ("OMPI_COMM_WORLD_RANK", "5"),
        ];
        is(&both, LauncherKind::OpenMpi, 5, 8);
    }

    #[test]
    fn a_batch_script_and_an_ordinary_shell_are_no_ranks() {
        assert_eq!(of(&[]).unwrap(), None);
        assert_eq!(of(&[("SLURM_NTASKS", "8"), ("SLURM_PROCID", "0")]).unwrap(), None);
        let shell = [
            ("SLURM_NTASKS", "8"),
            ("SLURM_PROCID", "0"),
            ("SLURM_STEP_NUM_TASKS", "1"),
        ];
        assert_eq!(of(&shell).unwrap(), None);
        let without_a_service = [("SLURM_STEP_NUM_TASKS", "2"), ("SLURM_PROCID", "1")];
        is(&without_a_service, LauncherKind::Slurm, 1, 2);
    }

    #[test]
    fn what_is_no_rank_is_refused_with_its_variable() {
        for (size, rank, name) in [
            ("0", "0", "PMI_SIZE"),
            ("two", "0", "PMI_SIZE"),
            ("99999", "0", "PMI_SIZE"),
            ("2", "2", "PMI_RANK"),
            ("2", "-1", "PMI_RANK"),
            ("2", "", "PMI_RANK"),
        ] {
            let error = of(&[("PMI_SIZE", size), ("PMI_RANK", rank)]).unwrap_err().to_string();
            assert!(error.contains(name), "{error}");
        }
    }
}
