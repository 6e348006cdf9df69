"""Hosts as network, host name and mount namespaces on a switch, each with a folder of its own."""
import os
import subprocess

from .runs import CannotMake

PORT = 29500


class Hosts:
    """`count` hosts called nodeN at 10.79.0.N+1; they vanish with the bench.

    rate: of every link, as tc has it; mtu: of the hosts' own cards, while the switch carries 1500 bytes.
    """

    def __init__(self, bench, count=2, rate=None, mtu=None):
        self.bench, self.count = bench, count
        self.addresses = [f"10.79.0.{node + 1}" for node in range(count)]
        self.holders = [self._hold() for _ in range(count + 1)]
        switch = count
        self.inside(switch, "ip", "link", "add", "name", "switch", "type", "bridge")
        self.inside(switch, "ip", "link", "set", "switch", "up")
        for node in range(count):
            os.makedirs(self.folder(node))
            self.inside(node, "hostname", f"node{node}")
            self.inside(node, "ip", "link", "add", "name", "lan", "type", "veth", "peer", "name", f"port{node}", "netns",
                        str(self.holders[switch].pid))
            self.inside(switch, "ip", "link", "set", f"port{node}", "master", "switch", "up")
            if mtu:
                self.inside(node, "ip", "link", "set", "lan", "mtu", str(mtu), "gso_max_segs", "1")
            self.inside(node, "ip", "address", "add", self.addresses[node] + "/24", "dev", "lan")
            self.inside(node, "ip", "link", "set", "lan", "up")
            self.inside(node, "ip", "link", "set", "lo", "up")
            if rate:
                self.inside(node, *f"tc qdisc replace dev lan root tbf rate {rate} burst 16kb latency 200ms".split())
                self.inside(switch, *f"tc qdisc replace dev port{node} root tbf rate {rate} burst 16kb latency 200ms".split())

    def _hold(self):
        holder = self.bench.helper("unshare", "--net", "--uts", "--mount", "--propagation", "private", "sh", "-c",
                                   "echo; exec sleep 900", stdout=subprocess.PIPE)
        holder.stdout.readline()
        self.bench.stack.callback(holder.wait)
        self.bench.stack.callback(holder.kill)
        return holder

    def folder(self, node):
        return self.bench.path(f"node{node}")

    def enter(self, node):
        return ["nsenter", "--target", str(self.holders[node].pid), "--net", "--uts", "--mount", "--wdns=/", "--"]

    def inside(self, node, *words):
        done = subprocess.run([*self.enter(node), *words], capture_output=True, text=True)
        if done.returncode:
            raise CannotMake(f"{' '.join(words)}: {done.stderr.strip()}")

    def on_arrival(self, node, port, what):
        """TCP to `port` that comes to this host by the network is treated so: prohibit (a firewall's REJECT) or blackhole (DROP)."""
        self.inside(node, "sysctl", "-qw", "net.ipv4.ip_forward=1")  # hosts that do not forward tell nobody
        self.inside(node, "ip", "rule", "add", "pref", "10", "lookup", "local")
        self.inside(node, "ip", "rule", "del", "pref", "0")
        self.inside(node, "ip", "rule", "add", "pref", "5", "iif", "lan", "ipproto", "tcp", "dport", str(port), what)

    def names(self, node, text):
        """What /etc/hosts says there."""
        path = self.bench.write(f"hosts{node}", "127.0.0.1 localhost\n" + text)
        self.inside(node, "mount", "--bind", path, "/etc/hosts")

    def command(self, node, *flags, master=None, ranks=1, launch=(), **more):
        """What a person types on that host; run folder: node0/run and so on."""
        enter = [*self.enter(node), "sh", "-c", 'cd "$0" && exec "$@"', self.folder(node)]
        flags_of_launch = ["--nnodes", str(self.count), "--node-rank", str(node), "--master-addr", master or self.addresses[0],
                           "--master-port", str(PORT), *launch]
        return self.bench.train(*flags, ranks=ranks, launch=flags_of_launch, folder=self.folder(node),
                                wrap=[*enter, *more.pop("wrap", [])], **more)

    def start(self, *flags, **more):
        return [self.bench.start(self.command(node, *flags, **more)) for node in reversed(range(self.count))][::-1]
