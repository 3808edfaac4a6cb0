// The 16-bit types of CUDA's own headers, with every operator and most functions of theirs. Only compiled and loaded.

#include <cuda_fp16.h>
#if __CUDA_ARCH__ >= 800
#include <cuda_bf16.h>
#endif

extern "C" __global__ void halves(const __half* x, __half* out, float* floats, int* ints, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    __half a = x[i], b = x[n - 1 - i];
    out[0] = a + b * a - b / a;
    out[1] = __hfma(a, b, a);
    out[2] = hsqrt(a) + hexp(b) + hlog(a) + hrcp(b) + hrsqrt(a) + hsin(b) + hcos(a) + hexp2(b) + hlog2(a);
    out[3] = hfloor(a) + hceil(b) + hrint(a) + htrunc(b);
    out[4] = a < b ? -a : __habs(b);
    out[5] = __hmax(a, b) + __hmin(a, b) + __hadd_sat(a, b);
    ints[0] = __heq(a, b) + __hne(a, b) * 2 + __hle(a, b) * 4 + __hgt(a, b) * 8 + __hisnan(a) * 16 + __hisinf(b) * 32 + __hequ(a, b);
    floats[0] = __half2float(a) + (float)b;
    out[6] = __float2half_rn(floats[1]) + __float2half_rz(floats[2]) + __float2half_rd(floats[3]) + __float2half_ru(floats[4]);
    out[7] = __int2half_rn(ints[1]) + __uint2half_rz(ints[2]) + __ll2half_rn(ints[3]) + __short2half_rn(ints[4]);
    ints[5] = __half2int_rn(a) + __half2uint_rz(b) + __half2short_rd(a) + (int)__half2ll_ru(b);
    out[8] = __shfl_xor_sync(~0u, a, 4);
    out[9] = __hfma_sat(a, b, a);
#if __CUDA_ARCH__ >= 700
    atomicAdd(&out[10], a);
#endif
    floats[5] = __half2float(__ushort_as_half(__half_as_ushort(a) ^ 1)) + (double)__double2half(floats[6]);
}

extern "C" __global__ void pairs(const __half2* x, __half2* out, int* ints, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    __half2 a = x[i], b = x[n - 1 - i];
    out[0] = __hfma2(a, b, a) + a * b - b;
    out[1] = __h2div(a, b);
    out[2] = h2exp(a) + h2sqrt(b) + h2rcp(a) + h2rsqrt(b);
    out[3] = __heq2(a, b) + __hlt2(a, b) + __hgeu2(a, b) + __hisnan2(a);
    ints[0] = __hbeq2(a, b) + __hblt2(a, b) * 2 + __hbneu2(a, b) * 4;
    out[4] = __floats2half2_rn(__low2float(a), __high2float(b));
    out[5] = __halves2half2(__low2half(a), __high2half(b)) + __lowhigh2highlow(a) + __half2half2(a.x);
    out[6] = __habs2(a) + __hneg2(b) + __hmul2_sat(a, b);
    out[7] = __shfl_down_sync(~0u, a, 2);
    float2 f = __half22float2(a);
    out[8] = __float22half2_rn(make_float2(f.y, f.x));
    out[9] = __hmax2(a, b) + __hmin2(a, b);
    atomicAdd(&out[10], a);
}

#if __CUDA_ARCH__ >= 800
extern "C" __global__ void brains(const __nv_bfloat16* x, __nv_bfloat16* out, float* floats, int* ints, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    __nv_bfloat16 a = x[i], b = x[n - 1 - i];
    out[0] = a + b * a - b / a;
    out[1] = __hfma(a, b, a);
    out[2] = hsqrt(a) + hexp(b) + hlog(a) + hrcp(b) + hrsqrt(a) + hsin(b) + hcos(a);
    out[3] = hfloor(a) + hceil(b) + hrint(a) + htrunc(b);
    out[4] = a < b ? -a : __habs(b);
    out[5] = __hmax(a, b) + __hmin(a, b) + __hmax_nan(a, b) + __hfma_relu(a, b, a);
    ints[0] = __heq(a, b) + __hne(a, b) * 2 + __hle(a, b) * 4 + __hgt(a, b) * 8 + __hisnan(a) * 16;
    floats[0] = __bfloat162float(a) + (float)b;
    out[6] = __float2bfloat16(floats[1]) + __float2bfloat16_rz(floats[2]) + __float2bfloat16_ru(floats[3]);
    out[7] = __int2bfloat16_rn(ints[1]) + __ll2bfloat16_rn(ints[3]) + __double2bfloat16(floats[4]);
    ints[5] = __bfloat162int_rn(a) + __bfloat162uint_rz(b) + (int)__bfloat162ll_ru(b);
    out[8] = __shfl_xor_sync(~0u, a, 4);
    atomicAdd(&out[10], a);
}

extern "C" __global__ void brain_pairs(const __nv_bfloat162* x, __nv_bfloat162* out, int* ints, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    __nv_bfloat162 a = x[i], b = x[n - 1 - i];
    out[0] = __hfma2(a, b, a) + a * b - b;
    out[1] = __h2div(a, b) + h2exp(a) + h2rcp(b);
    out[2] = __heq2(a, b) + __hlt2(a, b) + __hgeu2(a, b);
    ints[0] = __hbeq2(a, b) + __hblt2(a, b) * 2 + __hbneu2(a, b) * 4;
    out[3] = __floats2bfloat162_rn(__low2float(a), __high2float(b));
    out[4] = __habs2(a) + __hneg2(b) + __hmax2(a, b) + __hmin2_nan(a, b) + __hfma2_relu(a, b, a);
    atomicAdd(&out[10], a);
}
#endif
