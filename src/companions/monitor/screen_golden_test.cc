#include <gmock/gmock.h>

#include "base/clock.h"
#include "base/text.h"
#include "monitor/made_run_test_support.h"
#include "monitor/screen.h"

namespace troika::monitor {
namespace {

using base::Language;
using records::EventKind;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// Compares with the golden folder; a text that differs is written under the build folder.
void expect_golden(const std::string& name, const std::string& text) {
  const std::string golden = TROIKA_SOURCE_DIR "/src/companions/monitor/golden/" + name;
  if (base::file_exists(golden) && base::read_file(golden) == text) return;
  const std::string path = TROIKA_BINARY_DIR "/monitor-" + name;
  base::write_file_atomic(path, text);
  ADD_FAILURE() << golden << " is not what is shown: " << path << "\n" << text;
}

std::string screen_text(View view, const Frame& frame) {
  view.folder = "runs/made";
  const std::vector<TextLine> lines = screen_of(view, frame);
  if (frame.height > 0) {
    EXPECT_THAT(lines, SizeIs(frame.height));
  }
  const std::string text = plain_text(lines, frame.height > 0 ? frame.width : 1000);
  return text;
}

Frame frame(std::size_t width, std::size_t height, Charset charset, Language language) {
  Frame f;
  f.width = width, f.height = height, f.charset = charset, f.language = language;
  return f;
}

// Two stages of three replicas at step 100: rank 2 is slow and the others of its replica wait for it.
void write_slowed(MadeRun* run) {
  run->write_state();
  run->write_steps(1, 100, [](auto& row) {
    if (row.step % 25 == 0) row.extra["valid_loss"] = 2.9;
  });
  run->write_samples(25, [](records::Sample& s) {
    if (s.rank == 2) s.pace_seconds = 0.5, s.place.seconds = 0.31, s.place.at = records::doing_of("bwd 0.0");
    if (s.rank == 3) s.place.waits_for = 2, s.place.at = records::doing_of("recv_act 1.1");
    if (s.rank == 0 || s.rank == 1)
      s.place.waits_for = records::waits_for_others, s.place.at = records::doing_of("norm");
  });
  run->write_event(1, EventKind::launch, "6 ranks on 3 hosts");
  run->write_event(3, EventKind::start, "step 1 of 1000 is next", -1, 0);
  run->write_event(24, EventKind::save, "step 100 is saved in 0.2 s", -1, 100);
}

TEST(MonitorScreenGolden, ASlowedRankInBothLanguagesCharsetsAndTwoWidths) {
  MadeRun run(3, 2);
  write_slowed(&run);
  const View view = run.view(26);
  expect_golden("slow-120-utf8-en.txt", screen_text(view, frame(120, 40, Charset::utf8, Language::english)));
  expect_golden("slow-120-utf8-zh.txt", screen_text(view, frame(120, 40, Charset::utf8, Language::chinese)));
  expect_golden("slow-76-ascii-en.txt", screen_text(view, frame(76, 24, Charset::ascii, Language::english)));
  expect_golden("slow-76-utf8-zh.txt", screen_text(view, frame(76, 24, Charset::utf8, Language::chinese)));
}

TEST(MonitorScreenGolden, ASilentRank) {
  MadeRun run(2);
  run.write_state();
  run.write_steps(1, 100);
  run.write_samples_of(0, 40,
                       [](records::Sample& s) { s.place.waits_for = 1, s.place.at = records::doing_of("reduce_grads 0"); });
  run.write_samples_of(1, 10);
  expect_golden("silent-100-utf8-en.txt", screen_text(run.view(41), frame(100, 24, Charset::utf8, Language::english)));
}

TEST(MonitorScreenGolden, AFailedRun) {
  MadeRun run(2);
  run.state.life = records::Life::failed;
  run.state.text =
      "rank 1 (host pi0, pid 101) was killed by signal 9 (SIGKILL); the kernel counts one process killed because "
      "memory ran out\nlast lines of logs/rank-00001.log:\nstep 12";
  run.write_state();
  run.write_steps(1, 12);
  run.write_samples(10);
  run.write_event(11, EventKind::rank_ended, "rank 1 was killed by signal 9 (SIGKILL)", 1);
  run.write_event(11, EventKind::failure, run.state.text);
  const View view = run.view(30);
  expect_golden("failed-100-ascii-en.txt", screen_text(view, frame(100, 24, Charset::ascii, Language::english)));
  expect_golden("failed-100-utf8-zh.txt", screen_text(view, frame(100, 24, Charset::utf8, Language::chinese)));
}

TEST(MonitorScreen, AnEmptyFolderIsSaidToHaveNoRecord) {
  const MadeRun run;
  EXPECT_THAT(screen_text(run.view(0), frame(100, 24, Charset::utf8, Language::english)),
              HasSubstr("no run records in 'runs/made' yet; waiting for the first"));
  EXPECT_THAT(screen_text(run.view(0), frame(100, 24, Charset::utf8, Language::chinese)),
              HasSubstr("“runs/made”中还没有运行记录，正在等待"));
}

TEST(MonitorScreen, FitsEverySizeOfTerminal) {
  MadeRun run(3, 2);
  write_slowed(&run);
  run.write_event(
      25, EventKind::notice,
      "host pi2 computes 3.1 times slower than its like (rank 4: 0.4 s a step, others that do the same 0.17 s)");
  const View view = run.view(26);
  for (std::size_t width = 1; width < 200; width += 7)
    for (std::size_t height = 1; height < 60; height += 3)
      for (const Language language : {Language::english, Language::chinese})
        screen_text(view, frame(width, height, Charset::utf8, language));
}

// Made without files: of 4096 ranks on 512 hosts rank 777 is slow, rank 9 silent, and all others wait for rank 1234.
View large_view() {
  View view;
  view.condition = Condition::training;
  for (int i = 0; i < 4096; ++i) {
    RankView rank;
    rank.rank = i;
    rank.host = "n" + std::to_string(i / 8);
    rank.standing = i == 9 ? Standing::silent : i == 1234 ? Standing::works : Standing::waits;
    rank.place.at = records::doing_of("norm");
    rank.pace_seconds = i == 777 ? 0.9 : 0.2;
    rank.slow = i == 777;
    rank.silent_seconds = i == 9 ? 60 : 0;
    if (rank.standing == Standing::waits) rank.chain = {1234};
    if (i == 1234) rank.held = 4094;
    view.ranks.push_back(rank);
    if (i % 8 == 0) view.hosts.push_back({rank.host, {i}, MadeRun::vitals(), 0, 0, 0, 0, 0, 0});
  }
  return view;
}

TEST(MonitorScreen, OfManyRanksThoseThatMatterComeFirstAndTheRestIsSummedUp) {
  const View view = large_view();
  const double before = base::monotonic_seconds();
  const std::string text = screen_text(view, frame(100, 30, Charset::utf8, Language::english));
  EXPECT_LT(base::monotonic_seconds() - before, 1);
  EXPECT_EQ(by_weight(view.ranks)[0]->rank, 777);
  EXPECT_EQ(by_weight(view.ranks)[1]->rank, 9);
  EXPECT_EQ(by_weight(view.ranks)[2]->rank, 1234);
  EXPECT_THAT(text, HasSubstr("\n 777  n97"));
  EXPECT_THAT(text, HasSubstr("silent for 1 min 00 s"));
  EXPECT_THAT(text, HasSubstr(" more: 0 working, "));
  EXPECT_THAT(text, HasSubstr("more hosts"));
}

TEST(MonitorLines, TellProgressAndOnlyWhatIsNew) {
  MadeRun run(2);
  run.write_state();
  run.write_steps(1, 100);
  run.write_samples(10);
  run.write_event(1, EventKind::start, "step 1 of 1000 is next");
  PlainLines lines(Language::english, 0);
  EXPECT_THAT(lines.next(run.view(10)),
              ::testing::ElementsAre("1970-01-01 00:16:50  training  step 100 of 1000  10.0 %  loss 2.6000  grad norm "
                                     "0.7  lr 0.0003  4096 tokens/s  ETA 3 min 45 s"));
  run.write_event(11, EventKind::save, "step 100 is saved");
  run.write_samples_of(0, 40);
  const auto second = lines.next(run.view(31));
  ASSERT_THAT(second, SizeIs(3));
  EXPECT_EQ(second[1], "  1970-01-01 00:16:51  save  step 100 is saved");
  EXPECT_EQ(second[2], "  ! rank 1 (host pi0) has been silent for 21 s");
  EXPECT_THAT(lines.next(run.view(36)), SizeIs(1));
}

}  // namespace
}  // namespace troika::monitor
