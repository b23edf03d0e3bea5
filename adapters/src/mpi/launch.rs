//! Ranks on hosts: `mpiexec` starts them, and the launcher hears from their guards how they end.
use super::{guard::MARK, library::Installed};
use std::{
    ffi::OsString,
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, Command, ExitStatus, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// How long the first rank has to complete its files after another one is lost.
const GRACE: Duration = Duration::from_millis(1500);
/// How long all may take to end after the first rank has.
const PARTING: Duration = Duration::from_secs(5);
/// How the launcher tells the first rank, over its input, that a rank is lost, and of Ctrl-C.
pub const LOST: &str = "lost ";
/// As [`LOST`].
pub const INTERRUPT: &str = "interrupt";
/// The most ranks.
const MOST: u32 = 4096;

/// Hosts with their numbers of ranks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hosts(Vec<(String, u32)>);

impl Hosts {
    /// How many ranks there are.
    pub fn ranks(&self) -> u32 {
        self.0.iter().map(|(_, slots)| slots).sum()
    }

    /// The host of a rank: slots are taken in order.
    fn of(&self, rank: u32) -> &str {
        let mut after = 0;
        let mut hosts = self.0.iter();
        let host = hosts.find(|(_, slots)| {
            after += slots;
            rank < after
        });
        host.map_or("?", |(host, _)| host)
    }

    /// As `mpiexec` takes it.
    fn text(&self) -> String {
        let each = self.0.iter().map(|(host, slots)| format!("{host}:{slots}"));
        each.collect::<Vec<_>>().join(",")
    }
}

impl std::str::FromStr for Hosts {
    type Err = String;

    /// `a,b:2`: names with a number of ranks each, one unless it is given.
    fn from_str(text: &str) -> Result<Self, String> {
        let mistake = || {
            format!(
                "`{text}` names no hosts; write them as a,b:2, with the number of ranks of each"
            )
        };
        let mut hosts = Vec::new();
        for part in text.split(',').map(str::trim) {
            let (host, slots) = part.rsplit_once(':').unwrap_or((part, "1"));
            let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
            let slots = slots.parse::<u32>().ok().filter(|slots| (1..=MOST).contains(slots));
            match slots {
                Some(slots)
                    if !host.is_empty() && !host.starts_with('-') && host.chars().all(plain) =>
                {
                    hosts.push((host.to_owned(), slots));
                }
                _ => return Err(mistake()),
            }
        }
        let hosts = Self(hosts);
        if hosts.ranks() > MOST {
            Err(format!("there may be {MOST} ranks; name fewer"))
        } else {
            Ok(hosts)
        }
    }
}

/// Something the launcher hears.
enum Heard {
    /// A line of a guard.
    Guard(String),
    /// Nobody writes any more.
    Silence,
}

/// Ranks that were started.
pub struct Launch {
    hosts: Hosts,
    starter: Child,
    input: Option<ChildStdin>,
    heard: Receiver<Heard>,
    /// Passes on what the first rank prints.
    printer: Option<JoinHandle<()>>,
}

/// How a run over ranks ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// The first rank came to its end and told of it, with this code.
    Told(u8),
    /// A rank was lost: why, and whether the first one has completed its files and told of it.
    Lost(String, bool),
    /// A rank could not begin, and has told why.
    Unbegun,
    /// `mpiexec` ended without a word of the first rank.
    Starter(String),
}

impl std::fmt::Debug for Launch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ranks by process {}", self.starter.id())
    }
}

