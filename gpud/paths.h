/*
 * gpud/paths.h: shm/paths.h with the daemon's errors, and the folder of sockets made. It must belong to this user and
 * be closed to others (0700), since whoever can replace the socket can take over its clients.
 */
#ifndef GPUD_PATHS_H
#define GPUD_PATHS_H

#include "gpud/error.h"
#include "shm/paths.h"

enum { GPUD_SOCKET_PATH_MAX = SHM_SOCKET_PATH_MAX };

/* Letters, digits, '_', '-' and '.', not first '.' or '-', shorter than SHM_INSTANCE_MAX. */
int gpud_path_check_instance(const char *instance, struct gpud_error *err);

/* The folder of sockets, without a slash at its end. */
int gpud_path_folder(char folder[GPUD_SOCKET_PATH_MAX], struct gpud_error *err);

/* <folder>/<instance>.sock */
int gpud_path_socket(const char *instance, char path[GPUD_SOCKET_PATH_MAX], struct gpud_error *err);

/* Makes the folder of sockets where it is missing, and refuses one that is another user's or open to others. */
int gpud_path_make_folder(struct gpud_error *err);

#endif
