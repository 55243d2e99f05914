/*
 * kernels/setup.cu: see kernels/setup.cuh, and kernels/setup.h for the back end at the end.
 */
#include "kernels/setup.cuh"

#include <string.h>

#include <new>

#include "kernels/groups.cuh"

enum { THREADS = 128 };

/* ---- multiples ---- */

template <class G> struct multiples_args {
    typename G::affine *out;
    typename G::xyzz *scratch;
    const typename G::affine *table;
    const ulonglong2 *scalars;
    uint32_t n;
    unsigned bits, windows;
};

/* The sum of one entry of each row of the table. */
template <class G>
static __device__ __forceinline__ void multiple(const multiples_args<G> &a, uint32_t i, typename G::xyzz *sum)
{
    const ulonglong2 low = a.scalars[2 * (size_t)i], high = a.scalars[2 * (size_t)i + 1];
    const uint64_t scalar[4] = {low.x, low.y, high.x, high.y};
    unsigned carry = 0;
    G::set_inf(sum);
    for (unsigned k = 0; k < a.windows; k++) {
        const int32_t d = krn_fixed_base_digit(scalar, a.bits, k, &carry);
        typename G::affine p;
        if (d == 0)
            continue;
        load16(&p, a.table + ((size_t)k << (a.bits - 1)) + (d < 0 ? -d : d) - 1);
        if (d < 0)
            G::neg(&p);
        G::madd(sum, &p);
    }
}

template <class G> static __global__ void __launch_bounds__(THREADS) multiples_kernel(const multiples_args<G> a)
{
    affine_run<G>(a.out, a.scratch, a.n, blockIdx.x * THREADS + threadIdx.x, gridDim.x * THREADS,
                  [&a](uint32_t i, typename G::xyzz *x) { multiple<G>(a, i, x); });
}

template <class G>
static int launch_multiples(const struct setup_table *t, void *out, const void *scalars, size_t n, void *scratch,
                            cudaStream_t stream, char err[KRN_ERR_TEXT])
{
    const multiples_args<G> a = {(typename G::affine *)out, (typename G::xyzz *)scratch,
                                 (const typename G::affine *)t->points, (const ulonglong2 *)scalars, (uint32_t)n,
                                 t->bits, t->windows};
    const size_t threads = (n + AFFINE_RUN - 1) / AFFINE_RUN;
    multiples_kernel<G><<<(unsigned)((threads + THREADS - 1) / THREADS), THREADS, 0, stream>>>(a);
    DEVICE_TRY(cudaGetLastError());
    return 0;
}

int setup_multiples(const struct setup_table *t, void *out, const void *scalars, size_t n, void *scratch,
                    cudaStream_t stream, char err[KRN_ERR_TEXT])
{
    if (n == 0)
        return 0;
    if (t->curve == KRN_BN254)
        return t->group == 1 ? launch_multiples<group_bn254_g1>(t, out, scalars, n, scratch, stream, err)
                             : launch_multiples<group_bn254_g2>(t, out, scalars, n, scratch, stream, err);
    return t->group == 1 ? launch_multiples<group_bls381_g1>(t, out, scalars, n, scratch, stream, err)
                         : launch_multiples<group_bls381_g2>(t, out, scalars, n, scratch, stream, err);
}

static int upload_table(struct setup_table *t, const struct krn_fixed_base_table *from, char err[KRN_ERR_TEXT])
{
    const int status = device_alloc(&t->points, from->bytes, "a table of multiples", err);
    if (status)
        return status;
    DEVICE_TRY(cudaMemcpy(t->points, from->points, from->bytes, cudaMemcpyHostToDevice));
    return 0;
}

