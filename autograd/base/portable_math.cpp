#include "autograd/base/portable_math.h"

#include <cmath>
#include <cstdint>

namespace plaingrad::autograd::portable {
namespace {

// Constants in parts: the first parts end in enough zero bits that their product with a small integer is
// exact.
constexpr double kLn2[] = {0x1.62e42feep-1, 0x1.a39ef35793c76p-33};
constexpr double kHalfPi[] = {0x1.921fb544p0, 0x1.0b4611a6p-34, 0x1.3198a2e037073p-69};

// To the nearest integer.
double rounded(double x) { return std::floor(x + 0.5); }

// sin(x + quarter π/2), by Taylor's series on what is left of x beside multiples of π/2
double sine(double x, int64_t quarter) {
    const double turns = rounded(x * 0x1.45f306dc9c883p-1);  // 2/π
    const double r = ((x - turns * kHalfPi[0]) - turns * kHalfPi[1]) - turns * kHalfPi[2], r2 = r * r;
    quarter = (quarter + static_cast<int64_t>(turns)) & 3;
    const bool is_sine = quarter % 2 == 0;
    double sum = 1;
    for (int n = is_sine ? 19 : 18; n >= 2; n -= 2)  // r - r³/3! + ...  or  1 - r²/2! + ...
        sum = 1 - r2 * sum / (n * (n - 1));
    const double y = is_sine ? r * sum : sum;
    return quarter < 2 ? y : -y;
}

}  // namespace

// x = k ln 2 + r: 2ᵏ eʳ
double exp(double x) {
    const double k = rounded(x * 0x1.71547652b82fep0);  // 1 / ln 2
    const double r = (x - k * kLn2[0]) - k * kLn2[1];
    double sum = 1;
    for (int n = 14; n >= 1; --n)
        sum = 1 + r * sum / n;
    return std::ldexp(sum, static_cast<int>(k));
}

// x = 2ᵏ m with m about 1: k ln 2 + 2 artanh((m-1) / (m+1)), and artanh s = s + s³/3 + s⁵/5 + ...
double log(double x) {
    int k = 0;
    double m = std::frexp(x, &k);
    if (m < 0x1.6a09e667f3bcdp-1)  // √½
        m *= 2, --k;
    const double s = (m - 1) / (m + 1), s2 = s * s;
    double rest = 0;
    for (int n = 23; n >= 3; n -= 2)
        rest = (rest + 1.0 / n) * s2;
    return k * kLn2[0] + (2 * s + (2 * s * rest + k * kLn2[1]));
}

double pow(double x, double p) { return x == 0 ? 0 : exp(std::fmax(p * log(x), -700)); }

double sin(double x) { return sine(x, 0); }
double cos(double x) { return sine(x, 1); }

}  // namespace plaingrad::autograd::portable
