#!/usr/bin/env bash
# The short form of `make soak`.
exec "$(dirname "$0")/soak" "${PINWHEEL_SOAK_SECONDS:-25}" "${PINWHEEL_SOAK_KILLS:-60}"
