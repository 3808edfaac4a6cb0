// The 16-bit formats, by the instructions themselves: no header is needed.

typedef unsigned short u16;

__device__ float widen(u16 h) { float f; asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h)); return f; }
__device__ u16 narrow(float f) { u16 h; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(f)); return h; }
__device__ unsigned fma2(unsigned a, unsigned b, unsigned c)
{
    unsigned d;
    asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
    return d;
}

extern "C" __global__ void half_axpy(const unsigned* x, unsigned* y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = fma2(x[i], 0x38003e00u, y[i]);
}

extern "C" __global__ void half_mat_vec(const u16* a, const u16* x, u16* y, int columns)
{
    int row = blockIdx.x * blockDim.y + threadIdx.y;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < columns; i += 32) sum = fmaf(widen(a[row * columns + i]), widen(x[i]), sum);
    for (int offset = 16; offset > 0; offset >>= 1) sum += __shfl_xor_sync(~0u, sum, offset);
    if (threadIdx.x == 0) y[row] = narrow(sum);
}

extern "C" __global__ void brain_by_hand(const float* x, u16* out, float* back, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned bits = __float_as_uint(x[i]);
    u16 h = (u16)((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
    out[i] = h;
    back[i] = __uint_as_float((unsigned)h << 16);
}
