// Elementwise kernels: what the mathematical functions of CUDA C++ become.

extern "C" __global__ void functions(const float* x, float* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = x[i];
    float p = fabsf(v) + 0.5f;
    float* o = out + i * 16;
    o[0] = expf(v);
    o[1] = logf(p);
    o[2] = sinf(v);
    o[3] = cosf(v * 100.0f);
    o[4] = powf(p, v * 0.25f);
    o[5] = tanhf(v);
    o[6] = rsqrtf(p);
    o[7] = erff(v);
    o[8] = sqrtf(p);
    o[9] = v / p;
    o[10] = exp2f(v);
    o[11] = log1pf(p);
    o[12] = atan2f(v, p);
    o[13] = expm1f(v);
    o[14] = cbrtf(v);
    o[15] = normcdff(v);
}

extern "C" __global__ void fast_functions(const float* x, float* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = x[i];
    float p = fabsf(v) + 0.5f;
    float* o = out + i * 8;
    o[0] = __expf(v);
    o[1] = __logf(p);
    o[2] = __sinf(v * 0.25f);
    o[3] = __cosf(v * 0.25f);
    o[4] = __fdividef(v, p);
    o[5] = __powf(p, 1.5f);
    o[6] = __frcp_rn(p);
    o[7] = __fsqrt_rz(p);
}

extern "C" __global__ void rounding(const float* x, float* out, int* ints, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = x[i] * 1000.0f;
    float* o = out + i * 8;
    o[0] = floorf(v);
    o[1] = ceilf(v);
    o[2] = truncf(v);
    o[3] = rintf(v);
    o[4] = roundf(v);
    o[5] = fmodf(v, 7.25f);
    o[6] = remainderf(v, 7.25f);
    o[7] = ldexpf(v, -3) + copysignf(2.0f, v) + fminf(v, 1.0f) + fmaxf(v, -1.0f) + fdimf(v, 3.0f);
    int* k = ints + i * 8;
    k[0] = (int)v;
    k[1] = (int)(unsigned)(v + 2e5f);
    k[2] = (signed char)(int)v;
    k[3] = __float2int_rn(v);
    k[4] = __float2int_ru(v);
    k[5] = __float_as_int(v) ^ __float2uint_rd(fabsf(v));
    k[6] = (int)(long long)(v * 1e6f);
    k[7] = isnan(v) | isinf(v) << 1 | signbit(v) << 2 | isfinite(v) << 3;
}

extern "C" __global__ void doubles(const double* x, double* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double v = x[i];
    double p = fabs(v) + 0.5;
    double* o = out + i * 12;
    o[0] = exp(v);
    o[1] = log(p);
    o[2] = sin(v);
    o[3] = pow(p, v * 0.25);
    o[4] = tanh(v);
    o[5] = sqrt(p);
    o[6] = v / p;
    o[7] = rsqrt(p);
    o[8] = erf(v);
    o[9] = floor(v * 100.0) + rint(v * 3.0) + trunc(v * 5.0);
    o[10] = fma(v, p, -v);
    o[11] = (double)(long long)(v * 1e10) + (double)(float)v + fmod(v, 0.3);
}

extern "C" __global__ void activations(const float* x, float* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = x[i];
    float gelu = 0.5f * v * (1.0f + tanhf(0.7978845608f * (v + 0.044715f * v * v * v)));
    float silu = v / (1.0f + expf(-v));
    out[i] = i % 2 ? gelu : silu;
}

extern "C" __global__ void saxpy4(const float4* x, float4* y, float a, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float4 u = x[i], v = y[i];
    y[i] = make_float4(a * u.x + v.x, a * u.y + v.y, a * u.z + v.z, a * u.w + v.w);
}
