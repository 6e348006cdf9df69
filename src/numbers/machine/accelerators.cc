#include "machine/accelerators.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <tuple>

#include "base/error.h"
#include "base/say.h"
#include "base/text.h"

namespace troika::machine {
namespace {

using Words = std::vector<std::string>;

// 10^9 bytes per second each way of 16 lanes. GeForce cards reach each other through the host's memory, which takes two ways.
constexpr double pcie4 = 32, pcie5 = 64, geforce4 = pcie4 / 2, geforce4_x8 = geforce4 / 2, geforce5 = pcie5 / 2;

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// "RTX4070Ti-16GB": 4070, ti, 16, gb. Behind a number a word begins; "rtx" tells no card from another.
Words words_of(const std::string& text) {
  std::string apart;
  bool in_number = false;
  for (const char c : text) {
    const bool in_word = std::isalnum(static_cast<unsigned char>(c)) != 0;
    if (in_number && !is_digit(c)) apart += ' ';
    in_number = is_digit(c) && (in_number || apart.empty() || apart.back() == ' ');
    apart += in_word ? static_cast<char>(std::tolower(static_cast<unsigned char>(c))) : ' ';
    if (base::ends_with(apart, "rtx")) apart.replace(apart.size() - 3, 3, " ");
  }
  Words words = base::split(apart, ' ');
  words.erase(std::remove(words.begin(), words.end(), ""), words.end());
  return words;
}

bool has(const Words& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}
bool has_all(const Words& words, const Words& parts) {
  return std::all_of(parts.begin(), parts.end(), [&](const std::string& part) { return has(words, part); });
}

// Words that may appear beside any name.
const Words& idle_words() {
  static const Words words{"nvidia", "geforce", "tesla", "quadro", "gpu",  "gb",         "g",           "sxm",    "sxm2",    "sxm4",
                           "sxm5",   "hbm2",    "hbm2e", "hbm3",   "hbm3e", "pcie",      "generation",  "server", "edition", "max",
                           "q",      "workstation"};
  return words;
}

// The name's words without the size of its memory, which is the last one of "a100-80".
Words needed_words(const Accelerator& a) {
  Words words = words_of(a.name);
  const Words title = words_of(a.title);
  if (words.size() > 1 && title.size() > 1 && words.back() == title[title.size() - 2]) words.pop_back();
  return words;
}

bool is_called(const Accelerator& a, const Words& words) {
  Words known = words_of(a.title + ' ' + a.name);
  known.insert(known.end(), idle_words().begin(), idle_words().end());
  return has_all(words, needed_words(a)) && has_all(known, words);
}

struct OldCard {
  const char* words;
  Capability capability;
};
constexpr OldCard old_cards[] = {
    {"t4", {7, 5}},          {"v100", {7, 0}},        {"p100", {6, 0}},        {"p40", {6, 1}},
    {"2060", {7, 5}},        {"2070", {7, 5}},        {"2080", {7, 5}},        {"quadro 5000", {7, 5}},
    {"quadro 6000", {7, 5}}, {"quadro 8000", {7, 5}}, {"gtx 1650", {7, 5}},    {"gtx 1660", {7, 5}},
    {"gtx 1060", {6, 1}},    {"gtx 1070", {6, 1}},    {"gtx 1080", {6, 1}},
};

// The nearest: at most three that are equally near, without what goes without saying.
std::vector<std::string> near_names(const std::string& text, const std::vector<std::string>& names) {
  Words words = words_of(text);
  words.erase(std::remove_if(words.begin(), words.end(), [](const auto& word) { return has(idle_words(), word); }),
              words.end());
  const std::string asked = base::join(words, "-");
  std::vector<std::string> bare, near;
  for (const std::string& name : names) bare.push_back(base::join(words_of(name), "-"));
  const std::string first = base::nearest(asked, bare);
  for (std::size_t i = 0; i < names.size() && near.size() < 3 && !first.empty(); ++i) {
    if (base::nearest(asked, {bare[i], first}) == bare[i]) near.push_back(names[i]);  // of two that are equally near the first
  }
  return near;
}

}  // namespace

// Earlier rows are preferred: an H100 PCIe to an H100, the smaller of two memories.
const std::vector<Accelerator>& accelerators() {
  static const std::vector<Accelerator> rows = {
      // name, title, capability, GiB, fp32, halves, measured, memory GB/s, inside GB/s, network Gbit/s, devices
      {"a100-40", "NVIDIA A100 SXM, 40 GB", {8, 0}, 39.4, 19.5, 312, 271, 1555, 300, 1600, 8},
      {"a100-80", "NVIDIA A100 SXM, 80 GB", {8, 0}, 79.2, 19.5, 312, 271, 2039, 300, 1600, 8},
      {"a800", "NVIDIA A800 SXM, 80 GB", {8, 0}, 79.2, 19.5, 312, 0, 2039, 200, 1600, 8},
      {"h100-pcie", "NVIDIA H100 PCIe, 80 GB", {9, 0}, 79.2, 51, 756, 0, 2039, pcie5, 400, 8},
      {"h100", "NVIDIA H100 SXM, 80 GB", {9, 0}, 79.2, 67, 989, 794, 3350, 450, 3200, 8},
      {"h800", "NVIDIA H800 SXM, 80 GB", {9, 0}, 79.2, 67, 989, 0, 3350, 200, 3200, 8},
      {"h20", "NVIDIA H20 SXM, 96 GB", {9, 0}, 95.0, 44, 148, 0, 4000, 450, 3200, 8},
      {"h200", "NVIDIA H200 SXM, 141 GB", {9, 0}, 139.8, 67, 989, 790, 4800, 450, 3200, 8},
      {"b200", "NVIDIA B200, 180 GB", {10, 0}, 178, 75, 2250, 1745, 8000, 900, 3200, 8},
      {"l4", "NVIDIA L4, 24 GB", {8, 9}, 22.0, 30.3, 121, 0, 300, pcie4, 100, 8},
      {"l40", "NVIDIA L40, 48 GB", {8, 9}, 44.4, 90.5, 181, 0, 864, pcie4, 400, 8},
      {"l40s", "NVIDIA L40S, 48 GB", {8, 9}, 44.5, 91.6, 362, 0, 864, pcie4, 400, 8},
      {"a10", "NVIDIA A10, 24 GB", {8, 6}, 22.0, 31.2, 125, 0, 600, pcie4, 100, 4},
      {"a10g", "NVIDIA A10G, 24 GB", {8, 6}, 22.0, 35, 70, 0, 600, pcie4, 100, 4},
      {"rtx-a6000", "NVIDIA RTX A6000, 48 GB", {8, 6}, 47.4, 38.7, 154.8, 0, 768, pcie4, 25, 4},
      {"rtx-6000-ada", "NVIDIA RTX 6000 Ada, 48 GB", {8, 9}, 47.4, 91.1, 364, 0, 960, pcie4, 25, 4},
      {"rtx-pro-6000", "NVIDIA RTX PRO 6000 Blackwell, 96 GB", {12, 0}, 94.9, 125, 503.8, 0, 1792, pcie5, 100, 4},
      {"rtx-5090", "NVIDIA GeForce RTX 5090, 32 GB", {12, 0}, 31.3, 104.8, 209.5, 0, 1792, geforce5, 10, 2},
      {"rtx-5080", "NVIDIA GeForce RTX 5080, 16 GB", {12, 0}, 15.4, 56.3, 112.6, 0, 960, geforce5, 10, 2},
      {"rtx-5070-ti", "NVIDIA GeForce RTX 5070 Ti, 16 GB", {12, 0}, 15.4, 43.9, 87.9, 0, 896, geforce5, 10, 2},
      {"rtx-5070", "NVIDIA GeForce RTX 5070, 12 GB", {12, 0}, 11.5, 30.9, 61.7, 0, 672, geforce5, 10, 2},
      {"rtx-4090", "NVIDIA GeForce RTX 4090, 24 GB", {8, 9}, 23.5, 82.6, 165, 0, 1008, geforce4, 10, 2},
      {"rtx-4080-super", "NVIDIA GeForce RTX 4080 SUPER, 16 GB", {8, 9}, 15.6, 52.2, 104.4, 0, 736, geforce4, 10, 2},
      {"rtx-4080", "NVIDIA GeForce RTX 4080, 16 GB", {8, 9}, 15.6, 48.7, 97.5, 0, 716.8, geforce4, 10, 2},
      {"rtx-4070-ti-super", "NVIDIA GeForce RTX 4070 Ti SUPER, 16 GB", {8, 9}, 15.6, 44.1, 88.2, 0, 672, geforce4, 10, 2},
      {"rtx-4070-ti", "NVIDIA GeForce RTX 4070 Ti, 12 GB", {8, 9}, 11.6, 40.1, 80.2, 0, 504, geforce4, 10, 2},
      {"rtx-4070-super", "NVIDIA GeForce RTX 4070 SUPER, 12 GB", {8, 9}, 11.6, 35.5, 70.9, 0, 504, geforce4, 10, 2},
      {"rtx-4070", "NVIDIA GeForce RTX 4070, 12 GB", {8, 9}, 11.6, 29.1, 58.3, 0, 504, geforce4, 10, 2},
      {"rtx-4060-ti-8", "NVIDIA GeForce RTX 4060 Ti, 8 GB", {8, 9}, 7.6, 22.1, 44.1, 0, 288, geforce4_x8, 10, 2},
      {"rtx-4060-ti-16", "NVIDIA GeForce RTX 4060 Ti, 16 GB", {8, 9}, 15.6, 22.1, 44.1, 0, 288, geforce4_x8, 10, 2},
      {"rtx-3090-ti", "NVIDIA GeForce RTX 3090 Ti, 24 GB", {8, 6}, 23.5, 40, 80, 0, 1008, geforce4, 10, 2},
      {"rtx-3090", "NVIDIA GeForce RTX 3090, 24 GB", {8, 6}, 23.5, 35.6, 71, 0, 936, geforce4, 10, 2},
      {"rtx-3080-ti", "NVIDIA GeForce RTX 3080 Ti, 12 GB", {8, 6}, 11.6, 34.1, 68.2, 0, 912, geforce4, 10, 2},
      {"rtx-3080-10", "NVIDIA GeForce RTX 3080, 10 GB", {8, 6}, 9.6, 29.8, 59.5, 0, 760, geforce4, 10, 2},
      {"rtx-3080-12", "NVIDIA GeForce RTX 3080, 12 GB", {8, 6}, 11.6, 30.6, 61.3, 0, 912, geforce4, 10, 2},
      {"rtx-3070", "NVIDIA GeForce RTX 3070, 8 GB", {8, 6}, 7.6, 20.3, 40.6, 0, 448, geforce4, 10, 2},
      {"rtx-3060", "NVIDIA GeForce RTX 3060, 12 GB", {8, 6}, 11.6, 12.7, 25.5, 0, 360, geforce4, 10, 2},
  };
  return rows;
}

std::vector<std::string> accelerator_names() {
  std::vector<std::string> names;
  for (const Accelerator& a : accelerators()) names.push_back(a.name);
  return names;
}

const Accelerator* accelerator_called(const std::string& text) {
  const Words words = words_of(text);
  for (const Accelerator& a : accelerators()) {
    if (is_called(a, words)) return &a;
  }
  return nullptr;
}

std::optional<Capability> capability_called(const std::string& text) {
  if (const Accelerator* const found = accelerator_called(text)) return found->capability;
  const Words words = words_of(text);
  for (const OldCard& card : old_cards)
    if (has_all(words, words_of(card.words))) return card.capability;
  return std::nullopt;
}

std::optional<base::Text> lack_of_cards(const std::vector<std::string>& models) {
  std::optional<base::Text> lack;
  for (const std::string& model : models) {
    const auto capability = capability_called(model);
    if (capability) lack = lack_of_card(*capability);
    if (!capability || !lack) return std::nullopt;
  }
  return lack;
}

void refuse_accelerator(const std::string& text, base::Origin what, const std::vector<std::string>& names) {
  if (const auto capability = capability_called(text)) {
    if (const auto lack = lack_of_card(*capability))
      throw base::ConfigError(base::say("{} '{}': {}", what, text, *lack));
  }
  const std::vector<std::string> near = near_names(text, names);
  throw base::ConfigError(base::say("{0} '{1}' is unknown ({2})", what, text,
                                    near.empty() ? base::say("known names are {}", base::join(names, ", "))
                                                 : base::say("did you mean {}?", base::join(near, ", "))));
}

const Accelerator& find_accelerator(const std::string& text, base::Origin what) {
  if (const Accelerator* found = accelerator_called(text)) return *found;
  refuse_accelerator(text, what, accelerator_names());
}

std::string to_text(Capability capability) { return fmt::format("{}.{}", capability.major, capability.minor); }

std::optional<base::Text> lack_of_card(Capability card) {
  if (std::tie(card.major, card.minor) >= std::tie(least_capability.major, least_capability.minor)) return std::nullopt;
  return base::say("Troika's kernels need compute capability {} or later, but this GPU has {}", to_text(least_capability), to_text(card));
}

// NVIDIA's "CUDA Toolkit Release Notes", the table of minor version compatibility.
std::optional<int> least_driver(int cuda) {
  switch (cuda) {
    case 11: return 450;
    case 12: return 525;
    case 13: return 580;
    default: return std::nullopt;
  }
}

std::optional<base::Text> lack_of_driver(int driver, int cuda) {
  const std::optional<int> least = least_driver(cuda);
  if (!least || driver >= *least) return std::nullopt;
  return base::say("driver {0} is older than {1}, which CUDA {2} needs; update it", driver, *least, cuda);
}

}  // namespace troika::machine
