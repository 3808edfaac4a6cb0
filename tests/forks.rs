//! Forks: both sides run beside each other and are joined, eagerly and in captures, nested, and over two devices.

mod common;

use common::{Rig, on_device, on_devices};
use dacapo::{
    Buffer, CaptureStatus, CapturedOrEager, Census, Enqueue, Error, Idle, Instantiated, Kernel, LaunchConfig, Misuse,
    Rejected, Stream, ThreadLocal, Work,
};

/// Launches that are told apart in a census by their grids: each scales a buffer of four elements by a factor.
struct Steps {
    scale: Kernel,
}

impl Steps {
    fn new(rig: &Rig) -> Self {
        Self { scale: rig.kernel("scale_f32") }
    }

    fn put(&self, work: &mut impl Enqueue, tag: u32, x: &Buffer<f32>, factor: f32) -> Result<(), Error> {
        // SAFETY: scale_f32(data, factor, n) over four elements; the other threads do nothing.
        unsafe { work.launch(&self.scale, LaunchConfig::new(tag, 32), (x, factor, 4u32)) }
    }
}

/// The edges of a census of `Steps`, by their tags.
fn edges(census: &Census) -> Vec<(u32, u32)> {
    let tags: Vec<u32> = census.kernels().map(|launch| launch.grid[0]).collect();
    assert_eq!(tags.len(), census.nodes(), "kernels only");
    let mut edges: Vec<_> = census.edges().iter().map(|edge| (tags[edge.from], tags[edge.to])).collect();
    edges.sort_unstable();
    edges
}

/// Whether a way leads from one step to another.
fn leads(edges: &[(u32, u32)], from: u32, to: u32) -> bool {
    edges.iter().any(|&(a, b)| a == from && (b == to || leads(edges, b, to)))
}

/// The steps that wait for nothing.
fn roots(census: &Census) -> Vec<u32> {
    let tags = census.kernels().map(|launch| launch.grid[0]);
    let edges = edges(census);
    let mut roots: Vec<_> = tags.filter(|&tag| edges.iter().all(|&(_, to)| to != tag)).collect();
    roots.sort_unstable();
    roots
}

/// A chain of two steps on each side of a fork, the branch's first, and one step after.
fn two_chains(
    steps: &Steps,
    stream: &mut impl Enqueue,
    other: &mut Stream<Idle>,
    [a, b]: [&Buffer<f32>; 2],
) -> Result<(), Error> {
    stream.fork(other, |main, branch| {
        steps.put(branch, 4, b, 5.0)?;
        steps.put(main, 2, a, 2.0)?;
        steps.put(branch, 5, b, 7.0)?;
        steps.put(main, 3, a, 3.0)
    })?;
    steps.put(stream, 6, b, 11.0)
}

fn captured(tried: Result<CapturedOrEager, Rejected<Stream<Idle>>>) -> Stream<Instantiated> {
    match tried {
        Ok(CapturedOrEager::Captured(captured)) => captured,
        other => panic!("{other:?}"),
    }
}

fn ones(stream: &mut Stream<Idle>) -> Buffer<f32> {
    stream.buffer_from(&[1.0f32; 4]).unwrap()
}

#[test]
fn two_chains_run_beside_each_other_and_are_joined() {
    on_device(|rig| {
        let (mut stream, mut other, steps) = (rig.stream(), rig.stream(), Steps::new(rig));
        let (a, b) = (ones(&mut stream), ones(&mut stream));
        let captured = stream.capture(ThreadLocal, |c| two_chains(&steps, c, &mut other, [&a, &b])).unwrap();
        let census = captured.census();
        assert_eq!(roots(&census), [2, 4], "neither chain waits for anything");
        assert_eq!(
            edges(&census),
            [(2, 3), (3, 6), (4, 5), (5, 6)],
            "nothing leads from one to the other before the join"
        );
        let captured = captured.discard().unwrap().capture(ThreadLocal, |c| {
            steps.put(c, 1, &a, 1.0)?;
            two_chains(&steps, c, &mut other, [&a, &b])
        });
        let captured = captured.unwrap();
        assert_eq!(roots(&captured.census()), [1]);
        assert_eq!(edges(&captured.census()), [(1, 2), (1, 4), (2, 3), (3, 6), (4, 5), (5, 6)]);
        let mut published = captured.publish().unwrap();
        published.replay().unwrap();
        assert_eq!((published.read(&a).unwrap(), published.read(&b).unwrap()), (vec![6.0; 4], vec![385.0; 4]));
        published.replay().unwrap();
        assert_eq!(published.read(&a).unwrap(), [36.0; 4]);
        assert_eq!(other.capture_status().unwrap(), CaptureStatus::None);
        steps.put(&mut other, 1, &a, 0.5).unwrap();
        assert_eq!(other.read(&a).unwrap(), [18.0; 4], "the branch's stream is as it was");
    });
}

