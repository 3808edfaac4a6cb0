//! Captured graphs looked at: the census in detail, and what is printed, written and drawn of it.

mod common;

use std::ffi::CString;
use std::path::PathBuf;
use std::process::Command;
use std::{env, fs, process};

use common::{Rig, on_device, simulator};
use dacapo::cudarc::driver::result::{self, memset_d8_async};
use dacapo::{
    Buffer, CaptureStatus, Census, DriverCode, DriverDot, Enqueue, Error, Idle, InspectedPart, Inspection, Kernel,
    KernelLaunch, LaunchConfig, Misuse, Node, NodeKind, Stream, ThreadLocal, Update,
};
use dacapo_sim::Fault;

/// Two buffers and a kernel: enough for a small step.
struct Step {
    scale: Kernel,
    add: Kernel,
    x: Buffer<f32>,
    y: Buffer<f32>,
}

const N: u32 = 512;

impl Step {
    fn new(rig: &Rig, stream: &mut Stream<Idle>) -> Self {
        let module = rig.module();
        Self {
            scale: module.kernel("scale_f32").unwrap(),
            add: module.kernel("add_f32").unwrap(),
            x: stream.buffer_from(&[1.0; N as usize]).unwrap(),
            y: stream.alloc(N as usize).unwrap(),
        }
    }

    /// A fill, a kernel, a kernel with shared memory and another shape, a copy.
    fn enqueue(&self, stream: &mut impl Enqueue) -> Result<(), Error> {
        stream.fill(&self.y, 3.0)?;
        // SAFETY: scale_f32(data, factor, n) and add_f32(a, b, out, n), over as many elements as the buffers hold.
        unsafe {
            stream.launch(&self.scale, LaunchConfig::for_elements(N), (&self.x, 2.0f32, N))?;
            stream.launch(&self.add, LaunchConfig::new(8, 64).shared(1024), (&self.x, &self.y, &self.y, N))?;
        }
        stream.copy(&self.y, &self.x)
    }
}

fn edges(census: &Census) -> Vec<(usize, usize)> {
    census.edges().iter().map(|edge| (edge.from, edge.to)).collect()
}

/// A file of this test's own, removed at the end.
struct File(PathBuf);

impl File {
    fn new(name: &str) -> Self {
        Self(env::temp_dir().join(format!("dacapo-{}-{name}", process::id())))
    }

    fn text(&self) -> String {
        fs::read_to_string(&self.0).unwrap()
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

#[test]
fn a_census_holds_every_launch_and_what_depends_on_what() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let step = Step::new(rig, &mut stream);
        let captured = stream.capture(ThreadLocal, |c| step.enqueue(c)).unwrap();
        let census = captured.census();
        assert_eq!(census.to_string(), "kernel ×2, memcpy ×1, memset ×1");
        assert_eq!((census.nodes(), census.count(NodeKind::Kernel), census.count(NodeKind::Host)), (4, 2, 0));
        let scale = KernelLaunch::new("scale_f32", LaunchConfig::new(2, 256));
        let add = KernelLaunch::new("add_f32", LaunchConfig::new(8, 64).shared(1024));
        let expected = [NodeKind::Memset.into(), scale.clone().into(), add.clone().into(), NodeKind::Memcpy.into()];
        assert_eq!(census.in_order(), expected);
        assert_eq!(census.kernels().collect::<Vec<_>>(), [&scale, &add]);
        assert_eq!(edges(&census), [(0, 1), (1, 2), (2, 3)]);
        assert!(!census.edges()[1].programmatic);
        // It is the same for the same work on other memory, and stays when it is published.
        let again = Step::new(rig, &mut rig.stream());
        let other = rig.stream();
        assert_eq!(other.capture(ThreadLocal, |c| again.enqueue(c)).unwrap().census(), census);
        let mut published = captured.publish().unwrap();
        assert_eq!(published.census(), census);
        published.replay().unwrap();
        assert_eq!(published.read(&step.x).unwrap(), [5.0; N as usize]);
    });
}

