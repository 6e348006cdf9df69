#include "commands/cli.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>

#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "config/command_line.h"
#include "config/flag_table.h"
#include "host/process.h"
#include "host/thread_limit.h"
#include "launch/flags.h"

namespace troika::commands {

std::map<std::string, std::string> capture_environment(char** environment) {
  std::map<std::string, std::string> variables;
  for (char** entry = environment; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const auto equals = text.find('=');
    if (equals != std::string::npos) variables[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return variables;
}

namespace {

// Calls `other(index)` for each word but those of --lang, and `language(value)` for these.
template <class Language, class Other>
void each_word(const std::vector<std::string>& arguments, const Language& language, const Other& other) {
  bool ours = true;
  for (std::size_t at = 0; at < arguments.size(); ++at) {
    const std::string& word = arguments[at];
    ours = ours && word != "--";
    if (ours && word.rfind("--lang=", 0) == 0)
      language(word.substr(7));
    else if (ours && word == "--lang" && at + 1 < arguments.size())
      language(arguments[++at]);
    else
      other(at);
  }
}

Words without_values_of(const Verb& verb, const Words& words) {
  const config::FlagTable own = verb.flags();
  if (!own.takes_settings()) return config::without_hidden_values({&own}, words);
  config::SettingsReading scratch;
  const config::FlagTable settings = config::settings_table(scratch);
  return config::without_hidden_values({&own, &settings}, words);
}

// The command of the ranks of a launch; nothing where it is another program's.
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
  const Words rest = without_hidden_values(worker);
  clean.insert(clean.end(), rest.begin(), rest.end());
  return clean;
}

}  // namespace

base::Language language_of_words(const std::vector<std::string>& arguments,
                                 const std::map<std::string, std::string>& environment) {
  std::string chosen = "auto";
  each_word(
      arguments, [&](const std::string& value) { chosen = value; }, [](std::size_t) {});
  return base::language_of(chosen, base::locale_in(environment));
}

std::vector<std::string> without_language(const std::vector<std::string>& arguments) {
  std::vector<std::string> others;
  for (const std::size_t at : places_without_language(arguments)) others.push_back(arguments[at]);
  return others;
}

std::vector<std::size_t> places_without_language(const std::vector<std::string>& arguments) {
  std::vector<std::size_t> places;
  each_word(
      arguments, [](const std::string&) {}, [&](std::size_t at) { places.push_back(at); });
  return places;
}

base::Text memory_remedy(std::string_view verb) {
  if (verb == "train" || verb == "launch" || verb == "eval" || verb == "bench")
    return base::say("use a smaller --micro-batch-size, --seq-len or model, or more stages (--pp)");
  if (verb == "data") return base::say("use fewer --workers, or free some memory");
  return base::say("free some memory, or use a host with more");
}

int guarded(const std::function<int()>& verb, base::Language language,
            const std::function<void(const rendezvous::FailureReport&)>& last_words, std::string_view name) {
  const auto end = [&](const base::Text& text, int code, base::Cause cause = base::Cause{}) {
    std::fprintf(stderr, "troika: %s\n", text.in(language).c_str());
    if (last_words) last_words({code, text, cause});
    return code;
  };
  try {
    return verb();
  } catch (const base::BugError& error) {
    return end(base::say("a bug in Troika: {}", error.what()), error.exit_code());
  } catch (const base::Error& error) {
    return end(base::text_of(error), error.exit_code(), error.cause());
  } catch (const std::bad_alloc&) {
    if (const base::Text limit = host::address_limit_text(); !limit.empty())
      return end(base::say("out of memory: {}; raise it, or remove the limit (ulimit -v unlimited)", limit), 2);
    return end(base::say("out of memory; {}", memory_remedy(name)), 70);
  } catch (const std::exception& error) {
    if (host::is_thread_limit(error)) {
      const base::ConfigError named(host::no_more_threads());
      return end(base::text_of(named), named.exit_code());
    }
    return end(base::say("a bug in Troika: {}", error.what()), 70);
  }
}

void leave_last_words(const rendezvous::FailureReport& report, const std::map<std::string, std::string>& environment,
                      base::Language language, const std::string& explanation) {
  const std::string text = report.said().in(language);
  host::leave_termination_message(explanation.empty() ? text : text + "\n" + explanation);
  const auto file = environment.find(failure_file_variable);
  if (file == environment.end()) return;
  try {
    base::write_file_atomic(file->second, rendezvous::to_text(report));
  } catch (const base::Error&) {  // it has the exit code
  }
}

void check_written(std::FILE* out) {
  if (std::ferror(out) != 0)
    throw base::DataError(base::say("standard output cannot be written: is the disk full?"));
}

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
