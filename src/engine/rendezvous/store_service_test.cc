#include "rendezvous/store_service.h"

#include <gmock/gmock.h>

namespace troika::rendezvous {
namespace {
using wire::Operation;
using wire::Status;

// A store and clients whose bytes pass by hand.
class StoreServiceTest : public ::testing::Test {
 protected:
  StoreService& service() {
    if (!service_) service_.emplace(Access{"a1", ""}, limits_, [] { return std::string(nonce_bytes, 's'); });
    return *service_;
  }
  static std::string greeting() { return std::string(wire::client_greeting) + std::string(nonce_bytes, 'c'); }
  static std::string join_frame(const std::string& launch) {
    std::string body(1, static_cast<char>(wire::Claim::launch));
    wire::put_text(body, launch);
    wire::put_text(body, "");
    return wire::frame(1, static_cast<std::uint8_t>(Operation::join), body);
  }
  static std::string request(Operation operation, const std::string& key, const std::string& rest) {
    std::string body;
    wire::put_text(body, key);
    return wire::frame(2, static_cast<std::uint8_t>(operation), body + rest);
  }
  StoreService::Client stranger(double now) { return *service().open(now, "192.0.2.1"); }
  StoreService::Client member() {
    const StoreService::Client client = stranger(0);
    service().receive(client, greeting() + join_frame("a1"));
    taken(client);
    return client;
  }
  // All that the client would read now.
  std::string taken(StoreService::Client client) {
    const std::string all(service().unsent(client));
    service().sent(client, all.size());
    return all;
  }
  Status answer(StoreService::Client client) {
    const std::string bytes = taken(client);
    wire::Frame frame;
    std::size_t used = 0;
    EXPECT_EQ(wire::parse_frame(bytes, wire::max_answer_bytes, &frame, &used), wire::Parse::complete);
    return static_cast<Status>(frame.kind);
  }

  StoreLimits limits_;

