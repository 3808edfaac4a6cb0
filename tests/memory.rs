//! Buffers, pinned memory, copies and fills: sizes, lengths, ownership.

mod common;

use common::{on_device, on_device_alone};
use dacapo::{CaptureStatus, Enqueue, Error, Global, Misuse, ThreadLocal};

fn misuse<T>(result: Result<T, Error>) -> Misuse {
    match result {
        Err(Error::Misuse(misuse)) => misuse,
        Err(other) => panic!("another error: {other}"),
        Ok(_) => panic!("no error"),
    }
}

#[test]
fn a_new_buffer_is_zero_and_a_copy_is_a_copy() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let zero = stream.alloc::<f64>(1000).unwrap();
        assert!(stream.read(&zero).unwrap().iter().all(|&value| value == 0.0));
        let values: Vec<u16> = (0..1001).collect();
        let (a, b) = (stream.buffer_from(&values).unwrap(), stream.alloc(1001).unwrap());
        stream.copy(&a, &b).unwrap();
        assert_eq!(stream.read(&b).unwrap(), values);
        assert_eq!((b.len(), b.size_bytes()), (1001, 2002));
    });
}

#[test]
fn lengths_that_cannot_be_are_typed_errors() {
    on_device(|rig| {
        let mut stream = rig.stream();
        assert_eq!(misuse(stream.alloc::<u32>(0)), Misuse::ZeroLength);
        assert_eq!(misuse(stream.alloc::<[u32; 0]>(5)), Misuse::ZeroLength);
        assert_eq!(misuse(stream.buffer_from::<u8>(&[])), Misuse::ZeroLength);
        assert_eq!(misuse(rig.device.pinned::<u8>(0)), Misuse::ZeroLength);
        let len = usize::MAX / 2;
        assert_eq!(misuse(stream.alloc::<u64>(len)), Misuse::SizeOverflow { elements: len, size: 8 });
        assert_eq!(misuse(rig.device.pinned::<u64>(len)), Misuse::SizeOverflow { elements: len, size: 8 });
        assert_eq!(stream.capture_status().unwrap(), CaptureStatus::None);
    });
}

#[test]
fn more_memory_than_there_is_is_the_driver_s_error() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let error = stream.alloc::<u8>(1 << 50).unwrap_err();
        assert_eq!(error.to_string(), "cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY (2)");
        assert_eq!(stream.buffer_from(&[1u8]).map(|buffer| buffer.len()).unwrap(), 1, "and the stream goes on");
    });
}

#[test]
fn lengths_that_differ_are_typed_errors() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let (three, four) = (stream.alloc::<u32>(3).unwrap(), stream.alloc::<u32>(4).unwrap());
        let pinned = rig.device.pinned::<u32>(3).unwrap();
        let three_into_four = Misuse::LengthMismatch { source_len: 3, destination_len: 4 };
        let four_into_three = Misuse::LengthMismatch { source_len: 4, destination_len: 3 };
        assert_eq!(misuse(stream.copy(&three, &four)), three_into_four);
        assert_eq!(misuse(stream.upload(&pinned, &four)), three_into_four);
        assert_eq!(misuse(stream.download(&four, &pinned)), four_into_three);
        assert_eq!(misuse(stream.write(&[1, 2, 3], &four)), three_into_four);
        assert_eq!(misuse(stream.read_into(&four, &mut [0; 3])), four_into_three);
        assert_eq!(misuse(pinned.write(&[1, 2, 3, 4])), four_into_three);
        assert_eq!(misuse(pinned.read_into(&mut [0; 4])), three_into_four);
    });
}

#[test]
fn a_slice_shares_the_memory() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let whole = stream.buffer_from(&[0u32, 1, 2, 3, 4, 5, 6, 7]).unwrap();
        let part = whole.slice(2..5).unwrap();
        assert_eq!(part.device_ptr(), whole.device_ptr() + 8);
        assert_eq!(stream.read(&part).unwrap(), [2, 3, 4]);
        stream.fill(&part.slice(..=0).unwrap(), 9).unwrap();
        drop(part);
        assert_eq!(stream.read(&whole).unwrap(), [0, 1, 9, 3, 4, 5, 6, 7]);
        let tail = whole.slice(6..).unwrap();
        drop(whole);
        assert_eq!(stream.read(&tail).unwrap(), [6, 7], "a part keeps the whole alive");
        assert_eq!(misuse(tail.slice(1..3)), Misuse::OutOfRange { start: 1, end: 3, len: 2 });
        #[expect(clippy::reversed_empty_ranges, reason = "that is what is refused")]
        let reversed = tail.slice(2..1);
        assert_eq!(misuse(reversed), Misuse::OutOfRange { start: 2, end: 1, len: 2 });
        assert_eq!(misuse(tail.slice(1..1)), Misuse::ZeroLength);
        assert!(tail.slice(0..=usize::MAX).is_err());
    });
}

#[test]
fn an_overlapping_copy_is_refused() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let whole = stream.alloc::<u32>(8).unwrap();
        let (left, right) = (whole.slice(0..4).unwrap(), whole.slice(4..8).unwrap());
        stream.copy(&left, &right).unwrap();
        assert_eq!(misuse(stream.copy(&left, &whole.slice(3..7).unwrap())), Misuse::Overlap);
        assert_eq!(misuse(stream.copy(&whole, &whole)), Misuse::Overlap);
    });
}

