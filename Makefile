# plaingrad. `make help` lists the targets; tests/tests.mk has those for tests, benchmarks and pages.

# ---- 1. Settings: `make NAME=value`; CXX, CPPFLAGS, CXXFLAGS, LDFLAGS as everywhere; CI=true or WERROR=1: warnings are errors

VARIANT ?= release#  double, asan, tsan: the same sources, built to find other faults
BUILD   ?= build#    where everything goes; another folder for another compiler keeps both
PREFIX  ?= /usr/local
TESTS   ?=#          a Catch2 filter, e.g. TESTS='[matmul]': only what these tests need is built
GRADCHECKS ?= yes#   no: `make test` leaves out the double build's gradient checks
PYTHON  ?= python3#  for comparisons with PyTorch and others
DATA    ?= data/multi30k#  where bench-multi30k finds its text
MPI     ?=#          MPI=1: programs can train in many processes; needs an MPI (make deps-mpi)
MPICC   ?= mpicc#    its compiler, which is only asked for flags
RUN     ?=#          put before every program that the tests start, e.g. qemu-aarch64
V       ?=#          V=1 prints the commands
UNITY   ?= yes#      no: compiles each file alone, which is faster while editing
PCH     ?= $(if $(findstring ccache,$(CXX)),no,yes)#  no: without precompiled headers; ccache has no use for them. tests: only for tests
# Builds in parallel by default. The user's -j wins, and a sub-make shares its parent's jobs.
JOBS_HERE := $(if $(filter 0,$(MAKELEVEL)),-j$(shell nproc 2>/dev/null || getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2))
MAKEFLAGS += $(JOBS_HERE) --no-print-directory --no-builtin-rules
.SUFFIXES:
.DELETE_ON_ERROR:
.DEFAULT_GOAL := all
.PHONY: FORCE
H := \#
# `make clean all`: first the one, then the other. So with those that rewrite pages, copy them, or check them.
ifneq ($(filter clean,$(MAKECMDGOALS))$(word 2,$(filter chapters chapters-quick traps test,$(MAKECMDGOALS))),)
.NOTPARALLEL:
endif

OUT     := $(BUILD)$(if $(filter-out release,$(VARIANT)),/$(VARIANT))
OBJ     := $(OUT)/obj
LIB     := $(OUT)/libplaingrad.a
APPS_IN := $(if $(filter-out build,$(OUT)),$(OUT)/apps,apps)#  only the plain build's are where the README looks for them
# ---- 2. The compiler and its flags --------------------------------------------------------------
# It is checked only if something is compiled: `make help` and `make deps` work without one.
ifneq ($(filter-out help deps deps-% clean size format uninstall exercise solution-%,$(or $(MAKECMDGOALS),all)),)
COMPILER := $(shell sh tests/tools/compiler.sh $(CXX))
$(if $(filter error,$(firstword $(COMPILER))),$(error $(wordlist 2,99,$(COMPILER))))
endif
MACHINE := $(firstword $(COMPILER))
CLANG   := $(findstring clang,$(COMPILER))

# Never -march=native (the kernels are compiled for each instruction set and picked at start) and never fast-math (same bits
# everywhere). -ffp-contract=off: the compiler must not fuse a*b+c where we did not write fma, or gcc and clang, and one
# machine and the next, would differ in the last bit. Sanitizers double the compiler's work: they get -O1, and only line
# numbers to debug with. (gcc then warns about uninitialised values where there are none; these are no errors.)
SANITIZED = -O1 -g1 -fno-omit-frame-pointer $(if $(CLANG),,-Wno-maybe-uninitialized -Wno-error)
FLAGS_release = -O2
FLAGS_double  = -O2 -DPLAINGRAD_REAL=double
FLAGS_asan    = $(SANITIZED) -fsanitize=address,undefined -fno-sanitize-recover=all -D_GLIBCXX_ASSERTIONS
FLAGS_tsan    = $(SANITIZED) -fsanitize=thread
$(if $(filter $(VARIANT),release double asan tsan),,$(error unknown VARIANT '$(VARIANT)'; it is one of release, double, asan, tsan))
# (Clang 19 and later warn of what stable_sort of libstdc++ 12 calls.)
WARNINGS = -Wall -Wextra -Wpedantic -Wshadow -Wconversion $(if $(CLANG),-Wno-deprecated-declarations) \
           $(if $(filter true,$(CI))$(filter-out 0,$(WERROR)),-Werror)
