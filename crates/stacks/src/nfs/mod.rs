//! Serving a stack's files by NFS: nfs-ganesha or the kernel's server, in namespaces of its own, as a step that is
//! undone.
//!
//! Takes a directory of the stack; gives a [`FileService`] and a [`Dialer`] that reaches it. Prevents: a server that
//! others can reach, one that meets a second one's ports, and one that outlives its run.

mod configuration;
mod dialer;
mod needs;
pub(crate) mod processes;
mod script;
mod server;

pub use dialer::Dialer;
pub use needs::{FileServerHere, file_servers};
pub use server::FileService;
