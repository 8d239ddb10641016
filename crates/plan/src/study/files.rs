//! File serving: who serves the stack's files. Plain data, every default said; what users do is of their phases.
//!
//! Part of [`crate::Study`]. Prevents: a server that has a setting of system calls.

use crate::shown::{Shown, quoted};
use crate::units::Bytes;
use crate::word::Word;

settled! {
    /// How the files of a stack are reached.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Files {
        /// What the users speak.
        pub protocol: Protocol,
        /// Who serves; `None` where the files are reached without a server, or by one that is there already.
        pub server: Option<FileServer>,
        /// Connections of the users together.
        pub connections: u32 as |files| files.of_nfs(files.connections.shown()),
        /// Largest read and write.
        pub transfer: Bytes,
        /// Threads of a server that we start; `None`: as many as it takes by itself.
        pub threads: Option<u32> as |files| files.of_nfs(files.threads.shown().or_else(|| Some(quoted("auto")))),
    }
}

impl Files {
    /// A key that only a protocol with a server has.
    fn of_nfs(&self, shown: Option<String>) -> Option<String> {
        shown.filter(|_| self.protocol == Protocol::Nfs3)
    }
}

words! {
    /// What the users of files speak.
    pub enum Protocol: "a protocol" {
        /// System calls on the mounted file system.
        Posix = "posix",
        /// NFS version 3 over TCP.
        Nfs3 = "nfs3",
    }
}

words! {
    /// A server of files that we start.
    pub enum FileServer: "a server of files" {
        /// nfs-ganesha, in user space.
        Ganesha = "ganesha",
        /// The kernel's own.
        Kernel = "kernel",
    }
}

impl FileServer {
    /// As a study writes it.
    pub fn word(self) -> &'static str {
        Word::word(&self)
    }
}
