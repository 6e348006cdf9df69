#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/run_files.h"
#include "base/say.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/disks.h"
#include "checkpoint/gather.h"
#include "checkpoint/manifest.h"
#include "comm/channel.h"

namespace troika::checkpoint {
using base::DataError;
using nlohmann::json;

namespace {

constexpr const char* missing = "missing";  // of a part

// The outcome of looking at one step's folder on all ranks.
struct Examination {
  std::optional<Found> found;
  base::Text reason;  // why not
};

}  // namespace

// The different manifests that are in `folder` on the ranks' disks, lowest rank first. More than one when a host that
// was away kept the folder of an earlier attempt.
static std::vector<std::string> manifests_of(const std::string& folder, const Disks& disks, comm::Channel& world) {
  const std::string path = folder + "/" + manifest_name;
  std::vector<std::string> different;
  for (std::string& text : gather(world, [&]() -> std::string {
         return disks.leads(world.rank()) && base::file_exists(path)
                    ? base::read_regular_file(path, base::most_list_bytes)
                    : "";
       })) {
    if (!text.empty() && std::find(different.begin(), different.end(), text) == different.end())
      different.push_back(std::move(text));
  }
  return different;
}

// As a result: "" when the file is there and has the right size and hash, `missing`, or the words of what is damaged.
static std::string part_problem(const std::string& path, const Part& part) {
  if (!base::file_exists(path)) return missing;
  try {
    const std::int64_t bytes = base::file_size(path);
    if (bytes != part.bytes) return result_of(base::say("damaged ({} bytes instead of {})", bytes, part.bytes));
    if (base::hash_file(path) != part.hash) return result_of(base::say("damaged (its hash differs)"));
  } catch (const DataError& error) {
    return result_of(base::say("damaged ({})", base::text_of(error)));
  }
  return "";
}

// Each disk's ranks share the work of hashing; a rank reports the parts that fall to it, by index.
static std::string check_own_share(const std::string& folder, const std::vector<Part>& parts, const Disks& disks,
                                   int me) {
  const std::vector<int> members = disks.members(me);
  const auto my_place = static_cast<std::size_t>(std::find(members.begin(), members.end(), me) - members.begin());
  json problems = json::object();
  for (std::size_t i = my_place; i < parts.size(); i += members.size())
    problems[std::to_string(i)] = part_problem(folder + "/" + parts[i].file, parts[i]);
  return problems.dump();
}

static base::Text place_of(const Part& part, const std::string& problem, int rank) {
  if (problem == missing) return base::say("part {} is missing; it was written on {}", part.file, part.host);
  return base::say("part {} is {} on rank {}'s disk; it was written on {}", part.file, words_in(problem), rank,
                   part.host);
}

// Fills the holders; returns the first part nobody holds, as a sentence, or nothing.
static base::Text find_holders(const std::string& folder, const Disks& disks, comm::Channel& world,
                               std::vector<Part>* parts) {
  const auto texts = gather(world, [&] { return check_own_share(folder, *parts, disks, world.rank()); });
  std::vector<base::Text> problems(parts->size());
  for (std::size_t rank = 0; rank < texts.size(); ++rank) {
    const json checks = json_in(texts[rank]);
    for (const auto& item : checks.items()) {
      const auto index = static_cast<std::size_t>(std::stoul(item.key()));
      const std::string problem = item.value().get<std::string>();
      Part& part = (*parts)[index];
      if (problem.empty()) {
        const auto members = disks.members(static_cast<int>(rank));
        part.holders.insert(part.holders.end(), members.begin(), members.end());
      } else if (problems[index].empty() || problem != missing) {
        problems[index] = place_of(part, problem, static_cast<int>(rank));
      }
    }
  }
  for (std::size_t i = 0; i < parts->size(); ++i) {
    std::sort((*parts)[i].holders.begin(), (*parts)[i].holders.end());
    if ((*parts)[i].holders.empty()) return problems[i];
  }
  return {};
}

static Examination try_manifest(const std::string& folder, const std::string& text, const Disks& disks,
                                comm::Channel& world) {
  Manifest manifest;
  try {
    manifest = manifest_from_text(text, manifest_name);
  } catch (const DataError& error) {  // the same on all ranks, which hold one text
    return {std::nullopt, base::text_of(error)};
  }
  Found found{folder, manifest.facts, manifest.parts, {}};
  const base::Text reason = find_holders(folder, disks, world, &found.parts);
  if (!reason.empty()) return {std::nullopt, reason};
  return {std::move(found), {}};
}

static Examination examine(const std::string& folder, const Disks& disks, comm::Channel& world) {
  Examination result{std::nullopt,
                     base::say("the manifest is missing: its save never finished, or the hosts that have one are gone")};
  try {
    for (const std::string& text : manifests_of(folder, disks, world)) {
      result = try_manifest(folder, text, disks, world);
      if (result.found) return result;
    }
  } catch (const DataError& error) {  // the same on all ranks: gather agrees on errors
    result.reason = base::text_of(error);
  }
  return result;
}

namespace {

// The steps that have a folder on some disk.
struct Steps {
  std::set<std::int64_t> standing, partial;
};

}  // namespace

static std::string own_steps(const std::string& root) {
  json steps = {{"standing", json::array()}, {"partial", json::array()}};
  for (const std::string& name : base::list_directory(root)) {
    std::int64_t step = 0;
    if (parse_step_folder_name(name, &step)) steps["standing"].push_back(step);
    if (parse_partial_folder_name(name, &step)) steps["partial"].push_back(step);
  }
  return steps.dump();
}

static Steps steps_of(const std::string& root, comm::Channel& world) {
  Steps steps;
  for (const std::string& text : gather(world, [&] { return own_steps(root); })) {
    const json own = json_in(text);
    for (const json& step : own["standing"]) steps.standing.insert(step.get<std::int64_t>());
    for (const json& step : own["partial"]) steps.partial.insert(step.get<std::int64_t>());
  }
  return steps;
}

// A save renames the folder of rank 0's disk last, with its manifest inside: as long as one disk has the folder's name of
// before, no disk that is away can have a manifest.
static bool never_finished(const std::string& root, std::int64_t step, const Steps& steps, const Disks& disks,
                           comm::Channel& world) {
  return steps.partial.count(step) != 0 && manifests_of(root + "/" + step_folder_name(step), disks, world).empty();
}

std::optional<Found> find_newest(const std::string& root, comm::Channel& world, std::vector<base::Text>* all_rejected) {
  const Steps steps = steps_of(root, world);
  if (steps.standing.empty()) return std::nullopt;
  const Disks disks = detect_disks(root, world);
  std::vector<base::Text> rejected;
  for (auto step = steps.standing.rbegin(); step != steps.standing.rend(); ++step) {
    if (never_finished(root, *step, steps, disks, world)) continue;
    const std::string name = step_folder_name(*step);
    Examination result = examine(root + "/" + name, disks, world);
    if (result.found) {
      result.found->rejected = rejected;
      return result.found;
    }
    rejected.push_back(base::say("{}: {}", name, result.reason));
  }
  if (all_rejected != nullptr) *all_rejected = rejected;
  return std::nullopt;
}

Found open_at(const std::string& path, comm::Channel& world) {
  if (!any_rank(world, [&] { return base::directory_exists(path); }))
    throw DataError(base::say("there is no checkpoint folder '{}' on any host; check the path", path));
  Examination result = examine(path, detect_disks(path, world), world);
  if (!result.found) throw DataError(base::say("the checkpoint '{}' cannot be used: {}", path, result.reason));
  return *result.found;
}

Found open_any(const std::string& path, comm::Channel& world) {
  const std::string plain = base::without_end_slashes(path);
  std::int64_t step = 0;
  const bool named = parse_step_folder_name(plain.substr(plain.find_last_of('/') + 1), &step);
  if (any_rank(world, [&] { return named || base::file_exists(plain + "/" + manifest_name); }))
    return open_at(plain, world);
  const bool is_run = any_rank(world, [&] { return base::directory_exists(plain + "/checkpoints"); });
  const std::string root = is_run ? plain + "/checkpoints" : plain;
  if (!any_rank(world, [&] { return base::directory_exists(root); }))
    throw DataError(base::say("there is no run or checkpoint folder '{}'; check the path", path));
  std::vector<base::Text> rejected;
  auto found = find_newest(root, world, &rejected);
  if (found) return *found;
  rejected.insert(rejected.begin(),
                  base::say("there is no complete checkpoint in '{}'; name another folder or train first", root));
  throw DataError(base::join(rejected, "\n  ", "\n  "));
}

}  // namespace troika::checkpoint
