#include "commands/launch/launch.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <future>
#include <memory>

#include "base/error.h"
#include "base/say.h"
#include "base/terminal_text.h"
#include "diagnosis/diagnosis.h"
#include "host/subprocess.h"
#include "host/thread_limit.h"

namespace troika::commands {
namespace {

// Without what is quoted: it has just been said.
std::string explanation_of(const std::string& folder, base::Language language) {
  diagnosis::Diagnosis found = diagnosis::diagnose(folder);
  if (found.cause == "none") return "";
  const auto is_quoted = [](const diagnosis::Evidence& one) { return one.of == diagnosis::Evidence::Of::quotation; };
  found.evidence.erase(std::remove_if(found.evidence.begin(), found.evidence.end(), is_quoted), found.evidence.end());
  return diagnosis::describe(found, language);
}

}  // namespace

std::string explain_failure(const std::string& folder, const launch::Speaker& speaker) {
  constexpr std::chrono::seconds patience(10);
  if (folder.empty()) return "";
  const auto promise = std::make_shared<std::promise<std::string>>();
  std::future<std::string> text = promise->get_future();
  try {
    host::start_thread([promise, folder, language = speaker.language] {
      try {
        promise->set_value(explanation_of(folder, language));
      } catch (...) {
        promise->set_exception(std::current_exception());
      }
    }).detach();
  } catch (const base::ConfigError&) {  // the failure itself has been said
    promise->set_value("");
  }
  if (text.wait_for(patience) != std::future_status::ready) {
    speaker.say(base::say("`troika why {}` explains more", host::shell_word(folder)));
    return "";
  }
  const std::string explanation = text.get();
  base::put(explanation, stderr);
  return explanation;
}

}  // namespace troika::commands
