// The speed of a rank and a link, in as few numbers as predict a step. An operation takes the seconds of its call, its
// multiplications and its bytes, one after the other: small products move more bytes per multiplication, so this sum
// models how much slower than large ones they are (R. W. Hockney's half-performance length).
#pragma once

#include <string>
#include <string_view>

#include "config/choices.h"

namespace troika::machine {

struct Link {  // one way between two ranks; links are full duplex
  double latency_seconds = 0;
  double bytes_per_second = 0;  // 0: there is none
};

// Dense products in one precision, and attention. bytes_per_second: of reading both operands and writing the result.
struct PrecisionRates {
  double flops_per_second = 0, bytes_per_second = 0;  // 0: not known or not there
  double attention_share = 1;                         // of flops_per_second
  double attention_bytes_per_second = 0;              // of its rows, with what each row costs whatever it sees; 0: as between products
};

// The rates of one rank. Seconds of an operation are
//   products               call_seconds + flops / flops_per_second + bytes / bytes_per_second of the precision
//   attention              call_seconds + flops / (attention_share x flops_per_second) + bytes / attention_bytes_per_second of
//                          the precision; the scores' bytes with them where they go through memory
//   others of a microbatch call_seconds + bytes / between_bytes_per_second
//   sums and optimizer     call_seconds + bytes / stream_bytes_per_second
struct Rates {
  PrecisionRates fp32, bf16, fp16;
  double score_bytes =
      0;  // that a forward moves for each pair of a query and a key; 0: they stay in caches, as Troika's do
  double between_bytes_per_second = 0;  // norms, rotations, activations, loss: on arrays of a microbatch
  double stream_bytes_per_second = 0;   // gradients and optimizer: on arrays of a model
  double call_seconds = 0;

  const PrecisionRates& products(config::Precision precision) const {
    return precision == config::Precision::fp32 ? fp32 : precision == config::Precision::bf16 ? bf16 : fp16;
  }
  PrecisionRates& products(config::Precision precision) {
    return precision == config::Precision::fp32 ? fp32 : precision == config::Precision::bf16 ? bf16 : fp16;
  }
  double product_seconds(config::Precision precision, double flops, double bytes) const;
  double attention_bytes_per_second(config::Precision precision) const;  // between_bytes_per_second where it has none of its own
  double attention_seconds(config::Precision precision, double flops, double bytes) const;  // scores among the bytes
  double between_seconds(double bytes) const { return call_seconds + bytes / between_bytes_per_second; }
  double stream_seconds(double bytes) const { return call_seconds + bytes / stream_bytes_per_second; }

  void set_attention_share(double share) { fp32.attention_share = bf16.attention_share = fp16.attention_share = share; }

  // A rank that computes `factor` times as fast.
  Rates times(double factor) const;
};

// Numbers with their units as cluster files have them. False when malformed, negative, or without one of the units. The numbers are positive and finite.
bool parse_flops(std::string_view text, double* per_second);      // "480 GFLOP/s": k, M, G, T, P
bool parse_byte_rate(std::string_view text, double* per_second);  // "20 GB/s", "939 Mbit/s"
bool parse_latency(std::string_view text, double* seconds);       // "5 us", "0.2 ms", "1 s"

std::string format_flops(double per_second);                               // "480 GFLOP/s"
std::string format_byte_rate(double per_second);                           // "20.1 GB/s"
std::string format_bit_rate(double bytes_per_second);                      // "939 Mbit/s"
std::string format_latency(double seconds);                                // "5.2 us"
std::string format_link(double latency_seconds, double bytes_per_second);  // "0.4 ms, 9.4 Mbit/s"

}  // namespace troika::machine