int setup_table_open(struct setup_table *t, enum krn_curve_id curve, int group, size_t n, unsigned threads,
                     char err[KRN_ERR_TEXT])
{
    struct krn_fixed_base *made = krn_fixed_base_new(curve, group, n, threads);
    *t = {};
    if (!made) {
        snprintf(err, KRN_ERR_TEXT, "out of memory for a table of multiples");
        return -ENOMEM;
    }
    const struct krn_fixed_base_table table = krn_fixed_base_table(made);
    t->curve = curve;
    t->group = group;
    t->bits = table.bits;
    t->windows = table.windows;
    t->point_bytes = (size_t)2 * group * krn_curve(curve)->fq_bytes;
    t->scratch_bytes = 2 * t->point_bytes;
    const int status = upload_table(t, &table, err);
    krn_fixed_base_free(made);
    if (status)
        setup_table_close(t);
    return status;
}

void setup_table_close(struct setup_table *t)
{
    cudaFree(t->points);
    *t = {};
}

/* ---- Lagrange polynomials ---- */

enum { LAGRANGE_RUN = 64 };     /* values that share an inversion */

template <class F> struct lagrange_args {
    F *out;
    F tau, factor;
    F first, step;              /* point of out[0]; ratio of neighbours */
    F stride, stride_inverse;   /* ratio of points as many apart as there are threads */
    uint32_t n;
};

/* Thread t has values t, t + threads, t + 2 threads ... */
template <class F> static __global__ void __launch_bounds__(THREADS) lagrange_kernel(const lagrange_args<F> a)
{
    const uint32_t threads = gridDim.x * THREADS, t = blockIdx.x * THREADS + threadIdx.x;
    F point = a.first, power = a.step, product, inverse, x;
    int n = 0;
    f_set_one(&product);
    for (uint32_t e = t; e; e >>= 1) {
        if (e & 1)
            f_mul(&point, &point, &power);
        f_sqr(&power, &power);
    }
    for (uint32_t i = t; i < a.n && n < LAGRANGE_RUN; i += threads, n++) {
        store16(a.out + i, &product);
        f_sub(&x, &a.tau, &point);
        f_mul(&product, &product, &x);
        f_mul(&point, &point, &a.stride);
    }
    f_inv(&inverse, &product);
    f_mul(&inverse, &inverse, &a.factor);
    for (int k = n - 1; k >= 0; k--) {
        F *out = a.out + t + (uint32_t)k * threads;
        f_mul(&point, &point, &a.stride_inverse);
        load16(&x, out);
        f_mul(&x, &x, &inverse);
        f_mul(&x, &x, &point);
        store16(out, &x);
        f_sub(&x, &a.tau, &point);
        f_mul(&inverse, &inverse, &x);
    }
}

template <class F>
static int launch_lagrange(const struct krn_scalar_field *f, const struct krn_lagrange_terms *terms, void *out,
                           size_t first, size_t n, cudaStream_t stream, char err[KRN_ERR_TEXT])
{
    const size_t runs = (n + LAGRANGE_RUN - 1) / LAGRANGE_RUN, blocks = (runs + THREADS - 1) / THREADS;
    const struct krn_scalar threads = {{blocks * THREADS}}, before = {{first}};
    struct krn_scalar start, stride, inverse;
    lagrange_args<F> a;
    krn_scalar_pow(f, &start, &terms->step, &before);
    krn_scalar_mul(f, &start, &start, &terms->first);
    krn_scalar_pow(f, &stride, &terms->step, &threads);
    krn_scalar_inv(f, &inverse, &stride);
    a.out = (F *)out;
    a.n = (uint32_t)n;
    memcpy(&a.tau, &terms->tau, sizeof a.tau);
    memcpy(&a.factor, &terms->factor, sizeof a.factor);
    memcpy(&a.first, &start, sizeof a.first);
    memcpy(&a.step, &terms->step, sizeof a.step);
    memcpy(&a.stride, &stride, sizeof a.stride);
    memcpy(&a.stride_inverse, &inverse, sizeof a.stride_inverse);
    lagrange_kernel<F><<<(unsigned)blocks, THREADS, 0, stream>>>(a);
    DEVICE_TRY(cudaGetLastError());
    return 0;
}

