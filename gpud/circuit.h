/*
 * gpud/circuit.h: a circuit as the daemon knows it: its key, checked whole, and what follows from the key alone. What a
 * worker says of a circuit is compared with this, never believed.
 */
#ifndef GPUD_CIRCUIT_H
#define GPUD_CIRCUIT_H

#include <stdbool.h>

#include "formats/payload.h"
#include "formats/zkey.h"
#include "gpud/error.h"
#include "shm/layout.h"

/* NAME=circuit.zkey[,circuit.r1cs] as given by a person or by the catalogue. */
struct gpud_circuit_spec {
    char name[SHM_NAME_MAX];
    char zkey[SHM_PATH_MAX];
    char r1cs[SHM_PATH_MAX];    /* empty: none */
};

struct gpud_circuit {
    bool open;
    struct gpud_circuit_spec spec;      /* absolute paths */
    struct fmt_zkey zkey;               /* mapped until gpud_circuit_close; but its single points lie in `points` */
    uint8_t points[3 * KRN_G1_MAX + 2 * KRN_G2_MAX];
    struct krn_vk vk;
    uint8_t *ic;                        /* owned; vk.ic points to it */
    struct fmt_payload place;
};

/* Splits the text of an option. Names: letters, digits, '_', '-', '.'; a comma in a path cannot be expressed. */
int gpud_circuit_spec_parse(struct gpud_circuit_spec *spec, const char *text, struct gpud_error *err);

/* Whether it may be a circuit's name. */
bool gpud_circuit_name_valid(const char *name);

/* Fills c, which must stay where it is. Maps the key and reads all of it once: coefficients and points. An r1cs, where
 * given, must be of the same circuit. */
int gpud_circuit_open(struct gpud_circuit *c, const struct gpud_circuit_spec *spec, unsigned threads,
                      struct gpud_error *err);
void gpud_circuit_close(struct gpud_circuit *c);    /* all zero bytes, twice: harmless */

#endif
