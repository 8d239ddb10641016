//! How many instances of the page engine work on a stack, and what they are.
//!
//! Prevents: a study of two instances that nobody can tell from one.

settled! {
    /// Of all stacks that do not say it themselves.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Instances {
        /// How many.
        pub count: u32,
        /// What each of them is.
        pub via: Via,
    }
}

words! {
    /// What an instance is.
    pub enum Via: "a way to make instances" {
        /// A process of its own on this host.
        Processes = "processes",
        /// A process on a host of its own, each a rank of MPI; the first is on the host of the run.
        Mpi = "mpi",
    }
}