#[test]
fn a_fill_of_any_element_is_exact_eager_and_captured() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let bytes = stream.alloc::<u8>(7).unwrap();
        let shorts = stream.alloc::<u16>(7).unwrap();
        let floats = stream.alloc::<f32>(7).unwrap();
        let doubles = stream.alloc::<f64>(7).unwrap();
        let triples = stream.alloc::<[u8; 3]>(7).unwrap();
        let sixes = stream.alloc::<[u16; 3]>(7).unwrap();
        let wide = stream.alloc::<[u32; 4]>(7).unwrap();
        for round in 1..=2u8 {
            let value = 10 * round;
            let (short, float, double) = (u16::from(value) * 257 + 1, f32::from(value) + 0.3, f64::from(value) + 0.1);
            macro_rules! fill_all {
                ($stream:expr) => {{
                    $stream.fill(&bytes, value)?;
                    $stream.fill(&shorts, short)?;
                    $stream.fill(&floats, float)?;
                    $stream.fill(&doubles, double)?;
                    $stream.fill(&triples, [1, value, 3])?;
                    $stream.fill(&sixes, [1, 2, short])?;
                    $stream.fill(&wide, [1, 2, 3, u32::from(short)])
                }};
            }
            if round == 1 {
                (|| -> Result<(), Error> { fill_all!(stream) })().unwrap();
            } else {
                let published = stream.capture(ThreadLocal, |c| fill_all!(c)).unwrap().publish().unwrap();
                published.replay().unwrap();
                stream = published.reset().unwrap();
            }
            assert_eq!(stream.read(&bytes).unwrap(), [value; 7]);
            assert_eq!(stream.read(&shorts).unwrap(), [short; 7]);
            assert_eq!(stream.read(&floats).unwrap(), [float; 7]);
            assert_eq!(stream.read(&doubles).unwrap(), [double; 7]);
            assert_eq!(stream.read(&triples).unwrap(), [[1, value, 3]; 7]);
            assert_eq!(stream.read(&sixes).unwrap(), [[1, 2, short]; 7]);
            assert_eq!(stream.read(&wide).unwrap(), [[1, 2, 3, u32::from(short)]; 7]);
        }
    });
}

#[test]
fn pinned_memory_goes_up_and_comes_down_at_every_replay() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let (input, output) = (rig.device.pinned::<u8>(13).unwrap(), rig.device.pinned::<u8>(13).unwrap());
        assert_eq!(output.to_vec(), [0; 13]);
        let (a, b) = (stream.alloc(13).unwrap(), stream.alloc(13).unwrap());
        let captured = stream.capture(ThreadLocal, |c| {
            c.upload(&input, &a)?;
            c.copy(&a, &b)?;
            c.download(&b, &output)
        });
        let mut published = captured.unwrap().publish().unwrap();
        for round in 0..5u8 {
            let values: [u8; 13] = std::array::from_fn(|i| round * 16 + u8::try_from(i).unwrap());
            input.write(&values).unwrap();
            published.replay().unwrap();
            published.synchronize().unwrap();
            assert_eq!(output.to_vec(), values);
        }
    });
}

#[test]
fn drops_do_not_break_a_capture() {
    on_device_alone(|rig| {
        let mut stream = rig.stream();
        let kept = stream.alloc::<u32>(1).unwrap();
        for mode in ["thread local", "global"] {
            let (buffer, pinned, module) =
                (stream.alloc::<u32>(64).unwrap(), rig.device.pinned::<u32>(64).unwrap(), rig.module());
            let other = rig.stream().capture(ThreadLocal, |c| c.fill(&kept, 1)).unwrap();
            let body = |c: &mut dyn FnMut() -> Result<(), Error>| -> Result<(), Error> {
                drop((buffer, pinned, module, other));
                // Nor do allocations of ours.
                let inside = rig.device.pinned::<u32>(64)?;
                drop(inside);
                c()
            };
            let captured = match mode {
                "thread local" => stream.capture(ThreadLocal, |c| body(&mut || c.fill(&kept, 2))),
                _ => stream.capture(Global, |c| body(&mut || c.fill(&kept, 2))),
            };
            let mut published = captured.unwrap().publish().unwrap();
            published.replay().unwrap();
            assert_eq!(published.read(&kept).unwrap(), [2]);
            stream = published.reset().unwrap();
        }
    });
}

#[test]
fn a_stream_that_is_never_synchronised_does_not_keep_everything() {
    on_device(|rig| {
        let Some(sim) = rig.sim("a count of live objects") else { return };
        let mut stream = rig.stream();
        let target = stream.alloc::<u32>(1).unwrap();
        let mut other = rig.stream();
        let mut most = 0;
        for _ in 0..5000 {
            let scratch = other.alloc::<u32>(1).unwrap();
            other.synchronize().unwrap();
            stream.copy(&scratch, &target).unwrap();
            stream.copy(&scratch, &target).unwrap();
            most = most.max(sim.live().allocations());
        }
        assert!((1000..1100).contains(&most), "{most} buffers were kept at a time");
        stream.synchronize().unwrap();
        drop(stream);
        assert_eq!(sim.live().allocations(), 1);
    });
}