 private:
  std::optional<StoreService> service_;
};

TEST_F(StoreServiceTest, BytesMayComeOneByOne) {
  const StoreService::Client client = stranger(0);
  for (const char byte : greeting() + join_frame("a1") + request(Operation::set, "k", "v"))
    service().receive(client, {&byte, 1});
  EXPECT_FALSE(service().dropped(client));
  taken(client);
  service().receive(client, request(Operation::read, "k", ""));
  EXPECT_EQ(answer(client), Status::ok);
}

TEST_F(StoreServiceTest, AStrangerIsHeardForAKilobyteAndTenSeconds) {
  const StoreService::Client asks = stranger(0), talks = stranger(0), waits = stranger(0), late = stranger(5);
  service().receive(asks, greeting() + request(Operation::set, "k", "v"));
  EXPECT_TRUE(service().dropped(asks));
  service().receive(talks, greeting() + wire::frame(1, 1, std::string(wire::max_stranger_bytes + 1, 'x')));
  EXPECT_TRUE(service().dropped(talks));
  service().expire(9.9);
  EXPECT_FALSE(service().dropped(waits));
  service().expire(10.1);
  EXPECT_TRUE(service().dropped(waits));
  EXPECT_FALSE(service().dropped(late));
  const StoreService::Client one = member();
  service().receive(one, request(Operation::read, "k", ""));
  EXPECT_EQ(answer(one), Status::absent);
}

TEST_F(StoreServiceTest, AStrangerHasThreeTriesAndNotAQuarterOfAMillionASecond) {
  const StoreService::Client client = stranger(0), other = stranger(0);
  for (const StoreService::Client each : {client, other}) {
    service().receive(each, greeting());
    taken(each);
    for (int i = 0; i < 2; ++i) {
      service().receive(each, join_frame("another"));
      EXPECT_EQ(answer(each), Status::refused);
    }
  }
  service().receive(client, join_frame("another"));
  EXPECT_TRUE(service().dropped(client));
  service().receive(other, join_frame("a1"));
  EXPECT_EQ(answer(other), Status::ok);
}

TEST_F(StoreServiceTest, OfTooManyStrangersTheOldestGoesAndMembersStay) {
  limits_.strangers = 3;
  limits_.clients = 8;
  const StoreService::Client one = member();
  std::vector<StoreService::Client> strangers;
  for (int i = 0; i < 100; ++i) strangers.push_back(stranger(0));
  EXPECT_FALSE(service().dropped(one));
  for (int i = 0; i < 97; ++i) EXPECT_TRUE(service().dropped(strangers[static_cast<std::size_t>(i)]));
  EXPECT_FALSE(service().dropped(strangers.back()));
}

TEST_F(StoreServiceTest, HalfRequestsTogetherStayWithinTheirLimit) {
  limits_.unread_bytes = 1 << 20;
  const StoreService::Client good = member();
  service().receive(good, request(Operation::set, "k", "v").substr(0, 5));
  for (int i = 0; i < 20; ++i) {
    const StoreService::Client bad = member();
    std::string head;
    wire::put_u32(head, wire::max_value_bytes);
    service().receive(bad, head + std::string(200'000, 'x'));
  }
  EXPECT_FALSE(service().dropped(good));
  service().receive(good, request(Operation::set, "k", "v").substr(5));
  EXPECT_EQ(answer(good), Status::ok);
}

TEST_F(StoreServiceTest, AClientThatAsksAndNeverReadsIsDropped) {
  limits_.unsent_bytes = 1 << 20;
  const StoreService::Client greedy = member(), good = member();
  service().receive(good, request(Operation::set, "k", std::string(100'000, 'v')));
  taken(good);
  for (int i = 0; i < 20; ++i) service().receive(greedy, request(Operation::read, "k", ""));
  EXPECT_TRUE(service().dropped(greedy));
  service().receive(good, request(Operation::read, "k", ""));
  EXPECT_EQ(answer(good), Status::ok);
}

TEST_F(StoreServiceTest, TheTableHasItsLimit) {
  limits_.table_bytes = 1 << 20;
  const StoreService::Client one = member();
  Status last = Status::ok;
  int kept = 0;
  for (; kept < 100 && last == Status::ok; ++kept) {
    service().receive(one, request(Operation::set, "k" + std::to_string(kept), std::string(50'000, 'v')));
    last = answer(one);
  }
  EXPECT_EQ(last, Status::refused);
  EXPECT_EQ(kept, 21);
  service().receive(one, request(Operation::erase, "k0", ""));
  EXPECT_EQ(answer(one), Status::ok);
  service().receive(one, request(Operation::set, "again", std::string(40'000, 'v')));
  EXPECT_EQ(answer(one), Status::ok);
}

TEST_F(StoreServiceTest, AClientThatLeavesWaitsForNothing) {
  const StoreService::Client waits = member(), stays = member();
  service().receive(waits, request(Operation::await, "later", ""));
  service().close(waits, StoreService::Ended::by_client);
  service().receive(stays, request(Operation::set, "later", "now"));
  EXPECT_EQ(answer(stays), Status::ok);
}

TEST_F(StoreServiceTest, WhatAClientLeavesBehindIsWrittenWhenItEndsItsConnection) {
  for (const auto ended : {StoreService::Ended::otherwise, StoreService::Ended::by_client}) {
    const StoreService::Client leaves = member(), waits = member();
    service().receive(leaves, request(Operation::leave_behind, "left", "x"));
    EXPECT_EQ(answer(leaves), Status::ok);
    service().receive(waits, request(Operation::await, "left", ""));
    service().close(leaves, ended);
    if (ended == StoreService::Ended::by_client) {
      EXPECT_EQ(answer(waits), Status::ok);
    } else {
      EXPECT_EQ(service().unsent(waits), "");
    }
  }
}

TEST(StoreTable, WrapsSumsAndRefusesWhatIsMalformed) {
  StoreTable table(1 << 20);
  EXPECT_EQ(table.apply(Operation::add, "n", "9223372036854775807").body, "9223372036854775807");
  EXPECT_EQ(table.apply(Operation::add, "n", "1").body, "-9223372036854775808");
  EXPECT_EQ(table.apply(Operation::add, "n", "x").status, Status::refused);
  EXPECT_EQ(table.apply(Operation::compare_set, "n", "short").status, Status::refused);
  EXPECT_EQ(table.apply(Operation::entries, "n", "short").status, Status::refused);
  EXPECT_EQ(table.apply(Operation::set_and_read, "n", "x").status, Status::refused);
  EXPECT_EQ(table.apply(static_cast<Operation>(77), "n", "").status, Status::refused);
}

}  // namespace
}  // namespace troika::rendezvous
