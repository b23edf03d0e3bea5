//! The owner's end: starting a worker, asking it, and telling how it died.
use super::{
    super::{
        archive::Unpacked,
        calls::{Answer, Call, Carrier},
        library::{Heard, Request, Status},
    },
    Isolation, PROTOCOL, Question, Response, Start,
    program::command,
    recovery::{Mark, POINT, Point, Recovery},
    wire::{Wire, add, begun, frame, seal},
};
use crate::process::{ended, kill};
use serde::de::DeserializeOwned;
use std::{
    fs::File,
    io,
    os::{
        fd::OwnedFd,
        unix::{
            net::UnixStream,
            process::{CommandExt, ExitStatusExt},
        },
    },
    path::{Path, PathBuf},
    process::{Child, ExitStatus, Stdio},
    time::Duration,
};
use tempfile::TempDir;

/// Workers that are tried for one call.
const ATTEMPTS: usize = 5;
/// Most calls in one message.
const TOGETHER: usize = 64;
/// Longest time that a process takes to end after its socket was closed.
const GRACE: Duration = Duration::from_millis(500);
/// Most bytes of a worker's last lines in a message.
const LINES: usize = 400;

/// A worker process.
struct Worker {
    child: Child,
    wire: Wire,
    timeout: Duration,
    output: PathBuf,
}

impl Worker {
    /// Starts a worker and lets it instantiate.
    fn new(start: &[u8], limits: &Isolation, folder: &Path) -> Result<Self, String> {
        let output = folder.join("output.txt");
        let lines = File::create(&output).map_err(|e| format!("{}: {e}", output.display()))?;
        let pair = move || {
            let (own, other) = UnixStream::pair()?;
            own.set_read_timeout(Some(limits.call_timeout))?;
            own.set_write_timeout(Some(limits.call_timeout))?;
            let mut command = command();
            command.stdin(Stdio::from(OwnedFd::from(other)));
            command.stdout(lines.try_clone()?).stderr(lines).current_dir(folder).process_group(0);
            Ok((command.spawn()?, own))
        };
        let started: io::Result<(Child, UnixStream)> = pair();
        let (child, socket) = started.map_err(|e| {
            format!(
                "no worker process could be started ({e}): isolation = \"process\" starts the program \
                 `superdense`, beside this one or on PATH"
            )
        })?;
        let timeout = limits.call_timeout;
        let mut this = Self { child, wire: Wire::new(socket), timeout, output };
        match this.ask::<Result<(), String>>(start) {
            Ok(Ok(())) => Ok(this),
            Ok(Err(why)) => Err(why),
            Err(death) => Err(format!("while the binary was loaded and instantiated, {death}")),
        }
    }

    /// An answer, or how the worker died.
    fn ask<T: DeserializeOwned>(&mut self, question: &[u8]) -> Result<T, String> {
        let asked = self.wire.send(question).and_then(|()| self.wire.receive());
        asked.map_err(|e| self.death(&e))
    }

    fn death(&mut self, e: &io::Error) -> String {
        let late = matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut);
        let end = if late { None } else { ended(&mut self.child, GRACE) };
        kill(&mut self.child);
        let how = match end {
            Some(status) => format!("the worker {}", fate(status)),
            None if late => {
                let seconds = self.timeout.as_secs_f64();
                format!(
                    "the worker gave no answer within {seconds} s (`call_timeout`) and was killed"
                )
            }
            None => format!("the worker broke its connection ({e}) and was killed"),
        };
        match self.last_lines() {
            lines if lines.is_empty() => how,
            lines => format!("{how}; its last lines: {lines}"),
        }
    }

    fn last_lines(&self) -> String {
        let bytes = std::fs::read(&self.output).unwrap_or_default();
        let tail = &bytes[bytes.len().saturating_sub(LINES)..];
        let text = String::from_utf8_lossy(tail);
        let lines: Vec<&str> = text.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
        lines[lines.len().saturating_sub(3)..].join(" | ")
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        kill(&mut self.child);
    }
}

fn fate(status: ExitStatus) -> String {
    match (status.signal(), status.code()) {
        (Some(signal), _) => match signal_hook::low_level::signal_name(signal) {
            Some(name) => format!("died by {name}"),
            None => format!("died by signal {signal}"),
        },
        (None, Some(code)) => format!("ended with exit status {code}"),
        (None, None) => "ended".to_owned(),
    }
}

/// An instance in a worker.
pub(in super::super) struct Remote {
    name: String,
    /// The frame of the first message.
    start: Vec<u8>,
    limits: Isolation,
    worker: Option<Worker>,
    heard: Heard,
    /// Calls that wait for the next one, and their marks.
    calls: Vec<u8>,
    marks: Vec<Mark>,
    /// Memory of the last question.
    memory: Vec<u8>,
    reads: Reads,
    recovery: Option<Recovery>,
    /// Where the worker works, and where the FMU is unpacked; they outlive the worker.
    place: TempDir,
    _files: Unpacked,
}

