/*
 * kernels/ntt.cu: number-theoretic transforms.
 *
 * A transform of 2^L is cut into passes of up to 10 bits. A pass loads tiles of 2^10 elements (32 KiB of shared
 * memory), 4 to a thread, and works through its bits in rounds of two: radix 4 in registers, exchanged through
 * shared memory between rounds. (Radix 8 needs 128 registers and twice the code, and is slower.) The pass over
 * the lowest bits reads whole tiles in a row; the others take
 * 2^K rows of 2^(10-K) neighbours each. Inverse, coset factor and forward share the lowest pass.
 *
 * Cost sketch, per element: L/2 Montgomery multiplications and L additions; 64 bytes a pass, and up to 24 bytes of
 * twiddles in the topmost. 2^24: 201 M multiplications = 3.5 ms at 57.7 G/s; 3 passes = 3.9 GB = 0.9 ms, overlapped.
 * What was measured stands in docs/KERNELS.md.
 */
#include "kernels/ntt.cuh"

enum {
    OWN_LOG = 2, OWN = 1 << OWN_LOG,    /* elements that a thread holds; the bits of a round */
    TILE_LOG = 10,
    TILE_THREADS = 1 << (TILE_LOG - OWN_LOG),
    TILE_BLOCKS = 3,                    /* on a multiprocessor: 80 registers a thread */
    MAX_PASSES = 4,
};

template <class F> struct pass_item {
    const F *src, *mul;
    F *dst;
    const F *fuse_a, *fuse_b;
};

/* A pass over bits s .. s+k-1 of the index. */
template <class F> struct pass {
    pass_item<F> item[NTT_MAX_ITEMS];
    const F *twiddles, *coset;
    int log_n, tile_log, s, k;
    bool inverse, forward, over_n;
};

/* ---- device ---- */

/* How tile positions t map to indices: the low b bits and the rows of 2^s above them belong to the tile. */
struct tile_map {
    int s, b;
    uint32_t base;

    template <class F> __device__ explicit tile_map(const pass<F> &a)
    {
        s = a.s;
        b = a.s == 0 ? 0 : a.tile_log - a.k;
        const int top = s + a.tile_log - b;
        const uint32_t tile = blockIdx.x, low = tile & ((1u << (s - b)) - 1);
        base = (tile >> (s - b)) << top | low << b;
    }
    /* What the bits of t add to an index; so index(t | u) = index(t) | offset(u). */
    __device__ uint32_t offset(uint32_t t) const
    {
        return (t >> b) << s | (t & ((1u << b) - 1));
    }
    __device__ uint32_t index(uint32_t t) const
    {
        return base | offset(t);
    }
};

/* In a round over tile bits p .. p+r-1 a thread holds OWN >> r groups of 2^r elements. The place of its k-th one is
 * place(p, r) | step(p, r, k): the first tells threads apart, the second elements, by bits of their own. */
static __device__ __forceinline__ uint32_t spread(int p, int r, uint32_t v)
{
    return (v >> p) << (p + r) | (v & ((1u << p) - 1));
}

static __device__ __forceinline__ uint32_t place(int p, int r)
{
    return spread(p, r, threadIdx.x);
}

static __device__ __forceinline__ uint32_t step(int p, int r, int k)
{
    return spread(p, r, (k >> r) * blockDim.x) | (k & ((1u << r) - 1)) << p;
}

/* The tile lies in two planes of 16 bytes; the places are permuted so that eight threads in a row, 16 bytes each,
 * meet all banks whatever the round. */
template <class F> struct tile {
    ulonglong2 *plane;
    uint32_t size;

    /* bank(t | u) = bank(t) ^ bank(u) where t and u share no bit. */
    static __device__ uint32_t bank(uint32_t t)
    {
        return t ^ (t >> 3 & 7);
    }
    __device__ void put(uint32_t at, const F &x)
    {
        plane[at] = make_ulonglong2(x.l[0], x.l[1]);
        plane[size + at] = make_ulonglong2(x.l[2], x.l[3]);
    }
    __device__ void get(uint32_t at, F &x) const
    {
        const ulonglong2 low = plane[at], high = plane[size + at];
        x.l[0] = low.x;
        x.l[1] = low.y;
        x.l[2] = high.x;
        x.l[3] = high.y;
    }
    __device__ void put_all(const F x[OWN], int p, int r)
    {
        const uint32_t first = bank(place(p, r));
#pragma unroll
        for (int k = 0; k < OWN; k++)
            put(first ^ bank(step(p, r, k)), x[k]);
    }
    __device__ void get_all(F x[OWN], int p, int r) const
    {
        const uint32_t first = bank(place(p, r));
#pragma unroll
        for (int k = 0; k < OWN; k++)
            get(first ^ bank(step(p, r, k)), x[k]);
    }
};

