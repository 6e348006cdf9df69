#include "serve/columns.h"

#include <charconv>
#include <cstring>
#include <string>

#include "base/error.h"
#include "metrics/step_metrics.h"

namespace troika::serve {
namespace {

constexpr std::array<std::string_view, series_count> series_words = {"loss", "valid_loss",        "grad_norm",
                                                                     "lr",   "tokens_per_second", "step_seconds"};

// Keys that a row must have, a bit each.
enum Seen : unsigned {
  seen_step = 1,
  seen_loss = 2,
  seen_bits = 4,
  seen_norm = 8,
  seen_lr = 16,
  seen_tokens = 32,
  seen_total = 64,
  seen_seconds = 128,
  seen_rate = 256,
  seen_memory = 512,
  seen_valid = 1024,  // which a row may have
};
constexpr unsigned all_needed = 1023;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Reads JSON of one object with plain keys whose values are numbers, null and loss_bits. Anything else, allowed or not, is left to
// the full parser.
class PlainScanner {
 public:
  explicit PlainScanner(std::string_view line) : at_(line.data()), end_(line.data() + line.size()) {}

  bool scan(ScannedRow* row) {
    skip_space();
    if (!take('{')) return false;
    for (;;) {
      std::string_view key;
      skip_space();
      if (!take_text(&key)) return false;
      skip_space();
      if (!take(':')) return false;
      skip_space();
      if (!take_value(key, row)) return false;
      skip_space();
      if (take(',')) continue;
      if (!take('}')) return false;
      skip_space();
      return at_ == end_ && (seen_ & all_needed) == all_needed;
    }
  }

 private:
  void skip_space() {
    while (at_ < end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\r')) ++at_;
  }

  bool take(char c) {
    if (at_ == end_ || *at_ != c) return false;
    ++at_;
    return true;
  }

  // Takes a string of visible ASCII without escapes.
  bool take_text(std::string_view* text) {
    if (!take('"')) return false;
    const char* const begin = at_;
    for (; at_ < end_ && *at_ != '"'; ++at_)
      if (const auto c = static_cast<unsigned char>(*at_); c < 0x20 || c >= 0x7f || c == '\\') return false;
    *text = {begin, static_cast<std::size_t>(at_ - begin)};
    return take('"');
  }

  bool take_bits() {
    std::string_view text;
    return take_text(&text) && text.size() == 8 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  }

  // JSON's grammar, which is narrower than that of from_chars.
  bool number_end(const char** end, bool* whole) const {
    const char* p = at_;
    if (p < end_ && *p == '-') ++p;
    if (p == end_ || !is_digit(*p)) return false;
    if (*p == '0' && p + 1 < end_ && is_digit(p[1])) return false;
    while (p < end_ && is_digit(*p)) ++p;
    *whole = true;
    if (p < end_ && *p == '.') {
      *whole = false;
      if (++p == end_ || !is_digit(*p)) return false;
      while (p < end_ && is_digit(*p)) ++p;
    }
    if (p < end_ && (*p == 'e' || *p == 'E')) {
      *whole = false;
      ++p;
      if (p < end_ && (*p == '+' || *p == '-')) ++p;
      if (p == end_ || !is_digit(*p)) return false;
      while (p < end_ && is_digit(*p)) ++p;
    }
    *end = p;
    return true;
  }

  bool take_integer(std::int64_t* value) {
    const char* end = at_;
    bool whole = false;
    if (!number_end(&end, &whole) || !whole) return false;
    const auto [behind, error] = std::from_chars(at_, end, *value);
    if (error != std::errc() || behind != end) return false;
    at_ = end;
    return true;
  }

  bool take_number(double* value) {
    if (end_ - at_ >= 4 && std::memcmp(at_, "null", 4) == 0) {
      at_ += 4;
      *value = ScannedRow::not_known;
      return true;
    }
    const char* end = at_;
    bool whole = false;
    if (!number_end(&end, &whole)) return false;
    const auto [behind, error] = std::from_chars(at_, end, *value);  // too large or too small: an error
    if (error != std::errc() || behind != end) return false;
    at_ = end;
    return true;
  }

  bool note(Seen key) {
    const bool first = (seen_ & key) == 0;
    seen_ |= key;
    return first;
  }
  bool number(Seen key, Series series, ScannedRow* row) {
    return note(key) && take_number(&row->values[static_cast<std::size_t>(series)]);
  }
  bool integer(Seen key, std::int64_t* value) { return note(key) && take_integer(value); }

  bool take_value(std::string_view key, ScannedRow* row) {
    std::int64_t unused = 0;
    double unused_number = 0;
    switch (key.size()) {
      case 2:
        if (key == "lr") return number(seen_lr, Series::lr, row);
        break;
      case 4:
        if (key == "step") return integer(seen_step, &row->step);
        if (key == "loss") return number(seen_loss, Series::loss, row);
        break;
      case 6:
        if (key == "tokens") return integer(seen_tokens, &unused);
        break;
      case 9:
        if (key == "loss_bits") return note(seen_bits) && take_bits();
        if (key == "grad_norm") return number(seen_norm, Series::grad_norm, row);
        break;
      case 10:
        if (key == "valid_loss") return number(seen_valid, Series::valid_loss, row);
        break;
      case 12:
        if (key == "tokens_total") return integer(seen_total, &row->tokens_total);
        if (key == "step_seconds") return number(seen_seconds, Series::step_seconds, row);
        if (key == "memory_bytes") return integer(seen_memory, &unused);
        break;
      case 17:
        if (key == "tokens_per_second") return number(seen_rate, Series::tokens_per_second, row);
        break;
      default:
        break;
    }
    return take_number(&unused_number);
  }

  const char* at_;
  const char* const end_;
  unsigned seen_ = 0;
};

std::optional<ScannedRow> parsed_row(std::string_view line) {
  try {
    const metrics::StepMetrics parsed = metrics::parse_step_metrics(std::string(line), "metrics.jsonl");
    ScannedRow row;
    row.step = parsed.step;
    row.tokens_total = parsed.tokens_total;
    const auto valid = parsed.extra.find("valid_loss");
    row.values = {parsed.loss,
                  valid == parsed.extra.end() ? ScannedRow::not_known : valid->second,
                  parsed.grad_norm,
                  parsed.lr,
                  parsed.tokens_per_second,
                  parsed.step_seconds};
    return row;
  } catch (const base::DataError&) {  // damaged
    return std::nullopt;
  }
}

}  // namespace

std::string_view word_of(Series series) { return series_words[static_cast<std::size_t>(series)]; }

std::optional<Series> series_of(std::string_view word) {
  for (std::size_t i = 0; i < series_count; ++i)
    if (series_words[i] == word) return static_cast<Series>(i);
  return std::nullopt;
}

std::optional<ScannedRow> scan_row(std::string_view line) {
  ScannedRow row;
  if (PlainScanner(line).scan(&row)) return row;
  return parsed_row(line);
}

bool is_plain_row(std::string_view line) {
  ScannedRow row;
  return PlainScanner(line).scan(&row);
}

}  // namespace troika::serve
