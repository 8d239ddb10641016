//! Room `observers`.