FLAGS = -std=c++20 -pthread -ffp-contract=off -I. $(WARNINGS) $(FLAGS_$(VARIANT)) $(CPPFLAGS) $(CXXFLAGS)
# With MPI the library has nn/parallel/team_mpi.cpp, which alone is compiled with its flags, instead of team_without_mpi.cpp.
# (Its C interface suffices.) The processes of a run compare their sources: builds of one version may differ.
ifneq ($(MPI),)
MPI_SHOW := $(shell $(MPICC) -show 2>/dev/null)
$(if $(MPI_SHOW),,$(error MPI=1 needs an MPI, and $(MPICC) is not there: `make deps-mpi`, or MPICC=... of yours))
SOURCES   := $(shell find autograd nn models apps -name '*.h' -o -name '*.cpp' | LC_ALL=C sort | xargs cat | cksum | tr ' ' -)
MPI_FLAGS := $(filter -I%,$(MPI_SHOW)) -DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX -DPLAINGRAD_SOURCES='"$(SOURCES)"'
LIBS      := $(filter -L% -l% -Wl%,$(MPI_SHOW))
endif

# unit.cpp is compiled for the baseline, a plain struct, and for sets of vectors: this processor's (ISA=native), or all, for
# tests, benchmarks and other machines. What this folder has already stays, so that `make` after `make test` does nothing.
# The double build has no vectors. Under sanitizers AVX-512, of AVX2's source, would take as long as all else; clang 16
# crashes on the last. dispatch.cpp finds out by weak symbols what there is; macOS has none.
SETS   := $(if $(filter x86_64-% amd64-%,$(MACHINE)),avx2 $(if $(filter asan tsan,$(VARIANT)),,avx512 \
    $(if $(findstring clang version 16.,$(COMPILER)),,avx512bf16)))$(if $(filter aarch64-% arm64-%,$(MACHINE)),neon)
ISA    ?= $(if $(filter test% bench% install trust% %/tests %/trust/% %/bench/%,$(MAKECMDGOALS))$(filter asan tsan,$(VARIANT))$(findstring darwin,$(MACHINE)),all,native)
$(if $(filter-out native all avx2 avx512 avx512bf16 neon,$(ISA)),$(error ISA=$(ISA): it is native, all, or some of avx2 avx512 avx512bf16 neon))
MACROS := $(if $(filter native,$(ISA)),$(if $(MACHINE),$(shell $(CXX) -march=native -dM -E -x c++ /dev/null 2>/dev/null)))
NATIVE := $(if $(findstring __AVX512BW__,$(MACROS)),avx512 $(if $(findstring __AVX512BF16__,$(MACROS)),avx512bf16), \
    $(if $(findstring __AVX2__,$(MACROS)),avx2,$(if $(findstring __SSE2__,$(MACROS)),,$(SETS))))
