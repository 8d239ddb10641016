//! The readers of what a server sends, for who wants to throw bytes at them.
//!
//! Each takes any bytes and neither panics nor allocates more than a few times as much. Nothing else uses them.

use super::error::shown;
use crate::order_entry::{Answer, End, Query};
use crate::postgres::login::address::Address;
use crate::postgres::login::certificate;
use crate::postgres::login::encryption::ChannelBinding;
use crate::postgres::login::exchange::{Login, Next, Way};
use crate::postgres::login::stream;
use crate::postgres::sessions::scattered;
use crate::postgres::sessions::session::Expected;
use crate::postgres::wire::messages::{self, Message};
use crate::postgres::wire::response;

/// Messages one after another, every field of each; gives how many there are.
pub fn messages(mut bytes: &[u8]) -> usize {
    let mut count = 0;
    let _ = messages::unasked(bytes, &mut 0);
    while let Ok(Some((message, length))) = messages::first(bytes) {
        if message.check().is_err() {
            break;
        }
        if let Ok(failure) = message.failure() {
            assert!(!shown(&failure.message).chars().any(char::is_control));
        }
        bytes = &bytes[length..];
        count += 1;
    }
    count
}

/// The answer to a batch of a transaction. The first byte chooses the statements that it is held against.
pub fn answer(bytes: &[u8]) {
    let Some((&chosen, bytes)) = bytes.split_first() else {
        return;
    };
    let calls = Query::all().iter().skip(usize::from(chosen) % Query::COUNT).take(4);
    let expected = Expected {
        before: chosen & 1,
        calls: calls.map(|statement| statement.query).collect(),
        end: (chosen & 2 != 0).then_some(End::Commit),
    };
    let mut walked = 0;
    if response::whole(bytes, &mut walked) == Ok(true) {
        let _ = response::read(&bytes[..walked], &expected, &mut Answer::new());
    }
    let _ = response::last_words(bytes);
}

/// The answer to a random select (`class` 0) or update (1).
pub fn touched(bytes: &[u8], class: u8) -> Option<i64> {
    scattered::touched(bytes, class & 1).ok().flatten()
}

/// What a server says while we log in; gives whether it let us. The first byte chooses the way to the server.
pub fn login(bytes: &[u8]) -> bool {
    let Some((&chosen, mut bytes)) = bytes.split_first() else {
        return false;
    };
    let way = match chosen % 3 {
        0 => Way::Local,
        1 => Way::Clear,
        _ => Way::Tls(Some(vec![7; 32])),
    };
    let mut login = Login::new("joe", Some("pencil"), way, ChannelBinding::Prefer);
    let mut out = Vec::new();
    while let Ok(Some((message, length))) = messages::first(bytes) {
        match login.take(message, &mut out) {
            Ok(Next::Ready) => return true,
            Ok(_) => {}
            Err(_) => return false,
        }
        bytes = &bytes[length..];
    }
    false
}

/// One message of a kind that is chosen by the first byte, without a length of its own.
pub fn fields(bytes: &[u8]) -> bool {
    let Some((&tag, body)) = bytes.split_first() else {
        return false;
    };
    Message { tag, body }.check().is_ok()
}

/// The answer to a request for TLS.
pub fn offer(bytes: &[u8]) -> bool {
    stream::offer(bytes) == Some(stream::Offer::Tls)
}

/// A server's certificate: the hash that a login is tied to.
pub fn certificate(bytes: &[u8]) -> Option<Vec<u8>> {
    let _ = certificate::is_valid_at(bytes, std::time::Duration::ZERO);
    let _ = certificate::public_key(bytes);
    certificate::end_point(bytes)
}

/// The url of a server.
pub fn url(text: &str) -> bool {
    Address::parse(text).is_ok_and(|address| !address.to_string().chars().any(char::is_control))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A conversation that is right as far as it goes: kinds of messages with their bodies, whose lengths are made
    /// right.
    fn talk() -> impl Strategy<Value = Vec<u8>> {
        let kind = prop::sample::select(b"RSKZENADTC12IGn".to_vec());
        let bodies: [&[u8]; 12] = [
            b"",
            b"\0\0\0\0",
            b"\0\0\0\x0aSCRAM-SHA-256\0\0",
            b"\0\0\0\x0br=x,s=AA==,i=4096",
            b"\0\0\0\x0cv=AA==",
            b"T",
            b"VERROR\0C40P01\0Mdeadlock\0\0",
            b"\0\x01\0\0\0\x04\0\0\0\x09",
            b"\0\x02\0\0\0\x08\0\0\0\0\0\0\0\x09\xff\xff\xff\xff",
            b"INSERT 0 1\0",
            b"COMMIT\0",
            b"\xff\xff\x7f\xff\xff\xff",
        ];
        let bodies = bodies.map(<[u8]>::to_vec).to_vec();
        let body = prop_oneof![prop::sample::select(bodies), prop::collection::vec(any::<u8>(), 0..40)];
        let message = (kind, body).prop_map(|(kind, body)| {
            let length = (body.len() as u32 + 4).to_be_bytes();
            [&[kind][..], &length, &body].concat()
        });
        let all = prop::collection::vec(message, 0..12).prop_map(|all| all.concat());
        (any::<u8>(), all).prop_map(|(chosen, all)| [vec![chosen], all].concat())
    }

    fn read_all(bytes: &[u8]) {
        messages(bytes);
        answer(bytes);
        login(bytes);
        fields(bytes);
        offer(bytes);
        certificate(bytes);
        url(&String::from_utf8_lossy(bytes));
        touched(bytes, 0);
        touched(bytes, 1);
    }

    proptest! {
        #[test]
        fn no_bytes_make_a_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            read_all(&bytes);
        }

        #[test]
        fn no_conversation_makes_a_reader_panic(bytes in talk(), cut in any::<prop::sample::Index>()) {
            read_all(&bytes);
            read_all(&bytes[..cut.index(bytes.len())]);
        }

        #[test]
        fn no_url_makes_its_reader_panic(
            text in "postgres://[a-z@:%0-9/?&=\\[\\]]{0,40}(sslmode=|host=|&|%){0,4}.{0,10}",
        ) {
            url(&text);
        }
    }
}
