#include "shm/error.h"

#include <stdarg.h>
#include <stdio.h>

int shm_error_set(struct shm_error *err, int code, const char *fmt, ...) {
    if (!err)
        return -1;
    va_list args;
    va_start(args, fmt);
    vsnprintf(err->text, sizeof err->text, fmt, args);
    va_end(args);
    err->code = code;
    return -1;
}
