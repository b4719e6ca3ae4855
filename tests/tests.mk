# Tests, benchmarks and pages; a part of the Makefile, whose variables it uses.
BENCH := bench $(addprefix bench-,against blocks generation multi30k peers plain staircase steps)
.PHONY: test test-long tests test-objects test-mpi fuzz fuzz-keep fuzzer exercise $(BENCH) curves chapters chapters-quick pictures traps test-hugging-face test-published

MPI_TESTS  := $(call find,tests/mpi,test_*.cpp)
# These have an operator new of their own, and so have sanitizers.
OWN_NEW    := $(if $(filter asan tsan,$(VARIANT)),$(shell grep -lF '"tests/allocations.h"' $(call find,tests,test_*.cpp)))
ALL_TESTS  := $(filter-out $(MPI_TESTS) $(OWN_NEW),$(call find,tests,test_*.cpp))
TEST_SRC   := $(if $(TESTS),$(shell sh tests/tools/tests_for.sh $(call quote,$(TESTS)) $(ALL_TESTS)),$(ALL_TESTS))
GRAD_SRC   := $(if $(TEST_SRC),$(shell grep -l gradcheck $(TEST_SRC)))#  the double build compiles only these
# Code that several test files share: linked where it is used.
SHARED_SRC := $(filter-out tests/main.cpp tests/fuzz/main.cpp $(addprefix tests/,bench/% curves/% chapters/% exercises/% mpi/% trust/% mutate/%),$(call find,tests,[!t]*.cpp)) \
              $(wildcard $(addprefix tests/chapters/,chapter.cpp command.cpp print.cpp prose.cpp))
