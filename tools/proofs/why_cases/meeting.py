"""Ranks that do not meet, or meet and cannot talk: ports, names, firewalls, hosts that stay away, a small MTU in the middle."""
import os
import shutil
import signal
import socket
import time

from .runs import ENDLESS, CannotMake, await_true, free_port
from .case import case, made, restart, with_flags
from .hosts import PORT, Hosts

SHORTLY = ("--join-timeout", "8")
STEPS = "--train.steps 8"


def all_end(runs, seconds=40):
    codes = [run.wait(seconds) for run in runs]
    if any(code in (0, None) for code in codes):
        raise CannotMake(f"the hosts' launchers end with {codes}")


@case("the port is taken by another program", 9, "port_in_use")
def port_taken(bench):
    port = free_port()
    listener = socket.create_server(("", port))
    bench.stack.callback(listener.close)
    command = bench.train(STEPS, ranks=2, launch=["--master-port", str(port)])
    run = bench.start(command)
    all_end([run])
    return made(bench, [run], restart(bench, [command]))


@case("the port is taken by a run left over", 9, "port_in_use")
def port_of_another_run(bench):
    port = free_port()
    launch = ["--nnodes", "1", "--master-addr", "127.0.0.1", "--master-port", str(port)]
    other = bench.start(bench.train(*ENDLESS, out="other", screen="other.screen", ranks=2, launch=launch))
    other.await_steps(5)
    command = bench.train(STEPS, ranks=2, launch=[*launch, *SHORTLY])
    run = bench.start(command)
    all_end([run])
    return made(bench, [run], restart(bench, [command]))


@case("/etc/hosts of host 1 has the name of host 0 at 127.0.1.1", 10, "wrong_address")
def loopback_name(bench):
    hosts = Hosts(bench)
    hosts.names(0, f"{hosts.addresses[0]} node0\n{hosts.addresses[1]} node1\n")
    hosts.names(1, "127.0.1.1 node0\n" + f"{hosts.addresses[1]} node1\n")
    commands = [hosts.command(node, STEPS, master="node0", launch=SHORTLY) for node in (0, 1)]
    runs = [bench.start(command) for command in commands]
    all_end(runs)
    by_number = ("--master-addr", lambda made_so, _: with_flags(made_so, ["--master-addr", hosts.addresses[0]]))
    return made(bench, runs, restart(bench, commands, acts=[by_number]), asked=1)


@case("/etc/hosts of host 0 has its own name at 127.0.1.1, as Debian writes it", 10, "wrong_address")
def own_loopback_name(bench):
    hosts = Hosts(bench)
    hosts.names(0, f"127.0.1.1 node0\n{hosts.addresses[1]} node1\n")
    hosts.names(1, f"{hosts.addresses[0]} node0\n127.0.1.1 node1\n")
    commands = [hosts.command(node, STEPS, master="node0", launch=SHORTLY) for node in (0, 1)]
    runs = [bench.start(command) for command in commands]
    all_end(runs)
    by_number = ("--master-addr", lambda made_so, _: with_flags(made_so, ["--master-addr", hosts.addresses[0]]))
    return made(bench, runs, restart(bench, commands, acts=[by_number]))


@case("a firewall on host 0 rejects the port", 11, "firewall")
def firewall_rejects(bench):
    hosts = Hosts(bench)
    hosts.on_arrival(0, PORT, "prohibit")
    commands = [hosts.command(node, STEPS, launch=SHORTLY) for node in (0, 1)]
    runs = [bench.start(command) for command in commands]
    all_end(runs)

    def open_port(made_so, _):
        hosts.inside(0, "ip", "rule", "del", "pref", "5")
        return made_so
    return made(bench, runs, restart(bench, commands, acts=[("open", open_port), ("firewall", open_port), ("port", open_port)]), asked=1)


@case("a firewall on host 0 drops what comes to the port", 12, "ranks_missing")
def firewall_drops(bench):
    hosts = Hosts(bench)
    hosts.on_arrival(0, PORT, "blackhole")
    commands = [hosts.command(node, STEPS, launch=SHORTLY) for node in (0, 1)]
    runs = [bench.start(command) for command in commands]
    all_end(runs)

    def open_port(made_so, _):
        hosts.inside(0, "ip", "rule", "del", "pref", "5")
        return made_so
    return made(bench, runs, restart(bench, commands, acts=[("open", open_port), ("firewall", open_port), ("doctor", open_port)]))


@case("a host is never started", 12, "ranks_missing")
def host_missing(bench):
    hosts = Hosts(bench)
    commands = [hosts.command(node, STEPS, launch=SHORTLY) for node in (0, 1)]
    run = bench.start(commands[0])
    all_end([run])
    return made(bench, [run], restart(bench, commands))  # this time both are started


@case("joins, and large packets vanish: MTU 9000 on the hosts, 1500 between", 13, "mtu_black_hole")
def mtu_hole(bench):
    hosts = Hosts(bench, mtu=9000)
    wide = "--model.hidden 128 --model.ffn 512 --batch.seq-len 128 --checkpoint.every-minutes 0"
    commands = [hosts.command(node, *ENDLESS, wide, "--parallel.pp 2", "--comm.timeout-seconds 6") for node in (0, 1)]
    runs = [bench.start(command) for command in commands]
    stood = not await_true(45, lambda: runs[0].steps() > 3 or not runs[0].runs())
    if not stood and runs[0].steps() > 3:
        raise CannotMake("large packets pass")

    def same_mtu(made_so, _):
        for node in (0, 1):
            hosts.inside(node, "ip", "link", "set", "lan", "mtu", "1500")
        return made_so

    again = restart(bench, commands, acts=[("mtu", same_mtu), ("MTU", same_mtu)])

    def end_and_again(advice):
        for run in runs:
            for _ in range(2):
                if run.runs():
                    run.signal(signal.SIGINT)
                    time.sleep(0.5)
            run.wait(15)
        return again(advice)
    return made(bench, runs, end_and_again)


