#include "kernels/lagrange.h"

#include <errno.h>

#include "kernels/parallel.h"

enum { BLOCK = 256 };   /* values that share an inversion */

struct job {
    const struct krn_scalar_field *f;
    struct krn_scalar *out;
    size_t n;
    struct krn_lagrange_terms terms;
};

/* v[i] = factor * points[i] / v[i], by one inversion (Montgomery's trick). */
static void divide(const struct job *job, struct krn_scalar *v, const struct krn_scalar *points, size_t n)
{
    const struct krn_scalar_field *f = job->f;
    struct krn_scalar before[BLOCK], acc = f->one;

    for (size_t i = 0; i < n; i++) {
        before[i] = acc;
        krn_scalar_mul(f, &acc, &acc, &v[i]);
    }
    krn_scalar_inv(f, &acc, &acc);
    krn_scalar_mul(f, &acc, &acc, &job->terms.factor);
    for (size_t i = n; i-- > 0;) {
        struct krn_scalar t;
        krn_scalar_mul(f, &t, &acc, &before[i]);
        krn_scalar_mul(f, &acc, &acc, &v[i]);
        krn_scalar_mul(f, &v[i], &t, &points[i]);
    }
}

static void run(void *arg, unsigned part, unsigned parts)
{
    const struct job *job = arg;
    const struct krn_scalar_field *f = job->f;
    size_t begin = krn_part(job->n, part, parts), end = krn_part(job->n, part + 1, parts);
    struct krn_scalar points[BLOCK], point;

    krn_scalar_pow(f, &point, &job->terms.step, &(struct krn_scalar){{begin}});
    krn_scalar_mul(f, &point, &point, &job->terms.first);
    for (size_t at = begin, n; at < end; at += n) {
        n = end - at < BLOCK ? end - at : BLOCK;
        for (size_t i = 0; i < n; i++) {
            points[i] = point;
            krn_scalar_sub(f, &job->out[at + i], &job->terms.tau, &point);
            krn_scalar_mul(f, &point, &point, &job->terms.step);
        }
        divide(job, job->out + at, points, n);
    }
}

int krn_lagrange_terms(const struct krn_scalar_field *f, enum krn_lagrange_kind kind, uint32_t log,
                       const struct krn_scalar *tau, const struct krn_scalar *scale, struct krn_lagrange_terms *terms)
{
    const uint32_t log_order = kind == KRN_LAGRANGE_ODD ? log + 1 : log;
    const uint64_t order = (uint64_t)1 << log_order;
    struct krn_scalar vanishing, inverse;

    *terms = (struct krn_lagrange_terms){.tau = *tau, .first = f->one};
    krn_scalar_root(f, &terms->step, log_order);
    if (kind == KRN_LAGRANGE_ODD) {
        terms->first = terms->step;
        krn_scalar_mul(f, &terms->step, &terms->step, &terms->step);
    }
    krn_scalar_pow(f, &vanishing, tau, &(struct krn_scalar){{order}});
    if (krn_scalar_eq(&vanishing, &f->one))
        return -EDOM;
    krn_scalar_sub(f, &vanishing, &vanishing, &f->one);
    krn_scalar_set_u64(f, &inverse, order);
    krn_scalar_inv(f, &inverse, &inverse);
    krn_scalar_mul(f, &terms->factor, &vanishing, &inverse);
    krn_scalar_mul(f, &terms->factor, &terms->factor, scale);
    return 0;
}

int krn_lagrange(const struct krn_scalar_field *f, enum krn_lagrange_kind kind, struct krn_scalar *out, uint32_t log,
                 const struct krn_scalar *tau, const struct krn_scalar *scale, unsigned threads)
{
    struct job job = {.f = f, .out = out, .n = (size_t)1 << log};

    if (krn_lagrange_terms(f, kind, log, tau, scale, &job.terms) != 0)
        return -EDOM;
    krn_parallel(threads, run, &job);
    return 0;
}
