# plaingrad. `make help` lists the targets.
#
# 1 settings   2 variants   3 the compiler   4 flags   5 sources   6 compiling   7 library and programs
# 8 source checks   9 installing             tests/tests.mk: tests, benchmarks, curves

# ---- 1. Settings: `make NAME=value` -------------------------------------------------------------

VARIANT ?= release#  double, asan, tsan: the same sources, built to find other faults
BUILD   ?= build#    where everything goes; another folder for another compiler keeps both
PREFIX  ?= /usr/local
TESTS   ?=#          a Catch2 filter, e.g. TESTS='[matmul]': only what these tests need is built
GRADCHECKS ?= yes#   no: `make test` leaves out the double build's gradient checks
PYTHON  ?= python3#  for what needs PyTorch: golden files, comparisons of speed
CSV     ?=#          CSV=1: benchmarks print values separated by commas
TIMES   ?=#          TIMES=1: `make chapters` also measures times anew
CHAPTER ?=#          the only one that `make chapters` fills, e.g. nn/README.md
DATA    ?= data/multi30k#  where bench-multi30k finds its text
MPI     ?=#          MPI=1: programs can train in many processes; needs an MPI (make deps-mpi)
MPICC   ?= mpicc#    its compiler, which is only asked for flags
INTO    ?=#          another folder for the library and the programs, made from the objects in BUILD
RUN     ?=#          put before every program that the tests start, e.g. qemu-aarch64
V       ?=#          V=1 prints the commands
UNITY   ?= yes#      no: compiles each file alone, which is faster while editing
PCH     ?= $(if $(findstring ccache,$(CXX)),no,yes)#  no: without precompiled headers; ccache has no use for them. tests: only for tests
# CXX, CPPFLAGS, CXXFLAGS, LDFLAGS: as everywhere. CI=true or WERROR=1: warnings are errors.

