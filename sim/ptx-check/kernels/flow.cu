// Integer work, switches, local arrays, calls that are not inlined, structures as parameters.

extern "C" __global__ void divisions(const long long* x, long long* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    long long a = x[2 * i], b = x[2 * i + 1] | 1;
    unsigned long long ua = a, ub = b;
    long long* o = out + i * 8;
    o[0] = a / b;
    o[1] = a % b;
    o[2] = ua / ub;
    o[3] = ua % ub;
    o[4] = (int)a / ((int)b | 1) + (int)a % 1000;
    o[5] = (unsigned)a / 7u + (unsigned)a % 12345u;
    o[6] = __mul64hi(a, b) ^ __umul64hi(ua, ub) ^ __mulhi((int)a, (int)b) ^ __umulhi((unsigned)a, (unsigned)b);
    o[7] = __popcll(ua) + __clzll(a) + __ffsll(a) + (long long)__brevll(ua) + (a >> (b & 63)) + (ua << (b & 63)) + abs((int)a);
}

extern "C" __global__ void bytes(const unsigned* x, unsigned* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned a = x[i], b = x[n - 1 - i];
    unsigned* o = out + i * 4;
    o[0] = __byte_perm(a, b, 0x5140) ^ __funnelshift_l(a, b, a & 31) ^ __funnelshift_r(a, b, b & 31);
    o[1] = __sad((int)a, (int)b, a) + __usad(a, b, b) + __mul24((int)a, (int)b) + __umul24(a, b) + __rhadd((int)a, (int)b) + __uhadd(a, b);
    o[2] = ((a & b) | (~a & (b ^ 0x0f0f0f0f))) + (a >> 3 & 0x1f) + ((int)(a << 7) >> 20);
    o[3] = (unsigned short)(a * 3) + (unsigned char)b + (short)a * (short)b + min((int)a, (int)b) + max(a, b);
}

extern "C" __global__ void interpreter(const unsigned char* program, const int* x, int* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int v = x[i];
    for (int pc = 0; pc < 16; pc++) {
        switch (program[(pc + i) & 15] & 15) {
            case 0: v += 17; break;
            case 1: v *= 31; break;
            case 2: v ^= v << 5; break;
            case 3: v = -v; break;
            case 4: v = v / 3; break;
            case 5: v = __popc(v) * 977; break;
            case 6: v |= 0x40; // and on
            case 7: v -= pc; break;
            case 8: v = v > 0 ? v - 1 : v + 1; break;
            case 9: v = (v >> 16) | (v << 16); break;
            case 10: if (v & 1) continue; v >>= 1; break;
            default: v += pc * v; break;
        }
    }
    out[i] = v;
}

extern "C" __global__ void sort_each(const int* x, int* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int values[16];
    for (int k = 0; k < 16; k++) values[k] = x[i * 16 + k];
    for (int k = 1; k < 16; k++) {
        int v = values[k], at = k;
        while (at > 0 && values[at - 1] > v) {
            values[at] = values[at - 1];
            at--;
        }
        values[at] = v;
    }
    int pick = x[i * 16] & 15;
    out[i * 2] = values[pick];
    out[i * 2 + 1] = values[15 - pick];
}

struct Pair { float scale; int count; double shift; };

__noinline__ __device__ float weigh(float v, Pair pair, float* rest)
{
    *rest = v - (float)pair.count;
    return v * pair.scale + (float)pair.shift;
}

__noinline__ __device__ Pair next(Pair pair) { return Pair{pair.scale * 0.5f, pair.count + 1, pair.shift - 1.0}; }

extern "C" __global__ void calls(const float* x, float* out, Pair pair, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float rest, sum = 0.0f;
    for (int k = 0; k < (i & 3) + 1; k++) {
        sum += weigh(x[i], pair, &rest) + rest;
        pair = next(pair);
    }
    out[i] = sum;
}

extern "C" __global__ void collatz(const unsigned* x, unsigned* out, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        unsigned long long v = x[i] % 10000 + 1;
        unsigned steps = 0;
        while (v != 1) {
            v = v % 2 ? 3 * v + 1 : v / 2;
            steps++;
        }
        out[i] = steps;
    }
}

__device__ __noinline__ unsigned mix(unsigned a, unsigned b) { return (a ^ b) * 0x9e3779b1u + (b >> 7); }

extern "C" __global__ void philox(unsigned* out, unsigned seed, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned c0 = i, c1 = seed, k = 0x1234567;
    for (int round = 0; round < 10; round++) {
        unsigned hi = __umulhi(0xd2511f53u, c0), lo = 0xd2511f53u * c0;
        c0 = hi ^ k ^ c1;
        c1 = lo;
        k += 0x9e3779b9u;
    }
    out[i] = mix(c0, c1);
}
