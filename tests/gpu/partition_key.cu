#include "tests/gpu/partition_key.cuh"

#include <string.h>

enum {
    CHUNK = 1 << 21,            /* points at once */
    THREADS = 128,
    TABLES = 200 << 20,         /* bytes that the tables of multiples take at most */
};

/* What is computed of a wire: A_j, B_j, or (beta A_j + alpha B_j + C_j) / delta (L) or / gamma (IC), all at tau. */
enum what { WHAT_A, WHAT_B, WHAT_L, WHAT_IC };

/* ---- one wire ---- */

/* Sums over rows, plain: a Montgomery value times a plain factor. */
template <class F> struct column {
    const F *lagrange;
    bool want_a, want_b, want_c;
    F a_sum, b_sum, c_sum;

    __device__ __forceinline__ void add(F *sum, uint32_t row, int64_t coef)
    {
        F x, k;
        load16(&x, lagrange + row);
        f_set_zero(&k);
        k.l[0] = (uint64_t)(coef < 0 ? -coef : coef);
        f_mul(&x, &x, &k);
        if (coef < 0)
            f_sub(sum, sum, &x);
        else
            f_add(sum, sum, &x);
    }
    __device__ __forceinline__ void a(uint32_t row, int64_t coef) { if (want_a) add(&a_sum, row, coef); }
    __device__ __forceinline__ void b(uint32_t row, int64_t coef) { if (want_b) add(&b_sum, row, coef); }
    __device__ __forceinline__ void c(uint32_t row, int64_t coef) { if (want_c) add(&c_sum, row, coef); }
};

template <class F> static __device__ void column_p(const partition &p, uint32_t unit, uint32_t row, column<F> &s)
{
    const uint32_t units = PARTITION_UNITS * p.blocks;
    int64_t k = partition_coef(&p, row, 0);
    s.a(row, k);
    s.b(row, 1);
    s.c(row, k);
    for (uint32_t i = 0; i < 3; i++) {
        const uint32_t from = partition_back(unit, p.shift[i], units);
        const uint32_t far = PARTITION_ROWS * (from / PARTITION_UNITS) + 4 * (from % PARTITION_UNITS) + 1 + i;
        s.b(far, 1);
        if (i != 1)
            s.c(far, partition_coef(&p, far, 0));
    }
    if (unit % PARTITION_UNITS)
        return;
    for (uint32_t i = 1; i < 4; i++) {      /* it stands for q', s', and the only term of the first r */
        k = partition_coef(&p, row + i, 0);
        s.a(row + i, i == 2 ? k : 2 * k);
        if (i != 2)
            s.c(row + i, k);
    }
}

template <class F>
static __device__ void column_bit(const partition &p, uint32_t block, uint32_t place, column<F> &s)
{
    const uint32_t u = place / 4, kind = place % 4, row = PARTITION_ROWS * block + place, next = row + 4;
    if (kind == 0)
        return column_p(p, PARTITION_UNITS * block + u, row, s);
    const int64_t own = partition_coef(&p, row, 0), then = partition_coef(&p, next, 0);
    s.c(row, kind == 2 ? own : -own);
    if (u + 1 < PARTITION_UNITS) {
        s.a(next, kind == 2 ? -then : 2 * then);
        s.c(next, kind == 2 ? -then : then);
    }
    if (kind != 1)
        return;
    if (u + 1 < PARTITION_UNITS)
        s.a(next + 1, partition_coef(&p, next + 1, 0));     /* q' of the next r */
    const uint32_t f1 = PARTITION_ROWS * block + PARTITION_F0;
    s.a(f1, partition_coef(&p, f1, 2 + u));
    for (uint32_t i = block; i < p.n_public; i += p.blocks)
        s.a(p.public_row + i, (int64_t)1 << u);
}