#[test]
fn the_same_step_runs_eagerly() {
    on_device(|rig| {
        let (mut stream, mut other, steps) = (rig.stream(), rig.stream(), Steps::new(rig));
        let (a, b) = (ones(&mut stream), ones(&mut stream));
        two_chains(&steps, &mut stream, &mut other, [&a, &b]).unwrap();
        two_chains(&steps, &mut stream.eager(), &mut other, [&a, &b]).unwrap();
        assert_eq!(stream.read(&b).unwrap(), [385.0 * 385.0; 4]);
        assert_eq!(stream.read(&a).unwrap(), [36.0; 4]);
        let returned = stream.fork(&mut other, |main, branch| Ok((main.is_captured(), branch.is_captured())));
        assert_eq!(returned.unwrap(), (false, false));
    });
}

#[test]
fn both_sides_fork_again() {
    on_device(|rig| {
        let (mut stream, mut other, steps) = (rig.stream(), rig.stream(), Steps::new(rig));
        let (mut third, mut fourth) = (rig.stream(), rig.stream());
        let [a, b, c, d] = [(); 4].map(|()| ones(&mut stream));
        let mut nested = |work: &mut Work<'_>| {
            work.fork(&mut other, |main, branch| {
                main.fork(&mut third, |main, inner| {
                    steps.put(inner, 3, &c, 2.0)?;
                    steps.put(main, 1, &a, 3.0)?;
                    // The outer branch goes on beside an inner one.
                    steps.put(branch, 2, &b, 5.0)
                })?;
                branch.fork(&mut fourth, |branch, inner| {
                    steps.put(inner, 4, &d, 7.0)?;
                    steps.put(branch, 5, &b, 11.0)
                })?;
                steps.put(main, 6, &c, 13.0)?;
                steps.put(branch, 7, &d, 17.0)
            })?;
            steps.put(work, 8, &b, 19.0)
        };
        let stream = stream.warm_up(1, &mut nested).unwrap();
        let captured = captured(stream.capture_or_eager(ThreadLocal, &mut nested));
        let edges = edges(&captured.census());
        assert_eq!(edges, [(1, 6), (2, 4), (2, 5), (3, 6), (4, 7), (5, 7), (6, 8), (7, 8)]);
        for (one, other) in [(1, 2), (1, 3), (3, 2), (4, 5), (1, 7), (2, 6)] {
            assert!(!leads(&edges, one, other) && !leads(&edges, other, one), "{one} and {other} are parallel");
        }
        let mut published = captured.publish().unwrap();
        published.replay().unwrap();
        let read = [&a, &b, &c, &d].map(|x| published.read(x).unwrap()[0].sqrt());
        assert_eq!(read, [3.0, 5.0 * 11.0 * 19.0, 2.0 * 13.0, 7.0 * 17.0], "once eagerly and once replayed");
    });
}

#[test]
fn many_branches_at_once_and_one_stream_twice() {
    on_device(|rig| {
        let (mut stream, mut other, mut third, steps) = (rig.stream(), rig.stream(), rig.stream(), Steps::new(rig));
        let [a, b, c] = [(); 3].map(|()| ones(&mut stream));
        let captured = stream.capture(ThreadLocal, |main| {
            main.fork_many([&mut other, &mut third], |main, [left, right]| {
                steps.put(right, 3, &c, 2.0)?;
                steps.put(main, 1, &a, 2.0)?;
                steps.put(left, 2, &b, 2.0)
            })?;
            main.fork(&mut other, |main, again| {
                steps.put(main, 4, &a, 2.0)?;
                steps.put(again, 5, &b, 2.0)
            })?;
            main.fork_many([], |main, []| steps.put(main, 6, &c, 2.0))
        });
        let captured = captured.unwrap();
        assert_eq!(roots(&captured.census()), [1, 2, 3]);
        assert_eq!(edges(&captured.census()), [(1, 4), (1, 5), (2, 4), (2, 5), (3, 4), (3, 5), (4, 6), (5, 6)]);
        let mut published = captured.publish().unwrap();
        published.replay().unwrap();
        assert_eq!([&a, &b, &c].map(|x| published.read(x).unwrap()[0]), [4.0; 3]);
        let mut eager = published.reset().unwrap();
        let refused = eager.fork_many([&mut other.sibling(), &mut other.sibling()], |_, _| Ok(()));
        assert!(matches!(refused, Err(Error::Misuse(Misuse::OutOfTurn))), "a CUDA stream is one branch at a time");
        other.synchronize().unwrap();
        eager.synchronize().unwrap();
    });
}