# Builds in parallel by default. The user's -j wins, and a sub-make shares its parent's jobs.
ifeq ($(MAKELEVEL),0)
MAKEFLAGS += -j$(shell nproc 2>/dev/null || getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
endif
MAKEFLAGS += --no-print-directory --no-builtin-rules
.SUFFIXES:
.DELETE_ON_ERROR:
.DEFAULT_GOAL := all
.PHONY: FORCE
H := \#
# `make clean all`: first the one, then the other.
ifneq ($(filter clean,$(MAKECMDGOALS)),)
.NOTPARALLEL:
endif

# ---- 2. Variants --------------------------------------------------------------------------------

# -O2, and -O3 for the kernels of section 4: elsewhere it makes nothing faster but compiling slower.
# Never -march=native (the kernels are compiled for each instruction set and picked at start) and never
# fast-math (same bits everywhere).
# Sanitizers double the compiler's work: they get -O1, and only line numbers as debugging information. (With them
# gcc warns about uninitialised values where there are none, so these warnings are not errors.)
SANITIZED = -O1 -g1 -fno-omit-frame-pointer $(if $(CLANG),,-Wno-maybe-uninitialized -Wno-error)
FLAGS_release = -O2
FLAGS_double  = -O2 -DPLAINGRAD_REAL=double
FLAGS_asan    = $(SANITIZED) -fsanitize=address,undefined -fno-sanitize-recover=all -D_GLIBCXX_ASSERTIONS#  both in one
FLAGS_tsan    = $(SANITIZED) -fsanitize=thread
ifeq ($(filter $(VARIANT),release double asan tsan),)
$(error unknown VARIANT '$(VARIANT)'; it is one of release, double, asan, tsan)
endif

# Only the plain build puts its programs into apps/, where the README looks for them.
OUT     := $(BUILD)$(if $(filter-out release,$(VARIANT)),/$(VARIANT))
APPS_IN := $(if $(INTO)$(filter-out build,$(OUT)),$(or $(INTO),$(OUT))/apps,apps)
OBJ     := $(OUT)/obj
LIB     := $(or $(INTO),$(OUT))/libplaingrad.a

# ---- 3. The compiler ----------------------------------------------------------------------------

# The compiler is checked only if something is compiled: `make help` and `make deps` work without one.
ifneq ($(filter-out help deps deps-mpi deps-trust deps-peers clean size format uninstall exercise solution-%,$(or $(MAKECMDGOALS),all)),)
COMPILER := $(shell sh tests/tools/compiler.sh $(CXX))
ifeq ($(firstword $(COMPILER)),error)
$(error $(wordlist 2,99,$(COMPILER)))
endif
endif
MACHINE := $(firstword $(COMPILER))
CLANG   := $(findstring clang,$(COMPILER))

# Before anything is built: an empty PREFIX would install into the machine's own folders, and pkg-config's files know no
# way to write one with spaces that all programs read.
ifneq ($(filter install uninstall,$(MAKECMDGOALS)),)
ifneq ($(words $(PREFIX)) $(filter /%,$(PREFIX)),1 $(PREFIX))
$(error PREFIX must be an absolute path without spaces, such as $(HOME)/.local: got '$(PREFIX)')
endif
endif

# ---- 4. Flags -----------------------------------------------------------------------------------

# -ffp-contract=off: the compiler must not fuse a*b+c where we did not write fma, or gcc and clang,
# and one machine and the next, would differ in the last bit.
# (Clang 19 and later warn of what stable_sort of libstdc++ 12 calls.)
WARNINGS = -Wall -Wextra -Wpedantic -Wshadow -Wconversion $(if $(CLANG),-Wno-deprecated-declarations) \
           $(if $(filter true,$(CI))$(filter-out 0,$(WERROR)),-Werror)
FLAGS = -std=c++20 -pthread -ffp-contract=off -I. $(WARNINGS) $(FLAGS_$(VARIANT)) $(CPPFLAGS) $(CXXFLAGS)

# With MPI the library has nn/parallel/team_mpi.cpp, which alone is compiled with its flags, instead of
# team_without_mpi.cpp; all other objects are the same. (MPI's C interface suffices, so its C++ headers are left out.)
ifneq ($(MPI),)
MPI_SHOW := $(shell $(MPICC) -show 2>/dev/null)
ifeq ($(MPI_SHOW),)
$(error MPI=1 needs an MPI, and $(MPICC) is not there: `make deps-mpi`, or MPICC=... of yours)
endif
# The processes of a run compare their sources: builds of one version may differ.
SOURCES   := $(shell find autograd nn models apps -name '*.h' -o -name '*.cpp' | LC_ALL=C sort | xargs cat | cksum | tr ' ' -)
MPI_FLAGS := $(filter -I%,$(MPI_SHOW)) -DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX -DPLAINGRAD_SOURCES='"$(SOURCES)"'
MPI_LIBS  := $(filter -L% -l% -Wl%,$(MPI_SHOW))
LIBS      += $(MPI_LIBS)
endif

# unit.cpp is compiled for the baseline, which is a plain struct, and for sets of vectors: this processor's (ISA=native),
# or all, for tests, benchmarks and other machines (ISA=all). What this folder has already stays in the library, so that
# `make` after `make test` does nothing. The double build has no vectors. Under sanitizers those for AVX-512, of AVX2's
# source, would take as long to compile as all else. clang 16 crashes while it compiles the last. macOS has no weak symbols,
# by which dispatch.cpp knows what there is.
SETS   := $(if $(filter x86_64-% amd64-%,$(MACHINE)),avx2 $(if $(filter asan tsan,$(VARIANT)),,avx512 \
    $(if $(findstring clang version 16.,$(COMPILER)),,avx512bf16)))$(if $(filter aarch64-% arm64-%,$(MACHINE)),neon)
ISA    ?= $(if $(filter test% bench% install trust% %/tests %/trust/% %/bench/%,$(MAKECMDGOALS))$(filter asan tsan,$(VARIANT))$(findstring darwin,$(MACHINE)),all,native)
ifeq ($(ISA),native)
MACROS := $(if $(MACHINE),$(shell $(CXX) -march=native -dM -E -x c++ /dev/null 2>/dev/null))
WANTED := $(if $(findstring __AVX512BW__,$(MACROS)),avx512 $(if $(findstring __AVX512BF16__,$(MACROS)),avx512bf16), \
    $(if $(findstring __AVX2__,$(MACROS)),avx2,$(if $(findstring __SSE2__,$(MACROS)),,$(SETS))))
else
WANTED := $(if $(filter all,$(ISA)),$(SETS),$(ISA))
endif
WANTED := $(if $(filter double,$(VARIANT)),,$(WANTED) $(patsubst $(OBJ)/autograd/kernels/unit_%.o,%,$(wildcard $(OBJ)/autograd/kernels/unit_*.o)))
ISAS   := baseline $(filter $(WANTED),$(SETS))
# Two warnings are off there: gcc 12's about uninitialised values in its own AVX-512 header (its bug
# 105593), and -Wpsabi, on how vectors are passed between objects: ours are inlined.
# -O3: at -O2 gcc does not unroll the loops over a register tile, and the tile then lives in memory. (The baseline has
# no registers to lose, and sanitizers cost enough by themselves.)
FAST         = $(if $(filter release,$(VARIANT)),-O3)
ISA_baseline = -DPLAINGRAD_SIMD_PLAIN
ISA_avx2     = $(FAST) -mavx2 -mfma
ISA_avx512   = $(FAST) -mavx512f -mavx512dq -mavx512vl -mavx512bw $(if $(CLANG),,-Wno-uninitialized -Wno-maybe-uninitialized)
# gcc 12's memory for asan's use-after-return check is not aligned for 64-byte vectors (its bug 110027).
ISA_avx512  += $(if $(CLANG),,$(if $(filter asan,$(VARIANT)),--param asan-use-after-return=0))
# (Of this set only the products of bfloat16 are used.)
ISA_avx512bf16 = $(ISA_avx512) -mavx512bf16 -Wno-unused-function
ISA_neon     = $(FAST)
# ---- 5. Sources ---------------------------------------------------------------------------------

find = $(shell find $(1) -name '$(2)' 2>/dev/null | LC_ALL=C sort)

# unit.cpp includes the other kernel files; dispatch.cpp and scratch.cpp are compiled as any source.
KERNEL_SRC := $(filter-out %/dispatch.cpp %/scratch.cpp,$(wildcard autograd/kernels/*.cpp))
LIB_SRC    := $(filter-out $(KERNEL_SRC) nn/parallel/team_$(if $(MPI),without_mpi,mpi).cpp,$(call find,autograd nn models,*.cpp))
KIT_SRC    := $(call find,apps/kit,*.cpp) $(call find,apps/kit,*.html) $(call find,apps/kit,*.txt)
# A program is apps/NAME.cpp, or the folder apps/programs/NAME with its main.cpp. The rest of such a folder is a library
# of its own, so that tests can look inside; a text in it is data that the program carries.
MAIN_SRC   := $(filter-out apps/one_page.cpp,$(wildcard apps/*.cpp apps/programs/*/main.cpp))
APPS       := $(sort $(patsubst apps/%.cpp,%,$(MAIN_SRC:apps/programs/%/main.cpp=apps/%.cpp)))
PART_SRC   := $(filter-out %/main.cpp,$(call find,apps/programs,*.cpp)) $(call find,apps/programs,*.txt)

# A folder is compiled as one file, which includes its .cpp files: otherwise the compiler would spend most of its time on
# the same headers and templates for each file. (So a name in an unnamed namespace must be unique in its folder.)
ifeq ($(UNITY),no)
objects = $(1:%.cpp=$(OBJ)/%.o)
else
objects = $(patsubst %/,$(OBJ)/%/all.o,$(sort $(dir $(1))))
endif
KERNEL_OBJ := $(ISAS:%=$(OBJ)/autograd/kernels/unit_%.o)
of_mpi      = $(filter %/team_mpi.cpp %/team_without_mpi.cpp,$(LIB_SRC))
MPI_OBJ    := $(patsubst %.cpp,$(dir $(LIB))%.o,$(of_mpi))
LIB_OBJ    := $(KERNEL_OBJ) $(call objects,$(filter-out $(of_mpi),$(LIB_SRC))) $(MPI_OBJ)  # the slow ones first
of_sources  = $(call objects,$(filter %.cpp,$(1))) $(patsubst %,$(OBJ)/%.o,$(basename $(filter %.txt %.html,$(1))))
KIT_OBJ    := $(call of_sources,$(KIT_SRC))
KIT        := $(if $(KIT_SRC),$(OUT)/libkit.a)
PART_OBJ   := $(call of_sources,$(PART_SRC))
PARTS      := $(if $(PART_SRC),$(OUT)/libprograms.a)
PROGRAMS   := $(APPS:%=$(APPS_IN)/%)
MAIN_OBJ   := $(MAIN_SRC:%.cpp=$(OBJ)/%.o)

# ---- 6. Compiling -------------------------------------------------------------------------------

Q = $(if $(V),,@)
say = @mkdir -p $(@D)$(if $(V),, && echo '  $(1) $@')

# These files are rewritten only when their content changes; then everything that depends on them is rebuilt:
# `flags` changes with the compiler and its flags, `list` when a source is added or removed, `team` with the MPI.
quote = '$(subst ','\'',$(1))'
write = mkdir -p $(@D); printf '%s\n' $(1) | cmp -s - $@ || printf '%s\n' $(1) > $@
$(OUT)/flags: FORCE
	@$(call write,$(call quote,$(CXX) $(COMPILER) $(FLAGS)))
