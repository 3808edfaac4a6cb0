//! The commands of the scenarios, and the objects that they name.
//!
//! Objects are named when they are made: `streams s f`, `blocking b`, `events e`, `timed t`, `on 1 streams t` (on the second
//! device), `in c streams f` (in a second context). Words are the words of a device's test memory, by index.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;

use crate::common::*;
use crate::script::Line;

/// How often host functions of the scenarios have run.
static HOST_CALLS: AtomicU32 = AtomicU32::new(0);
/// How often destructors of user objects have.
pub(crate) static RELEASED: AtomicU32 = AtomicU32::new(0);

pub(crate) unsafe extern "C" fn count_host(_data: u64) {
    // SeqCst: read by the test after the wait that ran this on the same thread.
    HOST_CALLS.fetch_add(1, Ordering::SeqCst);
}

pub(crate) unsafe extern "C" fn count_released(_data: u64) {
    // SeqCst: as above.
    RELEASED.fetch_add(1, Ordering::SeqCst);
}

pub(crate) unsafe extern "C" fn callback(_stream: u64, _status: u32, _data: u64) {}

type Job = Box<dyn FnOnce() + Send>;

/// A thread that runs what it is told, one thing at a time.
pub(crate) struct Worker {
    jobs: Option<mpsc::Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl Worker {
    pub(crate) fn new(context: u64) -> Worker {
        let (jobs, inbox) = mpsc::channel::<Job>();
        let thread = std::thread::spawn(move || {
            if context != 0 {
                assert_eq!(cuCtxSetCurrent(context), 0);
            }
            inbox.into_iter().for_each(|job| job());
        });
        Worker { jobs: Some(jobs), thread: Some(thread) }
    }

    pub(crate) fn run<R: Send + 'static>(&self, job: impl FnOnce() -> R + Send + 'static) -> R {
        let (tell, told) = mpsc::channel();
        let job = Box::new(move || tell.send(job()).expect("the scenario waits"));
        self.jobs.as_ref().expect("the thread lives").send(job).expect("the thread lives");
        told.recv().expect("the thread has not panicked")
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            let _panicked = thread.join();
        }
    }
}

/// An object with the device whose memory and kernels go with it.
#[derive(Clone, Copy)]
pub(crate) struct Object {
    pub(crate) handle: u64,
    pub(crate) gpu: usize,
}

/// What a scenario has made.
pub(crate) struct World {
    /// The two devices, and further contexts of the first.
    pub(crate) gpus: Vec<Gpu>,
    pub(crate) objects: BTreeMap<String, Object>,
    workers: BTreeMap<String, Worker>,
    host_calls: u32,
    pub(crate) released: u32,
}

/// What a command returned, and what it read.
pub(crate) type Answer = (u32, Option<String>);

impl World {
    pub(crate) fn new() -> World {
        let gpus = gpus::<2>().into();
        let objects = BTreeMap::from([
            ("0".to_owned(), Object { handle: 0, gpu: 0 }),
            ("legacy".to_owned(), Object { handle: 0, gpu: 0 }),
            ("per-thread".to_owned(), Object { handle: 2, gpu: 0 }),
        ]);
        World {
            gpus,
            objects,
            workers: BTreeMap::new(),
            // SeqCst: as where they are raised.
            host_calls: HOST_CALLS.load(Ordering::SeqCst),
            released: RELEASED.load(Ordering::SeqCst),
        }
    }

    pub(crate) fn find(&self, name: &str) -> Object {
        *self.objects.get(name).unwrap_or_else(|| panic!("nothing is named {name}"))
    }

    pub(crate) fn handle(&self, name: &str) -> u64 {
        self.find(name).handle
    }

    pub(crate) fn name(&mut self, name: &str, handle: u64, gpu: usize) {
        self.objects.insert(name.to_owned(), Object { handle, gpu });
    }

    /// The status of a stream as the scenarios write it.
    pub(crate) fn status(&self, stream: &str) -> String {
        let mut status = 9;
        match cuStreamIsCapturing(self.handle(stream), &mut status) {
            0 => ["N", "A", "I"][status as usize].to_owned(),
            code => code.to_string(),
        }
    }

