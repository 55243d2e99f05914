/* kernels/choice: the names, and what each choice comes to with GPUs, without any, and in a program without CUDA. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "kernels/choice.h"
#include "tests/check.h"

static int asked;

static int three(char err[KRN_ERR_TEXT])
{
    (void)err;
    asked++;
    return 3;
}

static int none(char err[KRN_ERR_TEXT])
{
    snprintf(err, KRN_ERR_TEXT, "no driver");
    asked++;
    return 0;
}

static void test_names(void)
{
    enum krn_choice choice;

    CHECK(krn_choice_read("auto", &choice) == 0 && choice == KRN_CHOICE_AUTO);
    CHECK(krn_choice_read("cpu", &choice) == 0 && choice == KRN_CHOICE_CPU);
    CHECK(krn_choice_read("cuda", &choice) == 0 && choice == KRN_CHOICE_CUDA);
    CHECK(krn_choice_read("CUDA", &choice) == -1 && krn_choice_read("", &choice) == -1);
    CHECK(choice == KRN_CHOICE_CUDA);
}

/* A choice comes to so many GPUs, and a text that holds these words; none: no text at all. */
static void expect(enum krn_choice choice, int (*count)(char err[KRN_ERR_TEXT]), int gpus, const char *words)
{
    char text[KRN_CHOICE_TEXT] = "as it was";

    CHECK(krn_choice_gpus(choice, count, text) == gpus);
    if (words == NULL)
        CHECK(text[0] == '\0');
    else
        CHECK(strstr(text, words) != NULL && strchr(text, '\n') == NULL);
}

int main(void)
{
    test_names();
    expect(KRN_CHOICE_AUTO, three, 3, NULL);
    expect(KRN_CHOICE_CUDA, three, 3, NULL);
    expect(KRN_CHOICE_AUTO, none, 0, "no GPU can be used (no driver)");
    expect(KRN_CHOICE_CUDA, none, -ENODEV, "--backend cuda: no GPU can be used: no driver");
    expect(KRN_CHOICE_AUTO, NULL, 0, "built without CUDA");
    expect(KRN_CHOICE_CUDA, NULL, -ENODEV, "built without CUDA");
    CHECK(asked == 4);
    expect(KRN_CHOICE_CPU, three, 0, NULL);     /* a GPU's driver is asked nothing */
    expect(KRN_CHOICE_CPU, NULL, 0, NULL);
    CHECK(asked == 4);
    return failures != 0;
}
