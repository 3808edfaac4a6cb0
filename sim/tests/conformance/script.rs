//! Scenarios as text.
//!
//! ```text
//! # A comment.
//! scenario a fork that is not joined
//!   streams s f
//!   events e
//!   begin s global            | s:A f:N
//!   inc s
//!   record e s
//!   wait f e                  | f:A
//!   inc f
//!   end s             => 904  | s:N f:N
//! ```
//!
//! A line is a command with its arguments; `=> code` says what it returns (0 if it says nothing), `| stream:status` what
//! `cuStreamIsCapturing` says afterwards (N none, A active, I invalidated, or the code that the query itself returns). `= value`
//! after a command compares what it reads. A line that begins with `T1:` or `T2:` runs on another thread, `bare:` on a thread
//! without a context. The commands are in [`world`](crate::world).

use crate::world::World;

/// One line, taken apart.
pub(crate) struct Line<'a> {
    /// Which thread runs it, if not the test's own.
    pub(crate) thread: Option<&'a str>,
    pub(crate) words: Vec<&'a str>,
    /// What the command must return.
    pub(crate) code: u32,
    /// What it must read.
    pub(crate) value: Option<&'a str>,
    /// Streams and their statuses afterwards.
    pub(crate) statuses: Vec<(&'a str, &'a str)>,
}

impl<'a> Line<'a> {
    fn parse(text: &'a str) -> Line<'a> {
        let (command, statuses) = text.split_once(" | ").unwrap_or((text, ""));
        let (command, code) = command.split_once("=>").unwrap_or((command, "0"));
        let (command, value) = match command.split_once(" = ") {
            Some((command, value)) => (command, Some(value.trim())),
            None => (command, None),
        };
        let mut words: Vec<&str> = command.split_whitespace().collect();
        let thread = words.first().and_then(|word| word.strip_suffix(':'));
        if thread.is_some() {
            words.remove(0);
        }
        Line {
            thread,
            words,
            code: code.trim().parse().expect("a code"),
            value,
            statuses: statuses.split_whitespace().map(|pair| pair.split_once(':').expect("stream:status")).collect(),
        }
    }
}

/// Runs every scenario of a file, each on fresh devices.
pub(crate) fn run_all(file: &str, text: &str) {
    let mut world: Option<World> = None;
    let mut title = "";
    let mut count = 0;
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.split('#').next().unwrap_or("").trim();
        if line.is_empty() {
            continue;
        }
        if let Some(next) = line.strip_prefix("scenario ") {
            drop(world.take());
            world = Some(World::new());
            title = next;
            count += 1;
            continue;
        }
        let world = world.as_mut().expect("a scenario has begun");
        let place = format!("{file}.txt:{number}: in \"{title}\": `{line}`");
        let line = Line::parse(line);
        let (code, value) = world.run(&line);
        assert_eq!(code, line.code, "{place} returns {code}");
        if let Some(expected) = line.value {
            assert_eq!(value.as_deref(), Some(expected), "{place} reads something else");
        }
        for (stream, expected) in &line.statuses {
            assert_eq!(world.status(stream), *expected, "{place} leaves {stream} in another state");
        }
    }
    assert!(count > 0, "{file}.txt holds no scenario");
}
