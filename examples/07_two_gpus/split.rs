//! The model of `decode_loop`, split over two ranks.
//!
//! Each rank has half of the rows of every matrix and half of the attention heads, and so computes half of every vector; the other half
//! it reads from its peer's memory, behind a barrier that both kernels wait at on the device. No sum is taken apart, so the results are
//! those of one GPU to the bit. Norms, embedding and the choice of the token are computed on both.

use std::ops::Range;

use dacapo::{Arguments, Buffer, Device, Eager, Enqueue, Error, Kernel, LaunchConfig, Pinned};

use crate::model::weights::{CONTEXT, HEAD_DIM, HEADS, HIDDEN, LayerWeights, VOCABULARY, WIDTH, Weights, rotary_table};

const MODEL_PTX: &str = include_str!("../../kernels/decode.ptx");
const RANKS_PTX: &str = include_str!("../../kernels/ranks.ptx");
const EPSILON: f32 = 1e-5;
const BLOCK: u32 = 128;

/// Half of one layer's weights and caches.
struct Layer {
    query: Buffer<f32>,
    key: Buffer<f32>,
    value: Buffer<f32>,
    output: Buffer<f32>,
    gate: Buffer<f32>,
    up: Buffer<f32>,
    down: Buffer<f32>,
    key_cache: Buffer<f32>,
    value_cache: Buffer<f32>,
}

/// A vector that both ranks end up with: whole, and which part of it this rank computes.
struct Shared {
    whole: Buffer<f32>,
    own: Buffer<f32>,
    others: Buffer<f32>,
}

struct Kernels {
    embed: Kernel,
    rms_norm: Kernel,
    matvec: Kernel,
    matvec_add: Kernel,
    rope_and_store: Kernel,
    attention: Kernel,
    silu_mul: Kernel,
    argmax: Kernel,
    meet: Kernel,
    exchange: Kernel,
}

/// One rank's half.
struct Half {
    kernels: Kernels,
    embedding: Buffer<f32>,
    logit_rows: Buffer<f32>,
    cos_sin: Buffer<f32>,
    norm: Buffer<f32>,
    layers: Vec<Layer>,
    x: Shared,
    mixed: Shared,
    hidden: Shared,
    logits: Shared,
    normed: Buffer<f32>,
    query: Buffer<f32>,
    key: Buffer<f32>,
    value: Buffer<f32>,
    up: Buffer<f32>,
    input: Buffer<u32>,
    next_token: Buffer<u32>,
    arrivals: Buffer<u32>,
    waited: Buffer<u64>,
    host_input: Pinned<u32>,
    host_next_token: Pinned<u32>,
    host_waited: Pinned<u64>,
}

/// The model on two ranks.
pub(crate) struct Split([Half; 2]);

impl Split {
    pub(crate) fn new(ranks: &mut [Eager<'_>; 2], seed: u64) -> Result<Self, Error> {
        let weights = Weights::from_seed(seed);
        let [first, second] = ranks;
        Ok(Self([Half::new(first, 0, &weights)?, Half::new(second, 1, &weights)?]))
    }

    /// One step on both ranks: takes `{token, position}` from the host, and leaves the likeliest next token there.
    pub(crate) fn step(&self, first: &mut impl Enqueue, second: &mut impl Enqueue) -> Result<(), Error> {
        let [left, right] = &self.0;
        left.step(first, right)?;
        right.step(second, left)
    }

    /// What the next step works on. The step before must have finished.
    pub(crate) fn set_input(&self, token: u8, position: usize) -> Result<(), Error> {
        self.0.iter().try_for_each(|half| half.host_input.write(&[u32::from(token), size(position)]))
    }

    /// What the last step has left, on both ranks. It must have finished.
    pub(crate) fn next_tokens(&self) -> Result<[u8; 2], Error> {
        let mut tokens = [0; 2];
        for (half, token) in self.0.iter().zip(&mut tokens) {
            let mut word = [0];
            half.host_next_token.read_into(&mut word)?;
            *token = u8::try_from(word[0]).unwrap_or(u8::MAX);
        }
        Ok(tokens)
    }

    /// How far apart the ranks began the last step, in nanoseconds of their own timers: one of them waited for the other.
    pub(crate) fn skew(&self) -> Result<u64, Error> {
        let [mut left, mut right] = [[0], [0]];
        self.0[0].host_waited.read_into(&mut left)?;
        self.0[1].host_waited.read_into(&mut right)?;
        Ok(left[0].abs_diff(right[0]))
    }
}

impl Half {
    fn new(eager: &mut Eager<'_>, rank: usize, weights: &Weights) -> Result<Self, Error> {
        let device = eager.device().clone();
        let heads = HEADS / 2;
        Ok(Self {
            kernels: Kernels::new(&device)?,
            embedding: eager.buffer_from(&weights.embedding)?,
            logit_rows: rows(eager, &weights.embedding, rank)?,
            cos_sin: eager.buffer_from(&rotary_table())?,
            norm: eager.buffer_from(&[1.0; WIDTH])?,
            layers: weights.layers.iter().map(|layer| Layer::new(eager, rank, layer)).collect::<Result<_, _>>()?,
            x: Shared::new(eager, rank, WIDTH)?,
            mixed: Shared::new(eager, rank, WIDTH)?,
            hidden: Shared::new(eager, rank, HIDDEN)?,
            logits: Shared::new(eager, rank, VOCABULARY)?,
            normed: eager.alloc(WIDTH)?,
            query: eager.alloc(heads * HEAD_DIM)?,
            key: eager.alloc(heads * HEAD_DIM)?,
            value: eager.alloc(heads * HEAD_DIM)?,
            up: eager.alloc(HIDDEN / 2)?,
            input: eager.alloc(2)?,
            next_token: eager.alloc(1)?,
            arrivals: eager.alloc(1)?,
            waited: eager.alloc(1)?,
            host_input: device.pinned(2)?,
            host_next_token: device.pinned(1)?,
            host_waited: device.pinned(1)?,
        })
    }

