// How sections print: numbers with few digits, Markdown tables; and how they assert what the text claims.
#pragma once

#include <initializer_list>
#include <iosfwd>
#include <string>
#include <vector>

#include "apps/kit/text.h"
#include "autograd/tensor.h"

namespace plaingrad::chapters {

using kit::grouped;

// Element i.
inline double value(const autograd::Tensor& x, int64_t i = 0) { return static_cast<double>(x.data()[i]); }

// 0.0123, 1.23, 12.3, 1230, 1.23e-05, 1.23e+07: `n` significant digits, which no difference between C
// libraries reaches.
std::string digits(double x, int n = 3);
// With this many decimals, and never "-0.00".
std::string fixed(double x, int decimals = 2);
// With as many decimals as needed, at most four: 0.25, 3.
std::string number(double x);
// "4 5; 10 11": the rows of a matrix.
std::string numbers(const autograd::Tensor& x);
// "(1.91, 1.65)"
std::string vector_text(const autograd::Tensor& x, int decimals = 2);

using Rows = std::vector<std::vector<std::string>>;  // of a table; the first is its heading

// A Markdown table; the cells of every row are as many as those of the first. `columns` has a letter for each
// column: 't' for text, 'n' for numbers, which stand on the right. Without it the first is text, the others
// are numbers.
void table(std::ostream& out, const Rows& rows, const std::string& columns = "");

// "88 %". Throws Error above 105 %: nothing is faster than the peak, but a peak may be measured while other
// programs run.
std::string share_of_peak(double speed, double peak);

// What the text says of the numbers. Throws Error if they say otherwise, so that a test fails before a reader
// is misled.
void claim(bool holds, const std::string& what);

double mean_of(const std::vector<double>& x);
// "0.021 (0.018, 0.020, 0.025)": the mean of the seeds, and each.
std::string of_seeds(const std::vector<double>& x, int n = 2);

}  // namespace plaingrad::chapters
