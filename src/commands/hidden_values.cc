#include "commands/hidden_values.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "base/text.h"
#include "commands/cli.h"
#include "config/command_line.h"
#include "config/flag_table.h"
#include "launch/flags.h"

namespace troika::commands {
namespace {

Words without_values_of(const Verb& verb, const Words& words) {
  const config::FlagTable own = verb.flags();
  if (!own.takes_settings()) return config::without_hidden_values({&own}, words);
  config::SettingsReading scratch;
  const config::FlagTable settings = config::settings_table(scratch);
  return config::without_hidden_values({&own, &settings}, words);
}

// What the ranks of a launch run; nothing where that is another program's.
Words worker_of(const Words& words) {
  launch::LaunchFlags f;
  const config::FlagTable table = launch::launch_flags(f);
  config::read_flags({&table}, words);
  return f.program.empty() ? f.worker : Words{};
}

bool is_verb(const std::string& name) {
  return std::any_of(verbs().begin(), verbs().end(), [&](const Verb& verb) { return verb.name == name; });
}

bool names_a_secret(std::string_view flag) {
  static constexpr std::array<std::string_view, 7> ends = {"pass",   "password", "passwd", "passphrase",
                                                           "secret", "token",    "key"};
  const std::string name = config::normalised(flag.substr(std::min(flag.find_first_not_of('-'), flag.size())));
  return std::any_of(ends.begin(), ends.end(), [&](std::string_view end) {
    const std::size_t before = name.size() - std::min(name.size(), end.size());
    return name.compare(before, std::string::npos, end) == 0 && (before == 0 || name[before - 1] == '-');
  });
}

// `arguments`: without --lang.
Words hidden_in(const Words& arguments) {
  const Call call = call_of(arguments);
  Words clean(arguments.begin(), arguments.end() - static_cast<std::ptrdiff_t>(call.words.size()));
  const Words words = without_values_of(call.last(), call.words);
  clean.insert(clean.end(), words.begin(), words.end());
  if (call.verb->name != "launch") return clean;
  const Words worker = worker_of(call.words);
  if (worker.empty() || !is_verb(worker.front())) return clean;
  clean.resize(clean.size() - worker.size());
  const Words rest = hidden_in(worker);
  clean.insert(clean.end(), rest.begin(), rest.end());
  return clean;
}

}  // namespace

Words without_hidden_values(const Words& arguments) {
  Words clean = arguments;
  const Words hidden = hidden_in(without_language(arguments));
  const std::vector<std::size_t> places = places_without_language(arguments);
  for (std::size_t i = 0; i < places.size(); ++i) clean[places[i]] = hidden[i];
  return clean;
}

Words with_secrets_hidden(const Words& words) {
  Words shown = words;
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const std::size_t equals = shown[i].find('=');
    if (!names_a_secret(std::string_view(shown[i]).substr(0, equals))) continue;
    if (equals != std::string::npos)
      shown[i].replace(equals + 1, std::string::npos, "...");
    else if (shown[i].front() == '-' && i + 1 < shown.size())
      shown[++i] = "...";
  }
  return shown;
}

void hide_in(char** argv, const Words& clean) {
  for (std::size_t i = 1; i < clean.size(); ++i) {  // the first is the verb
    char* const word = argv[i + 1];
    const std::size_t bytes = std::strlen(word);
    const std::size_t same =
        static_cast<std::size_t>(std::mismatch(word, word + bytes, clean[i].begin(), clean[i].end()).first - word);
    if (word != clean[i]) std::memset(word + same, '.', bytes - same);
  }
}

}  // namespace troika::commands
