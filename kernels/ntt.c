#include "kernels/ntt.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/memory.h"

#define NTT_TWIN ntt_twin_portable
#include "kernels/ntt_words.h"

/* The odd coset's shift: a root of order 2n, or 25 where the field has none (iden3's tools). */
static void coset_shift(const struct krn_scalar_field *f, struct krn_scalar *shift, unsigned log_n)
{
    if (log_n < f->two_adicity)
        krn_scalar_root(f, shift, log_n + 1);
    else
        krn_scalar_set_u64(f, shift, 25);
}

static const struct ntt_twin *choose_twin(unsigned log_n)
{
#ifdef __x86_64__
    const enum krn_isa isa = krn_cpu_isa();
    if (isa == KRN_ISA_IFMA && log_n >= NTT_IFMA_MIN_LOG)
        return &ntt_twin_ifma;
    if (isa != KRN_ISA_PORTABLE)
        return &ntt_twin_adx;
#endif
    return &ntt_twin_portable;
}

struct krn_ntt *krn_ntt_new(enum krn_curve_id curve, unsigned log_n, struct krn_pool *pool)
{
    if (log_n > KRN_MAX_LOG_DOMAIN || log_n > krn_curve(curve)->two_adicity) {
        errno = EINVAL;
        return NULL;
    }
    struct krn_ntt *t = calloc(1, sizeof *t);
    if (t == NULL)
        return NULL;
    t->curve = curve;
    t->log_n = log_n;
    t->n = (size_t)1 << log_n;
    t->field = krn_scalar_field(curve);
    t->pool = pool;
    t->twin = choose_twin(log_n);
    krn_scalar_root(&t->field, &t->root, log_n);
    coset_shift(&t->field, &t->shift, log_n);
    krn_scalar_set_u64(&t->field, &t->n_inverse, t->n);
    krn_scalar_inv(&t->field, &t->n_inverse, &t->n_inverse);
    t->table_bytes = t->twin->table_bytes(log_n);
    t->tables = krn_memory_map(t->table_bytes);
    if (t->tables == NULL) {
        free(t);
        errno = ENOMEM;
        return NULL;
    }
    t->twin->init(t);
    return t;
}

void krn_ntt_free(struct krn_ntt *t)
{
    if (t == NULL)
        return;
    krn_memory_unmap(t->tables, t->table_bytes);
    free(t);
}

size_t krn_ntt_work_bytes(const struct krn_ntt *t)
{
    return t->twin->work_bytes(t->log_n, krn_pool_threads(t->pool));
}

void krn_ntt_use(struct krn_ntt *t, void *memory)
{
    t->twin->use(t, memory);
}

size_t krn_ntt_quotient(struct krn_ntt *t, const uint8_t *a, const uint8_t *b, const uint8_t *c, uint8_t *h)
{
    return t->twin->quotient(t, a, b, c, h);
}

int krn_ntt_transform(enum krn_curve_id curve, enum krn_ntt_direction direction, uint8_t *v, size_t n,
                      unsigned threads)
{
    if (n == 0 || (n & (n - 1)) != 0)
        return -EINVAL;
    struct krn_pool *pool = krn_pool_new(threads);
    if (pool == NULL)
        return -errno;
    struct krn_ntt *t = krn_ntt_new(curve, (unsigned)__builtin_ctzll(n), pool);
    int err = t == NULL ? -errno : 0;
    if (t != NULL) {
        void *work = krn_memory_map(krn_ntt_work_bytes(t));
        if (work == NULL) {
            err = -ENOMEM;
        } else {
            krn_ntt_use(t, work);
            t->twin->transform(t, direction, v);
            krn_memory_unmap(work, krn_ntt_work_bytes(t));
        }
    }
    krn_ntt_free(t);
    krn_pool_free(pool);
    return err;
}
