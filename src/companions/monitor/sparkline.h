// A series as a small picture of characters.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace troika::monitor {

enum class Charset { ascii, utf8 };

// Lines from above to below, `columns` wide and `rows` high. The series is spread over the width, its least value at the bottom and its
// largest at the top; of a long series the top is the value that 95 % stay below, and more is cut off. Braille dots where there is UTF-8, two points in a column and four in a row; else " .:-=+*#". What is not
// finite is left empty. A series that is shorter than the width takes only its part of it; an empty one gives no lines.
std::vector<std::string> sparkline(const std::vector<double>& values, std::size_t columns, std::size_t rows,
                                   Charset charset);

// A bar of `columns`, `fraction` of it filled.
std::string progress_bar(double fraction, std::size_t columns, Charset charset);

}  // namespace troika::monitor
