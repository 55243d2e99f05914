/*
 * gpud/log.h: the daemon's log: one line a call, one write(2) a line, to a descriptor that the program chose. Nothing
 * of a witness is ever logged.
 */
#ifndef GPUD_LOG_H
#define GPUD_LOG_H

enum { GPUD_LOG_LINE = 1024 };

/* Where lines go from now on; -1 (as at first): nowhere. */
void gpud_log_to(int fd);

/* "2026-01-31T12:00:00.123Z text\n"; longer lines are cut. Thread-safe. */
void gpud_log(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
