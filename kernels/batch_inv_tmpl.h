/*
 * kernels/batch_inv_tmpl.h: the part of field_tmpl.h and fq2_tmpl.h that is the same text in both. No include guard.
 */
/* Montgomery's trick: the product of all is inverted, then taken apart from the end. */
KRN_FN_CALL void FN(batch_inv)(F *v, F *scratch, size_t n)
{
    F acc = FN(one)();
    for (size_t i = 0; i < n; i++) {
        scratch[i] = acc;
        if (!FN(is_zero)(&v[i]))
            FN(mul)(&acc, &acc, &v[i]);
    }
    FN(inv)(&acc, &acc);
    for (size_t i = n; i-- > 0;) {
        if (FN(is_zero)(&v[i]))
            continue;
        F inverse;
        FN(mul)(&inverse, &acc, &scratch[i]);
        FN(mul)(&acc, &acc, &v[i]);
        v[i] = inverse;
    }
}
