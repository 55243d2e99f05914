# Pinwheel: one Makefile. `make help` lists the targets.
#
# Everything that is built stays under build/. VARIANT=release (default), asan or tsan chooses a set of flags and
# a folder of its own. A source is found by where it lies: DIR/*.c goes into libDIR, DIR/main.c is a program,
# tests/*_test.c are test programs, tests/bench/*_bench.c benchmarks, tests/fuzz/*_fuzz.c fuzz targets.

VARIANT ?= release
# V=1 shows whole commands.
Q := $(if $(filter 1,$(V)),,@)
say = @$(if $(filter 1,$(V)),:,printf '  %-5s %s\n')
PREFIX ?= /usr/local
B := build/$(VARIANT)
CC := gcc
CLANG := clang
NVCC ?= $(shell command -v nvcc 2>/dev/null || ls /usr/local/cuda/bin/nvcc 2>/dev/null)
# The GPU back end is built where there is a compiler for it and a GPU to run it; CUDA=1 builds it on a machine without
# a GPU (the programs then start on the CPU), CUDA=0 leaves it out.
CUDA ?= $(if $(and $(NVCC),$(wildcard /dev/nvidiactl /proc/driver/nvidia)),1,0)
CUDA_ARCH ?= -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90 \
    -gencode arch=compute_90,code=compute_90

WARN := -Wall -Wextra -Werror -Wstrict-prototypes -Wmissing-prototypes -Wshadow -Wvla -Wno-unused-function
FLAGS.release := -O2
FLAGS.asan := -O1 -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
FLAGS.tsan := -O1 -fsanitize=thread
CFLAGS := -std=c11 -D_GNU_SOURCE -g $(WARN) $(FLAGS.$(VARIANT)) -I. -pthread -fno-strict-aliasing \
	-fPIC -fvisibility=hidden -fno-var-tracking-assignments
LDFLAGS := -pthread $(filter -fsanitize%,$(FLAGS.$(VARIANT)))
LIBS := -ljansson -lmd -luring -lnuma -lm
ifneq ($(VARIANT),release)
CUDA := 0
endif

# Instruction sets beyond the baseline are for files that say so in their name; they are entered only after a
# run-time check.
ISA_adx := -mbmi2 -madx
ISA_ifma := -mavx512f -mavx512dq -mavx512vl -mavx512bw -mavx512ifma -mbmi2 -madx
isa = $(ISA_$(lastword $(subst _, ,$(basename $(notdir $(1))))))

