//! Hostile neighbours: another user of the host, and what he can put in our way, against a run as root. Each attack has
//! an honest twin that works. Needs root, loop devices and `mkfs.ext4`; those with a server need PostgreSQL.
//!
//! Prevents what a user can never forgive: root that changes, reads out or deletes what is not the run's own. A tree of
//! canary files (content, mode, owner, times) and a canary device are compared before and after every attack.

mod journals;
mod places;
mod servers;
mod swaps;
mod town;
