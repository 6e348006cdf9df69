// troika_soak PROGRAMS_FOLDER WORK_FOLDER KILLS [SECONDS [SEED [FIRST [LAYOUTS]]]]: makes so many kills (or as many as fit into SECONDS; 0:
// all), beginning with number FIRST, on these layouts (dp2,pp2; without: all), and prints a JSON line for each, then distributions.
// Exits with 1 when one of them was not as promised. troika_soak --summary FILE...: the distributions of the lines in these files.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/say.h"
#include "base/file.h"
#include "base/random.h"
#include "base/text.h"
#include "soak/trial.h"

namespace troika::soak {
namespace {

std::string text_of(std::int64_t words, const char* name) {
  const base::Philox random(3, name);
  const char* all[] = {"the ", "model ", "learns ", "a ", "layout ", "never ", "changes ", "loss\n"};
  std::string text;
  for (std::int64_t i = 0; i < words; ++i) text += all[random.bits(static_cast<std::uint64_t>(i)) % 8];
  return text;
}

// Median, 95 % and most, of what was collected under each name.
class Distributions {
 public:
  void add(const std::string& name, double value) { values_[name].push_back(value); }
  void print() {
    for (auto& [name, values] : values_) {
      std::sort(values.begin(), values.end());
      const auto at = [&, &all = values](double share) {
        return all[static_cast<std::size_t>(share * static_cast<double>(all.size() - 1) + 0.5)];
      };
      fmt::print("{:<44} {:>4} times  median {:8.3f}  95 % {:8.3f}  most {:8.3f}\n", name, values.size(), at(0.5),
                 at(0.95), values.back());
    }
  }

 private:
  std::map<std::string, std::vector<double>> values_;
};

// One kill's line, as Result::to_json writes it.
class Tally {
 public:
  void add(const nlohmann::json& line) {
    ++made_;
    if (!line.at("faults").empty()) ++failed_;
    if (!line.at("phase_met")) ++missed_;
    const std::string signal = line.at("signal");
    if (line.contains("named_seconds"))
      distributions_.add(fmt::format("seconds until named, {} {}", line.at("target").get<std::string>(), signal),
                         line.at("named_seconds"));
    distributions_.add("steps lost, " + signal, line.at("steps_lost"));
    distributions_.add("seconds from the kill to the run's end", line.at("seconds"));
  }
  // The exit code.
  int print() {
    distributions_.print();
    fmt::print("soak: {} kills, {} not as promised, {} behind their phase\n", made_, failed_, missed_);
    return failed_ == 0 && made_ > 0 ? 0 : 1;
  }

 private:
  Distributions distributions_;
  std::int64_t made_ = 0, failed_ = 0, missed_ = 0;
};

int summarise(const std::vector<std::string>& files) {
  Tally tally;
  for (const std::string& file : files)
    for (const std::string& line : base::split(base::read_file(file), '\n'))
      if (line.rfind("{\"kill\"", 0) == 0) tally.add(nlohmann::json::parse(line));
  return tally.print();
}

int soak(const Setting& setting, const std::string& work, std::int64_t count, double seconds, std::uint64_t seed,
         std::int64_t first, const std::vector<Layout>& on) {
  const double until = base::monotonic_seconds() + (seconds > 0 ? seconds : 1e9);
  std::map<std::string, Reference> references;
  Tally tally;
  for (const Kill& kill : choose_kills(first + count, seed, on)) {
    if (kill.number < first) continue;
    if (base::monotonic_seconds() > until) break;
    const std::string& layout = kill.layout.name;
    if (references.count(layout) == 0)
      references[layout] = make_reference(setting, kill.layout, work + "/reference-" + layout);
    const Result result =
        try_kill(setting, kill, references.at(layout), fmt::format("{}/kill-{:04}", work, kill.number));
    const std::string line = result.to_json(kill);
    fmt::print("{}\n", line);
    std::fflush(stdout);
    tally.add(nlohmann::json::parse(line));
  }
  return tally.print();
}

std::vector<Layout> layouts_named(const std::string& names) {
  std::vector<Layout> all;
  for (const std::string& name : base::split(names, ',')) {
    const auto found =
        std::find_if(layouts().begin(), layouts().end(), [&](const Layout& layout) { return layout.name == name; });
    if (found == layouts().end()) throw base::ConfigError(base::say("there is no layout '{}' in a soak", name));
    all.push_back(*found);
  }
  return all;
}

int run(const std::vector<std::string>& words) {
  if (words.size() > 2 && words[1] == "--summary") return summarise({words.begin() + 2, words.end()});
  if (words.size() < 4)
    throw base::ConfigError(base::verbatim("usage: troika_soak PROGRAMS_FOLDER WORK_FOLDER KILLS [SECONDS [SEED [FIRST [LAYOUTS]]]]"));
  const auto number = [&](std::size_t at, std::int64_t otherwise) {
    std::int64_t value = otherwise;
    if (words.size() > at && !base::parse_int(words[at], &value)) throw base::ConfigError(base::say("{} is no number", words[at]));
    return value;
  };
  const std::string& work = words[2];
  base::make_directories(work);
  Setting setting;
  setting.programs = words[1];
  setting.corpus = work + "/corpus.txt";
  setting.valid = work + "/valid.txt";
  base::write_file_atomic(setting.corpus, text_of(6000, "corpus"));
  base::write_file_atomic(setting.valid, text_of(4000, "valid"));
  return soak(setting, work, number(3, 0), static_cast<double>(number(4, 0)), static_cast<std::uint64_t>(number(5, 1)),
              number(6, 0), words.size() > 7 ? layouts_named(words[7]) : layouts());
}

}  // namespace
}  // namespace troika::soak

int main(int count, char** words) {
  try {
    return troika::soak::run({words, words + count});
  } catch (const troika::base::Error& error) {
    fmt::print(stderr, "troika_soak: {}\n", error.what());
    return error.exit_code();
  }
}
