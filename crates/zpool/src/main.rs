//! The server process as a program of its own: serves the socket that is its standard input. `assay` starts itself
//! instead.

fn main() -> std::process::ExitCode {
    std::process::ExitCode::from(zpool::serve_standard_input())
}