#[test]
fn the_graph_begins_after_what_was_pending_on_the_branch() {
    on_device(|rig| {
        let (mut stream, mut other) = (rig.stream(), rig.stream());
        let (a, b) = (stream.alloc::<u32>(4).unwrap(), stream.alloc(4).unwrap());
        other.fill(&b, 7).unwrap();
        let captured = stream.capture(ThreadLocal, |c| c.fork(&mut other, |_, branch| branch.copy(&b, &a)));
        let mut published = captured.unwrap().publish().unwrap();
        published.replay().unwrap();
        assert_eq!(published.read(&a).unwrap(), [7; 4]);
    });
}

#[test]
fn a_stream_s_work_in_a_fork_is_its_own_turn() {
    on_device(|rig| {
        let (mut stream, mut other, mut third) = (rig.stream(), rig.stream(), rig.stream());
        let a = stream.alloc::<u32>(1).unwrap();
        let here = stream.sibling().capture(ThreadLocal, |c| c.fill(&a, 1)).unwrap().publish().unwrap();
        let there = other.sibling().capture(ThreadLocal, |c| c.fill(&a, 2)).unwrap().publish().unwrap();
        let (mut of_stream, mut of_other) = (stream.sibling(), other.sibling());
        fn refused<T>(result: Result<T, Error>, captured: bool) {
            match result.map(drop) {
                Err(Error::Misuse(Misuse::CaptureOpen)) if captured => {}
                Err(Error::Misuse(Misuse::OutOfTurn)) if !captured => {}
                other => panic!("{other:?}"),
            }
        }
        let mut body = |work: &mut Work<'_>| {
            let captured = work.is_captured();
            work.fork(&mut other, |main, branch| {
                refused(here.replay(), captured);
                refused(there.replay(), captured);
                refused(of_other.fill(&a, 3), captured);
                let again = main.fork(&mut of_other, |_, _| Ok(()));
                assert!(matches!(again, Err(Error::Misuse(Misuse::OutOfTurn))), "it is a branch already");
                let to_itself = branch.fork(&mut of_other, |_, _| Ok(()));
                assert!(matches!(to_itself, Err(Error::Misuse(Misuse::ForkToItself))));
                refused(branch.fork(&mut of_stream, |_, _| Ok(())), captured);
                // That it was refused has cost nothing.
                main.fork(&mut third, |_, inner| inner.fill(&a, 4))
            })
        };
        let stream = stream.warm_up(1, &mut body).unwrap();
        assert_eq!(captured(stream.capture_or_eager(ThreadLocal, &mut body)).census().to_string(), "memset ×1");
        there.replay().unwrap();
        here.replay().unwrap();
    });
}

#[test]
fn one_graph_runs_on_two_devices() {
    on_devices(2, |rigs| {
        let (mut stream, mut other) = (rigs[0].stream(), rigs[1].stream());
        let (here, there) = (ones(&mut stream), ones(&mut other));
        let [on_here, on_there] = [&rigs[0], &rigs[1]].map(Steps::new);
        let captured = stream.capture(ThreadLocal, |c| {
            on_here.put(c, 1, &here, 1.0)?;
            c.fork(&mut other, |main, branch| {
                on_there.put(branch, 4, &there, 3.0)?;
                on_here.put(main, 2, &here, 2.0)?;
                assert!(branch.device().ordinal() != main.device().ordinal());
                on_here.put(main, 3, &here, 2.0)
            })?;
            on_here.put(c, 5, &here, 2.0)
        });
        let captured = captured.unwrap();
        assert_eq!(edges(&captured.census()), [(1, 2), (1, 4), (2, 3), (3, 5), (4, 5)]);
        let mut published = captured.publish().unwrap();
        for _ in 0..2 {
            published.replay().unwrap();
        }
        assert_eq!(published.read(&here).unwrap(), [64.0; 4]);
        assert_eq!(other.read(&there).unwrap(), [9.0; 4]);
        // What is on the other device is kept by the graph.
        drop(there);
        published.replay().unwrap();
        published.synchronize().unwrap();
        let wrong = other.fork(&mut rigs[0].stream(), |_, branch| branch.fill(&there_again(rigs), 1));
        assert!(matches!(wrong, Err(Error::Misuse(Misuse::WrongContext { .. }))));
    });
}

fn there_again(rigs: &[Rig]) -> Buffer<u32> {
    rigs[1].stream().alloc(1).unwrap()
}
