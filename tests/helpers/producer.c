/*
 * A foreign producer: takes jobs that have no witness file and fills their slots itself, rightly or as MODE says.
 *   producer INSTANCE SOCKET KEY.zkey WITNESS.wtns MODE JOBS
 * MODE  plain   w, a, b            c         c too          bad-c   c with row 1 changed
 *       counts  a wrong n_vars     above     a value at the group order      circuit  a circuit that does not exist
 *       public  an unreduced public signal
 *       fail    says that it cannot          die     leaves with the slot half done
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/payload.h"
#include "formats/wtns.h"
#include "kernels/scalar.h"
#include "synth/eval.h"
#include "synth/producer.h"

static const char *mode;

static bool without_witness(void *ctx, const struct shm_job_view *job) {
    (void)ctx;
    return job->witness[0] == 0;
}

static void make_c(const struct fmt_zkey *z, const struct fmt_payload *at, uint8_t *payload) {
    struct krn_scalar_field f = krn_scalar_field(z->curve->id);
    for (uint64_t i = 0; i < z->domain_size; i++) {
        struct krn_scalar a, b, c;
        memcpy(&a, payload + at->a + i * KRN_FR_BYTES, sizeof a);
        memcpy(&b, payload + at->b + i * KRN_FR_BYTES, sizeof b);
        krn_scalar_mul(&f, &c, &a, &b);
        memcpy(payload + at->c + i * KRN_FR_BYTES, &c, sizeof c);
    }
}

static int fill(const struct fmt_zkey *z, const char *witness, const struct synth_work *work, struct fmt_error *err) {
    struct fmt_payload at = fmt_payload_of(z->n_vars, z->log_domain);
    uint8_t *p = work->payload;
    if (at.bytes_with_c > work->payload_bytes) return fmt_fail(err, "the slot has no room for c");
    if (fmt_wtns_read(witness, z->curve, z->n_vars, p + at.w, err) ||
        synth_eval(z, p + at.w, p + at.a, p + at.b, 1, err))
        return -1;
    make_c(z, &at, p);
    if (!strcmp(mode, "bad-c")) p[at.c + KRN_FR_BYTES] ^= 1;
    if (!strcmp(mode, "above")) memcpy(p + at.w + (size_t)(z->n_vars - 1) * KRN_FR_BYTES, z->curve->r, KRN_FR_BYTES);
    if (!strcmp(mode, "public")) memset(p + at.w + KRN_FR_BYTES, 0xff, KRN_FR_BYTES);
    return 0;
}

static int commit(struct synth_producer *p, struct synth_work *work, const struct fmt_zkey *z) {
    struct synth_filled filled = {.n_vars = z->n_vars, .n_rows = z->n_rows};
    filled.has_c = !strcmp(mode, "c") || !strcmp(mode, "bad-c");
    if (!strcmp(mode, "counts")) filled.n_vars++;
    if (!strcmp(mode, "circuit")) work->view.circuit = 63;
    return synth_producer_commit(p, work, &filled);
}

static int work_on(struct synth_producer *p, const struct fmt_zkey *z, const char *witness, struct fmt_error *err) {
    struct synth_work work;
    if (synth_producer_next(p, without_witness, NULL, 20000, &work) != SYNTH_GOT_WORK) return fmt_fail(err, "no work");
    if (!strcmp(mode, "fail")) return synth_producer_fail(p, &work, "the producer says no");
    if (fill(z, witness, &work, err)) return -1;
    if (!strcmp(mode, "die")) _Exit(3);
    if (commit(p, &work, z)) return fmt_fail(err, "the job was taken away");
    return 0;
}

int main(int argc, char **argv) {
    if (argc != 7) return 2;
    struct synth_producer_options o = {.instance = argv[1], .socket = argv[2], .kind = SYNTH_FOREIGN};
    struct synth_producer p;
    struct fmt_zkey z;
    struct fmt_error err = {""};
    mode = argv[5];
    int rc = fmt_zkey_open(&z, argv[3], &err) || synth_producer_join(&p, &o, &err);
    if (rc == 0) {
        puts("joined");
        fflush(stdout);
        for (int i = 0; rc == 0 && i < atoi(argv[6]); i++) rc = work_on(&p, &z, argv[4], &err);
        synth_producer_leave(&p);
        fmt_zkey_close(&z);
    }
    if (rc) fprintf(stderr, "producer: %s\n", err.text);
    return rc != 0;
}