BENCHES    := $(patsubst tests/bench/%.cpp,%,$(sort $(wildcard tests/bench/bench_*.cpp)))
CURVES     := $(patsubst tests/curves/%.cpp,%,$(sort $(wildcard tests/curves/*.cpp)))
of          = $(patsubst %.cpp,$(OBJ)/%.o,$(1))
BENCH_OBJ  := $(call of,$(filter-out tests/bench/bench_% tests/bench/test_%,$(wildcard tests/bench/*.cpp)))
CHAPTER_OBJ = $(call of,$(filter-out tests/chapters/test_% $(SHARED_SRC),$(wildcard tests/chapters/*.cpp)))
FUZZ_OBJ   := $(call of,$(filter-out tests/fuzz/test_%,$(wildcard tests/fuzz/*.cpp)))
# The address sanitizer checks the library and the programs. Their tests are the release build's: to compile these once more
# would take longer than everything else.
TEST_IN    := $(if $(filter asan,$(VARIANT)),$(BUILD)/obj,$(OBJ))
SHARED_OBJ := $(SHARED_SRC:%.cpp=$(TEST_IN)/%.o) $(TEST_IN)/tests/figures/stylesheet.o
TEST_OBJ   := $(TEST_SRC:%.cpp=$(TEST_IN)/%.o)
MAIN       ?= $(TEST_IN)/tests/main.o
MARKING    := $(OBJ)/tests/exercises/marking.o

# ---- Compiling and linking ----------------------------------------------------------------------
# Catch2 3 has a library to link, Catch2 2 is one header. pkg-config finds it outside of /usr.
ifneq ($(filter test test-long test-mpi tests test-objects exercise-% %/tests %/gradchecks,$(MAKECMDGOALS)),)
CATCH_FLAGS := $(patsubst -I%,-isystem %,$(shell pkg-config --cflags-only-I catch2 2>/dev/null))
CATCH := $(shell printf '$(H)if __has_include(<catch2/catch_all.hpp>)\n3\n$(H)elif __has_include(<catch2/catch.hpp>)\n2\n$(H)endif\n' \
           | $(CXX) -std=c++20 $(CPPFLAGS) $(CXXFLAGS) $(CATCH_FLAGS) -x c++ -E -P - 2>/dev/null)
$(if $(CATCH),,$(error Catch2 not found, which the tests need; install it with: make deps))
CATCH_LIBS := $(if $(filter 3,$(CATCH)),$(or $(shell pkg-config --libs catch2 2>/dev/null),-lCatch2))
endif
$(OUT)/catch:      TEXT = $(call quote,$(CATCH) $(CATCH_FLAGS))
$(OUT)/tests_list: TEXT = $(call quote,$(TEST_OBJ) $(SHARED_OBJ))
$(OUT)/std_catch.h: TEXT = $(call include_each,$(STD) <filesystem> <fstream> "tests/catch.h")
$(OUT)/catch $(OUT)/tests_list $(OUT)/std_catch.h: FORCE
	$(stamp)
$(OUT)/std_catch.h.gch: tests/catch.h $(OUT)/catch
WITH_CATCH := $(TEST_OBJ) $(call of,$(MPI_TESTS)) $(patsubst tests/exercises/%/test.cpp,$(OBJ)/exercises/%.o,$(wildcard tests/exercises/*/test.cpp))
$(WITH_CATCH) $(OBJ)/tests/main.o: $(OUT)/catch
$(WITH_CATCH): | $(if $(filter-out no,$(PCH)),$(OUT)/std_catch.h.gch)
$(SHARED_OBJ) $(MARKING) $(BENCHES:%=$(OBJ)/tests/bench/%.o) $(BENCH_OBJ) $(CURVES:%=$(OBJ)/tests/curves/%.o) $(CHAPTER_OBJ): | $(if $(filter-out no,$(PCH)),$(OUT)/std.h.gch)

# gcc 12 sees a string of 32 bytes overflow where one is joined from parts (its bugs 105329 and 105651), and at -Og std::regex
# read what it never wrote (105562). clang 22 does not like __COUNTER__ in Catch2's macros; older ones do not know this warning.
TEST_WARNINGS = $(if $(CLANG),-Wno-unknown-warning-option -Wno-c2y-extensions,-Wno-maybe-uninitialized -Wno-array-bounds -Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread)
# Tests, but not benchmarks, get -Og (the last -O counts): they are many and each runs once, so compiling is what takes
# the time. Their arithmetic is the same at any level.
TEST_OPT = -Og
$(BENCH_OBJ) $(BENCHES:%=$(OBJ)/tests/bench/%.o): TEST_OPT =
$(OBJ)/tests/main.o: TEST_OPT = -O0# Catch2's own code, compiled once for all variants
# Only these are compiled for the machine at hand, to show what a compiler gains from that, and for a race. (-O3: at -O2
# gcc 12 leaves the loops scalar.)
$(OBJ)/tests/bench/bench_staircase.o $(OBJ)/exercises/12.o: TEST_OPT = -O3 -march=native -ffp-contract=fast
$(OBJ)/tests/%.o: EXTRA = $(TEST_WARNINGS) $(TEST_OPT) $(CATCH_FLAGS)

$(SHARED): $(SHARED_OBJ) $(OUT)/tests_list
# The rules for these objects, in the build that they belong to. With a sanitizer its library comes first: of an inline
# function that both have, the linker takes the first one, which must be the sanitizer's.
ifeq ($(TEST_IN),$(OBJ))
test-objects: $(MAIN) $(TEST_OBJ) $(SHARED_OBJ)
else
test-objects:
	+@$(MAKE) VARIANT=release test-objects
$(MAIN) $(TEST_OBJ) $(SHARED_OBJ): test-objects ;
$(OUT)/tests: WHOLE = -Wl,--whole-archive $(LIB) -Wl,--no-whole-archive
endif

# Built where a test needs them.
TESTED_APPS    := $(if $(filter tests/apps/%,$(TEST_SRC)),$(PROGRAMS) $(APPS_IN)/one_page)
TESTED_BENCHES := $(if $(filter tests/bench/%,$(TEST_SRC)),$(addprefix $(OUT)/bench/bench_,training decoding attention profile blocks generation step_staircase))
TESTED_CHAPTERS := $(if $(filter tests/chapters/%,$(TEST_SRC)),$(OUT)/chapters $(PROGRAMS))
TESTED_PARTS   := $(if $(TESTED_APPS)$(if $(TEST_SRC),$(shell grep -lE '"(tests/(chapters|figures|fuzz|models/counting)|apps)' $(TEST_SRC))),$(PARTS) $(KIT))
$(OUT)/tests: $(TEST_OBJ) $(OUT)/tests_list $(SHARED) $(TESTED_PARTS)
$(OUT)/gradchecks: $(GRAD_SRC:%.cpp=$(OBJ)/%.o) $(OUT)/tests_list $(SHARED)
$(OUT)/test_mpi/tests: $(call of,$(MPI_TESTS))
$(OUT)/tests $(OUT)/gradchecks $(OUT)/test_mpi/tests: LIBS += $(CATCH_LIBS)
$(OUT)/tests $(OUT)/gradchecks $(OUT)/test_mpi/tests: $(MAIN) $(LIB)
	$(link)
# Programs beside the library's own: one of tests/mpi, which mpirun starts, and those of the sections below.
$(APPS_IN)/check_team: $(OBJ)/tests/mpi/check_team.o
$(OUT)/fuzz: $(FUZZ_OBJ) $(PARTS) $(KIT)
$(OUT)/fuzz: LIBS += -fsanitize=fuzzer
$(BENCHES:%=$(OUT)/bench/%): $(OUT)/bench/%: $(OBJ)/tests/bench/%.o $(BENCH_OBJ) $(KIT)
$(OUT)/bench/bench_matmul: LIBS += -ldl# in the C library itself since glibc 2.34
$(OUT)/bench/bench_blocks: $(OBJ)/tests/bench/bench_blocks.o $(PARTS) | $(APPS_IN)/generate  # which it runs
$(CURVES:%=$(OUT)/curves/%): $(OUT)/curves/%: $(OBJ)/tests/curves/%.o $(KIT)
$(OUT)/chapters: $(CHAPTER_OBJ) $(SHARED) $(KIT)
HUGGING_FACE := $(addprefix $(OUT)/,tokenize run_model)
$(HUGGING_FACE): $(OUT)/%: $(OBJ)/tests/hugging_face/%.o
$(APPS_IN)/check_team $(OUT)/fuzz $(BENCHES:%=$(OUT)/bench/%) $(CURVES:%=$(OUT)/curves/%) $(OUT)/chapters $(HUGGING_FACE): $(LIB)
	$(link)
# ---- Running ------------------------------------------------------------------------------------
# Gradients are checked in double: the float builds leave out the tests tagged [gradcheck], and the
# plain `make test` adds a second binary, of the double build, with only these. Where TESTS chooses nothing by itself,
# tests of many seconds ([slow]) are left out, and hidden ones ([.]), which Catch2 2 would take for chosen.
comma  := ,
unnamed = $(if $(filter-out ~%,$(TESTS)),,~[.]~[slow])
tagged  = $(call quote,$(unnamed)$(1)$(subst $(comma),$(comma)$(1),$(TESTS)))
in_float := $(if $(filter double,$(VARIANT)),,~[gradcheck])
# The tests of programs, which mostly wait, run beside the others; in an emulator, which is slow, those of kernels do, too.
SUITES  = $(foreach half,$(if $(findstring qemu,$(RUN)),[kernels] ~[kernels],-),$(OUT)/tests $(call tagged,$(in_float)~[apps]$(filter-out -,$(half))))
SUITES += $(if $(TEST_SRC),$(if $(shell grep -lF '[apps]' $(TEST_SRC)),$(OUT)/tests $(call tagged,$(in_float)[apps])))
ifneq ($(and $(GRAD_SRC),$(filter release,$(VARIANT)),$(filter-out no,$(GRADCHECKS))),)
SUITES += $(BUILD)/double/gradchecks $(call tagged,[gradcheck])
test tests: $(BUILD)/double/gradchecks
# The same main for both: it does not know the number type, and is slow to compile.
$(BUILD)/double/gradchecks: export MAIN := $(MAIN)
$(BUILD)/double/gradchecks: $(MAIN)
endif
# The thread sanitizer of older compilers fails where the kernel randomises addresses too widely.
RUN := $(if $(filter tsan,$(VARIANT)$(RUN)),$(shell setarch -R true 2>/dev/null && echo setarch -R),$(RUN))
# For tests and what else runs programs: the folders of programs and benchmarks, and the program that fills the chapters.
export PLAINGRAD_APPS := $(APPS_IN)
export PLAINGRAD_BENCH := $(OUT)/bench
export PLAINGRAD_CHAPTERS := $(OUT)/chapters
# For tests: a command under which a user's program compiles for this build, and the library to link it with; and the same for
# an exercise, whose solutions, and these with mistakes in them, a test builds.
test: tests  ## builds, runs tests: TESTS='[tag]', VARIANT=asan|tsan|double
	@PLAINGRAD_RUN='$(RUN)' PLAINGRAD_LIB='$(LIB)' \
	    PLAINGRAD_COMPILE='$(CXX) -std=c++20 -pthread -I. $(FLAGS_$(VARIANT)) $(CPPFLAGS) $(CXXFLAGS) $(LDFLAGS)' \
	    PLAINGRAD_MARK='$(CXX) $(FLAGS) $(TEST_WARNINGS) $(TEST_OPT) $(CATCH_FLAGS)' \
	    PLAINGRAD_MARK_LIBS='$(MARKING) $(MAIN) $(LIB) $(LDFLAGS) $(CATCH_LIBS)' PLAINGRAD_MARK_IN='$(OUT)/exercises_tried' \
	    sh tests/tools/run_tests.sh $(SUITES)
test-long:  ## the slow tests, which `make test` leaves out
	+@$(MAKE) test TESTS='[slow]'
tests: $(OUT)/tests $(TESTED_APPS) $(TESTED_BENCHES) $(TESTED_CHAPTERS) $(if $(and $(TESTS),$(filter tests/exercises/%,$(TEST_SRC))),$(MARKING) $(MAIN))

# The scripts of some targets build with jobs of their own. A recipe that says $(MAKE) itself would run under `make -n`, too.
make_program = $(MAKE)
test-mpi: $(OUT)/test_mpi/tests  ## programs in many processes, with every MPI: FULL=1
	+@PLAINGRAD_MPI_FULL='$(or $(FULL),0)' MAKE='$(make_program)' CXX='$(CXX)' sh tests/tools/test_mpi.sh '$(OUT)/test_mpi' '$(or $(TESTS),[mpi])' reverse_task translate classify generate check_team
include tests/trust/trust.mk
# clang's libFuzzer under the address sanitizer, in a build of its own. Which branches an input takes is all that is traced:
# to trace comparisons would take half of the time, and find the names that the targets' mutators know.
fuzz fuzz-keep: fuzzer  ## mutates files, texts, command lines, with clang: SECONDS=10
	@sh tests/tools/fuzz.sh $(if $(filter %-keep,$@),--keep) '$(BUILD)/fuzz/asan/fuzz' '$(BUILD)/fuzz/corpus' $(if $(filter fuzz,$@),-1 '$(or $(SECONDS),10)' 0) $(TARGET)
fuzzer:
	+@$(MAKE) CXX='$(if $(findstring ccache,$(CXX)),ccache )clang++' VARIANT=asan BUILD='$(BUILD)/fuzz' PCH=no CI= WERROR= \
	    CXXFLAGS=-fsanitize-coverage=inline-8bit-counters,indirect-calls,pc-table '$(BUILD)/fuzz/asan/fuzz'
# An exercise is its test, compiled with the page that the learner fills in. That is written once, and then the learner's.
exercises/%.h: | tests/exercises/%/exercise.h
	@mkdir -p exercises && sh tests/tools/exercises.sh page $* >$@
.PRECIOUS: exercises/%.h
$(OBJ)/exercises/%.o: EXTRA = $(TEST_WARNINGS) $(TEST_OPT) $(CATCH_FLAGS) -DEXERCISE='"exercises/$*.h"'
$(OBJ)/exercises/%.o: tests/exercises/%/test.cpp exercises/%.h $(OUT)/flags
	$(compile)
$(OUT)/exercises/%: LIBS += $(CATCH_LIBS)
$(OUT)/exercises/%: $(OBJ)/exercises/%.o $(MARKING) $(MAIN) $(LIB)
	$(link)
exercise:  ## twelve; exercise-3 marks yours, solution-3 shows ours
	@sh tests/tools/exercises.sh list
digits = $(if $(filter 1 2 3 4 5 6 7 8 9,$(1)),0)$(1)
exercise-%: $(OUT)/exercises/$$(call digits,$$*) FORCE
	@sh tests/tools/exercises.sh run $(call digits,$*) $<
solution-%: FORCE
	@sh tests/tools/exercises.sh solution $(call digits,$*)

# ---- Benchmarks, pages, comparisons -------------------------------------------------------------
# With the Python that is named, else with the one that `make deps-peers` made, else with the system's.
PEERS_PYTHON = $(or $(if $(filter file,$(origin PYTHON)),$(wildcard $(BUILD)/peers/bin/python)),$(PYTHON))
benches            = $(1:%=$(OUT)/bench/bench_%)
for_bench          = $(call benches,matmul training decoding attention profile)
for_bench-peers    = $(call benches,training decoding generation attention matmul)
for_bench-against  = $(call benches,training decoding attention generation)
for_bench-steps    = $(call benches,step_staircase)
for_bench-multi30k = $(APPS_IN)/translate
bench:  ## speed and memory, as a share of this machine; bench-NAME
$(BENCH): $$(or $$(for_$$@),$$(call benches,$$(patsubst bench-%,%,$$@)))
	@MAKE='$(make_program)' $(foreach v,CXX CXXFLAGS OUT BUILD APPS_IN RUN PYTHON PEERS_PYTHON CSV DATA FOLDER NAMES MICROGPT LLMC OLD PAIRS ONLY RATE,$(v)='$($(v))') sh tests/bench/run.sh $@

curves: $(CURVES:%=$(OUT)/curves/%)  ## our training losses beside those that tutorials printed
	@for c in $(sort $^); do echo "== $$c"; $(RUN) $$c || exit 1; done
TIMED := $(if $(filter-out 0,$(TIMES)),$(call benches,staircase step_staircase profile))
chapters: $(OUT)/chapters $(PROGRAMS) $(TIMED)  ## numbers of the pages: TIMES=1, CHAPTER=; chapters-quick
	@$(OUT)/chapters $(if $(TIMED),--times) $(CHAPTER)
chapters-quick: $(OUT)/chapters
	@$(OUT)/chapters --quick $(CHAPTER)
pictures: $(OUT)/chapters $(APPS_IN)/reverse_task  # of README.md; one is also the chapter's of apps/
	@$(OUT)/chapters --quick apps/README.md
	@sh tests/tools/pictures.sh $(APPS_IN)/reverse_task apps/figures/page.png $(OUT)/pictures
$(if $(filter traps,$(MAKECMDGOALS)),$(if $(filter release,$(VARIANT)),,$(error make traps prints the numbers of the plain build: leave out VARIANT=$(VARIANT))))
traps: $(if $(TRAP),,$(OUT)/chapters)  ## plants classic mistakes; each must be caught: TRAP=name
	@MAKE='$(make_program)' CXX='$(CXX)' TRAPS='$(TRAPS)' sh tests/traps/run.sh '$(OUT)/traps' $(TRAP)$(if $(TRAP),, \
	    ; status=$$?; $(OUT)/chapters --quick tests/traps/README.md || status=1; exit $$status)
test-hugging-face: $(HUGGING_FACE)  ## models and tokenizers against transformers: QUICK=1
	@'$(PEERS_PYTHON)' tests/hugging_face/compare_models.py '$(OUT)/run_model' $(if $(filter-out 0,$(QUICK)),--quick)
	@$(if $(filter-out 0,$(QUICK)),,'$(PEERS_PYTHON)' tests/hugging_face/compare_tokenizers.py '$(OUT)/tokenize')
test-published: $(HUGGING_FACE)
	@'$(PEERS_PYTHON)' tests/hugging_face/compare_published.py '$(OUT)/run_model' '$(OUT)/tokenize' '$(BUILD)/published'