/* (u, v) -> (u + v, (u - v) w^-e), given w^(n/2 - e) = -w^-e. */
template <class F> static __device__ __forceinline__ void butterfly_inverse(F *u, F *v, const F *w)
{
    F t;
    f_sub(&t, v, u);
    f_add(u, u, v);
    f_mul(v, &t, w);
}

/* (u, v) -> (u + v w^e, u - v w^e) */
template <class F> static __device__ __forceinline__ void butterfly_forward(F *u, F *v, const F *w)
{
    F t;
    f_mul(&t, v, w);
    f_sub(v, u, &t);
    f_add(u, u, &t);
}

template <class F> static __device__ __forceinline__ void butterfly_plain(F *u, F *v)
{
    F t;
    f_sub(&t, u, v);
    f_add(u, u, v);
    *v = t;
}

/* The butterflies of size 2^(g+D+1) within a group of 2^R, D < R, on index bits g and up. j: the bits below g. All of
 * stage 0 share a twiddle; the second half of stage 1 has that of the first a quarter of a turn on. */
template <class F, int D, int R, bool INVERSE>
static __device__ __forceinline__ void stage(F x[1 << R], const pass<F> &a, uint32_t j, int g)
{
    const uint32_t e = j << (a.log_n - (g + D + 1)), quarter = 1u << a.log_n >> 2;
    const F *at = INVERSE ? a.twiddles + ((1u << a.log_n >> 1) - e) : a.twiddles + e;
#pragma unroll
    for (int i = 0; i < 1 << R >> 1; i++) {
        F w, *u = &x[D == 0 ? 2 * i : i], *v = u + (1 << D);
        const bool turned = D == 1 && i == 1;
        if (g == 0 && !turned) {
            butterfly_plain(u, v);
            continue;
        }
        load16(&w, !turned ? at : INVERSE ? at - quarter : at + quarter);
        if (INVERSE)
            butterfly_inverse(u, v, &w);
        else
            butterfly_forward(u, v, &w);
    }
}

/* A round over R tile bits from p. */
template <class F, int R, bool INVERSE>
static __device__ __forceinline__ void round_of(F x[OWN], const pass<F> &a, const tile_map &map, int p)
{
    const int g = a.s + p - map.b;
    const uint32_t first = map.index(place(p, R)), mask = (1u << g) - 1;
#pragma unroll
    for (int k = 0; k < OWN; k += 1 << R) {
        const uint32_t j = (first | map.offset(step(p, R, k))) & mask;
        if (R == 1) {
            stage<F, 0, R, INVERSE>(x + k, a, j, g);
        } else if (INVERSE) {
            stage<F, 1, R, true>(x + k, a, j, g);
            stage<F, 0, R, true>(x + k, a, j, g);
        } else {
            stage<F, 0, R, false>(x + k, a, j, g);
            stage<F, 1, R, false>(x + k, a, j, g);
        }
    }
}

template <class F, bool INVERSE>
static __device__ __forceinline__ void round_of(F x[OWN], const pass<F> &a, const tile_map &map, int p, int r)
{
    if (r == OWN_LOG)
        round_of<F, OWN_LOG, INVERSE>(x, a, map, p);
    else
        round_of<F, 1, INVERSE>(x, a, map, p);
}

/* Where the elements of a thread lie, and where they go for a round. */
struct layout {
    int p, r;
};

template <class F>
static __device__ __forceinline__ void move_to(F x[OWN], tile<F> &m, layout *now, int p, int r)
{
    if (now->p == p && now->r == r)
        return;
    __syncthreads();
    m.put_all(x, now->p, now->r);
    __syncthreads();
    m.get_all(x, p, r);
    now->p = p;
    now->r = r;
}

template <class F>
static __device__ __forceinline__ void rounds_inverse(F x[OWN], tile<F> &m, layout *now, const pass<F> &a,
                                                      const tile_map &map)
{
    for (int p = map.b + a.k; p > map.b;) {
        const int r = min((int)OWN_LOG, p - map.b);
        p -= r;
        move_to(x, m, now, p, r);
        round_of<F, true>(x, a, map, p, r);
    }
}

