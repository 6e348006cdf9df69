#define PCRE2_CODE_UNIT_WIDTH 8
#include "tokenizer/piece_regex.h"

#include <fmt/format.h>
#include <pcre2.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/error.h"
#include "base/say.h"

namespace troika::tokenizer {

static constexpr std::size_t longest_pattern = 64 * 1024, most_steps = 10'000'000, free_steps = 2000, steps_of_byte = 128;

struct PieceRegex::Compiled {
  pcre2_code* code = nullptr;
  bool just_in_time = false;
  explicit Compiled(const std::string& pattern);
  ~Compiled() { pcre2_code_free(code); }
  Compiled(const Compiled&) = delete;
  Compiled& operator=(const Compiled&) = delete;
};

static std::string error_text(int code) {
  PCRE2_UCHAR buffer[256] = {};
  pcre2_get_error_message(code, buffer, sizeof buffer);
  return reinterpret_cast<const char*>(buffer);
}

namespace {

// The pattern as PCRE2 must be given it to mean what Oniguruma 6.9.8 means by it.
class Rewriter {
 public:
  explicit Rewriter(const std::string& pattern) : pattern_(pattern) {}

  std::string rewrite() {
    while (at_ < pattern_.size()) {
      if (pattern_[at_] == '\\' && at_ + 1 < pattern_.size()) {
        escape();
      } else if (in_class_) {
        inside_class();
      } else {
        outside_class();
      }
    }
    return std::move(result_);
  }

 private:
  // The class \w: Alphabetic, marks, digits, connecting punctuation, and the fractions and superscripts of Latin-1.
  static constexpr const char* word_ =
      R"(\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\x{24B6}-\x{24E9}\x{1F130}-\x{1F149}\x{1F150}-\x{1F169}\x{1F170}-\x{1F189})"
      R"(\x{B2}\x{B3}\x{B9}\x{BC}-\x{BE})";

  [[noreturn]] void refuse(const base::Text& what) const {
    throw base::DataError(base::say("the tokenizer's pattern '{}' uses {}, which is not supported: Oniguruma and PCRE2 interpret it differently", pattern_, what));
  }

  bool follows(std::string_view text) const { return pattern_.compare(at_, text.size(), text) == 0; }

  void copy(std::size_t bytes) {
    result_.append(pattern_, at_, bytes);
    at_ += bytes;
  }

  void escape() {
    const char kind = pattern_[at_ + 1];
    if (std::string_view("bBhHvVQE").find(kind) != std::string_view::npos)
      refuse(base::verbatim(fmt::format("\\{}", kind)));
    if (kind == 'W' && in_class_) refuse(base::say("{} in a class", "\\W"));
    if (std::string_view("sSwW").find(kind) == std::string_view::npos) {
      copy(2);
      if (std::string_view("pPxogk").find(kind) != npos && follows("{"))
        copy(std::min(pattern_.find('}', at_), pattern_.size()) - at_);
      return;
    }
    if (kind == 's' || kind == 'S') result_ += kind == 's' ? "\\p{White_Space}" : "\\P{White_Space}";
    if (kind == 'w') result_ += in_class_ ? word_ : fmt::format("[{}]", word_);
    if (kind == 'W') result_ += fmt::format("[^{}]", word_);
    at_ += 2;
  }

  void inside_class() {
    if (follows("[")) refuse(base::say("{} in a class", "["));
    if (follows("&&")) refuse(base::say("{} in a class", "&&"));
    in_class_ = !follows("]");
    copy(1);
  }

  void outside_class() {
    if (follows("[")) return open_class();
    if (follows("(?#")) return copy(std::min(pattern_.find(')', at_), pattern_.size()) - at_);
    if (follows("(?")) check_options();
    if (follows("{")) check_count();
    copy(1);
  }

  void open_class() {
    in_class_ = true;
    copy(follows("[^") ? 2 : 1);
    if (follows("]")) copy(1);  // there it stands for itself
  }

  void check_options() const {
    for (std::size_t i = at_ + 2; i < pattern_.size() && std::string_view("imsnxJU-^").find(pattern_[i]) != npos; ++i)
      if (pattern_[i] == 'm' || pattern_[i] == 'x') refuse(base::verbatim(fmt::format("(?{})", pattern_[i])));
  }

  void check_count() const {
    const std::size_t end = pattern_.find('}', at_);
    if (end != npos && end + 1 < pattern_.size() && pattern_[end + 1] == '+') refuse(base::verbatim("{n}+"));
    if (follows("{,")) refuse(base::verbatim("{,n}"));
  }

