// Chat templates: reading, and rendering of a conversation that has everything templates ask for.
#include <nlohmann/json.hpp>
#include <string>

#include "base/text.h"
#include "fuzz/input.h"
#include "fuzz/outcome.h"
#include "jinja/template.h"

namespace troika::fuzz {

static nlohmann::ordered_json make_context() {
  return nlohmann::ordered_json::parse(R"({"messages": [
      {"role": "system", "content": "S\n"}, {"role": "user", "content": "Grüße {{ x }} 😀"},
      {"role": "assistant", "content": "<think>a</think>b", "tool_calls": [
          {"id": "123456789", "function": {"name": "f", "arguments": {"a": [1, 2.5, null, true, {"b": "'\""}]}}}]},
      {"role": "tool", "content": "4"}, {"role": "user", "content": ""}],
    "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}],
    "add_generation_prompt": true, "bos_token": "<s>", "eos_token": "</s>", "enable_thinking": false, "n": -7})");
}

static void render(const std::string& source) {
  static const nlohmann::ordered_json context = make_context();
  jinja::RenderOptions options;
  options.limits.text_bytes = 1 << 18;
  options.limits.total_bytes = 2 << 20;
  const jinja::Template parsed(source, "a template");
  const std::string text = parsed.render(context, options);
  require(text.size() <= options.limits.text_bytes, "a rendering is no longer than its limit");
  require(base::is_utf8(text), "a rendering is UTF-8");
  require(parsed.render(context, options) == text, "a template renders the same twice");
}

}  // namespace troika::fuzz

TROIKA_FUZZ_TARGET(templates)(const std::uint8_t* data, std::size_t size) {
  using namespace troika;
  const std::string source(fuzz::text_of(data, size));
  fuzz::accepted([&] { fuzz::render(source); });
  return 0;
}
