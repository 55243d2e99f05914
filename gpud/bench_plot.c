#include "gpud/bench_plot.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "formats/output.h"

/* Pixels. */
enum {
    WIDTH = 860, LEFT = 280, PLOT = 430, TOP = 96, GROUP = 56, BAR = 18, FOOT = 62,
    HEIGHT = TOP + GPUD_BENCH_KINDS * GROUP + FOOT,
};

static const char *const colours[GPUD_BENCH_LOADS] = {"#3b7dd8", "#e0883a"};

struct svg {
    struct fmt_output out;
    struct fmt_error why;
    int rc;
};

static void put(struct svg *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(struct svg *s, const char *format, ...) {
    char line[512];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (s->rc == 0 && n >= (int)sizeof line) s->rc = fmt_fail(&s->why, "%s: a line of %d bytes", s->out.path, n);
    if (s->rc == 0) s->rc = fmt_output_write(&s->out, line, (size_t)n, &s->why);
}

static double rate(const struct gpud_bench_memory *b, double seconds) {
    return 1e-9 * (double)b->bytes / seconds;
}

/* 1, 2 or 5 times a power of ten, so that `most` takes four to ten of it. */
static double nice_step(double most) {
    double unit = pow(10, floor(log10(most / 4)));
    double left = most / 4 / unit;
    return unit * (left >= 5 ? 5 : left >= 2 ? 2 : 1);
}

static void head(struct svg *s, const struct gpud_bench_memory *b) {
    put(s, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" "
           "font-family=\"sans-serif\" font-size=\"13\">\n", WIDTH, HEIGHT, WIDTH, HEIGHT);
    put(s, "<rect width=\"%d\" height=\"%d\" fill=\"white\"/>\n", WIDTH, HEIGHT);
    put(s, "<text x=\"20\" y=\"30\" font-size=\"17\" font-weight=\"bold\">Host to device: one slot of %.2f GiB, by the "
           "kind of memory</text>\n", (double)b->bytes / (1 << 30));
    put(s, "<text x=\"20\" y=\"50\" fill=\"#555\">%s; bars: median of %u, lines: least to most</text>\n", b->card,
        b->runs);
    const char *const loads[GPUD_BENCH_LOADS] = {"host idle", "all processors copying memory"};
    for (int i = 0; i < GPUD_BENCH_LOADS; i++) {
        int x = LEFT + i * 130;
        put(s, "<rect x=\"%d\" y=\"64\" width=\"12\" height=\"12\" fill=\"%s\"/><text x=\"%d\" y=\"75\">%s</text>\n", x,
            colours[i], x + 18, loads[i]);
    }
}

static void axis(struct svg *s, double most, double scale) {
    int bottom = TOP + GPUD_BENCH_KINDS * GROUP;
    double step = nice_step(most);
    for (int i = 0; i * step <= most; i++) {
        double x = LEFT + i * step * scale;
        put(s, "<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\" stroke=\"%s\"/>\n", x, TOP - 6, x, bottom,
            i ? "#ddd" : "#333");
        put(s, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%g</text>\n", x, bottom + 18, i * step);
    }
    put(s, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">GB/s</text>\n", LEFT + PLOT / 2, bottom + 40);
}

static void bar(struct svg *s, const struct gpud_bench_memory *b, int kind, int load, double scale) {
    const struct gpud_bench_spread *t = &b->time[kind][load];
    int y = TOP + kind * GROUP + 4 + load * (BAR + 2);
    double length = rate(b, t->median) * scale;
    double low = LEFT + rate(b, t->max) * scale, high = LEFT + rate(b, t->min) * scale;
    put(s, "<rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>\n", LEFT, y, length, BAR, colours[load]);
    put(s, "<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\" stroke=\"#222\" stroke-width=\"2\"/>\n", low, y + BAR / 2,
        high, y + BAR / 2);
    put(s, "<text x=\"%.1f\" y=\"%d\">%.1f GB/s, %.0f ms</text>\n", high + 8, y + 14, rate(b, t->median),
        1e3 * t->median);
}

int gpud_bench_plot(const struct gpud_bench_memory *b, const char *path, struct gpud_error *err) {
    struct svg s = {.rc = 0};
    double most = 0;
    for (int kind = 0; kind < GPUD_BENCH_KINDS; kind++)
        for (int load = 0; load < GPUD_BENCH_LOADS; load++) most = fmax(most, rate(b, b->time[kind][load].min));
    double scale = PLOT / most;

    if (fmt_output_open(&s.out, path, &s.why)) return gpud_fail(err, "%s", s.why.text);
    head(&s, b);
    axis(&s, most, scale);
    for (int kind = 0; kind < GPUD_BENCH_KINDS; kind++) {
        put(&s, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n", LEFT - 12, TOP + kind * GROUP + BAR + 9,
            gpud_bench_kind_names[kind]);
        for (int load = 0; load < GPUD_BENCH_LOADS; load++) bar(&s, b, kind, load, scale);
    }
    put(&s, "</svg>\n");
    if (s.rc == 0) s.rc = fmt_output_commit(&s.out, &s.why);
    fmt_output_discard(&s.out);
    return s.rc ? gpud_fail(err, "%s", s.why.text) : 0;
}
