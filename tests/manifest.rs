//! Gates at the end of a capture: expected counts, and the manifest of what is to be launched.

mod common;

use common::{Rig, on_device};
use dacapo::{
    Buffer, CapturePolicy, CaptureStatus, Census, Enqueue, Error, Idle, Kernel, KernelLaunch, LaunchConfig, Manifest,
    ManifestMismatch, Misuse, Node, NodeCounts, NodeKind, Refusal, Rejected, Stream, ThreadLocal,
};
use dacapo_sim::Fault;

const N: u32 = 512;

struct Step {
    scale: Kernel,
    add: Kernel,
    x: Buffer<f32>,
}

impl Step {
    fn new(rig: &Rig, stream: &mut Stream<Idle>) -> Self {
        let module = rig.module();
        Self {
            scale: module.kernel("scale_f32").unwrap(),
            add: module.kernel("add_f32").unwrap(),
            x: stream.buffer_from(&[1.0; N as usize]).unwrap(),
        }
    }

    fn scale(&self, stream: &mut impl Enqueue, shape: LaunchConfig) -> Result<(), Error> {
        // SAFETY: scale_f32(data, factor, n), over as many elements as the buffer holds.
        unsafe { stream.launch(&self.scale, shape, (&self.x, 2.0f32, N)) }
    }

    /// A fill, then one kernel, then the other.
    fn enqueue(&self, stream: &mut impl Enqueue) -> Result<(), Error> {
        stream.fill(&self.x, 1.0)?;
        self.scale(stream, LaunchConfig::new(2, 256))?;
        // SAFETY: add_f32(a, b, out, n), over as many elements as the buffer holds.
        unsafe { stream.launch(&self.add, LaunchConfig::new(8, 64).shared(256), (&self.x, &self.x, &self.x, N)) }
    }

    /// What that is, declared.
    fn manifest() -> Manifest {
        Manifest::new()
            .node(NodeKind::Memset)
            .kernel("scale_f32", LaunchConfig::new(2, 256))
            .kernel("add_f32", LaunchConfig::new(8, 64).shared(256))
    }
}

fn refusal<T>(rejected: Rejected<T>) -> (T, Refusal) {
    match rejected.into_parts() {
        (stream, Error::Refused(refusal)) => (stream, refusal),
        (_, error) => panic!("{error}"),
    }
}

fn mismatch<T>(rejected: Rejected<T>) -> (T, ManifestMismatch) {
    match refusal(rejected) {
        (stream, Refusal::Manifest(mismatch)) => (stream, *mismatch),
        (_, refusal) => panic!("{refusal}"),
    }
}

/// Captures the step under a policy that refuses it. The stream is idle again, and captures without the policy.
fn refused(stream: Stream<Idle>, step: &Step, policy: CapturePolicy) -> (Stream<Idle>, Refusal) {
    let (stream, refusal) = refusal(stream.with_policy(policy).capture(ThreadLocal, |c| step.enqueue(c)).unwrap_err());
    assert_eq!(stream.capture_status().unwrap(), CaptureStatus::None);
    let stream = stream.with_policy(CapturePolicy::new());
    let mut published = stream.capture(ThreadLocal, |c| step.enqueue(c)).unwrap().publish().unwrap();
    published.replay().unwrap();
    assert_eq!(published.read(&step.x).unwrap(), [4.0; N as usize]);
    (published.reset().unwrap(), refusal)
}

