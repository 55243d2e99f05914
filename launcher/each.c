/*
 * submit --each: many inputs through a running service, a window of them at a time, each to its own two files. What is
 * there already and younger than its input is not made again, so that an ended run goes on where it was.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "launcher/commands.h"
#include "launcher/jobs.h"

enum { WINDOW = 32, PATH_ROOM = 4096, REDRAW_MS = 200 };

struct item {
    const char *file;
    const char *base;           /* of the file's name, base_len characters: without .json or .wtns */
    int base_len;
};

struct flight {
    const struct item *item;
    uint64_t id;
};

struct run {
    const struct launcher_options *o;
    struct launcher_client client;
    struct item *items;
    size_t n, next;             /* next: the first that was not looked at */
    struct flight flights[WINDOW];      /* oldest first, from `first` */
    unsigned first, n_flights;
    size_t there, proved, failed;
    double started, drawn;
    bool terminal;
};

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- names ---- */

static bool ends_in(const char *name, size_t len, const char *ending) {
    size_t n = strlen(ending);
    return len > n && memcmp(name + len - n, ending, n) == 0;
}

static struct item item_of(const char *file) {
    const char *slash = strrchr(file, '/'), *base = slash ? slash + 1 : file;
    size_t len = strlen(base);
    if (ends_in(base, len, ".json") || ends_in(base, len, ".wtns")) len -= 5;
    return (struct item){.file = file, .base = base, .base_len = (int)len};
}

static int by_base(const void *a, const void *b) {
    const struct item *x = a, *y = b;
    int n = x->base_len < y->base_len ? x->base_len : y->base_len;
    int order = memcmp(x->base, y->base, (size_t)n);
    return order ? order : x->base_len - y->base_len;
}

/* Two inputs of one name would write the same files. */
static int make_items(struct run *r, struct gpud_error *err) {
    r->n = (size_t)r->o->n_args - 1;
    r->items = calloc(r->n, sizeof *r->items);
    if (!r->items) return gpud_fail(err, "no memory for %zu files", r->n);
    for (size_t i = 0; i < r->n; i++) r->items[i] = item_of(r->o->args[i + 1]);
    qsort(r->items, r->n, sizeof *r->items, by_base);
    for (size_t i = 1; i < r->n; i++)
        if (by_base(&r->items[i - 1], &r->items[i]) == 0)
            return gpud_fail(err, "%s and %s would have the same proof file", r->items[i - 1].file, r->items[i].file);
    return 0;
}

static void output_path(const struct run *r, const struct item *it, const char *ending, char path[PATH_ROOM]) {
    snprintf(path, PATH_ROOM, "%s/%.*s.%s.json", r->o->out, it->base_len, it->base, ending);
}

/* The proof is written last, so it stands for both files. */
static bool is_there(const struct run *r, const struct item *it) {
    char path[PATH_ROOM];
    struct stat input, proof;
    output_path(r, it, "proof", path);
    if (stat(it->file, &input) || stat(path, &proof)) return false;
    if (proof.st_mtim.tv_sec != input.st_mtim.tv_sec) return proof.st_mtim.tv_sec > input.st_mtim.tv_sec;
    return proof.st_mtim.tv_nsec >= input.st_mtim.tv_nsec;
}

/* ---- progress ---- */

static void print_time_left(double seconds) {
    if (seconds >= 3600)
        fprintf(stderr, ", %d h %02d min left", (int)(seconds / 3600), (int)(seconds / 60) % 60);
    else if (seconds >= 60)
        fprintf(stderr, ", %d min %02d s left", (int)(seconds / 60), (int)seconds % 60);
    else
        fprintf(stderr, ", %d s left", (int)seconds);
}

static double per_minute(const struct run *r) {
    double seconds = now() - r->started;
    return seconds > 0 ? 60 * (double)(r->proved + r->failed) / seconds : 0;
}

