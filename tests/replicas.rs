//! Several executables of one captured graph, for replays that overlap.

mod common;

use std::sync::{Arc, Mutex};
use std::thread;

use common::{Rig, on_device};
use dacapo::cudarc::driver::CudaStream;
use dacapo::{
    Buffer, CapturePolicy, Enqueue, Error, Instantiated, Kernel, LaunchConfig, MemoryNodes, Misuse, NodeKind, Stream,
    ThreadLocal, Update,
};
use dacapo_sim::Fault;

const ONE: LaunchConfig = LaunchConfig::new(1, 1);

/// A graph that counts its replays in a word.
struct Counting {
    increment: Kernel,
    word: Buffer<u64>,
}

impl Counting {
    fn capture(rig: &Rig) -> (Self, Stream<Instantiated>) {
        let mut stream = rig.stream();
        let counting = Self { increment: rig.kernel("increment_u64"), word: stream.alloc(1).unwrap() };
        // SAFETY: increment_u64(counter), one 64-bit word.
        let captured =
            stream.capture(ThreadLocal, |c| unsafe { c.launch(&counting.increment, ONE, (&counting.word,)) });
        (counting, captured.unwrap())
    }

    /// Has a replica count in another word.
    fn count_in(&self, replica: &mut Stream<Instantiated>, word: &Buffer<u64>) {
        // SAFETY: increment_u64(counter), one 64-bit word.
        unsafe { replica.update_kernel("increment_u64", &self.increment, ONE, (word,)) }.unwrap();
    }
}

/// Replicas of a graph whose kernels do no harm to each other.
fn replicate(stream: &Stream<Instantiated>, replicas: usize) -> Result<Vec<Stream<Instantiated>>, Error> {
    // SAFETY: the graphs of these tests add atomically, fill and copy.
    unsafe { stream.replicate(replicas) }
}

#[test]
fn replays_of_replicas_overlap() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let (a, b) = (stream.alloc::<u32>(1).unwrap(), stream.alloc::<u32>(1).unwrap());
        let (store, spin) = (rig.kernel("store_u32"), rig.kernel("spin_until"));
        let captured = stream.capture(ThreadLocal, |c| {
            // SAFETY: store_u32(out, value), one word.
            unsafe { c.launch(&store, ONE, (&a, 1u32)) }?;
            // SAFETY: spin_until(flag), one word.
            unsafe { c.launch(&spin, ONE, (&b,)) }
        });
        let captured = captured.unwrap();
        let mut replica = replicate(&captured, 1).unwrap().remove(0);
        // SAFETY: as above.
        unsafe { replica.update_kernel("store_u32", &store, ONE, (&b, 1u32)) }.unwrap();
        // SAFETY: as above.
        unsafe { replica.update_kernel("spin_until", &spin, ONE, (&a,)) }.unwrap();
        let (mut one, mut other) = (captured.publish().unwrap(), replica.publish().unwrap());
        one.replay().unwrap();
        other.replay().unwrap();
        // Each waits for what the other does first: one after the other they would never end.
        one.synchronize().unwrap();
        other.synchronize().unwrap();
        assert_eq!((one.read(&a).unwrap(), one.read(&b).unwrap()), (vec![1], vec![1]));
    });
}

#[test]
fn each_has_its_own_stream_generations_and_life() {
    on_device(|rig| {
        let (counting, captured) = Counting::capture(rig);
        let replicas = replicate(&captured, 3).unwrap();
        assert_eq!(replicas.len(), 3);
        let mut published: Vec<_> =
            [captured].into_iter().chain(replicas).map(|stream| stream.publish().unwrap()).collect();
        for (number, stream) in published.iter().enumerate() {
            assert_eq!(stream.token().generation(), 1);
            assert_eq!(stream.census().to_string(), "kernel ×1");
            (0..=number).for_each(|_| stream.replay().unwrap());
            assert!(published[..number].iter().all(|before| before.token() != stream.token()));
        }
        assert_eq!(published.iter().map(Stream::replays).collect::<Vec<_>>(), [1, 2, 3, 4]);
        let (mut last, stale) = (published.pop().unwrap(), published[1].replayer());
        last.synchronize().unwrap();
        drop(published.remove(1).reset().unwrap());
        assert!(matches!(stale.replay(), Err(Error::Stale(_))));
        // The others go on, the original's graph being gone as well.
        drop(published.remove(0));
        let mut third = published.remove(0).update(ThreadLocal, |c| c.fill(&counting.word, 7)).unwrap();
        assert!(matches!(third.last_update(), Some(Update::NewGeneration(_))));
        assert_eq!(third.token().generation(), 2);
        third.replay().unwrap();
        third.synchronize().unwrap();
        last.replay().unwrap();
        assert_eq!(last.read(&counting.word).unwrap(), [8]);
    });
}

