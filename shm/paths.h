/*
 * shm/paths.h: names that a service has outside the region: its instance and its control socket.
 *
 * The folder of sockets is $XDG_RUNTIME_DIR/pinwheel, else /run/user/<uid>/pinwheel, else /tmp/pinwheel-<uid>.
 */
#ifndef SHM_PATHS_H
#define SHM_PATHS_H

#include "shm/region.h"

enum { SHM_SOCKET_PATH_MAX = 108 };     /* of sockaddr_un */

/* Letters, digits, '_', '-' and '.', not first '.' or '-', shorter than SHM_INSTANCE_MAX. */
int shm_path_check_instance(const char *instance, struct shm_error *err);

/* The folder of sockets, without a slash at its end. */
int shm_path_folder(char folder[SHM_SOCKET_PATH_MAX], struct shm_error *err);

/* <folder>/<instance>.sock */
int shm_path_socket(const char *instance, char path[SHM_SOCKET_PATH_MAX], struct shm_error *err);

#endif
