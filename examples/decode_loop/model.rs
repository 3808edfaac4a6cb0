//! A byte-level decoder-only transformer: one step of it for one token, as work on a stream.

use dacapo::{Arguments, Buffer, Device, Enqueue, Error, Kernel, LaunchConfig, Pinned, Resting, State, Stream};

#[path = "weights.rs"]
pub(crate) mod weights;

pub(crate) use weights::CONTEXT;
use weights::{HEAD_DIM, HEADS, HIDDEN, LayerWeights, VOCABULARY, WIDTH, Weights, rotary_table};

const PTX: &str = include_str!("../../kernels/decode.ptx");

const EPSILON: f32 = 1e-5;
/// The threads of a block; what the reducing kernels want.
const BLOCK: u32 = 128;

/// One layer's weights and caches.
struct Layer {
    attention_norm: Buffer<f32>,
    query: Buffer<f32>,
    key: Buffer<f32>,
    value: Buffer<f32>,
    output: Buffer<f32>,
    mlp_norm: Buffer<f32>,
    gate: Buffer<f32>,
    up: Buffer<f32>,
    down: Buffer<f32>,
    key_cache: Buffer<f32>,
    value_cache: Buffer<f32>,
}

impl Layer {
    fn new<S: State + Resting>(stream: &mut Stream<S>, weights: &LayerWeights) -> Result<Self, Error> {
        Ok(Self {
            attention_norm: stream.buffer_from(&[1.0; WIDTH])?,
            query: stream.buffer_from(&weights.query)?,
            key: stream.buffer_from(&weights.key)?,
            value: stream.buffer_from(&weights.value)?,
            output: stream.buffer_from(&weights.output)?,
            mlp_norm: stream.buffer_from(&[1.0; WIDTH])?,
            gate: stream.buffer_from(&weights.gate)?,
            up: stream.buffer_from(&weights.up)?,
            down: stream.buffer_from(&weights.down)?,
            key_cache: stream.alloc(HEADS * CONTEXT * HEAD_DIM)?,
            value_cache: stream.alloc(HEADS * CONTEXT * HEAD_DIM)?,
        })
    }
}

/// What a step computes between its input and its output.
struct Activations {
    x: Buffer<f32>,
    normed: Buffer<f32>,
    query: Buffer<f32>,
    key: Buffer<f32>,
    value: Buffer<f32>,
    mixed: Buffer<f32>,
    gate: Buffer<f32>,
    up: Buffer<f32>,
    logits: Buffer<f32>,
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
    count_step: Kernel,
}

/// The model, its state on the device, and the words through which the host talks to it.
pub(crate) struct Model {
    kernels: Kernels,
    embedding: Buffer<f32>,
    cos_sin: Buffer<f32>,
    layers: Vec<Layer>,
    final_norm: Buffer<f32>,
    activations: Activations,
    /// `{token, position}`. Kernels read them on the device, so one captured step serves every position.
    input: Buffer<u32>,
    next_token: Buffer<u32>,
    steps: Buffer<u64>,
    host_input: Pinned<u32>,
    host_next_token: Pinned<u32>,
}

impl Model {
    /// Loads the kernels, and makes weights from `seed`.
    pub(crate) fn new<S: State + Resting>(device: &Device, stream: &mut Stream<S>, seed: u64) -> Result<Self, Error> {
        let module = device.load_ptx(PTX)?;
        let kernels = Kernels {
            embed: module.kernel("embed")?,
            rms_norm: module.kernel("rms_norm")?,
            matvec: module.kernel("matvec")?,
            matvec_add: module.kernel("matvec_add")?,
            rope_and_store: module.kernel("rope_and_store")?,
            attention: module.kernel("attention")?,
            silu_mul: module.kernel("silu_mul")?,
            argmax: module.kernel("argmax")?,
            count_step: module.kernel("count_step")?,
        };
        let weights = Weights::from_seed(seed);
        Ok(Self {
            kernels,
            embedding: stream.buffer_from(&weights.embedding)?,
            cos_sin: stream.buffer_from(&rotary_table())?,
            layers: weights.layers.iter().map(|layer| Layer::new(stream, layer)).collect::<Result<_, _>>()?,
            final_norm: stream.buffer_from(&[1.0; WIDTH])?,
            activations: Activations {
                x: stream.alloc(WIDTH)?,
                normed: stream.alloc(WIDTH)?,
                query: stream.alloc(WIDTH)?,
                key: stream.alloc(WIDTH)?,
                value: stream.alloc(WIDTH)?,
                mixed: stream.alloc(WIDTH)?,
                gate: stream.alloc(HIDDEN)?,
                up: stream.alloc(HIDDEN)?,
                logits: stream.alloc(VOCABULARY)?,
            },
            input: stream.alloc(2)?,
            next_token: stream.alloc(1)?,
            steps: stream.alloc(1)?,
            host_input: device.pinned(2)?,
            host_next_token: device.pinned(1)?,
        })
    }

    /// One step: takes `{token, position}` from the host, and leaves the likeliest next token there.
    pub(crate) fn step(&self, stream: &mut impl Enqueue) -> Result<(), Error> {
        stream.upload(&self.host_input, &self.input)?;
        self.forward(stream, &self.input, &self.next_token)?;
        stream.download(&self.next_token, &self.host_next_token)
    }