@case("the launcher of a host is killed", 4, "host_lost")
def launcher_killed(bench):
    hosts = Hosts(bench)
    commands = [hosts.command(node, *ENDLESS, "--checkpoint.every 50") for node in (0, 1)]
    runs = [bench.start(command) for command in commands]
    runs[0].await_steps(60)
    runs[1].signal(signal.SIGKILL)
    all_end(runs)
    return made(bench, runs, restart(bench, commands))


@case("the link of a host is cut", 4, "host_lost")
def link_cut(bench):
    hosts = Hosts(bench)
    commands = [hosts.command(node, *ENDLESS, "--comm.heartbeat-seconds 4") for node in (0, 1)]
    runs = [bench.start(command) for command in commands]
    runs[0].await_steps(60)
    hosts.inside(1, "ip", "link", "set", "lan", "down")
    if runs[0].wait(30) in (0, None):
        raise CannotMake("host 0 goes on")
    hosts.inside(1, "ip", "link", "set", "lan", "up")
    runs[1].wait(30)
    return made(bench, runs, restart(bench, commands))


@case("the name of host 0 is not known", 32, "name_unknown")
def unknown_name(bench):
    hosts = Hosts(bench)
    commands = [hosts.command(node, STEPS, master="trainer-master-0", launch=SHORTLY) for node in (0, 1)]
    runs = [bench.start(command) for command in commands]
    all_end(runs)
    by_number = ("--master-addr", lambda made_so, _: with_flags(made_so, ["--master-addr", hosts.addresses[0]]))
    return made(bench, runs, restart(bench, commands, acts=[by_number]), asked=1)


@case("two processes claim rank 1", 33, "duplicate_rank")
def rank_twice(bench):
    port = free_port()
    by_hand = bench.train(STEPS, "--comm.join-seconds 10")

    def rank(number, name):
        environment = {"RANK": str(number), "WORLD_SIZE": "3", "LOCAL_RANK": str(number), "LOCAL_WORLD_SIZE": "3",
                       "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
        return bench.start(by_hand.but(environment=environment, screen=f"screen{name}"))

    runs = [rank(0, 0), rank(1, 1), rank(1, "1-twin")]
    codes = [run.wait(30) for run in runs]
    if not any(code not in (0, None) for code in codes):
        raise CannotMake(f"exit codes {codes}")
    launcher = bench.train(STEPS, ranks=3)
    by_launcher = ("troika launch", lambda made_so, _: made_so)
    return made(bench, runs, restart(bench, [launcher], acts=[by_launcher]))


@case("two hosts have one --node-rank", 33, "duplicate_rank")
def host_twice(bench):
    hosts = Hosts(bench, count=3)
    launch = ["--nnodes", "3", *SHORTLY]
    commands = [hosts.command(node, STEPS, launch=launch) for node in (0, 1, 2)]
    wrong = commands[2].but(["--node-rank", "1"])
    runs = [bench.start(commands[0]), bench.start(commands[1])]
    time.sleep(1.5)
    runs.append(bench.start(wrong))
    all_end(runs)
    own = ("node-rank", lambda made_so, _: made_so)
    return made(bench, runs, restart(bench, commands, acts=[own]), asked=2)


@case("hosts have other versions of the program", 33, "ranks_differ")
def other_version(bench):
    hosts = Hosts(bench)
    folder = bench.path("other-version")
    os.makedirs(folder)
    found = 0
    for name in ("troika",):
        with open(os.path.join(bench.binaries, name), "rb") as file:
            program = file.read()
        found += program.count(b"troika 0.1.0")
        with open(os.path.join(folder, name), "wb") as file:
            file.write(program.replace(b"troika 0.1.0", b"troika 0.1.1"))
        shutil.copymode(os.path.join(bench.binaries, name), os.path.join(folder, name))
    if not found:
        raise CannotMake("the programs do not hold their version")
    commands = [hosts.command(0, STEPS), hosts.command(1, STEPS, binaries=folder)]
    runs = [bench.start(command) for command in commands]
    all_end(runs)
    same = ("package", lambda made_so, _: [made_so[0], made_so[1].but(binaries="")])
    return made(bench, runs, restart(bench, commands, acts=[same]))


@case("hosts have other data", 33, "ranks_differ")
def other_data(bench):
    hosts = Hosts(bench)
    commands = [hosts.command(node, STEPS, data=bench.corpus(f"corpus{node}.txt", most=40000 + node)) for node in (0, 1)]
    runs = [bench.start(command) for command in commands]
    all_end(runs)
    same = ("", lambda made_so, _: [hosts.command(node, STEPS, data=bench.path("corpus0.txt"), out=f"run-again{node}") for node in (0, 1)])
    return made(bench, runs, restart(bench, commands, acts=[same], steps=0))


@case("ranks have other settings", 33, "ranks_differ")
def other_settings(bench):
    port = free_port()

    def rank(number, rate):
        environment = {"RANK": str(number), "WORLD_SIZE": "2", "LOCAL_RANK": str(number), "LOCAL_WORLD_SIZE": "2",
                       "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
        return bench.train(STEPS, f"--optimizer.lr {rate}", environment=environment, screen=f"screen{number}")

    runs = [bench.start(rank(0, 0.001)), bench.start(rank(1, 0.002))]
    all_end(runs)
    same = ("", lambda made_so, _: made_so)
    return made(bench, runs, restart(bench, [rank(0, 0.001), rank(1, 0.001)], acts=[same]))
