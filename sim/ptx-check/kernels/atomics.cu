// Atomics of all kinds. The results do not depend on the order of threads.

extern "C" __global__ void histogram(const unsigned char* in, unsigned* bins, int n)
{
    __shared__ unsigned local[256];
    local[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&local[in[i]], 1u);
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}

extern "C" __global__ void integers(const int* x, int* words, unsigned long long* longs, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int v = x[i];
    atomicAdd(&words[0], v);
    atomicSub(&words[1], v);
    atomicMin(&words[2], v);
    atomicMax(&words[3], v);
    atomicAnd(&words[4], v | 0xff);
    atomicOr(&words[5], v & 0xf0f0);
    atomicXor(&words[6], v);
    atomicInc((unsigned*)&words[7], 1000u);
    atomicDec((unsigned*)&words[8], 1000u);
    atomicMin((unsigned*)&words[9], (unsigned)v);
    atomicMax((unsigned*)&words[10], (unsigned)v);
    atomicAdd(&longs[0], (unsigned long long)v * 0x100000001ull);
    atomicMin(&longs[1], (unsigned long long)(unsigned)v << 8);
    atomicMax(&longs[2], (unsigned long long)(unsigned)v << 8);
    atomicXor(&longs[3], (unsigned long long)v << 20);
    atomicMax((long long*)&longs[4], (long long)v);
}

extern "C" __global__ void own_places(const int* x, int* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int* o = out + 8 * i;
    int v = x[i];
    o[0] = v;
    o[1] = atomicExch(&o[0], v ^ 5);
    o[2] = atomicCAS(&o[0], v & ~1, 9);
    o[3] = atomicAdd(&o[0], 3);
    float f = __int_as_float((v & 0x7fffff) | 0x3f800000);
    o[4] = __float_as_int(f);
    o[5] = __float_as_int(atomicAdd((float*)&o[4], 0.375f));
    unsigned long long* l = (unsigned long long*)&o[6];
    *l = v;
    o[0] ^= (int)atomicCAS(l, (unsigned long long)v, 0x123456789abull);
}

__device__ float atomic_max_float(float* address, float value)
{
    int* at = (int*)address;
    int old = *at, assumed;
    do {
        assumed = old;
        old = atomicCAS(at, assumed, __float_as_int(fmaxf(value, __int_as_float(assumed))));
    } while (assumed != old);
    return __int_as_float(old);
}

extern "C" __global__ void largest(const float* x, float* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomic_max_float(&out[i % 4], x[i]);
}

__device__ unsigned done;

extern "C" __global__ void last_block(const int* x, int* partial, int* out)
{
    __shared__ bool last;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int sum = __syncthreads_count(x[i] & 1);
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = sum;
        __threadfence();
        last = atomicInc(&done, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        int total = 0;
        for (int b = 0; b < gridDim.x; b++) total += ((volatile int*)partial)[b];
        *out = total;
    }
}
