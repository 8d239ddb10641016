//! Results of replies: what a server may send, and what it may not. Prevents: a length of the server that is believed.

use files::nfs::{Handle, Procedure, arguments, results};
use files::rpc::{Reader, Writer};
use files::{Answer, Call, Entries, Listed, Node, Status};

fn body(fill: impl FnOnce(&mut Writer<'_>)) -> Vec<u8> {
    let mut out = Vec::new();
    fill(&mut Writer::new(&mut out));
    out
}

fn listing(entries: u32, whole: u32) -> Vec<u8> {
    body(|w| {
        w.u32(0).u32(0).u64(0);
        for nth in 0..entries {
            w.u32(1).u64(u64::from(nth)).opaque(format!("n{nth}").as_bytes()).u64(9);
        }
        w.u32(0).u32(whole);
    })
}

#[test]
fn a_read_brings_at_most_what_was_asked_for() {
    let reply = body(|w| _ = w.u32(0).u32(0).u32(8).u32(1).opaque(b"12345678"));
    let read = |asked| {
        results::read(Procedure::Read, asked, Reader::new(&reply)).map(|read| match read.answer {
            Answer::Bytes { bytes, ends: true } => bytes.to_vec(),
            other => panic!("{other:?}"),
        })
    };
    assert_eq!(read(8).unwrap(), b"12345678");
    assert!(read(7).is_err());
    let short = body(|w| _ = w.u32(0).u32(0).u32(4).u32(0).opaque(b"1234"));
    let read = results::read(Procedure::Read, 8, Reader::new(&short)).unwrap();
    assert!(
        matches!(read.answer, Answer::Bytes { ends: false, .. }),
        "there is more"
    );
    let lie = body(|w| _ = w.u32(0).u32(0).u32(7).u32(1).opaque(b"12345678"));
    assert!(
        results::read(Procedure::Read, 8, Reader::new(&lie)).is_err(),
        "7 bytes said, 8 brought"
    );
}

#[test]
fn a_refusal_is_a_refusal_whatever_follows() {
    for procedure in [Procedure::Read, Procedure::Readdirplus, Procedure::Write] {
        let reply = body(|w| _ = w.u32(10_008).u32(0));
        let read = results::read(procedure, 8, Reader::new(&reply)).unwrap();
        assert!(matches!(read.answer, Answer::Refused(Status::LATER)));
    }
}

/// RFC 1813, 3.3.14: directory and name twice; two `wcc_data` come back.
#[test]
fn a_rename_names_the_directory_twice_and_is_done_or_refused() {
    let handle = Handle::new(b"home").unwrap();
    let call = Call::Rename {
        dir: Node::ROOT,
        name: b"f1",
        to: b"f23",
        node: Node(7),
    };
    assert_eq!(arguments::procedure(&call) as u32, 14);
    let sent = body(|w| arguments::write(w, &call, |_| &handle));
    let meant = body(|w| _ = w.opaque(b"home").opaque(b"f1").opaque(b"home").opaque(b"f23"));
    assert_eq!(sent, meant);
    let read = |status: u32| {
        let reply = body(|w| _ = w.u32(status).u32(0).u32(0).u32(0).u32(0));
        let read = results::read(Procedure::Rename, 0, Reader::new(&reply)).unwrap();
        match read.answer {
            Answer::Done => None,
            Answer::Refused(status) => Some(status),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!((read(0), read(2)), (None, Some(Status::NOT_FOUND)));
}

#[test]
fn a_listing_ends_where_the_server_says_or_with_an_error() {
    let count = |bytes: &[u8]| {
        let read = results::read(Procedure::Readdir, 0, Reader::new(bytes)).unwrap();
        let Answer::Listing(mut entries) = read.answer else {
            panic!("no listing")
        };
        let mut seen = 0;
        loop {
            match entries.next_listed() {
                Ok(Listed::Entry(_)) => seen += 1,
                Ok(Listed::End { whole }) => return Ok((seen, whole)),
                Err(garbled) => return Err(garbled),
            }
        }
    };
    assert_eq!(count(&listing(3, 1)), Ok((3, true)));
    assert_eq!(count(&listing(3, 0)), Ok((3, false)));
    let cut = listing(3, 1);
    assert!(count(&cut[..cut.len() - 9]).is_err());
    assert!(matches!(
        Entries::Plain(&[]).next_listed(),
        Ok(Listed::End { whole: true })
    ));
}

#[test]
fn an_export_without_auth_sys_is_refused() {
    let mounted = |flavours: &[u32]| {
        let reply = body(|w| {
            w.u32(0).opaque(b"handle").u32(flavours.len() as u32);
            flavours.iter().for_each(|flavour| _ = w.u32(*flavour));
        });
        results::mounted(Reader::new(&reply)).map(|root| root.unwrap().bytes().to_vec())
    };
    assert_eq!(mounted(&[6, 1]).unwrap(), b"handle");
    assert!(mounted(&[6]).is_err());
    let long = body(|w| _ = w.u32(0).opaque(&[0; 65]));
    assert!(results::mounted(Reader::new(&long)).is_err(), "a handle of 65 bytes");
}