/* The rounds of the inverse backwards, so that the lowest one follows it without an exchange. */
template <class F>
static __device__ __forceinline__ void rounds_forward(F x[OWN], tile<F> &m, layout *now, const pass<F> &a,
                                                      const tile_map &map)
{
    for (int p = map.b, r = a.k % OWN_LOG ? a.k % OWN_LOG : OWN_LOG; p < map.b + a.k; p += r, r = OWN_LOG) {
        move_to(x, m, now, p, r);
        round_of<F, false>(x, a, map, p, r);
    }
}

template <class F>
__global__ void __launch_bounds__(TILE_THREADS, TILE_BLOCKS) ntt_pass_kernel(const __grid_constant__ pass<F> a)
{
    extern __shared__ ulonglong2 memory[];
    const pass_item<F> &item = a.item[blockIdx.y];
    const tile_map map(a);
    const uint32_t n = 1u << a.log_n;
    tile<F> m = {memory, 1u << a.tile_log};
    F x[OWN];
    /* The layout in which a warp meets whole rows of memory. */
    layout now = {a.tile_log - OWN_LOG, OWN_LOG};

    uint32_t first = map.index(place(now.p, now.r));
    if (item.mul) {
        for (int k = 0; k < OWN; k++) {
            const uint32_t i = first | map.offset(step(now.p, now.r, k));
            if (i < n) {
                F u, v;
                load16(&u, item.src + i);
                load16(&v, item.mul + i);
                f_mul(&u, &u, &v);
                m.put(k * blockDim.x + threadIdx.x, u);
            }
        }
#pragma unroll
        for (int k = 0; k < OWN; k++)   /* a thread's own elements: no barrier */
            m.get(k * blockDim.x + threadIdx.x, x[k]);
    } else {
#pragma unroll
        for (int k = 0; k < OWN; k++) {
            const uint32_t i = first | map.offset(step(now.p, now.r, k));
            if (i < n)
                load16(&x[k], item.src + i);
        }
    }
    if (a.inverse)
        rounds_inverse(x, m, &now, a, map);
    if (a.over_n) {
#pragma unroll
        for (int k = 0; k < OWN; k++)
            f_div_pow2(&x[k], &x[k], a.log_n);
    }
    if (a.coset) {
        first = map.index(place(now.p, now.r));
#pragma unroll
        for (int k = 0; k < OWN; k++) {
            const uint32_t i = first | map.offset(step(now.p, now.r, k));
            F factor;
            if (i < n)
                load16(&factor, a.coset + i);
            f_mul(&x[k], &x[k], &factor);
        }
    }
    if (a.forward)
        rounds_forward(x, m, &now, a, map);
    move_to(x, m, &now, a.tile_log - OWN_LOG, OWN_LOG);
    first = map.index(place(now.p, now.r));
    if (item.fuse_a) {
        __syncthreads();
#pragma unroll
        for (int k = 0; k < OWN; k++)
            m.put(k * blockDim.x + threadIdx.x, x[k]);
        for (int k = 0; k < OWN; k++) {
            const uint32_t i = first | map.offset(step(now.p, now.r, k));
            if (i < n) {
                F u, v;
                load16(&u, item.fuse_a + i);
                load16(&v, item.fuse_b + i);
                f_mul(&u, &u, &v);
                m.get(k * blockDim.x + threadIdx.x, v);
                f_sub(&u, &u, &v);
                f_from_mont(&u, &u);
                store16(item.dst + i, &u);
            }
        }
        return;
    }
#pragma unroll
    for (int k = 0; k < OWN; k++) {
        const uint32_t i = first | map.offset(step(now.p, now.r, k));
        if (i < n)
            store16(item.dst + i, &x[k]);
    }
}

/* out[i] = first * product of power[b] over the bits b of i. */
template <class F> struct table_args {
    F *out;
    F first, power[NTT_MAX_LOG];
    uint32_t count;
};

template <class F> __global__ void ntt_table_kernel(const __grid_constant__ table_args<F> a)
{
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= a.count)
        return;
    F x = a.first;
    for (uint32_t bits = i; bits; bits &= bits - 1) {
        const F w = a.power[__ffs(bits) - 1];
        f_mul(&x, &x, &w);
    }
    store16(a.out + i, &x);
}

