/*
 * tests/vectors.h: reading a file of vectors, lines of words and hexadecimal numbers, and counting what is wrong.
 * A file that cannot be read ends the test.
 */
#ifndef TESTS_VECTORS_H
#define TESTS_VECTORS_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VECTORS_NAME2(macro) #macro
#define VECTORS_NAME(macro) VECTORS_NAME2(macro)

struct vectors {
    FILE *file;
    const char *path;
    int line, failures;
    char text[4096], *save;
};

static inline void vectors_open(struct vectors *v, const char *path)
{
    memset(v, 0, sizeof *v);
    v->path = path;
    v->file = fopen(path, "r");
    if (v->file == NULL) {
        perror(path);
        exit(1);
    }
}

/* The first word of the next line; NULL at the end, where the file is closed. */
static inline const char *vectors_next(struct vectors *v)
{
    if (fgets(v->text, sizeof v->text, v->file) == NULL) {
        fclose(v->file);
        return NULL;
    }
    v->line++;
    char *word = strtok_r(v->text, " \n", &v->save);
    return word != NULL ? word : "";
}

static inline const char *vectors_word(struct vectors *v)
{
    char *word = strtok_r(NULL, " \n", &v->save);
    if (word == NULL) {
        printf("%s:%d: a word is missing\n", v->path, v->line);
        exit(1);
    }
    return word;
}

/* The next number, as little-endian bytes. */
static inline void vectors_number(struct vectors *v, uint8_t *out, size_t bytes)
{
    const char *word = vectors_word(v);
    size_t digits = strlen(word);
    memset(out, 0, bytes);
    if (strspn(word, "0123456789abcdef") != digits || digits > 2 * bytes) {
        printf("%s:%d: %s is no number of %zu bytes\n", v->path, v->line, word, bytes);
        exit(1);
    }
    for (size_t i = 0; i < digits; i++) {
        char c = word[digits - 1 - i];
        out[i / 2] |= (uint8_t)((c <= '9' ? c - '0' : c - 'a' + 10) << (i % 2 * 4));
    }
}

/* Counts a failure and names it, unless ok. */
static inline void vectors_check(struct vectors *v, int ok, const char *who, const char *what)
{
    if (ok)
        return;
    v->failures++;
    printf("%s:%d: %s: %s is wrong\n", v->path, v->line, who, what);
}

#endif
