#include "shm/paths.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shm/error.h"

int shm_path_check_instance(const char *instance, struct shm_error *err) {
    size_t n = strlen(instance);
    if (n == 0 || n >= SHM_INSTANCE_MAX)
        return shm_error_set(err, EINVAL, "instance name has %zu characters; 1 to %d are allowed", n,
                             SHM_INSTANCE_MAX - 1);
    if (instance[0] == '.' || instance[0] == '-')
        return shm_error_set(err, EINVAL, "instance name '%s' begins with '%c'", instance, instance[0]);
    for (const char *c = instance; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("_-.", *c))
            return shm_error_set(err, EINVAL, "instance name '%s': only letters, digits, '_', '-' and '.' are allowed",
                                 instance);
    return 0;
}

static bool is_own_folder(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid();
}

int shm_path_folder(char folder[SHM_SOCKET_PATH_MAX], struct shm_error *err) {
    char run[SHM_SOCKET_PATH_MAX];
    const char *xdg = getenv("XDG_RUNTIME_DIR");
    int n;
    snprintf(run, sizeof run, "/run/user/%u", (unsigned)geteuid());
    if (xdg && xdg[0] == '/')
        n = snprintf(folder, SHM_SOCKET_PATH_MAX, "%s/pinwheel", xdg);
    else if (is_own_folder(run))
        n = snprintf(folder, SHM_SOCKET_PATH_MAX, "%s/pinwheel", run);
    else
        n = snprintf(folder, SHM_SOCKET_PATH_MAX, "/tmp/pinwheel-%u", (unsigned)geteuid());
    if (n >= SHM_SOCKET_PATH_MAX)
        return shm_error_set(err, ENAMETOOLONG, "XDG_RUNTIME_DIR is too long for a socket: %d bytes, %d are possible",
                             n,
                             SHM_SOCKET_PATH_MAX - 1);
    return 0;
}

int shm_path_socket(const char *instance, char path[SHM_SOCKET_PATH_MAX], struct shm_error *err) {
    char folder[SHM_SOCKET_PATH_MAX];
    if (shm_path_check_instance(instance, err) || shm_path_folder(folder, err))
        return -1;
    int n = snprintf(path, SHM_SOCKET_PATH_MAX, "%s/%s.sock", folder, instance);
    if (n >= SHM_SOCKET_PATH_MAX)
        return shm_error_set(err, ENAMETOOLONG, "socket path %s/%s.sock is too long: %d bytes, %d are possible", folder,
                             instance, n, SHM_SOCKET_PATH_MAX - 1);
    return 0;
}