#[test]
fn replicas_are_on_threads_of_their_own() {
    on_device(|rig| {
        const REPLAYS: u64 = 200;
        let (counting, captured) = Counting::capture(rig);
        let mut all = replicate(&captured, 3).unwrap();
        all.push(captured);
        let words: Vec<Buffer<u64>> = {
            let mut stream = rig.stream();
            (0..all.len()).map(|_| stream.alloc(1).unwrap()).collect()
        };
        thread::scope(|scope| {
            for (mut replica, word) in all.into_iter().zip(words) {
                let counting = &counting;
                scope.spawn(move || {
                    counting.count_in(&mut replica, &word);
                    let mut published = replica.publish().unwrap();
                    (0..REPLAYS).for_each(|_| published.replay().unwrap());
                    // SAFETY: increment_u64(counter), one 64-bit word.
                    unsafe { published.update_kernel(0, &counting.increment, ONE, (&counting.word,)) }.unwrap();
                    (0..REPLAYS).for_each(|_| published.replay().unwrap());
                    assert_eq!(published.read(&word).unwrap(), [REPLAYS]);
                });
            }
        });
        assert_eq!(rig.stream().read(&counting.word).unwrap(), [4 * REPLAYS]);
    });
}

#[test]
fn a_published_graph_is_replicated_while_it_is_replayed() {
    on_device(|rig| {
        let (counting, captured) = Counting::capture(rig);
        let published = captured.publish().unwrap();
        let replayer = published.replayer();
        thread::scope(|scope| {
            scope.spawn(|| (0..500).for_each(|_| replayer.replay().unwrap()));
            for _ in 0..10 {
                // SAFETY: it adds atomically.
                for replica in unsafe { published.replicate(2) }.unwrap() {
                    replica.publish().unwrap().replay().unwrap();
                }
            }
        });
        let mut published = published;
        assert_eq!(published.read(&counting.word).unwrap(), [520]);
    });
}

#[test]
fn replicas_have_the_segments_and_the_changes() {
    on_device(|rig| {
        let (counting, captured) = Counting::capture(rig);
        let (out, more) = (rig.stream().alloc::<u64>(1).unwrap(), rig.stream().alloc::<u64>(1).unwrap());
        let mut captured = captured.capture_segment(ThreadLocal, |c| c.copy(&counting.word, &out)).unwrap();
        counting.count_in(&mut captured, &more);
        let replica = replicate(&captured, 1).unwrap().remove(0);
        assert_eq!(replica.segments().len(), 2);
        let mut replica = replica.publish().unwrap();
        drop(captured);
        replica.replay().unwrap();
        replica.replay().unwrap();
        assert_eq!(replica.read(&more).unwrap(), [2]);
        assert_eq!(replica.read(&out).unwrap(), [0]);

        // What was updated in place is replicated as it is now.
        let (counting, captured) = Counting::capture(rig);
        let published = captured.publish().unwrap().update(ThreadLocal, |c| {
            // SAFETY: increment_u64(counter), one 64-bit word.
            unsafe { c.launch(&counting.increment, ONE, (&more,)) }
        });
        let published = published.unwrap();
        assert_eq!(published.last_update(), Some(&Update::InPlace));
        // SAFETY: it adds atomically.
        let mut replica = unsafe { published.replicate(1) }.unwrap().remove(0).publish().unwrap();
        replica.replay().unwrap();
        assert_eq!(replica.read(&more).unwrap(), [3]);
    });
}