#[test]
fn attributes_are_kept_in_the_census() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let step = Step::new(rig, &mut stream);
        let clusters = rig.device.compute_capability().unwrap().0 >= 9;
        let plain = LaunchConfig::for_elements(N);
        let captured = stream.capture(ThreadLocal, |c| {
            let mut shapes = vec![plain.cooperative(), plain.priority(-1), plain.programmatic()];
            shapes.extend(clusters.then(|| plain.cluster([2, 1, 1])));
            // SAFETY: scale_f32(data, factor, n); it needs nothing of the kernel in front of it.
            shapes.into_iter().try_for_each(|shape| unsafe { c.launch(&step.scale, shape, (&step.x, 2.0f32, N)) })
        });
        let census = captured.unwrap().census();
        let kernels: Vec<&KernelLaunch> = census.kernels().collect();
        assert!(kernels[0].cooperative && !kernels[1].cooperative);
        assert_eq!(kernels[0].to_string(), "scale_f32 <<<2, 256>>> cooperative");
        assert_eq!(kernels[0].cluster, None);
        if clusters {
            assert_eq!(kernels[3].cluster, Some([2, 1, 1]));
            assert_eq!(kernels[3].to_string(), "scale_f32 <<<2, 256>>> cluster 2");
        }
        if simulator().is_some() {
            eprintln!("skipped: priorities and programmatic edges, which the simulated driver does not keep");
            return;
        }
        assert_eq!((kernels[0].priority, kernels[1].priority), (0, -1));
        assert_eq!(census.edges().iter().map(|edge| edge.programmatic).take(2).collect::<Vec<_>>(), [false, true]);
    });
}

#[test]
fn parallel_branches_have_one_order() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let (a, b) = (stream.alloc::<u8>(8).unwrap(), stream.alloc::<u8>(8).unwrap());
        let other = rig.context().new_stream().unwrap();
        let captured = stream.capture(ThreadLocal, |c| {
            c.fill(&a, 1)?;
            c.retain((a.clone(), b.clone()));
            // SAFETY: both buffers are retained, and the other stream is joined again.
            unsafe {
                c.raw(|stream| {
                    other.join(stream)?;
                    memset_d8_async(b.device_ptr(), 2, 8, other.cu_stream())?;
                    memset_d8_async(a.device_ptr(), 3, 4, stream.cu_stream())?;
                    stream.join(&other)
                })
            }?;
            c.copy(&a, &b)
        });
        let captured = captured.unwrap();
        let census = captured.census();
        assert_eq!(census.to_string(), "memcpy ×1, memset ×3");
        assert_eq!(census.in_order()[3].kind(), NodeKind::Memcpy);
        assert_eq!(edges(&census), [(0, 1), (0, 2), (1, 3), (2, 3)]);
        assert_eq!(
            captured.inspect().table().to_string().lines().skip(1).collect::<Vec<_>>(),
            [
                "   #  after  node    grid  block  shared",
                "   0         memset",
                "   1      0  memset",
                "   2      0  memset",
                "   3    1,2  memcpy",
            ]
        );
    });
}

#[test]
fn segments_are_counted_one_after_the_other() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let step = Step::new(rig, &mut stream);
        let captured = stream.capture(ThreadLocal, |c| step.enqueue(c)).unwrap();
        let captured = captured.seam(|_| Ok(()));
        let captured = captured.capture_segment(ThreadLocal, |c| step.enqueue(c)).unwrap();
        let (census, segments) = (captured.census(), captured.segments());
        assert_eq!((census.nodes(), segments.len()), (8, 2));
        assert_eq!(edges(&census), [(0, 1), (1, 2), (2, 3), (4, 5), (5, 6), (6, 7)]);
        assert_eq!(census.in_order()[4..], *segments[1].in_order());
        assert_eq!(captured.manifest().nodes(), census.in_order());
        let inspection = captured.publish().unwrap().inspect();
        let [InspectedPart::Segment(first), InspectedPart::Seam, InspectedPart::Segment(_)] = inspection.parts() else {
            panic!("{inspection:?}")
        };
        assert_eq!(first.census, segments[0]);
        let table = inspection.table().to_string();
        assert_eq!(table.lines().filter(|line| line.starts_with("segment") || *line == "seam").count(), 3, "{table}");
        let dot = inspection.dot().to_string();
        assert!(dot.contains("node_0_3 -> seam_1") && dot.contains("seam_1 -> node_1_0"), "{dot}");
        let svg = inspection.svg().to_string();
        assert!(svg.contains("segment 1: kernel ×2") && svg.contains("seam: a closure"), "{svg}");
    });
}

