/*
 * tests/check.h: a condition that a test program holds. One that fails is printed with its place and counted; main
 * returns failures != 0.
 */
#ifndef TESTS_CHECK_H
#define TESTS_CHECK_H

#include <stdio.h>

static int failures;

#define CHECK(cond)                                                            \
    do {                                                                       \
        if (!(cond)) {                                                         \
            printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #cond);          \
            failures++;                                                        \
        }                                                                      \
    } while (0)

#endif
