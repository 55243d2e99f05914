#include "shm/secret.h"

#include <sys/prctl.h>
#include <sys/resource.h>

void shm_secret_process(void) {
    struct rlimit none = {0};
    setrlimit(RLIMIT_CORE, &none);
#ifndef __SANITIZE_ADDRESS__
    prctl(PR_SET_DUMPABLE, 0);
#endif
}