#[test]
fn other_counts_than_expected_are_refused_by_the_first_kind_that_differs() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let step = Step::new(rig, &mut stream);
        let cases = [
            (vec![(NodeKind::Kernel, 3), (NodeKind::Memset, 1)], (NodeKind::Kernel, 3, 2)),
            (vec![(NodeKind::Kernel, 2)], (NodeKind::Memset, 0, 1)),
            (vec![(NodeKind::Kernel, 2), (NodeKind::Memset, 1), (NodeKind::Host, 4)], (NodeKind::Host, 4, 0)),
            (vec![], (NodeKind::Kernel, 0, 2)),
        ];
        for (expected, (kind, want, have)) in cases {
            let policy = CapturePolicy::new().expect(expected.into_iter().collect::<NodeCounts>());
            let (idle, refusal) = refused(stream, &step, policy);
            stream = idle;
            assert_eq!(refusal, Refusal::Count { kind, expected: want, found: have });
            let text =
                format!("the captured graph has {have} {kind} nodes, expected were {want} (CapturePolicy::expect)");
            assert_eq!(refusal.to_string(), text);
        }
        let policy = CapturePolicy::new().expect([(NodeKind::Memset, 1), (NodeKind::Kernel, 2)]);
        drop(stream.with_policy(policy).capture(ThreadLocal, |c| step.enqueue(c)).unwrap());
    });
}

#[test]
fn a_census_is_what_another_capture_may_be_expected_to_have() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let step = Step::new(rig, &mut stream);
        let captured = stream.capture(ThreadLocal, |c| step.enqueue(c)).unwrap();
        let policy = CapturePolicy::new().expect(&captured.census());
        let stream = captured.discard().unwrap().with_policy(policy);
        let captured = stream.capture(ThreadLocal, |c| step.enqueue(c)).unwrap();
        let rejected = captured.discard().unwrap().capture(ThreadLocal, |c| c.fill(&step.x, 0.0)).unwrap_err();
        assert_eq!(refusal(rejected).1, Refusal::Count { kind: NodeKind::Kernel, expected: 2, found: 0 });
    });
}

#[test]
fn what_the_manifest_declares_is_taken() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let step = Step::new(rig, &mut stream);
        let stream = stream.with_policy(CapturePolicy::new().manifest(Step::manifest()));
        let captured = stream.capture(ThreadLocal, |c| step.enqueue(c)).unwrap();
        assert_eq!(captured.manifest(), captured.census().manifest());
        assert_eq!(Step::manifest().check(&captured.census()), Ok(()));
        // Recorded on another stream, over other memory, and held to here.
        let mut other = rig.stream();
        let again = Step::new(rig, &mut other);
        let other = other.with_policy(CapturePolicy::new().manifest(captured.manifest()));
        drop(other.capture(ThreadLocal, |c| again.enqueue(c)).unwrap());
        drop(captured);
    });
}

#[test]
fn the_first_difference_from_the_manifest_is_named() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let step = Step::new(rig, &mut stream);
        let scale: Node = KernelLaunch::new("scale_f32", LaunchConfig::new(2, 256)).into();
        let add: Node = KernelLaunch::new("add_f32", LaunchConfig::new(8, 64).shared(256)).into();
        let memset: Node = NodeKind::Memset.into();
        let other_shape: Node = KernelLaunch::new("scale_f32", LaunchConfig::new(4, 128)).into();
        let less_shared: Node = KernelLaunch::new("add_f32", LaunchConfig::new(8, 64)).into();
        let cooperative: Node = KernelLaunch::new("add_f32", LaunchConfig::new(8, 64).shared(256).cooperative()).into();
        let memcpy: Node = NodeKind::Memcpy.into();
        let (memset, scale, add) = (&memset, &scale, &add);
        let cases = [
            (vec![scale, add], 0, Some(scale), Some(memset)),
            (vec![&memcpy, scale, add], 0, Some(&memcpy), Some(memset)),
            (vec![memset, &other_shape, add], 1, Some(&other_shape), Some(scale)),
            (vec![memset, add, scale], 1, Some(add), Some(scale)),
            (vec![memset, scale, &less_shared], 2, Some(&less_shared), Some(add)),
            (vec![memset, scale, &cooperative], 2, Some(&cooperative), Some(add)),
            (vec![memset, scale], 2, None, Some(add)),
            (vec![memset, scale, add, &memcpy], 3, Some(&memcpy), None),
        ];
        for (nodes, position, expected, found) in cases {
            let manifest: Manifest = nodes.into_iter().cloned().collect();
            let (idle, refusal) = refused(stream, &step, CapturePolicy::new().manifest(manifest));
            stream = idle;
            let Refusal::Manifest(mismatch) = refusal else { panic!("{refusal}") };
            assert_eq!(mismatch.position, position, "{mismatch}");
            assert_eq!((mismatch.expected.as_ref(), mismatch.found.as_ref()), (expected, found));
        }
        let policy = CapturePolicy::new().manifest(Manifest::new().node(NodeKind::Memset));
        let (_, refusal) = refused(stream, &step, policy);
        assert_eq!(
            refusal.to_string(),
            "node 1 of the captured graph is not what the manifest says: expected the end, \
             found kernel scale_f32 <<<2, 256>>>"
        );
    });
}

