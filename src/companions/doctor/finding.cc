#include "doctor/finding.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

#include "base/error.h"
#include "base/json_members.h"
#include "base/terminal_text.h"
#include "base/units.h"
#include "doctor/judge.h"

namespace troika::doctor {

std::string_view word_of(Status status) {
  constexpr std::string_view words[] = {"ok", "note", "warn", "fail", "not_checked"};
  return words[static_cast<std::size_t>(status)];
}

namespace {

constexpr Status order_of_report[] = {Status::ok, Status::not_checked, Status::note, Status::warn, Status::fail};

std::size_t count(const std::vector<Finding>& findings, Status status) {
  return static_cast<std::size_t>(
      std::count_if(findings.begin(), findings.end(), [&](const Finding& one) { return one.status == status; }));
}

// Findings that say the same of several hosts.
struct Row {
  const Finding* finding;
  std::vector<std::string> hosts;
};

bool says_the_same(const Finding& a, const Finding& b) {
  return a.check == b.check && a.measured.english == b.measured.english && a.wanted.english == b.wanted.english &&
         a.advice.english == b.advice.english;
}

std::vector<Row> rows_with(const std::vector<Finding>& findings, Status status) {
  std::vector<Row> rows;
  for (const Finding& one : findings) {
    if (one.status != status) continue;
    const auto same =
        std::find_if(rows.begin(), rows.end(), [&](const Row& row) { return says_the_same(*row.finding, one); });
    if (same == rows.end())
      rows.push_back({&one, {one.host}});
    else
      same->hosts.push_back(one.host);
  }
  return rows;
}

std::string measured_and_wanted(const Finding& finding, base::Language language) {
  const std::string& measured = finding.measured.in(language);
  if (finding.wanted.empty()) return measured;
  const std::string wanted = base::say("wanted: {}", finding.wanted.in(language)).in(language);
  if (measured.empty()) return wanted;
  return measured + (language == base::Language::english ? "; " : "；") + wanted;
}

}  // namespace

int exit_code_of(const std::vector<Finding>& findings) {
  const auto fails = [](const Finding& one) { return one.status == Status::fail; };
  if (std::any_of(findings.begin(), findings.end(),
                  [&](const Finding& one) { return fails(one) && one.check == "answer"; }))
    return base::exit_peer_lost;
  return std::any_of(findings.begin(), findings.end(), fails) ? 2 : 0;
}

std::string json_report(const std::vector<Finding>& findings, base::Language language) {
  std::string text;
  for (const Finding& one : findings) {
    const auto object = base::json_of_members("host", one.host, "check", one.check, "status", word_of(one.status),
                                              "measured", one.measured.in(language), "wanted", one.wanted.in(language),
                                              "advice", one.advice.in(language));
    text += (text.empty() ? "" : ",\n ") + object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
  return "[" + text + "]\n";
}

std::string text_report(const std::vector<Finding>& findings, std::size_t hosts, double seconds,
                        base::Language language) {
  std::size_t host_width = 0, check_width = 0;
  std::vector<std::pair<Row, std::string>> lines;
  for (const Status status : order_of_report)
    for (Row& row : rows_with(findings, status)) {
      const std::string names = list_hosts(row.hosts, hosts).in(language);
      host_width = std::min<std::size_t>(24, std::max(host_width, base::terminal_columns(names)));
      check_width = std::max(check_width, row.finding->check.size());
      lines.emplace_back(std::move(row), names);
    }
  std::string text;
  for (const auto& [row, names] : lines) {
    const Finding& one = *row.finding;
    const std::string head =
        fmt::format("{:<11} {:<{}} {:<{}} ", word_of(one.status), names, host_width, one.check, check_width);
    text += head + measured_and_wanted(one, language) + "\n";
    if (!one.advice.empty()) text += std::string(12, ' ') + one.advice.in(language) + "\n";
  }
  const std::string took = base::format_duration(seconds);
  const std::size_t fail = count(findings, Status::fail), warn = count(findings, Status::warn),
                    note = count(findings, Status::note), unchecked_count = count(findings, Status::not_checked);
  const auto some = [](std::size_t number, std::string_view noun) {
    return base::counted_text(static_cast<std::int64_t>(number), noun);
  };
  const base::Text sum = fail + warn == 0
                       ? base::say("{} checked in {}: no problems, {}, {} not checked", some(hosts, "host"), took, some(note, "note"), unchecked_count)
                       : base::say("{} checked in {}: {} would stop the run, {}, {}, {} not checked", some(hosts, "host"), took, fail, some(warn, "warning"),
                              some(note, "note"), unchecked_count);
  return text + sum.in(language) + "\n";
}

std::string one_line(const Finding& finding, base::Language language) {
  return fmt::format("{}: {}{}{}", finding.check, measured_and_wanted(finding, language),
                     language == base::Language::english ? ". " : "。", finding.advice.in(language));
}

}  // namespace troika::doctor