impl Remote {
    pub(in super::super) fn new(
        request: Request<'_>,
        limits: Isolation,
        files: Unpacked,
    ) -> Result<Self, String> {
        let name = request.name.to_string();
        let start = Start { protocol: PROTOCOL, memory: limits.memory, request };
        let start = frame(&start).map_err(|e| e.to_string())?;
        let place = files.workplace()?;
        let worker = Some(Worker::new(&start, &limits, place.path())?);
        let recovery = limits.restart.then(Recovery::default);
        let (calls, marks, reads) = (Vec::new(), Vec::new(), Reads::default());
        let heard = Heard::default();
        let (_files, memory) = (files, Vec::new());
        Ok(Self {
            name,
            start,
            limits,
            worker,
            heard,
            calls,
            marks,
            memory,
            reads,
            recovery,
            place,
            _files,
        })
    }

    fn ask(&mut self, frame: &[u8]) -> Result<Response, String> {
        match &mut self.worker {
            Some(worker) => worker.ask(frame),
            None => Err("the worker died before".to_owned()),
        }
    }

    /// Asks, if need be new workers that were brought to the place of the dead one.
    fn ask_on(&mut self, frame: &[u8]) -> Result<Response, String> {
        let mut death = match self.ask(frame) {
            Ok(response) => return Ok(response),
            Err(death) => death,
        };
        self.worker = None;
        let Some(recovery) = self.recovery.take() else { return Err(death) };
        for _ in 0..ATTEMPTS {
            // Results are equal with and without a death, so it is told beside them.
            eprintln!("{}: {death}; another one goes on from its last saved state", self.name);
            let revived = self.revive(&recovery).and_then(|()| self.ask(frame));
            match revived {
                Ok(response) => {
                    self.recovery = Some(recovery);
                    return Ok(response);
                }
                Err(again) => death = again,
            }
        }
        self.worker = None;
        Err(format!("{death}; {ATTEMPTS} workers were tried (`restart`)"))
    }

    fn revive(&mut self, recovery: &Recovery) -> Result<(), String> {
        self.worker = None;
        self.worker = Some(Worker::new(&self.start, &self.limits, self.place.path())?);
        for frame in &recovery.start {
            self.ask(frame)?;
        }
        if let Some(point) = &recovery.point {
            let bring = [
                Call::Deserialise(POINT, point.now.as_slice().into()),
                Call::Restore(POINT),
                Call::Free(POINT),
            ];
            let kept = point.kept.iter();
            let kept = kept.map(|(id, bytes)| Call::Deserialise(*id, bytes.as_slice().into()));
            for call in bring.into_iter().chain(kept) {
                let response = self.ask(&question(call)?)?;
                if !response.status.is_good() {
                    return Err("a new worker does not take the saved state".to_owned());
                }
            }
        }
        recovery.since.iter().try_for_each(|frame| self.ask(frame).map(|_| ()))
    }

    /// All calls that wait in one message, with the reads that follow a step.
    fn ask_all(&mut self, step: bool, room: usize) -> Result<Response, String> {
        let mut frame = begun(std::mem::take(&mut self.memory));
        let reads = if step { &self.reads.asked[..] } else { &[] };
        let head = Question { calls: self.marks.len(), room, reads: reads.len() };
        let made = add(&mut frame, &head).and_then(|()| {
            frame.append(&mut self.calls);
            for (call, room) in reads {
                add(&mut frame, room)?;
                frame.extend_from_slice(call);
            }
            seal(&mut frame)
        });
        self.calls.clear();
        let response = made.map_err(|e| e.to_string()).and_then(|()| self.ask_on(&frame));
        let mut due = false;
        if let (Some(recovery), true) = (&mut self.recovery, response.is_ok()) {
            due = recovery.note(&self.marks, frame.clone());
        }
        self.marks.clear();
        self.memory = frame;
        if due {
            self.save_point();
        }
        response
    }

    fn lost(&mut self, death: String) -> (Status, Answer) {
        self.heard.log.push((Status::Lost, "worker".to_owned(), death));
        (Status::Lost, Answer::Nothing)
    }

