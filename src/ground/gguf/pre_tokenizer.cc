#include "gguf/pre_tokenizer.h"

#include <algorithm>

#include "base/error.h"
#include "base/say.h"
#include "base/text.h"

namespace troika::gguf {
namespace {

constexpr const char* digit = R"(\p{N})";
constexpr const char* gpt2 = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr const char* qwen2 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* qwen35 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* llama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* tekken =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* gpt4o =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

// llama.cpp, src/llama-vocab.cpp; where it rewrites a pattern for its own engine, the published one.
const std::vector<PreTokenizer> pre_tokenizers = {
    {{"gpt-2", "mpt", "olmo", "jais", "trillion", "phi-2", "gigachat", "jina-es", "jina-de", "jina-v2-es", "jina-v2-de",
      "a.x-4.0", "mellum", "granite-docling"},
     {gpt2},
     false,
     false,
     false},
    {{"smollm", "starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b"},
     {digit, gpt2},
     false,
     false,
     false},
    {{"qwen2", "deepseek-r1-qwen", "stablelm2", "hunyuan", "megrez", "kormo"}, {qwen2}, false, false, true},
    {{"qwen35"}, {qwen35}, false, false, true},
    {{"llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2"},
     {llama3},
     true,
     true,
     false},
    {{"dbrx", "smaug-bpe", "glm4", "chatglm-bpe"}, {llama3}, false, false, false},
    {{"tekken"}, {tekken}, true, true, false},
    {{"gpt-4o", "llama4", "kanana2"}, {gpt4o}, false, false, false}};

std::size_t common_bytes(const std::string& a, const std::string& b) {
  const std::size_t least = std::min(a.size(), b.size());
  std::size_t front = 0, back = 0;
  while (front < least && a[front] == b[front]) ++front;
  while (back < least - front && a[a.size() - 1 - back] == b[b.size() - 1 - back]) ++back;
  return front + back;
}

std::string joined(const std::vector<std::string>& patterns) { return base::join(patterns, " "); }
std::string joined(const PreTokenizer& one) {
  return joined(std::vector<std::string>(one.patterns.begin(), one.patterns.end()));
}

}  // namespace

const PreTokenizer* find_pre_tokenizer(const std::string& name) {
  const auto found = std::find_if(pre_tokenizers.begin(), pre_tokenizers.end(), [&](const PreTokenizer& one) {
    return std::find(one.names.begin(), one.names.end(), name) != one.names.end();
  });
  return found == pre_tokenizers.end() ? nullptr : &*found;
}

std::string names_of_pre_tokenizers() {
  std::vector<std::string> names;
  for (const PreTokenizer& one : pre_tokenizers) names.insert(names.end(), one.names.begin(), one.names.end());
  return base::join(names, ", ");
}

const PreTokenizer& pre_tokenizer_of(const std::vector<std::string>& patterns, const std::string& origin,
                                     Merging merging) {
  const std::string wanted = joined(patterns);
  const PreTokenizer* found = nullptr;
  for (const PreTokenizer& one : pre_tokenizers)
    if (joined(one) == wanted &&
        (found == nullptr || one.whole_pieces_first == (merging == Merging::whole_pieces_first)))
      found = &one;
  if (found != nullptr) return *found;
  const auto nearest =
      std::max_element(pre_tokenizers.begin(), pre_tokenizers.end(), [&](const PreTokenizer& a, const PreTokenizer& b) {
        return common_bytes(joined(a), wanted) < common_bytes(joined(b), wanted);
      });
  throw base::DataError(
      base::say("{}: GGUF has no name for the pattern by which this tokenizer cuts text ({}); the nearest is '{}' ({})",
                origin, wanted, nearest->names.front(), joined(*nearest)));
}

}  // namespace troika::gguf