/// Says when it is dropped.
struct Tell(Arc<Mutex<Vec<&'static str>>>);

impl Drop for Tell {
    fn drop(&mut self) {
        self.0.lock().unwrap().push("dropped");
    }
}

#[test]
fn what_was_captured_is_kept_until_the_last_is_gone() {
    on_device(|rig| {
        let sim = rig.sim("a call log");
        // Whichever goes last.
        for last in 0..3 {
            let log = Arc::new(Mutex::new(Vec::new()));
            let mut stream = rig.stream();
            let word = stream.alloc::<u32>(1).unwrap();
            let captured = stream.capture(ThreadLocal, |c| {
                c.retain(Tell(log.clone()));
                c.fill(&word, 1)
            });
            let captured = captured.unwrap();
            drop(word);
            let mut all = replicate(&captured, 2).unwrap();
            all.insert(0, captured);
            let mut all: Vec<_> = all.into_iter().map(|stream| stream.publish().unwrap()).collect();
            all.iter().for_each(|stream| stream.replay().unwrap());
            let kept = all.remove(last);
            for stream in all {
                drop(stream.reset().unwrap());
            }
            kept.replay().unwrap();
            assert!(log.lock().unwrap().is_empty());
            if let Some(sim) = sim {
                assert_eq!((sim.live().graphs(), sim.live().executables()), (1, 1));
                sim.clear_calls();
            }
            drop(kept.reset().unwrap());
            assert_eq!(*log.lock().unwrap(), ["dropped"]);
            if let Some(sim) = sim {
                let calls: Vec<&str> = sim.calls().iter().map(|call| call.name).collect();
                let order =
                    ["cuStreamSynchronize", "cuGraphExecDestroy", "cuGraphDestroy", "cuMemFree_v2"].map(|name| {
                        calls.iter().position(|call| *call == name).unwrap_or_else(|| panic!("no {name}: {calls:?}"))
                    });
                assert!(order.is_sorted(), "{calls:?}");
            }
        }
    });
}

#[test]
fn a_replica_that_cannot_be_drained_keeps_what_was_captured_for_good() {
    on_device(|rig| {
        let Some(sim) = rig.sim("injected faults") else { return };
        let (counting, captured) = Counting::capture(rig);
        let replica = replicate(&captured, 1).unwrap().remove(0).publish().unwrap();
        replica.replay().unwrap();
        sim.inject(Fault::on("cuStreamSynchronize").code(999));
        let rejected = replica.reset().unwrap_err();
        assert!(matches!(rejected.error(), Error::Poisoned(_)), "{rejected}");
        drop(rejected);
        let Counting { word, increment } = counting;
        let mut published = captured.publish().unwrap();
        published.replay().unwrap();
        published.synchronize().unwrap();
        drop((word, increment));
        drop(published.reset().unwrap());
        // The executable that may still run, the graph and what it uses.
        let live = sim.live();
        assert_eq!((live.executables(), live.graphs(), live.allocations(), live.modules()), (1, 1, 1, 1), "{live}");
        assert!(sim.violations().is_empty(), "{:?}", sim.violations());
        // By design; take the context down with all that is in it.
        sim.reset();
    });
}

#[test]
fn what_cannot_run_twice_is_refused_before_the_driver_is_called() {
    on_device(|rig| {
        let sim = rig.sim("a call log");
        let untouched = |body: &dyn Fn()| {
            if let Some(sim) = sim {
                sim.clear_calls();
            }
            body();
            if let Some(sim) = sim {
                assert!(sim.calls().is_empty(), "{:?}", sim.calls());
            }
        };
        let (counting, captured) = Counting::capture(rig);
        untouched(&|| assert!(matches!(replicate(&captured, 0), Err(Error::Misuse(Misuse::NoReplicas)))));

        let sibling = captured.sibling();
        let mut capturing = sibling.begin(ThreadLocal).unwrap();
        untouched(&|| assert!(matches!(replicate(&captured, 1), Err(Error::Misuse(Misuse::CaptureOpen)))));
        capturing.fill(&counting.word, 0).unwrap();
        drop(capturing.end().unwrap());

        let with_a_seam = captured.seam(|_| Ok(()));
        untouched(&|| assert!(matches!(replicate(&with_a_seam, 1), Err(Error::Misuse(Misuse::SeamsInReplicas)))));

        let stream = rig.stream().with_policy(CapturePolicy::new().memory_nodes(MemoryNodes::Allow));
        let alloc = |stream: &Arc<CudaStream>| stream.alloc_zeros::<u8>(64).map(drop);
        // SAFETY: nothing uses the slice, and the graph frees it itself.
        let allocates = stream.capture(ThreadLocal, |c| unsafe { c.raw(alloc) }).unwrap();
        untouched(&|| {
            let error = replicate(&allocates, 1).unwrap_err();
            let refused = Misuse::OneExecutable { kind: NodeKind::MemAlloc, count: 1 };
            assert!(matches!(&error, Error::Misuse(misuse) if *misuse == refused), "{error}");
        });
    });
}

#[test]
fn a_driver_error_at_any_call_leaves_no_replica_and_the_original() {
    on_device(|rig| {
        let Some(sim) = rig.sim("injected faults") else { return };
        let (counting, mut captured) = Counting::capture(rig);
        let word = rig.stream().alloc::<u64>(1).unwrap();
        counting.count_in(&mut captured, &word);
        let calls = [
            "cuStreamSynchronize",
            "cuStreamCreate",
            "cuStreamIsCapturing",
            "cuGraphInstantiateWithFlags",
            "cuGraphExecKernelNodeSetParams",
            "cuGraphUpload",
        ];
        let mut expected = 0;
        for call in calls {
            // The first replica, and the second, when there is one already. (What is waited for is the original's stream, once.)
            for nth in if call == "cuStreamSynchronize" { 1..=1 } else { 1..=2 } {
                // The second call of its kind for a replica is cudarc's own.
                let nth = if call == "cuStreamCreate" { 2 * nth - 1 } else { nth };
                for after in [false, true] {
                    // What is made and reported as a failure is nobody's.
                    let is_made = ["cuStreamCreate", "cuGraphInstantiateWithFlags"].contains(&call);
                    if after && is_made {
                        continue;
                    }
                    let before = sim.live();
                    let fault = Fault::on(call).nth(nth).code(999);
                    sim.inject(if after { fault.after() } else { fault });
                    let error = replicate(&captured, 2).expect_err(call);
                    sim.clear_faults();
                    assert_eq!(error.code().map(dacapo::DriverCode::number), Some(999), "{call} {nth}: {error}");
                    let live = sim.live();
                    assert_eq!(live.executables(), before.executables(), "{call} {nth}");
                    assert_eq!(live.streams(), before.streams(), "{call} {nth}");
                    let published = captured.publish().unwrap();
                    published.replay().unwrap();
                    expected += 1;
                    let mut published = published;
                    assert_eq!(published.read(&word).unwrap(), [expected], "{call} {nth}");
                    // Back to what it was before.
                    drop(published);
                    let (again, stream) = Counting::capture(rig);
                    captured = stream;
                    again.count_in(&mut captured, &word);
                }
            }
        }
    });
}

#[test]
fn kernels_of_two_replicas_are_changed_from_within_a_replay_and_beside_it() {
    on_device(|rig| {
        let (counting, one) = Counting::capture(rig);
        let mut other = replicate(&one, 1).unwrap().remove(0);
        let mut one = one.publish().unwrap();
        let replayer = one.replayer();
        let (within, beside) = (rig.stream().alloc::<u64>(1).unwrap(), rig.stream().alloc::<u64>(1).unwrap());
        let entered = std::sync::Barrier::new(2);
        thread::scope(|scope| {
            scope.spawn(|| {
                let replayed = replayer.replay_with(|_| {
                    entered.wait();
                    // Long enough for the other thread to wait for this lane.
                    thread::sleep(std::time::Duration::from_millis(50));
                    // SAFETY: increment_u64(counter), one 64-bit word.
                    unsafe { other.update_kernel("increment_u64", &counting.increment, ONE, (&within,)) }
                });
                replayed.unwrap();
            });
            entered.wait();
            // SAFETY: increment_u64(counter), one 64-bit word.
            unsafe { one.update_kernel("increment_u64", &counting.increment, ONE, (&beside,)) }.unwrap();
        });
        let mut other = other.publish().unwrap();
        other.replay().unwrap();
        one.replay().unwrap();
        assert_eq!((other.read(&within).unwrap(), one.read(&beside).unwrap()), (vec![1], vec![1]));
        assert_eq!(one.read(&counting.word).unwrap(), [1]);
    });
}
