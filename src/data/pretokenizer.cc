#define PCRE2_CODE_UNIT_WIDTH 8
#include "data/pretokenizer.h"

#include <fmt/format.h>
#include <pcre2.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "data/utf8.h"

namespace troika::data {

const char* const gpt2_pattern = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
const char* const qwen2_pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
const char* const llama3_pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

struct PreTokenizer::Compiled {
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

PreTokenizer::Compiled::Compiled(const std::string& pattern) {
  int error = 0;
  PCRE2_SIZE offset = 0;
  code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(), PCRE2_UTF | PCRE2_UCP, &error,
                       &offset, nullptr);
  if (code == nullptr) {
    throw base::DataError(fmt::format("the tokenizer's pattern '{}' is not understood at character {}: {}", pattern,
                                      offset, error_text(error)));
  }
  std::uint32_t matches_empty = 0;
  pcre2_pattern_info(code, PCRE2_INFO_MATCHEMPTY, &matches_empty);
  if (matches_empty != 0) {
    pcre2_code_free(std::exchange(code, nullptr));
    throw base::DataError(fmt::format("the tokenizer's pattern '{}' can match nothing, so it cuts no text", pattern));
  }
  just_in_time = pcre2_jit_compile(code, PCRE2_JIT_COMPLETE) == 0;
}

struct PreTokenizer::Scratch::Memory {
  pcre2_match_data* match = pcre2_match_data_create(1, nullptr);
  pcre2_match_context* context = pcre2_match_context_create(nullptr);
  pcre2_jit_stack* stack = pcre2_jit_stack_create(32 * 1024, 8 * 1024 * 1024, nullptr);
  Memory() { pcre2_jit_stack_assign(context, nullptr, stack); }
  ~Memory() {
    pcre2_jit_stack_free(stack);
    pcre2_match_context_free(context);
    pcre2_match_data_free(match);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
};

PreTokenizer::Scratch::Scratch() : memory_(std::make_unique<Memory>()) {}
PreTokenizer::Scratch::~Scratch() = default;

PreTokenizer::PreTokenizer(std::vector<std::string> patterns) : patterns_(std::move(patterns)) {
  for (const std::string& pattern : patterns_) compiled_.push_back(std::make_unique<Compiled>(pattern));
  const auto known = [](const std::string& p) {
    return p == gpt2_pattern || p == qwen2_pattern || p == llama3_pattern;
  };
  cuts_at_newlines_ = !patterns_.empty() && std::all_of(patterns_.begin(), patterns_.end(), known);
}

PreTokenizer::~PreTokenizer() = default;

void PreTokenizer::split(std::string_view text, Scratch* scratch, std::vector<std::string_view>* pieces) const {
  while (!text.empty()) {
    const std::size_t valid = valid_utf8_prefix(text);
    if (valid > 0) split_valid(text.substr(0, valid), 0, scratch, pieces);
    text.remove_prefix(valid);
    if (text.empty()) return;
    pieces->push_back(text.substr(0, 1));
    text.remove_prefix(1);
  }
}

void PreTokenizer::split_valid(std::string_view text, std::size_t level, Scratch* scratch,
                               std::vector<std::string_view>* out) const {
  const auto emit = [&](std::size_t begin, std::size_t end) {
    if (begin == end) return;
    if (level + 1 < compiled_.size()) {
      split_valid(text.substr(begin, end - begin), level + 1, scratch, out);
    } else {
      out->push_back(text.substr(begin, end - begin));
    }
  };
  if (compiled_.empty()) return emit(0, text.size());
  const Compiled& pattern = *compiled_[level];
  const auto& memory = *scratch->memory_;
  const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  for (std::size_t at = 0; at < text.size();) {
    int found = PCRE2_ERROR_JIT_STACKLIMIT;
    if (pattern.just_in_time) {
      found = pcre2_jit_match(pattern.code, subject, text.size(), at, 0, memory.match, memory.context);
    }
    if (found == PCRE2_ERROR_JIT_STACKLIMIT) {
      found =
          pcre2_match(pattern.code, subject, text.size(), at, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, memory.match, nullptr);
    }
    if (found == PCRE2_ERROR_NOMATCH) return emit(at, text.size());
    if (found < 0) {
      throw base::DataError(fmt::format("the tokenizer's pattern '{}' failed on {} bytes of text: {}", patterns_[level],
                                        text.size(), error_text(found)));
    }
    const PCRE2_SIZE* bounds = pcre2_get_ovector_pointer(memory.match);
    const std::size_t begin = bounds[0], end = bounds[1];
    emit(at, begin);
    emit(begin, end);
    at = end;
  }
}

std::size_t PreTokenizer::next_cut(std::string_view text, std::size_t from) const {
  const auto prints = [](char c) { return c > 0x20 && c < 0x7F; };
  if (!cuts_at_newlines_) return text.size();
  for (std::size_t at = from > 2 ? from - 1 : 1; at + 1 < text.size(); ++at) {
    at = text.find('\n', at);
    if (at == std::string_view::npos || at + 1 >= text.size()) break;
    if (prints(text[at - 1]) && prints(text[at + 1])) return at + 1;
  }
  return text.size();
}

}  // namespace troika::data
