/*
 * synth/shim.h: the text of synth/shim/circom.h and circom.c, which are compiled together with every translated
 * program.
 */
#ifndef SYNTH_SHIM_H
#define SYNTH_SHIM_H

extern const char synth_shim_header[], synth_shim_header_end[];
extern const char synth_shim_source[], synth_shim_source_end[];

#endif