#[test]
fn an_update_in_place_is_a_new_census() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let step = Step::new(rig, &mut stream);
        // SAFETY: scale_f32(data, factor, n), over as many elements as the buffer holds.
        let launch = |c: &mut Stream<_>, shape| unsafe { c.launch(&step.scale, shape, (&step.x, 2.0f32, N)) };
        let captured = stream.capture(ThreadLocal, |c| launch(c, LaunchConfig::new(2, 256)));
        let published = captured.unwrap().publish().unwrap();
        assert_eq!(published.census().kernels().next().unwrap().grid, [2, 1, 1]);
        // SAFETY: as above.
        let updated = published
            .update(ThreadLocal, |c| unsafe { c.launch(&step.scale, LaunchConfig::new(4, 128), (&step.x, 2.0f32, N)) });
        let published = updated.unwrap();
        assert_eq!(published.last_update(), Some(&Update::InPlace));
        assert_eq!(published.census().kernels().next().unwrap().to_string(), "scale_f32 <<<4, 128>>>");
    });
}

#[test]
fn a_driver_that_does_not_tell_names_is_helped_by_the_modules() {
    on_device(|rig| {
        let Some(sim) = rig.sim("injected faults") else { return };
        let mut stream = rig.stream();
        let step = Step::new(rig, &mut stream);
        sim.inject(Fault::on("cuFuncGetName").every().code(801));
        let captured = stream.capture(ThreadLocal, |c| step.enqueue(c)).unwrap();
        let census = captured.census();
        let names: Vec<_> = census.kernels().map(|launch| launch.name.as_deref()).collect();
        assert_eq!(names, [Some("scale_f32"), Some("add_f32")]);
        // A kernel of nobody's: from a module that this crate does not know.
        let (counter, image) = (rig.stream().alloc::<u32>(1).unwrap(), CString::new(common::BASIC_PTX).unwrap());
        rig.context().bind_to_thread().unwrap();
        // SAFETY: PTX text that ends with a NUL.
        let module = unsafe { result::module::load_data(image.as_ptr().cast()) }.unwrap();
        // SAFETY: the module is loaded.
        let stranger = unsafe { result::module::get_function(module, c"increment_u32".into()) }.unwrap();
        let captured = captured.discard().unwrap().capture(ThreadLocal, |c| {
            c.retain(counter.clone());
            let mut address = counter.device_ptr();
            // SAFETY: one pointer to a word, which is retained; the module outlives the graph.
            unsafe {
                c.raw(|stream| {
                    let arguments = &mut [(&raw mut address).cast()];
                    result::launch_kernel(stranger, (1, 1, 1), (1, 1, 1), 0, stream.cu_stream(), arguments)
                })
            }
        });
        let captured = captured.unwrap();
        assert_eq!(captured.census().kernels().next().unwrap().name, None);
        assert_eq!(captured.census().in_order()[0].to_string(), "kernel (unnamed) <<<1, 1>>>");
        sim.clear_faults();
        let stream = captured.discard().unwrap();
        // SAFETY: no graph names it any more.
        unsafe { result::module::unload(module) }.unwrap();
        let captured = stream.capture(ThreadLocal, |c| step.enqueue(c)).unwrap();
        assert_eq!(captured.census(), census);
    });
}

