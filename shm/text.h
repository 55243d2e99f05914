/*
 * shm/text.h: small files of /proc and /sys.
 */
#ifndef SHM_TEXT_H
#define SHM_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* The whole file as a string; at most size - 1 bytes. 0 or -errno. */
int shm_text_read(const char *path, char *text, size_t size);
/* The number that follows `key` in the text; 0 where there is none. */
uint64_t shm_text_number(const char *text, const char *key);

#endif
