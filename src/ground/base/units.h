// Numbers as people read and write them: with units, by their first digits; and figures of several values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace troika::base {

std::string format_bytes(std::int64_t bytes);  // binary units: "512 B", "1.50 MiB", "32.1 GiB"
std::string format_count(std::int64_t count);  // "9500", "12.0 K", "4.2 M", "1.30 B"
std::string format_duration(double seconds);   // "0.8 ms", "2.5 s", "3 min 20 s", "1 h 05 min"

// "64", "64K", "1.5MiB", "2GB": K/M/G/T with or without B (powers of 1000) or iB (powers of 1024). False when malformed.
bool parse_bytes(std::string_view text, std::int64_t* bytes);
// "30", "30s", "500ms", "2m", "1h": without a unit, seconds. False when malformed.
bool parse_duration(std::string_view text, double* seconds);

// By the first digits: "0.0123", "4.56"; larger numbers whole: "4560", never "4.56e+03".
std::string format_digits(double value, int digits);

// The mean of the two in the middle where their number is even. BugError when there are none.
double median(std::vector<double> values);
double median_or(std::vector<double> values, double of_none);

}  // namespace troika::base
