/*
 * kernels/copy.h: bytes from host memory to a device, each step by itself, for those who measure what the kind of
 * memory costs. Proofs do not go through here; they use the same calls of the same library.
 *
 * Functions return 0 or -errno with err. A handle is used by one thread.
 */
#ifndef KERNELS_COPY_H
#define KERNELS_COPY_H

#include "kernels/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

struct krn_copier;      /* a device with a buffer to copy into */

enum { KRN_COPY_TEXT = 128 };

struct krn_copies {
    /* Opens a device with a buffer of so many bytes; text: card and driver in words. NULL with err. */
    struct krn_copier *(*open)(int index, size_t bytes, char text[KRN_COPY_TEXT], char err[KRN_ERR_TEXT]);
    void (*close)(struct krn_copier *c);
    /* Fills the buffer from host memory of whatever kind, and waits for the end. */
    int (*copy)(struct krn_copier *c, const void *from, char err[KRN_ERR_TEXT]);
    /* Reads part of the buffer back. */
    int (*read)(struct krn_copier *c, void *to, size_t offset, size_t bytes, char err[KRN_ERR_TEXT]);
    /* Page-locks memory that is there already, and undoes it. */
    int (*lock)(struct krn_copier *c, void *base, size_t bytes, char err[KRN_ERR_TEXT]);
    int (*unlock)(struct krn_copier *c, void *base, char err[KRN_ERR_TEXT]);
    /* Memory that is page-locked from birth; NULL with err. */
    void *(*take)(struct krn_copier *c, size_t bytes, char err[KRN_ERR_TEXT]);
    void (*give_back)(struct krn_copier *c, void *base);
};

/* Linked only where CUDA was there at build time. */
extern const struct krn_copies krn_cuda_copies;

#ifdef __cplusplus
}
#endif
#endif
