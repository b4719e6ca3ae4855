// exp, log, pow, sin and cos in double, with the same bits everywhere.
//
// C libraries differ in the last bit of theirs. Initial weights, sinusoids and Adam's corrections are rounded
// to float afterwards, which hides nearly all of it, but one number in 10⁸ would be another one. These use
// nothing but + - * /, which IEEE 754 rounds correctly, and are right to 2 ulp (sin and cos: to 2⁻⁵², for |x|
// up to 10⁶).
#pragma once

namespace plaingrad::autograd::portable {

double exp(double x);  // |x| <= 700
double log(double x);  // 0 < x, finite
// x >= 0, p ln x <= 700; right to |p ln x| roundings. It falls no further than to e⁻⁷⁰⁰, but 0 stays 0.
double pow(double x, double p);
double sin(double x);
double cos(double x);

}  // namespace plaingrad::autograd::portable
