//! Every kernel of `kernels/decode.ptx` against the same computation in Rust, to the bit.

#![allow(clippy::excessive_precision, clippy::approx_constant, reason = "constants as the kernels have them")]

use dacapo_sim::ptx::Module;

use crate::machine::{DECODE, Machine, Numbers, args};

fn module() -> Module {
    Module::parse(DECODE).unwrap()
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|v| v.to_bits()).collect()
}

/// `exp_ieee` of the kernels, operation by operation.
fn exp(x: f32) -> f32 {
    if x < -87.0 {
        return 0.0;
    }
    if x > 88.0 {
        return f32::INFINITY;
    }
    let k = (x * 1.442_695_04).round_ties_even() as i32;
    let r = (k as f32).mul_add(-0.693_359_375, x);
    let r = (k as f32).mul_add(2.121_944_40e-4, r);
    let coefficients = [1.388_888_89e-3f32, 8.333_333_33e-3, 4.166_666_67e-2, 1.666_666_67e-1, 0.5, 1.0, 1.0];
    let p = coefficients.iter().fold(1.984_126_98e-4f32, |p, c| p.mul_add(r, *c));
    p * f32::from_bits(((k + 127) as u32) << 23)
}

/// Tree over 128, as the kernels' comments define it.
fn tree(mut values: Vec<f32>, f: impl Fn(f32, f32) -> f32) -> f32 {
    let mut s = values.len() / 2;
    while s > 0 {
        for t in 0..s {
            values[t] = f(values[t], values[t + s]);
        }
        s /= 2;
    }
    values[0]
}

fn row_dot(row: &[f32], x: &[f32]) -> f32 {
    let mut sums = [0f32; 32];
    for (c, (a, b)) in row.iter().zip(x).enumerate() {
        let lane = c / 4 % 32;
        sums[lane] = a.mul_add(*b, sums[lane]);
    }
    for distance in [16, 8, 4, 2, 1] {
        let before = sums;
        for lane in 0..32 {
            sums[lane] = before[lane] + before[lane ^ distance];
        }
    }
    sums[0]
}

#[test]
fn the_exponential_is_as_exact_as_documented() {
    let mut worst = 0.0f64;
    let mut x = -87.0f32;
    while x <= 88.0 {
        let got = f64::from(exp(x));
        let want = f64::from(x).exp();
        let ulp = f64::from((want as f32).next_up()) - f64::from(want as f32);
        worst = worst.max((got - want).abs() / ulp);
        x += 0.000_731;
    }
    assert!(worst <= 1.0, "{worst} ulp");
    assert_eq!((exp(-88.0), exp(89.0), exp(0.0)), (0.0, f32::INFINITY, 1.0));
    assert!(exp(f32::NAN).is_nan());
}

#[test]
fn embedding_picks_the_token_row() {
    let module = module();
    let mut machine = Machine::new();
    let table = Numbers(3).units(10 * 100);
    let (input, at, x) = (machine.words(&[7, 0]), machine.floats(&table), machine.floats(&[0.0; 100]));
    machine.launch(module.function("embed").unwrap(), 2, 64, 0, args![input, at, x, 100u32]).unwrap();
    assert_eq!(machine.read(x, 100), bits(&table[700..800]));
}

#[test]
fn rms_norm_is_exact() {
    let module = module();
    let mut machine = Machine::new();
    for width in [4usize, 100, 128, 352] {
        let (x, weight) = (Numbers(11).units(width), Numbers(12).units(width));
        let (px, pw) = (machine.floats(&x), machine.floats(&weight));
        let out = machine.floats(&vec![0.0; width]);
        let args = args![px, pw, out, width as u32, 1e-5f32];
        machine.launch(module.function("rms_norm").unwrap(), 1, 128, 0, args).unwrap();
        let mut squares = vec![0f32; 128];
        for (i, x) in x.iter().enumerate() {
            squares[i % 128] = x.mul_add(*x, squares[i % 128]);
        }
        let scale = 1.0 / (tree(squares, |a, b| a + b) / width as f32 + 1e-5).sqrt();
        let want: Vec<f32> = x.iter().zip(&weight).map(|(x, w)| x * scale * w).collect();
        assert_eq!(machine.read(out, width), bits(&want), "width {width}");
    }
}

