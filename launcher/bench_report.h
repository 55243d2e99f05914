/*
 * launcher/bench_report.h: the figures of a run, for people and for machines.
 */
#ifndef LAUNCHER_BENCH_REPORT_H
#define LAUNCHER_BENCH_REPORT_H

#include "launcher/bench_figures.h"

/* Tables on stdout. */
void bench_report_print(const struct bench_run *b, const struct bench_figures *f);

/* One object; NULL where memory is short. */
struct fmt_json *bench_report_json(const struct bench_run *b, const struct bench_figures *f);

/* This run beside another one's object (bench_report_json), on stdout. 0, or -1 with err where it is no such object. */
int bench_report_compare(const struct bench_run *b, const struct bench_figures *f, const struct fmt_json *other,
                         struct gpud_error *err);

#endif
