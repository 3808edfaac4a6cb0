// One step of a byte-level decoder-only transformer for ONE token, in float32.
//
// Every size is an argument. What changes from step to step is read on the device: `input` is two words,
// {token, position}, so that one captured graph serves every position. A position that is not below `context` makes
// `rope_and_store` and `attention` do nothing.
//
// Bit-exactness: integer and plain IEEE operations only, explicit fmaf() where a fused multiply-add is meant, and fixed
// reduction orders that each comment states. "Tree over n" means: value[t] = value[t] op value[t + s] for
// s = n/2, n/4, .. 1.

namespace {

// The block size of every kernel that reduces over a block.
constexpr unsigned BLOCK = 128;

// e^x in plain IEEE operations, within 1 ulp of the exact value where the result is normal. Below -87 the result
// is 0, above 88 it is +inf; NaN gives NaN.
// x = k ln2 + r with |r| <= ln2 / 2 (ln2 in two parts), the Taylor polynomial of degree 7 for e^r, then the exponent.
__device__ __forceinline__ float exp_ieee(float x) {
    if (x < -87.0f) return 0.0f;
    if (x > 88.0f) return __int_as_float(0x7f800000);
    int k = __float2int_rn(x * 1.44269504f);
    float r = fmaf(static_cast<float>(k), -0.693359375f, x);
    r = fmaf(static_cast<float>(k), 2.12194440e-4f, r);
    float p = 1.98412698e-4f;
    p = fmaf(p, r, 1.38888889e-3f);
    p = fmaf(p, r, 8.33333333e-3f);
    p = fmaf(p, r, 4.16666667e-2f);
    p = fmaf(p, r, 1.66666667e-1f);
    p = fmaf(p, r, 0.5f);
    p = fmaf(p, r, 1.0f);
    p = fmaf(p, r, 1.0f);
    return p * __int_as_float((k + 127) << 23);
}

// The sum over the 32 lanes of a warp, in every lane: lane l adds lane l ^ 16, then l ^ 8, 4, 2, 1.
__device__ __forceinline__ float warp_sum(float value) {
#pragma unroll
    for (int lanes = 16; lanes > 0; lanes >>= 1) value += __shfl_xor_sync(0xffffffffu, value, lanes);
    return value;
}

// Tree over BLOCK of `scratch`; afterwards every thread may read scratch[0].
__device__ __forceinline__ void block_sum(float* scratch) {
    __syncthreads();
#pragma unroll 1
    for (unsigned s = BLOCK / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s) scratch[threadIdx.x] += scratch[threadIdx.x + s];
        __syncthreads();
    }
}

// The same with the maximum.
__device__ __forceinline__ void block_max(float* scratch) {
    __syncthreads();
#pragma unroll 1
    for (unsigned s = BLOCK / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s) scratch[threadIdx.x] = fmaxf(scratch[threadIdx.x], scratch[threadIdx.x + s]);
        __syncthreads();
    }
}

// The dot product of one matrix row with `x`, in every lane of the calling warp. Lane l takes the columns 4l .. 4l+3 of
// each run of 128 columns, one fmaf after the other from 0 upwards; then warp_sum.
__device__ __forceinline__ float row_dot(const float* row, const float* x, unsigned cols) {
    unsigned lane = threadIdx.x & 31;
    float sum = 0.0f;
#pragma unroll 1
    for (unsigned c = lane * 4; c < cols; c += 128) {
        float4 a = *reinterpret_cast<const float4*>(row + c);
        float4 b = *reinterpret_cast<const float4*>(x + c);
        sum = fmaf(a.x, b.x, sum);
        sum = fmaf(a.y, b.y, sum);
        sum = fmaf(a.z, b.z, sum);
        sum = fmaf(a.w, b.w, sum);
    }
    return warp_sum(sum);
}

}  // namespace

// x = table[token]: one row of a vocabulary x width table.
// Launch: ceil(width / b) blocks of any b threads.
extern "C" __global__ void embed(const unsigned* input, const float* table, float* x, unsigned width) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < width) x[i] = table[input[0] * width + i];
}

