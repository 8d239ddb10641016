//! Room `luns`: LUN files, loop devices, and the look at a device before it is touched.
//!
//! Three things in the order a run needs them: [`create_file`] and [`LunFile::refill`] make LUN files that are whole
//! (written in full with incompressible data, no hole, no unwritten extent), [`attach`] puts a loop device with direct
//! I/O on one, and [`inspect_device`] says whether a device may be used at all. Nothing here journals: who calls writes
//! the undo first.
//!
//! [`model`] computes what a disk, an array, a cloud volume or a flash device would have taken for a request.

mod error;
mod file;
mod fill;
mod inspect;
mod kernel;
mod loops;
pub mod model;
pub mod serve;
mod signature;
mod sysfs;

pub use error::{DeviceRefusal, LunError};
pub use file::{LunFile, check_space, check_whole, create_file};
pub use inspect::{DeviceFacts, device_facts, differences, inspect_device};
pub use loops::{
    LoopDevice, attach, attach_served, detach, detach_backing, find_by_backing, forget, say_rotational, sector_bytes,
};
pub use signature::{MARKER, Signature, signatures};