/* ---- host ---- */

static inline int two_adicity(const bn254_fr *) { return 28; }
static inline int two_adicity(const bls381_fr *) { return 32; }

/* A root of unity of order 2^log: 5^((r-1)/2^log), for both curves (iden3's choice). */
template <class F> static F root_of_unity(int log)
{
    F w, minus_one, one, zero;
    f_set_one(&one);
    f_set_zero(&zero);
    f_sub(&minus_one, &zero, &one);
    f_from_mont(&minus_one, &minus_one);    /* r - 1, plain */
    uint64_t e[4];
    for (int i = 0; i < 4; i++) {
        const uint64_t next = i < 3 ? minus_one.l[i + 1] : 0;
        e[i] = log == 0 ? minus_one.l[i] : minus_one.l[i] >> log | next << (64 - log);
    }
    f_set_u64(&w, 5);
    F acc = one;
    for (int i = 255; i >= 0; i--) {
        f_sqr(&acc, &acc);
        if (e[i / 64] >> (i % 64) & 1)
            f_mul(&acc, &acc, &w);
    }
    return acc;
}

template <class F> static F one_over_n(int log_n)
{
    F n;
    f_set_u64(&n, 1ull << log_n);
    f_inv(&n, &n);
    return n;
}

size_t ntt_tables_bytes(int log_n)
{
    const size_t n = (size_t)1 << log_n;
    return (n / 2 + 2 + n) * KRN_FR_BYTES;
}

template <class F>
static void fill(F *out, uint32_t count, const F &first, const F *power, cudaStream_t stream)
{
    table_args<F> a;
    a.out = out;
    a.first = first;
    a.count = count;
    for (int i = 0; i < NTT_MAX_LOG; i++)
        a.power[i] = power[i];
    ntt_table_kernel<F><<<(count + 255) / 256, 256, 0, stream>>>(a);
}

template <class F> static int tables_init(struct ntt_tables *t, cudaStream_t stream, char err[KRN_ERR_TEXT])
{
    const int log_n = t->log_n;
    F power[NTT_MAX_LOG + 1], one;
    f_set_one(&one);
    for (int i = 0; i <= NTT_MAX_LOG; i++)
        power[i] = one;
    power[0] = root_of_unity<F>(log_n);
    for (int i = 1; i < log_n; i++)
        f_sqr(&power[i], &power[i - 1]);
    fill((F *)t->twiddles, (1u << log_n) / 2 + 1, one, power, stream);

    /* At place p lies g^bitrev(p): bit b of p stands for 2^(log_n - 1 - b). */
    F g;
    if (log_n + 1 <= two_adicity(&g))
        g = root_of_unity<F>(log_n + 1);
    else
        f_set_u64(&g, 25);
    for (int b = log_n - 1; b >= 0; b--) {
        power[b] = g;
        f_sqr(&g, &g);
    }
    fill((F *)t->coset, 1u << log_n, one_over_n<F>(log_n), power, stream);
    DEVICE_TRY(cudaGetLastError());
    return 0;
}

int ntt_tables_init(struct ntt_tables *t, enum krn_curve_id curve, int log_n, void *memory, cudaStream_t stream,
                    char err[KRN_ERR_TEXT])
{
    if (log_n < 0 || log_n > NTT_MAX_LOG) {
        snprintf(err, KRN_ERR_TEXT, "a transform of 2^%d: sizes are 2^0 to 2^%d", log_n, NTT_MAX_LOG);
        return -EINVAL;
    }
    t->curve = curve;
    t->log_n = log_n;
    t->twiddles = memory;
    t->coset = (uint8_t *)memory + (((size_t)1 << log_n) / 2 + 2) * KRN_FR_BYTES;
    return curve == KRN_BN254 ? tables_init<bn254_fr>(t, stream, err) : tables_init<bls381_fr>(t, stream, err);
}

/* Cuts log_n bits into passes, lowest first; returns how many. Rows of a strided pass are 2^(TILE_LOG - bits) elements:
 * 128 bytes at 8 bits; single elements do where all data lie in the L2 cache. An even number of bits leaves no half
 * round. */