#[test]
fn matvec_adds_in_the_documented_order() {
    let module = module();
    let mut machine = Machine::new();
    for (rows, cols) in [(1usize, 4usize), (7, 128), (10, 352), (33, 132), (5, 1000)] {
        let (w, x, y) = (Numbers(1).units(rows * cols), Numbers(2).units(cols), Numbers(3).units(rows));
        let (pw, px) = (machine.floats(&w), machine.floats(&x));
        let (out, sum) = (machine.floats(&vec![9.0; rows + 1]), machine.floats(&y));
        let blocks = (rows as u32).div_ceil(4);
        let sizes = (rows as u32, cols as u32);
        let matvec = module.function("matvec").unwrap();
        machine.launch(matvec, blocks, 128, 0, args![pw, px, out, sizes.0, sizes.1]).unwrap();
        let matvec_add = module.function("matvec_add").unwrap();
        machine.launch(matvec_add, blocks, 128, 0, args![pw, px, sum, sizes.0, sizes.1]).unwrap();
        let dots: Vec<f32> = w.chunks(cols).map(|row| row_dot(row, &x)).collect();
        assert_eq!(machine.read(out, rows + 1), bits(&[&dots[..], &[9.0]].concat()), "{rows} x {cols}");
        let sums: Vec<f32> = dots.iter().zip(&y).map(|(dot, y)| dot + y).collect();
        assert_eq!(machine.read(sum, rows), bits(&sums), "{rows} x {cols}");
    }
}

#[test]
fn rope_rotates_and_stores_at_the_position() {
    let module = module();
    let rope = module.function("rope_and_store").unwrap();
    let (heads, dim, context) = (4usize, 32usize, 8usize);
    let half = dim / 2;
    let (q, k, v) = (Numbers(1).units(heads * dim), Numbers(2).units(heads * dim), Numbers(3).units(heads * dim));
    let table = Numbers(4).units(context * dim);
    for position in [0usize, 5, 7, 8] {
        let mut machine = Machine::new();
        let (pq, pk, pv) = (machine.floats(&q), machine.floats(&k), machine.floats(&v));
        let (pt, input) = (machine.floats(&table), machine.words(&[0, position as u32]));
        let size = heads * context * dim;
        let (keys, values) = (machine.floats(&vec![0.0; size]), machine.floats(&vec![0.0; size]));
        let sizes = (heads as u32, dim as u32, context as u32);
        let args = args![input, pq, pk, pv, pt, keys, values, sizes.0, sizes.1, sizes.2];
        machine.launch(rope, heads as u32, half as u32, 0, args).unwrap();

        let (mut want_q, mut want_keys, mut want_values) = (q.clone(), vec![0.0; size], vec![0.0; size]);
        for head in 0..heads {
            for i in (0..half).filter(|_| position < context) {
                let (c, s) = (table[(position * half + i) * 2], table[(position * half + i) * 2 + 1]);
                let (lo, hi) = (head * dim + i, head * dim + i + half);
                want_q[lo] = q[lo] * c - q[hi] * s;
                want_q[hi] = q[lo] * s + q[hi] * c;
                let slot = (head * context + position) * dim + i;
                want_keys[slot] = k[lo] * c - k[hi] * s;
                want_keys[slot + half] = k[lo] * s + k[hi] * c;
                want_values[slot] = v[lo];
                want_values[slot + half] = v[hi];
            }
        }
        assert_eq!(machine.read(pq, heads * dim), bits(&want_q), "position {position}");
        assert_eq!(machine.read(keys, size), bits(&want_keys), "position {position}");
        assert_eq!(machine.read(values, size), bits(&want_values), "position {position}");
    }
}

