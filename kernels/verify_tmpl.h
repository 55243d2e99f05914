/*
 * kernels/verify_tmpl.h: the verifier of one curve, written once. kernels/verify_isa.h includes this file with
 *
 *   VERIFY prefix, e.g. bn254    VERIFY_FR its scalar field
 *
 * No include guard.
 */
#define T(name) KRN_PASTE(VERIFY, name)
#define S VERIFY_FR
#define SN(name) KRN_PASTE(VERIFY_FR, name)

/* The point with these plain coordinates; `trusted`: they are known to be good. 0 where there is none in the
 * subgroup. */
static int T(read_g1)(T(g1_affine) *r, const uint8_t *bytes, int trusted)
{
    memcpy(r, bytes, sizeof *r);
    if (!trusted && !T(g1_affine_is_reduced)(r))
        return 0;
    T(g1_affine_to_mont)(r, r);
    return trusted || (T(g1_affine_on_curve)(r) && T(g1_in_subgroup)(r));
}

static int T(read_g2)(T(g2_affine) *r, const uint8_t *bytes, int trusted)
{
    memcpy(r, bytes, sizeof *r);
    if (!trusted && !T(g2_affine_is_reduced)(r))
        return 0;
    T(g2_affine_to_mont)(r, r);
    return trusted || (T(g2_affine_on_curve)(r) && T(g2_in_subgroup)(r));
}

/* sum += x_0 P_0 + ... + x_(n-1) P_(n-1), the doublings shared: 256 of them and 128 n additions. */
static void T(add_few)(T(g1_xyzz) *sum, const T(g1_affine) *points, const S *x, size_t n)
{
    T(g1_xyzz) acc;
    T(g1_set_inf)(&acc);
    for (int bit = 8 * KRN_FR_BYTES - 1; bit >= 0; bit--) {
        T(g1_dbl)(&acc, &acc);
        for (size_t i = 0; i < n; i++)
            if (x[i].l[bit / 64] >> (bit % 64) & 1)
                T(g1_madd)(&acc, &acc, &points[i]);
    }
    T(g1_add)(sum, sum, &acc);
}

/* acc += sum of b bucket[b]: 510 additions. */
static void T(add_buckets)(T(g1_xyzz) *acc, const T(g1_xyzz) bucket[256])
{
    T(g1_xyzz) above;
    T(g1_set_inf)(&above);
    for (int b = 255; b > 0; b--) {
        T(g1_add)(&above, &above, &bucket[b]);
        T(g1_add)(acc, acc, &above);
    }
}

/* The same sum, byte by byte with a bucket for each value (Pippenger 1976): 32 n + 16,320 additions. */
static void T(add_many)(T(g1_xyzz) *sum, const T(g1_affine) *points, const S *x, size_t n)
{
    T(g1_xyzz) acc, bucket[256];
    T(g1_set_inf)(&acc);
    for (int byte = KRN_FR_BYTES - 1; byte >= 0; byte--) {
        for (int bit = 0; bit < 8; bit++)
            T(g1_dbl)(&acc, &acc);
        for (int b = 1; b < 256; b++)
            T(g1_set_inf)(&bucket[b]);
        for (size_t i = 0; i < n; i++) {
            unsigned b = (unsigned)(x[i].l[byte / 8] >> (8 * (byte % 8))) & 255;
            if (b)
                T(g1_madd)(&bucket[b], &bucket[b], &points[i]);
        }
        T(add_buckets)(&acc, bucket);
    }
    T(g1_add)(sum, sum, &acc);
}

/* r = IC_0 + x_1 IC_1 + ... + x_n IC_n, each input checked. */
static enum krn_result T(sum_publics)(T(g1_affine) *r, const uint8_t *ic, int trusted, const uint8_t *publics, size_t n)
{
    T(g1_affine) points[PUBLICS_AT_ONCE];
    T(g1_xyzz) sum;
    S x[PUBLICS_AT_ONCE];

    if (!T(read_g1)(&points[0], ic, trusted))
        return KRN_BAD_POINT;
    T(g1_from_affine)(&sum, &points[0]);
    for (size_t done = 0, some; done < n; done += some) {
        some = n - done < PUBLICS_AT_ONCE ? n - done : PUBLICS_AT_ONCE;
        for (size_t i = 0; i < some; i++) {
            SN(load)(&x[i], publics + (done + i) * KRN_FR_BYTES);
            if (!SN(is_reduced)(&x[i]))
                return KRN_BAD_SCALAR;
            if (!T(read_g1)(&points[i], ic + (1 + done + i) * sizeof points[0], trusted))
                return KRN_BAD_POINT;
        }
        if (some <= PUBLICS_FEW)
            T(add_few)(&sum, points, x, some);
        else
            T(add_many)(&sum, points, x, some);
    }
    T(g1_to_affine)(r, &sum);
    return KRN_OK;
}

/* The points of a key but for IC. */
static int T(read_vk)(const struct krn_vk *vk, T(g1_affine) *alpha, T(g2_affine) *beta, T(g2_affine) *gamma,
                      T(g2_affine) *delta)
{
    return T(read_g1)(alpha, vk->alpha1, vk->checked) && T(read_g2)(beta, vk->beta2, vk->checked) &&
           T(read_g2)(gamma, vk->gamma2, vk->checked) && T(read_g2)(delta, vk->delta2, vk->checked);
}

static enum krn_result T(vk_check)(const struct krn_vk *vk)
{
    struct krn_vk unchecked = *vk;
    T(g1_affine) p;
    T(g2_affine) q[3];

    unchecked.checked = 0;
    if (!T(read_vk)(&unchecked, &p, &q[0], &q[1], &q[2]))
        return KRN_BAD_POINT;
    for (size_t i = 0; i <= vk->n_public; i++)
        if (!T(read_g1)(&p, vk->ic + i * sizeof p, 0))
            return KRN_BAD_POINT;
    return KRN_OK;
}

/* e(-A, B) e(alpha, beta) e(IC, gamma) e(C, delta) = 1 */
static enum krn_result T(verify)(const struct krn_vk *vk, const uint8_t *publics, const struct krn_proof *proof)
{
    T(g1_affine) p[4];
    T(g2_affine) q[4];
    T(fq12) value;
    const T(fq12) one = T(fq12_one)();

    if (!T(read_g1)(&p[0], proof->a, 0) || !T(read_g2)(&q[0], proof->b, 0) || !T(read_g1)(&p[3], proof->c, 0))
        return KRN_BAD_POINT;
    if (!T(read_vk)(vk, &p[1], &q[1], &q[2], &q[3]))
        return KRN_BAD_POINT;
    enum krn_result rc = T(sum_publics)(&p[2], vk->ic, vk->checked, publics, vk->n_public);
    if (rc != KRN_OK)
        return rc;
    T(g1_affine_neg)(&p[0], &p[0]);
    T(pairing)(&value, p, q, 4);
    return T(fq12_eq)(&value, &one) ? KRN_OK : KRN_INVALID;
}

#undef T
#undef S
#undef SN
#undef VERIFY
#undef VERIFY_FR
