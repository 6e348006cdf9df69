#include "metrics/step_metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/run_files.h"
#include "base/say.h"
#include "base/text.h"

namespace troika::metrics {
using nlohmann::json;

static const char* const fixed_keys[] = {"step",   "loss",         "loss_bits",    "grad_norm",         "lr",
                                         "tokens", "tokens_total", "step_seconds", "tokens_per_second", "memory_bytes"};

std::uint32_t bits_of(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

static std::string digits(double value) { return std::isfinite(value) ? fmt::format("{:.9g}", value) : "null"; }

// As many digits as give the same double back: a loss scale is a power of two.
static std::string all_digits(double value) { return std::isfinite(value) ? fmt::format("{}", value) : "null"; }

std::string to_json(const StepMetrics& m) {
  std::string text = fmt::format(
      R"({{"step": {}, "loss": {}, "loss_bits": "{:08x}", "grad_norm": {}, "lr": {}, "tokens": {}, "tokens_total": {}, )"
      R"("step_seconds": {}, "tokens_per_second": {}, "memory_bytes": {})",
      m.step, digits(m.loss), m.loss_bits, digits(m.grad_norm), digits(m.lr), m.tokens, m.tokens_total,
      digits(m.step_seconds), digits(m.tokens_per_second), m.memory_bytes);
  for (const auto& [name, value] : m.extra) text += fmt::format(", {}: {}", json(name).dump(), all_digits(value));
  return text + "}";
}

// A number, or NaN for null.
static double number(const json& object, const std::string& key, const std::string& origin) {
  const auto found = object.find(key);
  if (found != object.end() && found->is_null()) return std::numeric_limits<double>::quiet_NaN();
  return base::json_double(object, key, origin);
}

static std::uint32_t hex_bits(const std::string& text, const std::string& origin) {
  if (text.size() != 8 || text.find_first_not_of("0123456789abcdef") != std::string::npos)
    throw base::DataError(base::say("{}: loss_bits must be 8 hex digits, not '{}'", origin, text));
  return static_cast<std::uint32_t>(std::stoul(text, nullptr, 16));
}

static bool is_fixed(const std::string& key) {
  for (const char* fixed : fixed_keys)
    if (key == fixed) return true;
  return false;
}

StepMetrics parse_step_metrics(const std::string& line, const std::string& origin) {
  const json object = base::parse_json(line, origin);
  StepMetrics m;
  m.step = base::json_int(object, "step", origin);
  m.loss = number(object, "loss", origin);
  m.loss_bits = hex_bits(base::json_string(object, "loss_bits", origin), origin);
  m.grad_norm = number(object, "grad_norm", origin);
  m.lr = number(object, "lr", origin);
  m.tokens = base::json_int(object, "tokens", origin);
  m.tokens_total = base::json_int(object, "tokens_total", origin);
  m.step_seconds = number(object, "step_seconds", origin);
  m.tokens_per_second = number(object, "tokens_per_second", origin);
  m.memory_bytes = base::json_int(object, "memory_bytes", origin);
  for (const auto& item : object.items())
    if (!is_fixed(item.key())) m.extra[item.key()] = number(object, item.key(), origin);
  return m;
}

// Calls row(line without newline, parsed) for each whole row. A last line without newline is torn and left out, and so is one
// with zero bytes. Of a line only so much is kept as no row has.
static void for_each_row(const base::RunFile& file, const std::string& path,
                         const std::function<void(const std::string&, const StepMetrics&)>& row) {
  constexpr std::int64_t piece_bytes = 1 << 20;
  std::string line;
  std::int64_t number = 1;
  for (std::int64_t offset = 0; offset < file.facts().bytes; offset += piece_bytes) {
    const std::string piece = file.text(offset, std::min(piece_bytes, file.facts().bytes - offset));
    std::size_t begin = 0;
    for (std::size_t end = piece.find('\n'); end != std::string::npos; end = piece.find('\n', begin), ++number) {
      line.append(piece, begin, end - begin);
      begin = end + 1;
      const bool torn =
          line.find('\0') != std::string::npos;  // a file system that lost power shows what it had not written
      if (!torn && !base::trim(line).empty())
        row(line, parse_step_metrics(line, fmt::format("line {} of '{}'", number, path)));
      line.clear();
    }
    if (line.size() < piece_bytes) line.append(piece, begin, piece.size() - begin);
  }
}

void MetricsFile::append(const StepMetrics& metrics) const { base::append_in_run(path_, to_json(metrics) + "\n"); }

void MetricsFile::cut_after(std::int64_t step) const {
  const auto file = base::RunFile::open(path_);
  if (!file) return;
  std::string kept;
  for_each_row(*file, path_, [&](const std::string& line, const StepMetrics& row) {
    if (row.step <= step) kept += line + "\n";
  });
  const bool all_kept = static_cast<std::int64_t>(kept.size()) == file->facts().bytes;
  if (!all_kept) base::write_file_atomic(path_, kept);
}

std::vector<StepMetrics> MetricsFile::read() const {
  std::vector<StepMetrics> rows;
  if (const auto file = base::RunFile::open(path_))
    for_each_row(*file, path_, [&](const std::string&, const StepMetrics& row) { rows.push_back(row); });
  return rows;
}

}  // namespace troika::metrics
