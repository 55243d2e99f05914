#include <stdio.h>
#include <stdlib.h>

#include "formats/snarkjs.h"
#include "launcher/commands.h"

static enum launcher_exit say(enum krn_result verdict, const struct launcher_options *o, uint32_t wanted, size_t n,
                              struct gpud_error *err) {
    switch (verdict) {
    case KRN_OK: puts("valid"); return LAUNCHER_OK;
    case KRN_BAD_COUNT:
        gpud_fail(err, "%s has %zu public signals and %s wants %u", o->args[1], n, o->args[0], wanted);
        break;
    case KRN_BAD_POINT:
        gpud_fail(err, "a point of %s or %s is not on its curve, or outside the subgroup", o->args[2], o->args[0]);
        break;
    case KRN_BAD_SCALAR: gpud_fail(err, "%s: a signal is not below the group order", o->args[1]); break;
    default: gpud_fail(err, "invalid: %s does not prove %s for %s", o->args[2], o->args[1], o->args[0]);
    }
    return LAUNCHER_FAILED;
}

enum launcher_exit launcher_verify(const struct launcher_options *o, struct gpud_error *err) {
    struct fmt_error why;
    struct fmt_vk vk;
    struct krn_proof proof;
    uint8_t *publics;
    size_t n;
    enum launcher_exit rc = LAUNCHER_FAILED;
    if (fmt_vk_read(o->args[0], &vk, &why)) {
        gpud_fail(err, "%s", why.text);
        return rc;
    }
    const struct krn_curve *curve = krn_curve(vk.vk.curve);
    if (fmt_public_read(o->args[1], curve, &publics, &n, &why)) {
        gpud_fail(err, "%s", why.text);
    } else {
        if (fmt_proof_read(o->args[2], curve, &proof, &why))
            gpud_fail(err, "%s", why.text);
        else
            rc = say(krn_verify(&vk.vk, publics, n, &proof), o, vk.vk.n_public, n, err);
        free(publics);
    }
    fmt_vk_free(&vk);
    return rc;
}
