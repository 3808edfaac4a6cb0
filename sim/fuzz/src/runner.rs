//! Running sequences in a process of their own, so that a crash or a hang is a result like any other.

use std::ffi::OsString;
use std::fmt;
use std::io::{self, BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

use crate::call::Sequence;
use crate::serve::READY;

/// How long a call may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// Which driver, with how many devices, in which program.
#[derive(Clone, Debug)]
pub struct Setup {
    /// This program.
    pub program: PathBuf,
    /// How many devices are used.
    pub devices: usize,
    /// The simulated driver instead of the one that is there.
    pub sim: bool,
}

/// What came of a sequence.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// A line for each step, and one for the end. Fewer if the process crashed or hung, the last one saying so.
    pub steps: Vec<String>,
    /// The violations that the simulated driver recorded.
    pub violations: Vec<String>,
}

impl Report {
    /// The report as JSON.
    #[must_use]
    pub fn to_json(&self, sequence: u64) -> Value {
        json!({ "sequence": sequence, "steps": self.steps, "violations": self.violations })
    }

    /// Reads what [`Report::to_json`] has made.
    #[must_use]
    pub fn from_json(value: &Value) -> Option<(u64, Report)> {
        let lines = |key: &str| {
            let lines = value.get(key)?.as_array()?.iter();
            lines.map(|line| line.as_str().map(str::to_owned)).collect::<Option<Vec<String>>>()
        };
        let sequence = value.get("sequence")?.as_u64()?;
        Some((sequence, Report { steps: lines("steps")?, violations: lines("violations")? }))
    }

    /// Whether the process crashed or hung.
    #[must_use]
    pub fn died(&self) -> bool {
        self.steps.last().is_some_and(|last| last.starts_with("crashed") || last.starts_with("hung"))
    }
}

/// Why nothing could be run.
#[derive(Debug)]
pub enum RunError {
    /// The process cannot be started.
    Start(io::Error),
    /// It did not get ready; what it had to say is on the standard error output.
    NoDriver,
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RunError::Start(_) => "the process that makes the calls cannot be started",
            RunError::NoDriver => "the process that makes the calls has no driver",
        })
    }
}

impl std::error::Error for RunError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            RunError::Start(error) => Some(error),
            RunError::NoDriver => None,
        }
    }
}

struct Process {
    child: Child,
    stdin: ChildStdin,
    lines: Receiver<String>,
    version: String,
}

impl Process {
    fn start(setup: &Setup) -> Result<Process, RunError> {
        let mut words: Vec<OsString> = vec!["serve".into(), "--devices".into(), setup.devices.to_string().into()];
        if setup.sim {
            words.push("--sim".into());
        }
        let mut child = Command::new(&setup.program)
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(RunError::Start)?;
        let stdin = child.stdin.take().expect("it was asked for");
        let stdout = child.stdout.take().expect("it was asked for");
        let (tell, lines) = channel();
        // It ends with the process, whose output it reads.
        std::thread::spawn(move || {
            BufReader::new(stdout).lines().map_while(Result::ok).try_for_each(|line| tell.send(line))
        });
        let mut process = Process { child, stdin, lines, version: String::new() };
        let ready = process.lines.recv_timeout(PATIENCE).ok();
        process.version =
            ready.and_then(|line| Some(line.strip_prefix(READY)?.to_owned())).ok_or(RunError::NoDriver)?;
        Ok(process)
    }

    fn run(&mut self, sequence: &Sequence) -> Report {
        let mut report = Report::default();
        // When this fails the process has died, and there are no more lines.
        let _died = writeln!(self.stdin, "{sequence}.").and_then(|()| self.stdin.flush());
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) if line == "." => return report,
                Ok(line) => match line.strip_prefix("! ") {
                    Some(violation) => report.violations.push(violation.to_owned()),
                    None => report.steps.push(line),
                },
                Err(RecvTimeoutError::Timeout) => {
                    report.steps.push("hung".to_owned());
                    return report;
                }
                Err(RecvTimeoutError::Disconnected) => {
                    let status = self.child.wait().map_or_else(|error| error.to_string(), |status| status.to_string());
                    report.steps.push(format!("crashed: {status}"));
                    return report;
                }
            }
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Both fail when it has ended already.
        let _ended = self.child.kill();
        let _waited = self.child.wait();
    }
}

/// Runs sequences, each as if it were the first.
pub struct Runner {
    setup: Setup,
    process: Option<Process>,
    version: String,
}

impl Runner {
    /// Nothing is started before it is needed.
    #[must_use]
    pub fn new(setup: Setup) -> Runner {
        Runner { setup, process: None, version: String::new() }
    }

    /// The version of the driver that has run something last, as it says it.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Runs a sequence.
    ///
    /// # Errors
    ///
    /// When the process cannot be started or finds no driver.
    pub fn run(&mut self, sequence: &Sequence) -> Result<Report, RunError> {
        let mut process = match self.process.take() {
            Some(process) => process,
            None => Process::start(&self.setup)?,
        };
        let report = process.run(sequence);
        self.version.clone_from(&process.version);
        // A process that was left in another state than it was found in is not used again.
        if !report.died() && !report.steps.last().is_some_and(|last| last.ends_with(" unclean")) {
            self.process = Some(process);
        }
        Ok(report)
    }
}

/// Does something for each of so many numbers, with so many workers side by side that have a state of their own.
///
/// # Errors
///
/// The first that any of them returns; the others stop then.
pub fn side_by_side<S, R: Send, E: Send>(
    count: usize,
    workers: usize,
    begin: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, usize) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new((0..count).map(|_| None).collect::<Vec<Option<R>>>());
    let failure = Mutex::new(None);
    std::thread::scope(|scope| {
        for _ in 0..workers.clamp(1, count.max(1)) {
            scope.spawn(|| {
                let mut state = begin();
                loop {
                    // Relaxed: only the number matters; results pass through the locks.
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= count {
                        return;
                    }
                    match work(&mut state, number) {
                        Ok(result) => {
                            results.lock().unwrap_or_else(PoisonError::into_inner)[number] = Some(result);
                        }
                        Err(error) => {
                            // Relaxed: as above.
                            next.store(count, Ordering::Relaxed);
                            *failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                            return;
                        }
                    }
                }
            });
        }
    });
    match failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(error) => Err(error),
        None => Ok(results.into_inner().unwrap_or_else(PoisonError::into_inner).into_iter().flatten().collect()),
    }
}
