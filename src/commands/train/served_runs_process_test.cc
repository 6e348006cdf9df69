// Runs that `troika serve` starts: they are processes of their own, which it can stop and continue with, and which outlive it.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/file.h"
#include "commands/train/program_test_support.h"
#include "records/folder_lock.h"
#include "records/run_state.h"

namespace troika::commands {
namespace {
using Json = nlohmann::json;

// A server of its own, and what a script sends it.
class PageServer {
 public:
  explicit PageServer(const Folder& folder)
      : program_(troika({"serve", folder / "runs", "--port", "0", "--root", folder.path()}),
                 {{"XDG_RUNTIME_DIR", folder.path()}, {"HOME", folder.path()}}) {
    program_.await_output("#token=");
    program_.await_output("\n");
    const std::string said = program_.output(), host = "http://127.0.0.1:", mark = "/#token=";
    const std::size_t begin = said.find(host) + host.size(), middle = said.find(mark, begin);
    port_ = std::stoi(said.substr(begin, middle - begin));
    token_ = said.substr(middle + mark.size(), said.find('\n', middle) - middle - mark.size());
  }

  void kill() {
    program_.signal(SIGKILL);
    program_.wait();
  }

  // The status and the body.
  std::pair<int, Json> get(const std::string& path) const { return ask("GET " + path, ""); }
  std::pair<int, Json> post(const std::string& path, const Json& body) const {
    return ask("POST " + path, body.dump());
  }

 private:
  std::pair<int, Json> ask(const std::string& what, const std::string& body) const {
    std::string request = what + " HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(port_) +
                          "\r\nAuthorization: Bearer " + token_ + "\r\nConnection: close\r\n";
    if (what.rfind("POST", 0) == 0)
      request +=
          "X-Troika: 1\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n";
    const std::string answer = exchange(request + "\r\n" + body);
    const std::size_t end = answer.find("\r\n\r\n");
    if (end == std::string::npos) return {0, nullptr};
    return {std::stoi(answer.substr(9, 3)), Json::parse(answer.substr(end + 4), nullptr, false)};
  }

  std::string exchange(const std::string& request) const {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port_));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    std::string answer;
    if (::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
        ::send(socket, request.data(), request.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(request.size())) {
      char bytes[65536];
      for (ssize_t count; (count = ::recv(socket, bytes, sizeof bytes, 0)) > 0;)
        answer.append(bytes, static_cast<std::size_t>(count));
    }
    ::close(socket);
    return answer;
  }

  Program program_;
  int port_ = 0;
  std::string token_;
};

// The form of program_test_support's small run; `steps` of it.
Json form_of(const std::string& name, const std::string& steps) {
  Json settings = {{"log.sample_seconds", "0.5"}, {"comm.join_seconds", "60"}, {"train.steps", steps}};
  const Words words = small_run("corpus.txt", "");
  for (const auto& [flag, key] : std::map<std::string, std::string>{{"--data.train", "data.train"},
                                                                    {"--data.tokenizer", "data.tokenizer"},
                                                                    {"--seq-len", "batch.seq_len"},
                                                                    {"--micro-batch-size", "batch.micro_batch_size"},
                                                                    {"--global-batch-size", "batch.global_batch_size"},
                                                                    {"--seed", "train.seed"},
                                                                    {"--model.layers", "model.layers"},
                                                                    {"--model.hidden", "model.hidden"},
                                                                    {"--model.heads", "model.heads"},
                                                                    {"--model.kv-heads", "model.kv_heads"},
                                                                    {"--model.head-dim", "model.head_dim"},
                                                                    {"--model.ffn", "model.ffn"},
                                                                    {"--model.vocab", "model.vocab"}})
    settings[key] = *(std::find(words.begin(), words.end(), flag) + 1);
  return {{"name", name}, {"processes", 2}, {"settings", settings}};
}

void make_ready(const Folder& folder) {
  base::rename_path(write_corpus(folder), folder / "corpus.txt");
  base::make_directories(folder / "runs");
}

Json await_state(const PageServer& server, const std::string& name, const std::string& state) {
  Json run;
  for (const double until = base::monotonic_seconds() + patience_seconds; base::monotonic_seconds() < until;
       ::usleep(100'000)) {
    run = server.get("/api/runs/" + name).second;
    if (run.is_object() && run.value("state", "") == state && !records::in_use(run["folder"].get<std::string>()))
      return run;
  }
  ADD_FAILURE() << name << " is not " << state << " but " << run;
  return run;
}

}  // namespace

TEST(ServedRuns, AreStartedStoppedAfterASaveAndGoneOnWith) {
  const Folder folder;
  make_ready(folder);
  const PageServer server(folder);
  const std::string out = folder / "runs/first";
  Json wrong = form_of("first", "many");
  EXPECT_EQ(server.post("/api/runs", wrong).first, 400);

  const auto [status, answer] = server.post("/api/runs", form_of("first", "4000"));
  ASSERT_EQ(status, 201) << answer;
  EXPECT_EQ(answer["name"], "first");
  await_step(out, 5);
  EXPECT_EQ(server.post("/api/runs/first/resume", Json::object()).first, 409);
  EXPECT_EQ(server.post("/api/runs/first/stop", {{"how", "save"}}).first, 202);
  const Json stopped = await_state(server, "first", "stopped");
  const std::size_t steps = read_rows(out).size();
  EXPECT_EQ(checkpoints(out).size(), 1U);
  EXPECT_THAT(stopped["can"].dump(), testing::AllOf(testing::HasSubstr("resume"), testing::HasSubstr("export")));
  EXPECT_EQ(server.post("/api/runs/first/stop", {{"how", "save"}}).first, 409);

  EXPECT_EQ(server.post("/api/runs/first/resume", {{"step", nullptr}}).first, 202);
  await_step(out, static_cast<std::int64_t>(steps) + 3);
  EXPECT_EQ(server.post("/api/runs/first/stop", {{"how", "now"}}).first, 202);
  EXPECT_FALSE(records::in_use(out));
  await_state(server, "first", "stopped");
  const Rows rows = read_rows(out);
  for (std::size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(rows[i].step, static_cast<std::int64_t>(i) + 1);
}

TEST(FullServedRuns, OutliveTheServer) {
  const Folder folder;
  make_ready(folder);
  const std::string out = folder / "runs/first";
  PageServer server(folder);
  ASSERT_EQ(server.post("/api/runs", form_of("first", "4000")).first, 201);
  await_step(out, 2);
  server.kill();
  const auto reached = static_cast<std::int64_t>(read_rows(out).size());
  await_step(out, reached + 5);
  const PageServer another(folder);
  EXPECT_EQ(another.get("/api/runs/first").second["state"], "training");
  EXPECT_EQ(another.post("/api/runs/first/stop", {{"how", "save"}}).first, 202);
  await_state(another, "first", "stopped");
}

}  // namespace troika::commands