#[test]
fn a_kernel_that_is_not_known_beforehand_is_any_kernel() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let step = Step::new(rig, &mut stream);
        let open = Manifest::new().node(NodeKind::Memset).node(NodeKind::Kernel).node(NodeKind::Kernel);
        let stream = stream.with_policy(CapturePolicy::new().manifest(open));
        let captured = stream.capture(ThreadLocal, |c| step.enqueue(c)).unwrap();
        let rejected = captured.discard().unwrap().capture(ThreadLocal, |c| {
            c.fill(&step.x, 1.0)?;
            c.fill(&step.x, 1.0)
        });
        let (_, mismatch) = mismatch(rejected.unwrap_err());
        assert_eq!(
            mismatch.to_string(),
            "node 1 of the captured graph is not what the manifest says: expected any kernel, found memset"
        );
    });
}

#[test]
fn a_refused_segment_leaves_the_ones_before() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let step = Step::new(rig, &mut stream);
        let first = Manifest::new().node(NodeKind::Memset);
        let stream = stream.with_policy(CapturePolicy::new().manifest(first));
        let captured = stream.capture(ThreadLocal, |c| c.fill(&step.x, 1.0)).unwrap();
        // Each segment is held to the policy at its end.
        let rejected = captured.capture_segment(ThreadLocal, |c| step.scale(c, LaunchConfig::new(2, 256)));
        let (captured, mismatch) = mismatch(rejected.unwrap_err());
        assert_eq!((mismatch.position, captured.segments().len()), (0, 1));
        let second = Manifest::new().kernel("scale_f32", LaunchConfig::new(2, 256));
        let captured = captured.with_policy(CapturePolicy::new().manifest(second));
        let captured = captured.capture_segment(ThreadLocal, |c| step.scale(c, LaunchConfig::new(2, 256))).unwrap();
        let mut published = captured.publish().unwrap();
        published.replay().unwrap();
        assert_eq!(published.read(&step.x).unwrap(), [2.0; N as usize]);
    });
}

#[test]
fn a_refused_update_leaves_the_graph_published() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let step = Step::new(rig, &mut stream);
        let captured = stream.capture(ThreadLocal, |c| step.enqueue(c)).unwrap();
        let policy = CapturePolicy::new().manifest(captured.manifest());
        let published = captured.publish().unwrap().with_policy(policy);
        let (replayer, token) = (published.replayer(), published.token());
        let rejected = published.update(ThreadLocal, |c| c.fill(&step.x, 7.0)).unwrap_err();
        let (mut published, mismatch) = mismatch(rejected);
        assert_eq!((mismatch.position, published.token()), (1, token));
        replayer.replay().unwrap();
        assert_eq!(published.read(&step.x).unwrap(), [4.0; N as usize]);
        let published = published.update(ThreadLocal, |c| step.enqueue(c)).unwrap();
        assert_eq!(published.token(), token);
    });
}

#[test]
fn counts_are_asked_before_the_manifest_and_both_after_what_is_never_taken() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let step = Step::new(rig, &mut stream);
        let policy = CapturePolicy::new().expect([(NodeKind::Kernel, 1)]).manifest(Manifest::new());
        let stream = stream.with_policy(policy);
        let (stream, first) = refusal(stream.capture(ThreadLocal, |_| Ok(())).unwrap_err());
        assert_eq!(first, Refusal::Empty);
        let (stream, second) = refusal(stream.capture(ThreadLocal, |c| c.fill(&step.x, 1.0)).unwrap_err());
        assert_eq!(second, Refusal::Count { kind: NodeKind::Kernel, expected: 1, found: 0 });
        let launched = stream.capture(ThreadLocal, |c| step.scale(c, LaunchConfig::new(2, 256)));
        assert_eq!(mismatch(launched.unwrap_err()).1.expected, None);
    });
}

