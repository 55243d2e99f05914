#include "setup/trapdoor.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "formats/decimal.h"

enum { SECRETS = sizeof(struct setup_trapdoor) / sizeof(struct krn_scalar) };

static const struct krn_scalar zero;

/* Uniform among 1 .. p-1: as many bits as p has, drawn again where that is not below p, or zero. */
static int draw(const struct krn_scalar_field *f, struct krn_scalar *v, struct fmt_error *err)
{
    do {
        ssize_t n = getrandom(v, sizeof *v, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n != (ssize_t)sizeof *v)
            return fmt_fail(err, "getrandom: %s", n < 0 ? strerror(errno) : "too few bytes");
        v->l[KRN_SCALAR_LIMBS - 1] &= UINT64_MAX >> __builtin_clzll(f->p.l[KRN_SCALAR_LIMBS - 1]);
    } while (!krn_scalar_is_reduced(f, v) || krn_scalar_eq(v, &zero));
    return 0;
}

int setup_trapdoor_draw(const struct krn_scalar_field *f, struct setup_trapdoor *t, struct fmt_error *err)
{
    struct krn_scalar *secrets = &t->tau;

    for (int i = 0; i < SECRETS; i++) {
        if (draw(f, &secrets[i], err) != 0)
            return -1;
    }
    return 0;
}

/* One number up to a comma or the end; returns what follows, NULL where it is none. */
static const char *read_secret(const struct krn_scalar_field *f, struct krn_scalar *v, const char *text)
{
    size_t len = strcspn(text, ",");

    if (fmt_decimal_read((uint8_t *)v, sizeof *v, text, len) != 0 || !krn_scalar_is_reduced(f, v) ||
        krn_scalar_eq(v, &zero))
        return NULL;
    krn_scalar_to_mont(f, v, v);
    return text + len;
}

int setup_trapdoor_read(const struct krn_scalar_field *f, struct setup_trapdoor *t, const char *text,
                        struct fmt_error *err)
{
    struct krn_scalar *secrets = &t->tau;

    for (int i = 0; text && i < SECRETS; i++) {
        text = read_secret(f, &secrets[i], text);
        if (text && *text == ',' && i + 1 < SECRETS)
            text++;
    }
    if (text && *text == '\0')
        return 0;
    return fmt_fail(err, "a trapdoor is five decimal numbers from 1 to the group order, with commas between");
}
