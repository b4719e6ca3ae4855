# `make trust`: the instruments. A part of the Makefile, whose variables it uses.
#
# An instrument is a program, tests/trust/NAME.cpp with the rest of it in tests/trust/NAME/, or a script, NAME.sh. What a
# script runs is named here.

TRUST_PROGRAM := $(filter-out instrument,$(patsubst tests/trust/%.cpp,%,$(sort $(wildcard tests/trust/*.cpp))))
TRUST_SCRIPT  := $(filter-out trust,$(patsubst tests/trust/%.sh,%,$(sort $(wildcard tests/trust/*.sh))))
INSTRUMENTS   := $(TRUST_PROGRAM) $(TRUST_SCRIPT)
trust_parts    = $(call of,$(sort $(wildcard tests/trust/$(1)/*.cpp)))
TRUST_OBJ     := $(OBJ)/tests/trust/instrument.o $(TRUST_PROGRAM:%=$(OBJ)/tests/trust/%.o) \
                 $(foreach folder,$(notdir $(patsubst %/,%,$(wildcard tests/trust/*/))),$(call trust_parts,$(folder)))
$(TRUST_OBJ): TEST_OPT = -O2  # they compute a lot
$(TRUST_OBJ): | $(if $(filter-out no,$(PCH)),$(OUT)/std.h.gch)

# programs/double.cpp belongs to a program of its own, programs_double: it is not linked into `programs`.
of_trust = $(filter-out %/double.o,$(call trust_parts,$(1)))
$(TRUST_PROGRAM:%=$(OUT)/trust/%): $(OUT)/trust/%: $(OBJ)/tests/trust/%.o $$(call of_trust,$$*) $(OBJ)/tests/trust/instrument.o \
        $(SHARED) $(PARTS) $(KIT) $(LIB)
	$(link)

# The others need the library only, as other compilers, other processors' and the double build make them, too: gradients.sh
# runs `gradients`, bits.sh `weights`, the program `programs` runs `programs_double`.
OPS_OBJ := $(call of,$(sort $(wildcard tests/ops/*.cpp)))
$(OUT)/trust/gradients: $(call trust_parts,gradients) $(OPS_OBJ) $(LIB)
$(OUT)/trust/weights: $(call trust_parts,bits) $(LIB)
$(OUT)/programs_double: $(call trust_parts,programs) $(OPS_OBJ) $(LIB)
PEERS_TEXT := $(OBJ)/tests/trust/peers/text.o
$(OUT)/trust/peers_text: $(PEERS_TEXT) $(LIB)
$(OUT)/trust/peers_tensors: $(filter-out $(PEERS_TEXT),$(call trust_parts,peers)) $(OPS_OBJ) $(LIB)
$(OUT)/trust/gradients $(OUT)/trust/weights $(OUT)/programs_double $(OUT)/trust/peers_text $(OUT)/trust/peers_tensors:
	$(link)

$(OUT)/trust/programs_double: $(BUILD)/double/programs_double
	@mkdir -p $(@D) && cp $< $@
$(OUT)/trust/programs: | $(OUT)/trust/programs_double

# To be loaded before a program, so that calls of the system fail there. Linux with glibc only.
$(OUT)/trust/faults.so: tests/trust/preload/faults.cpp tests/trust/preload/faults.h $(OUT)/flags
	$(call say,c++)
	$(Q)mkdir -p $(@D) && $(CXX) $(FLAGS) -shared -fPIC $< $(LDFLAGS) -ldl -o $@
$(OUT)/trust/crashes: | $(if $(filter Linux,$(shell uname -s)),$(if $(filter release,$(VARIANT)),$(OUT)/trust/faults.so))

# The numbers that tests/trust/README.md shows are kept; others stay in the build.
TRUST_SCALE := $(or $(TRUST),sample)
TRUST_IN    := $(if $(filter long,$(TRUST_SCALE)),tests/trust/long.txt,$(OUT)/trust/$(TRUST_SCALE).txt)
# The longest first, and beside it the others: mutants take twenty minutes.
TRUST_THESE := $(or $(ONLY),mutants $(filter-out mutants,$(INSTRUMENTS)))
# (Of a part, as in ONLY=crashes.kills, the whole instrument.)
TRUST_WHOLE := $(foreach name,$(TRUST_THESE),$(firstword $(subst ., ,$(name))))
TRUST_NEEDS := $(patsubst %,$(OUT)/trust/%,$(filter $(TRUST_WHOLE),$(TRUST_PROGRAM)) $(if $(filter bits,$(TRUST_WHOLE)),weights))
.PHONY: trust trust-fuzzer
trust: export PLAINGRAD_BUILD := $(BUILD)
trust: export PLAINGRAD_TRUST := $(OUT)/trust
trust: $(TRUST_NEEDS) $(PROGRAMS) $(if $(filter fuzz,$(TRUST_WHOLE)),trust-fuzzer)  ## measures how well promises are kept: TRUST=quick|long ONLY=
	@MAKE='$(make_program)' CXX='$(CXX)' JOBS='$(or $(JOBS),2)' sh tests/trust/trust.sh '$(OUT)/trust' '$(TRUST_IN)' '$(TRUST_SCALE)' '$(or $(SEED),1)' \
	    '$(COMPILER)' $(TRUST_THESE)

trust-fuzzer:
	+@MAKE='$(make_program)' CXX='$(CXX)' sh tests/trust/fuzz.sh build

# Against others, where they are installed: what its Python lacks is left out, and said. PART: 'ops models ...'.
.PHONY: trust-peers
trust-peers: $(OUT)/trust/peers_tensors $(OUT)/trust/peers_text $(OUT)/run_model $(OUT)/tokenize  ## random ops, models, texts against other libraries: PYTHON=
	@'$(PEERS_PYTHON)' tests/trust/peers '$(OUT)' --cases $(or $(CASES),1000) --seed $(or $(SEED),1) $(if $(ONLY),--only $(ONLY)) \
	    $(foreach part,$(PART),--part $(part))