int setup_lagrange(enum krn_curve_id curve, const struct krn_lagrange_terms *terms, void *out, size_t first, size_t n,
                   cudaStream_t stream, char err[KRN_ERR_TEXT])
{
    const struct krn_scalar_field f = krn_scalar_field(curve);
    if (n == 0)
        return 0;
    return curve == KRN_BN254 ? launch_lagrange<bn254_fr>(&f, terms, out, first, n, stream, err)
                              : launch_lagrange<bls381_fr>(&f, terms, out, first, n, stream, err);
}

/* ---- the back end ---- */

enum { CHUNK = 1 << 20 };   /* points at once: fill the device, and take 192 MiB of page-locked memory in G2 */

struct krn_setup {
    struct setup_table table[2];        /* G1, G2 */
    void *scalars, *points, *scratch;   /* on the device */
    void *pinned;                       /* CHUNK points, page-locked */
};

static void close_setup(struct krn_setup *s)
{
    setup_table_close(&s->table[0]);
    setup_table_close(&s->table[1]);
    if (s->scalars)
        cudaMemset(s->scalars, 0, (size_t)CHUNK * KRN_FR_BYTES);    /* the trapdoor was among them */
    cudaFree(s->scalars);
    cudaFree(s->points);
    cudaFree(s->scratch);
    cudaFreeHost(s->pinned);
    delete s;
}

static int make_ready(struct krn_setup *s, enum krn_curve_id curve, size_t n_g1, size_t n_g2, unsigned threads,
                      char err[KRN_ERR_TEXT])
{
    const char *const what = "a setup";
    int status = setup_table_open(&s->table[0], curve, 1, n_g1, threads, err);
    if (status == 0)
        status = setup_table_open(&s->table[1], curve, 2, n_g2, threads, err);
    if (status == 0)
        status = device_alloc(&s->scalars, (size_t)CHUNK * KRN_FR_BYTES, what, err);
    if (status == 0)
        status = device_alloc(&s->points, CHUNK * s->table[1].point_bytes, what, err);
    if (status == 0)
        status = device_alloc(&s->scratch, CHUNK * s->table[1].scratch_bytes, what, err);
    if (status)
        return status;
    DEVICE_TRY(cudaHostAlloc(&s->pinned, CHUNK * s->table[1].point_bytes, cudaHostAllocDefault));
    return 0;
}

static struct krn_setup *open_setup(enum krn_curve_id curve, size_t n_g1, size_t n_g2, unsigned threads,
                                    char err[KRN_ERR_TEXT])
{
    struct krn_setup *s = new (std::nothrow) struct krn_setup();
    if (!s) {
        snprintf(err, KRN_ERR_TEXT, "out of memory");
        return NULL;
    }
    if (make_ready(s, curve, n_g1, n_g2, threads, err) == 0)
        return s;
    close_setup(s);
    return NULL;
}

static int run_chunk(struct krn_setup *s, const struct setup_table *t, const uint8_t *scalars, size_t n,
                     char err[KRN_ERR_TEXT])
{
    DEVICE_TRY(cudaMemcpyAsync(s->scalars, scalars, n * KRN_FR_BYTES, cudaMemcpyHostToDevice, 0));
    const int status = setup_multiples(t, s->points, s->scalars, n, s->scratch, 0, err);
    if (status)
        return status;
    DEVICE_TRY(cudaMemcpyAsync(s->pinned, s->points, n * t->point_bytes, cudaMemcpyDeviceToHost, 0));
    DEVICE_TRY(cudaStreamSynchronize(0));
    return 0;
}

static const uint8_t *multiples(struct krn_setup *s, int group, const uint8_t *scalars, size_t *n,
                                char err[KRN_ERR_TEXT])
{
    if (*n > CHUNK)
        *n = CHUNK;
    return run_chunk(s, &s->table[group - 1], scalars, *n, err) ? NULL : (const uint8_t *)s->pinned;
}

extern "C" const struct krn_setup_backend krn_setup_cuda = {"cuda", device_count, open_setup, close_setup, multiples};
