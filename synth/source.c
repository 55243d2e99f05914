#include "synth/source.h"

#include <string.h>
#include <unistd.h>

#include "synth/external.h"

/* A program and a key of one circuit agree in these; another optimisation level of the same source is another
 * circuit. */
static int check_program(const struct synth_source *s, const struct fmt_zkey *z, struct fmt_error *err)
{
    const struct synth_program_info *info = synth_program_info(s->program);
    if (info->curve != z->curve)
        return fmt_fail(err, "%.200s: computes over %s and the key %.200s is over %s", s->recipe.wasm,
                        info->curve->name, z->file.name, z->curve->name);
    if (info->n_witness != z->n_vars)
        return fmt_fail(err, "%.200s: its witness has %u values and the key %.200s wants %u: they are of different "
                             "circuits, or of one at different optimisation levels", s->recipe.wasm, info->n_witness,
                        z->file.name, z->n_vars);
    return 0;
}

static int open_program(struct synth_source *s, const struct fmt_zkey *z, struct fmt_error *err)
{
    struct synth_program_limits limits = {
        .cpu_seconds = (double)s->recipe.seconds, .memory_bytes = (uint64_t)s->recipe.memory_mib << 20,
    };
    if (access(s->recipe.program, F_OK) != 0)
        return fmt_fail(err, "circuit %s: its translated witness program is no longer in the cache; `pinwheel add` it "
                             "again", s->recipe.name);
    s->program = synth_program_open(s->recipe.program, &limits, err);
    return s->program ? check_program(s, z, err) : -1;
}

int synth_source_open(struct synth_source *s, const struct synth_recipe *r, const struct fmt_zkey *z,
                      struct fmt_error *err)
{
    *s = (struct synth_source){.recipe = *r};
    if ((r->program[0] && open_program(s, z, err) != 0) ||
        (r->sym[0] && fmt_sym_open(&s->sym, r->sym, z->n_vars, err) != 0)) {
        synth_source_close(s);
        return -1;
    }
    s->has_sym = r->sym[0] != '\0';
    return 0;
}

void synth_source_close(struct synth_source *s)
{
    synth_program_close(s->program);
    if (s->has_sym)
        fmt_sym_close(&s->sym);
    memset(s, 0, sizeof *s);
}

bool synth_source_computes(const struct synth_source *s)
{
    return s->program || s->recipe.command[0];
}

static int by_program(struct synth_source *s, const char *input, uint8_t *w, struct fmt_error *err)
{
    struct synth_input in;
    unsigned flags = s->recipe.reduce ? SYNTH_INPUT_REDUCE : 0;
    if (synth_input_read(&in, input, synth_program_info(s->program)->curve, flags, err) != 0)
        return -1;
    int rc = synth_program_run(s->program, &in, s->has_sym ? &s->sym : NULL, w, err);
    synth_input_free(&in);
    return rc;
}

int synth_source_witness(struct synth_source *s, const char *input, const struct fmt_zkey *z, uint8_t *w,
                         struct fmt_error *err)
{
    struct synth_external x = {
        .command = s->recipe.command, .folder = s->recipe.folder, .seconds = (double)s->recipe.seconds,
        .memory = (uint64_t)s->recipe.memory_mib << 20,
    };
    return s->program ? by_program(s, input, w, err) : synth_external_run(&x, input, z->curve, z->n_vars, w, err);
}
