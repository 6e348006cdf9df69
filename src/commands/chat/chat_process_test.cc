// Conversations with the real program, by a pipe.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "commands/train/program_test_support.h"

namespace troika::commands {
namespace {

void await(const Program& program, const std::function<bool()>& ready) {
  const double until = base::monotonic_seconds() + patience_seconds;
  while (!ready()) {
    ASSERT_LT(base::monotonic_seconds(), until) << program.output();
    ::usleep(2000);
  }
}

// A small model that says words of its corpus, and a template of brackets.
class Chat : public testing::Test {
 protected:
  Chat() {
    base::write_file_atomic(folder_ / "brackets.jinja",
                            "{% for m in messages %}[{{ m.role }}]{{ m.content }}[/]{% endfor %}"
                            "{% if add_generation_prompt %}[assistant]{% endif %}");
    const Words run_of_one = small_run(write_corpus(folder_), folder_ / "run");
    const End end = run(troika(run_of_one + Words{"--steps", "4", "--lr", "3e-3", "--log.progress", "none",
                                                  "--model.max-positions", "300000"}));
    EXPECT_EQ(end.code, 0) << end.output;
  }

  Words chat(const Words& more) const {
    return troika(Words{"chat", folder_ / "run", "--chat-template", folder_ / "brackets.jinja", "--temperature", "0"}) +
           more;
  }

  // The answer of generate to a text that was rendered by hand.
  std::string answer_by_hand(const std::string& rendered) const {
    const End end = run(troika({"generate", folder_ / "run", "--prompt", rendered, "--temperature", "0", "--tokens",
                                "20", "--json", "--stop", "[/]"}));
    return nlohmann::json::parse(end.output)["completion"];
  }

  const Folder folder_;
};

TEST_F(Chat, ThreeLinesGetTheAnswersThatTheirRenderingGetsByHand) {
  base::write_file_atomic(folder_ / "in", "hello\n\nthe model\nwell");
  Program program(chat({"--max-new-tokens", "20", "--system", "be brief"}), {}, folder_ / "in");
  const End end = program.wait();
  ASSERT_EQ(end.code, 0) << end.output;
  std::string rendered = "[system]be brief[/]", want;
  for (const char* turn : {"hello", "the model", "well"}) {
    rendered += std::string("[user]") + turn + "[/][assistant]";
    const std::string answer = answer_by_hand(rendered);
    rendered += answer + "[/]";
    want += answer + "\nnote: the answer ended after 20 tokens; --max-new-tokens allows more\n";
  }
  EXPECT_EQ(end.output, want);

  base::write_file_atomic(folder_ / "in.jsonl", R"({"id": 7, "messages": [{"role": "user", "content": "hello"}]})");
  const End batch = run(chat({"--max-new-tokens", "20", "--system", "be brief", "--input", folder_ / "in.jsonl",
                              "--output", folder_ / "out.jsonl"}));
  ASSERT_EQ(batch.code, 0) << batch.output;
  const auto line = nlohmann::json::parse(base::read_file(folder_ / "out.jsonl"));
  EXPECT_EQ(line["id"], 7);
  EXPECT_EQ(line["messages"][2]["content"], answer_by_hand("[system]be brief[/][user]hello[/][assistant]"));
  EXPECT_EQ(line["finish"], "length");
}

TEST_F(Chat, CtrlCStopsAnAnswerAndAtThePromptTheProgram) {
  const std::string pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const int writer = ::open(pipe.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(writer, 0);
  Program program(chat({"--max-new-tokens", "250000"}), {}, pipe);
  for (const std::string turn : {"hello\n", "again\n"}) {
    const std::size_t before = program.output().size();
    ASSERT_EQ(::write(writer, turn.data(), turn.size()), static_cast<ssize_t>(turn.size()));
    await(program, [&] { return program.output().size() > before + 8; });
    program.signal(SIGINT);
    await(program, [&] { return program.output().find("\nstopped\n", before) != std::string::npos; });
  }
  while (!program.processes().empty()) {  // a signal right behind another one counts as the same one
    program.signal(SIGINT);
    ::usleep(20000);
  }
  ::close(writer);
  EXPECT_EQ(program.wait().code, base::exit_interrupted);
}

}  // namespace
}  // namespace troika::commands
