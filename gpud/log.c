#include "gpud/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static _Atomic int log_fd = -1;

void gpud_log_to(int fd) {
    atomic_store(&log_fd, fd);
}

void gpud_log(const char *format, ...) {
    int fd = atomic_load(&log_fd);
    if (fd < 0) return;

    char line[GPUD_LOG_LINE];
    struct timespec now;
    struct tm tm;
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &tm);
    size_t n = strftime(line, sizeof line, "%Y-%m-%dT%H:%M:%S", &tm);
    n += (size_t)snprintf(line + n, sizeof line - n, ".%03ldZ ", now.tv_nsec / 1000000);

    va_list args;
    va_start(args, format);
    int m = vsnprintf(line + n, sizeof line - n - 1, format, args);
    va_end(args);
    if (m < 0) return;
    n += (size_t)m < sizeof line - n - 1 ? (size_t)m : sizeof line - n - 2;

    for (size_t i = 0; i < n; i++)
        if ((unsigned char)line[i] < ' ') line[i] = ' ';    /* one line, whatever text a client sent */
    line[n++] = '\n';
    while (write(fd, line, n) < 0 && errno == EINTR) {}
}
