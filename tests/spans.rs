//! What is told through `tracing`: `cargo test --features tracing --test spans`.

mod common;

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use common::on_device;
use dacapo::{CapturePolicy, Enqueue, Error, LaunchConfig, Misuse, ThreadLocal, UpdatePolicy};
use dacapo_sim::Fault;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// A span that was opened, or an event, with the spans that it was in.
#[derive(Clone, Debug)]
struct Told {
    level: Level,
    name: String,
    within: Vec<String>,
    fields: BTreeMap<&'static str, String>,
}

impl Told {
    fn field(&self, name: &str) -> &str {
        self.fields.get(name).unwrap_or_else(|| panic!("no {name}: {self:?}"))
    }
}

/// Writes down what it is told; everything on one thread.
#[derive(Clone, Default)]
struct Listener(Arc<Notes>);

#[derive(Default)]
struct Notes {
    next: AtomicU64,
    told: Mutex<Vec<Told>>,
    names: Mutex<BTreeMap<u64, &'static str>>,
    entered: Mutex<Vec<u64>>,
    closed: AtomicU64,
}

#[derive(Default)]
struct Fields(BTreeMap<&'static str, String>);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }
}

impl Listener {
    fn note(&self, metadata: &Metadata<'_>, fields: Fields) {
        let mut fields = fields.0;
        let name = fields.remove("message").unwrap_or_else(|| metadata.name().into());
        let names = self.0.names.lock().unwrap();
        let within = self.0.entered.lock().unwrap().iter().map(|id| names[id].to_owned()).collect();
        self.0.told.lock().unwrap().push(Told { level: *metadata.level(), name, within, fields });
    }

    /// What was told since this was asked last.
    fn take(&self) -> Vec<Told> {
        std::mem::take(&mut *self.0.told.lock().unwrap())
    }

    fn names(&self) -> Vec<String> {
        self.take().into_iter().map(|told| told.name).collect()
    }
}

impl Subscriber for Listener {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("dacapo")
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let id = self.0.next.fetch_add(1, Ordering::Relaxed) + 1;
        let mut fields = Fields::default();
        span.record(&mut fields);
        self.note(span.metadata(), fields);
        self.0.names.lock().unwrap().insert(id, span.metadata().name());
        Id::from_u64(id)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        self.note(event.metadata(), fields);
    }

    fn enter(&self, span: &Id) {
        self.0.entered.lock().unwrap().push(span.into_u64());
    }

    fn exit(&self, span: &Id) {
        assert_eq!(self.0.entered.lock().unwrap().pop(), Some(span.into_u64()), "spans are left in order");
    }

    fn try_close(&self, _: Id) -> bool {
        // Clones are not counted: this is told of every drop.
        self.0.closed.fetch_add(1, Ordering::Relaxed);
        true
    }
}

/// Runs a test on a device, and listens.
fn listening(test: impl FnOnce(&common::Rig, &Listener)) {
    on_device(|rig| {
        let listener = Listener::default();
        tracing::subscriber::with_default(listener.clone(), || test(rig, &listener));
        assert!(listener.0.entered.lock().unwrap().is_empty());
    });
}

