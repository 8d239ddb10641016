//! ONC RPC over TCP (RFC 5531, XDR RFC 4506): words in a buffer, records of a stream, heads of calls and replies.
//!
//! Nothing here touches a socket. Prevents: a length of a peer that decides how much memory we take.

mod head;
mod record;
mod xdr;

pub use head::{Accepted, Program, begin, end, open};
pub use record::Records;
pub use xdr::{Garbled, Reader, Writer};
