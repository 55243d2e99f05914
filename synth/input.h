/*
 * synth/input.h: an input.json as circom's programs take it: named signals with flat lists of field elements.
 *
 *   {"a": 3, "b": ["0x1f", "-1"], "m": [[1, 2], [3, 4]], "point": {"x": 1, "y": 2}, "list": [{"x": 1}, {"x": 2}]}
 *
 * gives a (1 value), b (2), m (4, row by row), point.x, point.y, list[0].x, list[1].x. Values are JSON numbers or
 * strings as synth/number.h reads them; a number keeps every digit, whatever its size. Refused, with signal and index
 * named: what is no integer, what is at or above the prime (unless SYNTH_INPUT_REDUCE), arrays that are not rectangular
 * or mix values with arrays or objects, a name given twice. Messages never contain a value: inputs are secrets.
 */
#ifndef SYNTH_INPUT_H
#define SYNTH_INPUT_H

#include "formats/error.h"
#include "kernels/krn.h"

enum {
    SYNTH_INPUT_MAX_FILE = 64 << 20,
    SYNTH_INPUT_MAX_VALUES = 1 << 23,
    SYNTH_INPUT_MAX_NAME = 512,         /* bytes of a qualified name */
};

enum synth_input_flag { SYNTH_INPUT_REDUCE = 1 };

struct synth_input_signal {
    uint64_t hash;          /* synth_input_hash of the name */
    uint32_t name;          /* offset in names */
    uint32_t first, n;      /* its values */
};

struct synth_input {
    struct synth_input_signal *signals;     /* in the order of the file */
    uint32_t n_signals;
    uint8_t *values;        /* n_values plain values below r, KRN_FR_BYTES each */
    uint32_t n_values;
    char *names;            /* NUL-terminated, one after the other */
    uint32_t names_bytes;
    uint32_t room_signals, room_values, room_names;     /* private */
};

/* Reads text of len bytes (name: for messages) for a circuit over curve. in is filled, or is empty on failure. */
int synth_input_parse(struct synth_input *in, const char *name, const char *text, size_t len,
                      const struct krn_curve *curve, unsigned flags, struct fmt_error *err);
/* The same from a file. */
int synth_input_read(struct synth_input *in, const char *path, const struct krn_curve *curve, unsigned flags,
                     struct fmt_error *err);

static inline const char *synth_input_name(const struct synth_input *in, uint32_t signal) {
    return in->names + in->signals[signal].name;
}

/* Wipes the values and frees; all zero bytes are harmless. */
void synth_input_free(struct synth_input *in);

/* FNV-1a, 64 bits (Fowler, Noll, Vo): the key under which circom's programs know a signal. */
uint64_t synth_input_hash(const char *name, size_t len);

#endif
