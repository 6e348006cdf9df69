#define PCRE2_CODE_UNIT_WIDTH 8
#include "data/piece_regex.h"

#include <fmt/format.h>
#include <pcre2.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/error.h"

namespace troika::data {

static constexpr std::size_t longest_pattern = 64 * 1024;

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

// PCRE2's \s knows U+180E besides White_Space.
static std::string as_oniguruma(const std::string& pattern) {
  std::string result;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char next = pattern[i] == '\\' && i + 1 < pattern.size() ? pattern[++i] : '\0';
    if (next == 's' || next == 'S') {
      result += next == 's' ? "\\p{White_Space}" : "\\P{White_Space}";
    } else if (next != '\0') {
      result += {'\\', next};
    } else {
      result += pattern[i];
    }
  }
  return result;
}

PieceRegex::Compiled::Compiled(const std::string& pattern) {
  if (pattern.size() > longest_pattern) {
    throw base::DataError(fmt::format("the tokenizer's pattern '{}...' is {} bytes long; at most {} are read",
                                      pattern.substr(0, 60), pattern.size(), longest_pattern));
  }
  const std::string rewritten = as_oniguruma(pattern);
  int error = 0;
  PCRE2_SIZE offset = 0;
  code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(rewritten.data()), rewritten.size(),
                       PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C, &error, &offset, nullptr);
  if (code == nullptr) {
    throw base::DataError(fmt::format("the tokenizer's pattern '{}' is not understood before '{}': {}", pattern,
                                      rewritten.substr(std::min(offset, rewritten.size()), 20), error_text(error)));
  }
  std::uint32_t matches_empty = 0;
  pcre2_pattern_info(code, PCRE2_INFO_MATCHEMPTY, &matches_empty);
  if (matches_empty != 0) {
    pcre2_code_free(std::exchange(code, nullptr));
    throw base::DataError(fmt::format("the tokenizer's pattern '{}' can match nothing, so it cuts no text", pattern));
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
  void limit_steps(std::size_t text_size) {
    const std::size_t steps = 10'000'000 + 16 * text_size;
    pcre2_set_match_limit(context, static_cast<std::uint32_t>(std::min<std::size_t>(steps, UINT32_MAX)));
  }
};

PieceRegex::Scratch::Scratch() : memory_(std::make_unique<Memory>()) {}
PieceRegex::Scratch::~Scratch() = default;

PieceRegex::PieceRegex(std::string pattern)
    : pattern_(std::move(pattern)), compiled_(std::make_unique<Compiled>(pattern_)) {}
PieceRegex::~PieceRegex() = default;
PieceRegex::PieceRegex(PieceRegex&&) noexcept = default;

void PieceRegex::cut(std::string_view text, Scratch* scratch,
                     const std::function<void(std::string_view)>& on_piece) const {
  auto& memory = *scratch->memory_;
  const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  for (std::size_t at = 0; at < text.size();) {
    memory.limit_steps(text.size());  // each time: on_piece may have used the memory for another text
    int found = PCRE2_ERROR_JIT_STACKLIMIT;
    if (compiled_->just_in_time) {
      found = pcre2_jit_match(compiled_->code, subject, text.size(), at, 0, memory.match, memory.context);
    }
    if (found == PCRE2_ERROR_JIT_STACKLIMIT) {
      found = pcre2_match(compiled_->code, subject, text.size(), at, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, memory.match,
                          memory.context);
    }
    if (found == PCRE2_ERROR_NOMATCH) return on_piece(text.substr(at));
    const PCRE2_SIZE* bounds = pcre2_get_ovector_pointer(memory.match);
    const std::size_t begin = found < 0 ? at : bounds[0], end = found < 0 ? at : bounds[1];
    if (begin < at || end <= begin) {
      throw base::DataError(fmt::format("the tokenizer's pattern '{}' failed on {} bytes of text: {}", pattern_,
                                        text.size(), found < 0 ? error_text(found) : "it matches nothing"));
    }
    if (begin > at) on_piece(text.substr(at, begin - at));
    on_piece(text.substr(begin, end - begin));
    at = end;
  }
}

}  // namespace troika::data
