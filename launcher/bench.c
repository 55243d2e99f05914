#include "launcher/bench.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/file.h"
#include "formats/number.h"
#include "formats/output.h"
#include "launcher/bench_report.h"
#include "launcher/bench_trace.h"
#include "launcher/options.h"

static const char usage[] =
    "wanted: pinwheel bench pipeline --circuit NAME=witness.wtns[*WEIGHT] ... [--proofs N | --seconds S]\n"
    "        [--in-flight N] [--producers N] [--warm-up N] [--window S] [--json] [--save FILE.json]\n"
    "        [--against FILE.json] [--trace FILE.json [--trace-proofs N]]\n";

enum {
    MAX_PROOFS = 100000000, MAX_SECONDS = 7 * 24 * 3600, MAX_PRODUCERS = 64, MAX_WEIGHT = 10000,
    PROOFS = 100, IN_FLIGHT = 64, WINDOW_S = 30, TRACE_PROOFS = 1000,
};

struct options {
    struct bench_run run;
    uint64_t window, trace_proofs;
    const char *save, *against, *trace;
    bool json;
};

/* NAME=FILE or NAME=FILE*WEIGHT; cuts the text. */
static int add_circuit(struct bench_run *b, char *text) {
    struct bench_circuit *c = &b->circuits[b->n_circuits];
    char *file = strchr(text, '='), *star = strrchr(text, '*');
    uint64_t weight = 1;
    if (b->n_circuits == BENCH_MAX_CIRCUITS || !file || file == text || !file[1]) return -1;
    if (star > file) {
        if (fmt_number_read(star + 1, 1, MAX_WEIGHT, &weight)) return -1;
        *star = 0;
    }
    *file = 0;
    *c = (struct bench_circuit){.name = text, .witness = file + 1, .weight = (unsigned)weight};
    b->n_circuits++;
    return 0;
}

static int take(struct options *o, int option, char *text) {
    struct bench_run *b = &o->run;
    uint64_t v = 0;
    int rc = 0;
    switch (option) {
    case 'i': b->instance = text; break;
    case 'c': return add_circuit(b, text);
    case 'n': return fmt_number_read(text, 1, MAX_PROOFS, &b->proofs);
    case 's':
        rc = fmt_number_read(text, 1, MAX_SECONDS, &v);
        b->seconds = (double)v;
        break;
    case 'f':
        rc = fmt_number_read(text, 1, BENCH_IN_FLIGHT_MAX, &v);
        b->in_flight = (unsigned)v;
        break;
    case 'p':
        rc = fmt_number_read(text, 0, MAX_PRODUCERS, &v);
        b->producers = (unsigned)v;
        break;
    case 'w':
        rc = fmt_number_read(text, 0, MAX_PROOFS, &v);
        b->warm_up = (unsigned)v;
        break;
    case 'W': return fmt_number_read(text, 1, MAX_SECONDS, &o->window);
    case 'j': o->json = true; break;
    case 'S': o->save = text; break;
    case 'a': o->against = text; break;
    case 't': o->trace = text; break;
    case 'T': return fmt_number_read(text, 1, MAX_PROOFS, &o->trace_proofs);
    default: return -1;
    }
    return rc;
}

static int parse(struct options *o, int argc, char **argv) {
    static const struct option table[] = {
        {"instance", required_argument, NULL, 'i'},  {"circuit", required_argument, NULL, 'c'},
        {"proofs", required_argument, NULL, 'n'},    {"seconds", required_argument, NULL, 's'},
        {"in-flight", required_argument, NULL, 'f'}, {"producers", required_argument, NULL, 'p'},
        {"warm-up", required_argument, NULL, 'w'},   {"window", required_argument, NULL, 'W'},
        {"json", no_argument, NULL, 'j'},            {"save", required_argument, NULL, 'S'},
        {"against", required_argument, NULL, 'a'},   {"trace", required_argument, NULL, 't'},
        {"trace-proofs", required_argument, NULL, 'T'}, {0},
    };
    o->window = WINDOW_S;
    o->trace_proofs = TRACE_PROOFS;
    o->run.instance = launcher_options_instance();
    o->run.in_flight = IN_FLIGHT;
    o->run.warm_up = UINT32_MAX;
    opterr = 0;
    for (int option; (option = getopt_long(argc, argv, "", table, NULL)) != -1;)
        if (take(o, option, optarg)) return -1;
    if (optind < argc || o->run.n_circuits == 0 || (o->run.proofs && o->run.seconds > 0)) return -1;
    if (!o->run.proofs && !(o->run.seconds > 0)) o->run.proofs = PROOFS;
    if (o->run.warm_up == UINT32_MAX) o->run.warm_up = 2 * o->run.in_flight;
    return 0;
}

