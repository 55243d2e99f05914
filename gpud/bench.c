#include "gpud/bench.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "formats/number.h"
#include "gpud/bench_memory.h"
#include "gpud/bench_plot.h"

enum { USAGE = 2, RUNS = 9, MAX_DEVICE = 1023 };

#define DEFAULT_BYTES (3ull << 29)      /* 1.5 GiB */
#define MAX_BYTES (256ull << 30)

static const char usage[] = "pinwheel bench memory [--bytes N] [--runs N] [--device N] [--seed N] [--plot FILE.svg]";

struct options {
    uint64_t bytes, runs, device, seed;
    const char *plot;
};

static int take(struct options *o, int option, const char *text) {
    switch (option) {
    case 'b': return fmt_number_read_scaled(text, 1 << 20, MAX_BYTES, &o->bytes);
    case 'n': return fmt_number_read_scaled(text, 1, GPUD_BENCH_RUNS_MAX, &o->runs);
    case 'd': return fmt_number_read_scaled(text, 0, MAX_DEVICE, &o->device);
    case 's': return fmt_number_read_scaled(text, 0, UINT64_MAX, &o->seed);
    case 'p': o->plot = text; return 0;
    default: return -1;
    }
}

static int parse(struct options *o, int argc, char **argv) {
    static const struct option table[] = {
        {"bytes", required_argument, NULL, 'b'}, {"runs", required_argument, NULL, 'n'},
        {"device", required_argument, NULL, 'd'}, {"seed", required_argument, NULL, 's'},
        {"plot", required_argument, NULL, 'p'}, {0},
    };
    *o = (struct options){.bytes = DEFAULT_BYTES, .runs = RUNS};
    if (getrandom(&o->seed, sizeof o->seed, 0) != (ssize_t)sizeof o->seed) o->seed = (uint64_t)time(NULL);
    optind = 0;
    opterr = 0;
    for (int option; (option = getopt_long(argc, argv, "", table, NULL)) != -1;)
        if (take(o, option, optarg)) return -1;
    return optind < argc ? -1 : 0;
}

/* ---- the table ---- */

static void print_head(const struct gpud_bench_memory *b, const struct options *o) {
    char date[32] = "";
    time_t now = time(NULL);
    struct tm tm;
    strftime(date, sizeof date, "%F %H:%MZ", gmtime_r(&now, &tm));
    printf("%.2f GiB of random bytes (seed %" PRIu64 ") from host memory to %s, device %d, %s\n",
           (double)b->bytes / (1 << 30), o->seed, b->card, b->device, date);
    printf("Every page was written before; no time has a first touch in it. %.0f %% of the shared memory is in 2 MiB "
           "pages. Median of %u, (least to most).\n", 100 * b->huge, b->runs);
    printf("Busy: %u threads copy memory all the time, %.1f GB/s together.\n\n", b->hammers, 1e-9 * b->hammer_rate);
}

static void print_cell(const struct gpud_bench_memory *b, const struct gpud_bench_spread *t) {
    char spread[40];
    snprintf(spread, sizeof spread, "(%.1f to %.1f)", 1e3 * t->min, 1e3 * t->max);
    printf("  %6.1f GB/s %7.1f ms %-18s", 1e-9 * (double)b->bytes / t->median, 1e3 * t->median, spread);
}

static void print_table(const struct gpud_bench_memory *b) {
    printf("%-42s  %-42s  %s\n", "memory", "host idle", "all processors busy");
    for (int kind = 0; kind < GPUD_BENCH_KINDS; kind++) {
        printf("%-42s", gpud_bench_kind_names[kind]);
        for (int load = 0; load < GPUD_BENCH_LOADS; load++) print_cell(b, &b->time[kind][load]);
        printf("\n");
    }
    printf("\nregistered each time: register %.1f ms, unregister %.1f ms; busy %.1f and %.1f\n",
           1e3 * b->lock[0].median, 1e3 * b->unlock[0].median, 1e3 * b->lock[1].median, 1e3 * b->unlock[1].median);
    printf("once, at start: registering %.1f ms, cudaHostAlloc %.1f ms\n", 1e3 * b->register_once,
           1e3 * b->locked_alloc);
}

static void draw(void *ctx, unsigned done, unsigned total) {
    (void)ctx;
    fprintf(stderr, "\r\033[K%u of %u rounds", done, total);
    if (done == total) fprintf(stderr, "\r\033[K");
}

int gpud_bench(int argc, char **argv, const struct krn_backend *cuda, const struct krn_copies *copies) {
    static struct gpud_bench_memory b;
    struct options o;
    struct gpud_error err;
    char why[KRN_CHOICE_TEXT];
    if (parse(&o, argc, argv)) {
        fprintf(stderr, "wanted: %s\n", usage);
        return USAGE;
    }
    int gpus = krn_choice_gpus(KRN_CHOICE_AUTO, cuda ? cuda->count : NULL, why);
    if (gpus <= (int)o.device) {
        if (gpus > 0) snprintf(why, sizeof why, "--device %d: there are %d, from 0 on", (int)o.device, gpus);
        fprintf(stderr, "pinwheel bench memory: %s\n", why);
        return 1;
    }
    b = (struct gpud_bench_memory){
        .device = (int)o.device, .bytes = (size_t)o.bytes, .runs = (unsigned)o.runs, .seed = o.seed,
        .step = isatty(STDERR_FILENO) ? draw : NULL,
    };
    int rc = gpud_bench_memory(&b, copies, &err);
    if (rc == 0) {
        print_head(&b, &o);
        print_table(&b);
        if (o.plot) rc = gpud_bench_plot(&b, o.plot, &err);
    }
    if (rc) fprintf(stderr, "pinwheel bench memory: %s\n", err.text);
    return rc ? 1 : 0;
}
