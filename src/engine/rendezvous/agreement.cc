
#include <fmt/format.h>

#include <string_view>

#include "base/cause.h"
#include "base/error.h"
#include "base/say.h"
#include "base/text.h"
#include "records/incident.h"
#include "rendezvous/join.h"
#include "rendezvous/wire.h"

namespace troika::rendezvous {
using Lines = std::vector<std::pair<std::string, std::string>>;

static std::string pack(const Facts& facts) {
  std::string out;
  for (const auto& [name, value] : facts.values) {
    wire::put_text(out, name);
    wire::put_text(out, value);
  }
  return out;
}

static Facts unpack(std::string_view packed) {
  Facts facts;
  std::string_view name, value;
  while (wire::take_text(packed, &name) && wire::take_text(packed, &value)) facts.values.emplace_back(name, value);
  return facts;
}

static const std::string* find(const Lines& lines, const std::string& name) {
  for (const auto& line : lines) {
    if (line.first == name) return &line.second;
  }
  return nullptr;
}

static base::Text shown(const std::string* value) {
  if (value == nullptr) return base::say("(absent)");
  return base::verbatim(value->size() > 80 ? value->substr(0, 77) + "..." : *value);
}

// "optimizer:\n  lr: 0.1" -> {"optimizer.lr", "0.1"}.
static Lines fields_of(const std::string& yaml) {
  Lines fields;
  std::string section;
  for (const std::string& line : base::split(yaml, '\n')) {
    const auto colon = line.find(':');
    if (colon == std::string::npos) {
      if (!fields.empty())
        fields.back().second = base::trim(fields.back().second + " " + base::trim(line));  // a list below its name
      continue;
    }
    const std::string name = base::trim(line.substr(0, colon)), value = base::trim(line.substr(colon + 1));
    const bool nested = line[0] == ' ';
    if (!nested) section = name;
    fields.emplace_back(nested ? section + "." + name : name, value);
  }
  return fields;
}

static base::Text differences_of(const Lines& first, const Lines& mine, int rank) {
  std::vector<base::Text> found;
  Lines all = first;
  for (const auto& line : mine) {
    if (find(first, line.first) == nullptr) all.push_back(line);
  }
  for (const auto& [name, unused] : all) {
    const std::string *a = find(first, name), *b = find(mine, name);
    if (a != nullptr && b != nullptr && *a == *b) continue;
    if (found.size() == 5) {
      found.push_back(base::say("and more"));
      break;
    }
    const base::Text words{name, std::string(base::Phrase(name).in(base::Language::chinese))};  // of a setting its key
    found.push_back(base::say("{} = {} on rank {} but {} on rank 0", words, shown(b), rank, shown(a)));
  }
  return base::join(found, "; ", "；");
}

base::Text difference(const Facts& first, const Facts& mine, int rank) {
  const std::string *hash_a = find(first.values, "settings hash"), *hash_b = find(mine.values, "settings hash");
  const bool has_hash = hash_a != nullptr && hash_b != nullptr;
  if (!has_hash || *hash_a != *hash_b) {
    const std::string *a = find(first.values, "settings"), *b = find(mine.values, "settings");
    const base::Text fields =
        a == nullptr || b == nullptr ? base::Text{} : differences_of(fields_of(*a), fields_of(*b), rank);
    if (!fields.empty()) return fields;
  }
  const auto without_settings = [](const Facts& facts) {
    Lines lines;
    for (const auto& line : facts.values) {
      if (line.first != "settings") lines.push_back(line);
    }
    return lines;
  };
  return differences_of(without_settings(first), without_settings(mine), rank);
}

// By what differs first: a program, the data, or how the ranks were started.
static base::Cause cause_of_difference(const Facts& first, const Facts& mine) {
  for (const auto& [name, value] : mine.values) {
    const std::string* const other = find(first.values, name);
    if (other != nullptr && *other == value) continue;
    if (name == "build") return base::Cause::builds_differ;
    if (name == "data") return base::Cause::data_differ;
  }
  return base::Cause::flags_differ;
}

void agree(StoreClient& client, const Identity& identity, const std::string& round, const Facts& mine, double seconds) {
  const std::string base = "agree/" + round + "/";
  const auto answer_of = [&](int rank) { return fmt::format("{}rank/{:06}", base, rank); };
  if (identity.world_rank == 0) {
    client.set(key_of(identity, base + "facts"), pack(mine));
    std::string first_found = "equal";
    for (int rank = 1; rank < identity.world_size; ++rank) {
      const std::string answer = await_key(client, identity, answer_of(rank), seconds);
      if (first_found == "equal") first_found = answer;
    }
    client.set(key_of(identity, base + "result"), first_found);
  } else {
    const Facts first = unpack(await_key(client, identity, base + "facts", seconds));
    const base::Text found = difference(first, mine, identity.world_rank);
    client.set(key_of(identity, answer_of(identity.world_rank)),
               found.empty() ? "equal" : to_json(records::told(found, cause_of_difference(first, mine))));
  }
  const std::string result = await_key(client, identity, base + "result", seconds);
  if (result == "equal") return;
  const records::Incident found = records::parse_incident(result);
  throw base::ConfigError(
      base::say("the ranks were started differently: {}; start all of them the same way", found.words), found.cause);
}

}  // namespace troika::rendezvous