$(OUT)/list: FORCE
	@$(call write,$(call quote,$(filter-out $(MPI_OBJ),$(LIB_OBJ)) $(KIT_OBJ) $(PART_OBJ)))
$(dir $(LIB))team: FORCE
	@$(call write,$(call quote,$(MPI_OBJ) $(MPI_SHOW) $(SOURCES)))

# The standard headers that most files include are precompiled, and once more with Catch2 for the tests: reading them
# took half of the time for most files. No file may rely on this: `make headers` compiles each header alone.
STD = algorithm array cmath cstdint cstdlib functional initializer_list iostream map memory numeric optional sstream \
      stdexcept string string_view unordered_map utility vector
include = $(call quote,$(H)include $(1))
$(OUT)/std.h: FORCE
	@$(call write,$(foreach h,$(STD),$(call include,<$(h)>)))
$(OUT)/%.h.gch: $(OUT)/%.h $(OUT)/flags
	$(call say,c++)
	$(Q)$(CXX) $(FLAGS) $(CATCH_FLAGS) -x c++-header $< -o $@

# The precompiled header among a file's prerequisites.
PCH_FOR = $(addprefix -include ,$(patsubst %.gch,%,$(filter %.gch,$|)))
ifeq ($(PCH),yes)
$(filter-out $(KERNEL_OBJ),$(LIB_OBJ)) $(KIT_OBJ) $(PART_OBJ) $(MAIN_OBJ): | $(OUT)/std.h.gch
endif

