#include "data/chat_template.h"

#include <algorithm>
#include <ctime>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "jinja/template.h"

namespace troika::data {
using nlohmann::ordered_json;

// Of all that this file adds to the template: a change of it makes other samples.
static constexpr int rules_version = 1;

static std::string hash_of(const std::string& source, const ChatTemplate::Options& options) {
  const ordered_json all = {rules_version, source, options.tools_source, options.bos, options.eos, options.thinking};
  return base::hash_bytes(all.dump(-1, ' ', false, ordered_json::error_handler_t::replace));
}

ChatTemplate::ChatTemplate(const std::string& source, const std::string& origin, Options options)
    : template_(std::make_shared<const jinja::Template>(source, origin)),
      with_tools_(template_),
      options_(std::move(options)),
      fingerprint_(hash_of(source, options_)) {
  if (!options_.tools_source.empty())
    with_tools_ = std::make_shared<const jinja::Template>(options_.tools_source, origin + " (tool_use)");
}

static bool has_tools(const ordered_json& tools) { return tools.is_array() && !tools.empty(); }

ordered_json ChatTemplate::context_of(ordered_json messages, const ordered_json& tools) const {
  ordered_json context;
  context["messages"] = std::move(messages);
  context["tools"] = has_tools(tools) ? tools : ordered_json();
  context["documents"] = ordered_json();
  context["add_generation_prompt"] = false;
  context["enable_thinking"] = options_.thinking;
  if (!options_.bos.empty()) context["bos_token"] = options_.bos;
  if (!options_.eos.empty()) context["eos_token"] = options_.eos;
  return context;
}

std::string ChatTemplate::render_context(ordered_json* context, End end, const std::tm& now) const {
  (*context)["add_generation_prompt"] = end == End::answer_begins;
  jinja::RenderOptions options;
  options.now = now;
  return (has_tools((*context)["tools"]) ? with_tools_ : template_)->render(*context, options);
}

std::string ChatTemplate::render(const Conversation& conversation, End end) const {
  const std::time_t now = std::time(nullptr);
  std::tm today = {};
  localtime_r(&now, &today);
  ordered_json context = context_of(conversation.messages(), conversation.tools());
  return render_context(&context, end, today);
}

// The part of ChatTemplate that makes training samples.

using nlohmann::ordered_json;

// The text up to and with an answer, and where the answer begins and ends in it, in bytes.
struct ChatTemplate::Answer {
  std::string text;
  std::size_t begin = 0, end = 0;
};

static std::tm date_of_samples() {  // the 1st of January 2025, a Wednesday
  std::tm date = {};
  date.tm_year = 125;
  date.tm_mday = 1;
  date.tm_wday = 3;
  return date;
}

static std::size_t common_bytes(const std::string& a, const std::string& b, std::size_t most) {
  std::size_t bytes = 0;
  while (bytes < most && bytes < a.size() && bytes < b.size() && a[bytes] == b[bytes]) ++bytes;
  return bytes;
}

static bool begins_with(const std::string& text, const std::string& beginning) {
  return text.compare(0, beginning.size(), beginning) == 0;
}

static void to_character_begin(const std::string& text, std::size_t* bytes) {
  while (*bytes > 0 && *bytes < text.size() && (static_cast<unsigned char>(text[*bytes]) & 0xC0) == 0x80) --*bytes;
}

ChatTemplate::Answer ChatTemplate::take_answer(ordered_json* context) const {
  const std::tm date = date_of_samples();
  ordered_json& shown = (*context)["messages"];
  Answer answer;
  answer.text = render_context(context, End::conversation, date);
  shown.erase(shown.size() - 1);
  const std::string prompt = render_context(context, End::answer_begins, date);
  answer.begin = prompt.size();
  if (!begins_with(answer.text, prompt)) {
    const std::string unlikely =
        "\xEE\x80\x80";  // a private character, so that the content differs from its first letter on
    shown.push_back({{"role", "assistant"}, {"content", unlikely}});
    const std::string other = render_context(context, End::conversation, date);
    shown.erase(shown.size() - 1);
    answer.begin = common_bytes(answer.text, other, common_bytes(answer.text, prompt, prompt.size()));
    to_character_begin(answer.text, &answer.begin);
  }
  answer.end = std::max(answer.begin, answer.text.find_last_not_of(" \t\r\n\f\v") + 1);
  return answer;
}

static bool is_answer(const ordered_json& message) {
  return message.is_object() && message.contains("role") && message["role"] == "assistant";
}

// Messages without what an assistant thought.
static ordered_json without_thinking(ordered_json messages) {
  for (ordered_json& message : messages) {
    if (!is_answer(message)) continue;
    for (const char* name : {"reasoning_content", "thinking", "reasoning"}) message.erase(name);
    if (!message.contains("content") || !message["content"].is_string()) continue;
    const std::string content = message["content"], open = "<think>", close = "</think>";
    const std::size_t end = content.find(close), begin = content.find_first_not_of(" \t\r\n");
    if (end == std::string::npos || content.compare(begin, open.size(), open) != 0) continue;
    const std::size_t text = content.find_first_not_of("\r\n", end + close.size());
    message["content"] = text == std::string::npos ? "" : content.substr(text);
  }
  return messages;
}

namespace {

// A text with the answers that it shows as they were, from back to front.
struct Sample {
  std::string text;
  std::vector<std::pair<std::size_t, std::size_t>> answers;
};

}  // namespace

static std::vector<TextSpan> spans_of(const Sample& sample) {
  std::vector<TextSpan> spans;
  std::size_t at = 0;
  const auto add = [&](std::size_t to, bool has_loss) {
    if (to > at) spans.push_back({sample.text.substr(at, to - at), has_loss});
    at = std::max(at, to);
  };
  for (auto answer = sample.answers.rbegin(); answer != sample.answers.rend(); ++answer) {
    add(answer->first, false);
    add(answer->second, true);
  }
  add(sample.text.size(), false);
  return spans;
}

std::vector<std::vector<TextSpan>> ChatTemplate::samples(const Conversation& conversation, LossOn loss_on) const {
  ordered_json context = context_of(
      options_.thinking ? conversation.messages() : without_thinking(conversation.messages()), conversation.tools());
  if (loss_on == LossOn::all) return {{{render_context(&context, End::conversation, date_of_samples()), true}}};
  std::vector<Sample> found;  // of the last answer first
  ordered_json& messages = context["messages"];
  while (messages.size() > 1) {
    if (!is_answer(messages.back())) {
      messages.erase(messages.size() - 1);
      continue;
    }
    Answer answer = take_answer(&context);
    const std::string shown = answer.text.substr(0, answer.end);
    const auto host = std::find_if(found.rbegin(), found.rend(),
                                   [&](const Sample& sample) { return begins_with(sample.text, shown); });
    Sample& sample = host != found.rend() ? *host : found.emplace_back(Sample{std::move(answer.text), {}});
    if (answer.end > answer.begin) sample.answers.emplace_back(answer.begin, answer.end);
    if (loss_on == LossOn::last_answer) break;
  }
  std::vector<std::vector<TextSpan>> samples;
  for (auto sample = found.rbegin(); sample != found.rend(); ++sample)
    if (!sample->answers.empty()) samples.push_back(spans_of(*sample));
  return samples;
}

}  // namespace troika::data