#[test]
fn a_table_shows_what_is_captured_and_what_it_keeps() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let step = Step::new(rig, &mut stream);
        let staging = rig.device.pinned::<f32>(N as usize).unwrap();
        let captured = stream.capture(ThreadLocal, |c| {
            step.enqueue(c)?;
            c.retain("of the engine's own");
            c.download(&step.x, &staging)
        });
        let inspection = captured.unwrap().inspect();
        assert_eq!(
            inspection.table().to_string(),
            "segment 0: kernel ×2, memcpy ×2, memset ×1; keeps 6144 bytes in 3 buffers, and 2 other things\n   \
                #  after  node       grid  block  shared\n   \
                0         memset\n   \
                1      0  scale_f32     2    256       0\n   \
                2      1  add_f32       8     64    1024\n   \
                3      2  memcpy\n   \
                4      3  memcpy\n"
        );
        let [InspectedPart::Segment(segment)] = inspection.parts() else { panic!("{inspection:?}") };
        let memory: Vec<_> =
            segment.memory.iter().map(|memory| (memory.address, memory.bytes, memory.pinned)).collect();
        let [y, x, pinned] = memory[..] else { panic!("{memory:?}") };
        assert_eq!((y, x), ((step.y.device_ptr(), 2048, false), (step.x.device_ptr(), 2048, false)));
        assert_eq!((pinned.1, pinned.2, segment.others), (2048, true, 2));
    });
}

#[test]
fn attributes_have_a_column_if_there_are_any() {
    let census: Census = serde_json::from_str(
        r#"{"nodes": [
            {"kernel": {"name": "a", "grid": [4, 2, 1], "block": [8, 8, 2], "shared_bytes": 0}},
            {"kernel": {"name": "b", "grid": [4, 1, 1], "block": [64, 1, 1], "shared_bytes": 0,
                        "cluster": [2, 1, 1], "cooperative": true, "priority": -2}}
        ], "edges": [{"from": 0, "to": 1, "programmatic": true}]}"#,
    )
    .unwrap();
    let inspection = Inspection::from(census);
    assert_eq!(
        inspection.table().to_string().lines().skip(1).collect::<Vec<_>>(),
        [
            "   #  after  node   grid    block  shared  attributes",
            "   0         a     (4,2)  (8,8,2)       0",
            "   1      0  b         4       64       0  cluster 2, cooperative, priority -2, programmatic after 0",
        ]
    );
    assert!(inspection.dot().to_string().contains("node_0_0 -> node_0_1 [style=dashed];"));
    let svg = inspection.svg().to_string();
    assert!(svg.contains("<path class=\"p\" "), "{svg}");
    assert!(svg.contains("grid 4, block 64, cluster 2, cooperative, priority -2"), "{svg}");
}

#[test]
fn the_dot_language_holds_names_shapes_and_memory() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let step = Step::new(rig, &mut stream);
        let captured = stream.capture(ThreadLocal, |c| step.enqueue(c)).unwrap();
        let dot = captured.inspect().dot().to_string();
        let address = step.y.device_ptr();
        for line in [
            "digraph captured {".to_owned(),
            "    label=\"segment 0: kernel ×2, memcpy ×1, memset ×1\";".to_owned(),
            "    node_0_2 [label=\"2 add_f32\\ngrid 8, block 64, shared 1024\"];".to_owned(),
            "    node_0_3 [label=\"3 memcpy\"];".to_owned(),
            "    node_0_1 -> node_0_2;".to_owned(),
        ] {
            assert!(dot.lines().any(|found| found == line), "{line}\n{dot}");
        }
        assert!(dot.contains(&format!("kept\\l{address:#x}, 2048 bytes\\l")), "{dot}");
        assert_eq!(dot.matches(['{', '[']).count(), dot.matches(['}', ']']).count());
    });
}

