/*
 * shm/secret.h: a process that holds witnesses keeps them to itself.
 */
#ifndef SHM_SECRET_H
#define SHM_SECRET_H

/* No core dump, and no debugger of another process of this user (under AddressSanitizer, which needs one, only the first). */
void shm_secret_process(void);

#endif
