/*
 * launcher/jobs.h: jobs at a running service.
 */
#ifndef LAUNCHER_JOBS_H
#define LAUNCHER_JOBS_H

#include <stdbool.h>

#include "launcher/client.h"

/* {"type": type}; NULL where memory is short. */
struct fmt_json *launcher_jobs_request(const char *type);

/* witness: any path, or NULL for a job that waits for a foreign producer. */
enum launcher_exit launcher_jobs_submit(struct launcher_client *c, const char *circuit, const char *witness,
                                        const char *priority, uint64_t *id, struct gpud_error *err);

/* Waits for a job and writes its files (NULL: none). times: prints where its time went, one phase a line. */
enum launcher_exit launcher_jobs_fetch(struct launcher_client *c, uint64_t id, const char *proof_path,
                                       const char *public_path, bool times, struct gpud_error *err);

#endif