    fn step(&self, work: &mut impl Enqueue, peer: &Self) -> Result<(), Error> {
        let kernels = &self.kernels;
        work.upload(&self.host_input, &self.input)?;
        run(work, &kernels.meet, LaunchConfig::new(1, 1), (&self.arrivals, &peer.arrivals, &self.waited))?;
        run(work, &kernels.embed, blocks(WIDTH), (&self.input, &self.embedding, &self.x.whole, size(WIDTH)))?;
        for layer in &self.layers {
            self.attend(work, layer, peer)?;
            self.feed_forward(work, layer, peer)?;
        }
        self.normalise(work)?;
        multiply(work, &kernels.matvec, &self.logit_rows, &self.normed, &self.logits.own)?;
        self.exchange(work, &self.logits, peer, &peer.logits)?;
        run(
            work,
            &kernels.argmax,
            LaunchConfig::new(1, BLOCK),
            (&self.logits.whole, &self.next_token, size(VOCABULARY)),
        )?;
        work.download(&self.waited, &self.host_waited)?;
        work.download(&self.next_token, &self.host_next_token)
    }

    /// Attention of this rank's heads over the positions so far, and its half of what is added to the residual.
    fn attend(&self, work: &mut impl Enqueue, layer: &Layer, peer: &Self) -> Result<(), Error> {
        let (kernels, input) = (&self.kernels, &self.input);
        let (heads, head_dim, context) = (size(HEADS / 2), size(HEAD_DIM), size(CONTEXT));
        self.normalise(work)?;
        multiply(work, &kernels.matvec, &layer.query, &self.normed, &self.query)?;
        multiply(work, &kernels.matvec, &layer.key, &self.normed, &self.key)?;
        multiply(work, &kernels.matvec, &layer.value, &self.normed, &self.value)?;
        let caches = (&layer.key_cache, &layer.value_cache);
        let (query, key, value) = (&self.query, &self.key, &self.value);
        let rotated = (input, query, key, value, &self.cos_sin, caches.0, caches.1, heads, head_dim, context);
        run(work, &kernels.rope_and_store, LaunchConfig::new(heads, head_dim / 2), rotated)?;
        let attended = (input, query, caches.0, caches.1, &self.mixed.own, heads, head_dim, context);
        let shape = LaunchConfig::new(heads, BLOCK).shared(context * size(size_of::<f32>()));
        run(work, &kernels.attention, shape, attended)?;
        self.exchange(work, &self.mixed, peer, &peer.mixed)?;
        multiply(work, &kernels.matvec_add, &layer.output, &self.mixed.whole, &self.x.own)?;
        self.exchange(work, &self.x, peer, &peer.x)
    }

    /// The gated feed-forward part: this rank's half of what is added to the residual.
    fn feed_forward(&self, work: &mut impl Enqueue, layer: &Layer, peer: &Self) -> Result<(), Error> {
        let (kernels, hidden) = (&self.kernels, &self.hidden.own);
        self.normalise(work)?;
        multiply(work, &kernels.matvec, &layer.gate, &self.normed, hidden)?;
        multiply(work, &kernels.matvec, &layer.up, &self.normed, &self.up)?;
        run(work, &kernels.silu_mul, blocks(HIDDEN / 2), (hidden, &self.up, hidden, size(HIDDEN / 2)))?;
        self.exchange(work, &self.hidden, peer, &peer.hidden)?;
        multiply(work, &kernels.matvec_add, &layer.down, &self.hidden.whole, &self.x.own)?;
        self.exchange(work, &self.x, peer, &peer.x)
    }

