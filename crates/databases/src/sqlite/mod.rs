//! SQLite in process: through the operating system's files, or past them by a VFS over a port.
