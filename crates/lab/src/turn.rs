//! What a trial is told: its place in the block, and who hears of it.

use crate::progress::Progress;
use plan::Block;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What a trial is told.
pub struct Turn<'a> {
    pub(crate) block: &'a Block,
    pub(crate) position: u32,
    pub(crate) stack: usize,
    pub(crate) progress: &'a dyn Progress,
    pub(crate) cancel: &'a Arc<AtomicBool>,
}
