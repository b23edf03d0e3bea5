//! The worker: one instance behind a socket on the standard input.
use super::{
    super::{
        calls::{Answer, Call, Carrier, Local},
        library::Status,
    },
    PROTOCOL, Question, Response, Start,
    wire::{Wire, add, begun, frame, seal},
};
use rustix::{
    event::{PollFd, PollFlags, poll},
    process::{Resource, Rlimit, Signal, getpid, kill_process, setrlimit},
};
use serde::Deserialize;
use std::{
    fs::File,
    io,
    os::{fd::AsFd, unix::net::UnixStream},
    process::ExitCode,
};

/// Serves one instance until its owner frees it, or is gone. For the program that becomes a worker.
pub fn serve() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("an FMU's worker, which superdense starts by itself: {e}");
            ExitCode::from(2)
        }
    }
}

fn run() -> io::Result<()> {
    let mut wire = Wire::new(UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?));
    // The socket is not for the FMU, which may read its standard input.
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    watch(wire.socket.try_clone()?);
    let start: Start<'static> = wire.receive()?;
    let made = instance(&start);
    let said = made.as_ref().map(|_| ()).map_err(Clone::clone);
    wire.send(&frame(&said)?)?;
    let Ok(mut local) = made else { return Ok(()) };
    let mut memory = Vec::new();
    loop {
        let (question, calls) = part::<Question>(wire.message()?)?;
        if question.calls == 0 {
            drop(local);
            return wire.send(&frame(&())?);
        }
        let response = answer(&mut local, &question, calls)?;
        memory = begun(memory);
        add(&mut memory, &response)?;
        seal(&mut memory)?;
        wire.send(&memory)?;
    }
}

fn instance(start: &Start<'_>) -> Result<Local, String> {
    if start.protocol != PROTOCOL {
        return Err("the worker is of another version of superdense".to_owned());
    }
    // No core files; memory as far as the scenario allows.
    let limit = |most| Rlimit { current: most, maximum: most };
    let _ = setrlimit(Resource::Core, limit(Some(0)));
    if start.memory.is_some() {
        setrlimit(Resource::As, limit(start.memory)).map_err(|e| format!("`memory`: {e}"))?;
    }
    Local::new(&start.request)
}

/// The next part of a message, and what follows.
fn part<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> io::Result<(T, &'a [u8])> {
    postcard::take_from_bytes(bytes).map_err(io::Error::other)
}

fn answer(local: &mut Local, question: &Question, mut rest: &[u8]) -> io::Result<Response> {
    let mut numbers = vec![0.0; question.room];
    let (mut last, mut back) = ((Status::Ok, Answer::Nothing), 0);
    for k in (0..question.calls).rev() {
        let (call, others) = part::<Call<'_>>(rest)?;
        rest = others;
        last = local.carry(call, &mut numbers);
        if !last.0.is_good() {
            numbers.clear();
            back = k;
            break;
        }
    }
    let mut reads = Vec::new();
    for _ in 0..if last.0.is_good() { question.reads } else { 0 } {
        let ((room, call), others) = part::<(usize, Call<'_>)>(rest)?;
        rest = others;
        let mut numbers = vec![0.0; room];
        let (status, answer) = local.carry(call, &mut numbers);
        if status != Status::Ok {
            break;
        }
        reads.push((answer, numbers));
    }
    Ok(Response { status: last.0, back, answer: last.1, numbers, reads, heard: local.heard() })
}

/// Ends this process when its owner is gone, also while the FMU is busy.
fn watch(socket: UnixStream) {
    std::thread::spawn(move || {
        let mut gone = [PollFd::new(&socket, PollFlags::RDHUP)];
        while poll(&mut gone, None).is_err() {}
        let _ = kill_process(getpid(), Signal::KILL);
    });
}
