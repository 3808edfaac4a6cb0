// Small kernels for tests and examples.
//
// Unless a comment says otherwise a kernel works on one element a thread, takes any one-dimensional launch that covers
// `n` elements, and leaves the elements past `n` alone. All arithmetic is integer or plain IEEE (see README.md).

// Writes `value` to `out[0..n]`.
extern "C" __global__ void fill_f32(float* out, float value, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = value;
}

// Multiplies `data[0..n]` by `factor` in place.
extern "C" __global__ void scale_f32(float* data, float factor, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) data[i] = data[i] * factor;
}

// Writes `a[i] + b[i]` to `out[i]`. `out` may be `a` or `b`.
extern "C" __global__ void add_f32(const float* a, const float* b, float* out, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}

// Writes `a * x[i] + y[i]` to `y[i]`: a rounded product, then a rounded sum (no fused multiply-add).
extern "C" __global__ void saxpy_f32(float a, const float* x, float* y, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}

// Copies `src[0..n]` to `dst[0..n]`.
extern "C" __global__ void copy_u32(const unsigned* src, unsigned* dst, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) dst[i] = src[i];
}

// Adds one to `*counter`, atomically, once for every thread of the launch. Usual launch: one block of one thread.
extern "C" __global__ void increment_u32(unsigned* counter) { atomicAdd(counter, 1u); }

// The same for a 64-bit counter.
extern "C" __global__ void increment_u64(unsigned long long* counter) { atomicAdd(counter, 1ull); }

// Writes `value` to `*out`. Launch: one block of one thread.
extern "C" __global__ void store_u32(unsigned* out, unsigned value) { *out = value; }

// Takes the next place in `log[0..capacity]` from `*cursor` and writes `value` there, so that a reader of the log sees
// in which order launches ran. A full log drops the value but still moves the cursor. Launch: one block of one thread.
extern "C" __global__ void append_u32(unsigned* cursor, unsigned* log, unsigned capacity, unsigned value) {
    unsigned place = atomicAdd(cursor, 1u);
    if (place < capacity) log[place] = value;
}

// Writes the sum of `in[0..n]` to `*out`. Launch: one block of exactly 256 threads.
// Order: thread t adds in[t], in[t + 256], ... upwards from 0; then partial[t] += partial[t + s] for s = 128, 64, .. 1.
extern "C" __global__ void sum_f32(const float* in, float* out, unsigned n) {
    __shared__ float partial[256];
    unsigned t = threadIdx.x;
    float sum = 0.0f;
#pragma unroll 1
    for (unsigned i = t; i < n; i += 256) sum += in[i];
    partial[t] = sum;
    __syncthreads();
#pragma unroll 1
    for (unsigned s = 128; s > 0; s >>= 1) {
        if (t < s) partial[t] += partial[t + s];
        __syncthreads();
    }
    if (t == 0) *out = partial[0];
}

// Spins until `*flag` is not zero, so that a test can hold a stream in flight. Launch: one block of one thread.
extern "C" __global__ void spin_until(volatile unsigned* flag) {
    while (*flag == 0u) {
    }
}

// Executes a trap instruction: the launch faults.
extern "C" __global__ void trap() { asm volatile("trap;"); }

// Writes 1 to the word `offset` bytes after `p`, wherever that is: out of bounds, or misaligned, as the caller wants.
// Launch: one block of one thread.
extern "C" __global__ void store_out_of_bounds(unsigned* p, unsigned long long offset) {
    *reinterpret_cast<unsigned*>(reinterpret_cast<char*>(p) + offset) = 1u;
}