BUILT  := $(patsubst $(OBJ)/autograd/kernels/unit_%.o,%,$(wildcard $(OBJ)/autograd/kernels/unit_*.o))
ISAS   := baseline $(if $(filter double,$(VARIANT)),,$(filter $(patsubst native,$(NATIVE),$(ISA:all=$(SETS))) $(BUILT),$(SETS)))
# -O3: at -O2 gcc does not unroll the loops over a register tile, and the tile then lives in memory. (The baseline has
# no registers to lose, and sanitizers cost enough by themselves.) Off are gcc 12's warnings about uninitialised values in
# its own AVX-512 header (its bug 105593), and -Wpsabi, on how vectors are passed between objects: ours are inlined.
FAST         = $(if $(filter release,$(VARIANT)),-O3)
ISA_baseline = -DPLAINGRAD_SIMD_PLAIN
ISA_avx2     = $(FAST) -mavx2 -mfma
ISA_avx512   = $(FAST) -mavx512f -mavx512dq -mavx512vl -mavx512bw $(if $(CLANG),,-Wno-uninitialized -Wno-maybe-uninitialized)
ISA_avx512bf16 = $(ISA_avx512) -mavx512bf16 -Wno-unused-function#  only its products of bfloat16 are used
ISA_neon     = $(FAST)

# ---- 3. Sources ---------------------------------------------------------------------------------
find = $(shell find $(1) -name '$(2)' 2>/dev/null | LC_ALL=C sort)
# unit.cpp includes the other kernel files, but dispatch.cpp and scratch.cpp, which are compiled as any source.
LIB_SRC  := $(filter-out nn/parallel/team_%mpi.cpp $(filter-out %/dispatch.cpp %/scratch.cpp,$(wildcard autograd/kernels/*.cpp)), \
    $(call find,autograd nn models,*.cpp))
KIT_SRC  := $(call find,apps/kit,*.cpp) $(call find,apps/kit,*.html) $(call find,apps/kit,*.txt)
# A program is apps/NAME.cpp, or apps/programs/NAME/main.cpp. The rest of such a folder is in a library, so that tests can
# look inside; a text in it is data that the program carries.
IN_FILE   := $(filter-out one_page,$(patsubst apps/%.cpp,%,$(sort $(wildcard apps/*.cpp))))
IN_FOLDER := $(patsubst apps/programs/%/main.cpp,%,$(sort $(wildcard apps/programs/*/main.cpp)))
APPS      := $(sort $(IN_FILE) $(IN_FOLDER))
PART_SRC  := $(filter-out %/main.cpp,$(call find,apps/programs,*.cpp)) $(call find,apps/programs,*.txt)
# A folder is compiled as one file, which includes its .cpp files: otherwise the compiler would spend most of its time on
# the same headers and templates for each file. (So a name in an unnamed namespace must be unique in its folder.)
objects = $(patsubst %,$(OBJ)/%.o,$(basename $(filter %.txt %.html,$(1)))) $(if $(filter no,$(UNITY)),$(patsubst %.cpp,$(OBJ)/%.o,$(filter %.cpp,$(1))), \
    $(patsubst %/,$(OBJ)/%/all.o,$(sort $(dir $(filter %.cpp,$(1))))))
KERNEL_OBJ := $(ISAS:%=$(OBJ)/autograd/kernels/unit_%.o)
LIB_OBJ    := $(call objects,$(LIB_SRC))
KIT_OBJ    := $(call objects,$(KIT_SRC))
PART_OBJ   := $(call objects,$(PART_SRC))
MAIN_OBJ   := $(IN_FILE:%=$(OBJ)/apps/%.o) $(IN_FOLDER:%=$(OBJ)/apps/programs/%/main.o)
PARTS      := $(OUT)/libprograms.a
KIT        := $(OUT)/libkit.a
SHARED     := $(OUT)/libtests.a
PROGRAMS   := $(APPS:%=$(APPS_IN)/%)
TEAM       := $(dir $(LIB))team

