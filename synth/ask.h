/*
 * synth/ask.h: one request to the daemon's control socket and its reply (docs/PROTOCOL.md), on a connection of its own.
 */
#ifndef SYNTH_ASK_H
#define SYNTH_ASK_H

#include "formats/json.h"

enum { SYNTH_ASK_CODE = 32, SYNTH_ASK_MOST = 64 << 20 };

enum synth_asked { SYNTH_ANSWERED, SYNTH_REFUSED, SYNTH_UNREACHABLE };

/* Takes request over. ANSWERED: *reply is the caller's. REFUSED: the daemon's text in err, its code in code.
 * UNREACHABLE: nobody answers there within patience_ms. */
enum synth_asked synth_ask(const char *socket, struct fmt_json *request, int patience_ms, struct fmt_json **reply,
                           char code[SYNTH_ASK_CODE], struct fmt_error *err);

/* Connects to a socket; neither end of it waits longer than patience_ms. The descriptor, or -errno. */
int synth_connect(const char *socket, int patience_ms);

#endif
