#include "gpud/paths.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int gpud_path_check_instance(const char *instance, struct gpud_error *err) {
    size_t n = strlen(instance);
    if (n == 0 || n >= SHM_INSTANCE_MAX)
        return gpud_fail(err, "instance name has %zu characters; 1 to %d are allowed", n, SHM_INSTANCE_MAX - 1);
    if (instance[0] == '.' || instance[0] == '-')
        return gpud_fail(err, "instance name '%s' begins with '%c'", instance, instance[0]);
    for (const char *c = instance; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("_-.", *c))
            return gpud_fail(err, "instance name '%s': only letters, digits, '_', '-' and '.' are allowed", instance);
    return 0;
}

static bool is_own_folder(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid();
}

int gpud_path_folder(char folder[GPUD_SOCKET_PATH_MAX], struct gpud_error *err) {
    char run[GPUD_SOCKET_PATH_MAX];
    const char *xdg = getenv("XDG_RUNTIME_DIR");
    int n;
    snprintf(run, sizeof run, "/run/user/%u", (unsigned)geteuid());
    if (xdg && xdg[0] == '/')
        n = snprintf(folder, GPUD_SOCKET_PATH_MAX, "%s/pinwheel", xdg);
    else if (is_own_folder(run))
        n = snprintf(folder, GPUD_SOCKET_PATH_MAX, "%s/pinwheel", run);
    else
        n = snprintf(folder, GPUD_SOCKET_PATH_MAX, "/tmp/pinwheel-%u", (unsigned)geteuid());
    if (n >= GPUD_SOCKET_PATH_MAX)
        return gpud_fail(err, "XDG_RUNTIME_DIR is too long for a socket: %d bytes, %d are possible", n,
                         GPUD_SOCKET_PATH_MAX - 1);
    return 0;
}

int gpud_path_socket(const char *instance, char path[GPUD_SOCKET_PATH_MAX], struct gpud_error *err) {
    char folder[GPUD_SOCKET_PATH_MAX];
    if (gpud_path_check_instance(instance, err) || gpud_path_folder(folder, err)) return -1;
    int n = snprintf(path, GPUD_SOCKET_PATH_MAX, "%s/%s.sock", folder, instance);
    if (n >= GPUD_SOCKET_PATH_MAX)
        return gpud_fail(err, "socket path %s/%s.sock is too long: %d bytes, %d are possible", folder, instance, n,
                         GPUD_SOCKET_PATH_MAX - 1);
    return 0;
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