# ---- 4. Compiling and linking -------------------------------------------------------------------
Q = $(if $(V),,@)
say = @mkdir -p $(@D)$(if $(V),, && echo '  $(1) $@')
# A file of this TEXT is rewritten only when the text changes; then all that depends on it is made again: `flags` changes
# with the compiler and its flags, `list` when a source is added or removed, `team` with the MPI.
quote = '$(subst ','\'',$(1))'
stamp = @mkdir -p $(@D); printf '%s\n' $(TEXT) | cmp -s - $@ || printf '%s\n' $(TEXT) > $@
include_each = $(foreach file,$(1),$(call quote,$(H)include $(file)))
$(OUT)/flags: TEXT = $(call quote,$(CXX) $(COMPILER) $(FLAGS))
$(OUT)/list:  TEXT = $(call quote,$(LIB_OBJ) $(KIT_OBJ) $(PART_OBJ))
$(TEAM):      TEXT = $(call quote,$(MPI_SHOW) $(SOURCES))
# The standard headers that most files include are precompiled, and once more with Catch2 for the tests: reading them
# took half of the time for most files. No file may rely on this: `make headers` compiles each header alone.
STD = <algorithm> <array> <cmath> <cstdint> <cstdlib> <functional> <initializer_list> <iostream> <map> <memory> <numeric> \
      <optional> <sstream> <stdexcept> <string> <string_view> <unordered_map> <utility> <vector>
$(OUT)/std.h: TEXT = $(call include_each,$(STD))
$(OUT)/folders/%/all.cpp: TEXT = $(foreach file,$(LIB_SRC) $(KIT_SRC) $(PART_SRC),$(if $(filter $*/,$(dir $(file))),$(if $(filter %.cpp,$(file)),$(call include_each,"$(file)"))))
.PRECIOUS: $(OUT)/folders/%/all.cpp $(OUT)/exercises/%
$(OUT)/flags $(OUT)/list $(TEAM) $(OUT)/std.h: FORCE
	$(stamp)
$(OUT)/folders/%/all.cpp: FORCE
	$(stamp)
$(OUT)/%.h.gch: $(OUT)/%.h $(OUT)/flags
	$(call say,c++)
	$(Q)$(CXX) $(FLAGS) $(CATCH_FLAGS) -x c++-header $< -o $@
$(LIB_OBJ) $(KIT_OBJ) $(PART_OBJ) $(MAIN_OBJ): | $(if $(filter yes,$(PCH)),$(OUT)/std.h.gch)

# Compiling takes longer than most of this code will ever run: programs and file code get -Og, gcc's level that compiles
# fastest (-O0 emits more code than it saves time), and code that only calls kernels -O1. A search looks at every score.
$(OBJ)/nn/%.o $(OBJ)/models/%.o: EXTRA = -O1
$(OBJ)/models/decoding/%.o: EXTRA =
$(OBJ)/apps/%.o $(OBJ)/nn/checkpoint/%.o: EXTRA = -Og
$(TEAM).o: EXTRA = -O1 $(MPI_FLAGS)
$(OBJ)/autograd/kernels/unit_%.o: EXTRA = -Wno-psabi $(ISA_$*) -DPLAINGRAD_KERNELS=kernels_$*
define compile
	$(call say,c++)
	$(Q)$(CXX) $(FLAGS) $(EXTRA) $(addprefix -include ,$(patsubst %.gch,%,$(filter %.gch,$|))) -MMD -MP -c $< -o $@
endef
$(OBJ)/autograd/kernels/unit_%.o: autograd/kernels/unit.cpp $(OUT)/flags
	$(compile)
$(OBJ)/%.o: %.cpp $(OUT)/flags
	$(compile)
$(OBJ)/%/all.o: $(OUT)/folders/%/all.cpp $(OUT)/flags
	$(compile)
$(TEAM).o: nn/parallel/team_$(if $(MPI),mpi,without_mpi).cpp $(OUT)/flags $(TEAM)
	$(compile)
.SECONDEXPANSION:
# apps/programs/generate/log_book.txt becomes `plaingrad::generate::log_book`, a string_view.
TEXT_OBJ := $(patsubst %,$(OBJ)/%.o,$(basename $(filter %.txt %.html,$(KIT_SRC) $(PART_SRC)) tests/figures/stylesheet.txt))
$(TEXT_OBJ): $(OBJ)/%.o: $$(wildcard %.txt %.html) tests/tools/embed.sh $(OUT)/flags
	$(call say,txt)
	$(Q)sh tests/tools/embed.sh $< | $(CXX) $(FLAGS) -x c++ -c - -o $@