template <class F>
static __device__ void column_value(const partition &p, uint32_t block, uint32_t value, column<F> &s)
{
    const uint32_t f1 = PARTITION_ROWS * block + PARTITION_F0, f2 = f1 + 1, f3 = f1 + 2;   /* rows that define them */
    const uint32_t checks = partition_checks(&p), from = partition_back(block, p.shift[3], p.blocks);
    for (uint32_t t = block; t < checks; t += p.blocks) {
        const uint32_t row = p.check_row + t;
        const int64_t k = partition_coef(&p, row, value == 0 || value == 3);
        if (value < 2)
            s.a(row, k);
        else
            s.c(row, k);
    }
    if (value == 0) {
        s.a(f1, partition_coef(&p, f1, 0));
        s.b(f1, partition_coef(&p, f1, 1));
        s.a(f3, partition_coef(&p, f3, 0));
        const uint32_t far = PARTITION_ROWS * from + PARTITION_F0;
        s.b(far + 1, 1);
        s.b(far + 2, 1);
        for (uint32_t t = from; t < checks; t += p.blocks)
            s.b(p.check_row + t, 1);
    } else if (value == 1) {
        s.c(f1, 1);
        s.a(f2, partition_coef(&p, f2, 0));
        for (uint32_t i = block; i < p.n_public; i += p.blocks)
            s.a(p.public_row + i, partition_coef(&p, p.public_row + i, 0));
    } else {
        s.c(value == 2 ? f2 : f3, partition_coef(&p, value == 2 ? f2 : f3, 0));
    }
}

template <class F> static __device__ void column_of(const partition &p, uint32_t wire, column<F> &s)
{
    if (wire >= p.first_tail) {
        const uint32_t row = p.tail_row + (wire - p.first_tail);
        s.a(row, partition_coef(&p, row, 0));
        s.b(row, 1);
        s.c(row, partition_coef(&p, row, 0));
    } else if (wire >= p.first_aux) {
        const uint32_t block = (wire - p.first_aux) / PARTITION_WIRES, place = (wire - p.first_aux) % PARTITION_WIRES;
        if (place < PARTITION_F0)
            column_bit(p, block, place, s);
        else
            column_value(p, block, place - PARTITION_F0, s);
    } else {
        s.a(p.n_constraints + wire, 1);
        if (wire > 0)
            s.c(p.public_row + wire - 1, 1);
        for (uint32_t i = 0; wire == 0 && i < p.n_public; i++)
            s.b(p.public_row + i, 1);
    }
}

template <class F> struct scalars_args {
    struct partition p;
    enum what what;
    bool compact;           /* index i is the i-th wire of B, not wire i */
    uint32_t first, n;
    const F *lagrange;
    F alpha, beta, divisor; /* Montgomery; 1 / delta or 1 / gamma */
    F *out;
};

template <class F> static __global__ void __launch_bounds__(THREADS) scalars_kernel(const scalars_args<F> args)
{
    const uint32_t i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= args.n)
        return;
    const bool all = args.what == WHAT_L || args.what == WHAT_IC;
    const uint32_t index = args.first + i;
    const uint32_t wire = args.compact ? partition_b_wire(&args.p, index) : index;
    column<F> s = {args.lagrange, all || args.what == WHAT_A, all || args.what == WHAT_B, all};
    f_set_zero(&s.a_sum);
    f_set_zero(&s.b_sum);
    f_set_zero(&s.c_sum);
    column_of(args.p, wire, s);
    F x = args.what == WHAT_B ? s.b_sum : s.a_sum;
    if (all) {
        f_mul(&x, &x, &args.beta);
        f_mul(&s.b_sum, &s.b_sum, &args.alpha);
        f_add(&x, &x, &s.b_sum);
        f_add(&x, &x, &s.c_sum);
        f_mul(&x, &x, &args.divisor);
    }
    store16(args.out + i, &x);
}

static __global__ void b_index_kernel(struct partition p, uint32_t first, uint32_t n, uint32_t *out)
{
    const uint32_t i = blockIdx.x * THREADS + threadIdx.x;
    if (i < n)
        out[i] = partition_b_wire(&p, first + i);
}

/* ---- the source ---- */

static unsigned blocks_for(size_t n)
{
    return (unsigned)((n + THREADS - 1) / THREADS);
}

template <class F>
static int launch_scalars(const struct partition_key *k, enum what what, bool compact, size_t first, size_t n,
                          cudaStream_t stream, char err[KRN_ERR_TEXT])
{
    const struct krn_scalar_field f = krn_scalar_field(k->p->curve);
    struct krn_scalar divisor;
    scalars_args<F> a = {*k->p, what, compact, (uint32_t)first, (uint32_t)n, (const F *)k->lagrange};
    krn_scalar_inv(&f, &divisor, what == WHAT_IC ? &k->trapdoor.gamma : &k->trapdoor.delta);
    memcpy(&a.alpha, &k->trapdoor.alpha, sizeof a.alpha);
    memcpy(&a.beta, &k->trapdoor.beta, sizeof a.beta);
    memcpy(&a.divisor, &divisor, sizeof a.divisor);
    a.out = (F *)k->scalars;
    scalars_kernel<F><<<blocks_for(n), THREADS, 0, stream>>>(a);
    DEVICE_TRY(cudaGetLastError());
    return 0;
}