/* ---- files ---- */

static int write_text(const char *path, const char *text, size_t len, struct fmt_error *err) {
    struct fmt_output out;
    if (fmt_output_open(&out, path, err)) return -1;
    int rc = fmt_output_write(&out, text, len, err);
    if (rc == 0) rc = fmt_output_commit(&out, err);
    fmt_output_discard(&out);
    return rc;
}

static struct fmt_json *read_json(const char *path, struct fmt_error *err) {
    struct fmt_file file;
    if (fmt_file_map(&file, path, err)) return NULL;
    struct fmt_json *j = fmt_json_parse(path, (const char *)file.bytes, file.size, err);
    fmt_file_close(&file);
    return j;
}

/* The proofs in the middle of the run, in which it neither begins nor ends. */
static int write_trace(const struct options *o, struct fmt_error *err) {
    const struct bench_run *b = &o->run;
    const char *names[BENCH_MAX_CIRCUITS];
    size_t n = b->n_records < o->trace_proofs ? b->n_records : (size_t)o->trace_proofs;
    struct bench_trace t = {
        .records = b->records + (b->n_records - n) / 2, .n = n, .circuits = names, .zero_ns = UINT64_MAX,
        .cpu = strcmp(b->backend, "cpu") == 0,
    };
    for (unsigned i = 0; i < b->n_circuits; i++) names[i] = b->circuits[i].name;
    for (size_t i = 0; i < n; i++)
        if (t.records[i].t.synth_started_ns < t.zero_ns) t.zero_ns = t.records[i].t.synth_started_ns;
    return bench_trace_write(&t, o->trace, err);
}

/* ---- output ---- */

static int report(const struct options *o, const struct bench_figures *f, struct gpud_error *err) {
    struct fmt_error why = {""};
    struct fmt_json *j = bench_report_json(&o->run, f), *other = NULL;
    size_t len = 0;
    char *text = j ? fmt_json_dump_indented(j, &len) : NULL;
    int rc = text ? 0 : fmt_fail(&why, "no memory for the report");
    if (rc == 0 && o->json)
        puts(text);
    else if (rc == 0)
        bench_report_print(&o->run, f);
    if (rc == 0 && o->save) rc = write_text(o->save, text, len, &why);
    if (rc == 0 && o->trace) rc = write_trace(o, &why);
    free(text);
    fmt_json_free(j);
    if (rc) return gpud_fail(err, "%s", why.text);
    if (!o->against || o->json) return 0;
    other = read_json(o->against, &why);
    if (!other) return gpud_fail(err, "%s", why.text);
    rc = bench_report_compare(&o->run, f, other, err);
    fmt_json_free(other);
    return rc;
}

int tool_bench_pipeline(int argc, char **argv) {
    static struct options o;
    static struct bench_figures f;
    struct gpud_error err;
    if (parse(&o, argc, argv)) {
        fputs(usage, stderr);
        return LAUNCHER_USAGE;
    }
    o.run.progress = isatty(STDERR_FILENO);
    enum launcher_exit rc = bench_run(&o.run, &err);
    if (rc == LAUNCHER_OK && (bench_figures_make(&f, &o.run, (double)o.window, &err) || report(&o, &f, &err)))
        rc = LAUNCHER_FAILED;
    if (rc == LAUNCHER_OK && o.run.failed) {
        gpud_fail(&err, "%zu jobs failed; the first: %s", o.run.failed, o.run.failure);
        rc = LAUNCHER_FAILED;
    }
    bench_run_free(&o.run);
    if (rc) fprintf(stderr, "pinwheel bench pipeline: %s\n", err.text);
    return rc;
}