-include $(TEAM).d $(shell find $(OBJ) -name '*.d' 2>/dev/null)

# Made from scratch each time: `ar` would keep the objects of removed sources. A linker takes no object out of a library for
# a weak symbol: so the kernels and dispatch.cpp are one.
$(OBJ)/autograd/kernels.o: $(KERNEL_OBJ) $(filter $(OBJ)/autograd/kernels/%,$(LIB_OBJ)) $(OUT)/list
	$(call say,ld )
	$(Q)$(CXX) -r -nostdlib $(filter %.o,$^) -o $@
$(LIB): $(OBJ)/autograd/kernels.o $(filter-out $(OBJ)/autograd/kernels/%,$(LIB_OBJ)) $(TEAM).o
$(KIT): $(KIT_OBJ)
$(PARTS): $(PART_OBJ)
$(LIB) $(KIT) $(PARTS) $(SHARED): $(OUT)/list
	$(call say,ar )
	$(Q)rm -f $@ && $(AR) rcs $@ $(filter %.o,$^)
define link
	$(call say,ld )
	$(Q)$(CXX) $(FLAGS) $(LDFLAGS) $(WHOLE) $(filter %.o,$^) $(foreach lib,$(SHARED) $(PARTS) $(KIT) $(LIB),$(filter $(lib),$^)) $(LIBS) -o $@
endef
$(IN_FILE:%=$(APPS_IN)/%): $(APPS_IN)/%: $(OBJ)/apps/%.o
$(IN_FOLDER:%=$(APPS_IN)/%): $(APPS_IN)/%: $(OBJ)/apps/programs/%/main.o
$(PROGRAMS): $(PARTS) $(KIT) $(LIB)
	$(link)
$(APPS_IN)/one_page: apps/one_page.cpp $(OUT)/flags  # alone, as its first lines say
	$(call say,c++)
	$(Q)$(CXX) -std=c++20 -O2 $< -o $@
# The number type double is a build of its own: the library, for install; gradient checks; an instrument's other half. The
# library first, for two makes that build it at the same time have torn it.
ifneq ($(VARIANT),double)
$(BUILD)/double/%: FORCE
	+@$(MAKE) VARIANT=double $@
$(addprefix $(BUILD)/double/,gradchecks programs_double): | $(BUILD)/double/libplaingrad.a
endif

# ---- 5. Targets ---------------------------------------------------------------------------------
.PHONY: all lib apps tiny lint lint-test headers format size install uninstall clean deps deps-mpi deps-trust deps-peers help
all: lib apps $(APPS_IN)/one_page  ## the library and the programs; ISA=all: for every processor
lib: $(LIB)  ## the library alone, build/libplaingrad.a
apps: $(PROGRAMS)
tiny: $(addprefix $(APPS_IN)/,generate fill classify)  ## small models in Hugging Face's form, in build/tiny
	@sh tests/tools/tiny.sh '$(APPS_IN)' '$(BUILD)/tiny'
include tests/tests.mk

lint: $(KERNEL_OBJ)  ## rules of the house: includes, sealed kernels, format
	@sh tests/tools/lint.sh $^
lint-test: $(KERNEL_OBJ)  ## plants a fault for every rule of `make lint`
	@CXX='$(CXX)' sh tests/tools/lint_test.sh

ALONE = $(patsubst %,alone/%,$(call find,autograd nn models apps tests,*.h))
headers: $(ALONE)  ## compiles each header alone
	@echo 'make headers: $(words $(ALONE)) headers, each compiles by itself'
$(ALONE): alone/%: FORCE
	@echo '$(H)include "$*"' | $(CXX) $(FLAGS) -w -fsyntax-only -x c++ -

