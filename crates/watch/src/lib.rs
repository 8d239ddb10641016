//! Room `watch`: a page on an address of this host, read only, behind a token.
//!
//! Takes an address and whoever makes the page; gives a [`Server`] that answers GET and nothing else. It knows nothing
//! of studies. [`Door`] decides on a request before anything is made for it.
//! Prevents: a page that another user, another site or another host reads, and a client that takes memory or time
//! without end.

mod answer;
mod door;
mod serve;
mod token;

pub use answer::{Answer, Refusal};
pub use door::{Asked, Decision, Door, HEAD_BYTES_MAX};
pub use serve::{CONNECTIONS_MAX, Server, Site};
pub use token::Token;
