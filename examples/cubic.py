#!/usr/bin/env python3
"""x^3 + x + 5 = y without circom: its constraints as an .r1cs, and a producer through ctypes that fills w, a and b itself.

    cubic.py r1cs FILE                      writes the constraints
    cubic.py prove X proof.json public.json proves it with the running service

See examples/README.md. PINWHEEL_LIB names the library where it is not installed or in build/release."""
import ctypes
import os
import struct
import sys

R = 21888242871839275222246405745257275088548364400416034343698204186575808495617     # BN254's group order
ONE, Y, X, X2, X3 = range(5)        # wires; Y is public
# Each constraint is A * B = C, each a sum of coefficient * wire.
CONSTRAINTS = [({X: 1}, {X: 1}, {X2: 1}),
               ({X2: 1}, {X: 1}, {X3: 1}),
               ({X3: 1, X: 1, ONE: 5}, {ONE: 1}, {Y: 1})]


def element(v):
    return (v % R).to_bytes(32, "little")


def write_r1cs(path):
    header = struct.pack("<I", 32) + R.to_bytes(32, "little") + struct.pack("<IIIIQI", 5, 1, 0, 1, 5, len(CONSTRAINTS))
    rows = b"".join(struct.pack("<I", len(s)) + b"".join(struct.pack("<I", w) + element(k) for w, k in sorted(s.items()))
                    for constraint in CONSTRAINTS for s in constraint)
    labels = struct.pack("<5Q", *range(5))
    with open(path, "wb") as f:
        f.write(b"r1cs" + struct.pack("<II", 1, 3))
        for number, payload in ((1, header), (2, rows), (3, labels)):
            f.write(struct.pack("<IQ", number, len(payload)) + payload)


class Slot(ctypes.Structure):
    """struct pinwheel_slot"""
    _fields_ = [("job", ctypes.c_uint64), ("curve", ctypes.c_uint32), ("n_vars", ctypes.c_uint32), ("n_public", ctypes.c_uint32),
                ("n_rows", ctypes.c_uint32), ("log_domain", ctypes.c_uint32), ("attempt", ctypes.c_uint32),
                ("w", ctypes.c_void_p), ("a", ctypes.c_void_p), ("b", ctypes.c_void_p), ("c", ctypes.c_void_p)]


def load():
    here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../build/release/libpinwheel-synth.so")
    lib = ctypes.CDLL(os.environ.get("PINWHEEL_LIB") or (here if os.path.exists(here) else "libpinwheel-synth.so"))
    handle, text = ctypes.c_void_p, ctypes.POINTER(ctypes.c_char_p)
    lib.pinwheel_synth_join.restype = handle
    lib.pinwheel_synth_join.argtypes = [ctypes.c_char_p, ctypes.c_char_p]
    lib.pinwheel_synth_error.restype = ctypes.c_char_p
    lib.pinwheel_synth_error.argtypes = [handle]
    lib.pinwheel_synth_claim.argtypes = [handle, ctypes.c_char_p, ctypes.c_int, ctypes.POINTER(Slot)]
    lib.pinwheel_synth_commit.argtypes = [handle, ctypes.c_uint32]
    lib.pinwheel_synth_abandon.argtypes = [handle, ctypes.c_char_p]
    lib.pinwheel_synth_wait.argtypes = [handle, ctypes.c_uint64, ctypes.c_int, text, text]
    lib.pinwheel_synth_free.argtypes = [ctypes.c_char_p]
    lib.pinwheel_synth_leave.argtypes = [handle]
    return lib


def fill(slot, x):
    """w plain; a and b in Montgomery form, zero beyond the last row."""
    w = {ONE: 1, Y: x**3 + x + 5, X: x, X2: x**2, X3: x**3}
    rows = [[sum(k * w[wire] for wire, k in s.items()) for s in constraint[:2]] for constraint in CONSTRAINTS]
    rows += [[w[ONE], 0], [w[Y], 0]]        # one for the constant and each public signal
    domain = 1 << slot.log_domain
    ctypes.memmove(slot.w, b"".join(element(w[i]) for i in range(5)), 32 * 5)
    for i, at in enumerate((slot.a, slot.b)):
        values = b"".join(element(row[i] << 256) for row in rows)
        ctypes.memmove(at, values + bytes(32 * domain - len(values)), 32 * domain)


def prove(x, proof_path, public_path):
    lib, slot, why = load(), Slot(), ctypes.create_string_buffer(512)
    s = lib.pinwheel_synth_join(os.environ.get("PINWHEEL_INSTANCE", "default").encode(), why)
    if not s:
        sys.exit(f"cubic.py: {why.value.decode()}")
    proof, public = ctypes.c_char_p(), ctypes.c_char_p()
    try:
        if lib.pinwheel_synth_claim(s, b"cubic", 60000, ctypes.byref(slot)):
            sys.exit(f"cubic.py: {lib.pinwheel_synth_error(s).decode()}")
        fill(slot, x)
        if lib.pinwheel_synth_commit(s, 0) or lib.pinwheel_synth_wait(s, slot.job, -1, ctypes.byref(proof), ctypes.byref(public)):
            sys.exit(f"cubic.py: {lib.pinwheel_synth_error(s).decode()}")
        for path, text in ((proof_path, proof), (public_path, public)):
            with open(path, "wb") as f:
                f.write(text.value)
            lib.pinwheel_synth_free(text)
    finally:
        lib.pinwheel_synth_leave(s)


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] == "r1cs":
        write_r1cs(sys.argv[2])
    elif len(sys.argv) == 5 and sys.argv[1] == "prove":
        prove(int(sys.argv[2]), sys.argv[3], sys.argv[4])
    else:
        sys.exit(__doc__)