format:  ## lets clang-format lay out all sources
	@command -v clang-format >/dev/null || { echo 'make format: clang-format is not installed' >&2; exit 1; }
	@find autograd nn models apps tests \( -name '*.h' -o -name '*.cpp' \) -exec clang-format -i {} +
size:  ## lines of code by room, against the limits
	@sh tests/tools/size.sh

# Both element types: users who write an op check its gradient in double. Of the kernels only the table is public. A header
# keeps its path, so that includes are the same as here. An empty PREFIX would install into the machine's own folders, and
# pkg-config's files know no way to write one with spaces that all programs read.
ifneq ($(if $(filter install uninstall,$(MAKECMDGOALS)),$(words $(PREFIX)) $(filter /%,$(PREFIX)),1 $(PREFIX)),1 $(PREFIX))
$(error PREFIX must be an absolute path without spaces, such as $(HOME)/.local: got '$(PREFIX)')
endif
HEADERS := $(filter-out autograd/kernels/% models/hugging_face/% models/text/tokenizer/%,$(call find,autograd nn models,*.h)) \
    autograd/kernels/kernels.h models/hugging_face/config.h#  of three rooms that keep their headers to themselves
VERSION := $(shell sed -n 's/.*kVersion = "\(.*\)".*/\1/p' autograd/base/real.h)
PACKAGE := $(addprefix $(OUT)/package/,plaingradConfig.cmake plaingradConfigVersion.cmake plaingrad.pc plaingrad-double.pc)
$(PACKAGE): FORCE
	@mkdir -p $(@D) && sh tests/tools/package.sh $(@F) '$(PREFIX)' $(VERSION) '$(LIBS)' >$@
INSTALLED = $(foreach h,$(HEADERS),'644 $h include/plaingrad/$h') $(foreach a,$(APPS),'755 $(APPS_IN)/$a bin/plaingrad-$a') \
    '644 $(LIB) lib/libplaingrad.a' '644 $(BUILD)/double/libplaingrad.a lib/libplaingrad_double.a' $(foreach f,$(PACKAGE),'644 $f lib/$(if $(filter %.pc,$f),pkgconfig,cmake/plaingrad)/$(notdir $f)')
install: $(LIB) $(BUILD)/double/libplaingrad.a $(PROGRAMS) $(PACKAGE)  ## headers, libraries, programs into PREFIX; uninstall
	@printf '%s\n' $(INSTALLED) | sh tests/tools/install.sh '$(DESTDIR)$(PREFIX)'
uninstall:
	@sh tests/tools/install.sh --remove '$(DESTDIR)$(PREFIX)'
deps deps-mpi deps-trust:  ## installs Catch2; deps-mpi, deps-trust, deps-peers: the rest
	@sh tests/tools/deps.sh $(patsubst deps-%,--%,$(filter-out deps,$@)) $(CXX)
deps-peers:
	@sh tests/tools/deps_peers.sh '$(PYTHON)' '$(BUILD)/peers'
clean:  ## removes the programs and build/, but not build/peers
	@sh tests/tools/clean.sh '$(BUILD)' $(if $(filter apps,$(APPS_IN)),$(PROGRAMS) apps/one_page)
compile_commands.json: FORCE  # what clangd and other tools read: how each file is compiled
	@sh tests/tools/compile_commands.sh '$(CXX) $(FLAGS)' $(LIB_SRC) autograd/kernels/unit.cpp $(filter %.cpp,$(KIT_SRC) $(PART_SRC) $(ALL_TESTS)) >$@
help:  ## this list; V=1 shows commands; tests/README.md tells more
	@awk '/^[a-z0-9_. -]+:.* $(H)$(H) / { target = $$0; sub(/[: ].*/, "", target); sub(/.* $(H)$(H) /, ""); printf "  make %-13s %s\n", target, $$0 }' Makefile tests/tests.mk tests/trust/trust.mk