# apps/programs/char_lm/log_book.txt becomes `plaingrad::char_lm::log_book`, a string_view; tests/figures/stylesheet.txt,
# `figures::stylesheet`.
program = $(notdir $(patsubst %/,%,$(dir $*)))
define compile_text
	$(call say,txt)
	$(Q){ echo '$(H)include <string_view>'; echo 'namespace plaingrad::$(program) {'; \
	    echo 'extern const std::string_view $(notdir $*);'; printf 'const std::string_view $(notdir $*) = R"text('; \
	    cat $<; echo ')text";'; echo '}'; } | $(CXX) $(FLAGS) -x c++ -c - -o $@
endef
$(OBJ)/%.o: %.txt $(OUT)/flags
	$(compile_text)
$(OBJ)/%.o: %.html $(OUT)/flags
	$(compile_text)

$(OBJ)/autograd/kernels/unit_%.o: autograd/kernels/unit.cpp $(OUT)/flags
	$(call say,c++)
	$(Q)$(CXX) $(FLAGS) -Wno-psabi $(ISA_$*) -DPLAINGRAD_KERNELS=kernels_$* -MMD -MP -c $< -o $@

# Compiling takes longer than most of this code will ever run. Programs and file code get -Og, gcc's level that compiles
# fastest (-O0 emits more code than it saves time); code that only calls kernels gets -O1.
EXTRA = $(if $(filter $(OBJ)/apps/% $(OBJ)/nn/checkpoint/%,$@),-Og,$(if $(filter $(OBJ)/nn/% $(OBJ)/models/%,$@),-O1))
EXTRA += $(if $(filter %/team_mpi.cpp,$<),$(MPI_FLAGS))
compile = $(Q)$(CXX) $(FLAGS) $(EXTRA) $(PCH_FOR) -MMD -MP -c $< -o $@
$(OBJ)/%.o: %.cpp $(OUT)/flags
	$(call say,c++)
	$(compile)