static int scalars(const struct partition_key *k, enum what what, bool compact, size_t first, size_t n,
                   cudaStream_t stream, char err[KRN_ERR_TEXT])
{
    return k->p->curve == KRN_BN254 ? launch_scalars<bn254_fr>(k, what, compact, first, n, stream, err)
                                    : launch_scalars<bls381_fr>(k, what, compact, first, n, stream, err);
}

/* The scalars of elements first .. first+n-1 of a set to k->scalars. */
static int scalars_of(const struct partition_key *k, enum krn_set set, size_t first, size_t n, cudaStream_t stream,
                      char err[KRN_ERR_TEXT])
{
    switch (set) {
    case KRN_SET_A: return scalars(k, WHAT_A, false, first, n, stream, err);
    case KRN_SET_B1:
    case KRN_SET_B2: return scalars(k, WHAT_B, k->key.n_b != 0, first, n, stream, err);
    case KRN_SET_L: return scalars(k, WHAT_L, false, k->p->first_aux + first, n, stream, err);
    default: return setup_lagrange(k->p->curve, &k->h, k->scalars, first, n, stream, err);
    }
}

static int make(void *ctx, enum krn_set set, uint64_t first, uint64_t count, void *to, void *stream_)
{
    const struct partition_key *k = (const struct partition_key *)ctx;
    const struct setup_table *table = set == KRN_SET_B2 ? &k->g2 : &k->g1;
    const cudaStream_t stream = (cudaStream_t)stream_;
    char err[KRN_ERR_TEXT];
    if (set == KRN_SET_B_INDEX) {
        b_index_kernel<<<blocks_for(count), THREADS, 0, stream>>>(*k->p, (uint32_t)first, (uint32_t)count,
                                                                  (uint32_t *)to);
        return cudaGetLastError() == cudaSuccess ? 0 : -EIO;
    }
    for (size_t at = 0, n; at < count; at += n) {
        n = count - at < CHUNK ? count - at : (size_t)CHUNK;
        int status = scalars_of(k, set, first + at, n, stream, err);
        if (status == 0)
            status = setup_multiples(table, (uint8_t *)to + at * table->point_bytes, k->scalars, n, k->scratch, stream,
                                     err);
        if (status)
            return status;
    }
    return 0;
}

/* ---- the few points that the host needs ---- */

/* The multiples by n scalars of the host to the host. */
static int host_multiples(const struct partition_key *k, const struct setup_table *table, const struct krn_scalar *from,
                          size_t n, std::vector<uint8_t> *out, char err[KRN_ERR_TEXT])
{
    void *points;
    int status = device_alloc(&points, n * table->point_bytes, "points of the key", err);
    if (status)
        return status;
    if (from)
        DEVICE_TRY(cudaMemcpy(k->scalars, from, n * KRN_FR_BYTES, cudaMemcpyHostToDevice));
    out->resize(n * table->point_bytes);
    status = setup_multiples(table, points, k->scalars, n, k->scratch, 0, err);
    DEVICE_TRY(cudaMemcpy(out->data(), points, out->size(), cudaMemcpyDeviceToHost));
    cudaFree(points);
    return status;
}