libsrc = $(filter-out %/main.c,$(wildcard $(1)/*.c))
obj = $(patsubst %.c,$(B)/%.o,$(1))
PARTS := shm kernels formats synth gpud setup launcher
ARCHIVES := $(PARTS:%=$(B)/lib%.a)

# Who may link what; the include check in tests/ holds the same picture.
KERNELS := $(B)/libkernels.a
PROGRAMS := $(B)/pinwheel-gpud $(B)/pinwheel-synth $(B)/pinwheel-setup $(B)/pinwheel-tool
TESTS := $(patsubst tests/%.c,$(B)/tests/%,$(wildcard tests/*_test.c))
BENCHES := $(patsubst tests/bench/%.c,$(B)/bench/%,$(wildcard tests/bench/*_bench.c))
FUZZERS := $(patsubst tests/fuzz/%.c,build/fuzz/%,$(wildcard tests/fuzz/*_fuzz.c))
TEST_HELPERS := $(patsubst tests/helpers/%.c,$(B)/tests/helpers/%,$(wildcard tests/helpers/*.c))
GPU_TESTS := $(patsubst tests/gpu/%.cu,$(B)/gpu/%,$(wildcard tests/gpu/*_gputest.cu))
GPU_BENCHES := $(patsubst tests/gpu/%.cu,$(B)/gpu/%,$(wildcard tests/gpu/*_gpubench.cu))
GPU_HELPERS := $(B)/tests/gpu/reference.o $(B)/tests/gpu/generate.cu.o
PARTITION := $(B)/tests/gpu/partition_key.cu.o $(B)/tests/gpu/partition_feed.o

CU := $(wildcard kernels/*.cu)
ifeq ($(CUDA),1)
CUDA_HOME := $(patsubst %/bin/,%,$(dir $(realpath $(NVCC))))
CU_OBJ := $(CU:%.cu=$(B)/%.cu.o)
SETUP_CU_OBJ := $(B)/kernels/setup.cu.o
CUDA_LIBS := $(if $(CU),-L$(CUDA_HOME)/lib64 -lcudart_static -lstdc++ -ldl -lrt)
CFLAGS.gpud/main := -DPINWHEEL_CUDA
CFLAGS.setup/main := -DPINWHEEL_CUDA
endif
NVFLAGS := -O3 -std=c++17 -I. --expt-relaxed-constexpr -Xcompiler -Wall $(CUDA_ARCH)

.DEFAULT_GOAL := all
.PHONY: FORCE all help deps install demo test test-gpu test-gpu-sanitizer test-numa bench bench-gpu fuzz soak clean
.PHONY: programs tests
.SECONDARY:

all: programs               ## build the programs
programs: $(PROGRAMS) $(B)/pinwheel $(B)/libpinwheel-synth.so
tests: programs $(TESTS) $(TEST_HELPERS)

help:                       ## list the targets
	@sed -n 's/^\([a-z][a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | awk -F'\t' '{printf "  make %-18s %s\n", $$1, $$2}'

deps:                       ## install what building and testing need (Debian packages, as root)
	@tests/deps

demo:                       ## from a bare machine to a verified proof through the whole service
	@tests/deps build
	@$(MAKE) --no-print-directory -j$$(nproc) programs
	@tests/demo $(B)

test: deps                  ## build and run every test; ends with 'N passed, N failed, N skipped'
	@$(MAKE) --no-print-directory -j$$(nproc) tests
	@tests/run $(B)

bench: deps                 ## speed of every part, each beside its physical limit
	@$(MAKE) --no-print-directory -j$$(nproc) programs $(BENCHES)
	@tests/bench/run $(B)

test-gpu: programs $(GPU_TESTS) $(B)/gpu/partition_gpubench     ## what needs a GPU: equal to the CPU byte for byte
	@tests/gpu/run $(B)

test-gpu-sanitizer: $(GPU_TESTS)    ## the same on small sizes under memcheck and racecheck; fails on any finding
	@tests/gpu/sanitize $(B)

bench-gpu: $(GPU_BENCHES)   ## GPU speed beside its floor, one table
	@for b in $(GPU_BENCHES); do $$b || exit 1; done

fuzz: deps                  ## long fuzzing of the parsers (FUZZ_SECONDS per target, default 300)
	@$(MAKE) --no-print-directory -j$$(nproc) $(FUZZERS)
	@tests/fuzz/run $${FUZZ_SECONDS:-300}

test-numa: programs         ## shm/ in guests with NUMA nodes, two kernels (fetches them and QEMU, installs nothing)
	@bash tests/numa_test.sh

soak: programs              ## a service whose workers and daemon are killed at random (SOAK_SECONDS, default 600)
	@PINWHEEL_BUILD=$(B) tests/soak $${SOAK_SECONDS:-600}

install: programs           ## install under PREFIX (default /usr/local), below DESTDIR where that is set
	install -d $(addprefix $(DESTDIR)$(PREFIX)/,bin lib/pkgconfig include share/man/man3)
	install -m 755 $(PROGRAMS) $(B)/pinwheel $(DESTDIR)$(PREFIX)/bin
	install -m 644 $(B)/libpinwheel-synth.so $(DESTDIR)$(PREFIX)/lib/libpinwheel-synth.so.1
	ln -sf libpinwheel-synth.so.1 $(DESTDIR)$(PREFIX)/lib/libpinwheel-synth.so
	install -m 644 synth/pinwheel-synth.h $(DESTDIR)$(PREFIX)/include
	$(Q)sed 's|@PREFIX@|$(PREFIX)|' synth/pinwheel-synth.pc.in >$(DESTDIR)$(PREFIX)/lib/pkgconfig/pinwheel-synth.pc
	install -m 644 docs/man/pinwheel-synth.3 $(DESTDIR)$(PREFIX)/share/man/man3

clean:                      ## remove build/
	rm -rf build

# ---- rules ----
# What the flags say is kept in files, so that objects are made anew when it changes.
$(B)/flags: private SAYS = $(CC) $(CFLAGS)
$(B)/flags.cuda: private SAYS = $(CUDA)
$(B)/flags.nvcc: private SAYS = $(NVFLAGS)
$(B)/flags $(B)/flags.cuda $(B)/flags.nvcc: FORCE
	@mkdir -p $(@D)
	@echo '$(SAYS)' | cmp -s - $@ || echo '$(SAYS)' >$@
FORCE:

$(B)/%.o: %.c $(B)/flags
	@mkdir -p $(@D)
	$(say) CC $<
	$(Q)$(CC) $(CFLAGS) $(CFLAGS.$*) $(call isa,$<) $(if $(filter kernels/%,$<),$(if $(filter release,$(VARIANT)),-O3)) \
	    -MMD -MP -c $< -o $@
$(B)/gpud/main.o $(B)/setup/main.o: $(B)/flags.cuda

$(B)/%.cu.o: %.cu $(B)/flags.nvcc
	@mkdir -p $(@D)
	$(say) NVCC $<
	$(Q)$(NVCC) $(NVFLAGS) -MMD -MP -MF $(@:.o=.d) -c $< -o $@

$(foreach p,$(PARTS),$(eval $(B)/lib$(p).a: $(call obj,$(call libsrc,$(p)))))
$(ARCHIVES):
	@mkdir -p $(@D)
	@rm -f $@
	$(Q)ar rcs $@ $^

link = $(CC) $(LDFLAGS) -o $@ $(filter %.o,$^) -Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(LIBS)

$(B)/pinwheel-gpud: $(B)/gpud/main.o $(B)/libgpud.a $(B)/libformats.a $(B)/libshm.a $(KERNELS) $(CU_OBJ)
	$(say) LINK $@
	$(Q)$(link) $(CUDA_LIBS)
$(B)/pinwheel-synth: $(B)/synth/main.o $(B)/libsynth.a $(B)/libformats.a $(B)/libshm.a $(KERNELS)
	$(say) LINK $@
	$(Q)$(link)
$(B)/pinwheel-setup: $(B)/setup/main.o $(B)/libsetup.a $(B)/libformats.a $(B)/libshm.a $(KERNELS) $(SETUP_CU_OBJ)
	$(say) LINK $@
	$(Q)$(link) $(CUDA_LIBS)
$(B)/pinwheel-tool: $(B)/launcher/main.o $(B)/liblauncher.a $(B)/libgpud.a $(B)/libsynth.a $(B)/libformats.a \
    $(B)/libshm.a $(KERNELS)
	$(say) LINK $@
	$(Q)$(link)
$(B)/pinwheel: launcher/pinwheel
	@mkdir -p $(@D)
	$(Q)install -m 755 $< $@

# The library for foreign producers; nothing but its interface is visible.
$(B)/synth/shim.o: $(wildcard synth/shim/*)
$(B)/libpinwheel-synth.so: $(B)/synth/foreign.o $(B)/libsynth.a $(B)/libformats.a $(B)/libshm.a $(KERNELS)
	$(say) LINK $@
	$(Q)$(link) -shared -Wl,-soname,libpinwheel-synth.so.1
	$(Q)ln -sf libpinwheel-synth.so $(B)/libpinwheel-synth.so.1

$(B)/tests/%: $(B)/tests/%.o $(ARCHIVES)
	@mkdir -p $(@D)
	$(say) LINK $@
	$(Q)$(link)
$(B)/bench/%: $(B)/tests/bench/%.o $(ARCHIVES)
	@mkdir -p $(@D)
	$(say) LINK $@
	$(Q)$(link)
$(B)/gpu/partition_gpubench: $(PARTITION)
$(B)/gpu/%: $(B)/tests/gpu/%.cu.o $(GPU_HELPERS) $(ARCHIVES) $(CU_OBJ)
	@mkdir -p $(@D)
	$(say) LINK $@
	$(Q)$(link) $(CUDA_LIBS)

# What is fuzzed reads bytes from elsewhere; the arithmetic behind it is the release build's.
FUZZ_SRC := $(foreach p,$(filter-out kernels,$(PARTS)),$(call libsrc,$(p)))
FUZZ_OBJ := $(patsubst %.c,build/fuzz/obj/%.o,$(FUZZ_SRC))
build/fuzz/obj/%.o: %.c
	@mkdir -p $(@D)
	$(say) CLANG $@
	$(Q)$(CLANG) -std=c11 -D_GNU_SOURCE -g -O1 -I. -fno-strict-aliasing \
	    -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all -MMD -MP -c $< -o $@
build/fuzz/libfuzzed.a: $(FUZZ_OBJ)
	@rm -f $@
	$(Q)ar rcs $@ $^
build/fuzz/%: build/fuzz/obj/tests/fuzz/%.o build/fuzz/libfuzzed.a build/release/libkernels.a
	$(say) CLANG $@
	$(Q)$(CLANG) -fsanitize=fuzzer,address,undefined -pthread -o $@ $^ $(LIBS)

-include $(shell find build -name '*.d' 2>/dev/null)