$(MPI_OBJ): $(dir $(LIB))%.o: %.cpp $(OUT)/flags $(dir $(LIB))team
	$(call say,c++)
	$(compile)

.PRECIOUS: $(OUT)/folders/%/all.cpp
in = $(foreach file,$(filter-out $(of_mpi),$(LIB_SRC)) $(filter %.cpp,$(KIT_SRC) $(PART_SRC)),$(if $(filter $(1)/,$(dir $(file))),$(file)))
$(OUT)/folders/%/all.cpp: FORCE
	@$(call write,$(foreach file,$(call in,$*),$(call include,"$(file)")))
$(OBJ)/%/all.o: $(OUT)/folders/%/all.cpp $(OUT)/flags
	$(call say,c++)
	$(compile)

-include $(patsubst %.o,%.d,$(LIB_OBJ) $(KIT_OBJ) $(PART_OBJ) $(MAIN_OBJ))

# ---- 7. Library and programs --------------------------------------------------------------------

.PHONY: all lib apps
all: lib apps $(APPS_IN)/one_page  ## the library and the programs (this is what `make` does)
lib: $(LIB)    ## the library alone, build/libplaingrad.a
apps: $(PROGRAMS)

# Made from scratch each time: `ar` would keep the objects of removed sources.
# (A linker takes no object out of a library for a weak symbol: so the kernels and dispatch.cpp are one.)
of_kernels := $(filter $(OBJ)/autograd/kernels/%,$(LIB_OBJ))
$(OBJ)/autograd/kernels.o: $(of_kernels) $(OUT)/list
	$(call say,ld )
	$(Q)$(CXX) -r -nostdlib $(of_kernels) -o $@
$(LIB): $(OBJ)/autograd/kernels.o $(LIB_OBJ) $(OUT)/list $(dir $(LIB))team
	$(call say,ar )
	$(Q)rm -f $@ && $(AR) rcs $@ $< $(filter-out $(of_kernels),$(LIB_OBJ))

$(OUT)/libkit.a: $(KIT_OBJ) $(OUT)/list
	$(call say,ar )
	$(Q)rm -f $@ && $(AR) rcs $@ $(KIT_OBJ)

$(OUT)/libprograms.a: $(PART_OBJ) $(OUT)/list
	$(call say,ar )
	$(Q)rm -f $@ && $(AR) rcs $@ $(PART_OBJ)

link = $(CXX) $(FLAGS) $(LDFLAGS) $(filter %.o,$^) $(filter %/libprograms.a,$^) $(KIT) $(LIB) $(LIBS) -o $@

.SECONDEXPANSION:
$(PROGRAMS): $(APPS_IN)/%: $$(if $$(wildcard apps/%.cpp),$(OBJ)/apps/%.o,$(OBJ)/apps/programs/%/main.o) $(PARTS) $(KIT) $(LIB)
	$(call say,ld )
	$(Q)$(link)

# The page stands alone, so it is compiled alone, as its first lines say.
$(APPS_IN)/one_page: apps/one_page.cpp $(OUT)/flags
	$(call say,c++)
	$(Q)mkdir -p $(@D) && $(CXX) -std=c++20 -O2 $< -o $@

