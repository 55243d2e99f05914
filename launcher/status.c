#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/commands.h"
#include "launcher/jobs.h"

static int64_t number(const struct fmt_json *j, const char *key) {
    struct fmt_error why;
    int64_t v = 0;
    fmt_json_get_int(j, key, INT64_MIN, INT64_MAX, &v, &why);
    return v;
}

static const char *text(const struct fmt_json *j, const char *key) {
    struct fmt_error why;
    const char *v = "?";
    fmt_json_get_string(j, key, &v, &why);
    return v;
}

static double mib(int64_t bytes) {
    return (double)bytes / (1 << 20);
}

static void print_head(const struct fmt_json *s) {
    bool ready = false;
    struct fmt_error why;
    fmt_json_get_bool(s, "ready", &ready, &why);
    printf("service %s: pid %" PRId64 ", %s, up %" PRId64 " s, start %" PRId64 " on this region, ", text(s, "instance"),
           number(s, "pid"), ready ? "ready" : "starting", number(s, "uptime_s"), number(s, "starts"));
    printf("%s back end, bell %s\n", text(s, "backend"), text(s, "bell"));
    if (strcmp(text(s, "memory"), "pageable") == 0)
        printf("WARNING: --memory pageable: uploads are slow on purpose, for a measurement\n");
}

static void print_counts(const struct fmt_json *s, const char *what, const char *const *keys, size_t n) {
    const struct fmt_json *counts = fmt_json_field(s, what);
    printf("%-8s", what);
    for (size_t i = 0; i < n; i++) printf("  %" PRId64 " %s", number(counts, keys[i]), keys[i]);
    printf("\n");
}

static void print_circuits(const struct fmt_json *all) {
    printf("%-20s %-9s %12s %12s %8s %12s\n", "circuit", "curve", "constraints", "signals", "public", "slot MiB");
    for (size_t i = 0; i < fmt_json_length(all); i++) {
        const struct fmt_json *c = fmt_json_at(all, i);
        printf("%-20s %-9s %12" PRId64 " %12" PRId64 " %8" PRId64 " %12.2f\n", text(c, "name"), text(c, "curve"),
               number(c, "constraints"), number(c, "signals"), number(c, "public"), mib(number(c, "slot_bytes")));
    }
}

static void print_nodes(const struct fmt_json *all) {
    for (size_t i = 0; i < fmt_json_length(all); i++) {
        const struct fmt_json *n = fmt_json_at(all, i);
        printf("node %" PRId64 ": CPUs %s, %.0f of %.0f MiB free, %" PRId64 " of %" PRId64 " slots free, %" PRId64
               " workers, who took %" PRId64 " slots of other nodes\n", number(n, "node"), text(n, "cpus"),
               mib(number(n, "free_bytes")), mib(number(n, "memory_bytes")), number(n, "slots_free"),
               number(n, "slots"), number(n, "workers"), number(n, "slots_other_node"));
    }
}

static void print_workers(const struct fmt_json *all) {
    printf("%-8s %-8s %5s %5s %12s %10s\n", "pid", "kind", "peer", "node", "job", "done");
    for (size_t i = 0; i < fmt_json_length(all); i++) {
        const struct fmt_json *w = fmt_json_at(all, i);
        printf("%-8" PRId64 " %-8s %5" PRId64 " %5" PRId64 " %12" PRId64 " %10" PRId64 "\n", number(w, "pid"),
               text(w, "kind"), number(w, "peer"), number(w, "node"), number(w, "job"), number(w, "jobs_done"));
    }
}

static void print_keys(const struct fmt_json *keys) {
    const struct fmt_json *loaded = fmt_json_field(keys, "loaded");
    bool limited = fmt_json_field(keys, "room") != NULL;
    printf("  keys: %.1f", mib(number(keys, "used")));
    if (limited) printf(" of %.1f", mib(number(keys, "room")));
    printf(" MiB, %" PRId64 " loads, %" PRId64 " evictions;", number(keys, "loads"), number(keys, "evictions"));
    for (size_t i = 0; i < fmt_json_length(loaded); i++) {
        const struct fmt_json *key = fmt_json_at(loaded, i);
        printf("%s %s (%.1f MiB, %s)", i ? "," : "", text(key, "circuit"), mib(number(key, "bytes")),
               text(key, "form"));
    }
    printf("\n");
}

static void print_memory(const struct fmt_json *m) {
    if (!number(m, "total")) return;        /* no memory of its own */
    printf("  memory: %.0f MiB, workspace %.1f MiB, %" PRId64 " allocations; host: %" PRId64 " ranges of %.1f MiB "
           "registered, %" PRId64 " copies of %.1f MiB\n",
           mib(number(m, "total")), mib(number(m, "workspace")), number(m, "allocations"), number(m, "registrations"),
           mib(number(m, "registered_bytes")), number(m, "host_copies"), mib(number(m, "host_copied_bytes")));
}

static void print_devices(const struct fmt_json *all) {
    for (size_t i = 0; i < fmt_json_length(all); i++) {
        const struct fmt_json *d = fmt_json_at(all, i);
        printf("device %" PRId64 ": %s, %" PRId64 " proofs, busy %.3f s", number(d, "index"), text(d, "state"),
               number(d, "proofs"), 1e-6 * (double)number(d, "busy_us"));
        if (number(d, "node") >= 0)
            printf(", node %" PRId64 ", %" PRId64 " slots of other nodes", number(d, "node"),
                   number(d, "slots_other_node"));
        printf("\n");
        print_keys(fmt_json_field(d, "keys"));
        print_memory(fmt_json_field(d, "memory"));
    }
}

static void print_status(const struct fmt_json *s) {
    static const char *const slots[] = {"all",   "free",      "claimed",  "filling",
                                        "ready", "uploading", "uploaded", "quarantine"};
    static const char *const jobs[] = {"queued", "synthesis", "proving", "done", "failed", "cancelled"};
    print_head(s);
    print_counts(s, "slots", slots, sizeof slots / sizeof slots[0]);
    print_counts(s, "jobs", jobs, sizeof jobs / sizeof jobs[0]);
    print_devices(fmt_json_field(s, "devices"));
    print_nodes(fmt_json_field(s, "nodes"));
    print_circuits(fmt_json_field(s, "circuits"));
    print_workers(fmt_json_field(s, "workers"));
}

enum launcher_exit launcher_status(const struct launcher_options *o, struct gpud_error *err) {
    struct launcher_client c;
    struct fmt_json *status;
    enum launcher_exit rc = launcher_client_open(&c, o->instance, err);
    if (rc) return rc;
    rc = launcher_client_ask(&c, launcher_jobs_request("status"), &status, err);
    launcher_client_close(&c);
    if (rc) return rc;
    if (o->json) {
        size_t len;
        char *line = fmt_json_dump_indented(status, &len);
        puts(line ? line : "{}");
        free(line);
    } else {
        print_status(status);
    }
    fmt_json_free(status);
    return LAUNCHER_OK;
}
