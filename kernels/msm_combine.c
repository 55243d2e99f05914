#include "kernels/msm_combine.h"

#include <string.h>

#include "kernels/group.h"

static void add_row(const struct group_ops *group, union krn_sum *acc, const uint8_t *rows, size_t point_bytes, int i)
{
    union krn_sum x;
    memcpy(&x, rows + point_bytes * (size_t)i, point_bytes);
    group->add(acc, &x);
}

/* From the top bit of the last set down: double, and add what carries this bit. */
void msm_combine(enum krn_curve_id curve, int g2, int bits, int sets, int run, int levels, const void *rows, void *out)
{
    const struct group_ops *group = group_ops(curve, g2 ? 2 : 1);
    const size_t point_bytes = 2 * group->point_bytes;  /* XYZZ: four coordinates */
    union krn_sum acc;
    group->set_inf(&acc);
    for (int set = sets - 1; set >= 0; set--) {
        for (int bit = bits - 1; bit >= 0; bit--) {
            group->dbl(&acc);
            if (bit >= run && bit < run + levels)
                add_row(group, &acc, rows, point_bytes, (2 + bit - run) * sets + set);
        }
        add_row(group, &acc, rows, point_bytes, sets + set);
    }
    group->to_affine(out, &acc);
}
