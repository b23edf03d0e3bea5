//! The process of a simulator or a federate: how it is started, what it said last, and how it ends.
use crate::process::{ended, kill};
use std::{
    collections::VecDeque,
    io::{BufRead, BufReader, Read},
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Arc, Mutex, PoisonError},
    thread::JoinHandle,
    time::{Duration, Instant},
};

/// Lines of its error output that are kept for messages.
const LINES: usize = 12;

/// Longest line that is kept.
const LONGEST: u64 = 4096;

/// Time between two looks at a process that is waited for.
const LOOK: Duration = Duration::from_millis(5);

/// Time that a simulator has after `stop` to write its files and end.
const GRACE: Duration = Duration::from_secs(5);

type Lines = Arc<Mutex<VecDeque<String>>>;

/// A running program; killed where it is dropped.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    lines: Lines,
    reader: Option<JoinHandle<()>>,
}

/// Why a process could not be started.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StartError {
    /// The command has an open quote, or no words.
    #[error("`command` cannot be divided into words: close its quotes, and name a program first")]
    Words,
    /// The system refused.
    #[error("`{program}` cannot be started: {why}; install it, or correct `command`")]
    Refused {
        /// The program.
        program: String,
        /// The system's words.
        why: std::io::Error,
    },
}

/// The words of a command, divided as a shell divides them (quotes, backslashes), with no other
/// meaning of a shell; names in braces, such as `{address}`, stand for what is paired with them.
pub(crate) fn words(command: &str, names: &[(&str, &str)]) -> Option<Vec<String>> {
    let filled = |word: String| names.iter().fold(word, |word, (name, is)| word.replace(name, is));
    let words: Vec<String> = shlex::split(command)?.into_iter().map(filled).collect();
    words.first().is_some_and(|w| !w.is_empty()).then_some(words)
}

impl Process {
    /// Starts a program in a folder. What it prints goes to our error output, so that it does not
    /// mix with results.
    pub(crate) fn start(
        command: &str,
        names: &[(&str, &str)],
        folder: &Path,
    ) -> Result<Self, StartError> {
        let words = words(command, names).ok_or(StartError::Words)?;
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).stdin(Stdio::null()).stderr(Stdio::piped());
        command.stdout(Stdio::from(std::io::stderr()));
        if !folder.as_os_str().is_empty() {
            command.current_dir(folder);
        }
        // Ctrl-C is for us: the program is told to stop, and writes its files.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let refused = |why| StartError::Refused { program: words[0].clone(), why };
        let mut child = command.spawn().map_err(refused)?;
        let lines = Lines::default();
        let reader = child.stderr.take().map(|from| {
            let lines = Arc::clone(&lines);
            std::thread::spawn(move || keep(from, &lines))
        });
        Ok(Self { child, lines, reader })
    }

    /// How it ended, if it ends within so long.
    pub(crate) fn ended(&mut self, within: Duration) -> Option<ExitStatus> {
        ended(&mut self.child, within)
    }

    /// Its last lines, once all is read if it has ended.
    pub(crate) fn last_lines(&mut self, ended: bool) -> Vec<String> {
        let deadline = Instant::now() + Duration::from_millis(200);
        let reading = |r: &Option<JoinHandle<()>>| r.as_ref().is_some_and(|r| !r.is_finished());
        while ended && reading(&self.reader) && Instant::now() < deadline {
            std::thread::sleep(LOOK);
        }
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    /// Waits for its end after `stop`, then kills it.
    pub(crate) fn end(&mut self, grace: bool) {
        if self.ended(if grace { GRACE } else { Duration::ZERO }).is_none() {
            kill(&mut self.child);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end(false);
    }
}

/// Keeps the last lines of an error output.
fn keep(from: impl Read, lines: &Lines) {
    let mut from = BufReader::new(from);
    let mut line = Vec::new();
    while from.by_ref().take(LONGEST).read_until(b'\n', &mut line).is_ok_and(|n| n > 0) {
        let text = String::from_utf8_lossy(&line).trim_end().to_owned();
        let mut kept = lines.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() == LINES {
            kept.pop_front();
        }
        kept.push_back(text);
        drop(kept);
        line.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_divided_without_a_shell() {
        let all = words("py -m 'my sim' \"{address}\" $HOME;x", &[("{address}", "localhost:5555")])
            .unwrap();
        assert_eq!(all, ["py", "-m", "my sim", "localhost:5555", "$HOME;x"]);
        assert_eq!(words("python3 'open", &[]), None);
        assert_eq!(words("  ", &[]), None);
        assert_eq!(words("''", &[]), None);
    }

    #[test]
    fn the_end_and_the_last_words_are_known() {
        let command = "sh -c 'for i in 1 2 3; do echo line $i >&2; done; exit 7'";
        let mut process = Process::start(command, &[], Path::new("")).unwrap();
        let status = process.ended(Duration::from_secs(10)).unwrap();
        assert_eq!(status.code(), Some(7));
        assert_eq!(process.last_lines(true), ["line 1", "line 2", "line 3"]);
        let none = Process::start("no-such-program-here", &[], Path::new("")).unwrap_err();
        assert!(none.to_string().contains("no-such-program-here"), "{none}");
    }
}
