/*
 * tests/field_test.c again, with the rows of kernels/limbs_adx.h. RUN_VALGRIND
 */
#pragma GCC target("bmi2,adx")
#include "tests/field_test.c"