  static constexpr std::size_t npos = std::string_view::npos;
  const std::string& pattern_;
  std::size_t at_ = 0;
  bool in_class_ = false;
  std::string result_;
};

}  // namespace

PieceRegex::Compiled::Compiled(const std::string& pattern) {
  if (pattern.size() > longest_pattern)
    throw base::DataError(
        base::say("the tokenizer's pattern '{}...' is {} bytes long, but at most {} are supported", pattern.substr(0, 60), pattern.size(), longest_pattern));
  const std::string rewritten = Rewriter(pattern).rewrite();
  int error = 0;
  PCRE2_SIZE offset = 0;
  code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(rewritten.data()), rewritten.size(),
                       PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C, &error, &offset, nullptr);
  if (code == nullptr)
    throw base::DataError(base::say("the tokenizer's pattern '{}' has a syntax error before '{}': {}", pattern,
                                    rewritten.substr(std::min(offset, rewritten.size()), 20), error_text(error)));
  std::uint32_t matches_empty = 0;
  pcre2_pattern_info(code, PCRE2_INFO_MATCHEMPTY, &matches_empty);
  if (matches_empty != 0) {
    pcre2_code_free(std::exchange(code, nullptr));
    throw base::DataError(base::say("the tokenizer's pattern '{}' can match the empty string, so it splits no text", pattern));
  }
  just_in_time = pcre2_jit_compile(code, PCRE2_JIT_COMPLETE) == 0;
}

struct PieceRegex::Scratch::Memory {
  pcre2_match_data* match = pcre2_match_data_create(1, nullptr);
  pcre2_match_context* context = pcre2_match_context_create(nullptr);
  pcre2_jit_stack* stack = pcre2_jit_stack_create(32 * 1024, 8 * 1024 * 1024, nullptr);
  Memory() {
    pcre2_jit_stack_assign(context, nullptr, stack);
    pcre2_set_heap_limit(context, 64 * 1024);  // KiB
  }
  ~Memory() {
    pcre2_jit_stack_free(stack);
    pcre2_match_context_free(context);
    pcre2_match_data_free(match);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  // PCRE2's own default, and what a run of white space as long as the text takes.
  void begin_text(std::size_t bytes) {
    text_bytes = bytes;
    allowed = left = most_steps + steps_of_byte * bytes;
  }

  std::size_t text_bytes = 0, allowed = 0, left = 0;
};

PieceRegex::Scratch::Scratch() : memory_(std::make_unique<Memory>()) { begin_text(0); }
PieceRegex::Scratch::~Scratch() = default;
void PieceRegex::Scratch::begin_text(std::size_t bytes) { memory_->begin_text(bytes); }

PieceRegex::PieceRegex(std::string pattern)
    : pattern_(std::move(pattern)), compiled_(std::make_unique<Compiled>(pattern_)) {}
PieceRegex::~PieceRegex() = default;
PieceRegex::PieceRegex(PieceRegex&&) noexcept = default;

// PCRE2 does not say how many steps a match took, so one that takes many is tried again with four times as many until it ends.
int PieceRegex::match(std::string_view text, std::size_t at, Scratch* scratch) const {
  auto& memory = *scratch->memory_;
  const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  for (std::size_t steps = free_steps;; steps = std::min(4 * steps, memory.left)) {
    pcre2_set_match_limit(memory.context, static_cast<std::uint32_t>(std::min<std::size_t>(steps, UINT32_MAX)));
    int found = PCRE2_ERROR_JIT_STACKLIMIT;
    if (compiled_->just_in_time)
      found = pcre2_jit_match(compiled_->code, subject, text.size(), at, 0, memory.match, memory.context);
    if (found == PCRE2_ERROR_JIT_STACKLIMIT) {
      found = pcre2_match(compiled_->code, subject, text.size(), at, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, memory.match,
                          memory.context);
    }
    if (steps > free_steps) memory.left -= std::min(steps, memory.left);
    if (found != PCRE2_ERROR_MATCHLIMIT) return found;
    if (memory.left <= free_steps)
      throw base::DataError(base::say("the tokenizer's pattern '{0}' takes more than {1} steps on a text of {2} bytes: split the text into shorter documents, or use another tokenizer", pattern_, memory.allowed, memory.text_bytes));
  }
}

void PieceRegex::cut(std::string_view text, Scratch* scratch, const OnPart& on_part) const {
  auto& memory = *scratch->memory_;
  for (std::size_t at = 0; at < text.size();) {
    const int found = match(text, at, scratch);
    if (found == PCRE2_ERROR_NOMATCH) return on_part(text.substr(at), Part::between);
    const PCRE2_SIZE* bounds = pcre2_get_ovector_pointer(memory.match);
    const std::size_t begin = found < 0 ? at : bounds[0], end = found < 0 ? at : bounds[1];
    if (begin < at || end <= begin)
      throw base::DataError(
          base::say("the tokenizer's pattern '{}' failed on {} bytes of text: {}", pattern_, text.size(),
                    found < 0 ? base::verbatim(error_text(found)) : base::say("it matches the empty string")));
    if (begin > at) on_part(text.substr(at, begin - at), Part::between);
    on_part(text.substr(begin, end - begin), Part::match);
    at = end;
  }
}

}  // namespace troika::tokenizer
