// The part of ChatTemplate that makes training samples.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "datasets/chat_template.h"

namespace troika::datasets {
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
    message.erase("reasoning_content");
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

static std::vector<Piece> pieces_of(const Sample& sample) {
  std::vector<Piece> pieces;
  std::size_t at = 0;
  const auto add = [&](std::size_t to, bool has_loss) {
    if (to > at) pieces.push_back({sample.text.substr(at, to - at), has_loss});
    at = std::max(at, to);
  };
  for (auto answer = sample.answers.rbegin(); answer != sample.answers.rend(); ++answer) {
    add(answer->first, false);
    add(answer->second, true);
  }
  add(sample.text.size(), false);
  return pieces;
}

std::vector<std::vector<Piece>> ChatTemplate::samples(const Conversation& conversation, LossOn loss_on) const {
  ordered_json context = context_of(options_.thinking ? conversation.messages : without_thinking(conversation.messages),
                                    conversation.tools);
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
  std::vector<std::vector<Piece>> samples;
  for (auto sample = found.rbegin(); sample != found.rend(); ++sample)
    if (!sample->answers.empty()) samples.push_back(pieces_of(*sample));
  return samples;
}

}  // namespace troika::datasets
