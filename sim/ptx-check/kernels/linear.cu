// Linear algebra: products, transposition, convolution, attention of one query.

extern "C" __global__ void mat_vec(const float* a, const float* x, float* y, int rows, int columns)
{
    int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows) return;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < columns; i += 32) sum += a[row * columns + i] * x[i];
    for (int offset = 16; offset > 0; offset >>= 1) sum += __shfl_down_sync(0xffffffffu, sum, offset);
    if (threadIdx.x == 0) y[row] = sum;
}

extern "C" __global__ void mat_mul(const float* a, const float* b, float* c, int n)
{
    __shared__ float as[16][17], bs[16][17];
    int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    float sum = 0.0f;
    for (int k = 0; k < n; k += 16) {
        as[threadIdx.y][threadIdx.x] = a[row * n + k + threadIdx.x];
        bs[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + column];
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 16; i++) sum = fmaf(as[threadIdx.y][i], bs[i][threadIdx.x], sum);
        __syncthreads();
    }
    c[row * n + column] = sum;
}

extern "C" __global__ void transpose(const float* in, float* out, int width, int height)
{
    __shared__ float tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        if (x < width && y + j < height) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * width + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    y = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        if (x < height && y + j < width) out[(y + j) * height + x] = tile[threadIdx.x][threadIdx.y + j];
}

extern "C" __global__ void dot_int8(const int* a, const int* b, int* out, int words)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int sum = 0;
    for (int k = 0; k < words; k++) {
        int x = a[i * words + k], y = b[i * words + k];
#pragma unroll
        for (int byte = 0; byte < 4; byte++)
            sum += (int)(signed char)(x >> (8 * byte)) * (int)(signed char)(y >> (8 * byte));
    }
    out[i] = sum;
}

__constant__ float taps[5] = {0.0625f, 0.25f, 0.375f, 0.25f, 0.0625f};

extern "C" __global__ void convolve(const float* in, float* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0.0f;
    for (int k = -2; k <= 2; k++) {
        int at = i + k;
        if (at >= 0 && at < n) sum += taps[k + 2] * in[at];
    }
    out[i] = sum;
}

extern "C" __global__ void rotary(float2* x, int positions, int pairs)
{
    int pair = threadIdx.x, position = blockIdx.x;
    if (pair >= pairs || position >= positions) return;
    float angle = position * powf(10000.0f, -(float)pair / pairs);
    float s, c;
    sincosf(angle, &s, &c);
    float2 v = x[position * pairs + pair];
    x[position * pairs + pair] = make_float2(v.x * c - v.y * s, v.x * s + v.y * c);
}

extern "C" __global__ void dequantise(const unsigned char* codes, const float* scales, float* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned code = codes[i / 2];
    int nibble = i % 2 ? code >> 4 : code & 15;
    out[i] = scales[i / 32] * (float)(nibble - 8);
}
