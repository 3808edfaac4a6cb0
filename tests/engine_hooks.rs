//! What an engine plugs in: operations as values, frozen scratch memory, the gate, unsafe calls of its own.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use common::{on_device, on_device_alone};
use dacapo::{Buffer, Capturable, CaptureGate, Enqueue, Error, Freeze, Misuse, Operation, Relaxed, ThreadLocal, Work};

struct Put(Buffer<u32>, u32);

impl Operation for Put {
    fn name(&self) -> &str {
        "put"
    }
    fn enqueue(&self, work: &mut Work<'_>) -> Result<(), Error> {
        work.fill(&self.0, self.1)
    }
}
impl Capturable for Put {}

/// Counts how often it was enqueued; refuses to be captured.
#[derive(Default)]
struct Ask(AtomicUsize);

impl Operation for Ask {
    fn name(&self) -> &str {
        "ask the host"
    }
    fn is_capturable(&self) -> bool {
        false
    }
    fn enqueue(&self, _: &mut Work<'_>) -> Result<(), Error> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

#[test]
fn a_list_of_operations_is_asked_before_the_driver_is_touched() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let put = Put(stream.alloc(1).unwrap(), 3);
        let ask = Ask::default();
        stream.run_eager_operation(&ask).unwrap();
        assert_eq!(ask.0.load(Ordering::Relaxed), 1);
        let sim = rig.sim("a call log");
        if let Some(sim) = sim {
            sim.clear_calls();
        }
        let rejected = stream.capture_all(ThreadLocal, &[&put, &ask]).unwrap_err();
        let Error::Misuse(Misuse::NotCapturable { position: 1, name }) = rejected.error() else { panic!("{rejected}") };
        assert_eq!(&**name, "ask the host");
        if let Some(sim) = sim {
            assert!(sim.calls().is_empty(), "{:?}", sim.calls());
        }
        assert_eq!(ask.0.load(Ordering::Relaxed), 1);
        let captured = rejected.into_stream().capture_all(ThreadLocal, &[&put, &put]).unwrap();
        assert_eq!(captured.census().to_string(), "memset ×2");
        let idle = captured.discard().unwrap();
        let mut published = idle.capture(ThreadLocal, |c| c.run_operation(&put)).unwrap().publish().unwrap();
        published.replay().unwrap();
        assert_eq!(published.read(&put.0).unwrap(), [3]);
    });
}

#[derive(Default)]
struct Scratch {
    frozen: AtomicI32,
    told: AtomicI32,
}

impl Freeze for Scratch {
    fn freeze(&self) {
        self.frozen.fetch_add(1, Ordering::Relaxed);
        self.told.fetch_add(1, Ordering::Relaxed);
    }
    fn thaw(&self) {
        self.frozen.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Scratch {
    fn is_frozen(&self) -> i32 {
        self.frozen.load(Ordering::Relaxed)
    }
}

#[test]
fn scratch_memory_is_frozen_from_the_capture_until_the_last_graph_is_gone() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let (scratch, a) = (Arc::new(Scratch::default()), stream.alloc::<u32>(1).unwrap());
        let other = stream.sibling();
        let graph = |stream: dacapo::Stream<dacapo::Idle>| {
            stream.capture(ThreadLocal, |c| {
                c.freeze(&scratch);
                c.freeze(&scratch);
                c.fill(&a, 1)
            })
        };
        let first = graph(stream).unwrap().publish().unwrap();
        assert_eq!((scratch.is_frozen(), scratch.told.load(Ordering::Relaxed)), (1, 1), "once a graph");
        let second = graph(other).unwrap();
        assert_eq!(scratch.is_frozen(), 2);
        drop(first);
        assert_eq!(scratch.is_frozen(), 1);
        let stream = second.discard().unwrap();
        assert_eq!(scratch.is_frozen(), 0);
        let rejected = stream.capture(ThreadLocal, |c| {
            c.freeze(&scratch);
            Err(Misuse::Overlap.into())
        });
        assert_eq!(scratch.is_frozen(), 0, "a lost capture thaws too");
        let mut stream = rejected.unwrap_err().into_stream();
        stream.freeze(&scratch);
        stream.fill(&a, 2).unwrap();
        assert_eq!(scratch.is_frozen(), 1);
        stream.synchronize().unwrap();
        assert_eq!(scratch.is_frozen(), 0);
    });
}

#[test]
fn a_synchroniser_and_a_capture_keep_each_other_out() {
    on_device_alone(|rig| {
        let mut stream = rig.stream();
        let a = stream.alloc::<u32>(1).unwrap();
        assert!(!CaptureGate::is_capturing());
        let captured = stream.capture(ThreadLocal, |c| {
            assert!(CaptureGate::is_capturing());
            assert!(matches!(CaptureGate::synchronising(), Err(Misuse::GateHeld)));
            c.fill(&a, 1)
        });
        let stream = captured.unwrap().discard().unwrap();
        let room = CaptureGate::synchronising().unwrap();
        let rejected = stream.begin(ThreadLocal).unwrap_err();
        assert!(matches!(rejected.error(), Error::Misuse(Misuse::GateHeld)), "{rejected}");
        let second = CaptureGate::synchronising().unwrap();
        drop((room, second));
        let capturing = rejected.into_stream().begin(ThreadLocal).unwrap();
        let context = rig.context().clone();
        thread::scope(|scope| {
            let worker = scope.spawn(move || {
                let _room = CaptureGate::synchronising().unwrap();
                context.synchronize()
            });
            thread::sleep(Duration::from_millis(20));
            assert!(!worker.is_finished(), "waits for the capture");
            drop(capturing.abort());
            worker.join().unwrap().unwrap();
        });
    });
}

#[test]
fn captures_and_context_synchronisations_take_turns() {
    on_device_alone(|rig| {
        let context = rig.context().clone();
        let graphs: Vec<_> = (0..2)
            .map(|_| {
                let mut stream = rig.stream();
                let a = stream.alloc::<u32>(1).unwrap();
                (stream, a)
            })
            .collect();
        thread::scope(|scope| {
            for (mut stream, a) in graphs {
                scope.spawn(move || {
                    for _ in 0..100 {
                        stream = stream.capture(Relaxed, |c| c.fill(&a, 1)).unwrap().discard().unwrap();
                    }
                });
            }
            scope.spawn(move || {
                for _ in 0..100 {
                    let _room = CaptureGate::synchronising().unwrap();
                    context.synchronize().unwrap();
                }
            });
        });
    });
}

#[test]
fn unsafe_calls_of_the_engine_go_through_where_they_are_allowed() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let a = stream.alloc::<u32>(1).unwrap();
        let elsewhere = rig.context().new_stream().unwrap();
        let captured = stream.capture(ThreadLocal, |c| {
            let scratch = rig.device.allow_unsafe_calls(|| elsewhere.alloc_zeros::<u32>(4))?;
            c.retain(scratch);
            c.fill(&a, 1)
        });
        let stream = captured.unwrap().discard().unwrap();
        let rejected = stream.capture(ThreadLocal, |c| {
            assert!(elsewhere.alloc_zeros::<u32>(4).is_err());
            c.fill(&a, 1)
        });
        assert!(matches!(rejected.unwrap_err().error(), Error::Capture(_)));
        let _ = rig.context().check_err();
    });
}
