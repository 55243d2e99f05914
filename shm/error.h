/*
 * shm/error.h: an error is a value with text. The text is one line: what, which object, both numbers, the remedy.
 */
#ifndef SHM_ERROR_H
#define SHM_ERROR_H

struct shm_error {
    int code;               /* positive errno, for callers that tell cases apart */
    char text[512];
};

/* Fills *err (may be NULL) and returns -1, so that it can end a function. Text that does not fit is cut. */
int shm_error_set(struct shm_error *err, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif
