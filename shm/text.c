#include "shm/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int shm_text_read(const char *path, char *text, size_t size) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    size_t n = 0;
    ssize_t got;
    while (n < size - 1 && (got = read(fd, text + n, size - 1 - n)) > 0)
        n += (size_t)got;
    close(fd);
    text[n] = 0;
    return 0;
}

uint64_t shm_text_number(const char *text, const char *key) {
    const char *at = strstr(text, key);
    return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}