static int fixed_points(struct partition_key *k, char err[KRN_ERR_TEXT])
{
    const struct krn_curve *curve = krn_curve(k->p->curve);
    const struct krn_scalar_field f = krn_scalar_field(curve->id);
    const size_t g1 = 2 * curve->fq_bytes, g2 = 2 * g1;
    struct krn_scalar plain[4];     /* alpha, beta, gamma, delta */
    for (int i = 0; i < 4; i++)
        krn_scalar_from_mont(&f, &plain[i], &k->trapdoor.alpha + i);
    int status = host_multiples(k, &k->g1, plain, 4, &k->points1, err);
    if (status == 0)
        status = host_multiples(k, &k->g2, plain, 4, &k->points2, err);
    if (status == 0)
        status = scalars(k, WHAT_IC, false, 0, k->p->first_aux, 0, err);
    if (status == 0)
        status = host_multiples(k, &k->g1, NULL, k->p->first_aux, &k->ic, err);
    if (status)
        return status;
    k->key.alpha1 = k->points1.data();
    k->key.beta1 = k->points1.data() + g1;
    k->key.delta1 = k->points1.data() + 3 * g1;
    k->key.beta2 = k->points2.data() + g2;
    k->key.delta2 = k->points2.data() + 3 * g2;
    k->vk.curve = curve->id;
    k->vk.n_public = k->p->n_public;
    krn_fq_to_plain(curve, k->vk.alpha1, k->key.alpha1, 2);
    krn_fq_to_plain(curve, k->vk.beta2, k->key.beta2, 4);
    krn_fq_to_plain(curve, k->vk.gamma2, k->points2.data() + 2 * g2, 4);
    krn_fq_to_plain(curve, k->vk.delta2, k->key.delta2, 4);
    krn_fq_to_plain(curve, k->ic.data(), k->ic.data(), 2 * (size_t)k->p->first_aux);
    k->vk.ic = k->ic.data();
    return 0;
}

/* ---- life ---- */

size_t partition_key_bytes(const struct partition *p)
{
    const size_t g2 = 4 * krn_curve(p->curve)->fq_bytes;
    return ((size_t)KRN_FR_BYTES << p->log_domain) + CHUNK * (KRN_FR_BYTES + 2 * g2) + TABLES;
}

struct krn_key partition_key_numbers(const struct partition *p)
{
    struct krn_key key = {};
    key.curve = p->curve;
    key.n_vars = p->n_wires;
    key.n_public = p->n_public;
    key.log_domain = p->log_domain;
    key.n_b = partition_n_b(p);
    return key;
}

static int start(struct partition_key *k, char err[KRN_ERR_TEXT])
{
    const struct partition *p = k->p;
    const struct krn_scalar_field f = krn_scalar_field(p->curve);
    const size_t rows = (size_t)1 << p->log_domain, points = 3 * (size_t)p->n_wires + rows;
    struct krn_lagrange_terms all;
    struct krn_scalar by_delta;
    krn_scalar_inv(&f, &by_delta, &k->trapdoor.delta);
    krn_scalar_from_mont(&f, &by_delta, &by_delta);
    if (krn_lagrange_terms(&f, KRN_LAGRANGE_ALL, p->log_domain, &k->trapdoor.tau, &f.one, &all) ||
        krn_lagrange_terms(&f, KRN_LAGRANGE_ODD, p->log_domain, &k->trapdoor.tau, &by_delta, &k->h)) {
        snprintf(err, KRN_ERR_TEXT, "tau is a point of the domain");
        return -EDOM;
    }
    int status = setup_table_open(&k->g1, p->curve, 1, points, 0, err);
    if (status == 0)
        status = setup_table_open(&k->g2, p->curve, 2, partition_n_b(p), 0, err);
    if (status == 0)
        status = device_alloc(&k->lagrange, rows * KRN_FR_BYTES, "Lagrange values", err);
    if (status == 0)
        status = device_alloc(&k->scalars, (size_t)CHUNK * KRN_FR_BYTES, "scalars", err);
    if (status == 0)
        status = device_alloc(&k->scratch, CHUNK * k->g2.scratch_bytes, "scratch for points", err);
    if (status == 0)
        status = setup_lagrange(p->curve, &all, k->lagrange, 0, rows, 0, err);
    if (status == 0)
        status = fixed_points(k, err);
    if (status)
        return status;
    DEVICE_TRY(cudaStreamSynchronize(0));
    return 0;
}

int partition_key_open(struct partition_key *k, const struct partition *p, const struct setup_trapdoor *t,
                       char err[KRN_ERR_TEXT])
{
    *k = {};
    k->p = p;
    k->trapdoor = *t;
    k->key = partition_key_numbers(p);
    k->source.ctx = k;
    k->source.make = make;
    const int status = start(k, err);
    if (status)
        partition_key_drop(k);
    return status;
}

void partition_key_drop(struct partition_key *k)
{
    setup_table_close(&k->g1);
    setup_table_close(&k->g2);
    cudaFree(k->lagrange);
    cudaFree(k->scalars);
    cudaFree(k->scratch);
    k->lagrange = k->scalars = k->scratch = NULL;
    k->source.make = NULL;
}
