#include "kernels/choice.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int krn_choice_read(const char *text, enum krn_choice *choice)
{
    static const char *const names[] = {"auto", "cpu", "cuda"};

    for (int i = 0; i < (int)(sizeof names / sizeof names[0]); i++) {
        if (strcmp(text, names[i]) == 0) {
            *choice = (enum krn_choice)i;
            return 0;
        }
    }
    return -1;
}

int krn_choice_gpus(enum krn_choice choice, int (*count)(char err[KRN_ERR_TEXT]), char text[KRN_CHOICE_TEXT])
{
    char why[KRN_ERR_TEXT] = "this program was built without CUDA";
    int n = 0;

    text[0] = '\0';
    if (choice == KRN_CHOICE_CPU)
        return 0;
    if (count != NULL)
        n = count(why);
    if (n > 0)
        return n;
    if (choice == KRN_CHOICE_CUDA) {
        snprintf(text, KRN_CHOICE_TEXT, "--backend cuda: no GPU can be used: %s", why);
        return -ENODEV;
    }
    snprintf(text, KRN_CHOICE_TEXT, "no GPU can be used (%s)", why);
    return 0;
}
