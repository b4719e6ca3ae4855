#include "models/text/unicode.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <sstream>
#include <vector>

#include "autograd/base/utf8.h"

namespace plaingrad::models::text {

// All code points from 0 on, in runs of one class: its letter (o: none), and how many. Written by Python 3.11:
//   from itertools import groupby; from unicodedata import category
//   kind = lambda c: category(chr(c))[0] if category(chr(c))[0] in "LMN" else "o"
//   print("".join(k + str(len(list(run))) for k, run in groupby(range(0x110000), kind)))
static const char kClasses[] =
    "o48N10o7L26o6L26o47L1o7N2o1L1o3N1L1o1N3o1L23o1L31o1L458o4L12o14L5o7L1o1L1o17M112L5o1L2o2L4o1L1o6L1o1L3"
    "o1L1o1L20o1L83o1L139o1M7L166o1L38o2L1o6L41o8M45o1M1o1M2o1M2o1M1o8L27o4L4o29M11o5L43M21N10o4L2M1L99o1L1"
    "M7o2M6L2M2o1M4L2N10L3o2L1o16L1M1L30M27o2L89M11L1o14N10L33M9L2o4L1o2M1o2L22M4L1M9L1M3L1M5o18L25M3o4L11o5"
    "L24o1L6o9M8L42M24o1M33L54M3L1M18L1M7L10M2o2N10o1L16M3o1L8o2L2o2L22o1L7o1L1o3L4o2M1L1M7o2M2o2M3L1o8M1o4"
    "L2o1L3M2o2N10L2o2N6o2L1o1M1o2M3o1L6o4L2o2L22o1L7o1L2o1L2o1L2o2M1o1M5o4M2o2M3o3M1o7L4o1L1o7N10M2L3M1o11"
    "M3o1L9o1L3o1L22o1L7o1L2o1L5o2M1L1M8o1M3o1M3o2L1o15L2M2o2N10o9L1M6o1M3o1L8o2L2o2L22o1L7o1L2o1L5o2M1L1M7"
    "o2M2o2M3o7M3o4L2o1L3M2o2N10o1L1N6o10M1L1o1L6o3L3o1L4o3L2o1L1o1L2o3L2o3L3o3L12o4M5o3M3o1M4o2L1o6M1o14N13"
    "o13M5L8o1L3o1L23o1L16o2M1L1M7o1M3o1M4o7M2o1L3o2L1o2L2M2o2N10o8N7o1L1M3o1L8o1L3o1L23o1L10o1L5o2M1L1M7o1"
    "M3o1M4o7M2o6L2o1L2M2o2N10o1L2o13M4L9o1L3o1L41M2L1M7o1M3o1M4L1o5L3M1N7L3M2o2N19o1L6o1M3o1L18o3L24o1L9o1"
    "L1o2L7o3M1o4M6o1M1o1M8o6N10o2M2o13L48M1L2M7o5L7M8o1N10o39L2o1L1o1L5o1L24o1L1o1L10M1L2M9L1o2L5o1L1o1M6o2"
    "N10o2L4o32L1o23M2o6N20o1M1o1M1o1M1o4M2L8o1L36o4M20o1M2L5M11o1M36o9M1o57L43M20L1N10o6L6M4L4M3L1M3L2M7L3"
    "M4L13M12L1M1N10M4o2L38o1L1o5L1o2L43o1L333o1L4o2L7o1L1o1L4o2L41o1L4o2L33o1L4o2L7o1L1o1L4o2L15o1L57o1L4o2"
    "L67o2M3o9N20o3L16o16L86o2L6o3L620o2L17o1L26o5L75o3N3L8o7L18M4o9L19M3o11L18M2o12L13o1L3o1M2o12L52M32o3L1"
    "o4L1M1o2N10o6N10o17M3o1M1N10o6L89o7L5M2L34M1L1o5L70o10L31o1M12o4M12o10N10L30o2L5o11L44o4L26o6N11o37L23"
    "M5o4L53M10o1M29o2M1N10o6N10o13L1o8M31o49M5L47M17L8o3N10o17M9o12M3L30M13L2N10L44M14o12L36M20o8N10o3L3N10"
    "L36o2L9o7L43o2L3o16M3o1M21L4M1L6M1L2M3L1o5L192M64L278o2L6o2L38o2L6o2L8o1L1o1L1o1L1o1L31o2L53o1L7o1L1o3"
    "L3o1L7o3L4o2L6o4L13o5L3o1L7o115N1L1o2N6o5L1N10o6L13o51M33o17L1o4L1o2L10o1L1o3L5o6L1o1L1o1L1o1L4o1L11o2"
    "L4o5L5o4L1o1N51L2N5o726N60o78N22o630N30o1132L229o6L4M3L2o9N1o2L38o1L1o5L1o2L56o7L1o15M1L23o9L7o1L7o1L7"
    "o1L7o1L7o1L7o1L7o1L7o1M32o47L1o469L2N1o25N9M6o1L5o2N3L2o4L86o2M2o2L3o1L90o1L4o5L43o1L94o3N4o10L32o48L16"
    "o32N10o30N8o1N15o32N10o39N15o320L6592o64L22157o67L46o2L269o3L16N10L2o20L47M4o1M10o1L31M2L70N10M2o37L9o2"
    "L103o2L64o5L2o1L1o1L5o24L16M1L3M1L4M1L23M5o4M1o3N6o10L52o12M2L50M18o10N10o6M18L6o3L1o1L2M1N10L28M8o2L23"
    "M13o12L29o3M4L47M14o14L1N10o6L5M1L10N10L5o1L41M14o9L3M1L8M2o2N10o6L23o3L1M3L50M1L1M3L2M2L5M2L1M1L1o24L3"
    "o2L11M5o2L3M2o10L6o2L6o2L6o9L7o1L7o1L43o1L14o6L115M8o1M2o2N10o6L11172o12L23o4L49o8452L366o2L106o38L7o12"
    "L5o5L1M1L10o1L13o1L5o1L1o1L2o1L2o1L108o33L363o18L64o2L54o40L12o4M16o16M16o64L5o1L135o19N10o7L26o6L26o11"
    "L89o3L6o2L6o2L6o2L3o35L12o1L26o1L19o1L2o1L15o2L14o34L123o12N45o12N57o17N2o113M1o130L29o3L49o15M1N27o4"
    "L32N4o9L20N1L8N1o5L38M5o5L30o2L36o4L8o1N5o42L158o2N10o6L36o4L36o4L40o8L52o12L11o1L15o1L7o1L2o1L11o1L15"
    "o1L7o1L2o67L311o9L22o10L8o24L6o1L42o1L9o69L6o2L1o1L44o1L2o3L1o2L23o2N8L23o2N7L31o8N9o48L19o1L2o5N5L22N6"
    "o4L26o70L56o4N2L2N16o2N46L1M3o1M2o5M4L4o1L3o1L29o2M3o4M1N9o23L29N2o1L29N3o32L8o1L28M2o4N5o16L54o10L22o2"
    "N8L19o5N8L18o23N7o80L73o55L51o13L51o7N6L36M4o8N10o294N31o1L42o1M2o3L2o78L29N10L1o8L22M11N4o27L18M4o42"
    "L21N7o20L23o9M3L53M15o11N30M1L2M2L1o9M4L45M11o7M1o13L25o7N10o6M3L36M14o1N10o4L1M2L1o8L35M1o2L1o9M3L48"
    "M14L4o4M4o1M2N10L1o1L1o4N20o11L18o1L25M12o6M1o65L7o1L1o1L4o1L15o1L10o7L47M12o5N10o6M4o1L8o2L2o2L22o1L7"
    "o1L2o1L5o1M2L1M7o2M2o2M3o2L1o6M1o5L5M2o2M7o3M5o139L53M18L4o5N10o4M1L3o30L48M20L2o1L1o8N10o166L47M7o2M9"
    "o23L4M2o34L48M17o3L1o11N10o38L43M13L1o7N10o54L27o2M15o4N12o4L7o185L44M15o101L64N19o12L8o2L1o2L8o1L2o1"
    "L24M6o1M2o2M4L1M1L1M2o12N10o70L8o2L39M7o2M7L1o1L1M1o27L1M10L40M7L1M4o8M1o8L1M11L46M16o3L1o18L73o263L9o1"
    "L37M8o1M8L1o15N29o5L30o2M22o1M14o73L7o1L2o1L38M6o3M1o1M2o1M7L1M1o8N10o6L6o1L2o1L32M5o1M2o1M5L1o7N10o310"
    "L19M4o185L1o15N21o43L922o102N111o17L196o2636L97o15L1071o4049L583o8633L569o7L31o1N10o6L79o1N10o6L30o2M5"
    "o11L48M7o9L4o12N10o1N7o1L21o5L19o688L64N23o105L75o4M1L1M55o7M4L13o64L2o1L1M1o11M2o14L6136o8L1238o42L9"
    "o8935L4o1L7o1L2o1L291o45L3o17L4o8L396o2308L107o5L13o3L9o7L10o3M2o4705M46o2M23o542M5o3M6o8M8o2M7o30M4"
    "o148M3o155N20o108N25o135L85o1L71o1L2o2L1o2L2o2L4o1L12o1L1o1L7o1L65o1L4o2L8o1L7o1L28o1L4o1L5o1L1o3L7o1"
    "L340o2L25o1L25o1L31o1L25o1L31o1L25o1L31o1L25o1L31o1L25o1L8o2N50o512M55o4M50o8M1o14M1o22M5o1M15o1104L31"
    "o225M7o1M17o2M7o1M2o1M5o213L45o3M7L7o2N10o4L1o321L30M1o17L44M4N10o1254L7o1L4o1L2o1L15o1L197o2N9M7o41L68"
    "M7L1o4N10o791N59o1N3o1N4o76N45o1N15o194L4o1L27o1L2o1L1o2L1o1L10o1L4o1L1o1L1o6L1o4L1o1L1o1L1o1L3o1L2o1L1"
    "o2L1o1L1o1L1o1L1o1L1o1L2o1L1o2L4o1L7o1L4o1L4o1L1o1L10o1L17o5L3o1L5o1L17o580N13o2787N10o1030L42720o32"
    "L4153o7L222o2L5762o14L7473o3103L542o1506L4939o716213M240";

// Which code points have a lower case: how many to leave out, how many come then, how far each is from the
// next (often every other one is upper case), what to add to get the lower case. The runs are made of all c and
// ord(chr(c).lower()) where the two differ; for U+0130, of which Python makes two, the simple mapping is U+0069.
static const char kLower[] =
    "65 26 1 32 101 23 1 32 1 7 1 32 33 24 2 1 1 1 1 -199 1 3 2 1 2 8 2 1 2 23 2 1 1 1 1 -121 0 3 2 1 3 1 1 "
    "210 0 2 2 1 1 1 1 206 0 1 1 1 1 2 1 205 0 1 1 1 2 1 1 79 0 1 1 202 0 1 1 203 0 1 1 1 1 1 1 205 0 1 1 "
    "207 1 1 1 211 0 1 1 209 0 1 1 1 3 1 1 211 0 1 1 213 1 1 1 214 0 3 2 1 1 1 1 218 0 1 1 1 1 1 1 218 2 1 "
    "1 1 1 1 1 218 0 1 1 1 1 2 1 217 0 2 2 1 1 1 1 219 0 1 1 1 3 1 1 1 7 1 1 2 0 1 1 1 1 1 1 2 0 1 1 1 1 1 "
    "1 2 0 9 2 1 2 9 2 1 2 1 1 2 0 2 2 1 1 1 1 -97 0 1 1 -56 0 20 2 1 1 1 1 -130 1 9 2 1 7 1 1 10795 0 1 1 "
    "1 1 1 1 -163 0 1 1 10792 2 1 1 1 1 1 1 -195 0 1 1 69 0 1 1 71 0 5 2 1 289 2 2 1 3 1 1 1 8 1 1 116 6 1 "
    "1 38 1 3 1 37 1 1 1 64 1 2 1 63 1 17 1 32 1 9 1 32 35 1 1 8 8 12 2 1 5 1 1 -60 2 1 1 1 1 1 1 -7 0 1 1 "
    "1 2 3 1 -130 0 16 1 80 0 32 1 32 48 17 2 1 9 27 2 1 1 1 1 15 0 7 2 1 2 48 2 1 2 38 1 48 2889 38 1 7264 "
    "1 1 1 7264 5 1 1 7264 722 80 1 38864 0 6 1 8 2202 43 1 -3008 2 3 1 -3008 320 75 2 1 9 1 1 -7615 1 48 2 "
    "1 9 8 1 -8 8 6 1 -8 10 8 1 -8 8 8 1 -8 8 6 1 -8 11 4 2 -8 8 8 1 -8 24 8 1 -8 8 8 1 -8 8 8 1 -8 8 2 1 "
    "-8 0 2 1 -74 0 1 1 -9 11 4 1 -86 0 1 1 -9 11 2 1 -8 0 2 1 -100 12 2 1 -8 0 2 1 -112 0 1 1 -7 11 2 1 "
    "-128 0 2 1 -126 0 1 1 -9 297 1 1 -7517 3 1 1 -8383 0 1 1 -8262 6 1 1 28 45 16 1 16 19 1 1 1 818 26 1 "
    "26 1840 48 1 48 48 1 1 1 1 1 1 -10743 0 1 1 -3814 0 1 1 -10727 2 3 2 1 1 1 1 -10780 0 1 1 -10749 0 1 1 "
    "-10783 0 1 1 -10782 1 1 1 1 2 1 1 1 8 2 1 -10815 0 50 2 1 8 2 2 1 4 1 1 1 31053 23 2 1 19 14 2 1 135 7 "
    "2 1 3 31 2 1 10 2 2 1 1 1 1 -35332 0 5 2 1 4 1 1 1 1 1 1 -42280 2 2 2 1 3 10 2 1 1 1 1 -42308 0 1 1 "
    "-42319 0 1 1 -42315 0 1 1 -42305 0 1 1 -42308 1 1 1 -42258 0 1 1 -42282 0 1 1 -42261 0 1 1 928 0 8 2 1 "
    "1 1 1 -48 0 1 1 -42307 0 1 1 -35384 0 2 2 1 6 1 1 1 5 2 2 1 28 1 1 1 22315 26 1 32 1221 40 1 40 136 36 "
    "1 40 156 11 1 39 1 15 1 39 1 7 1 39 1 2 1 39 1770 51 1 64 3053 32 1 32 21888 32 1 32 31392 34 1 34";

namespace {

struct Class {
    char32_t end;  // of the run that begins where the one before ends
    char letter;
};
struct Cased {
    char32_t first, end, step;
    int delta;
};

// The first run that ends behind c; null behind all runs.
template <class Run>
const Run* find(const std::vector<Run>& runs, char32_t c) {
    const auto run =
        std::upper_bound(runs.begin(), runs.end(), c, [](char32_t at, const Run& r) { return at < r.end; });
    return run == runs.end() ? nullptr : &*run;
}

std::vector<Class> read_classes() {
    std::vector<Class> runs;
    std::istringstream text(kClasses);
    char letter = 0;
    for (uint32_t length = 0, end = 0; text >> letter >> length;)
        runs.push_back({end += length, letter});
    return runs;
}

std::vector<Cased> read_lower() {
    std::vector<Cased> runs;
    std::istringstream text(kLower);
    int delta = 0;
    for (uint32_t skip = 0, count = 0, step = 0, end = 0; text >> skip >> count >> step >> delta;) {
        const uint32_t first = end + skip;
        end = first + (count - 1) * step + 1;
        runs.push_back({first, end, step, delta});
    }
    return runs;
}

bool is(char letter, char32_t c) {
    static const std::vector<Class> runs = read_classes();
    const Class* run = find(runs, c);
    return run != nullptr && run->letter == letter;
}

}  // namespace

bool is_letter(char32_t c) { return is('L', c); }
bool is_mark(char32_t c) { return is('M', c); }
bool is_number(char32_t c) { return is('N', c); }

bool is_space(char32_t c) {
    constexpr char32_t others[] = {0x20, 0x85, 0xa0, 0x1680, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000};
    return (c >= 9 && c <= 13) || (c >= 0x2000 && c <= 0x200a) ||
           std::find(std::begin(others), std::end(others), c) != std::end(others);
}

char32_t to_lower(char32_t c) {
    static const std::vector<Cased> runs = read_lower();
    const Cased* run = find(runs, c);
    const bool cased = run != nullptr && c >= run->first && (c - run->first) % run->step == 0;
    return cased ? c + static_cast<char32_t>(run->delta) : c;
}

std::string lower_case(std::string_view text) {
    std::string lower;
    for (std::size_t at = 0; at < text.size();) {
        const auto [code, length] = autograd::first_code_point(text.substr(at));
        const char32_t small = to_lower(code);
        if (small != code)
            autograd::append_utf8(lower, small);
        else
            lower.append(text.substr(at, length));
        at += length;
    }
    return lower;
}

}  // namespace plaingrad::models::text