    fn normalise(&self, work: &mut impl Enqueue) -> Result<(), Error> {
        let arguments = (&self.x.whole, &self.norm, &self.normed, size(WIDTH), EPSILON);
        run(work, &self.kernels.rms_norm, LaunchConfig::new(1, BLOCK), arguments)
    }

    /// Waits on the device until the peer has its half too, and reads that.
    ///
    /// Every vector is exchanged behind a barrier of its own, and between two writes to one there is always another barrier: so
    /// nobody writes what the peer has still to read.
    fn exchange(&self, work: &mut impl Enqueue, own: &Shared, peer: &Self, theirs: &Shared) -> Result<(), Error> {
        let n = size(theirs.own.len());
        let arguments = (&self.arrivals, &peer.arrivals, &theirs.own, &own.others, n);
        run(work, &self.kernels.exchange, LaunchConfig::new(1, BLOCK), arguments)
    }
}

impl Kernels {
    fn new(device: &Device) -> Result<Self, Error> {
        let (model, ranks) = (device.load_ptx(MODEL_PTX)?, device.load_ptx(RANKS_PTX)?);
        Ok(Self {
            embed: model.kernel("embed")?,
            rms_norm: model.kernel("rms_norm")?,
            matvec: model.kernel("matvec")?,
            matvec_add: model.kernel("matvec_add")?,
            rope_and_store: model.kernel("rope_and_store")?,
            attention: model.kernel("attention")?,
            silu_mul: model.kernel("silu_mul")?,
            argmax: model.kernel("argmax")?,
            meet: ranks.kernel("meet")?,
            exchange: ranks.kernel("exchange")?,
        })
    }
}

impl Layer {
    fn new(eager: &mut Eager<'_>, rank: usize, weights: &LayerWeights) -> Result<Self, Error> {
        Ok(Self {
            query: rows(eager, &weights.query, rank)?,
            key: rows(eager, &weights.key, rank)?,
            value: rows(eager, &weights.value, rank)?,
            output: rows(eager, &weights.output, rank)?,
            gate: rows(eager, &weights.gate, rank)?,
            up: rows(eager, &weights.up, rank)?,
            down: rows(eager, &weights.down, rank)?,
            key_cache: eager.alloc(HEADS / 2 * CONTEXT * HEAD_DIM)?,
            value_cache: eager.alloc(HEADS / 2 * CONTEXT * HEAD_DIM)?,
        })
    }
}

impl Shared {
    fn new(eager: &mut Eager<'_>, rank: usize, len: usize) -> Result<Self, Error> {
        let whole = eager.alloc(len)?;
        let (own, others) = (whole.slice(half_of(len, rank))?, whole.slice(half_of(len, 1 - rank))?);
        Ok(Self { whole, own, others })
    }
}

/// A rank's half of a vector.
fn half_of(len: usize, rank: usize) -> Range<usize> {
    rank * len / 2..(rank + 1) * len / 2
}

/// A rank's half of a matrix's rows, which lie one after the other.
fn rows(eager: &mut Eager<'_>, matrix: &[f32], rank: usize) -> Result<Buffer<f32>, Error> {
    eager.buffer_from(&matrix[half_of(matrix.len(), rank)])
}

/// `kernel` with a matrix of as many rows and columns as `out` and `x` are long.
fn multiply(
    work: &mut impl Enqueue,
    kernel: &Kernel,
    matrix: &Buffer<f32>,
    x: &Buffer<f32>,
    out: &Buffer<f32>,
) -> Result<(), Error> {
    let (rows, columns) = (size(out.len()), size(x.len()));
    run(work, kernel, LaunchConfig::new(rows.div_ceil(BLOCK / 32), BLOCK), (matrix, x, out, rows, columns))
}

/// Launches one of the kernels.
fn run(
    work: &mut impl Enqueue,
    kernel: &Kernel,
    shape: LaunchConfig,
    arguments: impl Into<Arguments>,
) -> Result<(), Error> {
    // SAFETY: every call passes the arguments that the kernel's comment in `kernels/decode.cu` or `kernels/ranks.cu` names, buffers of
    // the sizes that it states, and the shape that it wants; all addresses are buffers among the arguments, and the devices can
    // reach each other's memory. The barriers are launched equally often on both ranks, because `Split::step` does both.
    unsafe { work.launch(kernel, shape, arguments) }
}

fn blocks(elements: usize) -> LaunchConfig {
    LaunchConfig::new(size(elements).div_ceil(BLOCK), BLOCK)
}

/// A size as the kernels take it; all of them are small.
fn size(size: usize) -> u32 {
    u32::try_from(size).expect("the model's sizes fit in 32 bits")
}