#[test]
fn attention_adds_in_the_documented_order() {
    let module = module();
    let attention = module.function("attention").unwrap();
    for (heads, dim, context) in [(4usize, 32usize, 256usize), (2, 64, 40), (1, 128, 16)] {
        let size = heads * context * dim;
        let q = Numbers(1).units(heads * dim);
        let (keys, values) = (Numbers(2).units(size), Numbers(3).units(size));
        for position in [0usize, 1, 15, 127, 128, 255, 256] {
            let mut machine = Machine::new();
            let input = machine.words(&[0, position as u32]);
            let (pq, pk, pv) = (machine.floats(&q), machine.floats(&keys), machine.floats(&values));
            let out = machine.floats(&vec![0.0; heads * dim]);
            let args = args![input, pq, pk, pv, out, heads as u32, dim as u32, context as u32];
            machine.launch(attention, heads as u32, 128, 4 * context as u32, args).unwrap();
            let mut want = vec![0f32; heads * dim];
            if position < context {
                for head in 0..heads {
                    let query = &q[head * dim..][..dim];
                    let head_keys = &keys[head * context * dim..];
                    let head_values = &values[head * context * dim..];
                    let scale = 1.0 / (dim as f32).sqrt();
                    let scores: Vec<f32> = (0..=position)
                        .map(|p| {
                            query.iter().zip(&head_keys[p * dim..]).fold(0f32, |s, (a, b)| a.mul_add(*b, s)) * scale
                        })
                        .collect();
                    let highest = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                    let weights: Vec<f32> = scores.iter().map(|s| exp(s - highest)).collect();
                    let mut sums = vec![0f32; 128];
                    for (p, weight) in weights.iter().enumerate() {
                        sums[p % 128] += weight;
                    }
                    let sum = tree(sums, |a, b| a + b);
                    let groups = 128 / dim;
                    for d in 0..dim {
                        let mut mixed = vec![0f32; groups];
                        for (p, weight) in weights.iter().enumerate() {
                            mixed[p % groups] = weight.mul_add(head_values[p * dim + d], mixed[p % groups]);
                        }
                        let total = mixed[1..].iter().fold(mixed[0], |total, m| total + m);
                        want[head * dim + d] = total / sum;
                    }
                }
            }
            assert_eq!(machine.read(out, heads * dim), bits(&want), "{heads} x {dim}, position {position}");
        }
    }
}

#[test]
fn silu_is_exact() {
    let module = module();
    let mut machine = Machine::new();
    let mut gate: Vec<f32> = Numbers(1).units(200).iter().map(|g| g * 20.0).collect();
    gate.extend([0.0, -0.0, 90.0, -90.0, 87.0, -88.0, f32::INFINITY]);
    let up = Numbers(2).units(gate.len());
    let n = gate.len();
    let (pg, pu, out) = (machine.floats(&gate), machine.floats(&up), machine.floats(&vec![0.0; n]));
    machine.launch(module.function("silu_mul").unwrap(), 4, 64, 0, args![pg, pu, out, n as u32]).unwrap();
    let want: Vec<f32> = gate.iter().zip(&up).map(|(g, u)| g / (1.0 + exp(-g)) * u).collect();
    assert_eq!(machine.read(out, n), bits(&want));
}

#[test]
fn argmax_takes_the_lowest_of_equal_logits() {
    let module = module();
    let argmax = module.function("argmax").unwrap();
    let mut machine = Machine::new();
    let out = machine.words(&[99]);
    let mut check = |logits: &[f32], want: u32| {
        let at = machine.floats(logits);
        machine.launch(argmax, 1, 128, 0, args![at, out, logits.len() as u32]).unwrap();
        assert_eq!(machine.read(out, 1), [want]);
    };
    let mut logits = Numbers(9).units(256);
    let best = (0..256).max_by(|a, b| logits[*a].total_cmp(&logits[*b])).unwrap();
    check(&logits, best as u32);
    logits[200] = 5.0;
    logits[37] = 5.0;
    logits[165] = 5.0;
    check(&logits, 37);
    check(&[f32::NAN, 1.0, f32::NAN, 2.0], 3);
    check(&[f32::NAN; 3], 0);
    check(&[f32::NEG_INFINITY; 300], 0);
    check(&[-0.0, 0.0], 0);
}

#[test]
fn steps_are_counted() {
    let module = module();
    let mut machine = Machine::new();
    let counter = machine.longs(&[41]);
    machine.launch(module.function("count_step").unwrap(), 1, 1, 0, args![counter]).unwrap();
    assert_eq!(machine.read_longs(counter, 1), [42]);
}
