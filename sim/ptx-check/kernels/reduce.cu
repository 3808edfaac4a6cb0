// Reductions, scans, norms: shared memory, barriers, exchanges within a warp.

__device__ float warp_sum(float v)
{
    for (int offset = 16; offset > 0; offset /= 2) v += __shfl_xor_sync(0xffffffffu, v, offset);
    return v;
}

__device__ float warp_max(float v)
{
    for (int offset = 16; offset > 0; offset /= 2) v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, offset));
    return v;
}

template <bool MAX> __device__ float block_reduce(float v)
{
    __shared__ float partial[32];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    v = MAX ? warp_max(v) : warp_sum(v);
    __syncthreads();
    if (lane == 0) partial[warp] = v;
    __syncthreads();
    int warps = blockDim.x / 32;
    v = lane < warps ? partial[lane] : (MAX ? -__int_as_float(0x7f800000) : 0.0f);
    return MAX ? warp_max(v) : warp_sum(v);
}

extern "C" __global__ void softmax(const float* x, float* out, int columns)
{
    const float* row = x + blockIdx.x * columns;
    float largest = -__int_as_float(0x7f800000);
    for (int i = threadIdx.x; i < columns; i += blockDim.x) largest = fmaxf(largest, row[i]);
    largest = block_reduce<true>(largest);
    float sum = 0.0f;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) sum += expf(row[i] - largest);
    sum = block_reduce<false>(sum);
    for (int i = threadIdx.x; i < columns; i += blockDim.x)
        out[blockIdx.x * columns + i] = expf(row[i] - largest) / sum;
}

extern "C" __global__ void layer_norm(const float* x, const float* weight, float* out, int columns)
{
    const float* row = x + blockIdx.x * columns;
    float sum = 0.0f, squares = 0.0f;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) {
        sum += row[i];
        squares += row[i] * row[i];
    }
    float mean = block_reduce<false>(sum) / columns;
    float variance = block_reduce<false>(squares) / columns - mean * mean;
    float scale = rsqrtf(variance + 1e-5f);
    for (int i = threadIdx.x; i < columns; i += blockDim.x)
        out[blockIdx.x * columns + i] = (row[i] - mean) * scale * weight[i];
}

extern "C" __global__ void tree_sum(const float* x, float* out, int n)
{
    extern __shared__ float buffer[];
    int i = blockIdx.x * blockDim.x * 2 + threadIdx.x;
    buffer[threadIdx.x] = (i < n ? x[i] : 0.0f) + (i + blockDim.x < n ? x[i + blockDim.x] : 0.0f);
    __syncthreads();
    for (unsigned s = blockDim.x / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s) buffer[threadIdx.x] += buffer[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = buffer[0];
}

extern "C" __global__ void scan(const int* x, int* out, int n)
{
    __shared__ int warps[32];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    int v = i < n ? x[i] : 0;
    for (int offset = 1; offset < 32; offset <<= 1) {
        int up = __shfl_up_sync(~0u, v, offset);
        if (lane >= offset) v += up;
    }
    if (lane == 31) warps[warp] = v;
    __syncthreads();
    if (warp == 0) {
        int w = warps[lane];
        for (int offset = 1; offset < 32; offset <<= 1) {
            int up = __shfl_up_sync(~0u, w, offset);
            if (lane >= offset) w += up;
        }
        warps[lane] = w;
    }
    __syncthreads();
    if (warp > 0) v += warps[warp - 1];
    if (i < n) out[i] = v;
}

extern "C" __global__ void votes(const int* x, int* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int v = x[i];
    int lane = threadIdx.x & 31;
    unsigned ballot = __ballot_sync(~0u, v & 1);
    int any = __any_sync(~0u, v == 7), all = __all_sync(~0u, v >= 0), odd = __popc(ballot & ((1u << lane) - 1));
    int count = __syncthreads_count(v & 1), both = __syncthreads_and(v != 3), either = __syncthreads_or(v == 3);
    out[i] = odd ^ any << 5 ^ all << 6 ^ count << 8 ^ both << 28 ^ either << 29 ^ __brev(ballot);
    if (v & 1) out[i] += __popc(__activemask()) * 0 + __ffs(ballot);
    __syncwarp();
}

extern "C" __global__ void argmax(const float* x, int* out, int columns)
{
    __shared__ float values[256];
    __shared__ int places[256];
    const float* row = x + blockIdx.x * columns;
    float best = -__int_as_float(0x7f800000);
    int place = -1;
    for (int i = threadIdx.x; i < columns; i += blockDim.x)
        if (row[i] > best) {
            best = row[i];
            place = i;
        }
    values[threadIdx.x] = best;
    places[threadIdx.x] = place;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s) {
            int other = threadIdx.x + s;
            bool better = values[other] > values[threadIdx.x] ||
                          (values[other] == values[threadIdx.x] && places[other] < places[threadIdx.x]);
            if (better) {
                values[threadIdx.x] = values[other];
                places[threadIdx.x] = places[other];
            }
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = places[0];
}
