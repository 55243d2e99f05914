/*
 * tests/pairing_test_tmpl.h: the checks of one curve's pairing, CURVE, included by tests/pairing_test.c for each.
 */
#define T(name) KRN_PASTE(CURVE, name)
#define NAME VECTORS_NAME(CURVE)

/* Plain numbers, one base-field element after another, into a struct that is a row of such elements. */
static void T(read)(struct vectors *v, void *out, size_t bytes)
{
    T(fq) x;
    for (size_t i = 0; i < bytes / sizeof x; i++) {
        uint8_t number[sizeof x];
        vectors_number(v, number, sizeof number);
        memcpy(&x, number, sizeof x);
        T(fq_to_mont)(&x, &x);
        memcpy((uint8_t *)out + i * sizeof x, &x, sizeof x);
    }
}

static int T(is_one)(const T(fq12) *a)
{
    const T(fq12) one = T(fq12_one)();
    return T(fq12_eq)(a, &one);
}

/* p q e: e(p, q) = e. */
static void T(check_value)(struct vectors *v)
{
    T(g1_affine) p;
    T(g2_affine) q;
    T(fq12) want, got;
    T(read)(v, &p, sizeof p);
    T(read)(v, &q, sizeof q);
    T(read)(v, &want, sizeof want);
    T(pairing)(&got, &p, &q, 1);
    vectors_check(v, T(fq12_eq)(&got, &want), NAME, "pairing");
    T(fq12_inv)(&got, &got);
    T(fq12_conj)(&want, &want);
    vectors_check(v, T(fq12_eq)(&got, &want), NAME, "the inverse of a pairing");
    T(fq12_frobenius)(&got, &want);
    for (int i = 1; i < 12; i++)
        T(fq12_frobenius)(&got, &got);
    vectors_check(v, T(fq12_eq)(&got, &want), NAME, "a^(q^12)");
}

/* Where a point lies in G1 and in G2. */
static void T(check_g1)(struct vectors *v)
{
    int inside = strcmp(vectors_word(v), "in") == 0;
    T(g1_affine) p;
    T(read)(v, &p, sizeof p);
    vectors_check(v, T(g1_affine_on_curve)(&p), NAME, "G1: on the curve");
    vectors_check(v, T(g1_in_subgroup)(&p) == inside, NAME, "G1: in the subgroup");
}

static void T(check_g2)(struct vectors *v)
{
    int inside = strcmp(vectors_word(v), "in") == 0;
    T(g2_affine) q;
    T(read)(v, &q, sizeof q);
    vectors_check(v, T(g2_affine_on_curve)(&q), NAME, "G2: on the curve");
    vectors_check(v, T(g2_in_subgroup)(&q) == inside, NAME, "G2: in the subgroup");
}

/* Products: of none, with infinities, of opposites, and of as many as fit. */
static void T(check_products)(struct vectors *v)
{
    const T(g1_affine) g1 = T(g1_generator)(), inf1 = {.x = T(fq_zero)(), .y = T(fq_zero)()};
    const T(g2_affine) g2 = T(g2_generator)(), inf2 = {.x = T(fq2_zero)(), .y = T(fq2_zero)()};
    const T(g1_affine) with_inf1[] = {inf1, g1, inf1};
    const T(g2_affine) with_inf2[] = {g2, inf2, inf2};
    T(g1_affine) p[PAIRING_MAX], minus_g1;
    T(g2_affine) q[PAIRING_MAX];
    T(fq12) value, power;

    T(pairing)(&value, &g1, &g2, 0);
    vectors_check(v, T(is_one)(&value), NAME, "the product of no pairs");
    T(pairing)(&value, with_inf1, with_inf2, 3);
    vectors_check(v, T(is_one)(&value), NAME, "pairs with infinity");
    vectors_check(v, T(g1_in_subgroup)(&inf1) && T(g2_in_subgroup)(&inf2), NAME, "infinity in the subgroup");

    T(g1_affine_neg)(&minus_g1, &g1);
    for (int i = 0; i < PAIRING_MAX; i++) {
        p[i] = i % 2 ? minus_g1 : g1;
        q[i] = g2;
    }
    T(pairing)(&value, p, q, PAIRING_MAX);
    vectors_check(v, T(is_one)(&value), NAME, "the product of opposites");

    /* e(G1, G2)^PAIRING_MAX, one factor by one */
    T(pairing)(&value, &g1, &g2, 1);
    vectors_check(v, !T(is_one)(&value), NAME, "the pairing of the generators");
    power = T(fq12_one)();
    for (int i = 0; i < PAIRING_MAX; i++) {
        p[i] = g1;
        T(fq12_mul)(&power, &power, &value);
    }
    T(pairing)(&value, p, q, PAIRING_MAX);
    vectors_check(v, T(fq12_eq)(&value, &power), NAME, "the product of equals");
}

/* snarkjs's e(alpha, beta), whose 12 decimal strings nest 2 x 3 x 2. */
static void T(check_alphabeta)(struct vectors *v, const struct krn_vk *vk, const struct fmt_json *alphabeta)
{
    T(g1_affine) alpha;
    T(g2_affine) beta;
    T(fq12) got;
    T(fq) want[12];

    memcpy(&alpha, vk->alpha1, sizeof alpha);
    memcpy(&beta, vk->beta2, sizeof beta);
    T(g1_affine_to_mont)(&alpha, &alpha);
    T(g2_affine_to_mont)(&beta, &beta);
    T(pairing)(&got, &alpha, &beta, 1);
    for (size_t i = 0; i < 12; i++) {
        const struct fmt_json *row = fmt_json_at(fmt_json_at(alphabeta, i / 6), i / 2 % 3);
        const char *text = fmt_json_as_string(fmt_json_at(row, i % 2));
        uint8_t number[sizeof want[0]];
        if (text == NULL || fmt_decimal_read(number, sizeof number, text, strlen(text)) != 0) {
            vectors_check(v, 0, NAME, "the text of vk_alphabeta_12");
            return;
        }
        memcpy(&want[i], number, sizeof number);
        T(fq_to_mont)(&want[i], &want[i]);
    }
    vectors_check(v, memcmp(&got, want, sizeof got) == 0, NAME, "vk_alphabeta_12");
}

#undef T
#undef NAME
#undef CURVE