# The number type double is a build of its own: the library, for install; gradient checks; an instrument's other half. The
# library first, for two makes that build it at the same time have torn it.
ifneq ($(VARIANT),double)
$(BUILD)/double/%: FORCE
	+@$(MAKE) INTO= VARIANT=double $@
$(addprefix $(BUILD)/double/,gradchecks programs_double): | $(BUILD)/double/libplaingrad.a
endif

# With no model at hand. On two cores each takes a few seconds. (Folders new-* have the random
# weights that training begins with.)
TINY := $(BUILD)/tiny
LOG_BOOK := apps/programs/char_lm/log_book.txt
REQUESTS := apps/programs/classify/requests.txt
.PHONY: tiny
tiny: $(addprefix $(APPS_IN)/,generate fill classify)  ## small models in the form of Hugging Face's, trained here: build/tiny/gpt2, llama, bert, classifier
	@rm -rf '$(TINY)' && mkdir -p '$(TINY)'
	@for family in gpt2 llama; do \
	    $(APPS_IN)/generate new "$(TINY)/new-$$family" $(LOG_BOOK) --family $$family \
	        --vocabulary 600 --layers 3 --d-model 96 --context 64 && \
	    $(APPS_IN)/generate train "$(TINY)/new-$$family" $(LOG_BOOK) --save "$(TINY)/$$family" \
	        --steps 400 --batch 8 --lr 0.003 --validate-every 100 || exit 1; \
	done
	@$(APPS_IN)/fill new '$(TINY)/new-bert' $(LOG_BOOK) $(REQUESTS) --vocabulary 1500 --layers 1 --d-model 96 --context 64
	@$(APPS_IN)/fill train '$(TINY)/new-bert' $(LOG_BOOK) --save '$(TINY)/bert' \
	    --steps 1000 --batch 32 --lr 0.003 --validate-every 250
	@$(APPS_IN)/classify train $(REQUESTS) --from '$(TINY)/bert' --save '$(TINY)/classifier' --epochs 15 --lr 0.001

include tests/tests.mk

# ---- 8. Source checks ---------------------------------------------------------------------------

.PHONY: lint lint-test headers format size
lint: $(KERNEL_OBJ)  ## include direction, sealed kernels, format, and other rules of the house
	@sh tests/tools/lint.sh $(KERNEL_OBJ)

lint-test: $(KERNEL_OBJ)  ## plants a fault for every rule of `make lint` and checks that it is found
	@CXX='$(CXX)' sh tests/tools/lint_test.sh
	@sh tests/tools/tools_test.sh
	@sh tests/traps/run_test.sh

ALONE = $(patsubst %,alone/%,$(call find,autograd nn models apps tests,*.h))
headers: $(ALONE)  ## compiles each header alone
	@echo 'make headers: $(words $(ALONE)) headers, each compiles by itself'
.PHONY: $(ALONE)
$(ALONE): alone/%:
	@echo '$(H)include "$*"' | $(CXX) $(FLAGS) -w -fsyntax-only -x c++ -

format:  ## lets clang-format lay out all sources
	@command -v clang-format >/dev/null || { echo 'make format: clang-format is not installed' >&2; exit 1; }
	@find autograd nn models apps tests \( -name '*.h' -o -name '*.cpp' \) -exec clang-format -i {} +

size:  ## lines of code by folder, against the budgets
	@sh tests/tools/size.sh

# ---- 9. Installing ------------------------------------------------------------------------------

# Both element types: users who write an op check its gradient in double. Of the kernels only the table is
# public. A header keeps its path, so that includes are the same as here.
HEADERS := $(filter-out autograd/kernels/%,$(call find,autograd nn models,*.h)) $(wildcard autograd/kernels/kernels.h)
TO      := $(DESTDIR)$(PREFIX)

