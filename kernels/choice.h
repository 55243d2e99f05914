/*
 * kernels/choice.h: which back end a program works on: what its --backend says, and whether there is a GPU.
 */
#ifndef KERNELS_CHOICE_H
#define KERNELS_CHOICE_H

#include "kernels/backend.h"

/* auto: the GPUs where there are any, else the CPU. */
enum krn_choice { KRN_CHOICE_AUTO = 0, KRN_CHOICE_CPU, KRN_CHOICE_CUDA };

enum { KRN_CHOICE_TEXT = KRN_ERR_TEXT + 64 };

/* "auto", "cpu" or "cuda": 0, or -1. */
int krn_choice_read(const char *text, enum krn_choice *choice);

/*
 * How many GPUs there are to work on, or 0 for the CPU. count: the CUDA back end's, which is not called where the CPU
 * was asked for; NULL in a program built without CUDA. text: "" unless auto ends on the CPU: then why. -ENODEV: a GPU
 * was demanded and none can be used; text is the error.
 */
int krn_choice_gpus(enum krn_choice choice, int (*count)(char err[KRN_ERR_TEXT]), char text[KRN_CHOICE_TEXT]);

#endif