// out[i] = x[i] * (1 / sqrt(mean of squares + eps)) * weight[i].
// Launch: one block of 128 threads. Thread t adds the squares of x[t], x[t + 128], ... by fmaf from 0; then a tree over 128.
extern "C" __global__ void rms_norm(const float* x, const float* weight, float* out, unsigned width, float eps) {
    __shared__ float scratch[BLOCK];
    float squares = 0.0f;
#pragma unroll 1
    for (unsigned i = threadIdx.x; i < width; i += BLOCK) squares = fmaf(x[i], x[i], squares);
    scratch[threadIdx.x] = squares;
    block_sum(scratch);
    float scale = 1.0f / sqrtf(scratch[0] / static_cast<float>(width) + eps);
#pragma unroll 1
    for (unsigned i = threadIdx.x; i < width; i += BLOCK) out[i] = x[i] * scale * weight[i];
}

// out = w x for a row-major rows x cols matrix; cols is a multiple of 4, w and x are 16-byte aligned.
// Launch: blocks of a multiple of 32 threads, one warp a row, enough of them for all rows. Order: see row_dot.
extern "C" __global__ void matvec(const float* w, const float* x, float* out, unsigned rows, unsigned cols) {
    unsigned row = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
    if (row >= rows) return;
    float sum = row_dot(w + static_cast<unsigned long long>(row) * cols, x, cols);
    if ((threadIdx.x & 31) == 0) out[row] = sum;
}

// out += w x: as matvec, with one rounded addition to the residual at the end.
extern "C" __global__ void matvec_add(const float* w, const float* x, float* out, unsigned rows, unsigned cols) {
    unsigned row = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
    if (row >= rows) return;
    float sum = row_dot(w + static_cast<unsigned long long>(row) * cols, x, cols);
    if ((threadIdx.x & 31) == 0) out[row] += sum;
}

// Rotates q in place and k into the key cache, and copies v into the value cache, at this step's position.
// q, k, v: heads x head_dim; pairs are (i, i + head_dim/2). cos_sin_table: context x head_dim/2 x {cos, sin}, made by the
// host. Caches: heads x context x head_dim. Launch: one block a head, head_dim/2 threads.
extern "C" __global__ void rope_and_store(const unsigned* input, float* q, float* k, const float* v,
                                          const float* cos_sin_table, float* key_cache, float* value_cache,
                                          unsigned heads, unsigned head_dim, unsigned context) {
    unsigned position = input[1];
    unsigned head = blockIdx.x;
    unsigned half = head_dim / 2;
    unsigned i = threadIdx.x;
    if (position >= context || head >= heads || i >= half) return;
    const float* angle = cos_sin_table + (position * half + i) * 2;
    float c = angle[0];
    float s = angle[1];
    unsigned lo = head * head_dim + i;
    unsigned hi = lo + half;
    float q0 = q[lo];
    float q1 = q[hi];
    q[lo] = q0 * c - q1 * s;
    q[hi] = q0 * s + q1 * c;
    float k0 = k[lo];
    float k1 = k[hi];
    unsigned slot = (head * context + position) * head_dim + i;
    key_cache[slot] = k0 * c - k1 * s;
    key_cache[slot + half] = k0 * s + k1 * c;
    value_cache[slot] = v[lo];
    value_cache[slot + half] = v[hi];
}

