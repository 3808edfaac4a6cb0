//! The model's sizes, and its weights on the host, made up from a seed.

/// Tokens are bytes.
pub(crate) const VOCABULARY: usize = 256;
pub(crate) const LAYERS: usize = 4;
pub(crate) const WIDTH: usize = 128;
pub(crate) const HEADS: usize = 4;
pub(crate) const HEAD_DIM: usize = WIDTH / HEADS;
pub(crate) const HIDDEN: usize = 344;
/// Positions that the key and value caches hold.
pub(crate) const CONTEXT: usize = 256;

/// Row-major matrices.
pub(crate) struct Weights {
    pub(crate) embedding: Vec<f32>,
    pub(crate) layers: Vec<LayerWeights>,
}

pub(crate) struct LayerWeights {
    pub(crate) query: Vec<f32>,
    pub(crate) key: Vec<f32>,
    pub(crate) value: Vec<f32>,
    pub(crate) output: Vec<f32>,
    pub(crate) gate: Vec<f32>,
    pub(crate) up: Vec<f32>,
    pub(crate) down: Vec<f32>,
}

impl Weights {
    pub(crate) fn from_seed(seed: u64) -> Self {
        let mut random = Random(seed);
        let embedding = random.matrix(VOCABULARY, WIDTH);
        let layer = |_| LayerWeights {
            query: random.matrix(WIDTH, WIDTH),
            key: random.matrix(WIDTH, WIDTH),
            value: random.matrix(WIDTH, WIDTH),
            output: random.matrix(WIDTH, WIDTH),
            gate: random.matrix(HIDDEN, WIDTH),
            up: random.matrix(HIDDEN, WIDTH),
            down: random.matrix(WIDTH, HIDDEN),
        };
        Self { embedding, layers: (0..LAYERS).map(layer).collect() }
    }
}

/// A SplitMix64 sequence.
struct Random(u64);

impl Random {
    /// Uniform, with a spread that keeps a product as large as its input.
    fn matrix(&mut self, rows: usize, columns: usize) -> Vec<f32> {
        let spread = (3.0 / columns as f64).sqrt() as f32;
        (0..rows * columns).map(|_| spread * self.uniform()).collect()
    }

    /// In -1 ..= 1: the upper bits, exact in an `f32`.
    fn uniform(&mut self) -> f32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        (z >> 41) as f32 / (1u32 << 22) as f32 - 1.0
    }
}

/// Cosine and sine of each pair's angle at each position, as `rope_and_store` wants them.
pub(crate) fn rotary_table() -> Vec<f32> {
    let half = HEAD_DIM / 2;
    let angle = |position: usize, pair: usize| position as f64 * 10_000f64.powf(-(pair as f64) / half as f64);
    let pairs = (0..CONTEXT).flat_map(|position| (0..half).map(move |pair| (position, pair)));
    pairs.map(|(position, pair)| angle(position, pair)).flat_map(|a| [a.cos() as f32, a.sin() as f32]).collect()
}
