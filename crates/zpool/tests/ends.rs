//! How the server process ends when a device fails or does not answer, whoever waits for what.
//!
//! Prevents: a lab that waits for ever, and a process that outlives its lab and keeps the devices.

use crate::rig::{Rig, block};
use serde::Serialize;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use targets::{Op, Port};
use zpool::{DeviceFault, DeviceOp, FaultDone, Redundancy, Tuning, Zpool};

fn fault(op: DeviceOp, after: u64, done: FaultDone) -> DeviceFault {
    DeviceFault {
        device: None,
        op,
        after,
        times: u64::MAX,
        done,
    }
}

/// A device that holds every write, with a file on it that has something to write.
fn held(zpool: &Zpool, rig: &Rig) -> zpool::ZpoolPort {
    zpool.create(&rig.spec(Redundancy::Stripe)).unwrap();
    let name = rig.file(zpool, "data", 1 << 20, 8192, &[]);
    let mut port = zpool.open(&[name], 1 << 20, 4).unwrap();
    zpool.plant(&fault(DeviceOp::Write, 0, FaultDone::Held)).unwrap();
    crate::rig::write(&mut port, 0, &block(0, 1));
    port
}

#[test]
fn who_is_not_answered_is_told_so() {
    let Some(rig) = Rig::new(1) else { return };
    let zpool = rig.start();
    let port = held(&zpool, &rig);
    zpool.answer_within(Duration::from_secs(1));
    let error = zpool.sync().unwrap_err().to_string();
    assert!(
        error.contains("did not answer within 1 s") && error.contains("SIGKILL"),
        "{error}"
    );
    drop(port);
}

#[test]
fn a_port_whose_requests_do_not_end_is_closed_all_the_same() {
    let Some(rig) = Rig::new(1) else { return };
    let zpool = rig.start();
    let mut port = held(&zpool, &rig);
    zpool.answer_within(Duration::from_secs(1));
    port.submit(targets::Request {
        op: Op::Flush,
        file: targets::FileId(0),
        offset: 0,
        at: 0,
        len: 0,
        token: 0,
    })
    .unwrap();
    assert!(
        port.wait(1, Some(targets::monotonic_ns() + 100_000_000), &mut Vec::new())
            .is_ok()
    );
    let began = Instant::now();
    drop(port);
    assert!(began.elapsed() < Duration::from_secs(60));
    assert!(zpool.count().is_err(), "a process that keeps a request is no more");
}

/// A question as it goes over the socket.
fn ask(mut socket: &UnixStream, question: &impl Serialize) {
    let body = serde_json::to_vec(question).unwrap();
    socket.write_all(&(body.len() as u32).to_le_bytes()).unwrap();
    socket.write_all(&body).unwrap();
}

fn answer(mut socket: &UnixStream) -> String {
    let mut head = [0; 4];
    socket.read_exact(&mut head).unwrap();
    let mut body = vec![0; u32::from_le_bytes(head) as usize];
    socket.read_exact(&mut body).unwrap();
    String::from_utf8(body).unwrap()
}

#[test]
fn a_lab_that_goes_in_the_middle_of_a_question_takes_the_process_with_it() {
    let Some(rig) = Rig::new(1) else { return };
    let (socket, theirs) = UnixStream::pair().unwrap();
    let mut server = Command::new(&rig.launch.program)
        .stdin(OwnedFd::from(theirs))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let tuning = Tuning {
        export_s: 1,
        ..Tuning::new(crate::rig::ARC)
    };
    let questions = [
        serde_json::json!({ "Start": tuning }),
        serde_json::json!({ "Create": rig.spec(Redundancy::Stripe) }),
        serde_json::json!({ "Fault": fault(DeviceOp::Flush, 0, FaultDone::Held) }),
    ];
    for question in questions {
        ask(&socket, &question);
        let said = answer(&socket);
        assert!(said.contains("Started") || said.contains("Done"), "{said}");
    }
    ask(&socket, &serde_json::json!("Sync"));
    // In the middle of it: nothing ends, for the device does not.
    std::thread::sleep(Duration::from_millis(300));
    drop(socket);
    let gone = Instant::now();
    let status = loop {
        if let Some(status) = server.try_wait().unwrap() {
            break status;
        }
        if gone.elapsed() > Duration::from_secs(30) {
            server.kill().unwrap();
            server.wait().unwrap();
            panic!("it outlives its lab");
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    assert_eq!(status.code(), Some(70), "{status}");
}

#[test]
fn a_pool_that_stops_while_it_is_made_or_closed_is_an_error() {
    let Some(rig) = Rig::new(1) else { return };
    let zpool = rig.start();
    zpool.create(&rig.spec(Redundancy::Stripe)).unwrap();
    zpool.plant(&fault(DeviceOp::Write, 0, FaultDone::Error(5))).unwrap();
    let error = zpool.export("assayt").unwrap_err().to_string();
    assert!(error.contains("a device failed"), "{error}");

    let mut spec = rig.spec(Redundancy::Stripe);
    spec.overwrite = true;
    let zpool = rig.start();
    zpool.plant(&fault(DeviceOp::Write, 40, FaultDone::Error(5))).unwrap();
    let error = zpool.create(&spec).unwrap_err().to_string();
    assert!(error.contains("a device failed, and OpenZFS waits for it"), "{error}");
}