#[test]
fn a_life_is_told_step_by_step() {
    listening(|rig, listener| {
        let mut stream = rig.stream();
        let buffer = stream.alloc::<u32>(1).unwrap();
        let captured = stream.capture(ThreadLocal, |c| c.fill(&buffer, 1)).unwrap();
        let told = listener.take();
        let names: Vec<&str> = told.iter().map(|told| &*told.name).collect();
        assert_eq!(names, ["capture", "captured", "instantiate"]);
        assert_eq!((told[0].level, told[1].level, told[2].level), (Level::DEBUG, Level::DEBUG, Level::DEBUG));
        assert_eq!((&*told[0].within, told[0].field("mode")), (&[] as &[String], "ThreadLocal"));
        assert_eq!((&*told[1].within, told[1].field("nodes")), (&["capture".to_owned()] as &[String], "1"));
        assert_eq!((&*told[2].within, told[2].field("nodes")), (&["capture".to_owned()] as &[String], "1"));
        let stream = told[0].field("stream").to_owned();
        assert_eq!(told[2].field("stream"), stream);

        let published = captured.publish().unwrap();
        for _ in 0..3 {
            published.replay().unwrap();
        }
        let told = listener.take();
        let names: Vec<&str> = told.iter().map(|told| &*told.name).collect();
        assert_eq!(names, ["published", "replay", "replay", "replay"]);
        for told in &told {
            assert_eq!((told.field("stream"), told.field("generation")), (&*stream, "1"));
        }
        assert_eq!(told[1].level, Level::TRACE);

        let replayer = published.replayer();
        drop(published.reset().unwrap());
        let told = listener.take();
        let names: Vec<&str> = told.iter().map(|told| &*told.name).collect();
        assert_eq!(names, ["retired", "released"]);
        assert_eq!((told[0].field("replays"), told[1].field("segments")), ("3", "1"));

        assert!(matches!(replayer.replay(), Err(Error::Stale(_))));
        let told = listener.take();
        assert_eq!((told.len(), &*told[0].name, told[0].level), (1, "replay refused", Level::DEBUG));
        assert!(told[0].field("error").contains("was reset or dropped"), "{told:?}");
    });
}

#[test]
fn updates_and_generations_are_told() {
    listening(|rig, listener| {
        let mut stream = rig.stream();
        let (a, b) = (stream.alloc::<u32>(1).unwrap(), stream.alloc::<u32>(1).unwrap());
        let published = stream.capture(ThreadLocal, |c| c.fill(&a, 1)).unwrap().publish().unwrap();
        listener.take();
        let published = published.update(ThreadLocal, |c| c.fill(&a, 2)).unwrap();
        let told = listener.take();
        let names: Vec<&str> = told.iter().map(|told| &*told.name).collect();
        assert_eq!(names, ["capture", "update", "captured", "updated in place"]);
        assert_eq!((told[1].field("generation"), told[1].field("segment")), ("1", "0"));
        assert_eq!(told[3].within, ["capture", "update"]);

        let published = published.update(ThreadLocal, |c| c.copy(&a, &b)).unwrap();
        let told = listener.take();
        let names: Vec<&str> = told.iter().map(|told| &*told.name).collect();
        let expected = ["capture", "update", "captured", "update refused", "instantiate", "new generation", "released"];
        assert_eq!(names, expected);
        assert!(told[3].field("reason").contains("a node is of another kind"), "{told:?}");
        assert_eq!(told[5].field("generation"), "2");

        let mut published = published.with_policy(CapturePolicy::new().update(UpdatePolicy::Keep));
        let spare = published.sibling().capture(ThreadLocal, |c| c.fill(&a, 3)).unwrap();
        listener.take();
        drop(published.swap(spare).unwrap());
        assert_eq!(listener.names(), ["new generation", "released"]);
    });
}

#[test]
fn one_kernel_and_replicas_are_told() {
    listening(|rig, listener| {
        let mut stream = rig.stream();
        let word = stream.alloc::<u64>(1).unwrap();
        let increment = rig.kernel("increment_u64");
        let shape = LaunchConfig::new(1, 1);
        // SAFETY: increment_u64(counter), one 64-bit word.
        let captured = stream.capture(ThreadLocal, |c| unsafe { c.launch(&increment, shape, (&word,)) });
        let mut captured = captured.unwrap();
        listener.take();
        // SAFETY: as above.
        unsafe { captured.update_kernel(0, &increment, shape, (&word,)) }.unwrap();
        let told = listener.take();
        assert_eq!((told.len(), &*told[0].name), (1, "kernel updated"));
        assert_eq!((told[0].field("position"), told[0].field("kernel")), ("0", "\"increment_u64\""));
        // SAFETY: it adds atomically.
        let replicas = unsafe { captured.replicate(2) }.unwrap();
        assert_eq!(listener.names(), ["instantiate", "instantiate", "replicated"]);
        drop(replicas);
        assert_eq!(listener.names(), ["released", "released"]);
    });
}

