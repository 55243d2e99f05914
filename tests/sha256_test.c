/* formats/sha256: the examples of FIPS 180-4, and every length around the block's border against coreutils'
 * sha256sum. */
#include "formats/sha256.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void digest(const uint8_t *bytes, size_t len, size_t step, char out[FMT_SHA256_TEXT])
{
    struct fmt_sha256 h;
    fmt_sha256_begin(&h);
    for (size_t at = 0; at < len; at += step)
        fmt_sha256_add(&h, bytes + at, len - at < step ? len - at : step);
    fmt_sha256_end(&h, out);
}

static int example(const char *text, const char *want)
{
    char got[FMT_SHA256_TEXT];
    digest((const uint8_t *)text, strlen(text), 64, got);
    if (strcmp(got, want) == 0)
        return 0;
    printf("\"%s\": %s\n", text, got);
    return 1;
}

/* The first len bytes of a pattern, given in two step sizes. */
static int against_coreutils(const char *path, const uint8_t *bytes, size_t len)
{
    char command[256], want[80] = "", got[FMT_SHA256_TEXT];
    snprintf(command, sizeof command, "head -c %zu %s | sha256sum", len, path);
    FILE *p = popen(command, "r");
    if (!p || fscanf(p, "%79s", want) != 1 || pclose(p) != 0) {
        printf("sha256sum did not answer\n");
        return 1;
    }
    for (size_t step = 7; step <= 1000; step += 993) {
        digest(bytes, len, step, got);
        if (strcmp(got, want) != 0) {
            printf("length %zu, step %zu: %s, sha256sum says %s\n", len, step, got, want);
            return 1;
        }
    }
    return 0;
}

int main(void)
{
    uint8_t bytes[5000];
    char path[] = "/tmp/pinwheel_sha256_XXXXXX";
    int bad = example("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855") +
        example("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad") +
        example("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");

    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * i + i / 7);
    int fd = mkstemp(path);
    if (fd < 0 || write(fd, bytes, sizeof bytes) != sizeof bytes) {
        printf("%s: cannot be written\n", path);
        return 1;
    }
    close(fd);
    for (size_t len = 50; len <= 70; len++)
        bad += against_coreutils(path, bytes, len);
    bad += against_coreutils(path, bytes, 119) + against_coreutils(path, bytes, 4999);
    unlink(path);
    return bad != 0;
}