static int plan_passes(int log_n, int k[MAX_PASSES])
{
    const int most = log_n <= 20 ? 10 : log_n <= TILE_LOG + 2 * 8 ? 8 : 9;
    if (log_n <= TILE_LOG) {
        k[0] = log_n;
        return 1;
    }
    int n = 2;
    while (TILE_LOG + (n - 1) * most < log_n)
        n++;
    int share = ((log_n + n - 1) / n + 1) & ~1, left = log_n;
    share = share < most ? share : most;
    for (int i = n - 1; i > 0; i--) {
        k[i] = share;
        left -= share;
    }
    k[0] = left;
    return n;
}

template <class F> static int launch(pass<F> &a, int count, cudaStream_t stream, char err[KRN_ERR_TEXT])
{
    a.tile_log = a.log_n < TILE_LOG ? (a.log_n < OWN_LOG ? (int)OWN_LOG : a.log_n) : (int)TILE_LOG;
    const int tiles_log = a.log_n > a.tile_log ? a.log_n - a.tile_log : 0;
    const size_t shared = (size_t)sizeof(F) << a.tile_log;
    ntt_pass_kernel<F><<<dim3(1u << tiles_log, count), 1u << (a.tile_log - OWN_LOG), shared, stream>>>(a);
    DEVICE_TRY(cudaGetLastError());
    return 0;
}

template <class F>
static int run(const struct ntt_tables *t, enum ntt_kind kind, const struct ntt_item *items, int count,
               cudaStream_t stream, char err[KRN_ERR_TEXT])
{
    int k[MAX_PASSES], s[MAX_PASSES + 1];
    const int n = plan_passes(t->log_n, k);
    s[0] = 0;
    for (int i = 0; i < n; i++)
        s[i + 1] = s[i] + k[i];

    /* Passes in order: down the bits in the inverse, up again in the forward, the lowest shared. */
    int order[2 * MAX_PASSES], steps = 0;
    if (kind != NTT_FORWARD)
        for (int i = n - 1; i > 0; i--)
            order[steps++] = i;
    const int middle = steps;
    order[steps++] = 0;
    if (kind != NTT_INVERSE)
        for (int i = 1; i < n; i++)
            order[steps++] = i;

    for (int step = 0; step < steps; step++) {
        pass<F> a = {};
        const int which = order[step];
        a.twiddles = (const F *)t->twiddles;
        a.log_n = t->log_n;
        a.s = s[which];
        a.k = k[which];
        a.inverse = kind != NTT_FORWARD && step <= middle;
        a.forward = kind != NTT_INVERSE && step >= middle;
        if (step == middle && kind == NTT_TO_COSET)
            a.coset = (const F *)t->coset;
        a.over_n = step == middle && kind == NTT_INVERSE;
        for (int i = 0; i < count; i++) {
            const bool first = step == 0, last = step == steps - 1;
            a.item[i].src = (const F *)(first ? items[i].src : items[i].dst);
            a.item[i].mul = (const F *)(first ? items[i].mul : NULL);
            a.item[i].dst = (F *)items[i].dst;
            a.item[i].fuse_a = (const F *)(last ? items[i].fuse_a : NULL);
            a.item[i].fuse_b = (const F *)(last ? items[i].fuse_b : NULL);
        }
        const int status = launch(a, count, stream, err);
        if (status)
            return status;
    }
    return 0;
}

int ntt_run(const struct ntt_tables *t, enum ntt_kind kind, const struct ntt_item *items, int count,
            cudaStream_t stream, char err[KRN_ERR_TEXT])
{
    return t->curve == KRN_BN254 ? run<bn254_fr>(t, kind, items, count, stream, err)
                                 : run<bls381_fr>(t, kind, items, count, stream, err);
}

int ntt_quotient(const struct ntt_tables *t, const void *a, const void *b, const void *c, void *work, void *h,
                 cudaStream_t stream, char err[KRN_ERR_TEXT])
{
    uint8_t *coset_a = (uint8_t *)work, *coset_b = coset_a + ((size_t)KRN_FR_BYTES << t->log_n);
    const struct ntt_item factors[2] = {{a, NULL, coset_a, NULL, NULL}, {b, NULL, coset_b, NULL, NULL}};
    const struct ntt_item product = {c ? c : a, c ? NULL : b, h, coset_a, coset_b};
    const int status = ntt_run(t, NTT_TO_COSET, factors, 2, stream, err);
    return status ? status : ntt_run(t, NTT_TO_COSET, &product, 1, stream, err);
}
