// exp, log, pow, sin and cos in double, with the same bits everywhere.
//
// C libraries differ in the last bit of these functions. Initial weights, sinusoids and Adam's corrections
// are rounded to float afterwards, which hides nearly all differences, but one number in 10⁸ would still
// differ. These functions use only + - * /, which IEEE 754 rounds correctly, and are accurate to 2 ulp (sin
// and cos: to 2⁻⁵², for |x| up to 10⁶).
#pragma once

namespace plaingrad::autograd::portable {

double exp(double x);  // |x| <= 700
double log(double x);  // 0 < x, finite
// x >= 0, p ln x <= 700; accurate to |p ln x| roundings. Results below e⁻⁷⁰⁰ become e⁻⁷⁰⁰; 0 stays 0.
double pow(double x, double p);
double sin(double x);
double cos(double x);

}  // namespace plaingrad::autograd::portable