// out[head] = softmax(q K / sqrt(head_dim)) V over the positions 0 ..= position.
// head_dim is a multiple of 4 that divides 128; q and the caches are 16-byte aligned. Launch: one block of 128 threads a
// head, context * 4 bytes of dynamic shared memory.
// Orders. Score: fmaf from 0 over the dimensions. Sum of weights: thread t adds positions t, t + 128, .. from 0; tree over
// 128. Output: group g of 128 / head_dim groups adds positions g, g + groups, .. by fmaf from 0; then groups 0, 1, ..
extern "C" __global__ void attention(const unsigned* input, const float* q, const float* key_cache,
                                     const float* value_cache, float* out, unsigned heads, unsigned head_dim,
                                     unsigned context) {
    extern __shared__ float scores[];
    __shared__ float scratch[BLOCK];
    unsigned position = input[1];
    unsigned head = blockIdx.x;
    if (position >= context || head >= heads) return;
    unsigned t = threadIdx.x;
    const float* query = q + head * head_dim;
    const float* keys = key_cache + static_cast<unsigned long long>(head) * context * head_dim;
    const float* values = value_cache + static_cast<unsigned long long>(head) * context * head_dim;
    float scale = 1.0f / sqrtf(static_cast<float>(head_dim));

    float highest = __int_as_float(0xff800000);
#pragma unroll 1
    for (unsigned p = t; p <= position; p += BLOCK) {
        const float* key = keys + p * head_dim;
        float dot = 0.0f;
#pragma unroll 1
        for (unsigned d = 0; d < head_dim; d += 4) {
            float4 a = *reinterpret_cast<const float4*>(query + d);
            float4 b = *reinterpret_cast<const float4*>(key + d);
            dot = fmaf(a.x, b.x, dot);
            dot = fmaf(a.y, b.y, dot);
            dot = fmaf(a.z, b.z, dot);
            dot = fmaf(a.w, b.w, dot);
        }
        dot *= scale;
        scores[p] = dot;
        highest = fmaxf(highest, dot);
    }
    scratch[t] = highest;
    block_max(scratch);
    highest = scratch[0];
    __syncthreads();

    float sum = 0.0f;
#pragma unroll 1
    for (unsigned p = t; p <= position; p += BLOCK) {
        float weight = exp_ieee(scores[p] - highest);
        scores[p] = weight;
        sum += weight;
    }
    scratch[t] = sum;
    block_sum(scratch);
    sum = scratch[0];
    __syncthreads();

    unsigned groups = BLOCK / head_dim;
    unsigned d = t % head_dim;
    float mixed = 0.0f;
#pragma unroll 1
    for (unsigned p = t / head_dim; p <= position; p += groups) mixed = fmaf(scores[p], values[p * head_dim + d], mixed);
    scratch[t] = mixed;
    __syncthreads();
    if (t < head_dim) {
        float total = scratch[t];
#pragma unroll 1
        for (unsigned g = 1; g < groups; g++) total += scratch[g * head_dim + t];
        out[head * head_dim + t] = total / sum;
    }
}

// out[i] = gate[i] / (1 + e^-gate[i]) * up[i]. `out` may be `gate` or `up`.
// Launch: ceil(n / b) blocks of any b threads.
extern "C" __global__ void silu_mul(const float* gate, const float* up, float* out, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float g = gate[i];
    out[i] = g / (1.0f + exp_ieee(-g)) * up[i];
}

// *out_token = the index of the largest logit; of equal ones the lowest index; NaN never wins (all NaN: 0).
// Launch: one block of 128 threads.
extern "C" __global__ void argmax(const float* logits, unsigned* out_token, unsigned n) {
    __shared__ float best_value[BLOCK];
    __shared__ unsigned best_index[BLOCK];
    unsigned t = threadIdx.x;
    float value = __int_as_float(0xff800000);
    unsigned index = n;
#pragma unroll 1
    for (unsigned i = t; i < n; i += BLOCK) {
        float candidate = logits[i];
        if (candidate > value || (candidate == value && i < index)) {
            value = candidate;
            index = i;
        }
    }
    best_value[t] = value;
    best_index[t] = index;
    __syncthreads();
#pragma unroll 1
    for (unsigned s = BLOCK / 2; s > 0; s >>= 1) {
        if (t < s) {
            float other = best_value[t + s];
            unsigned other_index = best_index[t + s];
            if (other > best_value[t] || (other == best_value[t] && other_index < best_index[t])) {
                best_value[t] = other;
                best_index[t] = other_index;
            }
        }
        __syncthreads();
    }
    if (t == 0) *out_token = best_index[0] < n ? best_index[0] : 0;
}

// Adds one to `*counter`, atomically: proof on the device that a step ran. Launch: one block of one thread.
extern "C" __global__ void count_step(unsigned long long* counter) { atomicAdd(counter, 1ull); }
