/*
 * tests/field_test_tmpl.h: the checks of one field, FIELD, included by tests/field_test.c for each.
 */
#define F FIELD
#define FN(name) KRN_PASTE(FIELD, name)
#define NAME VECTORS_NAME(FIELD)

static F FN(read)(struct vectors *v)
{
    uint8_t bytes[FN(bytes) + 1];
    F x;
    vectors_number(v, bytes + 1, FN(bytes));
    FN(load)(&x, bytes + 1);
    return x;
}

static void FN(expect)(struct vectors *v, const F *got, const char *what)
{
    F want = FN(read)(v);
    vectors_check(v, memcmp(got, &want, sizeof want) == 0, NAME, what);
}

/* Inverting powers of x, with zeros at both ends and between, at once and one by one. */
static void FN(check_batch_inv)(struct vectors *v, const F *x)
{
    F a[9], one_by_one[9], scratch[9];
    for (int i = 0; i < 9; i++) {
        if (i % 4 == 0)
            a[i] = FN(zero)();
        else
            FN(mul)(&a[i], x, i % 4 == 1 ? x : &a[i - 1]);
        FN(inv)(&one_by_one[i], &a[i]);
    }
    FN(batch_inv)(a, scratch, 9);
    FN(batch_inv)(a, scratch, 0);
    vectors_check(v, memcmp(a, one_by_one, sizeof a) == 0, NAME, "batch_inv");
}

static void FN(check_unary)(struct vectors *v)
{
    const F a = FN(read)(v), zero = FN(zero)();
    uint8_t bytes[FN(bytes) + 1];
    F r = a, small = FN(zero)();

    FN(neg)(&r, &r);
    FN(expect)(v, &r, "neg");
    FN(add)(&r, &r, &a);
    vectors_check(v, FN(is_zero)(&r), NAME, "a + -a");
    FN(sqr)(&r, &a);
    FN(expect)(v, &r, "sqr");
    FN(to_mont)(&r, &a);
    FN(expect)(v, &r, "to_mont");
    FN(from_mont)(&r, &a);
    FN(expect)(v, &r, "from_mont");
    FN(inv)(&r, &a);
    FN(expect)(v, &r, "inv");
    FN(check_batch_inv)(v, &a);

    vectors_check(v, FN(is_zero)(&a) == FN(eq)(&a, &zero), NAME, "is_zero");
    vectors_check(v, FN(is_reduced)(&a), NAME, "is_reduced");
    small.l[0] = a.l[0];
    FN(to_mont)(&small, &small);
    FN(set_u64)(&r, a.l[0]);
    vectors_check(v, FN(eq)(&r, &small), NAME, "set_u64");
    FN(store)(bytes + 1, &a);
    FN(load)(&r, bytes + 1);
    vectors_check(v, FN(eq)(&r, &a), NAME, "load of store");
}

typedef void FN(binary)(F *r, const F *a, const F *b);

static void FN(add_called)(F *r, const F *a, const F *b)
{
    FN(add)(r, a, b);
}

static void FN(sub_called)(F *r, const F *a, const F *b)
{
    FN(sub)(r, a, b);
}

static void FN(mul_called)(F *r, const F *a, const F *b)
{
    FN(mul)(r, a, b);
}

/* The result in a place of its own, over the first and over the second operand. */
static void FN(check_binary_op)(struct vectors *v, FN(binary) *op, const F *a, const F *b, const char *what)
{
    F r, over_a = *a, over_b = *b;
    op(&r, a, b);
    op(&over_a, &over_a, b);
    op(&over_b, a, &over_b);
    FN(expect)(v, &r, what);
    vectors_check(v, FN(eq)(&over_a, &r) && FN(eq)(&over_b, &r), NAME, what);
}

static void FN(check_binary)(struct vectors *v)
{
    F a = FN(read)(v), b = FN(read)(v), sum, twice;
    FN(check_binary_op)(v, FN(add_called), &a, &b, "add");
    FN(check_binary_op)(v, FN(sub_called), &a, &b, "sub");
    FN(check_binary_op)(v, FN(mul_called), &a, &b, "mul");
    vectors_check(v, FN(eq)(&a, &b) == (memcmp(&a, &b, sizeof a) == 0), NAME, "eq");
    FN(add)(&sum, &a, &a);
    FN(dbl)(&twice, &a);
    vectors_check(v, FN(eq)(&sum, &twice), NAME, "dbl");

    /* Halved k times and doubled k times. */
    for (int k = 0; k <= 32; k += 8) {
        FN(div_pow2)(&sum, &a, k);
        vectors_check(v, FN(is_reduced)(&sum), NAME, "div_pow2 is reduced");
        for (int i = 0; i < k; i++)
            FN(dbl)(&sum, &sum);
        vectors_check(v, FN(eq)(&sum, &a), NAME, "div_pow2");
    }
    if (FN(modulus)().l[FN(limbs) - 1] >> 62)
        return;                         /* one spare bit */
    FN(mul)(&twice, &b, &b);
    FN(mul)(&sum, &a, &b);
    FN(sub)(&sum, &sum, &twice);
    FN(mul_sub)(&a, &a, &b, &b, &b);    /* over an operand */
    vectors_check(v, FN(eq)(&a, &sum), NAME, "mul_sub");
}

static void FN(check_pow)(struct vectors *v)
{
    F a = FN(read)(v), e = FN(read)(v);
    FN(pow)(&a, &a, e.l, FN(limbs));
    FN(expect)(v, &a, "pow");
}

static void FN(check_reduced)(struct vectors *v)
{
    F a = FN(read)(v), expected = FN(read)(v);
    vectors_check(v, FN(is_reduced)(&a) == (int)expected.l[0], NAME, "is_reduced");
}

static const struct checks FN(checks) = {
    NAME, {FN(check_unary), FN(check_binary), FN(check_pow), FN(check_reduced)}
};

#undef F
#undef FN
#undef NAME
#undef FIELD
