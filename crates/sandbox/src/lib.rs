//! Room `sandbox`: what a run may touch, held by descriptor, and child processes that can write to nothing else.
//!
//! Owns the walk to a directory, the removal of what was made, and the start of child processes. Takes paths once,
//! gives a [`Directory`] that is used from then on; compares an [`Identity`] before anything is removed. Prevents: root
//! that is led by a path which another user can change, and a tool that writes to what the study does not name.

mod child;
mod directory;
mod error;
mod identity;
mod kernel_text;
mod program;
mod reach;
mod removal;
mod trust;

pub use child::{confine_thread, confined, confinement};
pub use directory::{Directory, mask_file, random_number, unique_name, write_beside};
pub use error::SandboxError;
pub use identity::Identity;
pub use kernel_text::kernel_text;
pub use program::{are_safe_libraries, command, find_program, is_safe_code, is_safe_program, ourselves, start_holding};
pub use reach::Reach;
pub use removal::{Removal, remove, remove_contents};