#[test]
fn the_driver_writes_its_own_picture() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let step = Step::new(rig, &mut stream);
        let captured = stream.capture(ThreadLocal, |c| step.enqueue(c)).unwrap();
        let file = File::new("driver.dot");
        captured.write_driver_dot(0, &file.0, DriverDot::Names).unwrap();
        let names = file.text();
        assert!(names.starts_with("digraph dot {") && names.contains("add_f32"), "{names}");
        let published = captured.publish().unwrap();
        published.write_driver_dot(0, &file.0, DriverDot::Launches).unwrap();
        assert!(file.text().contains("\\<\\<\\<8,64,1024\\>\\>\\>"), "{}", file.text());
        published.write_driver_dot(0, &file.0, DriverDot::Verbose).unwrap();
        assert!(file.text().len() > names.len());

        let error = published.write_driver_dot(1, &file.0, DriverDot::Names).unwrap_err();
        assert!(matches!(error, Error::Misuse(Misuse::NoSuchSegment { index: 1, of: 1 })), "{error}");
        let error = published.write_driver_dot(0, "a\0b", DriverDot::Names).unwrap_err();
        assert!(matches!(error, Error::Misuse(Misuse::InteriorNul)), "{error}");
        let nowhere = file.0.join("no").join("folder");
        let error = published.write_driver_dot(0, nowhere, DriverDot::Names).unwrap_err();
        assert_eq!(error.code().map(DriverCode::number), Some(304), "{error}");
        assert!(error.to_string().starts_with("cuGraphDebugDotPrint"), "{error}");
        published.replay().unwrap();
    });
}

#[test]
fn a_driver_error_while_it_writes_leaves_the_graph_as_it_was() {
    on_device(|rig| {
        let Some(sim) = rig.sim("injected faults") else { return };
        let mut stream = rig.stream();
        let step = Step::new(rig, &mut stream);
        let published = stream.capture(ThreadLocal, |c| step.enqueue(c)).unwrap().publish().unwrap();
        let file = File::new("faults.dot");
        for call in ["cuCtxPushCurrent", "cuGraphDebugDotPrint"] {
            sim.inject(Fault::on(call).code(999));
            let error = published.write_driver_dot(0, &file.0, DriverDot::Names).unwrap_err();
            assert_eq!(error.code().map(DriverCode::number), Some(999), "{call}: {error}");
            sim.clear_faults();
            published.replay().unwrap();
        }
        published.write_driver_dot(0, &file.0, DriverDot::Names).unwrap();
    });
}

#[test]
fn a_census_goes_to_json_and_back() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let step = Step::new(rig, &mut stream);
        let census = stream.capture(ThreadLocal, |c| step.enqueue(c)).unwrap().census();
        let json = serde_json::json!({
            "nodes": [
                {"kind": "memset"},
                {"kernel": {"name": "scale_f32", "grid": [2, 1, 1], "block": [256, 1, 1], "shared_bytes": 0}},
                {"kernel": {"name": "add_f32", "grid": [8, 1, 1], "block": [64, 1, 1], "shared_bytes": 1024}},
                {"kind": "memcpy"},
            ],
            "edges": [{"from": 0, "to": 1}, {"from": 1, "to": 2}, {"from": 2, "to": 3}],
        });
        assert_eq!(serde_json::to_value(&census).unwrap(), json);
        assert_eq!(serde_json::from_value::<Census>(json).unwrap(), census);
        let counts = serde_json::to_string(&census.counts()).unwrap();
        assert_eq!(counts, r#"{"kernel":2,"memcpy":1,"memset":1}"#);
        assert_eq!(serde_json::from_str::<dacapo::NodeCounts>(&counts).unwrap(), census.counts());
    });
}