    /// The step on the device: from `{token, position}` to the likeliest next token.
    pub(crate) fn forward(
        &self,
        stream: &mut impl Enqueue,
        input: &Buffer<u32>,
        next_token: &Buffer<u32>,
    ) -> Result<(), Error> {
        let (kernels, act) = (&self.kernels, &self.activations);
        run(stream, &kernels.embed, blocks(WIDTH), (input, &self.embedding, &act.x, size(WIDTH)))?;
        for layer in &self.layers {
            self.attend(stream, layer, input)?;
            self.feed_forward(stream, layer)?;
        }
        self.norm(stream, &self.final_norm)?;
        self.multiply(stream, &kernels.matvec, &self.embedding, &act.normed, &act.logits)?;
        run(stream, &kernels.argmax, one_block(), (&act.logits, next_token, size(VOCABULARY)))?;
        run(stream, &kernels.count_step, LaunchConfig::new(1, 1), (&self.steps,))
    }

    /// Attention over the positions so far, added to the residual.
    fn attend(&self, stream: &mut impl Enqueue, layer: &Layer, input: &Buffer<u32>) -> Result<(), Error> {
        let (kernels, act) = (&self.kernels, &self.activations);
        let (heads, head_dim, context) = (size(HEADS), size(HEAD_DIM), size(CONTEXT));
        self.norm(stream, &layer.attention_norm)?;
        self.multiply(stream, &kernels.matvec, &layer.query, &act.normed, &act.query)?;
        self.multiply(stream, &kernels.matvec, &layer.key, &act.normed, &act.key)?;
        self.multiply(stream, &kernels.matvec, &layer.value, &act.normed, &act.value)?;
        let (query, key, value, caches) = (&act.query, &act.key, &act.value, (&layer.key_cache, &layer.value_cache));
        let rotated = (input, query, key, value, &self.cos_sin, caches.0, caches.1, heads, head_dim, context);
        run(stream, &kernels.rope_and_store, LaunchConfig::new(heads, head_dim / 2), rotated)?;
        let attended = (input, query, caches.0, caches.1, &act.mixed, heads, head_dim, context);
        let shape = LaunchConfig::new(heads, BLOCK).shared(context * size(size_of::<f32>()));
        run(stream, &kernels.attention, shape, attended)?;
        self.multiply(stream, &kernels.matvec_add, &layer.output, &act.mixed, &act.x)
    }

    /// The gated feed-forward part, added to the residual.
    fn feed_forward(&self, stream: &mut impl Enqueue, layer: &Layer) -> Result<(), Error> {
        let (kernels, act) = (&self.kernels, &self.activations);
        self.norm(stream, &layer.mlp_norm)?;
        self.multiply(stream, &kernels.matvec, &layer.gate, &act.normed, &act.gate)?;
        self.multiply(stream, &kernels.matvec, &layer.up, &act.normed, &act.up)?;
        run(stream, &kernels.silu_mul, blocks(HIDDEN), (&act.gate, &act.up, &act.gate, size(HIDDEN)))?;
        self.multiply(stream, &kernels.matvec_add, &layer.down, &act.gate, &act.x)
    }

    fn norm(&self, stream: &mut impl Enqueue, weight: &Buffer<f32>) -> Result<(), Error> {
        let act = &self.activations;
        run(stream, &self.kernels.rms_norm, one_block(), (&act.x, weight, &act.normed, size(WIDTH), EPSILON))
    }

    /// `kernel` with a matrix of as many rows and columns as `out` and `x` are long.
    fn multiply(
        &self,
        stream: &mut impl Enqueue,
        kernel: &Kernel,
        matrix: &Buffer<f32>,
        x: &Buffer<f32>,
        out: &Buffer<f32>,
    ) -> Result<(), Error> {
        let (rows, columns) = (size(out.len()), size(x.len()));
        let shape = LaunchConfig::new(rows.div_ceil(BLOCK / 32), BLOCK);
        run(stream, kernel, shape, (matrix, x, out, rows, columns))
    }

    /// What the next step works on. The step before must have finished.
    pub(crate) fn set_input(&self, token: u8, position: usize) -> Result<(), Error> {
        self.host_input.write(&[u32::from(token), size(position)])
    }

    /// What the last step has left. It must have finished.
    pub(crate) fn next_token(&self) -> Result<u8, Error> {
        let mut token = [0];
        self.host_next_token.read_into(&mut token)?;
        // The kernel returns an index into the vocabulary.
        Ok(u8::try_from(token[0]).unwrap_or(u8::MAX))
    }

    /// How often the device has run the step, as counted there.
    #[allow(dead_code, reason = "not every example that has the model asks")]
    pub(crate) fn steps<S: State + Resting>(&self, stream: &mut Stream<S>) -> Result<u64, Error> {
        Ok(stream.read(&self.steps)?[0])
    }
}

/// Launches one of the model's kernels.
fn run(
    stream: &mut impl Enqueue,
    kernel: &Kernel,
    shape: LaunchConfig,
    arguments: impl Into<Arguments>,
) -> Result<(), Error> {
    // SAFETY: every call passes the arguments that the kernel's comment in `kernels/decode.cu` names, buffers of the sizes
    // that it states, and the shape that it wants; all addresses are buffers among the arguments.
    unsafe { stream.launch(kernel, shape, arguments) }
}

fn one_block() -> LaunchConfig {
    LaunchConfig::new(1, BLOCK)
}

fn blocks(elements: usize) -> LaunchConfig {
    LaunchConfig::new(size(elements).div_ceil(BLOCK), BLOCK)
}

/// A size as the kernels take it; all of them are small.
pub(crate) fn size(size: usize) -> u32 {
    u32::try_from(size).expect("the model's sizes fit in 32 bits")
}
