//! The process that makes the calls: sequences come in, results go out, line by line.
//!
//! At first it says `ready` and the version of the driver.
//!
//! In: the steps of a sequence, then a `.`. Out: one line for each step, one that begins with `end`, one for each violation
//! that the simulated driver has recorded (it begins with `!`), then a `.`.
//!
//! Every call is made on the thread that its step names, one call after the other: who holds the world makes the call.

use std::io::{self, BufRead, Write};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use crate::call::{Sequence, Step, THREADS};
use crate::driver::DriverError;
use crate::machine::Machine;
use crate::world::World;

/// How the first line begins.
pub(crate) const READY: &str = "ready ";

type Job = Box<dyn FnOnce(&mut World) + Send>;

/// A thread that does what it is told with the world that it is handed, and hands it back.
struct Caller {
    jobs: Sender<(World, Job)>,
    worlds: Receiver<World>,
}

impl Caller {
    fn new(machine: Arc<Machine>) -> Caller {
        let (jobs, inbox) = channel::<(World, Job)>();
        let (outbox, worlds) = channel();
        // It ends when nobody can send to it any more.
        std::thread::spawn(move || {
            machine.bind();
            for (mut world, job) in inbox {
                job(&mut world);
                if outbox.send(world).is_err() {
                    return;
                }
            }
        });
        Caller { jobs, worlds }
    }

    /// Does something on the thread; `None` when the thread has died.
    fn run<R: Send + 'static>(
        &self,
        world: World,
        job: impl FnOnce(&mut World) -> R + Send + 'static,
    ) -> Option<(World, R)> {
        let (tell, told) = channel();
        let job: Job = Box::new(move |world| {
            // Nobody listens if the process is about to end.
            let _ended = tell.send(job(world));
        });
        self.jobs.send((world, job)).ok()?;
        let world = self.worlds.recv().ok()?;
        Some((world, told.recv().ok()?))
    }
}

/// Runs the sequences that come in, until there are no more.
///
/// # Errors
///
/// When there is no driver, or it cannot be prepared.
pub fn serve(devices: usize, sim: bool) -> Result<(), DriverError> {
    let sim = match sim {
        false => None,
        true => {
            let devices = u32::try_from(devices).unwrap_or(1);
            let options = dacapo_sim::Options { devices, coupled: true, ..dacapo_sim::Options::default() };
            Some(options.install().map_err(DriverError::Install)?)
        }
    };
    let machine = Arc::new(Machine::new(devices, sim.is_some())?);
    if sim.as_ref().is_some_and(|sim| sim.device(0).calls().is_empty()) {
        return Err(DriverError::NotSimulated);
    }
    let callers: Vec<Caller> = (0..THREADS).map(|_| Caller::new(Arc::clone(&machine))).collect();
    let mut text = String::new();
    // If nobody listens, nothing will come in either.
    let _heard = say(&format!("{READY}{}", machine.version));
    for line in io::stdin().lock().lines().map_while(Result::ok) {
        if line != "." {
            text.push_str(&line);
            text.push('\n');
            continue;
        }
        let sequence = std::mem::take(&mut text).parse::<Sequence>();
        let done = sequence.ok().and_then(|sequence| run(&machine, &callers, sequence));
        let violations = sim.iter().flat_map(|sim| (0..sim.device_count()).map(|n| sim.device(n).take_violations()));
        let violations: String = violations.flatten().map(|violation| format!("! {violation}\n")).collect();
        if done.is_none() || say(&format!("{violations}.")).is_none() {
            break;
        }
    }
    Ok(())
}

/// Makes the calls of a sequence. `None` when a thread has died or nobody listens.
fn run(machine: &Arc<Machine>, callers: &[Caller], sequence: Sequence) -> Option<()> {
    let mut world = World::new(Arc::clone(machine));
    for step in sequence.0 {
        let step: Step = step;
        let (back, text) = callers[step.thread].run(world, move |world| world.step(&step))?;
        world = back;
        say(&text)?;
    }
    for (thread, caller) in callers.iter().enumerate() {
        (world, ()) = caller.run(world, move |world| world.leave(thread))?;
    }
    let (mut world, mut text) = callers[0].run(world, World::finish)?;
    let mut clean = true;
    for caller in callers {
        let (back, one) = caller.run(world, |world| world.is_clean())?;
        (world, clean) = (back, clean && one);
    }
    if !clean {
        text.push_str(" unclean");
    }
    say(&text)
}

/// Writes a line at once: what a crash leaves behind must be there. `None` when nobody listens.
fn say(line: &str) -> Option<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).ok()
}
