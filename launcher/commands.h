/*
 * launcher/commands.h: what the commands do. Each returns the exit status, and where that is not LAUNCHER_OK err
 * holds the one line for stderr.
 */
#ifndef LAUNCHER_COMMANDS_H
#define LAUNCHER_COMMANDS_H

#include "launcher/client.h"
#include "launcher/options.h"

typedef enum launcher_exit launcher_command(const struct launcher_options *o, struct gpud_error *err);

launcher_command launcher_prove;        /* NAME|circuit.zkey input.json|witness.wtns proof.json public.json */
launcher_command launcher_verify;       /* verification_key.json public.json proof.json */
launcher_command launcher_submit;       /* NAME [file]; prints the job's id. With --each: launcher_each */
launcher_command launcher_each;         /* NAME file...: proves them all into a folder; goes on where it was ended */
launcher_command launcher_add;          /* NAME: registers a circuit */
launcher_command launcher_forget;       /* NAME: the opposite; files stay */
launcher_command launcher_witness;      /* NAME input.json witness.wtns: the witness alone */
launcher_command launcher_circuits;     /* registered circuits as --circuit takes them */
launcher_command launcher_wait;         /* ID [proof.json public.json] */
launcher_command launcher_cancel;       /* ID */
launcher_command launcher_status;
launcher_command launcher_region;       /* what the region says of slots and jobs, without the daemon */
launcher_command launcher_remove;       /* stops daemon and workers, and removes what a service leaves */
launcher_command launcher_paths;        /* prints the control socket's path, after making its folder */

#endif