#[test]
fn a_policy_is_made_at_compile_time_cloned_and_compared() {
    const PLAIN: CapturePolicy = CapturePolicy::new().allow_empty(true);
    let with = |shape| PLAIN.manifest(Manifest::new().kernel("k", shape)).expect([(NodeKind::Kernel, 1)]);
    let policy = with(LaunchConfig::new(1, 32));
    assert_eq!(policy.clone(), policy);
    assert_eq!(with(LaunchConfig::new(1, 32)), policy);
    assert_ne!(with(LaunchConfig::new(1, 64)), policy);
    assert_ne!(PLAIN, policy);
}

#[test]
fn a_manifest_goes_to_json_and_back_and_prints_by_line() {
    let manifest = Step::manifest().node(NodeKind::Kernel);
    let json = serde_json::json!({"nodes": [
        {"kind": "memset"},
        {"kernel": {"name": "scale_f32", "grid": [2, 1, 1], "block": [256, 1, 1], "shared_bytes": 0}},
        {"kernel": {"name": "add_f32", "grid": [8, 1, 1], "block": [64, 1, 1], "shared_bytes": 256}},
        {"kind": "kernel"},
    ]});
    assert_eq!(serde_json::to_value(&manifest).unwrap(), json);
    assert_eq!(serde_json::from_value::<Manifest>(json).unwrap(), manifest);
    assert_eq!(
        manifest.to_string(),
        "   0  memset\n   1  kernel scale_f32 <<<2, 256>>>\n   2  kernel add_f32 <<<8, 64, 256>>>\n   3  any kernel\n"
    );
    assert_eq!(Manifest::new().check(&Census::default()), Ok(()));
}

#[test]
fn a_fault_at_any_call_of_a_gated_capture_leaves_the_stream_idle() {
    on_device(|rig| {
        let Some(sim) = rig.sim("injected faults") else { return };
        let mut stream = rig.stream();
        let step = Step::new(rig, &mut stream);
        let policy = CapturePolicy::new().expect([(NodeKind::Kernel, 2), (NodeKind::Memset, 1)]);
        let mut stream = stream.with_policy(policy.manifest(Step::manifest()));
        for call in [
            "cuStreamSynchronize",
            "cuStreamIsCapturing",
            "cuStreamBeginCapture",
            "cuMemsetD32Async",
            "cuLaunchKernel",
            "cuStreamEndCapture",
            "cuCtxPushCurrent",
            "cuGraphGetNodes",
            "cuGraphNodeGetType",
            "cuGraphKernelNodeGetParams",
            "cuGraphKernelNodeGetAttribute",
            "cuGraphGetEdges",
            "cuGraphInstantiateWithFlags",
            "cuGraphUpload",
        ] {
            sim.inject(Fault::on(call).code(999));
            let rejected = stream.capture(ThreadLocal, |c| step.enqueue(c)).expect_err(call);
            assert_eq!(rejected.error().code().map(dacapo::DriverCode::number), Some(999), "{call}: {rejected}");
            stream = rejected.into_stream();
            sim.clear_faults();
            assert_eq!(stream.capture_status().unwrap(), CaptureStatus::None, "{call}");
            let captured = stream.capture(ThreadLocal, |c| step.enqueue(c));
            stream = captured.unwrap_or_else(|error| panic!("{call}: {error}")).discard().unwrap();
        }
        // What is refused is released in the same way as what the driver has lost.
        let rejected = stream.capture(ThreadLocal, |_| Err(Misuse::ZeroLength.into())).unwrap_err();
        assert!(matches!(rejected.error(), Error::Misuse(Misuse::ZeroLength)));
    });
}
