#include "machine/rates.h"

#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "base/units.h"
#include "base/text.h"

namespace troika::machine {

double Rates::product_seconds(config::Precision precision, double flops, double bytes) const {
  const PrecisionRates& rate = products(precision);
  return call_seconds + flops / rate.flops_per_second + bytes / rate.bytes_per_second;
}

double Rates::attention_bytes_per_second(config::Precision precision) const {
  const double own = products(precision).attention_bytes_per_second;
  return own > 0 ? own : between_bytes_per_second;
}

double Rates::attention_seconds(config::Precision precision, double flops, double bytes) const {
  const PrecisionRates& rate = products(precision);
  return call_seconds + bytes / attention_bytes_per_second(precision) + flops / (rate.attention_share * rate.flops_per_second);
}

Rates Rates::times(double factor) const {
  Rates r = *this;
  for (PrecisionRates* rate : {&r.fp32, &r.bf16, &r.fp16}) {
    rate->flops_per_second *= factor;
    rate->bytes_per_second *= factor;
    rate->attention_bytes_per_second *= factor;
  }
  r.between_bytes_per_second *= factor;
  r.stream_bytes_per_second *= factor;
  r.call_seconds /= factor;
  return r;
}

namespace {

struct Unit {
  std::string_view name;
  double factor;
};

bool parse(std::string_view text, const std::vector<Unit>& units, double* value) {
  const std::string whole = base::trim(text);
  const Unit* found = nullptr;
  for (const Unit& unit : units) {
    const bool ends =
        whole.size() > unit.name.size() && std::string_view(whole).substr(whole.size() - unit.name.size()) == unit.name;
    if (ends && (found == nullptr || unit.name.size() > found->name.size())) found = &unit;
  }
  if (found == nullptr) return false;
  double number = 0;
  if (!base::parse_double(base::trim(std::string_view(whole).substr(0, whole.size() - found->name.size())), &number))
    return false;
  if (!std::isfinite(number) || number <= 0) return false;
  *value = number * found->factor;
  return true;
}

std::string format(double value, const std::vector<Unit>& units) {  // units ascending
  const Unit* unit = &units.front();
  for (const Unit& other : units) {
    if (value >= 0.9995 * other.factor) unit = &other;
  }
  const double number = value / unit->factor;
  return fmt::format("{} {}", base::format_digits(number, 4), unit->name);
}

const std::vector<Unit>& flops_units() {
  static const std::vector<Unit> units = {{"FLOP/s", 1},    {"kFLOP/s", 1e3},  {"MFLOP/s", 1e6},
                                          {"GFLOP/s", 1e9}, {"TFLOP/s", 1e12}, {"PFLOP/s", 1e15}};
  return units;
}

const std::vector<Unit>& byte_units() {
  static const std::vector<Unit> units = {{"B/s", 1}, {"kB/s", 1e3}, {"MB/s", 1e6}, {"GB/s", 1e9}, {"TB/s", 1e12}};
  return units;
}

const std::vector<Unit>& bit_units() {
  static const std::vector<Unit> units = {
      {"bit/s", 0.125}, {"kbit/s", 125}, {"Mbit/s", 125e3}, {"Gbit/s", 125e6}, {"Tbit/s", 125e9}};
  return units;
}

const std::vector<Unit>& time_units() {
  static const std::vector<Unit> units = {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}};
  return units;
}

}  // namespace

bool parse_flops(std::string_view text, double* per_second) { return parse(text, flops_units(), per_second); }

bool parse_byte_rate(std::string_view text, double* per_second) {
  return parse(text, bit_units(), per_second) || parse(text, byte_units(), per_second);
}

bool parse_latency(std::string_view text, double* seconds) { return parse(text, time_units(), seconds); }

std::string format_flops(double per_second) { return format(per_second, flops_units()); }
std::string format_byte_rate(double per_second) { return format(per_second, byte_units()); }
std::string format_bit_rate(double bytes_per_second) { return format(bytes_per_second, bit_units()); }
std::string format_latency(double seconds) { return format(seconds, time_units()); }
std::string format_link(double latency_seconds, double bytes_per_second) {
  return format_latency(latency_seconds) + ", " + format_bit_rate(bytes_per_second);
}

}  // namespace troika::machine