static void draw(struct run *r) {
    double t = now(), rate = per_minute(r);
    size_t over = r->there + r->proved + r->failed;
    if (!r->terminal || t - r->drawn < 1e-3 * REDRAW_MS) return;
    r->drawn = t;
    fprintf(stderr, "\r\033[K%zu of %zu, %zu failed, %.1f proofs/min", over, r->n, r->failed, rate);
    if (rate > 0) print_time_left(60 * (double)(r->n - over) / rate);
}

static void report(struct run *r, const struct item *it, const char *text) {
    r->failed++;
    fprintf(stderr, "%s%s: %s\n", r->terminal ? "\r\033[K" : "", it->file, text);
}

/* ---- jobs ---- */

/* Waits for the oldest job. LAUNCHER_UNREACHABLE ends the run; a job's own failure does not. */
static enum launcher_exit settle_oldest(struct run *r, struct gpud_error *err) {
    struct flight f = r->flights[r->first];
    char proof[PATH_ROOM], publics[PATH_ROOM];
    output_path(r, f.item, "proof", proof);
    output_path(r, f.item, "public", publics);
    enum launcher_exit rc = launcher_jobs_fetch(&r->client, f.id, proof, publics, false, err);
    if (rc == LAUNCHER_UNREACHABLE) return rc;
    if (rc == LAUNCHER_OK)
        r->proved++;
    else
        report(r, f.item, err->text);
    r->first = (r->first + 1) % WINDOW;
    r->n_flights--;
    draw(r);
    return LAUNCHER_OK;
}

/* Submits the next file. A service that has no room for it is asked again after a job of ours has ended. */
static enum launcher_exit submit_next(struct run *r, struct gpud_error *err) {
    const struct item *it = &r->items[r->next];
    uint64_t id;
    if (access(it->file, R_OK)) {
        report(r, it, strerror(errno));
        r->next++;
        return LAUNCHER_OK;
    }
    enum launcher_exit rc = launcher_jobs_submit(&r->client, r->o->args[0], it->file, r->o->priority, &id, err);
    if (rc == LAUNCHER_FAILED && r->n_flights > 0) return settle_oldest(r, err);
    if (rc) return rc;
    r->flights[(r->first + r->n_flights++) % WINDOW] = (struct flight){it, id};
    r->next++;
    return LAUNCHER_OK;
}

static enum launcher_exit run_all(struct run *r, struct gpud_error *err) {
    enum launcher_exit rc = LAUNCHER_OK;
    while (rc == LAUNCHER_OK && (r->next < r->n || r->n_flights > 0)) {
        if (r->next < r->n && is_there(r, &r->items[r->next])) {
            r->there++;
            r->next++;
        } else if (r->next < r->n && r->n_flights < WINDOW) {
            rc = submit_next(r, err);
        } else {
            rc = settle_oldest(r, err);
        }
    }
    return rc;
}

enum launcher_exit launcher_each(const struct launcher_options *o, struct gpud_error *err) {
    struct run r = {.o = o, .started = now(), .terminal = isatty(STDERR_FILENO)};
    if (o->n_args < 2 || !o->out || strlen(o->out) > PATH_ROOM / 2) {
        gpud_fail(err, "submit NAME --each FILE... --out FOLDER");
        return LAUNCHER_USAGE;
    }
    if (make_items(&r, err)) {
        free(r.items);
        return LAUNCHER_USAGE;
    }
    enum launcher_exit rc = LAUNCHER_FAILED;
    if (mkdir(o->out, 0777) && errno != EEXIST)
        gpud_fail(err, "%s: %s", o->out, strerror(errno));
    else
        rc = launcher_client_reach(&r.client, o->instance, err);
    if (rc == LAUNCHER_OK) {
        rc = run_all(&r, err);
        launcher_client_close(&r.client);
        if (r.terminal) fprintf(stderr, "\r\033[K");
        printf("%zu proved, %zu were there, %zu failed, of %zu; %.1f proofs/min\n", r.proved, r.there, r.failed, r.n,
               per_minute(&r));
    }
    if (rc == LAUNCHER_OK && r.failed > 0) {
        gpud_fail(err, "%zu of %zu failed", r.failed, r.n);
        rc = LAUNCHER_FAILED;
    }
    free(r.items);
    return rc;
}
