#include "http/server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/error.h"

namespace troika::http {
namespace {
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string get_path_a = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n";

class RawClient {
 public:
  explicit RawClient(int port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    const timeval limit{10, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  }
  ~RawClient() { ::close(socket_); }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  void send(std::string_view bytes) const {
    EXPECT_EQ(::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }
  std::string receive_until(const std::string& end) const {
    std::string all;
    char buffer[4096];
    while (all.size() < end.size() || all.compare(all.size() - end.size(), end.size(), end) != 0) {
      const ssize_t got = ::recv(socket_, buffer, sizeof buffer, 0);
      if (got <= 0) return all + "(ended)";
      all.append(buffer, static_cast<std::size_t>(got));
    }
    return all;
  }
  std::string receive_all() const {
    std::string all;
    char buffer[4096];
    for (ssize_t got = 0; (got = ::recv(socket_, buffer, sizeof buffer, 0)) > 0;)
      all.append(buffer, static_cast<std::size_t>(got));
    return all;
  }
  void end_sending() const { ::shutdown(socket_, SHUT_WR); }

 private:
  int socket_;
};

Response echo(const Request& request) { return plain_text(200, request.path + request.body); }

ServerOptions at_port(int port) {
  ServerOptions options;
  options.port = port;
  options.address_flag = "--metrics-address";
  options.port_flag = "--metrics-port";
  return options;
}

TEST(Server, KeepsAConnectionForTheNextRequest) {
  const Server server({}, echo);
  const RawClient client(server.port());
  for (int i = 0; i < 3; ++i) {
    client.send(get_path_a);
    EXPECT_THAT(client.receive_until("/a"), StartsWith("HTTP/1.1 200 OK\r\n"));
  }
  client.send("GET /b HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(client.receive_all(), EndsWith("\r\n\r\n/b"));
  EXPECT_EQ(server.url(), "http://127.0.0.1:" + std::to_string(server.port()));
}

TEST(Server, ARefusalArrivesAlthoughMoreWasSent) {
  const Server server({}, echo);
  const RawClient client(server.port());
  client.send("PUT / HTTP/1.1\r\nHost: x\r\n\r\n" + std::string(200000, 'x'));
  EXPECT_THAT(client.receive_all(), StartsWith("HTTP/1.1 405 "));
}

TEST(Server, ALongAnswerComesWhole) {
  const std::string text(3 << 20, 'y');
  const Server server({}, [&](const Request&) { return plain_text(200, text); });
  const RawClient client(server.port());
  client.send("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  client.end_sending();
  EXPECT_THAT(client.receive_all().size(), ::testing::Gt(text.size()));
}

TEST(Server, SilentAndSlowClientsBlockNobody) {
  ServerOptions options;
  options.connections = 8;
  const Server server(options, echo);
  std::vector<std::unique_ptr<RawClient>> silent;
  for (std::size_t i = 0; i < 3 * options.connections; ++i) {
    silent.push_back(std::make_unique<RawClient>(server.port()));
    if (i % 2 == 0) silent.back()->send("GET /slow HTT");
  }
  const double before = base::monotonic_seconds();
  const RawClient client(server.port());
  client.send(get_path_a);
  EXPECT_THAT(client.receive_until("/a"), StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_LT(base::monotonic_seconds() - before, 5);
}

TEST(Server, HalfOfTheConnectionsAreKeptForOthersThanStreams) {
  ServerOptions options;
  options.connections = 4;
  std::vector<std::shared_ptr<Stream>> streams;
  {
    const Server server(options, [&](const Request& request) {
      if (request.path != "/stream") return echo(request);
      streams.push_back(std::make_shared<Stream>());
      return Response{200, {}, "begun", streams.back()};
    });
    const std::string get_stream = "GET /stream HTTP/1.1\r\nHost: x\r\n\r\n";
    const RawClient one(server.port()), two(server.port()), other(server.port());
    for (const RawClient* client : {&one, &two}) {
      client->send(get_stream);
      EXPECT_THAT(client->receive_until("begun"), EndsWith("begun"));
    }
    for (int i = 0; i < 3; ++i) {
      const RawClient more(server.port());
      more.send(get_stream);
      EXPECT_THAT(more.receive_until("open\n"), StartsWith("HTTP/1.1 503 "));
      EXPECT_FALSE(streams.back()->open());
      other.send(get_path_a);
      EXPECT_THAT(other.receive_until("/a"), StartsWith("HTTP/1.1 200 OK\r\n"));
    }
    std::thread writer([&] {
      streams.front()->write("news");
      streams.front()->finish();
    });
    EXPECT_EQ(one.receive_all(), "news");
    writer.join();
    other.send(get_stream);
    EXPECT_THAT(other.receive_until("begun"), EndsWith("begun"));
    EXPECT_TRUE(streams.back()->open());
  }
  EXPECT_FALSE(streams.back()->open());  // the server has ended
}

TEST(Server, ATakenPortIsNamedWithItsHolderAndTheFlag) {
  const Server first({}, echo);
  try {
    const Server second(at_port(first.port()), echo);
    FAIL() << "no error";
  } catch (const base::ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("port " + std::to_string(first.port()) + " is held by '"));
    EXPECT_THAT(error.what(),
                HasSubstr("(pid " + std::to_string(::getpid()) + "): end it or choose another --metrics-port"));
  }
}

TEST(Server, AnAddressOfAnotherHostIsRefused) {
  ServerOptions options = at_port(0);
  options.address = "192.0.2.1";
  EXPECT_THROW(Server(options, echo), base::ConfigError);
  options.address = "no such name";
  EXPECT_THROW(Server(options, echo), base::ConfigError);
}

}  // namespace
}  // namespace troika::http