    /// Saves a point from which a new worker could go on. Without one more calls are made again.
    fn save_point(&mut self) {
        let kept = self.recovery.as_ref().map(Recovery::kept).unwrap_or_default();
        let mut bytes = |id: u64, call: Call<'_>| {
            let response = question(call).and_then(|frame| self.ask_on(&frame)).ok()?;
            match response.answer {
                Answer::Bytes(bytes) if response.status.is_good() => Some((id, bytes)),
                _ => None,
            }
        };
        let _ = bytes(POINT, Call::Save(POINT));
        let now = bytes(POINT, Call::Serialise(POINT));
        let _ = bytes(POINT, Call::Free(POINT));
        let kept: Option<_> = kept.into_iter().map(|id| bytes(id, Call::Serialise(id))).collect();
        if let (Some((_, now)), Some(kept), Some(recovery)) = (now, kept, &mut self.recovery) {
            recovery.saved(Point { now, kept });
        }
    }
}

fn question(call: Call<'_>) -> Result<Vec<u8>, String> {
    frame(&(Question { calls: 1, ..Question::default() }, call)).map_err(|e| e.to_string())
}

/// Whether a call can wait for the next one: it has no answer, and FMUs do not refuse it with reasons. They go in one
/// message.
fn waits(call: &Call<'_>) -> bool {
    matches!(call, Call::Free(_) | Call::Save(_) | Call::SetTime(_) | Call::SetStates(_))
}

/// Reads after a step: owners make one and the same as a rule.
#[derive(Default)]
struct Reads {
    /// Whether nothing else was called since the step.
    open: bool,
    /// Reads since the last step, with how many numbers each.
    made: Vec<(Vec<u8>, usize)>,
    /// Reads that were asked with it, and their answers.
    asked: Vec<(Vec<u8>, usize)>,
    answers: Vec<(Answer, Vec<f64>)>,
}

impl Reads {
    /// The answer to a call, if it was asked with the last step and nothing has changed since.
    fn known(&mut self, (call, bytes): (&Call<'_>, &[u8]), out: &mut [f64]) -> Option<Answer> {
        let read = matches!(call, Call::Get(..) | Call::OutputDerivatives(..));
        // States are saved as they are.
        let aside = matches!(call, Call::GetTexts(..) | Call::GetBytes(..));
        self.open &= read || aside || matches!(call, Call::Save(_) | Call::Free(_));
        if !self.open || !read {
            return None;
        }
        let own = out.len();
        let same = |(was, room): &(Vec<u8>, usize)| was == bytes && *room == own;
        let found = self.asked.iter().position(same);
        let found = found.and_then(|k| self.answers.get(k)).map(|(answer, numbers)| {
            out.copy_from_slice(numbers);
            answer.clone()
        });
        if !self.made.iter().any(same) {
            self.made.push((bytes.to_vec(), own));
        }
        found
    }

    /// The reads to ask with a step: those that followed the last one.
    fn begin_step(&mut self) {
        self.open = true;
        if !self.made.is_empty() {
            std::mem::swap(&mut self.asked, &mut self.made);
            self.made.clear();
        }
        self.answers.clear();
    }
}

impl Carrier for Remote {
    fn carry(&mut self, call: Call<'_>, out: &mut [f64]) -> (Status, Answer) {
        let before = self.calls.len();
        if let Err(e) = add(&mut self.calls, &call) {
            return self.lost(e.to_string());
        }
        if let Some(answer) = self.reads.known((&call, &self.calls[before..]), out) {
            self.calls.truncate(before);
            return (Status::Ok, answer);
        }
        self.marks.push(Mark::of(&call));
        if waits(&call) && self.marks.len() < TOGETHER {
            return (Status::Ok, Answer::Nothing);
        }
        let step = matches!(call, Call::Step { .. });
        if step {
            self.reads.begin_step();
        }
        let response = match self.ask_all(step, out.len()) {
            Ok(response) => response,
            Err(death) => return self.lost(death),
        };
        self.heard.merge(response.heard);
        if step {
            self.reads.answers = response.reads;
        }
        if response.status.is_good() && response.numbers.len() == out.len() {
            out.copy_from_slice(&response.numbers);
        }
        let answer = match response.back {
            0 => response.answer,
            back => Answer::Earlier(back),
        };
        (response.status, answer)
    }

    fn defers(&self) -> bool {
        true
    }

    fn defer(&mut self, call: &Call<'_>) -> bool {
        if self.marks.len() + 1 >= TOGETHER || add(&mut self.calls, call).is_err() {
            return false;
        }
        self.reads.open = false;
        self.marks.push(Mark::of(call));
        true
    }

    fn heard(&mut self) -> Heard {
        std::mem::take(&mut self.heard)
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        if let (Some(worker), Ok(end)) = (&mut self.worker, frame(&Question::default())) {
            // A binary that crashes here has given all its results: no run fails for it.
            if let Err(death) = worker.ask::<()>(&end) {
                eprintln!("{}: when the FMU was freed, {death}", self.name);
            }
        }
    }
}
