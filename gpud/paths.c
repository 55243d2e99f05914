#include "gpud/paths.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int told(int rc, const struct shm_error *why, struct gpud_error *err) {
    return rc ? gpud_fail(err, "%s", why->text) : 0;
}

int gpud_path_check_instance(const char *instance, struct gpud_error *err) {
    struct shm_error why;
    return told(shm_path_check_instance(instance, &why), &why, err);
}

int gpud_path_folder(char folder[GPUD_SOCKET_PATH_MAX], struct gpud_error *err) {
    struct shm_error why;
    return told(shm_path_folder(folder, &why), &why, err);
}

int gpud_path_socket(const char *instance, char path[GPUD_SOCKET_PATH_MAX], struct gpud_error *err) {
    struct shm_error why;
    return told(shm_path_socket(instance, path, &why), &why, err);
}

int gpud_path_make_folder(struct gpud_error *err) {
    char folder[GPUD_SOCKET_PATH_MAX];
    struct stat st;
    if (gpud_path_folder(folder, err)) return -1;
    if (mkdir(folder, 0700) && errno != EEXIST) return gpud_fail(err, "cannot make %s: %s", folder, strerror(errno));
    if (lstat(folder, &st)) return gpud_fail(err, "%s: %s", folder, strerror(errno));
    if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid())
        return gpud_fail(err, "%s is no folder of user %u; remove it, or set XDG_RUNTIME_DIR", folder,
                         (unsigned)geteuid());
    if (st.st_mode & 077)
        return gpud_fail(err, "%s is open to others (mode %03o, wanted 700)", folder, (unsigned)st.st_mode & 0777);
    return 0;
}
