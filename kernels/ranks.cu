// What two ranks of a step do to each other: wait until both are there, and read what the other has computed.
//
// Every rank has a word `arrivals` in its own memory, which it alone writes and its peer reads: how often it has arrived. Both
// ranks must launch these kernels equally often and in the same order; if one does not, the other spins for ever.

namespace {

// Waits until the peer has arrived as often as this rank. For one thread.
__device__ __forceinline__ void arrive_and_wait(volatile unsigned* arrivals, const volatile unsigned* peer_arrivals) {
    // What earlier kernels of this rank have written is there before the peer learns of the arrival.
    __threadfence_system();
    unsigned arrival = *arrivals + 1;
    *arrivals = arrival;
    // The difference, so that the count may wrap around.
    while (static_cast<int>(*peer_arrivals - arrival) < 0) {
    }
    // What the peer has written before it arrived is read only now.
    __threadfence_system();
}

}  // namespace

// Waits for the peer, then copies `peer[0..n]` from its memory to `out[0..n]`. What `peer` names must not be written again before
// both have arrived once more. Launch: one block of any number of threads.
extern "C" __global__ void exchange(unsigned* arrivals, const unsigned* peer_arrivals, const volatile float* peer, float* out,
                                    unsigned n) {
    if (threadIdx.x == 0) arrive_and_wait(arrivals, peer_arrivals);
    __syncthreads();
    for (unsigned i = threadIdx.x; i < n; i += blockDim.x) out[i] = peer[i];
}

// Waits for the peer, and writes to `*waited` for how many nanoseconds of this device's timer: of two ranks, the later one waits for
// none, so the difference is how far apart they started. Launch: one block of one thread.
extern "C" __global__ void meet(unsigned* arrivals, const unsigned* peer_arrivals, unsigned long long* waited) {
    unsigned long long start, end;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
    arrive_and_wait(arrivals, peer_arrivals);
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(end));
    *waited = end - start;
}