VERSION := $(shell sed -n 's/.*kVersion = "\(.*\)".*/\1/p' autograd/base/version.h)
CMAKE   := plaingradConfig.cmake plaingradConfigVersion.cmake
PC      := plaingrad.pc plaingrad-double.pc
PACKAGE := $(addprefix $(OUT)/package/,$(CMAKE) $(PC))
# Lines of `<mode> <file> <where>`.
INSTALLED = $(foreach h,$(HEADERS),'644 $h include/plaingrad/$h') $(foreach a,$(APPS),'755 $(APPS_IN)/$a bin/plaingrad-$a') \
    '644 $(LIB) lib/libplaingrad.a' '644 $(BUILD)/double/libplaingrad.a lib/libplaingrad_double.a' \
    $(foreach f,$(PC),'644 $(OUT)/package/$f lib/pkgconfig/$f') $(foreach f,$(CMAKE),'644 $(OUT)/package/$f lib/cmake/plaingrad/$f')

.PHONY: install uninstall clean deps deps-mpi deps-trust deps-peers help
install: $(LIB) $(BUILD)/double/libplaingrad.a $(PROGRAMS) $(PACKAGE)  ## to PREFIX: headers, libraries, plaingrad-NAME, for pkg-config and CMake
	@printf '%s\n' $(INSTALLED) | sh tests/tools/install.sh '$(TO)'

$(PACKAGE): FORCE
	@mkdir -p $(@D) && sh tests/tools/package.sh $(@F) '$(PREFIX)' $(VERSION) '$(MPI_LIBS)' > $@

uninstall:  ## removes what install put there, and nothing else
	@sh tests/tools/install.sh --remove '$(TO)'

deps:  ## installs Catch2 for the tests, with the system's package manager
	@sh tests/tools/deps.sh $(CXX)

deps-mpi:  ## installs Open MPI and MPICH, for MPI=1 and test-mpi, with the system's package manager
	@sh tests/tools/deps.sh --mpi $(CXX)

deps-trust:  ## installs what trust measures with: clang's tools, valgrind, emulators, all compilers, Catch2 3
	@sh tests/tools/deps.sh --trust $(CXX)

deps-peers:  ## installs PyTorch, transformers, llama.cpp and other peers under build/, to be compared with: 6 GB
	@sh tests/tools/deps_peers.sh '$(PYTHON)' '$(BUILD)/peers'

# What was downloaded stays: to build anew, nobody wants to fetch 6 GB anew.
clean:  ## removes the programs and BUILD (build/), but not what deps-peers installed: rm -r build/peers
	@! ls -A '$(BUILD)' 2>/dev/null | grep -qvx peers || [ -e '$(BUILD)/flags' ] || ls '$(BUILD)'/double/flags '$(BUILD)'/[at]san/flags 2>/dev/null | grep -q . || \
	    { echo "make clean: BUILD=$(BUILD) is no folder that make built in" >&2; exit 1; }
	[ ! -d '$(BUILD)' ] || find '$(BUILD)' -mindepth 1 -maxdepth 1 ! -name peers -exec rm -rf {} +
	@rmdir '$(BUILD)' 2>/dev/null || true
	$(if $(filter apps,$(APPS_IN)),rm -f $(PROGRAMS) apps/one_page)

# For editors: how each file is compiled.
compile_commands.json: FORCE  ## what clangd and other tools read
	@{ echo '['; for f in $(LIB_SRC) autograd/kernels/unit.cpp $(filter %.cpp,$(KIT_SRC) $(PART_SRC) $(ALL_TESTS)) $(MAIN_SRC); do \
	    echo "{\"directory\": \"$(CURDIR)\", \"file\": \"$$f\", \"command\": \"$(CXX) $(FLAGS) -c $$f\"},"; \
	    done | sed '$$s/,$$//'; echo ']'; } > $@

help:  ## this list
	@awk '/^[a-z0-9_.-]+:.* $(H)$(H) / { target = $$0; sub(/:.*/, "", target); sub(/.* $(H)$(H) /, ""); printf "  make %-15s %s\n", target, $$0 }' $(firstword $(MAKEFILE_LIST)) tests/tests.mk tests/trust/trust.mk
	@echo '  UNITY=no compiles each file alone, which is faster while editing;  V=1 shows the commands'
	@echo '  CXX=clang++ BUILD=build/clang   another compiler, in its own folder'
