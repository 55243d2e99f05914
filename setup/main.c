/*
 * pinwheel-setup: `pinwheel setup`, a program of its own because it works on a GPU where there is one. The only file of
 * it that names CUDA.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "kernels/choice.h"
#include "kernels/parallel.h"
#include "setup/setup.h"
#include "shm/secret.h"

#ifdef PINWHEEL_CUDA
static const struct krn_setup_backend *const cuda = &krn_setup_cuda;
#else
static const struct krn_setup_backend *const cuda = NULL;
#endif

enum { EXIT_REFUSED = 1, EXIT_USAGE = 2 };

struct arguments {
    enum krn_choice backend;
    unsigned threads;
    const char *vk, *r1cs, *zkey;
    int test_hooks;
};

static int usage(void)
{
    fprintf(stderr, "usage: pinwheel setup [--vk vk.json] [--backend auto|cpu|cuda] [--threads N] circuit.r1cs "
                    "circuit.zkey\n");
    return EXIT_USAGE;
}

static void show_progress(void *ctx, unsigned long long done, unsigned long long total)
{
    (void)ctx;
    fprintf(stderr, "\r%3llu %% of %llu points%s", 100 * done / total, total, done == total ? "\n" : "");
}

/* A decimal number from 1 to KRN_MAX_THREADS; 0 or -1. */
static int parse_threads(const char *text, unsigned *threads)
{
    char *end;
    unsigned long n = strtoul(text, &end, 10);

    if (*text < '1' || *text > '9' || *end != '\0' || n > KRN_MAX_THREADS)
        return -1;
    *threads = (unsigned)n;
    return 0;
}

static int parse(struct arguments *a, int argc, char **argv)
{
    static const struct option options[] = {
        {"vk", required_argument, NULL, 'v'},       {"threads", required_argument, NULL, 't'},
        {"backend", required_argument, NULL, 'b'},  {"test-hooks", no_argument, NULL, 'T'},
        {NULL, 0, NULL, 0},
    };
    int option, rc = 0;

    while (rc == 0 && (option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (option) {
        case 'v': a->vk = optarg; break;
        case 't': rc = parse_threads(optarg, &a->threads); break;
        case 'b': rc = krn_choice_read(optarg, &a->backend); break;
        case 'T': a->test_hooks = 1; break;
        default: rc = -1;
        }
    }
    if (rc != 0 || argc - optind != 2)
        return -1;
    a->r1cs = argv[optind];
    a->zkey = argv[optind + 1];
    return 0;
}

/* NULL where a GPU is demanded and cannot be used. */
static const struct krn_setup_backend *choose(enum krn_choice choice)
{
    char text[KRN_CHOICE_TEXT];
    int n = krn_choice_gpus(choice, cuda ? cuda->count : NULL, text);

    if (text[0] != '\0')
        fprintf(stderr, "pinwheel setup: %s%s\n", text, n == 0 ? ": on the CPU" : "");
    return n > 0 ? cuda : n == 0 ? &krn_setup_cpu : NULL;
}

int main(int argc, char **argv)
{
    const struct setup_progress terminal = {.step = show_progress};
    struct arguments a = {.vk = NULL};
    struct setup_options o = {.progress = isatty(STDERR_FILENO) ? &terminal : NULL};
    struct fmt_error err;

    if (parse(&a, argc, argv) != 0)
        return usage();
    shm_secret_process();
    fprintf(stderr, "pinwheel setup: %s is for DEVELOPMENT only, NOT for production: this process knows its trapdoor\n",
            a.zkey);
    o.backend = choose(a.backend);
    if (!o.backend)
        return EXIT_REFUSED;
    o.threads = a.threads;
    o.trapdoor = a.test_hooks ? getenv("PINWHEEL_TEST_TRAPDOOR") : NULL;
    if (setup_write(a.r1cs, a.zkey, &o, &err) == 0 && (!a.vk || setup_write_vk(a.zkey, a.vk, &err) == 0))
        return 0;
    fprintf(stderr, "pinwheel setup: %s\n", err.text);
    return EXIT_REFUSED;
}
