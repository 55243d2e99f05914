/*
 * shm/secret.h: a process that holds witnesses keeps them to itself.
 */
#ifndef SHM_SECRET_H
#define SHM_SECRET_H

/* No core dump, and no debugger of another process of this user (the first alone under AddressSanitizer, which needs
 * a debugger). */
void shm_secret_process(void);

#endif
