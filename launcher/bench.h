/*
 * launcher/bench.h: `pinwheel-tool bench-pipeline`: proofs through a running service, and where their time went.
 * `pinwheel bench pipeline` calls it, and starts a service of its own for it where that is asked for.
 */
#ifndef LAUNCHER_BENCH_H
#define LAUNCHER_BENCH_H

int tool_bench_pipeline(int argc, char **argv);     /* returns the exit code */

#endif
