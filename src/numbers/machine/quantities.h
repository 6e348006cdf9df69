// Numbers with their units as cluster files have them.
#pragma once

#include <string>
#include <string_view>

namespace troika::machine {

// False when malformed, negative, or without one of the units. The numbers are positive and finite.
bool parse_flops(std::string_view text, double* per_second);      // "480 GFLOP/s": k, M, G, T, P
bool parse_byte_rate(std::string_view text, double* per_second);  // "20 GB/s", "939 Mbit/s"
bool parse_latency(std::string_view text, double* seconds);       // "5 us", "0.2 ms", "1 s"

std::string format_flops(double per_second);                               // "480 GFLOP/s"
std::string format_byte_rate(double per_second);                           // "20.1 GB/s"
std::string format_bit_rate(double bytes_per_second);                      // "939 Mbit/s"
std::string format_latency(double seconds);                                // "5.2 us"
std::string format_link(double latency_seconds, double bytes_per_second);  // "0.4 ms, 9.4 Mbit/s"

}  // namespace troika::machine
