//! Random walks through the states, on several streams at once, with and without injected faults: whatever the order, nothing is
//! used after it is freed, nothing is freed while it is used, and, without faults, nothing is left over.
//!
//! Each walk is made from a number, so one that fails can be walked again.

mod common;

use common::{BASIC_PTX, check_clean, simulator};
use dacapo::{
    Buffer, Capturing, Device, Enqueue, Error, Idle, Instantiated, Kernel, LaunchConfig, Pinned, Published, Rejected,
    Relaxed, Replayer, Stream, ThreadLocal,
};
use dacapo_sim::{Fault, SimDevice};

/// A stream in whatever state it has got to.
enum Any {
    Idle(Stream<Idle>),
    ThreadLocal(Stream<Capturing<ThreadLocal>>),
    Relaxed(Stream<Capturing<Relaxed>>),
    Instantiated(Stream<Instantiated>),
    Published(Stream<Published>),
}

/// What a walk works with.
struct Walk {
    /// A SplitMix64 sequence.
    state: u64,
    kernel: Kernel,
    buffers: Vec<Buffer<u32>>,
    pinned: Vec<Pinned<u32>>,
    replayers: Vec<Replayer>,
}

const LEN: usize = 64;

impl Walk {
    fn below(&mut self, bound: usize) -> usize {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) >> 33).expect("31 bits") % bound
    }

    fn buffer(&mut self) -> Buffer<u32> {
        let index = self.below(self.buffers.len());
        self.buffers[index].clone()
    }

    /// Enqueues or records one thing.
    fn enqueue(&mut self, stream: &mut impl Enqueue) -> Result<(), Error> {
        let (a, b) = (self.buffer(), self.buffer());
        let index = self.below(self.pinned.len());
        let pinned = self.pinned[index].clone();
        match self.below(8) {
            0 => stream.fill(&a, 5),
            1 => stream.copy(&a, &b),
            2 => stream.upload(&pinned, &a),
            3 => stream.download(&a, &pinned),
            4 => stream.host(|| ()),
            5 => {
                stream.retain(b);
                Ok(())
            }
            // SAFETY: copy_u32(src, dst, n) over buffers of LEN elements.
            _ => unsafe { stream.launch(&self.kernel, LaunchConfig::new(1, 64), (&a, &b, LEN as u32)) },
        }
    }

    /// Takes one step with one stream. An error is as good as a success, as long as the stream comes back.
    fn step(&mut self, stream: Any) -> Option<Any> {
        if self.below(24) == 0 {
            return None;
        }
        let choice = self.below(4);
        Some(match stream {
            Any::Idle(mut stream) => match choice {
                0 => stream.begin(ThreadLocal).map_or_else(back, Any::ThreadLocal),
                1 => stream.begin(Relaxed).map_or_else(back, Any::Relaxed),
                2 => {
                    let _ = stream.alloc(LEN).map(|buffer| self.buffers.push(buffer));
                    Any::Idle(stream)
                }
                _ => {
                    let _ = self.enqueue(&mut stream);
                    Any::Idle(stream)
                }
            },
            Any::ThreadLocal(mut stream) => match choice {
                0 => stream.end().map_or_else(back, Any::Instantiated),
                1 if self.below(4) == 0 => Any::Idle(stream.abort()),
                _ => {
                    let _ = self.enqueue(&mut stream);
                    Any::ThreadLocal(stream)
                }
            },
            Any::Relaxed(mut stream) => match choice {
                0 => stream.end().map_or_else(back, Any::Instantiated),
                1 if self.below(4) == 0 => Any::Idle(stream.abort()),
                _ => {
                    let _ = self.enqueue(&mut stream);
                    Any::Relaxed(stream)
                }
            },
            Any::Instantiated(mut stream) => match choice {
                0 | 1 => match stream.publish() {
                    Ok(published) => {
                        self.replayers.push(published.replayer());
                        Any::Published(published)
                    }
                    Err(rejected) => Any::Instantiated(rejected.into_stream()),
                },
                2 => stream.discard().map_or_else(back, Any::Idle),
                _ => {
                    let _ = self.enqueue(&mut stream);
                    Any::Instantiated(stream)
                }
            },
            Any::Published(mut stream) => match choice {
                0 => stream.reset().map_or_else(back, Any::Idle),
                1 => {
                    let buffer = self.buffer();
                    let _ = stream.read(&buffer);
                    Any::Published(stream)
                }
                2 => {
                    let _ = self.enqueue(&mut stream);
                    Any::Published(stream)
                }
                _ => {
                    let _ = stream.replay();
                    Any::Published(stream)
                }
            },
        })
    }
}

fn back(rejected: Rejected<Stream<Idle>>) -> Any {
    Any::Idle(rejected.into_stream())
}

/// One walk of some steps over some streams.
fn walk(ordinal: usize, number: u64) -> Result<(), Error> {
    let device = Device::open(ordinal)?;
    let kernel = device.load_ptx(BASIC_PTX)?.kernel("copy_u32")?;
    let mut first = device.stream()?;
    let buffers = (0..4).map(|_| first.alloc(LEN)).collect::<Result<_, _>>()?;
    let pinned = (0..2).map(|_| device.pinned(LEN)).collect::<Result<_, _>>()?;
    let mut walk = Walk { state: number, kernel, buffers, pinned, replayers: Vec::new() };
    let mut streams = vec![Any::Idle(first)];
    for _ in 0..120 {
        if streams.len() < 3 {
            streams.extend(device.stream().map(Any::Idle));
        }
        if streams.is_empty() {
            continue;
        }
        let index = walk.below(streams.len());
        let stream = streams.swap_remove(index);
        streams.extend(walk.step(stream));
        match walk.below(6) {
            0 if walk.buffers.len() > 2 => {
                let index = walk.below(walk.buffers.len());
                walk.buffers.swap_remove(index);
            }
            1 => {
                for replayer in &walk.replayers {
                    let _ = replayer.replay();
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn walks(ordinal: usize, faults: bool) {
    let Some(sim) = simulator() else {
        eprintln!("skipped: needs a count of live objects, which only the simulated driver has");
        return;
    };
    let sim: SimDevice = sim.device(u32::try_from(ordinal).expect("small"));
    for number in 0..300 {
        if faults {
            let _ = sim.inject(Fault::on_any().nth(40 + number * 7 % 400).code(999));
            let _ = sim.inject(Fault::on_any().nth(60 + number * 13 % 600).code(2));
        }
        let walked = walk(ordinal, number);
        sim.clear_faults();
        if faults {
            let violations = sim.take_violations();
            assert!(violations.is_empty(), "walk {number}:\n{}", violations[0]);
            // A failed free or destroy leaks what it was to free, by nature; take the context down with it.
            sim.reset();
        } else {
            walked.unwrap_or_else(|error| panic!("walk {number}: {error}"));
            check_clean(sim);
        }
    }
}

#[test]
fn walks_without_faults_leave_nothing_behind() {
    walks(50, false);
}

#[test]
fn walks_with_faults_release_nothing_too_early() {
    walks(51, true);
}
