#include "exporters/exposition.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace troika::exporters {
namespace {

std::string number_text(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return fmt::format("{}", value);
}

// The one spelling that bounds of buckets have: "1.0", "0.5", "+Inf".
std::string bound_text(double value) {
  const std::string text = number_text(value);
  return text.find_first_of(".eI") == std::string::npos ? text + ".0" : text;
}

enum class Quotes { stay, escaped };

std::string escaped(std::string_view text, Quotes quotes) {
  std::string all;
  for (const char c : base::printable(text, text.size())) {
    if (c == '\\') {
      all += "\\\\";
    } else if (c == '\n') {
      all += "\\n";
    } else if (c == '"' && quotes == Quotes::escaped) {
      all += "\\\"";
    } else {
      all += c;
    }
  }
  return all;
}

std::string_view word_of(Family::Kind kind, TextFormat format) {
  using Kind = Family::Kind;
  const bool open = format == TextFormat::open_metrics;
  switch (kind) {
    case Kind::counter:
      return "counter";
    case Kind::histogram:
      return "histogram";
    case Kind::info:
      return open ? "info" : "gauge";
    case Kind::state_set:
      return open ? "stateset" : "gauge";
    default:
      return "gauge";
  }
}

std::string_view suffix_of(Family::Kind kind) {
  return kind == Family::Kind::counter ? "_total" : kind == Family::Kind::info ? "_info" : "";
}

// One media range of Accept.
struct MediaRange {
  std::string type, version;
  double quality = 1;
};

MediaRange media_range_of(const std::string& text) {
  MediaRange range;
  for (const std::string& part : base::split(text, ';')) {
    const std::string trimmed = base::trim(part);
    if (range.type.empty()) range.type = trimmed;
    if (trimmed.rfind("version=", 0) == 0) range.version = trimmed.substr(8);
    if (trimmed.rfind("q=", 0) == 0 && !base::parse_double(trimmed.substr(2), &range.quality)) range.quality = 0;
  }
  return range;
}

}  // namespace

TextFormat format_for(std::string_view accept) {
  double open = 0, text = 0;
  for (const std::string& part : base::split(accept, ',')) {
    const MediaRange range = media_range_of(part);
    if (range.type == "application/openmetrics-text" && (range.version.empty() || range.version == "1.0.0"))
      open = std::max(open, range.quality);
    if (range.type == "text/plain" || range.type == "text/*" || range.type == "*/*")
      text = std::max(text, range.quality);
  }
  return open > 0 && open >= text ? TextFormat::open_metrics : TextFormat::prometheus;
}

std::string_view content_type_of(TextFormat format) {
  return format == TextFormat::open_metrics ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                                            : "text/plain; version=0.0.4; charset=utf-8";
}

void Exposition::begin(const Family& family) { family_ = family; }

std::string Exposition::head() const {
  const bool open = format_ == TextFormat::open_metrics;
  const std::string name = fmt::format("{}{}", family_.name, open ? "" : suffix_of(family_.kind));
  std::string text = fmt::format("# TYPE {} {}\n", name, word_of(family_.kind, format_));
  if (open && !family_.unit.empty()) text += fmt::format("# UNIT {} {}\n", name, family_.unit);
  return text + fmt::format("# HELP {} {}\n", name, escaped(family_.help, open ? Quotes::escaped : Quotes::stay));
}

void Exposition::line(std::string_view suffix, const Labels& labels, std::string_view value) {
  auto place = places_.find(family_.name);
  if (place == places_.end()) {
    place = places_.emplace(family_.name, texts_.size()).first;
    texts_.push_back(head());
  }
  std::vector<std::string> pairs;
  if (!run_.empty()) pairs.push_back(fmt::format("run=\"{}\"", escaped(run_, Quotes::escaped)));
  for (const auto& [name, content] : labels)
    pairs.push_back(fmt::format("{}=\"{}\"", name, escaped(content, Quotes::escaped)));
  const std::string within = pairs.empty() ? "" : "{" + base::join(pairs, ",") + "}";
  texts_[place->second] += fmt::format("{}{}{} {}\n", family_.name, suffix, within, value);
}

void Exposition::sample(double value, const Labels& labels) {
  line(suffix_of(family_.kind), labels, number_text(value));
}

void Exposition::info(const Labels& labels) { line("_info", labels, "1"); }

void Exposition::state(const std::vector<std::string_view>& all, std::string_view now) {
  for (const std::string_view one : all) line("", {{family_.name, std::string(one)}}, one == now ? "1" : "0");
}

void Exposition::histogram(const std::vector<double>& bounds, const std::vector<std::int64_t>& counts, double sum) {
  std::int64_t count = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    count += counts[i];
    const std::string bound = i < bounds.size() ? bound_text(bounds[i]) : "+Inf";
    line("_bucket", {{"le", bound}}, std::to_string(count));
  }
  line("_sum", {}, number_text(sum));
  line("_count", {}, std::to_string(count));
}

std::string Exposition::text() const {
  return base::join(texts_, "") + (format_ == TextFormat::open_metrics ? "# EOF\n" : "");
}

}  // namespace troika::exporters
