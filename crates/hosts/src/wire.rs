//! What carries notes between ranks: MPI, or memory in tests.
//!
//! Prevents: a watchdog and a protocol that only a cluster can try.

/// Carries messages between ranks, in order between each two. One thread alone uses it.
pub(crate) trait Wire {
    /// This one's number.
    fn rank(&self) -> u32;

    /// How many there are.
    fn size(&self) -> u32;

    /// What carries: name and version.
    fn name(&self) -> String;

    /// The next message, if one is there: who sent it, and its bytes. One of more than `most` bytes comes as none.
    fn take(&self, most: usize) -> Option<(u32, Vec<u8>)>;

    /// Sends a message; calls `meanwhile` as long as it is not gone.
    fn send(&self, to: u32, bytes: &[u8], meanwhile: &mut dyn FnMut());
}