#[test]
fn a_census_that_is_none_is_not_read() {
    let refused = |json: &str| serde_json::from_str::<Census>(json).unwrap_err().to_string();
    let edge = |edge: &str| refused(&format!(r#"{{"nodes":[{{"kind":"host"}},{{"kind":"host"}}],"edges":[{edge}]}}"#));
    let message = "edges lead from a node to a later one";
    assert!(edge(r#"{"from":1,"to":0}"#).contains("from node 1 to node 0 of 2"));
    assert!(edge(r#"{"from":1,"to":1}"#).contains(message));
    assert!(edge(r#"{"from":1,"to":2}"#).contains(message));
    assert!(edge(r#"{"from":18446744073709551615,"to":0}"#).contains(message));
    assert!(refused(r#"{"nodes":[{"kind":"memcopy"}],"edges":[]}"#).contains("expected a kind of node"));
    assert!(refused(r#"{"nodes":[{"kernel":{"name":"k"}}],"edges":[]}"#).contains("missing field `grid`"));
}

#[test]
fn a_kind_is_spelled_as_it_displays() {
    let known = r#"[{"kind":"kernel"},{"kind":"child graph"},{"kind":"external semaphore wait"},{"kind":"kind 77"}]"#;
    let nodes: Vec<Node> = serde_json::from_str(known).unwrap();
    let kinds: Vec<NodeKind> = nodes.iter().map(Node::kind).collect();
    assert_eq!(kinds, [NodeKind::Kernel, NodeKind::ChildGraph, NodeKind::ExternalSemaphoreWait, NodeKind::Other(77)]);
    assert_eq!(serde_json::to_string(&nodes).unwrap(), known);
    assert_eq!(serde_json::from_str::<Node>(r#"{"kind":"kind 2"}"#).unwrap().kind(), NodeKind::Memset);
}

#[test]
fn names_are_escaped_wherever_they_are_shown() {
    let json = r#"{"nodes":[{"kernel":{"name":"a<b>&\"\\\u0007","grid":[1,1,1],"block":[1,1,1],"shared_bytes":0}}],"edges":[]}"#;
    let inspection = Inspection::from(serde_json::from_str::<Census>(json).unwrap());
    let svg = inspection.svg().to_string();
    assert!(svg.contains("0 a&lt;b&gt;&amp;&quot;\\\u{fffd}"), "{svg}");
    assert!(!svg.contains("a<b"), "{svg}");
    let dot = inspection.dot().to_string();
    assert!(dot.contains("label=\"0 a<b>&\\\"\\\\"), "{dot}");
}

#[test]
fn a_picture_holds_every_node_once_whatever_the_graph() {
    // A chain with a branch at every tenth node, long enough to be folded.
    let nodes: Vec<_> = (0..200).map(|_| serde_json::json!({"kind": "empty"})).collect();
    let chain = (1..200).filter(|to| to % 10 != 0).map(|to| (to - 1, to));
    let branches = (1..20).flat_map(|tenth| [(10 * tenth - 2, 10 * tenth), (10 * tenth - 1, 10 * tenth)]);
    let mut pairs: Vec<(usize, usize)> = chain.chain(branches).collect();
    pairs.sort_unstable();
    let edges: Vec<_> = pairs.iter().map(|(from, to)| serde_json::json!({"from": from, "to": to})).collect();
    let census: Census = serde_json::from_value(serde_json::json!({"nodes": nodes, "edges": edges})).unwrap();
    let svg = Inspection::from(census).svg().to_string();
    for position in 0..200 {
        assert_eq!(svg.matches(&format!(">{position} empty<")).count(), 1, "node {position}");
    }
    assert_eq!(svg.matches("marker-end").count(), pairs.len());
    let boxes = boxes(&svg);
    assert_eq!(boxes.len(), 200);
    for (position, [x, y, width, height]) in boxes.iter().enumerate() {
        for [left, top, wide, high] in &boxes[position + 1..] {
            let beside = x + width < *left || left + wide < *x;
            let below = y + height < *top || top + high < *y;
            assert!(beside || below, "the boxes at {x},{y} and {left},{top}");
        }
    }
    // Folded: not as long and thin as a chain is.
    let [width, height] = ["width", "height"].map(|name| number(&svg, name));
    assert!(width < 2 * height && height < 2 * width, "{width} by {height}");
    assert!(Inspection::from(Census::default()).svg().to_string().contains("no nodes"));
    assert!(Inspection::from(Census::default()).dot().to_string().contains("no nodes"));
}

/// A number among the attributes of an element.
fn number(element: &str, attribute: &str) -> usize {
    let (_, rest) = element.split_once(&format!(" {attribute}=\"")).expect("the attribute is there");
    rest.split('"').next().unwrap().parse().expect("a number")
}

/// Left, top, width and height of every node's box.
fn boxes(svg: &str) -> Vec<[usize; 4]> {
    let groups = svg.split("<g>").skip(1);
    groups
        .map(|group| ["x", "y", "width", "height"].map(|name| number(&group[group.find("<rect").unwrap()..], name)))
        .collect()
}

/// The picture in the documentation is of the step that the example captures.
#[test]
fn the_picture_in_the_documentation_is_up_to_date() {
    let here = env::current_exe().unwrap();
    let folder = here.parent().unwrap();
    let places = [folder.join("../examples/decode_loop"), folder.join("decode_loop.example")];
    let example = places.iter().find(|path| path.exists()).expect("decode_loop is built");
    let file = File::new("decode_loop.svg");
    let driver = env::var("DACAPO_DRIVER").unwrap_or_else(|_| "sim".into());
    let output = Command::new(example)
        .args(["--prompt", "a", "--tokens", "1", "--graph-svg"])
        .arg(&file.0)
        .env("DACAPO_DRIVER", driver)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(
        file.text() == include_str!("../docs/decode_loop.svg"),
        "write it anew: cargo run --release --example decode_loop -- --graph-svg docs/decode_loop.svg"
    );
}

#[test]
fn a_fault_at_any_call_of_a_capture_leaves_the_stream_idle() {
    on_device(|rig| {
        let Some(sim) = rig.sim("injected faults") else { return };
        let mut stream = rig.stream();
        let step = Step::new(rig, &mut stream);
        // So that calls without a handle are this device's too.
        rig.context().bind_to_thread().unwrap();
        sim.clear_calls();
        let captured = stream.capture(ThreadLocal, |c| step.enqueue(c)).unwrap();
        let calls: Vec<&str> = sim.calls().iter().map(|call| call.name).collect();
        let census = captured.census();
        let mut stream = captured.discard().unwrap();
        for looked_at in ["cuGraphGetNodes", "cuGraphNodeGetType", "cuGraphGetEdges_v2", "cuFuncGetName"] {
            assert!(calls.contains(&looked_at), "{looked_at} in {calls:?}");
        }
        let mut got_over = Vec::new();
        for n in 1..=calls.len() {
            let what = format!("call {n}, {}", calls[n - 1]);
            sim.inject(Fault::on_any().nth(n as u64).code(999));
            let outcome = stream.capture(ThreadLocal, |c| step.enqueue(c));
            sim.clear_faults();
            stream = match outcome {
                Ok(captured) => {
                    got_over.push(calls[n - 1]);
                    captured.discard().unwrap()
                }
                Err(rejected) => {
                    assert!(rejected.error().to_string().contains("999"), "{what}: {}", rejected.error());
                    rejected.into_stream()
                }
            };
            assert_eq!(stream.capture_status().unwrap(), CaptureStatus::None, "{what}");
            let captured = stream.capture(ThreadLocal, |c| step.enqueue(c)).unwrap_or_else(|e| panic!("{what}: {e}"));
            assert_eq!(captured.census(), census, "{what}");
            stream = captured.discard().unwrap();
        }
        // A thread mode that cannot be changed, a context that cannot be popped, a name that is not told.
        let can_be_got_over = ["cuThreadExchangeStreamCaptureMode", "cuCtxPopCurrent_v2", "cuFuncGetName"];
        let expected: Vec<&str> = calls.iter().copied().filter(|call| can_be_got_over.contains(call)).collect();
        assert_eq!(got_over, expected);
    });
}