impl Launch {
    /// Starts a command as a rank on each slot.
    ///
    /// # Errors
    /// When `mpiexec` cannot be started.
    pub fn start(mpi: &Installed, hosts: &Hosts, command: &[OsString]) -> Result<Self, String> {
        let mut starter = Command::new(&mpi.starter);
        starter.arg("-hosts").arg(hosts.text());
        starter.arg("-n").arg(hosts.ranks().to_string()).args(command);
        starter.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Ctrl-C is for the launcher, which asks ranks to stop.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut starter, 0);
        let cannot = |e| format!("{} cannot be started: {e}", mpi.starter.display());
        let mut starter = starter.spawn().map_err(cannot)?;
        let (send, heard) = channel();
        let (input, printed) = (starter.stdin.take(), starter.stdout.take());
        if let Some(errors) = starter.stderr.take() {
            thread::spawn(move || relay(errors, std::io::stderr(), Some(&send)));
        }
        let printer = printed.map(|out| thread::spawn(|| relay(out, std::io::stdout(), None)));
        Ok(Self { hosts: hosts.clone(), starter, input, heard, printer })
    }

    /// Tells the first rank something.
    fn tell(&mut self, line: &str) {
        if let Some(input) = &mut self.input {
            let _ = input.write_all(format!("{line}\n").as_bytes()).and_then(|()| input.flush());
        }
    }

    /// Waits for the end. `interrupted` tells whether Ctrl-C was pressed.
    pub fn wait(mut self, interrupted: &dyn Fn() -> bool) -> End {
        let end = self.ending(interrupted);
        if let Some(printer) = self.printer.take() {
            let _ = printer.join();
        }
        end
    }

    fn ending(&mut self, interrupted: &dyn Fn() -> bool) -> End {
        let mut end: Option<(End, Instant)> = None;
        let mut asked = false;
        loop {
            if interrupted() && !asked {
                asked = true;
                self.tell(INTERRUPT);
            }
            match self.heard.recv_timeout(Duration::from_millis(20)) {
                Ok(Heard::Guard(line)) => self.hear(&line, &mut end),
                Err(RecvTimeoutError::Timeout) => {}
                Ok(Heard::Silence) | Err(RecvTimeoutError::Disconnected) => {
                    let status = self.starter.wait();
                    return end.map_or_else(|| End::Starter(shown(status)), |(end, _)| end);
                }
            }
            if end.as_ref().is_some_and(|(_, until)| Instant::now() >= *until) {
                break;
            }
        }
        self.stop();
        end.map_or(End::Unbegun, |(end, _)| end)
    }

    /// Ends all ranks that are left.
    fn stop(&mut self) {
        // It ends its ranks when it is asked to.
        #[cfg(unix)]
        if let Some(pid) = rustix::process::Pid::from_raw(self.starter.id().cast_signed()) {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        }
        let until = Instant::now() + Duration::from_millis(400);
        while Instant::now() < until {
            if !matches!(self.starter.try_wait(), Ok(None)) {
                return;
            }
            thread::sleep(Duration::from_millis(10));
        }
        let _ = self.starter.kill();
        let _ = self.starter.wait();
    }

    /// Takes in a line of a guard: the number of its rank, and what happened to it.
    fn hear(&mut self, line: &str, end: &mut Option<(End, Instant)>) {
        let Some((rank, what)) = line.split_once(' ') else { return };
        let Some(how) = what.strip_prefix("ended ") else { return };
        let code = how.parse::<u8>().ok();
        let now = Instant::now();
        match (rank, code, &end) {
            // Others hear from the first rank what happened.
            ("0", Some(0), None) => *end = Some((End::Told(0), now + PARTING)),
            ("0", Some(code), None) => *end = Some((End::Told(code), now)),
            ("0", Some(_), Some((End::Lost(why, _), _))) => {
                *end = Some((End::Lost(why.clone(), true), now));
            }
            (_, Some(0), _) | (_, _, Some(_)) => {}
            (_, Some(2), None) => *end = Some((End::Unbegun, now)),
            _ => {
                let how = match code {
                    Some(code) => format!("ended with code {code}"),
                    None => format!("was {how}"),
                };
                let host = rank.parse().map_or("?", |rank| self.hosts.of(rank));
                let why = format!("rank {rank} on {host} {how}");
                self.tell(&format!("{LOST}{why}"));
                let until = if rank == "0" { now } else { now + GRACE };
                *end = Some((End::Lost(why, false), until));
            }
        }
    }
}

/// Passes on what ranks say, and takes out what guards say, and the words of `mpiexec` on processes that ended, of which
/// guards tell more.
fn relay(from: impl std::io::Read, mut to: impl Write, guards: Option<&Sender<Heard>>) {
    let mut lines = BufReader::new(from);
    let mut line = Vec::new();
    let mut hushed = false;
    while lines.read_until(b'\n', &mut line).is_ok_and(|n| n > 0) {
        let text = String::from_utf8_lossy(&line);
        let words = text.trim();
        hushed |= words.len() > 60 && words.bytes().all(|b| b == b'=');
        hushed |= words.starts_with("YOUR APPLICATION TERMINATED");
        match (text.find(MARK), guards) {
            (Some(at), Some(guards)) => {
                let _ = to.write_all(&line[..at.min(line.len())]);
                let _ = guards.send(Heard::Guard(text[at + MARK.len()..].trim().to_owned()));
            }
            _ if hushed => {}
            _ => drop(to.write_all(&line).and_then(|()| to.flush())),
        }
        line.clear();
    }
    if let Some(guards) = guards {
        let _ = guards.send(Heard::Silence);
    }
}

fn shown(status: std::io::Result<ExitStatus>) -> String {
    status.map_or_else(|e| e.to_string(), |status| status.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_have_slots() {
        let hosts = |text: &str| text.parse::<Hosts>();
        let two = hosts("a, b:2").expect("two hosts");
        assert_eq!((two.ranks(), two.text()), (3, "a:1,b:2".to_owned()));
        assert_eq!([0, 1, 2, 3].map(|rank| two.of(rank)), ["a", "b", "b", "?"]);
        assert_eq!(hosts("10.0.0.5:3").map(|h| h.text()), Ok("10.0.0.5:3".to_owned()));
        for wrong in ["", "a,", "a:0", "a:x", ":2", "-f", "a b", "a:5000", "a:4096,b"] {
            assert!(hosts(wrong).is_err(), "{wrong}");
        }
    }
}