#[test]
fn failures_and_what_is_put_off_are_told() {
    listening(|rig, listener| {
        let mut stream = rig.stream();
        let buffer = stream.alloc::<u32>(1).unwrap();
        let rejected = stream.capture(ThreadLocal, |_| Err(Misuse::Overlap.into())).unwrap_err();
        let told = listener.take();
        assert_eq!((&*told[1].name, told[1].level), ("capture lost", Level::WARN));
        assert!(told[1].field("error").contains("overlap"), "{told:?}");

        let stream = rejected.into_stream();
        let rejected = stream.capture(ThreadLocal, |_| Ok(())).unwrap_err();
        assert_eq!(listener.names(), ["capture", "capture lost"]);
        drop(rejected.into_stream().begin(ThreadLocal).unwrap().abort());
        assert_eq!(listener.names(), ["capture", "capture aborted"]);

        let stream = rig.stream();
        let published = stream.sibling().capture(ThreadLocal, |c| c.fill(&buffer, 1)).unwrap().publish().unwrap();
        let replayer = published.replayer();
        listener.take();
        let mut capturing = stream.begin(ThreadLocal).unwrap();
        assert!(matches!(replayer.replay(), Err(Error::Misuse(Misuse::CaptureOpen))));
        drop(published.reset().unwrap());
        assert_eq!(listener.names(), ["capture", "replay refused", "retired", "release deferred"]);
        capturing.fill(&buffer, 2).unwrap();
        drop(capturing.end().unwrap());
        assert_eq!(
            listener.names(),
            ["captured", "instantiate", "deferred release", "released", "released"],
            "the one that was put off, and the one that was captured"
        );

        let Some(sim) = rig.sim("injected faults") else { return };
        let published = rig.stream().capture(ThreadLocal, |c| c.fill(&buffer, 1)).unwrap().publish().unwrap();
        sim.inject(Fault::on("cuStreamSynchronize").code(999));
        listener.take();
        drop(published.reset());
        let told = listener.take();
        assert_eq!((&*told[1].name, told[1].level), ("poisoned", Level::ERROR));
        sim.reset();
    });
}

#[test]
fn a_listener_may_replay() {
    /// Replays once more whenever it is told of a replay, as far as that goes.
    struct Echo {
        replayer: Mutex<Option<dacapo::Replayer>>,
        echoes: AtomicU64,
    }

    impl Subscriber for Echo {
        fn enabled(&self, metadata: &Metadata<'_>) -> bool {
            metadata.is_event() && *metadata.level() == Level::TRACE && metadata.target().starts_with("dacapo")
        }

        fn new_span(&self, _: &Attributes<'_>) -> Id {
            Id::from_u64(1)
        }

        fn record(&self, _: &Id, _: &Record<'_>) {}

        fn record_follows_from(&self, _: &Id, _: &Id) {}

        fn event(&self, _: &Event<'_>) {
            if self.echoes.fetch_add(1, Ordering::Relaxed) == 0 {
                let replayer = self.replayer.lock().unwrap().clone();
                replayer.expect("it is set before it is replayed").replay().unwrap();
            }
        }

        fn enter(&self, _: &Id) {}

        fn exit(&self, _: &Id) {}
    }

    on_device(|rig| {
        let mut stream = rig.stream();
        let buffer = stream.alloc::<u32>(1).unwrap();
        let published = stream.capture(ThreadLocal, |c| c.fill(&buffer, 1)).unwrap().publish().unwrap();
        let replayer = Mutex::new(Some(published.replayer()));
        let echo = Arc::new(Echo { replayer, echoes: AtomicU64::new(0) });
        tracing::subscriber::with_default(echo.clone(), || {
            published.replay().unwrap();
            published.replay_with(|_| Ok(())).unwrap();
        });
        echo.replayer.lock().unwrap().take();
        assert_eq!(published.replays(), 3);
    });
}
