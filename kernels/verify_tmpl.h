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

/* The point with these plain coordinates; 0 where there is none in the subgroup. */
static int T(read_g1)(T(g1_affine) *r, const uint8_t *bytes)
{
    memcpy(r, bytes, sizeof *r);
    if (!T(g1_affine_is_reduced)(r))
        return 0;
    T(g1_affine_to_mont)(r, r);
    return T(g1_affine_on_curve)(r) && T(g1_in_subgroup)(r);
}

static int T(read_g2)(T(g2_affine) *r, const uint8_t *bytes)
{
    memcpy(r, bytes, sizeof *r);
    if (!T(g2_affine_is_reduced)(r))
        return 0;
    T(g2_affine_to_mont)(r, r);
    return T(g2_affine_on_curve)(r) && T(g2_in_subgroup)(r);
}

/* sum += x_0 P_0 + ... + x_(n-1) P_(n-1), the doublings shared. */
static void T(add_multiples)(T(g1_xyzz) *sum, const T(g1_affine) *points, const S *x, size_t n)
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

/* r = IC_0 + x_1 IC_1 + ... + x_n IC_n, each input checked. */
static enum krn_result T(sum_publics)(T(g1_affine) *r, const uint8_t *ic, const uint8_t *publics, size_t n)
{
    T(g1_affine) points[PUBLICS_AT_ONCE];
    T(g1_xyzz) sum;
    S x[PUBLICS_AT_ONCE];

    if (!T(read_g1)(&points[0], ic))
        return KRN_BAD_POINT;
    T(g1_from_affine)(&sum, &points[0]);
    for (size_t done = 0, some; done < n; done += some) {
        some = n - done < PUBLICS_AT_ONCE ? n - done : PUBLICS_AT_ONCE;
        for (size_t i = 0; i < some; i++) {
            SN(load)(&x[i], publics + (done + i) * KRN_FR_BYTES);
            if (!SN(is_reduced)(&x[i]))
                return KRN_BAD_SCALAR;
            if (!T(read_g1)(&points[i], ic + (1 + done + i) * sizeof points[0]))
                return KRN_BAD_POINT;
        }
        T(add_multiples)(&sum, points, x, some);
    }
    T(g1_to_affine)(r, &sum);
    return KRN_OK;
}

/* e(-A, B) e(alpha, beta) e(IC, gamma) e(C, delta) = 1 */
static enum krn_result T(verify)(const struct krn_vk *vk, const uint8_t *publics, const struct krn_proof *proof)
{
    T(g1_affine) p[4];
    T(g2_affine) q[4];
    T(fq12) value;
    const T(fq12) one = T(fq12_one)();

    if (!T(read_g1)(&p[0], proof->a) || !T(read_g2)(&q[0], proof->b) || !T(read_g1)(&p[3], proof->c))
        return KRN_BAD_POINT;
    if (!T(read_g1)(&p[1], vk->alpha1) || !T(read_g2)(&q[1], vk->beta2) || !T(read_g2)(&q[2], vk->gamma2) ||
        !T(read_g2)(&q[3], vk->delta2))
        return KRN_BAD_POINT;
    enum krn_result rc = T(sum_publics)(&p[2], vk->ic, publics, vk->n_public);
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