    /// Runs a call on the thread that a line names.
    pub(crate) fn on<R: Send + 'static>(
        &mut self,
        thread: Option<&str>,
        call: impl FnOnce() -> R + Send + 'static,
    ) -> R {
        let Some(name) = thread else { return call() };
        let context = if name == "bare" { 0 } else { self.gpus[0].context };
        self.workers.entry(name.to_owned()).or_insert_with(|| Worker::new(context)).run(call)
    }

    /// Runs a line.
    pub(crate) fn run(&mut self, line: &Line<'_>) -> Answer {
        let words = line.words.as_slice();
        self.make(words)
            .or_else(|| self.stream_work(line))
            .or_else(|| self.capture(line))
            .or_else(|| self.events_and_waits(line))
            .or_else(|| self.memory(line))
            .or_else(|| self.graphs(line))
            .or_else(|| self.executables(line))
            .or_else(|| self.the_rest(line))
            .unwrap_or_else(|| panic!("no such command: {}", words.join(" ")))
    }

    /// Making streams, events and contexts.
    fn make(&mut self, words: &[&str]) -> Option<Answer> {
        let (gpu, words) = match words {
            ["on", device, rest @ ..] => (device.parse().expect("a device"), rest),
            ["in", context, rest @ ..] => (self.find(context).gpu, rest),
            words => (0, words),
        };
        let (create, names): (fn(*mut u64) -> u32, &[&str]) = match words {
            ["streams", names @ ..] => (|s| cuStreamCreate(s, 1), names),
            ["blocking", names @ ..] => (|s| cuStreamCreate(s, 0), names),
            ["events", names @ ..] => (|e| cuEventCreate(e, 2), names),
            ["timed", names @ ..] => (|e| cuEventCreate(e, 0), names),
            ["context", name] => {
                let context = ok(out(|c| cuCtxCreate_v4(c, std::ptr::null(), 0, self.gpus[0].ordinal)));
                let (ordinal, sim) = (self.gpus[0].ordinal, self.gpus[0].sim);
                self.gpus.push(Gpu::in_current(ordinal, context, sim));
                let gpu = self.gpus.len() - 1;
                self.name(name, context, gpu);
                self.gpus[0].bind();
                return Some((0, None));
            }
            ["bind", "none"] => return Some((cuCtxSetCurrent(0), None)),
            ["bind", device] => {
                let gpu = device.parse().unwrap_or_else(|_| self.find(device).gpu);
                return Some((cuCtxSetCurrent(self.gpus[gpu].context), None));
            }
            _ => return None,
        };
        self.gpus[gpu].bind();
        for name in names {
            let handle = ok(out(create));
            self.name(name, handle, gpu);
        }
        self.gpus[0].bind();
        Some((0, None))
    }

    /// Contexts, peers, threads, and what host functions have done.
    fn the_rest(&mut self, line: &Line<'_>) -> Option<Answer> {
        Some(match *line.words.as_slice() {
            // SeqCst: as where it is raised.
            ["host_calls"] => (0, Some((HOST_CALLS.load(Ordering::SeqCst) - self.host_calls).to_string())),
            ["thread_exits", name] => {
                drop(self.workers.remove(name));
                (0, None)
            }
            ["enable_peer"] => (cuCtxEnablePeerAccess(self.gpus[1].context, 0), None),
            ["disable_peer"] => (cuCtxDisablePeerAccess(self.gpus[1].context), None),
            ["couple"] => {
                let ordinals = [self.gpus[0].sim.ordinal(), self.gpus[1].sim.ordinal()];
                dacapo_sim::install().expect("installed").couple(&ordinals);
                (0, None)
            }
            ["record_context", event] => (cuCtxRecordEvent(self.gpus[0].context, self.handle(event)), None),
            ["wait_context", event] => (cuCtxWaitEvent(self.gpus[0].context, self.handle(event)), None),
            ["load"] => (self.on(line.thread, || load(KERNELS).err().unwrap_or(0)), None),
            ["load_library", name] => {
                let text = std::ffi::CString::new(KERNELS).expect("no NUL");
                let (code, library) = out(|l| cuLibraryLoadData(l, text.as_ptr(), 0, 0, 0, 0, 0, 0));
                let (_, kernel) = out(|k| cuLibraryGetKernel(k, library, c"inc".as_ptr()));
                self.name(name, kernel, 0);
                (code, None)
            }
            ["launch_kernel", kernel, stream] => {
                let memory = self.gpus[0].memory;
                (launch(self.handle(kernel), self.handle(stream), &[memory]), None)
            }
            _ => return None,
        })
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.workers.clear();
        let mut mode = GLOBAL;
        cuThreadExchangeStreamCaptureMode(&mut mode);
        for gpu in &self.gpus {
            gpu.sim.reset();
        }
        dacapo_sim::install().expect("installed").uncouple();
    }
}
